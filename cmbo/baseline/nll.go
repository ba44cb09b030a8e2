package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
)

// gpParams are the parameters of one Gaussian process for all tasks: a constant
// mean, a kernel and a noise variance.
type gpParams struct {
	mean float64
	h    gp.Hyper
}

// vector writes them as the search sees them: the mean, the kernel's
// log-parameters, the logarithm of the noise variance.
func (p gpParams) vector() []float64 {
	return append(p.h.Kernel.AppendParams([]float64{p.mean}), math.Log(p.h.NoiseVariance))
}

// newMultiNLL returns the negative log marginal likelihood of tasks, averaged over them.
func newMultiNLL(template kernel.Kernel, tasks []observations, workers int) *gp.MultiTask {
	o := gp.NewMultiTask(template, 1/float64(len(tasks)), workers)
	for _, t := range tasks {
		o.Add(t.x, t.z, t.noise)
	}
	return o
}

// Bounds of the search for parameters that all tasks share, in units of the
// values' pooled deviation and, for lengths, of the unit cube.
const (
	meanRange   = 10
	minLength   = 0.01
	maxLength   = 100
	minVariance = 1e-3
	maxVariance = 1e3
	minNoise    = 1e-6
	maxNoise    = 1
)

// until returns a function to be minimised that is NaN once ctx is done, which ends the search.
func until(ctx context.Context, f optim.Func) optim.Func {
	return func(x, grad []float64) float64 {
		if ctx.Err() != nil {
			return math.NaN()
		}
		return f(x, grad)
	}
}

// pretrain minimises the negative log marginal likelihood of tasks from several
// starts: the template with the mean of all values, and seeded draws around it.
func pretrain(ctx context.Context, template kernel.Kernel, tasks []observations, c *config) (gpParams, float64, error) {
	o := newMultiNLL(template, tasks, c.workers)
	var all []float64
	for _, t := range tasks {
		all = append(all, t.z...)
	}
	mean, variance := meanVariance(all)
	if !(variance > 0) {
		variance = 1
	}
	sd := math.Sqrt(variance)
	np := template.NumParams()
	lo, hi := make([]float64, np+2), make([]float64, np+2)
	lo[0], hi[0] = mean-meanRange*sd, mean+meanRange*sd
	lo[1], hi[1] = math.Log(minVariance*variance), math.Log(maxVariance*variance)
	for i := 2; i <= np; i++ {
		lo[i], hi[i] = math.Log(minLength), math.Log(maxLength)
	}
	lo[np+1], hi[np+1] = math.Log(minNoise*variance), math.Log(maxNoise*variance)
	start := gpParams{mean: mean, h: gp.Hyper{Kernel: template, NoiseVariance: 0.01 * variance}}.vector()
	start[1] += math.Log(variance)
	starts := [][]float64{start}
	for s := range 2 {
		r := rng.Stream(c.seed, "baseline pretrain", uint64(s))
		x := slices.Clone(start)
		for i := range x {
			if z := r.NormFloat64(); i > 0 {
				x[i] += z
			}
		}
		starts = append(starts, x)
	}
	f := until(ctx, func(x, grad []float64) float64 { return o.Eval(ctx, x, grad) })
	var m optim.Minimizer
	res := m.MultiStart(f, starts, lo, hi, optim.Options{FuncTol: 1e-8, MaxIter: 200})
	if err := ctx.Err(); err != nil {
		return gpParams{}, 0, err
	}
	theta := slices.Clone(res.X)
	if math.IsNaN(res.F) || math.IsInf(res.F, 0) {
		theta = start // no start will do: the template stands
	}
	k, err := template.WithParams(theta[1 : np+1])
	if err != nil {
		return gpParams{}, 0, numerical(ctx, err, "pre-training")
	}
	return gpParams{mean: theta[0], h: gp.Hyper{Kernel: k, NoiseVariance: math.Exp(theta[np+1])}}, res.F, nil
}
