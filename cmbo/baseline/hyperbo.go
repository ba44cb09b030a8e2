package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
)

// hyperBO is HyperBO: one process, pre-trained on all tasks by the sum of their likelihoods, is
// conditioned on the target's data. See METHODS.md.
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
