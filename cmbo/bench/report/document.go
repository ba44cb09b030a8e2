package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/gocmbo/cmbo/internal/plot"
)

// WriteHTML writes the report as one HTML file that needs nothing else. It is
// readable on paper and follows the reader's light or dark theme.
func (s *Summary) WriteHTML(w io.Writer) error {
	p := plot.NewPage(s.Title)
	p.Text(s.Notes...)
	p.Section("What was compared")
	p.Table(s.runTable())
	var items []string
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		for _, t := range c.cautions() {
			items = append(items, title(c.Space)+", "+acquisitionTitle(c.Acquisition)+": "+t)
		}
	}
	if len(items) > 0 {
		p.List(items...)
	}
	scs := scopes(s.Comparisons)
	for _, sc := range scs {
		if len(sc.cs) == 0 {
			continue
		}
		p.Section("Results: " + title(sc.space))
		p.Figure("Mean normalised simple regret with 95% confidence bands over tasks for the default of cm-BO and the best rival, average rank among all methods, and fraction of runs below the threshold. Shown are the default of cm-BO (bold), the two best others of cm-BO, the three best rivals and the references, chosen by the average rank after the last query, which flatters them. Bands show how much tasks differ, most of which is common to all methods: see the ratios of areas for comparisons.", s.bestFigure(sc))
		for _, c := range sc.cs {
			p.Table(s.resultTable(c))
			if t := s.rivalTable(c); len(t.Rows) > 0 {
				p.Table(t)
			}
		}
	}
	begun := false
	for _, sc := range scs {
		if t := calibrationTable(sc); t != nil {
			if !begun {
				p.Section("Calibration")
				p.Text("Every method is judged at the configurations that it asked for itself. A coverage below 0.90 means that it is more certain than it should be, above that it is less.")
				begun = true
			}
			p.Table(t)
		}
	}
	p.Section("How the numbers are defined")
	p.List(
		"Regret: the best value of the task's table minus the best value found, divided by the range of the table. Means are over runs within a space, and over spaces with equal weight. Limits: 95%, from the differences between tasks, all runs of a task together.",
		fmt.Sprintf("Bootstrap of ratios: %d times as many tasks as a space has are drawn with replacement, with all of their runs and for both methods alike (seed %d); the interval holds the middle 95%%. Mean areas below %g count as that.", s.resamples, seed, leastArea),
		fmt.Sprintf("AUC: the mean regret after each of the queries; geometric: the geometric mean of the spaces' AUC; from @%d: the same from that query on.", LateFrom),
		fmt.Sprintf("Rank: among the compared methods in the same run, regrets rounded to 1e-8, ties averaged; 1 is the best. Solved: the fraction of runs with a regret below %g.", Threshold),
		"NLPD: negative logarithm of the predictive normal density of a queried value, noise included, just before it was told, where the range of the table is 1.",
		"Runs enter a comparison only if all compared methods have them. A method with less than half of the runs of a space is not compared there, and over all spaces only methods compared in each of them are. One without an acquisition function, such as random search, stands beside every one with the same runs.")
	_, err := io.WriteString(w, p.String())
	return err
}

func title(space string) string { return cmp.Or(space, "All spaces") }
