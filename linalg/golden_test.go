package linalg

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestGolden compares with 50-digit truth. Residuals are within 50·n·ε·‖A‖, factors
// within 50·n·ε·√cond of their norm, what an inverse enters within 50·n·ε·cond.
func TestGolden(t *testing.T) {
	var golden struct {
		Cases []struct {
			Name    string
			N       int
			A       [][]float64
			B       []float64
			Chol    [][]float64
			LogDet  float64
			Solve   []float64
			Inverse [][]float64
			Cond    float64
		}
	}
	testutil.Golden(t, "linalg.json", &golden)
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, g := range golden.Cases {
		t.Run(g.Name, func(t *testing.T) {
			n := g.N
			a := NewSym(n, slices.Concat(g.A...))
			norm := Norm2(a.data)
			c := 50 * float64(n) * eps

			var ch Cholesky
			var sq Sym
			if err := ch.Factorize(a); err != nil {
				t.Fatal(err)
			}
			l := ch.Lower()
			sq.Gram(l)
			within(t, "Cholesky residual", normDiff(sq.data, a.data), c*norm)
			want := slices.Concat(g.Chol...)
			within(t, "Cholesky factor", normDiff(l.data, want), c*math.Sqrt(g.Cond)*Norm2(want))
			tol := c * g.Cond
			within(t, "log-determinant", math.Abs(ch.LogDet()-g.LogDet), tol*math.Max(1, math.Abs(g.LogDet)))
			x := make([]float64, n)
			ch.SolveVecTo(x, g.B)
			within(t, "solution", normDiff(x, g.Solve), tol*Norm2(g.Solve))
			want = slices.Concat(g.Inverse...)
			ch.InverseTo(&sq)
			within(t, "inverse", normDiff(sq.data, want), tol*Norm2(want))
		})
	}
}
