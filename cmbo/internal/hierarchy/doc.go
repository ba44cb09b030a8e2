// Package hierarchy is the hierarchical prior: what past tasks have in common, in
// groups and one by one, as hypotheses on a new task that its data weigh.
//
// # Learning
//
// Values of a task are scaled by the caller; the shift and the scale that were taken
// off are kept. Values far below the others are raised before, by the caller in past
// tasks and by a run in its own: a penalty for a crash would set a scale on which all
// others look alike. In past tasks the caller compresses differences between the lower
// values as well, so that what is learned is how good points differ; a run's values stay,
// and with them the predictions, in the user's units.
//
// A base process is fitted to all tasks: a constant mean c, a kernel k_b, a noise
// variance σ². On a grid Z the tasks are draws of one Gaussian, the population N(m, C),
// which EM finds from at most 1,000 of them; at each step C is drawn to the base kernel's
// matrix of the same trace. Off the grid everything is carried by the base process.
// Tasks are clustered by their posteriors N(μ_i, S_i) on a part of the grid; each
// cluster has moments of its own, by EM over its members, drawn to the population.
//
// # A run
//
// The hypotheses on a new task are: a draw of the base process (no transfer), of the
// population, of a cluster, or of N(μ_i, S_i + τ·C), something like task i. Half of the
// mass of the first two lies on targets that have a small process of their own beside,
// with lengths that are likely of any function: those fitted to few tasks say little of
// another one's. Under each hypothesis the target is an affine image,
//
//	y = a + s·f(x) + e,   e ~ N(0, s²σ²),   a ~ N(a0, v_a),   ln s ~ N(ln s0, v_s),
//
// the priors of offset and scale being the moments of the tasks' own, with heavier
// tails, and σ² that of the tasks or a tenth of it: each under a hypothesis of its own
// for no transfer, the population and clusters, the first where there is a process
// beside, the second for single tasks. Offset and
// scale are integrated out, the one in closed form, the other on a grid, and
// hypotheses are weighed by the marginal likelihood of the values told. A small part
// of the prior mass lies on s < 0, tasks that rank the other way round.
// A prediction is the first two moments of the mixture. Of more single tasks than are
// predicted with, those of the largest evidence stand for all; before the first value
// none does, and the population has the mean of all. After 4, 8, 16, 32 and 64 values
// those of small evidence are left out for good, so that a run costs little more with
// hundreds of tasks than with a few.
//
// Masses, shares and widths were chosen by regret on other divisions of public tables,
// examples/hpob -seed 2 and 3, than those that the README reports.
//
// With L·Lᵀ = K_h(X, X) + σ²·I, the whitened values L⁻¹y, ones L⁻¹1 and prior means
// L⁻¹m_h grow by a number an observation, and six inner products of them give the
// evidence of a hypothesis for all offsets and scales.
//
// Package gp conditions one process on its values. Here hundreds of processes are
// conditioned on the same points, with three right-hand sides each and covariances that
// many of them share, so that factors and predictions grow in this package.
//
// J. Lin, S. Ament et al., Empirical Gaussian processes, arXiv:2602.12082, learn a
// population by EM; the clusters are those of K. Nguyen et al., arXiv:2503.06093.
package hierarchy
