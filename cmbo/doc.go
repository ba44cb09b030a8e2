// Package cmbo tunes an expensive function with the help of past tuning runs: transfer (meta)
// Bayesian optimisation by a hierarchical prior. It grew from cm-BO, the method of K. Nguyen, V.
// Huynh, B. Tran, T. Pham, T. Huynh and T. Nguyen, Clustering-based Meta Bayesian Optimization with
// Theoretical Guarantee, arXiv:2503.06093, "the paper" in these pages.
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
// A [Space] says what may be proposed: [Float], [Int] and their logarithmic kin, with a step if
// they have one, [Ordinal], [Categorical], [Bool], or a struct's tags ([SpaceOf]), restricted to
// candidates if need be. A point of it is a row of float64, one entry a parameter. A [Task] is a
// history: points and measured values, further outputs by name and points that failed;
// [space.Space.Adopt] brings those that were recorded with other parameters to the space. [Learn]
// turns tasks into a [Prior], which is expensive, immutable and shared. [New] makes an [Optimizer],
// which is cheap, has one run in it, and works without a prior as well. Ask opens a [Trial], Tell
// answers it, with [Outputs] that [WithOutput] declares; [Optimizer.Report] says of an evaluation
// under way when to stop. All of an Optimizer's methods may be called from any goroutine.
//
// Larger values are better unless [WithMinimize] is given. Rows and values are
// copied at the door; what is returned is the caller's.
//
// # Method
//
// The default is a hierarchical prior. On a set of points Z the past tasks, brought to zero mean
// and unit variance, are draws of one Gaussian, the population N(m, C), which EM finds from what
// each task knows of it; a Gaussian process that all tasks share carries it to other points. The
// new task is, up to an offset and a scale that have the past tasks' as their prior, a draw of the
// population with a process of its own added, of one of two variances, or such a process alone (no
// transfer). Its values weigh these hypotheses by their marginal likelihood, and the acquisition is
// the expected improvement over all of them; while proposals do not improve on the best value, some
// are other judges': the point farthest from all asked for, whatever is expected there, and, of a past
// that is trusted, in turns with it the best without the past. Before the first value the largest mean is asked
// for, and improvements on it while that is pending. A past whose values have the other sign costs
// the first evaluation, and is mostly followed upside down then; one that is upside down otherwise,
// errors for accuracies, costs the first few: [Optimizer.Transfer] says whether the past helps, and
// [Check] beforehand whether past tasks help each other.
//
// Package cmbo/paper has the paper's method, and baseline others, as surrogates of a run.
//
// # Reproducibility
//
// Nothing here reads a clock, the environment or a global source of random
// numbers. With one build (Go version, GOARCH, GOAMD64, vector tier of
// linalg/accel) the same seed, data, options and sequence of calls give the same
// proposals bit for bit at any GOMAXPROCS; other builds agree up to rounding.
//
// # Errors
//
// Data that arrives at run time never panics: errors wrap a sentinel such as [ErrOutOfSpace], and a
// [*DataError] says which task, row and parameter. A call that fails changes nothing.
//
// The getters of [Trial] and [Observation] panic at the name of no parameter of their
// kind, a mistake in the program's text as an index out of range is, and say which names
// there are. [Trial.Into] returns an error and [Trial.Config] a map.
//
// # Cost
//
// With K tasks of n observations, I index points, t observations of the run and N candidates: the
// hierarchical prior takes O(K (n³ + n I) + I³) for each of 16 steps of EM, and an Ask O(h t N) on
// a list and O(h t² N) at new candidates for the h hypotheses that matter, at most three, or twelve
// where points were measured again and noise may be louder than the past's.
package cmbo
