package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

func mustFactorize(t testing.TB, a *Sym) *Cholesky {
	t.Helper()
	var c Cholesky
	if err := c.Factorize(a); err != nil {
		t.Fatalf("Factorize: %v", err)
	}
	return &c
}

// checkFactor checks |A − L·Lᵀ| ≤ γ_{n+2}|L||Lᵀ| (Higham 2002, Theorem 10.3, one
// rounding more for reciprocals) with (|L||Lᵀ|)_ij ≤ (a_ii·a_jj)^½, a factor 2
// for the product formed here and for that bound's own rounding; and that L is
// zero above its diagonal.
func checkFactor(t *testing.T, l *Dense, a *Sym) {
	t.Helper()
	n := a.n
	if l.rows != n || l.cols != n {
		t.Fatalf("factor is %d×%d, want %d", l.rows, l.cols, n)
	}
	for i := range n {
		for j := range n {
			if j > i {
				if l.At(i, j) != 0 {
					t.Fatalf("L[%d,%d] = %g", i, j, l.At(i, j))
				}
				continue
			}
			got := Dot(l.Row(i)[:j+1], l.Row(j)[:j+1])
			tol := 2 * testutil.Gamma(n+2) * math.Sqrt(a.At(i, i)) * math.Sqrt(a.At(j, j))
			if d := math.Abs(got - a.At(i, j)); !(d <= tol) {
				t.Fatalf("(L·Lᵀ)[%d,%d] = %g, want %g: off by %.2g, bound %.2g", i, j, got, a.At(i, j), d, tol)
			}
		}
	}
}

// TestCholeskyFactorize crosses blocks of four columns and, with the thresholds lowered,
// every combination of blocks.
func TestCholeskyFactorize(t *testing.T) {
	for _, direct := range []int{cholDirect, 0} {
		for _, tt := range []struct {
			n         int
			cond      float64
			negate    int // diagonal entry to make negative, −1 for none
			wantPivot int // −1 if positive definite
		}{
			{0, 1, -1, -1}, {1, 1, -1, -1}, {3, 10, -1, -1}, {4, 10, -1, -1}, {5, 1e3, -1, -1},
			{7, 1e3, -1, -1}, {8, 1e3, -1, -1}, {9, 1e3, -1, -1}, {23, 1e8, -1, -1}, {24, 1e8, -1, -1},
			{25, 1e8, -1, -1}, {40, 1e12, -1, -1}, {81, 1e3, -1, -1},
			{5, 10, 0, 0}, {5, 10, 4, 4}, {29, 10, 7, 7}, {29, 10, 8, 8}, {29, 10, 28, 28}, {29, 10, 17, 17},
		} {
			t.Run(fmt.Sprintf("direct=%d/n=%d/cond=%g/negate=%d", direct, tt.n, tt.cond, tt.negate), func(t *testing.T) {
				defer setDuringTest(&cholDirect, direct)()
				defer setDuringTest(&cholBlock, 8)()
				a := NewSym(tt.n, testutil.SPD(testutil.RNG(t), tt.n, tt.cond))
				if i := tt.negate; i >= 0 {
					a.Set(i, i, -a.At(i, i))
				}
				before := append([]float64(nil), a.data...)
				var c Cholesky
				err := c.Factorize(a)
				if normDiff(before, a.data) != 0 {
					t.Error("Factorize changed its argument")
				}
				if tt.wantPivot >= 0 {
					var npd *NotPositiveDefiniteError
					if !errors.As(err, &npd) || npd.Pivot != tt.wantPivot || !(npd.Value < 0) {
						t.Fatalf("Factorize = %v, want failure at pivot %d", err, tt.wantPivot)
					}
					if c.Dim() != 0 {
						t.Errorf("dimension %d after a failure", c.Dim())
					}
					return
				}
				if err != nil {
					t.Fatalf("Factorize: %v", err)
				}
				checkFactor(t, c.Lower(), a)
				checkFactor(t, c.Clone().Lower(), a)
			})
		}
	}
}

