package paper

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A prototype is the Gaussian process that stands for a cluster. On the index set
// of the prior it is known as numbers; elsewhere through its evaluator.
type prototype struct {
	normal    *multivariate.Normal // on the index set
	evaluator evaluator
}

// An evaluator evaluates a prototype at any point. It is immutable and safe for concurrent use.
type evaluator interface {
	// at writes the mean and the variance at the rows of x, and to cross the covariances of the rows of y with them,
	// len(y)×len(x). mean, variance and cross may be nil; y is not looked at without cross.
	at(ctx context.Context, workers int, mean, variance []float64, cross, y, x *linalg.Dense) error
}

// on returns the Gaussian that a prototype is on a list of points, and the jitter it needed.
func (p prototype) on(ctx context.Context, x *linalg.Dense, workers int) (*multivariate.Normal, float64, error) {
	n := points.Len(x)
	mean, cov := make([]float64, n), linalg.NewSym(n, nil)
	var cross linalg.Dense
	if err := p.evaluator.at(ctx, parallel.Workers(workers, n), mean, nil, &cross, x, x); err != nil {
		return nil, 0, err
	}
	for r := range n {
		copy(cov.Row(r)[:r+1], cross.Row(r)[:r+1])
	}
	cov.Mirror()
	return jitteredNormal(new(linalg.Cholesky), mean, cov)
}

func (l *learner) prototypes(ctx context.Context) ([]prototype, error) {
	members := make([][]*source, slices.Max(l.prior.labels)+1)
	for j, c := range l.prior.labels {
		members[c] = append(members[c], l.prior.sources[j])
	}
	build := l.center
	if l.variant.Prototype == Barycenter {
		build = l.barycenter
	}
	out := make([]prototype, len(members))
	for c, m := range members {
		var err error
		if out[c], err = build(ctx, m); err != nil {
			return nil, wrap(err, "prototype of cluster %d", c)
		}
		l.tell("prototypes", c+1, len(members))
	}
	return out, ctx.Err()
}

// normal is jitteredNormal for a prototype, whose jitter it reports.
func (l *learner) normal(mean []float64, cov *linalg.Sym) (*multivariate.Normal, error) {
	n, jitter, err := jitteredNormal(new(linalg.Cholesky), mean, cov)
	l.prior.report.PrototypeJitter = max(l.prior.report.PrototypeJitter, jitter)
	return n, err
}

// center builds a geometric centre. Members are computed in parallel, but summed in their order.
func (l *learner) center(ctx context.Context, members []*source) (prototype, error) {
	n, _ := l.prior.index.Dims()
	workers := parallel.Workers(l.workers, len(members))
	white := make([]linalg.Dense, workers)
	// A batch has several members for each goroutine, so that few wait at its end, and no more, because each holds a matrix.
	batch := make([]struct {
		mean []float64
		cov  linalg.Sym
	}, min(4*workers, len(members)))
	mean, cov := make([]float64, n), linalg.NewSym(n, nil)
	share := 1 / float64(len(members))
	for part := range slices.Chunk(members, len(batch)) {
		err := parallel.For(ctx, l.workers, len(part), func(w, i int) error {
			b := &batch[i]
			if b.mean == nil {
				b.mean = make([]float64, n)
			}
			return part[i].process.Joint(ctx, b.mean, &b.cov, l.prior.index, &white[w])
		})
		if err != nil {
			return prototype{}, err
		}
		for i := range part {
			linalg.Axpy(mean, share, batch[i].mean)
			cov.AddScaled(share, &batch[i].cov)
		}
	}
	normal, err := l.normal(mean, cov)
	return prototype{normal, geometric(members)}, err
}

