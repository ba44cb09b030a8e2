// Package cmbo tunes an expensive function with the help of past tuning runs: transfer (meta) Bayesian optimisation by a
// hierarchical prior. It grew from cm-BO, the method of K. Nguyen, V. Huynh, B. Tran, T. Pham, T. Huynh and T. Nguyen,
// Clustering-based Meta Bayesian Optimization with Theoretical Guarantee, arXiv:2503.06093, "the paper" in these pages.
//
//	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12))
//	prior, err := cmbo.Learn(ctx, space, tasks)           // once, offline
//	opt, err := cmbo.New(space, cmbo.WithPrior(prior))    // one per run
//	for range 50 {
//		trial, err := opt.Ask(ctx)
//		y := train(trial.Float("lr"), trial.Int("depth")) // the expensive function
//		err = opt.Tell(trial.ID, y)
//	}
//	best, ok := opt.Best()
//
// # Grammar
//
// A [Space] says what may be proposed: [Float] and [Int], linear or logarithmic, with or without a step, [Ordinal],
// [Categorical], [Bool], or a struct's tags ([SpaceOf]), optionally restricted to a list of candidates. A point is a row of
// float64, one entry a parameter. A [Task] is a history: points and measured values, further outputs by name, and points that
// failed; [space.Space.Adopt] converts tasks that were recorded with other parameters. [Learn] turns tasks into a [Prior],
// which is expensive, immutable and shared. [New] makes an [Optimizer], which is cheap, holds one run, and works without a
// prior as well. Ask opens a [Trial]; Tell answers it, with the [Outputs] that [WithOutput] declares; [Optimizer.Report]
// advises when to stop an evaluation under way. All of an Optimizer's methods may be called from any goroutine.
//
// Larger values are better unless [WithMinimize] is given. Rows and values are copied when they are passed in; the
// caller owns what is returned.
//
// # Method
//
// The default is a hierarchical prior. Past tasks are scaled to zero mean and unit variance. On a set of points Z
// they are draws of one Gaussian, the population N(m, C), which EM estimates; a Gaussian process that all tasks share
// extends it to other points. The new task has an offset and a scale, whose prior is that of the past tasks; up to
// these it is a draw of the population plus a process of its own, of one of two variances, or such a process alone
// (no transfer), which without a list of candidates may also be the one that a run without a past fits. The marginal
// likelihood of its values weighs these hypotheses. The acquisition is the expected improvement over all of them. The
// first proposal has the largest mean; others before the first value maximise the expected improvement on that mean.
// While proposals do not improve on the best value, some explore: a point by its distance from all that were asked for
// or, in turns where the past is trusted, the best point without the past.
//
// A past whose values have the other sign costs the first evaluation; then the run mostly follows it upside down. One
// turned over otherwise, as errors for accuracies, costs the first few evaluations. [Optimizer.Transfer] says whether
// the past helps, [Check] whether past tasks help each other.
//
// Package cmbo/paper has the paper's method, and cmbo/baseline others, as surrogates of a run.
//
// # Reproducibility
//
// Nothing here reads a clock, the environment or a global source of random numbers. With one build (Go version,
// GOARCH, GOAMD64, vector tier of linalg/accel) the same seed, data, options and sequence of calls give the same
// proposals bit for bit at any GOMAXPROCS; other builds agree up to rounding.
//
// # Errors
//
// No call panics on data that arrives at run time: errors wrap a sentinel such as [ErrOutOfSpace], and a [*DataError]
// says which task, row and parameter. A call that fails changes nothing; of [Optimizer.Report] the
// advice may fail and the value count.
//
// The getters of [Trial] and [Observation] panic on a mistake in the program: a name that no parameter of their kind
// has. The message lists the names there are. [Trial.Into] returns an error, and [Trial.Config] a map.
//
// # Cost
//
// With K tasks of n observations, I index points, t observations of the run and N candidates, the hierarchical prior takes
// O(K (n³ + n I) + I³) for each of 16 steps of EM. An Ask takes O(h t N) on a list and O(h t² N) at new candidates for the h
// hypotheses that matter: three as a rule, of which two transfer and one does not. There are two more that transfer where
// descriptors of the tasks say something of the target, and one more that does not where a third of the past's variance or
// more is noise. Of these there are up to four times as many where points were measured again, so that noise may be larger
// than the past's. Without a list, what a run without a past takes the target for is one more from the fifth value on.
package cmbo
