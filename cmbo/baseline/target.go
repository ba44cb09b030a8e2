package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// target is the Gaussian process of a run's own data, with zero prior mean and
// hyperparameters that are fitted anew as observations come in: cmbo's plain
// Gaussian process, of which other methods use the parts.
//
// What it does follows from the data alone: the fit that serves n observations
// is the one to the first refitCount(n) of them, scaled by themselves.
type target struct {
	run
	y        cmbo.YPolicy
	template kernel.Kernel
	// adjust changes scaled values in place before they are modelled, if not
	// nil: the values given come with the points they belong to.
	adjust func(ctx context.Context, z []float64, x *linalg.Dense) error

	search fitter
	seen   prefix
	fits   map[int]hyper // by number of observations
	// forget, if not nil, is told that what was computed for more than the
	// first n observations no longer stands.
	forget func(n int)

	h    hyper
	post *posterior // given the data
	full field      // given the pending points as well
}

func newTarget(dim int, seed uint64, c *config) *target {
	return &target{run: run{dim: dim, seed: seed}, y: c.y, template: c.template(dim), fits: make(map[int]hyper)}
}

// Fit conditions the process on the data, after a fit of its hyperparameters
// where one is due.
func (t *target) Fit(ctx context.Context, d cmbo.Data) error {
	if err := t.receive(d); err != nil {
		return err
	}
	t.has = false
	n := len(d.Y)
	z := append([]float64(nil), d.Y...)
	if t.adjust != nil && n > 0 {
		if err := t.adjust(ctx, z, t.d.X); err != nil {
			return err
		}
	}
	var err error
	if t.h, err = t.hyperAt(ctx, n); err != nil {
		return err
	}
	prior := kernelField{k: t.h.k}
	if t.post, err = newPosterior(ctx, prior, t.d.X, z, t.h.noises(t.d.NoiseVariance)); err != nil {
		return err
	}
	if t.full, err = withPending(ctx, t.post, t.d.Pending, t.h.sigma); err != nil {
		return err
	}
	t.has = true
	return nil
}

// receive takes data and forgets the fits that do not belong to it.
func (t *target) receive(d cmbo.Data) error {
	if err := t.take(d); err != nil {
		return err
	}
	same := t.seen.sync(t.d)
	for count := range t.fits {
		if count > same {
			delete(t.fits, count)
		}
	}
	if t.forget != nil {
		t.forget(same)
	}
	return nil
}

// hyperAt returns the hyperparameters that serve the first n observations.
func (t *target) hyperAt(ctx context.Context, n int) (hyper, error) {
	count := refitCount(n)
	if h, ok := t.fits[count]; ok {
		return h, nil
	}
	x, z, noise, err := t.first(ctx, count)
	if err != nil {
		return hyper{}, err
	}
	h, err := t.search.fit(ctx, t.template, x, z, noise, refitSeed(t.seed, count))
	if err == nil {
		t.fits[count] = h
	}
	return h, err
}

// refitSeed names the draws of the fit to count observations, as cmbo's plain
// Gaussian process does.
func refitSeed(seed uint64, count int) uint64 {
	return rng.Stream(seed, "refit", uint64(count)).Uint64()
}

// first returns the first n observations as they were scaled by themselves.
func (t *target) first(ctx context.Context, n int) (x *linalg.Dense, z, noise []float64, err error) {
	x = firstRows(t.d.X, n)
	raw := t.d.Raw[:n]
	z = t.y.Apply(raw)
	u := unit(raw, z)
	noise = make([]float64, n)
	for i := range noise {
		noise[i] = t.seen.noise[i] / u / u
	}
	if t.adjust != nil && n > 0 {
		err = t.adjust(ctx, z, x)
	}
	return x, z, noise, err
}

// posteriorAt returns the posterior that the first n observations led to.
func (t *target) posteriorAt(ctx context.Context, n int) (*posterior, error) {
	h, err := t.hyperAt(ctx, n)
	if err != nil {
		return nil, err
	}
	x, z, noise, err := t.first(ctx, n)
	if err != nil {
		return nil, err
	}
	return newPosterior(ctx, kernelField{k: h.k}, x, z, h.noises(noise))
}

// Predict writes the posterior at the rows of x.
func (t *target) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := t.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	if err := t.full.momentsTo(ctx, mean, sd, x); err != nil {
		return err
	}
	sqrtAll(sd)
	return nil
}

// NoiseVariance returns the noise variance in use.
func (t *target) NoiseVariance() float64 { return t.h.sigma }
