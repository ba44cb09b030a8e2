package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// A Model is what was learned of past tasks. It is immutable and safe for concurrent use.
type Model struct {
	grid      *grid
	pop       Moments
	mean      func() (*surface, error) // pop's
	tasks     []Task
	total     int64   // of the tasks learned from, of which tasks may be a sample
	values    int     // told of tasks
	flat      bool    // which are all equal in scaled units, as where each task has one
	common    float64 // share of the tasks' variance that all have in common, 0 where it was not asked
	affine    affinePrior
	near      float64   // mean of the tasks' Near, in their scaled units, 0 if low values are as far apart as they were
	inflation float64   // of the deviations of predictions of low values: see Inflate
	depth     float64   // how many times as far below the knee they lie as they are predicted: likewise
	raised    []float64 // how far below the knee values lie that were raised, in rising order, nil for none: see Ends
	settings  Settings  // that it was learned with, but for Workers, of which each call has its own
	related   *related  // what descriptors say, nil where tasks have none
	moved     *moved    // the population for a target of descriptors, nil where they say nothing
}

// newModel returns a model of total tasks, all of them or a sample, without grid and population.
func newModel(tasks []Task, total int64, s *Settings) *Model {
	m := &Model{tasks: tasks, total: total, affine: newAffinePrior(tasks, s), inflation: 1, depth: 1, settings: *s}
	m.settings.Workers = 0
	some, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for _, t := range tasks {
		if len(t.Context) > 0 {
			m.related = &related{lock: make(chan struct{}, 1)}
		}
		m.values += len(t.Z)
		for _, z := range t.Z {
			lo, hi = min(lo, z), max(hi, z)
		}
		if !s.Compress {
			continue
		}
		if near := scaling.NearOf(t.Z, s.ApartOf(t.X, t.Z)...); near > 0 {
			some++
			m.near += (near - m.near) / some
		}
	}
	m.flat = lo == hi
	return m
}

func (m *Model) set(g *grid, pop Moments) {
	m.grid, m.pop = g, pop
	m.mean = sync.OnceValues(func() (*surface, error) { return g.surface(pop.Mean) })
}

// Learn learns a model of tasks on the grid z.
//
// It takes O(n³) for each evaluation of a task of n observations in the fit of the base process, of at most BaseRows
// observations, about one for each of at most 60 steps with each of Kernels, for at most BaseTasks tasks, and O(n³ +
// n·m·G) for each of at most GroupTasks tasks, once if n > G, in parts if n > partRows, and O(G³) for each step of EM then,
// and G³ for each step of EM on G grid points with m neighbours. Each of Shares takes what a step of EM does, of at most
// BaseTasks tasks. Where tasks may be noise all but the first takes up to three times as long.
func Learn(ctx context.Context, tasks []Task, z *linalg.Dense, o Settings) (*Model, error) {
	on := sample(tasks, o.BaseTasks, o.Seed, "base process")
	base, free, err := fitBase(ctx, on, &o)
	if err != nil {
		return nil, err
	}
	g := newGrid(*base, z, o.Neighbours)
	m, err := learnOn(ctx, tasks, g, &o)
	if err != nil || !free || m.flat || len(on) < 2 {
		return m, err
	}
	// The base process is what tasks say one by one. Where values of a task tell next to nothing of each other, noise and
	// lengths that are too short for any two points say the same of it, and the search ends at either: at noise that hides
	// what tasks have in common point by point, or at a function that they seem to have where they are noise. So where it
	// may have, tasks are asked which of the two foretells the others.
	noisy := m.NoiseShare() >= 0.5
	if !noisy && !NothingShared(m.common) {
		return m, nil
	}
	other, err := likelier(ctx, tasks, on, g, newGrid(o.blind(!noisy), z, o.Neighbours), &o)
	if errors.As(err, new(*linalg.NotPositiveDefiniteError)) {
		err = nil // what was learned stands
	}
	return cmp.Or(other, m), err
}

const (
	nothingCommon = 0.05 // the largest share of the variance common to all tasks that is next to nothing
	clearEvidence = 8    // natural logarithms: chance alone comes to six or seven
)

// likelier returns a model of tasks on h if those of on foretell each other clearly better there than on g, else nil.
func likelier(ctx context.Context, tasks, on []Task, g, h *grid, o *Settings) (*Model, error) {
	was, err := g.foretold(ctx, on, o)
	if err != nil {
		return nil, err
	}
	is, err := h.foretold(ctx, on, o)
	if err != nil || is <= was+clearEvidence {
		return nil, err
	}
	return learnOn(ctx, tasks, h, o)
}

