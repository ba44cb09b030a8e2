package paper

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/paper/internal/cluster"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

// TestGroup: the numbers of clusters tried are those of k-means, the order of the tasks
// renames clusters and nothing else, and the rounds reported are those of the partition
// that was chosen.
func TestGroup(t *testing.T) {
	const n = 24
	c, err := newConfig([]Option{WithClusterRange(2, 6), WithSeed(7)})
	require.NoError(t, err)
	p := &Prior{index: uniform(rng.Stream(1, "index"), 5, 2)}
	l := &learner{config: c, prior: p, clusterSet: uniform(rng.Stream(1, "set"), 20, 2)}
	for j := range n {
		r := rng.Stream(8, "tasks", uint64(j))
		x, y := uniform(r, 20, 2), make([]float64, 20)
		a, b, phase := r.NormFloat64(), r.NormFloat64(), 6*r.Float64()
		for i := range y {
			y[i] = a*math.Sin(3*x.At(i, 0)+phase) + b*math.Sin(3*x.At(i, 1)+2*phase)
		}
		l.tasks = append(l.tasks, task{id: string(rune('a' + (7*j+3)%n)), x: x, y: y})
	}
	require.NoError(t, l.fit(ctx))
	require.NoError(t, l.group(ctx))
	require.Len(t, l.partitions, 5)
	best, last := choose(l.partitions), 0
	require.Equal(t, l.partitions[best].labels, l.prior.labels)
	var distances int64
	for i, p := range l.partitions {
		o := cluster.Options{Seed: 7, Restarts: cluster.Restarts(n), Rounds: 50, Workers: 1}
		k, err := cluster.KMeans(ctx, l.posteriors.Wasserstein(1), 2+i, o)
		require.NoError(t, err)
		labels := make([]int, n)
		for j := range labels {
			labels[j] = k.Labels[(7*j+3)%n]
		}
		require.Equal(t, cluster.Renumber(labels), p.labels)
		distances += k.Distances
		last = k.Rounds
		if i == best {
			require.Equal(t, k.Rounds, l.prior.report.Rounds)
		}
	}
	require.Equal(t, distances, l.prior.report.Distances)
	require.NotEqual(t, last, l.prior.report.Rounds)
}
