package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/plot"
)

// WriteHTML writes the report as one HTML file that needs nothing else. It is
// readable on paper and follows the reader's light or dark theme.
func (s *Summary) WriteHTML(w io.Writer) error {
	p := plot.NewPage(s.Title)
	p.Text(s.Notes...)
	p.Section("What was compared")
	p.Table(s.runTable())
	looks := map[string]int{}
	for cs := s.Comparisons; len(cs) > 0; {
		n := 1
		for n < len(cs) && cs[n].Space == cs[0].Space {
			n++
		}
		s.section(p, cs[:n], looks)
		cs = cs[n:]
	}
	p.Section("How the numbers are defined")
	p.List(
		"Regret: the best value of the task's table minus the best value found, divided by the range of the table. Means are over runs within a space, and over spaces with equal weight. Limits: 95%, from the differences between tasks, all runs of a task together; there are none where a space has a single task.",
		fmt.Sprintf("Bootstrap of ratios: %d times as many tasks as a space has are drawn with replacement, with all of their runs and for both methods alike (seed %d); the interval holds the middle 95%%, and is too narrow where a space has few tasks. Mean areas below %g count as that.", s.resamples, seed, leastArea),
		fmt.Sprintf("AUC: the mean regret after each of the queries; geometric: the geometric mean of the spaces' AUC; from @%d: the same from that query on. In both a mean below %g counts as that.", lateFrom, leastArea),
		fmt.Sprintf("Rank: among the compared methods in the same run, regrets rounded to 1e-8, ties averaged; 1 is the best. Solved: the fraction of runs with a regret below %g.", threshold),
		"NLPD: negative logarithm of the predictive normal density of a queried value, noise included, just before it was told, where the range of the table is 1. Every method is judged at the configurations that it asked for itself. A coverage below 0.90 means that it is more certain than it should be, above that it is less.",
		"Runs enter a comparison only if all compared methods have them. A method with less than half of the runs of a space is not compared there, and over all spaces only methods compared in each of them are. One without an acquisition function, such as random search, stands beside every one with the same runs.")
	_, err := io.WriteString(w, p.String())
	return err
}

// runTable tells what was compared.
func (s *Summary) runTable() *plot.Table {
	t := &plot.Table{
		Caption: "What was compared. Runs and tasks are those that all compared methods share.",
		Columns: plot.Titled("space", "acquisition", "methods", "tasks", "runs", "runs left out", "not compared"),
	}
	for _, c := range s.Comparisons {
		t.Rows = append(t.Rows, slices.Concat([]plot.Cell{plot.Str(title(c.Space)), plot.Str(c.Acquisition)},
			numbers(0, float64(len(c.Results)), float64(c.Tasks), float64(c.Runs), float64(c.Left)),
			[]plot.Cell{plot.Str(strings.Join(c.Absent, ", "))}))
	}
	return t
}

func numbers(decimals int, values ...float64) []plot.Cell {
	return each.Of(values, func(v float64) plot.Cell { return plot.Num(v, decimals) })
}

// section shows the comparisons of a space, or over all of them, one for each acquisition.
// looks is what methods have in the figures of the page.
func (s *Summary) section(p *plot.Page, cs []Comparison, looks map[string]int) {
	cs = slices.DeleteFunc(slices.Clone(cs), func(c Comparison) bool { return len(c.Results) == 0 })
	if len(cs) == 0 {
		return
	}
	p.Section("Results: " + title(cs[0].Space))
	p.Figure("Mean normalised simple regret, 0 along the lower edge, with 95% confidence bands over tasks for the default of cm-BO and the rival that is best over all acquisitions, average rank among all methods, and fraction of runs below the threshold. Shown are the default of cm-BO (bold), the two best others of cm-BO, the three best rivals and the references, chosen by the average rank after the last query, which flatters them. Bands show how much tasks differ, most of which is common to all methods: see the ratios of areas for comparisons.", s.figure(cs, looks))
	for i := range cs {
		for _, t := range s.methodTables(&cs[i]) {
			if len(t.Rows) > 0 {
				p.Table(t)
			}
		}
	}
}

