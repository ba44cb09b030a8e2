package report

import (
	"slices"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// Threshold is the regret below which a run counts as solved (the paper's C).
const Threshold = 0.005

// A Summary is an experiment as numbers. The package comment defines them. Title
// and Notes are for the reader and may be set before anything is written; the
// rest must not be changed.
type Summary struct {
	// Title heads the documents.
	Title string
	// Notes are paragraphs for their beginning: what was run, with which command
	// and where. A pair of backquotes sets code.
	Notes []string

	// Budget is the number of queries of a run, Budgets are the numbers of
	// queries after which tables tell ranks and regrets: a fifth of it, a half and all.
	Budget  int
	Budgets []int
	// Spaces and Acquisitions are those of the records. Acquisitions holds ""
	// only if no record names one.
	Spaces       []string
	Acquisitions []string

	// Comparisons holds one entry for each acquisition over all spaces, if there
	// are several, and then for each space and acquisition.
	Comparisons []Comparison
	resamples   int // how often the bootstrap drew tasks
	roster      *roster
}

// A Comparison holds methods against each other on the runs they share.
type Comparison struct {
	// Space is empty for a comparison over Spaces.
	Space       string
	Spaces      []string
	Acquisition string
	// Tasks and Runs are the numbers of tasks and of runs that all compared
	// methods share; Known is how many runs at least one method has.
	Tasks, Runs, Known int
	// Entries has all methods.
	Entries []Entry
	// Results has the compared methods, cm-BO first.
	Results []Result
	// fewest is the number of tasks in the space that has the fewest.
	fewest int
}

// An Entry tells how much a method has to compare.
type Entry struct {
	Method   string
	Runs     int
	Compared bool // false if too many runs are missing: see the package comment
}

// LateFrom is the query from which the late part of a regret curve is counted.
const LateFrom = 6

// A Result is what a method reached. Curves have an entry for each number of
// queries from 0 to Summary.Budget. Limits are NaN where there are too few tasks
// for them.
type Result struct {
	Method string
	// Regret is the mean normalised simple regret, AUC the mean area under its curve, with
	// their 95% confidence limits.
	Regret, Lower, Upper    []float64
	AUC, AUCLower, AUCUpper float64
	// GeometricAUC is the geometric mean over the spaces of their mean areas, and
	// GeometricLate that of the areas from query [LateFrom] on, NaN for a smaller
	// budget: where methods that begin alike differ.
	GeometricAUC, GeometricLate float64
	// Rank is the average rank, 1 being the best, Solved the fraction of runs with a regret
	// below [Threshold].
	Rank, Solved []float64
	Calibration  Calibration
	// Against is the area over that of the default of cm-BO; nil for the default
	// itself, and where it is not compared.
	Against *Ratio
}

// Final returns the mean regret after the last query.
func (r *Result) Final() float64 { return r.Regret[len(r.Regret)-1] }

// Result returns what a method reached, nil if it is not compared.
func (c *Comparison) Result(method string) *Result {
	for i := range c.Results {
		if c.Results[i].Method == method {
			return &c.Results[i]
		}
	}
	return nil
}

// resamples is how often the bootstrap draws, seed what it draws from, coverage the
// probability content of all intervals.
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
	fields, methods, budget, err := fieldsOf(records)
	if err != nil {
		return nil, err
	}
	s := &Summary{
		Title:  "Comparison of tuning methods",
		Budget: budget, Budgets: slices.Compact([]int{budget / 5, budget / 2, budget}),
		resamples: resamples,
	}
	for _, f := range fields {
		s.Spaces = append(s.Spaces, f.space)
		s.Acquisitions = append(s.Acquisitions, f.acquisition)
	}
	s.Spaces, s.Acquisitions = unique(s.Spaces), unique(s.Acquisitions)
	if len(s.Acquisitions) > 1 && s.Acquisitions[0] == "" {
		s.Acquisitions = s.Acquisitions[1:]
	}
	slices.SortFunc(s.Acquisitions, compareAcquisitions)
	s.roster = newRoster(methods)
	return s, s.compareAll(fields)
}

func unique(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
