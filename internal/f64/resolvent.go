package f64

import "math"

// flush is the magnitude below which a product counts as zero in FlushMul and FlushChain: two factors that are not
// below it have a product that is not denormal, which many processors are slow at.
const flush = 0x1p-511

func (*generic) FlushMul(dst, x, y []float64) float64 {
	x, y = x[:len(dst)], y[:len(dst)]
	var s0, s1 float64
	p := 0
	for ; p < len(dst)-1; p += 2 {
		u, v := x[p]*y[p], x[p+1]*y[p+1]
		if math.Abs(u) < flush {
			u = 0
		}
		if math.Abs(v) < flush {
			v = 0
		}
		dst[p], dst[p+1] = u, v
		s0 += u
		s1 += v
	}
	if p < len(dst) {
		u := x[p] * y[p]
		if math.Abs(u) < flush {
			u = 0
		}
		dst[p] = u
		s0 += u
	}
	return s0 + s1
}

func (*generic) FlushChain(rows int, y, m, out []float64, ldo int) {
	for i := range rows {
		out[i*ldo] = Generic.FlushMul(y, y, m[i*len(y):][:len(y)])
	}
}
