package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
)

// hyperBO conditions one Gaussian process, pre-trained on all tasks, on the target's data:
// constant mean c, a kernel, noise variance σ², which minimise
//
//	(1/K)·Σ_i ½·(r_iᵀA_i⁻¹r_i + ln det A_i + n_i·ln 2π),   r_i = y_i − c, A_i = K_i + σ²·I.
//
// Where it differs from the authors' code: all observations enter each evaluation, of which
// L-BFGS from three starts makes some hundred, in place of ten thousand Adam steps on samples
// of fifty rows; parameters are searched by logarithms; the deviation is that of the
// noise-free objective and is not enlarged by N/(N−1); there is no network.
//
// Matérn-3/2 with a length for each coordinate. An evaluation takes O(Σ n_i³), a step
// O(n³ + n² N).
//
// Z. Wang, G. E. Dahl, K. Swersky, C. Lee, Z. Nado, J. Gilmer, J. Snoek and Z. Ghahramani,
// Pre-trained Gaussian processes for Bayesian optimization, JMLR 25 (2024); arXiv:2109.08215.
type hyperBO struct {
	dim  int
	p    gpParams
	loss float64
}

// learnHyperBO pre-trains the process. It fails with [cmbo.ErrNoTasks] and as
// learnRGPE does.
func learnHyperBO(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (*hyperBO, error) {
	c, obs, err := begin(config{method: "HyperBO", ard: true}, space, tasks, opts)
	if err != nil {
		return nil, err
	}
	m := &hyperBO{dim: space.Dim()}
	m.p, m.loss, err = pretrain(ctx, c.template(m.dim), obs, c)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Surrogate returns the surrogate of one run; nothing in it is random.
func (m *hyperBO) Surrogate(seed uint64) cmbo.Surrogate {
	return newPriorRun(m.dim, seed, gp.FromKernel{Kernel: m.p.h.Kernel, Mean: m.p.mean}, m.p.h.NoiseVariance)
}
