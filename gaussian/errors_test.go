package gaussian

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func TestErrorMessages(t *testing.T) {
	cause := &linalg.NotPositiveDefiniteError{Pivot: 4, Value: -2}
	for _, tt := range []struct {
		err  error
		is   error
		text []string
	}{
		{&DimensionError{Op: "KL", What: "q", Got: 3, Want: 4}, ErrDimension, []string{"KL", "q", "3", "4"}},
		{&ValueError{Op: "Fit", What: "y", Row: 7, Col: -1, Value: math.NaN(), Err: ErrNotFinite}, ErrNotFinite, []string{"Fit", "y[7]", "NaN"}},
		{&ValueError{Op: "New", What: "cov", Row: 7, Col: 2, Value: 5, Err: ErrNotSymmetric}, ErrNotSymmetric, []string{"cov[7,2]", "5"}},
		{&ValueError{Op: "New", What: "noise", Row: -1, Col: -1, Value: -5, Err: ErrArgument}, ErrArgument, []string{"noise is -5"}},
		{&DefiniteError{Op: "Fit", What: "K", Pivot: 4, Value: -2, Jitter: 1e-4, Err: cause}, ErrNotPositiveDefinite, []string{"Fit", "K", "pivot 4", "-2", "0.0001"}},
		{&DefiniteError{Op: "Factor", What: "cov", Pivot: -1, Value: -3}, ErrNotPositiveDefinite, []string{"eigenvalue", "-3"}},
	} {
		if !errors.Is(tt.err, tt.is) {
			t.Errorf("%v does not wrap %v", tt.err, tt.is)
		}
		for _, s := range tt.text {
			if !strings.Contains(tt.err.Error(), s) {
				t.Errorf("%q does not contain %q", tt.err, s)
			}
		}
	}
	var npd *linalg.NotPositiveDefiniteError
	if err := definiteError("Fit", "K", 0, cause); !errors.As(err, &npd) || npd != cause {
		t.Errorf("%v does not carry the error of linalg", err)
	}
}

// weird draws numbers that break things: special values and extremes of the
// exponent range among ordinary ones.
func weird(rng *rand.Rand) float64 {
	switch rng.IntN(40) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1 - 2*rng.IntN(2))
	case 2:
		return math.MaxFloat64
	case 3:
		return math.SmallestNonzeroFloat64
	case 4:
		return 0
	case 5:
		return -1
	case 6:
		return 1e200
	case 7:
		return 1e-200
	}
	return rng.NormFloat64()
}

func weirdVec(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = weird(rng)
	}
	return x
}

// TestNothingPanics calls everything with numbers of every kind. Results are
// finite or come with an error.
func TestNothingPanics(t *testing.T) {
	rng := testutil.RNG(t)
	ctx := context.Background()
	trials := 1500
	if testing.Short() {
		trials = 300
	}
	made := 0
	check := func(what string, v float64, err error) {
		t.Helper()
		if err == nil && !finite(v) {
			t.Errorf("%s = %g without an error", what, v)
		}
	}
	for range trials {
		n := 1 + rng.IntN(4)
		var ps []*Normal
		for range 3 {
			s := linalg.NewSym(n, nil)
			switch rng.IntN(3) {
			case 0:
				f := linalg.NewDense(n, n, weirdVec(rng, n*n))
				s.Gram(f)
			case 1:
				s = linalg.NewSym(n, testutil.SPD(rng, n, 1e6))
				s.Scale(math.Abs(weird(rng)))
			default:
				for i := range n {
					s.Set(i, i, math.Abs(weird(rng)))
				}
			}
			if p, err := NewNormal(weirdVec(rng, n), s); err == nil {
				ps = append(ps, p)
			} else if p, err := AdoptNormal(make([]float64, n), s, nil); err == nil {
				ps = append(ps, p)
			}
		}
		for _, p := range ps {
			made++
			l, err := p.LogProb(weirdVec(rng, n))
			if err == nil && math.IsNaN(l) {
				t.Errorf("LogProb = %g", l)
			}
			for _, q := range ps {
				v, err := new(Workspace).W2Squared(p, q)
				check("W2Squared", v, err)
				v, err = new(Workspace).KL(p, q)
				check("KL", v, err)
				v, _, err = new(Workspace).Jeffreys(p, q, weird(rng))
				check("Jeffreys", v, err)
			}
		}
		if len(ps) > 0 {
			w := weirdVec(rng, len(ps))
			if c, err := Centroid(ps, w); err == nil {
				check("Centroid", c.Mean()[0], nil)
			}
			if r, err := Barycenter(ctx, ps, nil, &BarycenterOptions{MaxIter: 30}); err == nil {
				check("Barycenter", r.Center.Cov().At(0, 0), nil)
			}
		}
		m := 1 + rng.IntN(4)
		x, k := linalg.NewDense(m, 2, weirdVec(rng, 2*m)), kernel.Scale(2, kernel.Matern32(0.5))
		var l Likelihood
		if l.Reset(k, x, weirdVec(rng, m), weirdVec(rng, m)) == nil {
			_, _ = l.Eval(k, weird(rng), make([]float64, 3))
		}
		if rng.IntN(10) == 0 {
			var f Fitter
			_, _ = f.Fit(ctx, k, math.Abs(weird(rng)), x, weirdVec(rng, m), weirdVec(rng, m), nil)
		}
		var c Conditioner
		cov := linalg.NewSym(m, weirdVec(rng, m*m))
		_ = c.Factorize(cov, weirdVec(rng, 1), weirdVec(rng, m))
		_ = c.Append(weirdVec(rng, c.Len()), weird(rng), weird(rng), weird(rng))
		_ = c.AppendExpected(weirdVec(rng, c.Len()), weird(rng), weird(rng))
		cross := linalg.NewDense(c.Len(), m, weirdVec(rng, c.Len()*m))
		_ = c.Update(weirdVec(rng, m), weirdVec(rng, m), cross)
		_ = c.Condition(nil, cov, new(linalg.Dense), cross)
		_ = c.Precision(make([]float64, c.Len()), cov)
	}
	if made < trials {
		t.Errorf("only %d usable normals: the test is too wild", made)
	}
}

// TestFactorOfChangedCov: a covariance that its owner changed after all, here to hold a
// NaN, gives an error with the cause, and says that nothing was added to its diagonal.
func TestFactorOfChangedCov(t *testing.T) {
	cov := linalg.NewSym(3, []float64{2, 0, 0, 0, 2, 0, 0, 0, 2})
	n, err := AdoptNormal(make([]float64, 3), cov, nil)
	if err != nil {
		t.Fatal(err)
	}
	cov.Set(2, 1, math.NaN())
	_, _, err = n.Factor()
	var d *DefiniteError
	if !errors.As(err, &d) || !errors.Is(err, linalg.ErrNotFinite) || d.Op != "Factor" || d.What != "cov" || d.Jitter != 0 || d.Pivot != -1 {
		t.Fatalf("Factor = %v (%+v)", err, d)
	}
}
