package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

// scope is all comparisons of a space, or over all of them: a section of the
// documents and a column of its figures for each acquisition function.
type scope struct {
	space string
	cs    []*Comparison
}

// scopes groups comparisons that have something to compare.
func scopes(cs []Comparison) []scope {
	var out []scope
	for i := range cs {
		c := &cs[i]
		if n := len(out); n == 0 || out[n-1].space != c.Space {
			out = append(out, scope{space: c.Space})
		}
		if len(c.Results) > 0 {
			out[len(out)-1].cs = append(out[len(out)-1].cs, c)
		}
	}
	return out
}

// acquisitionTitle is the title of a panel.
func acquisitionTitle(a string) string { return cmp.Or(a, "no acquisition function") }

// chosen selects the methods a figure has room for: the default variant, the two
// best of cm-BO, the three best rivals and the references, by the average rank
// after the last query, mean over the acquisition functions. The value is
// whether there is room for its band too, which the default and the best rival
// have.
func (s *Summary) chosen(sc scope) map[string]bool {
	sum, n := map[string]float64{}, map[string]float64{}
	var names []string
	for _, c := range sc.cs {
		for i := range c.Results {
			r := &c.Results[i]
			if n[r.Method] == 0 {
				names = append(names, r.Method)
			}
			sum[r.Method] += r.Rank[s.Budget]
			n[r.Method]++
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		// Sums of ranks may differ in their last bits only.
		x, y := math.Round(sum[a]/n[a]/rankUnit), math.Round(sum[b]/n[b]/rankUnit)
		return cmp.Or(cmp.Compare(x, y), s.roster.compare(a, b))
	})
	room := map[family]int{ownFamily: 2, reference: 2, rivalFamily: 3}
	in, rivals := map[string]bool{standard: true}, false
	for _, m := range names {
		if f := familyOf(m); room[f] > 0 {
			in[m] = in[m] || f == rivalFamily && !rivals
			rivals = rivals || f == rivalFamily
			if m != standard {
				room[f]--
			}
		}
	}
	return in
}

// curvePanel is a chart of a curve of each method that is in.
func (s *Summary) curvePanel(c *Comparison, title string, y plot.Axis, in map[string]bool, curve func(r *Result) []float64) *plot.Chart {
	ch := &plot.Chart{Title: title, X: plot.Axis{Label: "queries", Integer: true}, Y: y}
	queries := make([]float64, s.Budget+1)
	for i := range queries {
		queries[i] = float64(i)
	}
	for i := range c.Results {
		r := &c.Results[i]
		if _, ok := in[r.Method]; ok {
			ch.Series = append(ch.Series, plot.Series{Name: r.Method, X: queries, Y: curve(r), Style: s.roster.style[r.Method], Bold: r.Method == standard})
		}
	}
	return ch
}

// regretPanel is a chart of the regrets, with bands where there is room for them.
func (s *Summary) regretPanel(c *Comparison, axis plot.Axis, in map[string]bool) *plot.Chart {
	ch := s.curvePanel(c, acquisitionTitle(c.Acquisition), axis, in, func(r *Result) []float64 { return r.Regret })
	for i := range ch.Series {
		if r := c.Result(ch.Series[i].Name); in[r.Method] && finite(r.Lower[0]) {
			ch.Series[i].Lo, ch.Series[i].Hi = r.Lower, r.Upper
		}
	}
	return ch
}

// regretAxis is logarithmic and ends below the least mean that is shown rather
// than below the bands, which reach zero.
func regretAxis(cs []*Comparison, in map[string]bool) plot.Axis {
	least, most := 1.0, 0.0
	for _, c := range cs {
		for i := range c.Results {
			r := &c.Results[i]
			if _, ok := in[r.Method]; ok {
				for _, v := range r.Regret {
					if v > 0 {
						least, most = min(least, v), max(most, v)
					}
				}
			}
		}
	}
	if !(least < most) {
		return plot.Axis{Label: "mean regret", Zero: true}
	}
	return plot.Axis{Label: "mean regret", Log: true, Min: least / 1.6, Max: most * 1.15}
}

// bestFigure has a column for each acquisition function and rows for regret, rank and
// solved fraction.
func (s *Summary) bestFigure(sc scope) *plot.Figure {
	in := s.chosen(sc)
	f := &plot.Figure{Title: "Best of each kind, " + title(sc.space), Width: 960, Height: 210, Columns: len(sc.cs)}
	axis := regretAxis(sc.cs, in)
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.regretPanel(c, axis, in))
	}
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.curvePanel(c, "", plot.Axis{Label: "average rank"}, in, func(r *Result) []float64 { return r.Rank }))
	}
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.curvePanel(c, "", plot.Axis{Label: fmt.Sprintf("fraction below %g", Threshold), Zero: true}, in, func(r *Result) []float64 { return r.Solved }))
	}
	return f
}
