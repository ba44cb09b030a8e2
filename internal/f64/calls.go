package f64

// Grow returns a slice of length n, on the memory of s if that is large enough. Its contents are unspecified.
func Grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Dot returns Σ x_i·y_i over the length of x. x and y may overlap.
func Dot(x, y []float64) float64 { return table.Dot(x, y) }

// Axpy computes dst_i += alpha·x_i over the length of x. dst may be x.
func Axpy(dst []float64, alpha float64, x []float64) { table.Axpy(dst, alpha, x) }

// Axpy4 adds four multiples of rows to dst: dst += c0·a0 + c1·a1 + c2·a2 + c3·a3 over the length of dst.
func Axpy4(dst []float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 []float64) {
	table.Axpy4(dst, c0, c1, c2, c3, a0, a1, a2, a3)
}

// Gemm adds alpha·A·B to C. A is m×k with entry (i, l) at a[i·ars + l·acs], B is k×n with entry (l, j) at b[l·brs +
// j·bcs], C is m×n, row-major with row stride ldc. Every transpose is a choice of strides. A and B may overlap each
// other. Computing the rows of C in several calls, cut at multiples of 16, gives the same bits.
func Gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	table.Gemm(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// GemmSet is Gemm for a C that is zero, whatever it is.
func GemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int) {
	table.GemmSet(m, n, k, alpha, a, ars, acs, b, brs, bcs, c, ldc)
}

// Trsm overwrites the m×n matrix X, row-major, with X·L⁻ᵀ for an n×n lower triangular L of which
// only the lower triangle is read, x_ij ← (x_ij − Σ_{k<j} x_ik·l_jk)·(1/l_jj).
//
// X may lie in the same matrix as L, beside or below it. Solving the rows of X in
// several calls, cut at multiples of 32, gives the same bits.
func Trsm(m, n int, x []float64, ldx int, l []float64, ldl int) {
	table.Trsm(m, n, x, ldx, l, ldl)
}

// TrsmBack is Trsm with L⁻¹ in the place of L⁻ᵀ, x_ij ← (x_ij − Σ_{k>j} x_ik·l_kj)·(1/l_jj), for an X apart from L.
func TrsmBack(m, n int, x []float64, ldx int, l []float64, ldl int) {
	table.TrsmBack(m, n, x, ldx, l, ldl)
}

// Chol sets the lower triangle of the n×n matrix L to the Cholesky factor of A + shift·I. It
// returns the index and value of the first pivot that is not positive and finite, or −1. Of A the
// lower triangle counts; L may be A. Entries of L above the diagonal but close to it may change.
func Chol(n int, shift float64, a []float64, lda int, l []float64, ldl int) (pivot int, value float64) {
	return table.Chol(n, shift, a, lda, l, ldl)
}

// InvertRows computes rows i to i+[InverseStep] of L⁻ᵀ for an n×n lower triangular L, of which it reads only the lower
// triangle: row r solves L·x = e_r. They go to u, of n·(n + InverseStep) numbers, in a form that is known to InverseRows. i
// is a multiple of InverseStep. What is zero for the shape of U alone may be left out of sums, here and there.
func InvertRows(n, i int, u, l []float64, ldl int) { table.InvertRows(n, i, u, l, ldl) }

// InverseRows sets rows i to i+InverseStep of the lower triangle of the n×n matrix C to those of U·Uᵀ, once InvertRows
// has computed all of U = L⁻ᵀ: the inverse of L·Lᵀ. Entries above the diagonal but close to it may change.
func InverseRows(n, i int, c []float64, ldc int, u []float64) { table.InverseRows(n, i, c, ldc, u) }

// InverseStep returns the number of rows that InvertRows and InverseRows compute.
func InverseStep() int { return table.InverseStep() }

// SymPass is one step of the tridiagonal reduction, A −= v·wᵀ + w·vᵀ and then y = A·x, in one pass
// over the lower triangle of the n×n symmetric matrix A, all that is read and written.
func SymPass(n int, a []float64, lda int, v, w, x, y []float64) {
	table.SymPass(n, a, lda, v, w, x, y)
}

