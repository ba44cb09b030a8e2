package cluster

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
)

// A span holds what is known of the distance of a point to a centre: the number that the geometry's
// distance would return is in it, rounding included. It is exact where lo equals hi.
type span struct{ lo, hi float64 }

// Distances and their bounds carry rounding of at most a few parts in 10^9 (the residual form of
// near-equal pairs), and the geometry's slack, by which bounds are weakened. What bounds the
// triangle inequality gives besides (C. Elkan, Using the triangle inequality to accelerate k-means,
// ICML 2003) spare less than a tenth of the Wasserstein distances that those of the geometry leave.
const boundSlack = 1e-8

// newCluster returns a cluster with what the geometry's lower bounds say of its distances, and
// its upper ones of those to its own members, or, for a seed, of all.
func (k *kmeansRun) newCluster(members []int, at center) *cluster {
	c := &cluster{members, at, make([]span, k.g.size())}
	for j := range c.spans {
		c.spans[j] = span{max(k.g.lower(j, at)*(1-boundSlack)-k.slack, 0), math.Inf(1)}
		if members == nil {
			k.bound(j, c)
		}
	}
	for _, j := range members {
		k.bound(j, c)
	}
	return c
}

// bound takes in the geometry's upper bound of the distance of point j to the centre of c.
func (k *kmeansRun) bound(j int, c *cluster) {
	if s := &c.spans[j]; math.IsInf(s.hi, 1) {
		s.hi = max(s.lo, k.g.upper(j, c.center)*(1+boundSlack)+k.slack)
	}
}

// exact returns the distance of point j to the centre of c, and keeps it.
func (k *kmeansRun) exact(w, j int, c *cluster) (float64, error) {
	s := &c.spans[j]
	if s.lo < s.hi {
		k.counts[w]++
		d, err := k.g.distance(w, j, c.center)
		if err != nil {
			return 0, err
		}
		*s = span{d, d}
	}
	return s.lo, nil
}

// near returns what is known of the distance of point j to the nearest centre.
func (k *kmeansRun) near(j int) span {
	out := span{math.Inf(1), math.Inf(1)}
	for _, c := range k.clusters {
		out.lo, out.hi = min(out.lo, c.spans[j].lo), min(out.hi, c.spans[j].hi)
	}
	return out
}

// nearest returns the centre nearest to point j, the first of several. Where lower bounds leave more than one it looks
// at their upper bounds, and then evaluates the most promising distances until one is left.
func (k *kmeansRun) nearest(w, j int) (int, error) {
	for bounded := false; ; bounded = true {
		limit := k.near(j).hi
		best, next, left := -1, -1, 0
		for i, c := range k.clusters {
			s := c.spans[j]
			if s.lo > limit {
				continue
			}
			left++
			if !bounded {
				k.bound(j, c)
			}
			if best < 0 || s.lo < k.clusters[best].spans[j].lo {
				best = i
			}
			if s.lo < s.hi && (next < 0 || s.lo < k.clusters[next].spans[j].lo) {
				next = i
			}
		}
		if left == 1 || next < 0 {
			return best, nil
		}
		if !bounded {
			continue
		}
		if _, err := k.exact(w, j, k.clusters[next]); err != nil {
			return 0, err
		}
	}
}

