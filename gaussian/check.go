package gaussian

import (
	"fmt"
	"strconv"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func checkData(op string, k kernel.Kernel, x *linalg.Dense, y, extra []float64) error {
	if x == nil {
		return fault.Nil(op, "x")
	}
	n, _ := x.Dims()
	if err := fault.Vec(op, "y", y, n); err != nil {
		return err
	}
	if extra != nil {
		if err := fault.Len(op, "noise variances", len(extra), n); err != nil {
			return err
		}
	}
	for i, v := range extra {
		if !(v >= 0) || !fault.Finite(v) {
			return fault.NonNegative(op, "noise variance "+strconv.Itoa(i), v)
		}
	}
	for i := range n {
		if err := fault.Row(op, "x", i, x.Row(i)); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	return checkKernel(op, k, x.Row(0))
}

// checkKernel evaluates k once at a point of a data set. A panic of a kernel from
// outside passes: it must reach the caller, not look like a point that a search avoids.
func checkKernel(op string, k kernel.Kernel, x []float64) error {
	if err := kernel.CheckDim(k, len(x)); err != nil {
		return fmt.Errorf("gaussian: %s: %w: %w", op, err, ErrDimension)
	}
	if v := k.Eval(x, x); !(v >= 0) || !fault.Finite(v) {
		return fault.Scalar(op, "prior variance", v, ErrArgument)
	}
	return nil
}
