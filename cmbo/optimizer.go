package cmbo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// An Optimizer proposes points of a space and learns from what was measured there, with the model that its [Prior] holds, or
// with a plain Gaussian process. Its state is a log of events (asked, told, failed, cancelled, stopped, reported, observed,
// enqueued, fitted), so that the same seed, options and sequence of events give the same proposals. Any number of trials may
// be open, and answers may come in any order. A call that fails leaves the Optimizer as it was. New and Restore make it: of
// a zero Optimizer, calls that return an error fail with [ErrOption], others find nothing.
//
// It is safe for concurrent use. Calls that compute with the model (Ask, Predict, Transfer, Explain and their like) wait for
// each other, and Observe and Enqueue wait for them. While an Ask computes, trials can be told and the state can be read.
type Optimizer struct {
	// modelLock is held while the model is used and while the log gets points,
	// mu while the log is used. modelLock is taken first.
	modelLock chan struct{}
	mu        sync.Mutex

	space  *Space
	config runConfig
	model  consulted

	h            runlog.Log
	design       [][]float64 // initial design, in the order of proposing
	rows         [][]float64 // candidates of a finite space, all points of a small discrete one, else nil
	points       *linalg.Dense
	drawn        []*poolBlock       // of the newest pool
	weighs       bool               // the model has weights: Weights waits for no Ask where it has none
	settings     hierarchy.Settings // of the default
	stale        bool               // the model has to be made anew: code that it ran panicked
	requirements []requirement
	outputs      []*outputModel   // of the outputs that have limits or are the cost
	costs        *costRequirement // nil for none
	past         *hindsight       // what the model would have said earlier, nil until asked for
	judged       *hindsight       // likewise, of the last values alone
	curves       curveUnit
	step         *Step       // of the newest proposal that a model made
	mark         JournalMark // of the journal's last line, zero before the first
	first        []byte      // the journal's first line, as long as it is not written
}

// New returns an optimiser over a space. With [WithPrior] the space must have the parameters the prior was learned
// for. Over a list of candidates New carries the prior to these; [Prior.Reindex] does so once for many optimisers. New
// fails with [ErrSpace], [ErrOption], [ErrPriorMismatch] or [ErrNumerical].
func New(space *Space, opts ...Option) (*Optimizer, error) {
	return guarded(func() (*Optimizer, error) {
		o, err := newRun(space, opts)
		if err == nil {
			_, err = o.beginJournal()
		}
		return o, err
	})
}

// newRun is New without a journal's first line.
func newRun(space *Space, opts []Option) (*Optimizer, error) {
	if err := space.Defined(); err != nil {
		return nil, err
	}
	c, err := newRunConfig(opts)
	if err == nil {
		err = cmp.Or(c.fill(), c.checkSpelling())
	}
	if err != nil {
		return nil, err
	}
	return newOptimizer(space, c)
}

// fill checks the options against the prior and the surrogate, and fills in what none of them gave.
func (c *runConfig) fill() error {
	if p := c.prior; p != nil {
		if c.minimize && !p.config.minimize {
			return fmt.Errorf("%w: it was learned from tasks that maximise", ErrPriorMismatch)
		}
		if c.positive && !p.config.positive {
			return fmt.Errorf("%w: it was learned without WithPositiveValues, from values rather than their logarithms", ErrPriorMismatch)
		}
		c.minimize, c.positive = p.config.minimize, p.config.positive
		if err := p.fill(c); err != nil {
			return err
		}
	} else if c.context != nil {
		return optionErrorf("%s without a Prior", optContext)
	}
	if s := as[Scaled](consulted{c.surrogate}); s != nil {
		switch {
		case c.minimize && !s.Minimizes():
			return fmt.Errorf("%w: the surrogate was learned from tasks that maximise", ErrPriorMismatch)
		case c.positive:
			return fmt.Errorf("%w: the surrogate was learned from values, and WithPositiveValues has it see their logarithms", ErrPriorMismatch)
		}
		if c.minimize = s.Minimizes(); !c.has(optYPolicy) {
			c.y = s.YPolicy()
		}
	}
	if err := c.checkCost(); err != nil {
		return err
	}
	if !c.has(optInitial) && c.surrogate == nil && (c.prior == nil || learned(c.prior, (*hierarchy.Model).SaysNothing)) {
		c.initial = defaultInitial
	}
	c.given = nil
	return nil
}

