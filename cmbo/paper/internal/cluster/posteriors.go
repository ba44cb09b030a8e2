package cluster

import (
	"context"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// A normal is a Gaussian on the clustering points, a task's posterior or a centre. Of
// matrices it has the lower triangle, row after row.
type normal struct {
	mean    []float64
	cov     []float64
	factor  []float64 // Cholesky's, of cov with the jitter it needed
	sds     []float64 // standard deviations of the points, by factor
	trace   float64   // their squares' sum
	inverse []float64 // Jeffreys: of cov with the geometry's jitter
}

func (g *normal) setFactor(c *linalg.Cholesky) {
	l := c.Lower()
	n, _ := l.Dims()
	g.factor, g.sds = pack(n, l.Row), make([]float64, n)
	for i := range g.sds {
		g.sds[i] = linalg.Norm2(l.Row(i)[:i+1])
	}
	g.trace = linalg.Dot(g.sds, g.sds)
}

func (g *normal) unpackFactor(dst *linalg.Dense) {
	dst.Resize(len(g.mean), len(g.mean))
	dst.Zero()
	unpack(g.factor, dst.Row)
}

// Posteriors holds the tasks' posteriors on the clustering points in the form that k-means on thousands of tasks can
// keep: of n points, 4 n² bytes each for the covariance and its Cholesky factor.
type Posteriors struct {
	n     int // points
	tasks []*normal
}

// NewPosteriors makes space for those of a number of tasks on a number of points.
func NewPosteriors(tasks, points int) *Posteriors {
	return &Posteriors{points, make([]*normal, tasks)}
}

// Put stores the posterior of task j and returns the jitter that its covariance needed to be
// factorised, an amount that it adds to cov. It keeps mean and copies cov; c is memory for the
// factor. Different tasks may be put by different goroutines at the same time.
func (p *Posteriors) Put(j int, mean []float64, cov *linalg.Sym, c *linalg.Cholesky) (jitter float64, err error) {
	jitter, err = c.FactorizeJitter(cov, gaussian.MaxJitter)
	if err != nil {
		return jitter, err
	}
	cov.AddDiag(jitter)
	p.tasks[j] = &normal{mean: mean, cov: pack(p.n, cov.Row)}
	p.tasks[j].setFactor(c)
	return jitter, nil
}

func (p *Posteriors) largestTrace() (largest float64) {
	for _, t := range p.tasks {
		largest = max(largest, t.trace)
	}
	return largest
}

// pack returns the lower triangle of a matrix of n rows.
func pack(n int, row func(i int) []float64) []float64 {
	out := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, row(i)[:i+1]...)
	}
	return out
}

// unpack copies a packed triangle to the rows of a matrix.
func unpack(packed []float64, row func(i int) []float64) {
	for i := 0; len(packed) > 0; i++ {
		packed = packed[copy(row(i)[:i+1], packed):]
	}
}

// RelativeJitter times the largest mean variance of all the Gaussians compared is added to both covariances of a
// Jeffreys divergence: one amount for all, so that divergences compare and inverses can be kept.
const RelativeJitter = 1e-6

// Wasserstein returns the tasks as points for k-means in the 2-Wasserstein distance, on up to so many goroutines.
func (p *Posteriors) Wasserstein(workers int) *GaussianGeometry {
	return &GaussianGeometry{Posteriors: p,
		scratch: make([]geometryScratch, parallel.Workers(workers, len(p.tasks)*len(p.tasks)))}
}

// Jeffreys returns the tasks as points for k-means in the Jeffreys divergence. It inverts their
// covariances, and fails if one is singular in spite of the jitter.
func (p *Posteriors) Jeffreys(ctx context.Context, workers int) (*GaussianGeometry, error) {
	g := p.Wasserstein(workers)
	g.jeffreys = true
	g.jitter = RelativeJitter * p.largestTrace() / float64(p.n)
	return g, parallel.For(ctx, workers, len(p.tasks), func(w, j int) error {
		return g.invert(&g.scratch[w], p.tasks[j])
	})
}

// GaussianGeometry is a [Geometry] of posteriors.
type GaussianGeometry struct {
	*Posteriors
	jeffreys bool    // else Wasserstein
	jitter   float64 // Jeffreys: absolute
	scratch  []geometryScratch
}

type geometryScratch struct {
	work   multivariate.Workspace
	l1, l2 linalg.Dense
	dm     []float64
	sym    linalg.Sym
	chol   linalg.Cholesky
}

func (g *GaussianGeometry) size() int          { return len(g.tasks) }
func (g *GaussianGeometry) metric() bool       { return !g.jeffreys }
func (g *GaussianGeometry) point(j int) center { return g.tasks[j] }