func TestCholeskySpecialValues(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, at := range [][2]int{{0, 0}, {5, 5}, {6, 2}, {4, 3}} {
			a := NewSym(7, testutil.SPD(testutil.RNG(t), 7, 10))
			a.Set(at[0], at[1], bad)
			var c Cholesky
			var npd *NotPositiveDefiniteError
			if err := c.Factorize(a); !errors.As(err, &npd) || npd.Pivot != at[0] || npd.Value > 0 && !math.IsInf(npd.Value, 1) {
				t.Errorf("%g at %v: %v", bad, at, err)
			} else if npd.Error() == "" {
				t.Error("no message")
			}
			if _, err := c.FactorizeJitter(a, 1e-4); !errors.As(err, &npd) {
				t.Errorf("%g at %v with jitter: %v", bad, at, err)
			}
		}
	}
	// Scales whose squares overflow or underflow.
	for _, s := range []float64{0x1p-1000, 0x1p1000} {
		a := NewSym(6, testutil.SPD(testutil.RNG(t), 6, 100))
		b := new(Sym)
		b.Copy(a)
		b.Scale(s)
		la, lb := mustFactorize(t, a).Lower(), mustFactorize(t, b).Lower()
		for i := range la.data {
			if lb.data[i] != la.data[i]*math.Sqrt(s) {
				t.Fatalf("factor of %g·A: entry %d is %g, want %g", s, i, lb.data[i], la.data[i]*math.Sqrt(s))
			}
		}
	}
}

// TestCholeskyRepeatedRows: a matrix with a repeated row has no factor, whatever
// rounding leaves of the pivot, and one whose pivot is a few times that has one. Sizes
// cross the blocks, and matrices are scaled row by row so that no pivot is
// measured by another row's diagonal.
func TestCholeskyRepeatedRows(t *testing.T) {
	testutil.SkipRace(t, "one goroutine factorizes small matrices")
	rng := testutil.RNG(t)
	for _, block := range []int{cholBlock, 8} {
		defer setDuringTest(&cholBlock, block)()
		if block == 8 {
			defer setDuringTest(&cholDirect, 0)()
		}
		for range 300 {
			n := 2 + rng.IntN(60)
			a := NewSym(n, testutil.SPD(rng, n, math.Pow(10, 4*rng.Float64())))
			last, first := n-1, rng.IntN(n-1)
			for j := range n {
				a.Set(last, j, a.At(first, j))
			}
			a.Set(last, last, a.At(first, first))
			for i := range n {
				s := math.Ldexp(1, rng.IntN(60)-30)
				for j := range n {
					a.Set(i, j, a.At(i, j)*s)
				}
				a.Set(i, i, a.At(i, i)*s)
			}
			head := new(Sym)
			idx := make([]int, last)
			for i := range idx {
				idx[i] = i
			}
			head.Subset(a, idx)
			grown := mustFactorize(t, head)

			var c Cholesky
			var npd *NotPositiveDefiniteError
			if err := c.Factorize(a); !errors.As(err, &npd) || npd.Pivot != last || !(math.Abs(npd.Value) <= pivotFloor(last, a.At(last, last))) {
				t.Fatalf("n=%d, block %d: row %d repeats row %d, Factorize = %v", n, block, last, first, err)
			}
			if err := grown.Append(a.Row(last)[:last], a.At(last, last)); !errors.As(err, &npd) || npd.Pivot != last || grown.Dim() != last {
				t.Fatalf("n=%d: row %d repeats row %d, Append = %v", n, last, first, err)
			}
			jitter, err := c.FactorizeJitter(a, 1e-4)
			if err != nil || !(jitter > 0) {
				t.Fatalf("n=%d: jitter %g, %v", n, jitter, err)
			}
			a.Set(last, last, a.At(last, last)+3*pivotFloor(last, a.At(last, last)))
			checkFactor(t, mustFactorize(t, a).Lower(), a)
			if err := grown.Append(a.Row(last)[:last], a.At(last, last)); err != nil {
				t.Fatal(err)
			}
			checkFactor(t, grown.Lower(), a)
		}
	}
}

