package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/each"
)

// ErrInput is what every refusal of an input wraps, beside an error of package cmbo such as cmbo.ErrNoTasks where one fits.
var ErrInput = errors.New("report: invalid input")

func inputErrorf(where string, kind error, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	if kind == nil {
		return fmt.Errorf("%w: %s: %s", ErrInput, where, reason)
	}
	return fmt.Errorf("%w: %s: %s (%w)", ErrInput, where, reason, kind)
}

// check refuses a record whose numbers mean nothing.
func check(r *bench.Record) error {
	where := recordName(r)
	if r.Space == "" || r.Method == "" || r.Task == "" {
		return inputErrorf(where, nil, "space, method and task have names")
	}
	if r.Split < 0 || r.Repeat < 0 {
		return inputErrorf(where, nil, "splits and repeats count from 0")
	}
	if r.Acquisition != "" { // another spelling would be another comparison
		if a, err := cmbo.ParseAcquisition(r.Acquisition); err != nil {
			return inputErrorf(where, err, "unknown acquisition function")
		} else if a.String() != r.Acquisition {
			return inputErrorf(where, cmbo.ErrOption, "the acquisition function is written %q", a.String())
		}
	}
	if len(r.Regret) == 0 {
		return inputErrorf(where, cmbo.ErrDimension, "has no regrets")
	}
	for i, v := range r.Regret {
		switch {
		case !finite(v):
			return inputErrorf(where, cmbo.ErrValue, "regret after %d queries is %g", i, v)
		case v < 0 || v > 1:
			return inputErrorf(where, nil, "regret after %d queries is %g, outside [0, 1]", i, v)
		case i > 0 && v > r.Regret[i-1]:
			return inputErrorf(where, nil, "regret after %d queries is %g: it rises", i, v)
		}
	}
	if len(r.Z) != len(r.LogSD) || len(r.Z) >= len(r.Regret) {
		return inputErrorf(where, cmbo.ErrDimension, "%d standardised errors and %d deviations for %d queries",
			len(r.Z), len(r.LogSD), len(r.Regret)-1)
	}
	for i := range r.Z {
		if !finite(r.Z[i] + r.LogSD[i]) {
			return inputErrorf(where, cmbo.ErrValue, "prediction %d: standardised error %g, logarithm of the deviation %g",
				i, r.Z[i], r.LogSD[i])
		}
	}
	return nil
}

func recordName(r *bench.Record) string {
	return fmt.Sprintf("run of %s (space %q, acquisition %q, split %d, task %q, repeat %d)",
		r.Method, r.Space, r.Acquisition, r.Split, r.Task, r.Repeat)
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

// field is what may be compared in a space with an acquisition function: the runs of each method.
type field struct {
	space, acquisition string
	runs               map[string]map[runID]*bench.Record
	known              int // runs that at least one method has
}

// has reports whether a method has at least half of the known runs.
func (f *field) has(method string) bool { return 2*len(f.runs[method]) >= f.known }

// fieldsOf checks records, and returns the fields of each space with each acquisition that is named there, or that of a
// space that names none, the names of all methods in order, and the number of queries.
func fieldsOf(records []bench.Record) (fields []*field, methods []string, budget int, err error) {
	if len(records) == 0 {
		return nil, nil, 0, inputErrorf("records", cmbo.ErrNoTasks, "there are none")
	}
	budget = len(records[0].Regret) - 1
	spaces, named := map[string][]*bench.Record{}, map[string][]string{}
	for i := range records {
		r := &records[i]
		if err := check(r); err != nil {
			return nil, nil, 0, err
		}
		if n := len(r.Regret) - 1; n != budget {
			return nil, nil, 0, inputErrorf(recordName(r), cmbo.ErrDimension,
				"%d queries, but %s has %d; give experiments of one budget", n, recordName(&records[0]), budget)
		}
		methods = append(methods, r.Method)
		spaces[r.Space] = append(spaces[r.Space], r)
		named[r.Space] = append(named[r.Space], r.Acquisition)
	}
	for _, space := range slices.Sorted(maps.Keys(spaces)) {
		for _, a := range acquisitions(named[space]) {
			f, err := newField(spaces[space], a)
			if err != nil {
				return nil, nil, 0, err
			}
			fields = append(fields, f)
		}
	}
	methods = unique(methods)
	slices.SortStableFunc(methods, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return fields, methods, budget, nil
}

// newField collects the records of a space that name the acquisition, and those that name none.
func newField(rs []*bench.Record, acquisition string) (*field, error) {
	f := &field{space: rs[0].Space, acquisition: acquisition, runs: map[string]map[runID]*bench.Record{}}
	union := map[runID]bool{}
	for _, r := range rs {
		if r.Acquisition != acquisition && r.Acquisition != "" {
			continue
		}
		if f.runs[r.Method] == nil {
			f.runs[r.Method] = map[runID]*bench.Record{}
		}
		id := runID{r.Split, r.Task, r.Repeat}
		if f.runs[r.Method][id] != nil {
			return nil, inputErrorf(recordName(r), nil, "is there twice")
		}
		f.runs[r.Method][id] = r
		union[id] = true
	}
	f.known = len(union)
	return f, nil
}

// able returns the methods that have at least half of the known runs of each field.
func able(fields []*field, methods []string) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(m string) bool {
		return slices.ContainsFunc(fields, func(f *field) bool { return !f.has(m) })
	})
}

