package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/bench/report"
)

// printAreas sets the methods of the experiments in folders side by side, from their records alone.
// A space of a folder is a table; one that several folders have is called by its folder, too.
func printAreas(dirs []string, base string, stdout io.Writer) error {
	folders := make([][]bench.Record, len(dirs))
	asked := make([]string, len(dirs))
	holders := map[string]int{} // folders by space
	for i, dir := range dirs {
		settings, records, err := readFolder(dir)
		if err != nil {
			return err
		}
		// Folders of one mean answer one question; they may have other divisions and seeds.
		p := &settings.Protocol
		asked[i] = fmt.Sprintf("-initial %d -sources %d -source-rows %d -past %q", p.Initial, p.Sources, p.SourceRows, p.Past)
		if asked[i] != asked[0] {
			return fmt.Errorf("%s has runs with %s, and %s with %s", dirs[0], asked[0], dir, asked[i])
		}
		spaces, names := map[string]bool{}, map[string]bool{}
		for _, r := range records {
			spaces[r.Space], names[r.Method] = true, true
		}
		if !names[base] {
			return fmt.Errorf("%s: there is no run of %s; there are runs of %s",
				dir, base, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
		for space := range spaces {
			holders[space]++
		}
		folders[i] = records
	}
	var all []bench.Record
	for i, records := range folders {
		for _, r := range records {
			if holders[r.Space] > 1 {
				r.Space += " (" + dirs[i] + ")"
			}
			all = append(all, r)
		}
	}
	a, err := report.CompareAreas(all, base)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, areasTable(a))
	return err
}

// areasTable is Markdown: areas by method and table, and the ratios of the first method's to
// those of the others, the rivals' best among them.
func areasTable(a *report.Areas) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| method | %s | area of %s over its |\n|---|%s---|\n",
		strings.Join(a.Spaces, " | "), a.Methods[0], strings.Repeat("---:|", len(a.Spaces)))
	row := func(name string, areas []float64, ratio string) {
		b.WriteString("| " + name)
		for _, v := range areas {
			b.WriteString(" | " + short(v, 4))
		}
		fmt.Fprintf(&b, " |%s |\n", ratio)
	}
	// A ratio to the first method is the other way round here, its bounds with it.
	over := func(r report.Ratio) string { return " " + within(1/r.Mean, 1/r.Upper, 1/r.Lower) }
	least := slices.Repeat([]float64{math.Inf(1)}, len(a.Spaces))
	for k, m := range a.Methods {
		if k == 0 {
			row("**"+m+"**", a.Mean[k], "")
			continue
		}
		row(m, a.Mean[k], over(a.Ratios[k]))
		for i, v := range a.Mean[k] {
			if slices.Contains(a.Rivals, m) {
				least[i] = min(least[i], v)
			}
		}
	}
	if a.Best != nil {
		row("best rival of each table", least, over(*a.Best))
	}
	var runs []string
	for i, space := range a.Spaces {
		runs = append(runs, fmt.Sprintf("%s of %s of %s", count(a.Runs[i], "run"), count(a.Tasks[i], "task"), space))
	}
	fmt.Fprintf(&b, "\nAreas are means over the runs that all of these methods have: %s. Ratios are geometric means over tables,"+
		" with 95 %% of a bootstrap that draws tasks. Areas below .0001 count as that in them.\n", strings.Join(runs, ", "))
	if a.Best != nil {
		fmt.Fprintf(&b, "Rivals learn from past tasks: %s. The best is chosen by these runs, in the bootstrap anew for each draw.\n", strings.Join(a.Rivals, ", "))
	}
	for _, m := range slices.Sorted(maps.Keys(a.Absent)) {
		fmt.Fprintf(&b, "Left out: %s, which has less than half of the runs of %s.\n", m, strings.Join(a.Absent[m], ", "))
	}
	return b.String()
}

// within writes a ratio with its interval, which it has where each space has several tasks.
func within(v, lo, hi float64) string {
	if math.IsNaN(lo) {
		return short(v, 2) + " (a single task, no interval)"
	}
	return fmt.Sprintf("%s [%s, %s]", short(v, 2), short(lo, 2), short(hi, 2))
}

// short writes a number with so many digits after the point and no zero before it.
func short(v float64, digits int) string {
	return strings.TrimPrefix(fmt.Sprintf("%.*f", digits, v), "0")
}
