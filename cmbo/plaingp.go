package cmbo

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// plainGP is the surrogate of a run without a prior: a Gaussian process with
// zero mean whose hyperparameters are fitted to the run's own data, after each
// observation up to twenty and after every fifth from there.
type plainGP struct {
	space    *Space
	y        YPolicy
	seed     uint64
	template kernel.Kernel
	noise    float64 // given noise variance, NaN to fit it
	fitter   *fitter

	count  int       // observations the parameters were fitted to, -1 for none
	params []float64 // log-parameters of the kernel, then of the noise variance
	k      kernel.Kernel
	sigma  float64

	x      *linalg.Dense
	noises []float64
	cond   gaussian.Conditioner // on the data
	full   gaussian.Conditioner // on the data and the pending points
	fullX  *linalg.Dense        // the points of full
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

func newPlainGP(s *Space, c *runConfig) *plainGP {
	g := &plainGP{space: s, y: c.y, seed: c.seed, template: c.kernel, noise: c.noise, count: -1}
	g.fitter = newFitter(s.dim, c.ard)
	if g.template == nil {
		g.template = g.fitter.priorKernel
	}
	return g
}

// Fit conditions the process on the data, after a fit of its hyperparameters
// where one is due. A fit depends on the observations it is made to alone, so
// that it does not matter which of them were skipped.
func (g *plainGP) Fit(ctx context.Context, d Data) error {
	count := refitCount(d.len())
	changed := count != g.count
	if changed {
		if err := g.refit(ctx, d, count); err != nil {
			return err
		}
	}
	noises := withDefault(d.NoiseVariance, d.len(), g.sigma)
	known := len(g.noises)
	if changed || g.cond.Len() != known || g.cond.Jitter() != 0 || known > d.len() || !slices.Equal(g.noises, noises[:known]) || !sameRows(g.x, d.X, known) {
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
func (g *plainGP) refit(ctx context.Context, d Data, count int) error {
	params := d.fitted[count]
	if params == nil {
		s := scaleValues(g.y, d.Raw[:count])
		seed := rng.Stream(g.seed, "refit", uint64(count)).Uint64()
		h, err := g.fitter.fitGiven(ctx, g.template, firstRows(d.X, count), s.z, s.noiseVariances(d.noise[:count]), g.noise, seed)
		if err != nil {
			return err
		}
		params = append(h.kernel.AppendParams(nil), math.Log(h.noise))
	}
	k, err := g.template.WithParams(params[:len(params)-1])
	if err != nil {
		return numerical(err, "hyperparameters fitted to %d observations", count)
	}
	g.k, g.sigma, g.params, g.count = k, math.Exp(params[len(params)-1]), params, count
	return nil
}

// firstRows returns the first n rows of x.
func firstRows(x *linalg.Dense, n int) *linalg.Dense {
	_, d := x.Dims()
	v := x.View(0, 0, n, d)
	return &v
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
				return numerical(err, "conditioning on %d observations", len(resid))
			}
			return nil
		}
	}
	return c.SetResid(resid)
}

// fantasise conditions on the pending points with the posterior mean as their
// value, which changes variances alone.
func (g *plainGP) fantasise(d Data) error {
	g.full.Reset()
	p, dim := d.Pending.Dims()
	if p == 0 {
		return nil
	}
	n := d.len()
	g.fullX = linalg.NewDense(n+p, dim, nil)
	noises := slices.Clone(g.noises)
	for i := range n + p {
		if i < n {
			copy(g.fullX.Row(i), d.X.Row(i))
			continue
		}
		copy(g.fullX.Row(i), d.Pending.Row(i-n))
		noises = append(noises, g.sigma)
	}
	return growGP(&g.full, g.k, g.fullX, noises, make([]float64, n+p), 0)
}

// Predict writes the posterior at the rows of x.
func (g *plainGP) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
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
		return numerical(err, "posterior at %d points", len(mean))
	}
	sqrtAll(sd)
	return nil
}

// NoiseVariance returns the noise variance in use.
func (g *plainGP) NoiseVariance() float64 { return g.sigma }

func (g *plainGP) parameters() []float64 { return slices.Clone(g.params) }

func (g *plainGP) jitter() float64 { return g.cond.Jitter() }

// fitted returns the parameters in use and the number of observations they were
// fitted to, nil before the first fit.
func (g *plainGP) fitted() (count int, params []float64) { return g.count, g.params }
