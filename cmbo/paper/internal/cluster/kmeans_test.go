package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// plane is a geometry of points in Rᵈ with the Euclidean distance. Its bounds
// are the largest coordinate's and the sum of all; without they say nothing.
type plane struct {
	x       [][]float64
	metr    bool
	without bool
}

func (p *plane) size() int              { return len(p.x) }
func (p *plane) metric() bool           { return p.metr }
func (p *plane) cost(d float64) float64 { return d * d }
func (p *plane) point(j int) center     { return p.x[j] }
func (p *plane) mean(_ int, members []int) (center, error) {
	m := make([]float64, len(p.x[0]))
	for _, j := range members {
		for i, v := range p.x[j] {
			m[i] += v / float64(len(members))
		}
	}
	return m, nil
}
func (p *plane) distance(_, j int, c center) (float64, error) {
	var s float64
	for i, v := range p.x[j] {
		d := v - c.([]float64)[i]
		s += d * d
	}
	return math.Sqrt(s), nil
}
func (p *plane) slack() float64 { return 1e-12 }
func (p *plane) lower(j int, c center) float64 {
	l, _ := p.bounds(p.x[j], c)
	return l
}
func (p *plane) upper(j int, c center) float64 {
	_, u := p.bounds(p.x[j], c)
	return u
}
func (p *plane) bounds(a, b center) (lower, upper float64) {
	if p.without {
		return 0, math.Inf(1)
	}
	for i, v := range a.([]float64) {
		d := math.Abs(v - b.([]float64)[i])
		lower, upper = max(lower, d), upper+d
	}
	return lower, upper
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

// bruteForce is k-means with every distance evaluated and nothing remembered but
// the partitions that restarts have followed.
func bruteForce(t *testing.T, g Geometry, c int, o Options) (Result, float64) {
	n := g.size()
	var out Result
	distance := func(j int, m center) float64 {
		d, err := g.distance(0, j, m)
		require.NoError(t, err)
		out.Distances++
		return d
	}
	nearest := func(j int, centers []center) (label int, d float64) {
		d = math.Inf(1)
		for i, m := range centers {
			if v := distance(j, m); v < d {
				label, d = i, v
			}
		}
		return label, d
	}
	best := math.Inf(1)
	met := make(map[string]int)
	for r := range o.Restarts {
		rnd := rng.Stream(o.Seed, "kmeans", uint64(c), uint64(r))
		pick := rnd.IntN(n)
		chosen := map[int]bool{pick: true}
		centers := []center{g.point(pick)}
		for len(centers) < c {
			first := math.Inf(1)
			pick = -1
			for j := range n {
				wait := rnd.ExpFloat64()
				if chosen[j] {
					continue
				}
				_, d := nearest(j, centers)
				if at := wait / g.cost(d); pick < 0 || at < first {
					pick, first = j, at
				}
			}
			chosen[pick] = true
			centers = append(centers, g.point(pick))
		}
		labels, own := make([]int, n), make([]float64, n)
		assign := func() {
			for j := range n {
				labels[j], own[j] = nearest(j, centers)
			}
		}
		assign()
		var path []string
		for round := 1; ; round++ {
			size := make([]int, c)
			for _, l := range labels {
				size[l]++
			}
			for i := range c {
				if size[i] > 0 {
					continue
				}
				far := -1
				for j := range n {
					if size[labels[j]] > 1 && (far < 0 || own[j] > own[far]) {
						far = j
					}
				}
				size[labels[far]]--
				size[i]++
				labels[far] = i
			}
			key := fmt.Sprint(Renumber(labels))
			if at, ok := met[key]; ok && at <= round {
				break
			}
			met[key] = round
			path = append(path, key)
			var objective float64
			setMeans(t, g, centers, labels)
			for j, l := range labels {
				objective += g.cost(distance(j, centers[l]))
			}
			if objective < best {
				best, out.Labels, out.Rounds = objective, Renumber(labels), round
			}
			if round == o.Rounds {
				path = nil // nobody knows what would have followed
				break
			}
			before := slices.Clone(labels)
			assign()
			if slices.Equal(before, labels) && n <= movePoints {
				bruteMove(labels, c, func(j, i int) float64 { return g.cost(distance(j, centers[i])) })
			}
			if slices.Equal(before, labels) {
				break
			}
		}
		for _, key := range path {
			met[key] = 0
		}
	}
	if !g.metric() && n <= polishPoints {
		out.Labels, best = brutePolish(t, g, c, out.Labels, best, &out.Distances)
	}
	return out, best
}

// bruteMove moves points that the objective gains by, each cluster taking part once.
func bruteMove(labels []int, c int, cost func(j, i int) float64) {
	size, busy := make([]float64, c), make([]bool, c)
	before := slices.Clone(labels)
	for _, l := range before {
		size[l]++
	}
	for j, own := range before {
		if busy[own] || size[own] < 2 {
			continue
		}
		to, best := own, size[own]/(size[own]-1)*cost(j, own)
		for i := range c {
			if i == own || busy[i] {
				continue
			}
			if v := size[i] / (size[i] + 1) * cost(j, i); v < best {
				to, best = i, v
			}
		}
		if to != own {
			labels[j] = to
			busy[own], busy[to] = true, true
		}
	}
}

// brutePolish moves single points as long as that lowers the objective.
func brutePolish(t *testing.T, g Geometry, c int, labels []int, best float64, distances *int64) ([]int, float64) {
	n := len(labels)
	for at, idle := 0, 0; idle < n; at, idle = (at+1)%n, idle+1 {
		for to := range c {
			try := slices.Clone(labels)
			try[at] = to
			if slices.Max(Renumber(try)) < slices.Max(Renumber(labels)) || to == labels[at] {
				continue
			}
			*distances += int64(n)
			if v := objectiveOf(t, g, try); v < best {
				labels, best, idle = try, v, 0
			}
		}
	}
	return Renumber(labels), best
}

// setMeans sets the centres to the means of their members.
func setMeans(t testing.TB, g Geometry, centers []center, labels []int) {
	for i := range centers {
		var members []int
		for j, l := range labels {
			if l == i {
				members = append(members, j)
			}
		}
		var err error
		centers[i], err = g.mean(0, members)
		require.NoError(t, err)
	}
}

// objectiveOf returns the objective of a partition.
func objectiveOf(t testing.TB, g Geometry, labels []int) float64 {
	centers := make([]center, slices.Max(labels)+1)
	setMeans(t, g, centers, labels)
	var sum float64
	for j, l := range labels {
		d, err := g.distance(0, j, centers[l])
		require.NoError(t, err)
		sum += g.cost(d)
	}
	return sum
}

// requireBrute compares kmeans with brute force on any number of goroutines.
func requireBrute(t *testing.T, g Geometry, c int, o Options) (brute, got Result) {
	t.Helper()
	brute, objective := bruteForce(t, g, c, o)
	for _, o.Workers = range []int{1, 2, 8} {
		k, err := KMeans(context.Background(), g, c, o)
		require.NoError(t, err)
		require.Equal(t, brute.Labels, k.Labels, "objective %v", objective)
		require.Equal(t, brute.Rounds, k.Rounds)
		if o.Workers > 1 {
			require.Equal(t, got.Distances, k.Distances, "%d workers", o.Workers)
		}
		got = k
	}
	return brute, got
}

// TestKMeansBoundsKeepLabels compares the search with brute force: the same
// labels and rounds, with fewer distances where bounds say something.
func TestKMeansBoundsKeepLabels(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n, d, k int
		spread  float64
		c       int
		metric  bool
		fewer   bool
	}{
		{"separated", 300, 2, 5, 0.2, 5, true, true},
		{"overlapping", 300, 3, 4, 3, 6, true, true},
		{"noise", 200, 8, 1, 5, 4, true, false},
		{"duplicates", 60, 2, 3, 0, 5, true, false},
		{"without the triangle inequality", 200, 2, 4, 1, 4, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := blobs(tt.name, tt.n, tt.d, tt.k, tt.spread)
			p.metr = tt.metric
			for _, p.without = range []bool{false, true} {
				brute, got := requireBrute(t, p, tt.c, Options{Seed: 3, Restarts: 3, Rounds: 50})
				if tt.fewer && !p.without {
					require.Less(t, 2*got.Distances, brute.Distances)
				}
				t.Logf("distances: brute force %d, bounds %d", brute.Distances, got.Distances)
			}
		})
	}
}

