//go:build linux && amd64 && gc && !purego && !noasm

package accel_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/accel"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// stage is an operation of linalg or gaussian, ready to run.
type stage struct {
	name string
	run  func() error
}

// kernelMatrix is the covariance of n points on a line, smooth enough to be badly
// conditioned, with a nugget.
func kernelMatrix(n int, length float64) *linalg.Sym {
	s := linalg.NewSym(n, nil)
	for i := range n {
		for j := range i + 1 {
			d := math.Sqrt(3) * float64(i-j) / (float64(n) * length)
			s.Set(i, j, (1+d)*math.Exp(-d))
		}
		s.Set(i, i, s.At(i, i)+1e-6)
	}
	return s
}

func stages(t testing.TB, n int) []stage {
	rng := testutil.RNG(t)
	a := kernelMatrix(n, 0.3)
	g := linalg.NewDense(n, n, fill(rng, n*n))
	var f, c linalg.Cholesky
	var m, cross linalg.Dense
	var s linalg.Sym
	var e spectral.EigenSym
	var d spectral.SVD
	var r spectral.RootPSD
	var ws multivariate.Workspace
	for _, k := range []*linalg.Cholesky{&f, &c} {
		if err := k.Factorize(a); err != nil {
			t.Fatal(err)
		}
	}
	var o linalg.Cholesky
	if err := o.Factorize(kernelMatrix(n, 0.2)); err != nil {
		t.Fatal(err)
	}
	linalg.TransMulLower(&cross, c.Lower(), o.Lower())
	normal := func(length float64) *multivariate.Normal {
		p, err := multivariate.NewNormal(make([]float64, n), kernelMatrix(n, length))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Factor(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, q := normal(0.3), normal(0.2)
	x, v := make([]float64, n), fill(rng, n)
	return []stage{
		{"product", func() error { m.Mul(g, g); return nil }},
		{"Gram", func() error { s.Gram(g); return nil }},
		{"Cholesky", func() error { return f.Factorize(a) }},
		{"inverse", func() error { c.InverseTo(&s); return nil }},
		{"solve, n columns", func() error { c.SolveTo(&m, g); return nil }},
		{"solve, a vector", func() error { c.SolveVecTo(x, v); return nil }},
		{"L1ᵀL0", func() error { linalg.TransMulLower(&m, c.Lower(), o.Lower()); return nil }},
		{"eigenvalues", func() error { return e.FactorizeValues(a) }},
		{"eigenvectors", func() error { return e.Factorize(a) }},
		{"nuclear norm", func() error { d.NuclearNorm(&cross); return nil }},
		{"singular values", func() error { return d.SingularValues(x, &cross) }},
		{"polar factor", func() error { return d.PolarTo(&m, &cross) }},
		{"SPD root", func() error { return r.SqrtTo(&s, a) }},
		{"W2", func() error { _, err := ws.W2(p, q); return err }},
		{"Jeffreys", func() error { _, err := ws.Jeffreys(p, q, 1e-6); return err }},
	}
}

// TestStages prints, with -report, what each tier makes of the operations above
// the kernels: processor time of one call on one thread, plain loops and tiers in
// turn.
func TestStages(t *testing.T) {
	if !*report {
		t.Skip("without -report")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "operation\tn\tgo µs\t")
	tabs := accel.Tables()
	for _, tab := range tabs {
		fmt.Fprintf(w, "%s µs\tratio\t", tab.Name)
	}
	fmt.Fprintln(w)
	for _, n := range []int{50, 100, 300} {
		for _, s := range stages(t, n) {
			run := func(tab f64.Table) func() {
				return func() {
					defer f64.Use(tab)()
					if err := s.run(); err != nil {
						t.Fatal(err)
					}
				}
			}
			f := []func(){run(f64.Generic)}
			for _, tab := range tabs {
				f = append(f, run(tab.Table))
			}
			m := medians(map[int]int{50: 51, 100: 51, 300: 15}[n], f)
			fmt.Fprintf(w, "%s\t%d\t%.1f\t", s.name, n, m[0]/1e3)
			for _, v := range m[1:] {
				fmt.Fprintf(w, "%.1f\t%.2f\t", v/1e3, v/m[0])
			}
			fmt.Fprintln(w)
		}
	}
	w.Flush()
}
