package acq

import (
	"math"
	"slices"
)

// A Proposal is what an [Adaptive] function may look at before it scores the candidates of one
// proposal. Values are on the model's scale, larger being better.
type Proposal struct {
	// Told holds the values to improve on: those told so far that hold all limits, or, where noise variances were given
	// with values, the model's means at their points.
	Told []float64
	// MaxValue is an estimate, made before any value was told, of the largest value there is; NaN if the model has none.
	MaxValue float64
	// Mean and SD are those of the candidates.
	Mean, SD []float64
}

// An Adaptive is a [Func] whose parameters follow the run: Adapt returns the function for one proposal.
type Adaptive interface {
	Func
	Adapt(p Proposal) Func
}

// rule is an [Adaptive] of this package, its name.
type rule string

// The functions that follow the run, by their names.
var (
	// AdaptiveEI is [EI] over the best value told so far, over 0 before the first.
	AdaptiveEI Adaptive = rule("EI")
	// AdaptivePI is [PI] over the best value told plus a tenth of the range of the values told:
	// plus 0.1 while fewer than two distinct values are known, and over 0 before the first.
	AdaptivePI Adaptive = rule("PI")
	// MaxValuePI is [PI] over the model's estimate of the maximum, never below the best
	// value told, and AdaptivePI if the model has no estimate.
	MaxValuePI Adaptive = rule("MaxValuePI")
	// Thompson is Thompson sampling: the point proposed is where a function drawn from the posterior is largest. The caller
	// has to draw the function at all candidates jointly; Score, which sees one at a time, knows no more than the mean.
	//
	// W. R. Thompson, On the likelihood that one unknown probability exceeds another
	// in view of the evidence of two samples, Biometrika 25 (1933) 285–294.
	Thompson Adaptive = rule("Thompson")
)

// piMargin is how far the target of AdaptivePI lies above the best value, in ranges.
const piMargin = 0.1

// Adapt returns the function for one proposal, of Thompson itself.
func (r rule) Adapt(p Proposal) Func {
	switch {
	case r == Thompson:
		return r
	case r == MaxValuePI && !math.IsNaN(p.MaxValue):
		return PI{slices.Max(append([]float64{p.MaxValue}, p.Told...))}
	case r == AdaptiveEI && len(p.Told) == 0:
		return EI{}
	case len(p.Told) == 0:
		return PI{}
	}
	best, lo := slices.Max(p.Told), slices.Min(p.Told)
	switch {
	case r == AdaptiveEI:
		return EI{best}
	case best > lo:
		return PI{best + piMargin*(best-lo)}
	}
	return PI{best + piMargin}
}

// Score is that of the first proposal, without an estimate of the maximum.
func (r rule) Score(mean, sd float64) float64 {
	if r == Thompson {
		return UCB{}.Score(mean, sd)
	}
	return r.Adapt(Proposal{MaxValue: math.NaN()}).Score(mean, sd)
}

// String returns the name.
func (r rule) String() string { return string(r) }
