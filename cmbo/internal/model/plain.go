package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Plain is the model of a run without a prior: a Gaussian process with zero mean
// whose hyperparameters are fitted to the run's own data, after each observation
// up to twenty and after every fifth from there.
type Plain struct {
	scale    Scale
	seed     uint64
	template kernel.Kernel
	noise    float64 // given noise variance, NaN to fit it
	fitter   *Fitter

	count  int       // observations the parameters were fitted to, -1 for none
	params []float64 // log-parameters of the kernel, then of the noise variance
	k      kernel.Kernel
	fitted float64 // noise variance in use

	x      *linalg.Dense
	noises []float64
	cond   gaussian.Conditioner // on the data
	full   gaussian.Conditioner // on the data and the pending points
	fullX  *linalg.Dense        // the points of full
}

// A Scale brings values and their noise variances, 0 where they are not known, to
// the scale of a model: it returns nil variances if none is known.
type Scale func(y, noise []float64) (scaled, variances []float64)

// NewPlain returns the model of a run over points of dim coordinates. template is
// the kernel whose parameters are fitted, nil for the default, with a lengthscale
// for each coordinate if ard is set; noise is the noise variance where none is
// given, NaN to fit it. A fit takes its values through scale.
func NewPlain(dim int, ard bool, template kernel.Kernel, noise float64, scale Scale, seed uint64) *Plain {
	g := &Plain{scale: scale, seed: seed, template: template, noise: noise, count: -1, fitter: NewFitter(dim, ard)}
	if g.template == nil {
		g.template = g.fitter.PriorKernel
	}
	return g
}

const (
	refitAlways = 20 // up to so many observations each brings a fit
	refitEvery  = 5
)

// refitCount returns the number of the first observations whose fit serves n.
func refitCount(n int) int {
	if n <= refitAlways {
		return n
	}
	return n - n%refitEvery
}

// Fit conditions the process on the data, after a fit of its hyperparameters
// where one is due. A fit depends on the observations it is made to alone, so
// that it does not matter which of them were skipped.
func (g *Plain) Fit(ctx context.Context, d *Data) error {
	count := refitCount(d.Len())
	changed := count != g.count
	if changed {
		if err := g.refit(ctx, d, count); err != nil {
			return err
		}
	}
	noises := withDefault(d.NoiseVariance, d.Len(), g.fitted)
	known := len(g.noises)
	if changed || g.cond.Len() != known || g.cond.Jitter() != 0 || known > d.Len() || !slices.Equal(g.noises, noises[:known]) || !sameRows(g.x, d.X, known) {
		g.cond.Reset()
		known = 0
	}
	g.x, g.noises = d.X, noises
	if err := growGP(&g.cond, g.k, d.X, noises, d.Y, known); err != nil {
		g.noises = nil
		return err
	}
	return g.fantasise(d)
}

// refit sets the hyperparameters to those fitted to the first count
// observations, taken from the log if they are there.
func (g *Plain) refit(ctx context.Context, d *Data, count int) error {
	params := d.Fitted[count]
	if params == nil {
		y, known := g.scale(d.Raw[:count], d.RawNoiseVariance[:count])
		seed := rng.Stream(g.seed, "refit", uint64(count)).Uint64()
		h, err := g.fitter.Fit(ctx, g.template, points.First(d.X, count), y, known, g.noise, seed)
		if err != nil {
			return err
		}
		params = append(h.Kernel.AppendParams(nil), math.Log(h.Noise))
	}
	k, err := g.template.WithParams(params[:len(params)-1])
	if err != nil {
		return wrap(err, "hyperparameters fitted to %d observations", count)
	}
	g.k, g.fitted, g.params, g.count = k, math.Exp(params[len(params)-1]), params, count
	return nil
}

// sameRows reports whether the first n rows of two matrices are equal.
func sameRows(a, b *linalg.Dense, n int) bool {
	for i := range n {
		if !slices.Equal(a.Row(i), b.Row(i)) {
			return false
		}
	}
	return true
}

// growGP extends a conditioner of the process k from its first known rows to
// all rows of x; if that fails, the whole matrix is factorised with what jitter
// it needs.
func growGP(c *gaussian.Conditioner, k kernel.Kernel, x *linalg.Dense, noises, resid []float64, known int) error {
	var cross []float64
	for i := known; i < len(resid); i++ {
		cross = cross[:0]
		for j := range i {
			cross = append(cross, k.Eval(x.Row(i), x.Row(j)))
		}
		if err := c.Append(cross, k.Eval(x.Row(i), x.Row(i)), noises[i], resid[i]); err != nil {
			var gram linalg.Sym
			kernel.Gram(&gram, k, x)
			if err := c.Factorize(&gram, noises, resid); err != nil {
				return wrap(err, "conditioning on %d observations", len(resid))
			}
			return nil
		}
	}
	return c.SetResid(resid)
}

// fantasise conditions on the pending points with the posterior mean as their
// value, which changes variances alone.
func (g *Plain) fantasise(d *Data) error {
	g.full.Reset()
	p, dim := d.Pending.Dims()
	if p == 0 {
		return nil
	}
	n := d.Len()
	g.fullX = linalg.NewDense(n+p, dim, nil)
	noises := slices.Clone(g.noises)
	for i := range n + p {
		if i < n {
			copy(g.fullX.Row(i), d.X.Row(i))
			continue
		}
		copy(g.fullX.Row(i), d.Pending.Row(i-n))
		noises = append(noises, g.fitted)
	}
	return growGP(&g.full, g.k, g.fullX, noises, make([]float64, n+p), 0)
}

// Predict writes the posterior at the rows of x.
func (g *Plain) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	clear(mean)
	kernel.Diag(sd, g.k, x)
	var v linalg.Dense
	moments := func(c *gaussian.Conditioner, points *linalg.Dense, mean, variance []float64) error {
		if c.Len() == 0 {
			return nil
		}
		kernel.Cross(&v, g.k, points, x)
		if err := c.Whiten(&v, &v); err != nil {
			return err
		}
		if mean != nil {
			if err := c.UpdateMean(mean, &v); err != nil {
				return err
			}
		}
		if variance != nil {
			return c.UpdateVariance(variance, &v)
		}
		return nil
	}
	pending := g.full.Len() > 0
	variance := sd
	if pending {
		variance = nil
	}
	err := moments(&g.cond, g.x, mean, variance)
	if err == nil && pending {
		err = moments(&g.full, g.fullX, nil, sd)
	}
	if err != nil {
		return wrap(err, "posterior at %d points", len(mean))
	}
	sqrtAll(sd)
	return nil
}

// NoiseVariance returns the noise variance in use.
func (g *Plain) NoiseVariance() float64 { return g.fitted }

// Jitter returns the amount added to the covariance of the observations.
func (g *Plain) Jitter() float64 { return g.cond.Jitter() }

// Fitted returns the parameters in use, the kernel's log-parameters and the
// logarithm of the noise variance, and the number of observations they were
// fitted to; nil before the first fit.
func (g *Plain) Fitted() (count int, params []float64) { return g.count, g.params }

// CheckFitted reports parameters that Fitted cannot have returned.
func (g *Plain) CheckFitted(params []float64) error {
	n := len(params) - 1
	if n != g.template.NumParams() {
		return fmt.Errorf("%d parameters", len(params))
	}
	if _, err := g.template.WithParams(params[:n]); err != nil {
		return err
	}
	if v := math.Exp(params[n]); !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("noise variance %g", v)
	}
	return nil
}