// BidiagPass is one step of the bidiagonal reduction, in one pass over the m×n matrix A:
//
//	A −= u·zᵀ + s·vᵀ,   y = A·p,   c = A·e₀ + g·y,   r = Aᵀ·c.
//
// u, s, y and c have length m; z, v, p and r have length n.
func BidiagPass(m, n int, a []float64, lda int, u, z, s, v, p []float64, g float64, y, c, r []float64) {
	table.BidiagPass(m, n, a, lda, u, z, s, v, p, g, y, c, r)
}

// PoleSum returns Σ_p w_p Σ_i σ_i²/(σ_i² + s_p) for the singular values σ_i of the upper bidiagonal matrix with squared
// diagonal a2 and squared superdiagonal b2, by one recurrence for each pole s_p > 0 in which every term is non-negative:
//
//	q = a² + t,  sum += (a² + t')/q,  t' ← b²·(t² + a²·t')/q²,  t ← s + b²·t/q
//
// from t = s, t' = 0. b2 is one shorter than a2. The result has a relative error
// of a few units for each entry of a2. work has length at least 3·len(s).
func PoleSum(a2, b2, s, w, work []float64) float64 {
	return table.PoleSum(a2, b2, s, w, work)
}

// RadialValues sets dst_i to variance·k at r² = scale·sq_i, which counts as [FarSquare] beyond. dst
// may be sq. An entry of dst is a function of its entry of sq, wherever that stands.
func RadialValues(dst, sq []float64, scale, variance float64, f *Radial) {
	table.RadialValues(dst, sq, scale, variance, f)
}

// RadialSlopes sets val_i and slope_i to the value, with variance 1, and the slope at r² =
// scale·sq_i. val or slope may be sq. The values have the bits that RadialValues gives.
func RadialSlopes(val, slope, sq []float64, scale float64, f *Radial) {
	table.RadialSlopes(val, slope, sq, scale, f)
}

// RadialAt returns the value, with variance 1, and the slope at r² = s, with the
// bits that RadialSlopes gives. It is for single points: nothing is allocated.
func RadialAt(s float64, f *Radial) (val, slope float64) { return table.RadialAt(s, f) }

// Scale multiplies every entry of x by alpha.
func Scale(x []float64, alpha float64) { table.Scale(x, alpha) }

// Magnitude returns the largest |x_i|, 0 without entries, and a number that is not finite, NaN or +Inf, if an entry is not.
func Magnitude(x []float64) float64 { return table.Magnitude(x) }

// DiffDots returns Σ (b_i − a_i)·(s_i − t_i) and Σ (a_i + b_i)·d_i over the length of a.
func DiffDots(a, b, s, t, d []float64) (diff, sum float64) { return table.DiffDots(a, b, s, t, d) }

// Transpose sets the cols×rows matrix dst to the transpose of the rows×cols matrix a, both
// row-major. The two may lie in one matrix if they have no entry in common.
func Transpose(rows, cols int, dst []float64, ldd int, a []float64, lda int) {
	table.Transpose(rows, cols, dst, ldd, a, lda)
}

// AddSquares adds the squared weighted differences of one point x and the points in the columns of c:
//
//	dst_j += Σ_d ((x_d − c_dj)·w_d)²,
//
// c having rows of stride ldc, one for each coordinate of x. Differences are formed before they are weighted and
// squared, so nothing cancels. An entry of dst is a function of its column, wherever that stands.
func AddSquares(dst, x, w, c []float64, ldc int) { table.AddSquares(dst, x, w, c, ldc) }

// FlushMul sets dst to the entrywise product of x and y over the length of dst, entries below
// 2^−511 in magnitude as zero, and returns its sum. dst may be x or y.
func FlushMul(dst, x, y []float64) float64 { return table.FlushMul(dst, x, y) }

// FlushChain multiplies y by one row of m after the other, as FlushMul does, and
// sets out[i·ldo] to the sum of y after row i. m is rows×len(y) without gaps.
func FlushChain(rows int, y, m, out []float64, ldo int) { table.FlushChain(rows, y, m, out, ldo) }

// Columns returns the number of columns, about a dozen, that Gemm is best given
// where there is a choice, as there is for reflectors that are applied together.
func Columns() int { return table.Columns() }

// CholSize returns the size up to which Chol is faster than blocks of it with products and solves between them.
func CholSize() int { return table.CholSize() }

// Rows returns the number of rows, half a dozen or so, that Gemm and Trsm are best given where there is a choice.
func Rows() int { return table.Rows() }
