package paper

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/linalg"
)

// task is a past task: points of the unit cube, scaled values, and their noise
// variances where they are known, 0 elsewhere, nil for none.
type task struct {
	id    string
	x     *linalg.Dense
	y     []float64
	noise []float64
}

// source is the Gaussian process of one past task: zero prior mean, a kernel, a noise variance,
// conditioned on the task's scaled data. It is immutable and safe for concurrent use.
type source struct {
	task
	gp.Hyper

	process gp.Process
}

// condition makes s the process of hyperparameters h given a task, on its memory.
func (s *source) condition(ctx context.Context, t task, h gp.Hyper) error {
	s.task, s.Hyper = t, h
	s.process.Reset(gp.FromKernel{Kernel: h.Kernel})
	return wrap(s.process.Condition(ctx, t.x, t.y, s.noises()), "task %q: posterior", t.id)
}

func (s *source) noises() []float64 { return gp.Noise(s.noise, len(s.y), s.NoiseVariance) }

// jitteredNormal makes a Normal of a covariance that rounding may have left without a Cholesky factor, adding the smallest
// jitter that gives it one. It keeps its arguments, of which c is memory for the factor.
func jitteredNormal(c *linalg.Cholesky, mean []float64, cov *linalg.Sym) (*multivariate.Normal, float64, error) {
	jitter, err := c.FactorizeJitter(cov, gaussian.MaxJitter)
	if err != nil {
		return nil, jitter, err
	}
	cov.AddDiag(jitter)
	n, err := multivariate.AdoptNormal(mean, cov, c.Lower())
	return n, jitter, err
}

// wrap says what was computed when err arose.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(slices.Clone(args), err)...)
}
