package hierarchy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A Task is one past task: points of the unit cube, one a row, and their values in
// the task's own scaled units, larger being better.
type Task struct {
	ID string
	X  *linalg.Dense
	Z  []float64
	// Noise holds the noise variances of Z, 0 where one is not known; nil stands
	// for none known.
	Noise []float64
	// Shift and Scale are what was taken off the raw values and what they were then
	// divided by: their prior is that of the target's offset and scale.
	Shift, Scale float64
}

// Base is the Gaussian process that all tasks share before anything is known of
// them: a constant mean, a kernel and a noise variance, in scaled units.
type Base struct {
	Kernel        kernel.Kernel
	Mean          float64
	NoiseVariance float64
}

// Bounds of the base process's parameters, in scaled units and units of the cube.
const (
	minVariance, maxVariance = 0.05, 20
	minLength, maxLength     = 0.02, 30
	minNoise, maxNoise       = 1e-4, 1
	maxMean                  = 1
	lengthSD                 = 1.5 // of a length's logarithm around √d/2
)

// DefaultKernel returns the template of the base process in dim coordinates: a
// scaled Matérn-3/2 with a length for each.
func DefaultKernel(dim int) kernel.Kernel {
	lengths := make([]float64, dim)
	for i := range lengths {
		lengths[i] = 0.5 * math.Sqrt(float64(dim))
	}
	return kernel.Scale(1, kernel.Matern32(lengths...))
}

// fitBase maximises the sum of the tasks' log marginal likelihoods over the
// template's parameters, the mean and the noise variance, lengths having a wide
// log-normal prior.
func fitBase(ctx context.Context, tasks []Task, template kernel.Kernel, workers int) (Base, error) {
	lo, hi, pull := box(template)
	start := append(template.AppendParams([]float64{0}), math.Log(0.01))
	o := newLikelihood(template, tasks, workers)
	f := func(x, grad []float64) float64 {
		v := o.eval(ctx, x, grad)
		for i, p := range pull {
			if p.sd > 0 {
				u := (x[i] - p.mean) / p.sd
				v += 0.5 * u * u
				grad[i] += u / p.sd
			}
		}
		return v
	}
	res := optim.Minimize(f, start, lo, hi, optim.Options{FuncTol: 1e-7, MaxIter: 60})
	if o.err != nil {
		return Base{}, o.err
	}
	theta := res.X
	if math.IsNaN(res.F) || math.IsInf(res.F, 0) {
		theta = start
	}
	last := len(theta) - 1
	k, err := template.WithParams(theta[1:last])
	if err != nil {
		return Base{}, err
	}
	return Base{Kernel: k, Mean: theta[0], NoiseVariance: math.Exp(theta[last])}, nil
}

type normalPrior struct{ mean, sd float64 }

// foreignRange bounds the parameters of a kernel from outside around the template's.
const foreignRange = 7

// box returns bounds and priors of the parameters as the search sees them: the
// mean, the kernel's log-parameters, the logarithm of the noise variance.
func box(template kernel.Kernel) (lo, hi []float64, pull []normalPrior) {
	params := template.AppendParams(nil)
	n := len(params) + 2
	lo, hi, pull = make([]float64, n), make([]float64, n), make([]normalPrior, n)
	lo[0], hi[0] = -maxMean, maxMean
	lo[n-1], hi[n-1] = math.Log(minNoise), math.Log(maxNoise)
	spec, err := kernel.Describe(template)
	simple := err == nil && spec.Name == "Scale" && len(spec.Kernels[0].Kernels) == 0
	for i, p := range params {
		j := i + 1
		switch {
		case !simple:
			lo[j], hi[j] = p-foreignRange, p+foreignRange
		case i == 0:
			lo[j], hi[j] = math.Log(minVariance), math.Log(maxVariance)
		default:
			lo[j], hi[j] = math.Log(minLength), math.Log(maxLength)
			pull[j] = normalPrior{p, lengthSD}
		}
	}
	return lo, hi, pull
}

