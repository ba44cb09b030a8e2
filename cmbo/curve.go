package cmbo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/curve"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
)

// hopeless is the share of its chance to become the best that a trial has to keep, by the steps that are to come of all. A
// smaller one stops later, and less often what would have become the best, which is not proposed again.
const hopeless = 0.1

// A Prospect is what is known of the end of an evaluation that is under way, and the advice that follows: see
// [Optimizer.Report]. Numbers that are not known are NaN.
type Prospect struct {
	Trial, Step int
	// Stop says that the evaluation is not worth going on with; it is set with Diverged, too.
	Stop bool
	// Diverged says that the value reported is NaN or infinite, and that the trial has failed.
	Diverged bool
	// Mean and SD are what the curve and the model of the objective together expect of the evaluation's final value, in
	// the user's units. On eight tasks 90 % intervals hold about as many (examples/hpob/README.md).
	Mean, SD float64
	// Best is the value to beat, that of [Optimizer.Best].
	Best float64
	// Chance is the probability that the final value is better than Best; Before is that probability without the curve.
	// Both are the model's own, while SD is wider, as it allows for the model's errors.
	Chance, Before float64
	// Curves is the number of completed curves of the run that passed the step.
	Curves int
	// Known reports whether curves, of the run or of past tasks, tell something of the final value from a value at the step.
	Known bool
}

// String says it in words, such as "stop: at step 9 the end is expected at 0.61 ± 0.02, and
// has a chance of 0.1 % to beat 0.52, 31 % without its curve".
func (p Prospect) String() string {
	switch {
	case p.Diverged:
		return fmt.Sprintf("stop: the value of step %d is no number, and trial %d has failed", p.Step, p.Trial)
	case math.IsNaN(p.Best):
		return fmt.Sprintf("continue: at step %d there is no value to beat", p.Step)
	case !p.Known:
		return fmt.Sprintf("continue: %s of this run passed step %d, too few to tell its end from it", names.Count(p.Curves, "curve"), p.Step)
	}
	verdict := "continue"
	if p.Stop {
		verdict = "stop"
	}
	return fmt.Sprintf("%s: at step %d the end is expected at %s, and has a chance of %s %% to beat %s, "+
		"%s %% without its curve",
		verdict, p.Step, around(p.Mean, p.SD), percent(p.Chance), number(p.Best, digits(p.Mean, p.SD)), percent(p.Before))
}

// percent writes a probability with two digits, or as 100 where these would have an exponent. One below a millionth is as good
// as none.
func percent(p float64) string {
	switch {
	case p >= 0.995:
		return "100"
	case p > 0 && p < 1e-6:
		return "less than 0.0001"
	}
	return fmt.Sprintf("%.2g", 100*p)
}

// Report adds a value to the learning curve of a trial, in the unit and direction of the final value, and advises
// whether to go on. To follow the advice to stop, call [Optimizer.TellStopped]. A value that is NaN or infinite ends
// the trial as failed, without a cost ([WithBudget]); do not call TellStopped then. Steps, such as epochs, are not
// negative, increase, and mean the same in all trials and past tasks. Tell the last step's value without a report, which
// may advise to stop, and then an estimate would take the value's place. If an evaluation restarts after a crash, report
// the steps after its last one, or cancel its trial and enqueue its point.
//
// The advice is to stop once the chance to become the best, for each step to come, is a tenth of what it was before the curve
// for each step of all, judging by the curves of past tasks ([Task.Curves]) and of the run, or earlier with
// [WithCheckpoints]: what is half done has to keep a twentieth of its chance. However small a chance was before the
// curve, as of a point enqueued far from the best, it is no reason to stop: models are too sure of such chances, and to
// stop all below 1e-4 finds less (examples/hpob/README.md). It needs a best value and, without past curves or with a prior
// of ranks, five completed curves. Report fails, changing nothing, with [ErrUnknownTrial], [ErrTrialClosed], [ErrStep], or,
// for a finite value that Tell refuses, [ErrValue]. If only its advice fails, with [ErrNumerical] or ctx.Err(), the value
// counts. It waits for an Ask under way.
func (o *Optimizer) Report(ctx context.Context, id, step int, y float64) (Prospect, error) {
	p := Prospect{Trial: id, Step: step, Mean: math.NaN(), SD: math.NaN(), Best: math.NaN(), Chance: math.NaN(), Before: math.NaN()}
	if err := gp.CheckContext(ctx); err != nil { // before the value counts
		return p, err
	}
	diverged := math.IsNaN(y) || math.IsInf(y, 0)
	err := o.with(id, func() (runlog.Event, error) {
		if diverged {
			return runlog.Event{Kind: runlog.EventFailed, Trial: id}, o.h.CheckReport(id, step, 0)
		}
		err := cmp.Or(o.h.CheckReport(id, step, y), o.config.checkValue(y))
		return runlog.Event{Kind: runlog.EventReported, Trial: id, Step: step, Y: y}, err
	})
	if err != nil {
		return p, err
	}
	if diverged {
		p.Diverged, p.Stop = true, true
		return p, nil
	}
	err = o.holding(ctx, func() error { return o.draft().foresee(ctx, &p, y) })
	return p, err
}

