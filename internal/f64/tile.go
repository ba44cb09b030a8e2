package f64

// The register tile of every product here is 4×2: four rows against two, eight
// running sums. Both operands are read along contiguous rows, so a product with
// a transpose needs no packing and the others pack what is not contiguous. Each
// sum runs from left to right.

// tile42 returns the inner products of four rows of a with two of b, each of
// length n: a0·b0, a0·b1, a1·b0 and so on. Its arguments fit the registers.
func tile42(n int, a []float64, lda int, b []float64, ldb int) (s00, s01, s10, s11, s20, s21, s30, s31 float64) {
	a0 := a[:n]
	a1 := a[lda:][:len(a0)]
	a2 := a[2*lda:][:len(a0)]
	a3 := a[3*lda:][:len(a0)]
	b0 := b[:len(a0)]
	b1 := b[ldb:][:len(a0)]
	k := 0
	for ; k < len(a0)-3; k += 4 {
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
		x, y = b0[k+1], b1[k+1]
		u = a0[k+1]
		s00 += u * x
		s01 += u * y
		u = a1[k+1]
		s10 += u * x
		s11 += u * y
		u = a2[k+1]
		s20 += u * x
		s21 += u * y
		u = a3[k+1]
		s30 += u * x
		s31 += u * y
		x, y = b0[k+2], b1[k+2]
		u = a0[k+2]
		s00 += u * x
		s01 += u * y
		u = a1[k+2]
		s10 += u * x
		s11 += u * y
		u = a2[k+2]
		s20 += u * x
		s21 += u * y
		u = a3[k+2]
		s30 += u * x
		s31 += u * y
		x, y = b0[k+3], b1[k+3]
		u = a0[k+3]
		s00 += u * x
		s01 += u * y
		u = a1[k+3]
		s10 += u * x
		s11 += u * y
		u = a2[k+3]
		s20 += u * x
		s21 += u * y
		u = a3[k+3]
		s30 += u * x
		s31 += u * y
	}
	for ; k < len(a0); k++ {
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

// tile41 returns the inner products of four rows of a with b, whose length they
// have.
func tile41(a []float64, lda int, b []float64) (s0, s1, s2, s3 float64) {
	a0 := a[:len(b)]
	a1 := a[lda:][:len(b)]
	a2 := a[2*lda:][:len(b)]
	a3 := a[3*lda:][:len(b)]
	k := 0
	for ; k < len(b)-1; k += 2 {
		x, y := b[k], b[k+1]
		s0 += a0[k] * x
		s1 += a1[k] * x
		s2 += a2[k] * x
		s3 += a3[k] * x
		s0 += a0[k+1] * y
		s1 += a1[k+1] * y
		s2 += a2[k+1] * y
		s3 += a3[k+1] * y
	}
	if k < len(b) {
		x := b[k]
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
