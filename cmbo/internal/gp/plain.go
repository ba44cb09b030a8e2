package gp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Plain is the model of a run without a prior: a Gaussian process with zero mean whose hyperparameters are fitted to
// the run's own data, after each of the first observations and at growing distances from there: see [RefitCount].
type Plain struct {
	scale Scaling
	fits  Fits
	// What parameters are of, by their number: of a rough kernel or of a smooth one.
	rough, smooth []kernel.Kernel

	count  int       // observations the parameters were fitted to, -1 for none
	params []float64 // see Fitted
	noise  float64   // noise variance in use, in the view
	view   View

	process *Process // on the data
	full    *Process // on the data and the pending points
}

// A Scaling brings values and their noise variances, 0 where they are not known, to
// the scale of a model: it returns nil variances if none is known.
type Scaling func(y, noise []float64) (scaled, variances []float64)

// smoothMark is what parameters of a smooth kernel have added to the share of their view, which is at most 1.
const smoothMark = 2

// NewPlain returns the model of a run of points with those coordinates. template is the kernel whose parameters are
// fitted, nil for the default, Matérn-3/2 with one lengthscale for each parameter, or with one for all numbers and one for
// all choices, as the evidence has it at each fit; noise is the noise variance where none is given, NaN to fit it. A fit
// takes its values through scale, and as one of the views of shares shows them; exact has it look for noise that is next
// to none, by the default with Matérn-5/2, too, and made to each of the first forty observations.
func NewPlain(coordinates []Coordinate, template kernel.Kernel, noise float64, scale Scaling, shares []float64, exact bool, seed uint64) *Plain {
	g := &Plain{scale: scale, count: -1, rough: []kernel.Kernel{template}}
	g.fits = Fits{Forms: []Form{{Kernel: template}}, Noise: noise, Seed: seed, Shares: shares, Exact: exact}
	if template == nil {
		g.fits.Forms, g.rough = forms(coordinates, kernel.Matern32)
		g.fits.Smooth, g.smooth = forms(coordinates, kernel.Matern52)
	}
	return g
}

// Share has the fits of another model serve where they are made to the same observations: one that is made alike, and that
// is not used at the same time.
func (g *Plain) Share(of *Plain) { g.fits.of = &of.fits }

// Fit conditions the process on the data, after a fit of its hyperparameters where one is due. A fit depends on the
// observations it is made to alone, so that it does not matter which of them were skipped; those to others, such as
// what a stopped trial let expect before it went on, are forgotten.
func (g *Plain) Fit(ctx context.Context, d *space.Data) error {
	if err := g.Tune(ctx, d); err != nil {
		return err
	}
	_, _, _, share := g.split(g.params)
	var y []float64
	y, g.view = Look(d.Y, d.Feasible, share)
	err := g.process.Extend(ctx, d.X, y, Noise(d.NoiseVariance, len(d.Y), g.noise))
	if err == nil {
		g.full, err = g.process.WithPending(ctx, d.Pending, g.noise)
	}
	return err
}

// Tune is what Fit does before it conditions: it makes Fitted and Kernel, and NoiseVariance of values as they are, of
// hyperparameters fitted to the first observations, or taken from the log if they are there.
func (g *Plain) Tune(ctx context.Context, d *space.Data) error {
	if same := g.fits.Keep(d.X, d.Raw, d.RawNoiseVariance); g.count > same {
		g.count = -1
	}
	count := g.fits.count(len(d.Y))
	if count == g.count {
		return nil
	}
	params := d.Fitted[count]
	if params == nil {
		h, err := g.fits.At(ctx, len(d.Y), func(count int) (x *linalg.Dense, y, variances []float64, err error) {
			y, variances = g.scale(d.Raw[:count], d.RawNoiseVariance[:count])
			return points.First(d.X, count), y, variances, nil
		})
		if err != nil {
			return err
		}
		params = append(h.Kernel.AppendParams(nil), math.Log(h.NoiseVariance))
		look := h.Share
		if h.Smooth {
			look += smoothMark
		}
		if look > 0 {
			params = append(params, look)
		}
	}
	form, ofKernel, noise, _ := g.split(params)
	k, err := form.WithParams(ofKernel)
	if err != nil {
		return fmt.Errorf("hyperparameters fitted to %d observations: %w", count, err)
	}
	g.process, g.noise, g.params, g.count = New(FromKernel{Kernel: k}), math.Exp(noise), params, count
	return nil
}

