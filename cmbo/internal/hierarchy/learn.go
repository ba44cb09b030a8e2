package hierarchy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/cluster"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// A Model is what was learned of past tasks. It is immutable and safe for
// concurrent use.
type Model struct {
	grid       *grid
	pop        Moments
	clusters   []Moments
	shares     []float64 // of the tasks, by cluster
	labels     []int
	partitions []cluster.Partition
	tasks      []Task
	total      int64     // of the tasks learned from, of which tasks may be a sample
	singleOf   []int     // tasks that are hypotheses of their own
	singles    []single  // theirs
	covs       []float64 // the covariances of population and clusters, interleaved
	affine     affinePrior
	settings   Settings // that it was learned with
	distances  int64    // evaluated by the clustering
	rounds     int      // of the clustering that won
}

// Learn learns a model of tasks on the grid z. With an earlier model, which knows the
// first of the tasks, the base process and the grid are that one's, and EM goes on
// from its moments.
//
// It takes O(n³) for each evaluation of a task of n observations in the fit of the
// base process, about one for each of at most 60 steps, for at most BaseTasks tasks, and O(n³ +
// n·m·G) for each of at most GroupTasks tasks and G³ for each step of EM on G grid
// points with m neighbours, and as much once for each task to find its group.
func Learn(ctx context.Context, tasks []Task, z *linalg.Dense, earlier *Model, o Settings) (*Model, error) {
	m, on, err := begin(ctx, tasks, z, earlier, &o)
	if err != nil {
		return nil, err
	}
	return m, m.refine(ctx, on, &o)
}

// begin learns the grid's base process and the moments of the population, and returns
// what it has carried to the grid, by task.
func begin(ctx context.Context, tasks []Task, z *linalg.Dense, earlier *Model, o *Settings) (*Model, []*carried, error) {
	m := &Model{tasks: tasks, total: int64(len(tasks)), affine: newAffinePrior(tasks, o), settings: *o}
	m.settings.Progress = nil
	steps := o.Steps
	var start Moments
	if earlier != nil {
		m.grid, start, steps = earlier.grid, earlier.pop, (o.Steps+3)/4 // what more tasks change is little
	} else {
		base := o.Fixed
		if base == nil {
			o.tell("fit", 0, 1)
			fitted, err := fitBase(ctx, pick(tasks, sample(tasks, o.BaseTasks, o.Seed, "base process")), o)
			if err != nil {
				return nil, nil, fmt.Errorf("base process of %d tasks: %w", len(tasks), err)
			}
			base = &fitted
			o.tell("fit", 1, 1)
		}
		m.grid = newGrid(*base, z, o.Neighbours)
		start = m.grid.prior()
	}
	on := make([]*carried, len(tasks))
	some, err := m.carrySample(ctx, on, indices(len(tasks)), o)
	if err != nil {
		return nil, nil, err
	}
	o.tell("population", 0, 1)
	if m.pop, _, err = m.grid.expectMaximize(ctx, some, start, pull{}, o.Shrink, steps, o.Workers); err != nil {
		return nil, nil, fmt.Errorf("population of %d tasks: %w", len(tasks), err)
	}
	o.tell("population", 1, 1)
	return m, on, nil
}

// refine learns what the moments of the population leave: clusters, and tasks that are
// hypotheses of their own.
func (m *Model) refine(ctx context.Context, on []*carried, o *Settings) error {
	if err := m.group(ctx, on, o); err != nil {
		return err
	}
	p := pull{to: m.pop, mean: o.PullMean, cov: o.PullCov}
	for c := range m.NumClusters() {
		var members []int
		for i, l := range m.labels {
			if l == c {
				members = append(members, i)
			}
		}
		some, err := m.carrySample(ctx, on, members, o)
		if err != nil {
			return err
		}
		mom, _, err := m.grid.expectMaximize(ctx, some, m.pop, p, o.ClusterShrink, o.ClusterSteps, o.Workers)
		if err != nil {
			return fmt.Errorf("cluster %d of %d tasks: %w", c, len(members), err)
		}
		m.clusters = append(m.clusters, mom)
		o.tell("prototypes", c+1, m.NumClusters())
	}
	m.finish()
	return m.chooseSingles(ctx, on, o.Singles, o.Seed, o.Workers)
}

