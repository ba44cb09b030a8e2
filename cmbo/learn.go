package cmbo

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Progress tells how far [Learn] has come.
type Progress struct {
	// Stage is "fit", "cluster", "score" or "prototypes".
	Stage string
	// Done of Total pieces of the stage are finished: tasks, numbers of
	// clusters tried, or clusters.
	Done, Total int
}

// Learn makes a [Prior] from past tasks: stages 1 and 2 of the paper's
// algorithm 1. It fits a Gaussian process to each task, clusters the posteriors
// on a finite set of points, and builds a prototype of each cluster. The tasks
// are copied.
//
// All points must lie in the space; it need not be finite, and a list of
// candidates only serves to choose the points on which posteriors are compared.
// Tasks may have different points and any number of observations from one up;
// constant values and repeated points are legal. Adding tasks that have nothing
// to do with the new one can make the prior worse.
//
// It fails with [ErrNoTasks], with [ErrTask], [ErrDimension], [ErrNotFinite] or
// [ErrOutOfSpace] and a [*DataError] that says where, with [ErrOption], with
// [ErrNumerical], or with ctx.Err() soon after ctx is done.
//
// The time is O(K n³) for the fits of K tasks with n observations (the factor
// being some hundred evaluations), O(K |C| V²) for each round of Wasserstein
// clustering on V points and O(V³) for each distance that bounds leave open, few
// as a rule and K |C| at most, and O(K I² (n + I/|C|)) for geometric centres on I
// index points; a barycentre takes some ten to twenty times O(|C| I³) instead.
func Learn(ctx context.Context, space *Space, tasks []Task, opts ...LearnOption) (*Prior, error) {
	c, err := newLearnConfig(opts)
	if err != nil {
		return nil, err
	}
	if err := space.defined(); err != nil {
		return nil, err
	}
	l := &learner{learnConfig: c, space: space}
	if err := l.take(tasks); err != nil {
		return nil, err
	}
	return l.learn(ctx)
}

// Add returns the prior of p's tasks and more: the same, bit for bit, as Learn
// gives for all of them at once, p's first, on the same space with the same
// options. What was fitted to p's tasks is kept; clustering and prototypes are
// done anew. p is not changed.
//
// The options are those p was learned with. Those given here win over them, but
// may not concern the fits of single tasks (seed, direction, y policy, kernels,
// hyperparameters). A prior learned [WithLabels] needs labels for all tasks
// again. Add fails as Learn does; an ID that p has already is a duplicate.
func (p *Prior) Add(ctx context.Context, tasks []Task, opts ...LearnOption) (*Prior, error) {
	old := p.config
	c := old.settled()
	if err := c.apply(opts); err != nil {
		return nil, err
	}
	if c.seed != old.seed || c.minimize != old.minimize || c.y != old.y || c.ard != old.ard || c.fixedNoise != old.fixedNoise ||
		!sameKernel(c.fixed, old.fixed) || !sameKernel(c.priorKernel, old.priorKernel) || !sameKernel(c.clusterKernel, old.clusterKernel) {
		return nil, optionErrorf("an option that would need the tasks known already to be fitted again")
	}
	l := &learner{learnConfig: c, space: p.space, known: p.sources, report: LearnReport{Unfitted: p.report.Unfitted}}
	if !c.fixedIndex || c.indexSet == nil {
		l.index = p.index
	}
	if p.finite {
		l.clusterSet = p.clusterSet
	}
	if err := l.take(tasks); err != nil {
		return nil, err
	}
	q, err := l.learn(ctx)
	if err != nil {
		return nil, err
	}
	q.finite = p.finite
	return q, nil
}

// sameKernel compares kernels by what they compute, as far as that shows.
func sameKernel(a, b kernel.Kernel) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b) && slices.Equal(a.AppendParams(nil), b.AppendParams(nil))
}

