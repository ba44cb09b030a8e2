package spectral

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestBidiagonal: the factor of a reduced matrix whose rows add up to different norms is that
// of the matrix scaled to a norm in [1/4, 1), from whichever row that comes.
func TestBidiagonal(t *testing.T) {
	for _, tt := range []struct {
		d, e []float64
		norm float64
	}{
		{[]float64{2.5, 2.5, 2.5}, []float64{1.2, 1.2}, 4.9},
		{[]float64{0.9, 1, 0.5}, []float64{0.2, 0.125}, 1.325},
		{[]float64{1.5, 4.5, 1}, []float64{0, 0.5}, 5},
		{[]float64{1, 1, 3.5}, []float64{0, 0.75}, 4.25},
		{[]float64{3.5, 1, 1}, []float64{0.75, 0}, 4.25},
		{[]float64{1, 1}, []float64{0}, 1},
		{[]float64{0.9, 1, 0.5}, []float64{-0.2, -0.125}, 1.325},
	} {
		var r RootPSD
		r.e.tri = tridiag{n: len(tt.d), d: tt.d, e: tt.e, exp: 6}
		poles := r.bidiagonal()
		exp := r.exp - 6
		if poles == nil || exp&1 != 0 {
			t.Fatalf("%v: exponent %d", tt, exp)
		}
		if norm := math.Ldexp(tt.norm, -exp); !(norm >= 0.25 && norm < 1) {
			t.Errorf("%v: norm %g", tt, norm)
		}
		for i, a := range r.a {
			v := a * a
			if i > 0 {
				v += r.b[i-1] * r.b[i-1]
				if off := math.Ldexp(r.a[i-1]*r.b[i-1], exp); math.Abs(off-tt.e[i-1]) > 1e-15 {
					t.Errorf("%v: entry %d beside the diagonal is %g", tt, i-1, off)
				}
			}
			if v = math.Ldexp(v, exp); math.Abs(v-tt.d[i]) > 4e-15 {
				t.Errorf("%v: entry %d is %g", tt, i, v)
			}
		}
	}
}

// TestRootPSD: R² = A to 16·n·u·‖A‖ (the reduction and the transformation back
// contribute 8·n·u each), at all conditions and scales.
func TestRootPSD(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 8, 16, 17, 40} {
		for _, cond := range []float64{1, 100, 1e5, 1e10, 1e13} {
			t.Run(fmt.Sprintf("n=%d/cond=%g", n, cond), func(t *testing.T) {
				a := linalg.NewSym(n, testutil.SPD(testutil.RNG(t), n, cond))
				for _, exp := range []int{0, 1, -1001, 990} {
					var s, root, p linalg.Sym
					var r RootPSD
					s.Copy(a)
					s.Scale(math.Ldexp(1, exp))
					if err := r.SqrtTo(&root, &s); err != nil {
						t.Fatal(err)
					}
					symmetric(t, "root", &root)
					if r.Clamped() != 0 {
						t.Errorf("clamped %g", r.Clamped())
					}
					// Undo the scale in the root: 2^(exp/2).
					f := math.Pow(2, -float64(exp)/2)
					root.Scale(f)
					tol := 16 * float64(n+1) * testutil.Unit
					rd := root.Dense()
					p.Gram(&rd)
					within(t, "R² − A", normDiff(data(&p), data(a)), tol*linalg.Norm2(data(a)))
					if err := r.SqrtTo(&s, &s); err != nil {
						t.Fatal(err)
					}
					s.Scale(f)
					if normDiff(data(&s), data(&root)) != 0 {
						t.Error("SqrtTo in place differs")
					}
				}
			})
		}
	}
}

// TestRootOfWeaklyCoupled: entries far from the diagonal, which are left out, are negligible.
func TestRootOfWeaklyCoupled(t *testing.T) {
	n := 40
	a := linalg.NewSym(n, nil)
	for i := range n {
		a.Set(i, i, 1+float64(i%3))
		if i > 0 {
			a.Set(i, i-1, 1e-4)
		}
	}
	var r RootPSD
	var root, p linalg.Sym
	if err := r.SqrtTo(&root, a); err != nil {
		t.Fatal(err)
	}
	rd := root.Dense()
	p.Gram(&rd)
	within(t, "R² − A", normDiff(data(&p), data(a)), 16*float64(n)*testutil.Unit*linalg.Norm2(data(a)))
}

