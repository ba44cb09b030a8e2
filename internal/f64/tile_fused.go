//go:build amd64.v3 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x

package f64

// stripRows is 4 where the compiler fuses multiplication and addition: the instruction overwrites the sum, nothing is
// copied, and what limits are loads, six for eight products with four rows against two.
const stripRows = 4

// strip adds alpha·A·Bᵀ to C for four rows of A, of length k, and n of B; the entry
// of C for rows i and j is c[i·crs + j·ccs].
func strip(n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, crs, ccs int) {
	j := 0
	for ; j < n-1; j += 2 {
		s00, s01, s10, s11, s20, s21, s30, s31 := tile42(k, a, lda, b[j*ldb:], ldb)
		o := j * ccs
		c[o] += alpha * s00
		c[o+ccs] += alpha * s01
		o += crs
		c[o] += alpha * s10
		c[o+ccs] += alpha * s11
		o += crs
		c[o] += alpha * s20
		c[o+ccs] += alpha * s21
		o += crs
		c[o] += alpha * s30
		c[o+ccs] += alpha * s31
	}
	if j < n {
		fours(stripRows, 1, k, alpha, a, lda, b[j*ldb:], ldb, c[j*ccs:], crs, ccs)
	}
}

// tile42 returns the inner products of four rows of a with two of b, each of
// length n: a0·b0, a0·b1, a1·b0 and so on. Its arguments fit the registers.
func tile42(n int, a []float64, lda int, b []float64, ldb int) (s00, s01, s10, s11, s20, s21, s30, s31 float64) {
	a0 := a[:n]
	a1 := a[lda:][:len(a0)]
	a2 := a[2*lda:][:len(a0)]
	a3 := a[3*lda:][:len(a0)]
	b0 := b[:len(a0)]
	b1 := b[ldb:][:len(a0)]
	for k := range a0 {
		x, y := b0[k], b1[k]
		u := a0[k]
		s00 += u * x
		s01 += u * y
		u = a1[k]
		s10 += u * x
		s11 += u * y
		u = a2[k]
		s20 += u * x
		s21 += u * y
		u = a3[k]
		s30 += u * x
		s31 += u * y
	}
	return
}
