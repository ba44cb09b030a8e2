package acq

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/internal/special"
)

// Func orders points by the posterior mean and standard deviation there.
type Func interface {
	// Score returns a number that is the larger the better. It is NaN for
	// arguments that are not a mean and a standard deviation.
	Score(mean, sd float64) float64
	// String names the function and its parameter. A snapshot can hold the
	// function if [Parse] makes an equal one of the name.
	String() string
}

// Logarithm returns what makes of a score of f the logarithm of what it scores: the score itself for [EI], ln Φ of it for
// [PI]. It returns nil for others, whose scores may be of either sign.
func Logarithm(f Func) func(score float64) float64 {
	switch f.(type) {
	case EI:
		return func(score float64) float64 { return score }
	case PI:
		return special.NormLogCDF
	}
	return nil
}

// DefaultBeta is the usual weight of the standard deviation in [UCB].
const DefaultBeta = 3

// UCB is the upper confidence bound
//
//	mean + Beta·sd.
//
// Beta multiplies the standard deviation itself: where the literature writes
// √β_t, Beta is the square root. A sum beyond ±math.MaxFloat64 is cut there.
//
// P. Auer, Using confidence bounds for exploitation-exploration trade-offs, JMLR 3 (2002) 397–422;
// N. Srinivas et al., Gaussian process optimization in the bandit setting, ICML 2010.
type UCB struct {
	Beta float64
}

// Score returns mean + Beta·sd.
func (u UCB) Score(mean, sd float64) float64 {
	if !valid(mean, sd, u.Beta) {
		return math.NaN()
	}
	return cut(mean + u.Beta*sd)
}

// String returns for example "UCB(3)".
func (u UCB) String() string { return fmt.Sprintf("UCB(%g)", u.Beta) }

// Validate reports a Beta that is not a finite number >= 0.
func (u UCB) Validate() error {
	if !(u.Beta >= 0 && u.Beta <= math.MaxFloat64) {
		return fmt.Errorf("UCB needs a finite beta >= 0, have %g", u.Beta)
	}
	return nil
}

// checkTarget reports a value to improve on that is not finite.
func checkTarget(what string, v float64) error {
	if !(math.Abs(v) <= math.MaxFloat64) {
		return fmt.Errorf("%s, have %g", what, v)
	}
	return nil
}

// valid reports whether mean and sd may be those of a posterior and the parameter p is finite.
func valid(mean, sd, p float64) bool {
	return math.Abs(mean) <= math.MaxFloat64 && sd >= 0 && sd <= math.MaxFloat64 && math.Abs(p) <= math.MaxFloat64
}

// cut replaces infinities by the largest numbers. It leaves a NaN.
func cut(v float64) float64 {
	return math.Max(-math.MaxFloat64, math.Min(math.MaxFloat64, v))
}
