// Package gaussian is Gaussian process regression on numbers: the posterior at finitely many points, the likelihood of data,
// and the search for hyperparameters. Package [github.com/gocmbo/cmbo/gaussian/multivariate] has the normal distributions
// that such posteriors are, their distances and means.
//
// Of y_i = f(x_i) + e_i, f a Gaussian process with mean m and kernel k, e_i of variance d_i, with A = K + diag(d),
//
//	E f(x)             = m(x) + k(x, X)·A⁻¹·(y − m(X))                           Conditioner
//	cov(f(x), f(x′))   = k(x, x′) − k(x, X)·A⁻¹·k(X, x′)                         Conditioner
//	ln p(y)            = −½·(rᵀA⁻¹r + ln det A + n·ln 2π),  r = y − m(X)          Likelihood
//	∂ ln p(y)/∂θ       = ½·⟨α·αᵀ − A⁻¹, ∂A/∂θ⟩,  α = A⁻¹·r                       Likelihood
//
// (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press 2006). A [Conditioner] takes
// the prior as numbers, block by block, whatever they come from; a [Fitter] chooses hyperparameters by maximum a posteriori.
//
// Where a covariance has to be definite and is not, the smallest of 0, 1e-10, …, 1e-4 times
// its mean diagonal that helps is added, and the amount returned.
//
// [Conditioner], [Likelihood] and [Fitter] hold memory that is reused: their methods do not allocate in steady state, unless
// said otherwise, and each serves one goroutine at a time. Results are determined by the arguments. Matrices of some 200
// rows and more are worked on by several goroutines, which takes a few allocations; none outlives the call.
//
// Nothing here panics on data; a panic of a kernel from outside package kernel passes to the caller. Errors wrap a sentinel:
// [ErrDimension] where sizes do not fit, [ErrNotFinite], [ErrArgument] for nil and negative variances,
// [ErrNotPositiveDefinite]. Most are a [*DimensionError], [*ValueError] or [*DefiniteError] with the numbers. On error a
// destination holds unspecified numbers; receivers stay as they were unless said otherwise.
package gaussian
