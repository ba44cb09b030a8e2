package spectral

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestGolden compares with 50-digit truth. Residuals and eigenvalues are within
// 50·n·ε·‖A‖, roots within 50·n·ε·√cond of their norm (those of singular matrices
// √(50·n·ε)), inverse roots within 50·n·ε·cond.
func TestGolden(t *testing.T) {
	var golden struct {
		Cases []struct {
			Name        string
			N           int
			A           [][]float64
			Eigenvalues []float64
			Sqrt        [][]float64
			Cond        *float64
		}
	}
	testutil.Golden(t, "spectral.json", &golden)
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, g := range golden.Cases {
		t.Run(g.Name, func(t *testing.T) {
			n := g.N
			a := linalg.NewSym(n, slices.Concat(g.A...))
			norm := linalg.Norm2(entries(a))
			c := 50 * float64(n) * eps

			var e EigenSym
			if err := e.FactorizeValues(a); err != nil {
				t.Fatal(err)
			}
			for i, v := range e.Values() {
				within(t, "eigenvalue", math.Abs(v-g.Eigenvalues[i]), c*norm)
			}
			if err := e.Factorize(a); err != nil {
				t.Fatal(err)
			}
			for i, v := range e.Values() {
				within(t, "eigenvalue with vectors", math.Abs(v-g.Eigenvalues[i]), c*norm)
			}

			var r RootPSD
			var root, sq linalg.Sym
			if err := r.SqrtTo(&root, a); err != nil {
				t.Fatal(err)
			}
			tol := math.Sqrt(c)
			if g.Cond != nil {
				tol = c * math.Sqrt(*g.Cond)
			}
			want := slices.Concat(g.Sqrt...)
			within(t, "root", normDiff(entries(&root), want), tol*linalg.Norm2(want))
			rd := root.Dense()
			sq.Gram(&rd)
			within(t, "root residual", normDiff(entries(&sq), entries(a)), c*norm)

			var f linalg.Dense
			if _, err := FactorPSD(&f, a); err != nil {
				t.Fatal(err)
			}
			sq.Gram(&f)
			within(t, "semi-definite factor residual", normDiff(entries(&sq), entries(a)), c*norm)
		})
	}
}
