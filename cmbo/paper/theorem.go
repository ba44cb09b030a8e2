package paper

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/paper/theorem"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// RegretBound evaluates the paper's Theorem 2 for a trial of o, which r proposed by UCB of
// multiplier xi. The bound exceeds actual regrets by orders of magnitude; its terms show what
// learning from past tasks adds to it. No other call of o may be under way.
//
// It fails as Explain of the optimiser does; with [cmbo.ErrOption] if an input is outside its
// range, the prototypes are not geometric centres, other trials were pending, or r did not
// choose the point; and with [cmbo.ErrOutOfSpace] or [cmbo.ErrDimension] for an unusable
// Optimum. It takes twice the time of an Ask, O(K n²) per observation, and O(K n³) with Truth.
func (r *Surrogate) RegretBound(ctx context.Context, o *cmbo.Optimizer, trial int, xi float64,
	in theorem.Inputs) (*theorem.Bound, error) {
	if r.prior.config.variant.Prototype != GeometricCenter {
		return nil, gp.OptionErrorf("Theorem 2 is about weighted sums of geometric centres")
	}
	if !(xi > 0) || math.IsInf(xi, 0) {
		return nil, gp.OptionErrorf("Theorem 2 is about UCB with a positive multiplier, not %g", xi)
	}
	// To explain a trial the optimiser has its surrogate go back to what was known then.
	r.step = 0
	x, err := o.Explain(ctx, trial)
	switch {
	case err != nil:
		return nil, err
	case x.Reason != cmbo.ReasonScore:
		return nil, gp.OptionErrorf("trial %d was not chosen by its score: %s", trial, x.Reason)
	case r.step != trial:
		return nil, gp.OptionErrorf("trial %d was proposed by another surrogate", trial)
	case !r.alone:
		return nil, gp.OptionErrorf("trial %d was proposed while others were pending", trial)
	}
	chosen, err := r.space.Encode(x.Trial.X)
	if err != nil {
		return nil, err
	}
	return r.bound(ctx, trial, chosen, xi, in)
}

// validate fails with [cmbo.ErrOption].
func validate(in *theorem.Inputs, tasks int) error {
	switch {
	case !(in.Norm >= 0) || math.IsInf(in.Norm, 0):
		return gp.OptionErrorf("norm %g is not a finite number >= 0", in.Norm)
	case !(in.Delta > 0 && in.Delta < 1):
		return gp.OptionErrorf("delta %g is not in (0, 1)", in.Delta)
	case in.Gaps != nil && len(in.Gaps) != tasks:
		return gp.OptionErrorf("%d gaps for %d tasks", len(in.Gaps), tasks)
	case (in.Truth == nil) != (in.Optimum == nil):
		return gp.OptionErrorf("Truth and Optimum go together")
	}
	for i, g := range in.Gaps {
		if !(g >= 0) || math.IsInf(g, 0) {
			return gp.OptionErrorf("gap %g of task %d is not a finite number >= 0", g, i)
		}
	}
	return nil
}

// evaluation evaluates the theorem for a proposal of a run, which is conditioned on what was known then.
type evaluation struct {
	*Surrogate
	in                 theorem.Inputs
	chosen             []float64 // in the unit cube, as optimum, nil if it is not known
	optimum            []float64
	minNoise, maxNoise float64 // variances in use, the one for values that come without included
}

