package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/plot"
)

// accuracyTable and regretTable compare the methods after some queries.
func accuracyTable(s *study) *plot.Table {
	return methodTable(s, "Best accuracy found, in percent, mean over data sets and seeds.", plot.BestMax, 1,
		func(m method, q int) float64 { return 100 * s.accuracies(m, s.all()).mean[q] })
}

func regretTable(s *study) *plot.Table {
	return methodTable(s, "Normalised regret of the best setting found, mean over data sets and seeds.", plot.BestMin, 3,
		func(m method, q int) float64 { return s.regrets(m, s.all()).mean[q] })
}

func methodTable(s *study, caption string, best plot.Best, decimals int, value func(m method, query int) float64) *plot.Table {
	t := &plot.Table{Caption: caption, Columns: []plot.Column{{Title: "settings tried"}}}
	points := checkpoints(s.budget)
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

// groupNames calls the clusters A, B, ...; where each past task is its own
// cluster and letters run out, by the task.
func groupNames(prior *cmbo.Prior) []string {
	var names []string
	clusters := prior.Clusters()
	for _, c := range clusters {
		name := strings.Join(c.Members, "+")
		if len(clusters) <= 26 && len(clusters) < prior.NumTasks() {
			name = string(rune('A' + c.ID))
		}
		names = append(names, name)
	}
	return names
}

// printGroups lists the clusters of past tasks, in lines of at most 79 columns.
func printGroups(w io.Writer, prior *cmbo.Prior) {
	names := groupNames(prior)
	for _, c := range prior.Clusters() {
		line := fmt.Sprintf("  %-4s", names[c.ID])
		for i, member := range c.Members {
			if i > 0 {
				line += ","
			}
			if len(line)+1+len(member) > 78 {
				fmt.Fprintln(w, line)
				line = "      "
			}
			line += " " + member
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
}

// maxGroups is the largest number of groups whose weights are shown one by one.
const maxGroups = 8

// weightTable shows the weights of the groups at the end of the runs.
func weightTable(s *study, names []string) *plot.Table {
	groups := len(names)
	t := &plot.Table{Columns: []plot.Column{{Title: "new data set"}}}
	if groups > maxGroups {
		t.Columns = append(t.Columns, plot.Column{Title: "largest"}, plot.Column{Title: "weight"}, plot.Column{Title: "smallest"}, plot.Column{Title: "weight"})
	} else {
		for _, name := range names {
			t.Columns = append(t.Columns, plot.Column{Title: name})
		}
	}
	for i, target := range s.targets {
		steps := s.weights(i)
		last := steps[len(steps)-1]
		row := []plot.Cell{plot.Str(target.name)}
		if groups > maxGroups {
			most, least := largest(last), 0
			for g, w := range last {
				if w < last[least] {
					least = g
				}
			}
			row = append(row, plot.Str(names[most]), plot.Num(last[most], 3), plot.Str(names[least]), plot.Num(last[least], 3))
		} else {
			for _, w := range last {
				row = append(row, plot.Num(w, 3))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// gainers says which group has the largest weight at the end, on how many data
// sets.
func gainers(s *study, names []string) string {
	wins := make([]int, len(names))
	for i := range s.targets {
		steps := s.weights(i)
		wins[largest(steps[len(steps)-1])]++
	}
	var parts []string
	for g, n := range wins {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s on %d of %d", names[g], n, len(s.targets)))
		}
	}
	return "Largest weight at the end: " + strings.Join(parts, ", ") + "."
}

// printResults writes the outcome for the console.
func printResults(w io.Writer, o *options, p *past, prior *cmbo.Prior, s *study) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	table := func(t *plot.Table) {
		fmt.Fprint(w, "\n"+indent(t.Text())+"\n")
	}
	say("\nHow good is the best setting found? Mean over %s and %s;\nthe star marks the best method.",
		count(len(s.targets), "new data set"), count(s.repeats, "seed"))
	say("\n  Accuracy in percent, after trying so many settings:")
	table(accuracyTable(s))
	say("  Normalised regret: 0 is the best accuracy known for a data set, 1 the worst.")
	say("  Known are %d random settings of each data set and all that any method tried.", o.pool)
	table(regretTable(s))

	names := groupNames(prior)
	groups := len(names)
	switch {
	case groups == len(p.tasks):
		say("Each of the %d past tasks is a group of its own.\n", len(p.tasks))
	case groups == 1:
		say("All past tasks are in one group in this variant: there is nothing to weigh.\n")
	default:
		say("Past tasks that respond alike to the settings were put in one group:\n")
		printGroups(w, prior)
	}
	if groups > 1 {
		say("How much each group counts for a new data set. All start at %.3f; the more a\ngroup looks like what was seen so far, the more it counts. After %s:", 1/float64(groups), count(s.budget, "setting"))
		table(weightTable(s, names))
		say("%s\n", gainers(s, names))
	}
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