// take validates the tasks together with the options and the tasks known.
func (l *learner) take(tasks []Task) error {
	if err := checkTasks(l.space, tasks); err != nil {
		return err
	}
	seen := make(map[string]bool, len(l.known))
	for _, s := range l.known {
		seen[s.id] = true
	}
	for i := range tasks {
		if seen[tasks[i].ID] {
			return inTask(dataErrorf(ErrTask, "the prior has a task of this ID"), tasks[i].ID)
		}
	}
	if n := len(l.known) + len(tasks); l.labels != nil && len(l.labels) != n {
		return optionErrorf("%d labels for %d tasks", len(l.labels), n)
	}
	for _, k := range []kernel.Kernel{l.priorKernel, l.clusterKernel, l.fixed} {
		if k == nil {
			continue
		}
		if err := checkKernel(k, l.space.dim); err != nil {
			return err
		}
	}
	for i := range tasks {
		l.obs = append(l.obs, tasks[i].observations(l.space, l.minimize))
		l.ids = append(l.ids, tasks[i].ID)
	}
	return nil
}

// learner is one run of Learn.
type learner struct {
	*learnConfig
	space *Space
	ids   []string
	obs   []observations
	known []*source // of the first tasks, which are not fitted again

	clusterSet *linalg.Dense
	index      *linalg.Dense
	sources    []*source
	posteriors *posteriors
	report     LearnReport
}

func (l *learner) learn(ctx context.Context) (*Prior, error) {
	if err := l.chooseSets(); err != nil {
		return nil, err
	}
	if err := l.fit(ctx); err != nil {
		return nil, err
	}
	labels, partitions, err := l.group(ctx)
	if err != nil {
		return nil, err
	}
	l.posteriors = nil // nothing after the clustering needs them
	prototypes, err := l.prototypes(ctx, labels)
	if err != nil {
		return nil, err
	}
	params := &Space{params: l.space.params, names: l.space.names, dim: l.space.dim}
	return &Prior{
		config: l.learnConfig.settled(), space: params, finite: l.space.finite(),
		sources: l.sources, labels: labels, prototypes: prototypes, clusterSet: l.clusterSet,
		index: l.index, noise: medianNoise(l.sources), partitions: partitions, report: l.report,
		lazy: new(lazyDigest),
	}, nil
}

func (l *learner) tell(stage string, done, total int) {
	if l.progress != nil {
		l.progress(Progress{Stage: stage, Done: done, Total: total})
	}
}

// chooseSets picks the points on which posteriors are compared: a seeded
// sample of the candidates if the space has them, else of the union of the
// tasks' inputs. Sets known from before stay.
func (l *learner) chooseSets() error {
	if l.clusterSet == nil {
		pool := l.space.encoded
		if pool == nil {
			pool = l.inputs()
		}
		l.clusterSet = sampleRows(distinct(pool), l.clusterPoints, l.seed, "cluster points")
	}
	switch {
	case l.index != nil:
	case l.indexSet != nil:
		for i, r := range l.indexSet {
			if err := l.space.Check(r); err != nil {
				return fmt.Errorf("%w: index set: %w", ErrOption, atRow(err, i))
			}
		}
		l.index = l.space.encodeAll(l.indexSet)
	case l.space.finite():
		l.index = sampleRows(distinct(l.space.encoded), l.indexPoints, l.seed, "index set")
	default:
		// Prototypes are compared on points spread over the whole space.
		l.index = l.space.encodeAll(sobolRows(l.space, l.indexPoints, rng.Stream(l.seed, "index set")))
	}
	return nil
}

// inputs returns the inputs of all tasks in their order.
func (l *learner) inputs() *linalg.Dense {
	var xs []*linalg.Dense
	n := 0
	for _, s := range l.known {
		xs = append(xs, s.x)
	}
	for _, o := range l.obs {
		xs = append(xs, o.x)
	}
	for _, x := range xs {
		rows, _ := x.Dims()
		n += rows
	}
	all := linalg.NewDense(n, l.space.dim, nil)
	n = 0
	for _, x := range xs {
		rows, _ := x.Dims()
		for i := range rows {
			copy(all.Row(n), x.Row(i))
			n++
		}
	}
	return all
}

