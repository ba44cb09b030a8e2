package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Candidates are points to predict at, carried to the grid, with the prior moments
// that all runs share. They are immutable.
type Candidates struct {
	*sites
	base     []float64   // variances of the base process
	mean     [][]float64 // under the population and the clusters
	variance [][]float64
}

// Candidates carries the rows of x to the grid.
func (m *Model) Candidates(ctx context.Context, x *linalg.Dense, workers int) (*Candidates, error) {
	s, err := m.grid.locate(ctx, x, workers)
	if err != nil {
		return nil, err
	}
	n := s.len()
	c := &Candidates{sites: s, base: make([]float64, n)}
	kernel.Diag(c.base, m.grid.base.Kernel, x)
	sets := 1 + len(m.clusters)
	c.mean, c.variance = make([][]float64, sets), make([][]float64, sets)
	err = parallel.For(ctx, workers, sets, func(_, i int) error {
		mom := m.Moments(i)
		mean, variance := make([]float64, n), make([]float64, n)
		for j := range n {
			mean[j] = m.grid.meanAt(s, j, mom.Mean)
			variance[j] = s.rest[j] + s.quad(mom.Cov, j)
		}
		c.mean[i], c.variance[i] = mean, variance
		return nil
	})
	return c, err
}

// A frame is what a run has worked out at a list of candidates. It grows by a row a
// point told, in the same way whether one at a time or all at once.
type frame struct {
	c      *Candidates
	rows   int         // points told that rest and base know
	rest   [][]float64 // covariances of e of the points told with the candidates
	base   [][]float64 // values of the base kernel
	parts  map[*component]*part
	whites map[int]*linalg.Dense // V·b at the candidates by single task, a column a candidate
}

// part is a component's share of a frame.
type part struct {
	w          [][]float64 // L⁻¹·K(X, candidates)
	p0, p1, p2 []float64   // the posterior mean is p0 + a·p1 + s·p2
	variance   []float64   // given the offset and a scale of 1
}

// at returns the frame of the candidates, keeping it if asked to.
func (r *Run) at(c *Candidates, keep bool) *frame {
	f := r.bound
	if f == nil || f.c != c {
		f = &frame{c: c, parts: make(map[*component]*part), whites: make(map[int]*linalg.Dense)}
		if keep {
			r.bound = f
		}
	}
	if t := len(r.pts); f.rows < t {
		rest, base := r.crossed(f.c, r.pts[f.rows:t])
		f.rest, f.base, f.rows = append(f.rest, rest...), append(f.base, base...), t
	}
	return f
}

// crossed returns the covariances of e, and the base kernel's values, of points with
// the candidates.
func (r *Run) crossed(c *Candidates, pts []*visited) (rest, base [][]float64) {
	n := c.len()
	_, d := c.x.Dims()
	x := linalg.NewDense(len(pts), d, nil)
	for i, p := range pts {
		copy(x.Row(i), p.x.Row(0))
	}
	var k linalg.Dense
	kernel.Cross(&k, r.m.grid.base.Kernel, x, c.x)
	for i, p := range pts {
		row := make([]float64, n)
		base, rest = append(base, k.Row(i)), append(rest, row)
		if p.on[0] || c.cross == nil {
			continue
		}
		copy(row, k.Row(i))
		for a, q := range p.idx[0] {
			linalg.Axpy(row, -p.w[0][a], c.cross.Row(q))
		}
		for j := range row {
			if c.on[j] {
				row[j] = 0
				continue
			}
			row[j] -= c.carry(j, p.defect)
		}
	}
	return rest, base
}

// whiten computes V·b of single task i at the candidates.
func (m *Model) whiten(c *Candidates, i int) *linalg.Dense {
	v := m.singles[i].v
	rows, _ := v.Dims()
	w := linalg.NewDense(rows, c.len(), nil)
	for k := range rows {
		row, src := w.Row(k), v.Row(k)
		for j := range row {
			row[j] = c.carry(j, src)
		}
	}
	return w
}

// start returns a component's share before any point was told.
func (m *Model) start(f *frame, k *component) *part {
	c, n := f.c, f.c.len()
	p := &part{p0: make([]float64, n), p1: make([]float64, n), p2: make([]float64, n), variance: make([]float64, n)}
	for j := range n {
		p.p1[j] = 1
	}
	switch k.level {
	case NoTransfer:
		for j := range n {
			p.p2[j] = m.grid.base.Mean
		}
		copy(p.variance, c.base)
	case SingleTask:
		for j, rest := range c.rest {
			p.p2[j] = m.grid.meanAt(c.sites, j, m.singles[k.index].mean)
			p.variance[j] = rest + (1+k.tau)*(c.variance[0][j]-rest)
		}
		w := f.whites[k.index]
		rows, _ := w.Dims()
		for i := range rows {
			for j, x := range w.Row(i) {
				p.variance[j] -= x * x
			}
		}
		for j, v := range p.variance {
			p.variance[j] = max(v, 0)
		}
	default:
		copy(p.p2, c.mean[k.moments()])
		copy(p.variance, c.variance[k.moments()])
	}
	return p
}

