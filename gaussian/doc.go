// Package gaussian holds finite-dimensional normal distributions, the divergences
// and means of such distributions that transfer between tasks is built on, and the
// parts of Gaussian process regression, whose posteriors at finitely many points are
// normal distributions again.
//
// # Formulas
//
// A [Normal] is N(m, S) with mean m and covariance S = L·Lᵀ, L lower triangular. S
// may be singular. For p = N(m₀, S₀) and q = N(m₁, S₁), dm = m₀ − m₁,
//
//	KL(p‖q)     = ½·(tr S₁⁻¹S₀ − n + ln det S₁ − ln det S₀ + dmᵀ·S₁⁻¹·dm)       KL
//	J(p, q)     = KL(p‖q) + KL(q‖p)
//	            = ½·⟨S₁⁻¹ − S₀⁻¹, S₀ − S₁⟩ + ½·dmᵀ·(S₀⁻¹ + S₁⁻¹)·dm               Jeffreys
//	W₂²(p, q)   = ‖dm‖² + tr S₀ + tr S₁ − 2·‖L₁ᵀ·L₀‖_*                           W2Squared
//	            = ‖dm‖² + min ‖L₀ − L₁·U‖²_F over orthogonal U
//
// with ‖·‖_* the sum of the singular values. W₂ is a metric and finite for singular
// covariances; KL and J are infinite there, and J takes a jitter. Of normals p_i
// with weights w_i,
//
//	m = Σ w_i·m_i,   S = Σ w_i·S_i                                               Centroid
//	m = Σ w_i·m_i,   S = Σ w_i·(S^½·S_i·S^½)^½                                   Barycenter
//
// Regression on y_i = f(x_i) + e_i, f a Gaussian process with mean m and kernel k, e_i
// of variance d_i, with A = K + diag(d),
//
//	E f(x)             = m(x) + k(x, X)·A⁻¹·(y − m(X))                           Conditioner
//	cov(f(x), f(x′))   = k(x, x′) − k(x, X)·A⁻¹·k(X, x′)                         Conditioner
//	ln p(y)            = −½·(rᵀA⁻¹r + ln det A + n·ln 2π),  r = y − m(X)          Likelihood
//	∂ ln p(y)/∂θ       = ½·⟨α·αᵀ − A⁻¹, ∂A/∂θ⟩,  α = A⁻¹·r                       Likelihood
//
// A [Conditioner] takes the prior as numbers, block by block, whatever they come from;
// a [Fitter] chooses hyperparameters by maximum a posteriori.
//
// # Accuracy
//
// No divergence is computed as a difference that cancels: near-equal arguments keep
// the relative accuracy that their numbers determine, and equal ones are at 0.
// Symmetric divergences are symmetric bit for bit. What singular covariances cost
// in accuracy, and what is done about it, is said at [Workspace.W2Squared].
//
// Jitter is never added in silence: functions that add one return the amount.
// Where a covariance has to be definite and is not, the smallest of 0, 1e-10, …,
// 1e-4 times its mean diagonal that helps is added; [Workspace.Jeffreys] has a rule of its
// own.
//
// # Memory and goroutines
//
// A Normal is immutable and safe for concurrent use. [Workspace], [Conditioner],
// [Likelihood] and [Fitter] hold memory that is reused: their methods do not allocate in steady
// state, unless said otherwise, and each serves one goroutine at a time. Functions
// and methods that take none of them allocate what they need. Results are
// determined by the arguments. Matrices of some 200 rows and more are worked on by
// several goroutines, which takes a few allocations; none outlives the call.
//
// Slices and matrices given to constructors are copied, except by [AdoptNormal];
// those returned by accessors are shared and for reading only.
//
// # Failure
//
// Nothing here panics on data; a panic of a kernel from outside package kernel passes to
// the caller. Errors wrap one of the sentinels such as
// [ErrDimension], and most are a [*DimensionError], [*ValueError] or
// [*DefiniteError] with the numbers. On error a destination holds unspecified
// numbers; receivers stay as they were unless said otherwise.
//
// # References
//
// D. C. Dowson and B. V. Landau, The Fréchet distance between multivariate normal
// distributions, J. Multivariate Anal. 12 (1982) 450–455.
//
// P. C. Álvarez-Esteban, E. del Barrio, J. A. Cuesta-Albertos and C. Matrán, A
// fixed-point approach to barycenters in Wasserstein space, J. Math. Anal. Appl.
// 441 (2016) 744–762.
//
// C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning,
// MIT Press 2006.
//
// "The paper" is T. Nguyen et al., Clustering-based Meta Bayesian Optimization with
// Theoretical Guarantee, arXiv 2503.06093.
package gaussian
