package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// learnRGPE learns RGPE: mean = Σ_i w_i·μ_i + w_t·μ, variance = Σ_i w_i²·s_i² + w_t²·s², a weight being
// the share of joint draws in which the model ranks the target's observations best. See METHODS.md.
var learnRGPE = ensemble(config{method: "RGPE", shape: kernel.Matern52, ard: true, priors: botorchPriors}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
	r := &rgpeRun{newEnsembleRun(p, c, seed)}
	r.weigh = newRanker(p, c, seed).weigher(r.target)
	return r
})

// botorchPriors are those of BoTorch's SingleTaskGP. The density of a log-normal parameter has its
// mode at e^(mean − sd²), where that of the logarithm has it at e^mean.
func botorchPriors(dim int) gaussian.Priors {
	length := math.Sqrt2 + math.Log(float64(dim))/2
	return gaussian.Priors{
		LengthScale: gaussian.LogNormal{Mean: length - 3, SD: math.Sqrt(3), Min: 0.025, Max: 100},
		Variance:    gaussian.LogNormal{SD: 1, Min: 1, Max: 1},
		Noise:       gaussian.LogNormal{Mean: -5, SD: 1, Min: 1e-4, Max: 1},
	}
}

// rgpeRun is a [cmbo.Weigher] and, for its expected improvement, a [cmbo.Scorer].
type rgpeRun struct{ *ensembleRun }

func (r *rgpeRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	s, active, err := r.sum(ctx, mean, sd, x, r.d.Pending)
	if err != nil {
		return err
	}
	own := r.w[len(r.w)-1]
	for i := range sd {
		sd[i] *= own * own * sd[i]
	}
	for _, i := range active {
		linalg.Axpy(sd, r.w[i]*r.w[i], s.variance[i])
	}
	gp.Deviations(sd)
	return nil
}

// Score scores with the run's acquisition. Expected improvement is over the best mean that the
// ensemble predicts at the observed points that hold the limits: where models with scales of their own are averaged,
// the best value told is no value of the average.
func (r *rgpeRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, _ float64) error {
	if _, ok := f.(acq.EI); ok && len(r.d.Y) > 0 {
		mean, sd := make([]float64, len(r.d.Y)), make([]float64, len(r.d.Y))
		if err := r.Predict(ctx, mean, sd, r.d.X); err != nil {
			return err
		}
		f = acq.EI{Best: r.top(mean)}
	}
	return scorePredicted(ctx, r.Predict, dst, x, f)
}

// scorePredicted writes f at what is predicted at the rows of x.
func scorePredicted(ctx context.Context, predict func(ctx context.Context, mean, sd []float64, x *linalg.Dense) error,
	dst []float64, x *linalg.Dense, f acq.Func) error {
	if f == nil {
		return gp.OptionErrorf("a nil acquisition")
	}
	sd := make([]float64, len(dst))
	if err := predict(ctx, dst, sd, x); err != nil {
		return err
	}
	for j, m := range dst {
		dst[j] = f.Score(m, sd[j])
	}
	return nil
}
