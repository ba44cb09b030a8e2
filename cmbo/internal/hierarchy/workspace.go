package hierarchy

import (
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A workspace is what a run has worked out at a block of candidates. It grows by a row a
// point told, in the same way whether one at a time or all at once.
type workspace struct {
	*located
	told       crossings
	posteriors map[*member]*posterior

	// With the points awaited, which grow by a row a point, too, as long as no other is told.
	pending crossings
	ahead   map[*member]*posterior
}

// crossings are what all hypotheses share of those of points with a block of candidates, a row a point.
type crossings struct {
	rest     [][]float64
	specific [2][][]float64
}

// A posterior is a member's at a block of candidates.
type posterior struct {
	of         *member
	by         *whitened   // what it is conditioned on
	w          [][]float64 // L⁻¹·K(X, candidates)
	p0, p1, p2 []float64   // the mean is p0 + a·p1 + s·p2
	variance   []float64   // given the offset and a scale of 1
}

// start returns a member's before any point was told.
func (k *member) start(f *workspace) *posterior {
	n := f.len()
	p := &posterior{
		of: k, by: &k.whitened,
		p0: make([]float64, n), p1: slices.Repeat([]float64{1}, n), p2: make([]float64, n), variance: make([]float64, n),
	}
	k.mean(p.p2, f.located)
	k.variance(p.variance, f.located)
	return p
}

// add conditions on one point more: row holds its covariances with the candidates.
func (p *posterior) add(row []float64) {
	k := len(p.w)
	lower, yt, u, v := p.by.chol.Lower().Row(k), p.by.yt[k], p.by.u[k], p.by.v[k]
	i := 0
	for ; i+4 <= k; i += 4 {
		f64.Ops.Axpy4(row, -lower[i], -lower[i+1], -lower[i+2], -lower[i+3], p.w[i], p.w[i+1], p.w[i+2], p.w[i+3])
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

// extend makes the rows of points x, of which some are there, and returns the base kernel's of the new ones.
func (r *Run) extend(f *crossings, x *linalg.Dense, at *located) (base linalg.Dense) {
	n, d := x.Dims()
	for i, of := range r.specific {
		if from := len(f.specific[i]); of.kernel != nil && from < n { // of other lengths, of points that are there
			var specific linalg.Dense
			more := x.View(from, 0, n-from, d)
			kernel.Cross(&specific, of.kernel, &more, at.x)
			for j := range n - from {
				f.specific[i] = append(f.specific[i], specific.Row(j))
			}
		}
	}
	if from := len(f.rest); from < n {
		more := x.View(from, 0, n-from, d)
		kernel.Cross(&base, r.Model.grid.base.Kernel, &more, at.x)
		rest := make([]float64, (n-from)*at.len())
		for i := range n - from {
			f.rest = append(f.rest, rest[i*at.len():][:at.len():at.len()])
		}
	}
	return base
}

// cross makes the tile of a panel, with the crossings of its points from start to end with
// the candidates. Those from fresh on have no covariances of e in x yet: base has the base kernel's.
func (t *tile) cross(f *workspace, b *panels, x *crossings, base *linalg.Dense, start, end, fresh int) {
	cols := &b.cols[start/panel]
	t.carry(cols, f.located)
	_, n := cols.Dims()
	for l := start; l < end; l++ {
		i, p := l%panel, b.pts[l]
		pop, row := t.of(i)[:f.len()], x.rest[l]
		if l >= fresh && f.across != nil && !p.on[0] {
			p.applyTo(row, f.across, 0)
			if n > panel {
				linalg.Axpy(row, 1, t.of(panel + i)[:f.len()])
			}
			for j, k := range base.Row(l - fresh) {
				if row[j] = k - row[j]; f.on[j] {
					row[j] = 0
				}
			}
		}
		if n == panel && !p.on[0] {
			for j, on := range f.on {
				if on { // which has no e
					pop[j] = p.pop[f.idx[j][0]]
				}
			}
		}
		t.with[i] = crossing{rest: row, pop: pop}
		for j, rows := range x.specific {
			if rows != nil {
				t.with[i].specific[j] = rows[l]
			}
		}
	}
}

// condition conditions posteriors on the points of panels, which take the places
// from first on, and completes their rows x. A posterior that knows a point has its row of w.
func (r *Run) condition(f *workspace, ps []*posterior, b *panels, x *crossings, first int, t *tile) {
	from := len(x.rest) // points that all know
	fresh := from
	base := r.extend(x, b.x, f.located)
	for _, p := range ps {
		from = min(from, len(p.w)-first)
	}
	for end := from; end < len(b.pts); {
		start := end
		end = min((start/panel+1)*panel, len(b.pts))
		t.cross(f, b, x, &base, start, end, fresh)
		for _, p := range ps {
			n, known := f.len(), len(p.w)-first
			made := make([]float64, max(end-known, 0)*n)
			for l := known; l < end; l++ {
				row := made[(l-known)*n:][:n:n]
				p.of.covariance(row, &t.with[l%panel])
				p.add(row)
			}
		}
	}
}

// told returns members' posteriors at a block, brought up to the points told.
func (r *Run) told(f *workspace, ks []weighted, b *panels, t *tile) []*posterior {
	ps := make([]*posterior, len(ks))
	for i, k := range ks {
		if f.posteriors[k.member] == nil {
			f.posteriors[k.member] = k.start(f)
		}
		ps[i] = f.posteriors[k.member]
	}
	r.condition(f, ps, b, &f.told, 0, t)
	return ps
}

// awaited returns posteriors conditioned on the points awaited as well.
func (r *Run) awaited(f *workspace, ps []*posterior, b *panels, t *tile) []*posterior {
	out := make([]*posterior, len(ps))
	for i, p := range ps {
		if f.ahead[p.of] == nil {
			f.ahead[p.of] = &posterior{
				of: p.of, by: p.of.awaited, w: slices.Clone(p.w),
				p0: slices.Clone(p.p0), p1: slices.Clone(p.p1), p2: slices.Clone(p.p2), variance: slices.Clone(p.variance),
			}
		}
		out[i] = f.ahead[p.of]
	}
	r.condition(f, out, b, &f.pending, len(r.pts), t)
	return out
}
