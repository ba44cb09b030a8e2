package hierarchy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Candidates are points to predict at, carried to the grid. They are immutable.
type Candidates struct {
	blocks []*placed
	from   []int // the first candidate of each block, and their number
}

// placed is a block of candidates on the grid, with the prior moments that all runs
// share. What is worked out of a block follows from its own points.
type placed struct {
	*sites
	base     []float64   // variances of the base process
	mean     [][]float64 // under the population and the clusters
	variance [][]float64
	across   *linalg.Dense // k_b(Z, x), a column a candidate, nil where all are of the grid
}

// Candidates carries the rows of x to the grid.
func (m *Model) Candidates(ctx context.Context, x *linalg.Dense, workers int) (*Candidates, error) {
	return m.candidates(ctx, x, workers, nil, nil)
}

// candidates is Candidates of points that come in parts of so many rows, which no block
// straddles. Blocks that are known already are taken as they are.
func (m *Model) candidates(ctx context.Context, x *linalg.Dense, workers int, parts []int, known *Candidates) (*Candidates, error) {
	n, d := x.Dims()
	c := new(Candidates)
	for lo := 0; lo < n; {
		end := n
		if len(parts) > 0 {
			end, parts = min(lo+parts[0], n), parts[1:]
		}
		for ; lo < end; lo = min(lo+block, end) {
			c.from = append(c.from, lo)
		}
	}
	c.from = append(c.from, n)
	c.blocks = make([]*placed, len(c.from)-1)
	var left []*placed // of two equal blocks each takes another
	if known != nil {
		left = slices.Clone(known.blocks)
	}
	rows := func(b int) *linalg.Dense {
		at := x.View(c.from[b], 0, c.from[b+1]-c.from[b], d)
		return &at
	}
	for b := range c.blocks {
		at := rows(b)
		if i := slices.IndexFunc(left, func(k *placed) bool { return points.Equal(k.x, at) }); i >= 0 {
			c.blocks[b] = left[i]
			left = slices.Delete(left, i, i+1)
		}
	}
	memory := make([]linalg.Dense, parallel.Workers(workers, len(c.blocks)))
	return c, parallel.For(ctx, workers, len(c.blocks), func(w, b int) (err error) {
		if c.blocks[b] == nil {
			c.blocks[b], err = m.place(rows(b), &memory[w])
		}
		return err
	})
}

// place carries a block of candidates to the grid. It overwrites cross.
func (m *Model) place(x, cross *linalg.Dense) (*placed, error) {
	s, err := m.grid.locate(x, cross)
	if err != nil {
		return nil, err
	}
	n, sets := s.len(), 1+len(m.clusters)
	c := &placed{sites: s, base: make([]float64, n), mean: make([][]float64, sets), variance: make([][]float64, sets)}
	kernel.Diag(c.base, m.grid.base.Kernel, x)
	for i := range sets {
		c.mean[i], c.variance[i] = make([]float64, n), make([]float64, n)
	}
	quads := make([]float64, sets)
	for j := range n {
		clear(quads)
		s.quads(quads, m.covs, j)
		for i, q := range quads {
			c.mean[i][j] = m.grid.meanAt(s, j, m.Moments(i).Mean)
			c.variance[i][j] = s.rest[j] + q
		}
	}
	if s.cross != nil {
		c.across = new(linalg.Dense)
		c.across.CopyTrans(s.cross)
		s.cross = nil
	}
	return c, nil
}

// A frame is what a run has worked out at a block of candidates. It grows by a row a
// point told, in the same way whether one at a time or all at once.
type frame struct {
	c *placed
	crosses
	parts  map[*component]*part
	whites map[int]*linalg.Dense // V·b at the candidates by single task, a column a candidate
}

// crosses are the prior covariances of points, a row each, with a block of candidates.
type crosses struct {
	rest [][]float64 // those of e
	base [][]float64 // values of the base kernel
	own  [][]float64 // of a target's own process, nil if none is thought of
}

// part is a component's share of a frame.
type part struct {
	w          [][]float64 // L⁻¹·K(X, candidates)
	p0, p1, p2 []float64   // the posterior mean is p0 + a·p1 + s·p2
	variance   []float64   // given the offset and a scale of 1
}

