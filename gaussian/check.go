package gaussian

import (
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// allFinite returns the index of the first entry of x that is not finite, or −1.
// x−x is 0 for a finite x and NaN otherwise, so one comparison does.
func allFinite(x []float64) int {
	i := 0
	for ; i+4 <= len(x); i += 4 {
		if d := ((x[i] - x[i]) + (x[i+1] - x[i+1])) + ((x[i+2] - x[i+2]) + (x[i+3] - x[i+3])); d != 0 {
			break
		}
	}
	for ; i < len(x); i++ {
		v := x[i]
		if v-v != 0 {
			return i
		}
	}
	return -1
}

func checkLen(op, what string, got, want int) error {
	if got != want {
		return &DimensionError{Op: op, What: what, Got: got, Want: want}
	}
	return nil
}

func checkVec(op, what string, x []float64, want int) error {
	if len(x) != want {
		return &DimensionError{Op: op, What: what, Got: len(x), Want: want}
	}
	if i := allFinite(x); i >= 0 {
		return &ValueError{Op: op, What: what, Row: i, Col: -1, Value: x[i], Err: ErrNotFinite}
	}
	return nil
}

func errNil(op, what string) error {
	return fmt.Errorf("gaussian: %s: %s is nil: %w", op, what, ErrArgument)
}

func scalarError(op, what string, v float64, err error) error {
	return &ValueError{Op: op, What: what, Row: -1, Col: -1, Value: v, Err: err}
}

// checkNonNegative accepts finite v ≥ 0.
func checkNonNegative(op, what string, v float64) error {
	if !finite(v) {
		return scalarError(op, what, v, ErrNotFinite)
	}
	if !(v >= 0) {
		return scalarError(op, what, v, ErrArgument)
	}
	return nil
}

func checkPair(op string, p, q *Normal) error {
	if p == nil || q == nil {
		return errNil(op, "a Normal")
	}
	if len(q.mean) != len(p.mean) {
		return &DimensionError{Op: op, What: "second Normal", Got: len(q.mean), Want: len(p.mean)}
	}
	return nil
}

func definiteError(op, what string, jitter float64, err error) error {
	e := &DefiniteError{Op: op, What: what, Pivot: -1, Value: math.NaN(), Jitter: jitter, Err: err}
	var npd *linalg.NotPositiveDefiniteError
	if errors.As(err, &npd) {
		e.Pivot, e.Value = npd.Pivot, npd.Value
	}
	return e
}

// checkData checks a data set and returns the dimension of its points.
func checkData(op string, k kernel.Kernel, x *linalg.Dense, y, extra []float64) (dim int, err error) {
	if x == nil {
		return 0, errNil(op, "x")
	}
	n, dim := x.Dims()
	if err := checkVec(op, "y", y, n); err != nil {
		return 0, err
	}
	if extra != nil {
		if err := checkLen(op, "noise variances", len(extra), n); err != nil {
			return 0, err
		}
	}
	for i, v := range extra {
		if !(v >= 0) || !finite(v) {
			return 0, checkNonNegative(op, "noise variance "+itoa(i), v)
		}
	}
	if err := checkPoints(op, "x", x, dim); err != nil {
		return 0, err
	}
	if n == 0 {
		return dim, nil
	}
	return dim, checkKernel(op, k, x.Row(0))
}

// checkPoints wants rows of finite coordinates of the given dimension.
func checkPoints(op, what string, x *linalg.Dense, dim int) error {
	if x == nil {
		return errNil(op, what)
	}
	n, d := x.Dims()
	if n > 0 && d != dim {
		return &DimensionError{Op: op, What: "row of " + what, Got: d, Want: dim}
	}
	for i := range n {
		r := x.Row(i)
		if j := allFinite(r); j >= 0 {
			return &ValueError{Op: op, What: what, Row: i, Col: j, Value: r[j], Err: ErrNotFinite}
		}
	}
	return nil
}

// checkKernel evaluates k once at a point of a data set. A panic of a kernel from
// outside passes: it must reach the caller, not look like a point that a search avoids.
func checkKernel(op string, k kernel.Kernel, x []float64) error {
	if err := kernel.CheckDim(k, len(x)); err != nil {
		return fmt.Errorf("gaussian: %s: %w: %w", op, err, ErrDimension)
	}
	if v := k.Eval(x, x); !(v >= 0) || !finite(v) {
		return scalarError(op, "prior variance", v, ErrArgument)
	}
	return nil
}