// newOptimizer makes an optimiser of a complete configuration, with an empty log.
func newOptimizer(space *Space, c *runConfig) (*Optimizer, error) {
	o := &Optimizer{modelLock: make(chan struct{}, 1), space: space, config: *c, h: *runlog.NewLog(space, c.outputs...)}
	o.forget()
	if space.Finite() {
		o.rows, o.points = space.Rows(), space.Encoded()
	} else if o.rows = space.Enumerate(enumerable); o.rows != nil {
		o.points = space.EncodeAll(o.rows)
	}
	for _, row := range o.rows { // rather than after an initial design
		if _, err := o.knownCost(row); err != nil {
			return nil, err
		}
	}
	if err := o.makeModel(); err != nil {
		return nil, err
	}
	if o.config.acquisition == Thompson() && as[Sampler](o.model) == nil {
		return nil, optionErrorf("%s needs joint draws, which the model does not offer: see Sampler", c.acquisition)
	}
	o.weighs = as[Weigher](o.model) != nil
	o.settings = hierarchy.DefaultSettings(space.Dim())
	if p := c.prior; p != nil {
		o.settings = p.learned.Settings()
	}
	return o, nil
}

// makeModel makes the surrogate and binds it to the candidates.
func (o *Optimizer) makeModel() error {
	m, err := o.config.model(o.space, o.points != nil, true)
	if err != nil {
		return err
	}
	o.model = consulted{m}
	if o.points != nil {
		if err := o.model.bind(context.Background(), o.points); err != nil {
			return fmt.Errorf("binding the surrogate to %d candidates: %w", len(o.rows), err)
		}
	}
	return nil
}

// viewShares are the views, besides that of the values as they are, of which the evidence chooses one at each fit
// without a prior: see gp.View. The smaller makes of most values the logarithm of what they lack of the best.
var viewShares = []float64{1, 0.25}

// mayBeExact is true but where tests ask what it brings.
var mayBeExact = true

// exact reports whether models without a past look for noise that is next to none: where points may come ever nearer to each
// other.
func exact(s *Space) bool { return mayBeExact && !s.Finite() }

// coordinates says which lengths of models are one.
var coordinates = gp.Coordinates

// model makes the surrogate of a run, or takes the caller's. That of a prior knows whether candidates are a list, given
// or enumerated, and which if it is bound.
func (c *runConfig) model(space *Space, list, bound bool) (Surrogate, error) {
	if c.surrogate != nil {
		return c.surrogate, nil
	}
	if p := c.prior; p != nil {
		if bound {
			var err error
			if p, err = p.reindex(context.Background(), space, c.parallelism); err != nil {
				return nil, err
			}
		}
		return p.surrogate(c, list)
	}
	if c.kernel != nil {
		if err := gp.CheckKernel(c.kernel, space.Dim(), ErrOption); err != nil {
			return nil, err
		}
	}
	var shares []float64
	if c.y == ZScore {
		shares = viewShares
	}
	scale := func(y, noise []float64) (scaled, variances []float64) {
		s := c.scale(y)
		return s.Z, s.NoiseVariances(noise)
	}
	return plainRun{gp.NewPlain(coordinates(space), c.kernel, c.noise, scale, shares, exact(space), c.seed)}, nil
}

// raisePenalties is what tests change to ask what it brings.
var raisePenalties = scaling.RaisePenalties

// scale brings oriented values to the scale of the model. That of a prior tells penalties by itself; without one they would
// set the scale. Values far below the others may be the ones that hold a limit.
func (c *runConfig) scale(y []float64) scaling.Values {
	if c.prior == nil && c.surrogate == nil && c.y == ZScore && !c.limited() {
		y = raisePenalties(y)
	}
	return c.y.fit(y)
}

// everywhere returns the candidates of a finite or listed space in the unit cube, of another n points spread over it.
func (o *Optimizer) everywhere(n int, label string) *linalg.Dense {
	if o.points != nil {
		return o.points
	}
	return o.space.EncodeAll(o.space.Spread(n, rng.Stream(o.config.seed, label)))
}

// Space returns the space.
func (o *Optimizer) Space() *Space { return o.space }

