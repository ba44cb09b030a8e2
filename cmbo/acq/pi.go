package acq

import (
	"fmt"
	"math"
)

// PI is the probability of improvement on Target, Φ(z), scored by
//
//	z = (mean − Target)/sd.
//
// The probability itself would tie at 1 and at 0. The score is finite for sd > 0;
// for sd = 0 it is +Inf above Target and −Inf at or below it.
//
// H. J. Kushner, A new method of locating the maximum point of an arbitrary
// multipeak curve in the presence of noise, J. Basic Eng. 86 (1964) 97–106.
type PI struct {
	Target float64
}

// Score returns (mean − Target)/sd.
func (p PI) Score(mean, sd float64) float64 {
	if !valid(mean, sd, p.Target) {
		return math.NaN()
	}
	d := mean - p.Target
	if sd == 0 {
		if d > 0 {
			return math.Inf(1)
		}
		return math.Inf(-1)
	}
	if math.IsInf(d, 0) { // in units of 4
		return cut((mean/4 - p.Target/4) / sd * 4)
	}
	return cut(d / sd)
}

// String returns for example "PI(0.5)".
func (p PI) String() string { return fmt.Sprintf("PI(%g)", p.Target) }

// Validate reports a Target that is not finite.
func (p PI) Validate() error { return checkTarget("PI needs a finite target", p.Target) }
