package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
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

// objective is a function of the parameters to be minimised.
type objective interface {
	// Eval returns the value and sets grad, of the length of theta, to its
	// gradient. A value that is not finite says that theta will not do.
	Eval(ctx context.Context, theta, grad []float64) float64
}

// newMultiNLL returns the negative log marginal likelihood of tasks, averaged over them.
func newMultiNLL(template kernel.Kernel, tasks []observations, workers int) *gp.MultiTask {
	o := gp.NewMultiTask(template, 1/float64(len(tasks)), workers)
	for _, t := range tasks {
		o.Add(t.x, t.z, t.noise)
	}
	return o
}

// ekl is the empirical Kullback–Leibler objective on inputs that all tasks
// share,
//
//	tr(A⁻¹·S) + (c − m)ᵀ·A⁻¹·(c − m) + ln det A,   A = K + σ²·I,
//
// m and S mean and covariance (divisor N) of the tasks' values.
type ekl struct {
	template kernel.Kernel
	pairs    *kernel.Pairs
	mean     []float64
	cov      *linalg.Sym
}

func (o *ekl) Eval(_ context.Context, theta, grad []float64) float64 {
	last := len(theta) - 1
	k, err := o.template.WithParams(theta[1:last])
	if err != nil {
		return math.NaN()
	}
	n := len(o.mean)
	noise := math.Exp(theta[last])
	var a, s linalg.Sym
	o.pairs.Gram(&a, k)
	a.AddDiag(noise)
	var chol linalg.Cholesky
	if chol.Factorize(&a) != nil {
		return math.NaN()
	}
	chol.InverseTo(&a)
	// With T = S + d·dᵀ, d = c − m, the value is tr(A⁻¹T) + ln det A and its
	// derivative ⟨A⁻¹ − A⁻¹TA⁻¹, ∂A⟩.
	d := make([]float64, n)
	s.Copy(o.cov)
	for i := range d {
		d[i] = theta[0] - o.mean[i]
	}
	for i := range d {
		r := s.Row(i)
		for j := range d {
			r[j] += d[i] * d[j]
		}
	}
	v := a.Dot(&s) + chol.LogDet()
	alpha := make([]float64, n)
	a.MulVecTo(alpha, d)
	var w linalg.Sym
	dense := a.Dense()
	w.Congruence(&dense, &s)
	w.Scale(-1)
	w.AddScaled(1, &a)
	o.pairs.GradDot(grad[1:last], &w)
	grad[last] = noise * w.Trace()
	grad[0] = 0
	for _, x := range alpha {
		grad[0] += 2 * x
	}
	return v
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

// pretrain minimises an objective from several starts: the template with the
// mean of all values, and seeded draws around it.
func pretrain(ctx context.Context, o objective, template kernel.Kernel, tasks []observations, seed uint64) (gpParams, float64, error) {
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
		r := rng.Stream(seed, "baseline pretrain", uint64(s))
		x := slices.Clone(start)
		for i := range x {
			if z := r.NormFloat64(); i > 0 {
				x[i] += z
			}
		}
		starts = append(starts, x)
	}
	f := func(x, grad []float64) float64 {
		if ctx.Err() != nil {
			return math.NaN()
		}
		return o.Eval(ctx, x, grad)
	}
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