// TellStopped ends an open trial whose evaluation was stopped before its end. What its curve says of the end becomes
// an estimate that the model learns from; it is never the best, and no [Observation]. [Outputs] may be left out. If
// any is told, so is the run's cost ([AsCost]): what was spent up to the stop, which counts for the budget alone
// unless the evaluation is resumed. TellStopped fails, changing nothing, as Report does, with [ErrOutput], and with
// [ErrStep] if the trial has reported nothing: see [Optimizer.Cancel].
func (o *Optimizer) TellStopped(ctx context.Context, id int, outputs ...Outputs) error {
	grown := false
	err := o.holding(ctx, func() error {
		d := o.draft()
		if err := cmp.Or(ctx.Err(), checkOpen(d.h, id)); err != nil {
			return err
		}
		e, err := o.withoutValue(runlog.Event{Kind: runlog.EventStopped, Trial: id, Paused: o.config.checkpoints}, outputs)
		if err != nil {
			return err
		}
		c := d.h.Trials[id-1].Curve
		n := len(c.Steps)
		if n == 0 {
			return space.Errorf(ErrStep, "trial %d has reported nothing before it was stopped", id)
		}
		a, known, err := d.look(ctx, id, c.Steps[n-1])
		says := !known
		v := o.config.oriented(c.Values[n-1])
		if known {
			_, _, says = a.evidence(v)
		} else if err == nil {
			a.law, err = d.law(ctx, c.Steps[n-1])
		}
		if err != nil {
			return err
		}
		if says && a.law.Known() {
			e.Y, e.Noise = o.config.estimate(a.law.Law, v)
		}
		return o.with(id, func() (runlog.Event, error) {
			grown = len(o.h.Trials[id-1].Curve.Steps) > n
			return e, refuseUnless(!grown, "an estimate by the beginning of a curve")
		})
	})
	if grown { // by a Report meanwhile, which says more
		return o.TellStopped(ctx, id, outputs...)
	}
	return err
}

// estimate returns what a law says of the end of a curve that came to v, in the user's units, and
// its variance: 0 for both where it says nothing that a model could learn from.
func (c *runConfig) estimate(l curve.Law, v float64) (y, variance float64) {
	end, variance, ok := l.Evidence(v)
	y = scaling.Orient(end, c.minimize)
	if s := c.sense(); s.Log { // the variance of the logarithm counts by the square of the value
		y = s.Told(y)
		variance *= s.Slope(y) * s.Slope(y)
	}
	if !ok || !points.Admitted(y) || !points.Admitted(variance) || variance == 0 || c.positive && y == 0 {
		return 0, 0
	}
	return y, variance
}

// curveUnit is the scale of a run's curves, and what the model expects of trials, as long as
// no value more is told. It belongs to who holds the model.
type curveUnit struct {
	told  int           // how much the model had learned from: another number makes another unit
	ofRun []curve.Curve // the run's completed ones, large values being good
	last  int           // step of the completed curves, past ones too
	known bool
	scale curve.Scale
	ends  map[int][2]float64 // by trial: mean and variance of the value expected, as the model sees it
	// The model, the scale of its values, and how it sees them, in the user's units.
	model  consulted
	values scaling.Values
	low    scaling.Low
}

// look takes over how the model sees values.
func (u *curveUnit) look(m consulted, scale *scaling.Values) {
	u.model, u.values = m, *scale
	u.low, _ = m.view()
	u.low.Knee, u.low.Near = scale.Back(u.low.Knee, u.low.Near)
}

// seen brings a measurement of a value to how the model sees it.
func (u *curveUnit) seen(v, variance float64) (float64, float64) {
	slope := math.Exp(u.low.LogSlope(v))
	return u.low.At(v), variance * slope * slope
}

// belief brings moments as the model sees values to the user's units and direction. Where it sees them as they are told there
// is nothing more to do, and their scale may be none that is undone by a shift and a factor.
func (u *curveUnit) belief(c *runConfig, mean, sd float64) belief {
	if u.low.Near == 0 {
		return belief{mean: scaling.Orient(mean, c.minimize), sd: sd, sense: c.sense()}
	}
	return u.model.belief(c, &u.values, (mean-u.values.Shift)/u.values.Scale, sd/u.values.Scale)
}

