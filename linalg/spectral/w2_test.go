package spectral

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// kernelMatrix returns exp(−(x_i − x_j)²/(2·ℓ²)) + jitter·I on a grid of n points
// in [0, 1]: what a Gaussian process has for its prior covariance, of condition
// number n/jitter for a long lengthscale.
func kernelMatrix(n int, ell, jitter float64) *linalg.Sym {
	s := linalg.NewSym(n, nil)
	for i := range n {
		for j := range i {
			d := float64(i-j) / float64(n) / ell
			s.Set(i, j, math.Exp(-d*d/2))
		}
		s.Set(i, i, 1+jitter)
	}
	return s
}

// TestWassersteinPieces checks what the 2-Wasserstein distance is made of, on
// covariances of condition up to 1e12: the fidelity term, the nuclear norm of
// L1ᵀ·L0, to 1e-13; and the squared distance of near-equal pairs as
// ‖L0 − L1·U‖² with U the polar factor of L1ᵀ·L0, to 1e-9 where the relative
// distance is as small as 1e-6.
func TestWassersteinPieces(t *testing.T) {
	n := 14
	for _, jitter := range []float64{1e-8, 1e-4, 1e-11} {
		if testing.Short() && jitter != 1e-8 {
			continue
		}
		for _, tt := range []struct{ ell0, ell1 float64 }{
			{1, 2}, {2, 2.01}, {2, 2 * (1 + 1e-4)}, {2, 2 * (1 + 3e-6)}, {0.3, 0.3 * (1 + 1e-6)},
		} {
			t.Run(fmt.Sprintf("jitter=%g/%g,%.8g", jitter, tt.ell0, tt.ell1), func(t *testing.T) {
				var c0, c1 linalg.Cholesky
				if err := c0.Factorize(kernelMatrix(n, tt.ell0, jitter)); err != nil {
					t.Fatal(err)
				}
				if err := c1.Factorize(kernelMatrix(n, tt.ell1, jitter)); err != nil {
					t.Fatal(err)
				}
				l0, l1 := c0.Lower(), c1.Lower()
				b0, b1 := bigOf(l0), bigOf(l1)
				nuc := b1.transMul(b0).nuclear(t)
				trace := b0.sumSquares()
				trace.Add(trace, b1.sumSquares())
				d2 := bigf(0).Sub(trace, bigf(0).Add(nuc, nuc))
				want, _ := d2.Float64()
				wantNuc, _ := nuc.Float64()
				tr, _ := trace.Float64()

				var c, u, r linalg.Dense
				var d SVD
				linalg.TransMulLower(&c, l1, l0)
				within(t, "fidelity term", testutil.RelErr(d.NuclearNorm(&c), wantNuc), 1e-13)
				if err := d.PolarTo(&u, &c); err != nil {
					t.Fatal(err)
				}
				linalg.MulLower(&r, l1, &u)
				r.AddScaled(-1, l0)
				got := linalg.Norm2(data(&r))
				// Rounding of U enters to first order with ε/distance; 1e-9 is what
				// is asked for down to a relative distance of 1e-6.
				rel := math.Sqrt(want / tr)
				within(t, "squared distance", testutil.RelErr(got*got, want), 1e-9*math.Max(1, 1e-6/rel))
			})
		}
	}
}
