package gaussian

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func symOf(rows [][]float64) *linalg.Sym {
	s := linalg.NewSym(len(rows), nil)
	for i, r := range rows {
		copy(s.Row(i), r)
	}
	s.Mirror()
	return s
}

func denseOf(rows [][]float64) *linalg.Dense {
	if len(rows) == 0 {
		return linalg.NewDense(0, 0, nil)
	}
	d := linalg.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		copy(d.Row(i), r)
	}
	return d
}

// condition returns the 2-norm condition number, +Inf if s is singular.
func condition(t *testing.T, s *linalg.Sym) float64 {
	t.Helper()
	var e linalg.EigenSym
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
			p, q := mustNormal(c.M0, symOf(c.S0)), mustNormal(c.M1, symOf(c.S1))
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
			v, _, err = new(Workspace).Jeffreys(p, q, 0)
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
				ps = append(ps, mustNormal(m, symOf(c.Covs[i])))
			}
			r, err := Barycenter(context.Background(), ps, c.Weights, nil)
			if err != nil || !r.Converged {
				t.Fatalf("%+v, %v", r, err)
			}
			want := symOf(c.Cov)
			if d := relativeChange(r.Center.Cov(), want); !(d <= 1e-8) {
				t.Errorf("covariance off by %.2g of its norm", d)
			}
			if d := maxDiffVec(r.Center.Mean(), c.Mean); !(d <= 1e-8*math.Max(1, maxAbs(c.Mean))) {
				t.Errorf("mean off by %.2g", d)
			}
			t.Logf("%v: %d steps, residual %.1e", r.Method, r.Iterations, r.Residual)
		})
	}
}

// goldenKernel makes variance·k from a name such as matern32 or
// matern32*matern12, where the factors share the lengths.
func goldenKernel(t *testing.T, name string, variance float64, lengths []float64) kernel.Kernel {
	t.Helper()
	shapes := map[string]func(...float64) kernel.Stationary{
		"matern12": kernel.Matern12, "matern32": kernel.Matern32, "matern52": kernel.Matern52, "se": kernel.SquaredExp,
		"matern32*matern12": kernel.Matern32x12,
	}
	f, ok := shapes[strings.ReplaceAll(name, " ", "")]
	if !ok {
		t.Fatalf("no kernel %q", name)
	}
	return kernel.Scale(variance, f(lengths...))
}

func TestGoldenRegression(t *testing.T) {
	var g struct {
		Cases []struct {
			Kernel        string
			Variance      float64
			Lengthscales  []float64
			NoiseVariance float64 `json:"noise_variance"`
			X             [][]float64
			Y             []float64
			Z             [][]float64
			Mean          []float64
			Cov           [][]float64
			LML           float64   `json:"log_marginal_likelihood"`
			Grad          []float64 `json:"grad_log_params"`
		}
	}
	testutil.Golden(t, "gp.json", &g)
	if len(g.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range g.Cases {
		t.Run(c.Kernel, func(t *testing.T) {
			k := goldenKernel(t, c.Kernel, c.Variance, c.Lengthscales)
			x, z := denseOf(c.X), denseOf(c.Z)
			r := regress(t, k, c.NoiseVariance, x, c.Y, nil)
			var a, cov linalg.Sym
			kernel.Gram(&a, k, x)
			a.AddDiag(c.NoiseVariance)
			// Errors are relative to the prior variance and to the values.
			rel := math.Max(1e-10, 50*float64(len(c.Y))*epsilon*condition(t, &a))
			scale := math.Max(1, maxAbs(c.Y))
			mean, variance := make([]float64, len(c.Z)), make([]float64, len(c.Z))
			if err := r.posteriorTo(mean, &cov, z); err != nil {
				t.Fatal(err)
			}
			if d := maxDiffVec(mean, c.Mean); !(d <= rel*scale) {
				t.Errorf("mean off by %.2g, bound %.2g", d, rel*scale)
			}
			if d := maxDiff(&cov, symOf(c.Cov)); !(d <= rel*c.Variance) {
				t.Errorf("covariance off by %.2g, bound %.2g", d, rel*c.Variance)
			}
			var l Likelihood
			grad := make([]float64, k.NumParams()+1)
			if err := l.Reset(k, x, c.Y, nil); err != nil {
				t.Fatal(err)
			}
			lml, err := l.Eval(k, c.NoiseVariance, grad)
			if err != nil || !testutil.Close(lml, c.LML, rel) || !testutil.Close(r.c.LogMarginal(), c.LML, rel) {
				t.Errorf("log marginal likelihood %.17g, %.17g, %v, want %.17g", lml, r.c.LogMarginal(), err, c.LML)
			}
			if len(grad) != len(c.Grad) {
				t.Fatalf("%d derivatives, want %d", len(grad), len(c.Grad))
			}
			for i, want := range c.Grad {
				if !(math.Abs(grad[i]-want) <= rel*math.Max(1, math.Abs(want))) {
					t.Errorf("derivative %d is %.17g, want %.17g", i, grad[i], want)
				}
			}
			if err := r.predictTo(mean, variance, z); err != nil {
				t.Fatal(err)
			}
			for i := range mean {
				if !(math.Abs(mean[i]-c.Mean[i]) <= rel*scale) || !(math.Abs(variance[i]-c.Cov[i][i]) <= rel*c.Variance) {
					t.Errorf("point %d: mean %g, variance %g", i, mean[i], variance[i])
				}
			}
		})
	}
}
