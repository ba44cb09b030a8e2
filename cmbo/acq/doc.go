// Package acq scores candidates by what a posterior says of them: the larger the score of (mean,
// sd), the sooner the point should be tried. Maximisation throughout.
//
// # Scores
//
// A [Func] turns the posterior mean and standard deviation at a point into a number that orders
// points as the acquisition function does, in a form that does not under- or overflow:
//
//	UCB{Beta}     mean + Beta·sd
//	EI{Best}      log EI, continued by another increasing function below −1e200
//	PI{Target}    z = (mean − Target)/sd
//
// Scores of one Func value are comparable with each other, and with nothing else. Two points whose acquisition differs by
// less than the rounding of the score may tie; the order is never wrong by more than that rounding.
//
// [ExpectedImprovement] and [LogExpectedImprovement] return the quantity itself; the
// probability of improvement is Φ of its score.
//
// # Special arguments
//
// sd = 0 is a point whose value is known. It improves or it does not: EI is max(0, mean − best), PI
// is 1 above the target and 0 at or below it. Where that has logarithm −∞ the score is −Inf.
//
// A score is NaN if mean or sd is not finite, sd is negative, or the parameter of
// the Func is not finite. A comparison with > never selects a NaN.
//
// The values of this package are safe for concurrent use.
package acq
