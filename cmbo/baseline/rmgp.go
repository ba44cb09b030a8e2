package baseline

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// learnRMGPUCB learns RM-GP-UCB, a_t(x) = ν_t·Σ_i w_i·(μ_i(x) + τ·s_i(x)) + (1 − ν_t)·(μ(x) + β_t·s(x)),
// whose weights follow from gaps: see [gapRun] and METHODS.md.
var learnRMGPUCB = ensemble(config{method: "RM-GP-UCB", shape: kernel.Matern52}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
	return &rmUCBRun{newGapRun(p, c, seed)}
})

// rmUCBRun is a [cmbo.Weigher] and a [cmbo.Scorer].
type rmUCBRun struct{ *gapRun }

// Score writes a_t.
func (r *rmUCBRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, _ acq.Func, _ float64) error {
	if err := r.ready(ctx, x, dst); err != nil {
		return err
	}
	clear(dst)
	if r.nu > 0 {
		s, err := r.look(ctx, x, r.d.Pending, nil)
		if err != nil {
			return err
		}
		sd := make([]float64, len(dst))
		for i, w := range r.among {
			copy(sd, s.variance[i])
			gp.Deviations(sd)
			linalg.Axpy(dst, r.nu*w, s.mean[i])
			linalg.Axpy(dst, r.nu*w, sd) // τ is 1
		}
		if r.query == 1 {
			return nil
		}
	}
	mean, sd := make([]float64, len(dst)), make([]float64, len(dst))
	if err := r.Predict(ctx, mean, sd, x); err != nil {
		return err
	}
	linalg.Axpy(dst, 1-r.nu, mean)
	linalg.Axpy(dst, (1-r.nu)*gapBeta(r.target.dim, r.query), sd)
	return nil
}

// learnRMGPTS learns RM-GP-TS: with probability 1 − ν_t it proposes the maximiser of a draw of
// the target's posterior, else that of Σ_i w_i·f_i, f_i a draw of each task's. See METHODS.md.
var learnRMGPTS = ensemble(config{method: "RM-GP-TS", shape: kernel.Matern52}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
	return &rmTSRun{newGapRun(p, c, seed)}
})

// rmTSRun is a [cmbo.Weigher] and a [cmbo.Scorer].
type rmTSRun struct{ *gapRun }

// Score writes a draw at the rows of x.
func (r *rmTSRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, _ acq.Func, _ float64) error {
	if err := r.ready(ctx, x, dst); err != nil {
		return err
	}
	if len(dst) == 0 {
		return nil
	}
	src := rng.Stream(r.target.seed, "baseline thompson", uint64(r.d.Step))
	byTasks := src.Float64() < r.nu || r.query == 1 && r.nu > 0
	var cov linalg.Sym
	if byTasks {
		if err := r.mixture(ctx, dst, &cov, x); err != nil {
			return err
		}
	} else {
		if err := r.full.Moments(ctx, dst, nil, x); err != nil {
			return err
		}
		if err := r.full.Gram(ctx, &cov, x); err != nil {
			return err
		}
	}
	return numerical(ctx, gp.AddNoise(dst, &cov, src), "RM-GP-TS")
}

// mixture sets mean and cov to the moments of Σ w_i·f_i at the rows of x.
func (r *rmTSRun) mixture(ctx context.Context, mean []float64, cov *linalg.Sym, x *linalg.Dense) error {
	n := len(mean)
	clear(mean)
	cov.Resize(n)
	cov.Zero()
	var part linalg.Sym
	mu := make([]float64, n)
	for i, w := range r.among {
		s := r.sources[i]
		f, err := s.post.WithPending(ctx, r.d.Pending, s.h.NoiseVariance)
		if err == nil {
			err = f.Moments(ctx, mu, nil, x)
		}
		if err == nil {
			err = f.Gram(ctx, &part, x)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return sourceError(ctx, err, s.id)
		}
		linalg.Axpy(mean, w, mu)
		cov.AddScaled(w*w, &part)
	}
	return nil
}
