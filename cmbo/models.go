package cmbo

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/linalg"
)

// modelError gives an error of a model its sentinel; a done context takes its
// place.
func modelError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrNumerical, err)
}

// paperRun makes a [Surrogate] of the paper's adaptive prior, plainRun and
// mixtureRun of the other models.
type (
	paperRun   struct{ *model.Weighted }
	plainRun   struct{ *model.Plain }
	mixtureRun struct{ *model.Mixture }
)

func (r paperRun) Fit(ctx context.Context, d Data) error {
	return modelError(ctx, r.Weighted.Fit(ctx, (*model.Data)(&d)))
}

func (r paperRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return modelError(ctx, r.Weighted.Predict(ctx, mean, sd, x))
}

func (r paperRun) Bind(ctx context.Context, x *linalg.Dense) error {
	return modelError(ctx, r.Weighted.Bind(ctx, x))
}

func (r paperRun) State(ctx context.Context) ([]float64, error) {
	d, err := r.Weighted.State(ctx)
	return d, modelError(ctx, err)
}

func (r paperRun) Describe(s *Step) {
	describePrior(s, r.Weights(), r.PriorMoments(), r.Jitter())
	s.Distances = r.Distances()
	s.MaxDistance = model.MaxFinite(s.Distances)
	s.DistanceJitter = r.DistanceJitter()
}

// describePrior fills in what models of prototypes share.
func describePrior(s *Step, weights []float64, prior model.Moments, jitter float64) {
	s.Weights = slices.Clone(weights)
	s.PriorMean, s.PriorSD = slices.Clone(prior.Mean), slices.Clone(prior.SD)
	s.Jitter = jitter
}

func (r plainRun) Fit(ctx context.Context, d Data) error {
	return modelError(ctx, r.Plain.Fit(ctx, (*model.Data)(&d)))
}

func (r plainRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return modelError(ctx, r.Plain.Predict(ctx, mean, sd, x))
}

func (r plainRun) Describe(s *Step) {
	_, params := r.Fitted()
	s.Parameters = slices.Clone(params)
	s.Jitter = r.Jitter()
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
