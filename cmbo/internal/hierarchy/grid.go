package hierarchy

import (
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A grid is the set Z on which moments are learned, and the rule that carries them
// to other points: with the base process f_b,
//
//	f(x) = c + b(x)·(f(Z) − c) + e(x),   e(x) = f_b(x) − c − b(x)·(f_b(Z) − c),
//
// where b(x) are the weights of the best linear predictor of the base process from the nearest grid points (as its kernel
// measures), and e is independent of f(Z). A point of the grid has the weight 1 on itself and no e. The weights are sparse,
// so that the cost at a point does not grow with the square of the grid; e's covariance is computed for those very weights,
// so that what results is a process for any number of neighbours. Means in a run are carried by the whole grid: see surface.
type grid struct {
	base       Base
	z          *linalg.Dense
	gram       *linalg.Sym    // k_b(Z, Z)
	row        map[string]int // of a grid point, by its coordinates
	neighbours int            // grid points that carry a point off the grid
	factor     func() (*linalg.Cholesky, error)
	identity   func() *linalg.Sym // of its size, which concentrated tasks share
}

func newGrid(base Base, z *linalg.Dense, neighbours int) *grid {
	n, _ := z.Dims()
	g := &grid{base: base, z: z, gram: linalg.NewSym(n, nil), row: points.Places(z), neighbours: min(neighbours, n)}
	kernel.Gram(g.gram, base.Kernel, z)
	g.factor = sync.OnceValues(func() (*linalg.Cholesky, error) {
		c := new(linalg.Cholesky)
		_, err := c.FactorizeJitter(g.gram, gaussian.MaxJitter)
		return c, err
	})
	g.identity = sync.OnceValue(func() *linalg.Sym {
		one := linalg.NewSym(n, nil)
		one.AddDiag(1)
		return one
	})
	return g
}

// A surface is a mean known on the grid, and what carries it to all points:
//
//	c + k_b(x, Z)·k_b(Z, Z)⁻¹·(m − c),
//
// the mean of the base process given all of the grid, which costs no more than the covariances with it. That given the
// neighbours alone is another one: in five dimensions and more the other points are hardly farther away.
type surface struct{ mean, alpha []float64 }

// surface takes O(G²), and O(G³) once a grid.
func (g *grid) surface(mean []float64) (*surface, error) {
	chol, err := g.factor()
	if err != nil {
		return nil, err
	}
	alpha := slices.Clone(mean)
	for i := range alpha {
		alpha[i] -= g.base.Mean
	}
	chol.SolveVecTo(alpha, alpha)
	return &surface{mean, alpha}, nil
}

// meansTo sets dst to what f is at the points of s.
func (g *grid) meansTo(dst []float64, s *located, f *surface) {
	if s.across != nil {
		clear(dst)
		for r, a := range f.alpha {
			linalg.Axpy(dst, a, s.across.Row(r))
		}
	}
	for i, idx := range s.idx {
		switch {
		case s.on[i]:
			dst[i] = f.mean[idx[0]]
		case s.across != nil:
			dst[i] += g.base.Mean
		default:
			dst[i] = g.base.Mean + linalg.Dot(s.cross.Row(i), f.alpha)
		}
	}
}

func (g *grid) len() int { return g.gram.Dim() }

func (g *grid) dim() int {
	_, d := g.z.Dims()
	return d
}

func (g *grid) prior() Moments {
	return Moments{Mean: slices.Repeat([]float64{g.base.Mean}, g.len()), Cov: g.gram}
}

// locator is the memory of carrying one point after another to the grid.
type locator struct {
	row  []float64 // k_b(x, Z) of a point
	near []float64 // its entries at the neighbours
	same []float64 // its entries in the bucket of the least that is taken: see nearest
	sub  linalg.Sym
	chol linalg.Cholesky
}

// locate carries the rows of x to the grid, without prior moments. What comes of it keeps cross, which is overwritten.
func (g *grid) locate(x, cross *linalg.Dense) (*located, error) {
	n, _ := x.Dims()
	s := &located{x: x, idx: make([][]int, n), w: make([][]float64, n), jitter: make([]float64, n), on: make([]bool, n), restVar: make([]float64, n)}
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
func (g *grid) weights(s *located, i int, l *locator) error {
	idx, w, variance := s.idx[i], s.w[i], s.restVar[i]
	l.nearest(idx, variance)
	l.sub.Subset(g.gram, idx)
	l.near = resize(l.near, len(idx))
	for a, r := range idx {
		l.near[a] = l.row[r]
	}
	mean, err := l.sub.Trace()/float64(len(idx)), error(nil)
	for share := range linalg.Jitters(gaussian.MaxJitter) {
		s.jitter[i] = share * mean
		if err = l.chol.FactorizeShift(&l.sub, s.jitter[i]); err != nil {
			continue
		}
		if l.chol.SolveVecTo(w, l.near); linalg.Dot(w, w) <= maxWeights {
			break
		}
	}
	s.restVar[i] = max(variance-linalg.Dot(w, l.near)-s.jitter[i]*linalg.Dot(w, w), 0)
	return err
}

// maxWeights is what the squares of a point's weights add up to, at most. By as much is multiplied what covariances on the
// grid lack, by rounding and by jitters of 1e-10, of those of a process: to 1e-6, a hundredth of the least noise of a base
// process. With jitter j and variance v of the point they add up to v/4j at most.
const maxWeights = 1e4

// nearest sets idx to the indices of the largest entries of row, ascending, the first of equals;
// top is about what none exceeds. Entries are counted in buckets first, so that few are sorted.
func (l *locator) nearest(idx []int, top float64) {
	const buckets = 128
	var count [buckets]int
	scale := buckets / top
	bucket := func(v float64) int {
		if v >= top {
			return buckets - 1
		}
		return max(0, min(int(v*scale), buckets-1))
	}
	for _, v := range l.row {
		count[bucket(v)]++
	}
	last, needed := buckets-1, len(idx) // from the last bucket that is
	for ; count[last] < needed; last-- {
		needed -= count[last]
	}
	same := l.same[:0]
	for _, v := range l.row {
		if bucket(v) == last {
			same = append(same, v)
		}
	}
	l.same = same
	slices.Sort(same)
	same = same[len(same)-needed:]
	least, equal := same[0], 0 // the least value that is taken, and how many times
	for ; equal < needed && same[equal] == least; equal++ {
	}
	k := 0
	for i, v := range l.row {
		if v == least && equal > 0 {
			equal--
		} else if !(v > least) {
			continue
		}
		idx[k] = i
		k++
	}
}
