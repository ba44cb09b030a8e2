package cmbo

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// posteriors holds the tasks' posteriors on the clustering points in the form
// that k-means on thousands of tasks can keep: packed lower triangles of n
// points, 4 n² bytes each for the covariance and its Cholesky factor.
type posteriors struct {
	x       *linalg.Dense // the points
	means   [][]float64
	covs    [][]float64 // packed
	factors [][]float64 // packed Cholesky factors
	sds     [][]float64 // standard deviations of the points
	traces  []float64
}

func newPosteriors(tasks int, x *linalg.Dense) *posteriors {
	return &posteriors{
		x:     x,
		means: make([][]float64, tasks), covs: make([][]float64, tasks),
		factors: make([][]float64, tasks), sds: make([][]float64, tasks), traces: make([]float64, tasks),
	}
}

// posteriorScratch is one worker's memory for set.
type posteriorScratch struct {
	sourceScratch
	cov  linalg.Sym
	chol linalg.Cholesky
}

// set stores the posterior of task j and returns the jitter it needed.
func (p *posteriors) set(j int, s *source, sc *posteriorScratch) (float64, error) {
	n, _ := p.x.Dims()
	p.means[j] = make([]float64, n)
	if err := s.jointTo(p.means[j], &sc.cov, p.x, &sc.sourceScratch); err != nil {
		return 0, err
	}
	jitter, err := sc.chol.FactorizeJitter(&sc.cov, carrierJitter)
	if err != nil {
		return jitter, numerical(err, "task %q: posterior on %d clustering points", s.id, n)
	}
	sc.cov.AddDiag(jitter)
	p.covs[j] = packSym(&sc.cov)
	p.factors[j] = packLower(sc.chol.Lower())
	p.sds[j] = rowNorms(p.factors[j], n)
	p.traces[j] = sc.cov.Trace()
	return jitter, nil
}

func packSym(s *linalg.Sym) []float64 {
	n := s.Dim()
	out := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, s.Row(i)[:i+1]...)
	}
	return out
}

func packLower(l *linalg.Dense) []float64 {
	n, _ := l.Dims()
	out := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, l.Row(i)[:i+1]...)
	}
	return out
}

// rowNorms returns the norms of the rows of a packed triangle, the standard
// deviations that belong to a factor.
func rowNorms(packed []float64, n int) []float64 {
	out := make([]float64, n)
	k := 0
	for i := range out {
		r := packed[k : k+i+1]
		out[i] = math.Sqrt(linalg.Dot(r, r))
		k += i + 1
	}
	return out
}

// unpackLower writes a packed triangle to an n×n matrix and zeros above it.
func unpackLower(dst *linalg.Dense, packed []float64, n int) {
	dst.Resize(n, n)
	k := 0
	for i := range n {
		r := dst.Row(i)
		copy(r, packed[k:k+i+1])
		clear(r[i+1:])
		k += i + 1
	}
}

// geometry returns the tasks as points for k-means.
func (p *posteriors) geometry(d Distance, workers int) *posteriorGeometry {
	g := &posteriorGeometry{posteriors: p, d: d}
	n := len(p.means)
	g.scratch = make([]geometryScratch, parallel.Workers(workers, n*n))
	if d == Jeffreys {
		top := 0.0
		for _, t := range p.traces {
			top = max(top, t)
		}
		rows, _ := p.x.Dims()
		g.jitter = jeffreysJitter * top / float64(rows)
		g.inverses = make([][]float64, n)
	}
	return g
}

// jeffreysJitter times the largest mean variance of all the posteriors compared
// is added to both covariances of a Jeffreys divergence: one amount for all, so
// that divergences compare and inverses can be kept.
const jeffreysJitter = 1e-6

// posteriorGeometry is a [geometry] of posteriors.
type posteriorGeometry struct {
	*posteriors
	d        Distance
	jitter   float64     // Jeffreys: absolute
	inverses [][]float64 // Jeffreys: packed, made when first asked for by invert
	scratch  []geometryScratch
}

