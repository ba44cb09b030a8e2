package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
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
// constant values and repeated points are legal. Tasks of failures alone are left
// out. Adding tasks that have nothing
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
	l := &learner{learnConfig: c, space: space, finite: space.finite()}
	if err := l.take(tasks); err != nil {
		return nil, err
	}
	return l.learn(ctx, 0)
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
	l := &learner{learnConfig: c, space: p.space, finite: p.finite, known: p.learned.Sources}
	if !c.fixedIndex || c.indexSet == nil {
		l.index = p.learned.Index
	}
	if p.finite {
		l.clusterSet = p.clusterSet
	}
	if err := l.take(tasks); err != nil {
		return nil, err
	}
	return l.learn(ctx, p.learned.Report.Unfitted)
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
	tasks, err := checkTasks(l.space, tasks)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(l.known))
	for _, s := range l.known {
		seen[s.ID] = true
	}
	for i := range tasks {
		if seen[tasks[i].ID] {
			return inTask(dataErrorf(ErrTask, "the prior has a task of this ID"), tasks[i].ID)
		}
	}
	// Failures alone tell a Gaussian process nothing.
	tasks = slices.DeleteFunc(tasks, func(t Task) bool { return len(t.X) == 0 })
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
		t := &tasks[i]
		m := model.Task{ID: t.ID, X: l.space.encodeAll(t.X)}
		m.Y, m.Noise = l.y.scale(orientAll(t.Y, l.minimize), t.NoiseVariance)
		l.tasks = append(l.tasks, m)
	}
	return nil
}

// learner is one run of Learn.
type learner struct {
	*learnConfig
	space  *Space
	finite bool // the space the first tasks were learned on has candidates
	tasks  []model.Task
	known  []*model.Source // of the first tasks, which are not fitted again

	clusterSet *linalg.Dense
	index      *linalg.Dense
}

// learn makes the prior; unfitted counts the fits of known tasks that failed.
func (l *learner) learn(ctx context.Context, unfitted int) (*Prior, error) {
	if err := l.chooseSets(); err != nil {
		return nil, err
	}
	v := l.variant
	m := &model.Learner{
		Seed: l.seed, Parallelism: l.parallelism,
		ARD: l.ard, PriorKernel: l.priorKernel, ClusterKernel: l.clusterKernel, Fixed: l.fixed, FixedNoise: l.fixedNoise,
		Labels: l.labels, Jeffreys: v.ClusterDistance() == Jeffreys,
		Clusters: l.clusters, MaxClusters: l.maxClusters, Restarts: l.restarts, Rounds: l.rounds, ScorePartitions: l.partitionScore,
		Prototype: model.PrototypeKind(v.Prototype()), ClusterSet: l.clusterSet, Index: l.index, Known: l.known, Tasks: l.tasks,
	}
	switch {
	case v&variantGlobal != 0:
		m.Grouping = model.Global
	case v&variantIndividual != 0:
		m.Grouping = model.Individual
	}
	if l.progress != nil {
		m.Progress = func(stage string, done, total int) { l.progress(Progress{stage, done, total}) }
	}
	learned, err := m.Learn(ctx, unfitted)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	params := &Space{params: l.space.params, names: l.space.names, dim: l.space.dim}
	return &Prior{
		config: l.learnConfig.settled(), space: params, finite: l.finite, learned: learned, clusterSet: l.clusterSet,
		noise: learned.NoiseVariance(), lazy: new(lazyDigest),
	}, nil
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
		l.clusterSet = sampleRows(points.Distinct(pool), l.clusterPoints, l.seed, "cluster points")
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
		l.index = sampleRows(points.Distinct(l.space.encoded), l.indexPoints, l.seed, "index set")
	default:
		// Prototypes are compared on points spread over the whole space.
		l.index = l.space.encodeAll(sobolRows(l.space, l.indexPoints, rng.Stream(l.seed, "index set")))
	}
	return nil
}

// inputs returns the inputs of all tasks in their order.
func (l *learner) inputs() *linalg.Dense {
	var xs []*linalg.Dense
	for _, s := range l.known {
		xs = append(xs, s.X)
	}
	for _, t := range l.tasks {
		xs = append(xs, t.X)
	}
	return points.Join(xs...)
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
	return points.Pick(x, idx)
}

// checkKernel reports a kernel that cannot take points of the given dimension,
// or whose variance is not a finite number >= 0: kernels panic on shapes, and
// nothing panics across this package.
func checkKernel(k kernel.Kernel, dim int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = optionErrorf("the kernel does not take points of %d coordinates: %v", dim, r)
		}
	}()
	x := make([]float64, dim)
	if v := k.Eval(x, x); !(v >= 0) || math.IsInf(v, 0) {
		return optionErrorf("the kernel's variance is %g", v)
	}
	if got, want := len(k.AppendParams(nil)), k.NumParams(); got != want {
		return optionErrorf("the kernel has %d parameters but says %d", got, want)
	}
	return nil
}
