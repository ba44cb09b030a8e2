package hierarchy

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// A Run is the model of one new task: a mixture of hypotheses or, of a model with a second one,
// two mixtures conditioned on the same values, which have the masses
//
//	p(y | one)/(p(y | one) + p(y | other)),
//
// the densities being those of the values told under all hypotheses of a mixture. Offsets and
// scales, and what makes differences between low values smaller, are of the tasks' values
// alone and so the same in both.
//
// A run carries the points that it is asked about to the grids, and keeps what it worked out
// there as long as the same points are asked about again: those of a list or, in a space
// without one, candidates, of which a proposal shares some with the one before. It serves one
// goroutine at a time.
type Run struct {
	*mixture
	narrow *mixture // of the second model, nil where there is none
	parts  []int    // of candidates that come again
	list   bool
}

// NewRun starts a run on at most so many goroutines. noise is the noise variance of
// values that come without one, in units of the tasks' scaled values; NaN stands for
// the one learned, or a share of it as the values have it. Candidates of a space without a list
// come in parts of so many rows. list are the points that the run may be bound to, nil for none.
func NewRun(m *Model, s Settings, noise float64, workers int, parts []int, list *Candidates) *Run {
	r := &Run{mixture: newMixture(m, s, noise, workers, list), parts: parts}
	if m.narrow != nil {
		r.narrow = newMixture(m.narrow, s, noise, workers, nil)
		if list != nil {
			r.narrow.kept = list.narrow
		}
	}
	return r
}

// A mixtureAt is one of the mixtures of a run with its posterior mass and the points asked about.
type mixtureAt struct {
	*mixture
	mass float64
	at   *Candidates
}

// mixtures returns those of the run, which are as likely before the first value.
func (r *Run) mixtures() []mixtureAt {
	if r.narrow == nil {
		return []mixtureAt{{mixture: r.mixture, mass: 1}}
	}
	w := 1 / (1 + math.Exp(r.narrow.log-r.log))
	return []mixtureAt{{mixture: r.mixture, mass: w}, {mixture: r.narrow, mass: 1 - w}}
}

