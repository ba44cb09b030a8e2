package hierarchy

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A grid is the set Z on which moments are learned, and the rule that carries them
// to other points: with the base process f_b,
//
//	f(x) = c + b(x)·(f(Z) − c) + e(x),   e(x) = f_b(x) − c − b(x)·(f_b(Z) − c),
//
// where b(x) are the weights of the best linear predictor of the base process from
// the nearest grid points (as its kernel measures), and e is independent of f(Z).
// A point of the grid has the weight 1 on itself and no e. The weights are sparse,
// so that the cost at a point does not grow with the square of the grid; e's
// covariance is computed for those very weights, so that what results is a process
// for any number of neighbours.
type grid struct {
	base       Base
	z          *linalg.Dense
	gram       *linalg.Sym // k_b(Z, Z)
	row        map[string]int
	neighbours int
	own        kernel.Kernel // of what a target has of its own
}

// A target's own process is small, and its lengths are those that are likely of any
// function: the lengths of few tasks say little of those of another.
const ownVariance = 0.3 // of the base process's

func newGrid(base Base, z *linalg.Dense, neighbours int) *grid {
	n, _ := z.Dims()
	g := &grid{base: base, z: z, gram: linalg.NewSym(n, nil), row: make(map[string]int, n), neighbours: min(neighbours, n)}
	kernel.Gram(g.gram, base.Kernel, z)
	for i := range n {
		g.row[points.Key(z.Row(i))] = i
	}
	g.own = kernel.Scale(max(ownVariance*g.gram.Trace()/float64(n), math.SmallestNonzeroFloat64), DefaultKernel(g.dim()))
	return g
}

func (g *grid) len() int { return g.gram.Dim() }

func (g *grid) dim() int {
	_, d := g.z.Dims()
	return d
}

// prior returns the moments of the base process.
func (g *grid) prior() Moments {
	return Moments{Mean: slices.Repeat([]float64{g.base.Mean}, g.len()), Cov: g.gram}
}

// sites are points carried to the grid.
type sites struct {
	x   *linalg.Dense
	idx [][]int     // grid points that carry each, one for a point of the grid
	w   [][]float64 // their weights
	on  []bool      // points of the grid
	// cross is k_b(x, Z), a row a point; nil where all points are of the grid.
	cross *linalg.Dense
	// restVar holds the variances of e.
	restVar []float64
}

func (s *sites) len() int { return len(s.idx) }

// locator is the memory of carrying one point after another to the grid.
type locator struct {
	row   []float64 // k_b(x, Z) of a point
	near  []float64 // its entries at the neighbours
	order []int
	tops  []float64 // entries of row that may be among the largest
	most  []float64 // the largest of those, in falling order
	sub   linalg.Sym
	chol  linalg.Cholesky
}

