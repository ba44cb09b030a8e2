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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// condition returns the 2-norm condition number, +Inf if s is singular.
func condition(t *testing.T, s *linalg.Sym) float64 {
	t.Helper()
	var e spectral.EigenSym
	require.NoError(t, e.FactorizeValues(s))
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
	require.True(t, ok, "no kernel %q", name)
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
	require.NotEmpty(t, g.Cases, "no cases")
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
			require.NoError(t, r.posteriorTo(mean, &cov, z))
			assert.LessOrEqual(t, testutil.MaxDiff(mean, c.Mean), rel*scale, "error of the mean")
			wantCov := linalg.NewSym(len(c.Cov), slices.Concat(c.Cov...))
			assert.LessOrEqual(t, maxDiff(&cov, wantCov), rel*c.Variance, "error of the covariance")
			var l Likelihood
			grad := make([]float64, k.NumParams()+1)
			require.NoError(t, l.Reset(k, x, c.Y, nil))
			lml, err := l.Eval(k, c.NoiseVariance, grad)
			assert.NoError(t, err, "log marginal likelihood")
			for _, got := range []float64{lml, r.c.LogMarginal()} {
				assert.InEpsilon(t, c.LML, got, rel, "log marginal likelihood %.17g, want %.17g", got, c.LML)
			}
			require.Len(t, grad, len(c.Grad), "derivatives")
			for i, want := range c.Grad {
				assert.InDelta(t, want, grad[i], rel*math.Max(1, math.Abs(want)), "derivative %d", i)
			}
			require.NoError(t, r.predictTo(mean, variance, z))
			for i := range mean {
				assert.InDelta(t, c.Mean[i], mean[i], rel*scale, "mean of point %d", i)
				assert.InDelta(t, c.Cov[i][i], variance[i], rel*c.Variance, "variance of point %d", i)
			}
		})
	}
}
