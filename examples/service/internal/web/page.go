package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/plot"
)

const (
	shownTrials = 100  // rows of the table, the newest
	shownPoints = 1000 // points of a curve; the best so far is drawn from all
)

// page serves a study's page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	t, err := s.study(r)
	if err != nil {
		s.html(w, http.StatusNotFound, missingPage())
		return
	}
	s.html(w, http.StatusOK, s.studyPage(t))
}

func (s *Server) html(w http.ResponseWriter, status int, p *plot.Page) {
	s.reply(w, status, raw{"text/html; charset=utf-8", []byte(p.String())})
}

func missingPage() *plot.Page {
	p := plot.NewPage("No such study")
	p.HTML(backLink)
	return p
}

const backLink = "<p><a href=\"/\">All studies</a></p>\n"

func (s *Server) studyPage(t *study.Study) *plot.Page {
	p := plot.NewPage("Study " + t.ID())
	p.HTML(backLink)
	if err := t.Damaged(); err != nil {
		p.Text("This study could not be opened: " + messages[notServed(err)] + ". The file was left as it is.")
		return p
	}
	p.Refresh(s.Refresh)
	m := t.State() // one for all parts of the page
	p.Text(intro(t, m))
	model, advice := modelSays(t, m)
	bestTable(p, t, m, advice)
	valuesFigure(p, t, m)
	curvesFigure(p, t, m)
	modelSection(p, t, m, model, advice)
	weightChart(p, m)
	trialTable(p, t, m)
	settings(p, t)
	return p
}

// intro says what the study is and how far it has come.
func intro(t *study.Study, m *study.State) string {
	goal := "Larger values are better."
	if t.Minimizes() {
		goal = "Smaller values are better."
	}
	asked := m.Counts.Asked()
	parts := []string{fmt.Sprintf("%s asked: %d told, %d open", names.Count(asked, "trial"), m.Counts.Told, m.Counts.Open)}
	if n := m.Counts.Failed; n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if n := m.Counts.Cancelled; n > 0 {
		parts = append(parts, fmt.Sprintf("%d cancelled", n))
	}
	if n := m.Counts.Stopped; n > 0 {
		parts = append(parts, fmt.Sprintf("%d stopped", n))
	}
	line := strings.Join(parts, ", ") + "."
	if n := m.Observations - m.Counts.Told; n > 0 {
		line += fmt.Sprintf(" %s made elsewhere.", names.Count(n, "observation"))
	}
	prior := "It started without a prior."
	if s := summary(t); s.Prior != "" {
		prior = fmt.Sprintf("It runs with the prior `%s` of %s.", priorLabel(s), names.Count(t.PastTasks(), "past task"))
	}
	if m.Enqueued > 0 {
		line += fmt.Sprintf(" %s enqueued.", names.Count(m.Enqueued, "point"))
	}
	if name, _ := t.Objective(); name != "" {
		goal = fmt.Sprintf("The objective is `%s`. ", strings.ReplaceAll(name, "`", "'")) + goal
	}
	return line + " " + goal + " " + prior
}

// bestTable shows the best point, exactly and in the form that a request takes.
func bestTable(p *plot.Page, t *study.Study, m *study.State, a *study.Advice) {
	if m.Best == nil && m.Observations > 0 {
		p.Text(fmt.Sprintf("None of %s holds the limits of all outputs yet.", names.Count(m.Observations, "value")))
		return
	}
	if m.Best == nil {
		p.Text("Nothing has been told yet.")
		return
	}
	from := "observed elsewhere"
	if m.Best.Trial > 0 {
		from = fmt.Sprintf("trial %d", m.Best.Trial)
	}
	caption := "The best value so far, " + from + "."
	if recommendsAnother(a, m) { // under noise the best value is the luckiest
		caption += " The model recommends another point, below."
	}
	table := &plot.Table{Caption: caption, Columns: []plot.Column{{Title: valueLabel(t)}, {Title: compact(m.Best.Y)}}}
	for i, param := range t.Space().Params() {
		table.Rows = append(table.Rows, []plot.Cell{plot.Str(param.Name()), cell(param, m.Best.X[i])})
	}
	for _, out := range t.Options().Outputs {
		if v, told := m.Best.Outputs[out.Name]; told {
			table.Rows = append(table.Rows, []plot.Cell{plot.Str(outputLabel(out)), plot.Exact(v)})
		}
	}
	p.Table(table)
	p.Pre(spaced(compact(config(t.Space(), m.Best.X))))
}