// foretold returns the log likelihood of each half of the tasks under the population that the other half shows, as far as a
// few steps of EM and three of the shares tell.
func (g *grid) foretold(ctx context.Context, tasks []Task, o *Settings) (log float64, err error) {
	few := *o
	few.Steps, few.Shares = 4, []float64{0.02, 0.5, 0.95}
	var halves [2][]Task
	for i, t := range tasks {
		halves[i%2] = append(halves[i%2], t)
	}
	for i, half := range halves {
		m, err := learnOn(ctx, half, g, &few)
		if err != nil {
			return 0, err
		}
		on, err := g.carryTasks(ctx, halves[1-i], o.Workers)
		if err != nil {
			return 0, err
		}
		all, err := g.newSums(on, o.Workers, precision).at(ctx, m.pop)
		if err != nil {
			return 0, err
		}
		log += all.log
	}
	return log, nil
}

func learnOn(ctx context.Context, tasks []Task, g *grid, o *Settings) (*Model, error) {
	m := newModel(tasks, int64(len(tasks)), o)
	m.grid = g
	on, err := g.carryTasks(ctx, sample(tasks, o.GroupTasks, o.Seed, "group"), o.Workers)
	if err != nil {
		return nil, err
	}
	if m.pop, _, err = g.expectMaximize(ctx, on, g.prior(), o.Shrink, o.Steps, o.Workers); err != nil {
		return nil, fmt.Errorf("population of %d tasks: %w", len(tasks), err)
	}
	if err := m.drawToSharedMean(ctx, on, o.Workers); err != nil {
		return nil, err
	}
	m.set(g, m.pop)
	return m, nil
}

// sample returns n tasks, all if there are not more, in the order of their IDs: those whose
// IDs draw the smallest numbers, so that the order the tasks come in does not matter.
func sample(tasks []Task, n int, seed uint64, label string) []Task {
	out := slices.Clone(tasks)
	if len(out) > n {
		drawn := make(map[string]uint64, len(out))
		for _, t := range out {
			drawn[t.ID] = rng.Stream(seed, label+":"+t.ID).Uint64()
		}
		slices.SortFunc(out, func(a, b Task) int { return cmp.Compare(drawn[a.ID], drawn[b.ID]) })
		out = out[:n]
	}
	slices.SortFunc(out, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// TaskMeans returns what each task's values leave of the mean of the population at the rows
// of x, by task, of 2,000 of them at most, on so many goroutines at most. It takes what a step of EM takes without the G³.
func (m *Model) TaskMeans(ctx context.Context, x *linalg.Dense, workers int) ([][]float64, error) {
	at, err := m.grid.locate(x, new(linalg.Dense))
	if err != nil {
		return nil, err
	}
	means, err := m.posteriorMeans(ctx, m.tasks, workers)
	if err != nil {
		return nil, err
	}
	return means, parallel.For(ctx, workers, len(means), func(_, i int) error {
		f, err := m.grid.surface(means[i])
		if err != nil {
			return err
		}
		means[i] = make([]float64, at.len())
		m.grid.meansTo(means[i], at, f)
		return nil
	})
}

// Settings returns those that the model was learned with.
func (m *Model) Settings() Settings { return m.settings }

// Tasks returns the tasks, which must not be changed.
func (m *Model) Tasks() []Task { return m.tasks }

// SharedMean returns the share of the tasks' variance, but for noise, that all have in common, as they show it, and by how
// much the population is drawn to such a process; 0 where it was not asked for, or where values are all equal.
func (m *Model) SharedMean() (common, drawn float64) {
	if m.common == 0 || m.flat {
		return 0, 0
	}
	return m.common, m.settings.PriorTasks / (m.settings.PriorTasks + float64(m.total))
}

// NoiseShare returns the share of the tasks' variance that is noise.
func (m *Model) NoiseShare() float64 {
	noise := m.grid.base.NoiseVariance
	return noise / (noise + m.specificVariance())
}

// LooksLikeNoise reports whether no two values of a task differ, or noise is all that the tasks show, as values beside the
// wrong points do: a base process may have .95 of its variance for that.
func (m *Model) LooksLikeNoise() bool { return m.flat || m.NoiseShare() >= 0.9 }

// NothingShared reports whether a share of the variance that is common to all tasks, 0 where nobody asked for it, is next to
// nothing: where one task is good says nothing of where another is.
func NothingShared(common float64) bool { return common > 0 && common <= nothingCommon }

// SaysNothing reports whether the tasks look like noise, and not by chance, as those of fewer rows do, rough ones often
// (TestFewRowsLookLikeNoise of cmbo).
func (m *Model) SaysNothing() bool {
	return m.LooksLikeNoise() && (m.flat || m.values >= max(150, 40*len(m.tasks)))
}

// Total returns the number of tasks that the population was learned from, which may be more than it knows.
func (m *Model) Total() int64 { return m.total }

// Base returns the base process.
func (m *Model) Base() Base { return m.grid.base }

// Grid returns the grid, which must not be changed.
func (m *Model) Grid() *linalg.Dense { return m.grid.z }