func (o *Settings) tell(stage string, done, total int) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

// NumClusters returns the number of clusters that the labels name.
func (m *Model) NumClusters() int { return slices.Max(m.labels) + 1 }

// finish makes what follows from the moments and the labels.
func (m *Model) finish() {
	covs := []*linalg.Sym{m.pop.Cov}
	for _, c := range m.clusters {
		covs = append(covs, c.Cov)
	}
	m.covs = interleave(covs)
	m.shares = make([]float64, len(m.clusters))
	for _, l := range m.labels {
		m.shares[l] += 1 / float64(len(m.labels))
	}
}

// carryTasks carries those of the tasks idx to the grid that on does not have.
func (m *Model) carryTasks(ctx context.Context, on []*carried, idx []int, workers int) error {
	return parallel.For(ctx, workers, len(idx), func(_, i int) (err error) {
		if t := idx[i]; on[t] == nil {
			on[t], err = m.carry(t)
		}
		return err
	})
}

// carry carries task i to the grid.
func (m *Model) carry(i int) (*carried, error) {
	c, err := m.grid.carryTask(&m.tasks[i])
	if err != nil {
		err = fmt.Errorf("task %q: %w", m.tasks[i].ID, err)
	}
	return c, err
}

// carrySample carries at most GroupTasks of the tasks idx to the grid and returns them.
func (m *Model) carrySample(ctx context.Context, on []*carried, idx []int, o *Settings) ([]*carried, error) {
	some := sample(pick(m.tasks, idx), o.GroupTasks, o.Seed, "group")
	out := make([]*carried, len(some))
	for i, j := range some {
		some[i] = idx[j]
	}
	err := m.carryTasks(ctx, on, some, o.Workers)
	for i, t := range some {
		out[i] = on[t]
	}
	return out, err
}

// sample returns the indices of n tasks, all if there are not more, in the order of
// their IDs: those whose IDs draw the smallest numbers, so that the order the tasks come
// in does not matter.
func sample(tasks []Task, n int, seed uint64, label string) []int {
	idx := indices(len(tasks))
	draw := make([]uint64, len(tasks))
	for i := range idx {
		draw[i] = rng.Stream(seed, label+":"+tasks[i].ID).Uint64()
	}
	if len(idx) > n {
		slices.SortFunc(idx, func(a, b int) int { return cmp.Compare(draw[a], draw[b]) })
		idx = idx[:n]
	}
	slices.SortFunc(idx, func(a, b int) int { return cmp.Compare(tasks[a].ID, tasks[b].ID) })
	return idx
}

// indices returns 0, 1, …, n−1.
func indices(n int) []int {
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	return idx
}

func pick(tasks []Task, idx []int) []Task {
	out := make([]Task, len(idx))
	for i, j := range idx {
		out[i] = tasks[j]
	}
	return out
}

// single is what the values of a task leave of the population on the grid: f(Z) ~ N(mean,
// C − Vᵀ·V), vt being Vᵀ, with a row a grid point.
type single struct {
	mean []float64
	vt   *linalg.Dense
}

// chooseSingles makes the posteriors of the tasks that are hypotheses of their own.
func (m *Model) chooseSingles(ctx context.Context, on []*carried, n int, seed uint64, workers int) error {
	m.singleOf = sample(m.tasks, n, seed, "single tasks")
	if err := m.carryTasks(ctx, on, m.singleOf, workers); err != nil {
		return err
	}
	m.singles = make([]single, len(m.singleOf))
	memory := make([]estep, parallel.Workers(workers, len(m.singles)))
	return parallel.For(ctx, workers, len(m.singles), func(w, i int) error {
		p, err := memory[w].posterior(on[m.singleOf[i]], m.pop, m.grid.base.Mean)
		if err == nil {
			m.singles[i] = single{p.mean, new(linalg.Dense)}
			m.singles[i].vt.CopyTrans(p.v)
		}
		return err
	})
}

// SingleMeans returns the posterior means at the rows of x of the tasks that are
// hypotheses of their own, by task, nil for the others.
func (m *Model) SingleMeans(x *linalg.Dense) ([][]float64, error) {
	s, err := m.grid.locate(x, new(linalg.Dense))
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(m.tasks))
	for i, t := range m.singleOf {
		out[t] = make([]float64, s.len())
		for j := range out[t] {
			out[t][j] = m.grid.meanAt(s, j, m.singles[i].mean)
		}
	}
	return out, nil
}

