package f64

// addSquares adds four coordinates at a time: dst is read and written once for
// all of them.
func addSquares(dst, x, w, c []float64, ldc int) {
	w = w[:len(x)]
	d := 0
	for ; d+4 <= len(x); d += 4 {
		addSquares4(dst, x[d:d+4], w[d:d+4], c[d*ldc:], ldc)
	}
	for ; d < len(x); d++ {
		xd, wd := x[d], w[d]
		for j, v := range c[d*ldc:][:len(dst)] {
			v = (xd - v) * wd
			dst[j] += v * v
		}
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
	for j, s := range dst {
		v0 := (x0 - c0[j]) * w0
		v1 := (x1 - c1[j]) * w1
		v2 := (x2 - c2[j]) * w2
		v3 := (x3 - c3[j]) * w3
		dst[j] = s + v0*v0 + v1*v1 + v2*v2 + v3*v3
	}
}
