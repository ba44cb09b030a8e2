package hierarchy

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// A point is one that was told, or is awaited.
type point struct {
	*located              // a single one
	with        crossing  // those before and itself
	defect, pop []float64 // its defect, and C·b under the population
	given       float64   // the noise variance that came with it, in units of the tasks' values; 0 for none
}

// A crossing holds prior covariances of one point with others, in the parts that hypotheses share. With candidates,
// what rest and pop both have of the grid is in pop where no hypothesis needs them apart: see panels.
type crossing struct {
	rest     []float64    // of e
	specific [2][]float64 // of the processes specific to the target
	pop      []float64    // bᵀ·C·b', C the covariance of the population
}

// points carries the rows of x from the one numbered from to the one before n to the grid, on several goroutines;
// before are the earlier points, and specific are the processes specific to the target.
func (m *Model) points(
	ctx context.Context, before []*point, x *linalg.Dense, from, n int, specific [2]process, workers int,
) ([]*point, error) {
	pts := slices.Grow(slices.Clip(before), n-from)[:len(before)+n-from]
	err := parallel.For(ctx, workers, n-from, func(_, i int) (err error) {
		pts[len(before)+i], err = m.point(x.Row(from + i))
		return err
	})
	if err != nil {
		return nil, err
	}
	return pts[len(before):], parallel.For(ctx, workers, n-from, func(_, i int) error {
		last := len(before) + n - from - 1 - i // the longest first
		pts[last].cross(m, pts[:last+1], specific)
		return nil
	})
}

// point carries a point to the grid.
func (m *Model) point(x []float64) (*point, error) {
	g := m.grid
	s, err := m.locate(linalg.NewDense(1, len(x), slices.Clone(x)), new(linalg.Dense))
	if err != nil {
		return nil, err
	}
	p := &point{located: s, defect: make([]float64, g.len()), pop: make([]float64, g.len())}
	g.defect(p.defect, s, 0)
	cov := m.pop.Cov.Dense()
	s.applyTo(p.pop, &cov, 0)
	return p, nil
}

// cross sets the covariances of p with points, of which it is the last.
func (p *point) cross(m *Model, pts []*point, specific [2]process) {
	n := len(pts)
	c := crossing{rest: make([]float64, n), pop: make([]float64, n)}
	for j, q := range pts {
		c.rest[j] = restCov(p.located, 0, p.defect, q.located, 0, m.grid.base.Kernel.Eval(p.x.Row(0), q.x.Row(0)))
		c.pop[j] = q.carry(0, p.pop)
	}
	c.rest[n-1] = p.restVar[0]
	p.with = c
	for i, of := range specific {
		p.crossSpecific(pts, i, of)
	}
}

// crossSpecific sets those of one of the processes specific to the target.
func (p *point) crossSpecific(pts []*point, i int, of process) {
	p.with.specific[i] = nil
	for j := 0; of.kernel != nil && j < len(pts); j++ {
		p.with.specific[i] = append(p.with.specific[i], of.kernel.Eval(p.x.Row(0), pts[j].x.Row(0)))
	}
}

// panel is the number of points whose vectors on the grid are carried to a candidate side by side, a column each: their
// covariances under the population less their defects or, where a hypothesis needs these apart, first the ones and then
// the others. There are always so many, so that what comes of a point is the same whichever others come with it.
const panel = 8

// panels are points, told or awaited, laid out to be carried to candidates.
type panels struct {
	pts  []*point
	x    *linalg.Dense  // the points, a row each
	cols []linalg.Dense // by panel
}

// layOut lays out what pts, which begin with the points of b, have besides.
func (r *Run) layOut(b *panels, pts []*point) {
	from, g := len(b.pts), r.Model.grid
	if b.x != nil && from == len(pts) {
		return
	}
	b.pts, b.x = pts, linalg.NewDense(len(pts), g.dim(), nil)
	for i, p := range pts {
		copy(b.x.Row(i), p.x.Row(0))
	}
	width, apart := panel, slices.ContainsFunc(r.all, func(k *member) bool { return k.past == shifted })
	if apart {
		width = 2 * panel
	}
	for l := from; l < len(pts); l++ {
		i, p := l%panel, pts[l]
		if i == 0 {
			b.cols = append(b.cols, *linalg.NewDense(g.len(), width, nil))
		}
		for j, v := range p.pop {
			if row := b.cols[l/panel].Row(j); apart {
				row[i], row[panel+i] = v, p.defect[j]
			} else {
				row[i] = v - p.defect[j]
			}
		}
	}
}

// A tile is what the columns of a panel are at a block of candidates, the crossings of the
// panel's points with those, and the memory of one goroutine that makes them.
type tile struct {
	at, row []float64 // a row a column of the panel; a row a candidate
	with    [panel]crossing
}

func (t *tile) of(i int) []float64 { return t.at[i*block:][:block] }

// carry makes the tile of a panel.
func (t *tile) carry(cols *linalg.Dense, at *located) {
	_, n := cols.Dims()
	t.at, t.row = resize(t.at, n*block), resize(t.row, n*block)
	for j := range at.len() {
		at.applyTo(t.row[j*n:][:n], cols, j)
	}
	f64.Ops.Transpose(at.len(), n, t.at, block, t.row, n)
}
