package report

import (
	"cmp"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// spaceCell is how files call a comparison over all spaces, or one space.
func spaceCell(space string) string { return cmp.Or(space, "(all)") }

// num writes a number with ten significant digits, and nothing for NaN.
func num(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 10, 64)
}

// WriteCSV writes the numbers into a folder, which it makes if need be: one row for each observation, a heading in the
// first row, ten significant digits and nothing for what is unknown. The space of rows over all spaces is "(all)".
//
//	curves.csv      regret with limits, rank and solved fraction by query
//	methods.csv     area under the curve and calibration by method
func (s *Summary) WriteCSV(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return errors.Join(
		writeCSV(filepath.Join(dir, "curves.csv"), s.curveRows()),
		writeCSV(filepath.Join(dir, "methods.csv"), s.methodRows()))
}

func writeCSV(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}

func (s *Summary) curveRows() [][]string {
	rows := [][]string{{"space", "acquisition", "method", "query", "regret", "regret_lower", "regret_upper", "rank",
		"solved"}}
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
			rows = append(rows, []string{spaceCell(c.Space), c.Acquisition, r.Method, familyOf(r.Method),
				strconv.Itoa(c.Runs), strconv.Itoa(c.Tasks), num(r.AUC), num(r.AUCLower), num(r.AUCUpper),
				num(r.GeometricAUC), num(r.GeometricLate), strconv.Itoa(k.Predictions),
				num(k.MeanNLPD), num(k.MedianNLPD), num(k.Coverage90), num(k.MedianSD)})
		}
	}
	return rows
}
