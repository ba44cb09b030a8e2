package web

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/plot"
)

// slicesTime is how long a page waits for what the model says.
const slicesTime = 300 * time.Millisecond

// modelSays returns what the model says, as far as it has come within that time.
func modelSays(t *study.Study, m *study.State) ([]study.Slice, *study.Advice) {
	if m.Observations == 0 {
		return nil, nil
	}
	newest, advice, done := t.Slices()
	select {
	case <-done:
		newest, advice, _ = t.Slices()
	case <-time.After(slicesTime):
	}
	return newest, advice
}

// recommendsAnother reports whether the model recommends another point than that of the best value.
func recommendsAnother(a *study.Advice, m *study.State) bool {
	return a != nil && m.Best != nil && a.Recommended.X != nil && !slices.Equal(a.Recommended.X, m.Best.X)
}

// modelSection shows what the model says: whether the past helps and what is left to
// gain, the values along each parameter, and how well it foretold those that were
// measured.
func modelSection(p *plot.Page, t *study.Study, m *study.State, newest []study.Slice, advice *study.Advice) {
	if len(m.Values) == 0 {
		return
	}
	p.Section("The model")
	adviceText(p, advice)
	if recommendsAnother(advice, m) {
		p.Pre(spaced(compact(config(t.Space(), advice.Recommended.X))))
	}
	parameterCharts(p, t, m, newest)
	importanceChart(p, advice)
	forecastChart(p, t, m)
}

// adviceText says in words whether the past helps, how far to trust the model, and
// what is left to gain.
func adviceText(p *plot.Page, a *study.Advice) {
	if a == nil {
		return
	}
	var lines []string
	if a.Transfer.Hypotheses != nil {
		lines = append(lines, sentence(a.Transfer.String()))
	}
	lines = append(lines, sentence(a.Calibration.String()), sentence(a.Outlook.String()))
	if a.Recommended.X != nil && a.Recommended.Again != nil {
		lines = append(lines, sentence(a.Recommended.String()))
	}
	p.Text(strings.Join(lines, " "))
	if a.Transfer.Verdict == cmbo.TransferUnknown {
		return
	}
	var items []string
	levels := make(map[cmbo.Level]bool)
	for _, s := range a.Transfer.Hypotheses {
		levels[s.Level] = true
	}
	for _, l := range slices.Sorted(maps.Keys(levels)) {
		item, shown := "", 0
		for _, s := range a.Transfer.Hypotheses {
			if s.Level == l && s.Mass >= 0.005 && shown < shownShares {
				if shown++; shown > 1 {
					item += ", "
				}
				item += s.String()
			}
		}
		mass, reversed := a.Transfer.Mass(l)
		if l > cmbo.LevelPopulation {
			item = fmt.Sprintf("%ss %.0f %%: %s", l, 100*mass, item)
		} else if item == "" {
			item = fmt.Sprintf("%s %.0f %%", l, 100*mass)
		}
		if l > cmbo.LevelNone && reversed >= 0.005 {
			item += fmt.Sprintf("; of it %.0f %% upside down", 100*reversed/mass)
		}
		items = append(items, strings.TrimSuffix(item, ": "))
	}
	p.Text(fmt.Sprintf("What the past was found to bear on this task, after %s:", names.Count(a.Observations, "value")))
	p.List(items...)
}

// shownShares bounds the hypotheses of a level that are named.
const shownShares = 4

