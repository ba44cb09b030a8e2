package main

import (
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/plot"
)

// Looks of the methods, the same in all figures.
var looks = [numMethods]int{randomSearch: 8, plainGP: 2, paper: 3, cmBO: 1}

// report writes the outcome as a page of HTML.
func report(o *options, p *past, prior *cmbo.Prior, s *study) string {
	page := plot.NewPage("Tuning with and without experience")
	names := groupNames(prior)
	page.Text(
		fmt.Sprintf("A kernel classifier was tuned on %s. Random search draws settings blindly. The plain GP, a Gaussian process, learns from the data set at hand alone. cm-BO starts from what was learned on %s: it has grouped them by how they respond to the settings, and weighs the groups as results come in.",
			count(len(s.targets), "new data set"), count(len(p.tasks), "past data set")))
	page.Pre(fmt.Sprintf("go run ./examples/quickstart -seed %d -tasks %d -repeats %d -budget %d -variant %s\n", o.seed, o.tasks, o.repeats, o.budget, o.variant))

	page.Section("Result")
	page.Figure(resultFigure(s), fmt.Sprintf("Left: normalised regret of the best setting found so far, on a logarithmic axis; 0 would be the best accuracy known for a data set, 1 the worst. Right: its accuracy. Lines are means over %s and %s; the bands hold the middle half of the runs' regrets.", count(len(s.targets), "data set"), count(s.repeats, "seed")))
	page.Table(accuracyTable(s))
	page.Table(regretTable(s))

	page.Section("Data set by data set")
	page.Figure(dataFigure(s), "The new data sets in their first two features, one colour and marker a class. Further features, if any, are noise.")
	page.Figure(targetsFigure(s), fmt.Sprintf("Mean normalised regret on each of them over %s.", count(s.repeats, "seed")))
	page.Table(winnerTable(s))

	page.Section("What was learned from the past")
	if len(names) == len(p.tasks) {
		page.Text(fmt.Sprintf("In the variant %s each past task is a group of its own.", o.variant))
	} else {
		page.Figure(groupFigure(p, prior), "How many past tasks of each family are in each group. The families were not told to the method; it saw settings and accuracies.")
		if parts := prior.Partitions(); len(parts) > 1 {
			page.Table(partitionTable(parts, len(names)))
		}
	}
	page.Table(pastTable(o, p, prior))
	if len(names) > 1 {
		page.Section("How the weights moved")
		page.Text("This is the method named paper, a variant of arXiv:2503.06093; cm-BO is the hierarchical prior that the library takes by default. With the paper's method the prior of a new data set is a weighted sum of the groups' prototypes. All begin with the same weight; after each result, groups whose prototype is near to what is now known of the data set gain.")
		caption := fmt.Sprintf("Weight of each group before the first setting and after each, mean over %s. The axis does not begin at 0.", count(s.repeats, "seed"))
		if len(names) > maxGroups {
			caption += " There is a line for each group."
		}
		page.Figure(weightFigure(s, names), caption)
		t := weightTable(s, names)
		t.Caption = fmt.Sprintf("Weights after %s; all started at %.3f.", count(s.budget, "setting"), 1/float64(len(names)))
		page.Table(t)
		page.Text(gainers(s, names))
	}

	page.Section("How it was done")
	page.List(
		"The classifier is kernel ridge regression of class indicators, one class against the rest. Its hyper-parameters are the regularisation `lambda` (0.000001 to 100) and the `width` of the kernel (0.02 to 20), both on logarithmic scales, the `kernel` (rbf, laplacian, polynomial, linear) and the `degree` of the polynomial (1 to 5).",
		fmt.Sprintf("Its accuracy is measured by %d-fold cross-validation, stratified by class; the same folds for all settings of a data set.", numFolds),
		fmt.Sprintf("Past records: %d random settings of each of %s.", o.recorded, count(len(p.tasks), "data set")),
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
		c := s.regrets(m, s.all())
		for _, v := range c.mean {
			if v > 0 {
				lowest = min(lowest, v)
			}
		}
		regret.Series = append(regret.Series, curveSeries(m, c, 1))
		a := curveSeries(m, s.accuracies(m, s.all()), 100)
		a.Lo, a.Hi = nil, nil // data sets differ more than methods
		accuracy.Series = append(accuracy.Series, a)
	}
	for i := range regret.Series { // quartiles may be 0; the means decide where the axis ends
		for q, lo := range regret.Series[i].Lo {
			regret.Series[i].Lo[q] = max(lo, lowest/2)
		}
	}
	return &plot.Figure{Panels: []plot.Panel{regret, accuracy}, Height: 280}
}

func curveSeries(m method, c curve, scale float64) plot.Series {
	times := func(v []float64) []float64 {
		v = slices.Clone(v)
		for i := range v {
			v[i] *= scale
		}
		return v
	}
	return plot.Series{Name: m.String(), Y: times(c.mean), Lo: times(c.low), Hi: times(c.high), Bold: m == cmBO, Style: looks[m], Markers: plot.MarkersNone}
}

// targetsFigure shows the regret on each target.
func targetsFigure(s *study) *plot.Figure {
	f := &plot.Figure{Columns: 3, Height: 150, ShareY: true}
	for i, t := range s.targets {
		c := &plot.Chart{Title: t.name, X: plot.Axis{Label: "settings tried", Integer: true}, Y: plot.Axis{Label: "normalised regret", Zero: true}}
		for m := range numMethods {
			v := curveSeries(m, s.regrets(m, []int{i}), 1)
			v.Lo, v.Hi = nil, nil
			c.Series = append(c.Series, v)
		}
		f.Panels = append(f.Panels, c)
	}
	return f
}