// frames returns those of the candidates' blocks, keeping them, and no others, if asked
// to.
func (r *Run) frames(c *Candidates, keep bool) []*frame {
	out, bound := make([]*frame, len(c.blocks)), make(map[*placed]*frame, len(c.blocks))
	for i, b := range c.blocks {
		f := r.bound[b]
		if f == nil {
			f = &frame{c: b, parts: make(map[*component]*part), whites: make(map[int]*linalg.Dense)}
		}
		out[i], bound[b] = f, f
	}
	if keep {
		r.bound = bound
	}
	return out
}

// A batch is points told or awaited that candidates are conditioned on.
type batch struct {
	pts  []*visited
	x    *linalg.Dense  // the points, a row each
	sets []int          // of moments that hypotheses need
	cols []linalg.Dense // panels of the points, empty before the first that is needed
}

// batch lays out points for hypotheses; those before from are not needed. Panels that an
// earlier batch of some of the points laid out for the same moments are taken from it.
func (r *Run) batch(ks []*component, pts []*visited, from int, earlier *batch) *batch {
	g := r.m.grid
	b := &batch{pts: pts, x: linalg.NewDense(len(pts), g.dim(), nil), cols: make([]linalg.Dense, (len(pts)+panel-1)/panel)}
	for i, p := range pts {
		copy(b.x.Row(i), p.x.Row(0))
	}
	for _, k := range ks {
		if k.level != NoTransfer && !slices.Contains(b.sets, k.moments()) {
			b.sets = append(b.sets, k.moments())
		}
		if k.level == SingleTask {
			for _, p := range pts {
				r.m.whiteOf(p, k.index)
			}
		}
	}
	if earlier != nil && slices.Equal(earlier.sets, b.sets) {
		copy(b.cols, earlier.cols[:len(earlier.pts)/panel])
	}
	for l := from; l < len(pts); l = (l/panel + 1) * panel {
		if n, _ := b.cols[l/panel].Dims(); n > 0 {
			continue
		}
		rows := linalg.NewDense(panel*(1+len(b.sets)), g.len(), nil)
		for i, p := range pts[l/panel*panel : min((l/panel+1)*panel, len(pts))] {
			copy(rows.Row(i), p.defect)
			for k, set := range b.sets {
				copy(rows.Row((1+k)*panel+i), p.proj[set])
			}
		}
		b.cols[l/panel].CopyTrans(rows)
	}
	return b
}

// scratch is the memory of one goroutine that conditions candidates.
type scratch struct {
	on   tile
	less [panel * block]float64
}

// panel is the number of points whose vectors on the grid are carried to a candidate
// side by side, a column each: first their defects, then their covariances under each of
// the moments. There are always so many, so that what comes of a point is the same
// whichever others come with it.
const panel = 8

// block is the number of candidates, at most, that one goroutine goes on with at a time.
const block = 128

// A tile has a row for each column of a panel, and a column a candidate of a block.
type tile struct{ at, row []float64 }

func (t *tile) of(i int) []float64 { return t.at[i*block:][:block] }

// carryTo sets the rows of dst to what the columns of a panel are at the candidates.
func (c *placed) carryTo(dst *tile, cols *linalg.Dense) {
	_, n := cols.Dims()
	dst.at, dst.row = grow(dst.at, n*block), grow(dst.row, n*block)
	for j := range c.len() {
		c.applyTo(dst.row[j*n:][:n], cols, j)
	}
	f64.Transpose(c.len(), n, dst.at, block, dst.row, n)
}

// whiten computes V·b of single task i at the candidates.
func (m *Model) whiten(c *placed, i int) *linalg.Dense {
	vt := m.singles[i].vt
	_, rows := vt.Dims()
	at := linalg.NewDense(c.len(), rows, nil)
	for j := range c.len() {
		c.applyTo(at.Row(j), vt, j)
	}
	w := new(linalg.Dense)
	w.CopyTrans(at)
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
		if f.whites[k.index] == nil {
			f.whites[k.index] = m.whiten(c, k.index)
		}
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
	if k.own {
		own := m.grid.own.Eval(c.x.Row(0), c.x.Row(0)) // the same everywhere
		for j := range p.variance {
			p.variance[j] += own
		}
	}
	return p
}

