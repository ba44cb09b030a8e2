package hierarchy

import (
	"math"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// Level is the kind of a hypothesis on what the target is like.
type Level int

// The levels, from no past task to a single one.
const (
	NoTransfer Level = iota // a draw of the base process
	Population              // a draw of the population
	Cluster                 // of a cluster
	SingleTask              // like one past task
	NumLevels
)

// Masses are the prior masses of the hypotheses, and what bounds their cost.
type Masses struct {
	Level [NumLevels]float64
	// Taus are the widths of the hypothesis that the target is like one task, in
	// shares of the population's covariance.
	Taus []float64
	// Noises are what the noise variance of the target may be, in shares of the one
	// in use where a value has none of its own; single tasks take the last of them.
	// The tasks' noise holds what the base process does not follow of their
	// functions, which the hypotheses that transfer may well follow.
	Noises []float64
	// Own is the share of the mass of no transfer and of the population's on targets that
	// have a process of their own beside.
	Own float64
	// Reversed is the mass of the hypotheses under which large is small.
	Reversed float64
	// Top bounds the single tasks that are predicted with.
	Top int
	// Window is the number of observations, the first ones, that choose those among all:
	// of n of them, Top·Window/n hypotheses of single tasks go on.
	Window int
	// Exact says that the target is in the tasks' scaled units: its offset is 0 and
	// its scale 1.
	Exact bool
	// Whole says that values far below the others are taken as they are: see
	// scaling.RaiseLow.
	Whole bool
}

// DefaultMasses returns the defaults.
func DefaultMasses() Masses {
	return Masses{Level: [NumLevels]float64{.2, .3, .25, .25}, Taus: []float64{.03, .3}, Noises: []float64{1, .1}, Own: 0.5, Reversed: 0.1, Top: 16, Window: 64}
}

// component is one hypothesis, conditioned on the points told.
type component struct {
	level Level
	index int     // of the cluster or task
	tau   float64 // width of a single task
	own   bool    // the target has a process of its own beside
	noise float64 // share of the noise variance, where a value has none of its own
	log   float64 // log prior mass

	whitened
	in inner

	fit  affine
	mass float64

	ext *whitened // with the points awaited, nil for none
}

// whitened is the factor of a component's covariances at points, with noise, and what it
// whitens there: values, ones and prior means.
type whitened struct {
	chol     linalg.Cholesky
	yt, u, v []float64
}

// add conditions on a point more, whose covariances with the others and itself are row.
func (w *whitened) add(row []float64, noise, y, mean float64) error {
	if err := appendRow(&w.chol, row, noise); err != nil {
		return err
	}
	n := len(row) - 1
	l := w.chol.Lower().Row(n)
	next := func(v []float64, x float64) []float64 { return append(v, (x-linalg.Dot(l[:n], v))/l[n]) }
	w.yt, w.u, w.v = next(w.yt, y), next(w.u, 1), next(w.v, mean)
	return nil
}

func (c *component) reset() {
	c.yt, c.u, c.v = c.yt[:0], c.u[:0], c.v[:0]
	c.in = inner{}
	c.ext = nil
}

// loose returns the share of offsets far from the past tasks'.
func (c *component) loose() float64 {
	if c.level == NoTransfer {
		return looseShare
	}
	return tailShare
}

// noiseAt returns the noise variance of the value at a point, its own where it has one.
func (c *component) noiseAt(p *visited) float64 {
	if p.known {
		return p.noise
	}
	return c.noise * p.noise
}

// moments returns the index of the component's moments among those on the grid,
// the population's being 0.
func (c *component) moments() int {
	if c.level == Cluster {
		return 1 + c.index
	}
	return 0
}

// visited is a point told, carried to the grid.
type visited struct {
	*sites // a single one
	defect []float64
	rest   []float64   // covariances of e with the points before and itself
	base   []float64   // the base kernel's
	own    []float64   // of a target's own process
	pop    []float64   // bᵀ·C·b with the points before and itself, C the population's
	proj   [][]float64 // C·b under the population and the clusters
	mean   []float64   // prior means under the population and the clusters
	white  [][]float64 // V·b by single task, where it was needed
	noise  float64     // noise variance in units of the tasks' values
	known  bool        // given with the value
}

// visit carries a point to the grid; before are the earlier ones.
func (m *Model) visit(before []*visited, x []float64, noise float64) (*visited, error) {
	g := m.grid
	row := linalg.NewDense(1, len(x), append([]float64(nil), x...))
	s, err := g.locate(row, new(linalg.Dense))
	if err != nil {
		return nil, err
	}
	n := len(before)
	p := &visited{
		sites: s, defect: make([]float64, g.len()), white: make([][]float64, len(m.singles)), noise: noise,
		rest: make([]float64, n+1), base: make([]float64, n+1), own: make([]float64, n+1), pop: make([]float64, n+1),
	}
	g.defect(p.defect, s, 0)
	for i := range 1 + len(m.clusters) {
		mom := m.Moments(i)
		v := make([]float64, g.len())
		cov := mom.Cov.Dense()
		s.applyTo(v, &cov, 0)
		p.proj = append(p.proj, v)
		p.mean = append(p.mean, g.meanAt(s, 0, mom.Mean))
	}
	for j, q := range before {
		p.base[j] = g.base.Kernel.Eval(row.Row(0), q.x.Row(0))
		p.own[j] = g.own.Eval(row.Row(0), q.x.Row(0))
		p.rest[j] = restCov(s, 0, p.defect, q.sites, 0, p.base[j])
		p.pop[j] = q.carry(0, p.proj[0])
	}
	p.base[n] = g.base.Kernel.Eval(row.Row(0), row.Row(0))
	p.own[n] = g.own.Eval(row.Row(0), row.Row(0))
	p.rest[n] = s.restVar[0]
	p.pop[n] = s.carry(0, p.proj[0])
	return p, nil
}

// whiteOf returns V·b of single task i.
func (m *Model) whiteOf(p *visited, i int) []float64 {
	if p.white[i] == nil {
		vt := m.singles[i].vt
		_, n := vt.Dims()
		p.white[i] = make([]float64, n)
		p.applyTo(p.white[i], vt, 0)
	}
	return p.white[i]
}

// meanAt returns c + b·(mean − c) at point i of s.
func (g *grid) meanAt(s *sites, i int, mean []float64) float64 {
	return g.base.Mean*(1-sum(s.w[i])) + s.carry(i, mean)
}

// less returns the covariances that a component's task takes off those of the
// population: between the last of the points and all of them, nil if it has no task.
func (m *Model) less(c *component, pts []*visited) []float64 {
	if c.level != SingleTask {
		return nil
	}
	row := make([]float64, len(pts))
	p := m.whiteOf(pts[len(pts)-1], c.index)
	for j, q := range pts {
		row[j] = linalg.Dot(p, m.whiteOf(q, c.index))
	}
	return row
}

// cov sets row to the prior covariances of the last of the points with all of them; less
// is what the component's task takes off.
func (c *component) cov(row []float64, pts []*visited, less []float64) {
	p := pts[len(pts)-1]
	for j, q := range pts {
		switch c.level {
		case NoTransfer:
			row[j] = p.base[j]
		case Population:
			row[j] = p.rest[j] + p.pop[j]
		case Cluster:
			row[j] = p.rest[j] + q.carry(0, p.proj[1+c.index])
		case SingleTask:
			row[j] = p.rest[j] + (1+c.tau)*p.pop[j] - less[j]
		}
		if c.own {
			row[j] += p.own[j]
		}
	}
}

// meanOf returns the prior mean at a point.
func (m *Model) meanOf(c *component, p *visited) float64 {
	switch c.level {
	case NoTransfer:
		return m.grid.base.Mean
	case SingleTask:
		return m.grid.meanAt(p.sites, 0, m.singles[c.index].mean)
	}
	return p.mean[c.moments()]
}

// grow conditions components, of one task if of any, on the points up to n; values are
// taken from centre.
func (m *Model) grow(cs []*component, pts []*visited, y []float64, centre float64, n int) error {
	known := n
	for _, c := range cs {
		known = min(known, len(c.yt))
	}
	for k := known; k < n; k++ {
		p, less := pts[k], m.less(cs[0], pts[:k+1])
		for _, c := range cs {
			if len(c.yt) > k {
				continue
			}
			row := make([]float64, k+1)
			c.cov(row, pts[:k+1], less)
			if err := c.add(row, c.noiseAt(p), y[k]-centre, m.meanOf(c, p)); err != nil {
				return err
			}
			c.in.add(c.yt[k], c.u[k], c.v[k], c.chol.Lower().Row(k)[k])
		}
	}
	return nil
}

// appendRow grows a factor by a point whose covariances with the others and itself
// are row. Noise that leaves the matrix singular is enlarged until it does not.
func appendRow(c *linalg.Cholesky, row []float64, noise float64) error {
	n := len(row) - 1
	scale := math.Max(row[n], math.SmallestNonzeroFloat64)
	var err error
	for extra := range linalg.Jitters(gaussian.MaxJitter) {
		diag := row[n] + noise + extra*scale
		if n == 0 {
			a := linalg.NewSym(1, nil)
			a.Set(0, 0, diag)
			err = c.Factorize(a)
		} else {
			err = c.Append(row[:n], diag)
		}
		if err == nil {
			return nil
		}
	}
	return err
}
