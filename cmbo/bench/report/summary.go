package report

import (
	"context"
	"maps"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// A Summary is an experiment as numbers. The package comment defines them. Title and Notes are for
// the reader and may be set before anything is written; the rest must not be changed.
type Summary struct {
	// Title heads the documents.
	Title string
	// Notes are paragraphs for their beginning: what was run, with which command and where. A pair of backquotes sets code.
	Notes []string

	// Budget is the number of queries of a run.
	Budget int
	// Comparisons holds one entry for each acquisition over all spaces, if there
	// are several, and then for each space and acquisition.
	Comparisons []Comparison

	resamples int // how often the bootstrap draws tasks
}

// A Comparison holds methods against each other on the runs they share.
type Comparison struct {
	// Space is empty for a comparison over all spaces, Acquisition if no record of the space names one.
	Space, Acquisition string
	// Tasks and Runs are the numbers of tasks and of runs that all compared
	// methods share, Left is that of the runs of compared methods that another one lacks.
	Tasks, Runs, Left int
	// Absent are the methods that too many runs are missing of.
	Absent []string
	// Results has the compared methods, cm-BO first.
	Results []Result
}

// A Result is what a method reached. Curves have an entry for each number of queries from 0 to
// Summary.Budget. Limits are NaN where there are too few tasks for them.
type Result struct {
	Method string
	// Regret is the mean normalised simple regret, AUC the mean area under its curve, with their 95% confidence limits.
	Regret, Lower, Upper    []float64
	AUC, AUCLower, AUCUpper float64
	// GeometricAUC is the geometric mean over the spaces of their mean areas, and GeometricLate that of the areas from
	// the sixth query on, NaN for a smaller budget: where methods that begin alike differ.
	GeometricAUC, GeometricLate float64
	// Rank is the average rank, 1 being the best, Solved the fraction of runs with a regret below 0.005.
	Rank, Solved []float64
	Calibration  Calibration
	// Against is the area over that of the default of cm-BO; nil for the default itself, and where it is not compared.
	Against *Ratio
}

// A Calibration tells how good predictions of the queried values were. All but Predictions are NaN if there are none.
type Calibration struct {
	// Predictions is the number of queries that were predicted.
	Predictions int
	// MeanNLPD and MedianNLPD are of the negative logarithm of the predictive
	// density, in nats, where the range of the task's table is 1.
	MeanNLPD, MedianNLPD float64
	// Coverage90 is how often the value lay in the central 90% interval.
	Coverage90 float64
	// MedianSD is the median predicted deviation in units of the range.
	MedianSD float64
}

// Final returns the mean regret after the last query.
func (r *Result) Final() float64 { return r.Regret[len(r.Regret)-1] }

// Result returns what a method reached, nil if it is not compared.
func (c *Comparison) Result(method string) *Result {
	i := slices.IndexFunc(c.Results, func(r Result) bool { return r.Method == method })
	if i < 0 {
		return nil
	}
	return &c.Results[i]
}

// resamples is how often the bootstrap draws, seed what it draws from, coverage the probability content of all intervals.
const (
	resamples = 10000
	seed      = 1
	coverage  = 0.95
)

// Analyse computes a Summary of records, which may come from an experiment that is not
// finished. It changes and keeps none of them. Errors wrap [ErrInput].
//
// Most of the time goes into the bootstrap, 10,000 draws of the tasks of each space.
func Analyse(records []bench.Record) (*Summary, error) { return summarise(records, resamples) }

func summarise(records []bench.Record, resamples int) (*Summary, error) {
	all, methods, budget, err := fieldsOf(records)
	if err != nil {
		return nil, err
	}
	s := &Summary{Title: "Comparison of tuning methods", Budget: budget, resamples: resamples}
	named := map[string][]string{} // acquisitions by space, "" for all
	for _, f := range all {
		named[f.space] = append(named[f.space], f.acquisition)
		named[""] = append(named[""], f.acquisition)
	}
	spaces := slices.Sorted(maps.Keys(named))
	if len(spaces) == 2 {
		spaces = spaces[1:]
	}
	var fields [][]*field // by comparison
	for _, space := range spaces {
		for _, a := range acquisitions(named[space]) {
			s.Comparisons = append(s.Comparisons, Comparison{Space: space, Acquisition: a})
			fields = append(fields, slices.DeleteFunc(slices.Clone(all), func(f *field) bool {
				return f.acquisition != a || space != "" && f.space != space
			}))
		}
	}
	return s, parallel.For(context.Background(), 0, len(fields), func(_, i int) error {
		s.compare(&s.Comparisons[i], fields[i], methods)
		return nil
	})
}

// compare fills in c from the fields of its spaces. Over several spaces those
// methods are compared that are compared in each of them.
func (s *Summary) compare(c *Comparison, fields []*field, methods []string) {
	ms := able(fields, methods)
	for _, m := range methods {
		n := 0
		for _, f := range fields {
			n += len(f.runs[m])
		}
		if slices.Contains(ms, m) {
			c.Left += n
		} else if n > 0 {
			c.Absent = append(c.Absent, m)
		}
	}
	strata := shareAll(fields, ms)
	for _, st := range strata {
		c.Runs += len(st.ids)
		c.Tasks += len(st.runs)
	}
	c.Left -= c.Runs * len(ms)
	if len(strata) == 0 {
		return
	}
	c.Results = each.Of(ms, func(m string) Result { return Result{Method: m} })
	s.measure(c, strata)
	at := slices.Index(ms, standard)
	for e, m := range ms {
		if at >= 0 && e != at {
			r := newSample(strata, e, at).ratio(m, s.resamples)
			c.Results[e].Against = &r
		}
	}
}
