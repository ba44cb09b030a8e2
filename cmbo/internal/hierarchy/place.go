package hierarchy

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
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
			c.variance[i][j] = s.restVar[j] + q
		}
	}
	if s.cross != nil {
		c.across = new(linalg.Dense)
		c.across.CopyTrans(s.cross)
		s.cross = nil
	}
	return c, nil
}

// block is the number of candidates, at most, that one goroutine goes on with at a time.
const block = 128

// A tile has a row for each column of a panel, and a column a candidate of a block.
type tile struct{ at, row []float64 }

func (t *tile) of(i int) []float64 { return t.at[i*block:][:block] }

// carryTo sets the rows of dst to what the columns of a panel are at the candidates.
func (c *placed) carryTo(dst *tile, cols *linalg.Dense) {
	_, n := cols.Dims()
	dst.at, dst.row = resize(dst.at, n*block), resize(dst.row, n*block)
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