// TestRootPSDSemidefinite: singular matrices, and those rounding made indefinite,
// have roots; others tell how much was lost.
func TestRootPSDSemidefinite(t *testing.T) {
	rng := testutil.RNG(t)
	var r RootPSD
	for _, n := range []int{1, 2, 7, 30} {
		for _, rank := range []int{0, 1, n / 2} {
			g := randDense(rng, n, rank)
			var a, root, p linalg.Sym
			a.Gram(g)
			if err := r.SqrtTo(&root, &a); err != nil {
				t.Fatal(err)
			}
			rd := root.Dense()
			p.Gram(&rd)
			tol := 16 * float64(n) * testutil.Unit * linalg.Norm2(data(&a))
			within(t, fmt.Sprintf("n=%d, rank %d", n, rank), normDiff(data(&p), data(&a)), tol)
			if c := r.Clamped(); !(c <= 0 && c >= -tol) {
				t.Errorf("n=%d, rank %d: clamped %g", n, rank, c)
			}
		}
	}
	// Alone, and too near to singular for the poles.
	for _, tt := range []struct {
		a       []float64
		clamped float64
	}{{[]float64{-3}, -3}, {[]float64{1, 0, 0, 0x1p-1000}, 0}} {
		var root linalg.Sym
		n := len(tt.a)/2 + len(tt.a)%2
		if err := r.SqrtTo(&root, linalg.NewSym(n, tt.a)); err != nil || r.Clamped() != tt.clamped {
			t.Errorf("%v: clamped %g, %v", tt.a, r.Clamped(), err)
		}
	}
	d := linalg.NewSym(9, nil)
	for i := range 9 {
		d.Set(i, i, float64(i)-2)
	}
	var root linalg.Sym
	if err := r.SqrtTo(&root, d); err != nil || r.Clamped() != -2 {
		t.Errorf("indefinite: clamped %g, %v", r.Clamped(), err)
	}
	for i := range 9 {
		if want := math.Sqrt(math.Max(0, float64(i)-2)); !(math.Abs(root.At(i, i)-want) <= 16*eps) {
			t.Errorf("root of the positive part: %g, want %g", root.At(i, i), want)
		}
	}
	d.Set(3, 1, math.NaN())
	if err := r.SqrtTo(&root, d); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	if r.Clamped() != 0 {
		t.Errorf("clamped %g after a failure", r.Clamped())
	}
	if _, err := FactorPSD(new(linalg.Dense), d); !errors.Is(err, ErrNotFinite) {
		t.Errorf("FactorPSD of NaN: %v", err)
	}
}

func TestFactorPSD(t *testing.T) {
	rng := testutil.RNG(t)
	for _, n := range []int{0, 1, 2, 5, 24} {
		for _, rank := range []int{0, 1, n / 2, n} {
			a := new(linalg.Sym)
			a.Gram(randDense(rng, n, rank))
			var l linalg.Dense
			clamped, err := FactorPSD(&l, a)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if !(l.At(i, i) >= 0) {
					t.Errorf("n=%d, rank %d: diagonal %g", n, rank, l.At(i, i))
				}
				for j := i + 1; j < n; j++ {
					if l.At(i, j) != 0 {
						t.Fatalf("n=%d, rank %d: L[%d,%d] = %g", n, rank, i, j, l.At(i, j))
					}
				}
			}
			var p linalg.Sym
			p.Gram(&l)
			tol := 16 * float64(n+1) * testutil.Unit * linalg.Norm2(data(a))
			within(t, fmt.Sprintf("n=%d, rank %d", n, rank), normDiff(data(&p), data(a)), tol)
			if !(clamped <= 0 && clamped >= -tol) {
				t.Errorf("n=%d, rank %d: clamped %g", n, rank, clamped)
			}
		}
	}
	if clamped, err := FactorPSD(new(linalg.Dense), linalg.NewSym(1, []float64{-3})); clamped != -3 || err != nil {
		t.Errorf("-3: clamped %g, %v", clamped, err)
	}
	// What rounding may make of 0 counts as 0, and no more than that, in proportion to the dimension and the largest.
	for _, c := range []struct{ n, times float64 }{{3, 6}, {3, 10}, {30, 6}, {30, 10}} {
		v := linalg.NewSym(int(c.n), nil)
		v.AddDiag(1e6)
		v.Set(0, 0, -1) // so that there is no Cholesky factor
		v.Set(1, 1, c.times*c.n*eps*1e6)
		var l linalg.Dense
		if _, err := FactorPSD(&l, v); err != nil || (linalg.Norm2(l.Row(1)) > 0) != (c.times > 8) {
			t.Errorf("%v: row %v, %v", c, l.Row(1), err)
		}
	}
	// A zero row, and an eigenvalue that is really negative.
	a := linalg.NewSym(3, []float64{0, 0, 0, 0, 4, 0, 0, 0, -1})
	var l linalg.Dense
	clamped, err := FactorPSD(&l, a)
	if err != nil || clamped != -1 || !(math.Abs(linalg.Norm2(l.Row(1))-2) <= 4*eps) || !(linalg.Norm2(l.Row(0)) <= 4*eps) {
		t.Errorf("FactorPSD = %v, %g, %v", data(&l), clamped, err)
	}
}

// TestRootsBeyondRange: eigenvalues that are above the largest number, or less than a few of the
// smallest, have roots that are neither.
func TestRootsBeyondRange(t *testing.T) {
	for _, v := range []float64{math.MaxFloat64, 8e307, 1e-310, 5e-324} {
		a := linalg.NewSym(3, []float64{v, v, v, v, v, v, v, v, v})
		var r RootPSD
		var root linalg.Sym
		var l linalg.Dense
		clamped, err := FactorPSD(&l, a)
		if err := errors.Join(err, r.SqrtTo(&root, a)); err != nil || math.Abs(clamped)+math.Abs(r.Clamped()) > 1e-14*v {
			t.Errorf("%g: %v, clamped %g and %g", v, err, clamped, r.Clamped())
		}
		for i := range 3 {
			if got, want := root.At(i, 1), math.Sqrt(v)/math.Sqrt(3); !(math.Abs(got-want) <= 1e-7*want) {
				t.Errorf("%g: entry of the root %g, want %g", v, got, want)
			}
			if got, want := l.At(i, 0), math.Sqrt(v); !(math.Abs(got-want) <= 1e-14*want) {
				t.Errorf("%g: entry of the factor %g, want %g", v, got, want)
			}
		}
	}
}
