package paper

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// A scoredPartition is one way to group the tasks, with the paper's two scores of its quality (section 4.1), both from
// Wasserstein distances between the tasks' posteriors whatever distance did the clustering.
type scoredPartition struct {
	clusters int
	labels   []int // the cluster of each task
	// intraCE, the intra-cluster entropy, is the mean over clusters of the mean distance
	// between two members; a cluster of one adds 0. Small is good.
	intraCE float64
	// interCS, the inter-cluster separation, is the mean distance between two tasks of
	// different clusters, 0 for a single cluster. Large is good.
	interCS float64
}

// score returns interCS/intraCE, by which a number of clusters is chosen: -Inf for a
// partition into singletons alone, which is not eligible, 0 for tasks that are all alike.
func (p scoredPartition) score() float64 {
	if p.clusters == len(p.labels) && p.clusters > 1 {
		return math.Inf(-1)
	}
	if p.interCS == 0 {
		return 0
	}
	return p.interCS / p.intraCE
}

// choose returns the index of the partition with the largest score, the first of equals; if none is eligible, the first.
func choose(ps []scoredPartition) int {
	best := 0
	for i, p := range ps {
		if p.score() > ps[best].score() {
			best = i
		}
	}
	return best
}

// Up to exactPairTasks tasks all pairs are measured, beyond it sampledPairs.
const (
	exactPairTasks = 500
	sampledPairs   = 50_000
)

// pairs holds distances between pairs j < k of tasks.
type pairs struct {
	j, k []int
	d    []float64
}

// measurePairs computes the distances of all pairs of n tasks, or of a seeded sample of pairs with replacement.
func measurePairs(ctx context.Context, n int, seed uint64, workers int,
	distance func(w, j, k int) (float64, error)) (*pairs, error) {
	p := &pairs{}
	if n <= exactPairTasks {
		for k := range n {
			for j := range k {
				p.j, p.k = append(p.j, j), append(p.k, k)
			}
		}
	} else {
		r := rng.Stream(seed, "pairs")
		for range sampledPairs {
			j, k := r.IntN(n), r.IntN(n-1)
			if k >= j {
				k++
			}
			p.j, p.k = append(p.j, min(j, k)), append(p.k, max(j, k))
		}
	}
	p.d = make([]float64, len(p.j))
	err := parallel.For(ctx, workers, len(p.d), func(w, i int) (err error) {
		p.d[i], err = distance(w, p.j[i], p.k[i])
		return err
	})
	return p, err
}

// measure scores a partition. Among sampled pairs a cluster may have none of its own; it then counts as a singleton does.
func (p *pairs) measure(labels []int) scoredPartition {
	c := slices.Max(labels) + 1
	within, count := make([]float64, c), make([]int, c)
	var across float64
	acrossPairs := 0
	for i, d := range p.d {
		a, b := labels[p.j[i]], labels[p.k[i]]
		if a == b {
			within[a] += d
			count[a]++
			continue
		}
		across += d
		acrossPairs++
	}
	q := scoredPartition{clusters: c, labels: labels}
	for i := range within {
		if count[i] > 0 {
			q.intraCE += within[i] / float64(count[i]) / float64(c)
		}
	}
	if acrossPairs > 0 {
		q.interCS = across / float64(acrossPairs)
	}
	return q
}
