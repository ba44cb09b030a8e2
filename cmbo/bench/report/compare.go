package report

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// field is what may be compared in a space with an acquisition function: the
// runs of each entrant.
type field struct {
	space    string
	entrants []entrant // in the roster's order
	runs     []map[runID]*bench.Record
	known    int // runs that at least one entrant has
}

// gather collects the field of a space: the records that name the acquisition,
// and those that name none if any other does. The study takes the records with a
// number of clusters, the main comparison the others.
func gather(rs []bench.Record, space, acquisition string, study bool, order *roster) *field {
	f := &field{space: space}
	index := map[entrant]int{}
	union := map[runID]bool{}
	named := false
	for i := range rs {
		r := &rs[i]
		if r.Space != space || (r.Clusters > 0) != study || r.Acquisition != acquisition && r.Acquisition != "" {
			continue
		}
		named = named || r.Acquisition == acquisition
		e := entrant{r.Method, r.Clusters}
		k, ok := index[e]
		if !ok {
			k = len(f.entrants)
			index[e] = k
			f.entrants = append(f.entrants, e)
			f.runs = append(f.runs, map[runID]*bench.Record{})
		}
		id := runID{r.Split, r.Task, r.Repeat}
		f.runs[k][id] = r
		union[id] = true
	}
	if !named {
		return &field{space: space}
	}
	f.known = len(union)
	f.sort(order)
	return f
}

func (f *field) sort(order *roster) {
	perm := make([]int, len(f.entrants))
	for i := range perm {
		perm[i] = i
	}
	slices.SortFunc(perm, func(a, b int) int {
		return cmp.Or(order.compare(f.entrants[a].method, f.entrants[b].method), cmp.Compare(f.entrants[a].clusters, f.entrants[b].clusters))
	})
	es, rs := make([]entrant, len(perm)), make([]map[runID]*bench.Record, len(perm))
	for i, p := range perm {
		es[i], rs[i] = f.entrants[p], f.runs[p]
	}
	f.entrants, f.runs = es, rs
}

// able returns the entrants that have at least half of the known runs.
func (f *field) able() []entrant {
	var es []entrant
	for i, e := range f.entrants {
		if 2*len(f.runs[i]) >= f.known {
			es = append(es, e)
		}
	}
	return es
}

// A stratum is the runs of a space that the compared entrants share.
type stratum struct {
	space   string
	records [][]*bench.Record // by entrant, then run
	task    []int             // of each run
	runs    []float64         // of each task
}

// share cuts a field down to the runs that all of es have.
func (f *field) share(es []entrant) *stratum {
	var rows []map[runID]*bench.Record
	for _, e := range es {
		rows = append(rows, f.runs[slices.Index(f.entrants, e)])
	}
	s := &stratum{space: f.space, records: make([][]*bench.Record, len(es))}
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

// sums adds up a value of each run by task.
func (s *stratum) sums(value func(run int) float64) []float64 {
	sum := make([]float64, len(s.runs))
	for r, t := range s.task {
		sum[t] += value(r)
	}
	return sum
}

// compareAll fills in Comparisons and Studies. Comparisons are independent, and
// made side by side.
func (s *Summary) compareAll(rs []bench.Record) error {
	type job struct {
		c      *Comparison
		fields []*field
		study  bool
	}
	var jobs []job
	for _, study := range []bool{false, true} {
		for _, space := range append([]string{""}, s.Spaces...) {
			if space == "" && len(s.Spaces) == 1 {
				continue
			}
			for _, a := range s.Acquisitions {
				c := &Comparison{Space: space, Acquisition: a}
				spaces := s.Spaces
				if space != "" {
					spaces = []string{space}
				}
				var fields []*field
				for _, name := range spaces {
					if f := gather(rs, name, a, study, s.roster); f.known > 0 {
						fields = append(fields, f)
					}
				}
				if len(fields) > 0 {
					jobs = append(jobs, job{c, fields, study})
				}
			}
		}
	}
	err := parallel.For(context.Background(), 0, len(jobs), func(_, i int) error {
		s.compare(jobs[i].c, jobs[i].fields, !jobs[i].study)
		return nil
	})
	for _, j := range jobs {
		if j.study {
			s.Studies = append(s.Studies, *j.c)
		} else {
			s.Comparisons = append(s.Comparisons, *j.c)
		}
	}
	return err
}

// compare fills in c from the fields of its spaces. Over several spaces those
// entrants are compared that are compared in each of them.
func (s *Summary) compare(c *Comparison, fields []*field, pairs bool) {
	var es []entrant
	for i, f := range fields {
		able := f.able()
		if i == 0 {
			es = able
		} else {
			es = slices.DeleteFunc(es, func(e entrant) bool { return !slices.Contains(able, e) })
		}
		c.Known += f.known
	}
	c.Entries = entries(fields, es, s.roster)
	var strata []*stratum
	for _, f := range fields {
		st := f.share(es)
		if len(st.task) == 0 {
			continue
		}
		strata = append(strata, st)
		c.Spaces = append(c.Spaces, f.space)
		c.Runs += len(st.task)
		c.Tasks += len(st.runs)
		if c.fewest == 0 || len(st.runs) < c.fewest {
			c.fewest = len(st.runs)
		}
	}
	if len(strata) == 0 {
		return
	}
	for _, e := range es {
		c.Results = append(c.Results, Result{Method: e.method, Clusters: e.clusters})
	}
	s.measure(c, strata)
	if pairs {
		s.pair(c, strata)
	}
}

// entries tells of every entrant of the fields how much it has.
func entries(fields []*field, compared []entrant, order *roster) []Entry {
	var es []Entry
	for _, f := range fields {
		for i, e := range f.entrants {
			k := slices.IndexFunc(es, func(x Entry) bool { return x.Method == e.method && x.Clusters == e.clusters })
			if k < 0 {
				k = len(es)
				es = append(es, Entry{Method: e.method, Clusters: e.clusters, Compared: slices.Contains(compared, e)})
			}
			es[k].Runs += len(f.runs[i])
		}
	}
	slices.SortFunc(es, func(a, b Entry) int {
		return cmp.Or(order.compare(a.Method, b.Method), cmp.Compare(a.Clusters, b.Clusters), strings.Compare(a.Method, b.Method))
	})
	return es
}
