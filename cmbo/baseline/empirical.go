package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// empiricalGP is EM-EGP: mean m and covariance C of the tasks on a grid Z, which EM finds, are carried off it
// by the difference from a base process, m(x) = c + B(x)·(m − c), k(x, x′) = k_b(x, x′) +
// B(x)·(C − k_b(Z, Z))·B(x′)ᵀ, B(x) = k_b(x, Z)·k_b(Z, Z)⁻¹. See METHODS.md.
type empiricalGP struct {
	dim   int
	base  hierarchy.Base
	grid  *linalg.Dense
	row   map[string]int  // grid points by their coordinates
	chol  linalg.Cholesky // of k_b(Z, Z)
	gram  *linalg.Sym     // k_b(Z, Z)
	mean  []float64       // m
	cov   *linalg.Sym     // C
	shift []float64       // m − c
	delta *linalg.Sym     // C − k_b(Z, Z)
	lists memo[*features]

	fitNoise bool // whether runs fit the noise variance
}

var learnEmpiricalGP = fromTasks(config{method: "EM-EGP", ard: true}, trainEmpiricalGP)

func trainEmpiricalGP(ctx context.Context, dim int, obs []observations, c *config) (*empiricalGP, error) {
	base, err := pretrain(ctx, c.template(dim), obs, c)
	if err != nil {
		return nil, err
	}
	m, err := newEmpiricalGP(ctx, base, gridOf(obs, c))
	if err != nil {
		return nil, err
	}
	m.fitNoise = c.noiseFit
	if c.oas {
		c.shrinkage = 0
	}
	if err := m.expectMaximize(ctx, obs, c); err != nil {
		return nil, err
	}
	if c.oas {
		// Towards the base kernel's matrix of the same trace.
		share, trace := oas(m.cov, len(obs)), m.cov.Trace()
		m.cov.Scale(1 - share)
		m.cov.AddScaled(share*trace/m.gram.Trace(), m.gram)
		m.settle()
	}
	return m, nil
}

// fitsNoise makes EM-EGP a method whose runs fit the noise variance: see fitNoise.
func fitsNoise(c *config) error { c.method, c.noiseFit = "EM-EGP-noisefit", true; return nil }

// shrinksByOAS makes EM-EGP a method that draws C to the base kernel's matrix once, after
// EM, by the share of the oracle approximating shrinkage estimator.
func shrinksByOAS(c *config) error { c.method, c.oas = "EM-EGP-OAS", true; return nil }

// oas returns the share of the oracle approximating shrinkage estimator for a sample covariance S of t draws in p dimensions,
//
//	ρ = ((1 − 2/p)·tr S² + tr² S)/((t + 1 − 2/p)·(tr S² − tr² S/p)),
//
// at most 1. It is the best share towards tr S/p·I where draws are normal; here S is what
// EM found of tasks that are known in part, and the base kernel's matrix stands for I.
//
// Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, Shrinkage algorithms for MMSE
// covariance estimation, IEEE Trans. Signal Processing 58 (2010).
func oas(s *linalg.Sym, t int) float64 {
	p := float64(s.Dim())
	trace, square := s.Trace(), 0.0
	for i := range s.Dim() {
		row := s.Row(i)
		square += linalg.Dot(row, row)
	}
	rho := ((1-2/p)*square + trace*trace) / ((float64(t) + 1 - 2/p) * (square - trace*trace/p))
	if !(rho >= 0 && rho <= 1) {
		return 1 // S is a multiple of I, but for rounding
	}
	return rho
}

// expectMaximize runs EM from the base process.
func (m *empiricalGP) expectMaximize(ctx context.Context, obs []observations, c *config) error {
	moments, _, err := hierarchy.EM(ctx, m.base, m.grid, obs, c.shrinkage, c.iterations, c.workers)
	if err != nil {
		return gp.Numerical(ctx, err, "EM on %d grid points", len(m.row))
	}
	m.mean, m.cov = moments.Mean, moments.Cov
	m.settle()
	return nil
}

// gridOf returns the distinct points of the tasks, or a sample of them in their order.
func gridOf(tasks []observations, c *config) *linalg.Dense {
	xs := each.Of(tasks, func(t observations) *linalg.Dense { return t.X })
	return points.Sample(points.Distinct(xs...), c.grid, c.seed, "baseline grid")
}

// newEmpiricalGP prepares the base process on the grid.
func newEmpiricalGP(ctx context.Context, base hierarchy.Base, grid *linalg.Dense) (*empiricalGP, error) {
	_, dim := grid.Dims()
	n := points.Len(grid)
	m := &empiricalGP{dim: dim, base: base, grid: grid, row: points.Places(grid), gram: linalg.NewSym(n, nil)}
	kernel.Gram(m.gram, base.Kernel, grid)
	if _, err := m.chol.FactorizeJitter(m.gram, gaussian.MaxJitter); err != nil {
		return nil, gp.Numerical(ctx, err, "base kernel on %d grid points", n)
	}
	return m, nil
}

