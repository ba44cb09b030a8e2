// Package multivariate holds normal distributions of finitely many dimensions, the
// divergences and distances between them, and their means.
//
// A [Normal] is N(m, S) with mean m and covariance S = L·Lᵀ, L lower triangular. S may be singular. [Workspace.W2] is a
// metric and finite for singular covariances; [Workspace.KL] and [Workspace.Jeffreys] are infinite there, but for the jitter
// that the latter is given to add to both. The mean of several is a [Centroid] or a [Barycenter]. "The paper" is K. Nguyen
// et al., Clustering-based Meta Bayesian Optimization with Theoretical Guarantee, arXiv 2503.06093.
//
// No divergence is computed as a difference that cancels: near-equal arguments keep the relative accuracy that their numbers
// determine, and equal ones are at 0. Symmetric divergences are symmetric bit for bit.
//
// A Normal is immutable and safe for concurrent use. A [Workspace] holds the memory of divergences: its methods do not
// allocate in steady state, unless said otherwise, and it serves one goroutine at a time. Matrices of some 200 rows and more
// are worked on by several goroutines, which takes a few allocations; none outlives the call. Slices and matrices given to
// constructors are copied, except by [AdoptNormal]; those returned by accessors are shared and for reading only.
//
// Nothing here panics on data. Errors wrap [ErrNotSymmetric], [ErrWeights] or a sentinel of package gaussian, most in one of
// its types with the numbers: sizes that do not fit are [gaussian.ErrDimension], overflow is [gaussian.ErrNotFinite]. On
// error a destination holds unspecified numbers; receivers stay as they were unless said otherwise.
package multivariate
