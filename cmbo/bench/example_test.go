package bench_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// table writes six tasks on a line of 21 configurations, in HPO-B's format. Their
// best values lie near each other.
func table() string {
	var tasks []string
	for j := range 6 {
		var x, y []string
		for i := range 21 {
			u := float64(i) / 20
			x = append(x, fmt.Sprintf("[%g]", u))
			y = append(y, fmt.Sprintf("[%.6f]", -math.Abs(u-0.6-0.02*float64(j))))
		}
		tasks = append(tasks, fmt.Sprintf(`"task%d": {"X": [%s], "y": [%s]}`, j, strings.Join(x, ","), strings.Join(y, ",")))
	}
	return `{"line": {` + strings.Join(tasks, ",") + `}}`
}

// Two methods on a small table: the mean curves of their runs.
func ExampleExperiment() {
	t, err := bench.ReadTable(strings.NewReader(table()), "line")
	if err != nil {
		log.Fatal(err)
	}
	p, err := bench.FindProtocol("paper")
	if err != nil {
		log.Fatal(err)
	}
	p.Methods = []string{"Random", "RGPE"}
	p.Acquisitions = []string{"EI"}
	p.Splits, p.Repeats, p.Initial, p.Budget, p.SourceRows = 2, 4, 2, 3, 10
	// With the name of a folder in the place of "" the records would go there.
	outcome, err := (&bench.Experiment{Protocol: p}).Run(context.Background(), []*bench.Table{t}, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range p.Methods {
		var curves [][]float64
		for _, r := range outcome.Records {
			if r.Method == m {
				curves = append(curves, r.Regret)
			}
		}
		fmt.Printf("%-6s %d runs, regret %.2f\n", m, len(curves), bench.MeanCurve(curves))
	}
	// Output:
	// Random 8 runs, regret [0.25 0.19 0.14 0.10]
	// RGPE   8 runs, regret [0.25 0.01 0.00 0.00]
}
