package hierarchy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// tell conditions the hypotheses on values. Without a list, differences between low ones are made smaller in the scale that
// another run, r.mean, infers, which has them made smaller in the tasks' mean scale. One run for both would be told other
// values each time, and lose what it has worked out at candidates.
func (r *Run) tell(ctx context.Context, x *linalg.Dense, y, given []float64) error {
	by := 1.0
	if r.s.Rescale && !r.s.List && r.Model.near > 0 && !r.s.Exact {
		if r.mean == nil {
			r.mean = r.another(r.s)
		}
		r.mean.own, r.mean.alone, r.mean.counts = r.own, r.alone, r.counts
		err := r.mean.see(ctx, x, y, given, 1)
		if r.own, r.alone = r.mean.own, r.mean.alone; err != nil {
			return err
		}
		by = r.mean.scale()
	}
	return r.see(ctx, x, y, given, by)
}

// scale returns the power of two that is nearest to what the tasks' mean scale has to be multiplied by, in the mean of its
// logarithm under the hypotheses that transfer, the right way up; 1 where there are none.
func (r *Run) scale() float64 {
	var mean, mass float64
	for _, k := range r.all {
		for _, a := range k.fit.parts {
			if w := k.mass * a.mass; k.transfers() && a.s > 0 {
				mean, mass = mean+w*math.Log(a.s), mass+w
			}
		}
	}
	if !(mass > 0) {
		return 1
	}
	return math.Exp2(math.Round((mean/mass - r.affine.logScale) / math.Ln2))
}

// see conditions the hypotheses on values, low ones seen in so many times the tasks' mean scale.
func (r *Run) see(ctx context.Context, x *linalg.Dense, y, given []float64, by float64) error {
	if given == nil {
		given = make([]float64, len(y))
	}
	if !r.s.Exact {
		raised, seen, variances := y, y, given
		if !r.s.Whole {
			far := math.Inf(1)
			if r.counts != nil {
				far = r.best(y, make([]float64, len(y)))
			}
			raised = scaling.RaiseBelow(y, far, r.Model.affine.wide())
			r.low = r.Model.lowOf(raised, r.best(raised, given), by)
			seen, variances = r.low.Compress(raised, given)
			r.depths = r.low.Depths(y, raised, r.Model.affine.wide())
		}
		if err := r.fitOwn(ctx, x, y, given, raised, seen); err != nil {
			return err
		}
		y, given = seen, variances
	}
	if u := r.unitFor(y); u != r.u || !r.continues(x, y, given) {
		r.reset()
		r.setUnit(u)
	} else if !slices.Equal(r.y, y[:len(r.y)]) {
		for i := range r.y {
			r.y[i], r.z[i] = y[i], y[i]/r.u
		}
		r.weighed = false
		r.restart()
	}
	known := len(r.y)
	if known == len(y) && r.weighed {
		return nil
	}
	more, err := r.Model.points(ctx, r.pts, x, known, len(y), r.specific, r.Workers)
	if err != nil {
		return err
	}
	r.pts, r.y, r.given = append(r.pts, more...), append(r.y, y[known:]...), append(r.given, given[known:]...)
	for _, v := range y[known:] {
		r.z = append(r.z, v/r.u)
	}
	if err := r.settle(ctx, slices.ContainsFunc(r.given, func(v float64) bool { return v > 0 })); err != nil {
		r.reset()
		return err
	}
	r.forgetPending()
	return nil
}

// lowOf returns what makes differences between low values of a run as small as those of the tasks were made. The best value
// is given, one that is so beyond its noise, and the run's scale, in the tasks' mean one. Its values spread more widely, as
// they come before they are compressed; those of more than OwnUnit times that scale are in a unit of their own. All values
// are seen anew when it or the knee changes, so that units do by powers of two and the knee by quarters of its distance from
// the best value.
func (m *Model) lowOf(y []float64, best, scale float64) scaling.Low {
	if m.near == 0 || len(y) == 0 {
		return scaling.Low{}
	}
	spread := deviation(y)
	least := spread / maxRatio / maxRatio
	unit := max(math.Exp(m.affine.logScale)*scale, least)
	if more := spread / (m.settings.OwnUnit * unit); more > 1 {
		unit *= math.Exp2(math.Ceil(math.Log2(more)))
	}
	near := max(m.near*unit, least)
	step := near / 4
	return scaling.Low{Knee: y[0] + math.Floor((best-y[0])/step)*step - near, Near: near}
}

