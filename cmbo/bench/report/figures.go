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

const (
	figureWidth = 960
	plotHeight  = 210
)

// acquisitionTitle is the title of a panel.
func acquisitionTitle(a string) string {
	if a == "" {
		return "no acquisition function"
	}
	return a
}

// queries is the horizontal axis of curves, from 0.
func (s *Summary) queries(points int) []float64 {
	x := make([]float64, s.Budget+1)
	for i := range x {
		x[i] = float64(i)
	}
	return thin(x, points)
}

// thin returns about so many points of a curve, evenly spaced and with both ends;
// 0 stands for all.
func thin(curve []float64, points int) []float64 {
	n := len(curve) - 1
	if points < 2 || n < points {
		return curve
	}
	out := make([]float64, points)
	for i := range out {
		out[i] = curve[i*n/(points-1)]
	}
	return out
}

// chosen selects the methods a figure has room for: the default variant, the two
// best of cm-BO, the three best rivals and the references, by the average rank
// after the last query, mean over the acquisition functions. The value is
// whether there is room for its band too, which the default and the best rival
// have. With few, it is one of cm-BO beside the default and two rivals.
func (s *Summary) chosen(sc scope, few bool) map[string]bool {
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
	if few {
		room = map[family]int{ownFamily: 1, reference: 2, rivalFamily: 2}
	}
	in, rivals := map[string]bool{standard(): true}, false
	for _, m := range names {
		if f := familyOf(m); room[f] > 0 {
			in[m] = in[m] || f == rivalFamily && !rivals
			rivals = rivals || f == rivalFamily
			if m != standard() {
				room[f]--
			}
		}
	}
	return in
}

// curvePanel is a chart of a curve of each method that is in, drawn with so many
// points, 0 for all.
func (s *Summary) curvePanel(c *Comparison, title string, y plot.Axis, in func(r *Result) bool, curve func(r *Result) []float64, band func(r *Result) bool, points int) *plot.Chart {
	ch := &plot.Chart{Title: title, X: plot.Axis{Label: "queries", Integer: true}, Y: y}
	for i := range c.Results {
		r := &c.Results[i]
		if !in(r) {
			continue
		}
		x := plot.Series{Name: r.Method, X: s.queries(points), Y: thin(curve(r), points), Style: s.roster.style[r.Method], Bold: r.Method == standard()}
		if points > 0 {
			x.Plain = true // most of a file's size
		}
		if band != nil && band(r) && finite(r.Lower[0]) {
			x.Lo, x.Hi = thin(r.Lower, points), thin(r.Upper, points)
		}
		ch.Series = append(ch.Series, x)
	}
	return ch
}

// regretAxis is logarithmic and ends below the least mean that is shown rather
// than below the bands, which reach zero.
func regretAxis(cs []*Comparison, in func(r *Result) bool) plot.Axis {
	least, most := 1.0, 0.0
	for _, c := range cs {
		for i := range c.Results {
			if r := &c.Results[i]; in(r) {
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

func regretOf(r *Result) []float64 { return r.Regret }

// bestFigure has a column for each acquisition function and rows for regret,
// rank, solved fraction and performance profile, or the regret alone.
func (s *Summary) bestFigure(sc scope, all bool, points int) *plot.Figure {
	names := s.chosen(sc, !all)
	in := func(r *Result) bool { _, ok := names[r.Method]; return ok }
	band := func(r *Result) bool { return all && names[r.Method] }
	f := &plot.Figure{Title: "Best of each kind, " + scopeName(sc.space), Width: figureWidth, Height: plotHeight, Columns: len(sc.cs)}
	axis := regretAxis(sc.cs, in)
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.curvePanel(c, acquisitionTitle(c.Acquisition), axis, in, regretOf, band, points))
	}
	if !all {
		return f
	}
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.curvePanel(c, "", plot.Axis{Label: "average rank"}, in, func(r *Result) []float64 { return r.Rank }, nil, points))
	}
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.curvePanel(c, "", plot.Axis{Label: fmt.Sprintf("fraction below %g", Threshold), Min: 0, Max: math.Inf(1)}, in, func(r *Result) []float64 { return r.Solved }, nil, points))
	}
	for _, c := range sc.cs {
		f.Panels = append(f.Panels, s.profilePanel(c, in, points))
	}
	if len(sc.cs) == 1 {
		f.Columns = 2
		for i, t := range []string{"Regret", "Average rank", "Solved", "Performance profile"} {
			f.Panels[i].Title = t + ", " + acquisitionTitle(sc.cs[0].Acquisition)
		}
	}
	return f
}

func (s *Summary) profilePanel(c *Comparison, in func(r *Result) bool, points int) *plot.Chart {
	ch := &plot.Chart{
		X:     plot.Axis{Label: "regret C after the last query", Log: true},
		Y:     plot.Axis{Label: "fraction below C", Min: 0, Max: 1},
		Rules: []plot.Rule{{Name: fmt.Sprintf("C = %g", Threshold), At: Threshold, Vertical: true}},
	}
	for i := range c.Results {
		if r := &c.Results[i]; in(r) {
			x := plot.Series{Name: r.Method, X: thin(s.Thresholds, points), Y: thin(r.Profile, points), Style: s.roster.style[r.Method], Bold: r.Method == standard()}
			if points > 0 {
				x.Plain = true
			}
			ch.Series = append(ch.Series, x)
		}
	}
	return ch
}

// familyFigure has the regret curves of all methods of some families, without panels that
// would have a single one.
func (s *Summary) familyFigure(sc scope, points int, title string, fs ...family) *plot.Figure {
	in := func(r *Result) bool { return slices.Contains(fs, familyOf(r.Method)) }
	f := &plot.Figure{Title: title + ", " + scopeName(sc.space), Width: figureWidth, Height: 260, Columns: len(sc.cs)}
	axis := regretAxis(sc.cs, in)
	for _, c := range sc.cs {
		if ch := s.curvePanel(c, acquisitionTitle(c.Acquisition), axis, in, regretOf, nil, points); len(ch.Series) > 1 {
			f.Panels = append(f.Panels, ch)
		}
	}
	f.Columns = len(f.Panels)
	return f
}

// calibrationFigure shows the coverage of the methods in the order of their last
// regrets, a panel for each acquisition function; nil if nothing was predicted.
func (s *Summary) calibrationFigure(sc scope) *plot.Figure {
	f := &plot.Figure{Title: "Coverage of the 90% interval, " + scopeName(sc.space), Width: figureWidth, Height: 60}
	for _, c := range sc.cs {
		ch := &plot.Chart{
			Title: acquisitionTitle(c.Acquisition),
			X:     plot.Axis{Label: "coverage", Min: 0, Max: 1},
			Rules: []plot.Rule{{Name: "0.90", At: 0.9, Vertical: true}},
		}
		points := plot.Series{Points: true, Style: 7}
		for _, r := range slices.Backward(byRegret(c)) {
			if r.Calibration.Predictions > 0 {
				points.X, points.Y = append(points.X, r.Calibration.Coverage90), append(points.Y, float64(len(ch.Y.Names)))
				ch.Y.Names = append(ch.Y.Names, r.Method)
			}
		}
		if n := len(ch.Y.Names); n > 0 {
			ch.Series = []plot.Series{points}
			f.Panels, f.Height = append(f.Panels, ch), max(f.Height, 18*float64(n))
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	f.Columns = min(2, len(f.Panels)) // the names need the room
	return f
}