// TestKMeansManyInstances does so for small sets of every kind: few and many
// clusters, coinciding points, points on a grid, where distances tie, and on a
// line, where many rounds are wanted of which few are allowed.
func TestKMeansManyInstances(t *testing.T) {
	r := rng.Stream(11, "instances")
	sets := 300
	if testing.Short() {
		sets = 60
	}
	for range sets {
		n, d := 3+r.IntN(40), r.IntN(4)
		o := Options{Seed: r.Uint64(), Restarts: 1 + r.IntN(4), Rounds: 1 + r.IntN(8)}
		blob := 1 + r.IntN(5)
		if d == 0 {
			d, blob, o.Restarts, o.Rounds = 1, 1, 8, 1+r.IntN(4)
		}
		p := blobs(fmt.Sprint(r.Uint64()), n, d, blob, 3*r.Float64()*r.Float64())
		p.metr, p.without = r.IntN(4) > 0, r.IntN(4) == 0
		if r.IntN(3) == 0 {
			for _, x := range p.x {
				for i := range x {
					x[i] = math.Round(x[i] / 2)
				}
			}
		}
		requireBrute(t, p, min(2+r.IntN(6), n-1), o)
	}
}

// TestKMeansPosteriors does so for posteriors of tasks, and checks the bounds.
func TestKMeansPosteriors(t *testing.T) {
	testutil.SkipRace(t, "TestKMeansManyInstances has its goroutines")
	seeds, every := uint64(1), 1
	if testing.Short() {
		every = 2
	}
	for _, spread := range []float64{1, 0} { // of the means
		g := randomPosteriors(spread)
		for c := 2; c <= 6; c += every {
			for seed := range seeds {
				brute, got := requireBrute(t, g, c, Options{Seed: seed, Restarts: 3, Rounds: 20})
				require.Less(t, 2*got.Distances, brute.Distances)
				t.Logf("means %g, C = %d: brute force %d, bounds %d distances", spread, c, brute.Distances, got.Distances)
			}
		}
		n := g.size()
		r := rng.Stream(5, "pairs")
		for range 200 {
			members := r.Perm(n)[:1+r.IntN(n/2)]
			m, err := g.mean(0, members)
			require.NoError(t, err)
			j := r.IntN(n)
			for _, c := range []center{m, g.point(r.IntN(n))} {
				d, err := g.distance(0, j, c)
				require.NoError(t, err)
				require.LessOrEqual(t, g.lower(j, c), d*(1+1e-12)+g.slack())
				require.GreaterOrEqual(t, g.upper(j, c), d*(1-1e-12)-g.slack())
			}
		}
	}
}

