package hierarchy

import (
	"slices"
	"sync/atomic"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A point is one that was told, or is awaited.
type point struct {
	*located                             // a single one
	with     crossing                    // those before and itself
	onGrid   [][]float64                 // its defect, then C·b under the population and the clusters
	whitened []atomic.Pointer[[]float64] // V·b by single task, where it was needed
	noise    float64                     // noise variance in units of the tasks' values
}

// A view is a block of candidates as one run knows it.
type view struct {
	*located
	whitened map[int]*linalg.Dense // V·b by single task, a column a candidate
}

// whiten returns V·b of single task i.
func (f *view) whiten(m *Model, i int) *linalg.Dense {
	if f.whitened[i] == nil {
		vt := m.singles[i].vt
		_, n := vt.Dims()
		at := linalg.NewDense(f.len(), n, nil)
		for j := range f.len() {
			f.applyTo(at.Row(j), vt, j)
		}
		f.whitened[i] = new(linalg.Dense)
		f.whitened[i].CopyTrans(at)
	}
	return f.whitened[i]
}

// A crossing holds prior covariances of one point with others, for one goroutine, in the
// parts that hypotheses share.
type crossing struct {
	base    []float64   // the base kernel's
	rest    []float64   // of e
	own     []float64   // of a process of the target's own
	moments [][]float64 // bᵀ·C·b', C the covariance of the population or a cluster

	m     *Model
	p     *point
	pts   []*point // the others,
	block *view    // or these
	last  int      // single task that row is of, −1 for none
	row   []float64
}

// set makes c that of the last of points with all of them.
func (c *crossing) set(m *Model, pts []*point) {
	row := resize(c.row, len(pts))
	*c = pts[len(pts)-1].with
	c.m, c.p, c.pts, c.last, c.row = m, pts[len(pts)-1], pts, -1, row
}

// task returns bᵀ·Vᵀ·V·b' of single task i, which its values take off the population's
// covariances; it is good until the next call.
func (c *crossing) task(i int) []float64 {
	if i == c.last {
		return c.row
	}
	c.last = i
	x := c.m.whiten(c.p, i)
	for j, q := range c.pts {
		c.row[j] = linalg.Dot(x, c.m.whiten(q, i))
	}
	if c.block == nil {
		return c.row
	}
	w, a := c.block.whiten(c.m, i), 0
	clear(c.row)
	for ; a+4 <= len(x); a += 4 {
		f64.Axpy4(c.row, x[a], x[a+1], x[a+2], x[a+3], w.Row(a), w.Row(a+1), w.Row(a+2), w.Row(a+3))
	}
	for ; a < len(x); a++ {
		linalg.Axpy(c.row, x[a], w.Row(a))
	}
	return c.row
}

// point carries a point to the grid; before are the earlier ones, and own is the kernel
// of a process of the target's own.
func (m *Model) point(before []*point, x []float64, noise float64, own kernel.Kernel) (*point, error) {
	g := m.grid
	s, err := m.locate(linalg.NewDense(1, len(x), slices.Clone(x)), new(linalg.Dense))
	if err != nil {
		return nil, err
	}
	n, sets := len(before), 1+len(m.clusters)
	p := &point{located: s, onGrid: make([][]float64, 1+sets), whitened: make([]atomic.Pointer[[]float64], len(m.singles)), noise: noise}
	for i := range p.onGrid {
		p.onGrid[i] = make([]float64, g.len())
	}
	g.defect(p.onGrid[0], s, 0)
	c := crossing{base: make([]float64, n+1), rest: make([]float64, n+1), moments: make([][]float64, sets)}
	c.own = make([]float64, n+1)
	for i := range sets {
		cov := m.Moments(i).Cov.Dense()
		s.applyTo(p.onGrid[1+i], &cov, 0)
		c.moments[i] = make([]float64, n+1)
	}
	pts := append(slices.Clip(before), p)
	for j, q := range pts {
		c.base[j] = g.base.Kernel.Eval(s.x.Row(0), q.x.Row(0))
		c.own[j] = own.Eval(s.x.Row(0), q.x.Row(0))
		c.rest[j] = restCov(s, 0, p.onGrid[0], q.located, 0, c.base[j])
		for i, v := range p.onGrid[1:] {
			c.moments[i][j] = q.carry(0, v)
		}
	}
	c.rest[n] = s.restVar[0]
	p.with = c
	return p, nil
}

// whiten returns V·b of single task i at a point.
func (m *Model) whiten(p *point, i int) []float64 {
	if w := p.whitened[i].Load(); w != nil {
		return *w
	}
	vt := m.singles[i].vt
	_, n := vt.Dims()
	w := make([]float64, n)
	p.applyTo(w, vt, 0)
	p.whitened[i].Store(&w)
	return w
}

// panel is the number of points whose vectors on the grid are carried to a candidate
// side by side, a column each: first their defects, then their covariances under each of
// the moments. There are always so many, so that what comes of a point is the same
// whichever others come with it.
const panel = 8

// panels are points, told or awaited, laid out to be carried to candidates.
type panels struct {
	pts  []*point
	x    *linalg.Dense  // the points, a row each
	sets []int          // of moments that hypotheses need
	cols []linalg.Dense // by panel; empty before the first that is needed
}

// newPanels lays out points under sets of moments, from the panel of the point from on. What
// earlier panels, of the first of the points, hold for the same moments is taken from them.
func (m *Model) newPanels(sets []int, pts []*point, from int, earlier *panels) *panels {
	g := m.grid
	b := &panels{pts: pts, sets: sets, x: linalg.NewDense(len(pts), g.dim(), nil), cols: make([]linalg.Dense, (len(pts)+panel-1)/panel)}
	for i, p := range pts {
		copy(b.x.Row(i), p.x.Row(0))
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
			copy(rows.Row(i), p.onGrid[0])
			for k, set := range b.sets {
				copy(rows.Row((1+k)*panel+i), p.onGrid[1+set])
			}
		}
		b.cols[l/panel].CopyTrans(rows)
	}
	return b
}

// A tile is what the columns of a panel are at a block of candidates, the crossings of the
// panel's points with those, and the memory of one goroutine that makes them.
type tile struct {
	at, row []float64 // a row a column of the panel; a row a candidate
	with    [panel]crossing
	moments [][]float64 // the crossings'
	taken   [panel * block]float64
}

func (t *tile) of(i int) []float64 { return t.at[i*block:][:block] }

// carry makes the tile of a panel.
func (t *tile) carry(cols *linalg.Dense, at *located) {
	_, n := cols.Dims()
	t.at, t.row = resize(t.at, n*block), resize(t.row, n*block)
	for j := range at.len() {
		at.applyTo(t.row[j*n:][:n], cols, j)
	}
	f64.Transpose(at.len(), n, t.at, block, t.row, n)
}
