package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Candidates are points to predict at, carried to the grid, with the prior moments
// that all runs share. They are immutable.
type Candidates struct {
	*sites
	base     []float64   // variances of the base process
	mean     [][]float64 // under the population and the clusters
	variance [][]float64
}

// Candidates carries the rows of x to the grid.
func (m *Model) Candidates(ctx context.Context, x *linalg.Dense, workers int) (*Candidates, error) {
	s, err := m.grid.locate(ctx, x, workers)
	if err != nil {
		return nil, err
	}
	n := s.len()
	c := &Candidates{sites: s, base: make([]float64, n)}
	kernel.Diag(c.base, m.grid.base.Kernel, x)
	sets := 1 + len(m.clusters)
	c.mean, c.variance = make([][]float64, sets), make([][]float64, sets)
	for i := range sets {
		c.mean[i], c.variance[i] = make([]float64, n), make([]float64, n)
	}
	return c, parallel.For(ctx, workers, (n+block-1)/block, func(_, b int) error {
		quads := make([]float64, sets)
		for j := b * block; j < min((b+1)*block, n); j++ {
			clear(quads)
			s.quads(quads, m.covs, j)
			for i, q := range quads {
				c.mean[i][j] = m.grid.meanAt(s, j, m.Moments(i).Mean)
				c.variance[i][j] = s.rest[j] + q
			}
		}
		return nil
	})
}

// A frame is what a run has worked out at a list of candidates. It grows by a row a
// point told, in the same way whether one at a time or all at once.
type frame struct {
	c      *Candidates
	rows   int         // points told that rest and base know
	rest   [][]float64 // covariances of e of the points told with the candidates
	base   [][]float64 // values of the base kernel
	parts  map[*component]*part
	whites map[int]*linalg.Dense // V·b at the candidates by single task, a column a candidate
}

// part is a component's share of a frame.
type part struct {
	w          [][]float64 // L⁻¹·K(X, candidates)
	p0, p1, p2 []float64   // the posterior mean is p0 + a·p1 + s·p2
	variance   []float64   // given the offset and a scale of 1
}

// at returns the frame of the candidates, keeping it if asked to.
func (r *Run) at(ctx context.Context, c *Candidates, keep bool) (*frame, error) {
	f := r.bound
	if f == nil || f.c != c {
		f = &frame{c: c, parts: make(map[*component]*part), whites: make(map[int]*linalg.Dense)}
		if keep {
			r.bound = f
		}
	}
	if t := len(r.pts); f.rows < t {
		rest, base, err := r.crossed(ctx, c, r.pts[f.rows:t])
		if err != nil {
			return nil, err
		}
		f.rest, f.base, f.rows = append(f.rest, rest...), append(f.base, base...), t
	}
	return f, nil
}

// crossed returns the covariances of e, and the base kernel's values, of points with
// the candidates.
func (r *Run) crossed(ctx context.Context, c *Candidates, pts []*visited) (rest, base [][]float64, err error) {
	n := c.len()
	_, d := c.x.Dims()
	x := linalg.NewDense(len(pts), d, nil)
	for i, p := range pts {
		copy(x.Row(i), p.x.Row(0))
		base, rest = append(base, make([]float64, n)), append(rest, make([]float64, n))
	}
	defects := panels(r.m.grid.len(), pts, 1, func(p *visited, _ int) []float64 { return p.defect })
	type scratch struct {
		k  linalg.Dense
		on tile
	}
	blocks := (n + block - 1) / block
	memory := make([]scratch, parallel.Workers(r.workers, blocks))
	return rest, base, parallel.For(ctx, r.workers, blocks, func(w, b int) error {
		lo, hi := b*block, min((b+1)*block, n)
		s, at := &memory[w], c.x.View(lo, 0, hi-lo, d)
		kernel.Cross(&s.k, r.m.grid.base.Kernel, x, &at)
		for i, p := range pts {
			copy(base[i][lo:hi], s.k.Row(i))
			if c.cross == nil {
				continue
			}
			if i%panel == 0 {
				c.carryTo(&s.on, &defects[i/panel], lo, hi)
			}
			if p.on[0] {
				continue
			}
			row, on := rest[i][lo:hi], s.on.of(i%panel)
			for j, k := range s.k.Row(i) {
				if !c.on[lo+j] {
					row[j] = k - on[j] - p.carry(0, c.cross.Row(lo+j))
				}
			}
		}
		return nil
	})
}

