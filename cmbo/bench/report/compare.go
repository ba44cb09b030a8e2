package report

import (
	"context"
	"maps"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// field is what may be compared in a space with an acquisition function: the
// runs of each method.
type field struct {
	space, acquisition string
	methods            []string // in the roster's order
	runs               map[string]map[runID]*bench.Record
	known              int // runs that at least one method has
}

// gather collects the field of a space: the records that name the acquisition,
// and those that name none.
func gather(rs []bench.Record, space, acquisition string, order *roster) *field {
	f := &field{space: space, acquisition: acquisition, runs: map[string]map[runID]*bench.Record{}}
	union := map[runID]bool{}
	for i := range rs {
		r := &rs[i]
		if r.Space != space || r.Acquisition != acquisition && r.Acquisition != "" {
			continue
		}
		if f.runs[r.Method] == nil {
			f.methods = append(f.methods, r.Method)
			f.runs[r.Method] = map[runID]*bench.Record{}
		}
		id := runID{r.Split, r.Task, r.Repeat}
		f.runs[r.Method][id] = r
		union[id] = true
	}
	f.known = len(union)
	slices.SortFunc(f.methods, order.compare)
	return f
}

// fieldsOf checks records, and returns the fields of each space with each acquisition that is
// named there, or that of a space that names none, the names of all methods in order, and the
// number of queries.
func fieldsOf(records []bench.Record) (fields []*field, methods []string, budget int, err error) {
	rs, budget, err := checkRecords(records)
	if err != nil {
		return nil, nil, 0, err
	}
	acquisitions := map[string][]string{} // by space
	for i := range rs {
		methods = append(methods, rs[i].Method)
		acquisitions[rs[i].Space] = append(acquisitions[rs[i].Space], rs[i].Acquisition)
	}
	methods = unique(methods)
	order := newRoster(methods)
	for _, space := range slices.Sorted(maps.Keys(acquisitions)) {
		named := unique(acquisitions[space])
		if len(named) > 1 && named[0] == "" {
			named = named[1:]
		}
		for _, a := range named {
			fields = append(fields, gather(rs, space, a, order))
		}
	}
	return fields, methods, budget, nil
}

// able returns the methods that have at least half of the known runs.
func (f *field) able() []string {
	return slices.DeleteFunc(slices.Clone(f.methods), func(m string) bool { return 2*len(f.runs[m]) < f.known })
}

// ableIn returns the methods that have at least half of the known runs of each field.
func ableIn(fields []*field) (ms []string) {
	for i, f := range fields {
		able := f.able()
		if i == 0 {
			ms = able
		}
		ms = slices.DeleteFunc(ms, func(m string) bool { return !slices.Contains(able, m) })
	}
	return ms
}

// A stratum is the runs of a space that the compared methods share.
type stratum struct {
	space   string
	records [][]*bench.Record // by method, then run
	task    []int             // of each run
	runs    []float64         // of each task
}

// share cuts a field down to the runs that all methods of ms have.
func (f *field) share(ms []string) *stratum {
	var rows []map[runID]*bench.Record
	for _, m := range ms {
		rows = append(rows, f.runs[m])
	}
	s := &stratum{space: f.space, records: make([][]*bench.Record, len(ms))}
	if len(rows) == 0 {
		return s
	}
	var ids []runID
	for id := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(m map[runID]*bench.Record) bool { return m[id] == nil }) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, runID.compare)
	for i, id := range ids {
		if i == 0 || ids[i-1].task != id.task {
			s.runs = append(s.runs, 0)
		}
		t := len(s.runs) - 1
		s.task = append(s.task, t)
		s.runs[t]++
		for k := range rows {
			s.records[k] = append(s.records[k], rows[k][id])
		}
	}
	return s
}

// shareAll cuts fields down to the runs that all methods of ms have, and leaves out those
// where there is none.
func shareAll(fields []*field, ms []string) (strata []*stratum) {
	for _, f := range fields {
		if st := f.share(ms); len(st.task) > 0 {
			strata = append(strata, st)
		}
	}
	return strata
}

// compareAll fills in Comparisons, which are independent and made side by side.
func (s *Summary) compareAll(all []*field) error {
	var fields [][]*field // by comparison
	for _, space := range append([]string{""}, s.Spaces...) {
		if space == "" && len(s.Spaces) == 1 {
			continue
		}
		for _, a := range s.Acquisitions {
			fs := slices.DeleteFunc(slices.Clone(all), func(f *field) bool {
				return f.acquisition != a || space != "" && f.space != space
			})
			if len(fs) > 0 {
				s.Comparisons = append(s.Comparisons, Comparison{Space: space, Acquisition: a})
				fields = append(fields, fs)
			}
		}
	}
	return parallel.For(context.Background(), 0, len(fields), func(_, i int) error {
		s.compare(&s.Comparisons[i], fields[i])
		return nil
	})
}

// compare fills in c from the fields of its spaces. Over several spaces those
// methods are compared that are compared in each of them.
func (s *Summary) compare(c *Comparison, fields []*field) {
	for _, f := range fields {
		c.Known += f.known
	}
	ms := ableIn(fields)
	c.Entries = entries(fields, ms, s.roster)
	strata := shareAll(fields, ms)
	for _, st := range strata {
		c.Spaces = append(c.Spaces, st.space)
		c.Runs += len(st.task)
		c.Tasks += len(st.runs)
		if c.fewest == 0 || len(st.runs) < c.fewest {
			c.fewest = len(st.runs)
		}
	}
	if len(strata) == 0 {
		return
	}
	for _, m := range ms {
		c.Results = append(c.Results, Result{Method: m})
	}
	s.measure(c, strata)
	s.against(c, strata)
}

// against compares the areas of all others with the default's.
func (s *Summary) against(c *Comparison, strata []*stratum) {
	at := slices.IndexFunc(c.Results, func(r Result) bool { return r.Method == standard })
	if at < 0 {
		return
	}
	for e := range c.Results {
		if e != at {
			r := newSample(strata, e, at).ratio(c.Results[e].Method, s.resamples)
			c.Results[e].Against = &r
		}
	}
}

// entries tells of every method of the fields how much it has.
func entries(fields []*field, compared []string, order *roster) []Entry {
	var es []Entry
	for _, f := range fields {
		for _, m := range f.methods {
			k := slices.IndexFunc(es, func(x Entry) bool { return x.Method == m })
			if k < 0 {
				k = len(es)
				es = append(es, Entry{Method: m, Compared: slices.Contains(compared, m)})
			}
			es[k].Runs += len(f.runs[m])
		}
	}
	slices.SortFunc(es, func(a, b Entry) int { return order.compare(a.Method, b.Method) })
	return es
}