// methodTables are what methods reached, how that compares with the default, and how good
// predictions were, each with a row for each method that has such numbers.
func (s *Summary) methodTables(c *Comparison) [3]*plot.Table {
	of := title(c.Space) + ", " + acquisitionTitle(c.Acquisition)
	reached := &plot.Table{
		Caption: fmt.Sprintf("%s: %d runs of %d tasks. Mean regret after the queries in the heading, 95%% limits of the last one, area under the curve, its geometric mean over spaces, of the whole and of the late part, fraction of runs below %g, average rank at the end.",
			of, c.Runs, c.Tasks, threshold),
		Columns: plot.Titled("method"),
	}
	budgets := slices.Compact([]int{s.Budget / 5, s.Budget / 2, s.Budget})
	for _, q := range budgets {
		reached.Columns = append(reached.Columns, plot.Column{Title: fmt.Sprintf("@%d", q), Best: plot.BestMin})
	}
	reached.Columns[1].Title = "regret " + reached.Columns[1].Title
	reached.Columns = append(reached.Columns, plot.Column{Title: "lower"}, plot.Column{Title: "upper"},
		plot.Column{Title: "AUC", Best: plot.BestMin}, plot.Column{Title: "geometric", Best: plot.BestMin},
		plot.Column{Title: fmt.Sprintf("from @%d", lateFrom), Best: plot.BestMin},
		plot.Column{Title: "solved", Best: plot.BestMax}, plot.Column{Title: "rank", Best: plot.BestMin})
	against := &plot.Table{
		Caption: of + ": area under the curve of mean regret over that of " + standard +
			", as a geometric mean over spaces. Above 1 is in favour of " + standard + "; 95% limits by bootstrap over tasks.",
		Columns: plot.Titled("other method", "area", "lower", "upper", "least", "in", "largest", "in"),
	}
	predicted := &plot.Table{
		Caption: of + ": predictions of the queried values, range of a task's table = 1. Mean and median NLPD in nats, less is better; how much of the values the 90% interval held; the median predicted deviation.",
		Columns: plot.Titled("method", "mean", "median", "90%", "deviation"),
	}
	predicted.Columns[1].Best, predicted.Columns[2].Best = plot.BestMin, plot.BestMin
	best := slices.SortedStableFunc(slices.Values(c.Results), func(a, b Result) int {
		return cmp.Compare(math.Round(a.Final()/rankUnit), math.Round(b.Final()/rankUnit))
	})
	for _, r := range best {
		name := []plot.Cell{plot.Str(r.Method)}
		regrets := each.Of(budgets, func(q int) float64 { return r.Regret[q] })
		regrets = append(regrets, r.Lower[s.Budget], r.Upper[s.Budget], r.AUC, r.GeometricAUC, r.GeometricLate)
		reached.Rows = append(reached.Rows, slices.Concat(name, numbers(4, regrets...), numbers(3, r.Solved[s.Budget]),
			numbers(2, r.Rank[s.Budget])))
		if a := r.Against; a != nil {
			against.Rows = append(against.Rows, slices.Concat(name, numbers(2, a.Mean, a.Lower, a.Upper, a.LeastBy),
				[]plot.Cell{plot.Str(a.Least), plot.Num(a.LargestBy, 2), plot.Str(a.Largest)}))
		}
		if k := r.Calibration; k.Predictions > 0 {
			predicted.Rows = append(predicted.Rows,
				slices.Concat(name, numbers(2, k.MeanNLPD, k.MedianNLPD), numbers(3, k.Coverage90, k.MedianSD)))
		}
	}
	return [3]*plot.Table{reached, against, predicted}
}

// shown selects the methods that a figure has room for: the default, the two best others of
// cm-BO, the three best rivals and the references, by the average rank after the last query,
// mean over the acquisition functions. Bands are shown of the default and the best rival.
func (s *Summary) shown(cs []Comparison) (methods, bands []string) {
	sum, n := map[string]float64{}, map[string]float64{}
	for _, c := range cs {
		for _, r := range c.Results {
			sum[r.Method] += r.Rank[s.Budget]
			n[r.Method]++
		}
	}
	names := slices.Sorted(maps.Keys(sum))
	slices.SortStableFunc(names, func(a, b string) int {
		// Sums of ranks may differ in their last bits only.
		return cmp.Compare(math.Round(sum[a]/n[a]/rankUnit), math.Round(sum[b]/n[b]/rankUnit))
	})
	room := map[string]int{ownFamily: 2, reference: 2, rivalFamily: 3}
	methods, bands = []string{standard}, []string{standard}
	for _, m := range names {
		f := familyOf(m)
		if m == standard || room[f] == 0 {
			continue
		}
		if f == rivalFamily && room[f] == 3 {
			bands = append(bands, m)
		}
		methods = append(methods, m)
		room[f]--
	}
	return methods, bands
}

// figure has a column for each acquisition function and rows for regret, rank and solved fraction.
func (s *Summary) figure(cs []Comparison, looks map[string]int) *plot.Figure {
	methods, bands := s.shown(cs)
	queries := each.Below(s.Budget+1, func(q int) float64 { return float64(q) })
	// The axis of regrets ends below the least mean rather than below the bands, which reach zero.
	least, most := 1.0, 0.0
	regret, rank, solved := make([]*plot.Chart, len(cs)), make([]*plot.Chart, len(cs)), make([]*plot.Chart, len(cs))
	for i, c := range cs {
		x := plot.Axis{Label: "queries", Integer: true}
		regret[i] = &plot.Chart{Title: acquisitionTitle(c.Acquisition), X: x}
		rank[i] = &plot.Chart{X: x, Y: plot.Axis{Label: "average rank"}}
		solved[i] = &plot.Chart{X: x, Y: plot.Axis{Label: fmt.Sprintf("fraction below %g", threshold), Zero: true}}
		for _, r := range c.Results {
			if !slices.Contains(methods, r.Method) {
				continue
			}
			if looks[r.Method] == 0 {
				looks[r.Method] = len(looks) + 1
			}
			for _, v := range r.Regret {
				if v > 0 {
					least, most = min(least, v), max(most, v)
				}
			}
			curve := plot.Series{Name: r.Method, X: queries, Plain: true, Bold: r.Method == standard, Style: looks[r.Method]}
			curve.Y = r.Rank
			rank[i].Series = append(rank[i].Series, curve)
			curve.Y = r.Solved
			solved[i].Series = append(solved[i].Series, curve)
			curve.Y = r.Regret
			if slices.Contains(bands, r.Method) && finite(r.Lower[0]) {
				curve.Lo, curve.Hi = r.Lower, r.Upper
			}
			regret[i].Series = append(regret[i].Series, curve)
		}
	}
	for _, c := range regret {
		c.Y = plot.Axis{Label: "mean regret", Log: true, Min: least / 1.6, Max: most * 1.15}
	}
	return &plot.Figure{
		Title: "Best of each kind, " + title(cs[0].Space), Panels: slices.Concat(regret, rank, solved),
		Columns: len(cs), Width: 960, Height: 210,
	}
}

func title(space string) string { return cmp.Or(space, "All spaces") }

func acquisitionTitle(a string) string { return cmp.Or(a, "no acquisition function") }