func (r *Surrogate) bound(ctx context.Context, trial int, chosen []float64, xi float64,
	in theorem.Inputs) (*theorem.Bound, error) {
	if err := validate(&in, len(r.prior.sources)); err != nil {
		return nil, err
	}
	t := &evaluation{Surrogate: r, in: in, chosen: chosen}
	t.minNoise, t.maxNoise = r.noiseRange()
	var err error
	if in.Truth != nil {
		if t.optimum, err = r.space.Encode(in.Optimum); err != nil {
			return nil, err
		}
	}
	b := &theorem.Bound{Trial: trial, Observations: len(r.obs), Xi: xi}
	mean, sd := []float64{0}, []float64{0}
	if err := r.Predict(ctx, mean, sd, linalg.NewDense(1, len(chosen), slices.Clone(chosen))); err != nil {
		return nil, err
	}
	b.SD = sd[0]
	if in.GreedyGain {
		b.InformationGain, err = r.greedyGain(ctx, b.Observations)
	} else {
		b.InformationGain, err = r.informationGain()
	}
	if err != nil {
		return nil, gp.Marked(ctx, err)
	}
	gain, unsure := b.InformationGain, math.Log(4/in.Delta)
	b.Printed.Beta = in.Norm + math.Sqrt(r.noise)*math.Sqrt(2*(gain+1+unsure))
	b.Corrected.Beta = in.Norm + math.Sqrt(2*(gain+unsure))
	if b.Gaps = slices.Clone(in.Gaps); b.Gaps == nil {
		if b.Gaps, err = t.estimateGaps(ctx, b.Corrected.Beta); err != nil {
			return nil, err
		}
	}
	if err := t.eta(ctx, b); err != nil {
		return nil, err
	}
	t.sums(b)
	t.finish(b)
	return b, nil
}

// noiseRange returns the smallest and the largest noise variance that the target
// is conditioned with, the one for values that come without included.
func (r *Surrogate) noiseRange() (lo, hi float64) {
	all := append(slices.Clone(r.noises), r.noise)
	return slices.Min(all), slices.Max(all)
}

// truth returns f at a point of the unit cube.
func (t *evaluation) truth(u []float64) (float64, error) {
	row, _ := t.space.Decode(u) // cannot fail: u is the encoding of a point
	v := t.in.Truth(row)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, gp.OptionErrorf("Truth is %g at %v", v, row)
	}
	return v, nil
}

func (t *evaluation) finish(b *theorem.Bound) {
	// Above and below beta the difference of the eta terms enters with different signs; bounds on their sizes only add up.
	above, below := b.EtaOptimum-b.EtaChosen, b.EtaChosen-b.EtaOptimum
	if !b.EtaExact {
		above = b.EtaOptimum + b.EtaChosen
		below = above
	}
	p, c := &b.Printed, &b.Corrected
	p.Probability, c.Probability = 1-t.in.Delta/2, 1-t.in.Delta/2
	p.Bracket = p.Iota*p.Alpha + above + p.Omega*b.EtaNorm
	p.DeltaTau, p.Bound = printedBound(b.Xi, p.Beta, p.Bracket, b.SD)
	p.Applies = b.Xi >= p.Beta

	if n := b.Observations; n > 0 && !t.in.NoiseFree {
		c.Noise = c.Omega * math.Sqrt(float64(n)) * noiseBound(n, t.maxNoise, t.in.Delta)
		c.Probability -= t.in.Delta / 4
	}
	signed := above
	if b.Xi < c.Beta {
		signed = below
	}
	c.Bracket = c.Iota*c.Alpha + signed + c.Omega*b.EtaNorm + c.Noise
	c.DeltaTau, c.Bound = correctedBound(b.Xi, c.Beta, c.Bracket, b.SD)
	c.Applies = true
}

// shares returns ζ_i and ζ'_i of task i.
func (t *evaluation) shares(i int) (zeta, zetaPrime float64) {
	c := t.prior.labels[i]
	size := float64(each.Count(t.prior.labels, func(l int) bool { return l == c }))
	w := t.w[c]
	return w / size, w * w / size
}

// The factors of the lemma behind α: ‖k(x, X_i)‖ ≤ crossNorm, ‖(K + σ²I)⁻¹‖ ≤
// 1/σ², ‖y_i − ỹ_i‖ ≤ dataNorm with probability 1−δ/4.
func crossNorm(n int, v float64) float64 { return math.Sqrt(float64(n)) * v }

