// Package spectral decomposes dense matrices of package linalg by their eigenvalues and
// singular values: symmetric eigenvalues and eigenvectors, sums of singular values, polar
// factors, square roots and factors of semi-definite matrices.
//
// A decomposition is a type whose zero value is ready: [EigenSym], [SVD], [RootPSD]. Its
// methods keep scratch memory in the receiver, so a receiver serves one goroutine at a
// time and does not allocate at a size it has seen. They copy their argument first: a
// destination may be the argument. What package linalg says of its grammar, of shapes
// that do not fit and of goroutines holds here too.
//
// # Errors
//
// [ErrNotFinite], [ErrNoConvergence], and [linalg.NotPositiveDefiniteError] where an
// inverse does not exist. After an error the destination is unspecified, the receiver
// usable. Nothing is repaired in silence: [RootPSD] and [FactorPSD] tell what they counted
// as zero.
//
// # Accuracy
//
// Decompositions by reflectors are backward stable, ‖E‖ ≤ c·n·u·‖A‖ with a small c,
// u = 2⁻⁵³, and scale their matrix by a power of two, so that entries of any size up to
// the largest number are in order.
//
// # Cost
//
// Operations of n×n matrices, additions and multiplications counted alike:
//
//	EigenSym.FactorizeValues                   4/3·n³ + O(n²)
//	EigenSym.Factorize                         up to 14/3·n³
//	SVD.NuclearNorm, SingularValues            8/3·n³ + O(n²)
//	SVD.PolarTo                                20/3·n³ + O(n²)
//	RootPSD.SqrtTo                             10/3·n³ + O(n²)
package spectral
