package gaussian

import "github.com/gocmbo/cmbo/gaussian/internal/fault"

// Sentinels for [errors.Is]. Every error of this package wraps one of them, or
// the error of a context; the typed errors below carry the numbers.
var (
	// ErrDimension reports sizes that do not fit together.
	ErrDimension = fault.ErrDimension

	// ErrNotFinite reports a NaN or an infinity, in an argument or in a result that overflowed.
	ErrNotFinite = fault.ErrNotFinite

	// ErrNotPositiveDefinite reports a covariance that is indefinite by more
	// than rounding, or singular where it has to be definite.
	ErrNotPositiveDefinite = fault.ErrNotPositiveDefinite

	// ErrArgument reports any other unusable argument: nil, a negative noise variance, a kernel whose parameters do not fit.
	ErrArgument = fault.ErrArgument
)

// DimensionError reports a size that does not fit; it wraps [ErrDimension]. Op is the
// function or method, What the argument, Got and Want are the sizes.
type DimensionError = fault.DimensionError

// ValueError reports a number that cannot be used. Op is the function or method, What the argument, Row and Col are the
// position of the number, −1 where it has none, Value is the number. It wraps Err, a sentinel, which says why.
type ValueError = fault.ValueError

// DefiniteError reports a matrix that could not be factorised. Op is the function or method, What
// the matrix, Pivot the row of the failing pivot, −1 if Value is an eigenvalue, Value the pivot or
// the most negative eigenvalue, Jitter the absolute amount that had been added to the diagonal. It
// wraps [ErrNotPositiveDefinite] and Err, the error of linalg, if there is one.
type DefiniteError = fault.DefiniteError