func dataNorm(n int, gap, noise, delta float64) float64 {
	return math.Sqrt(float64(n)) * (gap + 2*noiseBound(n, noise, delta))
}

// noiseBound bounds n noise values of the given variance at once.
func noiseBound(n int, variance, delta float64) float64 {
	return math.Sqrt(2 * variance * math.Log(8*float64(n)/delta))
}

// sums computes α and ω of both forms.
func (t *evaluation) sums(b *theorem.Bound) {
	obs := float64(b.Observations)
	for i, s := range t.prior.sources {
		zeta, zetaPrime := t.shares(i)
		v := t.priorVariance(s)
		b.Printed.Alpha += zeta * crossNorm(len(s.y), 1) / t.noise * dataNorm(len(s.y), b.Gaps[i], t.noise, t.in.Delta)
		noises := s.noises()
		b.Corrected.Alpha += zeta * crossNorm(len(s.y), v) / slices.Min(noises) *
			dataNorm(len(s.y), b.Gaps[i], slices.Max(noises), t.in.Delta)
		b.Printed.Omega += 2 * zetaPrime * math.Sqrt(float64(len(s.y))) / t.noise
		b.Corrected.Omega += 2 * zetaPrime * math.Sqrt(obs) * v / t.minNoise
	}
	b.Printed.Iota = 2 + b.Printed.Omega*math.Sqrt(obs)
	b.Corrected.Iota = 2 + b.Corrected.Omega*math.Sqrt(obs)
}

// priorVariance returns v_i, the largest prior variance of a task's process on the index set.
func (t *evaluation) priorVariance(s *source) float64 {
	n, _ := t.prior.index.Dims()
	v := make([]float64, n)
	kernel.Diag(v, s.Kernel, t.prior.index)
	return slices.Max(v)
}

func printedBound(xi, beta, bracket, sd float64) (delta, bound float64) {
	delta = xi / beta * (1 - beta/xi)
	return delta, delta*bracket + xi/beta*(xi+beta)*sd
}

func correctedBound(xi, beta, bracket, sd float64) (delta, bound float64) {
	delta = math.Abs(xi/beta - 1)
	return delta, delta*bracket + 2*xi*sd
}

// eta fills in η(x) = Σ ζ_i·(μ̃_i(x) − f(x)), μ̃_i being task i's posterior mean had the target
// been observed, without noise, at the task's points; or bounds on its size if f is not known.
func (t *evaluation) eta(ctx context.Context, b *theorem.Bound) error {
	optimum := t.optimum
	if optimum == nil {
		optimum = t.chosen
	}
	dim := len(t.chosen)
	x := points.Join(linalg.NewDense(2, dim, slices.Concat(t.chosen, optimum)), t.pointsOf(t.obs))
	eta := make([]float64, points.Len(x))
	for i := range t.prior.sources {
		if err := t.addEta(ctx, eta, i, x); err != nil {
			return err
		}
	}
	if t.in.Truth == nil {
		// The optimum is unknown: its sd is at most the largest prior sd.
		eta[1] = 0
		for i, s := range t.prior.sources {
			zeta, _ := t.shares(i)
			eta[1] += zeta * t.in.Norm * math.Sqrt(t.priorVariance(s))
		}
	} else {
		b.EtaExact = true
		for k := range eta {
			f, err := t.truth(x.Row(k))
			if err != nil {
				return err
			}
			eta[k] -= f
		}
	}
	b.EtaChosen, b.EtaOptimum = eta[0], eta[1]
	b.EtaNorm = linalg.Norm2(eta[2:])
	return nil
}