// continues reports whether the data begin with the points that r has.
func (r *Run) continues(x *linalg.Dense, y, given []float64) bool {
	if len(y) < len(r.y) {
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
	return r.Model.affine.unitFor(y)
}

func (r *Run) setUnit(u float64) {
	r.u, r.affine = u, affinePrior{exact: true}
	if !r.s.Exact {
		r.affine = r.Model.affine.in(u)
	}
	r.affine.s = &r.s
}

func (r *Run) reset() {
	r.pts, r.y, r.z, r.given, r.weighed, r.bound, r.panels = nil, nil, nil, nil, false, nil, panels{}
	r.forgetPending()
	r.restart()
}

// restart forgets what comes of the values and their noise.
func (r *Run) restart() {
	for _, f := range r.bound {
		clear(f.posteriors)
	}
	for _, k := range r.all {
		k.chol, k.yt, k.u, k.v = linalg.Cholesky{}, k.yt[:0], k.u[:0], k.v[:0]
		k.in, k.awaited = inner{}, nil
	}
}

func (r *Run) forgetPending() {
	for _, f := range r.bound {
		f.pending = crossings{}
		clear(f.ahead)
	}
	r.pending, r.values, r.ahead = nil, nil, panels{}
	for _, k := range r.all {
		k.awaited = nil
	}
}

// settle weighs the members. Noise variances that came with values are in the values' units, and the
// model's are the tasks', so that at a scale s of the target they are s² times smaller: for one scale the evidence is
// exact, and it is found for scales a step apart, on both sides of the likeliest. At the mean of those the
// members are weighed, and the evidence of the other nodes is corrected by what it lacks there.
func (r *Run) settle(ctx context.Context, known bool) error {
	r.exact, r.affine.far = nil, 0
	if !r.affine.exact {
		for _, z := range r.z {
			r.affine.far = max(r.affine.far, math.Abs(z-r.affine.shift))
		}
	}
	if !known {
		return r.weigh(ctx)
	}
	const step, negligibly, most = 0.5, 20, 16 // of ln s; of logarithms of evidence, whose priors differ by less; steps a way
	spread := r.spread()
	lo, hi := r.affine.span(spread, len(r.z))
	start := r.affine.logScale
	logs, top, err := r.evidenceAt(ctx, start)
	if err != nil {
		return err
	}
	if l := math.Log(spread); l > lo && math.Abs(l-start) > step {
		others, other, err := r.evidenceAt(ctx, l)
		if err != nil {
			return err
		}
		if other > top {
			start, top, logs = l, other, others
		}
	}
	exact := &exactly{}
	exact.insert(start, top, logs)
	for _, way := range []float64{-step, step} {
		for l, n := start, 0; n < most && (way < 0 && l > lo+step/4 || way > 0 && l < hi-step/4); n++ {
			l = min(max(l+way, lo), hi)
			logs, total, err := r.evidenceAt(ctx, l)
			if err != nil {
				return err
			}
			exact.insert(l, total, logs)
			if top = max(top, total); len(exact.at) >= 3 && total < top-negligibly {
				break
			}
		}
	}
	var mass, mean float64
	for i, l := range exact.at {
		w := math.Exp(exact.total[i] - top)
		mass, mean = mass+w, mean+w*l
	}
	r.rescale(math.Exp(mean / mass))
	r.exact = exact
	return r.weigh(ctx)
}

// exactly is the evidence of scales by their logarithms, which rise: of each member, large being large or small, and of all.
type exactly struct {
	at, total []float64
	logs      [][][2]float64
}

func (e *exactly) insert(l, total float64, logs [][2]float64) {
	i, _ := slices.BinarySearch(e.at, l)
	e.at, e.total, e.logs = slices.Insert(e.at, i, l), slices.Insert(e.total, i, total), slices.Insert(e.logs, i, logs)
}

// evidenceAt returns the evidence of one scale under each member, and that of all.
func (r *Run) evidenceAt(ctx context.Context, l float64) (logs [][2]float64, total float64, err error) {
	r.rescale(math.Exp(l))
	logs = make([][2]float64, len(r.all))
	if err := parallel.For(ctx, r.Workers, len(r.all), func(_, i int) error {
		k := r.all[i]
		err := k.grow(r.pts, r.z, r.centre())
		logs[i] = r.evidenceOf(k, l)
		return err
	}); err != nil {
		return nil, 0, err
	}
	top, prior := math.Inf(-1), [2]float64{math.Log1p(-r.s.Reversed), math.Log(r.s.Reversed)}
	for i, k := range r.all {
		for sign := range prior {
			top = max(top, logs[i][sign]+prior[sign]+k.log)
		}
	}
	for i, k := range r.all {
		for sign := range prior {
			total += math.Exp(logs[i][sign] + prior[sign] + k.log - top)
		}
	}
	return logs, top + math.Log(total), nil
}

// evidenceOf returns a member's evidence of one scale, large being large or small.
func (r *Run) evidenceOf(k *member, l float64) (logs [2]float64) {
	for sign, s := range [...]float64{math.Exp(l), -math.Exp(l)} {
		one := []node{{s: s, s2: s * s, logS2: 2 * l}}
		logs[sign] = r.affine.infer(&k.in, one, k.tail, r.centre()).evidence
	}
	return logs
}

// corrected returns the nodes for member i, whose evidence has the noise of one scale, with what it lacks of the exact one:
// between scales of which this is known it is a + b·l + c·e^(−2l) in l = ln s, which it is where there is no noise.
func (r *Run) corrected(i int, nodes []node) []node {
	at := r.exact.at
	out := slices.Clone(nodes)
	for n := range out {
		l, sign := out[n].logS2/2, 0
		if out[n].s < 0 {
			sign = 1
		}
		j, _ := slices.BinarySearch(at, l)
		j = min(max(j, 1), len(at)-2) // of the middle one of three
		e := func(j int) float64 { return r.exact.logs[j][i][sign] }
		h, k := at[j-1]-at[j], at[j+1]-at[j]
		eh, ek := math.Expm1(-2*h), math.Expm1(-2*k)
		dh, dk := e(j-1)-e(j), e(j+1)-e(j)
		det := h*ek - k*eh
		b, c := (dh*ek-dk*eh)/det, (h*dk-k*dh)/det
		x := l - at[j]
		out[n].log += e(j) + b*x + c*math.Expm1(-2*x) - r.evidenceOf(r.all[i], l)[sign]
	}
	return out
}

// rescale sets the noise variances given, for values of a scale.
func (r *Run) rescale(unit float64) {
	r.restart()
	for i, p := range r.pts {
		if v := r.given[i]; v > 0 {
			p.given = min(max(v/r.u/r.u/unit/unit, math.SmallestNonzeroFloat64), points.MaxValue)
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

// weigh conditions the members and computes their masses.
func (r *Run) weigh(ctx context.Context) error {
	lo, hi := r.affine.span(r.spread(), len(r.z))
	if r.exact != nil {
		lo, hi = r.exact.at[0], r.exact.at[len(r.exact.at)-1]
	}
	nodes := r.affine.nodes(lo, hi, len(r.z), r.s.Reversed)
	err := parallel.For(ctx, r.Workers, len(r.all), func(_, i int) error {
		k := r.all[i]
		err := k.grow(r.pts, r.z, r.centre())
		own := nodes
		if r.exact != nil {
			own = r.corrected(i, nodes)
		}
		k.fit = r.affine.infer(&k.in, own, k.tail, r.centre())
		return err
	})
	if err != nil {
		return err
	}
	logs := each.Of(r.all, func(k *member) float64 { return k.fit.evidence + k.log })
	for i, mass := range massesOf(logs) {
		if math.IsNaN(mass) {
			return fmt.Errorf("no evidence can be computed for %d values", len(r.y))
		}
		r.all[i].mass = mass
	}
	r.weighed = true
	return nil
}

// massesOf returns masses that add up to 1 by their logarithms, which may have any number in common.
func massesOf(logs []float64) []float64 {
	top := slices.Max(logs)
	masses := each.Of(logs, func(l float64) float64 { return math.Exp(l - top) })
	stat.Normalise(masses)
	return masses
}

// spread is the deviation of the values, 0 where those without a noise of their own are equal but for rounding, and no
// other lies farther from them than three deviations of its noise.
func (r *Run) spread() float64 {
	same, exact := 0.0, 0
	for i, v := range r.given {
		if v == 0 {
			same, exact = r.z[i], exact+1
		}
	}
	for i, z := range r.z {
		if exact < 2 || math.Abs(z-same) > 3*math.Sqrt(r.given[i])/r.u && scaling.Apart(z, same) {
			return deviation(r.z)
		}
	}
	return 0
}

// deviation returns the population deviation of y, 0 if it is empty. Squares are taken in units of the
// largest distance from the first value, a power of two, so that none is lost.
func deviation(y []float64) float64 {
	var m, v, top float64
	for _, x := range y {
		m += (x - y[0]) / float64(len(y))
		top = max(top, math.Abs(x-y[0]))
	}
	if top == 0 {
		return 0
	}
	_, e := math.Frexp(top)
	for _, x := range y {
		d := math.Ldexp(x-y[0]-m, -e)
		v += d * d / float64(len(y))
	}
	return math.Ldexp(math.Sqrt(v), e)
}
