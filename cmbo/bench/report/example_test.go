package report_test

import (
	"fmt"
	"log"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/cmbo/bench/report"
)

// Two methods on three tasks, one run each.
func ExampleAnalyse() {
	var records []bench.Record
	for i, task := range []string{"t1", "t2", "t3"} {
		harder := 1 + float64(i)
		records = append(records,
			bench.Record{Space: "svm", Method: "Random", Task: task, Regret: []float64{0.3 * harder, 0.2 * harder, 0.2 * harder}},
			bench.Record{Space: "svm", Method: "cm-BO", Acquisition: "EI", Task: task, Regret: []float64{0.3 * harder, 0.1 * harder, 0.002 * harder}})
	}
	s, err := report.Analyse(records)
	if err != nil {
		log.Fatal(err)
	}
	c := s.Comparisons[0]
	for _, r := range c.Results {
		fmt.Printf("%-6s regret %.3f, rank %.1f, solved %.2f\n", r.Method, r.Final(), r.Rank[s.Budget], r.Solved[s.Budget])
	}
	a := c.Result("Random").Against
	fmt.Printf("%.1f [%.1f, %.1f] of the area of cm-BO\n", a.Mean, a.Lower, a.Upper)
	// Output:
	// cm-BO  regret 0.004, rank 1.0, solved 0.67
	// Random regret 0.400, rank 2.0, solved 0.00
	// 3.9 [3.9, 3.9] of the area of cm-BO
}
