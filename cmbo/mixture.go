package cmbo

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/linalg"
)

// WithMixture makes the new task's prior a mixture of the prototypes instead of
// their weighted sum: a priori the task is a draw from one of the clusters, with
// a probability proportional to the number of its tasks, and the data decide
// which, by their marginal likelihood under each. The predictive variance then
// holds the disagreement between clusters, and a cluster that does not fit fades
// away, which the weights of the paper never do. It goes beyond the paper, and
// well with [TotalCenter]. It contradicts every other way to weigh
// prototypes.
func WithMixture() Option {
	return option{name: "WithMixture", paper: true, run: func(c *runConfig) error { c.weights = "mixture"; return nil }}
}

// mixtureRun makes a [Surrogate] of the mixture.
type mixtureRun struct{ *model.Mixture }

func newMixtureRun(s paperSettings) Surrogate {
	return mixtureRun{model.NewMixture(s.Prior, s.noise, s.workers)}
}

func (r mixtureRun) Fit(ctx context.Context, d Data) error {
	return modelError(ctx, r.Mixture.Fit(ctx, (*model.Data)(&d)))
}

func (r mixtureRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return modelError(ctx, r.Mixture.Predict(ctx, mean, sd, x))
}

func (r mixtureRun) Bind(ctx context.Context, x *linalg.Dense) error {
	return modelError(ctx, r.Mixture.Bind(ctx, x))
}

func (r mixtureRun) Describe(s *Step) { describePrior(s, r.Weights(), r.PriorMoments(), r.Jitter()) }
