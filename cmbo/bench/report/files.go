package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/gocmbo/cmbo/internal/plot"
)

// overall is how files call a comparison over all spaces.
const overall = "(all)"

func spaceCell(space string) string {
	if space == "" {
		return overall
	}
	return space
}

// num writes a number with ten significant digits, and nothing for NaN.
func num(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 10, 64)
}

// WriteCSV writes the numbers into a folder, which it makes if need be: one row
// for each observation, a heading in the first row, ten significant digits and
// nothing for what is unknown. The space of rows over all spaces is "(all)".
//
//	runs.csv        what was compared, and what is missing
//	curves.csv      regret with limits, rank and solved fraction by query
//	methods.csv     area under the curve and calibration by method
//	profiles.csv    performance profiles
//	pairs.csv       the paired bootstrap, a minus b, each pair once
//	times.csv       wall times, if there are any
func (s *Summary) WriteCSV(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	files := []struct {
		name string
		rows [][]string
	}{
		{"runs.csv", s.runRows()},
		{"curves.csv", s.curveRows()},
		{"methods.csv", s.methodRows()},
		{"profiles.csv", s.profileRows()},
		{"pairs.csv", s.pairRows()},
	}
	if len(s.Times) > 0 {
		files = append(files, struct {
			name string
			rows [][]string
		}{"times.csv", s.timeRows()})
	}
	for _, f := range files {
		if err := writeCSV(filepath.Join(dir, f.name), f.rows); err != nil {
			return err
		}
	}
	return nil
}

func writeCSV(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}

func (s *Summary) runRows() [][]string {
	rows := [][]string{{"space", "acquisition", "method", "compared", "runs_of_method", "runs_shared", "tasks_shared", "runs_known"}}
	for _, c := range s.Comparisons {
		for _, e := range c.Entries {
			rows = append(rows, []string{spaceCell(c.Space), c.Acquisition, e.Method,
				strconv.FormatBool(e.Compared), strconv.Itoa(e.Runs), strconv.Itoa(c.Runs), strconv.Itoa(c.Tasks), strconv.Itoa(c.Known)})
		}
	}
	return rows
}

func (s *Summary) curveRows() [][]string {
	rows := [][]string{{"space", "acquisition", "method", "query", "regret", "regret_lower", "regret_upper", "rank", "solved"}}
	for _, c := range s.Comparisons {
		for _, r := range c.Results {
			for q := range r.Regret {
				rows = append(rows, []string{spaceCell(c.Space), c.Acquisition, r.Method, strconv.Itoa(q),
					num(r.Regret[q]), num(r.Lower[q]), num(r.Upper[q]), num(r.Rank[q]), num(r.Solved[q])})
			}
		}
	}
	return rows
}

func (s *Summary) methodRows() [][]string {
	rows := [][]string{{"space", "acquisition", "method", "family", "runs", "tasks", "auc", "auc_lower", "auc_upper",
		"geometric_auc", "geometric_late", "predictions", "mean_nlpd", "median_nlpd", "coverage_90", "median_sd"}}
	for _, c := range s.Comparisons {
		for _, r := range c.Results {
			k := r.Calibration
			rows = append(rows, []string{spaceCell(c.Space), c.Acquisition, r.Method, familyOf(r.Method).String(), strconv.Itoa(c.Runs), strconv.Itoa(c.Tasks),
				num(r.AUC), num(r.AUCLower), num(r.AUCUpper),
				num(r.GeometricAUC), num(r.GeometricLate), strconv.Itoa(k.Predictions), num(k.MeanNLPD), num(k.MedianNLPD), num(k.Coverage90), num(k.MedianSD)})
		}
	}
	return rows
}

func (s *Summary) profileRows() [][]string {
	rows := [][]string{{"space", "acquisition", "method", "threshold", "fraction"}}
	for _, c := range s.Comparisons {
		for _, r := range c.Results {
			for i, t := range s.Thresholds {
				rows = append(rows, []string{spaceCell(c.Space), c.Acquisition, r.Method, num(t), num(r.Profile[i])})
			}
		}
	}
	return rows
}

func (s *Summary) pairRows() [][]string {
	rows := [][]string{{"space", "acquisition", "metric", "a", "b", "difference", "lower", "upper", "share_a_lower"}}
	for _, c := range s.Comparisons {
		for _, p := range c.Pairs {
			for i, d := range []Difference{p.Regret, p.AUC} {
				rows = append(rows, []string{spaceCell(c.Space), c.Acquisition, []string{"regret", "auc"}[i], p.A, p.B, num(d.Mean), num(d.Lower), num(d.Upper), num(d.Share)})
			}
		}
	}
	return rows
}

func (s *Summary) timeRows() [][]string {
	rows := [][]string{{"space", "method", "offline_seconds", "learned", "online_seconds_per_query", "runs"}}
	for _, t := range s.Times {
		rows = append(rows, []string{spaceCell(t.Space), t.Method, num(t.Offline), strconv.Itoa(t.Learned), num(t.Online), strconv.Itoa(t.Runs)})
	}
	return rows
}

// WriteMarkdown writes results.md and the figures it shows, SVG files, into a
// folder, which it makes if need be. It is the short form of the report, small
// enough to be kept beside the code: by space it has the regret curves and the
// tables of results, and all else over all spaces. Files of former reports are
// overwritten but not removed.
func (s *Summary) WriteMarkdown(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	d := &markdown{dir: dir, names: map[string]bool{}}
	d.b.WriteString("# " + markdownText(s.Title) + "\n")
	s.layOut(d, false)
	if d.err != nil {
		return d.err
	}
	return os.WriteFile(filepath.Join(dir, "results.md"), []byte(d.b.String()), 0o666)
}

// markdown is a document in a folder. It keeps the first error of writing.
type markdown struct {
	dir     string
	b       strings.Builder
	names   map[string]bool
	figures int
	tables  int
	err     error
}

// markdownText escapes what would be markup in running text, but not backquotes.
var markdownEscapes = strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "[", `\[`, "]", `\]`, "|", `\|`, "\n", " ")

func markdownText(s string) string { return markdownEscapes.Replace(s) }

func (d *markdown) Section(title string) { d.b.WriteString("\n## " + markdownText(title) + "\n") }

func (d *markdown) Text(paragraphs ...string) {
	for _, p := range paragraphs {
		d.b.WriteString("\n" + markdownText(p) + "\n")
	}
}

func (d *markdown) List(items ...string) {
	d.b.WriteString("\n")
	for _, i := range items {
		d.b.WriteString("- " + markdownText(i) + "\n")
	}
}

func (d *markdown) Figure(caption string, fs ...*plot.Figure) {
	d.figures++
	for _, f := range fs {
		name := d.fileName(f.Title)
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(f.SVG()), 0o666); err != nil && d.err == nil {
			d.err = err
		}
		fmt.Fprintf(&d.b, "\n![%s](%s)\n", markdownText(f.Title), name)
	}
	fmt.Fprintf(&d.b, "\nFigure %d. %s\n", d.figures, markdownText(caption))
}

// fileName makes a name of a title that no other figure has.
func (d *markdown) fileName(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.'):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	base := strings.Trim(b.String(), "-.")
	name := base
	for n := 2; d.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	d.names[name] = true
	return name + ".svg"
}

func (d *markdown) Table(t *plot.Table) {
	d.tables++
	if t.Caption != "" {
		fmt.Fprintf(&d.b, "\nTable %d. %s\n", d.tables, markdownText(t.Caption))
	}
	d.b.WriteString("\n" + t.Markdown())
}
