package cluster

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// unlikeTasks are the posteriors of processes fitted to functions that form no
// clusters, observed at 12 to 40 points of the unit cube: the partitions among which
// a search gets lost.
func unlikeTasks(t *testing.T, label string, tasks int) *Posteriors {
	const points = 30
	r := rng.Stream(9, label)
	random := func(n int) *linalg.Dense {
		x := linalg.NewDense(n, 3, nil)
		for i := range n {
			for j := range 3 {
				x.Set(i, j, r.Float64())
			}
		}
		return x
	}
	at := random(points)
	p := NewPosteriors(tasks, points)
	for j := range tasks {
		x := random(12 + r.IntN(29))
		y := make([]float64, 0, 40)
		phase, a, b := 6*r.Float64(), r.NormFloat64(), r.NormFloat64()
		n, _ := x.Dims()
		for i := range n {
			y = append(y, a*math.Sin(3*x.At(i, 0)+phase)+b*math.Sin(3*x.At(i, 1)+2*phase)+math.Sin(3*x.At(i, 2)+3*phase)+0.1*r.NormFloat64())
		}
		k := kernel.Scale(1, kernel.Matern32(0.2+0.8*r.Float64()))
		var gram, cov linalg.Sym
		var cross linalg.Dense
		kernel.Gram(&gram, k, x)
		kernel.Gram(&cov, k, at)
		kernel.Cross(&cross, k, x, at)
		var c gaussian.Conditioner
		require.NoError(t, c.Factorize(&gram, []float64{0.01}, y))
		require.NoError(t, c.Whiten(&cross, &cross))
		mean := make([]float64, points)
		require.NoError(t, c.Update(mean, nil, &cross))
		require.NoError(t, c.UpdateCov(&cov, &cross))
		_, err := p.Put(j, mean, &cov, new(linalg.Cholesky))
		require.NoError(t, err)
	}
	return p
}

// leastObjective tries every partition into c clusters.
func leastObjective(t *testing.T, g Geometry, c int) float64 {
	n := g.size()
	part := make([]float64, 1<<n) // of a cluster, by the set of its members
	for set := 1; set < len(part); set++ {
		var members []int
		for j := range n {
			if set>>j&1 == 1 {
				members = append(members, j)
			}
		}
		m, err := g.mean(0, members)
		require.NoError(t, err)
		for _, j := range members {
			d, err := g.distance(0, j, m)
			require.NoError(t, err)
			part[set] += g.cost(d)
		}
	}
	best := math.Inf(1)
	sets := make([]int, c)
	var place func(j, used int)
	place = func(j, used int) {
		if j == n && used == c {
			var sum float64
			for _, s := range sets {
				sum += part[s]
			}
			best = min(best, sum)
		}
		if j == n {
			return
		}
		for l := range min(used+1, c) {
			sets[l] |= 1 << j
			place(j+1, max(used, l+1))
			sets[l] &^= 1 << j
		}
	}
	place(0, 0)
	return best
}

var starts = flag.Int("starts", 0, "starts of k-means alone that TestKMeansQuality holds searches among 24 tasks against; 0 stands for the best of 100, as recorded")

// TestKMeansQuality: among eight tasks every seed finds the best of all partitions,
// and among 24 five of five, with the flag nine of ten, find one as good as the best of 100
// starts of k-means alone, by either distance.
func TestKMeansQuality(t *testing.T) {
	for _, size := range []struct {
		tasks, clusters int
		best            map[string]float64 // of 100 starts: -starts 100 -v prints them
	}{
		{8, 3, nil}, {8, 4, nil},
		{24, 3, map[string]float64{"Wasserstein": 506.37741631118553, "Jeffreys": 4579.0354261827315}},
		{24, 4, map[string]float64{"Wasserstein": 397.96040723498413, "Jeffreys": 3926.0214178788547}},
		{24, 6, map[string]float64{"Wasserstein": 266.42694497057852, "Jeffreys": 2875.2045562243939}},
	} {
		for _, distance := range []string{"Wasserstein", "Jeffreys"} {
			if testing.Short() && size.tasks > 8 {
				continue
			}
			name := fmt.Sprintf("%d tasks, %d clusters, %s", size.tasks, size.clusters, distance)
			t.Run(name, func(t *testing.T) {
				p := unlikeTasks(t, fmt.Sprint("unlike", size.tasks), size.tasks)
				g := p.Wasserstein(2)
				if distance == "Jeffreys" {
					var err error
					g, err = p.Jeffreys(context.Background(), 2)
					require.NoError(t, err)
				}
				search := func(seed uint64, restarts int) float64 {
					r, err := KMeans(context.Background(), g, size.clusters, Options{Seed: seed, Restarts: restarts, Rounds: 50, Workers: 2})
					require.NoError(t, err)
					return objectiveOf(t, g, r.Labels)
				}
				want, seeds, allowed := size.best[distance], 5, 0
				if size.tasks == 8 {
					want, seeds, allowed = leastObjective(t, g, size.clusters), 10, 0
				} else if *starts > 0 {
					seeds, allowed = 10, 1
					want = math.Inf(1)
					moves, polish := movePoints, polishPoints
					movePoints, polishPoints = 0, 0
					for s := range uint64(*starts) {
						want = min(want, search(100+s, 1))
					}
					movePoints, polishPoints = moves, polish
					t.Logf("the best of %d starts: %.17g", *starts, want)
				}
				missed := 0
				for s := range uint64(seeds) {
					if got := search(s, Restarts(size.tasks)); got > want*(1+1e-9) {
						missed++
						t.Logf("seed %d: %g, %.2f %% above %g", s, got, 100*(got/want-1), want)
					}
				}
				require.LessOrEqual(t, missed, allowed)
			})
		}
	}
}
