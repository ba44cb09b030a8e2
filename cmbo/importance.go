package cmbo

import (
	"cmp"
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// An Importance is how much a parameter matters to what the model says of the space.
type Importance struct {
	Param string
	// First is the share of the variance of the model's mean over the space that the parameter explains alone, Total the
	// share that is lost without it. What parameters do together counts for each of them, so that totals may add up to
	// more than 1.
	First, Total float64
}

// importancePoints is the number of points by which a variance over the space is taken: shares
// are right to about .02 then (TestImportanceShares).
const importancePoints = 2048

// Importance returns how much each parameter matters, in their order: shares of the variance of the model's mean over
// the space, where the model sees logarithms of their mean. With the hierarchical prior low values count as
// at the limit of [Learn], and without a prior as closer together where that explains the values better. Parameters
// vary independently of each other, those of a list of candidates as their columns are distributed, in combinations
// that it lacks too. A parameter that no value told varies has the share that its kernel's lengthscale gives it.
// Before there is a past or two different values all shares are 0. It takes the time of [Optimizer.Predict] for 2048
// points twice and once more for each parameter, and fails with [ErrNumerical] or ctx.Err().
//
// M. Jansen, Analysis of variance designs for model output, 1999.
func (o *Optimizer) Importance(ctx context.Context) ([]Importance, error) {
	if err := o.made(); err != nil {
		return nil, err
	}
	a, b := o.space.Pairs(importancePoints, rng.Stream(o.config.seed, "importance"))
	return withFitted(ctx, o, func(*draft, Data, *scaling.Values) ([]Importance, error) {
		first, total, err := shares(a, b, func(rows [][]float64) ([]float64, error) {
			mean, _, err := o.model.predict(ctx, o.space.EncodeAll(rows))
			return mean, cmp.Or(err, ctx.Err()) // a model may not look at ctx while it computes
		})
		if err != nil {
			return nil, err
		}
		ps := o.space.Params()
		return each.Below(len(ps), func(i int) Importance { return Importance{ps[i].Name(), first[i], total[i]} }), nil
	})
}

// shares returns the first-order and the total shares of the variance of f, by rows a and b that
// are independent of each other.
func shares(a, b [][]float64, f func(rows [][]float64) ([]float64, error)) (first, total []float64, err error) {
	both, err := f(slices.Concat(a, b))
	if err != nil {
		return nil, nil, err
	}
	n, dim := len(a), len(a[0])
	fa, fb := both[:n], both[n:]
	mean, variance := stat.MeanVariance(both)
	first, total = make([]float64, dim), make([]float64, dim)
	if !(variance > 1e-24*mean*mean) { // what the rounding of a constant adds up to
		return first, total, nil
	}
	mixed := make([][]float64, len(a))
	for k := range dim {
		for i := range a {
			mixed[i] = slices.Clone(a[i])
			mixed[i][k] = b[i][k]
		}
		fm, err := f(mixed)
		if err != nil {
			return nil, nil, err
		}
		// Half the mean squares of what the others, and of what k makes.
		with, without := linalg.SqDist(fb, fm)/float64(2*n), linalg.SqDist(fa, fm)/float64(2*n)
		first[k] = max(1-with/variance, 0)
		total[k] = min(max(without/variance, first[k]), 1)
	}
	return first, total, nil
}
