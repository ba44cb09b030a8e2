package gaussian_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// normal makes a normal distribution in the plane.
func normal(m0, m1, s00, s01, s11 float64) *gaussian.Normal {
	p, err := gaussian.NewNormal([]float64{m0, m1}, linalg.NewSym(2, []float64{s00, s01, s01, s11}))
	if err != nil {
		panic(err)
	}
	return p
}

func ExampleNewNormal() {
	cov := linalg.NewSym(2, []float64{2, 0.5, 0.5, 1})
	p, err := gaussian.NewNormal([]float64{1, 2}, cov)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := p.LogProb([]float64{1, 2})
	fmt.Printf("density at the mean %.4f, %v\n", math.Exp(l), err)

	cov.Set(1, 1, math.NaN())
	_, err = gaussian.NewNormal([]float64{1, 2}, cov)
	fmt.Println(err)
	// Output:
	// density at the mean 0.1203, <nil>
	// gaussian: NewNormal: cov[1,1] is NaN: gaussian: value is not finite
}

func ExampleWorkspace_W2() {
	// Two shapes at one place, then the same shape 5 apart.
	d, err := new(gaussian.Workspace).W2(normal(0, 0, 4, 0, 1), normal(0, 0, 1, 0, 4))
	fmt.Printf("%.4f %v\n", d, err)
	d, err = new(gaussian.Workspace).W2(normal(0, 0, 4, 0, 1), normal(3, 4, 4, 0, 1))
	fmt.Printf("%.4f %v\n", d, err)
	// Output:
	// 1.4142 <nil>
	// 5.0000 <nil>
}

func ExampleWorkspace_KL() {
	p, q := normal(0, 0, 1, 0, 1), normal(1, 0, 2, 0, 1)
	a, _ := new(gaussian.Workspace).KL(p, q)
	b, _ := new(gaussian.Workspace).KL(q, p)
	fmt.Printf("KL(p‖q) = %.4f, KL(q‖p) = %.4f\n", a, b)
	// Output: KL(p‖q) = 0.3466, KL(q‖p) = 0.6534
}

func ExampleWorkspace_Jeffreys() {
	p, q := normal(0, 0, 1, 0, 1), normal(1, 0, 2, 0, 1)
	d, _, err := new(gaussian.Workspace).Jeffreys(p, q, 0)
	fmt.Printf("%.4f %v\n", d, err)

	// A singular covariance needs a jitter; the default is relative to the
	// larger mean diagonal.
	s := normal(0, 0, 1, 1, 1)
	_, _, err = new(gaussian.Workspace).Jeffreys(p, s, 0)
	fmt.Println(err)
	d, used, err := new(gaussian.Workspace).Jeffreys(p, s, gaussian.AutoJitter)
	fmt.Printf("%.3g with jitter %g, %v\n", d, used, err)
	// Output:
	// 1.0000 <nil>
	// gaussian: Jeffreys: covariance is not positive definite: smallest eigenvalue is 0 with 0 added to the diagonal
	// 5e+05 with jitter 1e-06, <nil>
}

// Distances of one normal to many, as clustering asks for: the factors stay with
// the normals, the scratch memory with the workspace.
func ExampleWorkspace_W2SquaredTo() {
	p := normal(0, 0, 1, 0, 1)
	centres := []*gaussian.Normal{normal(3, 0, 1, 0, 1), normal(0, 0, 4, 0, 4), normal(0, 1, 1, 0, 1)}
	var w gaussian.Workspace
	d := make([]float64, len(centres))
	if err := w.W2SquaredTo(d, p, centres); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", d)
	// Output: [9.00 2.00 1.00]
}

func ExampleCentroid() {
	c, err := gaussian.Centroid([]*gaussian.Normal{normal(0, 0, 1, 0, 4), normal(2, 0, 9, 0, 4)}, nil)
	fmt.Printf("mean %.1f, variances %.1f and %.1f, %v\n", c.Mean(), c.Cov().At(0, 0), c.Cov().At(1, 1), err)
	// Output: mean [1.0 0.0], variances 5.0 and 4.0, <nil>
}

func ExampleBarycenter() {
	ps := []*gaussian.Normal{normal(0, 0, 1, 0, 4), normal(2, 0, 9, 0, 4)}
	r, err := gaussian.Barycenter(context.Background(), ps, []float64{1, 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := r.Center
	fmt.Printf("mean %.1f, variances %.1f and %.1f\n", c.Mean(), c.Cov().At(0, 0), c.Cov().At(1, 1))
	fmt.Println(r.Method, r.Converged)

	ps = append(ps, normal(1, 1, 2, -0.9, 1))
	r, err = gaussian.Barycenter(context.Background(), ps, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Method, r.Converged, r.Residual <= 1e-10)
	// Output:
	// mean [1.0 0.0], variances 4.0 and 4.0
	// commuting true
	// cholesky true true
}

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
	fmt.Println(len(r.Starts), "searches, noise variance below 0.01:", r.Noise < 0.01)

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
	// 3 searches, noise variance below 0.01: true
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
