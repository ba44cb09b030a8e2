package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
)

// learnHyperBO learns HyperBO: one process, pre-trained on all tasks by the sum of their likelihoods,
// is conditioned on the target's data. See METHODS.md. It fails with [cmbo.ErrNoTasks] and as
// [ensemble] says.
func learnHyperBO(ctx context.Context, space *cmbo.Space, tasks []cmbo.Task, opts ...Option) (runs, error) {
	c, obs, err := begin(config{method: "HyperBO", ard: true}, space, tasks, opts)
	if err != nil {
		return nil, err
	}
	p, _, err := pretrain(ctx, c.template(space.Dim()), obs, c)
	if err != nil {
		return nil, err
	}
	return func(seed uint64) cmbo.Surrogate {
		return newPriorRun(space.Dim(), seed, gp.FromKernel{Kernel: p.h.Kernel, Mean: p.mean}, p.h.NoiseVariance)
	}, nil
}