// add conditions a share on one point more, that of w at place k: row holds its
// covariances with the candidates.
func (p *part) add(row []float64, w *whitened, k int) {
	lower, yt, u, v := w.chol.Lower().Row(k), w.yt[k], w.u[k], w.v[k]
	i := 0
	for ; i+4 <= k; i += 4 {
		f64.Axpy4(row, -lower[i], -lower[i+1], -lower[i+2], -lower[i+3], p.w[i], p.w[i+1], p.w[i+2], p.w[i+3])
	}
	for ; i < k; i++ {
		linalg.Axpy(row, -lower[i], p.w[i])
	}
	p.w = append(p.w, row)
	p0, p1, p2, variance := p.p0[:len(row)], p.p1[:len(row)], p.p2[:len(row)], p.variance[:len(row)]
	d := lower[k]
	for j, x := range row {
		x /= d
		row[j] = x
		p0[j] += yt * x
		p1[j] -= u * x
		p2[j] -= v * x
		variance[j] -= x * x
	}
}

// lessTo sets the rows of dst to the covariances that a task takes off those of the
// population: between points and the candidates.
func (m *Model) lessTo(dst []float64, f *frame, task int, pts []*visited) {
	w := f.whites[task]
	n, size := w.Dims()
	for i, p := range pts {
		row, x := dst[i*block:][:size], m.whiteOf(p, task)
		clear(row)
		a := 0
		for ; a+4 <= n; a += 4 {
			f64.Axpy4(row, x[a], x[a+1], x[a+2], x[a+3], w.Row(a), w.Row(a+1), w.Row(a+2), w.Row(a+3))
		}
		for ; a < n; a++ {
			linalg.Axpy(row, x[a], w.Row(a))
		}
	}
}

// covTo sets row to the prior covariances of point l with some candidates: of x, those
// that hypotheses share, on, those of the moments on the grid, and less, what a single
// task takes off.
func (k *component) covTo(row []float64, x *crosses, l int, on, less []float64) {
	rest := x.rest[l]
	switch k.level {
	case NoTransfer:
		copy(row, x.base[l])
	case SingleTask:
		for j := range row {
			row[j] = rest[j] + (1+k.tau)*on[j] - less[j]
		}
	default:
		for j := range row {
			row[j] = rest[j] + on[j]
		}
	}
	if k.own {
		linalg.Axpy(row, 1, x.own[l])
	}
}

// condition conditions shares of hypotheses on the points of a batch, which take the
// places from first on; x are their covariances with the candidates, which it completes.
// solved returns what a hypothesis has at those places. A share that knows a point has its
// row. Hypotheses that differ in the
// noise, in τ or in an own process alone share the other covariances.
func (r *Run) condition(f *frame, ks []*component, parts []*part, b *batch, x *crosses, first int, s *scratch, solved func(k *component) *whitened) {
	c, n, from := f.c, f.c.len(), len(x.rest) // points that all know
	if t := len(b.pts) - from; t > 0 {
		var base, own linalg.Dense
		at := b.x.View(from, 0, t, r.m.grid.dim())
		kernel.Cross(&base, r.m.grid.base.Kernel, &at, c.x)
		if r.o.Own > 0 {
			kernel.Cross(&own, r.m.grid.own, &at, c.x)
		}
		rest := make([]float64, t*n)
		for i := range t {
			x.base, x.rest = append(x.base, base.Row(i)), append(x.rest, rest[i*n:][:n:n])
			if r.o.Own > 0 {
				x.own = append(x.own, own.Row(i))
			}
		}
	}
	crossed := from
	var groups [][]int
	for i, k := range ks {
		known := len(parts[i].w) - first
		if known == len(b.pts) {
			continue
		}
		from = min(from, known)
		g := slices.IndexFunc(groups, func(g []int) bool { return ks[g[0]].level == k.level && ks[g[0]].index == k.index })
		if g < 0 {
			groups = append(groups, nil)
			g = len(groups) - 1
		}
		groups[g] = append(groups[g], i)
	}
	for end := from; end < len(b.pts); {
		start := end
		end = min((start/panel+1)*panel, len(b.pts))
		c.carryTo(&s.on, &b.cols[start/panel])
		for l := max(start, crossed); l < end && c.across != nil; l++ {
			p, on, row := b.pts[l], s.on.of(l%panel), x.rest[l]
			if p.on[0] {
				continue
			}
			p.applyTo(row, c.across, 0)
			for j, k := range x.base[l] {
				if row[j] = k - on[j] - row[j]; c.on[j] {
					row[j] = 0
				}
			}
		}
		for _, group := range groups {
			one := ks[group[0]]
			set := (1 + slices.Index(b.sets, one.moments())) * panel // without transfer it does not count
			begin := end                                             // the first point that one of the group does not know
			for _, g := range group {
				begin = min(begin, len(parts[g].w)-first)
			}
			if one.level == SingleTask {
				r.m.lessTo(s.less[:], f, one.index, b.pts[begin:end])
			}
			for _, g := range group {
				k, p := ks[g], parts[g]
				known := len(p.w) - first
				rows := make([]float64, max(end-known, 0)*n)
				for l := known; l < end; l++ {
					row := rows[(l-known)*n:][:n:n]
					k.covTo(row, x, l, s.on.of(set+l%panel), s.less[(l-begin)*block:])
					p.add(row, solved(k), first+l)
				}
			}
		}
	}
}

