package cmbo

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// fitter fits hyperparameters with the memory of one goroutine.
type fitter struct {
	priorKernel, clusterKernel kernel.Kernel
	search                     gaussian.Fitter
	scratch                    posteriorScratch
	gram                       linalg.Sym
	clustered                  source // the process whose posterior is clustered
}

// newFitter makes a fitter with the default kernels of points in dim
// coordinates, at the centres of the hyperparameters' priors.
func newFitter(dim int, ard bool) *fitter {
	n := 1
	if ard {
		n = dim
	}
	p := gaussian.DefaultPriors(dim)
	lengths := make([]float64, n)
	for i := range lengths {
		lengths[i] = math.Exp(p.LengthScale.Mean)
	}
	variance := math.Exp(p.Variance.Mean)
	return &fitter{
		priorKernel:   kernel.Scale(variance, kernel.Matern32(lengths...)),
		clusterKernel: kernel.Scale(variance, kernel.Matern32x12(lengths...)),
	}
}

func (l *learner) newFitter() *fitter {
	f := newFitter(l.space.dim, l.ard)
	if l.priorKernel != nil {
		f.priorKernel = l.priorKernel
	}
	if l.clusterKernel != nil {
		f.clusterKernel = l.clusterKernel
	}
	return f
}

// A kernel from outside has parameters of unknown kind: they are searched
// around the template's, in units of their logarithms.
const (
	foreignSD    = 1.5
	foreignRange = 7
)

// fitted is the outcome of a fit.
type fitted struct {
	kernel kernel.Kernel
	noise  float64 // of values whose noise variance was not given
	ok     bool    // false if the search failed and the template stands
}

// fitScaled searches the hyperparameters of the template's form and the noise
// variance for scaled values y at x. extra holds the noise variances that are
// known, 0 where they are not, nil for none. It fails only where the data cannot
// be used at all or ctx is done.
func (f *fitter) fitScaled(ctx context.Context, template kernel.Kernel, x *linalg.Dense, y, extra []float64, seed uint64) (fitted, error) {
	return f.fitGiven(ctx, template, x, y, extra, math.NaN(), seed)
}

// fitGiven is fitScaled with a noise variance that is given, unless it is NaN,
// for values that come without their own.
func (f *fitter) fitGiven(ctx context.Context, template kernel.Kernel, x *linalg.Dense, y, extra []float64, given float64, seed uint64) (fitted, error) {
	_, dim := x.Dims()
	o := gaussian.FitOptions{Seed: seed, Priors: gaussian.DefaultPriors(dim)}
	start := math.Exp(o.Priors.Noise.Mean)
	switch {
	case !math.IsNaN(given):
		o.FixNoise, start = true, given
	case extra != nil && !slices.Contains(extra, 0):
		// Every variance is known: there is none to search.
		o.FixNoise, start = true, 0
	}
	if _, err := kernel.Describe(template); err != nil {
		for _, v := range template.AppendParams(nil) {
			o.Params = append(o.Params, gaussian.LogNormal{
				Mean: v, SD: foreignSD, Min: math.Exp(v - foreignRange), Max: math.Exp(v + foreignRange),
			})
		}
	}
	out := fitted{kernel: template, noise: start}
	if len(y) > 0 {
		r, err := f.search.Fit(ctx, template, start, x, y, extra, &o)
		if err != nil {
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			return out, numerical(err, "fitting hyperparameters")
		}
		out = fitted{kernel: r.Kernel, noise: r.Noise, ok: r.Best >= 0}
	}
	if !(out.noise > 0) {
		// A noise variance for values that come without one.
		out.noise = max(meanOf(extra), gaussian.DefaultPriors(dim).Noise.Min)
	}
	return out, nil
}

func meanOf(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// checkKernel reports a kernel that cannot take points of the given dimension,
// or whose variance is not a finite number >= 0: kernels panic on shapes, and
// nothing panics across this package.
func checkKernel(k kernel.Kernel, dim int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = optionErrorf("the kernel does not take points of %d coordinates: %v", dim, r)
		}
	}()
	x := make([]float64, dim)
	if v := k.Eval(x, x); !(v >= 0) || math.IsInf(v, 0) {
		return optionErrorf("the kernel's variance is %g", v)
	}
	if got, want := len(k.AppendParams(nil)), k.NumParams(); got != want {
		return optionErrorf("the kernel has %d parameters but says %d", got, want)
	}
	return nil
}