// settle derives what depends on the current moments.
func (m *empiricalGP) settle() {
	m.shift = each.Of(m.mean, func(v float64) float64 { return v - m.base.Mean })
	m.delta = linalg.NewSym(len(m.mean), nil)
	m.delta.Copy(m.cov)
	m.delta.AddScaled(-1, m.gram)
}

// interpolate returns B at the rows of x; those of grid points are unit vectors.
func (m *empiricalGP) interpolate(x *linalg.Dense) *linalg.Dense {
	n, g := points.Len(x), len(m.row)
	b := linalg.NewDense(n, g, nil)
	var off []int
	for i := range n {
		if r, ok := m.row[points.Key(x.Row(i))]; ok {
			b.Set(i, r, 1)
			continue
		}
		off = append(off, i)
	}
	if off == nil {
		return b
	}
	var cross linalg.Dense
	kernel.Cross(&cross, m.base.Kernel, m.grid, points.Pick(x, off))
	m.chol.SolveTo(&cross, &cross)
	for j, i := range off {
		copy(b.Row(i), column(&cross, j))
	}
	return b
}

// featuresAt returns the prior mean and B at the rows of x.
func (m *empiricalGP) featuresAt(_ context.Context, x *linalg.Dense) (*features, error) {
	f := &features{phi: m.interpolate(x), mean: make([]float64, points.Len(x))}
	for i := range f.mean {
		f.mean[i] = m.base.Mean + linalg.Dot(f.phi.Row(i), m.shift)
	}
	return f, nil
}

// Surrogate returns the surrogate of one run; nothing in it is random.
func (m *empiricalGP) Surrogate(seed uint64) cmbo.Surrogate {
	return m.run(seed)
}

func (m *empiricalGP) run(seed uint64) *empiricalRun {
	kept := kept[*features]{lists: &m.lists, compute: m.featuresAt}
	f := &featurePrior{kept: kept, kernel: m.base.Kernel, weight: m.delta, scale: 1}
	return &empiricalRun{newPriorRun(m.dim, seed, f, m.base.NoiseVariance), f, m}
}

type empiricalRun struct {
	*priorRun
	*featurePrior
	m *empiricalGP
}

// Fit conditions on the data, with a noise variance that is fitted if that is asked for.
func (r *empiricalRun) Fit(ctx context.Context, d cmbo.Data) error {
	if err := r.take(d); err != nil {
		return err
	}
	if r.m.fitNoise {
		var err error
		if r.noiseVariance, err = r.noiseOf(ctx); err != nil {
			return err
		}
	}
	return r.priorRun.Fit(ctx, d)
}

// The noise variance that is fitted: the values it is fitted to at most, the first ones, and the likelihood's prior in
// BoTorch, ln σ² ~ N(−4, 1), of which the density by σ² is maximised, with its least value.
const (
	fittedNoise  = 200
	noiseMode    = -5.0
	minLogFitted = -9.210340371976182 // ln 1e-4
	maxLogFitted = 0.0
)

// noiseOf returns the noise variance of highest posterior density given the first values,
// by golden section about the best of a grid, to .01 of its logarithm.
func (r *empiricalRun) noiseOf(ctx context.Context) (float64, error) {
	n := min(fittedNoise, len(r.d.Y))
	if n == 0 {
		return r.m.base.NoiseVariance, nil
	}
	x := points.First(r.d.X, n)
	mean, resid := make([]float64, n), append([]float64(nil), r.d.Y[:n]...)
	if err := r.Moments(ctx, mean, nil, x); err != nil {
		return 0, err
	}
	linalg.Axpy(resid, -1, mean)
	var gram linalg.Sym
	if err := r.Gram(ctx, &gram, x); err != nil {
		return 0, err
	}
	var data gp.Conditioned
	loss := func(log float64) float64 {
		if data.Factorize(&gram, gp.Noise(r.d.NoiseVariance[:n], n, math.Exp(log)), resid) != nil {
			return math.Inf(1)
		}
		return (log-noiseMode)*(log-noiseMode)/2 - data.LogMarginal()
	}
	const step = 0.5
	best, least := minLogFitted, math.Inf(1)
	for log := minLogFitted; log <= maxLogFitted; log += step {
		if l := loss(log); l < least {
			best, least = log, l
		}
	}
	lo, hi := max(best-step, minLogFitted), min(best+step, maxLogFitted)
	for hi-lo > 0.01 {
		const golden = 0.381966011250105
		a, b := lo+golden*(hi-lo), hi-golden*(hi-lo)
		if loss(a) < loss(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return math.Exp((lo + hi) / 2), ctx.Err()
}
