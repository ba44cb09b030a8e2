// Package hierarchy is the hierarchical prior: what past tasks have in common, as
// hypotheses on a new task that its data weigh.
//
// # Learning
//
// Values of a task come scaled, with the shift and the scale that were taken off. A base process is fitted to all
// tasks: a constant mean c, a kernel k_b, a noise variance σ² (base.go). On a grid Z (grid.go) the tasks are draws of
// one Gaussian, the population N(m, C), which EM finds (em.go; passes.go of more tasks than are held); at each step C
// is drawn to the base kernel's matrix of the same trace. Of few tasks EM believes too much: its moments are then drawn
// to those of a process of which a share is common to all tasks, which the tasks' likelihood finds (shared.go). Nor do
// they tell the base process's lengths, which are held to the template's by a prior. Where that is noise for the most
// part, or nothing is common, half of the tasks foretell the others, once with it and once with the other of the two
// processes under which no value of a task tells of another (foretold). Off the grid everything is carried by the base
// process (learn.go). What all of this goes by stands in settings.go.
//
// # A run
//
// A run has three layers, each made of the one before.
//
//   - Located (located.go, crossing.go): points carried to the grid, told ones and candidates alike, and the prior
//     covariances between them, in the parts that hypotheses share. Candidates come in blocks, points told in panels of
//     eight. A run of many values, or of more than its past, fits the target's own lengths and noise, and one that measures
//     points again weighs louder noise than the past's (own.go).
//
//   - Hypothesis (hypothesis.go): what the target may be like, as prior mean, variance, covariance and mass: something of
//     the past, which is nothing, the population or what descriptors make of it (relation.go), and a factor times a process
//     of the target's own. Another factor or mass is a line of Model.hypotheses. Something else of the past is a constant, a
//     case each of mean, variance and covariance, and one in gridMoments of the test. What needs other covariances than
//     those of a crossing changes crossing.go and workspace.go, too.
//
//   - Run (run.go, mixture.go, member.go, workspace.go, affine.go, predict.go), the mixture of the
//     hypotheses: under each the target is an affine image of a draw f,
//
//     y = a + s·f(x) + e,   e ~ N(0, s²σ²),   a ~ N(a0, v_a),   ln s ~ N(ln s0, v_s).
//
// Offset and scale have the moments of the tasks' own, with heavier tails; with s < 0, as with a past of the other
// sign, the offset may be the tasks' times −1. They are integrated out, the one in closed form, the other on a grid,
// and hypotheses are weighed by the marginal likelihood of the values told. With L·Lᵀ = K_h(X, X) + σ²·I, the whitened
// values L⁻¹y, ones L⁻¹1 and prior means L⁻¹m_h grow by a number an observation, and six inner products of them give
// the evidence for all offsets and scales. A prediction is the first two moments of the mixture. As differences between
// low values of tasks are made smaller before they are learned from, so are those of a run (Run.Fit), and so they are
// predicted: Run.Back brings a prediction back, and Run.Ends an interval, which is wider than the model's where it is
// low (inflation.go). Labels of success are values that have no offset and scale (success.go).
//
// Package gp conditions one process on its values. Here several are conditioned on the same points, with three
// right-hand sides each and covariances that they share, so that factors and predictions grow in this package.
//
// J. Lin, S. Ament et al., Empirical Gaussian processes, arXiv:2602.12082, learn a population by EM.
package hierarchy