// group puts the tasks into clusters by their posteriors on a part of the grid.
func (m *Model) group(ctx context.Context, on []*carried, o *Settings) error {
	ids := make([]string, len(m.tasks))
	for i := range ids {
		ids[i] = m.tasks[i].ID
	}
	s := cluster.Search{
		Labels: o.Labels, Rank: cluster.Rank(ids), Min: o.Clusters, Max: o.MaxClusters,
		Score: o.ScorePartitions, Rounds: o.Rounds, Seed: o.Seed, Workers: o.Workers, Progress: o.Progress,
	}
	var ps *cluster.Posteriors
	var err error
	if o.Labels == nil && min(o.MaxClusters, len(ids)) > 1 || o.ScorePartitions {
		if ps, err = m.compare(ctx, on, s.Rank, o); err != nil {
			return err
		}
	}
	found, err := s.Find(ctx, ps)
	if err != nil {
		return fmt.Errorf("clustering %d tasks: %w", len(ids), err)
	}
	m.labels, m.partitions, m.distances, m.rounds = found.Labels, found.Partitions, found.Distances, found.Rounds
	return nil
}

// compare makes the posteriors by which tasks are compared, in the order of rank.
func (m *Model) compare(ctx context.Context, on []*carried, rank []int, o *Settings) (*cluster.Posteriors, error) {
	g := m.grid.len()
	idx := indices(g)
	if g > o.ClusterPoints {
		idx = rng.Stream(o.Seed, "cluster points").Perm(g)[:o.ClusterPoints]
		slices.Sort(idx)
	}
	var prior linalg.Sym
	prior.Subset(m.pop.Cov, idx)
	ps := cluster.NewPosteriors(len(on), len(idx))
	type scratch struct {
		step estep
		cov  linalg.Sym
		chol linalg.Cholesky
		v    linalg.Dense
	}
	memory := make([]scratch, parallel.Workers(o.Workers, len(on)))
	return ps, parallel.For(ctx, o.Workers, len(on), func(w, i int) error {
		s, c := &memory[w], on[i]
		if c == nil {
			var err error
			if c, err = m.carry(i); err != nil {
				return err
			}
		}
		p, err := s.step.posterior(c, m.pop, m.grid.base.Mean)
		if err != nil {
			return fmt.Errorf("task %q: %w", m.tasks[i].ID, err)
		}
		mean := make([]float64, len(idx))
		n, _ := p.v.Dims()
		s.v.Resize(n, len(idx))
		for a, r := range idx {
			mean[a] = p.mean[r]
			for k := range n {
				s.v.Row(k)[a] = p.v.Row(k)[r]
			}
		}
		s.cov.Copy(&prior)
		s.cov.AddTransGram(-1, &s.v)
		if _, err := ps.Put(rank[i], mean, &s.cov, &s.chol); err != nil {
			return fmt.Errorf("task %q: posterior on %d points: %w", m.tasks[i].ID, len(idx), err)
		}
		return nil
	})
}

// Settings returns those that the model was learned with.
func (m *Model) Settings() Settings { return m.settings }

// Labels returns the cluster of each task.
func (m *Model) Labels() []int { return m.labels }

// Tasks returns the tasks, which must not be changed.
func (m *Model) Tasks() []Task { return m.tasks }

// Total returns the number of tasks that the population was learned from, which may be
// more than it knows.
func (m *Model) Total() int64 { return m.total }

// Base returns the base process.
func (m *Model) Base() Base { return m.grid.base }

// Grid returns the grid, which must not be changed.
func (m *Model) Grid() *linalg.Dense { return m.grid.z }

// Partitions returns the partitions that were scored, nil for none.
func (m *Model) Partitions() []cluster.Partition { return m.partitions }

// Moments returns those of the population for 0 and of cluster i-1 above, which must
// not be changed.
func (m *Model) Moments(i int) Moments {
	if i == 0 {
		return m.pop
	}
	return m.clusters[i-1]
}

// Report says what learning took.
func (m *Model) Report() (distances int64, rounds int) { return m.distances, m.rounds }