// sentence makes one of words.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// parameterCharts draws the values against each parameter, and what the model
// says along it.
func parameterCharts(p *plot.Page, t *study.Study, m *study.State, model []study.Slice) {
	obs := m.Values
	values, axis := valueAxis(t, obs)
	var figures []*plot.Figure
	off := false
	for i, param := range t.Space().Params() {
		if i == shownParams {
			break
		}
		c := &plot.Chart{X: paramAxis(param), Y: values}
		switch {
		case i >= len(model):
		case discrete(param):
			c.Series = append(c.Series, bars(&model[i], axis)...)
		default:
			s := plot.Series{Name: modelName, Style: 1, Plain: true}
			for k, q := range model[i].Values {
				s.X = append(s.X, place(param, model[i].X[k]))
				if axis.clamp(q.Median) != q.Median {
					s.Y = append(s.Y, math.NaN()) // the curve leaves the axis
				} else {
					s.Y = append(s.Y, q.Median)
				}
				s.Lo, s.Hi = append(s.Lo, axis.clamp(q.Low)), append(s.Hi, axis.clamp(q.High))
			}
			c.Series = append(c.Series, s)
		}
		points := newCloud(t, axis)
		for k := max(0, len(obs)-shownPoints); k < len(obs); k++ {
			points.add(place(param, obs[k].X[i]), &obs[k])
		}
		off = off || points.beyond.X != nil
		c.Series = append(c.Series, points.series()...)
		if best := m.Best; best != nil {
			c.Series = append(c.Series, theBest(place(param, best.X[i]), axis.clamp(best.Y)))
		}
		figures = append(figures, &plot.Figure{Panels: []*plot.Chart{c}, Width: panelWidth, Height: 180})
	}
	caption := "The values against each parameter. "
	switch n := len(obs); {
	case model == nil:
		caption += "The model's curves are being computed; they are here when the page is loaded again."
	case len(model) > 0 && model[0].Observations < n:
		caption += fmt.Sprintf("The curve is what the model expected after %s, with the interval that holds 90 %% of it, the other parameters being those of the best point then.", names.Count(model[0].Observations, "observation"))
	default:
		caption += "The curve is what the model expects, with the interval that holds 90 % of it, where the other parameters are those of the best point."
	}
	if off {
		caption += " What lies beyond the axis of values is at its edge."
	}
	if n := len(t.Space().Params()); n > shownParams {
		caption += fmt.Sprintf(" The first %d of %d parameters.", shownParams, n)
	}
	p.Figure(caption, figures...)
}

// importanceChart draws what the parameters are worth, the most important at the top.
func importanceChart(p *plot.Page, a *study.Advice) {
	if a == nil || len(a.Importance) < 2 {
		return
	}
	most := slices.SortedStableFunc(slices.Values(a.Importance),
		func(a, b cmbo.Importance) int { return cmp.Compare(b.Total, a.Total) })
	if most[0].Total == 0 {
		return
	}
	most = most[:min(len(most), shownParams)]
	c := &plot.Chart{X: plot.Axis{Label: "share of the variance", Min: 0, Max: 1},
		Y: plot.Axis{Names: make([]string, len(most))}}
	alone, total := plot.Series{Name: "alone", Style: 1, Points: true},
		plot.Series{Name: "with others, too", Style: 3, Points: true}
	for k, i := range most {
		y := float64(len(most) - 1 - k)
		c.Y.Names[len(most)-1-k] = short(i.Param, 20)
		c.Series = append(c.Series, plot.Series{X: []float64{0, i.First}, Y: []float64{y, y}, Plain: true, Bold: true,
			Style: 1})
		alone.X, alone.Y = append(alone.X, i.First), append(alone.Y, y)
		total.X, total.Y = append(total.X, i.Total), append(total.Y, y)
	}
	c.Series = append(c.Series, alone, total)
	p.Figure("How much of what the model says of the space follows from each parameter.",
		&plot.Figure{Panels: []*plot.Chart{c}, Width: panelWidth, Height: 40 + 24*float64(len(most))})
}

// modelName is how the legend calls what the model says.
const modelName = "model, 90 %"

