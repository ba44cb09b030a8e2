package cmbo

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

// plane is a geometry of points in Rᵈ with the Euclidean distance.
type plane struct {
	x    [][]float64
	metr bool
}

func (p *plane) size() int              { return len(p.x) }
func (p *plane) metric() bool           { return p.metr }
func (p *plane) cost(d float64) float64 { return d * d }
func (p *plane) point(j int) (center, error) {
	return p.x[j], nil
}
func (p *plane) mean(members []int) (center, error) {
	m := make([]float64, len(p.x[0]))
	for _, j := range members {
		for i, v := range p.x[j] {
			m[i] += v / float64(len(members))
		}
	}
	return m, nil
}
func (p *plane) distance(_, j int, c center) (float64, error) {
	return p.between(0, p.x[j], c)
}
func (p *plane) between(_ int, a, b center) (float64, error) {
	var s float64
	for i, v := range a.([]float64) {
		d := v - b.([]float64)[i]
		s += d * d
	}
	return math.Sqrt(s), nil
}
func (p *plane) slack() float64 { return 1e-12 }
func (p *plane) lowerBound(j int, c center) float64 {
	return math.Abs(p.x[j][0] - c.([]float64)[0])
}

func blobs(label string, n, d, k int, spread float64) *plane {
	r := rng.Stream(7, label)
	centers := make([][]float64, k)
	for i := range centers {
		centers[i] = make([]float64, d)
		for j := range d {
			centers[i][j] = 10 * r.Float64()
		}
	}
	p := &plane{metr: true}
	for j := range n {
		x := make([]float64, d)
		for i := range d {
			x[i] = centers[j%k][i] + spread*r.NormFloat64()
		}
		p.x = append(p.x, x)
	}
	return p
}

// TestKMeansPruningKeepsLabels compares the pruned search with brute force:
// the same labels, objective and rounds, with fewer distances.
func TestKMeansPruningKeepsLabels(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n, d, k int
		spread  float64
		c       int
		metric  bool
	}{
		{"separated", 300, 2, 5, 0.2, 5, true},
		{"overlapping", 300, 3, 4, 3, 6, true},
		{"noise", 200, 8, 1, 5, 4, true},
		{"duplicates", 60, 2, 3, 0, 5, true},
		{"without the triangle inequality", 200, 2, 4, 1, 4, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := blobs(tt.name, tt.n, tt.d, tt.k, tt.spread)
			p.metr = tt.metric
			o := kmeansOptions{seed: 3, restarts: 3, rounds: 50, workers: 1}
			brute, err := kmeans(context.Background(), p, tt.c, o)
			require.NoError(t, err)
			o.prune = true
			pruned, err := kmeans(context.Background(), p, tt.c, o)
			require.NoError(t, err)
			require.Equal(t, brute.labels, pruned.labels)
			require.Equal(t, brute.objective, pruned.objective)
			require.Equal(t, brute.rounds, pruned.rounds)
			if tt.name != "duplicates" {
				require.Less(t, pruned.distances, brute.distances)
			}
			t.Logf("distances: brute force %d, pruned %d", brute.distances, pruned.distances)

			o.workers = 8
			parallel, err := kmeans(context.Background(), p, tt.c, o)
			require.NoError(t, err)
			require.Equal(t, pruned.labels, parallel.labels)
			require.Equal(t, pruned.objective, parallel.objective)
		})
	}
}

// TestKMeansFindsBlobs checks against a known partition.
func TestKMeansFindsBlobs(t *testing.T) {
	p := blobs("known", 120, 2, 4, 0.05)
	got, err := kmeans(context.Background(), p, 4, kmeansOptions{seed: 1, restarts: 3, rounds: 50, prune: true})
	require.NoError(t, err)
	for j, l := range got.labels {
		require.Equal(t, j%4, l, "point %d; clusters are numbered by their first members", j)
	}
	// The objective is the within-cluster sum of squares of those labels.
	var want float64
	for c := range 4 {
		var members []int
		for j := c; j < 120; j += 4 {
			members = append(members, j)
		}
		m, _ := p.mean(members)
		for _, j := range members {
			d, _ := p.distance(0, j, m)
			want += d * d
		}
	}
	require.InEpsilon(t, want, got.objective, 1e-12)
}

func TestKMeansNoClusterIsEmpty(t *testing.T) {
	for c := 1; c <= 12; c++ {
		p := blobs("few", 10, 2, 2, 0) // only two distinct points
		got, err := kmeans(context.Background(), p, c, kmeansOptions{seed: 1, restarts: 2, rounds: 50, prune: true})
		require.NoError(t, err)
		sizes := make([]int, min(c, 10))
		for _, l := range got.labels {
			sizes[l]++
		}
		require.NotContains(t, sizes, 0, "C = %d: %v", c, got.labels)
	}
}

func TestKMeansCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := kmeans(ctx, blobs("cancel", 50, 2, 2, 1), 3, kmeansOptions{seed: 1, restarts: 1, rounds: 5})
	require.ErrorIs(t, err, context.Canceled)
}
