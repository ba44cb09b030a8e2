package hierarchy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A Run is the model of one new task: a mixture of hypotheses, each a Gaussian
// process seen through an offset and a scale, weighed by their evidence. It serves
// one goroutine at a time.
type Run struct {
	m       *Model
	s       Settings
	workers int
	noise   float64       // noise variance where none is given, in units of the tasks' values
	own     kernel.Kernel // of a process of the target's own
	all     []*member
	few     []*member // those of all that are always asked
	many    []*member // those that are left out where their evidence is small

	pts    []*point
	y      []float64   // as told
	z      []float64   // in units of the run
	u      float64     // that unit
	affine affinePrior // for values in it
	given  []float64   // noise variances as told, 0 where none was

	asked  []*member // of many, those still conditioned on values
	round  int       // number of values at which some of them are left out next
	scale  float64   // of the mass of all of many to that of those asked
	active []*member // that have a mass, nil before the first Fit

	pending []*point
	values  []float64 // imagined of them, from the centre
	bound   map[*located]*workspace
	panels  *panels // of the points told, as last laid out, nil for none
}

// NewRun starts a run on at most so many goroutines. noise is the noise variance of
// values that come without one, in units of the tasks' scaled values; NaN stands for
// the one learned, or a share of it as the values have it.
func NewRun(m *Model, s Settings, noise float64, workers int) *Run {
	if math.IsNaN(noise) {
		noise = m.grid.base.NoiseVariance
	}
	r := &Run{m: m, s: s, noise: noise, workers: workers, own: m.ownKernel(&s)}
	r.setUnit(r.unitFor(nil))
	for i, h := range m.hypotheses(&s) {
		k := &member{hypothesis: h, facts: h.about(), place: i, log: math.Log(h.about().prior)}
		if r.all = append(r.all, k); !k.many {
			r.few = r.all
		}
	}
	r.many = r.all[len(r.few):]
	r.restart()
	return r
}

// Fit conditions the run on values y at the rows of x, with their noise variances
// where they are known, 0 elsewhere, nil for none, and on points whose values are
// awaited. It keeps what it knows of points that it was given before in the same
// order.
func (r *Run) Fit(ctx context.Context, x *linalg.Dense, y, given []float64, pending *linalg.Dense) error {
	if given == nil {
		given = make([]float64, len(y))
	}
	if !r.s.Exact && !r.s.Whole {
		y = scaling.RaiseLow(y, r.m.affine.wide())
	}
	if u := r.unitFor(y); u != r.u || !r.continues(x, y, given) {
		r.reset()
		r.setUnit(u)
	}
	fresh := len(r.y) < len(y) || r.active == nil
	for i := len(r.y); i < len(y); i++ {
		p, err := r.m.point(r.pts, x.Row(i), r.noise, r.own)
		if err != nil {
			return err
		}
		r.pts, r.y, r.given = append(r.pts, p), append(r.y, y[i]), append(r.given, given[i])
		r.z = append(r.z, y[i]/r.u)
	}
	if fresh {
		if err := r.settle(ctx, slices.ContainsFunc(r.given, func(v float64) bool { return v > 0 })); err != nil {
			r.reset()
			return err
		}
		r.forgetPending()
	}
	return r.await(ctx, pending)
}

// continues reports whether the data begin with those that r has.
func (r *Run) continues(x *linalg.Dense, y, given []float64) bool {
	if len(y) < len(r.y) || !slices.Equal(r.y, y[:len(r.y)]) {
		return false
	}
	for i, p := range r.pts {
		if given[i] != r.given[i] || !slices.Equal(p.x.Row(0), x.Row(i)) {
			return false
		}
	}
	return true
}

// unitFor returns the unit of a run on values y.
func (r *Run) unitFor(y []float64) float64 {
	if r.s.Exact {
		return 1
	}
	return r.m.affine.unitFor(y)
}