// crossTo sets row to the prior covariances of a point with the candidates.
func (m *Model) crossTo(row []float64, f *frame, k *component, p *visited, rest, base []float64) {
	c := f.c
	switch k.level {
	case NoTransfer:
		copy(row, base)
	case SingleTask:
		for j := range row {
			row[j] = rest[j] + (1+k.tau)*c.carry(j, p.proj[0])
		}
		w := f.whites[k.index]
		for i, x := range m.whiteOf(p, k.index) {
			linalg.Axpy(row, -x, w.Row(i))
		}
	default:
		proj := p.proj[k.moments()]
		for j := range row {
			row[j] = rest[j] + c.carry(j, proj)
		}
	}
}

// add conditions a share on one point more: row holds its covariances with the
// candidates, lower its row of the factor, and yt, u, v its whitened value, one and
// prior mean.
func (p *part) add(row, lower []float64, yt, u, v float64) {
	k := len(p.w)
	i := 0
	for ; i+4 <= k; i += 4 {
		f64.Axpy4(row, -lower[i], -lower[i+1], -lower[i+2], -lower[i+3], p.w[i], p.w[i+1], p.w[i+2], p.w[i+3])
	}
	for ; i < k; i++ {
		linalg.Axpy(row, -lower[i], p.w[i])
	}
	for j := range row {
		row[j] /= lower[k]
	}
	p.w = append(p.w, row)
	linalg.Axpy(p.p0, yt, row)
	linalg.Axpy(p.p1, -u, row)
	linalg.Axpy(p.p2, -v, row)
	for j, x := range row {
		p.variance[j] -= x * x
	}
}

// catchUp brings a component's share up to the points told.
func (r *Run) catchUp(f *frame, k *component) *part {
	p := f.parts[k]
	for l := len(p.w); l < len(r.pts); l++ {
		row := make([]float64, f.c.len())
		r.m.crossTo(row, f, k, r.pts[l], f.rest[l], f.base[l])
		p.add(row, k.chol.Lower().Row(l), k.yt[l], k.u[l], k.v[l])
	}
	return p
}

// momentsTo writes the moments of a part of a component, the mean from the centre.
func (p *part) momentsTo(mean, variance []float64, f *atom) {
	for j := range mean {
		p1, p2 := p.p1[j], p.p2[j]
		mean[j] = p.p0[j] + f.a*p1 + f.s*p2
		variance[j] = max(f.s2*max(p.variance[j], 0)+f.varA*p1*p1+f.varS*p2*p2+2*f.covAS*p1*p2, 0)
	}
}

// minMass is the mass below which a component is not predicted with.
const minMass = 1e-3

// Predict writes mean and standard deviation of the noise-free objective at the
// candidates. Points awaited count as evaluated with the predicted mean as the value.
// keep says that the candidates come again.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, c *Candidates, keep bool) error {
	heavy, parts, err := r.parts(ctx, c, keep)
	if err != nil {
		return err
	}
	return r.mix(ctx, mean, sd, heavy, parts)
}

// heavy returns the components that are predicted with, and their masses, which add
// up to 1.
func (r *Run) heavy() (ks []*component, mass []float64) {
	var total float64
	for _, k := range r.active {
		if k.mass >= minMass {
			ks, mass = append(ks, k), append(mass, k.mass)
			total += k.mass
		}
	}
	for i := range mass {
		mass[i] /= total
	}
	return ks, mass
}

// parts returns the shares of the components that are predicted with, conditioned on
// the points told and awaited.
func (r *Run) parts(ctx context.Context, c *Candidates, keep bool) ([]*component, []*part, error) {
	ks, _ := r.heavy()
	f := r.at(c, keep)
	if err := r.prepare(ctx, f, ks); err != nil {
		return nil, nil, err
	}
	var rest, base [][]float64
	if len(r.pending) > 0 {
		rest, base = r.crossed(c, r.pending)
	}
	out := make([]*part, len(ks))
	return ks, out, parallel.For(ctx, r.workers, len(ks), func(_, i int) (err error) {
		if out[i] = r.catchUp(f, ks[i]); len(r.pending) > 0 {
			out[i], err = r.imagine(f, ks[i], out[i], rest, base)
		}
		return err
	})
}

// mix writes mean and standard deviation of the mixture of all components.
func (r *Run) mix(ctx context.Context, mean, sd []float64, ks []*component, parts []*part) error {
	n := len(mean)
	_, mass := r.heavy()
	means, variances := make([][]float64, len(ks)), make([][]float64, len(ks))
	err := parallel.For(ctx, r.workers, len(ks), func(_, i int) error {
		means[i], variances[i] = make([]float64, n), make([]float64, n)
		parts[i].momentsTo(means[i], variances[i], &ks[i].fit.all)
		return nil
	})
	if err != nil {
		return err
	}
	clear(mean)
	clear(sd)
	for i, w := range mass {
		linalg.Axpy(mean, w, means[i])
	}
	// About the mean, so that nothing cancels wherever the values lie.
	for i, w := range mass {
		for j, v := range variances[i] {
			d := means[i][j] - mean[j]
			sd[j] += w * (v + d*d)
		}
	}
	for j := range mean {
		mean[j] = (mean[j] + r.centre()) * r.u
		sd[j] = math.Sqrt(sd[j]) * r.u
	}
	return nil
}

