package f64

// Grow returns a slice of length n, on the memory of s if that is large enough. Its contents are unspecified.
func Grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Table is one set of implementations.
type Table interface {
	// Dot returns Σ x_i·y_i over the length of x. x and y may overlap.
	Dot(x, y []float64) float64

	// DiffDots returns Σ (b_i − a_i)·(s_i − t_i) and Σ (a_i + b_i)·d_i over the length of a.
	DiffDots(a, b, s, t, d []float64) (diff, sum float64)

	// Axpy computes dst_i += alpha·x_i over the length of x. dst may be x.
	Axpy(dst []float64, alpha float64, x []float64)

	// Axpy4 adds four multiples of rows to dst: dst += c0·a0 + c1·a1 + c2·a2 + c3·a3 over the length of dst.
	Axpy4(dst []float64, c0, c1, c2, c3 float64, a0, a1, a2, a3 []float64)

	// Scale multiplies every entry of x by alpha.
	Scale(x []float64, alpha float64)

	// Magnitude returns the largest |x_i|, 0 without entries, and a number that is not finite, NaN or +Inf, if an entry is
	// not.
	Magnitude(x []float64) float64

	// Transpose sets the cols×rows matrix dst to the transpose of the rows×cols matrix a, both
	// row-major. The two may lie in one matrix if they have no entry in common.
	Transpose(rows, cols int, dst []float64, ldd int, a []float64, lda int)

	// Gemm adds alpha·A·B to C. A is m×k with entry (i, l) at a[i·ars + l·acs], B is k×n with entry (l, j) at b[l·brs +
	// j·bcs], C is m×n, row-major with row stride ldc. Every transpose is a choice of strides. A and B may overlap each
	// other. Computing the rows of C in several calls, cut at multiples of 16, gives the same bits.
	Gemm(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int)

	// GemmSet is Gemm for a C that is zero, whatever it is.
	GemmSet(m, n, k int, alpha float64, a []float64, ars, acs int, b []float64, brs, bcs int, c []float64, ldc int)

	// Trsm overwrites the m×n matrix X, row-major, with X·L⁻ᵀ for an n×n lower triangular L of which
	// only the lower triangle is read, x_ij ← (x_ij − Σ_{k<j} x_ik·l_jk)·(1/l_jj).
	//
	// X may lie in the same matrix as L, beside or below it. Solving the rows of X in
	// several calls, cut at multiples of 32, gives the same bits.
	Trsm(m, n int, x []float64, ldx int, l []float64, ldl int)

	// TrsmBack is Trsm with L⁻¹ in the place of L⁻ᵀ, x_ij ← (x_ij − Σ_{k>j} x_ik·l_kj)·(1/l_jj), for an X apart from L.
	TrsmBack(m, n int, x []float64, ldx int, l []float64, ldl int)

	// Chol sets the lower triangle of the n×n matrix L to the Cholesky factor of A + shift·I. It
	// returns the index and value of the first pivot that is not positive and finite, or −1. Of A the
	// lower triangle counts; L may be A. Entries of L above the diagonal but close to it may change.
	Chol(n int, shift float64, a []float64, lda int, l []float64, ldl int) (pivot int, value float64)

	// InvertRows computes rows i to i+[InverseStep] of L⁻ᵀ for an n×n lower triangular L, of which it reads only the lower
	// triangle: row r solves L·x = e_r. They go to u, of n·(n + InverseStep) numbers, in a form that is known to InverseRows.
	// i is a multiple of InverseStep. What is zero for the shape of U alone may be left out of sums, here and there.
	InvertRows(n, i int, u, l []float64, ldl int)

	// InverseRows sets rows i to i+InverseStep of the lower triangle of the n×n matrix C to those of U·Uᵀ, once InvertRows
	// has computed all of U = L⁻ᵀ: the inverse of L·Lᵀ. Entries above the diagonal but close to it may change.
	InverseRows(n, i int, c []float64, ldc int, u []float64)

	// Columns returns the number of columns, about a dozen, that Gemm is best given
	// where there is a choice, as there is for reflectors that are applied together.
	Columns() int

	// Rows returns the number of rows, half a dozen or so, that Gemm and Trsm are best given where there is a choice.
	Rows() int

	// CholSize returns the size up to which Chol is faster than blocks of it with products and solves between them.
	CholSize() int

	// InverseStep returns the number of rows that InvertRows and InverseRows compute.
	InverseStep() int

	// SymPass is one step of the tridiagonal reduction, A −= v·wᵀ + w·vᵀ and then y = A·x, in one pass
	// over the lower triangle of the n×n symmetric matrix A, all that is read and written.
	SymPass(n int, a []float64, lda int, v, w, x, y []float64)

	// BidiagPass is one step of the bidiagonal reduction, in one pass over the m×n matrix A:
	//
	//	A −= u·zᵀ + s·vᵀ,   y = A·p,   c = A·e₀ + g·y,   r = Aᵀ·c.
	//
	// u, s, y and c have length m; z, v, p and r have length n.
	BidiagPass(m, n int, a []float64, lda int, u, z, s, v, p []float64, g float64, y, c, r []float64)

	// PoleSum returns Σ_p w_p Σ_i σ_i²/(σ_i² + s_p) for the singular values σ_i of the upper bidiagonal matrix with squared
	// diagonal a2 and squared superdiagonal b2, by one recurrence for each pole s_p > 0 in which every term is non-negative:
	//
	//	q = a² + t,  sum += (a² + t')/q,  t' ← b²·(t² + a²·t')/q²,  t ← s + b²·t/q
	//
	// from t = s, t' = 0. b2 is one shorter than a2. The result has a relative error
	// of a few units for each entry of a2. work has length at least 3·len(s).
	PoleSum(a2, b2, s, w, work []float64) float64

	// FlushMul sets dst to the entrywise product of x and y over the length of dst, entries below
	// 2^−511 in magnitude as zero, and returns its sum. dst may be x or y.
	FlushMul(dst, x, y []float64) float64

	// FlushChain multiplies y by one row of m after the other, as FlushMul does, and
	// sets out[i·ldo] to the sum of y after row i. m is rows×len(y) without gaps.
	FlushChain(rows int, y, m, out []float64, ldo int)

	// AddSquares adds the squared weighted differences of one point x and the points in the columns of c:
	//
	//	dst_j += Σ_d ((x_d − c_dj)·w_d)²,
	//
	// c having rows of stride ldc, one for each coordinate of x. Differences are formed before they are weighted and
	// squared, so nothing cancels. An entry of dst is a function of its column, wherever that stands.
	AddSquares(dst, x, w, c []float64, ldc int)

	// RadialValues sets dst_i to variance·k at r² = scale·sq_i, which counts as [FarSquare] beyond. dst
	// may be sq. An entry of dst is a function of its entry of sq, wherever that stands.
	RadialValues(dst, sq []float64, scale, variance float64, f *Radial)

	// RadialSlopes sets val_i and slope_i to the value, with variance 1, and the slope at r² =
	// scale·sq_i. val or slope may be sq. The values have the bits that RadialValues gives.
	RadialSlopes(val, slope, sq []float64, scale float64, f *Radial)

	// RadialAt returns the value, with variance 1, and the slope at r² = s, with the
	// bits that RadialSlopes gives. It is for single points: nothing is allocated.
	RadialAt(s float64, f *Radial) (val, slope float64)
}

// Generic is the table of plain Go loops: the default, and the reference for any other.
var Generic = new(generic)

type generic struct{}

func (*generic) Columns() int     { return 12 }
func (*generic) Rows() int        { return stripRows }
func (*generic) CholSize() int    { return 120 }
func (*generic) InverseStep() int { return inverseStep }

// Ops is the table in force, which [Use] sets.
var Ops Table = Generic

// Use puts t in force and returns a function that puts the former table back. It is for
// initialisation and for tests: it must not run beside any other call of the package.
func Use(t Table) (restore func()) {
	old := Ops
	Ops = t
	return func() { Ops = old }
}
