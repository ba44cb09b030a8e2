package multivariate

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// TestNothingPanics calls everything with numbers of every kind. Results are
// finite or come with an error.
func TestNothingPanics(t *testing.T) {
	rng := testutil.RNG(t)
	trials := 1500
	if testing.Short() {
		trials = 300
	}
	made := 0
	check := func(what string, v float64, err error) {
		t.Helper()
		if err == nil && math.IsNaN(v-v) {
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
				f := linalg.NewDense(n, n, testutil.Weird(rng, n*n))
				s.Gram(f)
			case 1:
				s = linalg.NewSym(n, testutil.SPD(rng, n, 1e6))
				s.Scale(math.Abs(testutil.Weird(rng, 1)[0]))
			default:
				for i := range n {
					s.Set(i, i, math.Abs(testutil.Weird(rng, 1)[0]))
				}
			}
			if p, err := NewNormal(testutil.Weird(rng, n), s); err == nil {
				ps = append(ps, p)
			} else if p, err := AdoptNormal(make([]float64, n), s, nil); err == nil {
				ps = append(ps, p)
			}
		}
		for _, p := range ps {
			made++
			for _, q := range ps {
				v, err := new(Workspace).W2Squared(p, q)
				check("W2Squared", v, err)
				v, err = new(Workspace).KL(p, q)
				check("KL", v, err)
				v, err = new(Workspace).Jeffreys(p, q, testutil.Weird(rng, 1)[0])
				check("Jeffreys", v, err)
			}
		}
		if len(ps) > 0 {
			w := testutil.Weird(rng, len(ps))
			if c, err := Centroid(ps, w); err == nil {
				check("Centroid", c.Mean()[0], nil)
			}
			if r, err := (limits{tol: usualLimits.tol, maxIter: 30, memory: 4, adapt: true}).barycenter(context.Background(), ps, nil); err == nil {
				check("Barycenter", r.Center.Cov().At(0, 0), nil)
			}
		}
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
	var d *gaussian.DefiniteError
	if !errors.As(err, &d) || !errors.Is(err, spectral.ErrNotFinite) || d.Op != "Factor" || d.What != "cov" || d.Jitter != 0 || d.Pivot != -1 {
		t.Fatalf("Factor = %v (%+v)", err, d)
	}
}