// remaining returns how many steps are to come after one, the end among them: after 0 those of a whole evaluation.
func (u *curveUnit) remaining(step int) int { return max(u.last+1-step, 1) }

// unit returns that of the log of a draft.
func (o *draft) unit(ctx context.Context) (*curveUnit, error) {
	u := &o.Optimizer.curves
	told := len(o.h.Observations) + len(o.h.Estimates)
	if o.config.checkpoints { // events by which estimates may come to count, or not: all but reports
		told += len(o.h.Events)
		for _, t := range o.h.Trials {
			told -= len(t.Curve.Steps)
		}
	}
	if u.ends != nil && u.told == told {
		return u, nil
	}
	*u = curveUnit{told: told, ends: make(map[int][2]float64)}
	for _, ob := range o.h.Observations {
		if ob.Trial == 0 {
			continue
		}
		if c := o.h.Shown(ob.Trial); len(c.Steps) > 0 {
			k := curve.Curve{Steps: c.Steps, End: o.config.oriented(ob.Y)}
			k.Values, _ = o.config.sense().Apply(c.Values, nil)
			u.ofRun = append(u.ofRun, k)
		}
	}
	past := o.pastCurves()
	u.last = past.Last()
	for _, c := range u.ofRun {
		u.last = max(u.last, c.Steps[len(c.Steps)-1])
	}
	if past == nil {
		ends := each.Of(u.ofRun, func(c curve.Curve) float64 { return c.End })
		if len(ends) > 0 {
			u.scale, u.known = curve.Standardize(ends)
		}
		return u, nil
	}
	d, scale := o.data(false)
	x := points.Sample(o.everywhere(unitPoints, "curves"), unitPoints, o.config.seed, "curves")
	mean, variance, err := o.measurements(ctx, d, scale, x)
	if err != nil {
		u.ends = nil // what was not finished is begun anew
		return u, err
	}
	u.look(o.model, &scale)
	// The moments of the value of a point drawn at random.
	shift, between := stat.MeanVariance(mean)
	within, _ := stat.MeanVariance(variance)
	u.scale, u.known = past.Scale(shift, math.Sqrt(between+within), u.low), true
	return u, nil
}

// unitPoints is the number of points at most on which the scale of a task's values is looked at.
const unitPoints = 256

// measurements returns the means and the variances of measurements at the rows of x as the model sees them, in the
// user's units, large ones being good.
func (o *draft) measurements(
	ctx context.Context, d Data, scale scaling.Values, x *linalg.Dense,
) (mean, variance []float64, err error) {
	if err := o.fit(ctx, d); err != nil {
		return nil, nil, err
	}
	if mean, variance, err = o.model.predict(ctx, x); err != nil {
		return nil, nil, err
	}
	noise := o.noiseOf(d)
	for i := range mean {
		m, sd := scale.Back(mean[i], math.Sqrt(variance[i]*variance[i]+noise))
		mean[i], variance[i] = m, sd*sd
	}
	return mean, variance, nil
}

// pastCurves returns what past tasks say of curves, nil for nothing: it is of use where the
// model infers the scale of the target from theirs.
func (o *Optimizer) pastCurves() *curve.Past {
	if p := o.config.prior; p != nil && o.config.y == RawValues {
		return p.curves
	}
	return nil
}

// curveLaw is what curves say of the end after a step, by curves of the run that passed it and,
// on the scale of a unit, past ones; it is not known where there is no scale.
type curveLaw struct {
	curve.Law
	passed int // curves of the run
	unit   *curveUnit
}

func (o *draft) law(ctx context.Context, step int) (l curveLaw, err error) {
	if l.unit, err = o.unit(ctx); err != nil {
		return l, err
	}
	l.passed = each.Count(l.unit.ofRun, func(c curve.Curve) bool { _, ok := c.At(step); return ok })
	if l.unit.known {
		l.Law = o.pastCurves().Law(step, l.unit.scale, l.unit.ofRun)
	}
	return l, nil
}

// ahead is what is known of the end of a trial at a step, before its value there; large values are good.
type ahead struct {
	law            curveLaw
	mean, variance float64 // of the end, by the model of the objective alone, as it sees values
	best           float64 // to beat, likewise

	remaining int // steps to come

	checkpoints bool
	start       float64 // the logarithm of the improvement a step that was expected when it began
}

