package main

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

// Looks of the methods, the same in all figures.
var looks = [numMethods]int{randomSearch: 8, plainGP: 2, paperMethod: 3, cmBO: 1}

// report writes the outcome as a page of HTML.
func report(o *options, s *study) string {
	page := plot.NewPage("Tuning with and without experience")
	page.Text(
		fmt.Sprintf("A kernel classifier was tuned on %s. Random search draws settings blindly. The plain GP, a Gaussian process, learns from the data set at hand alone. cm-BO starts from what was learned on %s, and weighs by the results that come in how far the new one is like them; \"paper\" is the default variant of the paper that it began with.",
			count(len(s.targets), "new data set"), count(len(pastRecipes), "past data set")))
	page.Pre(fmt.Sprintf("go run ./examples/quickstart -seed %d\n", o.seed))

	page.Section("Result")
	page.Figure(fmt.Sprintf("Left: normalised regret of the best setting found so far, on a logarithmic axis; 0 would be the best accuracy known for a data set, 1 the worst. Right: its accuracy. Lines are means over %s and %s; the bands hold the middle half of the runs' regrets.", count(len(s.targets), "data set"), count(s.repeats, "seed")), resultFigure(s))
	page.Table(accuracyTable(s))
	page.Table(regretTable(s))

	page.Section("How it was done")
	page.List(
		"The classifier is kernel ridge regression of class indicators, one class against the rest. Its hyper-parameters are the regularisation `lambda` (0.000001 to 100) and the `width` of the kernel (0.02 to 20), both on logarithmic scales, the `kernel` (rbf, laplacian, polynomial, linear) and the `degree` of the polynomial (1 to 5).",
		fmt.Sprintf("Its accuracy is measured by %d-fold cross-validation, stratified by class; the same folds for all settings of a data set.", numFolds),
		fmt.Sprintf("Past records: %d random settings of each of %s.", o.recorded, count(len(pastRecipes), "data set")),
		fmt.Sprintf("Best and worst accuracy, for the normalised regret: over %d random settings of each new data set, which no method sees, and all settings any method tried.", o.pool),
		"The plain GP starts with five scattered settings, the paper's method and cm-BO with none: their priors make the first proposal. All then choose the setting with the largest expected improvement.",
		"New data sets come from other seeds and other parameters than past ones; of the last family there is no past data set at all.",
		fmt.Sprintf("Everything random follows from the seed %d.", o.seed))
	return page.String()
}

// resultFigure shows mean regret and accuracy of the methods.
func resultFigure(s *study) *plot.Figure {
	regret := &plot.Chart{Title: "Normalised regret", X: plot.Axis{Label: "settings tried", Integer: true}, Y: plot.Axis{Label: "normalised regret", Log: true}}
	accuracy := &plot.Chart{Title: "Best accuracy found", X: regret.X, Y: plot.Axis{Label: "accuracy in percent"}}
	lowest := 1.0
	for m := range numMethods {
		c := s.regrets(m)
		for _, v := range c.mean {
			if v > 0 {
				lowest = min(lowest, v)
			}
		}
		regret.Series = append(regret.Series, curveSeries(m, c, 1))
		a := curveSeries(m, s.accuracies(m), 100)
		a.Lo, a.Hi = nil, nil // data sets differ more than methods
		accuracy.Series = append(accuracy.Series, a)
	}
	for i := range regret.Series { // quartiles may be 0; the means decide where the axis ends
		for q, lo := range regret.Series[i].Lo {
			regret.Series[i].Lo[q] = max(lo, lowest/2)
		}
	}
	return &plot.Figure{Panels: []*plot.Chart{regret, accuracy}, Height: 280}
}

func curveSeries(m method, c curve, scale float64) plot.Series {
	times := func(v []float64) []float64 {
		v = slices.Clone(v)
		for i := range v {
			v[i] *= scale
		}
		return v
	}
	return plot.Series{Name: m.String(), Y: times(c.mean), Lo: times(c.low), Hi: times(c.high), Bold: m == cmBO, Style: looks[m], Plain: true}
}
