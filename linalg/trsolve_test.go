package linalg

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/internal/products"
)

// checkSolves checks every solve of c, the factor of a, by its residual:
// |b − L·x| ≤ γ_{n+2}·|L||x|, |b − A·x| ≤ γ_{3n+5}·|L||Lᵀ||x| (Higham 2002,
// Theorems 8.5 and 10.4).
func checkSolves(t *testing.T, c *Cholesky, a *Sym) {
	t.Helper()
	n := a.n
	rng := testutil.RNG(t)
	l := c.Lower()
	abs := func(m *Dense) *Dense {
		r := NewDense(m.rows, m.cols, nil)
		for i := range m.rows {
			for j, v := range m.row(i) {
				r.Set(i, j, math.Abs(v))
			}
		}
		return r
	}
	residual := func(what string, b, x *Dense, m int, lower, upper bool) {
		t.Helper()
		prod, bound := new(Dense), abs(x)
		prod.Copy(x)
		al := abs(l)
		if upper {
			p, _ := naive(n, m, n, trans(l.At), prod.At)
			q, _ := naive(n, m, n, trans(al.At), bound.At)
			prod, bound = p, q
		}
		if lower {
			p, _ := naive(n, m, n, l.At, prod.At)
			q, _ := naive(n, m, n, al.At, bound.At)
			prod, bound = p, q
		}
		for i := range n {
			for j := range m {
				if d := math.Abs(prod.At(i, j) - b.At(i, j)); !(d <= 2*testutil.Gamma(3*n+5)*bound.At(i, j)) {
					t.Fatalf("%s n=%d m=%d: residual %.2g at (%d, %d), bound %.2g", what, n, m, d, i, j, 2*testutil.Gamma(3*n+5)*bound.At(i, j))
				}
			}
		}
	}
	for _, m := range []int{0, 1, 2, 5, 34} {
		b, _ := inside(randDense(rng, n, m))
		x, intact := inside(NewDense(n, m, nil))
		for _, s := range []struct {
			name         string
			f            func(dst, b *Dense)
			lower, upper bool
		}{
			{"SolveTo", c.SolveTo, true, true},
			{"SolveLowerTo", c.SolveLowerTo, true, false},
			{"SolveUpperTo", c.SolveUpperTo, false, true},
		} {
			s.f(&x, &b)
			residual(s.name, &b, &x, m, s.lower, s.upper)
			y, _ := inside(&b)
			s.f(&y, &y)
			if normDiff(denseData(&x), denseData(&y)) != 0 {
				t.Fatalf("%s in place differs", s.name)
			}
		}
		intact(t)
	}
	b := randDense(rng, n, 1)
	x := NewDense(n, 1, nil)
	for _, s := range []struct {
		name         string
		f            func(dst, b []float64)
		lower, upper bool
	}{
		{"SolveVecTo", c.SolveVecTo, true, true},
		{"SolveLowerVecTo", c.SolveLowerVecTo, true, false},
		{"SolveUpperVecTo", c.SolveUpperVecTo, false, true},
	} {
		s.f(x.data, b.data)
		residual(s.name, b, x, 1, s.lower, s.upper)
		y := append([]float64(nil), b.data...)
		s.f(y, y)
		if normDiff(x.data, y) != 0 {
			t.Fatalf("%s in place differs", s.name)
		}
	}

	var inv Sym
	c.InverseTo(&inv)
	symmetric(t, "InverseTo", &inv)
	// ‖A·X − I‖ ≤ c·n·u·‖A‖‖X‖ (Higham 2002, section 14.2).
	p, _ := naive(n, n, n, a.At, inv.At)
	for i := range n {
		p.data[i*n+i]--
	}
	within(t, "inverse", Norm2(p.data), 4*float64(n+1)*eps*Norm2(a.data)*Norm2(inv.data))
}

func TestCholeskySolve(t *testing.T) {
	for _, n := range sizes {
		for _, cond := range []float64{1, 1e9} {
			t.Run(fmt.Sprintf("n=%d/cond=%g", n, cond), func(t *testing.T) {
				a := NewSym(n, testutil.SPD(testutil.RNG(t), n, cond))
				checkSolves(t, mustFactorize(t, a), a)
			})
		}
	}
}

// TestSolveLowerTrans: the rows are the columns of SolveLowerTo, bit for bit, in a
// matrix with gaps between its rows too, and on any number of goroutines.
func TestSolveLowerTrans(t *testing.T) {
	rng := testutil.RNG(t)
	for _, work := range []float64{1, products.ParallelWork} {
		restore := setDuringTest(&products.ParallelWork, work)
		for _, n := range []int{0, 1, 2, 5, 17, 40} {
			var c Cholesky
			if err := c.Factorize(NewSym(n, testutil.SPD(rng, n, 100))); err != nil {
				t.Fatal(err)
			}
			for _, m := range []int{0, 1, 3, 4, 8, 33, 70} {
				b := randDense(rng, n, m)
				var want, got Dense
				c.SolveLowerTo(&want, b)
				big := NewDense(m+1, n+3, nil)
				view := big.View(0, 0, m, n)
				for _, dst := range []*Dense{&got, &view} {
					c.SolveLowerTransTo(dst, b)
					for i := range n {
						for j := range m {
							if dst.At(j, i) != want.At(i, j) {
								t.Fatalf("%d×%d: entry (%d, %d) is %g, want %g", n, m, j, i, dst.At(j, i), want.At(i, j))
							}
						}
					}
				}
			}
		}
		restore()
	}
	var c Cholesky
	if err := c.Factorize(NewSym(2, []float64{1, 0, 0, 1})); err != nil {
		t.Fatal(err)
	}
	x := NewDense(2, 2, nil)
	for name, f := range map[string]func(){
		"alias": func() { c.SolveLowerTransTo(x, x) },
		"shape": func() { c.SolveLowerTransTo(new(Dense), NewDense(3, 2, nil)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
