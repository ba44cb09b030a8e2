// Package theorem states the paper's Theorem 2, a bound on the regret of one proposal: what goes into it and what comes
// out of it, as it is printed and as its proof supports it. RegretBound of the Surrogate of package paper evaluates it.
package theorem

// Inputs are the quantities of the paper's Theorem 2 that no data can
// tell. All values are in the scaled units of the y policy.
type Inputs struct {
	// Norm is B, a bound on the norm of f − μ0 in the reproducing-kernel space of the adaptive prior's covariance k0;
	// where Truth is nil also on the norm of f in that of each task's kernel.
	Norm float64
	// Delta, in (0, 1), sets the confidence: see [Terms].Probability.
	Delta float64
	// Gaps holds D_i, the largest difference between the target and task i at that task's points, in the order given to
	// Learn. Nil has them estimated: |μ − y| + beta·sd at each of the task's points, at its largest.
	Gaps []float64
	// Truth is f, if it is known, and Optimum the point where it is largest among those that could be proposed; with them
	// the eta terms are exact. Without, they are bounded by Σ zeta_i·Norm·sd_i, sd_i the deviation of task i's posterior at
	// the proposal and at the observations; at the optimum, which is not known then, the largest one of its prior.
	Truth   func(x []float64) float64
	Optimum []float64
	// NoiseFree says that the target's values carry no noise.
	NoiseFree bool
	// GreedyGain takes, for the information gain, a bound on the largest gain of
	// as many points, the greedy one over 1−1/e, instead of the realised gain.
	GreedyGain bool
}

// A Bound is the paper's Theorem 2 evaluated for one proposal: an upper bound on the instantaneous
// regret max f − f(x). It holds for geometric centres and the UCB acquisition.
type Bound struct {
	// Trial is the proposal, Observations the number of points the posterior that chose it was conditioned on.
	Trial, Observations int
	// Xi is the multiplier of UCB and SD the posterior's standard deviation at the proposal.
	Xi, SD float64
	// InformationGain is ½·ln det(I + K0/σ²), or the greedy bound asked for.
	InformationGain float64
	// Gaps holds the D_i used.
	Gaps []float64
	// EtaOptimum, EtaChosen and EtaNorm are η at the optimum and at the
	// proposal and the norm of η at the observations, or bounds on their sizes.
	EtaOptimum, EtaChosen, EtaNorm float64
	// EtaExact says that the three are η itself and not bounds.
	EtaExact bool
	// Printed is the theorem as the paper states it, Corrected as its proof supports it.
	Printed, Corrected Terms
}

// Terms are the terms of one form of Theorem 2. As printed,
//
//	β = B + σ·√(2(γ + 1 + ln(4/δ)))
//	α = Σ ζ_i·n_i/σ²·(D_i + 2·√(2σ²·ln(8n_i/δ)))
//	ω = 2·Σ ζ'_i·√n_i/σ²,  ι = 2 + ω·√(τ−1),  δ_τ = ξ/β·(1 − β/ξ)
//	r ≤ δ_τ·(ι·α + η(x*) − η(x) + ω·‖η(X)‖) + ξ/β·(ξ + β)·sd(x)
//
// with ζ_i = w/|C| and ζ'_i = w²/|C| of the cluster C of task i, n_i its number of observations, σ² the target's noise
// variance and τ−1 the number of observations t. The corrected form differs in five places.
//
// (a) β = B + √(2(γ + ln(4/δ))): conditioning divides the noise by σ² again, which takes the printed factor σ away (Y.
// Abbasi-Yadkori, Online learning for linearly parametrized control problems, PhD thesis, Alberta 2012, theorem 3.11).
//
// (b) k0(X, x) has one entry per observation of the target, each a covariance of at most v_i in
// size, v_i the prior variance of task i's process: ω = 2·√t·Σ ζ'_i·v_i/σ² and ι = 2 + ω·√t.
//
// (c) α is scaled by v_i and uses each task's own noise variance; and the target's noise, which the
// proof drops, adds ω·√t·√(2σ²·ln(8t/δ)) to the bracket unless values are free of noise.
//
// (d) The chain of the proof, done without loss, ends in 2β·sd(x) instead of (ξ+β)·sd(x), which is smaller where ξ < β
// and then not a bound; and with the sign of ξ−β kept where it is multiplied through,
//
//	r ≤ |ξ/β − 1|·(ι·α ± (η(x*) − η(x)) + ω·‖η(X)‖ + noise) + 2ξ·sd(x)
//
// with + for ξ >= β and − below, which holds for every ξ > 0. Where η is not known,
// bounds on the sizes of η(x*) and η(x) are added in place of the difference.
//
// (e) The lemmas hold with probability 1−δ/4 each, so the bound does with 1−δ/2, or 1−3δ/4 with the noise term.
type Terms struct {
	Beta, Alpha, Omega, Iota float64
	// DeltaTau multiplies the bracket, Bracket is what it multiplies.
	DeltaTau, Bracket float64
	// Noise is the part of the bracket for the target's noise.
	Noise float64
	// Bound is the bound on the regret.
	Bound float64
	// Probability is a lower bound on the chance that Bound holds.
	Probability float64
	// Applies is false where the form does not hold as a bound: as printed, where Xi < Beta.
	Applies bool
}