// dataFigure shows the points of the targets.
func dataFigure(s *study) *plot.Figure {
	f := &plot.Figure{Columns: 3, Height: 210, Legend: plot.LegendNone, Desc: "Scatter plots of the new data sets."}
	for _, t := range s.targets {
		title := fmt.Sprintf("%s: %d points, %s", t.name, t.points, count(t.irrelevant+2, "feature"))
		c := &plot.Chart{Title: title}
		for class := range t.classes {
			v := plot.Series{Points: true, Name: fmt.Sprintf("class %d", class+1), Style: class + 1}
			for i, y := range t.y {
				if y == class {
					v.X, v.Y = append(v.X, t.x.At(i, 0)), append(v.Y, t.x.At(i, 1))
				}
			}
			c.Series = append(c.Series, v)
		}
		f.Panels = append(f.Panels, c)
	}
	return f
}

// winnerTable lists the best settings found.
func winnerTable(s *study) *plot.Table {
	t := &plot.Table{
		Caption: "Accuracies in percent: the best and the worst known, the best that any run of cm-BO found, and the setting it found.",
		Columns: []plot.Column{{Title: "data set"}, {Title: "best"}, {Title: "worst"}, {Title: "cm-BO"}, {Title: "setting"}},
	}
	for i, target := range s.targets {
		a, c := s.winner(i, cmBO)
		t.Rows = append(t.Rows, []plot.Cell{plot.Str(target.name), plot.Num(100*target.best, 1), plot.Num(100*target.worst, 1), plot.Num(100*a, 1), plot.Str(c.String())})
	}
	return t
}

// groupFigure counts families in groups.
func groupFigure(p *past, prior *cmbo.Prior) *plot.Figure {
	m := &plot.Matrix{Title: "Past tasks by family and group", XLabel: "group", YLabel: "family",
		Format: func(v float64) string {
			if v == 0 {
				return ""
			}
			return fmt.Sprint(v)
		}}
	m.Cols = groupNames(prior)
	for i, label := range prior.Labels() {
		family := p.sets[i].family
		row := slices.Index(m.Rows, family)
		if row < 0 {
			row = len(m.Rows)
			m.Rows = append(m.Rows, family)
			m.Values = append(m.Values, make([]float64, len(m.Cols)))
		}
		m.Values[row][label]++
	}
	return &plot.Figure{Panels: []plot.Panel{m}, Width: 480}
}

// partitionTable shows how the number of groups was chosen.
func partitionTable(parts []cmbo.Partition, chosen int) *plot.Table {
	t := &plot.Table{
		Caption: fmt.Sprintf("The number of groups, %d, was chosen among these: it has the largest ratio of the mean distance between tasks of different groups to the mean distance within groups.", chosen),
		Columns: []plot.Column{{Title: "groups"}, {Title: "within"}, {Title: "between"}, {Title: "ratio", Best: plot.BestMax}},
	}
	for _, p := range parts {
		t.Rows = append(t.Rows, []plot.Cell{plot.Num(float64(p.Clusters), 0), plot.Num(p.IntraCE, 2), plot.Num(p.InterCS, 2), plot.Num(p.Score(), 3)})
	}
	return t
}

// pastTable lists the past tasks.
func pastTable(o *options, p *past, prior *cmbo.Prior) *plot.Table {
	t := &plot.Table{
		Caption: fmt.Sprintf("The past data sets, the accuracies of the %d settings recorded, in percent, and the groups.", o.recorded),
		Columns: []plot.Column{{Title: "data set"}, {Title: "points"}, {Title: "features"}, {Title: "classes"}, {Title: "worst"}, {Title: "best"}, {Title: "best setting"}, {Title: "group"}},
	}
	labels, names := prior.Labels(), groupNames(prior)
	for i, d := range p.sets {
		y := p.tasks[i].Y
		best := largest(y)
		t.Rows = append(t.Rows, []plot.Cell{
			plot.Str(d.name), plot.Num(float64(d.points), 0), plot.Num(float64(d.irrelevant+2), 0), plot.Num(float64(d.classes), 0),
			plot.Num(100*slices.Min(y), 1), plot.Num(100*y[best], 1), plot.Str(configOf(p.tasks[i].X[best]).String()), plot.Str(names[labels[i]]),
		})
	}
	return t
}

// weightFigure shows the weights of the groups on each target.
func weightFigure(s *study, names []string) *plot.Figure {
	f := &plot.Figure{Columns: 3, Height: 150, ShareY: true}
	for i, t := range s.targets {
		steps := s.weights(i)
		c := &plot.Chart{Title: t.name, X: plot.Axis{Label: "settings tried", Integer: true}, Y: plot.Axis{Label: "weight"}}
		for g, name := range names {
			v := plot.Series{Style: g + 1, Markers: plot.MarkersNone}
			if len(names) <= maxGroups {
				v.Name = "group " + name
			}
			for q, w := range steps {
				v.X, v.Y = append(v.X, float64(q)), append(v.Y, w[g])
			}
			c.Series = append(c.Series, v)
		}
		f.Panels = append(f.Panels, c)
	}
	return f
}