// randomPosteriors are those of 30 tasks on 12 points, of which the first two
// are the same.
func randomPosteriors(spread float64) *GaussianGeometry {
	const tasks, n = 30, 12
	r := rng.Stream(4, "posteriors")
	p := NewPosteriors(tasks, n)
	for j := range tasks {
		if j == 1 {
			r = rng.Stream(4, "posteriors")
		}
		l := linalg.NewDense(n, n, nil)
		mean := make([]float64, n)
		for i := range n {
			mean[i] = spread * (float64(j%3) + r.NormFloat64())
			for k := range i {
				l.Set(i, k, 0.3*r.NormFloat64())
			}
			l.Set(i, i, 0.2+float64(j%4)*r.Float64())
		}
		var cov linalg.Sym
		cov.Gram(l)
		var chol linalg.Cholesky
		if err := chol.SetLower(l); err != nil {
			panic(err)
		}
		p.tasks[j] = &normal{mean: mean, cov: pack(n, cov.Row)}
		p.tasks[j].setFactor(&chol)
	}
	return p.Wasserstein(8)
}

// TestKMeansFindsBlobs checks against a known partition.
func TestKMeansFindsBlobs(t *testing.T) {
	p := blobs("known", 120, 2, 4, 0.05)
	got, err := KMeans(context.Background(), p, 4, Options{Seed: 1, Restarts: 3, Rounds: 50})
	require.NoError(t, err)
	for j, l := range got.Labels {
		require.Equal(t, j%4, l, "point %d; clusters are numbered by their first members", j)
	}
}

func TestKMeansNoClusterIsEmpty(t *testing.T) {
	for c := 1; c <= 12; c++ {
		p := blobs("few", 10, 2, 2, 0) // only two distinct points
		got, err := KMeans(context.Background(), p, c, Options{Seed: 1, Restarts: 2, Rounds: 50})
		require.NoError(t, err)
		sizes := make([]int, min(c, 10))
		for _, l := range got.Labels {
			sizes[l]++
		}
		require.NotContains(t, sizes, 0, "C = %d: %v", c, got.Labels)
	}
}

func TestKMeansCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := KMeans(ctx, blobs("cancel", 50, 2, 2, 1), 3, Options{Seed: 1, Restarts: 1, Rounds: 5})
	require.ErrorIs(t, err, context.Canceled)
}
