package cmbo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// Ask proposes the next point and opens a trial for it. A point is proposed once, unless its trial was cancelled or
// it is enqueued. It fails with [ErrNoCandidates] when nothing is left, with [ErrBudget], with [ErrNumerical] if the
// model cannot be conditioned on the data, and with ctx.Err(). It takes O(t² N) time for t points and N candidates;
// the default takes O(t N) on a list of candidates.
//
// Without a prior, and for outputs that past tasks lack, some calls also fit hyperparameters, which takes most of their
// time. If ctx ends a fit, the next call resumes it, and proposes what an uninterrupted call would have.
func (o *Optimizer) Ask(ctx context.Context) (Trial, error) {
	ts, err := o.AskN(ctx, 1)
	if err != nil {
		return Trial{}, err
	}
	return ts[0], nil
}

// A discrete parameter space of at most so many points is listed whole.
const enumerable = 2000

// maxAsked bounds AskN: calls that wait for it would wait for good.
const maxAsked = 1 << 16

// AskN proposes n points at once, as n calls of [Optimizer.Ask] in a row would: each takes the ones before into
// account as evaluated with the value the model expects. If fewer than n are left, or paid for, it returns those, and
// [ErrNoCandidates] or [ErrBudget] only if there are none. n must be in 1..65536. All n follow from the log as it
// stood when the call began: what is told meanwhile counts from the next call on.
func (o *Optimizer) AskN(ctx context.Context, n int) ([]Trial, error) {
	if n < 1 || n > maxAsked {
		return nil, optionErrorf("asked for %d trials, not 1 to %d", n, maxAsked)
	}
	return withModel(ctx, o, func() ([]Trial, error) { return o.draft().askN(ctx, n) })
}