// distinct returns the rows of x without repetitions.
func distinct(x *linalg.Dense) *linalg.Dense {
	n, _ := x.Dims()
	seen := make(map[string]bool, n)
	var keep []int
	for i := range n {
		if key := rowKey(x.Row(i)); !seen[key] {
			seen[key] = true
			keep = append(keep, i)
		}
	}
	return pickRows(x, keep)
}

func pickRows(x *linalg.Dense, idx []int) *linalg.Dense {
	_, d := x.Dims()
	out := linalg.NewDense(len(idx), d, nil)
	for i, k := range idx {
		copy(out.Row(i), x.Row(k))
	}
	return out
}

// sampleRows returns x itself if it has at most n rows, else n of them drawn
// without replacement, in their order.
func sampleRows(x *linalg.Dense, n int, seed uint64, label string) *linalg.Dense {
	rows, _ := x.Dims()
	if rows <= n {
		return x
	}
	idx := rng.Stream(seed, label).Perm(rows)[:n]
	slices.Sort(idx)
	return pickRows(x, idx)
}

// fit makes the Gaussian processes of all tasks: the ones that prototypes are
// made of, and, where there is something to cluster, posteriors under the
// clustering kernel.
func (l *learner) fit(ctx context.Context) error {
	n := l.tasks()
	l.sources = make([]*source, n)
	if l.needsPosteriors() {
		l.posteriors = newPosteriors(n, l.clusterSet)
	}
	fitters := make([]*fitter, parallel.Workers(l.parallelism, n))
	unfitted := make([]int, n)
	jitters := make([]float64, n)
	// Batches keep the progress callback on the calling goroutine.
	const batch = 64
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		err := parallel.For(ctx, l.parallelism, hi-lo, func(w, i int) error {
			i += lo
			if fitters[w] == nil {
				fitters[w] = l.newFitter()
			}
			var err error
			unfitted[i], jitters[i], err = l.fitTask(ctx, fitters[w], i)
			return err
		})
		if err != nil {
			return err
		}
		l.tell("fit", hi, n)
	}
	for i := range n {
		l.report.Unfitted += unfitted[i]
		l.report.ClusterJitter = max(l.report.ClusterJitter, jitters[i])
	}
	return nil
}

// tasks returns the number of tasks, those known from before included.
func (l *learner) tasks() int { return len(l.known) + len(l.obs) }

// needsPosteriors reports whether tasks have to be compared with each other.
func (l *learner) needsPosteriors() bool {
	return l.labels == nil && l.variant.clustered() && l.tasks() > 1 || l.partitionScore
}

// fitTask makes the processes of task i, fitting those that are not known; f is
// the worker's memory.
func (l *learner) fitTask(ctx context.Context, f *fitter, i int) (unfitted int, jitter float64, err error) {
	var s *source
	if i < len(l.known) {
		s = l.known[i]
	} else if s, unfitted, err = l.fitSource(ctx, f, i); err != nil {
		return 0, 0, err
	}
	l.sources[i] = s
	if l.posteriors == nil {
		return unfitted, 0, nil
	}
	if s.clusterKernel == nil && l.fixed == nil {
		// Clusters are wanted now that were not when the task was learned.
		c := *s
		h, err := f.fitScaled(ctx, f.clusterKernel, s.x, s.y, s.extra, l.fitSeed("fit cluster", i))
		if err != nil {
			return unfitted, 0, inTask(err, s.id)
		}
		if !h.ok {
			unfitted++
		}
		c.clusterKernel, c.clusterSigma = h.kernel, h.noise
		s = &c
		l.sources[i] = s
	}
	clustered := s
	if s.clusterKernel != nil {
		clustered = &f.clustered
		if err = clustered.condition(&f.gram, s.id, s.x, s.y, s.extra, s.clusterKernel, s.clusterSigma); err != nil {
			return unfitted, 0, err
		}
	}
	jitter, err = l.posteriors.set(i, clustered, &f.scratch)
	return unfitted, jitter, err
}

