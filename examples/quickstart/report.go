package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

// Looks of the methods, the same in all figures.
var looks = [numMethods]int{randomSearch: 8, noPast: 2, paperMethod: 3, cmBO: 1}

// report writes the outcome as a page of HTML.
func report(o *options, s *study) string {
	page := plot.NewPage("Tuning with and without experience")
	page.Text(
		fmt.Sprintf("A kernel classifier was tuned on %d new data sets. Random search draws settings blindly. \"No past\" is the library's default without past data sets: a Gaussian process that learns from the data set at hand alone. cm-BO, here the default with them, starts from what was learned on %d past data sets, and weighs by the results that come in how far the new one is like them; \"paper\" is the method of the paper that the library grew from, in its default variant.",
			len(s.targets), len(pastRecipes)))
	page.Pre(fmt.Sprintf("go run ./examples/quickstart -seed %d\n", o.seed))

	page.Section("Result")
	page.Figure(fmt.Sprintf("Left: normalised regret of the best setting found so far, on a logarithmic axis; 0 would be the best accuracy known for a data set, 1 the worst. Right: its accuracy. Lines are means over %d data sets and %d seeds; the bands hold the middle half of the runs' regrets.", len(s.targets), s.repeats), resultFigure(s))
	page.Table(accuracyTable(s))
	page.Table(regretTable(s))

	page.Section("How it was done")
	page.List(
		"The classifier is kernel ridge regression of class indicators, one class against the rest. Its hyper-parameters are the regularisation `lambda` (0.000001 to 100) and the `width` of the kernel (0.02 to 20), both on logarithmic scales, the `kernel` (rbf, laplacian, polynomial, linear) and the `degree` of the polynomial (1 to 5).",
		fmt.Sprintf("Its accuracy is measured by %d-fold cross-validation, stratified by class; the same folds for all settings of a data set.", numFolds),
		fmt.Sprintf("Past records: %d random settings of each of %d data sets.", o.recorded, len(pastRecipes)),
		fmt.Sprintf("Best and worst accuracy, for the normalised regret: over %d random settings of each new data set, which no method sees, and all settings any method tried.", o.pool),
		"Without a past a run starts with five scattered settings, the paper's method and cm-BO with none: their priors make the first proposal. All then choose the setting with the largest expected improvement, but for some of the default's, with a past and without, while nothing improves.",
		"New data sets come from other seeds and other parameters than past ones; of the last family there is no past data set at all.",
		fmt.Sprintf("Everything random follows from the seed %d.", o.seed))
	return page.String()
}

func resultFigure(s *study) *plot.Figure {
	x := plot.Axis{Label: "settings tried", Integer: true}
	regret := &plot.Chart{Title: "Normalised regret", X: x}
	accuracy := &plot.Chart{Title: "Best accuracy found", X: x, Y: plot.Axis{Label: "accuracy in percent"}}
	lowest := 1.0
	for m := range numMethods {
		line := plot.Series{Name: m.String(), Y: s.percents(m).mean, Bold: m == cmBO, Style: looks[m], Plain: true}
		accuracy.Series = append(accuracy.Series, line)
		c := s.regrets(m)
		line.Y, line.Lo, line.Hi = c.mean, c.low, c.high
		regret.Series = append(regret.Series, line)
		for _, v := range c.mean {
			if v > 0 {
				lowest = min(lowest, v)
			}
		}
	}
	// Quartiles may be 0; the means decide where the axis ends.
	regret.Y = plot.Axis{Label: "normalised regret", Log: true, Min: lowest / 2, Max: 1}
	return &plot.Figure{Panels: []*plot.Chart{regret, accuracy}, Height: 280}
}

// accuracyTable and regretTable compare the methods after some queries.
func accuracyTable(s *study) *plot.Table {
	return methodTable(s, "Best accuracy found, in percent, mean over data sets and seeds.", plot.BestMax, 1, s.percents)
}

func regretTable(s *study) *plot.Table {
	return methodTable(s, "Normalised regret of the best setting found, mean over data sets and seeds.",
		plot.BestMin, 3, s.regrets)
}

func methodTable(s *study, caption string, best plot.Best, decimals int, of func(m method) curve) *plot.Table {
	t := &plot.Table{Caption: caption, Columns: plot.Titled("settings tried")}
	points := slices.DeleteFunc([]int{1, 5, 10, 20}, func(q int) bool { return q > s.budget })
	for _, q := range points {
		t.Columns = append(t.Columns, plot.Column{Title: fmt.Sprint(q), Best: best})
	}
	for m := range numMethods {
		row := []plot.Cell{plot.Str(m.String())}
		for _, q := range points {
			row = append(row, plot.Num(of(m).mean[q-1], decimals))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func printResults(w io.Writer, o *options, s *study) {
	fmt.Fprintf(w, `
How good is the best setting found? Mean over %d new data sets and %d seeds;
the star marks the best method.

Accuracy in percent, after trying so many settings:

%s
Normalised regret: 0 is the best accuracy known for a data set, 1 the worst.
Known are %d random settings of each data set and all that any method tried.

%s
`, len(s.targets), s.repeats, accuracyTable(s).Text(), o.pool, regretTable(s).Text())
}
