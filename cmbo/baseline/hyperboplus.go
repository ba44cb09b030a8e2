package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
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
var learnHyperBOPlus = fromTasks(config{method: "HyperBO+", varied: true, ard: true, samples: 100}, trainHyperBOPlus)

func trainHyperBOPlus(ctx context.Context, dim int, obs []observations, c *config) (*hyperBOPlus, error) {
	p, err := learnPast(ctx, dim, obs, c)
	if err != nil {
		return nil, err
	}
	m := &hyperBOPlus{dim: dim, samples: c.samples, template: c.template(dim)}
	var consts, lengths, variances, noises []float64
	for _, s := range p.sources {
		mean, err := leastSquaresMean(s)
		if err != nil {
			return nil, sourceError(ctx, gp.Numerical(ctx, err, "constant mean"), s.ID)
		}
		theta := s.h.Kernel.AppendParams(nil)
		consts = append(consts, mean)
		variances = append(variances, math.Exp(theta[0]))
		lengths = append(lengths, each.Of(theta[1:], math.Exp)...)
		noises = append(noises, s.h.NoiseVariance)
	}
	m.mean, m.sd = stat.MeanVariance(consts)
	m.sd = math.Sqrt(m.sd)
	m.length, m.variance, m.noise = fitGamma(lengths), fitGamma(variances), fitGamma(noises)
	return m, nil
}

// leastSquaresMean returns 1ᵀA⁻¹y/1ᵀA⁻¹1 for a source with covariance A.
func leastSquaresMean(s *source) (float64, error) {
	alpha := make([]float64, len(s.Z))
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

// Surrogate returns the surrogate of one run, for which seed draws the parameters. It is a [cmbo.Scorer].
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
		k, _ := m.template.WithParams(theta) // within their bounds all are taken
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

// minWeight is the smallest weight, relative to the largest, with which a draw takes part.
const minWeight = 1e-9

// Bind lets Score use what Predict computed at the candidates.
func (r *hierarchyRun) Bind(_ context.Context, candidates *linalg.Dense) error {
	r.cand = candidates
	return nil
}

func (r *hierarchyRun) Fit(ctx context.Context, d cmbo.Data) error {
	r.mean, r.sd, r.active, r.p = nil, nil, nil, nil
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
	stat.Normalise(r.p)
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
		return gp.OptionErrorf("a nil acquisition")
	}
	ms, ss, err := r.moments(ctx, x)
	if err != nil {
		return err
	}
	logarithm, terms := acq.Logarithm(f), make([]float64, len(r.p))
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

// gammaLaw is a Gamma distribution with location 0: density proportional to x^(shape−1)·e^(−x/scale).
type gammaLaw struct{ shape, scale float64 }

// maxShape stands for a shape beyond measure, where all values are (nearly) equal.
const maxShape = 1e4

// fitGamma returns the law of maximum likelihood for positive values: its shape a solves
//
//	ln a − ψ(a) = ln(mean of v) − mean of ln v,
//
// ψ the digamma function, by Newton's method in ln a from the approximation of
// T. P. Minka, Estimating a Gamma distribution (2002); its scale is mean/a.
func fitGamma(v []float64) gammaLaw {
	var mean, logs float64
	for _, x := range v {
		mean += x / float64(len(v))
		logs += math.Log(x) / float64(len(v))
	}
	s := math.Log(mean) - logs
	if !(s > 1/(2*maxShape)) {
		return gammaLaw{shape: maxShape, scale: mean / maxShape}
	}
	a := (3 - s + math.Sqrt((s-3)*(s-3)+24*s)) / (12 * s)
	for range 50 {
		// d/d ln a of ln a − ψ(a) is 1 − a·ψ′(a) < 0.
		step := (math.Log(a) - digamma(a) - s) / (1 - a*trigamma(a))
		a *= math.Exp(-min(max(step, -1), 1))
		if math.Abs(step) < 1e-12 {
			break
		}
	}
	a = min(a, maxShape)
	return gammaLaw{shape: a, scale: mean / a}
}

// draw returns a value of the law, by the method of G. Marsaglia and W. W. Tsang,
// A simple method for generating gamma variables, ACM TOMS 26 (2000) 363–372.
func (g gammaLaw) draw(r *rand.Rand) float64 {
	a, boost := g.shape, 1.0
	if a < 1 {
		boost = math.Pow(r.Float64(), 1/a)
		a++
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := r.Float64(); math.Log(u) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return g.scale * boost * d * v
		}
	}
}

// digamma returns ψ(x) for x > 0: the asymptotic series beyond 10, with error
// below 1e-14, and the recurrence ψ(x) = ψ(x+1) − 1/x below.
func digamma(x float64) float64 {
	var sum float64
	for ; x < 10; x++ {
		sum -= 1 / x
	}
	f := 1 / (x * x)
	series := f * (1.0/12 - f*(1.0/120-f*(1.0/252-f*(1.0/240-f*(1.0/132-f*(691.0/32760-f/12))))))
	return sum + math.Log(x) - 0.5/x - series
}

// trigamma returns ψ′(x) for x > 0 likewise.
func trigamma(x float64) float64 {
	var sum float64
	for ; x < 10; x++ {
		sum += 1 / (x * x)
	}
	f := 1 / (x * x)
	series := f / x * (1.0/6 - f*(1.0/30-f*(1.0/42-f*(1.0/30-f*(5.0/66-f*(691.0/2730-f*7.0/6))))))
	return sum + 1/x + 0.5*f + series
}
