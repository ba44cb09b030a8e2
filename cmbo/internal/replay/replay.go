// Package replay makes tables of the records of past tasks, on which runs are replayed: no function is evaluated.
package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// MinRows is the number of different points that a task must have, at least.
const MinRows = 5

// A Record is what is known of a task: a table on which runs are replayed.
type Record struct {
	Space *space.Space // the points recorded, as candidates
	Y     []float64    // by candidate, NaN for a failure
	// Outputs are those of the run, by candidate; what failures have brought, where there is no value.
	Outputs []map[string]float64
	// Regret is that of each candidate, from 0 for the best value to 1 for those that are as far
	// from it as the median, or farther, and for failures.
	Regret []float64

	with, within string // what is asked of points and values, in words
}

// New returns the record of a task whose rows are rows of the space. Y holds the values, or their means at points recorded
// repeatedly, and Outputs likewise. Rows that lack an output which is not optional are left out. The best value is that of
// those that hold all limits, and the regret of the others 1.
func New(s *space.Space, t *space.Task, minimize bool, outputs ...runlog.Output) (*Record, error) {
	r := new(Record)
	if len(outputs) > 0 {
		r.with, r.within = " with all outputs", " within all limits"
	}
	at := make(map[string]int)
	var rows [][]float64
	var count []float64
	var told []map[string]float64 // how often, by candidate
	place := func(x []float64) int {
		key := points.Key(x)
		i, known := at[key]
		if !known {
			i = len(rows)
			at[key] = i
			rows, r.Y, count = append(rows, x), append(r.Y, 0), append(count, 0)
			r.Outputs, told = append(r.Outputs, make(map[string]float64)), append(told, make(map[string]float64))
		}
		return i
	}
	bring := func(i int, values map[string]float64) {
		for _, o := range outputs {
			if v, ok := values[o.Name]; ok {
				told[i][o.Name]++
				r.Outputs[i][o.Name] += (v - r.Outputs[i][o.Name]) / told[i][o.Name]
			}
		}
	}
	for j, x := range t.X {
		values := t.Outputs.Row(j)
		if slices.ContainsFunc(outputs, func(o runlog.Output) bool { _, ok := values[o.Name]; return !ok && !o.Optional }) {
			continue
		}
		i := place(x)
		count[i]++
		r.Y[i] += (t.Y[j] - r.Y[i]) / count[i]
		bring(i, values)
	}
	for j, x := range t.Failed {
		if i := place(x); count[i] == 0 {
			bring(i, t.FailedOutputs.Row(j))
		}
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
		if runlog.Hold(outputs, r.Outputs[i]) {
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
		if unit > 0 && !math.IsNaN(y) && runlog.Hold(outputs, r.Outputs[i]) {
			v = min((best-scaling.Orient(y, minimize))/unit, 1)
		}
		r.Regret = append(r.Regret, v)
	}
	return r, nil
}

// Lacks says what the record lacks of having something to find, "" for nothing.
func (r *Record) Lacks() string {
	switch {
	case len(r.Y) < MinRows:
		return fmt.Sprintf("%d different points%s", MinRows, r.with)
	case r.Regret == nil:
		return "a value" + r.within
	case !slices.Contains(r.Regret, 0):
		return "two different values" + r.within
	}
	return ""
}