// A stratum is the runs of a space that the compared methods share.
type stratum struct {
	space   string
	ids     []runID           // sorted by task
	records [][]*bench.Record // by method, then run
	task    []int             // of each run
	runs    []float64         // of each task
}

// share cuts a field down to the runs that all methods of ms have.
func (f *field) share(ms []string) *stratum {
	s := &stratum{space: f.space, records: make([][]*bench.Record, len(ms))}
	if len(ms) == 0 {
		return s
	}
	s.ids = slices.DeleteFunc(slices.SortedFunc(maps.Keys(f.runs[ms[0]]), runID.compare), func(id runID) bool {
		return slices.ContainsFunc(ms, func(m string) bool { return f.runs[m][id] == nil })
	})
	for i, id := range s.ids {
		if i == 0 || s.ids[i-1].task != id.task {
			s.runs = append(s.runs, 0)
		}
		s.task = append(s.task, len(s.runs)-1)
		s.runs[len(s.runs)-1]++
		for k, m := range ms {
			s.records[k] = append(s.records[k], f.runs[m][id])
		}
	}
	return s
}

// shareAll cuts fields down to the runs that all methods of ms have, and leaves out those where there is none.
func shareAll(fields []*field, ms []string) []*stratum {
	all := each.Of(fields, func(f *field) *stratum { return f.share(ms) })
	return slices.DeleteFunc(all, func(st *stratum) bool { return len(st.ids) == 0 })
}

// standard is the name of cm-BO as the library runs it unless told otherwise.
const standard = "cm-BO"

// The families of methods that the report groups.
const (
	ownFamily   = "cm-BO"     // the default, its ablations and the paper's variants
	reference   = "reference" // random search, and without a past the plain Gaussian process and the library's own
	rivalFamily = "rival"     // all others
)

func familyOf(method string) string {
	isVariant := func(v paper.Variant) bool { return v.String() == method }
	method = strings.TrimSuffix(method, bench.SharedValues)
	switch {
	case method == "Random" || method == "GP" || method == "no-past":
		return reference
	case strings.HasPrefix(method, standard), slices.ContainsFunc(paper.Variants(), isVariant):
		return ownFamily
	}
	return rivalFamily
}

// place orders methods: the default, others of cm-BO, the references, and the rivals.
func place(method string) int {
	if method == standard {
		return -1
	}
	return slices.Index([]string{ownFamily, reference, rivalFamily}, familyOf(method))
}

func unique(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// acquisitions returns those that are named, or "" if none is.
func acquisitions(names []string) []string {
	names = unique(names)
	if len(names) > 1 && names[0] == "" {
		names = names[1:]
	}
	return names
}