// likelihood is the negative log marginal likelihood summed over tasks, as a
// function of the mean, the kernel's log-parameters and the logarithm of the noise
// variance.
type likelihood struct {
	template kernel.Kernel
	tasks    []Task
	pairs    []*kernel.Pairs
	workers  int
	scratch  []likelihoodScratch
	values   []float64
	grads    [][]float64
	err      error // of the first evaluation that failed
}

type likelihoodScratch struct {
	gram         linalg.Sym
	chol         linalg.Cholesky
	resid, alpha []float64
}

func newLikelihood(template kernel.Kernel, tasks []Task, workers int) *likelihood {
	n := len(tasks)
	o := &likelihood{
		template: template, tasks: tasks, workers: workers, values: make([]float64, n),
		scratch: make([]likelihoodScratch, parallel.Workers(workers, n)),
	}
	for _, t := range tasks {
		o.pairs = append(o.pairs, kernel.NewPairs(t.X))
		o.grads = append(o.grads, make([]float64, template.NumParams()+2))
	}
	return o
}

func (o *likelihood) eval(ctx context.Context, theta, grad []float64) float64 {
	last := len(theta) - 1
	k, err := o.template.WithParams(theta[1:last])
	if err != nil || o.err != nil {
		return math.NaN()
	}
	err = parallel.For(ctx, o.workers, len(o.tasks), func(w, i int) error {
		o.values[i] = o.task(&o.scratch[w], i, k, theta[0], math.Exp(theta[last]))
		return nil
	})
	if err != nil {
		// A kernel that panics, or a context that is done: no point is any better.
		o.err = err
		if p := (*parallel.Panic)(nil); errors.As(err, &p) {
			o.err = fmt.Errorf("task %q: %w", o.tasks[p.Index].ID, err)
		}
		return math.NaN()
	}
	var v float64
	clear(grad)
	for i := range o.tasks {
		v += o.values[i]
		linalg.Axpy(grad, 1, o.grads[i])
	}
	return v
}

// task returns the negative log marginal likelihood of task i, NaN where the
// covariance is not definite, and leaves its gradient in grads.
func (o *likelihood) task(s *likelihoodScratch, i int, k kernel.Kernel, mean, noiseVariance float64) float64 {
	t, grad := &o.tasks[i], o.grads[i]
	n := len(t.Z)
	o.pairs[i].Gram(&s.gram, k)
	free := 0.0
	for j := range n {
		v := noiseVariance
		if t.Noise != nil && t.Noise[j] > 0 {
			v = t.Noise[j]
		}
		s.gram.Row(j)[j] += v
	}
	if s.chol.Factorize(&s.gram) != nil {
		return math.NaN()
	}
	s.resid, s.alpha = slices.Grow(s.resid[:0], n)[:n], slices.Grow(s.alpha[:0], n)[:n]
	for j, z := range t.Z {
		s.resid[j] = z - mean
	}
	s.chol.SolveVecTo(s.alpha, s.resid)
	v := 0.5 * (linalg.Dot(s.resid, s.alpha) + s.chol.LogDet() + float64(n)*math.Log(2*math.Pi))
	s.chol.InverseTo(&s.gram)
	// ½·(A⁻¹ − α·αᵀ), whose product with ∂A/∂θ is the derivative.
	var sum float64
	for j, a := range s.alpha {
		r := s.gram.Row(j)
		for l, b := range s.alpha {
			r[l] = 0.5 * (r[l] - a*b)
		}
		if t.Noise == nil || !(t.Noise[j] > 0) {
			free += r[j]
		}
		sum += a
	}
	last := len(grad) - 1
	o.pairs[i].GradDot(grad[1:last], &s.gram)
	grad[0], grad[last] = -sum, noiseVariance*free
	return v
}

// maxJitter bounds the jitter of every factor, relative to the mean of the diagonal.
const maxJitter = 1e-4
