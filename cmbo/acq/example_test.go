package acq_test

import (
	"fmt"

	"github.com/gocmbo/cmbo/cmbo/acq"
)

// Three candidates, and which of them each acquisition tries first.
func ExampleFunc() {
	mean := []float64{0.6, 0.4, 0.1}
	sd := []float64{0.01, 0.15, 0.3}
	for _, f := range []acq.Func{acq.UCB{Beta: acq.DefaultBeta}, acq.EI{Best: 0.55}, acq.PI{Target: 0.55}} {
		first := 0
		for i := range mean {
			if f.Score(mean[i], sd[i]) > f.Score(mean[first], sd[first]) {
				first = i
			}
		}
		fmt.Printf("%v: candidate %d\n", f, first)
	}
	// Output:
	// UCB(3): candidate 2
	// EI(0.55): candidate 0
	// PI(0.55): candidate 0
}

// Far below the best value the improvement underflows; its logarithm still tells
// candidates apart.
func ExampleEI() {
	f := acq.EI{Best: 1}
	fmt.Println(acq.ExpectedImprovement(-50, 1, 1), acq.ExpectedImprovement(-49, 1, 1))
	fmt.Printf("%.1f %.1f\n", f.Score(-50, 1), f.Score(-49, 1))
	// Output:
	// 0 0
	// -1309.3 -1258.7
}
