package multivariate

import "errors"

// What only this package reports. Every other error wraps a sentinel of package
// gaussian, in one of its types with the numbers, or the error of a context.
var (
	// ErrNotSymmetric reports a matrix whose triangles differ by more than rounding.
	ErrNotSymmetric = errors.New("gaussian: matrix is not symmetric")

	// ErrWeights reports weights that are negative, not finite, or all zero.
	ErrWeights = errors.New("gaussian: invalid weights")
)
