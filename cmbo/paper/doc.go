// Package paper holds the method of K. Nguyen, V. Huynh, B. Tran, T. Pham, T. Huynh and T. Nguyen, Clustering-based
// Meta Bayesian Optimization with Theoretical Guarantee, arXiv:2503.06093, "the paper", with the seven variants of
// its section 4 and its bound on the regret, as a surrogate that an optimiser of package cmbo consults:
//
//	prior, err := paper.Learn(ctx, space, tasks, paper.WithVariant(paper.WssClusWssCMP))
//	s, err := prior.Surrogate(ctx, space)                    // one per run
//	opt, err := cmbo.New(space, cmbo.WithSurrogate(s))
//
// The run takes the direction and the y policy of the prior by itself.
//
// # Method
//
// Stage 1. Each task's values are brought to zero mean and unit variance ([cmbo.YPolicy]) and get two Gaussian processes
// with zero mean, whose hyperparameters have the highest posterior density: one for clustering, with the product of the
// Matérn-3/2 and Matérn-1/2 shapes, one for the prototypes, with Matérn-3/2. The posteriors on a finite set of points,
// Gaussian vectors, are grouped by k-means in the 2-Wasserstein distance or the Jeffreys divergence.
//
// Stage 2. Each cluster gets a prototype, a Gaussian process N(μ_i, k_i): the arithmetic mean of its members, or
// their Wasserstein barycentre.
//
// Stage 3. At each step the prior of the new task is μ0 = Σ w_i·μ_i, k0 = Σ w_i²·k_i; it is conditioned on the task's
// data, and the acquisition picks the next point. Then d_i is the distance of prototype i to that posterior, and
//
//	w_i = e^(1−d_i/d_max) / Σ_j e^(1−d_j/d_max).
//
// A [Variant] names the choices made on the way. LastStep of the optimiser shows every quantity of a step,
// [Surrogate.RegretBound] the paper's Theorem 2 for it.
//
// # What to expect
//
// The weights never differ by more than a factor e, and k0 shrinks with the number of prototypes and knows nothing of
// the spread between them: the posterior is often too sure of itself. Tasks that have nothing to do with the new one
// can make the prior worse than none. Past failures and further outputs teach it nothing.
//
// With K tasks of n observations, C clusters, I index points, t observations of the run and N candidates: Learn takes
// O(K n³) some hundred times for the fits, O(K C V²) a round of Wasserstein clustering on V = 100 points and O(V³)
// for each distance that bounds leave open, O(K I² (n + I/C)) for geometric centres and some ten to twenty times O(C
// I³) for barycentres. Ask takes O(C t N + t² N) and, for the distances, O(C I³), where the candidates are a list,
// and O(K n (n+t) N) more in a parameter space.
package paper
