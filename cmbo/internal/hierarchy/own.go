package hierarchy

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// leastOwn is the number of values that lengths are fitted to, at least: those of the design of a run without a past.
const leastOwn = 5

// fitOwn gives the process specific to the target lengths, and values the share of noise, as a run without a past fits
// them to values, raised so that penalties say no more here than elsewhere, once these are more than Outgrow times those
// of all past tasks, which then say less of both than the run does. With lengths likely of any function a run in a dozen
// coordinates would find no more than random search, and with the noise of a few values end short of the best point
// (TestSmallPast). Of values as they are seen, low ones closer together, noise is a larger share.
//
// Until then values of points that were measured again tell noise from what no hypothesis follows, so that it may be
// louder than the past's. Less is not thought of: intervals would hold fewer of the values that a run asks for.
func (r *Run) fitOwn(ctx context.Context, x *linalg.Dense, y, given, seen []float64) error {
	var params []float64
	shape, noise, variance := r.s.SpecificKernel, r.noise, r.Model.specificVariance()
	if at := r.s.Outgrow; at > 0 && float64(len(y)) > at*float64(r.Model.values) && len(y) >= leastOwn {
		if r.own == nil {
			r.own = gp.NewPlain(r.Model.grid.dim(), nil, math.NaN(), scaling.ZScore.Scale, nil, r.s.Seed)
		}
		if err := r.own.Tune(ctx, &space.Data{X: x, Y: y, Raw: y, RawNoiseVariance: given}); err != nil {
			return err
		}
		n, fitted := r.own.Fitted()
		k := r.own.Kernel()
		of := k.Eval(x.Row(0), x.Row(0))
		if shape = kernel.Scale(1/of, k); r.learned {
			closer := scaling.Fit(scaling.ZScore, seen[:n]).Scale / scaling.Fit(scaling.ZScore, y[:n]).Scale
			noise = r.own.NoiseVariance() / of * variance / closer / closer
		}
		params = append(slices.Clone(fitted), noise)
	}
	repeats := r.learned && params == nil && repeated(x, given)
	if repeats == r.repeats && slices.Equal(params, r.ownParams) {
		return nil
	}
	r.reset()
	r.ownParams, r.specific, r.repeats = params, kernel.Scale(variance, shape), repeats
	r.setMembers(noise)
	return nil
}

// repeated reports whether a point has several values without a noise of their own.
func repeated(x *linalg.Dense, given []float64) bool {
	values, at := 0, make(map[string]bool)
	for i, v := range given {
		if v == 0 {
			values++
			at[points.Key(x.Row(i))] = true
		}
	}
	return values > len(at)
}

// setMembers makes the members, for values with that noise variance unless a hypothesis has its own.
func (r *Run) setMembers(noise float64) {
	times := []float64{1}
	for _, by := range r.s.Louder {
		if r.repeats && by*noise <= r.s.NoiseRange[1] {
			times = append(times, by)
		}
	}
	r.all = nil
	for _, h := range r.Model.hypotheses(&r.s) {
		of := h.about()
		for _, by := range times {
			log := math.Log(of.prior / float64(len(times)))
			r.all = append(r.all, &member{hypothesis: h, facts: of, log: log, noise: by * cmp.Or(of.ownNoise, noise)})
		}
	}
}

// Outgrown reports whether the run has so many more values than its past that lengths and noise are its own: see fitOwn.
func (r *Run) Outgrown() bool { return r.ownParams != nil }
