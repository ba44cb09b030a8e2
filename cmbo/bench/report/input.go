package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
)

// ErrInput is what every refusal of an input wraps, beside an error of package cmbo
// such as cmbo.ErrNotFinite where one fits.
var ErrInput = errors.New("report: invalid input")

func inputErrorf(where string, kind error, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	if kind == nil {
		return fmt.Errorf("%w: %s: %s", ErrInput, where, reason)
	}
	return fmt.Errorf("%w: %s: %s (%w)", ErrInput, where, reason, kind)
}

// A runID names a run within a space: what all methods have in common.
type runID struct {
	split  int
	task   string
	repeat int
}

func (k runID) compare(o runID) int {
	return cmp.Or(strings.Compare(k.task, o.task), cmp.Compare(k.split, o.split), cmp.Compare(k.repeat, o.repeat))
}

// checkRecords returns the records in an order that follows from their keys
// alone, and the number of queries, after having checked each.
func checkRecords(in []bench.Record) ([]bench.Record, int, error) {
	if len(in) == 0 {
		return nil, 0, inputErrorf("records", cmbo.ErrNoTasks, "there are none")
	}
	rs := slices.Clone(in)
	slices.SortFunc(rs, func(a, b bench.Record) int { return compareRecords(&a, &b) })
	budget := len(rs[0].Regret) - 1
	for i := range rs {
		r := &rs[i]
		if err := checkRecord(r); err != nil {
			return nil, 0, err
		}
		if n := len(r.Regret) - 1; n != budget {
			return nil, 0, inputErrorf(recordName(r), cmbo.ErrDimension, "%d queries, but %s has %d; give experiments of one budget", n, recordName(&rs[0]), budget)
		}
		if i > 0 && compareRecords(&rs[i-1], r) == 0 {
			return nil, 0, inputErrorf(recordName(r), nil, "is there twice")
		}
	}
	return rs, budget, nil
}

func compareRecords(a, b *bench.Record) int {
	return cmp.Or(
		strings.Compare(a.Space, b.Space),
		strings.Compare(a.Acquisition, b.Acquisition),
		strings.Compare(a.Method, b.Method),
		runID{a.Split, a.Task, a.Repeat}.compare(runID{b.Split, b.Task, b.Repeat}))
}

func recordName(r *bench.Record) string {
	return fmt.Sprintf("run of %s (space %q, acquisition %q, split %d, task %q, repeat %d)", r.Method, r.Space, r.Acquisition, r.Split, r.Task, r.Repeat)
}

func checkRecord(r *bench.Record) error {
	where := recordName(r)
	for _, f := range []struct{ what, value string }{{"space", r.Space}, {"method", r.Method}, {"task", r.Task}} {
		if f.value == "" {
			return inputErrorf(where, nil, "the %s has no name", f.what)
		}
	}
	if r.Split < 0 || r.Repeat < 0 {
		return inputErrorf(where, nil, "a split or repeat is negative")
	}
	if r.Acquisition != "" {
		a, err := cmbo.ParseAcquisition(r.Acquisition)
		if err != nil {
			return inputErrorf(where, err, "unknown acquisition function")
		}
		if a.String() != r.Acquisition {
			return inputErrorf(where, cmbo.ErrOption, "the acquisition function is written %q", a.String())
		}
	}
	if len(r.Regret) == 0 {
		return inputErrorf(where, cmbo.ErrDimension, "has no regrets")
	}
	for i, v := range r.Regret {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return inputErrorf(where, cmbo.ErrNotFinite, "regret after %d queries is %g", i, v)
		case v < 0 || v > 1:
			return inputErrorf(where, nil, "regret after %d queries is %g, outside [0, 1]", i, v)
		case i > 0 && v > r.Regret[i-1]:
			return inputErrorf(where, nil, "regret rises from %g to %g at query %d", r.Regret[i-1], v, i)
		}
	}
	if len(r.Z) != len(r.LogSD) || len(r.Z) >= len(r.Regret) {
		return inputErrorf(where, cmbo.ErrDimension, "%d standardised errors and %d deviations for %d queries", len(r.Z), len(r.LogSD), len(r.Regret)-1)
	}
	for i := range r.Z {
		if s := r.Z[i] + r.LogSD[i]; math.IsNaN(s) || math.IsInf(s, 0) {
			return inputErrorf(where, cmbo.ErrNotFinite, "prediction %d: standardised error %g, logarithm of the deviation %g", i, r.Z[i], r.LogSD[i])
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
