package hierarchy

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// A Run is the model of one new task: a mixture of hypotheses, each a Gaussian
// process seen through an offset and a scale, weighed by their evidence. It serves
// one goroutine at a time.
type Run struct {
	m       *Model
	o       Masses
	workers int
	noise   float64 // noise variance where none is given, in units of the tasks' values
	comps   []*component
	single  int // the first of comps that is a single task; all others are before

	pts    []*visited
	y      []float64    // as told
	z      []float64    // in units of the run
	u      float64      // that unit
	affine affinePrior  // for values in it
	given  []float64    // noise variances as told, 0 where none was
	left   []*component // single tasks still asked
	round  int          // number of values at which the next of them are left out
	stand  float64      // what to multiply their masses by so that they stand for all
	active []*component

	pending []*visited
	values  []float64 // imagined of them, from the centre
	bound   map[*placed]*frame
	told    *batch // as last laid out, nil for none
}

// NewRun starts a run on at most so many goroutines. noise is the noise variance of
// values that come without one, in units of the tasks' scaled values; NaN stands for
// the one learned, or a share of it as the values have it.
func NewRun(m *Model, o Masses, noise float64, workers int) *Run {
	if math.IsNaN(noise) {
		noise = m.grid.base.NoiseVariance
	} else {
		o.Noises = []float64{1}
	}
	r := &Run{m: m, o: o, noise: noise, workers: workers}
	r.setUnit(r.unitFor(nil))
	add := func(c component, mass float64, noises ...float64) {
		for _, share := range noises {
			if mass > 0 {
				each := c
				each.noise, each.log = share, math.Log(mass/float64(len(noises)))
				r.comps = append(r.comps, &each)
			}
		}
	}
	for _, level := range []Level{NoTransfer, Population} {
		add(component{level: level}, (1-o.Own)*o.Level[level], o.Noises...)
		add(component{level: level, own: true}, o.Own*o.Level[level], 1)
	}
	for c := range m.clusters {
		add(component{level: Cluster, index: c}, o.Level[Cluster]*m.shares[c], o.Noises...)
	}
	r.single = len(r.comps)
	for i := range m.singles {
		for _, tau := range o.Taus {
			add(component{level: SingleTask, index: i, tau: tau}, o.Level[SingleTask]/float64(len(m.singles)*len(o.Taus)), o.Noises[len(o.Noises)-1])
		}
	}
	r.restart()
	return r
}

// Fit conditions the run on values y at the rows of x, with their noise variances
// where they are known, 0 elsewhere, nil for none, and on points whose values are
// awaited. It keeps what it knows of points that it was given before in the same
// order.
func (r *Run) Fit(ctx context.Context, x *linalg.Dense, y, given []float64, pending *linalg.Dense) error {
	if !r.o.Exact && !r.o.Whole {
		y = scaling.RaiseLow(y, r.m.affine.wide())
	}
	if u := r.unitFor(y); u != r.u || !r.continues(x, y, given) {
		r.reset()
		r.setUnit(u)
	}
	fresh := len(r.y) < len(y) || r.active == nil
	for i := len(r.y); i < len(y); i++ {
		v := 0.0
		if given != nil {
			v = given[i]
		}
		p, err := r.m.visit(r.pts, x.Row(i), r.noise)
		if err != nil {
			return err
		}
		r.pts, r.y, r.given = append(r.pts, p), append(r.y, y[i]), append(r.given, v)
		r.z = append(r.z, y[i]/r.u)
	}
	if fresh {
		if err := r.settle(ctx, slices.ContainsFunc(r.given, func(v float64) bool { return v > 0 })); err != nil {
			r.reset()
			return err
		}
		r.pending, r.values = nil, nil
		for _, c := range r.comps {
			c.ext = nil
		}
	}
	return r.await(ctx, pending)
}

// continues reports whether the data begin with those that r has.
func (r *Run) continues(x *linalg.Dense, y, given []float64) bool {
	if len(y) < len(r.y) || !slices.Equal(r.y, y[:len(r.y)]) {
		return false
	}
	for i, p := range r.pts {
		v := 0.0
		if given != nil {
			v = given[i]
		}
		if v != r.given[i] || !slices.Equal(p.x.Row(0), x.Row(i)) {
			return false
		}
	}
	return true
}

// unitFor returns the unit of a run on values y.
func (r *Run) unitFor(y []float64) float64 {
	if r.o.Exact {
		return 1
	}
	return r.m.affine.unitFor(y)
}

