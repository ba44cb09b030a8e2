package linalg

import "fmt"

// NotPositiveDefiniteError reports a matrix that is not positive definite: a
// Cholesky factorisation met a pivot that is not positive beyond rounding and finite.
type NotPositiveDefiniteError struct {
	Pivot int     // row of the pivot, from 0
	Value float64 // the pivot, before its square root; may be NaN
}

// Error returns a message with the index and the value of the pivot.
func (e *NotPositiveDefiniteError) Error() string {
	return fmt.Sprintf("linalg: matrix is not positive definite: pivot %d is %g", e.Pivot, e.Value)
}

func panicShape(op string, r0, c0, r1, c1 int) {
	panic(fmt.Sprintf("linalg: %s: %d×%d by %d×%d", op, r0, c0, r1, c1))
}

func panicLen(op, what string, got, want int) {
	panic(fmt.Sprintf("linalg: %s: %s has length %d, want %d", op, what, got, want))
}
