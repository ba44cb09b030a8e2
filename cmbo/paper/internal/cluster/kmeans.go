// Package cluster groups Gaussian posteriors: k-means in the 2-Wasserstein distance or the Jeffreys
// divergence, with bounds that leave few distances to evaluate.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A Geometry tells k-means about the points it groups: a distance with cheap bounds and a way
// to take means. It is asked from several goroutines; w names the scratch memory to use.
type Geometry interface {
	// size is the number of points.
	size() int
	// metric reports whether distance obeys the triangle inequality. Where it does not, what
	// a move of a point gains is an estimate only, and partitions are polished.
	metric() bool
	// cost is what the objective sums over points, a rising function of the distance: d² for W2, d for Jeffreys.
	cost(d float64) float64
	// point returns point j as a centre.
	point(j int) center
	// mean returns the arithmetic mean of the points listed.
	mean(w int, members []int) (center, error)
	// distance returns the distance of point j to a centre.
	distance(w, j int, c center) (float64, error)
	// lower and upper return cheap numbers not above and not below
	// distance(j, c) but for rounding; 0 and +Inf are always right.
	lower(j int, c center) float64
	upper(j int, c center) float64
	// slack is the absolute error up to which distances obey their bounds.
	slack() float64
}

// center is a centre in the form its geometry likes.
type center any

// Options are the settings of a run of k-means.
type Options struct {
	Seed     uint64
	Restarts int
	Rounds   int // reassignments at most, in each restart
	Workers  int // goroutines at most, GOMAXPROCS if below 1
}

// Result is a partition with what it cost to find.
type Result struct {
	Labels    []int // cluster of each point, 0..C-1
	Rounds    int   // of the restart that won
	Distances int64 // evaluated in all restarts
}

// Restarts returns how many restarts suit n points: 40 up to 25 points, 20 for 50, and
// from there on as many fewer as keep the work in hand, but 3.
func Restarts(n int) int { return max(3, min(40, 1000/n)) }

// Up to movePoints points are moved one at a time where the nearest centres leave nothing to do, and up to polishPoints
// the best polishedPartitions are polished. Where points are many, one of them hardly changes a boundary.
var (
	movePoints         = 100
	polishPoints       = 30
	polishedPartitions = 10
)

// KMeans groups the points of g into c non-empty clusters: k-means++ seeding, assignment to the nearest centre with
// ties by index, arithmetic means as centres. The means do not minimise the sum of W2 or Jeffreys distances, so descent
// is not guaranteed: the best partition met is kept, the first of them if several are as good.
//
// Where every point has its nearest centre, points move that the objective gains by:
// see move. If the triangle inequality does not hold, so that the gain is an estimate
// only, the best partitions are at last polished by moves whose gain is computed.
//
// No step needs a distance for its own sake: seeds, labels and the best partition follow from comparisons, which bounds
// decide as a rule. Where they do not, the distance is evaluated, so the outcome is that of evaluating all.
func KMeans(ctx context.Context, g Geometry, c int, o Options) (Result, error) {
	n := g.size()
	if c >= n {
		return Result{Labels: each.Below(n, func(j int) int { return j })}, nil
	}
	k := &kmeansRun{
		g: g, c: c, o: o, slack: g.slack(),
		counts: make([]int64, parallel.Workers(o.Workers, 2*n)), // below looks at two partitions
		met:    make(map[string]int),
	}
	polished := !g.metric() && n <= polishPoints
	var found []*partition
	for r := range o.Restarts {
		if err := k.run(ctx, rng.Stream(o.Seed, "kmeans", uint64(c), uint64(r))); err != nil {
			return Result{}, err
		}
		if polished && k.best != nil {
			found = append(found, k.best)
			k.best = nil
		}
	}
	if polished {
		if err := k.polishBest(ctx, found); err != nil {
			return Result{}, err
		}
	}
	return Result{Labels: Renumber(k.best.labels), Rounds: k.best.round, Distances: stat.Sum(k.counts)}, nil
}

