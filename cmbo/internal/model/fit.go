package model

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Fitter fits hyperparameters with the memory of one goroutine.
type Fitter struct {
	// PriorKernel and ClusterKernel are the templates.
	PriorKernel, ClusterKernel kernel.Kernel

	search gaussian.Fitter
}

// NewFitter makes a fitter with the default kernels of points in dim
// coordinates, at the centres of the hyperparameters' priors.
func NewFitter(dim int, ard bool) *Fitter {
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
	return &Fitter{
		PriorKernel:   kernel.Scale(variance, kernel.Matern32(lengths...)),
		ClusterKernel: kernel.Scale(variance, kernel.Matern32x12(lengths...)),
	}
}

// A kernel from outside has parameters of unknown kind: they are searched
// around the template's, in units of their logarithms.
const (
	foreignSD    = 1.5
	foreignRange = 7
)

// Fitted is the outcome of a fit.
type Fitted struct {
	Kernel kernel.Kernel
	Noise  float64 // of values whose noise variance was not given
	OK     bool    // false if the search failed and the template stands
}

// Fit searches the hyperparameters of the template's form and the noise variance
// for scaled values y at x. known holds the noise variances that are known, 0
// where they are not, nil for none. noise is the noise variance of the others if
// it is given, NaN to search for it. Fit fails only where the data cannot be used
// at all or ctx is done.
func (f *Fitter) Fit(ctx context.Context, template kernel.Kernel, x *linalg.Dense, y, known []float64, noise float64, seed uint64) (Fitted, error) {
	_, dim := x.Dims()
	o := gaussian.FitOptions{Seed: seed, Priors: gaussian.DefaultPriors(dim)}
	start := math.Exp(o.Priors.Noise.Mean)
	switch {
	case !math.IsNaN(noise):
		o.FixNoise, start = true, noise
	case known != nil && !slices.Contains(known, 0):
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
	out := Fitted{Kernel: template, Noise: start}
	if len(y) > 0 {
		r, err := f.search.Fit(ctx, template, start, x, y, known, &o)
		if err != nil {
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			return out, wrap(err, "fitting hyperparameters")
		}
		out = Fitted{Kernel: r.Kernel, Noise: r.Noise, OK: r.Best >= 0}
	}
	if !(out.Noise > 0) {
		// A noise variance for values that come without one.
		out.Noise = max(meanOf(known), gaussian.DefaultPriors(dim).Noise.Min)
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