// addEta adds task i's part: ζ_i·μ̃_i where f is known, else ζ_i·B·sd_i, which bounds |μ̃_i − f| for exact observations of f.
func (t *evaluation) addEta(ctx context.Context, eta []float64, i int, x *linalg.Dense) error {
	s, tmp := t.prior.sources[i], make([]float64, len(eta))
	zeta, _ := t.shares(i)
	if t.in.Truth == nil {
		if err := s.process.Moments(ctx, nil, tmp, x); err != nil {
			return gp.Marked(ctx, err)
		}
		for k := range eta {
			eta[k] += zeta * t.in.Norm * math.Sqrt(tmp[k])
		}
		return nil
	}
	ideal := s.task
	ideal.y = make([]float64, len(s.y))
	for j := range ideal.y {
		var err error
		if ideal.y[j], err = t.truth(s.x.Row(j)); err != nil {
			return err
		}
	}
	var hypothetical source
	err := hypothetical.condition(ctx, ideal, s.Hyper)
	if err == nil {
		err = hypothetical.process.Moments(ctx, tmp, nil, x)
	}
	linalg.Axpy(eta, zeta, tmp)
	return gp.Marked(ctx, err)
}

// estimateGaps bounds D_i by what the posterior leaves possible.
func (t *evaluation) estimateGaps(ctx context.Context, beta float64) ([]float64, error) {
	gaps := make([]float64, len(t.prior.sources))
	for i, s := range t.prior.sources {
		mean, sd := make([]float64, len(s.y)), make([]float64, len(s.y))
		if err := t.Predict(ctx, mean, sd, s.x); err != nil {
			return nil, err
		}
		for j, y := range s.y {
			gaps[i] = max(gaps[i], math.Abs(mean[j]-y)+beta*sd[j])
		}
	}
	return gaps, nil
}

// informationGain returns ½·ln det(I + D⁻½·K0·D⁻½), D the noise variances.
func (r *Surrogate) informationGain() (float64, error) {
	n := len(r.obs)
	k := linalg.NewSym(n, nil)
	for i, e := range r.obs {
		for j, f := range r.obs[:i+1] {
			v := r.cov(e, f) / math.Sqrt(r.noises[i]) / math.Sqrt(r.noises[j])
			if i == j {
				v++
			}
			k.Set(i, j, v)
		}
	}
	var c linalg.Cholesky
	if err := c.Factorize(k); err != nil {
		return 0, wrap(err, "information gain of %d observations", n)
	}
	return c.LogDet() / 2, nil
}

// greedyGain bounds the largest information gain of n points by the greedy one over 1−1/e (A.
// Krause, A. Singh and C. Guestrin, Near-optimal sensor placements in Gaussian processes, JMLR 9
// (2008) 235-284), over the candidates or, in a parameter space, the index set.
func (r *Surrogate) greedyGain(ctx context.Context, n int) (float64, error) {
	x := cmp.Or(r.candidates, r.prior.index)
	rows, dim := x.Dims()
	mean, variance := make([]float64, rows), make([]float64, rows)
	var cross linalg.Dense
	if err := r.priorAt(ctx, mean, variance, &cross, nil, x); err != nil {
		return 0, err
	}
	whitened := make([][]float64, 0, n) // rows of L⁻¹·k0(chosen, x)
	var gain float64
	for range n {
		best := slices.Index(variance, slices.Max(variance))
		gain += math.Log1p(variance[best]/r.noise) / 2
		point := x.View(best, 0, 1, dim)
		col := make([]float64, rows)
		for i, w := range r.w {
			if err := r.prior.prototypes[i].evaluator.at(ctx, r.prior.config.workers, nil, nil, &cross, &point, x); err != nil {
				return 0, err
			}
			linalg.Axpy(col, w*w, cross.Row(0))
		}
		for _, u := range whitened {
			linalg.Axpy(col, -u[best], u)
		}
		pivot := math.Sqrt(variance[best] + r.noise)
		for k := range col {
			col[k] /= pivot
			variance[k] = max(variance[k]-col[k]*col[k], 0)
		}
		whitened = append(whitened, col)
	}
	return gain / (1 - 1/math.E), nil
}
