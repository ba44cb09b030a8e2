package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A field is a Gaussian process known by its moments: a prior, or what is left
// of one after conditioning. Its methods may run concurrently.
type field interface {
	// momentsTo sets mean and variance to those at the rows of x; either may
	// be nil.
	momentsTo(ctx context.Context, mean, variance []float64, x *linalg.Dense) error
	// covTo makes dst the covariances of the rows of x with the rows of y.
	covTo(ctx context.Context, dst *linalg.Dense, x, y *linalg.Dense) error
	// gramTo makes dst the covariance matrix at the rows of x.
	gramTo(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error
}

// kernelField is a process with a constant mean.
type kernelField struct {
	k    kernel.Kernel
	mean float64
}

func (f kernelField) momentsTo(_ context.Context, mean, variance []float64, x *linalg.Dense) error {
	for i := range mean {
		mean[i] = f.mean
	}
	if variance != nil {
		kernel.Diag(variance, f.k, x)
	}
	return nil
}

func (f kernelField) covTo(_ context.Context, dst *linalg.Dense, x, y *linalg.Dense) error {
	kernel.Cross(dst, f.k, x, y)
	return nil
}

func (f kernelField) gramTo(_ context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	kernel.Gram(dst, f.k, x)
	return nil
}

// posterior is a field conditioned on noisy values at points.
type posterior struct {
	prior field
	x     *linalg.Dense // nil without points
	cond  gaussian.Conditioner
}

// newPosterior conditions prior on values y with the given noise variances at
// the rows of x. A nil y stands for the prior means: then only variances change.
func newPosterior(ctx context.Context, prior field, x *linalg.Dense, y, noise []float64) (*posterior, error) {
	p := &posterior{prior: prior}
	n := rowsOf(x)
	if n == 0 {
		return p, nil
	}
	p.x = x
	resid := make([]float64, n)
	if y != nil {
		if err := prior.momentsTo(ctx, resid, nil, x); err != nil {
			return nil, err
		}
		for i, v := range y {
			resid[i] = v - resid[i]
		}
	}
	var gram linalg.Sym
	if err := prior.gramTo(ctx, &gram, x); err != nil {
		return nil, err
	}
	if err := p.cond.Factorize(&gram, noise, resid); err != nil {
		return nil, numerical(ctx, err, "conditioning on %d points", n)
	}
	return p, nil
}

// whiten makes v = L⁻¹·k(X, x), from which all moments at the rows of x follow.
func (p *posterior) whiten(ctx context.Context, v, x *linalg.Dense) error {
	if err := p.prior.covTo(ctx, v, p.x, x); err != nil {
		return err
	}
	return p.cond.Whiten(v, v)
}

func (p *posterior) momentsTo(ctx context.Context, mean, variance []float64, x *linalg.Dense) error {
	if err := p.prior.momentsTo(ctx, mean, variance, x); err != nil || p.x == nil {
		return err
	}
	var v linalg.Dense
	err := p.whiten(ctx, &v, x)
	if err == nil && mean != nil {
		err = p.cond.UpdateMean(mean, &v)
	}
	if err == nil && variance != nil {
		err = p.cond.UpdateVariance(variance, &v)
	}
	return numerical(ctx, err, "posterior at %d points", rowsOf(x))
}

func (p *posterior) covTo(ctx context.Context, dst *linalg.Dense, x, y *linalg.Dense) error {
	if err := p.prior.covTo(ctx, dst, x, y); err != nil || p.x == nil {
		return err
	}
	var v, w linalg.Dense
	err := p.whiten(ctx, &v, x)
	if err == nil {
		err = p.whiten(ctx, &w, y)
	}
	if err == nil {
		err = p.cond.UpdateCross(dst, &v, &w)
	}
	return numerical(ctx, err, "posterior covariance of %d and %d points", rowsOf(x), rowsOf(y))
}

func (p *posterior) gramTo(ctx context.Context, dst *linalg.Sym, x *linalg.Dense) error {
	if err := p.prior.gramTo(ctx, dst, x); err != nil || p.x == nil {
		return err
	}
	var v linalg.Dense
	err := p.whiten(ctx, &v, x)
	if err == nil {
		err = p.cond.UpdateCov(dst, &v)
	}
	return numerical(ctx, err, "posterior covariance of %d points", rowsOf(x))
}

// withPending returns f with the pending points counted as evaluated: the
// predicted mean as the value leaves all means as they are.
func withPending(ctx context.Context, f field, pending *linalg.Dense, sigma float64) (field, error) {
	n := rowsOf(pending)
	if n == 0 {
		return f, nil
	}
	noise := make([]float64, n)
	for i := range noise {
		noise[i] = sigma
	}
	return newPosterior(ctx, f, pending, nil, noise)
}

func rowsOf(x *linalg.Dense) int {
	if x == nil {
		return 0
	}
	n, _ := x.Dims()
	return n
}

// firstRows returns the first n rows of x.
func firstRows(x *linalg.Dense, n int) *linalg.Dense {
	_, d := x.Dims()
	v := x.View(0, 0, n, d)
	return &v
}

// sqrtAll turns variances into deviations.
func sqrtAll(v []float64) {
	for i, x := range v {
		v[i] = math.Sqrt(max(x, 0))
	}
}