// outputLabel names an output with its limits.
func outputLabel(o api.Output) string {
	name := o.Name
	if o.AtLeast != nil {
		name = plainNumber(*o.AtLeast) + " ≤ " + name
	}
	if o.AtMost != nil {
		name += " ≤ " + plainNumber(*o.AtMost)
	}
	if o.Cost {
		name += " (cost)"
	}
	return name
}

// compact writes a value as JSON on one line, with all digits.
func compact(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// settings shows what the study was created with, as the request that creates one
// like it.
func settings(p *plot.Page, t *study.Study) {
	m, o := summary(t), t.Options()
	q := api.NewStudy{ID: m.ID, Prior: cmp.Or(m.PriorName, m.Prior), Options: o, Optimum: m.Optimum, Objective: m.Objective, Unit: m.Unit}
	p.Section("Settings")
	text := fmt.Sprintf("The model: %s. As `POST /v1/studies` takes them; what is not there has the default.", t.Model())
	space := t.Space()
	if n := space.NumCandidates(); n > 0 {
		text += fmt.Sprintf(" The list of %s is left out here: `GET /v1/studies/%s` has it.", names.Count(n, "candidate"), t.ID())
		only, err := cmbo.NewSpace(space.Params()...)
		if err != nil {
			return
		}
		space = only
	}
	q.Space = space
	p.Text(text)
	// A line for each parameter, and spaces at which a narrow screen may break it.
	lines := strings.NewReplacer("\"params\": [{", "\"params\": [\n{", "}, {\"name\"", "},\n{\"name\"")
	p.Pre(lines.Replace(spaced(compact(q))))
}

// spaced puts a space after the commas and colons of JSON that is written without.
func spaced(text string) string {
	var b strings.Builder
	quoted := false
	for i := range len(text) {
		c := text[i]
		b.WriteByte(c)
		switch {
		case c == '"' && !(quoted && escaped(text[:i])):
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// escaped reports whether a backslash that is none itself ends the text.
func escaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, "\\")))%2 == 1
}

// valueLabel names the values and their unit.
func valueLabel(t *study.Study) string {
	name, unit := t.Objective()
	if name == "" {
		name = "value"
	}
	if unit != "" {
		name += " (" + unit + ")"
	}
	return name
}

// cell shows a parameter's value.
func cell(p cmbo.Param, v float64) plot.Cell {
	switch p.Kind() {
	case cmbo.KindCategorical:
		return plot.Str(choiceName(p, v))
	case cmbo.KindBool:
		if v != 0 {
			return plot.Str("true")
		}
		return plot.Str("false")
	}
	return plot.Exact(v)
}

// choiceName names a choice.
func choiceName(p cmbo.Param, v float64) string {
	if c := p.Choices(); v >= 0 && v < float64(len(c)) {
		return c[int(v)]
	}
	return ""
}

// panelWidth is the width of a figure: two stand side by side, and on a phone its
// text is legible.
const panelWidth = 420

// bestSoFar returns the best value at each of the observations from the first that holds the limits of all outputs,
// and how many there are before that one.
func bestSoFar(t *study.Study, obs []study.Observation) (best []float64, before int) {
	outputs := t.Options().Outputs
	for i := range obs {
		y := obs[i].Y
		switch n := len(best); {
		case !obs[i].Holds(outputs) && n == 0:
			before++
			continue
		case n == 0:
		case !obs[i].Holds(outputs):
			y = best[n-1]
		case t.Minimizes():
			y = min(y, best[n-1])
		default:
			y = max(y, best[n-1])
		}
		best = append(best, y)
	}
	return best, before
}

