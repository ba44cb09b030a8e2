package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// leastOwn is the number of values that lengths are fitted to, at least: those of the design of a run without a past.
const leastOwn = 5

// fitOwn gives the process specific to the target lengths as a run without a past fits them to values, raised so that
// penalties say no more here than elsewhere, once these are more than OwnLengths times those of all past tasks: such a
// past says less of lengths than the run itself, and with those likely of any function a run in a dozen coordinates
// would find no more than random search (TestSmallPast).
func (r *Run) fitOwn(ctx context.Context, x *linalg.Dense, y, given []float64) error {
	var params []float64
	k := r.s.SpecificKernel
	if at := r.s.OwnLengths; at > 0 && float64(len(y)) > at*float64(r.Model.values) && len(y) >= leastOwn {
		if r.own == nil {
			_, dim := x.Dims()
			r.own = gp.NewPlain(dim, nil, math.NaN(), scaling.ZScore.Scale, nil, r.s.Seed)
		}
		z, variances := scaling.ZScore.Scale(y, given)
		if err := r.own.Fit(ctx, &space.Data{X: x, Y: z, NoiseVariance: variances, Raw: y, RawNoiseVariance: given}); err != nil {
			return err
		}
		_, params = r.own.Fitted()
		k = r.own.Kernel()
		k = kernel.Scale(1/k.Eval(x.Row(0), x.Row(0)), k)
	}
	if !slices.Equal(params, r.ownParams) {
		r.reset()
		r.ownParams, r.specific = params, kernel.Scale(r.Model.specificVariance(), k)
	}
	return nil
}
