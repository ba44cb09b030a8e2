package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// hyper holds the hyperparameters of a Gaussian process.
type hyper struct {
	k     kernel.Kernel
	sigma float64 // noise variance where none is given
}

// fitter searches hyperparameters with the memory of one goroutine.
type fitter struct {
	search gaussian.Fitter
}

// fit returns the hyperparameters of highest posterior density under
// [gaussian.DefaultPriors] for values z at the rows of x. noise holds the
// variances of the values, 0 where not known. Without values the template
// stands. It fails only if the data cannot be used at all or ctx is done.
func (f *fitter) fit(ctx context.Context, template kernel.Kernel, x *linalg.Dense, z, noise []float64, seed uint64) (hyper, error) {
	_, dim := x.Dims()
	o := gaussian.FitOptions{Seed: seed, Priors: gaussian.DefaultPriors(dim)}
	h := hyper{k: template, sigma: math.Exp(o.Priors.Noise.Mean)}
	if len(z) == 0 {
		return h, nil
	}
	var extra []float64
	known, sum := 0, 0.0
	for _, v := range noise {
		if v > 0 {
			known++
			sum += v
		}
	}
	start := h.sigma
	if known > 0 {
		extra = noise
	}
	if known == len(z) { // there is no noise left to search
		o.FixNoise, start = true, 0
	}
	r, err := f.search.Fit(ctx, template, start, x, z, extra, &o)
	if err != nil {
		return h, numerical(ctx, err, "fitting hyperparameters to %d observations", len(z))
	}
	if r.Best >= 0 {
		h.k, h.sigma = r.Kernel, r.Noise
	}
	if o.FixNoise {
		// For values to come without a variance.
		h.sigma = max(sum/float64(known), o.Priors.Noise.Min)
	}
	return h, nil
}

// noises returns the noise variances of observations: their own where known,
// else that of the process.
func (h hyper) noises(own []float64) []float64 {
	v := make([]float64, len(own))
	for i, o := range own {
		v[i] = h.sigma
		if o > 0 {
			v[i] = o
		}
	}
	return v
}

// Hyperparameters of a run are fitted to its first observations: to all of them
// up to refitAlways, then to the largest multiple of refitEvery, so that which
// fit serves n observations follows from n.
const (
	refitAlways = 20
	refitEvery  = 5
)

func refitCount(n int) int {
	if n <= refitAlways {
		return n
	}
	return n - n%refitEvery
}