// limited reports whether the best is that of some values alone, those that hold limits.
func limited(t *study.Study) bool {
	return slices.ContainsFunc(t.Options().Outputs, func(o api.Output) bool { return o.AtMost != nil || o.AtLeast != nil })
}

// valuesFigure draws the values, the trials that failed, the best so far and, if the
// optimum is known, the regret.
func valuesFigure(p *plot.Page, t *study.Study, m *study.State) {
	obs := m.Values
	if len(obs) == 0 {
		return
	}
	sign := 1.0
	if t.Minimizes() {
		sign = -1
	}
	at, failures := positions(len(obs), m.Trials)
	axis, limits := valueAxis(t, obs)
	worst := limits.clamp(obs[0].Y)
	values := newCloud(t, limits)
	for i := range obs {
		worst = sign * min(sign*worst, sign*limits.clamp(obs[i].Y))
		if len(obs)-i <= shownPoints {
			values.add(at[i], &obs[i])
		}
	}
	best, before := bestSoFar(t, obs)
	var tops []float64
	for _, y := range best {
		tops = append(tops, limits.clamp(y))
	}
	x := plot.Axis{Label: "evaluations", Integer: true, Min: 1, Max: float64(max(len(obs)+len(failures), 5))}
	chart := &plot.Chart{X: x, Y: axis, Series: values.series()}
	caption := "Measured values in the order in which they were told, and the best so far."
	if limited(t) {
		caption = "Measured values in the order in which they were told, and the best so far of those that hold the limits of all outputs."
	}
	if len(best) > 0 {
		line := plot.Series{Name: "best so far", Step: true, Bold: true, Plain: true, Style: 1}
		line.X, line.Y = corners(at[before:], tops)
		chart.Series = append(chart.Series, line)
	} else {
		caption = "Measured values in the order in which they were told, of which none holds the limits of all outputs yet."
	}
	if n := len(values.beyond.X); n > 0 {
		caption += fmt.Sprintf(" %s too far from the others for the axis; the table of trials has them.", verb(n, "value lies", "values lie"))
	}
	failed := plot.Series{Name: "failed", Points: true, Style: 4}
	for _, at := range failures[max(0, len(failures)-shownPoints):] {
		failed.X, failed.Y = append(failed.X, at), append(failed.Y, worst)
	}
	if len(failed.X) > 0 {
		chart.Series = append(chart.Series, failed)
		caption += fmt.Sprintf(" %s, each at its place among the evaluations, drawn level with the worst value",
			verb(len(failures), "trial failed", "trials failed"))
		if n := len(failed.X); n < len(failures) {
			caption += fmt.Sprintf("; the newest %d are shown", n)
		}
		caption += "."
	}
	if i := m.BestIndex; i >= 0 {
		chart.Series = append(chart.Series, theBest(at[i], limits.clamp(obs[i].Y)))
	}
	figures := []*plot.Figure{{Panels: []*plot.Chart{chart}, Width: panelWidth}}
	if o := t.Optimum(); o != nil {
		optimum := limits.clamp(*o)
		chart.Series = append(chart.Series, plot.Series{Name: "optimum", X: []float64{x.Min, x.Max}, Y: []float64{optimum, optimum}, Plain: true, Style: 16})
		var regret []float64
		for _, y := range best {
			regret = append(regret, sign*(*o-y))
		}
		if len(regret) > 0 && regret[0] > 0 { // an axis of none above 0 would have numbers of its own
			line := plot.Series{Name: "regret", Step: true, Bold: true, Plain: true, Style: 2}
			line.X, line.Y = corners(at[before:], regret)
			regretChart := &plot.Chart{X: x, Y: plot.Axis{Label: "regret", Log: true}, Series: []plot.Series{line}}
			figures = append(figures, &plot.Figure{Panels: []*plot.Chart{regretChart}, Width: panelWidth})
			caption += " Regret is the distance of the best from the optimum, which was given as " + plainNumber(*o) + "."
			if regret[len(regret)-1] <= 0 {
				caption += " It has been reached, which a logarithmic axis shows at its lower end."
			}
		} else if len(regret) > 0 {
			caption += " The first of them reached the optimum, which was given as " + plainNumber(*o) + "."
		}
	}
	p.Figure(caption, figures...)
}