// bars shows what the model says of choices: the median and a bar of the interval that holds
// 90 % for each, as there is nothing between them.
func bars(s *study.Slice, axis limits) []plot.Series {
	const style = 1
	medians := plot.Series{Name: modelName, Points: true, Style: style}
	var out []plot.Series
	for k, q := range s.Values {
		x := s.X[k]
		if axis.clamp(q.Median) == q.Median {
			medians.X, medians.Y = append(medians.X, x), append(medians.Y, q.Median)
		}
		out = append(out, plot.Series{X: []float64{x, x}, Y: []float64{axis.clamp(q.Low), axis.clamp(q.High)}, Plain: true,
			Bold: true, Style: style})
	}
	return append(out, medians)
}

// shownParams bounds the charts of parameters.
const shownParams = 12

// discrete reports whether a parameter has choices without an order.
func discrete(p cmbo.Param) bool {
	return p.Kind() == cmbo.KindCategorical || p.Kind() == cmbo.KindBool
}

// place returns where a value stands on the axis of its parameter. The values of an
// ordinal are equally far apart there, as they are for the model.
func place(p cmbo.Param, v float64) float64 {
	if p.Kind() != cmbo.KindOrdinal {
		return v
	}
	return float64(slices.Index(p.Values(), v))
}

// paramAxis is the axis of a parameter: logarithmic where its range is, with the
// names of choices and the numbers of ordinals.
func paramAxis(p cmbo.Param) plot.Axis {
	a := plot.Axis{Label: p.Name()}
	switch p.Kind() {
	case cmbo.KindCategorical, cmbo.KindBool, cmbo.KindOrdinal:
		names := p.Choices()
		if p.Kind() == cmbo.KindBool {
			names = []string{"false", "true"}
		}
		for _, v := range p.Values() {
			names = append(names, compact(v))
		}
		for _, name := range names {
			a.Names = append(a.Names, short(name, 12))
		}
	case cmbo.KindLogFloat, cmbo.KindLogInt:
		a.Log = true
	case cmbo.KindInt:
		a.Integer = true
	}
	return a
}

// short cuts a name of more than n characters.
func short(name string, n int) string {
	if r := []rune(name); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return name
}

// forecastChart draws what the model expected of values against what was measured.
func forecastChart(p *plot.Page, t *study.Study, m *study.State) {
	var all []study.Observation
	n := 0
	s, beyond := plot.Series{Name: "trials", Points: true, Style: 1}, beyondPoints()
	for _, tr := range m.Trials {
		f := tr.Expected
		if f == nil || tr.Status != api.Told {
			continue
		}
		n++
		expected := f.Mean
		if t.Positive() && f.Median > 0 { // a mean of a lognormal value follows its tail
			expected = f.Median
		}
		s.X, s.Y = append(s.X, expected), append(s.Y, tr.Y)
		all = append(all, study.Observation{Y: tr.Y}, study.Observation{Y: expected})
	}
	if n < 3 {
		return
	}
	values, axis := valueAxis(t, m.Values)
	lo, hi := axis.lo, axis.hi
	if math.IsNaN(lo) || math.IsNaN(hi) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for _, o := range all {
			lo, hi = min(lo, o.Y), max(hi, o.Y)
		}
	}
	at := s
	s.X, s.Y = nil, nil
	for i := range at.X {
		x, y, to := axis.clamp(at.X[i]), axis.clamp(at.Y[i]), &s
		if x != at.X[i] || y != at.Y[i] {
			to = &beyond
		}
		to.X, to.Y = append(to.X, x), append(to.Y, y)
	}
	diagonal := plot.Series{Name: "as expected", X: []float64{lo, hi}, Y: []float64{lo, hi}, Plain: true, Style: 8}
	chart := &plot.Chart{
		X: values, Y: values,
		Series: []plot.Series{diagonal, s},
	}
	chart.X.Label, chart.Y.Label = "expected "+valueLabel(t), "measured"
	caption := "What the model expected when it chose a trial, and what was measured."
	if len(beyond.X) > 0 {
		chart.Series = append(chart.Series, beyond)
		caption += " What lies beyond an axis is at its edge."
	}
	p.Figure(caption, &plot.Figure{Panels: []*plot.Chart{chart}, Width: panelWidth})
}
