package acq

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/internal/special"
)

// EI is the expected improvement over Best, scored by its logarithm [LogExpectedImprovement],
// as the improvement itself underflows a few tens of standard deviations below Best. Far below
// every use, under −1e200, the logarithm L is continued with equal slope by
//
//	−1e200·(1 + log(L/−1e200)),
//
// finite for every finite mean and every sd > 0. The score is −Inf only for sd = 0 at or below Best.
//
// J. Močkus, On Bayesian methods for seeking the extremum, 1975; S. Ament et al., Unexpected
// improvements to expected improvement for Bayesian optimization, NeurIPS 2023.
type EI struct {
	Best float64
}

// String returns for example "EI(0.5)".
func (e EI) String() string { return fmt.Sprintf("EI(%g)", e.Best) }

// Validate reports a Best that is not finite.
func (e EI) Validate() error { return checkTarget("EI needs a finite best value", e.Best) }

// The logarithm is replaced below −fold, that is for z below −foldZ = −√(2·fold).
const (
	fold    = 1e200
	foldZ   = 1.4142135623730950488e100
	logFold = 460.51701859880913680359829093687 // log fold
)

// Score returns the logarithm of the expected improvement, continued as described.
func (e EI) Score(mean, sd float64) float64 {
	if !valid(mean, sd, e.Best) {
		return math.NaN()
	}
	d := mean - e.Best
	if math.IsInf(d, 0) && (d > 0 || sd > 1) { // else sd/4 may underflow
		// Take everything in units of 4.
		return EI{e.Best / 4}.Score(mean/4, sd/4) + 2*math.Ln2
	}
	if sd == 0 {
		if d > 0 {
			return special.Log(d)
		}
		return math.Inf(-1)
	}
	z := d / sd
	switch {
	case z < -foldZ: // L = −z²/2 to rounding
		return -fold * (1 - logFold - math.Ln2 + 2*(special.Log(e.Best/4-mean/4)+2*math.Ln2-special.Log(sd)))
	case z <= 1:
		return special.Log(sd) + special.NormLogEI(z)
	default: // EI = d·(1 + h(−z)/z): z may be infinite
		return special.Log(d) + math.Log1p(special.NormEI(-z)/z)
	}
}

// ExpectedImprovement returns the expectation of max(0, f − best) for f ~ N(mean, sd²),
//
//	EI = sd·h(z) = (mean − best)·Φ(z) + sd·φ(z),  z = (mean − best)/sd,
//
// and max(0, mean − best) for sd = 0. Arguments are as for a score.
//
// Its relative error is at most (16 + 2z²)·2^-53 for negative z, the second part from the rounding
// of z, and 16·2^-53 otherwise. It underflows to 0 from z = −38 or so.
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

// LogExpectedImprovement returns the logarithm of [ExpectedImprovement], without the underflow: it
// is finite wherever z² is. It is −Inf for sd = 0 at or below best.
//
// Its error is at most 16·2^-53 times the larger of 1, the logarithm and |log sd|.
func LogExpectedImprovement(mean, sd, best float64) float64 {
	s := EI{best}.Score(mean, sd)
	if s < -fold && sd > 0 {
		half := (mean/2 - best/2) / sd
		return -2 * half * half
	}
	return s
}
