package bench

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
)

// hpobSeeds is the number of HPO-B's fixed initialisations of a test task.
const hpobSeeds = 5

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

// A batch is the runs of one method and repeat that share what is learned of a split: one
// goroutine makes them one after the other.
type batch struct {
	table    *tablePlan
	method   *Method
	key      runKey // of what is learned
	training Training
	runs     []plannedRun // those still to be made, task by task
}

type plannedRun struct {
	runKey
	acquisition acq.Func
}

// tablePlan is what the batches of a table share.
type tablePlan struct {
	*Table
	space *cmbo.Space // to learn on
	cube  *cmbo.Space
}

// planner lists the batches of an experiment.
type planner struct {
	p            Protocol
	methods      []*Method
	acquisitions []acq.Func
	tables       []*tablePlan
	splits       [][]*split // by table
}

// newPlanner divides the tables. p is settled.
func newPlanner(p Protocol, all []Method, tables []*Table) (*planner, error) {
	pl := &planner{p: p}
	for _, name := range p.Methods {
		m, err := findMethod(all, name)
		if err != nil {
			return nil, err
		}
		pl.methods = append(pl.methods, m)
	}
	for _, name := range p.Acquisitions {
		a, err := cmbo.ParseAcquisition(name)
		if err != nil {
			return nil, err
		}
		pl.acquisitions = append(pl.acquisitions, a)
	}
	for _, t := range tables {
		tp := &tablePlan{Table: t}
		var err error
		if tp.cube, err = cmbo.UnitCube(t.Dim); err != nil {
			return nil, err
		}
		tp.space = tp.cube
		if t.sameRows() {
			if tp.space, err = tp.cube.WithCandidates(t.Tasks[0].X); err != nil {
				return nil, err
			}
		}
		splits := make([]*split, p.Splits)
		for i := range splits {
			if splits[i], err = p.divide(t, i); err != nil {
				return nil, err
			}
		}
		pl.tables = append(pl.tables, tp)
		pl.splits = append(pl.splits, splits)
	}
	return pl, nil
}

// pasts are the changes that a protocol may make to the values of past tasks.
var pasts = map[string]func(tasks []cmbo.Task){
	"negated": eachValue(-1),
	"penalized": eachTask(func(y []float64) {
		sorted := slices.Sorted(slices.Values(y))
		lo, hi := sorted[0], sorted[len(y)-1]
		for i, v := range y {
			if v <= sorted[len(y)/10] && v < hi {
				y[i] = lo - 1000*(hi-lo)
			}
		}
	}),
	"compressed": eachTask(func(y []float64) {
		low, _ := scaling.CompressLow(y, nil)
		copy(y, low)
	}),
	"shifted": func(tasks []cmbo.Task) {
		var spread float64
		for _, t := range tasks {
			spread += (slices.Max(t.Y) - slices.Min(t.Y)) / float64(len(tasks))
		}
		for _, t := range tasks {
			for i := range t.Y {
				t.Y[i] -= 50 * spread
			}
		}
	},
	"small": eachValue(1. / 30),
	"large": eachValue(30),
}

// eachTask is a change of each task's values by themselves.
func eachTask(change func(y []float64)) func(tasks []cmbo.Task) {
	return func(tasks []cmbo.Task) {
		for _, t := range tasks {
			change(t.Y)
		}
	}
}

// eachValue multiplies all values.
func eachValue(factor float64) func(tasks []cmbo.Task) {
	return eachTask(func(y []float64) {
		for i := range y {
			y[i] *= factor
		}
	})
}

func hpobSeed(repeat int) string { return fmt.Sprintf("test%d", repeat) }

// batches lists what known does not hold yet in the order in which it is to be
// made, repeat by repeat, so that methods are comparable whenever the experiment
// stops. It also returns how many runs there are in all.
func (pl *planner) batches(known *store) (open []*batch, total int) {
	for repeat := range pl.p.Repeats {
		for i, t := range pl.tables {
			for _, s := range pl.splits[i] {
				for _, m := range pl.methods {
					b, n := pl.batch(t, s, m, repeat, known)
					total += n
					if len(b.runs) > 0 {
						open = append(open, b)
					}
				}
			}
		}
	}
	return open, total
}

// batch returns what is still to be done of a batch, and its number of runs.
func (pl *planner) batch(t *tablePlan, s *split, m *Method, repeat int, known *store) (*batch, int) {
	b := &batch{
		table: t, method: m,
		key:      runKey{space: t.Space, method: m.Name, split: s.number},
		training: Training{Space: t.space, Tasks: s.sources, Seed: pl.p.Seed, Clusters: pl.p.Clusters},
	}
	n := 0
	for _, id := range s.targets {
		last := "none yet"
		for _, a := range pl.acquisitions {
			r := plannedRun{b.key, a}
			r.task, r.repeat = id, repeat
			var suits bool
			if r.runKey.acquisition, suits = m.acquisitionOf(a); !suits || r.runKey.acquisition == last {
				continue
			}
			last = r.runKey.acquisition
			n++
			if !known.keys[r.runKey] {
				b.runs = append(b.runs, r)
			}
		}
	}
	return b, n
}

// sameRows reports whether all tasks of the table have the same configurations,
// in any order.
func (t *Table) sameRows() bool {
	seen := make(map[string]bool, len(t.Tasks[0].X))
	for _, x := range t.Tasks[0].X {
		seen[points.Key(x)] = true
	}
	for i := range t.Tasks {
		if len(t.Tasks[i].X) != len(seen) {
			return false
		}
		for _, x := range t.Tasks[i].X {
			if !seen[points.Key(x)] {
				return false
			}
		}
	}
	return true
}
