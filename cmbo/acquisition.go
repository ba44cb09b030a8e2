package cmbo

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/acq"
)

// An Acquisition says how the next point is chosen from the posterior. Make
// one with [UCB], [EI], [PI] or [MaxValuePI]. Scores are compared in a form
// that neither underflows nor overflows (see package acq).
type Acquisition struct {
	kind acquisitionKind
	beta float64
}

type acquisitionKind uint8

const (
	kindUCB acquisitionKind = iota
	kindEI
	kindPI
	kindMaxValuePI
)

// UCB is the upper confidence bound mean + beta·sd. beta multiplies the
// standard deviation itself, not its square root; the paper uses 3. beta must
// be finite and not negative.
func UCB(beta float64) Acquisition { return Acquisition{kind: kindUCB, beta: beta} }

// EI is the expected improvement over the best value told so far, compared
// through its logarithm; before the first value, over the scaled value 0.
func EI() Acquisition { return Acquisition{kind: kindEI} }

// PI is the probability that a point beats the best value told by a tenth of
// the range of the values told (by 0.1 in scaled units while fewer than two
// distinct values are known; the target is 0 before the first).
func PI() Acquisition { return Acquisition{kind: kindPI} }

// MaxValuePI is the probability of improvement over an estimate of the
// maximum: the weighted sum of the prototypes' largest means on the candidates
// (on the index set for a parameter space), never below the best value told.
// Without a prior it is [PI].
func MaxValuePI() Acquisition { return Acquisition{kind: kindMaxValuePI} }

// String returns "UCB(3)", "EI", "PI" or "MaxValuePI".
func (a Acquisition) String() string {
	switch a.kind {
	case kindUCB:
		return fmt.Sprintf("UCB(%g)", a.beta)
	case kindEI:
		return "EI"
	case kindPI:
		return "PI"
	}
	return "MaxValuePI"
}

// ParseAcquisition returns the acquisition of a name, letter case ignored: "UCB"
// (with beta 3), "UCB(beta)", "EI", "PI" or "MaxValuePI", so what String prints.
// It fails with [ErrOption].
func ParseAcquisition(name string) (Acquisition, error) {
	switch s := strings.ToLower(name); {
	case s == "ucb":
		return UCB(defaultBeta), nil
	case s == "ei":
		return EI(), nil
	case s == "pi":
		return PI(), nil
	case s == "maxvaluepi":
		return MaxValuePI(), nil
	case strings.HasPrefix(s, "ucb(") && strings.HasSuffix(s, ")"):
		beta, err := strconv.ParseFloat(s[len("ucb("):len(s)-1], 64)
		if err != nil {
			return Acquisition{}, optionErrorf("acquisition %q: %v", name, err)
		}
		a := UCB(beta)
		if err := a.validate(); err != nil {
			return Acquisition{}, err
		}
		return a, nil
	}
	return Acquisition{}, optionErrorf("unknown acquisition %q; there are UCB(beta), EI, PI and MaxValuePI", name)
}

func (a Acquisition) validate() error {
	if a.kind == kindUCB && (!(a.beta >= 0) || math.IsInf(a.beta, 0)) {
		return optionErrorf("UCB needs a finite beta >= 0, have %g", a.beta)
	}
	return nil
}

// piMargin is how far PI's target lies above the best value, in ranges.
const piMargin = 0.1

// function fixes the acquisition for one proposal from the scaled values told
// and an estimate of the maximum (NaN if there is none).
func (a Acquisition) function(told []float64, maxValue float64) acq.Func {
	best, lo := math.Inf(-1), math.Inf(1)
	for _, y := range told {
		best, lo = max(best, y), min(lo, y)
	}
	target := 0.0
	if len(told) == 0 {
		best = 0
	} else {
		target = best + piMargin
		if best > lo {
			target = best + piMargin*(best-lo)
		}
	}
	switch a.kind {
	case kindUCB:
		return acq.UCB{Beta: a.beta}
	case kindEI:
		return acq.EI{Best: best}
	case kindMaxValuePI:
		if !math.IsNaN(maxValue) {
			if len(told) > 0 {
				maxValue = max(maxValue, best)
			}
			return acq.PI{Target: maxValue}
		}
	}
	return acq.PI{Target: target}
}
