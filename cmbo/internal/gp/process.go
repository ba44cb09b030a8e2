package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// Process is a Gaussian process: a [Function] conditioned on noisy values at points, none at first,
// and itself a Function. Moments are those of the function, noise is not added to them.
//
// Condition, Extend and Reset change a Process; the other methods may run
// concurrently. After an error the process is its prior.
type Process struct {
	prior Function
	x     *linalg.Dense // points of the entries of data, nil without
	data  Conditioned
}

// New returns the process that prior is, without observations.
func New(prior Function) *Process { return &Process{prior: prior} }

// Condition returns prior conditioned on values y with the given noise variances at the rows of x, which it keeps.
func Condition(ctx context.Context, prior Function, x *linalg.Dense, y, noise []float64) (*Process, error) {
	p := New(prior)
	return p, p.Condition(ctx, x, y, noise)
}

// whites keeps matrices of whitened covariances between calls.
var whites = sync.Pool{New: func() any { return new(linalg.Dense) }}

// grams keeps covariance matrices between calls.
var grams = sync.Pool{New: func() any { return new(linalg.Sym) }}

// Reset makes p the process that prior is, keeping its memory.
func (p *Process) Reset(prior Function) {
	p.prior, p.x = prior, nil
	p.data.Reset()
}

// Condition replaces the observations by values y with the given noise variances at
// the rows of x, which p keeps, in one factorisation.
func (p *Process) Condition(ctx context.Context, x *linalg.Dense, y, noise []float64) error {
	p.Reset(p.prior)
	if points.Len(x) == 0 {
		return nil
	}
	resid, err := p.residuals(ctx, x, y)
	if err != nil {
		return err
	}
	gram := grams.Get().(*linalg.Sym)
	defer grams.Put(gram)
	if err := p.prior.Gram(ctx, gram, x); err != nil {
		return err
	}
	if err := p.data.Factorize(gram, noise, resid); err != nil {
		return explained(ctx, err)
	}
	p.x = x
	return nil
}

// Extend is Condition that keeps the part of the factor that belongs to the first points, as far as
// they and their noise variances are those before, and adds the others row by row. What comes out
// does not depend on the steps in which the observations came.
func (p *Process) Extend(ctx context.Context, x *linalg.Dense, y, noise []float64) error {
	same := points.Same(p.x, x)
	p.x = nil
	if points.Len(x) == 0 {
		p.data.Reset()
		return nil
	}
	resid, err := p.residuals(ctx, x, y)
	if err == nil {
		err = p.data.Grow(same, p.row(ctx, x), noise, resid)
	}
	if err != nil {
		p.data.Reset()
		return explained(ctx, err)
	}
	p.x = new(linalg.Dense)
	p.x.Copy(x) // compared at the next call, when x may hold other points
	return nil
}

// WithPending returns p with pending points counted as evaluated with noise of the given variance:
// the predicted mean as the value leaves all means as they are. p itself stays as it is.
func (p *Process) WithPending(ctx context.Context, pending *linalg.Dense, noise float64) (*Process, error) {
	n := points.Len(pending)
	if n == 0 {
		return p, nil
	}
	all := points.Join(p.x, pending)
	data, err := p.data.WithPending(n, p.row(ctx, all), noise)
	if err != nil {
		return nil, explained(ctx, err)
	}
	return &Process{prior: p.prior, x: all, data: *data}, nil
}

// residuals returns y less the prior means at the rows of x.
func (p *Process) residuals(ctx context.Context, x *linalg.Dense, y []float64) ([]float64, error) {
	resid := make([]float64, len(y))
	if err := p.prior.Moments(ctx, resid, nil, x); err != nil {
		return nil, err
	}
	for i, v := range y {
		resid[i] = v - resid[i]
	}
	return resid, nil
}

// row gives the prior covariances of a row of x with the rows before and itself.
func (p *Process) row(ctx context.Context, x *linalg.Dense) Row {
	_, dim := x.Dims()
	var cross linalg.Dense
	return func(dst []float64, i int) error {
		at, before := x.View(i, 0, 1, dim), x.View(0, 0, i, dim)
		if i > 0 {
			if err := p.prior.Cov(ctx, &cross, &at, &before); err != nil {
				return err
			}
			copy(dst, cross.Row(0))
		}
		return p.prior.Moments(ctx, nil, dst[i:], &at)
	}
}

