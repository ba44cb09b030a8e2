package f64

// trsmRows is the number of rows of X solved together. The solve goes through
// the columns with all of them, so that the inner products of one column have
// one length; together with two rows of L they stay in the second-level cache.
const trsmRows = 32

func trsm(m, n int, x []float64, ldx int, l []float64, ldl int) {
	for i := 0; i < m; i += trsmRows {
		trsmChunk(min(trsmRows, m-i), n, x[i*ldx:], ldx, l, ldl)
	}
}

func trsmChunk(m, n int, x []float64, ldx int, l []float64, ldl int) {
	strips := m / 4
	j := 0
	if strips > 0 {
		for ; j < n-1; j += 2 {
			trsmPair(strips, j, x, ldx, l[j*ldl:], ldl)
		}
		if j < n {
			lj := l[j*ldl:][:j+1]
			d := 1 / lj[j]
			for i := range strips {
				xi := x[4*i*ldx:]
				s0, s1, s2, s3 := tile41(xi, ldx, lj[:j])
				xi[j] = (xi[j] - s0) * d
				xi[ldx+j] = (xi[ldx+j] - s1) * d
				xi[2*ldx+j] = (xi[2*ldx+j] - s2) * d
				xi[3*ldx+j] = (xi[3*ldx+j] - s3) * d
			}
		}
	}
	for i := 4 * strips; i < m; i++ {
		trsmRow(x[i*ldx:][:n], l, ldl)
	}
}

// trsmPair solves for unknowns j and j+1 of strips of four rows; l begins with
// row j of L.
func trsmPair(strips, j int, x []float64, ldx int, l []float64, ldl int) {
	d0, e, d1 := 1/l[j], l[ldl+j], 1/l[ldl+j+1]
	for range strips {
		s00, s01, s10, s11, s20, s21, s30, s31 := tile42(j, x, ldx, l, ldl)
		p := x[j : j+2 : j+2]
		y := (p[0] - s00) * d0
		p[0], p[1] = y, (p[1]-s01-e*y)*d1
		p = x[ldx+j:][:2]
		y = (p[0] - s10) * d0
		p[0], p[1] = y, (p[1]-s11-e*y)*d1
		p = x[2*ldx+j:][:2]
		y = (p[0] - s20) * d0
		p[0], p[1] = y, (p[1]-s21-e*y)*d1
		p = x[3*ldx+j:][:2]
		y = (p[0] - s30) * d0
		p[0], p[1] = y, (p[1]-s31-e*y)*d1
		x = x[min(4*ldx, len(x)):]
	}
}

// trsmRow solves for one row of X, four unknowns at a time.
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
	for ; j < len(x); j++ {
		lj := l[j*ldl:][:j+1]
		x[j] = (x[j] - dot(x[:j], lj)) * (1 / lj[j])
	}
}
