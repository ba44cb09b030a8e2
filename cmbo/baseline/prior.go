package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/linalg"
)

// priorRun is a run under a prior that was learned offline and stays as it is:
// it is conditioned on the data, nothing more.
type priorRun struct {
	run
	prior         gp.Function
	noiseVariance float64     // where none is given
	post          *gp.Process // given the data, nil before
	full          *gp.Process // given the pending points as well
}

func (r *priorRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	r.has = false
	if r.post == nil {
		r.post = gp.New(r.prior)
	}
	noise := gp.Noise(r.d.NoiseVariance, len(r.d.Y), r.noiseVariance)
	err := r.post.Extend(ctx, r.d.X, r.d.Y, noise)
	if err == nil {
		r.full, err = r.post.WithPending(ctx, r.d.Pending, r.noiseVariance)
	}
	r.has = err == nil
	return err
}

func (r *priorRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	if err := r.full.Moments(ctx, mean, sd, x); err != nil {
		return err
	}
	gp.Deviations(sd)
	return nil
}

// NoiseVariance returns the noise variance learned.
func (r *priorRun) NoiseVariance() float64 { return r.noiseVariance }
