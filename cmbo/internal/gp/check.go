package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/linalg"
)

// CheckData reports what no model of points of dim coordinates can take of the data of a run. Points that are
// nil become empty lists, noise variances unknown ones.
func CheckData(d *space.Data, dim int) error {
	n := len(d.Y)
	if d.NoiseVariance == nil {
		d.NoiseVariance, d.RawNoiseVariance = make([]float64, n), make([]float64, n)
	}
	lengths := []int{points.Len(d.X), n, len(d.Raw), len(d.NoiseVariance)}
	for _, m := range []int{len(d.RawNoiseVariance), len(d.Trials), len(d.States), len(d.Feasible)} {
		if m > 0 {
			lengths = append(lengths, m)
		}
	}
	if slices.Min(lengths) != slices.Max(lengths) {
		return fmt.Errorf("%w: the numbers of points, values, raw values, noise variances, then raw ones, trials, states and marks of feasibility if any, are %d",
			space.ErrDimension, lengths)
	}
	for _, x := range []**linalg.Dense{&d.X, &d.Pending, &d.Seen} {
		if *x == nil {
			*x = linalg.NewDense(0, dim, nil)
		}
		if err := checkPoints(*x, dim); err != nil {
			return err
		}
	}
	for i := range n {
		if !points.Admitted(d.Y[i]) || !points.Admitted(d.Raw[i]) {
			return fmt.Errorf("%w: value %d is %g, before scaling %g", space.ErrValue, i, d.Y[i], d.Raw[i])
		}
		if v := d.NoiseVariance[i]; !(v >= 0) || !points.Admitted(v) {
			return fmt.Errorf("%w: noise variance %d is %g", space.ErrValue, i, v)
		}
	}
	return nil
}

func checkPoints(x *linalg.Dense, dim int) error {
	if x == nil {
		return fmt.Errorf("%w: a nil matrix of points", space.ErrDimension)
	}
	n, d := x.Dims()
	if n > 0 && d != dim {
		return fmt.Errorf("%w: points of %d coordinates, want %d", space.ErrDimension, d, dim)
	}
	for i := range n {
		for j, v := range x.Row(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: point %d, coordinate %d is %g", space.ErrValue, i, j, v)
			}
		}
	}
	return nil
}

// OptionErrorf is the error of an option, or of another argument of the caller's, that cannot be.
func OptionErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", space.ErrOption, fmt.Sprintf(format, args...))
}

// RefuseUnless returns nil if ok, else the error of [OptionErrorf].
func RefuseUnless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return OptionErrorf(format, args...)
}

// Find is [names.Find] with an option error.
func Find[T any](of []T, nameOf func(T) string, kind, name string) (T, error) {
	found, err := names.Find(of, nameOf, kind, name)
	return found, RefuseUnless(err == nil, "%v", err)
}

// Setting returns an option that sets something and fails as RefuseUnless does.
func Setting[C any](set func(C), ok bool, format string, args ...any) func(C) error {
	return func(c C) error {
		set(c)
		return RefuseUnless(ok, format, args...)
	}
}

// CheckContext reports a nil context.
func CheckContext(ctx context.Context) error {
	return RefuseUnless(ctx != nil, "a nil context.Context")
}

// Apply applies options, which kind names, to c in their order. It fails as the first of them that does, or if one is nil.
func Apply[C any, O ~func(C) error](c C, kind string, opts []O) error {
	for _, o := range opts {
		if o == nil {
			return OptionErrorf("a nil %s", kind)
		}
		if err := o(c); err != nil {
			return err
		}
	}
	return nil
}

// CheckCall reports what no model that has data can answer: x are points of dim coordinates, and
// destinations have an entry for each.
func CheckCall(ctx context.Context, has bool, dim int, x *linalg.Dense, dst ...[]float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !has {
		return OptionErrorf("the surrogate has not been given data")
	}
	if err := checkPoints(x, dim); err != nil {
		return err
	}
	for _, v := range dst {
		if len(v) != points.Len(x) {
			return fmt.Errorf("%w: %d entries for %d points", space.ErrDimension, len(v), points.Len(x))
		}
	}
	return nil
}
