package model

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/linalg"
)

// Source is the Gaussian process of one past task: zero prior mean, a kernel, a
// noise variance, conditioned on the task's scaled data. It is immutable and safe
// for concurrent use.
type Source struct {
	Task
	gp.Hyper

	process gp.Process
}

// NewSource conditions the process of hyperparameters h on a task.
func NewSource(ctx context.Context, t Task, h gp.Hyper) (*Source, error) {
	s := new(Source)
	return s, s.condition(ctx, t, h)
}

// condition makes s what NewSource returns, on its memory.
func (s *Source) condition(ctx context.Context, t Task, h gp.Hyper) error {
	s.Task, s.Hyper = t, h
	s.process.Reset(gp.FromKernel{Kernel: h.Kernel})
	return wrap(s.process.Condition(ctx, t.X, t.Y, s.noise()), "task %q: posterior", t.ID)
}

// noise returns the noise variance of each observation.
func (s *Source) noise() []float64 { return gp.Noise(s.Task.Noise, len(s.Y), s.NoiseVariance) }

// NoiseRange returns the smallest and the largest noise variance of its data.
func (s *Source) NoiseRange() (lo, hi float64) {
	v := s.noise()
	return slices.Min(v), slices.Max(v)
}

// Len returns the number of observations.
func (s *Source) Len() int { return len(s.Y) }

// Moments writes the posterior at the rows of x; mean or variance may be nil.
func (s *Source) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	return s.process.Moments(ctx, mean, variance, x)
}

// joint writes the posterior mean and covariance at the rows of x; white is memory.
func (s *Source) joint(ctx context.Context, mean []float64, cov *linalg.Sym, x, white *linalg.Dense) error {
	err := s.process.Whiten(ctx, white, x)
	if err == nil {
		err = s.process.MomentsFrom(ctx, mean, nil, x, white)
	}
	if err == nil {
		err = s.process.GramFrom(ctx, cov, x, white)
	}
	return err
}
