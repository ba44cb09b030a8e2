package paper

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
	"github.com/stretchr/testify/require"
)

// TestAlphaFactors: each factor of the lemma behind alpha is a bound,
// and is attained, so that a smaller constant fails.
func TestAlphaFactors(t *testing.T) {
	const n, v, noise, delta = 7, 2.5, 0.04, 0.1
	k := kernel.Scale(v, kernel.Matern32(0.3))
	point := []float64{0.4, 0.6}
	same := linalg.NewDense(n, 2, nil)
	for i := range n {
		copy(same.Row(i), point)
	}
	var row linalg.Dense
	kernel.Cross(&row, k, linalg.NewDense(1, 2, point), same)
	require.InEpsilon(t, linalg.Norm2(row.Row(0)), crossNorm(n, v), 1e-12, "attained where all points coincide")

	var gram linalg.Sym
	kernel.Gram(&gram, k, same)
	gram.AddDiag(noise)
	var e spectral.EigenSym
	require.NoError(t, e.FactorizeValues(&gram))
	require.InEpsilon(t, 1/noise, 1/e.Values()[0], 1e-10, "attained where the Gram matrix is singular")

	r := rng.Stream(1, "alpha factors")
	y, tilde := make([]float64, n), make([]float64, n)
	over := 0
	const draws = 20000
	for range draws {
		for i := range y {
			y[i] = 0.7 + math.Sqrt(noise)*r.NormFloat64() // a gap of 0.7 everywhere
			tilde[i] = math.Sqrt(noise) * r.NormFloat64()
		}
		if math.Sqrt(linalg.SqDist(y, tilde)) > dataNorm(n, 0.7, noise, delta) {
			over++
		}
	}
	require.LessOrEqual(t, float64(over)/draws, delta/4)
	require.InEpsilon(t, math.Sqrt(n)*0.7, dataNorm(n, 0.7, 0, delta), 1e-14, "attained without noise")
	// A single value exceeds its own bound about as often as Gaussian tails
	// allow, which pins the constant in the exponent: P(|z| > s) for s² = 2 ln(8/δ).
	s := noiseBound(1, noise, delta) / math.Sqrt(noise)
	require.InDelta(t, delta/8, math.Exp(-s*s/2), 1e-12)
	require.Less(t, math.Erfc(s/math.Sqrt2), delta/4)
}

// TestTight: the chain behind the corrected bound is attained where both confidence
// bounds and the choice of the acquisition are tight: any smaller constant fails there,
// and the printed form does for ξ < β.
func TestTight(t *testing.T) {
	r := rng.Stream(1, "tight")
	fails := 0
	for range 200 {
		xi, beta := 0.2+3*r.Float64(), 0.2+3*r.Float64()
		mStar, sStar, sChosen := r.NormFloat64(), r.Float64(), r.Float64()
		mChosen := mStar + xi*sStar - xi*sChosen
		regret := mStar + beta*sStar - (mChosen - beta*sChosen)
		bracket := mStar - mChosen - regret
		signed := bracket
		if xi < beta {
			signed = -bracket
		}
		_, bound := correctedBound(xi, beta, signed, sChosen)
		require.InDelta(t, regret, bound, 1e-12)
		if _, printed := printedBound(xi, beta, bracket, sChosen); regret > printed+1e-9 {
			require.Less(t, xi, beta, "the printed form holds above beta")
			fails++
		}
	}
	require.Greater(t, fails, 50)
}
