package hierarchy

import (
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

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
		for j, rest := range c.restVar {
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
// row. Hypotheses that differ in the noise, in τ or in an own process alone share the other
// covariances.
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
