package acq

import (
	"math"
	"slices"
)

// AdaptiveEI is [EI] over the best value told so far, over 0 before the first.
type AdaptiveEI struct{}

// Adapt returns the EI over the best value told.
func (AdaptiveEI) Adapt(p Proposal) Func {
	if len(p.Told) == 0 {
		return EI{}
	}
	return EI{Best: slices.Max(p.Told)}
}

// Score is that of the first proposal.
func (AdaptiveEI) Score(mean, sd float64) float64 { return EI{}.Score(mean, sd) }

// String returns "EI".
func (AdaptiveEI) String() string { return "EI" }

// AdaptivePI is [PI] over the best value told plus a tenth of the range of the
// values told: plus 0.1 while fewer than two distinct values are known, and over 0
// before the first.
type AdaptivePI struct{}

// piMargin is how far the target lies above the best value, in ranges.
const piMargin = 0.1

// Adapt returns the PI over the target.
func (AdaptivePI) Adapt(p Proposal) Func {
	if len(p.Told) == 0 {
		return PI{}
	}
	best, lo := slices.Max(p.Told), slices.Min(p.Told)
	if best > lo {
		return PI{Target: best + piMargin*(best-lo)}
	}
	return PI{Target: best + piMargin}
}

// Score is that of the first proposal.
func (AdaptivePI) Score(mean, sd float64) float64 { return PI{}.Score(mean, sd) }

// String returns "PI".
func (AdaptivePI) String() string { return "PI" }

// MaxValuePI is [PI] over the model's estimate of the maximum, never below the best
// value told, and [AdaptivePI] if the model has no estimate.
type MaxValuePI struct{}

// Adapt returns the PI over the estimate.
func (MaxValuePI) Adapt(p Proposal) Func {
	if math.IsNaN(p.MaxValue) {
		return AdaptivePI{}.Adapt(p)
	}
	return PI{Target: slices.Max(append([]float64{p.MaxValue}, p.Told...))}
}

// Score is that of the first proposal without an estimate.
func (MaxValuePI) Score(mean, sd float64) float64 { return PI{}.Score(mean, sd) }

// String returns "MaxValuePI".
func (MaxValuePI) String() string { return "MaxValuePI" }
