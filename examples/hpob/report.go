package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/bench/report"
	"github.com/gocmbo/cmbo/internal/names"
)

// writeReport writes the report of the experiment in a folder from its records alone.
func writeReport(dir string, stdout io.Writer) error {
	settings, records, err := readFolder(dir)
	if err != nil {
		return err
	}
	s, err := report.Analyse(records)
	if err != nil {
		return err
	}
	s.Title = "Experiment " + settings.Protocol.Name
	s.Notes = notes(settings, records)
	if err := s.WriteCSV(filepath.Join(dir, "csv")); err != nil {
		return err
	}
	page := filepath.Join(dir, "report.html")
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	if err := errors.Join(s.WriteHTML(f), f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "report on %d runs: %s\n", len(records), page)
	return nil
}

// readFolder reads the experiment in a folder, which has at least one run.
func readFolder(dir string) (*bench.Settings, []bench.Record, error) {
	settings, err := bench.ReadSettings(dir)
	if err != nil {
		return nil, nil, err
	}
	records, err := bench.ReadRecords(dir)
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("there are no runs in %s", dir)
	}
	return settings, records, err
}

// notes says what the experiment was, as far as it got.
func notes(s *bench.Settings, records []bench.Record) []string {
	p := &s.Protocol
	repeats := 0
	for i := range records {
		repeats = max(repeats, records[i].Repeat+1)
	}
	text := ""
	say := func(whether bool, format string, args ...any) {
		if whether {
			text += fmt.Sprintf(format, args...)
		}
	}
	say(p.Own, "HPO-B's own division of the tasks and its initial configurations: %s.", names.Count(repeats, "initialisation"))
	say(!p.Own, "%s of the tasks, a share of %g of them being sources; %s of each new task with %s.",
		names.Count(p.Splits, "random division"), p.SourceShare, names.Count(repeats, "run"), names.Count(p.Initial, "random observation"))
	say(true, " At most %s of each source; %s a run; seed %d.",
		names.Count(p.SourceRows, "observation"), names.Count(p.Budget, "query"), p.Seed)
	say(repeats < p.Repeats, " The protocol asks for %d of these repeats.", p.Repeats)
	say(p.Sources > 0, " At most %s.", names.Count(p.Sources, "source"))
	say(p.Past != "", " The values of sources are %s.", p.Past)
	say(p.Targets > 0, " At most %s of a division are tuned.", names.Count(p.Targets, "new task"))
	least, most := p.Clusters[0], p.Clusters[1]
	say(least == most, " The variants of the paper that cluster have %s.", names.Count(least, "cluster"))
	say(least < most, " The variants of the paper that cluster choose between %d and %d clusters by the scores of the partitions.", least, most)
	out := []string{text + programs(records)}
	for _, t := range s.Tables {
		out = append(out, fmt.Sprintf("Space %s: %s with %d rows in %s.",
			t.Space, names.Count(t.Tasks, "task"), t.Rows, names.Count(t.Dim, "dimension")))
	}
	return out
}

// programs is a paragraph on which program made the runs of which methods, "" if one made all.
func programs(records []bench.Record) string {
	made := map[string][]string{}
	for _, r := range records {
		if run := r.Method + " on " + r.Space; !slices.Contains(made[r.Program], run) {
			made[r.Program] = append(made[r.Program], run)
		}
	}
	if len(made) < 2 {
		return ""
	}
	text := "\nRuns are of several programs, and may differ by that."
	for _, by := range slices.Sorted(maps.Keys(made)) {
		text += fmt.Sprintf(" By %s: %s.", cmp.Or(by, "an unknown one"), strings.Join(made[by], ", "))
	}
	return text + "\n"
}

// writeRatios writes a table of areas under the curves of mean regret as ratios to a method's,
// to a file ratios.md of the folder, too.
func writeRatios(records []bench.Record, dir, base string, stdout io.Writer) error {
	ratios, err := report.Ratios(records, base)
	if err != nil {
		return err
	}
	here, there, err := report.Chosen(records, base)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| area over that of %s | geometric mean [95 %%] | least | largest | runs |\n|---|---|---|---|---:|\n", base)
	for _, r := range ratios {
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s %s | %d |\n",
			r.Method, within(r.Mean, r.Lower, r.Upper), short(r.LeastBy, 2), r.Least, short(r.LargestBy, 2), r.Largest, r.Runs)
	}
	if !math.IsNaN(here) {
		fmt.Fprintf(&b, "\nThe best of them for each table, chosen on half of the divisions: %.2f there, %.2f on the other half.\n", here, there)
	}
	b.WriteString(programs(records))
	fmt.Fprint(stdout, b.String())
	return os.WriteFile(filepath.Join(dir, "ratios.md"), []byte(b.String()), 0o644)
}
