package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/plot"
)

// accuracyTable and regretTable compare the methods after some queries.
func accuracyTable(s *study) *plot.Table {
	return methodTable(s, "Best accuracy found, in percent, mean over data sets and seeds.", plot.BestMax, 1,
		func(m method, q int) float64 { return 100 * s.accuracies(m).mean[q] })
}

func regretTable(s *study) *plot.Table {
	return methodTable(s, "Normalised regret of the best setting found, mean over data sets and seeds.", plot.BestMin, 3,
		func(m method, q int) float64 { return s.regrets(m).mean[q] })
}

func methodTable(s *study, caption string, best plot.Best, decimals int, value func(m method, query int) float64) *plot.Table {
	t := &plot.Table{Caption: caption, Columns: []plot.Column{{Title: "settings tried"}}}
	points := slices.DeleteFunc([]int{1, 5, 10, 20}, func(q int) bool { return q > s.budget })
	for _, q := range points {
		t.Columns = append(t.Columns, plot.Column{Title: fmt.Sprint(q), Best: best})
	}
	for m := range numMethods {
		row := []plot.Cell{plot.Str(m.String())}
		for _, q := range points {
			row = append(row, plot.Num(value(m, q-1), decimals))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// printResults writes the outcome for the console.
func printResults(w io.Writer, o *options, s *study) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	table := func(t *plot.Table) { fmt.Fprint(w, "\n"+indent(t.Text())+"\n") }
	say("\nHow good is the best setting found? Mean over %s and %s;\nthe star marks the best method.",
		count(len(s.targets), "new data set"), count(s.repeats, "seed"))
	say("\n  Accuracy in percent, after trying so many settings:")
	table(accuracyTable(s))
	say("  Normalised regret: 0 is the best accuracy known for a data set, 1 the worst.")
	say("  Known are %d random settings of each data set and all that any method tried.", o.pool)
	table(regretTable(s))
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}
