package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

// resultTable has a row for each method, lowest last regret first.
func (s *Summary) resultTable(c *Comparison) *plot.Table {
	t := &plot.Table{
		Caption: fmt.Sprintf("%s, %s: %s of %s. Mean regret after the queries in the heading, 95%% limits of the last one, area under the curve, its geometric mean over spaces, of the whole and of the late part, fraction of runs below %g, and how many methods the row beats and loses to beyond doubt.",
			title(c.Space), acquisitionTitle(c.Acquisition), plural(c.Runs, "run", "runs"), plural(c.Tasks, "task", "tasks"), Threshold),
		Columns: plot.Titled("method"),
	}
	for i, q := range s.Budgets {
		t.Columns = append(t.Columns, plot.Column{Title: atQuery("regret", i, q), Best: plot.BestMin})
	}
	t.Columns = append(t.Columns, plot.Column{Title: "lower"}, plot.Column{Title: "upper"}, plot.Column{Title: "AUC", Best: plot.BestMin},
		plot.Column{Title: "geometric", Best: plot.BestMin}, plot.Column{Title: fmt.Sprintf("from @%d", LateFrom), Best: plot.BestMin},
		plot.Column{Title: "solved", Best: plot.BestMax}, plot.Column{Title: "beats"}, plot.Column{Title: "loses to"})
	for _, r := range byRegret(c) {
		row := []plot.Cell{plot.Str(r.Method)}
		for _, q := range s.Budgets {
			row = append(row, plot.Num(r.Regret[q], 4))
		}
		better, worse := 0, 0
		for i := range c.Results {
			if p, ok := c.Pair(r.Method, c.Results[i].Method); ok {
				switch p.Regret.Sign() {
				case -1:
					better++
				case 1:
					worse++
				}
			}
		}
		t.Rows = append(t.Rows, append(row, plot.Num(r.Lower[s.Budget], 4), plot.Num(r.Upper[s.Budget], 4), plot.Num(r.AUC, 4),
			plot.Num(r.GeometricAUC, 4), plot.Num(r.GeometricLate, 4),
			plot.Num(r.Solved[s.Budget], 3), plot.Num(float64(better), 0), plot.Num(float64(worse), 0)))
	}
	return t
}

// atQuery heads the i-th of several columns about one thing after q queries, of
// which only the first one says what it is.
func atQuery(what string, i, q int) string {
	if i > 0 || what == "" {
		return fmt.Sprintf("@%d", q)
	}
	return fmt.Sprintf("%s @%d", what, q)
}

// rankTable has a row for each method, lowest last rank first, and columns for
// each acquisition function.
func (s *Summary) rankTable(sc scope) *plot.Table {
	t := &plot.Table{
		Caption: title(sc.space) + ": average rank among the compared methods after the queries in the heading. Ranks of different acquisition functions are not comparable where the number of methods differs.",
		Columns: plot.Titled("method"),
	}
	type line struct {
		method string
		last   float64 // mean over acquisition functions
		cells  []plot.Cell
	}
	var lines []line
	for _, c := range sc.cs {
		for i := range c.Results {
			m := c.Results[i].Method
			if !slices.ContainsFunc(lines, func(l line) bool { return l.method == m }) {
				lines = append(lines, line{method: m, cells: []plot.Cell{plot.Str(m)}})
			}
		}
	}
	for k := range lines {
		n := 0.0
		for _, c := range sc.cs {
			r := c.Result(lines[k].method)
			for _, q := range s.Budgets {
				cell := plot.Str("")
				if r != nil {
					cell = plot.Num(r.Rank[q], 2)
				}
				lines[k].cells = append(lines[k].cells, cell)
			}
			if r != nil {
				lines[k].last += r.Rank[s.Budget]
				n++
			}
		}
		lines[k].last = math.Round(lines[k].last / n / rankUnit)
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.last, b.last), s.roster.compare(a.method, b.method))
	})
	for _, c := range sc.cs {
		for i, q := range s.Budgets {
			t.Columns = append(t.Columns, plot.Column{Title: atQuery(c.Acquisition, i, q), Best: plot.BestMin})
		}
	}
	for _, l := range lines {
		t.Rows = append(t.Rows, l.cells)
	}
	return t
}

// rivalTable holds the default variant of cm-BO against every other method, nil
// if it is not compared.
func (s *Summary) rivalTable(c *Comparison) *plot.Table {
	if c.Result(standard()) == nil || len(c.Results) < 2 {
		return nil
	}
	t := &plot.Table{
		Caption: fmt.Sprintf("%s, %s: %s minus each other method, paired bootstrap over tasks. Negative is in its favour; 95%% limits; “share” is the fraction of resamples in its favour; no verdict on the regret where its limits include zero.",
			title(c.Space), acquisitionTitle(c.Acquisition), standard()),
		Columns: plot.Titled("other method", fmt.Sprintf("regret @%d", s.Budget), "lower", "upper", "share", "verdict", "AUC", "lower", "upper"),
	}
	for _, r := range byRegret(c) {
		p, ok := c.Pair(standard(), r.Method)
		if !ok {
			continue
		}
		verdict := ""
		switch p.Regret.Sign() {
		case -1:
			verdict = "beats"
		case 1:
			verdict = "loses"
		}
		d, a := p.Regret, p.AUC
		t.Rows = append(t.Rows, []plot.Cell{
			plot.Str(r.Method), plot.Num(d.Mean, 4), plot.Num(d.Lower, 4), plot.Num(d.Upper, 4), plot.Num(d.Share, 3), plot.Str(verdict),
			plot.Num(a.Mean, 4), plot.Num(a.Lower, 4), plot.Num(a.Upper, 4),
		})
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

// timeTable has the wall times of one space, nil for none.
func (s *Summary) timeTable(space string) *plot.Table {
	t := &plot.Table{
		Caption: title(space) + ": median wall time of one goroutine, in seconds. Offline is learning from the past tasks of one split, online one query.",
		Columns: plot.Titled("method", "offline (s)", "learned", "online (s/query)", "runs"),
	}
	for _, x := range s.Times {
		if x.Space == space {
			t.Rows = append(t.Rows, []plot.Cell{plot.Str(x.Method), plot.Sig(x.Offline), plot.Num(float64(x.Learned), 0), plot.Sig(x.Online), plot.Num(float64(x.Runs), 0)})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// pairTable is the matrix of who beats whom as text: "<" where the row has the
// lower regret beyond doubt, ">" where it has the higher one.
func pairTable(c *Comparison) *plot.Table {
	t := &plot.Table{Columns: plot.Titled("method")}
	rs := byRegret(c)
	for i, a := range rs {
		t.Columns = append(t.Columns, plot.Column{Title: fmt.Sprint(i + 1)})
		row := []plot.Cell{plot.Str(fmt.Sprintf("%d %s", i+1, a.Method))}
		for _, b := range rs {
			mark := ""
			if p, ok := c.Pair(a.Method, b.Method); ok {
				mark = [...]string{"<", "·", ">"}[p.Regret.Sign()+1]
			}
			row = append(row, plot.Str(mark))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
