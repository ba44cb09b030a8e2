package f64

// Grow returns a slice of length n, on the memory of s if that is large enough. Its
// contents are unspecified.
func Grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Scale multiplies every entry of x by alpha.
func Scale(x []float64, alpha float64) { table.Scale(x, alpha) }

// Magnitude returns the largest |x_i|, 0 without entries, and a number that is not
// finite, NaN or +Inf, if an entry is not.
func Magnitude(x []float64) float64 { return table.Magnitude(x) }

// DiffDots returns Σ (b_i − a_i)·(s_i − t_i) and Σ (a_i + b_i)·d_i over the length
// of a.
func DiffDots(a, b, s, t, d []float64) (diff, sum float64) { return table.DiffDots(a, b, s, t, d) }

// Transpose sets the cols×rows matrix dst to the transpose of the rows×cols
// matrix a, both row-major. The two may lie in one matrix if they have no entry in
// common.
func Transpose(rows, cols int, dst []float64, ldd int, a []float64, lda int) {
	table.Transpose(rows, cols, dst, ldd, a, lda)
}

// AddSquares adds the squared weighted differences of one point x and the points
// in the columns of c:
//
//	dst_j += Σ_d ((x_d − c_dj)·w_d)²,
//
// c having rows of stride ldc, one for each coordinate of x. Differences are
// formed before they are weighted and squared, so nothing cancels. An entry of dst
// is a function of its column, wherever that stands.
func AddSquares(dst, x, w, c []float64, ldc int) { table.AddSquares(dst, x, w, c, ldc) }

// FlushMul sets dst to the entrywise product of x and y over the length of dst,
// entries below 2^−511 in magnitude as zero, and returns its sum. dst may be x or
// y.
func FlushMul(dst, x, y []float64) float64 { return table.FlushMul(dst, x, y) }

// FlushChain multiplies y by one row of m after the other, as FlushMul does, and
// sets out[i·ldo] to the sum of y after row i. m is rows×len(y) without gaps.
func FlushChain(rows int, y, m, out []float64, ldo int) { table.FlushChain(rows, y, m, out, ldo) }

// Columns returns the number of columns, about a dozen, that Gemm is best given
// where there is a choice, as there is for reflectors that are applied together.
func Columns() int { return table.Columns }

// CholSize returns the size up to which Chol is faster than blocks of it with
// products and solves between them.
func CholSize() int { return table.CholSize }

// Rows returns the number of rows, half a dozen or so, that Gemm and Trsm are best
// given where there is a choice.
func Rows() int { return table.Rows }