// positions places n values and the trials that failed on one axis of evaluations, in the order
// in which they ended.
func positions(n int, trials []study.Trial) (values, failures []float64) {
	var after []int // how many values each failure came after
	for i := range trials {
		if trials[i].Status == api.Failed {
			after = append(after, trials[i].After)
		}
	}
	slices.Sort(after)
	place := 0.0
	for i := range n + 1 {
		for len(failures) < len(after) && after[len(failures)] <= i {
			place++
			failures = append(failures, place)
		}
		if i < n {
			place++
			values = append(values, place)
		}
	}
	return values, failures
}

// theBest marks the point of the best value.
func theBest(x, y float64) plot.Series {
	return plot.Series{Name: "the best", Points: true, Style: 3, X: []float64{x}, Y: []float64{y}}
}

func verb(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// A cloud is the values measured: those that hold all limits or are of a study without, those that miss one, and those
// beyond the axis, which are drawn at its edge.
type cloud struct {
	held, missed, beyond plot.Series
	axis                 limits
	outputs              []api.Output
}

func newCloud(t *study.Study, axis limits) *cloud {
	return &cloud{
		held:   plot.Series{Name: "measured", Points: true, Style: 8},
		missed: plot.Series{Name: "misses a limit", Points: true, Style: 6},
		beyond: beyondPoints(), axis: axis, outputs: t.Options().Outputs,
	}
}

func (c *cloud) add(x float64, o *study.Observation) {
	s, y := &c.held, c.axis.clamp(o.Y)
	switch {
	case y != o.Y:
		s = &c.beyond
	case !o.Holds(c.outputs):
		s = &c.missed
	}
	s.X, s.Y = append(s.X, x), append(s.Y, y)
}

func (c *cloud) series() []plot.Series {
	return slices.DeleteFunc([]plot.Series{c.held, c.missed, c.beyond}, func(s plot.Series) bool { return s.X == nil })
}

func beyondPoints() plot.Series { return plot.Series{Name: "off the axis", Points: true, Style: 5} }

// limits are those of an axis of values, NaN where the data decides.
type limits struct{ lo, hi float64 }

// valueAxis is the axis of values, and its limits: a logarithmic one without limits where
// the model sees logarithms of values that differ by a factor of ten and more.
func valueAxis(t *study.Study, obs []study.Observation) (plot.Axis, limits) {
	a, l := plot.Axis{Label: valueLabel(t)}, limits{math.NaN(), math.NaN()}
	lo, hi := math.Inf(1), 0.0
	for _, o := range obs {
		lo, hi = min(lo, o.Y), max(hi, o.Y)
	}
	if a.Log = t.Positive() && hi >= 10*lo; !a.Log {
		l = coreOf(obs)
		a.Min, a.Max = l.lo, l.hi
	}
	return a, l
}

// coreOf returns limits that keep the bulk of the values legible: what lies more
// than five times the range of the middle 80 percent beyond it is left out, and up to half of the
// values, as penalties of failures are, that lie a thousand times the range of the others away.
func coreOf(obs []study.Observation) limits {
	ys := make([]float64, len(obs))
	for i, o := range obs {
		ys[i] = o.Y
	}
	slices.Sort(ys)
	l := limits{math.NaN(), math.NaN()}
	n := len(ys)
	lo, hi := ys[n/10], ys[n-1-n/10]
	if n < 5 {
		return l
	}
	if n < 10 { // one of few may be far off
		lo, hi = ys[1], ys[n-2]
	}
	for i := 1; i <= n/2; i++ {
		for _, c := range []struct{ lo, hi, gap float64 }{
			{ys[i], ys[n-1], ys[i] - ys[i-1]}, {ys[0], ys[n-1-i], ys[n-i] - ys[n-1-i]},
		} {
			rest := c.hi - c.lo // which has no axis if it is rounding alone
			if rest > 1e-9*max(math.Abs(c.lo), math.Abs(c.hi)) && c.gap > 1000*rest {
				lo, hi = c.lo, c.hi
			}
		}
	}
	reach := 5 * (hi - lo)
	if !(reach > 0) || math.IsInf(reach, 0) {
		return l
	}
	inside := slices.DeleteFunc(slices.Clone(ys), func(y float64) bool { return y < lo-reach || y > hi+reach })
	pad := 0.08 * (inside[len(inside)-1] - inside[0])
	if len(inside) < n {
		l = limits{inside[0] - pad, inside[len(inside)-1] + pad}
	}
	return l
}

// clamp moves a value that lies beyond the limits to them.
func (l limits) clamp(v float64) float64 {
	if v < l.lo {
		return l.lo
	}
	if v > l.hi {
		return l.hi
	}
	return v
}

// corners thins a curve of steps to the places where it changes, and its end.
func corners(x, y []float64) (xs, ys []float64) {
	for i, v := range y {
		if i == 0 || i == len(y)-1 || v != y[i-1] {
			xs, ys = append(xs, x[i]), append(ys, v)
		}
	}
	return xs, ys
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// weightChart draws the weights of the prior's hypotheses, trial by trial.
func weightChart(p *plot.Page, m *study.State) {
	trials := slices.DeleteFunc(slices.Clone(m.Newest(shownPoints)), func(tr study.Trial) bool { return tr.Weights == nil })
	if len(trials) < 2 || len(trials[0].Weights) < 2 {
		return
	}
	names := []string{"no transfer", "all past tasks"}
	for i := len(names); i < len(trials[0].Weights); i++ { // hypotheses that this page has no names for
		names = append(names, fmt.Sprintf("hypothesis %d", i+1))
	}
	caption := "How far the past was believed to bear on this task when each trial was chosen: not at all, or as one population. It changes once a trial is told."
	var series []plot.Series
	for i, name := range names {
		s := plot.Series{Name: name, Step: true, Plain: true, Style: i + 1}
		for _, tr := range trials {
			if i < len(tr.Weights) { // another prior may have another number of them
				s.X, s.Y = append(s.X, float64(tr.ID)), append(s.Y, tr.Weights[i])
			}
		}
		series = append(series, s)
	}
	chart := &plot.Chart{
		X: plot.Axis{Label: "trial", Integer: true}, Y: plot.Axis{Label: "weight", Min: 0, Max: 1},
		Series: series,
	}
	caption += priorChanges(m.Events)
	p.Figure(caption, &plot.Figure{Panels: []*plot.Chart{chart}, Width: panelWidth})
}

// priorChanges says after which trial the study went on with another prior, the last time.
func priorChanges(events []api.Event) string {
	asked, last := 0, -1
	for _, e := range events {
		switch e.Kind {
		case api.EventAsked:
			asked++
		case api.EventPrior:
			last = asked
		}
	}
	if last < 0 {
		return ""
	}
	return fmt.Sprintf(" After %s another prior took the place of the one before.", names.Count(last, "trial"))
}

// shownSteps bounds the values of a figure of curves, but for the last one of each.
const shownSteps = 5000

// curvesFigure draws what the newest trials showed before the ends of their evaluations.
func curvesFigure(p *plot.Page, t *study.Study, m *study.State) {
	asked, trials := len(m.Trials), m.Newest(shownTrials)
	var shown []study.Observation
	for _, tr := range trials {
		for _, y := range tr.Values {
			shown = append(shown, study.Observation{Y: y})
		}
	}
	if shown == nil {
		return
	}
	axis, limits := valueAxis(t, shown)
	chart := &plot.Chart{X: plot.Axis{Label: "step", Integer: true}, Y: axis}
	every, beyond, named := 1+len(shown)/shownSteps, false, make(map[string]bool)
	for _, tr := range trials {
		s := plot.Series{Name: tr.Status, Style: curveStyles[tr.Status], Plain: true, Bold: tr.Status == api.Open}
		for i, y := range tr.Values {
			beyond = beyond || limits.clamp(y) != y
			if i%every == 0 || i == len(tr.Values)-1 {
				s.X, s.Y = append(s.X, float64(tr.Steps[i])), append(s.Y, limits.clamp(y))
			}
		}
		if s.X == nil {
			continue
		}
		if named[s.Name] { // once in the legend
			s.Name = ""
		}
		named[tr.Status] = true
		chart.Series = append(chart.Series, s)
	}
	caption := "What evaluations showed before their ends, a curve for each trial."
	if asked > shownTrials {
		caption = fmt.Sprintf("What evaluations showed before their ends, a curve for each that reported of the newest %d trials.", shownTrials)
	}
	if beyond {
		caption += " What lies beyond the axis of values is at its edge."
	}
	p.Figure(caption, &plot.Figure{Panels: []*plot.Chart{chart}, Width: panelWidth})
}

// curveStyles are the looks of curves, by the status of their trials.
var curveStyles = map[string]int{api.Open: 1, api.Told: 8, api.Failed: 4, api.Cancelled: 5, api.Stopped: 2}

// status says what became of a trial, and why.
func status(t study.Trial) string {
	s := t.Status
	if n := len(t.Steps); n > 0 && t.Status != api.Told {
		s += fmt.Sprintf(" at step %d, %s", t.Steps[n-1], plainNumber(t.Values[n-1]))
	}
	if t.Expired {
		s += " at its deadline"
	}
	if t.Enqueued {
		s += ", enqueued"
	}
	if t.Resumes > 0 {
		s += fmt.Sprintf(", resumes %d", t.Resumes)
	}
	return s
}

// trialTable lists the newest trials.
func trialTable(p *plot.Page, t *study.Study, m *study.State) {
	asked, trials := len(m.Trials), m.Newest(shownTrials)
	if len(trials) == 0 {
		return
	}
	p.Section("Trials")
	table := &plot.Table{Columns: []plot.Column{{Title: "trial"}, {Title: "status"}, {Title: valueLabel(t)}}}
	table.Caption = "Trials, the newest first."
	if asked > shownTrials {
		table.Caption = fmt.Sprintf("The newest %d of %d trials; the others are at `/v1/studies/%s/trials`.", shownTrials, asked, t.ID())
	}
	outputs, params := t.Options().Outputs, t.Space().Params()
	for _, out := range outputs {
		table.Columns = append(table.Columns, plot.Column{Title: outputLabel(out)})
	}
	for _, param := range params {
		table.Columns = append(table.Columns, plot.Column{Title: param.Name()})
	}
	misses := make(map[int]bool)
	for _, o := range m.Values {
		misses[o.Trial] = !o.Holds(outputs)
	}
	for i := len(trials) - 1; i >= 0; i-- {
		tr := trials[i]
		became := status(tr)
		if misses[tr.ID] {
			became += ", misses a limit"
		}
		if m.Best != nil && m.Best.Trial == tr.ID {
			became += ", the best"
		}
		row := []plot.Cell{plot.Num(float64(tr.ID), 0), plot.Str(became), plot.Str("")}
		if tr.Status == api.Told {
			row[2] = plot.Exact(tr.Y)
		}
		for _, out := range outputs {
			if v, told := tr.Outputs[out.Name]; told {
				row = append(row, plot.Exact(v))
			} else {
				row = append(row, plot.Str(""))
			}
		}
		for j, param := range params {
			row = append(row, cell(param, tr.X[j]))
		}
		table.Rows = append(table.Rows, row)
	}
	p.Table(table)
}
