package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/gocmbo/cmbo/internal/plot"
)

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

// printResults writes the outcome for the console.
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
