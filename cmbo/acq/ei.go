package acq

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/internal/special"
)

// EI is the expected improvement over Best, scored by its logarithm
// [LogExpectedImprovement]. The improvement itself underflows a few tens of
// standard deviations below Best, and a maximiser then sees a plateau of zeros.
//
// Far below every use, under −1e200, the logarithm L is replaced by
//
//	−1e200·(1 + log(L/−1e200)),
//
// which continues it with equal slope, increases as it does and stays finite for
// every finite mean and every sd > 0. The score is −Inf only for sd = 0 at or
// below Best.
//
// J. Močkus, On Bayesian methods for seeking the extremum, 1975; S. Ament et al.,
// Unexpected improvements to expected improvement for Bayesian optimization,
// NeurIPS 2023.
type EI struct {
	Best float64
}

// Score returns the logarithm of the expected improvement, continued as described.
func (e EI) Score(mean, sd float64) float64 {
	s, _, _ := e.score(mean, sd, false)
	return s
}

// ScoreGrad returns the score and its derivatives
//
//	Φ(z)/(sd·h(z)),  φ(z)/(sd·h(z)),  z = (mean − Best)/sd,  h(z) = φ(z) + z·Φ(z),
//
// both positive for sd > 0 (they underflow to 0 far above Best, the second one).
func (e EI) ScoreGrad(mean, sd float64) (score, dmean, dsd float64) {
	return e.score(mean, sd, true)
}

// String returns for example "EI(0.5)".
func (e EI) String() string { return fmt.Sprintf("EI(%g)", e.Best) }

// The logarithm is replaced below −fold, that is for z below −foldZ = −√(2·fold).
const (
	fold    = 1e200
	foldZ   = 1.4142135623730950488e100
	logFold = 460.51701859880913680359829093687 // log fold
)

func (e EI) score(mean, sd float64, grad bool) (score, dmean, dsd float64) {
	if !valid(mean, sd, e.Best) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	d := mean - e.Best
	if math.IsInf(d, 0) {
		// Take everything in units of 4.
		s, dm, ds := EI{e.Best / 4}.score(mean/4, sd/4, grad)
		return s + 2*math.Ln2, dm / 4, ds / 4
	}
	if sd == 0 {
		if d > 0 {
			return special.Log(d), cut(1 / d), 0
		}
		return math.Inf(-1), 0, 0
	}
	z := d / sd
	switch {
	case z < -foldZ: // L = −z²/2 to rounding
		score = -fold * (1 - logFold - math.Ln2 + 2*(special.Log(-d)-special.Log(sd)))
		return score, cut(2 * fold / -d), cut(2 * fold / sd)
	case z <= 1:
		score = special.Log(sd) + special.NormLogEI(z)
		if grad {
			slope := special.NormLogEISlope(z)
			dmean = cut(slope / sd)
			if z <= 0 {
				dsd = cut((1 - z*slope) / sd) // φ = h − z·Φ
			} else {
				dsd = cut(special.NormPDF(z) / special.NormEI(z) / sd)
			}
		}
		return score, dmean, dsd
	default: // EI = d·(1 + h(−z)/z): z may be infinite
		rest := special.NormEI(-z) / z
		score = special.Log(d) + math.Log1p(rest)
		if grad {
			dmean = special.NormCDF(z) / d / (1 + rest)
			dsd = special.NormPDF(z) / d / (1 + rest)
		}
		return score, cut(dmean), cut(dsd)
	}
}

// ExpectedImprovement returns the expectation of max(0, f − best) for
// f ~ N(mean, sd²),
//
//	EI = sd·h(z) = (mean − best)·Φ(z) + sd·φ(z),  z = (mean − best)/sd,
//
// and max(0, mean − best) for sd = 0. Arguments are as for a score.
//
// Its relative error is at most (16 + 2z²)·2^-53 for negative z, the second part
// from the rounding of z, and 16·2^-53 otherwise. It underflows to 0 from
// z = −38 or so.
func ExpectedImprovement(mean, sd, best float64) float64 {
	if !valid(mean, sd, best) {
		return math.NaN()
	}
	d := mean - best
	if sd == 0 {
		return math.Max(0, d)
	}
	z := d / sd
	if z > 0 {
		return d + sd*special.NormEI(-z)
	}
	return sd * special.NormEI(z)
}

// LogExpectedImprovement returns the logarithm of [ExpectedImprovement], without
// the underflow: it is finite wherever z² is. It is −Inf for sd = 0 at or below
// best.
//
// Its error is at most 16·2^-53 times the larger of 1, the logarithm and |log sd|.
func LogExpectedImprovement(mean, sd, best float64) float64 {
	s := EI{best}.Score(mean, sd)
	if s < -fold && sd > 0 {
		z := 2 * (mean/2 - best/2) / sd
		return -0.5 * z * z
	}
	return s
}