func TestFactorizeJitter(t *testing.T) {
	n := 12
	rng := testutil.RNG(t)
	var c Cholesky
	a := NewSym(n, testutil.SPD(rng, n, 1e3))
	if j, err := c.FactorizeJitter(a, 1e-4); j != 0 || err != nil {
		t.Errorf("definite: jitter %g, %v", j, err)
	}
	checkFactor(t, c.Lower(), a)
	// Rank one less a little: eigenvalues n·s and −δ·s.
	for _, s := range []float64{1, 1e-200, 1e200} {
		for _, tt := range []struct{ delta, want float64 }{{3e-8, 1e-7}, {3e-10, 1e-9}, {5e-5, 1e-4}} {
			for i := range n {
				for j := range n {
					a.Set(i, j, s)
				}
			}
			a.AddDiag(-tt.delta * s)
			j, err := c.FactorizeJitter(a, 1e-4)
			if err != nil || !testutil.Close(j, tt.want*a.Trace()/float64(n), 1e-15) {
				t.Errorf("scale %g, −%g: jitter %g, want %g; %v", s, tt.delta, j, tt.want*s, err)
				continue
			}
			a.AddDiag(j)
			checkFactor(t, c.Lower(), a)
		}
	}
	a.AddDiag(-0.5 * a.At(0, 0))
	var npd *NotPositiveDefiniteError
	if j, err := c.FactorizeJitter(a, 1e-4); !errors.As(err, &npd) || j != 1e-4*a.Trace()/float64(n) {
		t.Errorf("indefinite: %g, %v", j, err)
	}
	a.Zero()
	if j, err := c.FactorizeJitter(a, 1e-4); !errors.As(err, &npd) || j != 0 {
		t.Errorf("zero: %g, %v", j, err)
	}
	if j, err := c.FactorizeJitter(new(Sym), 1e-4); j != 0 || err != nil {
		t.Errorf("empty: %g, %v", j, err)
	}
}

func TestSetLower(t *testing.T) {
	n := 9
	a := NewSym(n, testutil.SPD(testutil.RNG(t), n, 50))
	l := new(Dense)
	l.Copy(mustFactorize(t, a).Lower())
	l.Set(2, 5, math.NaN()) // above the diagonal: not read
	var c Cholesky
	if err := c.SetLower(l); err != nil {
		t.Fatal(err)
	}
	checkFactor(t, c.Lower(), a)
	l.Set(0, 0, 100)
	if c.Lower().At(0, 0) == 100 {
		t.Error("SetLower did not copy")
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-310} {
		l.Set(4, 4, bad)
		var npd *NotPositiveDefiniteError
		if err := c.SetLower(l); !errors.As(err, &npd) || npd.Pivot != 4 {
			t.Errorf("diagonal %g: %v", bad, err)
		}
		checkFactor(t, c.Lower(), a)
	}
}

func TestLogDet(t *testing.T) {
	for _, n := range []int{0, 1, 5, 30} {
		a := NewSym(n, testutil.SPD(testutil.RNG(t), n, 1e4))
		c := mustFactorize(t, a)
		// The determinant of L·Lᵀ in exact arithmetic, then its logarithm.
		det := big.NewFloat(1).SetPrec(2000)
		for i := range n {
			x := big.NewFloat(c.Lower().At(i, i)).SetPrec(2000)
			det.Mul(det, x).Mul(det, x)
		}
		mant, exp := new(big.Float), 0
		exp = det.MantExp(mant)
		m, _ := mant.Float64()
		want := math.Log(m) + float64(exp)*math.Ln2
		if got := c.LogDet(); !(math.Abs(got-want) <= 4*float64(n+1)*eps*math.Max(1, math.Abs(want))) {
			t.Errorf("n=%d: %.17g, want %.17g", n, got, want)
		}
	}
	// The determinant underflows; its logarithm does not.
	d := NewSym(200, nil)
	d.AddDiag(1e-20)
	if got, want := mustFactorize(t, d).LogDet(), -4000*math.Ln10; !testutil.Close(got, want, 1e-13) {
		t.Errorf("LogDet %g, want %g", got, want)
	}
	var c Cholesky // a subnormal diagonal
	if err := c.SetLower(NewDense(1, 1, []float64{0x1p-1023})); err != nil || !testutil.Close(c.LogDet(), -2046*math.Ln2, 1e-15) {
		t.Errorf("LogDet %g, want %g (%v)", c.LogDet(), -2046*math.Ln2, err)
	}
}