// setUnit makes u the unit of the run.
func (r *Run) setUnit(u float64) {
	r.u, r.affine = u, affinePrior{exact: true}
	if !r.o.Exact {
		r.affine = r.m.affine.in(u)
	}
}

func (r *Run) reset() {
	r.pts, r.y, r.z, r.given, r.active, r.bound = nil, nil, nil, nil, nil, nil
	r.pending, r.values, r.told = nil, nil, nil
	r.restart()
}

// restart forgets what the components know of the values.
func (r *Run) restart() {
	for _, c := range r.comps {
		c.reset()
	}
	r.left, r.round, r.stand = slices.Clone(r.comps[r.single:]), firstRound, 1
}

// settle weighs the components. Noise variances that came with values are in the
// values' units, and the model's are the tasks': starting from the scale that the tasks
// suggest, each pass finds the scale that the next one uses, until both agree. Where the
// values spread more widely than any task's, that takes some.
func (r *Run) settle(ctx context.Context, known bool) error {
	if !known {
		return r.weigh(ctx)
	}
	const passes, agreement = 12, 0.05
	unit := r.affine.logScale
	for range passes {
		r.rescale(math.Exp(unit))
		if err := r.weigh(ctx); err != nil {
			return err
		}
		var s2 float64
		for _, c := range r.active {
			s2 += c.mass * c.fit.all.s2
		}
		found := math.Log(s2) / 2
		if math.Abs(found-unit) < agreement {
			break
		}
		unit = found
	}
	return nil
}

// rescale sets the noise variances given, for values of a scale.
func (r *Run) rescale(unit float64) {
	for _, f := range r.bound {
		clear(f.parts)
	}
	r.restart()
	for i, p := range r.pts {
		if v := r.given[i]; v > 0 {
			p.noise, p.known = v/r.u/r.u/unit/unit, true
		}
	}
}

// centre is the value, in units of the run, that offsets are taken from.
func (r *Run) centre() float64 {
	if len(r.z) == 0 {
		return r.affine.shift
	}
	return r.z[0]
}

// weigh conditions the components and computes their masses. Of the single tasks that
// are left those of the largest evidence stand for all. Before the first value nothing
// tells them apart: where they are too many, their mass is left to the others, of which
// the population has the mean of all tasks.
func (r *Run) weigh(ctx context.Context) error {
	t := len(r.y)
	if err := r.narrow(ctx); err != nil {
		return err
	}
	shared := r.comps[:r.single]
	nodes, err := r.follow(ctx, slices.Concat(shared, r.left), t)
	if err != nil {
		return err
	}
	singles, stand := foremost(r.left, r.o.Top)
	if t == 0 && len(singles) < len(r.left) {
		singles = nil
	}
	r.active = slices.Concat(shared, singles)
	var q quadrature
	for _, c := range singles {
		c.fit = r.affine.infer(&c.in, nodes, c.loose(), r.centre(), &q)
	}
	top := math.Inf(-1)
	for _, c := range r.active {
		top = max(top, c.fit.evidence+c.log)
	}
	var total float64
	for _, c := range r.active {
		c.mass = math.Exp(c.fit.evidence + c.log - top)
		if c.level == SingleTask {
			c.mass *= r.stand * stand
		}
		total += c.mass
	}
	for _, c := range r.active {
		c.mass /= total
	}
	return nil
}

// firstRound is the number of values after which single tasks are first left out.
const firstRound = 4

// narrow leaves out single tasks, so that a value more does not cost a row of each of
// hundreds: of the first n values, n being firstRound and its doubles up to Window, the
// Top·Window/n hypotheses of the largest evidence go on, and stand for all.
func (r *Run) narrow(ctx context.Context) error {
	for ; r.round <= min(len(r.y), r.o.Window); r.round *= 2 {
		places := r.o.Top * r.o.Window / r.round
		if len(r.left) <= places {
			continue
		}
		if _, err := r.follow(ctx, r.left, r.round); err != nil {
			return err
		}
		left, stand := foremost(r.left, places)
		r.left = slices.DeleteFunc(r.left, func(c *component) bool { return !slices.Contains(left, c) })
		r.stand *= stand
	}
	return nil
}

// foremost returns the n components of the largest evidence, or all, in falling order,
// and what to multiply their masses by so that they stand for all.
func foremost(cs []*component, n int) (first []*component, stand float64) {
	if len(cs) == 0 {
		return nil, 1
	}
	first = slices.Clone(cs)
	slices.SortStableFunc(first, func(a, b *component) int { return cmp.Compare(b.fit.evidence+b.log, a.fit.evidence+a.log) })
	top := first[0].fit.evidence + first[0].log
	var kept, all float64
	for i, c := range first {
		w := math.Exp(c.fit.evidence + c.log - top)
		all += w
		if i < n {
			kept += w
		}
	}
	return first[:min(len(first), n)], all / kept
}

