package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// A Run is the model of one new task: hypotheses on it, each a Gaussian process seen through an
// offset and a scale, weighed by their evidence.
//
// A run carries the points that it is asked about to the grid, and keeps what it worked out there as long as the same
// points are asked about again: those of a list or, in a space without one, candidates, of which a proposal shares some
// with the one before. It serves one goroutine at a time.
type Run struct {
	Model    *Model
	s        Settings
	Workers  int        // goroutines, at most
	noise    float64    // noise variance where none is given, in units of the tasks' values
	learned  bool       // none was given for all, so that it may be the run's own
	specific [2]process // to the target: beside its past, and what a run without one takes it for
	own      *own       // fits the first, alone the second: see fitOwn
	alone    *gp.Plain
	mean     *Run // sees values in the tasks' mean scale: see tell
	all      []*member
	weighed  bool // the members have masses

	outgrown bool // see Outgrown
	repeats  bool // points were measured again, which tells how large noise is: see fitOwn

	pts    []*point
	y      []float64   // as told
	z      []float64   // in units of the run
	u      float64     // that unit
	low    scaling.Low // what makes differences between low values smaller
	depths []float64   // below its knee of values that were raised: see scaling.Raised
	affine affinePrior // for values in it
	given  []float64   // noise variances as told, 0 where none was
	counts []bool      // see Count
	exact  *exactly    // see settle, nil where no noise was given

	pending []*point
	values  []float64 // imagined of them, from the centre

	parts  []int       // rows of each part of candidates
	list   bool        // kept are those of a list
	kept   *Candidates // that come again
	asked  *Candidates // of the latest few, which are predicted and scored
	bound  map[*located]*workspace
	panels panels // of the points told
	ahead  panels // of those awaited
}

// NewRun starts a run on at most so many goroutines. noise is the noise variance of values that come without one, in
// units of the tasks' scaled values; NaN stands for the one learned, or a hypothesis's own. Candidates of a space
// without a list come in parts of so many rows. list are the points that the run may be bound to, nil for none.
func NewRun(m *Model, s Settings, noise float64, workers int, parts []int, list *Candidates) *Run {
	r := &Run{Model: m, s: s, noise: noise, Workers: workers, parts: parts, kept: list}
	if r.learned = math.IsNaN(noise); r.learned {
		r.noise = m.grid.base.NoiseVariance
	} else {
		r.s.OwnNoise = 0
	}
	r.setUnit(r.unitFor(nil))
	r.use([2]process{{m.specificKernel(&s), r.noise}})
	return r
}

// another starts a run of the same past and noise.
func (r *Run) another(s Settings) *Run {
	noise := r.noise
	if r.learned {
		noise = math.NaN()
	}
	return NewRun(r.Model, s, noise, r.Workers, nil, nil)
}

// at carries the rows of x to the grid. Points beside a list, and fewer than half of a proposal's, are asked about in
// passing.
func (r *Run) at(ctx context.Context, x *linalg.Dense) (*Candidates, error) {
	if r.kept.Hold(x) {
		return r.kept, nil
	}
	if r.list || points.Len(x) < max(stat.Sum(r.parts)/2, 2) {
		if r.asked.Hold(x) {
			return r.asked, nil
		}
		c, err := r.Model.Candidates(ctx, x, r.Workers)
		if err == nil {
			r.asked = c
		}
		return c, err
	}
	c, err := r.Model.candidates(ctx, x, r.Workers, r.parts, r.kept)
	if err == nil {
		r.kept = c
	}
	return c, err
}

// Bind makes x the list. It is carried to the grid unless its points are those of the list already.
func (r *Run) Bind(ctx context.Context, x *linalg.Dense) error {
	if !r.kept.Hold(x) {
		at, err := r.Model.Candidates(ctx, x, r.Workers)
		if err != nil {
			return err
		}
		r.kept = at
	}
	r.list = true
	return nil
}

// Fit conditions the run on values y at the rows of x, with their noise variances where they are known, 0 elsewhere, nil for
// none, and on points whose values are awaited. It keeps what it knows of points that it was given before in the same order.
func (r *Run) Fit(ctx context.Context, x *linalg.Dense, y, given []float64, pending *linalg.Dense) error {
	if err := r.tell(ctx, x, y, given); err != nil {
		return err
	}
	return r.await(ctx, pending)
}

