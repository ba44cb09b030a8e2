package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// learnPlainGP makes GP, the model that [cmbo.New] brings without a prior but for its views. See METHODS.md.
var learnPlainGP = alone(config{method: "GP", either: true}, func(dim int, seed uint64, c *config) cmbo.Surrogate {
	return newTarget(dim, seed, c)
})

// target is the Gaussian process of a run's own data: cmbo's plain one, of which other methods use the parts. It follows from
// the data alone: the fit that serves n observations is the one to the first gp.RefitCount(n) of them, scaled by themselves.
type target struct {
	conditioned
	y cmbo.YPolicy
	// adjust changes scaled values in place before they are modelled, if not
	// nil: the values given come with the points they belong to.
	adjust func(ctx context.Context, z []float64, x *linalg.Dense) error

	fits gp.Fits
	// forget, if not nil, is told that what was computed for more than the first n observations no longer stands.
	forget func(n int)

	h gp.Hyper
}

func newTarget(dim int, seed uint64, c *config) *target {
	fits := gp.Fits{Forms: []gp.Form{{Kernel: c.template(dim)}}, Noise: math.NaN(), Seed: seed, Fitter: gp.Fitter{Priors: c.priors}}
	if c.either && dim > 1 {
		d := *c
		d.ard = !c.ard
		fits.Forms = append(fits.Forms, gp.Form{Kernel: d.template(dim)})
	}
	return &target{conditioned: conditioned{run: run{dim: dim, seed: seed}, post: gp.New(nil)}, y: c.y, fits: fits}
}

// Fit conditions the process on the data, after a fit of its hyperparameters where one is due.
func (t *target) Fit(ctx context.Context, d cmbo.Data) error {
	if err := t.receive(d); err != nil {
		return err
	}
	n := len(d.Y)
	z := append([]float64(nil), d.Y...)
	if t.adjust != nil && n > 0 {
		if err := t.adjust(ctx, z, t.d.X); err != nil {
			return err
		}
	}
	h, err := t.hyperAt(ctx, n)
	if err != nil {
		return err
	}
	if !h.SameKernel(t.h) {
		t.post.Reset(gp.FromKernel{Kernel: h.Kernel})
	}
	t.h = h
	return t.extend(ctx, z, h.Noise(t.d.NoiseVariance), h.NoiseVariance)
}

// receive takes data and forgets the fits that do not belong to it.
func (t *target) receive(d cmbo.Data) error {
	if err := t.take(d); err != nil {
		return err
	}
	same := t.fits.Keep(t.d.X, t.d.Raw, t.d.RawNoiseVariance)
	if t.forget != nil {
		t.forget(same)
	}
	return nil
}

// hyperAt returns the hyperparameters that serve the first n observations.
func (t *target) hyperAt(ctx context.Context, n int) (gp.Hyper, error) {
	return t.fits.At(ctx, n, func(count int) (*linalg.Dense, []float64, []float64, error) { return t.first(ctx, count) })
}

// first returns the first n observations as they were scaled by themselves.
func (t *target) first(ctx context.Context, n int) (x *linalg.Dense, z, noise []float64, err error) {
	x = points.First(t.d.X, n)
	z, noise = scaled(t.y, t.d.Raw[:n], t.d.RawNoiseVariance[:n])
	if t.adjust != nil && n > 0 {
		err = t.adjust(ctx, z, x)
	}
	return x, z, noise, err
}

// posteriorAt returns the posterior that the first n observations led to.
func (t *target) posteriorAt(ctx context.Context, n int) (*gp.Process, error) {
	h, err := t.hyperAt(ctx, n)
	if err != nil {
		return nil, err
	}
	x, z, noise, err := t.first(ctx, n)
	if err != nil {
		return nil, err
	}
	return gp.Condition(ctx, gp.FromKernel{Kernel: h.Kernel}, x, z, h.Noise(noise))
}

// NoiseVariance returns the noise variance in use.
func (t *target) NoiseVariance() float64 { return t.h.NoiseVariance }