// follow conditions components, those of one task next to each other, on the first n
// values. It infers offset and scale, of single tasks the evidence alone, on the scales
// that it returns.
func (r *Run) follow(ctx context.Context, cs []*component, n int) ([]node, error) {
	nodes := r.affine.nodes(r.z[:n], r.o.Reversed)
	var groups [][]*component // of one task, which share its whitened points
	for i, c := range cs {
		if i > 0 && c.level == SingleTask && cs[i-1].level == SingleTask && cs[i-1].index == c.index {
			groups[len(groups)-1] = append(groups[len(groups)-1], c)
			continue
		}
		groups = append(groups, []*component{c})
	}
	memory := make([]quadrature, parallel.Workers(r.workers, len(groups)))
	return nodes, parallel.For(ctx, r.workers, len(groups), func(w, i int) error {
		if err := r.m.grow(groups[i], r.pts, r.z, r.centre(), n); err != nil {
			return err
		}
		for _, c := range groups[i] {
			if c.level == SingleTask { // of which few are predicted with
				c.fit.evidence, _ = r.affine.evidence(&c.in, nodes, c.loose(), r.centre(), &memory[w])
			} else {
				c.fit = r.affine.infer(&c.in, nodes, c.loose(), r.centre(), &memory[w])
			}
		}
		return nil
	})
}

// await conditions the run on points whose values are awaited, each as evaluated with
// the mean that those before it leave. Points that it has already stay.
func (r *Run) await(ctx context.Context, x *linalg.Dense) error {
	n := 0
	if x != nil {
		n, _ = x.Dims()
	}
	same := 0
	for same < min(n, len(r.pending)) && slices.Equal(r.pending[same].x.Row(0), x.Row(same)) {
		same++
	}
	if same < len(r.pending) {
		same = 0
		r.pending, r.values = nil, nil
		for _, c := range r.comps {
			c.ext = nil
		}
	}
	for i := same; i < n; i++ {
		p, err := r.m.visit(slices.Concat(r.pts, r.pending), x.Row(i), r.noise)
		if err != nil {
			return err
		}
		one, err := r.m.Candidates(ctx, p.x, 1)
		if err != nil {
			return err
		}
		v, s := []float64{0}, []float64{0}
		if err := r.Predict(ctx, v, s, one, false); err != nil {
			return err
		}
		r.pending, r.values = append(r.pending, p), append(r.values, v[0]/r.u-r.centre())
	}
	return nil
}

// deviation returns the population deviation of y, 0 if it is empty.
func deviation(y []float64) float64 {
	var m, v float64
	for _, x := range y {
		m += (x - y[0]) / float64(len(y))
	}
	for _, x := range y {
		d := x - y[0] - m
		v += d * d / float64(len(y))
	}
	return math.Sqrt(v)
}

// A Mass is the posterior mass of a hypothesis.
type Mass struct {
	Level    Level
	Index    int // of the cluster, or of the task among [Model.Tasks], 0 elsewhere
	Mass     float64
	Reversed float64 // the part under which large is small
}

// Masses returns the posterior masses, which add up to 1: single tasks once each,
// those of large evidence standing for all.
func (r *Run) Masses() []Mass {
	var out []Mass
	for _, c := range r.active {
		index := c.index
		if c.level == SingleTask {
			index = r.m.singleOf[index]
		}
		i := slices.IndexFunc(out, func(m Mass) bool { return m.Level == c.level && m.Index == index })
		if i < 0 {
			i = len(out)
			out = append(out, Mass{Level: c.level, Index: index})
		}
		out[i].Mass += c.mass
		out[i].Reversed += c.mass * c.fit.reversed
	}
	return out
}

// PriorMeans returns the means of the population and of each cluster at the points told,
// in the tasks' units.
func (r *Run) PriorMeans() [][]float64 {
	out := make([][]float64, 1+len(r.m.clusters))
	for i := range out {
		for _, p := range r.pts {
			out[i] = append(out[i], p.mean[i])
		}
	}
	return out
}

// NoiseVariance returns the mean noise variance of values that come without one, in
// the values' units.
func (r *Run) NoiseVariance() float64 {
	var s2 float64
	for _, c := range r.active {
		s2 += c.mass * c.noise * c.fit.all.s2
	}
	return r.noise * s2 * r.u * r.u
}