// panel is the number of points whose vectors on the grid are carried to a candidate
// side by side: always so many, so that what comes of a point is the same whichever
// others come with it.
const panel = 16

// block is the number of candidates that one goroutine goes on with at a time.
const block = 128

// panels lays out vectors on the grid of g points, so many for each point, a column
// each: a panel of the points' first ones, then of the second ones, and so on.
func panels(g int, pts []*visited, sets int, of func(p *visited, set int) []float64) []linalg.Dense {
	var out []linalg.Dense
	for l := 0; l < len(pts); l += panel {
		rows := linalg.NewDense(panel*sets, g, nil)
		for i, p := range pts[l:min(l+panel, len(pts))] {
			for set := range sets {
				copy(rows.Row(set*panel+i), of(p, set))
			}
		}
		var cols linalg.Dense
		cols.CopyTrans(rows)
		out = append(out, cols)
	}
	return out
}

// A tile has a row for each column of panels, and a column a candidate of a block.
type tile struct{ at, row []float64 }

func (t *tile) of(i int) []float64 { return t.at[i*block:][:block] }

// carryTo sets the rows of dst to what the columns of panels are at the points from lo
// to hi, at most block of them.
func (s *sites) carryTo(dst *tile, cols *linalg.Dense, lo, hi int) {
	_, n := cols.Dims()
	dst.at, dst.row = grow(dst.at, n*block), grow(dst.row, n*block)
	for j := lo; j < hi; j++ {
		s.applyTo(dst.row[(j-lo)*n:][:n], cols, j)
	}
	f64.Transpose(hi-lo, n, dst.at, block, dst.row, n)
}

// whiten computes V·b of single task i at the candidates.
func (m *Model) whiten(c *Candidates, i int) *linalg.Dense {
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
	return p
}

