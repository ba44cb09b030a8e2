package hierarchy

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// located are points carried to the grid: one that was told, a task's, or a block of candidates.
type located struct {
	x       *linalg.Dense // a row a point
	idx     [][]int       // grid points that carry each, one for a point of the grid
	w       [][]float64   // their weights
	jitter  []float64     // what was added to the variances of these grid points, so that the weights are not large
	on      []bool        // points of the grid
	restVar []float64     // variances of e
	cross   *linalg.Dense // k_b(x, Z), a row a point; nil where all points are of the grid

	// Prior moments, by Model.locate.
	mean, variance []float64     // under the population
	across         *linalg.Dense // k_b(Z, x), a column a point, of candidates, which need no cross
}

func (s *located) len() int { return len(s.idx) }

// locate carries the rows of x to the grid, where all runs share their prior moments. What
// comes of it keeps cross, which is overwritten.
func (m *Model) locate(x, cross *linalg.Dense) (*located, error) {
	s, err := m.grid.locate(x, cross)
	if err != nil {
		return nil, err
	}
	mean := &surface{mean: m.pop.Mean} // which is all that points of the grid take
	if s.cross != nil {
		if mean, err = m.mean(); err != nil {
			return nil, err
		}
	}
	s.mean, s.variance = make([]float64, s.len()), make([]float64, s.len())
	m.grid.meansTo(s.mean, s, mean)
	for j := range s.variance {
		s.variance[j] = s.restVar[j] + s.quad(m.pop.Cov, j)
	}
	return s, nil
}

// carry returns b·v for point i, v a vector on the grid.
func (s *located) carry(i int, v []float64) float64 { return sparse(s.idx[i], s.w[i], v) }

// sparse returns the sum of w·v over the entries idx of v.
func sparse(idx []int, w, v []float64) float64 {
	var s0, s1, s2, s3 float64 // sums that do not wait for each other
	for ; len(idx) >= 4 && len(w) >= 4; idx, w = idx[4:], w[4:] {
		s0 += w[0] * v[idx[0]]
		s1 += w[1] * v[idx[1]]
		s2 += w[2] * v[idx[2]]
		s3 += w[3] * v[idx[3]]
	}
	for a, r := range idx {
		s0 += w[a] * v[r]
	}
	return (s0 + s1) + (s2 + s3)
}

// applyTo sets dst to Cᵀ·b of point i, C having a row a grid point.
func (s *located) applyTo(dst []float64, c *linalg.Dense, i int) {
	clear(dst)
	idx, w := s.idx[i], s.w[i]
	for ; len(idx) >= 4; idx, w = idx[4:], w[4:] {
		f64.Ops.Axpy4(dst, w[0], w[1], w[2], w[3], c.Row(idx[0]), c.Row(idx[1]), c.Row(idx[2]), c.Row(idx[3]))
	}
	for a, r := range idx {
		linalg.Axpy(dst, w[a], c.Row(r))
	}
}

// quad returns bᵀ·C·b for point i.
func (s *located) quad(c *linalg.Sym, i int) (sum float64) {
	idx, w := s.idx[i], s.w[i]
	for a, r := range idx {
		row := c.Row(r)
		sum += w[a] * (2*sparse(idx[:a], w[:a], row) + w[a]*row[r])
	}
	return sum
}

// defect sets dst to k_b(Z, x) − k_b(Z, Z)·b for point i: the covariances with the grid
// points that its neighbours do not carry, and at these what is left by the jitter.
func (g *grid) defect(dst []float64, s *located, i int) {
	clear(dst)
	if s.on[i] {
		return
	}
	gram := g.gram.Dense()
	s.applyTo(dst, &gram, i)
	for r, k := range s.cross.Row(i) {
		dst[r] = k - dst[r]
	}
	for a, r := range s.idx[i] {
		dst[r] = s.jitter[i] * s.w[i][a]
	}
}

// restCov returns the covariance of e at point i of s and point j of t, with the
// defect of point i and the base kernel's k of the two.
func restCov(s *located, i int, defect []float64, t *located, j int, k float64) float64 {
	if s.on[i] || t.on[j] {
		return 0
	}
	return k - t.carry(j, defect) - s.carry(i, t.cross.Row(j))
}

// block is the number of candidates, at most, that one goroutine goes on with at a time.
const block = 128

// Candidates are points to predict at, carried to the grid. They are immutable.
type Candidates struct {
	x      *linalg.Dense
	blocks []*located
	from   []int // the first candidate of each block, and their number
}

// Hold reports whether c, nil for none, are the rows of x.
func (c *Candidates) Hold(x *linalg.Dense) bool { return c != nil && points.Equal(c.x, x) }

// has reports whether b is a block of c, nil for none.
func (c *Candidates) has(b *located) bool { return c != nil && slices.Contains(c.blocks, b) }

// Candidates carries the rows of x to the grid.
func (m *Model) Candidates(ctx context.Context, x *linalg.Dense, workers int) (*Candidates, error) {
	return m.candidates(ctx, x, workers, nil, nil)
}

// candidates carries to the grid points that come in parts of so many rows, which no block straddles. Blocks that are known
// already are taken as they are.
func (m *Model) candidates(ctx context.Context, x *linalg.Dense, workers int, parts []int, known *Candidates) (*Candidates, error) {
	n, d := x.Dims()
	c := &Candidates{x: x}
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
	c.blocks = make([]*located, len(c.from)-1)
	var old []*located // of two equal blocks each takes another
	if known != nil {
		old = slices.Clone(known.blocks)
	}
	rows := func(b int) *linalg.Dense {
		at := x.View(c.from[b], 0, c.from[b+1]-c.from[b], d)
		return &at
	}
	for b := range c.blocks {
		at := rows(b)
		if i := slices.IndexFunc(old, func(k *located) bool { return points.Equal(k.x, at) }); i >= 0 {
			c.blocks[b] = old[i]
			old = slices.Delete(old, i, i+1)
		}
	}
	memory := make([]linalg.Dense, parallel.Workers(workers, len(c.blocks)))
	return c, parallel.For(ctx, workers, len(c.blocks), func(w, b int) error {
		if c.blocks[b] != nil {
			return nil
		}
		s, err := m.locate(points.Join(rows(b)), &memory[w]) // a copy: blocks outlive the rest of x
		if err != nil {
			return err
		}
		if s.cross != nil {
			s.across = new(linalg.Dense)
			s.across.CopyTrans(s.cross)
			s.cross = nil
		}
		c.blocks[b] = s
		return nil
	})
}