// predicted returns the mixtures that are predicted with, at the rows of x. One alone counts wholly,
// whatever its mass. Points beside a list, and fewer than half of a proposal's, such as those
// told, are asked about in passing.
func (r *Run) predicted(ctx context.Context, x *linalg.Dense) (out []mixtureAt, err error) {
	whole := 0
	for _, n := range r.parts {
		whole += n
	}
	passing := r.list || points.Len(x) < max(whole/2, 2)
	for _, s := range r.mixtures() {
		if s.mass < r.s.MinMass {
			continue
		}
		switch {
		case s.kept.Hold(x):
			s.at = s.kept
		case passing:
			s.at, err = s.Model.candidates(ctx, x, r.workers, nil, nil)
		default:
			if s.at, err = s.Model.candidates(ctx, x, r.workers, r.parts, s.kept); err == nil {
				s.kept = s.at
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// Bind makes x the list. It is carried to the grids unless its points are those of the list
// already.
func (r *Run) Bind(ctx context.Context, x *linalg.Dense) error {
	for _, s := range r.mixtures() {
		if s.kept.Hold(x) {
			continue
		}
		at, err := s.Model.candidates(ctx, x, r.workers, nil, nil)
		if err != nil {
			return err
		}
		s.kept = at
	}
	r.list = true
	return nil
}

// Fit conditions the run on values y at the rows of x, with their noise variances where they are
// known, 0 elsewhere, nil for none, and on points whose values are awaited. It keeps what it knows
// of points that it was given before in the same order.
func (r *Run) Fit(ctx context.Context, x *linalg.Dense, y, given []float64, pending *linalg.Dense) error {
	for _, s := range r.mixtures() {
		if err := s.fit(ctx, x, y, given); err != nil {
			return err
		}
	}
	return r.await(ctx, pending)
}

// await conditions the run on points whose values are awaited, each as evaluated with
// the mean that those before it leave. Points that it has already stay.
func (r *Run) await(ctx context.Context, x *linalg.Dense) error {
	n, same, ms := points.Len(x), 0, r.mixtures()
	for same < min(n, len(r.pending)) && slices.Equal(r.pending[same].x.Row(0), x.Row(same)) {
		same++
	}
	if same < len(r.pending) {
		same = 0
		for _, s := range ms {
			s.forgetPending()
		}
	}
	for i := same; i < n; i++ {
		ps := make([]*point, len(ms))
		for k, s := range ms {
			p, err := s.Model.point(x.Row(i), s.noise)
			if err != nil {
				return err
			}
			p.cross(s.Model, append(slices.Concat(s.pts, s.pending), p), s.specific)
			ps[k] = p
		}
		v, sd := []float64{0}, []float64{0}
		if err := r.Predict(ctx, v, sd, ps[0].x); err != nil {
			return err
		}
		for k, s := range ms {
			s.pending, s.values = append(s.pending, ps[k]), append(s.values, v[0]/s.u-s.centre())
		}
	}
	return nil
}

// Predict writes mean and standard deviation of the noise-free objective at the rows of x:
// those of all hypotheses. Points awaited count as evaluated with the predicted mean as the
// value. Differences between low values are as small as the run sees them: see Back.
func (r *Run) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	ms, err := r.predicted(ctx, x)
	if err != nil {
		return err
	}
	if err := ms[0].predict(ctx, mean, sd); err != nil || len(ms) == 1 {
		return err
	}
	means, sds := make([]float64, len(mean)), make([]float64, len(sd))
	if err := ms[1].predict(ctx, means, sds); err != nil {
		return err
	}
	p, q := ms[0].mass, ms[1].mass
	for j, m := range means {
		d := m - mean[j]
		mean[j] += q * d
		sd[j] = math.Sqrt(p*sd[j]*sd[j] + q*sds[j]*sds[j] + p*q*d*d)
	}
	return nil
}

// Back returns a value of what Predict predicts, as far apart from others as values are told.
func (r *Run) Back(v float64) float64 { return r.low.Back(v) }

// LogImprovement writes the logarithm of the expected improvement over best at the
// rows of x: the mean of that of all hypotheses' parts, each with a narrow range of scales. The
// mixture is far from normal after few values, and the improvement of its first two moments
// would send the search where values may only be lower than they are predicted.
//
// One value in another unit than the tasks' does not say how good it is: without transfer, or upside
// down, it counts as middling or bad, and much is to be gained anywhere. The improvement is then the
// part of it that hypotheses expect which transfer, the right way up.
func (r *Run) LogImprovement(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	foreign := r.s.FirstTransfers && len(r.y) == 1 && r.OtherUnits() > 0.5
	return r.mix(ctx, dst, x, func(s mixtureAt, dst []float64) error {
		ks := s.predicting()
		if foreign {
			ks = transferring(ks)
		}
		return s.logImprovement(ctx, ks, dst, best)
	}, meanOfLogs)
}

// LogImprovementWithoutTransfer is LogImprovement under the hypothesis of no transfer alone, of
// which the base process says no more than the noise: of one model.
func (r *Run) LogImprovementWithoutTransfer(ctx context.Context, dst []float64, x *linalg.Dense, best float64) error {
	ms, err := r.predicted(ctx, x)
	if err != nil {
		return err
	}
	return ms[0].logImprovement(ctx, ms[0].withoutTransfer(), dst, best)
}

// Expect writes the expectation of f at the rows of x: f is given mean and deviation of
// each of the hypotheses' parts, of values as the run sees them, and returns the expectation
// under that normal distribution.
func (r *Run) Expect(ctx context.Context, dst []float64, x *linalg.Dense, f func(mean, sd float64) float64) error {
	return r.mix(ctx, dst, x, func(s mixtureAt, dst []float64) error { return s.expect(ctx, dst, f) }, meanOf)
}

// LogWithin writes the logarithm of the probability that the value measured at a row of x lies
// between lo and hi, one of which may be infinite: the mean of that of all hypotheses' parts.
func (r *Run) LogWithin(ctx context.Context, dst []float64, x *linalg.Dense, lo, hi float64) error {
	return r.mix(ctx, dst, x, func(s mixtureAt, dst []float64) error {
		return s.logWithin(ctx, dst, lo, hi)
	}, meanOfLogs)
}

// Success writes the probability of success at the rows of x, of a run on labels.
func (r *Run) Success(ctx context.Context, dst []float64, x *linalg.Dense) error {
	return r.mix(ctx, dst, x, func(s mixtureAt, dst []float64) error { return s.success(ctx, dst) }, meanOf)
}

// mix writes what do writes of each mixture at the rows of x, joined as join does with the masses
// p and q of two.
func (r *Run) mix(
	ctx context.Context, dst []float64, x *linalg.Dense,
	do func(s mixtureAt, dst []float64) error, join func(p, x, q, y float64) float64,
) error {
	ms, err := r.predicted(ctx, x)
	if err != nil {
		return err
	}
	if err := do(ms[0], dst); err != nil || len(ms) == 1 {
		return err
	}
	more := make([]float64, len(dst))
	if err := do(ms[1], more); err != nil {
		return err
	}
	for j, v := range more {
		dst[j] = join(ms[0].mass, dst[j], ms[1].mass, v)
	}
	return nil
}

func meanOf(_, x, q, y float64) float64 { return x + q*(y-x) }

// meanOfLogs is the logarithm of the mean of two values of which x and y are those.
func meanOfLogs(p, x, q, y float64) float64 {
	return special.LogAddExp(math.Log(p)+x, math.Log(q)+y)
}

// A Mass is the posterior mass of the hypotheses that take something over from the same tasks.
type Mass struct {
	Transfers bool     // false of no transfer
	Tasks     []string // IDs, nil for all
	Mass      float64
	Reversed  float64 // the part under which large is small
}

// Masses returns the posterior masses, which add up to 1: no transfer, where it has one, and then
// those of other hypotheses.
func (r *Run) Masses() []Mass {
	var out []Mass
	for _, s := range r.mixtures() {
		for _, k := range s.all {
			i := slices.IndexFunc(out, func(m Mass) bool { return m.Transfers == k.transfers && slices.Equal(m.Tasks, k.tasks) })
			if i < 0 {
				i = len(out)
				out = append(out, Mass{Transfers: k.transfers, Tasks: k.tasks})
			}
			out[i].Mass += s.mass * k.mass
			out[i].Reversed += s.mass * k.mass * k.fit.reversed
		}
	}
	return out
}

// OtherUnits returns the posterior mass of offsets or scales out of all proportion to the tasks', 0
// before the first value.
func (r *Run) OtherUnits() (mass float64) {
	if len(r.y) == 0 {
		return 0
	}
	for _, s := range r.mixtures() {
		for _, k := range s.all {
			mass += s.mass * k.mass * k.fit.otherUnits
		}
	}
	return mass
}

// PriorMeans returns the means of the population at the points told, in the tasks' units.
func (r *Run) PriorMeans() (means [][]float64) {
	for _, s := range r.mixtures() {
		of := make([]float64, len(s.pts))
		for i, p := range s.pts {
			of[i] = p.mean[0]
		}
		means = append(means, of)
	}
	return means
}

// NoiseVariance returns the mean noise variance of values that come without one, in
// the values' units.
func (r *Run) NoiseVariance() (variance float64) {
	for _, s := range r.mixtures() {
		for _, k := range s.all {
			variance += s.mass * s.noise * k.mass * k.fit.all.s2
		}
	}
	return variance * r.u * r.u
}