// Tell answers an open trial with the value measured there; options are [WithNoise], for the precision of the
// measurement, and [Outputs]. It fails, changing nothing, with [ErrUnknownTrial], with [ErrTrialClosed] if the trial
// was answered or cancelled before, with [ErrValue], or with [ErrOutput].
func (o *Optimizer) Tell(id int, y float64, opts ...ObservationOption) error {
	e := runlog.Event{Kind: runlog.EventTold, Trial: id, Y: y}
	if err := o.observe(&e, opts); err != nil {
		return fmt.Errorf("trial %d: %w", id, err)
	}
	return o.close(id, e)
}

// TellFailed says that the evaluation of an open trial failed. Its point is not proposed again unless it is enqueued.
// From failures and successes, past ones too, the optimiser learns the probability that a point succeeds: see [Step].
// A failure that says nothing of the point, such as that of a machine, is one for [Optimizer.Cancel]. [Outputs] may
// be left out, except a cost that is not [Optional]. It fails as [Optimizer.Tell] does.
func (o *Optimizer) TellFailed(id int, outputs ...Outputs) error {
	e, err := o.withoutValue(runlog.Event{Kind: runlog.EventFailed, Trial: id}, outputs)
	if err != nil {
		return err
	}
	return o.close(id, e)
}

// withoutValue adds outputs to an event that ends a trial without a value. A stop may lack them
// all: what the evaluation has cost is not always known.
func (o *Optimizer) withoutValue(e runlog.Event, outputs []Outputs) (runlog.Event, error) {
	if err := o.made(); err != nil {
		return e, err
	}
	err := applyAll("Outputs", outputs, &e, Outputs.applyObservation)
	if err == nil && (e.Kind != runlog.EventStopped || e.Outputs != nil) {
		err = o.h.CheckValues(e.Outputs, true)
	}
	if err != nil {
		return e, fmt.Errorf("trial %d: %w", e.Trial, err)
	}
	return e, nil
}

// Cancel takes back an open trial that will not be evaluated: its point may be
// proposed again. It fails as [Optimizer.Tell] does.
func (o *Optimizer) Cancel(id int) error {
	return o.close(id, runlog.Event{Kind: runlog.EventCancelled, Trial: id})
}

// close applies an event that ends an open trial.
func (o *Optimizer) close(id int, e runlog.Event) error {
	return o.with(id, func() (runlog.Event, error) { return e, nil })
}

// with applies an event of an open trial, which event makes once it is known to be open.
func (o *Optimizer) with(id int, event func() (runlog.Event, error)) error {
	if err := o.made(); err != nil {
		return err
	}
	return guard(func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if err := checkOpen(&o.h, id); err != nil {
			return err
		}
		e, err := event()
		if err != nil {
			return fmt.Errorf("trial %d: %w", id, err)
		}
		return o.commit(e)
	})
}

// checkTrial reports an ID that no trial has.
func checkTrial(h *runlog.Log, id int) error {
	switch n := len(h.Trials); {
	case n == 0:
		return fmt.Errorf("%w: %d; the run has asked none", ErrUnknownTrial, id)
	case id < 1 || id > n:
		return fmt.Errorf("%w: %d; the last one asked is %d", ErrUnknownTrial, id, n)
	}
	return nil
}

// checkOpen reports a trial that is not open.
func checkOpen(h *runlog.Log, id int) error {
	if err := checkTrial(h, id); err != nil {
		return err
	}
	if s := h.Trials[id-1].Status; s != runlog.Open {
		return fmt.Errorf("%w: %d was %s", ErrTrialClosed, id, s)
	}
	return nil
}

// Observe adds a point that the optimiser did not propose, such as a default configuration, and its value, with the options
// of [Optimizer.Tell]. The point must lie in the space, but need not be a candidate; it may be observed repeatedly. It
// fails, changing nothing, with [ErrDimension], [ErrValue], [ErrOutOfSpace] or [ErrOutput], and waits for an Ask under way.
func (o *Optimizer) Observe(x []float64, y float64, opts ...ObservationOption) error {
	if err := o.made(); err != nil {
		return err
	}
	x, err := o.space.Canonical(x)
	if err != nil {
		return err
	}
	e := runlog.Event{Kind: runlog.EventObserved, X: x, Y: y}
	if err := o.observe(&e, opts); err != nil {
		return err
	}
	return o.commitBetween(e)
}

