package cluster

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
)

// A span holds what is known of the distance of a point to a centre: the number
// that the geometry's distance would return is in it, rounding included. It is
// exact where lo equals hi.
type span struct{ lo, hi float64 }

var unknown = span{0, math.Inf(1)}

// Distances and their bounds carry rounding of at most a few parts in 10^9 (the residual form
// of near-equal pairs), and the geometry's slack, by which bounds are weakened. What bounds
// the triangle inequality gives besides (C. Elkan, Using the triangle inequality to accelerate
// k-means, ICML 2003) spare less than a tenth of the Wasserstein distances that those of the
// geometry leave.
const boundSlack = 1e-8

// atLeast is what the geometry's lower bound says of the distance of j to centre i.
func (k *kmeansRun) atLeast(j, i int) span {
	return span{max(k.g.lower(j, k.centers[i])*(1-boundSlack)-k.slack, 0), math.Inf(1)}
}

// row returns the spans of point j, by centre.
func (k *kmeansRun) row(j int) []span { return k.spans[j*k.c : (j+1)*k.c] }

// bound takes in the geometry's upper bound of the distance of j to centre i.
func (k *kmeansRun) bound(j, i int) {
	s := &k.row(j)[i]
	if s.lo < s.hi {
		s.hi = math.Max(s.lo, math.Min(s.hi, k.g.upper(j, k.centers[i])*(1+boundSlack)+k.slack))
	}
}

// exact returns the distance of j to centre i.
func (k *kmeansRun) exact(w, j, i int) (float64, error) {
	s := &k.row(j)[i]
	return k.evaluate(w, j, k.centers[i], s)
}

// evaluate makes the span of the distance of j to a centre exact.
func (k *kmeansRun) evaluate(w, j int, c center, s *span) (float64, error) {
	if s.lo < s.hi {
		k.counts[w]++
		d, err := k.g.distance(w, j, c)
		if err != nil {
			return 0, err
		}
		*s = span{d, d}
	}
	return s.lo, nil
}

// nearest returns the centre nearest to point j, the first of several. Where
// lower bounds leave more than one it looks at their upper bounds, and then
// evaluates the most promising distances until one is left.
func (k *kmeansRun) nearest(w, j int) (int, error) {
	s := k.row(j)
	for try := 0; ; try++ {
		limit := smallest(s).hi
		best, next, left := -1, -1, 0
		for i := range s {
			if s[i].lo > limit {
				continue
			}
			left++
			if best < 0 || s[i].lo < s[best].lo {
				best = i
			}
			if s[i].lo < s[i].hi && (next < 0 || s[i].lo < s[next].lo) {
				next = i
			}
		}
		if left == 1 || next < 0 {
			return best, nil
		}
		if try == 0 {
			for i := range s {
				if s[i].lo <= limit {
					k.bound(j, i)
				}
			}
			continue
		}
		if _, err := k.exact(w, j, next); err != nil {
			return 0, err
		}
	}
}

// smallest returns what is known of the smallest of several distances.
func smallest(s []span) span {
	out := span{math.Inf(1), math.Inf(1)}
	for _, v := range s {
		out.lo, out.hi = math.Min(out.lo, v.lo), math.Min(out.hi, v.hi)
	}
	return out
}

// draw picks the next centre: one of the points not chosen yet, point j with
// probability proportional to its cost c_j to the nearest of the first i centres.
// It runs an exponential race: with independent standard exponential E_j, the
// smallest arrival E_j/c_j is that of j with probability c_j/Σc. Other than a draw
// from the sum of costs, a race seldom needs costs exactly, because intervals of
// them often decide who is first. Where all costs are zero it returns the first
// point.
func (k *kmeansRun) draw(ctx context.Context, exponentials []float64, chosen []int, i int) (int, error) {
	type racer struct {
		j                int
		earliest, latest float64 // bounds of its arrival
	}
	var racers []racer
	arrival := func(j int) racer {
		near := smallest(k.row(j)[:i])
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
		err := parallel.For(ctx, k.o.Workers, len(open), func(w, f int) error { return k.settle(w, open[f].j, i) })
		if err != nil {
			return 0, err
		}
		for f := range racers {
			racers[f] = arrival(racers[f].j)
		}
	}
}

