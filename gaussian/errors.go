package gaussian

import (
	"errors"
	"fmt"
)

// Sentinels for [errors.Is]. Every error of this package wraps one of them, or
// the error of a context; the typed errors below carry the numbers.
var (
	// ErrDimension reports sizes that do not fit together.
	ErrDimension = errors.New("gaussian: sizes do not match")

	// ErrNotFinite reports a NaN or an infinity, in an argument or in a result
	// that overflowed.
	ErrNotFinite = errors.New("gaussian: value is not finite")

	// ErrNotSymmetric reports a matrix whose triangles differ by more than
	// rounding.
	ErrNotSymmetric = errors.New("gaussian: matrix is not symmetric")

	// ErrNotPositiveDefinite reports a covariance that is indefinite by more
	// than rounding, or singular where it has to be definite.
	ErrNotPositiveDefinite = errors.New("gaussian: matrix is not positive definite")

	// ErrWeights reports weights that are negative, not finite, or all zero.
	ErrWeights = errors.New("gaussian: invalid weights")

	// ErrArgument reports any other unusable argument: nil, a negative noise
	// variance, a kernel whose parameters do not fit.
	ErrArgument = errors.New("gaussian: invalid argument")
)

// DimensionError reports a size that does not fit; it wraps [ErrDimension].
type DimensionError struct {
	Op   string // function or method
	What string // argument
	Got  int
	Want int
}

// Error names the function, the argument and both sizes.
func (e *DimensionError) Error() string {
	return fmt.Sprintf("gaussian: %s: %s has size %d, want %d", e.Op, e.What, e.Got, e.Want)
}

// Unwrap returns [ErrDimension].
func (e *DimensionError) Unwrap() error { return ErrDimension }

// ValueError reports a number that cannot be used. It wraps one of the
// sentinels, which says why.
type ValueError struct {
	Op    string  // function or method
	What  string  // argument
	Row   int     // position, −1 for a scalar
	Col   int     // −1 for a scalar or a vector
	Value float64 // the number
	Err   error   // sentinel
}

// Error names the function, the argument, its position and value, and the reason.
func (e *ValueError) Error() string {
	at := ""
	switch {
	case e.Col >= 0:
		at = fmt.Sprintf("[%d,%d]", e.Row, e.Col)
	case e.Row >= 0:
		at = fmt.Sprintf("[%d]", e.Row)
	}
	return fmt.Sprintf("gaussian: %s: %s%s is %g: %v", e.Op, e.What, at, e.Value, e.Err)
}

// Unwrap returns the sentinel.
func (e *ValueError) Unwrap() error { return e.Err }

// DefiniteError reports a matrix that could not be factorised. It wraps
// [ErrNotPositiveDefinite] and, if there is one, the error of linalg.
type DefiniteError struct {
	Op     string  // function or method
	What   string  // matrix
	Pivot  int     // row of the failing pivot, −1 if Value is an eigenvalue
	Value  float64 // the pivot or the most negative eigenvalue
	Jitter float64 // absolute amount that had been added to the diagonal
	Err    error   // error of linalg, may be nil
}

// Error names the function, the matrix, the offending number and the jitter.
func (e *DefiniteError) Error() string {
	kind := fmt.Sprintf("pivot %d", e.Pivot)
	if e.Pivot < 0 {
		kind = "smallest eigenvalue"
	}
	return fmt.Sprintf("gaussian: %s: %s is not positive definite: %s is %g with %g added to the diagonal",
		e.Op, e.What, kind, e.Value, e.Jitter)
}

// Unwrap returns [ErrNotPositiveDefinite] and the cause.
func (e *DefiniteError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNotPositiveDefinite}
	}
	return []error{ErrNotPositiveDefinite, e.Err}
}