// catchUp returns components' shares of a frame, brought up to the points told.
func (r *Run) catchUp(f *frame, ks []*component, told *batch, s *scratch) []*part {
	parts := make([]*part, len(ks))
	for i, k := range ks {
		if f.parts[k] == nil {
			f.parts[k] = r.m.start(f, k)
		}
		parts[i] = f.parts[k]
	}
	r.condition(f, ks, parts, told, &f.crosses, 0, s, func(k *component) *whitened { return &k.whitened })
	return parts
}

// momentsAt returns the moments of a part of a component at candidate j, the mean from
// the centre.
func (p *part) momentsAt(j int, f *atom) (mean, variance float64) {
	p1, p2 := p.p1[j], p.p2[j]
	return p.p0[j] + f.a*p1 + f.s*p2, max(f.s2*max(p.variance[j], 0)+f.varA*p1*p1+f.varS*p2*p2+2*f.covAS*p1*p2, 0)
}

// momentsTo writes the moments of a part of a component at all candidates.
func (p *part) momentsTo(mean, variance []float64, f *atom) {
	for j := range mean {
		mean[j], variance[j] = p.momentsAt(j, f)
	}
}

// minMass is the mass below which a component is not predicted with.
const minMass = 1e-3

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

// each calls do for each block of the candidates, from lo to hi, on several goroutines:
// ks are the hypotheses predicted with, of these masses, and parts their shares,
// conditioned on the points told and awaited. keep says that the candidates come again.
func (r *Run) each(ctx context.Context, c *Candidates, keep bool, do func(lo, hi int, ks []*component, mass []float64, parts []*part)) error {
	ks, mass := r.heavy()
	frames := r.frames(c, keep)
	from := len(r.pts) // points that all frames know
	for _, f := range frames {
		from = min(from, len(f.base))
		for _, k := range ks {
			known := 0
			if p := f.parts[k]; p != nil {
				known = len(p.w)
			}
			from = min(from, known)
		}
	}
	told, awaited := r.batch(ks, r.pts, from, r.told), r.batch(ks, r.pending, 0, nil)
	r.told = told
	memory := make([]scratch, parallel.Workers(r.workers, len(frames)))
	var err error
	if len(r.pending) > 0 {
		err = parallel.For(ctx, r.workers, len(ks), func(_, i int) error { return r.extend(ks[i]) })
	}
	if err == nil {
		err = parallel.For(ctx, r.workers, len(frames), func(w, b int) error {
			f, s := frames[b], &memory[w]
			parts := r.catchUp(f, ks, told, s)
			if len(r.pending) > 0 {
				r.imagine(f, ks, parts, awaited, s)
			}
			do(c.from[b], c.from[b+1], ks, mass, parts)
			return nil
		})
	}
	if err != nil {
		r.bound = nil // of which a part may be half done
	}
	return err
}

