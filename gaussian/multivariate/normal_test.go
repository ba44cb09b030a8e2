package multivariate

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

func maxDiff(a, b *linalg.Sym) float64 {
	var m float64
	for i := range a.Dim() {
		m = max(m, testutil.MaxDiff(a.Row(i), b.Row(i)))
	}
	return m
}

func randomNormal(rng *rand.Rand, n int, cond float64) *Normal {
	return mustNormal(testutil.Normals(rng, n), linalg.NewSym(n, testutil.SPD(rng, n, cond)))
}

// lowRank returns a random covariance of the given rank: a Gram matrix of that
// many columns.
func lowRank(rng *rand.Rand, n, rank int) *linalg.Sym {
	f := linalg.NewDense(n, rank, nil)
	for i := range n {
		for j := range rank {
			f.Set(i, j, rng.NormFloat64())
		}
	}
	s := new(linalg.Sym)
	s.Gram(f)
	return s
}

// asymmetric returns a Sym whose upper triangle was broken through Row.
func asymmetric(n int, by float64) *linalg.Sym {
	s := linalg.NewSym(n, nil)
	s.AddDiag(1)
	s.Row(0)[n-1] = by
	return s
}

func TestNewNormalErrors(t *testing.T) {
	eye := func(n int) *linalg.Sym { s := linalg.NewSym(n, nil); s.AddDiag(1); return s }
	with := func(s *linalg.Sym, i, j int, v float64) *linalg.Sym { s.Set(i, j, v); return s }
	// Every principal 2×2 minor of this one is non-negative: only the factor
	// shows the eigenvalue 1 − 2·0.9.
	hidden := linalg.NewSym(3, []float64{1, 0, 0, -0.9, 1, 0, -0.9, -0.9, 1})
	tests := []struct {
		name string
		mean []float64
		cov  *linalg.Sym
		want error
	}{
		{"nil covariance", []float64{0}, nil, gaussian.ErrArgument},
		{"empty", nil, linalg.NewSym(0, nil), gaussian.ErrDimension},
		{"short mean", []float64{0}, eye(2), gaussian.ErrDimension},
		{"NaN mean", []float64{0, math.NaN()}, eye(2), gaussian.ErrNotFinite},
		{"Inf mean", []float64{0, math.Inf(-1)}, eye(2), gaussian.ErrNotFinite},
		{"NaN covariance", []float64{0, 0}, with(eye(2), 1, 0, math.NaN()), gaussian.ErrNotFinite},
		{"Inf variance", []float64{0, 0}, with(eye(2), 1, 1, math.Inf(1)), gaussian.ErrNotFinite},
		{"trace that overflows", make([]float64, 3), linalg.NewSym(3, []float64{8e307, 0, 0, -8e307, 8e307, 0, -8e307, -8e307, 8e307}), gaussian.ErrNotFinite},
		{"negative variance", []float64{0, 0}, with(eye(2), 1, 1, -1e-3), gaussian.ErrNotPositiveDefinite},
		{"correlation above 1", []float64{0, 0}, with(eye(2), 1, 0, 1.001), gaussian.ErrNotPositiveDefinite},
		{"hidden indefinite", []float64{0, 0, 0}, hidden, gaussian.ErrNotPositiveDefinite},
		{"asymmetric", []float64{0, 0, 0}, asymmetric(3, 1e-9), ErrNotSymmetric},
		{"NaN above the diagonal", []float64{0, 0, 0}, asymmetric(3, math.NaN()), gaussian.ErrNotFinite},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NewNormal(tt.mean, tt.cov); !errors.Is(err, tt.want) {
				t.Errorf("NewNormal = %v, want %v", err, tt.want)
			}
			if tt.name == "hidden indefinite" {
				p, err := AdoptNormal(tt.mean, tt.cov, nil)
				if err != nil {
					t.Fatalf("AdoptNormal = %v", err)
				}
				if _, _, err = p.Factor(); !errors.Is(err, tt.want) {
					t.Errorf("Factor = %v, want %v", err, tt.want)
				}
				var d *gaussian.DefiniteError
				if !errors.As(err, &d) || !testutil.Close(d.Value, -0.8, 1e-12) {
					t.Errorf("error %v does not carry the eigenvalue −0.8", err)
				}
				return
			}
			if _, err := AdoptNormal(tt.mean, tt.cov, nil); !errors.Is(err, tt.want) {
				t.Errorf("AdoptNormal = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestNewNormalCopies(t *testing.T) {
	mean, cov := []float64{1, 2}, linalg.NewSym(2, []float64{2, 0, 0.5, 1})
	p := mustNormal(mean, cov)
	mean[0] = 9
	cov.Set(0, 0, 9)
	if p.Mean()[0] != 1 || p.Cov().At(0, 0) != 2 || p.Trace() != 3 || p.Dim() != 2 {
		t.Errorf("NewNormal kept an argument: mean %v, S₀₀ %g", p.Mean(), p.Cov().At(0, 0))
	}
}

func TestNewNormalToleratesRounding(t *testing.T) {
	// A Gram matrix of fewer columns than rows has eigenvalues of either sign at
	// the level of rounding.
	rng := testutil.RNG(t)
	s := lowRank(rng, 12, 4)
	s.Row(3)[7] += 1e-15 // an asymmetry of rounding size
	p, err := NewNormal(make([]float64, 12), s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Cov().At(3, 7) != p.Cov().At(7, 3) {
		t.Error("the copy is not symmetric")
	}
	l, clamped, err := p.Factor()
	if err != nil || clamped > 0 || clamped < -1e-12 {
		t.Fatalf("clamped %g, %v", clamped, err)
	}
	checkFactor(t, l, p.Cov())
}

func TestAdoptNormal(t *testing.T) {
	rng := testutil.RNG(t)
	cov := linalg.NewSym(5, testutil.SPD(rng, 5, 100))
	ref := mustNormal(nil, cov)
	l, _, _ := ref.Factor()
	adopt := new(linalg.Dense)
	adopt.Copy(l)
	p, err := AdoptNormal(make([]float64, 5), cov, adopt)
	if err != nil {
		t.Fatal(err)
	}
	if p.Cov() != cov {
		t.Error("AdoptNormal copied the covariance")
	}
	var w Workspace
	if d, err := w.KL(ref, p); d != 0 || err != nil {
		t.Errorf("KL from the adopted Normal: %g, %v", d, err)
	}
	got, _, _ := p.Factor()
	for i := range 5 {
		for j := range 5 {
			if got.At(i, j) != l.At(i, j) {
				t.Fatalf("factor differs at (%d, %d)", i, j)
			}
		}
	}
	wrong := new(linalg.Dense)
	wrong.Copy(l)
	wrong.Set(4, 4, 2*l.At(4, 4))
	if _, err := AdoptNormal(make([]float64, 5), cov, wrong); !errors.Is(err, gaussian.ErrArgument) {
		t.Errorf("a factor of another matrix: %v", err)
	}
	wrong.Copy(l)
	wrong.Set(0, 4, 1e-12)
	if _, err := AdoptNormal(make([]float64, 5), cov, wrong); !errors.Is(err, gaussian.ErrArgument) {
		t.Errorf("a factor that is not triangular: %v", err)
	}
	wrong.Copy(l)
	wrong.Set(2, 2, -l.At(2, 2))
	var at *gaussian.ValueError
	if _, err := AdoptNormal(make([]float64, 5), cov, wrong); !errors.As(err, &at) || at.Row != 2 || at.Col != 2 || at.Value != -l.At(2, 2) {
		t.Errorf("a factor with a negative diagonal: %v", err)
	}
	wrong.Copy(l)
	wrong.Set(1, 0, math.NaN())
	if _, err := AdoptNormal(make([]float64, 5), cov, wrong); !errors.Is(err, gaussian.ErrNotFinite) {
		t.Errorf("a NaN in the factor: %v", err)
	}
	for what, lower := range map[string]*linalg.Dense{"columns of lower has size 4": linalg.NewDense(5, 4, nil), "rows of lower has size 4": linalg.NewDense(4, 5, nil)} {
		if _, err := AdoptNormal(make([]float64, 5), cov, lower); !errors.Is(err, gaussian.ErrDimension) || !strings.Contains(err.Error(), what+", want 5") {
			t.Errorf("a factor of another size: %v, want %s", err, what)
		}
	}

	tiny := linalg.NewDense(1, 1, []float64{math.SmallestNonzeroFloat64})
	var why *gaussian.DefiniteError
	if _, err := AdoptNormal([]float64{0}, linalg.NewSym(1, nil), tiny); !errors.As(err, &why) || why.Pivot != 0 || why.Jitter != 0 {
		t.Errorf("a factor without a finite reciprocal: %v", err)
	}

	tiny.Set(0, 0, 1.5*0x1p-1024)
	if _, err := AdoptNormal([]float64{0}, linalg.NewSym(1, nil), tiny); err != nil {
		t.Errorf("a factor whose reciprocal is finite: %v", err)
	}

	// A singular factor makes a singular normal. A coordinate without variance
	// is singular in any arithmetic.
	s := linalg.NewSym(4, nil)
	for i, row := range [][]float64{{4}, {2, 5}, {0, 0, 0}, {1, -2, 0, 3}} {
		for j, v := range row {
			s.Set(i, j, v)
		}
	}
	q := mustNormal(nil, s)
	f, _, _ := q.Factor()
	r, err := AdoptNormal(make([]float64, 4), s, f)
	if err != nil {
		t.Fatal(err)
	}
	if f2, _, err := r.Factor(); f2 != f || err != nil {
		t.Errorf("singular factor not adopted: %v", err)
	}
	if d, err := new(Workspace).KL(r, r); !math.IsInf(d, 1) || !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		t.Errorf("KL of a singular normal: %g, %v", d, err)
	}
}

// checkFactor compares L·Lᵀ with S to n·ε·tr S.
func checkFactor(t *testing.T, l *linalg.Dense, s *linalg.Sym) {
	t.Helper()
	var g linalg.Sym
	g.Gram(l)
	n := s.Dim()
	tol := 8 * float64(n) * epsilon * s.Trace()
	for i := range n {
		if !(l.At(i, i) >= 0) {
			t.Fatalf("L[%d,%d] = %g", i, i, l.At(i, i))
		}
		for j := range n {
			if d := math.Abs(g.At(i, j) - s.At(i, j)); !(d <= tol) {
				t.Fatalf("(L·Lᵀ − S)[%d,%d] = %g, bound %g", i, j, d, tol)
			}
			if j > i && l.At(i, j) != 0 {
				t.Fatalf("L[%d,%d] = %g, want 0", i, j, l.At(i, j))
			}
		}
	}
}

func TestFactorOnce(t *testing.T) {
	rng := testutil.RNG(t)
	p, err := AdoptNormal(make([]float64, 20), linalg.NewSym(20, testutil.SPD(rng, 20, 10)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var ls [8]*linalg.Dense
	var qs [8]*linalg.Sym
	for i := range ls {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ls[i], _, _ = p.Factor()
			qs[i], _ = p.inverse("test", 0.5, new(linalg.Cholesky))
		}()
	}
	wg.Wait()
	for i := range ls {
		if ls[i] == nil || ls[i] != ls[0] || qs[i] == nil || qs[i] != qs[0] {
			t.Fatal("factor or inverse computed more than once")
		}
	}
	checkFactor(t, ls[0], p.Cov())
}

func TestZeroCovariance(t *testing.T) {
	// A point mass is a normal too.
	p := mustNormal([]float64{3, 4}, linalg.NewSym(2, nil))
	q := mustNormal([]float64{0, 0}, linalg.NewSym(2, nil))
	if d, err := new(Workspace).W2(p, q); d != 5 || err != nil {
		t.Errorf("W2 = %g, %v, want 5", d, err)
	}
}

// A single bad entry is found and named wherever it stands among the blocks that
// the checks work by.
func TestAdoptNormalFindsEntry(t *testing.T) {
	const n = 37
	at := []int{0, 1, 14, 15, 16, 17, 31, 32, 36}
	for _, unit := range []float64{1, 0x1p-700} {
		findEntry(t, n, at, unit)
	}
	// A variance of 0 allows no covariance, up to what rounding explains.
	s := linalg.NewSym(n, nil)
	s.AddDiag(4)
	s.Set(20, 20, 0)
	s.Set(20, 3, 1e-9)
	if _, err := AdoptNormal(make([]float64, n), s, nil); err != nil {
		t.Error(err)
	}
	s.Set(20, 3, 1e-3)
	if _, err := AdoptNormal(make([]float64, n), s, nil); !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		t.Errorf("covariance beside a variance of 0: %v", err)
	}
}

func findEntry(t *testing.T, n int, at []int, unit float64) {
	t.Helper()
	for _, i := range at {
		for _, j := range at {
			s := linalg.NewSym(n, nil)
			s.AddDiag(4 * unit)
			set := func(i, j int, v float64) { s.Row(i)[j] = v }
			set(i, j, math.Inf(1))
			_, err := AdoptNormal(make([]float64, n), s, nil)
			var v *gaussian.ValueError
			if !errors.As(err, &v) || v.Err != gaussian.ErrNotFinite || v.Row != i || v.Col != j {
				t.Errorf("infinite [%d,%d], unit %g: %v", i, j, unit, err)
			}
			if j >= i {
				continue
			}
			set(i, j, 3*unit)
			_, err = AdoptNormal(make([]float64, n), s, nil)
			if !errors.As(err, &v) || v.Err != ErrNotSymmetric || v.Row != i || v.Col != j {
				t.Errorf("asymmetric [%d,%d], unit %g: %v", i, j, unit, err)
			}
			set(i, j, 5*unit)
			set(j, i, 5*unit)
			_, err = AdoptNormal(make([]float64, n), s, nil)
			var d *gaussian.DefiniteError
			if !errors.As(err, &d) || d.Pivot != i {
				t.Errorf("beyond Cauchy-Schwarz [%d,%d], unit %g: %v", i, j, unit, err)
			}
			// Up to rounding a correlation of 1, and a triangle off by rounding, pass.
			set(i, j, 4*unit)
			set(j, i, 4*unit*(1+epsilon))
			if _, err = AdoptNormal(make([]float64, n), s, nil); err != nil {
				t.Errorf("correlated [%d,%d], unit %g: %v", i, j, unit, err)
			}
		}
	}
}
