// Package baseline holds the methods that transfer Bayesian optimisation is compared with, as models that a [cmbo.Optimizer]
// can consult in place of its own: random search and a Gaussian process without transfer, ensembles of the past tasks'
// processes (RGPE, TST-R, TAF, RM-GP-UCB, RM-GP-TS, ScaML-GP, StackedGP), priors learned from all past tasks at once
// (HyperBO, HyperBO+, MetaBO, EM-EGP and its variants, and the networks of ABLR and GC3P), and points that served the past
// tasks best, without a model of the target (Portfolio).
//
//	method, err := baseline.Find("RGPE")
//	model, err := method.Learn(ctx, space, tasks)
//	opt, err := cmbo.New(space, cmbo.WithSurrogate(model.Surrogate(seed)))
//
// [Methods] lists the methods by name. A [Model] is shared by any number of runs, each of which has its own surrogate, asked
// for predictions and, where the method has an acquisition of its own ([cmbo.Scorer]), for scores. Everything else of the
// run is the Optimizer's: trials, pending points, candidates, the y policy, the acquisition. So methods compared differ in
// nothing but the model.
//
// Random, GP and the ensembles work without tasks, and are then GP or something close
// to it; the others need at least one task with a value.
//
// METHODS.md states of each method the source, the formulas that are computed, the cost, and where it differs from the
// authors' code and why. Tasks are scaled one by one; kernels work on the space's unit cube. Proposals follow from seed and
// data alone: not from how often a surrogate was asked, nor from the number of goroutines.
package baseline
