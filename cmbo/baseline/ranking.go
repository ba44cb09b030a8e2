package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// Ties says who gets a draw in which several models have the smallest loss.
type Ties uint8

const (
	// TargetWins gives the draw to the target's model if it is among them, and
	// splits it equally else: the rule of the first version of the paper, which
	// protects against sources that rank few observations right by luck.
	TargetWins Ties = iota
	// SplitEqually splits the draw between all of them, as the final version
	// does.
	SplitEqually
)

// A Guard decides which sources [RGPE] leaves out, so that many useless ones do
// not take the weight of the target's model between them.
type Guard struct {
	kind   uint8
	budget int
}

const (
	guardPercentile uint8 = iota
	guardNone
	guardBudget
)

// PercentileGuard leaves out sources whose median loss exceeds the 95th
// percentile of the target's losses (first version of the paper).
func PercentileGuard() Guard { return Guard{kind: guardPercentile} }

// NoGuard leaves out none.
func NoGuard() Guard { return Guard{kind: guardNone} }

// BudgetGuard keeps a source at random, with probability
//
//	p_i = (share of draws in which its loss is below the target's)·(1 − n/budget)
//
// after n observations (final version of the paper), so that none is left when
// the budget is spent. budget counts all observations of the run, initial ones
// included; 0 stands for keeping by the share alone.
func BudgetGuard(budget int) Guard { return Guard{kind: guardBudget, budget: budget} }

// rankFloor is the smallest variance a draw gets beyond what the points before
// determine, relative to the prior's: repeated observations leave none.
const rankFloor = 1e-10

// ranker computes the weights of RGPE. It takes in a run's observations one by
// one, in their order, so that what it holds does not depend on when it was
// asked.
type ranker struct {
	bank *bank
	c    *config
	seed uint64

	z, eps normals
	seen   prefix
	points []*linalg.Dense // one row each
	ranked []ranked        // by source
}

// ranked holds the draws of one source's joint posterior at the observations.
type ranked struct {
	v     [][]float64 // L⁻¹·k(X, x_j) by observation
	l     [][]float64 // rows of the factor of the posterior covariance
	draws [][]float64 // by observation
	loss  []float64   // by draw: ordered pairs ranked otherwise than observed
}

func newRanker(b *bank, c *config, seed uint64) *ranker {
	return &ranker{
		bank: b, c: c, seed: seed,
		z:   normals{seed: seed, label: "baseline rank", draws: c.samples},
		eps: normals{seed: seed, label: "baseline leave-one-out", draws: c.samples},
	}
}

// weights returns the weights of the sources and, last, of the target's model.
func (r *ranker) weights(ctx context.Context, t *target) ([]float64, error) {
	k, n := len(r.bank.sources), len(t.d.Y)
	w := make([]float64, k+1)
	switch {
	case k == 0:
		w[0] = 1
		return w, nil
	case n < 3:
		for i := range w {
			w[i] = 1 / float64(k+1)
		}
		return w, nil
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
	keep := r.guard(own, n)
	for s := range own {
		r.award(w, keep, own[s], s)
	}
	return w, nil
}

// update takes in observations that are new.
func (r *ranker) update(ctx context.Context, d cmbo.Data) error {
	same := r.seen.sync(d)
	if r.ranked == nil || same < len(r.points) {
		same = 0
		r.points = r.points[:0]
		r.ranked = make([]ranked, len(r.bank.sources))
		for i := range r.ranked {
			r.ranked[i].loss = make([]float64, r.c.samples)
		}
	}
	_, dim := d.X.Dims()
	for n := same; n < len(d.Y); n++ {
		if err := ctx.Err(); err != nil {
			r.ranked = nil // half of them have the point
			return err
		}
		z := r.z.get(n + 1)
		r.points = append(r.points, linalg.NewDense(1, dim, slices.Clone(d.X.Row(n))))
		for i := range r.ranked {
			if err := r.ranked[i].add(ctx, r.bank.sources[i], r.points, d.Raw, z); err != nil {
				r.ranked = nil
				return sourceError(ctx, numerical(ctx, err, "ranking %d observations", n+1), r.bank.sources[i].id)
			}
		}
	}
	return nil
}

// add takes in the last of points.
func (r *ranked) add(ctx context.Context, src *source, points []*linalg.Dense, raw []float64, z [][]float64) error {
	n := len(points) - 1
	x := points[n]
	k := src.h.Kernel
	var v linalg.Dense
	if err := src.post.Whiten(ctx, &v, x); err != nil {
		return err
	}
	mean := []float64{0}
	if err := src.post.MomentsFrom(ctx, mean, nil, x, &v); err != nil {
		return err
	}
	rows, _ := v.Dims()
	col := make([]float64, rows)
	for i := range col {
		col[i] = v.At(i, 0)
	}
	prior := k.Eval(x.Row(0), x.Row(0))
	row := make([]float64, n+1)
	rest := prior - linalg.Dot(col, col)
	for j := range n {
		c := k.Eval(points[j].Row(0), x.Row(0)) - linalg.Dot(r.v[j], col)
		l := r.l[j]
		row[j] = (c - linalg.Dot(row[:j], l[:j])) / l[j]
		rest -= row[j] * row[j]
	}
	row[n] = math.Sqrt(max(rest, rankFloor*prior))
	draw := make([]float64, len(r.loss))
	for s := range draw {
		draw[s] = mean[0]
	}
	for j, c := range row {
		linalg.Axpy(draw, c, z[j])
	}
	r.v, r.l, r.draws = append(r.v, col), append(r.l, row), append(r.draws, draw)

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

// guard tells which sources stay in, given the target's losses.
func (r *ranker) guard(own []float64, n int) []bool {
	keep := make([]bool, len(r.ranked))
	switch r.c.guard.kind {
	case guardNone:
		for i := range keep {
			keep[i] = true
		}
	case guardBudget:
		left := 1.0
		if b := r.c.guard.budget; b > 0 {
			left = max(0, 1-float64(n)/float64(b))
		}
		src := rng.Stream(r.seed, "baseline guard", uint64(n))
		for i := range keep {
			below := 0
			for s, v := range r.ranked[i].loss {
				if v < own[s] {
					below++
				}
			}
			keep[i] = src.Float64() < left*float64(below)/float64(len(own))
		}
	default:
		limit := percentile(own, 0.95)
		for i := range keep {
			keep[i] = percentile(r.ranked[i].loss, 0.5) <= limit
		}
	}
	return keep
}

// award gives draw s to the models with the smallest loss.
func (r *ranker) award(w []float64, keep []bool, own float64, s int) {
	best, tied := own, 1
	for i, k := range keep {
		if !k {
			continue
		}
		switch v := r.ranked[i].loss[s]; {
		case v < best:
			best, tied = v, 1
		case v == best:
			tied++
		}
	}
	share := 1 / float64(len(r.ranked[0].loss))
	last := len(w) - 1
	if own == best && r.c.ties == TargetWins {
		w[last] += share
		return
	}
	share /= float64(tied)
	for i, k := range keep {
		if k && r.ranked[i].loss[s] == best {
			w[i] += share
		}
	}
	if own == best {
		w[last] += share
	}
}

// percentile returns the p-quantile of v by linear interpolation between order
// statistics.
func percentile(v []float64, p float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	at := p * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}
