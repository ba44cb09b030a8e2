package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/examples/service/api"
	"github.com/gocmbo/cmbo/examples/service/internal/study"
	"github.com/gocmbo/cmbo/internal/plot"
)

const (
	shownTrials   = 100  // rows of the table, the newest
	shownPoints   = 1000 // points of a curve; the best so far is drawn from all
	shownClusters = 8    // areas of the weights, one of each colour; the others are summed up
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
	if t.Damaged() != nil {
		p.Text("This study could not be opened: what is stored of it is damaged. The service's log says more; the file was left as it is.")
		return p
	}
	p.Refresh(s.Refresh)
	m := t.Summary()
	p.Text(intro(t, m))
	bestTable(p, t, m)
	curves(p, t)
	weightChart(p, t, m)
	trialTable(p, t, m)
	return p
}

// intro says what the study is and how far it has come.
func intro(t *study.Study, m study.Summary) string {
	goal := "Larger values are better."
	if t.Minimizes() {
		goal = "Smaller values are better."
	}
	asked := m.Counts.Open + m.Counts.Told + m.Counts.Failed + m.Counts.Cancelled
	parts := []string{fmt.Sprintf("%s asked: %d told, %d open", plural(asked, "trial"), m.Counts.Told, m.Counts.Open)}
	if n := m.Counts.Failed; n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if n := m.Counts.Cancelled; n > 0 {
		parts = append(parts, fmt.Sprintf("%d cancelled", n))
	}
	line := strings.Join(parts, ", ") + "."
	if n := m.Observations - m.Counts.Told; n > 0 {
		line += fmt.Sprintf(" %s made elsewhere.", plural(n, "observation"))
	}
	prior := "It started without a prior."
	if s := summary(t); s.Prior != "" {
		prior = fmt.Sprintf("It started from the prior `%s`, %s of past tasks.", priorLabel(s), plural(len(t.Clusters()), "cluster"))
	}
	return line + " " + goal + " " + prior
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// bestTable shows the best point.
func bestTable(p *plot.Page, t *study.Study, m study.Summary) {
	if m.Best == nil {
		p.Text("Nothing has been told yet.")
		return
	}
	from := "observed elsewhere"
	if m.Best.Trial > 0 {
		from = fmt.Sprintf("trial %d", m.Best.Trial)
	}
	table := &plot.Table{Caption: "The best so far, " + from + ".", Columns: []plot.Column{{Title: "value"}}}
	row := []plot.Cell{plot.Sig(m.Best.Y)}
	for i, param := range t.Space().Params() {
		table.Columns = append(table.Columns, plot.Column{Title: param.Name()})
		row = append(row, cell(param, m.Best.X[i]))
	}
	table.Rows = [][]plot.Cell{row}
	p.Table(table)
}

// cell shows a parameter's value.
func cell(p cmbo.Param, v float64) plot.Cell {
	switch p.Kind() {
	case cmbo.KindCategorical:
		if c := p.Choices(); v >= 0 && v < float64(len(c)) {
			return plot.Str(c[int(v)])
		}
	case cmbo.KindBool:
		if v != 0 {
			return plot.Str("yes")
		}
		return plot.Str("no")
	}
	return plot.Sig(v)
}

// curves draws the values, the best so far and, if the optimum is known, the
// regret.
func curves(p *plot.Page, t *study.Study) {
	obs := t.Observations()
	if len(obs) == 0 {
		return
	}
	sign := 1.0
	if t.Minimizes() {
		sign = -1
	}
	var tops []float64
	top := math.Inf(-1)
	values := plot.Series{Name: "measured", Points: true, Style: 8}
	bestSoFar := plot.Series{Name: "best so far", Step: true, Bold: true, Markers: plot.MarkersNone, Style: 1}
	for i, o := range obs {
		top = max(top, sign*o.Y)
		tops = append(tops, sign*top)
		if len(obs)-i <= shownPoints {
			values.X, values.Y = append(values.X, float64(i+1)), append(values.Y, o.Y)
		}
	}
	bestSoFar.X, bestSoFar.Y = corners(tops)
	x := plot.Axis{Label: "evaluations", Integer: true, Min: 1, Max: float64(max(len(obs), 5))}
	chart := &plot.Chart{X: x, Y: plot.Axis{Label: "value"}, Series: []plot.Series{values, bestSoFar}}
	f := &plot.Figure{Panels: []plot.Panel{chart}}
	caption := "Measured values in the order in which they were told, and the best so far."
	if o := t.Optimum(); o != nil {
		chart.Rules = []plot.Rule{{Name: "optimum", At: *o}}
		regret := make([]float64, len(tops))
		for i, v := range tops {
			regret[i] = sign * (*o - v)
		}
		s := plot.Series{Name: "regret", Step: true, Bold: true, Markers: plot.MarkersNone, Style: 2}
		s.X, s.Y = corners(regret)
		f.Panels = append(f.Panels, &plot.Chart{X: x, Y: plot.Axis{Label: "regret", Log: true}, Series: []plot.Series{s}})
		caption += " Regret is the distance of the best from the optimum, which was given as " + plainNumber(*o) + "."
		if regret[len(regret)-1] <= 0 {
			caption += " It has been reached, which a logarithmic axis shows at its lower end."
		}
	}
	p.Figure(f, caption)
}

// corners thins a curve of steps to the places where it changes, and its end.
func corners(y []float64) (xs, ys []float64) {
	for i, v := range y {
		if i == 0 || i == len(y)-1 || v != y[i-1] {
			xs, ys = append(xs, float64(i+1)), append(ys, v)
		}
	}
	return xs, ys
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// weightChart draws the weights of the clusters, trial by trial.
func weightChart(p *plot.Page, t *study.Study, m study.Summary) {
	clusters := t.Clusters()
	if len(clusters) < 2 {
		return
	}
	asked := m.Counts.Open + m.Counts.Told + m.Counts.Failed + m.Counts.Cancelled
	trials, _ := t.Trials("", asked-shownPoints, shownPoints)
	shown := len(clusters)
	if shown > shownClusters {
		shown = shownClusters - 1
	}
	var series []plot.Series
	for i := range shown {
		series = append(series, plot.Series{Name: clusterName(clusters[i]), Step: true, Style: i + 1})
	}
	if shown < len(clusters) {
		series = append(series, plot.Series{Name: plural(len(clusters)-shown, "other cluster"), Step: true, Style: shownClusters})
	}
	for _, tr := range trials {
		if len(tr.Weights) != len(clusters) {
			continue
		}
		rest := 0.0
		for i, w := range tr.Weights {
			if i < shown {
				series[i].X, series[i].Y = append(series[i].X, float64(tr.ID)), append(series[i].Y, w)
			} else {
				rest += w
			}
		}
		if shown < len(clusters) {
			last := &series[shown]
			last.X, last.Y = append(last.X, float64(tr.ID)), append(last.Y, rest)
		}
	}
	if len(series[0].X) < 2 {
		return
	}
	chart := &plot.Chart{
		X: plot.Axis{Label: "trial", Integer: true}, Y: plot.Axis{Label: "weight", Min: 0, Max: 1},
		Series: series, Stacked: true,
	}
	p.Figure(&plot.Figure{Panels: []plot.Panel{chart}}, "The weights of the clusters of past tasks when each trial was chosen. They change once a trial is told.")
}

// clusterName names a cluster by its number and some of its members.
func clusterName(c api.Cluster) string {
	name := fmt.Sprintf("%d: ", c.ID+1)
	for i, m := range c.Members {
		if i > 0 {
			name += ", "
		}
		if r := []rune(name + m); len(r) > 32 {
			return string(r[:31]) + "…"
		}
		name += m
	}
	return name
}

// trialTable lists the newest trials.
func trialTable(p *plot.Page, t *study.Study, m study.Summary) {
	asked := m.Counts.Open + m.Counts.Told + m.Counts.Failed + m.Counts.Cancelled
	trials, _ := t.Trials("", asked-shownTrials, shownTrials)
	if len(trials) == 0 {
		return
	}
	best := plot.BestMax
	if t.Minimizes() {
		best = plot.BestMin
	}
	table := &plot.Table{Columns: []plot.Column{{Title: "trial"}, {Title: "status"}, {Title: "value", Best: best}}}
	table.Caption = "Trials, the newest first."
	if asked > shownTrials {
		table.Caption = fmt.Sprintf("The newest %d of %d trials; the others are at `/v1/studies/%s/trials`.", shownTrials, asked, t.ID())
	}
	params := t.Space().Params()
	for _, param := range params {
		table.Columns = append(table.Columns, plot.Column{Title: param.Name()})
	}
	for i := len(trials) - 1; i >= 0; i-- {
		tr := trials[i]
		row := []plot.Cell{plot.Num(float64(tr.ID), 0), plot.Str(tr.Status), plot.Str("")}
		if tr.Status == api.Told {
			row[2] = plot.Sig(tr.Y)
		}
		for j, param := range params {
			row = append(row, cell(param, tr.X[j]))
		}
		table.Rows = append(table.Rows, row)
	}
	p.Table(table)
}
