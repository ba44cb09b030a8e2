package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/linalg"
)

// conditioned is a run with a process that is given its data.
type conditioned struct {
	run
	post *gp.Process // given the data
	full *gp.Process // given the pending points as well
}

// extend conditions the process on the values z at the points of the run, and on its pending
// points with the noise variance that a measurement has.
func (r *conditioned) extend(ctx context.Context, z, noise []float64, measurement float64) error {
	err := r.post.Extend(ctx, r.d.X, z, noise)
	if err == nil {
		r.full, err = r.post.WithPending(ctx, r.d.Pending, measurement)
	}
	r.has = err == nil
	return err
}

// Predict writes the posterior at the rows of x.
func (r *conditioned) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	if err := r.full.Moments(ctx, mean, sd, x); err != nil {
		return err
	}
	gp.Deviations(sd)
	return nil
}

// priorRun is a run under a prior that was learned offline and stays as it is:
// it is conditioned on the data, nothing more.
type priorRun struct {
	conditioned   // post is nil until the prior is conditioned for the first time
	prior         gp.Function
	noiseVariance float64 // where none is given
}

func newPriorRun(dim int, seed uint64, prior gp.Function, noiseVariance float64) *priorRun {
	return &priorRun{conditioned{run: run{dim: dim, seed: seed}}, prior, noiseVariance}
}

func (r *priorRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	return r.condition(ctx, r.d.Y, r.d.NoiseVariance)
}

// condition conditions the prior on values with noise variances of their own, 0 for none.
func (r *priorRun) condition(ctx context.Context, y, noise []float64) error {
	if r.post == nil {
		r.post = gp.New(r.prior)
	}
	return r.extend(ctx, y, gp.Noise(noise, len(y), r.noiseVariance), r.noiseVariance)
}

// NoiseVariance returns the noise variance learned.
func (r *priorRun) NoiseVariance() float64 { return r.noiseVariance }