// look returns what is known ahead of a step of a trial; known is false if that is nothing
// for want of a best value, of curves or of a scale: where curves have one, so have the values.
func (o *draft) look(ctx context.Context, id, step int) (a ahead, known bool, err error) {
	i := o.h.Best(o.config.minimize)
	if i < 0 || ctx.Err() != nil {
		return a, false, ctx.Err()
	}
	if a.law, err = o.law(ctx, step); err != nil || !a.law.Known() {
		return a, false, err
	}
	ends := a.law.unit.ends
	end, kept := ends[id]
	if !kept {
		d, scale := o.data(false)
		mean, variance, err := o.measurements(ctx, d, scale, o.space.EncodeAll([][]float64{o.h.Trials[id-1].X}))
		if err != nil {
			return a, false, err
		}
		a.law.unit.look(o.model, &scale)
		end = [2]float64{mean[0], variance[0]}
		ends[id] = end
	}
	a.mean, a.variance = end[0], end[1]
	a.best, _ = a.law.unit.seen(o.config.oriented(o.h.Observations[i].Y), 0)
	a.remaining = a.law.unit.remaining(step)
	if a.checkpoints = o.config.checkpoints; a.checkpoints {
		err = o.pace(ctx, &a, id, step)
	}
	return a, err == nil, err
}

// pace completes what is known of a trial that can go on later: one that resumes another began where that one stopped.
func (o *draft) pace(ctx context.Context, a *ahead, id, step int) error {
	from, mean, sd := 0, a.mean, math.Sqrt(a.variance)
	if k := o.h.Trials[id-1].Resumes; k > 0 {
		c := o.h.Shown(k)
		n := len(c.Steps) - 1
		if from = c.Steps[n]; step <= from { // begun anew: it has shown more before
			a.start = math.Inf(-1)
			return nil
		}
		l, err := o.law(ctx, from)
		if err != nil {
			return err
		}
		mean, sd = ahead{law: l, mean: a.mean, variance: a.variance}.end(o.config.oriented(c.Values[n]))
	}
	a.start = acq.LogExpectedImprovement(mean, sd, a.best) - math.Log(float64(a.law.unit.remaining(from)))
	return nil
}

// before returns the probability that the end is better than the best, by the model alone.
func (a ahead) before() float64 {
	return special.NormCDF(acq.PI{Target: a.best}.Score(a.mean, math.Sqrt(a.variance)))
}

// evidence is that of the law as the model sees values. One of the floor says nothing where the model expects worse.
func (a ahead) evidence(y float64) (end, noise float64, ok bool) {
	if end, noise, ok = a.law.Evidence(y); ok {
		end, noise = a.law.unit.seen(end, noise)
		ok = end <= a.mean || !a.law.Floored(y)
	}
	return end, noise, ok
}

// end returns what a value at the step makes of the end.
func (a ahead) end(y float64) (mean, sd float64) {
	mean, variance := a.mean, a.variance
	if end, noise, ok := a.evidence(y); ok {
		gain := variance / (variance + noise)
		mean, variance = mean+gain*(end-mean), variance*(1-gain)
	}
	return mean, math.Sqrt(variance)
}

// after returns its chance to beat the best, and the advice.
func (a ahead) after(y float64) (chance float64, stop bool) {
	mean, sd := a.end(y)
	chance = special.NormCDF(acq.PI{Target: a.best}.Score(mean, sd))
	if a.checkpoints {
		return chance, acq.LogExpectedImprovement(mean, sd, a.best)-math.Log(float64(a.remaining)) < a.start
	}
	return chance, chance < hopeless*a.before()*float64(a.remaining)/float64(a.law.unit.remaining(0))
}

// What the model makes of ends is too sure to be told, and its errors have tails: those of deviations too small by
// the root of tooSure, with Student's distribution of so many degrees of freedom, in which a curve that contradicts
// the model widens it. 90 % intervals hold 89 % of the ends then (examples/hpob, TestReportCoverage). Chances, which
// advice compares with each other, are the model's own.
const (
	tooSure = 2.5
	freedom = 4
)

// foretold is end for who reads it.
func (a ahead) foretold(y float64) (mean, sd float64) {
	a.variance *= tooSure
	if end, noise, ok := a.evidence(y); ok {
		far := min((end-a.mean)*(end-a.mean)/(a.variance+noise), points.MaxValue)
		a.variance *= max(1, (freedom+far)/(freedom+1))
	}
	return a.end(y)
}

