package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// Posteriors holds the tasks' posteriors on the clustering points in the form
// that k-means on thousands of tasks can keep: packed lower triangles of n
// points, 4 n² bytes each for the covariance and its Cholesky factor.
type Posteriors struct {
	n       int // points
	means   [][]float64
	covs    [][]float64 // packed
	factors [][]float64 // packed Cholesky factors
	sds     [][]float64 // standard deviations of the points
	traces  []float64
}

// NewPosteriors makes space for those of a number of tasks on a number of
// points.
func NewPosteriors(tasks, points int) *Posteriors {
	return &Posteriors{
		n:     points,
		means: make([][]float64, tasks), covs: make([][]float64, tasks),
		factors: make([][]float64, tasks), sds: make([][]float64, tasks), traces: make([]float64, tasks),
	}
}

// Put stores the posterior of task j and returns the jitter that its covariance
// needed to be factorised, an amount that it adds to cov. It keeps mean and
// copies cov; c is memory for the factor. Different tasks may be put by
// different goroutines at the same time.
func (p *Posteriors) Put(j int, mean []float64, cov *linalg.Sym, c *linalg.Cholesky) (jitter float64, err error) {
	jitter, err = c.FactorizeJitter(cov, gaussian.MaxJitter)
	if err != nil {
		return jitter, err
	}
	cov.AddDiag(jitter)
	p.means[j] = mean
	p.covs[j] = packSym(cov)
	p.factors[j] = packLower(c.Lower())
	p.sds[j] = rowNorms(p.factors[j], p.n)
	p.traces[j] = cov.Trace()
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

// RelativeJitter times the largest mean variance of all the Gaussians compared
// is added to both covariances of a Jeffreys divergence: one amount for all, so
// that divergences compare and inverses can be kept.
const RelativeJitter = 1e-6

// Wasserstein returns the tasks as points for k-means in the 2-Wasserstein
// distance, on up to so many goroutines.
func (p *Posteriors) Wasserstein(workers int) *GaussianGeometry {
	return &GaussianGeometry{Posteriors: p, scratch: make([]geometryScratch, parallel.Workers(workers, len(p.means)*len(p.means)))}
}

// Jeffreys returns the tasks as points for k-means in the Jeffreys divergence.
// It inverts their covariances, and fails if one is singular in spite of the
// jitter.
func (p *Posteriors) Jeffreys(ctx context.Context, workers int) (*GaussianGeometry, error) {
	g := p.Wasserstein(workers)
	g.jeffreys = true
	g.jitter = RelativeJitter * max(0, slices.Max(p.traces)) / float64(p.n)
	g.inverses = make([][]float64, len(p.means))
	return g, parallel.For(ctx, workers, len(p.means), func(w, j int) (err error) {
		g.inverses[j], err = g.invert(&g.scratch[w], g.covs[j])
		return err
	})
}

// GaussianGeometry is a [Geometry] of posteriors.
type GaussianGeometry struct {
	*Posteriors
	jeffreys bool        // else Wasserstein
	jitter   float64     // Jeffreys: absolute
	inverses [][]float64 // Jeffreys: packed
	scratch  []geometryScratch
}

type geometryScratch struct {
	work multivariate.Workspace
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

func (g *GaussianGeometry) size() int    { return len(g.means) }
func (g *GaussianGeometry) metric() bool { return !g.jeffreys }

func (g *GaussianGeometry) cost(d float64) float64 {
	if !g.jeffreys {
		return d * d
	}
	return d
}

func (g *GaussianGeometry) point(j int) center {
	c := &gaussianCenter{mean: g.means[j], cov: g.covs[j], factor: g.factors[j], sds: g.sds[j], trace: g.traces[j]}
	if g.jeffreys {
		c.inverse = g.inverses[j]
	}
	return c
}

// mean takes the arithmetic means of means and covariances (paper, equation 9).
func (g *GaussianGeometry) mean(w int, members []int) (center, error) {
	n := g.n
	s := &g.scratch[w]
	c := &gaussianCenter{mean: make([]float64, n)}
	cov := s.cov
	if size := n * (n + 1) / 2; g.jeffreys || cap(cov) < size {
		cov = make([]float64, size)
	}
	clear(cov)
	share := 1 / float64(len(members))
	for _, j := range members {
		linalg.Axpy(c.mean, share, g.means[j])
		linalg.Axpy(cov, share, g.covs[j])
	}
	var err error
	if g.jeffreys {
		c.cov = cov
		c.inverse, err = g.invert(s, cov)
		return c, err
	}
	s.cov = cov
	unpackSym(&s.sym, cov, n)
	if _, err := s.chol.FactorizeJitter(&s.sym, gaussian.MaxJitter); err != nil {
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
func (g *GaussianGeometry) invert(s *geometryScratch, cov []float64) ([]float64, error) {
	n := g.n
	unpackSym(&s.sym, cov, n)
	if err := s.chol.FactorizeShift(&s.sym, g.jitter); err != nil {
		return nil, fmt.Errorf("inverse with jitter %g: %w", g.jitter, err)
	}
	s.chol.InverseLowerTo(&s.sym)
	return packSym(&s.sym), nil
}

func (g *GaussianGeometry) distance(w, j int, c center) (float64, error) {
	gc := c.(*gaussianCenter)
	s := &g.scratch[w]
	if g.jeffreys {
		return s.divergence(g.means[j], g.covs[j], g.inverses[j], gc.mean, gc.cov, gc.inverse), nil
	}
	n := g.n
	unpackLower(&s.l, g.factors[j], n)
	unpackLower(&s.l2, gc.factor, n)
	d, err := s.work.W2SquaredFactors(g.means[j], &s.l, gc.mean, &s.l2)
	return math.Sqrt(d), err
}

// Pair returns the distance of tasks j and k; w names the goroutine.
func (g *GaussianGeometry) Pair(w, j, k int) (float64, error) { return g.distance(w, j, g.point(k)) }

// lower is the distance of the marginals: for each point on its own the best
// coupling costs no more than any joint one.
func (g *GaussianGeometry) lower(j int, c center) float64 {
	if g.jeffreys {
		return 0
	}
	gc := c.(*gaussianCenter)
	return math.Sqrt(linalg.SqDist(g.means[j], gc.mean) + linalg.SqDist(g.sds[j], gc.sds))
}

// upper is what one coupling costs, both driven by the same normal variables through their
// Cholesky factors: the squared distance of the factors, from their squared norms, the traces,
// with what rounding may have taken off, a fraction of n² units of the traces' sum.
func (g *GaussianGeometry) upper(j int, c center) float64 {
	if g.jeffreys {
		return math.Inf(1)
	}
	gc := c.(*gaussianCenter)
	p, q, size := g.factors[j], gc.factor, g.traces[j]+gc.trace
	d := size - 2*linalg.Dot(p, q) + float64(len(p))*0x1p-52*size
	return math.Sqrt(linalg.SqDist(g.means[j], gc.mean) + max(d, 0))
}

// slack allows for covariances that are singular to rounding ε, whose distances
// err by the square root of n·ε·tr.
func (g *GaussianGeometry) slack() float64 {
	n := g.n
	return 4 * math.Sqrt(float64(n)*0x1p-52*slices.Max(g.traces))
}

// divergence returns ½⟨Q−P, S−T⟩ + ½·dmᵀ(P+Q)dm for packed covariances S, T and
// inverses P, Q: never a difference of traces, and 0 for equal arguments. What
// rounding pushed below 0 is 0.
func (s *geometryScratch) divergence(ma, cov, inv, mb, covB, invB []float64) float64 {
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
