package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/linalg"
)

// priorRun is a run under a prior that was learned offline and stays as it is:
// it is conditioned on the data, nothing more.
type priorRun struct {
	run
	prior field
	sigma float64 // noise variance where none is given
	post  *posterior
	full  field
}

func (r *priorRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	r.has = false
	var err error
	noise := hyper{sigma: r.sigma}.noises(r.d.NoiseVariance)
	if r.post, err = newPosterior(ctx, r.prior, r.d.X, r.d.Y, noise); err != nil {
		return err
	}
	r.full, err = withPending(ctx, r.post, r.d.Pending, r.sigma)
	r.has = err == nil
	return err
}

func (r *priorRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	if err := r.full.momentsTo(ctx, mean, sd, x); err != nil {
		return err
	}
	sqrtAll(sd)
	return nil
}

// NoiseVariance returns the noise variance learned.
func (r *priorRun) NoiseVariance() float64 { return r.sigma }