// barycenter builds a 2-Wasserstein barycentre with equal weights.
func (l *learner) barycenter(ctx context.Context, members []*source) (prototype, error) {
	n, _ := l.prior.index.Dims()
	normals := make([]*multivariate.Normal, len(members))
	white := make([]linalg.Dense, parallel.Workers(l.workers, len(members)))
	jitters := make([]float64, len(members))
	err := parallel.For(ctx, l.workers, len(members), func(w, i int) error {
		mean, cov := make([]float64, n), new(linalg.Sym)
		err := members[i].process.Joint(ctx, mean, cov, l.prior.index, &white[w])
		if err == nil {
			normals[i], jitters[i], err = jitteredNormal(new(linalg.Cholesky), mean, cov)
		}
		return err
	})
	if err != nil {
		return prototype{}, err
	}
	l.prior.report.PrototypeJitter = max(l.prior.report.PrototypeJitter, slices.Max(jitters))
	b, err := multivariate.Barycenter(ctx, normals, nil)
	if err != nil {
		return prototype{}, err
	}
	l.prior.report.Barycenters = append(l.prior.report.Barycenters, BarycenterReport{
		Iterations: b.Iterations, Residual: b.Residual, Converged: b.Converged,
	})
	k, err := medianKernel(members)
	if err != nil {
		return prototype{}, err
	}
	var cov linalg.Sym
	cov.Copy(b.Center.Cov())
	normal, err := l.normal(b.Center.Mean(), &cov)
	if err != nil {
		return prototype{}, err
	}
	process, err := newExtension(l.prior.index, normal, k)
	return prototype{normal, process}, err
}

// medianKernel returns the kernel whose log-parameters are the medians of the members'.
func medianKernel(members []*source) (kernel.Kernel, error) {
	k := members[0].Kernel
	theta := k.AppendParams(nil)
	for p := range theta {
		theta[p] = stat.Median(each.Of(members, func(m *source) float64 { return m.Kernel.AppendParams(nil)[p] }))
	}
	return k.WithParams(theta)
}

// blockRows is how many points a goroutine takes at a time: enough to fill the matrix products, few enough to stay in cache.
const blockRows = 128

// inBlocks calls do for consecutive ranges [lo, hi) of n points. The cut does not depend on the number of workers.
func inBlocks(ctx context.Context, workers, n int, do func(worker, lo, hi int) error) error {
	blocks := (n + blockRows - 1) / blockRows
	return parallel.For(ctx, workers, blocks, func(w, b int) error {
		return do(w, b*blockRows, min((b+1)*blockRows, n))
	})
}

// geometric is the geometric centre of its members: means and covariances are the arithmetic
// means of theirs (paper, section 3, the text's 1/|C| form).
type geometric []*source

func (g geometric) at(ctx context.Context, workers int, mean, variance []float64, cross, y, x *linalg.Dense) error {
	n, d := x.Dims()
	share, rows := 1/float64(len(g)), 0
	whiteY := make([]linalg.Dense, len(g))
	if cross != nil {
		rows = points.Len(y)
		cross.Resize(rows, n)
		cross.Zero()
		err := parallel.For(ctx, workers, len(g), func(_, j int) error {
			return g[j].process.Whiten(ctx, &whiteY[j], y)
		})
		if err != nil {
			return err
		}
	}
	clear(mean)
	clear(variance)
	type scratch struct {
		white, cross   linalg.Dense
		mean, variance [blockRows]float64 // a member's
	}
	sc := make([]scratch, parallel.Workers(workers, n))
	return inBlocks(ctx, workers, n, func(w, lo, hi int) error {
		s, block := &sc[w], x.View(lo, 0, hi-lo, d)
		for j, m := range g {
			if err := m.process.Whiten(ctx, &s.white, &block); err != nil {
				return err
			}
			if err := m.process.MomentsFrom(ctx, s.mean[:hi-lo], s.variance[:hi-lo], &block, &s.white); err != nil {
				return err
			}
			if mean != nil {
				linalg.Axpy(mean[lo:hi], share, s.mean[:hi-lo])
			}
			if variance != nil {
				linalg.Axpy(variance[lo:hi], share, s.variance[:hi-lo])
			}
			if cross != nil {
				if err := m.process.CovFrom(ctx, &s.cross, y, &whiteY[j], &block, &s.white); err != nil {
					return err
				}
				columns := cross.View(0, lo, rows, hi-lo)
				columns.AddScaled(share, &s.cross)
			}
		}
		return nil
	})
}

