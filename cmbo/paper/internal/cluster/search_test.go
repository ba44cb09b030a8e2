package cluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSearch: the numbers of clusters tried are those of k-means, the order of the tasks
// renames clusters and nothing else, and the rounds reported are those of the partition
// that was chosen.
func TestSearch(t *testing.T) {
	const n = 24
	ps := unlikeTasks(t, "g", n)
	rank := make([]int, n)
	for i := range rank {
		rank[i] = (7*i + 3) % n
	}
	s := Search{Rank: rank, Min: 2, Max: 6, Rounds: 50, Seed: 4, Workers: 2}
	found, err := s.Find(context.Background(), ps)
	require.NoError(t, err)
	require.Len(t, found.Partitions, 5)
	best, last := Choose(found.Partitions), 0
	require.Equal(t, found.Partitions[best].Labels, found.Labels)
	var distances int64
	for i, p := range found.Partitions {
		k, err := KMeans(context.Background(), ps.Wasserstein(1), 2+i, Options{Seed: 4, Restarts: Restarts(n), Rounds: 50, Workers: 1})
		require.NoError(t, err)
		labels := make([]int, n)
		for j, r := range rank {
			labels[j] = k.Labels[r]
		}
		require.Equal(t, Renumber(labels), p.Labels)
		distances += k.Distances
		last = k.Rounds
		if i == best {
			require.Equal(t, k.Rounds, found.Rounds)
		}
	}
	require.Equal(t, distances, found.Distances)
	require.NotEqual(t, last, found.Rounds)

	s.Labels = make([]int, n)
	given, err := s.Find(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, Found{Labels: make([]int, n)}, given)
}