type geometryScratch struct {
	work gaussian.Workspace
	l    linalg.Dense
	l2   linalg.Dense
	dm   []float64
	cov  []float64
	sym  linalg.Sym
	chol linalg.Cholesky
}

// gaussianCenter is a centre in both forms a distance may want.
type gaussianCenter struct {
	mean    []float64
	cov     []float64 // Jeffreys: packed
	inverse []float64 // Jeffreys: packed inverse of the jittered covariance
	factor  []float64 // Wasserstein: packed Cholesky factor
	sds     []float64 // Wasserstein: standard deviations of the points
	trace   float64   // Wasserstein: of the covariance
}

func (g *posteriorGeometry) size() int    { return len(g.means) }
func (g *posteriorGeometry) metric() bool { return g.d == Wasserstein }

func (g *posteriorGeometry) cost(d float64) float64 {
	if g.d == Wasserstein {
		return d * d
	}
	return d
}

func (g *posteriorGeometry) point(j int) center {
	c := &gaussianCenter{mean: g.means[j], cov: g.covs[j], factor: g.factors[j], sds: g.sds[j], trace: g.traces[j]}
	if g.d == Jeffreys {
		c.inverse = g.inverses[j]
	}
	return c
}

// mean takes the arithmetic means of means and covariances (paper, equation 9).
func (g *posteriorGeometry) mean(w int, members []int) (center, error) {
	n, _ := g.x.Dims()
	s := &g.scratch[w]
	c := &gaussianCenter{mean: make([]float64, n)}
	cov := s.cov
	if size := n * (n + 1) / 2; g.d == Jeffreys || cap(cov) < size {
		cov = make([]float64, size)
	}
	clear(cov)
	share := 1 / float64(len(members))
	for _, j := range members {
		linalg.Axpy(c.mean, share, g.means[j])
		linalg.Axpy(cov, share, g.covs[j])
	}
	var err error
	if g.d == Jeffreys {
		c.cov = cov
		c.inverse, err = g.invert(s, cov)
		return c, err
	}
	s.cov = cov
	unpackSym(&s.sym, cov, n)
	if _, err := s.chol.FactorizeJitter(&s.sym, carrierJitter); err != nil {
		return nil, fmt.Errorf("centre of a cluster: %w", err)
	}
	c.factor = packLower(s.chol.Lower())
	c.sds = rowNorms(c.factor, n)
	c.trace = linalg.Dot(c.sds, c.sds)
	return c, nil
}

// unpackSym writes a packed lower triangle to a symmetric matrix.
func unpackSym(dst *linalg.Sym, packed []float64, n int) {
	dst.Resize(n)
	k := 0
	for i := range n {
		copy(dst.Row(i)[:i+1], packed[k:k+i+1])
		k += i + 1
	}
	dst.Mirror()
}

// invert returns the packed inverse of a covariance with the jitter added.
func (g *posteriorGeometry) invert(s *geometryScratch, cov []float64) ([]float64, error) {
	n, _ := g.x.Dims()
	unpackSym(&s.sym, cov, n)
	if err := s.chol.FactorizeShift(&s.sym, g.jitter); err != nil {
		return nil, fmt.Errorf("inverse with jitter %g: %w", g.jitter, err)
	}
	s.chol.InverseLowerTo(&s.sym)
	return packSym(&s.sym), nil
}

// prepare computes the inverses of all tasks that Jeffreys divergences need.
func (g *posteriorGeometry) prepare(w, j int) (err error) {
	if g.d == Jeffreys {
		g.inverses[j], err = g.invert(&g.scratch[w], g.covs[j])
	}
	return err
}

func (g *posteriorGeometry) distance(w, j int, c center) (float64, error) {
	gc := c.(*gaussianCenter)
	s := &g.scratch[w]
	if g.d == Jeffreys {
		return s.jeffreys(g.means[j], g.covs[j], g.inverses[j], gc.mean, gc.cov, gc.inverse), nil
	}
	n, _ := g.x.Dims()
	unpackLower(&s.l, g.factors[j], n)
	unpackLower(&s.l2, gc.factor, n)
	d, err := s.work.W2SquaredFactors(g.means[j], &s.l, gc.mean, &s.l2)
	return math.Sqrt(d), err
}

