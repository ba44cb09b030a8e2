package space

import "github.com/gocmbo/cmbo/linalg"

// Data is what a model learns of a run: cmbo.Data.
type Data struct {
	// X holds the points told or observed, one a row, in the unit cube.
	X *linalg.Dense
	// Y holds their values after the y policy, larger being better.
	Y []float64
	// NoiseVariance holds the noise variances of Y in scaled units; an entry
	// of 0 is not known. Nil stands for none known, and for equal Y, without a unit.
	NoiseVariance []float64
	// Raw holds the values before the y policy, larger being better, and RawNoiseVariance their noise variances, where
	// NoiseVariance is not nil: the logarithms' with cmbo.WithPositiveValues. An Optimizer gives both; where a caller gives
	// no RawNoiseVariance, the methods of package baseline take NoiseVariance in the scale that Raw has to Y.
	Raw              []float64
	RawNoiseVariance []float64
	// Trials holds the trial that each value answered, 0 for values of points that were not proposed.
	Trials []int
	// States holds what a cmbo.StateKeeper returned for each of these trials.
	States [][]float64
	// Pending holds points whose value is awaited.
	Pending *linalg.Dense
	// Seen holds every point asked or observed, cancelled ones included, in the order of the events.
	Seen *linalg.Dense
	// Step numbers the proposals: what is asked for now becomes trial Step.
	Step int
	// Fitted holds what a cmbo.Refitter has reported in this run, by the number of observations, as long as the first so many
	// are the same: an estimate may come and go. It must not be changed.
	Fitted map[int][]float64
	// Estimated says which values are estimates, each with its noise variance, of where
	// evaluations that were stopped would have ended; nil for none of them.
	Estimated []bool
	// Feasible says which values hold all limits, among which proposals look for the best, where
	// a run has limits and a value that does; nil elsewhere.
	Feasible []bool
}
