//go:build !(amd64.v3 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package f64

// stripRows is 6 where multiplication and addition are separate instructions and the product overwrites an operand:
// what several products share has to be copied. With six rows against one only the one is shared, and every product
// overwrites what was loaded for it. Six sums with six products are also what 15 registers hold: the compiler puts the
// last products of a loop's body before its last sums, and a 4×2 tile spills one there.
const stripRows = 6

// strip adds alpha·A·Bᵀ to C for six rows of A, of length k, and n of B; the entry of C for rows i and j is c[i·crs + j·ccs].
func strip(n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, c []float64, crs, ccs int) {
	a0 := a[:k]
	a1 := a[lda:][:len(a0)]
	a2 := a[2*lda:][:len(a0)]
	a3 := a[3*lda:][:len(a0)]
	a4 := a[4*lda:][:len(a0)]
	a5 := a[5*lda:][:len(a0)]
	for j := range n {
		bj := b[j*ldb:][:len(a0)]
		var s0, s1, s2, s3, s4, s5 float64
		for l, x := range bj {
			s0 += a0[l] * x
			s1 += a1[l] * x
			s2 += a2[l] * x
			s3 += a3[l] * x
			s4 += a4[l] * x
			s5 += a5[l] * x
		}
		o := j * ccs
		c[o] += alpha * s0
		c[o+crs] += alpha * s1
		c[o+2*crs] += alpha * s2
		c[o+3*crs] += alpha * s3
		c[o+4*crs] += alpha * s4
		c[o+5*crs] += alpha * s5
	}
}
