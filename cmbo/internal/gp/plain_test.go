package gp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// TestCheckFitted: parameters are those of one of the forms that a fit chooses from,
// and of a noise variance.
func TestCheckFitted(t *testing.T) {
	g := NewPlain(3, nil, math.NaN(), nil, nil, false, 1)
	for n := range 8 {
		err := g.CheckFitted(make([]float64, n))
		if n == 3 || n == 5 { // the variance, one lengthscale or three, and the noise
			require.NoError(t, err)
		} else {
			require.Error(t, err, "%d parameters", n)
		}
	}
	require.NoError(t, g.CheckFitted([]float64{1, -1, -740}))
	for _, params := range [][]float64{{0, 0, -1e3}, {0, 0, 1e3}, {0, 0, math.NaN()}, {math.NaN(), 0, 0}, {0, math.Inf(1), 0}} {
		require.Error(t, g.CheckFitted(params), "%v", params)
	}
}

// TestNoiseGiven: a noise variance that is given is in the unit of the values.
func TestNoiseGiven(t *testing.T) {
	asIs := func(y, _ []float64) ([]float64, []float64) { return y, nil }
	x, y := linalg.NewDense(3, 1, []float64{0, 0.5, 1}), []float64{1, -1, 0}
	g := NewPlain(1, nil, 0.04, asIs, nil, false, 1)
	require.NoError(t, g.Fit(t.Context(), &space.Data{X: x, Y: y, Raw: y, RawNoiseVariance: make([]float64, 3)}))
	require.InEpsilon(t, 0.04, g.NoiseVariance(), 1e-12)
}

// TestTune: hyperparameters are those of Fit, which a model that conditions on nothing has too.
func TestTune(t *testing.T) {
	s := newSample(t, 30, 0)
	tuned, fitted := NewPlain(2, nil, math.NaN(), scaling.ZScore.Scale, nil, false, 1), NewPlain(2, nil, math.NaN(), scaling.ZScore.Scale, nil, false, 1)
	for _, n := range []int{5, 12, 30, 29} {
		z, _ := scaling.ZScore.Scale(s.y[:n], nil)
		d := &space.Data{X: points.First(s.x, n), Y: z, Raw: s.y[:n], RawNoiseVariance: make([]float64, n)}
		require.NoError(t, fitted.Fit(t.Context(), d))
		require.NoError(t, tuned.Tune(t.Context(), d))
		count, params := fitted.Fitted()
		of, got := tuned.Fitted()
		require.Equal(t, count, of)
		require.Equal(t, params, got)
		require.Equal(t, fitted.NoiseVariance(), tuned.NoiseVariance())
		require.Equal(t, fitted.Kernel(), tuned.Kernel())
		require.Zero(t, tuned.process.Data().Len())
	}
}

// TestExact: less noise than the default priors have is found where values have next to none, and looked for nowhere else:
// noise that there is stays what those find.
func TestExact(t *testing.T) {
	r := rng.Stream(3, t.Name())
	x, exact, noisy := linalg.NewDense(24, 2, nil), make([]float64, 24), make([]float64, 24)
	for i := range exact {
		row := x.Row(i)
		row[0], row[1] = r.Float64(), r.Float64()
		exact[i] = math.Sin(3*row[0]) + row[1]*row[1]
		noisy[i] = exact[i] + 0.2*r.NormFloat64()
	}
	fitted := func(y []float64, exact bool) []float64 {
		g := NewPlain(2, nil, math.NaN(), scaling.ZScore.Scale, nil, exact, 1)
		require.NoError(t, g.Tune(t.Context(), &space.Data{X: x, Y: y, Raw: y, RawNoiseVariance: make([]float64, 24)}))
		_, params := g.Fitted()
		return params
	}
	least := math.Log(gaussian.DefaultPriors(2).Noise.Min)
	noise := func(params []float64) float64 { return params[len(params)-1] }
	require.GreaterOrEqual(t, noise(fitted(exact, false)), least-1e-9)
	require.Less(t, noise(fitted(exact, true)), least-0.5)
	require.GreaterOrEqual(t, noise(fitted(exact, true)), math.Log(LeastNoise)-1e-9)
	require.Greater(t, noise(fitted(noisy, false)), math.Log(nearlyExact))
	require.Equal(t, fitted(noisy, false), fitted(noisy, true))
}

// TestPlainPending: points that are pending leave means alone, to the bit, and take from deviations.
func TestPlainPending(t *testing.T) {
	s := newSample(t, 12, 7)
	g := NewPlain(2, nil, math.NaN(), scaling.ZScore.Scale, nil, false, 1)
	z, _ := scaling.ZScore.Scale(s.y, nil)
	d := &space.Data{X: s.x, Y: z, Raw: s.y, RawNoiseVariance: make([]float64, 12)}
	var mean, sd [2][]float64
	for i, pending := range []*linalg.Dense{linalg.NewDense(0, 2, nil), linalg.NewDense(1, 2, []float64{0.3, 0.4})} {
		d.Pending = pending
		require.NoError(t, g.Fit(t.Context(), d))
		mean[i], sd[i] = make([]float64, 7), make([]float64, 7)
		require.NoError(t, g.Predict(t.Context(), mean[i], sd[i], s.at))
	}
	require.Equal(t, mean[0], mean[1])
	for i := range sd[0] {
		require.Less(t, sd[1][i], sd[0][i])
	}
}
