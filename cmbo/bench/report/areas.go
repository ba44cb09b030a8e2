package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
)

// Areas sets methods side by side by the areas under their curves of mean regret, on the runs that all of them have.
type Areas struct {
	// Spaces are in the order of their names, Tasks and Runs the numbers of tasks and of runs of each.
	Spaces      []string
	Tasks, Runs []int
	// Methods has the one that the others are compared with first, and then those from the
	// least to the largest area against it.
	Methods []string
	// Mean holds the mean area by method and space.
	Mean [][]float64
	// Ratios are of the methods to the first one; that of the first is 1.
	Ratios []Ratio
	// Rivals are those of the others that learn from past tasks, in the order of Methods:
	// what [bench.Methods] says of them, and neither a change of the default nor the default with shared values.
	Rivals []string
	// Best is the ratio of the rival of the least area of each space to the first method, nil without rivals. It is
	// chosen by the runs that it is compared on, anew in each draw of the bootstrap, which favours the rivals.
	Best *Ratio
	// Absent are methods that are left out, since they have less than half of the runs of
	// these spaces with these acquisitions.
	Absent map[string][]string
}

// CompareAreas compares base with the other methods of records that have at least half of the runs of each space, with
// each acquisition. It fails with [ErrInput] if there are no records, if one makes no sense, if base or every other
// method is left out, or if in a space there is no run that all of them have.
func CompareAreas(records []bench.Record, base string) (*Areas, error) {
	fields, all, _, err := fieldsOf(records)
	if err != nil {
		return nil, err
	}
	a := &Areas{Absent: map[string][]string{}}
	for _, f := range fields {
		for _, m := range all {
			if !f.has(m) {
				a.Absent[m] = append(a.Absent[m], strings.TrimSuffix(f.space+" with "+f.acquisition, " with "))
			}
		}
	}
	switch lacks := a.Absent[base]; {
	case !slices.Contains(all, base):
		return nil, inputErrorf(base, cmbo.ErrNoTasks, "it has no runs; %s have", strings.Join(all, ", "))
	case lacks != nil:
		return nil, inputErrorf(base, cmbo.ErrNoTasks, "it has less than half of the runs of %s", strings.Join(lacks, ", "))
	}
	ms := able(fields, all)
	if len(ms) < 2 {
		return nil, inputErrorf(base, cmbo.ErrNoTasks, "no other method has half of the runs of each space")
	}
	strata := make([]*stratum, len(fields))
	for i, f := range fields {
		if strata[i] = f.share(ms); len(strata[i].ids) == 0 {
			return nil, inputErrorf(f.space, cmbo.ErrNoTasks, "there is no run that all of %s have", strings.Join(ms, ", "))
		}
	}
	a.compare(strata, ms, slices.Index(ms, base))
	return a, nil
}

// compare fills in what follows from the runs that all methods have, of which at is the one
// that the others are compared with.
func (a *Areas) compare(strata []*stratum, ms []string, at int) {
	ratios, order := make([]Ratio, len(ms)), []int{}
	for e, m := range ms {
		ratios[e] = newSample(strata, e, at).ratio(m, resamples)
		if e != at {
			order = append(order, e)
		}
	}
	slices.SortStableFunc(order, func(d, e int) int { return cmp.Compare(ratios[d].Mean, ratios[e].Mean) })
	var rivals []int
	known := bench.Methods()
	for _, e := range order {
		own := strings.HasPrefix(ms[e], bench.Ablated("")) // a form of the default
		if !own && slices.ContainsFunc(known, func(m bench.Method) bool { return m.Transfers && m.Named(ms[e]) }) {
			rivals, a.Rivals = append(rivals, e), append(a.Rivals, ms[e])
		}
	}
	if rivals != nil {
		best := newSample(strata, append(rivals, at)...).ratio("", resamples)
		a.Best = &best
	}
	order = append([]int{at}, order...)
	p := newSample(strata, order...)
	a.Spaces = p.spaces
	for _, tasks := range p.sums {
		runs := stat.Sum(each.Of(tasks, func(t []float64) float64 { return t[len(order)] }))
		a.Tasks, a.Runs = append(a.Tasks, len(tasks)), append(a.Runs, int(runs))
	}
	for k, e := range order {
		a.Methods, a.Ratios = append(a.Methods, ms[e]), append(a.Ratios, ratios[e])
		a.Mean = append(a.Mean, each.Of(p.sums, func(tasks [][]float64) float64 { return meanArea(tasks, k) }))
	}
}
