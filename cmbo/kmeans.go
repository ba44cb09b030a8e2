package cmbo

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// geometry is what k-means knows of the points it groups: a distance, a way to
// take means, and whether the triangle inequality holds. Distances to centres
// are asked for from several goroutines; w names the scratch memory to use.
type geometry interface {
	// size is the number of points.
	size() int
	// metric reports whether distance obeys the triangle inequality.
	metric() bool
	// cost is what the objective sums over points: d² for W2, d for Jeffreys.
	cost(d float64) float64
	// point returns point j as a centre.
	point(j int) (center, error)
	// mean returns the arithmetic mean of the points listed.
	mean(members []int) (center, error)
	// distance returns the distance of point j to a centre.
	distance(w, j int, c center) (float64, error)
	// between returns the distance of two centres.
	between(w int, a, b center) (float64, error)
	// lowerBound returns a cheap number not above distance(j, c).
	lowerBound(j int, c center) float64
	// slack is the absolute error up to which distances obey the triangle
	// inequality.
	slack() float64
}

// center is a centre in the form its geometry likes.
type center any

// kmeansOptions are the settings of a run of k-means.
type kmeansOptions struct {
	seed     uint64
	restarts int
	rounds   int // reassignments at most, in each restart
	workers  int
	prune    bool // use the triangle inequality; the labels are the same without
}

// clustering is a partition with what it cost to find.
type clustering struct {
	labels    []int // cluster of each point, 0..C-1
	objective float64
	rounds    int   // of the restart that won
	distances int64 // evaluated in all restarts
}

// Distances carry rounding of at most a few parts in 10^9 (the residual form of
// near-equal pairs), and that of the geometry, so a bound decides only when it
// is clear of both.
const boundSlack = 1e-8

// beyond reports whether a lower bound shows a distance to be above d.
func (k *kmeansRun) beyond(bound, d float64) bool {
	return bound > d*(1+boundSlack)+k.slack
}

// kmeans groups the points of g into c non-empty clusters: k-means++ style
// seeding, assignment to the nearest centre with ties by index, arithmetic
// means as centres. The means do not minimise the sum of W2 or Jeffreys
// distances, so descent is not guaranteed: the best partition met is kept.
func kmeans(ctx context.Context, g geometry, c int, o kmeansOptions) (clustering, error) {
	n := g.size()
	best := clustering{objective: math.Inf(1)}
	if c >= n || c == 1 {
		best.labels = make([]int, n)
		if c > 1 {
			for j := range best.labels {
				best.labels[j] = j
			}
		}
		best.objective = 0
		return best, nil
	}
	var distances int64
	for r := range o.restarts {
		k := newKmeansRun(g, c, o)
		if err := k.run(ctx, rng.Stream(o.seed, "kmeans", uint64(c), uint64(r))); err != nil {
			return clustering{}, err
		}
		distances += k.count()
		if k.best.objective < best.objective || best.labels == nil {
			best = k.best
		}
	}
	best.labels = renumber(best.labels)
	best.distances = distances
	return best, nil
}

// renumber gives clusters the order of their first members, so that equal
// partitions have equal labels.
func renumber(labels []int) []int {
	to := make(map[int]int)
	out := make([]int, len(labels))
	for j, l := range labels {
		if _, ok := to[l]; !ok {
			to[l] = len(to)
		}
		out[j] = to[l]
	}
	return out
}

