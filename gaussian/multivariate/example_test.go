package multivariate_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/linalg"
)

// normal makes a normal distribution in the plane.
func normal(m0, m1, s00, s01, s11 float64) *multivariate.Normal {
	p, err := multivariate.NewNormal([]float64{m0, m1}, linalg.NewSym(2, []float64{s00, s01, s01, s11}))
	if err != nil {
		panic(err)
	}
	return p
}

func ExampleNewNormal() {
	cov := linalg.NewSym(2, []float64{2, 0.5, 0.5, 1})
	p, err := multivariate.NewNormal([]float64{1, 2}, cov)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, _, err := p.Factor()
	fmt.Printf("deviation of the first %.4f, %v\n", l.At(0, 0), err)

	cov.Set(1, 1, math.NaN())
	_, err = multivariate.NewNormal([]float64{1, 2}, cov)
	fmt.Println(err)
	// Output:
	// deviation of the first 1.4142, <nil>
	// gaussian: NewNormal: cov[1,1] is NaN: gaussian: value is not finite
}

func ExampleWorkspace_W2() {
	// Two shapes at one place, then the same shape 5 apart.
	d, err := new(multivariate.Workspace).W2(normal(0, 0, 4, 0, 1), normal(0, 0, 1, 0, 4))
	fmt.Printf("%.4f %v\n", d, err)
	d, err = new(multivariate.Workspace).W2(normal(0, 0, 4, 0, 1), normal(3, 4, 4, 0, 1))
	fmt.Printf("%.4f %v\n", d, err)
	// Output:
	// 1.4142 <nil>
	// 5.0000 <nil>
}

func ExampleWorkspace_KL() {
	p, q := normal(0, 0, 1, 0, 1), normal(1, 0, 2, 0, 1)
	a, _ := new(multivariate.Workspace).KL(p, q)
	b, _ := new(multivariate.Workspace).KL(q, p)
	fmt.Printf("KL(p‖q) = %.4f, KL(q‖p) = %.4f\n", a, b)
	// Output: KL(p‖q) = 0.3466, KL(q‖p) = 0.6534
}

func ExampleWorkspace_Jeffreys() {
	p, q := normal(0, 0, 1, 0, 1), normal(1, 0, 2, 0, 1)
	d, err := new(multivariate.Workspace).Jeffreys(p, q, 0)
	fmt.Printf("%.4f %v\n", d, err)

	// A singular covariance needs a jitter.
	s := normal(0, 0, 1, 1, 1)
	_, err = new(multivariate.Workspace).Jeffreys(p, s, 0)
	fmt.Println(err)
	d, err = new(multivariate.Workspace).Jeffreys(p, s, 1e-6)
	fmt.Printf("%.3g with jitter 1e-6, %v\n", d, err)
	// Output:
	// 1.0000 <nil>
	// gaussian: Jeffreys: covariance is not positive definite: smallest eigenvalue is 0 with 0 added to the diagonal
	// 5e+05 with jitter 1e-6, <nil>
}

// Distances of one normal to many, as clustering asks for: the factors stay with
// the normals, the scratch memory with the workspace.
func ExampleWorkspace() {
	p := normal(0, 0, 1, 0, 1)
	centres := []*multivariate.Normal{normal(3, 0, 1, 0, 1), normal(0, 0, 4, 0, 4), normal(0, 1, 1, 0, 1)}
	var w multivariate.Workspace
	for _, q := range centres {
		d, err := w.W2Squared(p, q)
		fmt.Printf("%.2f %v\n", d, err)
	}
	// Output:
	// 9.00 <nil>
	// 2.00 <nil>
	// 1.00 <nil>
}

func ExampleCentroid() {
	c, err := multivariate.Centroid([]*multivariate.Normal{normal(0, 0, 1, 0, 4), normal(2, 0, 9, 0, 4)}, nil)
	fmt.Printf("mean %.1f, variances %.1f and %.1f, %v\n", c.Mean(), c.Cov().At(0, 0), c.Cov().At(1, 1), err)
	// Output: mean [1.0 0.0], variances 5.0 and 4.0, <nil>
}

func ExampleBarycenter() {
	ps := []*multivariate.Normal{normal(0, 0, 1, 0, 4), normal(2, 0, 9, 0, 4)}
	r, err := multivariate.Barycenter(context.Background(), ps, []float64{1, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := r.Center
	fmt.Printf("%s: mean %.1f, variances %.1f and %.1f\n", r.Method, c.Mean(), c.Cov().At(0, 0), c.Cov().At(1, 1))

	ps = append(ps, normal(1, 1, 2, -0.9, 1))
	r, err = multivariate.Barycenter(context.Background(), ps, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c = r.Center
	fmt.Printf("%s: mean %.1f, variances %.1f and %.1f, covariance %.1f\n", r.Method, c.Mean(), c.Cov().At(0, 0), c.Cov().At(1, 1), c.Cov().At(0, 1))
	if !r.Converged {
		fmt.Println("not converged: residual", r.Residual)
	}
	// Output:
	// commuting: mean [1.0 0.0], variances 4.0 and 4.0
	// cholesky: mean [1.0 0.3], variances 3.2 and 2.7, covariance -0.5
}
