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
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
)

// A divided table is what several folders may have runs of, each with divisions of its own.
type dividedTable struct {
	digest, dir string // dir is that of its first folder
	seeds       []uint64
	splits      int
}

// printAreas sets the methods of the experiments in folders side by side, from their records alone. Runs of one table
// in several folders are those of other divisions; other tables of one space are called by their folders, too.
func printAreas(dirs []string, base string, stdout io.Writer) error {
	var all []bench.Record
	var of []*dividedTable // by record
	tables := map[string][]*dividedTable{}
	asked := make([]string, len(dirs))
	for i, dir := range dirs {
		settings, records, err := readFolder(dir)
		if err != nil {
			return err
		}
		// Folders of one mean answer one question; they may have other divisions and seeds.
		p := &settings.Protocol
		asked[i] = fmt.Sprintf("-initial %d -sources %d -source-rows %d -past %q -clusters %d:%d, a share of %g past (HPO-B's own: %t)",
			p.Initial, p.Sources, p.SourceRows, p.Past, p.Clusters[0], p.Clusters[1], p.SourceShare, p.Own)
		if asked[i] != asked[0] {
			return fmt.Errorf("%s has runs with %s, and %s with %s", dirs[0], asked[0], dir, asked[i])
		}
		names := map[string]bool{}
		for _, r := range records {
			names[r.Method] = true
		}
		if !names[base] {
			return fmt.Errorf("%s: there is no run of %s; there are runs of %s",
				dir, base, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
		for _, info := range settings.Tables {
			held := tables[info.Space]
			at := slices.IndexFunc(held, func(t *dividedTable) bool { return t.digest == info.Digest })
			if at < 0 {
				at, held = len(held), append(held, &dividedTable{digest: info.Digest, dir: dir})
			}
			t := held[at]
			if tables[info.Space] = held; slices.Contains(t.seeds, p.Seed) || p.Own && t.seeds != nil {
				return fmt.Errorf("%s and %s have the same divisions of %s", t.dir, dir, info.Space)
			}
			for _, r := range records {
				if r.Space == info.Space {
					r.Split += t.splits
					all, of = append(all, r), append(of, t)
				}
			}
			t.seeds, t.splits = append(t.seeds, p.Seed), t.splits+p.Splits
		}
	}
	for i := range all {
		if len(tables[all[i].Space]) > 1 {
			all[i].Space += " (" + of[i].dir + ")"
		}
	}
	a, err := report.CompareAreas(all, base)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, areasTable(a)+programs(all))
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
	runs := each.Below(len(a.Spaces), func(i int) string {
		return fmt.Sprintf("%s of %s of %s", names.Count(a.Runs[i], "run"), names.Count(a.Tasks[i], "task"), a.Spaces[i])
	})
	fmt.Fprintf(&b, "\nAreas are means over the runs that all of these methods have: %s. Ratios are geometric means over tables,"+
		" with 95 %% of a bootstrap that draws tasks, too narrow where tasks are few. Areas below .0001 count as that in them.\n", strings.Join(runs, ", "))
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
