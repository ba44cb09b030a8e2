package cmbo

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/linalg"
)

// A Surrogate is the model an [Optimizer] consults. Without [WithSurrogate] the Optimizer
// brings its own: that of its [Prior], else a Gaussian process fitted to the run's data.
//
// An Optimizer calls its Surrogate from one goroutine at a time and never shares it. What a Surrogate does must follow
// from the Data it is given, not from how often or when it is called: calls may be skipped, and are repeated when a run
// is restored. surrogatetest holds a type to this.
type Surrogate interface {
	// Fit replaces what the surrogate knows of the run. It may keep d's slices until the next Fit
	// but must not change them. An error leaves the surrogate unusable until the next Fit succeeds.
	Fit(ctx context.Context, d Data) error
	// Predict writes the mean and the standard deviation of the noise-free objective, in the scaled units of Data.Y, at the
	// rows of x, points in the unit cube. Points of d.Pending count as evaluated with the predicted mean as the value.
	Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error
}

// A Binder is a [Surrogate] that prepares for a fixed list of candidates. Bind is called once, before the first Fit;
// later calls of Predict and Score pass either the same matrix or other points.
type Binder interface {
	Bind(ctx context.Context, candidates *linalg.Dense) error
}

// A Scorer is a [Surrogate] with an acquisition of its own. Score writes a score for each row of x, the largest being
// proposed. f is the acquisition that the optimiser would have used, and best, in scaled units, the largest of the
// values to improve on ([acq.Proposal]), NaN before the first.
type Scorer interface {
	Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, best float64) error
}

// A Criterion is a [Scorer] that says what its scores are. Those of another Scorer are taken for values of a
// criterion of its own without a name. Where failures are known scores are multiplied by a probability, and how
// depends on the acquisition: see [Step].
type Criterion interface {
	Scorer
	// Criterion names what the latest Score used in place of the acquisition it was
	// given, such as "mean"; empty if it used that.
	Criterion() string
}

// A Mixture is a [Surrogate] that weighs hypotheses on the new task, those of past tasks among them.
// [Optimizer.Transfer] reports them, with a verdict if one of them is no transfer; [Check] asks which tasks mislead.
type Mixture interface {
	// Hypotheses returns the hypotheses with their masses after the latest Fit, which add up to 1. The slice is the caller's.
	Hypotheses() []Hypothesis
	// PriorMean returns what past tasks together expect at the points of Data.X before their values, in any unit; nil
	// for nothing. The verdict goes by it where the past ranks points as their values do: see [TransferUnclear].
	PriorMean() []float64
	// TaskMeans returns the IDs of past tasks, with what each task expects at the rows of x, in any unit; nil where
	// tasks are not known one by one.
	TaskMeans(ctx context.Context, x *linalg.Dense) (ids []string, means [][]float64, err error)
}

// A NoiseEstimator is a [Surrogate] that knows the noise variance, in scaled units, of measurements told without one.
type NoiseEstimator interface {
	NoiseVariance() float64
}

// A StateKeeper is a [Surrogate] that remembers numbers of each proposal, such as the distances that weigh the paper's
// prototypes. They are logged with the proposal and come back in Data.States once it was told.
type StateKeeper interface {
	// State returns the numbers for the proposal that the latest Fit and Predict were for, nil for
	// none. One that is NaN or -Inf, or that CheckState reports, fails the Ask with [ErrNumerical].
	State(ctx context.Context) ([]float64, error)
	// CheckState reports numbers that State cannot have returned; they come from a snapshot.
	CheckState(state []float64) error
}

// A Refitter is a [Surrogate] that fits parameters to the data now and then. They are logged, so
// that a restored run takes them from Data.Fitted instead of fitting them again.
type Refitter interface {
	// Fitted returns the parameters in use and the number of observations, from the first on, that
	// they were fitted to; nil before the first fit. New ones that are not finite, or that
	// CheckFitted reports, fail the Ask with [ErrNumerical], as does a number below 0.
	Fitted() (observations int, params []float64)
	// CheckFitted reports parameters that Fitted cannot have returned; they come from a snapshot.
	CheckFitted(params []float64) error
}

// A Weigher is a [Surrogate] that combines several models of the objective.
type Weigher interface {
	// Weights returns those of the models after the latest Fit, which add up to 1.
	Weights() []float64
}

// A MaxValueEstimator is a [Surrogate] that estimates, before any value is told, the largest value of the objective,
// in scaled units: see [MaxValuePI].
type MaxValueEstimator interface {
	MaxValue() float64
}

// A Sampler is a [Surrogate] that can draw functions from its posterior.
type Sampler interface {
	// Sample writes the values, at the rows of x, of one function drawn from the posterior that the
	// latest Fit left, pending points counting as in Predict. The draw follows from r alone.
	Sample(ctx context.Context, dst []float64, x *linalg.Dense, r *rand.Rand) error
}

// A Describer is a [Surrogate] that fills in what it knows of the proposal it was last asked for: see [Step].
type Describer interface {
	Describe(s *Step)
}

// A Scaled is a [Surrogate] of past tasks that says in which direction their values, not logarithms of them, were good
// and how they were scaled. A run takes the direction from it, and the policy unless [WithYPolicy] is given. New fails
// with [ErrPriorMismatch] if the run minimises and the tasks were maximised, or with [WithPositiveValues].
type Scaled interface {
	Minimizes() bool
	YPolicy() YPolicy
}

// Data is what a [Surrogate] learns of a run.
type Data = space.Data

// plainRun makes a [Surrogate] of the plain Gaussian process.
type plainRun struct{ *gp.Plain }

func (r plainRun) Fit(ctx context.Context, d Data) error {
	return gp.Marked(ctx, r.Plain.Fit(ctx, &d))
}

func (r plainRun) Describe(s *Step) {
	_, params := r.Fitted()
	s.Parameters = slices.Clone(params)
	s.Jitter = r.Jitter()
}
