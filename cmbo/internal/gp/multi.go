package gp

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
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
	scratch  []likelihoodScratch
	err      error // of the first evaluation that failed
}

type likelihoodTask struct {
	pairs    *kernel.Pairs
	z, noise []float64
	value    float64
	grad     []float64
}

// likelihoodScratch is the memory of one goroutine.
type likelihoodScratch struct {
	gram         linalg.Sym
	chol         linalg.Cholesky
	resid, alpha []float64
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
	m.scratch = make([]likelihoodScratch, parallel.Workers(m.workers, len(m.tasks)))
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

func (t *likelihoodTask) eval(s *likelihoodScratch, k kernel.Kernel, mean, noiseVariance float64) {
	n := len(t.z)
	t.value = math.NaN()
	t.pairs.Gram(&s.gram, k)
	for j, v := range Noise(t.noise, n, noiseVariance) {
		s.gram.Row(j)[j] += v
	}
	if s.chol.Factorize(&s.gram) != nil {
		return
	}
	s.resid, s.alpha = slices.Grow(s.resid[:0], n)[:n], slices.Grow(s.alpha[:0], n)[:n]
	for j, z := range t.z {
		s.resid[j] = z - mean
	}
	s.chol.SolveVecTo(s.alpha, s.resid)
	t.value = 0.5 * (linalg.Dot(s.resid, s.alpha) + s.chol.LogDet() + float64(n)*math.Log(2*math.Pi))
	s.chol.InverseTo(&s.gram)
	// ½·(A⁻¹ − α·αᵀ), whose product with ∂A/∂θ is the derivative.
	var free, sum float64
	for j, a := range s.alpha {
		r := s.gram.Row(j)
		for l, b := range s.alpha {
			r[l] = 0.5 * (r[l] - a*b)
		}
		if t.noise == nil || !(t.noise[j] > 0) {
			free += r[j]
		}
		sum += a
	}
	last := len(t.grad) - 1
	t.pairs.GradDot(t.grad[1:last], &s.gram)
	t.grad[0], t.grad[last] = -sum, noiseVariance*free
}