func (o *draft) askN(ctx context.Context, n int) ([]Trial, error) {
	saw, asked := len(o.h.Events), len(o.h.Trials)
	for len(o.h.Trials) < asked+n {
		if err := o.ask(ctx); err != nil {
			if (errors.Is(err, ErrNoCandidates) || errors.Is(err, ErrBudget)) && len(o.h.Trials) > asked {
				break
			}
			return nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	events := o.h.Events[saw:]
	if len(o.Optimizer.h.Events) > saw {
		for i := range events {
			events[i].Saw = saw
		}
	}
	if err := o.commit(events...); err != nil {
		return nil, err
	}
	o.Optimizer.step = o.step
	// As the log has them: what one resumes may have ended meanwhile.
	return each.Below(len(o.h.Trials)-asked, func(i int) Trial { return o.trial(&o.Optimizer.h, asked+i+1) }), nil
}

func (o *draft) ask(ctx context.Context) error {
	if err := cmp.Or(ctx.Err(), o.afford()); err != nil {
		return err
	}
	id := len(o.h.Trials) + 1
	var e runlog.Event
	var err error
	switch o.reason() {
	case ReasonEnqueued:
		x := o.h.Queue[0]
		e = o.asked(id, o.space.Index(x), x)
	case ReasonDesign:
		e, err = o.designPoint(ctx, id)
	default:
		e, err = o.modelPoint(ctx, id)
	}
	if err == nil {
		o.h.Apply(e)
	}
	return err
}

func (o *Optimizer) trial(h *runlog.Log, id int) Trial {
	t := h.Trials[id-1]
	return Trial{ID: id, Index: t.Index, X: slices.Clone(t.X), Resumes: t.Resumes, Status: Status(t.Status.String()), space: o.space}
}

// designPoint takes the next unused point of the initial design that the budget is likely to pay for: Sobol points of
// a parameter space, the unused candidates nearest to Sobol points of the unit cube in a finite one.
func (o *draft) designPoint(ctx context.Context, id int) (runlog.Event, error) {
	if o.rows != nil {
		free := o.free()
		if len(free) == 0 {
			return runlog.Event{}, o.exhausted()
		}
		free, err := o.payable(ctx, free, o.points)
		if err != nil {
			return runlog.Event{}, err
		}
		target := o.space.EncodeAll([][]float64{o.designRow(o.h.Started())}).Row(0)
		distance := func(r int) float64 { return linalg.SqDist(o.points.Row(r), target) }
		nearest := slices.MinFunc(free, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
		return o.asked(id, nearest, o.rows[nearest]), nil
	}
	var rows [][]float64
	var free []int
	for i := range enumerable {
		row := o.designRow(o.h.Started() + i)
		if o.h.Proposable(points.Key(row)) {
			rows, free = append(rows, row), append(free, len(rows))
			if !o.budgeted() {
				break
			}
		}
	}
	if len(free) == 0 {
		return runlog.Event{}, fmt.Errorf("%w: none of %d points of the initial design may be proposed", ErrNoCandidates, enumerable)
	}
	free, err := o.payable(ctx, free, o.space.EncodeAll(rows))
	if err != nil {
		return runlog.Event{}, err
	}
	return o.asked(id, -1, rows[free[0]]), nil
}

// designRow returns point i of the scrambled Sobol sequence of the design.
func (o *Optimizer) designRow(i int) []float64 {
	if i >= len(o.design) {
		o.design = o.space.Design(2*i+16, rng.Stream(o.config.seed, "design"))
	}
	return o.design[i]
}

// free lists the candidates that may be proposed, one of each set of equals.
func (o *draft) free() []int {
	return each.Where(len(o.rows), func(r int) bool {
		return (!o.space.Finite() || o.space.First(r) == r) && o.h.Proposable(points.Key(o.rows[r]))
	})
}

func (o *draft) exhausted() error {
	return fmt.Errorf("%w: all %d rows are observed or asked, %d trials are open", ErrNoCandidates, len(o.rows), len(o.h.Pending()))
}

// asked makes the event for a point, which in a finite space is candidate r.
func (o *Optimizer) asked(id, r int, x []float64) runlog.Event {
	if !o.space.Finite() {
		r = -1
	}
	return runlog.Event{Kind: runlog.EventAsked, Trial: id, Index: r, X: slices.Clone(x)}
}

// proposable are the rows that a proposal is chosen from.
type proposable struct {
	rows [][]float64
	x    *linalg.Dense   // in the unit cube
	free []int           // those that may be proposed
	seen map[string]bool // of points drawn, the keys of those
}

// candidates returns those of a trial, with the one that is given if there is no list, nil for none.
func (o *draft) candidates(id int, given []float64) (c proposable, err error) {
	if c.rows, c.x = o.rows, o.points; c.rows != nil {
		if c.free = o.free(); len(c.free) == 0 {
			return c, o.exhausted()
		}
		return c, nil
	}
	o.draw(id)
	var xs []*linalg.Dense
	c.seen = make(map[string]bool) // whole numbers and choices are drawn again
	for _, b := range o.drawn {
		for i, key := range b.keys {
			if !c.seen[key] && o.h.Proposable(key) {
				c.seen[key] = true
				c.free = append(c.free, len(c.rows)+i)
			}
		}
		c.rows, xs = append(c.rows, b.rows...), append(xs, b.x)
	}
	var more [][]float64
	if given != nil {
		c.free, more = append(c.free, len(c.rows)), [][]float64{given}
		c.seen[points.Key(given)] = true
	}
	if o.config.checkpoints {
		for _, e := range o.h.Estimates {
			if key := points.Key(e.X); !c.seen[key] && o.h.Proposable(key) {
				c.free, more = append(c.free, len(c.rows)+len(more)), append(more, e.X)
			}
		}
	}
	c.rows, xs = append(c.rows, more...), append(xs, o.space.EncodeAll(more))
	if len(c.free) == 0 {
		return c, fmt.Errorf("%w: none of the %d points drawn may be proposed", ErrNoCandidates, len(c.rows))
	}
	c.x = points.Join(xs...)
	return c, nil
}

func (o *draft) modelPoint(ctx context.Context, id int) (runlog.Event, error) {
	c, s, how, err := o.scored(ctx, id, nil)
	if err != nil {
		return runlog.Event{}, err
	}
	payable, err := o.likely(c.free, how.within)
	if err != nil {
		return runlog.Event{}, err
	}
	scored := slices.DeleteFunc(slices.Clone(payable), func(r int) bool { return math.IsNaN(s.Scores[r]) })
	if len(scored) == 0 {
		return runlog.Event{}, fmt.Errorf("%w: the score of every candidate is NaN", ErrNumerical)
	}
	best := slices.MaxFunc(scored, func(a, b int) int { return cmp.Compare(s.Scores[a], s.Scores[b]) })
	s.Chosen = best
	o.step = s
	e := o.asked(id, best, c.rows[best])
	e.State = how.state
	return e, nil
}

// Local candidates are at one of two distances from the best point told, parts of a coordinate's range: at the smaller one
// Space.Near lets choices stay.
const wideStep, narrowStep = 0.1, 0.02

// climbs is the number of rounds of those near the best candidate, at the larger distance first and at half of it in each
// that follows. With a limit there are limitedClimbs of limitedNear times as many: values fall off with the distance from a
// border, and with its square around a peak. With a past, to whose models new candidates cost more, that brings less.
var climbs, limitedClimbs, limitedNear = 8, 14, 2

// scored fits the model and scores the candidates of a trial. It returns how they were scored, with what the model wants
// back of the proposal. Expected improvements differ by orders of magnitude near the best point, where those drawn in a
// parameter space are few: points near the best candidate are drawn and scored, too, half as many as local ones in all, and
// 7/4 times as many with a limit and no past. A point of a parameter space that is given, nil for none, is one more
// candidate.
func (o *draft) scored(ctx context.Context, id int, given []float64) (c proposable, s *Step, how scored, err error) {
	if c, err = o.candidates(id, given); err != nil {
		return c, nil, how, err
	}
	d, scale := o.data(true)
	if err := o.fit(ctx, d); err != nil {
		return c, nil, how, err
	}
	q := o.question(id, d)
	if s, how, err = o.score(ctx, id, q, c.x); err != nil {
		return c, nil, how, err
	}
	s.Shift, s.Scale = scale.Shift, scale.Scale
	r, n, step, rounds := rng.Stream(o.config.seed, "climb", uint64(id)), o.config.local/max(2*climbs, 1), wideStep, climbs
	if o.config.limited() && o.config.prior == nil {
		rounds, n = limitedClimbs, n*limitedNear
	}
	for round := 0; round < rounds && n > 0 && how.climbs && o.rows == nil; round++ {
		around := slices.MaxFunc(c.free, func(a, b int) int { return cmp.Compare(s.Scores[a], s.Scores[b]) })
		first := len(c.rows)
		for _, row := range o.space.Near(c.rows[around], n, step, r) {
			if key := points.Key(row); !c.seen[key] && o.h.Proposable(key) {
				c.seen[key] = true
				c.free, c.rows = append(c.free, len(c.rows)), append(c.rows, row)
			}
		}
		if step /= 2; len(c.rows) == first {
			continue
		}
		near, by, err := o.score(ctx, id, q, o.space.EncodeAll(c.rows[first:]))
		if err != nil {
			return c, nil, how, err
		}
		for _, v := range near.Scores {
			s.Scores = append(s.Scores, v+by.top-how.top)
		}
		s.Mean, s.SD, s.Success = append(s.Mean, near.Mean...), append(s.SD, near.SD...), append(s.Success, near.Success...)
		for name, p := range near.Holds {
			s.Holds[name] = append(s.Holds[name], p...)
		}
		s.Cost, how.within = append(s.Cost, near.Cost...), append(how.within, by.within...)
	}
	if !o.space.Finite() {
		s.Candidates = c.rows
	}
	return c, s, how, nil
}

// question is what a proposal asks of the model that was fitted to data.
func (o *draft) question(id int, d Data) *question {
	return &question{
		data: d, acquisition: o.config.acquisition, draw: rng.Stream(o.config.seed, "draw", uint64(id)),
		feasible: o.feasible(), judge: o.judge(), drawn: o.settings.Hedge.Drawn && !o.space.Finite(),
	}
}

// score has the fitted model score all rows of x.
func (o *draft) score(ctx context.Context, id int, q *question, x *linalg.Dense) (*Step, scored, error) {
	n, _ := x.Dims()
	s := &Step{Trial: id, Mean: make([]float64, n), SD: make([]float64, n), Scores: make([]float64, n)}
	how, err := o.model.propose(ctx, s, q, x)
	if err != nil {
		return nil, how, err
	}
	if err := o.logFit(); err != nil {
		return nil, how, err
	}
	if q.judge == byDistance && len(o.h.Observations) == 0 {
		// The probability of success leads to corners, away from where all has failed and past
		// the region next to it that does not.
		how.within, err = o.within(ctx, x)
		return s, how, err
	}
	if q.factors == nil {
		q.factors = o.factors(ctx, true)
	}
	factors, err := factorsAt(q.factors, x)
	if err != nil {
		return nil, how, err
	}
	s.Success = factors[success].p
	for _, g := range factors {
		if g.output != "" && g.p != nil {
			if s.Holds == nil {
				s.Holds = make(map[string][]float64)
			}
			s.Holds[g.output] = g.p
		}
		how.top += g.top
		if g.cost != nil {
			s.Cost, s.CostPower, how.within = g.cost, g.costPower, g.within
		}
	}
	if o.config.limited() && o.h.Best(o.config.minimize) < 0 {
		multiply(s.Scores, slices.DeleteFunc(slices.Clone(factors), func(g factor) bool { return g.output != "" }), how.by)
		if q.judge != byDistance && feasibleFirst(s.Scores, factors) {
			how.by, how.criterion = nil, "probability of holding the limits and, where that is alike, "+how.name(o.config.acquisition)
		}
		return s, how, nil
	}
	multiply(s.Scores, factors, how.by)
	// Means, which the first point is chosen by, count from the least one of a list where they are multiplied.
	alone := !slices.ContainsFunc(factors, func(g factor) bool { return g.p != nil })
	how.climbs = o.config.acquisition == EI() && o.config.surrogate == nil && !math.IsInf(how.top, 0) &&
		(how.by != nil || how.criterion == "mean" && alone)
	return s, how, nil
}

// logFit puts parameters fitted for this proposal on the log, so that a restored run takes them as they are.
func (o *draft) logFit() error {
	r := as[Refitter](o.model)
	if r == nil {
		return nil
	}
	count, params := r.Fitted()
	if _, known := o.h.Fitted[count]; known || params == nil {
		return nil
	}
	if err := o.model.checks().CheckFitted(count, params); err != nil {
		return fmt.Errorf("%w: %T.Fitted: %w", ErrNumerical, o.model.Surrogate, err)
	}
	o.h.Apply(runlog.Event{Kind: runlog.EventFitted, Count: count, Params: slices.Clone(params)})
	return nil
}

func (o *Optimizer) fit(ctx context.Context, d Data) error {
	if o.stale {
		if err := o.makeModel(); err != nil {
			return err
		}
		o.stale = false
	}
	if err := o.model.Fit(ctx, d); err != nil {
		return fmt.Errorf("conditioning on %d observations: %w", len(d.Y), err)
	}
	return ctx.Err() // a model may not look at ctx while it computes
}

// data prepares what the model learns of the run, with or without the pending points, and the scaling that was applied.
func (o *draft) data(pending bool) (Data, scaling.Values) {
	rows, estimated := o.h.Learned()
	n := len(rows)
	y, noise, trials, states := make([]float64, n), make([]float64, n), make([]int, n), make([][]float64, n)
	for i, ob := range rows {
		y[i], noise[i], trials[i] = ob.Y, ob.NoiseVariance, ob.Trial
		if ob.Trial > 0 {
			states[i] = o.h.Trials[ob.Trial-1].State
		}
	}
	raw, noise := o.config.sense().Apply(y, noise)
	s := o.config.scale(raw)
	d := Data{
		X: o.h.Encoded(rows), Y: s.Z, Raw: raw, RawNoiseVariance: noise,
		Trials: trials, States: states, NoiseVariance: s.NoiseVariances(noise),
		Pending: linalg.NewDense(0, o.space.Dim(), nil), Seen: o.space.EncodeAll(o.h.Seen),
		Step: len(o.h.Trials) + 1, Fitted: o.h.Fitted, Estimated: estimated,
	}
	if o.config.limited() && o.h.Best(o.config.minimize) >= 0 {
		d.Feasible = o.feasible()
	}
	if pending {
		d.Pending = o.h.EncodedPending()
	}
	return d, s
}

// poolSteps is the number of proposals that a block of candidates serves: a model keeps
// what it worked out there, and a sixteenth of the candidates is new to it.
const poolSteps = 16

// blocks returns the sizes of the blocks that n candidates come in.
func blocks(n int) []int {
	k := min(n, poolSteps)
	return each.Below(k, func(i int) int { return (n + i) / k })
}

// parts returns the sizes of the blocks that a pool comes in.
func (c *runConfig) parts() []int { return append(blocks(c.sobol), blocks(c.local)...) }

// A poolBlock is a part of the candidates of a parameter space.
type poolBlock struct {
	last   int       // proposal that it serves
	around []float64 // nil for one that is spread over the space
	rows   [][]float64
	keys   []string
	x      *linalg.Dense // in the unit cube
}

// draw draws the candidates of a parameter space for one proposal: Sobol points and points around the best one, if there is
// one, in blocks. Block k serves poolSteps proposals, the last of them that of step k, in the same place each time. It
// follows from the seed, k and, around the best point, that one. Points that may not be proposed are among them.
func (o *draft) draw(step int) {
	known := o.drawn
	o.drawn = nil
	add := func(label string, n int, around []float64, draw func(n int, r *rand.Rand) [][]float64) {
		sizes := blocks(n)
		for i, size := range sizes {
			k := step + (i+len(sizes)-step%len(sizes))%len(sizes)
			if i := slices.IndexFunc(known, func(b *poolBlock) bool { return b.last == k && slices.Equal(b.around, around) }); i >= 0 {
				o.drawn = append(o.drawn, known[i])
				continue
			}
			b := &poolBlock{last: k, around: around, rows: draw(size, rng.Stream(o.config.seed, label, uint64(k)))}
			b.x, b.keys = o.space.EncodeAll(b.rows), each.Of(b.rows, points.Key)
			o.drawn = append(o.drawn, b)
		}
	}
	add("candidates", o.config.sobol, nil, o.space.Spread)
	if b := o.h.Nearest(o.config.minimize); b >= 0 {
		best := o.h.Observations[b].X
		add("local", o.config.local, best, func(n int, r *rand.Rand) [][]float64 {
			return append(o.space.Near(best, (n+1)/2, wideStep, r), o.space.Near(best, n/2, narrowStep, r)...)
		})
	}
}

// Enqueue has a point evaluated before the model's own proposals: the next Asks propose what is
// enqueued, in that order, and count it towards the initial design. In a finite space the point
// must be a candidate. If its trial is cancelled, it is not enqueued again. It fails, changing
// nothing, with [ErrDimension], [ErrValue] or [ErrOutOfSpace], and waits for an Ask under way.
func (o *Optimizer) Enqueue(x []float64) error {
	if err := o.made(); err != nil {
		return err
	}
	x, _, err := o.space.Place(x)
	if err != nil {
		return err
	}
	return o.commitBetween(runlog.Event{Kind: runlog.EventEnqueued, X: x})
}

// Enqueued returns the points that were enqueued and not proposed yet, in their order.
func (o *Optimizer) Enqueued() [][]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return cloneRows(o.h.Queue)
}
