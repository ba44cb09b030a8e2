package gaussian

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
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
			dim := len(c.X[0])
			x, z := linalg.NewDense(len(c.X), dim, slices.Concat(c.X...)), linalg.NewDense(len(c.Z), dim, slices.Concat(c.Z...))
			r := regress(t, k, c.NoiseVariance, x, c.Y, nil)
			var a, cov linalg.Sym
			kernel.Gram(&a, k, x)
			a.AddDiag(c.NoiseVariance)
			// Errors are relative to the prior variance and to the values.
			rel := math.Max(1e-10, 50*float64(len(c.Y))*0x1p-52*condition(t, &a))
			scale := math.Max(1, testutil.MaxDiff(c.Y, make([]float64, len(c.Y))))
			mean, variance := make([]float64, len(c.Z)), make([]float64, len(c.Z))
			if err := r.posteriorTo(mean, &cov, z); err != nil {
				t.Fatal(err)
			}
			if d := testutil.MaxDiff(mean, c.Mean); !(d <= rel*scale) {
				t.Errorf("mean off by %.2g, bound %.2g", d, rel*scale)
			}
			if d := maxDiff(&cov, linalg.NewSym(len(c.Cov), slices.Concat(c.Cov...))); !(d <= rel*c.Variance) {
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
