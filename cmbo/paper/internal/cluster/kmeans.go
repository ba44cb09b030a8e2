package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
)

// A Geometry tells k-means about the points it groups: a distance with cheap bounds and a way
// to take means.
// Distances to centres and means are asked for from several goroutines; w names
// the scratch memory to use.
type Geometry interface {
	// size is the number of points.
	size() int
	// metric reports whether distance obeys the triangle inequality. Where it does not, what
	// a move of a point gains is an estimate only, and partitions are polished.
	metric() bool
	// cost is what the objective sums over points, a rising function of the
	// distance: d² for W2, d for Jeffreys.
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

// Up to movePoints points are moved one at a time where the nearest centres leave
// nothing to do, and up to polishPoints the best polishedPartitions are polished. Where
// points are many, one of them hardly changes a boundary.
var (
	movePoints         = 100
	polishPoints       = 30
	polishedPartitions = 10
)

// KMeans groups the points of g into c non-empty clusters: k-means++ seeding,
// assignment to the nearest centre with ties by index, arithmetic means as
// centres. The means do not minimise the sum of W2 or Jeffreys distances, so
// descent is not guaranteed: the best partition met is kept, the first of them if
// several are as good.
//
// Where every point has its nearest centre, points move that the objective gains by:
// see move. If the triangle inequality does not hold, so that the gain is an estimate
// only, the best partitions are at last polished by moves whose gain is computed.
//
// No step needs a distance for its own sake: seeds, labels and the best partition
// follow from comparisons, which bounds decide as a rule. Where they do not, the distance
// is evaluated, so the outcome is that of evaluating all.
func KMeans(ctx context.Context, g Geometry, c int, o Options) (Result, error) {
	n := g.size()
	if c >= n || c == 1 {
		labels := make([]int, n)
		if c > 1 {
			for j := range labels {
				labels[j] = j
			}
		}
		return Result{Labels: labels}, nil
	}
	k := &kmeansRun{
		g: g, c: c, o: o, slack: g.slack(),
		centers: make([]center, c),
		labels:  make([]int, n),
		spans:   make([]span, n*c),
		counts:  make([]int64, parallel.Workers(o.Workers, 2*n)), // below looks at two partitions
		met:     make(map[string]int),
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
	out := Result{Labels: Renumber(k.best.labels), Rounds: k.best.round}
	for _, v := range k.counts {
		out.Distances += v
	}
	return out, nil
}

// Renumber gives clusters the order of their first members, so that equal
// partitions have equal labels.
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

// kmeansRun is the state of a restart and what is kept from one to the next.
type kmeansRun struct {
	g       Geometry
	c       int
	o       Options
	slack   float64
	centers []center
	labels  []int
	spans   []span // of the distance of point j to centre i at j*c+i

	counts []int64        // distances evaluated by each worker
	met    map[string]int // partitions met, with the earliest round from which they were followed
	best   *partition
}

func (k *kmeansRun) run(ctx context.Context, rnd *rand.Rand) error {
	if err := k.seed(ctx, rnd); err != nil {
		return err
	}
	changed := make([]bool, k.c) // clusters whose members differ from their centre's
	for i := range changed {
		changed[i] = true
	}
	var path []string
	for round := 1; ; round++ {
		if err := k.fillEmpty(ctx, changed); err != nil {
			return err
		}
		// A partition determines the centres and so all that follows. If this
		// restart met it before, it is in a cycle: coinciding centres hand points
		// back and forth. If another restart met it in an earlier round, this one
		// would repeat it. In both cases: stop.
		key := fmt.Sprint(Renumber(k.labels)) // equal for equal partitions
		if at, ok := k.met[key]; ok && at <= round {
			break
		}
		k.met[key] = round
		path = append(path, key)
		if err := k.recenter(ctx, changed); err != nil {
			return err
		}
		next := k.labels
		var err error
		if round < k.o.Rounds {
			if next, err = k.assign(ctx); err != nil {
				return err
			}
		}
		if err = k.offer(ctx, round); err != nil {
			return err
		}
		if round == k.o.Rounds {
			return nil
		}
		if slices.Equal(next, k.labels) && len(next) <= movePoints {
			if next, err = k.move(); err != nil {
				return err
			}
		}
		clear(changed)
		moved := false
		for j, l := range next {
			if old := k.labels[j]; old != l {
				moved = true
				changed[old], changed[l] = true, true
			}
		}
		if !moved {
			break
		}
		k.labels = next
	}
	for _, key := range path {
		k.met[key] = 0
	}
	return nil
}

// seed draws centres among the points: the first uniformly, each next with
// probability proportional to its cost to the nearest so far (D. Arthur and
// S. Vassilvitskii, k-means++, SODA 2007), and assigns every point.
func (k *kmeansRun) seed(ctx context.Context, rnd *rand.Rand) error {
	n := k.g.size()
	near := make([]int, n) // the centre with the smallest upper bound
	chosen := make([]int, 0, k.c)
	exponentials := make([]float64, n)
	for i := range k.c {
		var pick int
		if i == 0 {
			pick = rnd.IntN(n)
		} else {
			for j := range exponentials {
				exponentials[j] = rnd.ExpFloat64()
			}
			var err error
			if pick, err = k.draw(ctx, exponentials, chosen, i); err != nil {
				return err
			}
		}
		chosen = append(chosen, pick)
		k.centers[i] = k.g.point(pick)
		err := parallel.For(ctx, k.o.Workers, n, func(_, j int) error {
			s := k.row(j)
			s[i] = k.atLeast(j, i)
			if i == 0 || s[i].lo <= s[near[j]].hi {
				k.bound(j, i)
			}
			if s[i].hi < s[near[j]].hi {
				near[j] = i
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	copy(k.labels, near)
	next, err := k.assign(ctx)
	k.labels = next
	return err
}

// fillEmpty gives each empty cluster the point farthest from its centre among
// clusters of two or more, ties by index.
func (k *kmeansRun) fillEmpty(ctx context.Context, changed []bool) error {
	sizes := make([]int, k.c)
	for _, l := range k.labels {
		sizes[l]++
	}
	if !slices.Contains(sizes, 0) {
		return nil
	}
	far := make([]float64, len(k.labels))
	err := parallel.For(ctx, k.o.Workers, len(far), func(w, j int) (err error) {
		far[j], err = k.exact(w, j, k.labels[j])
		return err
	})
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
		from := k.labels[pick]
		sizes[from]--
		sizes[i]++
		k.labels[pick] = i
		changed[from], changed[i] = true, true
	}
	return nil
}

// recenter takes the means of the clusters that changed, and starts anew with what is known of
// the distances to them.
func (k *kmeansRun) recenter(ctx context.Context, changed []bool) error {
	members := make([][]int, k.c)
	for j, l := range k.labels {
		members[l] = append(members[l], j)
	}
	err := parallel.For(ctx, k.o.Workers, k.c, func(w, i int) (err error) {
		if changed[i] {
			k.centers[i], err = k.g.mean(w, members[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	return parallel.For(ctx, k.o.Workers, len(k.labels), func(_, j int) error {
		for i := range k.c {
			if changed[i] {
				k.row(j)[i] = k.atLeast(j, i)
			}
		}
		if own := k.labels[j]; changed[own] {
			k.bound(j, own)
		}
		return nil
	})
}

// assign returns the nearest centre of each point.
func (k *kmeansRun) assign(ctx context.Context) ([]int, error) {
	next := make([]int, len(k.labels))
	err := parallel.For(ctx, k.o.Workers, len(next), func(w, j int) (err error) {
		next[j], err = k.nearest(w, j)
		return err
	})
	return next, err
}

// move returns labels by which points change clusters that the objective gains by. To
// take a point out of a cluster of n takes n/(n−1) times its cost off the objective,
// and to put it into one of m adds m/(m+1) times its cost to the centre there: so it
// is for squared Euclidean distances and arithmetic means, and nearly so here (J. A.
// Hartigan and M. A. Wong, A k-means clustering algorithm, Applied Statistics 28 (1979)
// 100-108). Points take their turns by index, and each cluster takes part in one move
// at most, since its centre is another one afterwards.
func (k *kmeansRun) move() ([]int, error) {
	sizes := make([]float64, k.c)
	for _, l := range k.labels {
		sizes[l]++
	}
	next := slices.Clone(k.labels)
	busy := make([]bool, k.c)
	for j, own := range k.labels {
		if busy[own] || sizes[own] < 2 {
			continue
		}
		s := k.row(j)
		out, to := sizes[own]/(sizes[own]-1), -1
		best := span{out * k.g.cost(s[own].lo), out * k.g.cost(s[own].hi)}
		for i := range s {
			in := sizes[i] / (sizes[i] + 1)
			if i == own || busy[i] || in*k.g.cost(s[i].lo) >= best.hi {
				continue
			}
			k.bound(j, i)
			if to < 0 { // the first that bounds leave open
				d, err := k.exact(0, j, own)
				if err != nil {
					return nil, err
				}
				best = span{out * k.g.cost(d), out * k.g.cost(d)}
			}
			if in*k.g.cost(s[i].lo) >= best.hi {
				continue
			}
			d, err := k.exact(0, j, i)
			if err != nil {
				return nil, err
			}
			if v := in * k.g.cost(d); v < best.hi {
				best, to = span{v, v}, i
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
		err := parallel.For(ctx, k.o.Workers, len(p.own), func(w, j int) error {
			_, err := k.evaluate(w, j, p.centers[p.labels[j]], &p.own[j])
			return err
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(found, func(p, q *partition) int { return cmp.Compare(k.objective(p), k.objective(q)) })
	var best *partition
	for _, k.best = range found[:min(polishedPartitions, len(found))] {
		if err := k.polish(ctx); err != nil {
			return err
		}
		better := best == nil
		if !better {
			var err error
			if better, err = k.below(ctx, k.best, best); err != nil {
				return err
			}
		}
		if better {
			best = k.best
		}
	}
	k.best = best
	return nil
}

// polish moves points of the best partition to other clusters, one at a time and by
// index, as long as that lowers the objective.
func (k *kmeansRun) polish(ctx context.Context) error {
	n := len(k.labels)
	sizes := make([]int, k.c)
	centers := make([]center, k.c)
	labels := Renumber(k.best.labels)
	for j, l := range labels {
		centers[l] = k.best.centers[k.best.labels[j]]
		sizes[l]++
	}
	k.best.labels, k.best.centers = labels, centers
	for at, idle := 0, 0; idle < n; at, idle = (at+1)%n, idle+1 {
		for to := range k.c {
			from := k.best.labels[at]
			if to == from || sizes[from] < 2 {
				continue
			}
			p, err := k.moved(ctx, at, to)
			if err != nil {
				return err
			}
			better, err := k.below(ctx, p, k.best)
			if err != nil {
				return err
			}
			if better {
				k.best, idle = p, 0
				sizes[from]--
				sizes[to]++
			}
		}
	}
	return nil
}

// moved returns the best partition with one point in another cluster.
func (k *kmeansRun) moved(ctx context.Context, at, to int) (*partition, error) {
	p := &partition{labels: slices.Clone(k.best.labels), centers: slices.Clone(k.best.centers), own: slices.Clone(k.best.own), round: k.best.round}
	from := p.labels[at]
	p.labels[at] = to
	changed := []int{from, to}
	err := parallel.For(ctx, k.o.Workers, len(changed), func(w, i int) (err error) {
		var members []int
		for j, l := range p.labels {
			if l == changed[i] {
				members = append(members, j)
				p.own[j] = unknown
			}
		}
		p.centers[changed[i]], err = k.g.mean(w, members)
		return err
	})
	return p, err
}
