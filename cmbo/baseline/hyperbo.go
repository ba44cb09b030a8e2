package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
)

// learnHyperBO learns HyperBO: one process, pre-trained on all tasks by the sum of their likelihoods,
// is conditioned on the target's data. See METHODS.md.
var learnHyperBO = fromTasks(config{method: "HyperBO", ard: true}, trainHyperBO)

func trainHyperBO(ctx context.Context, dim int, obs []observations, c *config) (runs, error) {
	base, err := pretrain(ctx, c.template(dim), obs, c)
	if err != nil {
		return nil, err
	}
	return func(seed uint64) cmbo.Surrogate {
		return newPriorRun(dim, seed, gp.FromKernel{Kernel: base.Kernel, Mean: base.Mean}, base.NoiseVariance)
	}, nil
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

// minimize returns where f is least of what the search finds from several starts, the first of
// them if f is finite nowhere. It fails only if ctx is done, which ends the search.
func minimize(ctx context.Context, f optim.Func, starts [][]float64, lo, hi []float64,
	o optim.Options) ([]float64, error) {
	var m optim.Minimizer
	best, least := starts[0], math.Inf(1)
	for _, start := range starts {
		res := m.Minimize(func(x, grad []float64) float64 {
			if ctx.Err() != nil {
				return math.NaN()
			}
			return f(x, grad)
		}, start, lo, hi, o)
		if res.F < least && !math.IsInf(res.F, -1) {
			best, least = slices.Clone(res.X), res.F
		}
	}
	return best, ctx.Err()
}

// pretrain minimises the negative log marginal likelihood of tasks, averaged over them, by the mean, the kernel's
// log-parameters and the logarithm of the noise variance, from several starts: the template with the mean of all
// values, and seeded draws around it.
func pretrain(ctx context.Context, template kernel.Kernel, tasks []observations, c *config) (hierarchy.Base, error) {
	o := gp.NewMultiTask(template, 1/float64(len(tasks)), c.workers)
	var all []float64
	for _, t := range tasks {
		o.Add(t.X, t.Z, t.Noise)
		all = append(all, t.Z...)
	}
	mean, variance := stat.MeanVariance(all)
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
	start := append(template.AppendParams([]float64{mean}), math.Log(0.01*variance))
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
	f := func(x, grad []float64) float64 { return o.Eval(ctx, x, grad) }
	theta, err := minimize(ctx, f, starts, lo, hi, optim.Options{FuncTol: 1e-8, MaxIter: 200})
	if err != nil {
		return hierarchy.Base{}, err
	}
	k, err := template.WithParams(theta[1 : np+1])
	return hierarchy.Base{Kernel: k, Mean: theta[0], NoiseVariance: math.Exp(theta[np+1])},
		gp.Numerical(ctx, err, "pre-training")
}