// commitBetween commits an event that no Ask may be under way for.
func (o *Optimizer) commitBetween(e runlog.Event) error {
	if err := o.lockModel(context.Background()); err != nil {
		return err
	}
	defer o.unlockModel()
	o.mu.Lock()
	defer o.mu.Unlock()
	return guard(func() error { return o.commit(e) })
}

// An ObservationOption tells more of a measurement: [WithNoise] and [Outputs].
type ObservationOption interface {
	applyObservation(*runlog.Event) error
}

type observationOption func(*runlog.Event) error

func (f observationOption) applyObservation(e *runlog.Event) error { return f(e) }

// WithNoise gives the variance of a measurement's error, in squared units of the value: for the mean of n
// repetitions, say, their sample variance over n. It is positive, else the call fails with [ErrValue]. For this
// value it replaces the noise variance that was learned, or given by [WithNoiseVariance]; as long as all values are
// equal, only with [RawValues] and a prior that is not of ranks, which know the unit. In a run that has such values,
// proposals improve on the model's largest mean at a point told, not on the best value told.
func WithNoise(variance float64) ObservationOption {
	return observationOption(func(e *runlog.Event) error {
		if !(variance > 0) {
			return space.Errorf(ErrValue, "noise variance %g is not a finite number > 0", variance)
		}
		e.Noise = variance
		return space.CheckNoise(variance)
	})
}

// observe validates the value of an event and applies the options.
func (o *Optimizer) observe(e *runlog.Event, opts []ObservationOption) error {
	if err := o.made(); err != nil {
		return err
	}
	if err := o.config.checkValue(e.Y); err != nil {
		return err
	}
	if err := applyAll("ObservationOption", opts, e, ObservationOption.applyObservation); err != nil {
		return err
	}
	return o.h.CheckValues(e.Outputs, false)
}

// Best returns the best value told or observed so far, noisy as it may be, and of equal ones the first; ok is false
// before the first value. Where outputs have limits, Best is among the values that hold them all. If there is none,
// ok is false and best is the observation nearest to the limits: the one least beyond them, in standard deviations of
// each output's values. See [Observation.Violations].
func (o *Optimizer) Best() (best Observation, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.h.Best(o.config.minimize); i >= 0 {
		return o.observation(i), true
	}
	if i := o.h.Nearest(o.config.minimize); i >= 0 {
		best = o.observation(i)
	}
	return best, false
}

// Predict returns the mean and the standard deviation that the model gives the noise-free objective at a point, in the user's
// units, from the data told so far. Before the first value the hierarchical prior takes the offset and the scale from the
// past tasks; other models know no scale before two different values, and take values to have unit variance. Where the model
// sees logarithms ([WithPositiveValues], [LearnReport]) mean and sd are those of a lognormal distribution: see
// [Optimizer.Quantiles]. It fails with [ErrDimension], [ErrValue], [ErrOutOfSpace] or [ErrNumerical], and with the context's
// error while it waits for a call that holds the model, such as [Optimizer.AskN], or fits it.
//
// The hierarchical prior's 90 % intervals hold about 90 % of the values that a run asks for. Elsewhere replays of
// past tasks and how low their values are set how much wider and lower they reach: they hold 83 to 98 % of other rows
// on sixteen tables (CMBO_DATA=DIR go test ./cmbo/bench -run TestPredictCoverage -divisions 5 -v), so that far from the
// best values mean and sd may say little. On draws of a Gaussian population they hold 89 to 93 % (go test ./cmbo -run
// TestCoverage -coverage 300 -v -timeout 0). If a past of few rows does not show its noise, intervals are too narrow
// near the best value and far too wide below it: give the noise ([WithNoise], [Task.NoiseVariance]).
//
// Without a past few values leave the variance of the objective unknown, and sd allows for that: it is 1.44 times the
// sd that scores candidates ([Step]) at five values, 1.08 times at twenty. The 90 % intervals hold .83 of the first
// twenty values and .85 of other rows.
func (o *Optimizer) Predict(ctx context.Context, x []float64) (mean, sd float64, err error) {
	b, err := o.predict(ctx, x)
	mean, sd = b.moments()
	return mean, sd, err
}

// Quantiles returns quantiles of the distribution whose moments [Optimizer.Predict] returns, and fails as it does.
func (o *Optimizer) Quantiles(ctx context.Context, x []float64) (Quantiles, error) {
	b, err := o.predict(ctx, x)
	return b.quantiles(), err
}

