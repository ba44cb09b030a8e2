package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/stretchr/testify/require"
)

func TestDiscordance(t *testing.T) {
	y := []float64{1, 2, 3, 4}
	require.Equal(t, 0.0, discordance([]float64{-5, 0, 1, 9}, y))
	require.Equal(t, 1.0, discordance([]float64{4, 3, 2, 1}, y))
	require.InDelta(t, 1.0/6, discordance([]float64{2, 1, 3, 4}, y), 1e-15, "one pair of six")
	require.InDelta(t, 0.5/6, discordance([]float64{1, 1, 3, 4}, y), 1e-15, "a tie counts half")
	require.InDelta(t, 0.5/6, discordance([]float64{1, 2, 3, 4}, []float64{2, 2, 3, 4}), 1e-15)
	require.Equal(t, 0.0, discordance([]float64{1, 1}, []float64{2, 2}))
}

// Weights are those of the Epanechnikov kernel at the discordance, and predictions
// the weighted mean with the target's deviation.
func TestTSTR(t *testing.T) {
	r := testRNG(t)
	f := bump([]float64{0.7, 0.3})
	x := randomPoints(r, 25, 2)
	tasks := append(family(r, 3, 20), taskOf(t, "opposite", func(x []float64) float64 { return -f(x) }, x))
	m, err := learnTSTR(ctx, square(t), tasks, set(func(c *config) { c.bandwidth = 0.4 }))
	require.NoError(t, err)
	d := dataAt(f, randomPoints(r, 6, 2), 1)
	z := randomPoints(r, 5, 2)
	s := m.Surrogate(1).(*tstRun)
	require.NoError(t, s.Bind(ctx, z))
	require.NoError(t, s.Fit(ctx, d))
	raw := make([]float64, 5)
	raw[4] = 0.75
	sum := 0.75
	wantMean := make([]float64, 5)
	for i, src := range s.past.sources {
		mu, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), d.X)
		dist := discordance(mu, d.Raw)
		if dist < 0.4 {
			raw[i] = 0.75 * (1 - dist*dist/0.16)
		}
		sum += raw[i]
	}
	require.Zero(t, raw[3])
	require.Greater(t, raw[0], 0.1)
	for i := range raw {
		raw[i] /= sum
	}
	near(t, raw, s.Weights(), 1e-12, "weights")
	for i, src := range s.past.sources {
		mu, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), z)
		for j := range mu {
			wantMean[j] += raw[i] * mu[j]
		}
	}
	mu, v := gpOracle(s.h.Kernel.Eval, zeroMean, d.X, d.Y, s.h.Noise(d.NoiseVariance), z)
	for j := range mu {
		wantMean[j] += raw[4] * mu[j]
		v[j] = math.Sqrt(v[j])
	}
	mean, sd := predict(t, s, z)
	near(t, wantMean, mean, 1e-8, "mean")
	near(t, v, sd, 1e-7, "deviation")

	require.NoError(t, s.Fit(ctx, firstOf(d, 1, 1)))
	near(t, []float64{0.2, 0.2, 0.2, 0.2, 0.2}, s.Weights(), 1e-15, "one observation")
}

// The acquisition is the stated sum; where a task promises nothing beyond what
// was seen it does not enter.
func TestTAF(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 20)
	f := bump([]float64{0.65, 0.35})
	d := dataAt(f, randomPoints(r, 5, 2), 1)
	z := randomPoints(r, 8, 2)
	for _, ranks := range []bool{false, true} {
		m, err := learnTAF(ctx, square(t), tasks, set(func(c *config) { c.byRanks, c.bandwidth = ranks, 1 }))
		require.NoError(t, err)
		s := m.Surrogate(1).(*tafRun)
		require.NoError(t, s.Fit(ctx, d))
		noise := s.h.Noise(d.NoiseVariance)
		at, _ := gpOracle(s.h.Kernel.Eval, zeroMean, d.X, d.Y, noise, d.X)
		mu, v := gpOracle(s.h.Kernel.Eval, zeroMean, d.X, d.Y, noise, z)
		want := make([]float64, 8)
		for j := range want {
			want[j] = s.w[3] * acq.ExpectedImprovement(mu[j], math.Sqrt(v[j]), slices.Max(at))
		}
		for i, src := range s.past.sources {
			seen, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), d.X)
			mi, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), z)
			for j := range want {
				want[j] += s.w[i] * max(mi[j]-slices.Max(seen), 0)
			}
		}
		got := make([]float64, 8)
		require.NoError(t, s.Score(ctx, got, z, nil, 0))
		for j := range got {
			require.InEpsilon(t, want[j], math.Exp(got[j]), 1e-6)
		}
		mean, _ := predict(t, s, z)
		near(t, mu, mean, 1e-8, "the target's own mean")

		// Where everything has been seen, pending included, no task promises more.
		d2 := d
		d2.Pending = z
		require.NoError(t, s.Fit(ctx, d2))
		require.NoError(t, s.Score(ctx, got, z, nil, 0))
		mean, sd := predict(t, s, z)
		for j := range got {
			require.InDelta(t, math.Log(s.w[3])+acq.LogExpectedImprovement(mean[j], sd[j], s.own), got[j], 1e-12)
		}

		// A target that won none of 256 draws counts as if it had won half a draw: points of which no
		// task promises more are still ordered.
		if ranks {
			continue // whose weights are never 0
		}
		s.w[3] = 0
		require.NoError(t, s.Score(ctx, got, z, nil, 0))
		for j := range got {
			require.InDelta(t, math.Log(0.5/256)+acq.LogExpectedImprovement(mean[j], sd[j], s.own), got[j], 1e-12)
		}
	}
}

func TestLogSums(t *testing.T) {
	inf := math.Inf(1)
	require.InDelta(t, math.Log(6)-800, logSumExp([]float64{-800, math.Log(2) - 800, math.Log(3) - 800}), 1e-12)
	require.Equal(t, -inf, logSumExp([]float64{-inf, -inf}))
}

var _ = cmbo.ZScore