// Predict writes mean and standard deviation of the noise-free objective at the
// candidates: those of the mixture of all components. Points awaited count as evaluated
// with the predicted mean as the value. keep says that the candidates come again, all
// or some of their blocks.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, c *Candidates, keep bool) error {
	err := r.each(ctx, c, keep, func(lo, hi int, ks []*component, mass []float64, parts []*part) {
		n := hi - lo
		mean, sd := mean[lo:hi], sd[lo:hi]
		means, variances := linalg.NewDense(len(ks), n, nil), linalg.NewDense(len(ks), n, nil)
		clear(mean)
		clear(sd)
		for i, w := range mass {
			parts[i].momentsTo(means.Row(i), variances.Row(i), &ks[i].fit.all)
			linalg.Axpy(mean, w, means.Row(i))
		}
		// About the mean, so that nothing cancels wherever the values lie.
		for i, w := range mass {
			for j, v := range variances.Row(i) {
				d := means.Row(i)[j] - mean[j]
				sd[j] += w * (v + d*d)
			}
		}
		for j := range mean {
			mean[j] = (mean[j] + r.centre()) * r.u
			sd[j] = math.Sqrt(sd[j]) * r.u
		}
	})
	for i := range mean {
		if err == nil && !(math.Abs(mean[i])+sd[i] <= math.MaxFloat64) {
			err = fmt.Errorf("candidate %d of %d: the prediction %g ± %g is not finite", i, len(mean), mean[i], sd[i])
		}
	}
	return err
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
	over, unit := best/r.u-r.centre(), math.Log(r.u)
	return r.each(ctx, c, keep, func(lo, hi int, ks []*component, mass []float64, parts []*part) {
		dst := dst[lo:hi]
		// visit goes through the parts, which have a mass and moments each.
		visit := func(do func(w float64, p *part, a *atom)) {
			for i, p := range parts {
				for k := range ks[i].fit.atoms {
					a := &ks[i].fit.atoms[k]
					if w := mass[i] * a.w; w >= minAtom {
						do(w, p, a)
					}
				}
			}
		}
		clear(dst)
		visit(func(w float64, p *part, a *atom) {
			for j := range dst {
				mean, sd := p.normalAt(j, a)
				dst[j] += w * sd * special.NormEI((mean-over)/sd)
			}
		})
		for j, sum := range dst {
			log := math.Log(sum)
			if sum < minSum {
				log = math.Inf(-1)
				visit(func(w float64, p *part, a *atom) {
					mean, sd := p.normalAt(j, a)
					log = special.LogAddExp(log, math.Log(w)+math.Log(sd)+special.NormLogEI((mean-over)/sd))
				})
			}
			dst[j] = log + unit
		}
	})
}

// normalAt returns mean and deviation, not 0, of a part of a component at candidate j.
func (p *part) normalAt(j int, a *atom) (mean, sd float64) {
	mean, variance := p.momentsAt(j, a)
	return mean, math.Sqrt(max(variance, math.SmallestNonzeroFloat64))
}

// minSum is the expected improvement below which logarithms are summed: above, what
// underflows is far below its rounding.
const minSum = 1e-250

// imagine replaces shares by those conditioned on the points awaited as well.
func (r *Run) imagine(f *frame, ks []*component, parts []*part, awaited *batch, s *scratch) {
	var x crosses
	for i, p := range parts {
		parts[i] = &part{
			w:  append(make([][]float64, 0, len(p.w)+len(r.values)), p.w...),
			p0: slices.Clone(p.p0), p1: slices.Clone(p.p1), p2: slices.Clone(p.p2), variance: slices.Clone(p.variance),
		}
	}
	r.condition(f, ks, parts, awaited, &x, len(r.pts), s, func(k *component) *whitened { return k.ext })
}

// extend conditions a component on the points awaited as well.
func (r *Run) extend(k *component) error {
	t := len(r.pts)
	if k.ext == nil {
		k.ext = &whitened{yt: slices.Clone(k.yt), u: slices.Clone(k.u), v: slices.Clone(k.v)}
		if t > 0 {
			k.ext.chol = *k.chol.Clone()
		}
	}
	e := k.ext
	for i := len(e.yt) - t; i < len(r.pending); i++ {
		a, pts := r.pending[i], slices.Concat(r.pts, r.pending[:i+1])
		row := make([]float64, len(pts))
		k.cov(row, pts, r.m.less(k, pts))
		if err := e.add(row, k.noiseAt(a), r.values[i], r.m.meanOf(k, a)); err != nil {
			return err
		}
	}
	return nil
}
