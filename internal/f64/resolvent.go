package f64

import "math"

// flush is the magnitude below which a product counts as zero in FlushMul and
// FlushChain: two factors that are not below it have a product that is not
// denormal, which many processors are slow at.
const flush = 0x1p-511

func resolveForward(a2, b2, ab float64, s, h, that, up, tq []float64) {
	h, that, up, tq = h[:len(s)], that[:len(s)], up[:len(s)], tq[:len(s)]
	for p, sp := range s {
		hp := h[p]
		that[p] = hp
		t := sp + hp
		inv := 1 / (a2 + t)
		g := t * inv
		up[p] = ab * inv
		tq[p] = g
		h[p] = b2 * g
	}
}

func resolveBackward(a2, b2, ab float64, s, h, across, rp []float64) {
	h, across, rp = h[:len(s)], across[:len(s)], rp[:len(s)]
	for p, sp := range s {
		rho := sp + h[p]
		inv := 1 / (b2 + rho)
		g := rho * inv
		across[p] = ab * inv
		rp[p] = g
		h[p] = a2 * g
	}
}

func resolveDiagonal(that, h, s, w []float64) float64 {
	that, h, w = that[:len(s)], h[:len(s)], w[:len(s)]
	var sum float64
	for p, sp := range s {
		v := that[p] + h[p]
		x := 1 / (v + sp)
		that[p] = x
		sum += w[p] * v * x
	}
	return sum
}

func flushMul(dst, x, y []float64) float64 {
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

func flushChain(rows int, y, m, out []float64, ldo int) {
	for i := range rows {
		out[i*ldo] = flushMul(y, y, m[i*len(y):][:len(y)])
	}
}

func scaleMul(dst []float64, c float64, x, y []float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for p, u := range x {
		dst[p] = c * u * y[p]
	}
}

func maxAbs(dst, x []float64) {
	dst = dst[:len(x)]
	for p, v := range x {
		dst[p] = max(dst[p], math.Abs(v))
	}
}

func reaches(x, y []float64, limit float64) bool {
	y = y[:len(x)]
	for p, v := range x {
		if !(math.Abs(v)*y[p] < limit) {
			return true
		}
	}
	return false
}
