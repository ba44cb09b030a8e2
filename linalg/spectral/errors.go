package spectral

import "errors"

var (
	// ErrNotFinite reports a NaN or an infinity among the entries of a matrix whose decomposition was asked for.
	ErrNotFinite = errors.New("spectral: matrix has an entry that is not finite")

	// ErrNoConvergence reports that an iteration ended without converging.
	ErrNoConvergence = errors.New("spectral: iteration did not converge")
)