// Count says which values of the next Fit the best one is among, nil for all: those far below it are seen as closer together.
func (r *Run) Count(counts []bool) { r.counts = counts }

// best returns the largest of the values that count, less a deviation of its noise where given holds that.
func (r *Run) best(y, given []float64) float64 {
	best := math.Inf(-1)
	for i, v := range y {
		if r.counts == nil || r.counts[i] {
			best = max(best, v-math.Sqrt(given[i]))
		}
	}
	return best
}

// await conditions the run on points awaited, each as evaluated with the mean that those before it leave. Those it has stay.
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
		p, err := r.Model.point(x.Row(i))
		if err != nil {
			return err
		}
		p.cross(r.Model, append(slices.Concat(r.pts, r.pending), p), r.specific)
		v, sd := []float64{0}, []float64{0}
		if err := r.Predict(ctx, v, sd, p.x); err != nil {
			return err
		}
		r.pending, r.values = append(r.pending, p), append(r.values, v[0]/r.u-r.centre())
	}
	return nil
}

// Seeing returns what makes differences between low values smaller, and the logarithm of the steepest slope back.
func (r *Run) Seeing() (low scaling.Low, steepest float64) { return r.low, scaling.RaisedFrom }

// LogImprovement writes the logarithm of the expected improvement over best, as Seeing has it, at the rows of x: the mean of
// that of all hypotheses' parts, each with a narrow range of scales. The mixture is far from normal after few values, and
// the improvement of its first two moments would send the search where values may only be lower than they are predicted.
//
// Without a list an improvement counts, under each hypothesis, in the scale that it is expected under. Where scales are
// uncertain a large one promises most, and the run would be chosen by what it would be like then.
//
// One value in another unit than the tasks' does not say how good it is: without transfer, or upside
// down, it counts as middling or bad, and much is to be gained anywhere. The improvement is then the
// part of it that hypotheses expect which transfer, the right way up.
func (r *Run) LogImprovement(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	ks := r.predicting()
	if r.s.FirstTransfers && len(r.y) == 1 && r.OtherUnits() > 0.5 {
		ks = transferring(ks)
	}
	return r.logImprovement(ctx, ks, dst, x, best)
}

// LogImprovementWithoutTransfer is LogImprovement under the hypothesis of no transfer alone.
func (r *Run) LogImprovementWithoutTransfer(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	return r.logImprovement(ctx, r.withoutTransfer(), dst, x, best)
}

// A Mass is the posterior mass of the hypotheses that take something over from the past, or of those that do not.
type Mass struct {
	Transfers bool
	Mass      float64
	Reversed  float64 // the part under which large is small
}

// Masses returns the posterior masses, which add up to 1: no transfer, where it has one, and the others.
func (r *Run) Masses() (out []Mass) {
	for i, k := range r.all { // in which those that transfer come last
		if i == 0 || k.transfers() != r.all[i-1].transfers() {
			out = append(out, Mass{Transfers: k.transfers()})
		}
		m := &out[len(out)-1]
		m.Mass += k.mass
		m.Reversed += k.mass * k.fit.reversed
	}
	return out
}

// OtherUnits returns the posterior mass of offsets or scales out of all proportion to the tasks', 0 before the first value.
func (r *Run) OtherUnits() (mass float64) {
	if len(r.y) == 0 {
		return 0
	}
	for _, k := range r.all {
		mass += k.mass * k.fit.otherUnits
	}
	return mass
}

// PriorMean returns the mean of the population at the points told, in the tasks' units.
func (r *Run) PriorMean() []float64 {
	return each.Of(r.pts, func(p *point) float64 { return p.mean[0] })
}

// NoiseVariance returns the mean noise variance of values that come without one, in the values' units.
func (r *Run) NoiseVariance() float64 { return r.noiseInUnit() * r.u * r.u }

// noiseInUnit is the same in units of the run, whose squares are no smaller than numbers.
func (r *Run) noiseInUnit() (variance float64) {
	for _, k := range r.all {
		variance += k.noise * k.mass * k.fit.all.s2
	}
	return variance
}