// predict returns what the model expects at a point, the zero belief beside an error.
func (o *Optimizer) predict(ctx context.Context, x []float64) (belief, error) {
	if err := o.made(); err != nil {
		return belief{}, err
	}
	u, err := o.space.Encode(x)
	if err != nil {
		return belief{}, err
	}
	return withFitted(ctx, o, func(_ *draft, _ Data, scale *scaling.Values) (belief, error) {
		return o.model.predictOne(ctx, &o.config, scale, u)
	})
}

// Weights returns the weights that the next proposal will use: the prior's masses of no transfer and of the population, in
// this order, or what a [Weigher] returns. They add up to 1. [Optimizer.Transfer] says the same with names. Weights is nil
// where the model has none, as without a prior. It fails with [ErrNumerical] if the model cannot be conditioned on the data,
// and with the context's error.
func (o *Optimizer) Weights(ctx context.Context) ([]float64, error) {
	if err := o.made(); err != nil || !o.weighs {
		return nil, err
	}
	return withFitted(ctx, o, func(*draft, Data, *scaling.Values) ([]float64, error) {
		return slices.Clone(as[Weigher](o.model).Weights()), nil
	})
}

// Task returns the run so far as a [Task] for a later [Learn]: observations and failed trials with their outputs, the curves
// that were reported, and the descriptors of [WithContext]. Of trials that were stopped it has the estimates of their ends,
// each with its variance, where there are any. It fails with [ErrTask] if there are none of these, and if id is empty or not
// UTF-8.
func (o *Optimizer) Task(id string) (Task, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.made(); err != nil {
		return Task{}, err
	}
	switch {
	case id == "":
		return Task{}, space.Errorf(ErrTask, "empty ID")
	case !utf8.ValidString(id):
		return Task{}, space.InTask(space.Errorf(ErrTask, "an ID that is not UTF-8"), id)
	}
	t := Task{ID: id, Params: o.space.Params(), Context: maps.Clone(o.config.context)}
	for i, tr := range o.h.Trials {
		if tr.Status == runlog.Failed {
			t.FailedOutputs.Append(len(t.Failed), o.h.Whole(i+1, tr.Outputs))
			t.Failed = append(t.Failed, slices.Clone(tr.X))
		}
	}
	rows, estimated := o.h.Learned()
	if len(rows)+len(t.Failed) == 0 {
		return Task{}, space.InTask(space.Errorf(ErrTask, "no observations"), id)
	}
	for i, ob := range rows {
		var c space.Curve
		if ob.Trial > 0 {
			shown := o.h.Shown(ob.Trial)
			c = space.Curve{Steps: slices.Clone(shown.Steps), Values: slices.Clone(shown.Values), Stopped: estimated != nil && estimated[i]}
		}
		space.Observe(&t, slices.Clone(ob.X), ob.Y, ob.NoiseVariance, ob.Outputs, c)
	}
	return t, nil
}

// Observations returns what was told and observed, in that order.
func (o *Optimizer) Observations() []Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]Observation, len(o.h.Observations))
	for i := range out {
		out[i] = o.observation(i)
	}
	return out
}

func (o *Optimizer) observation(i int) Observation {
	ob := o.h.Observations[i]
	return Observation{
		X: slices.Clone(ob.X), Y: ob.Y, NoiseVariance: ob.NoiseVariance, Outputs: maps.Clone(ob.Outputs), Trial: ob.Trial,
		space: o.space, violations: o.violations(i),
	}
}

// Open returns the trials that are waiting for an answer, in the order of asking.
func (o *Optimizer) Open() []Trial {
	o.mu.Lock()
	defer o.mu.Unlock()
	return each.Of(o.h.Pending(), func(id int) Trial { return o.trial(&o.h, id) })
}

// Trials returns all trials in the order of asking, each with its [Status]: entry i has the ID i+1. What they brought
// is in [Optimizer.Observations], by Observation.Trial, and in [Optimizer.Task].
func (o *Optimizer) Trials() []Trial {
	o.mu.Lock()
	defer o.mu.Unlock()
	return each.Below(len(o.h.Trials), func(i int) Trial { return o.trial(&o.h, i+1) })
}