// An extension extends a Gaussian that lives on the index set V to other points by a kernel k: f is
// the process with covariance k conditioned to have the given distribution N(m, S) on V,
//
//	mean(x)    = k(x, V)·K⁻¹·m
//	cov(x, x') = k(x, x') − k(x, V)·(K⁻¹ − K⁻¹·S·K⁻¹)·k(V, x'),   K = k(V, V),
//
// which is exact on V up to the jitter that K may need. It is our extension:
// the paper leaves a barycentre undefined off the index set.
type extension struct {
	index  *linalg.Dense
	kernel kernel.Kernel
	chol   linalg.Cholesky // of K
	alpha  []float64       // K⁻¹·m
	half   linalg.Dense    // L⁻¹·F, S = F·Fᵀ: K⁻¹·S·K⁻¹ = L⁻ᵀ·half·halfᵀ·L⁻¹
}

// newExtension prepares the extension of n by k. It fails if the covariance of k on
// the index set is singular in spite of jitter.
func newExtension(index *linalg.Dense, n *multivariate.Normal, k kernel.Kernel) (*extension, error) {
	c := &extension{index: index, kernel: k, alpha: make([]float64, n.Dim())}
	var gram linalg.Sym
	kernel.Gram(&gram, k, index)
	if _, err := c.chol.FactorizeJitter(&gram, gaussian.MaxJitter); err != nil {
		return nil, wrap(err, "extending a barycentre off its index set")
	}
	c.chol.SolveVecTo(c.alpha, n.Mean())
	f, _, err := n.Factor()
	if err != nil {
		return nil, wrap(err, "extending a barycentre off its index set")
	}
	c.chol.SolveLowerTo(&c.half, f)
	return c, nil
}

func (c *extension) at(ctx context.Context, workers int, mean, variance []float64, cross, y, x *linalg.Dense) error {
	n, d := x.Dims()
	var vy, hy linalg.Dense // L⁻¹·k(V, y) and halfᵀ of it
	if cross != nil {
		cross.Resize(points.Len(y), n)
		c.project(&vy, &hy, y)
	}
	type scratch struct{ cov, v, h, part linalg.Dense }
	sc := make([]scratch, parallel.Workers(workers, n))
	return inBlocks(ctx, workers, n, func(w, lo, hi int) error {
		s := &sc[w]
		block := x.View(lo, 0, hi-lo, d)
		if mean != nil {
			kernel.Cross(&s.cov, c.kernel, &block, c.index)
			s.cov.MulVecTo(mean[lo:hi], c.alpha)
		}
		if variance == nil && cross == nil {
			return nil
		}
		c.project(&s.v, &s.h, &block)
		if variance != nil {
			bv := variance[lo:hi]
			kernel.Diag(bv, c.kernel, &block)
			addSquares(bv, -1, &s.v)
			addSquares(bv, 1, &s.h)
			for i, v := range bv {
				bv[i] = max(v, 0)
			}
		}
		if cross != nil {
			columns := cross.View(0, lo, points.Len(y), hi-lo)
			kernel.Cross(&columns, c.kernel, y, &block)
			s.part.TransMul(&vy, &s.v)
			columns.AddScaled(-1, &s.part)
			s.part.TransMul(&hy, &s.h)
			columns.AddScaled(1, &s.part)
		}
		return nil
	})
}

// project sets v = L⁻¹·k(V, x) and h = halfᵀ·v, whose columns' inner products
// are what conditioning takes away and what S gives back.
func (c *extension) project(v, h, x *linalg.Dense) {
	kernel.Cross(v, c.kernel, c.index, x)
	c.chol.SolveLowerTo(v, v)
	h.TransMul(&c.half, v)
}

// addSquares adds w times the sum of the squares of each column of v to dst.
func addSquares(dst []float64, w float64, v *linalg.Dense) {
	rows, _ := v.Dims()
	for i := range rows {
		for j, e := range v.Row(i) {
			dst[j] += w * e * e
		}
	}
}
