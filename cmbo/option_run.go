package cmbo

import (
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
)

// WithPrior gives the optimiser what was learned from past tasks. From the third value on the hierarchical prior
// takes values far below the others of the run for values at a limit, as [Learn] does in a past task. The limit is
// three widths below the best value; a run's width is at least one that the past tasks make likely.
func WithPrior(p *Prior) Option {
	return option{id: optPrior, restore: true, run: func(c *runConfig) error {
		c.prior, c.newPrior = p, false
		return p.made()
	}}
}

// WithNewPrior has [Restore] and [RestoreJournal], which alone take it, go on with another prior than the run began
// with, such as one learned again from more tasks. The log stays as it is, with all open trials. What is computed
// from it, as by [Optimizer.Explain] and [Optimizer.Calibration], is what it would have been with p. From then on p
// is the run's prior: restore later snapshots with [WithPrior] of p. RestoreJournal does not go on writing a journal
// that names another prior; begin a new one with [Optimizer.Snapshot]. It fails with [ErrPriorMismatch] if the run
// had no prior or p is of another space, direction or sign of values, and with [ErrOption] if p does not know the
// run's descriptors ([WithContext]), or has an output whose name hardly differs from one of the run's ([WithOutput]).
func WithNewPrior(p *Prior) Option {
	return option{id: optNewPrior, restore: true, run: func(c *runConfig) error {
		c.prior, c.newPrior = p, true
		return p.made()
	}}
}

// WithSurrogate replaces the model that the optimiser consults by s, which no other run may use. It contradicts
// [WithPrior], [WithKernel] and [WithNoiseVariance].
func WithSurrogate(s Surrogate) Option {
	return option{id: optSurrogate, restore: true, run: gp.Setting(
		func(c *runConfig) { c.surrogate = s }, s != nil, "a nil Surrogate")}
}

// WithAcquisition sets how the next point is chosen. The default is [EI]; for the hierarchical prior that is the
// expected improvement over all its hypotheses. Before the first value that prior asks for the largest mean, whatever
// is set. Any [acq.Func] will do, and an [acq.Adaptive] is adapted to each proposal. One of your own can be stored in
// a snapshot or journal if it is known to [acq.Register].
func WithAcquisition(f acq.Func) Option {
	return option{id: "WithAcquisition", run: func(c *runConfig) error {
		if c.acquisition = f; f == nil {
			return optionErrorf("a nil acquisition")
		}
		err := acq.Validate(f)
		return refuseUnless(err == nil, "%v", err)
	}}
}

// WithNoiseVariance gives the variance of the target's measurement errors, up to 1e150, in scaled units: of values after
// the y policy, for the hierarchical prior of the past tasks' scaled values. Variances given with single observations
// win. By default a run with a prior takes [Prior.NoiseVariance]; beside a noisy past, no transfer may have less.
// Where points are measured again and their values show it, the run takes up to a thousand times as much, at most the
// tasks' variance. A run without a prior, or with more values than its past, fits the noise variance.
func WithNoiseVariance(v float64) Option {
	return option{id: optNoiseVariance, run: gp.Setting(func(c *runConfig) { c.noise = v },
		v > 0 && points.Admitted(v), "noise variance %g is not above 0 and at most %g", v, points.MaxValue)}
}

// WithInitial sets the size of the initial design: the first proposals come from a scrambled Sobol sequence until n
// points have been observed or asked and not cancelled. The default is 0 with a prior or a surrogate and 5 without, and with
// a prior whose tasks, of forty values or more in the mean and 150 in all, show nothing but noise, [LearnReport] Noise being
// .9 or more, or of which no task has two different values.
func WithInitial(n int) Option {
	return option{id: optInitial, run: gp.Setting(
		func(c *runConfig) { c.initial = n }, n >= 0, "an initial design of %d points", n)}
}

// WithCheckpoints says that an evaluation that was stopped ([Optimizer.TellStopped]) can go on where it stopped.
// [Optimizer.Report] then advises to stop as soon as going on promises less improvement a step than the trial did
// when it began. Ask comes back to the point when that has become the best thing to do, by a [Trial] that Resumes
// another and goes on with its steps. If the checkpoint is lost, the evaluation may start anew, from the first step,
// as its reports show: what was lost is then no part of its cost ([AsCost]).
//
// A law of all curves says what a value on the way tells of the end. Leave it out where the best settings learn slowest:
// their curves lie below those of worse ones, trials at them are stopped, and the run may never come to see one end.
func WithCheckpoints() Option {
	return option{id: "WithCheckpoints", run: func(c *runConfig) error { c.checkpoints = true; return nil }}
}

// WithCandidateCounts sets how many candidates of a parameter space each Ask scores: sobol points spread over the space and
// local ones around the best point told. The default is 300 and 160. A local point differs from the best in half of the
// numbers and in about one of the choices, among which numbers of two or three values count. A sixteenth of either kind is
// new at each Ask; all local ones are new where another point has become the best. With [EI] and the library's models half
// as many as local ones more, 7/4 times as many with a limit and no past, are drawn nearer and nearer to the best candidate;
// fewer than 16 local ones leave that out. Finite spaces, and discrete ones of up to 2,000 points, score all their points.
func WithCandidateCounts(sobol, local int) Option {
	return option{id: "WithCandidateCounts", run: gp.Setting(func(c *runConfig) { c.sobol, c.local = sobol, local },
		sobol >= 1 && local >= 0 && max(sobol, local) <= maxCandidates,
		"%d Sobol and %d local candidates; at most %d each", sobol, local, maxCandidates)}
}
