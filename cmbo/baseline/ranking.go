package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/qmc"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// rankFloor is the smallest variance a draw gets beyond what the points before
// determine, relative to the prior's: repeated observations leave none.
const rankFloor = 1e-10

// ranker computes the weights of RGPE.
type ranker struct {
	past *past
	c    *config

	z, eps normals
	order  [][]int  // by source: which of its draws stands beside each of the target's
	ranked []ranked // by source
}

// ranked holds the draws of one source's joint posterior at the observations.
type ranked struct {
	taskMoments
	l     [][]float64 // rows of the factor of the posterior covariance
	draws [][]float64 // by observation
	loss  []float64   // by draw: ordered pairs ranked otherwise than observed
}

// newRanker returns the ranker of one run. All models are drawn with the same normal numbers, which
// would let models that agree have the same losses draw for draw; each source's draws come in a
// random order of their own, and are then as good as independent of the others'.
func newRanker(p *past, c *config, seed uint64) *ranker {
	r := &ranker{
		past: p, c: c,
		z:   normals{seed: seed, label: "baseline rank", draws: c.samples},
		eps: normals{seed: seed, label: "baseline leave-one-out", draws: c.samples},
	}
	r.order = each.Below(len(p.sources), func(i int) []int {
		return rng.Stream(seed, "baseline rank order", uint64(i)).Perm(c.samples)
	})
	return r
}

// weigher returns a function that weighs with the data of t.
func (r *ranker) weigher(t *target) func(context.Context) ([]float64, error) {
	t.forget = func(n int) {
		if r.ranked != nil && n < len(r.ranked[0].mean) {
			r.ranked = nil
		}
	}
	return func(ctx context.Context) ([]float64, error) { return r.weights(ctx, t) }
}

// weights returns the weights of the sources and, last, of the target's model.
func (r *ranker) weights(ctx context.Context, t *target) ([]float64, error) {
	k, n := len(r.past.sources), len(t.d.Y)
	if k == 0 || n < 3 {
		return slices.Repeat([]float64{1 / float64(k+1)}, k+1), nil
	}
	if err := r.update(ctx, t.d); err != nil {
		return nil, err
	}
	loo, err := newLeaveOneOut(ctx, t.post, t.d.Y)
	if err != nil {
		return nil, err
	}
	own := make([]float64, r.c.samples)
	loo.losses(own, t.d.Raw, r.z.get(n), r.eps.get(n))
	return r.award(own), nil
}

// update takes in observations that are new.
func (r *ranker) update(ctx context.Context, d cmbo.Data) error {
	if r.ranked == nil {
		r.ranked = make([]ranked, len(r.past.sources))
		for i := range r.ranked {
			r.ranked[i].loss = make([]float64, r.c.samples)
		}
	}
	z := r.z.get(len(d.Y))
	err := parallel.For(ctx, r.past.workers, len(r.ranked), func(_, i int) error {
		for range len(d.Y) - len(r.ranked[i].mean) {
			if err := r.ranked[i].add(ctx, r.past.sources[i], d.X, d.Raw, z); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.ranked = nil // some have points that others lack
	}
	return err
}

// add takes in the next row of x.
func (r *ranked) add(ctx context.Context, src *source, x *linalg.Dense, raw []float64, z [][]float64) error {
	n := len(r.mean)
	if err := r.taskMoments.add(ctx, src, x); err != nil {
		return err
	}
	row := slices.Clone(r.cov[n*(n+1)/2:])
	rest := row[n]
	for j, l := range r.l {
		row[j] = (row[j] - linalg.Dot(row[:j], l[:j])) / l[j]
		rest -= row[j] * row[j]
	}
	row[n] = math.Sqrt(max(rest, rankFloor*src.h.Kernel.Eval(x.Row(n), x.Row(n))))
	draw := slices.Repeat([]float64{r.mean[n]}, len(r.loss))
	for j, c := range row {
		linalg.Axpy(draw, c, z[j])
	}
	r.l, r.draws = append(r.l, row), append(r.draws, draw)

	for j := range n {
		other := r.draws[j][:len(draw)]
		below, above := raw[j] < raw[n], raw[n] < raw[j]
		for s, f := range draw {
			if (other[s] < f) != below {
				r.loss[s]++
			}
			if (f < other[s]) != above {
				r.loss[s]++
			}
		}
	}
	return nil
}

// award returns the share of the draws in which each source and, last, the target's model has the
// smallest loss; those that tie split a draw. own holds the target's losses.
func (r *ranker) award(own []float64) []float64 {
	k := len(r.ranked)
	w, loss := make([]float64, k+1), make([]float64, k+1)
	for s := range own {
		best, tied := math.Inf(1), 0
		for i := range loss {
			loss[i] = own[s]
			if i < k {
				loss[i] = r.ranked[i].loss[r.order[i][s]]
			}
			switch {
			case loss[i] < best:
				best, tied = loss[i], 1
			case loss[i] == best:
				tied++
			}
		}
		for i, v := range loss {
			if v == best {
				w[i] += 1 / float64(tied*len(own))
			}
		}
	}
	return w
}

// normals holds standard normal numbers for a fixed number of joint draws: row i holds those of
// coordinate i, one a draw. Coordinates come in blocks, each the scrambled Sobol points of its own
// stream in an order of its own, and never change as more are asked for. Without the order two
// blocks, or two sequences, would go through the same points in step, which no scrambling undoes.
type normals struct {
	seed  uint64
	label string
	draws int
	rows  [][]float64
}

// get returns at least the first n rows.
func (z *normals) get(n int) [][]float64 {
	for len(z.rows) < n {
		src := rng.Stream(z.seed, z.label, uint64(len(z.rows)/qmc.MaxDim))
		q := qmc.New(qmc.MaxDim, src)
		order := src.Perm(z.draws)
		block := each.Below(qmc.MaxDim, func(int) []float64 { return make([]float64, z.draws) })
		u := make([]float64, qmc.MaxDim)
		for _, s := range order {
			q.Next(u)
			for i, v := range u {
				block[i][s] = special.NormQuantile(v)
			}
		}
		z.rows = append(z.rows, block...)
	}
	return z.rows
}
