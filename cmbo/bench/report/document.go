package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

// document is what a report is laid out in: a [plot.Page] or a markdown folder.
type document interface {
	Section(title string)
	Text(paragraphs ...string)
	List(items ...string)
	Figure(caption string, fs ...*plot.Figure)
	Table(t *plot.Table)
}

// WriteHTML writes the report as one HTML file that needs nothing else. It is
// readable on paper and follows the reader's light or dark theme.
func (s *Summary) WriteHTML(w io.Writer) error {
	p := plot.NewPage(s.Title)
	s.layOut(p, true)
	_, err := p.WriteTo(w)
	return err
}

// WriteTimesHTML writes a page of the wall times alone, for experiments whose
// report proper is to depend on nothing but the runs.
func (s *Summary) WriteTimesHTML(w io.Writer) error {
	p := plot.NewPage(s.Title + ": wall time")
	s.wallTime(p, true)
	_, err := p.WriteTo(w)
	return err
}

// layOut writes all sections. The short form leaves out figures and tables that
// repeat by space what is said otherwise.
func (s *Summary) layOut(d document, full bool) {
	d.Text(s.Notes...)
	s.compared(d)
	for _, sc := range scopes(s.Comparisons) {
		if len(sc.cs) > 0 {
			s.results(d, sc, full)
		}
	}
	s.calibrations(d)
	if len(s.Times) > 0 {
		s.wallTime(d, full)
	}
	d.Section("How the numbers are defined")
	d.List(s.definitions()...)
}

func title(space string) string {
	if space == "" {
		return "All spaces"
	}
	return space
}

func (s *Summary) compared(d document) {
	d.Section("What was compared")
	d.Table(s.runTable())
	var items []string
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		for _, t := range c.cautions() {
			items = append(items, title(c.Space)+", "+acquisitionTitle(c.Acquisition)+": "+t)
		}
	}
	if len(items) > 0 {
		d.List(items...)
	}
}

// manySpaces is how many spaces the short form has figures for.
const manySpaces = 8

func (s *Summary) results(d document, sc scope, full bool) {
	d.Section("Results: " + scopeName(sc.space))
	first := sc.cs[0].Space == "" || len(s.Spaces) == 1
	everything := full || first
	points := 0
	switch {
	case !full && first:
		points = 18
	case !full:
		points = 15
	}
	switch {
	case everything:
		d.Figure("Mean normalised simple regret with 95% confidence bands over tasks for the default of cm-BO and the best rival, average rank among all methods, fraction of runs below the threshold, and performance profiles. Shown are the default variant of cm-BO (bold), the two best others of cm-BO, the three best rivals and the references, chosen by the average rank after the last query, which flatters them. Bands show how much tasks differ, most of which is common to all methods: see the paired differences for comparisons.", s.bestFigure(sc, true, points))
	case len(s.Spaces) <= manySpaces:
		d.Figure("Mean normalised simple regret of the default variant of cm-BO (bold), its best other variant, the two best rivals and the references.", s.bestFigure(sc, false, points))
	}
	if everything {
		for _, g := range []struct {
			title string
			fs    []family
		}{{"Variants of cm-BO", []family{ownFamily}}, {"Rivals and references", []family{rivalFamily, reference}}} {
			if f := s.familyFigure(sc, points, g.title, g.fs...); len(f.Panels) > 0 {
				d.Figure("Mean normalised simple regret. Methods look the same in all figures.", f)
			}
		}
	}
	if everything {
		d.Table(s.rankTable(sc))
	}
	for _, c := range sc.cs {
		d.Table(s.resultTable(c))
		if !everything {
			continue
		}
		if t := s.rivalTable(c); t != nil {
			d.Table(t)
		}
		if len(c.Results) < 2 {
			continue
		}
		t := pairTable(c)
		t.Caption = fmt.Sprintf("%s, %s: “<” where the row's last regret is lower beyond doubt, “>” where it is higher, “·” where the two are not told apart.", title(c.Space), acquisitionTitle(c.Acquisition))
		d.Table(t)
	}
}

func (s *Summary) calibrations(d document) {
	begun := false
	for _, sc := range scopes(s.Comparisons) {
		if t := calibrationTable(sc); t != nil {
			if !begun {
				d.Section("Calibration")
				d.Text("Every method is judged at the configurations that it asked for itself. A coverage below 0.90 means that it is more certain than it should be, above that it is less.")
				begun = true
				if f := s.calibrationFigure(sc); f != nil {
					d.Figure("How many of the queried values the 90% interval held, which should be 0.90 of them: methods in the order of their mean regret after the last query, the lowest at the top.", f)
				}
			}
			d.Table(t)
		}
	}
}

func (s *Summary) wallTime(d document, full bool) {
	d.Section("Wall time")
	var done []string
	for _, x := range s.Times {
		if !slices.Contains(done, x.Space) && (full || len(done) == 0) {
			done = append(done, x.Space)
			d.Table(s.timeTable(x.Space))
		}
	}
	if len(done) == 0 {
		d.Text("No times were measured.")
	}
}

func (s *Summary) definitions() []string {
	return []string{
		"Regret: the best value of the task's table minus the best value found, divided by the range of the table. Means are over runs within a space, and over spaces with equal weight.",
		"Confidence limits: 95%, from the differences between tasks, all runs of a task together; no statement about single tasks.",
		fmt.Sprintf("Paired bootstrap: %d times as many tasks as a space has are drawn with replacement, with all of their runs and for all methods alike (seed %d); the interval holds the middle 95%% of the differences of two means.", s.resamples, seed),
		fmt.Sprintf("AUC: the mean regret after each of the queries; geometric: the geometric mean of the spaces' AUC; from @%d: the same from that query on.", LateFrom),
		"Rank: among the compared methods on the same space, split, task and repeat, regrets rounded to 1e-8, ties averaged; 1 is the best.",
		fmt.Sprintf("Solved: the fraction of runs with a regret below %g. Performance profile: the same after the last query for other thresholds.", Threshold),
		"NLPD: negative logarithm of the predictive normal density of a queried value, noise included, just before it was told, where the range of the table is 1.",
		"Runs enter a comparison only if all compared methods have them. A method with less than half of the runs of a space is not compared there, and over all spaces only methods compared in each of them are.",
		"A method without an acquisition function of its own choice, such as random search, stands beside every acquisition function with the same runs.",
	}
}
