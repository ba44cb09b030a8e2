// Package spectral decomposes dense matrices of package linalg by their eigenvalues and singular values: symmetric
// eigenvalues and eigenvectors, sums of singular values, polar factors, square roots and factors of semi-definite matrices.
//
// What package linalg says of its grammar, of shapes that do not fit, of errors and of goroutines holds here too: a
// decomposition, [EigenSym], [SVD] or [RootPSD], does not allocate at a size it has seen, serves one goroutine at a time,
// and copies its argument first, which may be the destination. Errors are [ErrNotFinite] and [ErrNoConvergence]. Nothing is
// repaired in silence: [RootPSD] and [FactorPSD] tell the most negative of what they counted as zero.
//
// Decompositions by reflectors are backward stable, ‖E‖ ≤ c·n·u·‖A‖ with a small c,
// u = 2⁻⁵³, and scale their matrix by a power of two, so that entries of any size up to
// the largest number are in order; an eigenvalue or a sum beyond that is infinite.
package spectral
