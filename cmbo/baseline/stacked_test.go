package baseline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// One study is a Gaussian process, two are one on the residuals of the other, and
// the target comes on top: level by level, by plain elimination.
func TestStackedGP(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 11)
	tasks[1].X, tasks[1].Y = tasks[1].X[:4], tasks[1].Y[:4] // fewer than hyperparameters
	z := randomPoints(r, 5, 2)
	for levels := 1; levels <= 3; levels++ {
		m, err := learnStackedGP(ctx, square(t), tasks[:levels])
		require.NoError(t, err)
		mean, sd := make([]float64, 5), make([]float64, 5)
		for i, s := range m.levels {
			mu, v := gpOracle(s.h.Kernel.Eval, zeroMean, s.X, s.Z, s.h.Noise(s.Noise), z)
			a := 1.0
			if i > 0 {
				// Two lengths, variance and noise: p = 4.
				dof := func(n float64) float64 { return max(n-4, n/5) }
				top, base := dof(float64(len(s.Z))), dof(float64(len(m.levels[i-1].Z)))
				b := top / base * (2 + base)
				a = b / (1 + b)
			}
			for j := range mu {
				mean[j] += mu[j]
				sd[j] = math.Pow(math.Sqrt(v[j]), a) * math.Pow(sd[j], 1-a)
			}
		}
		got, err := m.at(ctx, z)
		require.NoError(t, err)
		near(t, mean, got.mean, 1e-8, "mean")
		near(t, sd, got.sd, 1e-7, "deviation")

		// Before the first observation the target's level says nothing.
		d := dataAt(bump([]float64{0.7, 0.3}), randomPoints(r, 6, 2), 1)
		s := m.Surrogate(1).(*stackedRun)
		require.NoError(t, s.Bind(ctx, z))
		require.NoError(t, s.Fit(ctx, firstOf(d, 0, 1)))
		m0, s0 := predict(t, s, z)
		near(t, mean, m0, 1e-8, "mean without observations")
		near(t, sd, s0, 1e-7, "deviation without observations")

		require.NoError(t, s.Fit(ctx, d))
		at, err := m.at(ctx, d.X)
		require.NoError(t, err)
		resid := make([]float64, 6)
		for i := range resid {
			resid[i] = d.Y[i] - at.mean[i]
		}
		mu, v := gpOracle(s.h.Kernel.Eval, zeroMean, d.X, resid, s.h.Noise(d.NoiseVariance), z)
		a := m.share(6, len(m.levels[levels-1].Z))
		for j := range mu {
			mu[j] += mean[j]
			v[j] = math.Pow(math.Sqrt(v[j]), a) * math.Pow(sd[j], 1-a)
		}
		m1, s1 := predict(t, s, z)
		near(t, mu, m1, 1e-7, "mean")
		near(t, v, s1, 1e-6, "deviation")
		free := m.Surrogate(1)
		require.NoError(t, free.Fit(ctx, d))
		m2, s2 := predict(t, free, z)
		require.Equal(t, m1, m2)
		require.Equal(t, s1, s2)
	}
	// The residuals of a level are those of all levels before.
	m, err := learnStackedGP(ctx, square(t), tasks)
	require.NoError(t, err)
	two, err := learnStackedGP(ctx, square(t), tasks[:2])
	require.NoError(t, err)
	_, obs, err := settle(config{method: "test"}, square(t), tasks, nil)
	require.NoError(t, err)
	below, err := two.at(ctx, obs[2].X)
	require.NoError(t, err)
	for i, v := range m.levels[2].Z {
		require.InDelta(t, obs[2].Z[i]-below.mean[i], v, 1e-10)
	}
	// α for ten observations above twenty, p = 4: f = 6 and 16, b = 6/16·18.
	require.InDelta(t, 6.75/7.75, m.share(10, 20), 1e-14)
}
