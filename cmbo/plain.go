package cmbo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/internal/parallel"
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
	case errors.As(err, new(*parallel.Panic)):
		return err
	}
	return fmt.Errorf("%w: %w", ErrNumerical, err)
}

// plainRun makes a [Surrogate] of the plain Gaussian process.
type plainRun struct{ *model.Plain }

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

func (r plainRun) Sample(ctx context.Context, dst []float64, x *linalg.Dense, rnd *rand.Rand) error {
	return modelError(ctx, r.Plain.Sample(ctx, dst, x, rnd))
}