// setUnit makes u the unit of the run.
func (r *Run) setUnit(u float64) {
	r.u, r.affine = u, affinePrior{exact: true}
	if !r.s.Exact {
		r.affine = r.m.affine.in(u)
	}
	r.affine.s = &r.s
}

func (r *Run) reset() {
	r.pts, r.y, r.z, r.given, r.active, r.bound = nil, nil, nil, nil, nil, nil
	r.pending, r.values, r.panels = nil, nil, nil
	r.restart()
}

// restart forgets what the members know of the values.
func (r *Run) restart() {
	for _, k := range r.all {
		k.reset()
	}
	r.asked, r.round, r.scale = slices.Clone(r.many), r.s.FirstRound, 1
}

func (r *Run) forgetPending() {
	for _, f := range r.bound {
		f.pending, f.ahead = crossings{}, nil
	}
	r.pending, r.values = nil, nil
	for _, k := range r.all {
		k.awaited = nil
	}
}

// settle weighs the members. Noise variances that came with values are in the
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
		for _, k := range r.active {
			s2 += k.mass * k.fit.all.s2
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
		clear(f.posteriors)
	}
	r.restart()
	for i, p := range r.pts {
		if v := r.given[i]; v > 0 {
			p.noise = v / r.u / r.u / unit / unit
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

// weigh conditions the members and computes their masses. Of the many that are still asked
// those of the largest evidence stand for all. Before the first value nothing tells them
// apart: where they are too many, their mass is left to the few, of which the population has
// the mean of all tasks.
func (r *Run) weigh(ctx context.Context) error {
	t := len(r.y)
	if err := r.narrow(ctx); err != nil {
		return err
	}
	nodes, err := r.follow(ctx, slices.Concat(r.few, r.asked), t)
	if err != nil {
		return err
	}
	foremost, scale := foremost(r.asked, r.s.Top)
	if t == 0 && len(foremost) < len(r.asked) {
		foremost = nil
	}
	r.active = slices.Concat(r.few, foremost)
	var q quadrature
	for _, k := range foremost {
		k.fit = r.affine.infer(&k.in, nodes, k.tail, r.centre(), &q)
	}
	top := math.Inf(-1)
	for _, k := range r.active {
		top = max(top, k.fit.evidence+k.log)
	}
	var total float64
	for _, k := range r.active {
		k.mass = math.Exp(k.fit.evidence + k.log - top)
		if k.many {
			k.mass *= r.scale * scale
		}
		total += k.mass
	}
	if math.IsNaN(total) { // no number holds the squares of both
		scale := math.Exp(r.affine.logScale) * r.u
		return fmt.Errorf("a value of %.3g and past values that differ by %.3g: no evidence for such a ratio can be computed", slices.MaxFunc(r.y, bySize), scale)
	}
	for _, k := range r.active {
		k.mass /= total
	}
	return nil
}

func bySize(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }

// narrow leaves out some of many, so that a value more does not cost a row of each of
// hundreds: of the first n values, n being FirstRound and its doubles up to Window, the
// Top·Window/n members of the largest evidence go on, and stand for all.
func (r *Run) narrow(ctx context.Context) error {
	for ; r.round <= min(len(r.y), r.s.Window); r.round *= 2 {
		places := r.s.Top * r.s.Window / r.round
		if len(r.asked) <= places {
			continue
		}
		if _, err := r.follow(ctx, r.asked, r.round); err != nil {
			return err
		}
		foremost, scale := foremost(r.asked, places)
		r.asked = slices.DeleteFunc(r.asked, func(k *member) bool { return !slices.Contains(foremost, k) })
		r.scale *= scale
	}
	return nil
}

// foremost returns the n members of the largest evidence, or all, in falling order, and the
// ratio of the mass of all to theirs.
func foremost(ks []*member, n int) (first []*member, scale float64) {
	if len(ks) == 0 {
		return nil, 1
	}
	first = slices.Clone(ks)
	slices.SortStableFunc(first, func(a, b *member) int { return cmp.Compare(b.fit.evidence+b.log, a.fit.evidence+a.log) })
	top := first[0].fit.evidence + first[0].log
	var kept, all float64
	for i, k := range first {
		w := math.Exp(k.fit.evidence + k.log - top)
		all += w
		if i < n {
			kept += w
		}
	}
	return first[:min(len(first), n)], all / kept
}

// follow conditions members, those of one task next to each other, on the first n values. It
// infers offset and scale, of many, of which few are predicted with, the evidence alone, on
// the scales that it returns.
func (r *Run) follow(ctx context.Context, ks []*member, n int) ([]node, error) {
	nodes := r.affine.nodes(r.z[:n], r.s.Reversed)
	var groups [][]*member // that share what a task takes off
	for i, k := range ks {
		if i > 0 && len(k.tasks) > 0 && slices.Equal(ks[i-1].tasks, k.tasks) {
			groups[len(groups)-1] = append(groups[len(groups)-1], k)
			continue
		}
		groups = append(groups, []*member{k})
	}
	type scratch struct {
		crossing
		quadrature
	}
	memory := make([]scratch, parallel.Workers(r.workers, len(groups)))
	return nodes, parallel.For(ctx, r.workers, len(groups), func(w, i int) error {
		s := &memory[w]
		if err := r.m.grow(groups[i], r.pts, r.z, r.centre(), n, &s.crossing); err != nil {
			return err
		}
		for _, k := range groups[i] {
			if k.many {
				k.fit.evidence, _ = r.affine.evidence(&k.in, nodes, k.tail, r.centre(), &s.quadrature)
			} else {
				k.fit = r.affine.infer(&k.in, nodes, k.tail, r.centre(), &s.quadrature)
			}
		}
		return nil
	})
}

// await conditions the run on points whose values are awaited, each as evaluated with
// the mean that those before it leave. Points that it has already stay.
func (r *Run) await(ctx context.Context, x *linalg.Dense) error {
	n, same := points.Len(x), 0
	for same < min(n, len(r.pending)) && slices.Equal(r.pending[same].x.Row(0), x.Row(same)) {
		same++
	}
	if same < len(r.pending) {
		same = 0
		r.forgetPending()
	}
	for i := same; i < n; i++ {
		p, err := r.m.point(slices.Concat(r.pts, r.pending), x.Row(i), r.noise, r.own)
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

// A Mass is the posterior mass of what hypotheses are about.
type Mass struct {
	Level    Level
	Cluster  int   // −1 where they are about none
	Tasks    []int // of [Model.Tasks], nil where they are about more than can be named
	Mass     float64
	Reversed float64 // the part under which large is small
}

// Masses returns the posterior masses, which add up to 1: single tasks once each,
// those of large evidence standing for all.
func (r *Run) Masses() []Mass {
	var out []Mass
	for _, k := range r.active {
		i := slices.IndexFunc(out, func(m Mass) bool {
			return m.Level == k.level && m.Cluster == k.cluster && slices.Equal(m.Tasks, k.tasks)
		})
		if i < 0 {
			i = len(out)
			out = append(out, Mass{Level: k.level, Cluster: k.cluster, Tasks: k.tasks})
		}
		out[i].Mass += k.mass
		out[i].Reversed += k.mass * k.fit.reversed
	}
	return out
}

// PriorMeans returns the means of the population and of each cluster at the points told,
// in the tasks' units.
func (r *Run) PriorMeans() [][]float64 {
	out := make([][]float64, 1+len(r.m.clusters))
	for i := range out {
		for _, p := range r.pts {
			out[i] = append(out[i], p.mean[i][0])
		}
	}
	return out
}

// NoiseVariance returns the mean noise variance of values that come without one, in
// the values' units.
func (r *Run) NoiseVariance() float64 {
	var s2 float64
	for _, k := range r.active {
		s2 += k.mass * k.fit.all.s2
	}
	return r.noise * s2 * r.u * r.u
}