// split returns what fitted parameters are: those of the kernel, of which form, the logarithm of the noise variance, and
// the share of the view.
func (g *Plain) split(params []float64) (form kernel.Kernel, ofKernel []float64, noise, share float64) {
	n := len(params) - 1
	if n > 1 {
		share = params[n]
		smooth, kernels := g.smooth != nil && share >= smoothMark, g.rough
		if smooth {
			share, kernels = share-smoothMark, g.smooth
		}
		form = withParams(kernels, n-1)
		if (smooth && share == 0 || slices.Contains(g.fits.Shares, share)) && form.NumParams() == n-1 {
			return form, params[:n-1], params[n-1], share
		}
	}
	return withParams(g.rough, n), params[:n], params[n], 0
}

// withParams returns the first of the kernels that has n parameters, or else the first.
func withParams(kernels []kernel.Kernel, n int) kernel.Kernel {
	return kernels[max(slices.IndexFunc(kernels, func(k kernel.Kernel) bool { return k.NumParams() == n }), 0)]
}

// Predict writes the posterior at the rows of x.
func (g *Plain) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	err := g.full.Moments(ctx, mean, sd, x) // in which what is pending leaves means as they are
	Deviations(sd)
	for i := range mean {
		mean[i], sd[i] = g.view.Line(mean[i], sd[i])
	}
	return Marked(ctx, err)
}

// Widening returns how many times as far as by the deviations of Predict, which take the variance as fitted, the 90 %
// interval reaches that has it integrated out, of n values brought to mean 0 and deviation 1 by themselves: that of
// Student's t with n−1 degrees of freedom, times √(n/(n−1)), to half a percent. Fewer than three count as three.
func (g *Plain) Widening() float64 { return 1 + 1.42/(float64(max(g.process.Data().Len(), 3))-1.8) }

// Seeing returns what brings values to where Predict predicts them, and the logarithm of the steepest slope back: see [View].
func (g *Plain) Seeing() (low scaling.Low, steepest float64) { return g.view.low, g.view.steepest }

// NoiseVariance returns the noise variance in use, of values near the best.
func (g *Plain) NoiseVariance() float64 {
	_, sd := g.view.Line(0, 1)
	return g.noise * sd * sd
}

// Jitter returns the amount added to the covariance of the observations.
func (g *Plain) Jitter() float64 { return g.process.Data().Jitter() }

// Fitted returns the parameters in use, the kernel's log-parameters, the logarithm of the noise variance and, unless it
// is 0, the share of the view, with smoothMark added to it where the kernel is smooth, and the number of observations they
// were fitted to; nil before the first fit.
func (g *Plain) Fitted() (count int, params []float64) { return g.count, g.params }

// Kernel returns the kernel in use after a Fit.
func (g *Plain) Kernel() kernel.Kernel {
	form, ofKernel, _, _ := g.split(g.params)
	k, _ := form.WithParams(ofKernel) // which Tune has taken
	return k
}

// CheckFitted reports parameters that Fitted cannot have returned.
func (g *Plain) CheckFitted(params []float64) error {
	if len(params) == 0 {
		return fmt.Errorf("%d parameters", 0)
	}
	form, ofKernel, noise, _ := g.split(params)
	if len(ofKernel) != form.NumParams() {
		return fmt.Errorf("%d parameters", len(params))
	}
	if _, err := form.WithParams(ofKernel); err != nil {
		return err
	}
	if v := math.Exp(noise); !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("noise variance %g", v)
	}
	return nil
}

// Sample writes the values at the rows of x of one function drawn from the
// posterior, pending points counted as in Predict. It takes O(n³) time for n rows.
func (g *Plain) Sample(ctx context.Context, dst []float64, x *linalg.Dense, r *rand.Rand) error {
	var cov linalg.Sym
	err := g.full.Joint(ctx, dst, &cov, x, new(linalg.Dense))
	if err == nil {
		err = AddNoise(dst, &cov, r)
	}
	for i := range dst {
		dst[i], _ = g.view.Line(dst[i], 0)
	}
	return Marked(ctx, err)
}

// AddNoise adds a draw of the Gaussian of mean 0 and covariance cov to dst.
func AddNoise(dst []float64, cov *linalg.Sym, r *rand.Rand) error {
	var c linalg.Cholesky
	if _, err := c.FactorizeJitter(cov, gaussian.MaxJitter); err != nil {
		return fmt.Errorf("drawing a function at %d points: %w", len(dst), err)
	}
	z, lower := each.Below(len(dst), func(int) float64 { return r.NormFloat64() }), c.Lower()
	for i := range dst {
		dst[i] += linalg.Dot(lower.Row(i)[:i+1], z[:i+1])
	}
	return nil
}