// settle finds the exact distance of point j to the nearest of the first i
// centres.
func (k *kmeansRun) settle(w, j, i int) error {
	s := k.row(j)[:i]
	for {
		near, next := smallest(s), -1
		if near.lo == near.hi {
			return nil
		}
		for e := range s {
			if s[e].lo < s[e].hi && (next < 0 || s[e].lo < s[next].lo) {
				next = e
			}
		}
		if _, err := k.exact(w, j, next); err != nil {
			return err
		}
	}
}

// batchSize returns how many of n open distances to evaluate before looking at the
// bounds again. It does not depend on the number of workers, so neither does the
// work.
func batchSize(n int) int { return min(n, max(8, n/4)) }

// A partition is one met by a restart, with what is known of the distances of
// the points to the means of their clusters.
type partition struct {
	labels  []int
	centers []center
	own     []span
	round   int
}

// offer keeps the current partition if its objective, the sum of costs of the
// points in their order, is below that of the best so far.
func (k *kmeansRun) offer(ctx context.Context, round int) error {
	p := &partition{labels: slices.Clone(k.labels), centers: slices.Clone(k.centers), own: make([]span, len(k.labels)), round: round}
	for j, l := range p.labels {
		p.own[j] = k.row(j)[l]
	}
	if k.best == nil {
		k.best = p
		return nil
	}
	better, err := k.below(ctx, p, k.best)
	if better {
		k.best = p
	}
	for j, l := range p.labels {
		k.row(j)[l] = p.own[j]
	}
	return err
}

// below reports whether the objective of p is below that of q. Clusters that are
// in both have the same part in both.
func (k *kmeansRun) below(ctx context.Context, p, q *partition) (bool, error) {
	shared := sharedPoints(p.labels, q.labels, k.c)
	for j, ok := range shared {
		if ok {
			s := span{math.Max(p.own[j].lo, q.own[j].lo), math.Min(p.own[j].hi, q.own[j].hi)}
			p.own[j], q.own[j] = s, s
		}
	}
	type term struct {
		j     int
		of    *partition
		width float64
	}
	everything := false
	for {
		var lo, hi, size float64 // bounds of the difference of the objectives
		var open []term
		for j := range shared {
			a, b := p.own[j], q.own[j]
			al, ah, bl, bh := k.g.cost(a.lo), k.g.cost(a.hi), k.g.cost(b.lo), k.g.cost(b.hi)
			size += ah + bh
			if shared[j] && !everything {
				continue
			}
			lo += al - bh
			hi += ah - bl
			if a.lo < a.hi {
				open = append(open, term{j, p, ah - al})
			}
			if b.lo < b.hi {
				open = append(open, term{j, q, bh - bl})
			}
		}
		// Sums of n terms and of some n more err by less than this.
		rounding := 4 * float64(len(shared)) * 0x1p-53 * size
		switch {
		case lo > rounding:
			return false, nil
		case hi < -rounding:
			return true, nil
		case len(open) == 0 && everything:
			return k.objective(p) < k.objective(q), nil
		case len(open) == 0:
			everything = true
			continue
		}
		slices.SortStableFunc(open, func(a, b term) int { return cmp.Compare(b.width, a.width) })
		open = open[:batchSize(len(open))]
		err := parallel.For(ctx, k.o.Workers, len(open), func(w, i int) error {
			t := open[i]
			_, err := k.evaluate(w, t.j, t.of.centers[t.of.labels[t.j]], &t.of.own[t.j])
			return err
		})
		if err != nil {
			return false, err
		}
	}
}

// objective sums costs that are known.
func (k *kmeansRun) objective(p *partition) (sum float64) {
	for _, s := range p.own {
		sum += k.g.cost(s.lo)
	}
	return sum
}

// sharedPoints tells of each point whether its clusters in two partitions have
// the same members.
func sharedPoints(a, b []int, c int) []bool {
	both := make([]int, c*c)
	sizeA, sizeB := make([]int, c), make([]int, c)
	for j := range a {
		both[a[j]*c+b[j]]++
		sizeA[a[j]]++
		sizeB[b[j]]++
	}
	out := make([]bool, len(a))
	for j := range a {
		n := both[a[j]*c+b[j]]
		out[j] = n == sizeA[a[j]] && n == sizeB[b[j]]
	}
	return out
}
