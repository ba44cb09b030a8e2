package gp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/linalg"
)

// TestCheckFitted: parameters are those of one of the forms that a fit chooses from,
// and of a noise variance.
func TestCheckFitted(t *testing.T) {
	g := NewPlain(3, nil, math.NaN(), nil, nil, 1)
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
	g := NewPlain(1, nil, 0.04, asIs, nil, 1)
	require.NoError(t, g.Fit(t.Context(), &space.Data{X: x, Y: y, Raw: y, RawNoiseVariance: make([]float64, 3)}))
	require.InEpsilon(t, 0.04, g.NoiseVariance(), 1e-12)
}
