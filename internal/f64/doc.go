// Package f64 holds the loops under linalg and kernel: vector operations, a general product,
// triangular solves, factors and inverses, the one-pass updates of the Householder reductions, the
// pole sums of the quadrature and the shapes of covariances.
//
// Every operation is a method of a [Table]: callers use [Ops], which is [Generic], plain Go, unless an optional package has
// put another one in with [Use] while the program was being initialised. An entry is a whole operation, large enough to pay
// for an indirect call. Operations with a single caller are here because a table can replace them, and so are the sizes of
// blocks that a table prefers.
//
// Matrices are slices with strides. A slice too short for the sizes passed with it panics, without saying more than the
// runtime does, for linalg has checked shapes before. Slices written to must not overlap any other argument unless the
// operation says so. No operation skips work because a factor is zero, so a NaN or an infinity goes where the formula sends
// it. No operation starts goroutines.
//
// For a given table every result is a function of the arguments alone, bit for
// bit. Two tables may differ by rounding: both are within γ_k·Σ|terms| of the exact sum of
// k products (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1).
package f64
