package f64

func (*generic) SymPass(n int, a []float64, lda int, v, w, x, y []float64) {
	v, w, x, y = v[:n], w[:n], x[:n], y[:n]
	clear(y)
	i := 0
	for ; i < n-1; i += 2 {
		r0, r1 := a[i*lda:][:i+1], a[(i+1)*lda:][:i+2]
		v0, w0, x0 := v[i], w[i], x[i]
		v1, w1, x1 := v[i+1], w[i+1], x[i+1]
		s0, s1 := symRows(r0[:i], r1, v, w, x, y, v0, w0, x0, v1, w1, x1)
		// The corner: the diagonal entries and the one between them.
		d0 := r0[i] - v0*w0 - w0*v0
		e := r1[i] - v1*w0 - w1*v0
		d1 := r1[i+1] - v1*w1 - w1*v1
		r0[i], r1[i], r1[i+1] = d0, e, d1
		y[i] = s0 + d0*x0 + e*x1
		y[i+1] = s1 + e*x0 + d1*x1
	}
	if i < n {
		r := a[i*lda:][:i+1]
		vi, wi, xi := v[i], w[i], x[i]
		var s float64
		for j := range i {
			t := r[j] - vi*w[j] - wi*v[j]
			r[j] = t
			s += t * x[j]
			y[j] += t * xi
		}
		r[i] -= vi*wi + wi*vi
		y[i] = s + r[i]*xi
	}
}

// symRows is the body of SymPass for two rows up to their common corner, of length len(r0).
func symRows(r0, r1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	r1, v, w, x, y = r1[:len(r0)], v[:len(r0)], w[:len(r0)], x[:len(r0)], y[:len(r0)]
	for j, t0 := range r0 {
		vj, wj, xj := v[j], w[j], x[j]
		t0 = t0 - v0*wj - w0*vj
		t1 := r1[j] - v1*wj - w1*vj
		r0[j], r1[j] = t0, t1
		s0 += t0 * xj
		s1 += t1 * xj
		y[j] += t0*x0 + t1*x1
	}
	return s0, s1
}

func (*generic) BidiagPass(m, n int, a []float64, lda int, u, z, s, v, p []float64, g float64, y, c, r []float64) {
	if n == 0 {
		return
	}
	u, s, y, c = u[:m], s[:m], y[:m], c[:m]
	z, v, p, r = z[:n], v[:n], p[:n], r[:n]
	clear(r)
	i := 0
	for ; i < m-7; i += 8 {
		for l := i; l < i+8; l += 2 {
			a0, a1 := a[l*lda:][:n], a[(l+1)*lda:][:n]
			y0, y1 := bidiagRows2(a0, a1, z, v, p, u[l], s[l], u[l+1], s[l+1])
			y[l], y[l+1] = y0, y1
			c[l], c[l+1] = a0[0]+g*y0, a1[0]+g*y1
		}
		axpy8(r, c[i:], a[i*lda:], lda)
	}
	for ; i < m-1; i += 2 {
		a0, a1 := a[i*lda:][:n], a[(i+1)*lda:][:n]
		y[i], y[i+1] = bidiagRows2(a0, a1, z, v, p, u[i], s[i], u[i+1], s[i+1])
		c[i], c[i+1] = a0[0]+g*y[i], a1[0]+g*y[i+1]
		Generic.Axpy(r, c[i], a0)
		Generic.Axpy(r, c[i+1], a1)
	}
	if i < m {
		ai := a[i*lda:][:n]
		ui, si := u[i], s[i]
		var yi float64
		for j := range ai {
			t := ai[j] - ui*z[j] - si*v[j]
			ai[j] = t
			yi += t * p[j]
		}
		y[i] = yi
		c[i] = ai[0] + g*yi
		Generic.Axpy(r, c[i], ai)
	}
}

// bidiagRows2 updates two rows and returns their products with p.
func bidiagRows2(a0, a1, z, v, p []float64, u0, s0, u1, s1 float64) (y0, y1 float64) {
	a1, z, v, p = a1[:len(a0)], z[:len(a0)], v[:len(a0)], p[:len(a0)]
	for j, t0 := range a0 {
		zj, vj := z[j], v[j]
		t0 = t0 - u0*zj - s0*vj
		t1 := a1[j] - u1*zj - s1*vj
		a0[j], a1[j] = t0, t1
		pj := p[j]
		y0 += t0 * pj
		y1 += t1 * pj
	}
	return y0, y1
}

// axpy8 adds Σ c_i·A_i over eight rows of a to r.
func axpy8(r, c, a []float64, lda int) {
	c = c[:8]
	c0, c1, c2, c3, c4, c5, c6, c7 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	a0 := a[:len(r)]
	a1 := a[lda:][:len(r)]
	a2 := a[2*lda:][:len(r)]
	a3 := a[3*lda:][:len(r)]
	a4 := a[4*lda:][:len(r)]
	a5 := a[5*lda:][:len(r)]
	a6 := a[6*lda:][:len(r)]
	a7 := a[7*lda:][:len(r)]
	for j := range r {
		r[j] += ((c0*a0[j] + c1*a1[j]) + (c2*a2[j] + c3*a3[j])) + ((c4*a4[j] + c5*a5[j]) + (c6*a6[j] + c7*a7[j]))
	}
}