// minAtom is the mass below which a part of a component is left out of the expected
// improvement.
const minAtom = 1e-4

// LogImprovement writes the logarithm of the expected improvement over best at the
// candidates: the mean of that of the mixture's parts, each a hypothesis with a
// narrow range of scales. The mixture is far from normal after few values, and the
// improvement of its first two moments would send the search where values may only
// be lower than they are predicted.
func (r *Run) LogImprovement(ctx context.Context, dst []float64, c *Candidates, keep bool, best float64) error {
	ks, parts, err := r.parts(ctx, c, keep)
	if err != nil {
		return err
	}
	_, mass := r.heavy()
	n := len(dst)
	over := best/r.u - r.centre()
	logs := make([][]float64, len(ks)) // by component: ln Σ w·EI of its parts
	err = parallel.For(ctx, r.workers, len(ks), func(_, i int) error {
		l, mean, variance := make([]float64, n), make([]float64, n), make([]float64, n)
		for j := range l {
			l[j] = math.Inf(-1)
		}
		for k := range ks[i].fit.atoms {
			a := &ks[i].fit.atoms[k]
			w := mass[i] * a.w
			if w < minAtom {
				continue
			}
			parts[i].momentsTo(mean, variance, a)
			lw := math.Log(w)
			for j := range l {
				sd := math.Sqrt(max(variance[j], math.SmallestNonzeroFloat64))
				l[j] = logAdd(l[j], lw+math.Log(sd)+special.NormLogEI((mean[j]-over)/sd))
			}
		}
		logs[i] = l
		return nil
	})
	if err != nil {
		return err
	}
	for j := range dst {
		dst[j] = math.Inf(-1)
		for _, l := range logs {
			dst[j] = logAdd(dst[j], l[j])
		}
		dst[j] += math.Log(r.u)
	}
	return nil
}

// logAdd returns ln(eᵃ + eᵇ).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// prepare makes what components share of a frame, so that they can go on side by
// side.
func (r *Run) prepare(ctx context.Context, f *frame, heavy []*component) error {
	var tasks []int
	for _, k := range heavy {
		if k.level == SingleTask && f.whites[k.index] == nil {
			f.whites[k.index] = new(linalg.Dense)
			tasks = append(tasks, k.index)
		}
		if k.level == SingleTask {
			for _, p := range r.pts {
				r.m.whiteOf(p, k.index)
			}
			for _, p := range r.pending {
				r.m.whiteOf(p, k.index)
			}
		}
	}
	made := make([]*linalg.Dense, len(tasks))
	err := parallel.For(ctx, r.workers, len(tasks), func(_, i int) error {
		made[i] = r.m.whiten(f.c, tasks[i])
		return nil
	})
	for i, t := range tasks {
		f.whites[t] = made[i]
		if made[i] == nil {
			delete(f.whites, t)
		}
	}
	if err != nil {
		return err
	}
	for _, k := range heavy {
		if f.parts[k] == nil {
			f.parts[k] = r.m.start(f, k)
		}
	}
	return nil
}

// imagine returns a share conditioned on the points awaited as well.
func (r *Run) imagine(f *frame, k *component, p *part, rest, base [][]float64) (*part, error) {
	t := len(r.pts)
	if k.ext == nil {
		k.ext = &extension{yt: slices.Clone(k.yt), u: slices.Clone(k.u), v: slices.Clone(k.v)}
		if t > 0 {
			k.ext.chol = *k.chol.Clone()
		}
	}
	q := &part{
		w:  append(make([][]float64, 0, len(p.w)+len(r.values)), p.w...),
		p0: slices.Clone(p.p0), p1: slices.Clone(p.p1), p2: slices.Clone(p.p2), variance: slices.Clone(p.variance),
	}
	e := k.ext
	for i, a := range r.pending {
		if n := t + i; n == len(e.yt) {
			row := make([]float64, n+1)
			r.m.cov(row, k, slices.Concat(r.pts, r.pending[:i]), a)
			if err := appendRow(&e.chol, row, k.noiseAt(a)); err != nil {
				return nil, err
			}
			l := e.chol.Lower().Row(n)
			next := func(v []float64, x float64) []float64 { return append(v, (x-linalg.Dot(l[:n], v))/l[n]) }
			e.yt, e.u, e.v = next(e.yt, r.values[i]), next(e.u, 1), next(e.v, r.m.meanOf(k, a))
		}
		cross := make([]float64, f.c.len())
		r.m.crossTo(cross, f, k, a, rest[i], base[i])
		q.add(cross, e.chol.Lower().Row(t+i), e.yt[t+i], e.u[t+i], e.v[t+i])
	}
	return q, nil
}
