package multivariate

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
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
			p := mustNormal(make([]float64, n), s)
			if _, _, err := p.Factor(); err != nil {
				t.Fatal(err)
			}
			got := p.rank()
			if scale == 1 {
				want = got
			}
			if got != want {
				t.Errorf("dimension %d, scale %g: rank %d, want %d", n, scale, got, want)
			}
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
		if _, err := AdoptNormal(make([]float64, 2), s, l); err != nil {
			t.Fatal(err)
		}
		l.Row(1)[1] *= 1 + 1e-3
		if _, err := AdoptNormal(make([]float64, 2), s, l); !errors.Is(err, gaussian.ErrArgument) {
			t.Errorf("scale %g: %v", scale, err)
		}
	}
}

// TestIndefiniteBySign: a correlation beyond 1 is no covariance, whatever its sign.
func TestIndefiniteBySign(t *testing.T) {
	for _, v := range []float64{-2, 2} {
		s := linalg.NewSym(2, []float64{1, v, v, 1})
		_, err := NewNormal(make([]float64, 2), s)
		if !errors.As(err, new(*gaussian.DefiniteError)) {
			t.Errorf("%g: %v", v, err)
		}
	}
}
