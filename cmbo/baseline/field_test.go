package baseline

import (
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// A posterior agrees with the formula by plain elimination, and conditioning
// twice with conditioning once on everything.
func TestPosterior(t *testing.T) {
	r := testRNG(t)
	k := kernel.Scale(1.7, kernel.Matern52(0.4, 0.9))
	prior := kernelField{k: k, mean: 0.3}
	x, z := randomPoints(r, 7, 2), randomPoints(r, 5, 2)
	y, noise := make([]float64, 7), make([]float64, 7)
	for i := range y {
		y[i], noise[i] = r.NormFloat64(), 0.01*(1+r.Float64())
	}
	p, err := newPosterior(ctx, prior, x, y, noise)
	require.NoError(t, err)
	mean, variance := make([]float64, 5), make([]float64, 5)
	require.NoError(t, p.momentsTo(ctx, mean, variance, z))
	wantMean, wantVar := gpOracle(k.Eval, func([]float64) float64 { return 0.3 }, x, y, noise, z)
	near(t, wantMean, mean, 1e-11, "mean")
	near(t, wantVar, variance, 1e-11, "variance")

	var cov linalg.Sym
	var cross linalg.Dense
	require.NoError(t, p.gramTo(ctx, &cov, z))
	require.NoError(t, p.covTo(ctx, &cross, z, z))
	for i := range 5 {
		near(t, cov.Row(i), cross.Row(i), 1e-12, "covariance")
	}
	for i := range 5 {
		require.InDelta(t, variance[i], cov.At(i, i), 1e-12)
	}

	half, err := newPosterior(ctx, prior, firstRows(x, 4), y[:4], noise[:4])
	require.NoError(t, err)
	rest := x.View(4, 0, 3, 2)
	twice, err := newPosterior(ctx, half, &rest, y[4:], noise[4:])
	require.NoError(t, err)
	m2, v2 := make([]float64, 5), make([]float64, 5)
	require.NoError(t, twice.momentsTo(ctx, m2, v2, z))
	near(t, mean, m2, 1e-11, "mean, conditioned twice")
	near(t, variance, v2, 1e-11, "variance, conditioned twice")
	var cov2 linalg.Sym
	require.NoError(t, twice.gramTo(ctx, &cov2, z))
	for i := range 5 {
		near(t, cov.Row(i), cov2.Row(i), 1e-11, "covariance, conditioned twice")
	}
}

// Pending points leave means alone and shrink variances as observations do.
func TestWithPending(t *testing.T) {
	r := testRNG(t)
	k := kernel.Scale(1, kernel.Matern32(0.5))
	x, pending, z := randomPoints(r, 4, 2), randomPoints(r, 2, 2), randomPoints(r, 6, 2)
	y := []float64{1, -1, 0.5, 0}
	noise := []float64{0.1, 0.1, 0.1, 0.1}
	p, err := newPosterior(ctx, kernelField{k: k}, x, y, noise)
	require.NoError(t, err)
	f, err := withPending(ctx, p, pending, 0.1)
	require.NoError(t, err)
	m0, v0, m1, v1 := make([]float64, 6), make([]float64, 6), make([]float64, 6), make([]float64, 6)
	require.NoError(t, p.momentsTo(ctx, m0, v0, z))
	require.NoError(t, f.momentsTo(ctx, m1, v1, z))
	require.Equal(t, m0, m1)
	for i := range v0 {
		require.Less(t, v1[i], v0[i])
	}
	// The variance is that of a process with six observations, whatever their
	// values.
	g, err := gaussian.NewProcess(k, gaussian.WithNoise(0.1))
	require.NoError(t, err)
	all := linalg.NewDense(6, 2, nil)
	for i := range 4 {
		copy(all.Row(i), x.Row(i))
	}
	for i := range 2 {
		copy(all.Row(4+i), pending.Row(i))
	}
	require.NoError(t, g.Fit(all, make([]float64, 6)))
	want := make([]float64, 6)
	require.NoError(t, g.PredictTo(make([]float64, 6), want, z))
	near(t, want, v1, 1e-12, "variance")

	same, err := withPending(ctx, p, nil, 0.1)
	require.NoError(t, err)
	require.True(t, same == field(p))
}
