// Package multivariate holds normal distributions of finitely many dimensions, the
// divergences and distances between them, and their means.
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
// # Accuracy
//
// No divergence is computed as a difference that cancels: near-equal arguments keep
// the relative accuracy that their numbers determine, and equal ones are at 0.
// Symmetric divergences are symmetric bit for bit. What singular covariances cost
// in accuracy, and what is done about it, is said at [Workspace.W2Squared]. Jitter is
// added by [Workspace.Jeffreys] alone, which returns the amount.
//
// # Memory and goroutines
//
// A Normal is immutable and safe for concurrent use. A [Workspace] holds the memory of
// divergences: its methods do not allocate in steady state, unless said otherwise, and it
// serves one goroutine at a time. Results are determined by the arguments. Matrices of
// some 200 rows and more are worked on by several goroutines, which takes a few
// allocations; none outlives the call.
//
// Slices and matrices given to constructors are copied, except by [AdoptNormal];
// those returned by accessors are shared and for reading only.
//
// # Failure
//
// Nothing here panics on data. Errors wrap [ErrNotSymmetric], [ErrWeights] or a sentinel
// of package gaussian such as [gaussian.ErrDimension], and most are a
// [*gaussian.DimensionError], [*gaussian.ValueError] or [*gaussian.DefiniteError] with the
// numbers. On error a destination holds unspecified numbers; receivers stay as they were
// unless said otherwise.
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
// "The paper" is T. Nguyen et al., Clustering-based Meta Bayesian Optimization with
// Theoretical Guarantee, arXiv 2503.06093.
package multivariate