// pair returns the Wasserstein distance of two tasks.
func (g *posteriorGeometry) pair(w, j, k int) (float64, error) {
	s := &g.scratch[w]
	n, _ := g.x.Dims()
	unpackLower(&s.l, g.factors[j], n)
	unpackLower(&s.l2, g.factors[k], n)
	d, err := s.work.W2SquaredFactors(g.means[j], &s.l, g.means[k], &s.l2)
	return math.Sqrt(d), err
}

// lower is the distance of the marginals: for each point on its own the best
// coupling is no dearer than what it costs in any joint one.
func (g *posteriorGeometry) lower(j int, c center) float64 {
	if g.d == Jeffreys {
		return 0
	}
	gc := c.(*gaussianCenter)
	return marginalDistance(g.means[j], g.sds[j], gc.mean, gc.sds)
}

// upper is what one coupling costs: both driven by the same normal variables
// through their Cholesky factors.
func (g *posteriorGeometry) upper(j int, c center) float64 {
	if g.d == Jeffreys {
		return math.Inf(1)
	}
	gc := c.(*gaussianCenter)
	return couplingDistance(g.means[j], g.factors[j], g.traces[j], gc.mean, gc.factor, gc.trace)
}

func (g *posteriorGeometry) apart(a, b center) (lower, upper float64) {
	p, q := a.(*gaussianCenter), b.(*gaussianCenter)
	return marginalDistance(p.mean, p.sds, q.mean, q.sds),
		couplingDistance(p.mean, p.factor, p.trace, q.mean, q.factor, q.trace)
}

func marginalDistance(mp, sp, mq, sq []float64) float64 {
	return math.Sqrt(linalg.SqDist(mp, mq) + linalg.SqDist(sp, sq))
}

// couplingDistance computes ‖lp − lq‖² from the traces, the squared norms of the
// factors, and adds what rounding may have taken off: a fraction of len(lp) units
// of the traces' sum.
func couplingDistance(mp, lp []float64, tp float64, mq, lq []float64, tq float64) float64 {
	d := tp + tq - 2*linalg.Dot(lp, lq) + float64(len(lp))*0x1p-52*(tp+tq)
	return math.Sqrt(linalg.SqDist(mp, mq) + math.Max(d, 0))
}

// slack allows for covariances that are singular to rounding ε, whose distances
// err by the square root of n·ε·tr.
func (g *posteriorGeometry) slack() float64 {
	n, _ := g.x.Dims()
	return 4 * math.Sqrt(float64(n)*0x1p-52*slices.Max(g.traces))
}

// jeffreys returns ½⟨Q−P, S−T⟩ + ½·dmᵀ(P+Q)dm for packed covariances S, T and
// inverses P, Q: never a difference of traces, and 0 for equal arguments. What
// rounding pushed below 0 is 0.
func (s *geometryScratch) jeffreys(ma, cov, inv, mb, covB, invB []float64) float64 {
	n := len(ma)
	if cap(s.dm) < n {
		s.dm = make([]float64, n)
	}
	dm := s.dm[:n]
	for i := range dm {
		dm[i] = ma[i] - mb[i]
	}
	var sum float64
	k := 0
	for i := range n {
		a, p := cov[k:k+i+1], inv[k:k+i+1]
		b, q := covB[k:k+i+1], invB[k:k+i+1]
		var inner, quad float64
		for j := range i {
			inner += (q[j] - p[j]) * (a[j] - b[j])
			quad += (p[j] + q[j]) * dm[j]
		}
		sum += 2*inner + (q[i]-p[i])*(a[i]-b[i])
		sum += dm[i] * (2*quad + (p[i]+q[i])*dm[i])
		k += i + 1
	}
	return max(sum/2, 0)
}
