package f64

// The register tile of every product here is a strip of rows against one or two, all read along contiguous rows, so a
// product with a transpose needs no packing and the others pack what is not contiguous. Each sum runs from left to right,
// whichever operand gives the strip. How many rows suit the processor is a matter of its instructions: see stripRows.

// corner is strip for fewer rows than that on both sides.
func corner(m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, crs, ccs int) {
	i := fours(m, n, k, alpha, a, lda, b, ldb, c, crs, ccs)
	if i == m {
		return
	}
	first := fours(n, m-i, k, alpha, b, ldb, a[i*lda:], lda, c[i*crs:], ccs, crs)
	for ; i < m; i++ {
		for j := first; j < n; j++ {
			c[i*crs+j*ccs] += alpha * tile11(a[i*lda:][:k], b[j*ldb:])
		}
	}
}

// fours is strip for the first four rows of A, if there are so many, and returns the number of rows done.
func fours(m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, crs, ccs int) int {
	if m < 4 {
		return 0
	}
	for j := range n {
		s0, s1, s2, s3 := tile41(a, lda, b[j*ldb:][:k])
		o := j * ccs
		c[o] += alpha * s0
		c[o+crs] += alpha * s1
		c[o+2*crs] += alpha * s2
		c[o+3*crs] += alpha * s3
	}
	return 4
}

// tile41 returns the inner products of four rows of a with b, whose length they have.
func tile41(a []float64, lda int, b []float64) (s0, s1, s2, s3 float64) {
	a0 := a[:len(b)]
	a1 := a[lda:][:len(b)]
	a2 := a[2*lda:][:len(b)]
	a3 := a[3*lda:][:len(b)]
	for k, x := range b {
		s0 += a0[k] * x
		s1 += a1[k] * x
		s2 += a2[k] * x
		s3 += a3[k] * x
	}
	return
}

// tile11 returns a·b, summed from left to right like the wider tiles.
func tile11(a, b []float64) (s float64) {
	b = b[:len(a)]
	for k, x := range a {
		s += x * b[k]
	}
	return s
}
