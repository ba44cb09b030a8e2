package multivariate

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestProcessors wants the same bits whatever the number of processors, above
// the size from which linear algebra is shared between goroutines.
func TestProcessors(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 230
	ps := []*linalg.Sym{lowRank(rng, n, n+5), lowRank(rng, n, n+5)}
	near := new(linalg.Sym)
	near.Copy(ps[0])
	near.Scale(1 + 1e-5)
	var want []float64
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(procs)
		p, q, r := mustNormal(nil, ps[0]), mustNormal(nil, ps[1]), mustNormal(nil, near)
		got := []float64{w2sq(t, p, q), w2sq(t, p, r), kl(t, p, q), jeffreys(t, p, q, 1e-6), jeffreys(t, p, r, 1e-6)}
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%d processors: result %d is %.17g, on one %.17g", procs, i, got[i], want[i])
			}
		}
	}
}

func TestWorkspace(t *testing.T) {
	rng := testutil.RNG(t)
	var w Workspace
	// Sizes up and down: the memory of one must not show in another.
	for _, n := range []int{9, 3, 12, 1} {
		p := randomNormal(rng, n, 100)
		qs := []*Normal{randomNormal(rng, n, 10), p, randomNormal(rng, n, 1e6)}
		// A near-equal one, for the residual.
		s := new(linalg.Sym)
		s.Copy(p.Cov())
		s.Scale(1 + 1e-6)
		qs = append(qs, mustNormal(p.Mean(), s))
		dst := make([]float64, len(qs))
		check := func(name string, f func(p, q *Normal) (float64, error)) {
			t.Helper()
			for i, q := range qs {
				if want, err := f(p, q); err != nil || dst[i] != want {
					t.Errorf("n=%d: %s[%d] = %g, alone %g, %v", n, name, i, dst[i], want, err)
				}
			}
		}
		if err := squaredDistances(&w, dst, p, qs); err != nil {
			t.Fatal(err)
		}
		check("W2Squared", new(Workspace).W2Squared)
		for _, jitter := range []float64{1e-6, 0, 1e-3} {
			// The inverse of one is kept, that of the other is not.
			for _, p := range []*Normal{p, mustNormal(p.Mean(), p.Cov())} {
				for i := range dst {
					dst[i] = math.NaN()
				}
				if err := w.JeffreysTo(dst, p, qs, jitter); err != nil {
					t.Fatal(err)
				}
				check("JeffreysTo", func(p, q *Normal) (float64, error) { return new(Workspace).Jeffreys(p, q, jitter) })
			}
		}
		for i, q := range qs {
			var err error
			if dst[i], err = w.KL(p, q); err != nil {
				t.Fatal(err)
			}
		}
		check("KL", new(Workspace).KL)

		testutil.ZeroAlloc(t, func() { _ = squaredDistances(&w, dst, p, qs) })
		testutil.ZeroAlloc(t, func() { _ = w.JeffreysTo(dst, p, qs, 1e-3) })
		testutil.ZeroAlloc(t, func() { _, _ = w.KL(p, qs[0]) })

		if err := w.JeffreysTo(dst[1:], p, qs, 0); !errors.Is(err, gaussian.ErrDimension) {
			t.Errorf("short dst: %v", err)
		}
	}
}

func TestDivergenceErrors(t *testing.T) {
	rng := testutil.RNG(t)
	p, q := randomNormal(rng, 3, 10), randomNormal(rng, 4, 10)
	huge := mustNormal([]float64{1e200, 0, 0}, p.Cov())
	s := linalg.NewSym(3, []float64{1, 0, 0, -0.9, 1, 0, -0.9, -0.9, 1})
	indefinite, err := AdoptNormal(make([]float64, 3), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(p, q *Normal) error{
		"W2":        func(p, q *Normal) error { _, err := new(Workspace).W2(p, q); return err },
		"W2Squared": func(p, q *Normal) error { _, err := new(Workspace).W2Squared(p, q); return err },
		"KL":        func(p, q *Normal) error { _, err := new(Workspace).KL(p, q); return err },
		"Jeffreys":  func(p, q *Normal) error { _, err := new(Workspace).Jeffreys(p, q, 0); return err },
	} {
		if err := f(p, q); !errors.Is(err, gaussian.ErrDimension) {
			t.Errorf("%s: dimensions: %v", name, err)
		}
		if err := f(nil, q); !errors.Is(err, gaussian.ErrArgument) {
			t.Errorf("%s: nil: %v", name, err)
		}
		if err := f(p, nil); !errors.Is(err, gaussian.ErrArgument) {
			t.Errorf("%s: nil: %v", name, err)
		}
		if err := f(p, huge); name != "W2" && !errors.Is(err, gaussian.ErrNotFinite) { // W2 squares nothing there: TestW2FarMeans
			t.Errorf("%s: overflow: %v", name, err)
		}
		for _, pair := range [][2]*Normal{{p, indefinite}, {indefinite, p}} {
			if err := f(pair[0], pair[1]); !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
				t.Errorf("%s: indefinite: %v", name, err)
			}
		}
	}
	var w Workspace
	nan := new(linalg.Dense)
	nan.Copy(p.lower)
	nan.Set(2, 1, math.NaN())
	wide := linalg.NewDense(3, 4, nil)
	for name, tt := range map[string]struct{ err, want error }{
		"nil":      {second(w.W2SquaredFactors(p.mean, nil, p.mean, p.lower)), gaussian.ErrArgument},
		"means":    {second(w.W2SquaredFactors(p.mean, p.lower, q.mean, p.lower)), gaussian.ErrDimension},
		"rows":     {second(w.W2SquaredFactors(p.mean, p.lower, p.mean, q.lower)), gaussian.ErrDimension},
		"columns":  {second(w.W2SquaredFactors(p.mean, wide, p.mean, p.lower)), gaussian.ErrDimension},
		"NaN":      {second(w.W2SquaredFactors(p.mean, nan, p.mean, p.lower)), gaussian.ErrNotFinite},
		"overflow": {second(w.W2SquaredFactors(p.mean, p.lower, huge.mean, p.lower)), gaussian.ErrNotFinite},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
