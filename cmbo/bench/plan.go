package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
)

// A runKey names a run, or, without a task, what was learned for runs.
type runKey struct {
	space, method, acquisition string
	split                      int
	task                       string
	repeat                     int
}

func (r *Record) key() runKey {
	return runKey{r.Space, r.Method, r.Acquisition, r.Split, r.Task, r.Repeat}
}

// String names the run.
func (k runKey) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", k.space, k.method)
	if k.acquisition != "" {
		fmt.Fprintf(&b, " with %s", k.acquisition)
	}
	fmt.Fprintf(&b, ", split %d", k.split)
	if k.task != "" {
		fmt.Fprintf(&b, ", task %s, repeat %d", k.task, k.repeat)
	}
	return b.String()
}

// compare orders keys by space, method, acquisition, split, task and repeat, methods as the
// catalogue does, others after them.
func (p *plan) compare(a, b runKey) int {
	place := func(name string) uint { // the largest for -1
		return uint(slices.IndexFunc(p.catalogue, func(m Method) bool { return m.Name == name }))
	}
	return cmp.Or(
		strings.Compare(a.space, b.space),
		cmp.Compare(place(a.method), place(b.method)),
		strings.Compare(a.method, b.method),
		strings.Compare(a.acquisition, b.acquisition),
		cmp.Compare(a.split, b.split),
		strings.Compare(a.task, b.task),
		cmp.Compare(a.repeat, b.repeat),
	)
}

// A model is what a method learns of a split, and what of it is in memory.
type model struct {
	key      runKey // without a task
	method   Method
	training Training
	table    *Table
	targets  []string

	mu    sync.Mutex // held while learning
	tuner Tuner      // nil unless in memory
	err   error      // that no run gets any further with

	uses  int // batches still to come or under way
	users int // batches under way
}

// A batch is the runs of a model in one repeat that are still to be made: one goroutine makes them one after the other.
type batch struct {
	*model
	runs []plannedRun
}

type plannedRun struct {
	runKey
	acquisition acq.Func
}

// models divides the tables: split by split, each for all methods.
func (p *plan) models(tables []*Table) (all []*model, err error) {
	for _, t := range tables {
		space, err := cmbo.UnitCube(t.Dim)
		if err == nil && t.sameRows() {
			space, err = space.WithCandidates(t.Tasks[0].X)
		}
		if err != nil {
			return nil, err
		}
		for i := range p.Splits {
			s, err := p.divide(t, i)
			if err != nil {
				return nil, err
			}
			for _, m := range p.methods {
				all = append(all, &model{
					key: runKey{space: t.Space, method: m.Name, split: i}, method: m, table: t, targets: s.targets,
					training: Training{Space: space, Tasks: s.sources, Seed: p.Seed, Clusters: p.Clusters},
				})
			}
		}
	}
	return all, nil
}

// batches lists what known does not hold yet in the order in which it is to be made, repeat by repeat, so that methods
// are comparable whenever the experiment stops. It also returns how many runs there are in all.
func (p *plan) batches(models []*model, known map[runKey]bool) (open []*batch, total int) {
	for repeat := range p.Repeats {
		for _, l := range models {
			b := &batch{model: l}
			for _, id := range l.targets {
				for i, a := range p.acquisitions {
					run := plannedRun{l.key, a}
					run.task, run.repeat = id, repeat
					if l.method.Use != baseline.NoAcquisition {
						run.runKey.acquisition = a.String()
					} else if i > 0 {
						continue // it runs once
					}
					if !l.method.Use.Suits(a) {
						continue
					}
					total++
					if !known[run.runKey] {
						b.runs = append(b.runs, run)
					}
				}
			}
			if len(b.runs) > 0 {
				l.uses++
				open = append(open, b)
			}
		}
	}
	return open, total
}

// sameRows reports whether all tasks of the table have the same configurations, in any order.
func (t *Table) sameRows() bool {
	seen := make(map[string]bool, len(t.Tasks[0].X))
	for _, x := range t.Tasks[0].X {
		seen[points.Key(x)] = true
	}
	return !slices.ContainsFunc(t.Tasks, func(t TableTask) bool {
		return len(t.X) != len(seen) || slices.ContainsFunc(t.X, func(x []float64) bool { return !seen[points.Key(x)] })
	})
}
