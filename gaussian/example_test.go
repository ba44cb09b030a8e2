package gaussian_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Gaussian process regression: a Fitter chooses the hyperparameters, a Conditioner
// makes the posterior of them.
func ExampleFitter() {
	x := linalg.NewDense(12, 1, nil)
	y := make([]float64, 12)
	for i := range y {
		x.Set(i, 0, float64(i)/11)
		y[i] = math.Sin(6 * x.At(i, 0))
	}
	var f gaussian.Fitter
	r, err := f.Fit(context.Background(), kernel.Scale(1, kernel.Matern52(1)), 0.01, x, y, nil, &gaussian.FitOptions{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("noise %.2f\n", math.Sqrt(r.Noise))

	var gram linalg.Sym
	kernel.Gram(&gram, r.Kernel, x)
	var c gaussian.Conditioner
	if err := c.Factorize(&gram, []float64{r.Noise}, y); err != nil {
		fmt.Println(err)
		return
	}
	z := linalg.NewDense(2, 1, []float64{0.5, 1.2})
	mean, variance := make([]float64, 2), make([]float64, 2)
	kernel.Diag(variance, r.Kernel, z)
	var v linalg.Dense
	kernel.Cross(&v, r.Kernel, x, z)
	for _, err := range []error{c.Whiten(&v, &v), c.Update(mean, variance, &v)} {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for i, m := range mean {
		fmt.Printf("f(%.1f) = %.1f ± %.1f\n", z.At(i, 0), m, math.Sqrt(variance[i]))
	}
	// Output:
	// noise 0.02
	// f(0.5) = 0.1 ± 0.0
	// f(1.2) = 0.6 ± 0.4
}

// A prior over five points, known by its columns at the points observed.
func ExampleConditioner() {
	mean := []float64{0, 0, 0, 0, 0}
	variance := []float64{1, 1, 1, 1, 1}
	columns := linalg.NewDense(2, 5, []float64{ // covariances with points 1 and 4
		0.6, 1, 0.6, 0.3, 0.1,
		0.1, 0.1, 0.3, 0.6, 1,
	})
	observed := linalg.NewSym(2, []float64{1, 0.1, 0.1, 1})

	var c gaussian.Conditioner
	if err := c.Factorize(observed, []float64{0.01}, []float64{2, -1}); err != nil {
		fmt.Println(err)
		return
	}
	var v linalg.Dense
	for _, err := range []error{c.Whiten(&v, columns), c.Update(mean, variance, &v)} {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("mean %.2f\nvariance %.2f\n", mean, variance)
	// Output:
	// mean [1.14 1.98 0.90 -0.09 -0.99]
	// variance [0.64 0.01 0.59 0.59 0.01]
}
