package paper

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestPartitionScores evaluates the two formulas of the paper literally.
func TestPartitionScores(t *testing.T) {
	x := uniform(rng.Stream(7, "scores"), 30, 3)
	dist := func(_, j, k int) (float64, error) { return math.Sqrt(linalg.SqDist(x.Row(j), x.Row(k))), nil }
	pairs, err := measurePairs(ctx, 30, 1, 2, dist)
	require.NoError(t, err)
	require.Len(t, pairs.d, 30*29/2)
	labels := make([]int, 30)
	for j := range labels {
		labels[j] = min(j%5, 3)
	}
	labels[7] = 4 // a singleton
	got := pairs.measure(labels)

	const c = 5
	var intra float64
	for i := range c {
		var sum float64
		n := 0
		for j := range 30 {
			if labels[j] == i {
				n++
			}
			for k := range j {
				if labels[j] == i && labels[k] == i {
					d, _ := dist(0, j, k)
					sum += d
				}
			}
		}
		if n > 1 {
			intra += 2 * sum / float64(n*(n-1))
		}
	}
	var sum, count float64
	for k := range 30 {
		for l := range 30 {
			if labels[k] != labels[l] {
				d, _ := dist(0, k, l)
				sum += d
				count++
			}
		}
	}
	require.Equal(t, c, got.clusters)
	require.InEpsilon(t, intra/c, got.intraCE, 1e-13)
	require.InEpsilon(t, sum/count, got.interCS, 1e-13)
	require.InEpsilon(t, got.interCS/got.intraCE, got.score(), 1e-15)
}

func TestPartitionScoreSampled(t *testing.T) {
	const n = exactPairTasks + 1
	x := uniform(rng.Stream(7, "sampled"), n, 2)
	for j := range n {
		x.Row(j)[0] += float64(j % 3)
	}
	dist := func(_, j, k int) (float64, error) { return math.Sqrt(linalg.SqDist(x.Row(j), x.Row(k))), nil }
	labels := make([]int, n)
	var all pairs
	for j := range labels {
		labels[j] = j % 3
		for k := range j {
			d, _ := dist(0, j, k)
			all.j, all.k, all.d = append(all.j, k), append(all.k, j), append(all.d, d)
		}
	}
	pairs, err := measurePairs(ctx, n, 1, 2, dist)
	require.NoError(t, err)
	require.Len(t, pairs.d, sampledPairs)
	count := make([]float64, n) // how often a task is drawn, a Poisson number
	for i := range pairs.d {
		require.Less(t, pairs.j[i], pairs.k[i])
		count[pairs.j[i]]++
		count[pairs.k[i]]++
	}
	const mean = 2.0 * sampledPairs / n
	for j, c := range count {
		require.InDelta(t, mean, c, 5*math.Sqrt(mean), "task %d", j)
	}
	want, got := all.measure(labels), pairs.measure(labels)
	// The relative standard error of a mean of some 10,000 distances, whose
	// relative spread is below 1, is below 0.01.
	require.InEpsilon(t, want.intraCE, got.intraCE, 0.05)
	require.InEpsilon(t, want.interCS, got.interCS, 0.05)
}

func TestChoosePartition(t *testing.T) {
	two := []int{0, 0, 1}
	ps := []scoredPartition{
		{clusters: 1, labels: []int{0, 0, 0}, intraCE: 2},
		{clusters: 2, labels: two, intraCE: 1, interCS: 2},
		{clusters: 2, labels: two, intraCE: 1, interCS: 2},
		{clusters: 3, labels: []int{0, 1, 2}, interCS: 3},
	}
	require.Equal(t, 1, choose(ps), "the first of equals; singletons are not eligible")
	require.True(t, math.IsInf(ps[3].score(), -1))
	require.Zero(t, choose(ps[3:]))
	require.InEpsilon(t, 2, ps[1].score(), 1e-15)
	require.True(t, math.IsInf(scoredPartition{clusters: 2, labels: two, interCS: 1}.score(), 1))
	require.Zero(t, scoredPartition{clusters: 2, labels: two}.score(), "all tasks alike")
}
