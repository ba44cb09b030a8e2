package gp

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A MultiTask is the likelihood of tasks that are draws of one Gaussian process: a constant mean c, a kernel, and a noise
// variance σ² where a value's own is not known. Eval returns share times the sum over tasks of the negative logarithm
//
//	½·(rᵀA⁻¹r + ln det A + n·ln 2π),   r = z − c,   A = K + diag(noise).
type MultiTask struct {
	template kernel.Kernel
	share    float64
	workers  int
	tasks    []likelihoodTask
	scratch  []Marginal
	err      error // of the first evaluation that failed
}

type likelihoodTask struct {
	pairs    *kernel.Pairs
	z, noise []float64
	value    float64
	grad     []float64
}

// A Marginal is ½·(rᵀA⁻¹r + ln det A + n·ln 2π), with its memory for one evaluation after the other.
type Marginal struct {
	Gram  linalg.Sym // A; Eval sets it to ½·(A⁻¹ − α·αᵀ), whose product with ∂A/∂θ is the derivative by θ
	Resid []float64  // r
	Alpha []float64  // α = A⁻¹r, which Eval sets
	chol  linalg.Cholesky
}

// Eval returns the value, NaN where A is not definite.
func (m *Marginal) Eval() float64 {
	if m.chol.Factorize(&m.Gram) != nil {
		return math.NaN()
	}
	n := len(m.Resid)
	m.Alpha = slices.Grow(m.Alpha[:0], n)[:n]
	m.chol.SolveVecTo(m.Alpha, m.Resid)
	v := 0.5 * (linalg.Dot(m.Resid, m.Alpha) + m.chol.LogDet() + float64(n)*math.Log(2*math.Pi))
	m.chol.InverseTo(&m.Gram)
	for j, a := range m.Alpha {
		row := m.Gram.Row(j)
		for l, b := range m.Alpha {
			row[l] = 0.5 * (row[l] - a*b)
		}
	}
	return v
}

// NewMultiTask returns the likelihood of no task yet, with kernels of the form of
// template, evaluated on at most so many goroutines.
func NewMultiTask(template kernel.Kernel, share float64, workers int) *MultiTask {
	return &MultiTask{template: template, share: share, workers: workers}
}

// Add adds a task of the values z at the rows of x. noise holds their noise
// variances, 0 where one is not known; nil stands for none known. It keeps them all.
func (m *MultiTask) Add(x *linalg.Dense, z, noise []float64) {
	m.tasks = append(m.tasks, likelihoodTask{pairs: kernel.NewPairs(x), z: z, noise: noise,
		grad: make([]float64, m.template.NumParams()+2)})
	m.scratch = make([]Marginal, parallel.Workers(m.workers, len(m.tasks)))
}

// Eval returns the value at theta, the mean, the kernel's log-parameters and the logarithm of the noise variance, and
// sets grad to its gradient. It is NaN where a covariance is not definite, and everywhere once Err is not nil.
func (m *MultiTask) Eval(ctx context.Context, theta, grad []float64) float64 {
	last := len(theta) - 1
	k, err := m.template.WithParams(theta[1:last])
	if err != nil || m.err != nil {
		return math.NaN()
	}
	m.err = parallel.For(ctx, m.workers, len(m.tasks), func(w, i int) error {
		m.tasks[i].eval(&m.scratch[w], k, theta[0], math.Exp(theta[last]))
		return nil
	})
	if m.err != nil {
		return math.NaN()
	}
	var v float64
	clear(grad)
	for i := range m.tasks {
		v += m.share * m.tasks[i].value
		linalg.Axpy(grad, m.share, m.tasks[i].grad)
	}
	return v
}

// Err returns the error of the first Eval that failed, of a context that is done or
// a kernel that panics: a [*parallel.Panic] names the task by its index.
func (m *MultiTask) Err() error { return m.err }

func (t *likelihoodTask) eval(s *Marginal, k kernel.Kernel, mean, noiseVariance float64) {
	t.pairs.Gram(&s.Gram, k)
	s.Resid = s.Resid[:0]
	for j, v := range Noise(t.noise, len(t.z), noiseVariance) {
		s.Gram.Row(j)[j] += v
		s.Resid = append(s.Resid, t.z[j]-mean)
	}
	if t.value = s.Eval(); math.IsNaN(t.value) {
		return
	}
	var free float64
	for j := range t.z {
		if t.noise == nil || !(t.noise[j] > 0) {
			free += s.Gram.Row(j)[j]
		}
	}
	last := len(t.grad) - 1
	t.pairs.GradDot(t.grad[1:last], &s.Gram)
	t.grad[0], t.grad[last] = -stat.Sum(s.Alpha), noiseVariance*free
}
