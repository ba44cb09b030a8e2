// Package replay tunes on the records of a past task as if it were a run: no function
// is evaluated.
package replay

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// MinRows is the number of different points that a task must have, at least.
const MinRows = 5

// near is the regret at which a run counts as having arrived.
const near = 0.01

// A Record is what is known of a task: a table on which runs are replayed.
type Record struct {
	ID    string
	Space *space.Space // the points recorded, as candidates
	Y     []float64    // by candidate, NaN for a failure
	// Outputs are those of the run, by candidate.
	Outputs []map[string]float64
	regret  []float64
}

// New returns the record of a task whose rows are rows of the space. Y holds the values,
// or their means at points recorded repeatedly, and Outputs likewise. Rows that lack an
// output which is not optional are left out. The best value is that of those that hold all
// limits, and the regret of the others 1.
func New(s *space.Space, t *space.Task, minimize bool, outputs ...runlog.Output) (*Record, error) {
	r := &Record{ID: t.ID}
	at := make(map[string]int)
	var rows [][]float64
	var count []float64
	place := func(x []float64) int {
		key := points.Key(x)
		i, known := at[key]
		if !known {
			i = len(rows)
			at[key] = i
			rows, r.Y, count = append(rows, x), append(r.Y, 0), append(count, 0)
		}
		return i
	}
	var told []map[string]float64 // how often, by candidate
	for j, x := range t.X {
		values := t.Outputs.Row(j)
		if slices.ContainsFunc(outputs, func(o runlog.Output) bool { _, ok := values[o.Name]; return !ok && !o.Optional }) {
			continue
		}
		i := place(x)
		count[i]++
		r.Y[i] += (t.Y[j] - r.Y[i]) / count[i]
		if len(outputs) == 0 {
			continue
		}
		if i == len(r.Outputs) {
			r.Outputs, told = append(r.Outputs, make(map[string]float64)), append(told, make(map[string]float64))
		}
		for _, o := range outputs {
			if v, ok := values[o.Name]; ok {
				told[i][o.Name]++
				r.Outputs[i][o.Name] += (v - r.Outputs[i][o.Name]) / told[i][o.Name]
			}
		}
	}
	for _, x := range t.Failed {
		place(x)
	}
	if len(rows) == 0 {
		return r, nil
	}
	var known []float64
	for i, y := range r.Y {
		if count[i] == 0 {
			r.Y[i] = math.NaN()
			continue
		}
		if r.feasible(i, outputs) {
			known = append(known, scaling.Orient(y, minimize))
		}
	}
	slices.Sort(known)
	var err error
	if r.Space, err = s.WithoutCandidates().WithCandidates(rows); err != nil || len(known) == 0 {
		return r, err
	}
	best := known[len(known)-1]
	unit := best - known[(len(known)-1)/2]
	if !(unit > 0) {
		unit = best - known[0]
	}
	for i, y := range r.Y {
		v := 1.0
		if unit > 0 && !math.IsNaN(y) && r.feasible(i, outputs) {
			v = min((best-scaling.Orient(y, minimize))/unit, 1)
		}
		r.regret = append(r.regret, v)
	}
	return r, nil
}

// feasible reports whether candidate i is known to hold all limits.
func (r *Record) feasible(i int, outputs []runlog.Output) bool {
	for k := range outputs {
		if v, ok := r.Outputs[i][outputs[k].Name]; outputs[k].Limited() && !(ok && outputs[k].Beyond(v) == 0) {
			return false
		}
	}
	return true
}

// Usable reports whether there is something to find.
func (r *Record) Usable() bool {
	return len(r.Y) >= MinRows && slices.Contains(r.regret, 0) && slices.Max(r.regret) > 0
}

// A Run proposes candidates of a record and is told what is known of them.
type Run struct {
	Ask    func(ctx context.Context) (trial, candidate int, err error)
	Tell   func(trial, candidate int) error
	Failed func(trial int) error
}

// Play goes through so many evaluations. It returns the mean over them of the regret of
// the best value so far, in units of the record, and the evaluations it took to a regret
// of .01, one more than there were if it was not reached.
func (r *Record) Play(ctx context.Context, run Run, evaluations int) (mean, needed float64, err error) {
	regret := 1.0
	evaluations = min(evaluations, len(r.Y))
	needed = float64(evaluations + 1)
	for n := range evaluations {
		trial, at, err := run.Ask(ctx)
		if err != nil {
			return 0, 0, err
		}
		if math.IsNaN(r.Y[at]) {
			err = run.Failed(trial)
		} else {
			err = run.Tell(trial, at)
		}
		if err != nil {
			return 0, 0, err
		}
		regret = min(regret, r.regret[at])
		mean += regret / float64(evaluations)
		if regret <= near {
			needed = min(needed, float64(n+1))
		}
	}
	return mean, needed, nil
}
