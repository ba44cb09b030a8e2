package f64

import "math"

func (*generic) Scale(x []float64, alpha float64) {
	for i := range x {
		x[i] *= alpha
	}
}

func (*generic) Magnitude(x []float64) float64 {
	// Magnitudes are ordered as their bit patterns are, infinities and NaNs last.
	const sign = 1 << 63
	var b0, b1 uint64
	for ; len(x) >= 2; x = x[2:] {
		b0 = max(b0, math.Float64bits(x[0])&^sign)
		b1 = max(b1, math.Float64bits(x[1])&^sign)
	}
	for _, v := range x {
		b0 = max(b0, math.Float64bits(v)&^sign)
	}
	return math.Float64frombits(max(b0, b1))
}

// Dot sums in four interleaved partial sums, added pairwise.
func (*generic) Dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i < len(x)-7; i += 8 {
		s0 += x[i] * y[i]
		s1 += x[i+1] * y[i+1]
		s2 += x[i+2] * y[i+2]
		s3 += x[i+3] * y[i+3]
		s0 += x[i+4] * y[i+4]
		s1 += x[i+5] * y[i+5]
		s2 += x[i+6] * y[i+6]
		s3 += x[i+7] * y[i+7]
	}
	for ; i < len(x); i++ {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func (*generic) Axpy(dst []float64, alpha float64, x []float64) {
	dst = dst[:len(x)]
	i := 0
	for ; i < len(x)-3; i += 4 {
		dst[i] += alpha * x[i]
		dst[i+1] += alpha * x[i+1]
		dst[i+2] += alpha * x[i+2]
		dst[i+3] += alpha * x[i+3]
	}
	for ; i < len(x); i++ {
		dst[i] += alpha * x[i]
	}
}

// Axpy4 adds the terms of an entry pairwise.
func (*generic) Axpy4(dst []float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 []float64) {
	a0, a1, a2, a3 = a0[:len(dst)], a1[:len(dst)], a2[:len(dst)], a3[:len(dst)]
	for j := range dst {
		dst[j] += (c0*a0[j] + c1*a1[j]) + (c2*a2[j] + c3*a3[j])
	}
}

func (*generic) DiffDots(a, b, s, t, d []float64) (diff, sum float64) {
	b, s, t, d = b[:len(a)], s[:len(a)], t[:len(a)], d[:len(a)]
	var o0, o1, q0, q1 float64
	j := 0
	for ; j+1 < len(a); j += 2 {
		o0 += (b[j] - a[j]) * (s[j] - t[j])
		q0 += (a[j] + b[j]) * d[j]
		o1 += (b[j+1] - a[j+1]) * (s[j+1] - t[j+1])
		q1 += (a[j+1] + b[j+1]) * d[j+1]
	}
	if j < len(a) {
		o0 += (b[j] - a[j]) * (s[j] - t[j])
		q0 += (a[j] + b[j]) * d[j]
	}
	return o0 + o1, q0 + q1
}
