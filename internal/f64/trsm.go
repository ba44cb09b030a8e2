package f64

// trsmRows is the number of rows of X solved together, a multiple of stripRows. The solve goes through the columns with all
// of them, so that the inner products of a column have one length; with four rows of L they stay in the second-level cache.
const trsmRows = 96

// Trsm solves for four unknowns of a row at a time: first what those before take from them, then the triangle on the
// diagonal. An entry is the same sequence of operations in a strip of rows as in a row by itself.
func (*generic) Trsm(m, n int, x []float64, ldx int, l []float64, ldl int) {
	i := 0
	for i+stripRows <= m {
		mb := min(trsmRows, (m-i)/stripRows*stripRows)
		trsmStrips(mb, n, x[i*ldx:], ldx, l, ldl)
		i += mb
	}
	for ; i < m; i++ {
		trsmRow(x[i*ldx:][:n], l, ldl)
	}
}

func trsmStrips(m, n int, x []float64, ldx int, l []float64, ldl int) {
	for j := 0; j < n; j += 4 {
		jb, lj := min(4, n-j), l[j*ldl:]
		if j > 0 {
			for i := 0; i < m; i += stripRows {
				xi := x[i*ldx:]
				strip(jb, j, -1, xi, ldx, lj, ldl, xi[j:], ldx, 1)
			}
		}
		if jb == 4 {
			trsmCorner4(m, x[j:], ldx, lj[j:], ldl)
			continue
		}
		for i := range m {
			trsmCorner(x[i*ldx+j:][:jb], lj[j:], ldl)
		}
	}
}

// trsmCorner4 solves for four unknowns of m rows, L being 4×4.
func trsmCorner4(m int, x []float64, ldx int, l []float64, ldl int) {
	l1, l2, l3 := l[ldl:][:2], l[2*ldl:][:3], l[3*ldl:][:4]
	d0, d1, d2, d3 := 1/l[0], 1/l1[1], 1/l2[2], 1/l3[3]
	l10, l20, l21, l30, l31, l32 := l1[0], l2[0], l2[1], l3[0], l3[1], l3[2]
	for i := range m {
		p := x[i*ldx:][:4]
		y0 := p[0] * d0
		y1 := (p[1] - l10*y0) * d1
		y2 := (p[2] - l20*y0 - l21*y1) * d2
		y3 := (p[3] - l30*y0 - l31*y1 - l32*y2) * d3
		p[0], p[1], p[2], p[3] = y0, y1, y2, y3
	}
}

// trsmCorner solves for the few unknowns of a row.
func trsmCorner(x []float64, l []float64, ldl int) {
	for j, v := range x {
		lj := l[j*ldl:][:j+1]
		for k, y := range x[:j] {
			v -= lj[k] * y
		}
		x[j] = v * (1 / lj[j])
	}
}

// trsmRow solves for one row of X.
func trsmRow(x []float64, l []float64, ldl int) {
	j := 0
	for ; j < len(x)-3; j += 4 {
		l0, l1, l2, l3 := l[j*ldl:][:j+1], l[(j+1)*ldl:][:j+2], l[(j+2)*ldl:][:j+3], l[(j+3)*ldl:][:j+4]
		s0, s1, s2, s3 := tile41(l[j*ldl:], ldl, x[:j])
		y0 := (x[j] - s0) * (1 / l0[j])
		y1 := (x[j+1] - s1 - l1[j]*y0) * (1 / l1[j+1])
		y2 := (x[j+2] - s2 - l2[j]*y0 - l2[j+1]*y1) * (1 / l2[j+2])
		y3 := (x[j+3] - s3 - l3[j]*y0 - l3[j+1]*y1 - l3[j+2]*y2) * (1 / l3[j+3])
		x[j], x[j+1], x[j+2], x[j+3] = y0, y1, y2, y3
	}
	for i := j; i < len(x); i++ {
		x[i] -= tile11(x[:j], l[i*ldl:])
	}
	if j < len(x) {
		trsmCorner(x[j:], l[j*ldl+j:], ldl)
	}
}