// fitSource fits the process of a new task that prototypes are made of.
func (l *learner) fitSource(ctx context.Context, f *fitter, i int) (*source, int, error) {
	k := i - len(l.known)
	o, id := l.obs[k], l.ids[k]
	s := scaleValues(l.y, o.y)
	given := s.noiseVariances(o.noise)
	h := fitted{kernel: l.fixed, noise: l.fixedNoise, ok: true}
	if l.fixed == nil {
		var err error
		if h, err = f.fitScaled(ctx, f.priorKernel, o.x, s.z, given, l.fitSeed("fit prior", i)); err != nil {
			return nil, 0, inTask(err, id)
		}
	}
	unfitted := 0
	if !h.ok {
		unfitted = 1
	}
	src := new(source)
	if err := src.condition(&f.gram, id, o.x, s.z, given, h.kernel, h.noise); err != nil {
		return nil, unfitted, err
	}
	return src, unfitted, nil
}

func (l *learner) fitSeed(label string, i int) uint64 {
	return rng.Stream(l.seed, label, uint64(i)).Uint64()
}

// group returns the cluster of each task and, if they were asked for, the
// scores of the partitions tried.
func (l *learner) group(ctx context.Context) ([]int, []Partition, error) {
	n := l.tasks()
	single := make([]int, n)
	for j := range single {
		single[j] = j
	}
	var tries [][]int
	switch {
	case l.labels != nil:
		tries = [][]int{l.labels}
	case l.variant&variantGlobal != 0:
		tries = [][]int{make([]int, n)}
	case l.variant&variantIndividual != 0:
		tries = [][]int{single}
	default:
		lo, hi := min(l.clusters, n), min(l.maxClusters, n)
		o := kmeansOptions{seed: l.seed, restarts: l.restarts, rounds: l.rounds, workers: l.parallelism}
		var g *posteriorGeometry
		if l.posteriors != nil {
			g = l.posteriors.geometry(l.variant.ClusterDistance(), l.parallelism)
			if err := parallel.For(ctx, l.parallelism, n, g.prepare); err != nil {
				return nil, nil, wrapClustering(ctx, err)
			}
		}
		for c := lo; c <= hi; c++ {
			found := clustering{labels: make([]int, n)}
			if g != nil {
				var err error
				if found, err = kmeans(ctx, g, c, o); err != nil {
					return nil, nil, wrapClustering(ctx, err)
				}
			}
			tries = append(tries, found.labels)
			l.report.Distances += found.distances
			l.report.Rounds = found.rounds
			l.tell("cluster", c-lo+1, hi-lo+1)
		}
	}
	if len(tries) == 1 && !l.partitionScore {
		return tries[0], nil, nil
	}
	pairs, err := l.measurePairs(ctx)
	if err != nil {
		return nil, nil, wrapClustering(ctx, err)
	}
	ps := make([]Partition, len(tries))
	for i, labels := range tries {
		ps[i] = pairs.score(labels)
	}
	return ps[choose(ps)].Labels, ps, nil
}

func wrapClustering(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return numerical(err, "clustering")
}

// measurePairs computes the Wasserstein distances that partitions are scored
// by.
func (l *learner) measurePairs(ctx context.Context) (*pairDistances, error) {
	l.tell("score", 0, 1)
	g := l.posteriors.geometry(Wasserstein, l.parallelism)
	p, err := measurePairs(ctx, l.tasks(), l.seed, l.parallelism, g.pair)
	l.tell("score", 1, 1)
	return p, err
}
