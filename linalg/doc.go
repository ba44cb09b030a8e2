// Package linalg is a dense linear algebra core for float64, made for Gaussian
// distributions of up to about a thousand dimensions: products, and Cholesky factors
// that grow by a row. Package [github.com/gocmbo/cmbo/linalg/spectral] has what takes
// eigenvalues and singular values. Both are plain Go without dependencies.
//
// # Storage
//
// [Dense] is a general matrix, row-major with a stride; [Sym] is a symmetric one,
// with both triangles stored and equal bit for bit. Vectors are slices. Row, View
// and Raw alias the matrix they are taken from. Empty matrices, with no row or no
// column, are legal everywhere.
//
// # Grammar
//
// The result of arithmetic is the receiver, m.Mul(a, b), or the first argument, as in
// MulVecTo(dst, x). It takes the size it needs and keeps its memory: the zero value of
// Dense or Sym will do, and a loop that uses the same one again does not allocate.
// Slices must have the right length. A decomposition is a type whose zero value is
// ready, such as [Cholesky]; its methods keep scratch memory in the receiver.
//
//   - Trans in a name transposes the operand that follows, or the second one if
//     it comes last: MulTrans is a·bᵀ, TransMul is aᵀ·b.
//   - Lower and Upper stand for a lower triangular L and for Lᵀ: SolveUpperTo
//     solves with Lᵀ, MulUpper multiplies by it.
//
// # Aliasing
//
// An element-wise operation may write onto its operand. A product may not: it
// panics if it finds that its destination shares entries with an operand, views
// included. Decompositions copy their argument first, so a destination of theirs
// may be the argument, and dst may be b in every solve. Nothing retains an
// argument, but NewDense and NewSym, which use the slice they are given.
//
// # Errors
//
// A shape that does not fit is a mistake in the program: it panics with the
// operation and the sizes, "linalg: Mul: 3×4 by 5×2". What data can cause is an
// error: [NotPositiveDefiniteError] with the pivot and its value. After an error the
// destination is unspecified, the receiver usable. Nothing is repaired in silence:
// FactorizeJitter returns what it added.
//
// No operation skips work because a factor is zero: 0·NaN is NaN and shows in the
// result.
//
// # Accuracy and cost
//
// Products, factors and solves have the componentwise bounds of N. J. Higham, Accuracy
// and Stability of Numerical Algorithms, SIAM, 2002, with the unit roundoff u = 2⁻⁵³ and
// γ_k = k·u/(1 − k·u). Operations are additions and multiplications, counted alike.
//
// # Concurrency and reproducibility
//
// Methods that only read a matrix or a factor may run concurrently. Products, Cholesky
// factors, solves and inverses from about n = 200 on share their rows between up to
// GOMAXPROCS goroutines, which end with the call; smaller ones never start any. Work is
// cut by index, so that for one build of a program every result is the same, bit for
// bit, at any GOMAXPROCS.
package linalg