func (g *GaussianGeometry) cost(d float64) float64 {
	if !g.jeffreys {
		return d * d
	}
	return d
}

// mean takes the arithmetic means of means and covariances (paper, equation 7).
func (g *GaussianGeometry) mean(w int, members []int) (center, error) {
	s := &g.scratch[w]
	c := &normal{mean: make([]float64, g.n), cov: make([]float64, g.n*(g.n+1)/2)}
	share := 1 / float64(len(members))
	for _, j := range members {
		linalg.Axpy(c.mean, share, g.tasks[j].mean)
		linalg.Axpy(c.cov, share, g.tasks[j].cov)
	}
	if g.jeffreys {
		return c, g.invert(s, c)
	}
	s.unpackCov(c.cov, g.n)
	if _, err := s.chol.FactorizeJitter(&s.sym, gaussian.MaxJitter); err != nil {
		return nil, fmt.Errorf("centre of a cluster: %w", err)
	}
	c.cov = nil // only divergences need it
	c.setFactor(&s.chol)
	return c, nil
}

func (s *geometryScratch) unpackCov(cov []float64, n int) {
	s.sym.Resize(n)
	unpack(cov, s.sym.Row)
	s.sym.Mirror()
}

// invert sets the inverse of a covariance with the jitter added.
func (g *GaussianGeometry) invert(s *geometryScratch, of *normal) error {
	s.unpackCov(of.cov, g.n)
	if err := s.chol.FactorizeShift(&s.sym, g.jitter); err != nil {
		return fmt.Errorf("inverse with jitter %g: %w", g.jitter, err)
	}
	s.chol.InverseLowerTo(&s.sym)
	of.inverse = pack(g.n, s.sym.Row)
	return nil
}

func (g *GaussianGeometry) distance(w, j int, c center) (float64, error) {
	a, b, s := g.tasks[j], c.(*normal), &g.scratch[w]
	if g.jeffreys {
		return s.divergence(a, b), nil
	}
	a.unpackFactor(&s.l1)
	b.unpackFactor(&s.l2)
	d, err := s.work.W2SquaredFactors(a.mean, &s.l1, b.mean, &s.l2)
	return math.Sqrt(d), err
}

// Pair returns the distance of tasks j and k; w names the goroutine.
func (g *GaussianGeometry) Pair(w, j, k int) (float64, error) { return g.distance(w, j, g.point(k)) }

// lower is the distance of the marginals: for each point on its own the best coupling costs no more than any joint one.
func (g *GaussianGeometry) lower(j int, c center) float64 {
	if g.jeffreys {
		return 0
	}
	a, b := g.tasks[j], c.(*normal)
	return math.Sqrt(linalg.SqDist(a.mean, b.mean) + linalg.SqDist(a.sds, b.sds))
}

// upper is what one coupling costs, both driven by the same normal variables through their
// Cholesky factors: the squared distance of the factors, from their squared norms, the traces,
// with what rounding may have taken off, a fraction of n² units of the traces' sum.
func (g *GaussianGeometry) upper(j int, c center) float64 {
	if g.jeffreys {
		return math.Inf(1)
	}
	a, b := g.tasks[j], c.(*normal)
	size := a.trace + b.trace
	d := size - 2*linalg.Dot(a.factor, b.factor) + float64(len(a.factor))*0x1p-52*size
	return math.Sqrt(linalg.SqDist(a.mean, b.mean) + max(d, 0))
}

// slack allows for covariances that are singular to rounding ε, whose distances err by the square root of n·ε·tr.
func (g *GaussianGeometry) slack() float64 {
	return 4 * math.Sqrt(float64(g.n)*0x1p-52*g.largestTrace())
}

// divergence returns ½⟨Q−P, S−T⟩ + ½·dmᵀ(P+Q)dm for covariances S, T and inverses P, Q: never a
// difference of traces, and 0 for equal arguments. What rounding pushed below 0 is 0.
func (s *geometryScratch) divergence(a, b *normal) float64 {
	dm := s.dm[:0]
	for i, v := range a.mean {
		dm = append(dm, v-b.mean[i])
	}
	s.dm = dm
	var sum float64
	k := 0
	for i, d := range dm {
		ai, p := a.cov[k:k+i+1], a.inverse[k:k+i+1]
		bi, q := b.cov[k:k+i+1], b.inverse[k:k+i+1]
		var inner, quad float64
		for j := range i {
			inner += (q[j] - p[j]) * (ai[j] - bi[j])
			quad += (p[j] + q[j]) * dm[j]
		}
		sum += 2*inner + (q[i]-p[i])*(ai[i]-bi[i])
		sum += d * (2*quad + (p[i]+q[i])*d)
		k += i + 1
	}
	return max(sum/2, 0)
}
