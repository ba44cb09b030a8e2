package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/plot"
)

// seconds writes a time in three digits.
func seconds(s float64) string {
	switch {
	case math.IsNaN(s):
		return "-"
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

func (r *result) cell(c *contender) plot.Cell {
	if c == nil {
		return plot.Str("-")
	}
	return plot.Str(seconds(c.median()))
}

// summary is the table: a line for each row, and one more for each further
// target of a build.
func summary(results []*result) *plot.Table {
	t := &plot.Table{Caption: "Side by side",
		Columns: plot.Titled("piece", "size", "ours", "accelerated", "gonum", "numpy", "scikit-learn",
			"default", "target", "met", "accelerated", "target", "met")}
	for _, r := range results {
		var checks [2][]check
		for _, k := range r.row.checks {
			i := 0
			if k.build == acc {
				i = 1
			}
			checks[i] = append(checks[i], k)
		}
		for i := range max(1, len(checks[0]), len(checks[1])) {
			line := []plot.Cell{plot.Str(r.row.name), plot.Str(r.row.size), r.cell(r.ours(def)), r.cell(r.ours(acc)),
				r.cell(r.fastest("", "gonum")), r.cell(r.fastest("", "numpy")), r.cell(r.fastest("", "sklearn"))}
			if i > 0 {
				for j := range line {
					line[j] = plot.Str("")
				}
			}
			for _, c := range checks {
				if i >= len(c) {
					line = append(line, plot.Str(""), plot.Str(""), plot.Str(""))
					continue
				}
				number, target, met, ok := r.verdict(c[i])
				line = append(line, plot.Str(number), plot.Str(target), plot.Str(verdictWord(met, ok)))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

func verdictWord(met, ok bool) string {
	switch {
	case !ok:
		return "-"
	case met:
		return "yes"
	}
	return "NO"
}

// details lists every form of every row with its median, and what else was
// measured.
func details(results []*result) *plot.Table {
	t := &plot.Table{Caption: "All forms", Columns: plot.Titled("piece", "size", "form", "median", "fastest sample",
		"samples", "GFLOP/s", "besides")}
	for _, r := range results {
		for _, c := range r.contenders {
			rate := ""
			if r.row.flop > 0 {
				rate = fmt.Sprintf("%.3g", r.row.flop/c.median()/1e9)
			}
			var extra []string
			for _, k := range sortedKeys(c.extra) {
				extra = append(extra, fmt.Sprintf("%s %.3g", k, c.extra[k]))
			}
			least := math.Inf(1)
			for _, s := range c.samples {
				least = min(least, s)
			}
			t.Rows = append(t.Rows, []plot.Cell{plot.Str(r.row.name), plot.Str(r.row.size), plot.Str(c.label()),
				plot.Str(seconds(c.median())), plot.Str(seconds(least)), plot.Str(fmt.Sprint(len(c.samples))), plot.Str(rate),
				plot.Str(strings.Join(extra, "; "))})
		}
		for _, f := range r.failed {
			t.Rows = append(t.Rows, []plot.Cell{plot.Str(r.row.name), plot.Str(r.row.size), plot.Str("out: " + f),
				plot.Str(""), plot.Str(""), plot.Str(""), plot.Str(""), plot.Str("")})
		}
	}
	return t
}

// recorded is the file of -json: all samples, and how the checks came out.
type recorded struct {
	About []string      `json:"about"`
	Rows  []recordedRow `json:"rows"`
}

type recordedRow struct {
	Name     string            `json:"name"`
	Size     string            `json:"size"`
	Forms    []recordedForm    `json:"forms"`
	Failed   []string          `json:"failed,omitempty"`
	Verdicts []recordedVerdict `json:"verdicts,omitempty"`
}

type recordedForm struct {
	Form    string             `json:"form"`
	Worker  string             `json:"worker"`
	Median  float64            `json:"median_seconds"`
	Samples []float64          `json:"samples"`
	Extra   map[string]float64 `json:"extra,omitempty"`
}

type recordedVerdict struct {
	Build  string `json:"build"`
	Number string `json:"number"`
	Target string `json:"target"`
	Met    *bool  `json:"met"` // null if it could not be told
}

// readJSON returns what writeJSON stored, for the rows that are still there.
func readJSON(path string, rows []row) (about []string, results []*result, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var in recorded
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	workers := map[string]*worker{}
	for _, r := range rows {
		for _, l := range in.Rows {
			if l.Name != r.name || l.Size != r.size {
				continue
			}
			res := &result{row: r, failed: l.Failed}
			for _, f := range l.Forms {
				if workers[f.Worker] == nil {
					workers[f.Worker] = &worker{name: f.Worker}
				}
				res.contenders = append(res.contenders,
					&contender{w: workers[f.Worker], form: f.Form, samples: f.Samples, extra: f.Extra})
			}
			results = append(results, res)
		}
	}
	return in.About, results, nil
}

// writeJSON stores all samples.
func writeJSON(path string, about []string, results []*result) error {
	out := recorded{About: about}
	for _, r := range results {
		l := recordedRow{Name: r.row.name, Size: r.row.size, Failed: r.failed}
		for _, c := range r.contenders {
			l.Forms = append(l.Forms, recordedForm{c.form, c.w.name, c.median(), c.samples, c.extra})
		}
		for _, k := range r.row.checks {
			number, target, met, ok := r.verdict(k)
			v := recordedVerdict{Build: k.build, Number: number, Target: target}
			if ok {
				v.Met = &met
			}
			l.Verdicts = append(l.Verdicts, v)
		}
		out.Rows = append(out.Rows, l)
	}
	raw, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// markdown returns a table of text in the pipe syntax.
func markdown(t *plot.Table) string {
	heads := make([]plot.Cell, len(t.Columns))
	rules := slices.Clone(heads)
	for j, c := range t.Columns {
		heads[j], rules[j] = plot.Str(c.Title), plot.Str("---")
	}
	plain := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;")
	var b strings.Builder
	for _, row := range slices.Concat([][]plot.Cell{heads, rules}, t.Rows) {
		for _, cell := range row {
			b.WriteString("| " + plain.Replace(cell.String()) + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}
