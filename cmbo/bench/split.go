package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// A Split divides a table's tasks at random into sources to learn from and
// targets to tune.
type Split struct {
	// Number names the split; with the seed and the table it determines it.
	Number int
	// Sources holds the observations to learn from.
	Sources []cmbo.Task
	// Targets holds the IDs of the tasks to tune, sorted.
	Targets []string
}

// A SplitPlan says how splits are drawn.
type SplitPlan struct {
	Seed uint64
	// SourceShare is the fraction of tasks that are sources; at least one task
	// is a target and at least one a source.
	SourceShare float64
	// SourceRows is how many observations of each source are kept, drawn
	// uniformly without replacement; tasks with fewer keep all.
	SourceRows int
	// Sources bounds the number of sources, drawn at random as well; 0 for all.
	Sources int
}

// Make draws split number i of a table. Constant tasks are left out on both
// sides: they rank nothing and have no regret. It fails if fewer than two tasks
// remain or the plan is out of range.
func (p SplitPlan) Make(t *Table, i int) (*Split, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: a nil table", cmbo.ErrTask)
	}
	if !(p.SourceShare > 0 && p.SourceShare < 1) || p.SourceRows < 1 || p.Sources < 0 {
		return nil, fmt.Errorf("bench: a split with source share %g, %d sources and %d rows a source", p.SourceShare, p.Sources, p.SourceRows)
	}
	var usable []int
	for j := range t.Tasks {
		if !t.Tasks[j].Constant() {
			usable = append(usable, j)
		}
	}
	if len(usable) < 2 {
		return nil, fmt.Errorf("bench: space %q has %d tasks that are not constant, need 2", t.Space, len(usable))
	}
	r := rng.Stream(p.Seed, "split", uint64(i))
	r.Shuffle(len(usable), func(a, b int) { usable[a], usable[b] = usable[b], usable[a] })
	n := min(max(int(math.Round(p.SourceShare*float64(len(usable)))), 1), len(usable)-1)
	sources := slices.Clone(usable[:n])
	if p.Sources > 0 {
		sources = sources[:min(p.Sources, n)]
	}
	slices.Sort(sources)
	s := &Split{Number: i}
	for _, j := range sources {
		s.Sources = append(s.Sources, p.source(&t.Tasks[j], i, j))
	}
	for _, j := range usable[n:] {
		s.Targets = append(s.Targets, t.Tasks[j].ID)
	}
	slices.Sort(s.Targets)
	return s, nil
}

// source draws the observations of a source task.
func (p SplitPlan) source(t *TableTask, split, task int) cmbo.Task {
	rows := rng.Stream(p.Seed, "source rows", uint64(split), uint64(task)).Perm(len(t.X))
	rows = rows[:min(p.SourceRows, len(rows))]
	out := cmbo.Task{ID: t.ID}
	for _, k := range rows {
		out.X = append(out.X, t.X[k])
		out.Y = append(out.Y, t.Y[k])
	}
	return out
}

// InitialRows draws n distinct rows of a target for one repetition: the same
// for every method. A task with fewer rows gives all, n <= 0 none.
func InitialRows(seed uint64, t *TableTask, split, repeat, n int) []int {
	rows := rng.Stream(seed, "initial", uint64(split), idHash(t.ID), uint64(repeat)).Perm(len(t.X))
	return rows[:min(max(n, 0), len(rows))]
}

// idHash makes a number of a task's ID, to name random streams by.
func idHash(id string) (h uint64) {
	for _, b := range []byte(id) {
		h = h*131 + uint64(b)
	}
	return h
}
