package cmbo

import (
	"context"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/linalg"
)

// A Surrogate is the model an [Optimizer] consults: it is told the data of the
// run and predicts the objective elsewhere. Without [WithSurrogate] the
// Optimizer brings its own: the adaptive prior of the paper where there is a
// [Prior], a Gaussian process fitted to the run's data where there is none.
//
// An Optimizer calls its Surrogate from one goroutine at a time and never
// shares it. What a Surrogate does must follow from the Data it is given, not
// from how often or when it is called: the Optimizer may skip calls whose
// result nobody asked for, and repeats them when a run is restored. Its methods
// should return ctx.Err() soon after ctx is done.
type Surrogate interface {
	// Fit replaces what the surrogate knows of the run. It may keep d's slices
	// until the next Fit but must not change them. An error leaves the
	// surrogate unusable until the next Fit succeeds.
	Fit(ctx context.Context, d Data) error
	// Predict writes the mean and the standard deviation of the noise-free
	// objective, in the scaled units of Data.Y, at the rows of x, points in
	// the unit cube. Points of d.Pending count as evaluated with the
	// predicted mean as the value.
	Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error
}

// A Binder is a [Surrogate] that prepares for a fixed list of candidates. Bind
// is called once, before the first Fit; later calls of Predict and Score pass
// either the same matrix or other points.
type Binder interface {
	Bind(ctx context.Context, candidates *linalg.Dense) error
}

// A Scorer is a [Surrogate] with an acquisition of its own. Score writes a
// score for each row of x, the largest being proposed; f is the acquisition
// the optimiser would have used and best the best value told so far, in scaled
// units, NaN before the first.
type Scorer interface {
	Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error
}

// A NoiseEstimator is a [Surrogate] that knows the noise variance of
// measurements whose own is not given, in scaled units.
type NoiseEstimator interface {
	NoiseVariance() float64
}

// Data is what a [Surrogate] learns of a run.
type Data struct {
	// X holds the points told or observed, one a row, in the unit cube.
	X *linalg.Dense
	// Y holds their values after the y policy, larger being better.
	Y []float64
	// NoiseVariance holds the noise variances of Y in scaled units; an entry
	// of 0 is not known, and nil stands for none known.
	NoiseVariance []float64
	// Raw holds the values before the y policy, larger being better.
	Raw []float64
	// Pending holds points whose value is awaited, or that failed and have
	// none.
	Pending *linalg.Dense
	// Step numbers the proposals: what is asked for now becomes trial Step.
	Step int

	// noise holds the noise variances of Raw; 0 is not known.
	noise []float64
	// seen holds every point asked or observed, in the order of the log.
	seen *linalg.Dense
	// distances are those of the prototypes to the posterior that chose the
	// newest trial told, nil before the first.
	distances []float64
	// fitted holds parameters fitted before, by the number of observations.
	fitted map[int][]float64
}

// len returns the number of observations.
func (d *Data) len() int { return len(d.Y) }