// locate carries the rows of x to the grid. What comes of it keeps cross, which is
// overwritten.
func (g *grid) locate(x, cross *linalg.Dense) (*sites, error) {
	n, _ := x.Dims()
	s := &sites{x: x, idx: make([][]int, n), w: make([][]float64, n), on: make([]bool, n), restVar: make([]float64, n)}
	one := []float64{1}
	off := false
	for i := range n {
		if r, ok := g.row[points.Key(x.Row(i))]; ok {
			s.idx[i], s.w[i], s.on[i] = []int{r}, one, true
			continue
		}
		off = true
	}
	if !off {
		return s, nil
	}
	s.cross = cross
	kernel.Cross(s.cross, g.base.Kernel, x, g.z)
	kernel.Diag(s.restVar, g.base.Kernel, x)
	m := g.neighbours
	idx, w := make([]int, n*m), make([]float64, n*m)
	var l locator
	for i := range n {
		if s.on[i] {
			s.restVar[i] = 0
			continue
		}
		s.idx[i], s.w[i] = idx[i*m:][:m:m], w[i*m:][:m:m]
		l.row = s.cross.Row(i)
		if err := g.weights(s, i, &l); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// weights finds the neighbours of point i, whose row is in l, and their weights.
func (g *grid) weights(s *sites, i int, l *locator) error {
	idx, w := s.idx[i], s.w[i]
	l.nearest(idx)
	l.sub.Subset(g.gram, idx)
	if _, err := l.chol.FactorizeJitter(&l.sub, gaussian.MaxJitter); err != nil {
		return err
	}
	l.near = resize(l.near, len(idx))
	for a, r := range idx {
		l.near[a] = l.row[r]
	}
	l.chol.SolveVecTo(w, l.near)
	s.restVar[i] = max(s.restVar[i]-linalg.Dot(w, l.near), 0)
	return nil
}

// nearest sets idx to the indices of the largest entries of row, ascending, the first of
// equals.
func (l *locator) nearest(idx []int) {
	m := len(idx)
	least := l.threshold(m)
	l.order, l.tops = l.order[:0], l.tops[:0]
	for i, v := range l.row {
		if !(v < least) {
			l.order, l.tops = append(l.order, i), append(l.tops, v)
		}
	}
	least = l.largest(m)
	equals := m - slices.Index(l.most, least) // of the least of them, so many belong
	idx = idx[:0]
	for i, v := range l.tops {
		if v < least || v == least && equals == 0 {
			continue
		}
		if v == least {
			equals--
		}
		idx = append(idx, l.order[i])
	}
}

// threshold returns a number that at least m entries of row reach: the least of m
// entries of different parts of row, each about the largest of its part.
func (l *locator) threshold(m int) float64 {
	size := len(l.row) / (2 * m)
	if size < 2 {
		return math.Inf(-1)
	}
	l.tops = resize(l.tops, 2*m)
	for i := range l.tops {
		// As integers numbers that are not negative have their order, and the larger
		// of two is found without a branch.
		var top int64 = math.MinInt64
		for _, v := range l.row[i*size : (i+1)*size] {
			top = max(top, int64(math.Float64bits(v)))
		}
		l.tops[i] = math.Float64frombits(uint64(top))
	}
	return l.largest(m)
}

// largest returns the m-th largest of tops, the others being in most.
func (l *locator) largest(m int) float64 {
	most := l.most[:0]
	for _, v := range l.tops {
		if len(most) == m {
			if !(v > most[m-1]) {
				continue
			}
			most = most[:m-1]
		}
		j := len(most)
		most = append(most, v)
		for ; j > 0 && v > most[j-1]; j-- {
			most[j] = most[j-1]
		}
		most[j] = v
	}
	l.most = most
	return most[m-1]
}

// carry returns b·v for point i, v a vector on the grid.
func (s *sites) carry(i int, v []float64) float64 {
	idx, w := s.idx[i], s.w[i]
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
func (s *sites) applyTo(dst []float64, c *linalg.Dense, i int) {
	clear(dst)
	idx, w := s.idx[i], s.w[i]
	for ; len(idx) >= 4; idx, w = idx[4:], w[4:] {
		f64.Axpy4(dst, w[0], w[1], w[2], w[3], c.Row(idx[0]), c.Row(idx[1]), c.Row(idx[2]), c.Row(idx[3]))
	}
	for a, r := range idx {
		linalg.Axpy(dst, w[a], c.Row(r))
	}
}

// quads adds bᵀ·C·b for point i to dst, for each of the matrices that interleave has
// put together.
func (s *sites) quads(dst []float64, cs []float64, i int) {
	n := len(dst)
	idx, w := s.idx[i], s.w[i]
	for a, r := range idx {
		for b, q := range idx[:a+1] {
			c := 2 * w[a] * w[b]
			if a == b {
				c = w[a] * w[a]
			}
			for k, v := range cs[(r*(r+1)/2+q)*n:][:n] {
				dst[k] += c * v
			}
		}
	}
}

// interleave puts the lower triangles of matrices together, an entry of all after the
// other, since those wanted of each lie far apart.
func interleave(cs []*linalg.Sym) []float64 {
	n := cs[0].Dim()
	out := make([]float64, 0, n*(n+1)/2*len(cs))
	for i := range n {
		for j := range i + 1 {
			for _, c := range cs {
				out = append(out, c.At(i, j))
			}
		}
	}
	return out
}

// defect sets dst to k_b(Z, x) − k_b(Z, Z)·b for point i: what the neighbours do
// not say of the covariance with the other grid points.
func (g *grid) defect(dst []float64, s *sites, i int) {
	clear(dst)
	if s.on[i] {
		return
	}
	gram := g.gram.Dense()
	s.applyTo(dst, &gram, i)
	for r, k := range s.cross.Row(i) {
		dst[r] = k - dst[r]
	}
	for _, r := range s.idx[i] {
		dst[r] = 0
	}
}

// restCov returns the covariance of e at point i of s and point j of t, with the
// defect of point i and the base kernel's k of the two.
func restCov(s *sites, i int, defect []float64, t *sites, j int, k float64) float64 {
	if s.on[i] || t.on[j] {
		return 0
	}
	return k - t.carry(j, defect) - s.carry(i, t.cross.Row(j))
}
