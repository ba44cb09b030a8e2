package gp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
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