// labelKey is a map key that is equal for equal labels.
func labelKey(labels []int) string {
	b := make([]byte, 0, 4*len(labels))
	for _, l := range labels {
		b = append(b, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	return string(b)
}

// kmeansRun is one restart. Bounds follow C. Elkan, Using the triangle
// inequality to accelerate k-means, ICML 2003: upper[j] is the distance of j to
// its own centre, lower[j*c+i] a number not above the distance to centre i.
type kmeansRun struct {
	g       geometry
	c       int
	o       kmeansOptions
	slack   float64
	centers []center
	labels  []int
	upper   []float64 // always exact
	lower   []float64
	counts  []int64 // distances evaluated by each worker
	best    clustering
}

func newKmeansRun(g geometry, c int, o kmeansOptions) *kmeansRun {
	n := g.size()
	return &kmeansRun{
		g: g, c: c, o: o, slack: g.slack(),
		centers: make([]center, c),
		labels:  make([]int, n),
		upper:   make([]float64, n),
		lower:   make([]float64, n*c),
		counts:  make([]int64, parallel.Workers(o.workers, n)),
		best:    clustering{objective: math.Inf(1)},
	}
}

func (k *kmeansRun) count() (sum int64) {
	for _, v := range k.counts {
		sum += v
	}
	return sum
}

func (k *kmeansRun) distance(w, j, i int) (float64, error) {
	k.counts[w]++
	return k.g.distance(w, j, k.centers[i])
}

// random is the part of *rand.Rand that seeding needs.
type random interface {
	IntN(n int) int
	Float64() float64
}

func (k *kmeansRun) run(ctx context.Context, rnd random) error {
	if err := k.seed(ctx, rnd); err != nil {
		return err
	}
	changed := make([]bool, k.c) // clusters whose members differ from their centre's
	for i := range changed {
		changed[i] = true
	}
	seen := make(map[string]bool)
	for round := 1; ; round++ {
		k.fillEmpty(changed)
		// Labels determine the centres and what follows, so labels met before
		// mean a cycle: coinciding centres hand the same points to and fro.
		key := labelKey(k.labels)
		if seen[key] {
			return nil
		}
		seen[key] = true
		if err := k.recenter(ctx, changed); err != nil {
			return err
		}
		var objective float64
		for j := range k.upper {
			objective += k.g.cost(k.upper[j])
		}
		if objective < k.best.objective || k.best.labels == nil {
			k.best = clustering{labels: slices.Clone(k.labels), objective: objective, rounds: round}
		}
		if round == k.o.rounds {
			return nil
		}
		clear(changed)
		moved, err := k.assign(ctx, changed)
		if err != nil || !moved {
			return err
		}
	}
}

// seed draws centres among the points: the first uniformly, each next with
// probability proportional to its cost to the nearest so far (D. Arthur and
// S. Vassilvitskii, k-means++, SODA 2007), and assigns every point.
func (k *kmeansRun) seed(ctx context.Context, rnd random) error {
	n := k.g.size()
	chosen := make([]int, 0, k.c)
	pick := rnd.IntN(n)
	for i := range k.c {
		if i > 0 {
			pick = drawByCost(k.g, k.upper, chosen, rnd.Float64())
		}
		chosen = append(chosen, pick)
		p, err := k.g.point(pick)
		if err != nil {
			return err
		}
		k.centers[i] = p
		toOthers := make([]float64, i) // distances of the new seed to the earlier ones
		for e := range i {
			if toOthers[e], err = k.distance(0, pick, e); err != nil {
				return err
			}
		}
		err = parallel.For(ctx, k.o.workers, n, func(w, j int) error {
			low := k.lower[j*k.c : (j+1)*k.c]
			if i > 0 && k.o.prune {
				b := k.g.lowerBound(j, p)
				if k.g.metric() {
					b = max(b, toOthers[k.labels[j]]-k.upper[j])
				}
				low[i] = b
				if k.beyond(b, k.upper[j]) {
					return nil
				}
			}
			d, err := k.distance(w, j, i)
			if err != nil {
				return err
			}
			low[i] = d
			if i == 0 || d < k.upper[j] {
				k.upper[j], k.labels[j] = d, i
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drawByCost maps u in [0, 1) to a point not chosen yet, proportionally to the
// costs; when they are all zero, to the first one.
func drawByCost(g geometry, upper []float64, chosen []int, u float64) int {
	var total float64
	for j, d := range upper {
		if !slices.Contains(chosen, j) {
			total += g.cost(d)
		}
	}
	var sum float64
	last := -1
	for j, d := range upper {
		if slices.Contains(chosen, j) {
			continue
		}
		if last < 0 && !(total > 0) {
			return j
		}
		sum += g.cost(d)
		if sum > u*total {
			return j
		}
		last = j
	}
	return last
}

// fillEmpty gives each empty cluster the point farthest from its centre among
// clusters of two or more, ties by index.
func (k *kmeansRun) fillEmpty(changed []bool) {
	sizes := make([]int, k.c)
	for _, l := range k.labels {
		sizes[l]++
	}
	for i := range k.c {
		if sizes[i] > 0 {
			continue
		}
		far := -1
		for j, l := range k.labels {
			if sizes[l] > 1 && (far < 0 || k.upper[j] > k.upper[far]) {
				far = j
			}
		}
		from := k.labels[far]
		sizes[from]--
		sizes[i]++
		k.labels[far] = i
		k.upper[far] = 0
		changed[from], changed[i] = true, true
	}
}

// recenter takes the means of the clusters that changed, lowers the bounds by
// as much as the centres moved, and makes upper exact again.
func (k *kmeansRun) recenter(ctx context.Context, changed []bool) error {
	members := make([][]int, k.c)
	for j, l := range k.labels {
		members[l] = append(members[l], j)
	}
	moved := make([]float64, k.c)
	err := parallel.For(ctx, k.o.workers, k.c, func(w, i int) error {
		if !changed[i] {
			return nil
		}
		m, err := k.g.mean(members[i])
		if err != nil {
			return err
		}
		if k.g.metric() && k.o.prune {
			k.counts[w]++
			if moved[i], err = k.g.between(w, k.centers[i], m); err != nil {
				return err
			}
		}
		k.centers[i] = m
		return nil
	})
	if err != nil {
		return err
	}
	return parallel.For(ctx, k.o.workers, k.g.size(), func(w, j int) error {
		low := k.lower[j*k.c : (j+1)*k.c]
		for i := range low {
			if changed[i] {
				low[i] -= moved[i] * (1 + boundSlack)
			}
		}
		l := k.labels[j]
		if changed[l] {
			d, err := k.distance(w, j, l)
			if err != nil {
				return err
			}
			k.upper[j] = d
		}
		low[l] = k.upper[j]
		return nil
	})
}

// assign moves every point to its nearest centre and reports whether any point
// moved; it marks the clusters that gained or lost members.
func (k *kmeansRun) assign(ctx context.Context, changed []bool) (bool, error) {
	n := k.g.size()
	half, err := k.halfDistances(ctx)
	if err != nil {
		return false, err
	}
	next := make([]int, n)
	err = parallel.For(ctx, k.o.workers, n, func(w, j int) error {
		own := k.labels[j]
		low := k.lower[j*k.c : (j+1)*k.c]
		best, bestDist := own, k.upper[j]
		for i := range k.c {
			if i == own {
				continue
			}
			if k.o.prune {
				b := k.g.lowerBound(j, k.centers[i])
				if k.g.metric() {
					b = max(b, low[i], 2*half[best*k.c+i]-bestDist)
				}
				if k.beyond(b, bestDist) {
					low[i] = max(b, 0)
					continue
				}
			}
			d, err := k.distance(w, j, i)
			if err != nil {
				return err
			}
			low[i] = d
			if d < bestDist || d == bestDist && i < best {
				best, bestDist = i, d
			}
		}
		next[j] = best
		k.upper[j] = bestDist
		return nil
	})
	if err != nil {
		return false, err
	}
	moved := false
	for j, l := range next {
		if old := k.labels[j]; old != l {
			moved = true
			changed[old], changed[l] = true, true
			k.labels[j] = l
		}
	}
	return moved, nil
}

// halfDistances returns half the distance of each pair of centres, c by c.
func (k *kmeansRun) halfDistances(ctx context.Context) ([]float64, error) {
	half := make([]float64, k.c*k.c)
	if !k.g.metric() || !k.o.prune {
		return half, nil
	}
	err := parallel.For(ctx, k.o.workers, k.c, func(w, a int) error {
		for b := range a {
			k.counts[w]++
			d, err := k.g.between(w, k.centers[a], k.centers[b])
			if err != nil {
				return err
			}
			half[a*k.c+b], half[b*k.c+a] = d/2, d/2
		}
		return nil
	})
	return half, err
}
