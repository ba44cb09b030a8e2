package linalg

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

type goldenCase struct {
	Name        string
	N           int
	A           [][]float64
	B           []float64
	Eigenvalues []float64
	Sqrt        [][]float64
	Chol        [][]float64
	LogDet      float64
	Solve       []float64
	Inverse     [][]float64
	Cond        *float64
}

func goldenCases(t *testing.T) []goldenCase {
	var g struct{ Cases []goldenCase }
	testutil.Golden(t, "linalg.json", &g)
	if len(g.Cases) == 0 {
		t.Fatal("no cases")
	}
	return g.Cases
}

func flat(a [][]float64) []float64 { return slices.Concat(a...) }

// TestGolden compares with 50-digit truth. Residuals and eigenvalues are within
// 50·n·ε·‖A‖, factors and roots within 50·n·ε·√cond of their norm (roots of
// singular matrices √(50·n·ε)), what an inverse enters within 50·n·ε·cond.
func TestGolden(t *testing.T) {
	for _, g := range goldenCases(t) {
		t.Run(g.Name, func(t *testing.T) {
			n := g.N
			a := NewSym(n, flat(g.A))
			norm := Norm2(a.data)
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
			var root, sq Sym
			if err := r.SqrtTo(&root, a); err != nil {
				t.Fatal(err)
			}
			tol := math.Sqrt(c)
			if g.Cond != nil {
				tol = c * math.Sqrt(*g.Cond)
			}
			want := flat(g.Sqrt)
			within(t, "root", normDiff(root.data, want), tol*Norm2(want))
			rd := root.Dense()
			sq.Gram(&rd)
			within(t, "root residual", normDiff(sq.data, a.data), c*norm)

			var f Dense
			if _, err := FactorPSD(&f, a); err != nil {
				t.Fatal(err)
			}
			sq.Gram(&f)
			within(t, "semi-definite factor residual", normDiff(sq.data, a.data), c*norm)

			var ch Cholesky
			err := ch.Factorize(a)
			if g.Chol == nil {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			l := ch.Lower()
			sq.Gram(l)
			within(t, "Cholesky residual", normDiff(sq.data, a.data), c*norm)
			want = flat(g.Chol)
			within(t, "Cholesky factor", normDiff(l.data, want), c*math.Sqrt(*g.Cond)*Norm2(want))
			tol = c * *g.Cond
			within(t, "log-determinant", math.Abs(ch.LogDet()-g.LogDet), tol*math.Max(1, math.Abs(g.LogDet)))
			x := make([]float64, n)
			ch.SolveVecTo(x, g.B)
			within(t, "solution", normDiff(x, g.Solve), tol*Norm2(g.Solve))
			want = flat(g.Inverse)
			ch.InverseTo(&sq)
			within(t, "inverse", normDiff(sq.data, want), tol*Norm2(want))

			// The inverse root has no golden value: it must invert the root.
			if err := r.RootsTo(new(Sym), &sq, a); err != nil {
				var npd *NotPositiveDefiniteError
				if errors.As(err, &npd) && *g.Cond > 1e15 {
					return
				}
				t.Fatal(err)
			}
			var prod Dense
			id := sq.Dense()
			prod.Mul(&id, &rd)
			for i := range n {
				prod.data[i*n+i]--
			}
			within(t, "inverse root times root", Norm2(prod.data), tol)
		})
	}
}
