// Package gp holds Gaussian processes that are known by their moments. One type, [Process], is prior, posterior and
// prediction: a prior without observations, a posterior with them, and itself the prior of further conditioning. What it
// needs of the prior it is made from is a [Function]: means, variances and covariances at any points, which a kernel gives
// ([FromKernel]), or a sum over past tasks, or numbers on a grid.
//
// [Conditioned] is the part that sees no points: a factor that grows by rows and the updates of
// moments by it. A model that keeps covariances as numbers works with it directly.
//
// [Fitter] finds hyperparameters, [Fits] keeps those of a run and knows when a new search is due.
//
// Errors of package gaussian come back wrapped with what was computed; a done
// context takes their place where it explains them.
package gp
