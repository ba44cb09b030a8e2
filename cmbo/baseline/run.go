package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// run is what every surrogate keeps: the data of its run, checked.
type run struct {
	dim  int
	seed uint64
	d    cmbo.Data
	has  bool // Fit has come to its end
}

// take checks data and keeps it, before the fit.
func (r *run) take(d cmbo.Data) error {
	r.has = false
	if len(d.RawNoiseVariance) == 0 && len(d.Raw) == len(d.Y) {
		u := unit(d.Raw, d.Y)
		d.RawNoiseVariance = each.Of(d.NoiseVariance, func(v float64) float64 { return v * u * u })
	}
	r.d = d
	return gp.CheckData(&r.d, r.dim)
}

// ready checks the arguments of Predict and Score: destinations for the rows of x.
func (r *run) ready(ctx context.Context, x *linalg.Dense, dst ...[]float64) error {
	return gp.CheckCall(ctx, r.has, r.dim, x, dst...)
}

// top returns the largest of values at the points told, then at those pending, on which proposals
// are to improve: values that break a limit have no part.
func (r *run) top(values []float64) float64 {
	top := math.Inf(-1)
	for i, v := range values {
		if i >= len(r.d.Feasible) || r.d.Feasible[i] {
			top = max(top, v)
		}
	}
	return top
}
