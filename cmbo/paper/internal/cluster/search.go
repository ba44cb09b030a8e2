package cluster

import (
	"cmp"
	"context"
	"slices"
)

// A Search is how a partition of tasks is chosen.
type Search struct {
	Labels   []int // the partition, nil to look for one
	Rank     []int // place of each task among the posteriors: see [Rank]
	Min, Max int   // numbers of clusters tried
	Jeffreys bool  // the distance that clusters, else Wasserstein
	Rounds   int   // of k-means, at most
	Seed     uint64
	Workers  int
	Progress func(stage string, done, total int)
}

// Found is what a [Search] finds.
type Found struct {
	Labels     []int       // cluster of each task
	Partitions []Partition // with their scores, nil if none was scored
	Rounds     int         // of k-means for the partition chosen
	Distances  int64       // evaluated by k-means
}

// Rank returns the place of each task in the order of their IDs, in which they are
// grouped, so that the order they come in does not matter.
func Rank(ids []string) []int {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	rank := make([]int, len(ids))
	for r, i := range order {
		rank[i] = r
	}
	return rank
}

// Find groups tasks by their posteriors, which it does not need for partitions into one
// cluster or given ones. Of several numbers of clusters it takes
// the one of the best score.
func (s *Search) Find(ctx context.Context, ps *Posteriors) (Found, error) {
	var out Found
	n := len(s.Rank)
	tries, rounds := [][]int{s.Labels}, []int{0}
	if s.Labels == nil {
		tries, rounds = nil, nil
		lo, hi := min(s.Min, n), min(s.Max, n)
		var g *GaussianGeometry
		if hi > 1 {
			g = ps.Wasserstein(s.Workers)
			if s.Jeffreys {
				var err error
				if g, err = ps.Jeffreys(ctx, s.Workers); err != nil {
					return out, err
				}
			}
		}
		o := Options{Seed: s.Seed, Restarts: Restarts(n), Rounds: s.Rounds, Workers: s.Workers}
		for c := lo; c <= hi; c++ {
			found := Result{Labels: make([]int, n)}
			if c > 1 {
				var err error
				if found, err = KMeans(ctx, g, c, o); err != nil {
					return out, err
				}
			}
			labels := make([]int, n)
			for i, r := range s.Rank {
				labels[i] = found.Labels[r]
			}
			tries, rounds = append(tries, Renumber(labels)), append(rounds, found.Rounds)
			out.Distances += found.Distances
			s.tell("cluster", c-lo+1, hi-lo+1)
		}
	}
	best := 0
	if len(tries) > 1 {
		s.tell("score", 0, 1)
		pairs, err := MeasurePairs(ctx, n, s.Seed, s.Workers, ps.Wasserstein(s.Workers).Pair)
		if err != nil {
			return out, err
		}
		for _, labels := range tries {
			byRank := make([]int, n)
			for i, r := range s.Rank {
				byRank[r] = labels[i]
			}
			p := pairs.Measure(byRank)
			p.Labels = labels
			out.Partitions = append(out.Partitions, p)
		}
		best = Choose(out.Partitions)
		s.tell("score", 1, 1)
	}
	out.Labels, out.Rounds = slices.Clone(tries[best]), rounds[best]
	return out, nil
}

func (s *Search) tell(stage string, done, total int) {
	if s.Progress != nil {
		s.Progress(stage, done, total)
	}
}
