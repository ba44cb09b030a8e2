package baseline

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// The constants of RM-GP-UCB and RM-GP-TS, those of the authors' experiments. The
// weights follow the gaps at the rate 1, and the tasks' deviations count once.
const (
	gapDecay    = 0.7 // r, the largest factor by which the share of the tasks changes in a step
	gapExponent = 0.7 // ε, with which the share follows the gaps
	gapKappa    = 0.2 // κ
)

// gapBeta returns β_t = √(κ·d·ln 2t), d the number of coordinates.
func gapBeta(dim, t int) float64 {
	return math.Sqrt(gapKappa * float64(dim) * math.Log(2*float64(t)))
}

// gapFloor is the smallest variance of the target's process in a gap.
const gapFloor = 1e-6

// gapRun is what RM-GP-UCB and RM-GP-TS share: the target's process and the
// weights that follow from the gaps between it and the tasks, after each query.
//
// The upper bound of the gap between the target and observation j of task i is
//
//	g_ij = max(|μ(x_ij) + β·s(x_ij) − y_ij|, |μ(x_ij) − β·s(x_ij) − y_ij|)
//	     = |μ(x_ij) − y_ij| + β·s(x_ij),
//
// its mean over j the gap d_i. The process is the one of that time: gaps of
// earlier queries are kept, and computed again where they are not known.
type gapRun struct {
	*ensembleRun
	gaps map[int]gapEntry // by number of observations
	// of the latest Fit:
	among []float64 // weights of the tasks among each other
	nu    float64   // share of the tasks
	query int       // number t of the query to come
}

type gapEntry struct {
	beta float64
	d    []float64
}

func newGapRun(p *past, c *config, seed uint64) *gapRun {
	r := &gapRun{ensembleRun: newEnsembleRun(p, c, seed), gaps: make(map[int]gapEntry)}
	r.weigh = r.weights
	r.forget = func(n int) { maps.DeleteFunc(r.gaps, func(m int, _ gapEntry) bool { return m > n }) }
	return r
}

// weights returns the shares of the tasks and of the target in the acquisition. It goes through the
// queries so far. Observations in excess of the queries are those the run began with: the number of
// queries is that of the trials asked before, less the ones without a value.
func (r *gapRun) weights(ctx context.Context) ([]float64, error) {
	n, k := len(r.d.Y), len(r.sources)
	queries := min(max(r.d.Step-1-points.Len(r.d.Pending), 0), n)
	first := n - queries
	r.query = queries + 1
	r.nu = 1
	r.among = make([]float64, k)
	if k == 0 {
		r.nu = 0
		return []float64{1}, nil
	}
	sum := make([]float64, k)
	expWeights(r.among, sum)
	for m := max(first, 1); m <= n; m++ {
		d, err := r.gapsAt(ctx, m, max(m-first, 1))
		if err != nil {
			return nil, err
		}
		var mean float64
		linalg.Axpy(sum, 1, d)
		expWeights(r.among, sum)
		for i, v := range d {
			mean += r.among[i] * v
		}
		r.nu *= min(gapDecay, math.Pow(mean, -gapExponent))
	}
	w := make([]float64, k, k+1)
	linalg.Axpy(w, r.nu, r.among)
	return append(w, 1-r.nu), nil
}

// gapsAt returns the gaps of the tasks after n observations, with the β of query t.
func (r *gapRun) gapsAt(ctx context.Context, n, t int) ([]float64, error) {
	beta := gapBeta(r.target.dim, t)
	if e, ok := r.gaps[n]; ok && e.beta == beta {
		return e.d, nil
	}
	p, err := r.posteriorAt(ctx, n)
	if err != nil {
		return nil, err
	}
	d := make([]float64, len(r.sources))
	for i, s := range r.sources {
		rows := len(s.Z)
		mean, sd := make([]float64, rows), make([]float64, rows)
		if err := p.Moments(ctx, mean, sd, s.X); err != nil {
			return nil, err
		}
		for j, y := range s.Z {
			d[i] += (math.Abs(mean[j]-y) + beta*math.Sqrt(max(sd[j], gapFloor))) / float64(rows)
		}
	}
	r.gaps[n] = gapEntry{beta: beta, d: d}
	return d, nil
}

// expWeights sets w_i to exp(−sum_i), normalised.
func expWeights(w, sum []float64) {
	smallest := slices.Min(sum)
	for i, v := range sum {
		w[i] = math.Exp(smallest - v)
	}
	stat.Normalise(w)
}

// learnRMGPUCB learns RM-GP-UCB, a_t(x) = ν_t·Σ_i w_i·(μ_i(x) + τ·s_i(x)) + (1 − ν_t)·(μ(x) + β_t·s(x)),
// whose weights follow from gaps: see [gapRun] and METHODS.md.
var learnRMGPUCB = ensemble(config{method: "RM-GP-UCB", varied: true, shape: kernel.Matern52}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
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
var learnRMGPTS = ensemble(config{method: "RM-GP-TS", varied: true, shape: kernel.Matern52}, func(p *past, c *config, seed uint64) cmbo.Surrogate {
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
	} else if err := r.full.Joint(ctx, dst, &cov, x, new(linalg.Dense)); err != nil {
		return err
	}
	return gp.Numerical(ctx, gp.AddNoise(dst, &cov, src), "RM-GP-TS")
}

// mixture sets mean and cov to the moments of Σ w_i·f_i at the rows of x.
func (r *rmTSRun) mixture(ctx context.Context, mean []float64, cov *linalg.Sym, x *linalg.Dense) error {
	n := len(mean)
	clear(mean)
	cov.Resize(n)
	cov.Zero()
	var part linalg.Sym
	var white linalg.Dense
	mu := make([]float64, n)
	for i, w := range r.among {
		s := r.sources[i]
		f, err := s.post.WithPending(ctx, r.d.Pending, s.h.NoiseVariance)
		if err == nil {
			err = f.Joint(ctx, mu, &part, x, &white)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return sourceError(ctx, err, s.ID)
		}
		linalg.Axpy(mean, w, mu)
		cov.AddScaled(w*w, &part)
	}
	return nil
}
