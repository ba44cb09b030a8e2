package multivariate

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestToleranceScales: what is rounding and what is an error does not depend on the
// unit of the values.
func TestToleranceScales(t *testing.T) {
	// The rank of a smooth covariance with eigenvalues down to rounding.
	for n := 2; n < 14; n++ {
		want := 0
		for _, scale := range []float64{1, 0x1p-66, 0x1p66} {
			s := linalg.NewSym(n, nil)
			for i := range n {
				for j := range n {
					d := float64(i-j) / 8
					s.Row(i)[j] = scale * math.Exp(-d*d/2)
				}
			}
			p, err := NewNormal(make([]float64, n), s)
			require.NoError(t, err)
			_, _, err = p.Factor()
			require.NoError(t, err)
			got := p.rank()
			if scale == 1 {
				want = got
			}
			require.Equal(t, want, got, "dimension %d, scale %g", n, scale)
		}
	}
	// A factor that is not that of the covariance.
	for _, scale := range []float64{1, 0x1p-66, 0x1p66} {
		s := linalg.NewSym(2, nil)
		l := linalg.NewDense(2, 2, nil)
		for i := range 2 {
			s.Row(i)[i] = scale
			l.Row(i)[i] = math.Sqrt(scale)
		}
		_, err := AdoptNormal(make([]float64, 2), s, l)
		require.NoError(t, err)
		l.Row(1)[1] *= 1 + 1e-3
		_, err = AdoptNormal(make([]float64, 2), s, l)
		require.ErrorIs(t, err, gaussian.ErrArgument, "scale %g", scale)
	}
}

// TestIndefiniteBySign: a correlation beyond 1 is no covariance, whatever its sign.
func TestIndefiniteBySign(t *testing.T) {
	for _, v := range []float64{-2, 2} {
		s := linalg.NewSym(2, []float64{1, v, v, 1})
		_, err := NewNormal(make([]float64, 2), s)
		var de *gaussian.DefiniteError
		require.True(t, errors.As(err, &de), "%g: %v", v, err)
	}
}
