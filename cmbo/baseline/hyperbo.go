package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
)

// learnHyperBO learns HyperBO: one process, pre-trained on all tasks by the sum of their likelihoods,
// is conditioned on the target's data. See METHODS.md.
var learnHyperBO = fromTasks(config{method: "HyperBO", ard: true}, trainHyperBO)

func trainHyperBO(ctx context.Context, dim int, obs []observations, c *config) (runs, error) {
	p, _, err := pretrain(ctx, c.template(dim), obs, c)
	if err != nil {
		return nil, err
	}
	return func(seed uint64) cmbo.Surrogate {
		return newPriorRun(dim, seed, gp.FromKernel{Kernel: p.h.Kernel, Mean: p.mean}, p.h.NoiseVariance)
	}, nil
}
