package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// run is what every surrogate keeps: the data of its run, checked.
type run struct {
	dim  int
	seed uint64
	d    cmbo.Data
	has  bool // Fit has come to its end
}

// take checks data and keeps it, before the fit; missing parts become empty ones.
func (r *run) take(d cmbo.Data) error {
	r.has = false
	n := len(d.Y)
	if d.X == nil {
		d.X = linalg.NewDense(0, r.dim, nil)
	}
	if d.Pending == nil {
		d.Pending = linalg.NewDense(0, r.dim, nil)
	}
	if d.NoiseVariance == nil {
		d.NoiseVariance, d.RawNoiseVariance = make([]float64, n), make([]float64, n)
	}
	if d.RawNoiseVariance == nil && len(d.Raw) == n {
		u := unit(d.Raw, d.Y)
		for _, v := range d.NoiseVariance {
			d.RawNoiseVariance = append(d.RawNoiseVariance, v*u*u)
		}
	}
	lengths := []int{points.Len(d.X), n, len(d.Raw), len(d.NoiseVariance), len(d.RawNoiseVariance)}
	if slices.Min(lengths) != slices.Max(lengths) {
		const format = "%w: the numbers of points, values, raw values, noise variances and raw ones are %d"
		return fmt.Errorf(format, cmbo.ErrDimension, lengths)
	}
	for _, x := range []*linalg.Dense{d.X, d.Pending} {
		if err := r.checkPoints(x); err != nil {
			return err
		}
	}
	for i := range n {
		if !points.Admitted(d.Y[i]) || !points.Admitted(d.Raw[i]) {
			return fmt.Errorf("%w: value %d is %g, before scaling %g", cmbo.ErrNotFinite, i, d.Y[i], d.Raw[i])
		}
		if v := d.NoiseVariance[i]; !(v >= 0) || !points.Admitted(v) {
			return fmt.Errorf("%w: noise variance %d is %g", cmbo.ErrNotFinite, i, v)
		}
	}
	r.d = d
	return nil
}

func (r *run) checkPoints(x *linalg.Dense) error {
	if x == nil {
		return fmt.Errorf("%w: a nil matrix of points", cmbo.ErrDimension)
	}
	n, d := x.Dims()
	if n > 0 && d != r.dim {
		return fmt.Errorf("%w: points of %d coordinates, want %d", cmbo.ErrDimension, d, r.dim)
	}
	for i := range n {
		for j, v := range x.Row(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: point %d, coordinate %d is %g", cmbo.ErrNotFinite, i, j, v)
			}
		}
	}
	return nil
}

// ready checks the arguments of Predict and Score: destinations for the rows of x.
func (r *run) ready(ctx context.Context, x *linalg.Dense, dst ...[]float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !r.has {
		return fmt.Errorf("%w: the surrogate has not been given data", cmbo.ErrOption)
	}
	if err := r.checkPoints(x); err != nil {
		return err
	}
	for _, v := range dst {
		if len(v) != points.Len(x) {
			return fmt.Errorf("%w: %d entries for %d points", cmbo.ErrDimension, len(v), points.Len(x))
		}
	}
	return nil
}
