package optim_test

import (
	"fmt"

	"github.com/gocmbo/cmbo/internal/optim"
)

func ExampleMinimizer() {
	// The point of the unit square closest to (0.4, 3).
	f := func(x, grad []float64) float64 {
		a, b := x[0]-0.4, x[1]-3
		grad[0], grad[1] = 2*a, 2*b
		return a*a + b*b
	}
	r := new(optim.Minimizer).Minimize(f, []float64{0, 0}, []float64{0, 0}, []float64{1, 1}, optim.Options{})
	fmt.Printf("%.3f %.3f, converged: %v\n", r.X, r.F, r.Converged())
	// Output: [0.400 1.000] 4.000, converged: true
}
