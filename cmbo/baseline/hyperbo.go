package baseline

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Objective is what the parameters of HyperBO minimise.
type Objective uint8

const (
	// NLL is the negative log marginal likelihood, averaged over tasks.
	NLL Objective = iota
	// EKL is the Kullback–Leibler divergence from the tasks' empirical mean and
	// covariance on inputs that they share, without the terms that do not
	// depend on the parameters,
	//
	//	tr(A⁻¹·S) + (c − m)ᵀ·A⁻¹·(c − m) + ln det A.
	//
	// It is twice the NLL up to a constant, and takes one factorisation for all
	// tasks in place of one for each.
	EKL
)

// hyperBO conditions one Gaussian process, pre-trained on all tasks, on the
// target's data: constant mean c, a kernel, noise variance σ², which minimise
//
//	(1/K)·Σ_i ½·(r_iᵀA_i⁻¹r_i + ln det A_i + n_i·ln 2π),   r_i = y_i − c, A_i = K_i + σ²·I.
//
// With one task this is type-II maximum likelihood.
//
// Where it differs from the authors' code: all observations enter each
// evaluation, of which L-BFGS from three starts makes some hundred, in place of
// ten thousand Adam steps on samples of fifty rows; parameters are searched by
// logarithms in wide bounds rather than through a softplus; the deviation is that
// of the noise-free objective and is not enlarged by N/(N−1); the mean is a
// constant and the kernel works on the coordinates, as in the authors' HPO-B
// experiment, without a network.
//
// Matérn-3/2 with a length for each coordinate by default. An evaluation takes
// O(Σ n_i³), a step O(n³ + n² N).
//
// Z. Wang, G. E. Dahl, K. Swersky, C. Lee, Z. Nado, J. Gilmer, J. Snoek and
// Z. Ghahramani, Pre-trained Gaussian processes for Bayesian optimization, JMLR 25
// (2024); arXiv:2109.08215.
type hyperBO struct {
	dim  int
	p    gpParams
	loss float64
}

// learnHyperBO pre-trains the process. It takes [WithKernel] and
// [WithObjective]. It fails with [cmbo.ErrNoTasks], with [cmbo.ErrTask] if EKL is
// asked for and the tasks do not have the same points, and as learnRGPE does.
func learnHyperBO(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (*hyperBO, error) {
	c, err := newConfig(config{method: "HyperBO", takes: setKernel | setObjective, ard: true}, opts)
	if err != nil {
		return nil, err
	}
	obs, err := requireTasks(space, tasks, c)
	if err != nil {
		return nil, err
	}
	template := c.template(space.Dim())
	var o objective = newMultiNLL(template, obs, c.workers)
	if c.objective == EKL {
		shared, err := shareInputs(obs)
		if err != nil {
			return nil, err
		}
		o = newEKL(template, shared)
	}
	m := &hyperBO{dim: space.Dim()}
	m.p, m.loss, err = pretrain(ctx, o, template, obs, c.seed)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Surrogate returns the surrogate of one run; nothing in it is random.
func (m *hyperBO) Surrogate(seed uint64) cmbo.Surrogate {
	return &priorRun{run: run{dim: m.dim, seed: seed}, prior: gp.FromKernel{Kernel: m.p.h.Kernel, Mean: m.p.mean}, noiseVariance: m.p.h.NoiseVariance}
}

// sharedInputs holds tasks that were all observed at the same points.
type sharedInputs struct {
	x      *linalg.Dense // distinct points
	values [][]float64   // by task and point: the mean of the values there
	row    map[string]int
}

// shareInputs brings tasks to that form, with a [cmbo.ErrTask] if it is not
// theirs.
func shareInputs(tasks []observations) (*sharedInputs, error) {
	s := &sharedInputs{row: make(map[string]int)}
	var rows []int
	for i := range tasks[0].z {
		key := points.Key(tasks[0].x.Row(i))
		if _, dup := s.row[key]; !dup {
			s.row[key] = len(rows)
			rows = append(rows, i)
		}
	}
	s.x = points.Pick(tasks[0].x, rows)
	for _, t := range tasks {
		v := make([]float64, len(rows))
		count := make([]float64, len(rows))
		for i, z := range t.z {
			r, ok := s.row[points.Key(t.x.Row(i))]
			if !ok {
				return nil, taskError(cmbo.ErrTask, t.id, "observation %d is at a point that %q does not have; the tasks must share theirs", i, tasks[0].id)
			}
			v[r] += z
			count[r]++
		}
		if slices.Contains(count, 0) {
			return nil, taskError(cmbo.ErrTask, t.id, "%d points are missing that %q has; the tasks must share theirs", countZeros(count), tasks[0].id)
		}
		for r := range v {
			v[r] /= count[r]
		}
		s.values = append(s.values, v)
	}
	return s, nil
}

func countZeros(v []float64) int {
	n := 0
	for _, x := range v {
		if x == 0 {
			n++
		}
	}
	return n
}

// newEKL makes the objective from the empirical moments.
func newEKL(template kernel.Kernel, s *sharedInputs) *ekl {
	n := points.Len(s.x)
	o := &ekl{template: template, pairs: kernel.NewPairs(s.x), mean: make([]float64, n), cov: linalg.NewSym(n, nil)}
	share := 1 / float64(len(s.values))
	for _, v := range s.values {
		linalg.Axpy(o.mean, share, v)
	}
	dev := linalg.NewDense(n, len(s.values), nil)
	for j, v := range s.values {
		for i := range n {
			dev.Set(i, j, v[i]-o.mean[i])
		}
	}
	o.cov.Gram(dev)
	o.cov.Scale(share)
	return o
}