// FuzzCholesky builds a symmetric matrix from bytes. Whatever it is, the result is
// a factor with a small residual or a typed error.
func FuzzCholesky(f *testing.F) {
	f.Add(uint8(3), []byte{4, 1, 5, 0, 2, 9})
	f.Add(uint8(5), []byte{200, 1, 3, 7})
	f.Fuzz(func(t *testing.T, size uint8, raw []byte) {
		n := int(size%12) + 1
		a := NewSym(n, nil)
		k := 0
		for i := range n {
			for j := range i + 1 {
				if len(raw) > 0 {
					b := raw[k%len(raw)]
					a.Set(i, j, float64(int8(b))*math.Pow(2, float64(int(b)%7-3)))
					k++
				}
			}
		}
		a.AddDiag(float64(len(raw)))
		var c Cholesky
		err := c.Factorize(a)
		var npd *NotPositiveDefiniteError
		switch {
		case err == nil:
			checkFactor(t, c.Lower(), a)
		case !errors.As(err, &npd) || npd.Pivot < 0 || npd.Pivot >= n ||
			npd.Value > pivotFloor(npd.Pivot, a.At(npd.Pivot, npd.Pivot)) && !math.IsInf(npd.Value, 1):
			t.Fatalf("Factorize = %v", err)
		}
	})
}

// FactorizeShift and InverseLowerTo leave out a copy and a pass of Factorize and
// InverseTo, and nothing else.
func TestCholeskyShiftAndLower(t *testing.T) {
	rng := testutil.RNG(t)
	for _, n := range []int{1, 7, 40} {
		a := randSym(rng, n)
		a.AddDiag(4 * float64(n))
		shifted := new(Sym)
		shifted.Copy(a)
		shifted.AddDiag(0.25)
		var c, d Cholesky
		if err := c.Factorize(shifted); err != nil {
			t.Fatal(err)
		}
		if err := d.FactorizeShift(a, 0.25); err != nil {
			t.Fatal(err)
		}
		whole, lower := NewSym(n, nil), NewSym(n, nil)
		c.InverseTo(whole)
		d.InverseLowerTo(lower)
		for i := range n {
			for j := range i + 1 {
				if lower.Row(i)[j] != whole.Row(i)[j] || whole.Row(j)[i] != whole.Row(i)[j] {
					t.Errorf("n=%d: entry %d, %d is %g, %g and %g", n, i, j, lower.Row(i)[j], whole.Row(i)[j], whole.Row(j)[i])
				}
			}
		}
		if err := d.FactorizeShift(a, -1e6); err == nil {
			t.Error("an indefinite matrix has a factor")
		}
	}
}

// TestJitters: the limit bounds what is tried, and one that is no number allows nothing.
func TestJitters(t *testing.T) {
	for _, tt := range []struct {
		limit float64
		want  int
	}{{math.NaN(), 1}, {-1, 1}, {0, 1}, {1e-10, 2}, {1e-4, 8}, {math.Inf(1), 12}} {
		got := 0
		for share := range Jitters(tt.limit) {
			got++
			if want := math.Pow10(got - 12); got > 1 && math.Abs(share-want) > 1e-15*want {
				t.Errorf("share %d is %g, want %g", got, share, want)
			}
		}
		if got != tt.want {
			t.Errorf("Jitters(%g) has %d shares, want %d", tt.limit, got, tt.want)
		}
	}
}
