package f64

// AddSquares adds up to four coordinates at a time: dst is read and written once for all of them. Differences are taken
// so that the entry loaded is the operand overwritten; squares do not see their sign.
func (*generic) AddSquares(dst, x, w, c []float64, ldc int) {
	w = w[:len(x)]
	d := 0
	for ; d+4 <= len(x); d += 4 {
		addSquares4(dst, x[d:d+4], w[d:d+4], c[d*ldc:], ldc)
	}
	if d+2 <= len(x) {
		addSquares2(dst, x[d:d+2], w[d:d+2], c[d*ldc:], ldc)
		d += 2
	}
	if d < len(x) {
		xd, wd := x[d], w[d]
		for j, v := range c[d*ldc:][:len(dst)] {
			v = (v - xd) * wd
			dst[j] += v * v
		}
	}
}

func addSquares2(dst, x, w, c []float64, ldc int) {
	x, w = x[:2], w[:2]
	x0, x1 := x[0], x[1]
	w0, w1 := w[0], w[1]
	n := len(dst)
	c0 := c[:n]
	c1 := c[ldc:][:n]
	for j := range dst {
		v0 := (c0[j] - x0) * w0
		v1 := (c1[j] - x1) * w1
		dst[j] += v0*v0 + v1*v1
	}
}

func addSquares4(dst, x, w, c []float64, ldc int) {
	x, w = x[:4], w[:4]
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
	n := len(dst)
	c0 := c[:n]
	c1 := c[ldc:][:n]
	c2 := c[2*ldc:][:n]
	c3 := c[3*ldc:][:n]
	for j := range dst {
		v0 := (c0[j] - x0) * w0
		v1 := (c1[j] - x1) * w1
		v2 := (c2[j] - x2) * w2
		v3 := (c3[j] - x3) * w3
		dst[j] += (v0*v0 + v1*v1) + (v2*v2 + v3*v3)
	}
}