// foresee completes the prospect of a trial whose curve has come to y.
func (o *draft) foresee(ctx context.Context, p *Prospect, y float64) error {
	if i := o.h.Best(o.config.minimize); i >= 0 {
		p.Best = o.h.Observations[i].Y
	}
	a, known, err := o.look(ctx, p.Trial, p.Step)
	if p.Curves, p.Known = a.law.passed, known; !known {
		return err
	}
	y = o.config.oriented(y)
	p.Before = a.before()
	p.Chance, p.Stop = a.after(y)
	mean, sd := a.foretold(y)
	p.Mean, p.SD = a.law.unit.belief(&o.config, mean, sd).moments()
	return nil
}

// cutoffs is the number of values among which a cutoff is looked for before it is narrowed down.
const cutoffs = 256

// Cutoff returns the value at a coming step of an open trial beyond which [Optimizer.Report] would advise to stop, in
// the user's units, for a system that wants its rules when an evaluation begins. All worse values are hopeless,
// though Report goes on at those so bad that curves tell no more than the model. chance is the probability that the
// trial shows a worse value. Both are NaN if no value at the step is a reason to stop, if the best are one, too, or if
// worse values there come before better ends. Cutoff changes nothing, and fails as Report does.
func (o *Optimizer) Cutoff(ctx context.Context, id, step int) (value, chance float64, err error) {
	value, chance = math.NaN(), math.NaN()
	err = o.holding(ctx, func() error {
		d := o.draft()
		err := cmp.Or(ctx.Err(), checkOpen(d.h, id))
		if err == nil {
			err = d.h.CheckReport(id, step, 0)
		}
		if err != nil {
			return err
		}
		a, known, err := d.look(ctx, id, step)
		if err != nil || !known {
			return err
		}
		stops := func(y float64) bool { _, stop := a.after(y); return stop }
		low, high := a.law.Range()
		y, good, found := high, math.NaN(), false
		for k := 0; k <= cutoffs && !found; k++ {
			y = high + float64(k)/cutoffs*(low-high)
			if found = stops(y); !found {
				good = y
			}
		}
		if !found || math.IsNaN(good) || !a.law.Rises() {
			return nil // no value is a reason to stop, or good ones are
		}
		for range 60 {
			if m := (good + y) / 2; stops(m) {
				y = m
			} else {
				good = m
			}
		}
		if end, noise, ok := a.evidence(y); ok {
			chance = special.NormCDF((end - a.mean) / math.Sqrt(a.variance+noise))
		}
		value = o.config.sense().Told(scaling.Orient(good, o.config.minimize))
		return nil
	})
	return value, chance, err
}

// oriented returns a value as the model sees it before it is scaled: large is good.
func (c *runConfig) oriented(y float64) float64 {
	v, _ := c.sense().Apply([]float64{y}, nil)
	return v[0]
}

// learnCurves learns from the curves of the tasks told, but those that were stopped.
func (p *Prior) learnCurves() *curve.Past {
	tasks := make([]curve.Evaluations, len(p.told))
	for i, t := range p.told {
		y, _ := p.config.sense().Apply(t.y, nil)
		tasks[i].Ends = y
		for k, c := range t.curves {
			if len(c.Steps) > 0 && !c.Stopped {
				values, _ := p.config.sense().Apply(c.Values, nil)
				tasks[i].Curves = append(tasks[i].Curves, curve.Curve{Steps: c.Steps, Values: values, End: y[k]})
			}
		}
	}
	return curve.Learn(tasks)
}

// curved reports whether tasks have curves.
func (p *Prior) curved() bool {
	return slices.ContainsFunc(p.told, func(t told) bool { return t.curves != nil })
}

// encodeCurves writes what decodeCurves reads.
func encodeCurves(e *codec.Encoder, curves []space.Curve) {
	e.Uint(uint64(len(curves)))
	for _, c := range curves {
		e.Ints(c.Steps)
		e.Floats(c.Values)
		e.Bool(c.Stopped)
	}
}

// decodeCurves reads the curves of a task of so many values, nil for none, which its caller checks.
func decodeCurves(d *codec.Decoder, id string, values int) []space.Curve {
	n := d.Count(3)
	if n > 0 && n != values {
		d.Fail("task %q: %d curves for %d values", id, n, values)
		return nil
	}
	var curves []space.Curve
	for range n {
		curves = append(curves, space.Curve{Steps: d.Ints(), Values: d.Floats(), Stopped: d.Bool()})
		if d.Err != nil {
			return nil
		}
	}
	return curves
}

// decodeCurves reads the curves of the tasks, where there are any.
func (p *Prior) decodeCurves(d *codec.Decoder) error {
	if d.Err != nil || len(d.Buf) == 0 {
		return d.Err
	}
	for i, t := range p.told {
		p.told[i].curves = decodeCurves(d, t.id, len(t.y))
	}
	if !p.curved() {
		d.Fail("curves without any")
	}
	return d.Err
}
