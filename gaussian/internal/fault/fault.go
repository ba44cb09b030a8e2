// Package fault holds the errors of package gaussian and the packages below it, and the checks of arguments that return them.
package fault

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/linalg"
)

// The sentinels and the types below are exported, and documented, by package gaussian.
var (
	ErrDimension           = errors.New("gaussian: sizes do not match")
	ErrNotFinite           = errors.New("gaussian: value is not finite")
	ErrNotPositiveDefinite = errors.New("gaussian: matrix is not positive definite")
	ErrArgument            = errors.New("gaussian: invalid argument")
)

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

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// notFinite returns the index of the first entry of x that is not finite, or −1: x−x is 0 for a finite x and NaN otherwise.
func notFinite(x []float64) int {
	return slices.IndexFunc(x, func(v float64) bool { return v-v != 0 })
}

// Len wants a size.
func Len(op, what string, got, want int) error {
	if got != want {
		return &DimensionError{Op: op, What: what, Got: got, Want: want}
	}
	return nil
}

// Vec wants so many numbers, all finite.
func Vec(op, what string, x []float64, want int) error {
	if len(x) != want {
		return &DimensionError{Op: op, What: what, Got: len(x), Want: want}
	}
	if i := notFinite(x); i >= 0 {
		return &ValueError{Op: op, What: what, Row: i, Col: -1, Value: x[i], Err: ErrNotFinite}
	}
	return nil
}

// Row wants the numbers of row i of a matrix finite.
func Row(op, what string, i int, r []float64) error {
	if j := notFinite(r); j >= 0 {
		return &ValueError{Op: op, What: what, Row: i, Col: j, Value: r[j], Err: ErrNotFinite}
	}
	return nil
}

// Nil is the error of a nil argument.
func Nil(op, what string) error {
	return fmt.Errorf("gaussian: %s: %s is nil: %w", op, what, ErrArgument)
}

// Scalar is the error of a number.
func Scalar(op, what string, v float64, err error) error {
	return &ValueError{Op: op, What: what, Row: -1, Col: -1, Value: v, Err: err}
}

// Result returns v, and an error if it is not finite.
func Result(op string, v float64) (float64, error) {
	if !Finite(v) {
		return v, Scalar(op, "result", v, ErrNotFinite)
	}
	return v, nil
}

// NonNegative wants a finite v ≥ 0.
func NonNegative(op, what string, v float64) error {
	if !Finite(v) {
		return Scalar(op, what, v, ErrNotFinite)
	}
	if !(v >= 0) {
		return Scalar(op, what, v, ErrArgument)
	}
	return nil
}

// Definite is the error of a matrix that has no factor, err being that of linalg.
func Definite(op, what string, jitter float64, err error) error {
	e := &DefiniteError{Op: op, What: what, Pivot: -1, Value: math.NaN(), Jitter: jitter, Err: err}
	var npd *linalg.NotPositiveDefiniteError
	if errors.As(err, &npd) {
		e.Pivot, e.Value = npd.Pivot, npd.Value
	}
	return e
}
