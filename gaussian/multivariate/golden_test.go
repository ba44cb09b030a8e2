package multivariate

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// condition returns the 2-norm condition number, +Inf if s is singular.
func condition(t *testing.T, s *linalg.Sym) float64 {
	t.Helper()
	var e spectral.EigenSym
	if err := e.FactorizeValues(s); err != nil {
		t.Fatal(err)
	}
	v := e.Values()
	if !(v[0] > 0) {
		return math.Inf(1)
	}
	return v[len(v)-1] / v[0]
}

func TestGoldenDivergences(t *testing.T) {
	var g struct {
		Cases []struct {
			Name      string
			M0, M1    []float64
			S0, S1    [][]float64
			W2Squared float64 `json:"w2_squared"`
			W2        float64
			KL01      *float64 `json:"kl_01"`
			KL10      *float64 `json:"kl_10"`
			Jeffreys  *float64
		}
	}
	testutil.Golden(t, "gaussian.json", &g)
	if len(g.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			p, q := mustNormal(c.M0, linalg.NewSym(len(c.S0), slices.Concat(c.S0...))), mustNormal(c.M1, linalg.NewSym(len(c.S1), slices.Concat(c.S1...)))
			n := float64(p.Dim())
			tol := 1e-10*c.W2Squared + 50*n*epsilon*(p.Trace()+q.Trace())
			got, err := new(Workspace).W2Squared(p, q)
			if err != nil || !(math.Abs(got-c.W2Squared) <= tol) {
				t.Errorf("W2Squared = %.17g, %v, want %.17g", got, err, c.W2Squared)
			}
			d, err := new(Workspace).W2(p, q)
			if err != nil || !(math.Abs(d*d-c.W2Squared) <= tol) {
				t.Errorf("W2 = %.17g, %v, want %.17g", d, err, c.W2)
			}
			if c.Jeffreys == nil || c.KL01 == nil || c.KL10 == nil {
				return
			}
			cond := math.Max(condition(t, p.Cov()), condition(t, q.Cov()))
			rel := math.Max(1e-10, 50*n*epsilon*cond)
			check := func(name string, got float64, err error, want float64) {
				t.Helper()
				if err != nil || !(testutil.RelErr(got, want) <= rel) {
					t.Errorf("%s = %.17g, %v, want %.17g", name, got, err, want)
				}
			}
			v, err := new(Workspace).KL(p, q)
			check("KL(0‖1)", v, err, *c.KL01)
			v, err = new(Workspace).KL(q, p)
			check("KL(1‖0)", v, err, *c.KL10)
			v, err = new(Workspace).Jeffreys(p, q, 0)
			check("Jeffreys", v, err, *c.Jeffreys)
		})
	}
}

func TestGoldenBarycenter(t *testing.T) {
	var g struct {
		Cases []struct {
			Name    string
			Means   [][]float64
			Covs    [][][]float64
			Weights []float64
			Mean    []float64
			Cov     [][]float64
		}
	}
	testutil.Golden(t, "barycenter.json", &g)
	if len(g.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var ps []*Normal
			for i, m := range c.Means {
				ps = append(ps, mustNormal(m, linalg.NewSym(len(c.Covs[i]), slices.Concat(c.Covs[i]...))))
			}
			r, err := Barycenter(context.Background(), ps, c.Weights)
			if err != nil || !r.Converged {
				t.Fatalf("%+v, %v", r, err)
			}
			want := linalg.NewSym(len(c.Cov), slices.Concat(c.Cov...))
			if d := relativeChange(r.Center.Cov(), want); !(d <= 1e-8) {
				t.Errorf("covariance off by %.2g of its norm", d)
			}
			if d := testutil.MaxDiff(r.Center.Mean(), c.Mean); !(d <= 1e-8*math.Max(1, testutil.MaxDiff(c.Mean, make([]float64, len(c.Mean))))) {
				t.Errorf("mean off by %.2g", d)
			}
			t.Logf("%v: %d steps, residual %.1e", r.Method, r.Iterations, r.Residual)
		})
	}
}
