package report

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

// resultTable has a row for each method, lowest last regret first.
func (s *Summary) resultTable(c *Comparison) *plot.Table {
	t := &plot.Table{
		Caption: fmt.Sprintf("%s, %s: %s of %s. Mean regret after the queries in the heading, 95%% limits of the last one, area under the curve, its geometric mean over spaces, of the whole and of the late part, fraction of runs below %g, average rank at the end.",
			title(c.Space), acquisitionTitle(c.Acquisition), plural(c.Runs, "run", "runs"), plural(c.Tasks, "task", "tasks"), Threshold),
		Columns: plot.Titled("method"),
	}
	for i, q := range s.Budgets {
		heading := fmt.Sprintf("@%d", q)
		if i == 0 {
			heading = "regret " + heading
		}
		t.Columns = append(t.Columns, plot.Column{Title: heading, Best: plot.BestMin})
	}
	t.Columns = append(t.Columns, plot.Column{Title: "lower"}, plot.Column{Title: "upper"}, plot.Column{Title: "AUC", Best: plot.BestMin},
		plot.Column{Title: "geometric", Best: plot.BestMin}, plot.Column{Title: fmt.Sprintf("from @%d", LateFrom), Best: plot.BestMin},
		plot.Column{Title: "solved", Best: plot.BestMax}, plot.Column{Title: "rank", Best: plot.BestMin})
	for _, r := range byRegret(c) {
		row := []plot.Cell{plot.Str(r.Method)}
		for _, q := range s.Budgets {
			row = append(row, plot.Num(r.Regret[q], 4))
		}
		t.Rows = append(t.Rows, append(row, plot.Num(r.Lower[s.Budget], 4), plot.Num(r.Upper[s.Budget], 4), plot.Num(r.AUC, 4),
			plot.Num(r.GeometricAUC, 4), plot.Num(r.GeometricLate, 4), plot.Num(r.Solved[s.Budget], 3), plot.Num(r.Rank[s.Budget], 2)))
	}
	return t
}

// rivalTable holds the areas of all others over the default's; it has no row where the
// default is not compared.
func (s *Summary) rivalTable(c *Comparison) *plot.Table {
	t := &plot.Table{
		Caption: fmt.Sprintf("%s, %s: area under the curve of mean regret over that of %s, as a geometric mean over spaces. Above 1 is in its favour; 95%% limits by bootstrap over tasks.",
			title(c.Space), acquisitionTitle(c.Acquisition), standard),
		Columns: plot.Titled("other method", "area", "lower", "upper", "least", "in", "largest", "in"),
	}
	for _, r := range byRegret(c) {
		if a := r.Against; a != nil {
			t.Rows = append(t.Rows, []plot.Cell{plot.Str(r.Method), plot.Num(a.Mean, 2), plot.Num(a.Lower, 2), plot.Num(a.Upper, 2),
				plot.Num(a.LeastBy, 2), plot.Str(a.Least), plot.Num(a.LargestBy, 2), plot.Str(a.Largest)})
		}
	}
	return t
}

// calibrationTable has a row for each method that predicts, and columns for each
// acquisition function; nil if there is none.
func calibrationTable(sc scope) *plot.Table {
	t := &plot.Table{
		Caption: title(sc.space) + ": predictions of the queried values, range of a task's table = 1. Mean and median NLPD in nats, less is better; how much of the values the 90% interval held.",
		Columns: plot.Titled("method"),
	}
	// More columns than this do not fit on a page.
	each, spread := 3, len(sc.cs) <= 2
	if spread {
		each = 4
		t.Caption += " “sd” is the median predicted deviation."
	}
	var methods []string
	for _, c := range sc.cs {
		for i := range c.Results {
			if m := c.Results[i].Method; c.Results[i].Calibration.Predictions > 0 && !slices.Contains(methods, m) {
				methods = append(methods, m)
			}
		}
		a := ""
		if len(sc.cs) > 1 {
			a = c.Acquisition + " "
		}
		t.Columns = append(t.Columns, plot.Column{Title: a + "mean", Best: plot.BestMin}, plot.Column{Title: "med.", Best: plot.BestMin}, plot.Column{Title: "90%"})
		if spread {
			t.Columns = append(t.Columns, plot.Column{Title: "sd"})
		}
	}
	if len(methods) == 0 {
		return nil
	}
	for _, m := range methods {
		row := []plot.Cell{plot.Str(m)}
		for _, c := range sc.cs {
			r := c.Result(m)
			if r == nil || r.Calibration.Predictions == 0 {
				row = append(row, slices.Repeat([]plot.Cell{plot.Str("")}, each)...)
				continue
			}
			k := r.Calibration
			row = append(row, plot.Num(k.MeanNLPD, 2), plot.Num(k.MedianNLPD, 2), plot.Num(k.Coverage90, 3), plot.Num(k.MedianSD, 3))
			if !spread {
				row = row[:len(row)-1]
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// runTable tells what was compared.
func (s *Summary) runTable() *plot.Table {
	t := &plot.Table{
		Caption: "What was compared. Runs and tasks are those that all compared methods share.",
		Columns: plot.Titled("space", "acquisition", "methods", "tasks", "runs", "runs left out", "methods not compared"),
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		left, absent := 0, 0
		for _, e := range c.Entries {
			if e.Compared {
				left += e.Runs - c.Runs
			} else {
				absent++
			}
		}
		t.Rows = append(t.Rows, []plot.Cell{
			plot.Str(title(c.Space)), plot.Str(c.Acquisition), plot.Num(float64(len(c.Results)), 0),
			plot.Num(float64(c.Tasks), 0), plot.Num(float64(c.Runs), 0), plot.Num(float64(left), 0), plot.Num(float64(absent), 0),
		})
	}
	return t
}
