// Package replay tunes on the records of a past task as if it were a run: no function
// is evaluated.
package replay

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// MinRows is the number of different points that a task must have, at least.
const MinRows = 5

// near is the regret at which a run counts as having arrived.
const near = 0.01

// A Record is what is known of a task: a table on which runs are replayed.
type Record struct {
	ID     string
	Space  *space.Space // the points recorded, as candidates
	Y      []float64    // by candidate, NaN for a failure
	regret []float64
}

// New returns the record of a task whose rows are rows of the space. Y holds the values,
// or their means at points recorded repeatedly.
func New(s *space.Space, t *space.Task, minimize bool) (*Record, error) {
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
	for j, x := range t.X {
		i := place(x)
		count[i]++
		r.Y[i] += (t.Y[j] - r.Y[i]) / count[i]
	}
	for _, x := range t.Failed {
		place(x)
	}
	var known []float64
	for i, y := range r.Y {
		if count[i] == 0 {
			r.Y[i] = math.NaN()
			continue
		}
		known = append(known, scaling.Orient(y, minimize))
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
	for _, y := range r.Y {
		v := 1.0
		if unit > 0 && !math.IsNaN(y) {
			v = min((best-scaling.Orient(y, minimize))/unit, 1)
		}
		r.regret = append(r.regret, v)
	}
	return r, nil
}

// Usable reports whether there is something to find.
func (r *Record) Usable() bool {
	return len(r.Y) >= MinRows && slices.Contains(r.regret, 0) && slices.Max(r.regret) > 0
}

// A Run proposes candidates of a record and is told what is known of them.
type Run struct {
	Ask    func(ctx context.Context) (trial, candidate int, err error)
	Tell   func(trial int, y float64) error
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
		if y := r.Y[at]; math.IsNaN(y) {
			err = run.Failed(trial)
		} else {
			err = run.Tell(trial, y)
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
