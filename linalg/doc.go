// Package linalg is a dense linear algebra core for float64, made for Gaussian distributions of up
// to about a thousand dimensions: products, and Cholesky factors that grow by a row. Package
// [github.com/gocmbo/cmbo/linalg/spectral] has what takes eigenvalues and singular values.
//
// # Storage and grammar
//
// [Dense] is a general matrix, row-major with a stride; [Sym] is a symmetric one, with both
// triangles stored and equal bit for bit. Vectors are slices, which must have the right length.
// Row, View and Raw alias the matrix they are taken from. Empty matrices are legal everywhere.
//
// The result of arithmetic is the receiver, m.Mul(a, b), or the first argument, as in MulVecTo(dst,
// x). It takes the size it needs and keeps its memory: a loop that uses the same one again does not
// allocate. Zero values are ready to be destinations, and decompositions such as [Cholesky].
//
// Trans in a name transposes the operand that follows, or the second one if it comes last: MulTrans is a·bᵀ, TransMul is
// aᵀ·b. Lower and Upper stand for a lower triangular L and for Lᵀ: SolveUpperTo solves with Lᵀ, MulUpper multiplies by it.
//
// # Aliasing
//
// An element-wise operation may write onto its operand. A product may not: it panics if it finds that its destination shares
// entries with an operand. Decompositions copy their argument first, and dst may be b in every solve. Nothing retains an
// argument, but NewDense and NewSym, which use the slice they are given.
//
// # Errors
//
// A shape that does not fit is a mistake in the program: it panics with the operation and the sizes, "linalg: Mul: 3×4 by
// 5×2". What data can cause is an error, [NotPositiveDefiniteError]. After an error the destination is unspecified, the
// receiver usable. Nothing is repaired in silence: FactorizeJitter returns what it added. No operation skips work because a
// factor is zero: 0·NaN is NaN.
//
// # Accuracy, cost, reproducibility
//
// Products, factors and solves have the componentwise bounds of N. J. Higham, Accuracy
// and Stability of Numerical Algorithms, SIAM, 2002, with the unit roundoff u = 2⁻⁵³ and
// γ_k = k·u/(1 − k·u). Operations are additions and multiplications, counted alike.
//
// Methods that only read a matrix or a factor may run concurrently. Operations from about n = 200
// on share their rows between up to GOMAXPROCS goroutines, which end with the call. Work is cut by
// index, so that for one build every result is the same, bit for bit, at any GOMAXPROCS.
package linalg