// draw picks the next centre: one of the points not chosen yet, point j with probability proportional to its cost c_j to the
// nearest centre so far. It runs an exponential race: with independent standard exponential E_j, the smallest arrival
// E_j/c_j is that of j with probability c_j/Σc. Other than a draw from the sum of costs, a race seldom needs costs exactly,
// because intervals of them often decide who is first. Where all costs are zero it returns the first point.
func (k *kmeansRun) draw(ctx context.Context, exponentials []float64, chosen []int) (int, error) {
	type racer struct {
		j                int
		earliest, latest float64 // bounds of its arrival
	}
	var racers []racer
	arrival := func(j int) racer {
		near := k.near(j)
		return racer{j, exponentials[j] / k.g.cost(near.hi), exponentials[j] / k.g.cost(near.lo)}
	}
	for j := range exponentials {
		if !slices.Contains(chosen, j) {
			racers = append(racers, arrival(j))
		}
	}
	for {
		first := slices.MinFunc(racers, func(a, b racer) int { return cmp.Compare(a.latest, b.latest) })
		racers = slices.DeleteFunc(racers, func(r racer) bool { return r.earliest > first.latest })
		open := slices.DeleteFunc(slices.Clone(racers), func(r racer) bool { return r.earliest == r.latest })
		if len(racers) == 1 || len(open) == 0 {
			return first.j, nil
		}
		slices.SortFunc(open, func(a, b racer) int {
			return cmp.Or(cmp.Compare(a.earliest, b.earliest), cmp.Compare(a.j, b.j))
		})
		open = open[:batchSize(len(open))]
		err := parallel.For(ctx, k.o.Workers, len(open), func(w, f int) error {
			i, err := k.nearest(w, open[f].j)
			if err == nil {
				_, err = k.exact(w, open[f].j, k.clusters[i])
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		for f := range racers {
			racers[f] = arrival(racers[f].j)
		}
	}
}

// batchSize returns how many of n open distances to evaluate before looking at the bounds again. It
// does not depend on the number of workers, so neither does the work.
func batchSize(n int) int { return min(n, max(8, n/4)) }

// offer keeps p if its objective, the sum of costs of the points in their order, is below that of the best so far.
func (k *kmeansRun) offer(ctx context.Context, p *partition) error {
	if k.best != nil {
		if better, err := k.below(ctx, p, k.best); err != nil || !better {
			return err
		}
	}
	k.best = p
	return nil
}

// below reports whether the objective of p is below that of q. Clusters that are in both have the same part in both.
func (k *kmeansRun) below(ctx context.Context, p, q *partition) (bool, error) {
	type term struct {
		j     int
		of    *cluster
		width float64
	}
	for {
		var lo, hi, size float64 // bounds of the difference of the objectives
		var open []term
		for j := range p.labels {
			a, b := p.clusters[p.labels[j]], q.clusters[q.labels[j]]
			s, t := a.spans[j], b.spans[j]
			al, ah, bl, bh := k.g.cost(s.lo), k.g.cost(s.hi), k.g.cost(t.lo), k.g.cost(t.hi)
			size += ah + bh
			if a == b {
				continue
			}
			lo += al - bh
			hi += ah - bl
			if s.lo < s.hi {
				open = append(open, term{j, a, ah - al})
			}
			if t.lo < t.hi {
				open = append(open, term{j, b, bh - bl})
			}
		}
		// Sums of n terms and of some n more err by less than this.
		rounding := 4 * float64(len(p.labels)) * 0x1p-53 * size
		switch {
		case lo > rounding:
			return false, nil
		case hi < -rounding:
			return true, nil
		case len(open) == 0:
			err := k.weigh(ctx, p)
			if err == nil {
				err = k.weigh(ctx, q)
			}
			return p.sum < q.sum, err
		}
		slices.SortStableFunc(open, func(a, b term) int { return cmp.Compare(b.width, a.width) })
		open = open[:batchSize(len(open))]
		err := parallel.For(ctx, k.o.Workers, len(open), func(w, i int) error {
			_, err := k.exact(w, open[i].j, open[i].of)
			return err
		})
		if err != nil {
			return false, err
		}
	}
}

// distances returns those of all points to their own centres.
func (k *kmeansRun) distances(ctx context.Context, p *partition) ([]float64, error) {
	d := make([]float64, len(p.labels))
	err := parallel.For(ctx, k.o.Workers, len(d), func(w, j int) (err error) {
		d[j], err = k.exact(w, j, p.clusters[p.labels[j]])
		return err
	})
	return d, err
}

func (k *kmeansRun) weigh(ctx context.Context, p *partition) error {
	d, err := k.distances(ctx, p)
	p.sum = 0
	for _, v := range d {
		p.sum += k.g.cost(v)
	}
	return err
}