// add conditions a share on one point more at the candidates from lo on: row holds its
// covariances with them, lower its row of the factor, and yt, u, v its whitened value,
// one and prior mean. The share's rows up to k are known.
func (p *part) add(lo int, row, lower []float64, yt, u, v float64) {
	k, hi := len(lower)-1, lo+len(row)
	i := 0
	for ; i+4 <= k; i += 4 {
		f64.Axpy4(row, -lower[i], -lower[i+1], -lower[i+2], -lower[i+3], p.w[i][lo:hi], p.w[i+1][lo:hi], p.w[i+2][lo:hi], p.w[i+3][lo:hi])
	}
	for ; i < k; i++ {
		linalg.Axpy(row, -lower[i], p.w[i][lo:hi])
	}
	p0, p1, p2, variance := p.p0[lo:hi], p.p1[lo:hi], p.p2[lo:hi], p.variance[lo:hi]
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

// A batch is points told or awaited whose covariances with the candidates are wanted.
type batch struct {
	pts        []*visited
	rest, base [][]float64 // their covariances of e and values of the base kernel
}

// lessTo sets the rows of dst to the covariances that a task takes off those of the
// population: between points wanted and the candidates from lo to hi.
func (m *Model) lessTo(dst []float64, f *frame, task int, pts []*visited, lo, hi int) {
	w := f.whites[task]
	n, _ := w.Dims()
	for i, p := range pts {
		row, x := dst[i*block:][:hi-lo], m.whiteOf(p, task)
		clear(row)
		a := 0
		for ; a+4 <= n; a += 4 {
			f64.Axpy4(row, x[a], x[a+1], x[a+2], x[a+3], w.Row(a)[lo:hi], w.Row(a + 1)[lo:hi], w.Row(a + 2)[lo:hi], w.Row(a + 3)[lo:hi])
		}
		for ; a < n; a++ {
			linalg.Axpy(row, x[a], w.Row(a)[lo:hi])
		}
	}
}

// covTo sets row to the prior covariances of a point with some candidates: of rest,
// the covariances of e, base, the base kernel's values, on, those of the moments on the
// grid, and less, what a single task takes off.
func (k *component) covTo(row, rest, base, on, less []float64) {
	switch k.level {
	case NoTransfer:
		copy(row, base)
	case SingleTask:
		for j := range row {
			row[j] = rest[j] + (1+k.tau)*on[j] - less[j]
		}
	default:
		for j := range row {
			row[j] = rest[j] + on[j]
		}
	}
}

// condition conditions shares of hypotheses on the points of a batch, which take the
// places from first on. solved returns the row of a hypothesis's factor at a place, and
// the whitened value, one and prior mean. A share that knows a point has its row.
// Hypotheses that differ in the noise or in τ alone share covariances. Shares are of no
// use after an error.
func (r *Run) condition(ctx context.Context, f *frame, ks []*component, parts []*part, b *batch, first int, solved func(k *component, l int) (lower []float64, yt, u, v float64)) error {
	n := f.c.len()
	var groups [][]int
	known, from := make([]int, len(ks)), len(b.pts) // points that a share knows, and all of them
	var sets []int                                  // of moments that are needed
	for i, k := range ks {
		known[i] = len(parts[i].w) - first
		from = min(from, known[i])
		for range b.pts[known[i]:] {
			parts[i].w = append(parts[i].w, make([]float64, n))
		}
		g := slices.IndexFunc(groups, func(g []int) bool { return ks[g[0]].level == k.level && ks[g[0]].index == k.index })
		if g < 0 {
			groups = append(groups, nil)
			g = len(groups) - 1
		}
		groups[g] = append(groups[g], i)
		if k.level != NoTransfer && !slices.Contains(sets, k.moments()) {
			sets = append(sets, k.moments())
		}
	}
	if from == len(b.pts) {
		return nil
	}
	cols := panels(r.m.grid.len(), b.pts[from:], len(sets), func(p *visited, set int) []float64 { return p.proj[sets[set]] })
	blocks := (n + block - 1) / block
	type scratch struct {
		on   tile
		less [panel * block]float64
	}
	memory := make([]scratch, parallel.Workers(r.workers, blocks))
	return parallel.For(ctx, r.workers, blocks, func(w, i int) error {
		s, lo, hi := &memory[w], i*block, min((i+1)*block, n)
		for start := from; start < len(b.pts); start += panel {
			end := min(start+panel, len(b.pts))
			f.c.carryTo(&s.on, &cols[(start-from)/panel], lo, hi)
			for _, group := range groups {
				one := ks[group[0]]
				set := max(slices.Index(sets, one.moments()), 0)
				begin := end // the first point that one of the group does not know
				for _, g := range group {
					begin = min(begin, max(start, known[g]))
				}
				if one.level == SingleTask {
					r.m.lessTo(s.less[:], f, one.index, b.pts[begin:end], lo, hi)
				}
				for _, g := range group {
					k, p := ks[g], parts[g]
					for l := max(start, known[g]); l < end; l++ {
						row := p.w[first+l][lo:hi]
						var on []float64
						if len(sets) > 0 {
							on = s.on.of(set*panel + l - start)
						}
						k.covTo(row, b.rest[l][lo:hi], b.base[l][lo:hi], on, s.less[max(l-begin, 0)*block:])
						lower, yt, u, v := solved(k, first+l)
						p.add(lo, row, lower, yt, u, v)
					}
				}
			}
		}
		return nil
	})
}

// catchUp brings components' shares of a frame up to the points told.
func (r *Run) catchUp(ctx context.Context, f *frame, ks []*component) error {
	parts := make([]*part, len(ks))
	for i, k := range ks {
		parts[i] = f.parts[k]
	}
	err := r.condition(ctx, f, ks, parts, &batch{pts: r.pts, rest: f.rest, base: f.base}, 0, func(k *component, l int) ([]float64, float64, float64, float64) {
		return k.chol.Lower().Row(l)[:l+1], k.yt[l], k.u[l], k.v[l]
	})
	if err != nil {
		r.bound = nil
	}
	return err
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

// Predict writes mean and standard deviation of the noise-free objective at the
// candidates. Points awaited count as evaluated with the predicted mean as the value.
// keep says that the candidates come again.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, c *Candidates, keep bool) error {
	heavy, parts, err := r.parts(ctx, c, keep)
	if err != nil {
		return err
	}
	return r.mix(ctx, mean, sd, heavy, parts)
}

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

// parts returns the shares of the components that are predicted with, conditioned on
// the points told and awaited.
func (r *Run) parts(ctx context.Context, c *Candidates, keep bool) ([]*component, []*part, error) {
	ks, _ := r.heavy()
	f, err := r.at(ctx, c, keep)
	if err == nil {
		err = r.prepare(ctx, f, ks)
	}
	if err == nil {
		err = r.catchUp(ctx, f, ks)
	}
	if err != nil {
		return nil, nil, err
	}
	out := make([]*part, len(ks))
	for i, k := range ks {
		out[i] = f.parts[k]
	}
	if len(r.pending) > 0 {
		err = r.imagine(ctx, f, ks, out)
	}
	return ks, out, err
}

// mix writes mean and standard deviation of the mixture of all components.
func (r *Run) mix(ctx context.Context, mean, sd []float64, ks []*component, parts []*part) error {
	n := len(mean)
	_, mass := r.heavy()
	means, variances := make([][]float64, len(ks)), make([][]float64, len(ks))
	err := parallel.For(ctx, r.workers, len(ks), func(_, i int) error {
		means[i], variances[i] = make([]float64, n), make([]float64, n)
		parts[i].momentsTo(means[i], variances[i], &ks[i].fit.all)
		return nil
	})
	if err != nil {
		return err
	}
	clear(mean)
	clear(sd)
	for i, w := range mass {
		linalg.Axpy(mean, w, means[i])
	}
	// About the mean, so that nothing cancels wherever the values lie.
	for i, w := range mass {
		for j, v := range variances[i] {
			d := means[i][j] - mean[j]
			sd[j] += w * (v + d*d)
		}
	}
	for j := range mean {
		mean[j] = (mean[j] + r.centre()) * r.u
		sd[j] = math.Sqrt(sd[j]) * r.u
	}
	return nil
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
	ks, parts, err := r.parts(ctx, c, keep)
	if err != nil {
		return err
	}
	_, mass := r.heavy()
	n := len(dst)
	over := best/r.u - r.centre()
	// each visits the parts, which have a mass, a mean and a deviation each.
	each := func(j int, visit func(w, mean, sd float64)) {
		for i, p := range parts {
			for k := range ks[i].fit.atoms {
				a := &ks[i].fit.atoms[k]
				if w := mass[i] * a.w; w >= minAtom {
					mean, variance := p.momentsAt(j, a)
					visit(w, mean, math.Sqrt(max(variance, math.SmallestNonzeroFloat64)))
				}
			}
		}
	}
	return parallel.For(ctx, r.workers, (n+block-1)/block, func(_, b int) error {
		for j := b * block; j < min((b+1)*block, n); j++ {
			var sum float64
			each(j, func(w, mean, sd float64) { sum += w * sd * special.NormEI((mean-over)/sd) })
			dst[j] = math.Log(sum)
			if sum < minSum {
				dst[j] = math.Inf(-1)
				each(j, func(w, mean, sd float64) {
					dst[j] = logAdd(dst[j], math.Log(w)+math.Log(sd)+special.NormLogEI((mean-over)/sd))
				})
			}
			dst[j] += math.Log(r.u)
		}
		return nil
	})
}

// minSum is the expected improvement below which logarithms are summed: above, what
// underflows is far below its rounding.
const minSum = 1e-250

// logAdd returns ln(eᵃ + eᵇ).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// prepare makes what components share of a frame, so that they can go on side by
// side.
func (r *Run) prepare(ctx context.Context, f *frame, heavy []*component) error {
	var tasks []int
	for _, k := range heavy {
		if k.level == SingleTask && f.whites[k.index] == nil {
			f.whites[k.index] = new(linalg.Dense)
			tasks = append(tasks, k.index)
		}
		if k.level == SingleTask {
			for _, p := range r.pts {
				r.m.whiteOf(p, k.index)
			}
			for _, p := range r.pending {
				r.m.whiteOf(p, k.index)
			}
		}
	}
	made := make([]*linalg.Dense, len(tasks))
	err := parallel.For(ctx, r.workers, len(tasks), func(_, i int) error {
		made[i] = r.m.whiten(f.c, tasks[i])
		return nil
	})
	for i, t := range tasks {
		f.whites[t] = made[i]
		if made[i] == nil {
			delete(f.whites, t)
		}
	}
	if err != nil {
		return err
	}
	for _, k := range heavy {
		if f.parts[k] == nil {
			f.parts[k] = r.m.start(f, k)
		}
	}
	return nil
}

// imagine replaces shares by those conditioned on the points awaited as well.
func (r *Run) imagine(ctx context.Context, f *frame, ks []*component, parts []*part) error {
	t := len(r.pts)
	rest, base, err := r.crossed(ctx, f.c, r.pending)
	if err != nil {
		return err
	}
	err = parallel.For(ctx, r.workers, len(ks), func(_, i int) error {
		p := parts[i]
		parts[i] = &part{
			w:  append(make([][]float64, 0, len(p.w)+len(r.values)), p.w...),
			p0: slices.Clone(p.p0), p1: slices.Clone(p.p1), p2: slices.Clone(p.p2), variance: slices.Clone(p.variance),
		}
		return r.extend(ks[i])
	})
	if err != nil {
		return err
	}
	return r.condition(ctx, f, ks, parts, &batch{pts: r.pending, rest: rest, base: base}, t, func(k *component, l int) ([]float64, float64, float64, float64) {
		return k.ext.chol.Lower().Row(l)[:l+1], k.ext.yt[l], k.ext.u[l], k.ext.v[l]
	})
}

// extend conditions a component on the points awaited as well.
func (r *Run) extend(k *component) error {
	t := len(r.pts)
	if k.ext == nil {
		k.ext = &extension{yt: slices.Clone(k.yt), u: slices.Clone(k.u), v: slices.Clone(k.v)}
		if t > 0 {
			k.ext.chol = *k.chol.Clone()
		}
	}
	e := k.ext
	for i := len(e.yt) - t; i < len(r.pending); i++ {
		n, a := t+i, r.pending[i]
		row := make([]float64, n+1)
		r.m.cov(row, k, slices.Concat(r.pts, r.pending[:i]), a)
		if err := appendRow(&e.chol, row, k.noiseAt(a)); err != nil {
			return err
		}
		l := e.chol.Lower().Row(n)
		next := func(v []float64, x float64) []float64 { return append(v, (x-linalg.Dot(l[:n], v))/l[n]) }
		e.yt, e.u, e.v = next(e.yt, r.values[i]), next(e.u, 1), next(e.v, r.m.meanOf(k, a))
	}
	return nil
}
