package plot_test

import (
	"fmt"
	"strings"

	"github.com/gocmbo/cmbo/internal/plot"
)

// A figure of two curves, one of them with a band, on a logarithmic axis.
func ExampleFigure() {
	f := &plot.Figure{
		Title: "Regret after each query",
		Panels: []*plot.Chart{{
			X: plot.Axis{Label: "queries"},
			Y: plot.Axis{Label: "regret", Log: true},
			Series: []plot.Series{
				{Name: "random search", Y: []float64{0.5, 0.4, 0.35, 0.3}},
				{Name: "cm-BO", Y: []float64{0.4, 0.1, 0.03, 0.01}, Lo: []float64{0.3, 0.05, 0.02, 0.005}, Hi: []float64{0.5, 0.2, 0.06, 0.02}},
			},
		}},
	}
	_, label, _ := strings.Cut(f.SVG(), ` aria-label="`)
	label, _, _ = strings.Cut(label, `"`)
	fmt.Println(label) // which screen readers read
	// Output:
	// Regret after each query. Chart of random search, cm-BO; x: queries; y: regret (logarithmic).
}

// A table as text.
func ExampleTable() {
	t := &plot.Table{
		Columns: []plot.Column{{Title: "method"}, {Title: "regret", Best: plot.BestMin}},
		Rows: [][]plot.Cell{
			{plot.Str("random search"), plot.Num(0.31, 3)},
			{plot.Str("cm-BO"), plot.Num(0.012, 3)},
		},
	}
	fmt.Print(t.Text())
	// Output:
	// method         regret
	// ─────────────  ──────
	// random search   0.310
	// cm-BO           0.012*
}

// A page is put together in reading order.
func ExamplePage() {
	p := plot.NewPage("A study")
	p.Text("Tuned with `cmbo`.")
	p.Figure("Accuracy of each trial.", &plot.Figure{Panels: []*plot.Chart{{Series: []plot.Series{{Y: []float64{1, 2, 3}}}}}})
	for line := range strings.Lines(p.String()) {
		if strings.Contains(line, "<p>") || strings.Contains(line, "<figcaption>") {
			fmt.Print(line)
		}
	}
	// Output:
	// <p>Tuned with <code>cmbo</code>.</p>
	// <figcaption><b>Figure 1.</b> Accuracy of each trial.</figcaption>
}
