package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// hyperBOPlus is HyperBO+: a(x) = Σ_s p_s·a_s(x) over draws θ_s of laws that are fitted to the parameters
// of the tasks' processes, p_s ∝ p(y | X, θ_s). See METHODS.md.
type hyperBOPlus struct {
	dim, samples            int
	template                kernel.Kernel
	mean, sd                float64 // of c
	length, variance, noise gammaLaw
}

// learnHyperBOPlus fits the laws of the parameters.
var learnHyperBOPlus = fromTasks(config{method: "HyperBO+", ard: true, samples: 100}, trainHyperBOPlus)

func trainHyperBOPlus(ctx context.Context, dim int, obs []observations, c *config) (*hyperBOPlus, error) {
	b, err := learnPast(ctx, dim, obs, c)
	if err != nil {
		return nil, err
	}
	m := &hyperBOPlus{dim: b.dim, samples: c.samples, template: c.template(b.dim)}
	var consts, lengths, variances, noises []float64
	for _, s := range b.sources {
		mean, err := leastSquaresMean(s)
		if err != nil {
			return nil, sourceError(ctx, numerical(ctx, err, "constant mean"), s.id)
		}
		theta := s.h.Kernel.AppendParams(nil)
		consts = append(consts, mean)
		variances = append(variances, math.Exp(theta[0]))
		for _, l := range theta[1:] {
			lengths = append(lengths, math.Exp(l))
		}
		noises = append(noises, s.h.NoiseVariance)
	}
	m.mean, m.sd = meanVariance(consts)
	m.sd = math.Sqrt(m.sd)
	m.length, m.variance, m.noise = fitGamma(lengths), fitGamma(variances), fitGamma(noises)
	return m, nil
}

// leastSquaresMean returns 1ᵀA⁻¹y/1ᵀA⁻¹1 for a source with covariance A.
func leastSquaresMean(s *source) (float64, error) {
	alpha := make([]float64, len(s.z))
	var inverse linalg.Sym
	if err := s.post.Data().Precision(alpha, &inverse); err != nil {
		return 0, err
	}
	var num, den float64
	for i, v := range alpha {
		num += v
		for _, q := range inverse.Row(i) {
			den += q
		}
	}
	return num / den, nil
}

// Surrogate returns the surrogate of one run, for which seed draws the
// parameters. It is a [cmbo.Scorer].
func (m *hyperBOPlus) Surrogate(seed uint64) cmbo.Surrogate {
	r := &hierarchyRun{run: run{dim: m.dim, seed: seed}}
	clip := func(v, lo, hi float64) float64 { return math.Log(min(max(v, lo), hi)) }
	for s := range m.samples {
		src := rng.Stream(seed, "baseline hierarchy", uint64(s))
		theta := m.template.AppendParams(nil)
		mean := m.mean + m.sd*src.NormFloat64()
		theta[0] = clip(m.variance.draw(src), minVariance, maxVariance)
		for i := range theta[1:] {
			theta[1+i] = clip(m.length.draw(src), minLength, maxLength)
		}
		noise := math.Exp(clip(m.noise.draw(src), minNoise, maxNoise))
		k, err := m.template.WithParams(theta)
		if err != nil {
			k = m.template // not for parameters within the bounds
		}
		r.members = append(r.members, newPriorRun(m.dim, seed, gp.FromKernel{Kernel: k, Mean: mean}, noise))
	}
	return r
}

type hierarchyRun struct {
	run
	members []*priorRun
	active  []*priorRun
	p       []float64 // of the active ones

	cand     *linalg.Dense // bound candidates
	mean, sd [][]float64   // of the active ones at cand, nil if not known yet
}

// minWeight is the smallest weight, relative to the largest, with which a draw
// takes part.
const minWeight = 1e-9

// Bind lets Score use what Predict computed at the candidates.
func (r *hierarchyRun) Bind(_ context.Context, candidates *linalg.Dense) error {
	r.cand = candidates
	return nil
}

func (r *hierarchyRun) Fit(ctx context.Context, d cmbo.Data) error {
	r.mean, r.sd = nil, nil
	r.active, r.p = nil, nil
	if err := r.take(d); err != nil {
		return err
	}
	var logs []float64
	var alive []*priorRun
	var last error
	for _, m := range r.members {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.Fit(ctx, r.d); err != nil {
			last = err // a draw under which the data is impossible
			continue
		}
		logs, alive = append(logs, m.post.Data().LogMarginal()), append(alive, m)
	}
	if len(alive) == 0 {
		return last
	}
	top := slices.Max(logs)
	for i, l := range logs {
		if w := math.Exp(l - top); w >= minWeight {
			r.active, r.p = append(r.active, alive[i]), append(r.p, w)
		}
	}
	normalise(r.p)
	r.has = true
	return nil
}

// moments returns the means and deviations under each active draw.
func (r *hierarchyRun) moments(ctx context.Context, x *linalg.Dense) (mean, sd [][]float64, err error) {
	if x == r.cand && r.mean != nil {
		return r.mean, r.sd, nil
	}
	n := points.Len(x)
	for _, m := range r.active {
		mu, s := make([]float64, n), make([]float64, n)
		if err := m.Predict(ctx, mu, s, x); err != nil {
			return nil, nil, err
		}
		mean, sd = append(mean, mu), append(sd, s)
	}
	if x == r.cand {
		r.mean, r.sd = mean, sd
	}
	return mean, sd, nil
}

func (r *hierarchyRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	if err := r.ready(ctx, x, mean, sd); err != nil {
		return err
	}
	ms, ss, err := r.moments(ctx, x)
	if err != nil {
		return err
	}
	clear(mean)
	for i, p := range r.p {
		linalg.Axpy(mean, p, ms[i])
	}
	clear(sd)
	for i, p := range r.p {
		for j, m := range ms[i] {
			d, s := m-mean[j], ss[i][j]
			sd[j] += p * (s*s + d*d)
		}
	}
	gp.Deviations(sd)
	return nil
}

// Score writes the weighted acquisition: in logarithms for expected improvement
// and for the probability of improvement, whose scores are not additive.
func (r *hierarchyRun) Score(ctx context.Context, dst []float64, x *linalg.Dense, f acq.Func, _ float64) error {
	if err := r.ready(ctx, x, dst); err != nil {
		return err
	}
	if f == nil {
		return optionErrorf("a nil acquisition")
	}
	ms, ss, err := r.moments(ctx, x)
	if err != nil {
		return err
	}
	var logarithm func(score float64) float64
	switch f.(type) {
	case acq.EI:
		logarithm = func(score float64) float64 { return score }
	case acq.PI:
		logarithm = special.NormLogCDF
	}
	terms := make([]float64, len(r.p))
	for j := range dst {
		if logarithm == nil {
			dst[j] = 0
			for i, p := range r.p {
				dst[j] += p * f.Score(ms[i][j], ss[i][j])
			}
			continue
		}
		for i, p := range r.p {
			terms[i] = math.Log(p) + logarithm(f.Score(ms[i][j], ss[i][j]))
		}
		dst[j] = logSumExp(terms)
	}
	return nil
}

// NoiseVariance returns the weighted mean of the noise variances.
func (r *hierarchyRun) NoiseVariance() float64 {
	var v float64
	for i, p := range r.p {
		v += p * r.active[i].noiseVariance
	}
	return v
}

// logSumExp returns log Σ e^v.
func logSumExp(v []float64) float64 {
	top := slices.Max(v)
	if math.IsInf(top, 0) || math.IsNaN(top) {
		return top
	}
	var s float64
	for _, x := range v {
		s += math.Exp(x - top)
	}
	return top + math.Log(s)
}