// Renumber gives clusters the order of their first members, so that equal partitions have equal labels.
func Renumber(labels []int) []int {
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

// A cluster is a centre with what is known of the distances of all points to it. Partitions
// that have a cluster in common share it.
type cluster struct {
	members []int // whose mean the centre is; nil for a seed
	center  center
	spans   []span // by point
}

// A partition is the clusters of the points, met in a round of a restart.
type partition struct {
	labels   []int
	clusters []*cluster
	round    int
	sum      float64 // the objective, once it was asked for
}

// kmeansRun is the state of a restart, the partition that it is at, and what is kept from one restart to the next.
type kmeansRun struct {
	g     Geometry
	c     int
	o     Options
	slack float64
	partition

	counts []int64        // distances evaluated by each worker
	met    map[string]int // partitions met, with the earliest round from which they were followed
	best   *partition
}

func (k *kmeansRun) run(ctx context.Context, rnd *rand.Rand) error {
	if err := k.seed(ctx, rnd); err != nil {
		return err
	}
	var path []string
	for k.round = 1; ; k.round++ {
		if err := k.fillEmpty(ctx); err != nil {
			return err
		}
		// A partition determines the centres and so all that follows. If this restart met it
		// before, it is in a cycle: coinciding centres hand points back and forth. If another
		// restart met it in an earlier round, this one would repeat it. In both cases: stop.
		key := fmt.Sprint(Renumber(k.labels)) // equal for equal partitions
		if at, ok := k.met[key]; ok && at <= k.round {
			break
		}
		k.met[key] = k.round
		path = append(path, key)
		if err := k.recenter(ctx, &k.partition); err != nil {
			return err
		}
		next := k.labels
		var err error
		if k.round < k.o.Rounds {
			if next, err = k.assign(ctx); err != nil {
				return err
			}
		}
		met := k.partition
		if err = k.offer(ctx, &met); err != nil {
			return err
		}
		if k.round == k.o.Rounds {
			return nil
		}
		if slices.Equal(next, k.labels) && len(next) <= movePoints {
			if next, err = k.move(); err != nil {
				return err
			}
		}
		if slices.Equal(next, k.labels) {
			break
		}
		k.labels = next
	}
	for _, key := range path {
		k.met[key] = 0
	}
	return nil
}

// seed draws centres among the points: the first uniformly, each next with probability proportional to its cost to the
// nearest so far (D. Arthur and S. Vassilvitskii, k-means++, SODA 2007), and assigns every point.
func (k *kmeansRun) seed(ctx context.Context, rnd *rand.Rand) (err error) {
	n := k.g.size()
	chosen := []int{rnd.IntN(n)}
	k.clusters = []*cluster{k.newCluster(nil, k.g.point(chosen[0]))}
	exponentials := make([]float64, n)
	for len(chosen) < k.c {
		for j := range exponentials {
			exponentials[j] = rnd.ExpFloat64()
		}
		pick, err := k.draw(ctx, exponentials, chosen)
		if err != nil {
			return err
		}
		chosen = append(chosen, pick)
		k.clusters = append(k.clusters, k.newCluster(nil, k.g.point(pick)))
	}
	k.labels, err = k.assign(ctx)
	return err
}

// fillEmpty gives each empty cluster the point farthest from its centre among clusters of two or more, ties by index.
func (k *kmeansRun) fillEmpty(ctx context.Context) error {
	sizes := make([]int, k.c)
	for _, l := range k.labels {
		sizes[l]++
	}
	if !slices.Contains(sizes, 0) {
		return nil
	}
	far, err := k.distances(ctx, &k.partition)
	if err != nil {
		return err
	}
	for i := range k.c {
		if sizes[i] > 0 {
			continue
		}
		pick := -1
		for j, l := range k.labels {
			if sizes[l] > 1 && (pick < 0 || far[j] > far[pick]) {
				pick = j
			}
		}
		sizes[k.labels[pick]]--
		sizes[i]++
		k.labels[pick] = i
	}
	return nil
}

// recenter takes the means of the clusters of p whose members have changed.
func (k *kmeansRun) recenter(ctx context.Context, p *partition) error {
	p.clusters = slices.Clone(p.clusters) // other partitions have the former ones
	members := make([][]int, k.c)
	for j, l := range p.labels {
		members[l] = append(members[l], j)
	}
	return parallel.For(ctx, k.o.Workers, k.c, func(w, i int) (err error) {
		if !slices.Equal(members[i], p.clusters[i].members) {
			p.clusters[i], err = k.clusterOf(w, members[i])
		}
		return err
	})
}

// clusterOf returns the cluster of these members, that of the best partition if it is there.
func (k *kmeansRun) clusterOf(w int, members []int) (*cluster, error) {
	if k.best != nil {
		for _, c := range k.best.clusters {
			if slices.Equal(c.members, members) {
				return c, nil
			}
		}
	}
	m, err := k.g.mean(w, members)
	if err != nil {
		return nil, err
	}
	return k.newCluster(members, m), nil
}

// assign returns the nearest centre of each point.
func (k *kmeansRun) assign(ctx context.Context) ([]int, error) {
	next := make([]int, k.g.size())
	err := parallel.For(ctx, k.o.Workers, len(next), func(w, j int) (err error) {
		next[j], err = k.nearest(w, j)
		return err
	})
	return next, err
}

// move returns labels by which points change clusters that the objective gains by. To take a point out of a cluster of
// n takes n/(n−1) times its cost off the objective, and to put it into one of m adds m/(m+1) times its cost to the
// centre there: so it is for squared Euclidean distances and arithmetic means, and nearly so here (J. A. Hartigan and
// M. A. Wong, A k-means clustering algorithm, Applied Statistics 28 (1979) 100-108). Points take their turns by index,
// and each cluster takes part in one move at most, since its centre is another one afterwards.
func (k *kmeansRun) move() ([]int, error) {
	next := slices.Clone(k.labels)
	busy := make([]bool, k.c)
	for j, own := range k.labels {
		n := float64(len(k.clusters[own].members))
		if busy[own] || n < 2 {
			continue
		}
		out, to := n/(n-1), -1
		least, exact := out*k.g.cost(k.clusters[own].spans[j].hi), false
		for i, c := range k.clusters {
			m := float64(len(c.members))
			in := m / (m + 1)
			if i == own || busy[i] || in*k.g.cost(c.spans[j].lo) >= least {
				continue
			}
			if !exact { // the first that bounds leave open
				d, err := k.exact(0, j, k.clusters[own])
				if err != nil {
					return nil, err
				}
				if least, exact = out*k.g.cost(d), true; in*k.g.cost(c.spans[j].lo) >= least {
					continue
				}
			}
			d, err := k.exact(0, j, c)
			if err != nil {
				return nil, err
			}
			if v := in * k.g.cost(d); v < least {
				least, to = v, i
			}
		}
		if to >= 0 {
			next[j] = to
			busy[own], busy[to] = true, true
		}
	}
	return next, nil
}

// polishBest polishes the best of the partitions found and keeps the best of these.
func (k *kmeansRun) polishBest(ctx context.Context, found []*partition) error {
	for _, p := range found {
		if err := k.weigh(ctx, p); err != nil {
			return err
		}
	}
	slices.SortStableFunc(found, func(p, q *partition) int { return cmp.Compare(p.sum, q.sum) })
	for _, p := range found[:min(polishedPartitions, len(found))] {
		p, err := k.polish(ctx, p)
		if err == nil {
			err = k.offer(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// polish moves points of a partition to other clusters, one at a time and by index, as long as that lowers the objective.
func (k *kmeansRun) polish(ctx context.Context, p *partition) (*partition, error) {
	// Clusters take their turns in the order of their first members.
	ordered := &partition{labels: Renumber(p.labels), clusters: make([]*cluster, k.c), round: p.round}
	for j, l := range ordered.labels {
		ordered.clusters[l] = p.clusters[p.labels[j]]
	}
	p = ordered
	n := len(p.labels)
	for at, idle := 0, 0; idle < n; at, idle = (at+1)%n, idle+1 {
		for to := range k.c {
			from := p.labels[at]
			if to == from || len(p.clusters[from].members) < 2 {
				continue
			}
			q := &partition{labels: slices.Clone(p.labels), clusters: p.clusters, round: p.round}
			q.labels[at] = to
			if err := k.recenter(ctx, q); err != nil {
				return nil, err
			}
			better, err := k.below(ctx, q, p)
			if err != nil {
				return nil, err
			}
			if better {
				p, idle = q, 0
			}
		}
	}
	return p, nil
}