// Data returns what p knows of its observations.
func (p *Process) Data() *Conditioned { return &p.data }

// whitened calls do with what Whiten makes of x, in memory that is kept between calls.
func (p *Process) whitened(ctx context.Context, x *linalg.Dense, do func(v *linalg.Dense) error) error {
	v := whites.Get().(*linalg.Dense)
	defer whites.Put(v)
	if err := p.Whiten(ctx, v, x); err != nil {
		return err
	}
	return do(v)
}

// Moments implements [Function].
func (p *Process) Moments(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	return p.whitened(ctx, x, func(v *linalg.Dense) error { return p.MomentsFrom(ctx, mean, variance, x, v) })
}

// Cov implements [Function].
func (p *Process) Cov(ctx context.Context, dst, x, y *linalg.Dense) error {
	return p.whitened(ctx, x, func(v *linalg.Dense) error {
		return p.whitened(ctx, y, func(w *linalg.Dense) error { return p.CovFrom(ctx, dst, x, v, y, w) })
	})
}

// Gram implements [Function].
func (p *Process) Gram(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	return p.whitened(ctx, x, func(v *linalg.Dense) error { return p.gramFrom(ctx, dst, x, v) })
}

// Joint is Moments, without variances, and Gram; white is memory.
func (p *Process) Joint(ctx context.Context, mean []float64, cov *linalg.Sym, x, white *linalg.Dense) error {
	err := p.Whiten(ctx, white, x)
	if err == nil {
		err = p.MomentsFrom(ctx, mean, nil, x, white)
	}
	if err == nil {
		err = p.gramFrom(ctx, cov, x, white)
	}
	return err
}

// Whiten makes v what the moments at the rows of x follow from, L⁻¹·k(X, x): for callers that ask
// for several of them. MomentsFrom, CovFrom and gramFrom are Moments, Cov and Gram given it.
func (p *Process) Whiten(ctx context.Context, v, x *linalg.Dense) error {
	if p.x == nil {
		v.Resize(0, points.Len(x))
		return nil
	}
	err := p.prior.Cov(ctx, v, p.x, x)
	if err == nil {
		err = p.data.Whiten(v, v)
	}
	return p.failed(ctx, err, x)
}

// MomentsFrom is [Process.Moments] given v as made by [Process.Whiten] for x.
func (p *Process) MomentsFrom(ctx context.Context, mean, variance []float64, x, v *linalg.Dense) error {
	if err := p.prior.Moments(ctx, mean, variance, x); err != nil || p.x == nil {
		return err
	}
	return p.failed(ctx, p.data.Update(mean, variance, v), x)
}

// CovFrom is [Process.Cov] given v and w as made by [Process.Whiten] for x and y.
func (p *Process) CovFrom(ctx context.Context, dst, x, v, y, w *linalg.Dense) error {
	if err := p.prior.Cov(ctx, dst, x, y); err != nil || p.x == nil {
		return err
	}
	return p.failed(ctx, p.data.UpdateCross(dst, v, w), x)
}

// gramFrom is [Process.Gram] given v as made by [Process.Whiten] for x.
func (p *Process) gramFrom(ctx context.Context, dst *linalg.Sym, x, v *linalg.Dense) error {
	if err := p.prior.Gram(ctx, dst, x); err != nil || p.x == nil {
		return err
	}
	return p.failed(ctx, p.data.UpdateCov(dst, v), x)
}

// failed says what an error was met at.
func (p *Process) failed(ctx context.Context, err error, x *linalg.Dense) error {
	return Numerical(ctx, err, "posterior at %d points", points.Len(x))
}

// ErrNumerical is wrapped by the errors of this package that are none of a context.
var ErrNumerical = errors.New("cmbo: numerical failure")

// Marked gives an error of any model ErrNumerical; a done context takes its place, and a panic stays what it is.
func Marked(ctx context.Context, err error) error {
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

// Numerical says what was computed when an error of the layers below arose, unless ctx explains it.
func Numerical(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return explained(ctx, numerical(err, format, args...))
}

// numerical wraps an error of the layers below.
func numerical(err error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrNumerical, fmt.Sprintf(format, args...), err)
}

// explained returns err, or the context's error where that explains it.
func explained(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Deviations turns variances into standard deviations, in place.
func Deviations(variance []float64) {
	for i, v := range variance {
		variance[i] = math.Sqrt(max(v, 0))
	}
}
