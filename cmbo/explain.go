package cmbo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// Reason is why a point was proposed.
type Reason uint8

// The reasons.
const (
	ReasonScore    Reason = iota // its score was the largest of the candidates'
	ReasonDesign                 // it belongs to the initial design
	ReasonEnqueued               // it was enqueued
)

var reasonNames = [...]string{"largest score", "initial design", "enqueued"}

// String returns "largest score", "initial design" or "enqueued".
func (r Reason) String() string { return names.Of(reasonNames[:], int(r), "Reason") }

// An Explanation says how a trial came about.
type Explanation struct {
	Trial  Trial
	Reason Reason
	// Mean and SD are what the model expected of the noise-free objective at the point when it proposed it, in the
	// user's units. Trials that were open then count as evaluated, with the mean as the value, as they do for the
	// acquisition. NaN if there was no model yet, as before the first values of a run without a prior.
	Mean, SD float64
	// Quantiles are those of the noise-free objective at the point; NaN where Mean is.
	Quantiles Quantiles
	// Step is how the candidates were scored, as [Optimizer.LastStep] had it then: the point is candidate Step.Chosen.
	// It is the zero Step unless Reason is ReasonScore.
	Step Step
	// Transfer is what [Optimizer.Transfer] said then of the worth of the past.
	Transfer    Transfer
	acquisition string
	lognormal   bool
	proposable  int  // candidates that could be proposed
	larger      int  // those with a larger score than the point's, which another prior chose
	unpriced    bool // no cost was told: that of the past may be of other units
}

// String explains it in words.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", e.Trial)
	if e.Reason == ReasonScore && e.Step.Chosen < len(e.Step.Scores) {
		rank := "the largest"
		if e.larger > 0 {
			rank = fmt.Sprintf("chosen with another prior or build, and with this one behind %d others by", e.larger)
		}
		fmt.Fprintf(&b, "%s %s (score %.4g) of %d candidates", rank, e.acquisition, e.Step.Scores[e.Step.Chosen], e.proposable)
		if p := e.Step.Success; p != nil && p[e.Step.Chosen] < 0.995 {
			fmt.Fprintf(&b, ", times a power of a probability of success of %.2f", p[e.Step.Chosen])
		}
		if c := e.Step.Cost; c != nil && e.unpriced {
			fmt.Fprintf(&b, ", over the expected cost to the power %.2f, whose unit is not known before the first is told", e.Step.CostPower)
		} else if c != nil {
			fmt.Fprintf(&b, ", over an expected cost of %.4g to the power %.2f", c[e.Step.Chosen], e.Step.CostPower)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Step.Holds)) {
			fmt.Fprintf(&b, ", %s within its limits with a probability of %.2f", name, e.Step.Holds[name][e.Step.Chosen])
		}
	} else {
		b.WriteString(e.Reason.String())
	}
	switch {
	case math.IsNaN(e.Mean):
	case e.Transfer.Values == 0: // whose scale the past alone tells
		fmt.Fprintf(&b, "; expected %.4g", e.Quantiles.Median)
	case e.lognormal:
		fmt.Fprintf(&b, "; expected %v", e.Quantiles)
	default:
		fmt.Fprintf(&b, "; expected %.4g ± %.2g", e.Mean, e.SD)
	}
	if e.Transfer.Hypotheses != nil {
		fmt.Fprintf(&b, "; %v", e.Transfer)
	}
	return b.String()
}

// Explain says how a trial came about, also after [Restore] and [RestoreJournal]: the model goes back to the log as
// it was and scores the candidates again, bit for bit as then in the same build; with another prior ([WithNewPrior])
// a candidate that was not proposed may have the largest score. It takes about twice the time of an Ask, and changes
// no proposal. It fails with [ErrUnknownTrial], with [ErrVersion] if the build draws other candidates, with
// [ErrNumerical], or with ctx.Err().
func (o *Optimizer) Explain(ctx context.Context, trial int) (Explanation, error) {
	return withModel(ctx, o, func() (Explanation, error) {
		var x Explanation
		present := o.draft()
		past, e, err := present.beforeAsk(trial)
		if err != nil {
			return x, err
		}
		x = Explanation{Trial: o.trial(present.h, trial), Reason: past.reason(), lognormal: o.config.positive}
		b := unknown
		d, scale := past.data(true)
		if x.Reason == ReasonScore {
			c, s, how, err := past.scored(ctx, trial)
			if err != nil {
				return x, err
			}
			if s.Chosen = slices.IndexFunc(c.rows, func(r []float64) bool { return slices.Equal(r, e.X) }); s.Chosen < 0 {
				return x, fmt.Errorf("%w: trial %d is none of the %d candidates that this release draws", ErrVersion, trial, len(c.rows))
			}
			spent, err := past.spent()
			if err != nil {
				return x, err
			}
			x.unpriced = spent == 0 && past.h.CostOutput() != nil
			x.Step, x.acquisition = s.clone(), how.name(o.config.acquisition)
			for _, r := range c.free {
				if !math.IsNaN(s.Scores[r]) {
					x.proposable++
				}
				if s.Scores[r] > s.Scores[s.Chosen] && (how.within == nil || how.within[r] >= affordable) {
					x.larger++
				}
			}
			if past.hasScale(d) {
				b = o.model.belief(&o.config, &scale, s.Mean[s.Chosen], s.SD[s.Chosen]*o.model.widening())
			}
		} else {
			if err := o.fit(ctx, d); err != nil {
				return x, err
			}
			if b, _, err = past.expect(ctx, o.model, d, scale, e.X); err != nil {
				return x, err
			}
		}
		x.Mean, x.SD = b.moments()
		x.Quantiles = b.quantiles()
		x.Transfer, err = past.transfer(ctx, d)
		return x, err
	})
}

// beforeAsk returns the log from which a trial was chosen, and the event.
func (o *draft) beforeAsk(trial int) (*draft, runlog.Event, error) {
	if trial < 1 || trial > len(o.h.Trials) {
		return nil, runlog.Event{}, fmt.Errorf("%w: %d; %d trials were asked", ErrUnknownTrial, trial, len(o.h.Trials))
	}
	at := slices.IndexFunc(o.h.Events, func(e runlog.Event) bool { return e.Kind == runlog.EventAsked && e.Trial == trial })
	return &draft{Optimizer: o.Optimizer, h: o.h.Before(at)}, o.h.Events[at], nil
}

// reason says how the next point is chosen.
func (o *draft) reason() Reason {
	switch {
	case len(o.h.Queue) > 0:
		return ReasonEnqueued
	case o.h.Started() < o.config.initial:
		return ReasonDesign
	}
	return ReasonScore
}

// An Outlook says what more evaluations may bring, in the user's units: advice on when to stop.
type Outlook struct {
	// Next is a cautious estimate of the gain of the next evaluation: Expected times the share of earlier expected gains
	// that came true (its lower limit of 99 %, at most 1), of the last four values or, if less, of the last ten. It is 0
	// if none of the last four was better than the best told before, under noise the luckiest, and NaN before any value
	// could be. It exceeded what was left in 3 to 8 % of the runs of go test ./cmbo -run TestForecastsOfSkewedCosts -v
	// -skewed 20.
	Next float64
	// Expected is the largest expected improvement, among the candidates that are left and within the budget, over the
	// best value told, or what takes its place [WithNoise]. The actual gain is mostly smaller. Stop once an evaluation
	// costs more than Expected is worth.
	Expected float64
	// Most is the model's upper bound on what is left: no single candidate has a chance above 5 % to succeed, hold all
	// limits and improve by more. Under noise, and where the model is overconfident, more may be left: in 31 to 56 %
	// of the cases of that test. With [WithPositiveValues] it promises no value of 0 or less.
	Most float64
	// Gained is how much better the best value told is than the first.
	Gained float64
	// Feasible is the largest probability of a candidate to hold all limits ([WithOutput]): 1 without limits, NaN while
	// nothing is known of an output. With limits, improvements are over the best value that holds them, NaN before there
	// is one, times the probability that the point holds them; and Gained counts from the first such value.
	Feasible float64
	// Holds is, by the name of each output with limits, the largest probability of a candidate to hold these, which
	// shows the limits that are hard to hold. NaN while nothing is known of the output; nil without limits.
	Holds map[string]float64
	// Cost is the expected cost of the evaluation that Expected refers to, and PerCost the largest expected improvement
	// of a candidate per unit of cost ([AsCost]); both are NaN while Expected is, or while nothing is known of the cost.
	// Spent is what the trials have cost so far, Left what is left of the budget, +Inf without [WithBudget]. Without a
	// cost evaluations cost 1.
	Cost, PerCost, Spent, Left float64

	priced bool // there is a cost, or a budget
}

// unlikely is the chance that an improvement has to have to count as likely.
const unlikely = 0.05

// String says it in words.
func (u Outlook) String() string {
	text := u.words()
	for _, name := range slices.Sorted(maps.Keys(u.Holds)) {
		if p := u.Holds[name]; !math.IsNaN(p) {
			text += fmt.Sprintf("; %s holds its limits with a probability of at most %.2f", name, p)
		}
	}
	if !math.IsNaN(u.Cost) && u.priced {
		text += fmt.Sprintf("; it is expected to cost %.3g, and the most for its cost gains %.3g a unit", u.Cost, u.PerCost)
	}
	switch {
	case math.IsInf(u.Left, 1) && u.priced:
		text += fmt.Sprintf("; %.4g is spent", u.Spent)
	case u.priced && !(u.Left > 0):
		text += fmt.Sprintf("; the budget is spent: %.4g of %.4g", u.Spent, u.Spent+u.Left)
	case u.priced:
		text += fmt.Sprintf("; %.4g of the budget of %.4g is spent", u.Spent, u.Spent+u.Left)
	}
	return text
}

// words says what evaluations may bring.
func (u Outlook) words() string {
	if math.IsNaN(u.Gained) && u.Feasible < 1 { // a value that holds the limits may still have no scale
		return fmt.Sprintf("no value holds the limits yet; the likeliest to hold them does so with a probability of %.2f", u.Feasible)
	}
	if math.IsNaN(u.Expected) {
		return "what more evaluations would bring is not known yet"
	}
	more := "none is likely to gain more"
	if u.Most > u.Expected {
		more += fmt.Sprintf(" than %.3g", u.Most)
	}
	relied := ""
	if !math.IsNaN(u.Next) {
		relied = fmt.Sprintf(", of which its latest forecasts bear out %.3g", u.Next)
	}
	return fmt.Sprintf("the next evaluation is expected to gain %.3g%s, and %s; %.3g was gained since the first",
		u.Expected, relied, more, u.Gained)
}

// Outlook says what more evaluations may gain at the candidates that an Ask may propose. Gains are NaN before the
// first value and, with models other than the hierarchical prior or with [Copula], before two different values. They
// are multiplied by the probability of success; with Copula they are rough. It takes the time of an Ask and, for each
// of the last ten values told since the previous call, that of [Optimizer.Calibration]. It changes no proposal,
// returns the same after [Restore], and fails with [ErrNumerical] or ctx.Err().
func (o *Optimizer) Outlook(ctx context.Context) (Outlook, error) {
	return withModel(ctx, o, func() (Outlook, error) { return o.draft().outlook(ctx) })
}

func (o *draft) outlook(ctx context.Context) (u Outlook, err error) {
	nan, limited, costly := math.NaN(), o.config.limited(), o.config.cost != nil || o.h.CostOutput() != nil
	u = Outlook{Next: nan, Expected: nan, Most: nan, Gained: nan, Feasible: 1, Cost: nan, PerCost: nan}
	u.priced = costly || o.config.budget > 0
	if u.Spent, err = o.spent(); err != nil {
		return u, err
	}
	u.Left, _ = o.remaining()
	if limited {
		u.Holds = make(map[string]float64)
	}
	best := o.h.Best(o.config.minimize)
	if best >= 0 {
		first := 0
		for !o.h.Feasible(first) {
			first++
		}
		u.Gained = math.Abs(o.h.Observations[best].Y - o.h.Observations[first].Y)
	} else if !limited {
		return u, nil
	}
	next, err := o.candidates(len(o.h.Trials) + 1)
	if err == nil {
		next.free, err = o.payable(ctx, next.free, next.x)
	}
	if err != nil && !errors.Is(err, ErrNoCandidates) && !errors.Is(err, ErrBudget) {
		return u, err
	}
	open := proposable{x: o.h.EncodedPending()}
	for i := range o.h.Pending() {
		open.free = append(open.free, i)
	}
	if len(next.free)+len(open.free) == 0 { // nothing more can be gained
		if best >= 0 {
			u.Next, u.Expected, u.Most = 0, 0, 0
		}
		if limited {
			u.Feasible = 0
		}
		return u, nil
	}
	promises, err := o.record(ctx)
	if err != nil {
		return u, err
	}
	d, scale := o.data(false)
	if err := o.fit(ctx, d); err != nil {
		return u, err
	}
	known := best >= 0 && o.hasScale(d)
	if !known && !limited {
		return u, nil
	}
	var top float64
	if known {
		told, err := o.model.told(ctx, d)
		if err != nil {
			return u, err
		}
		top = slices.Max(among(told, o.feasible()))
		u.Expected, u.Most = 0, 0
	}
	level := o.config.userValue(&scale, o.model.back(top))
	u.Feasible = 0
	at := o.factors(ctx, false)
	for _, c := range []proposable{next, open} {
		if len(c.free) == 0 {
			continue
		}
		factors, err := factorsAt(at, c.x)
		if err != nil {
			return u, err
		}
		mean, sd, err := o.model.believed(ctx, c.x)
		if err != nil {
			return u, err
		}
		score := make([]float64, len(mean))
		if known {
			if err := o.improvement(ctx, o.model, score, mean, sd, c.x, &scale, top); err != nil {
				return u, err
			}
		}
		for _, i := range c.free {
			chance, cost := u.chances(factors, i)
			if !costly {
				cost = 1
			}
			if !known {
				continue
			}
			if below := 1 - unlikely/chance; below > 0 {
				most := o.model.back(mean[i] + sd[i]*special.NormQuantile(below))
				u.Most = max(u.Most, o.config.worth(level, scale.Scale*max(most-o.model.back(top), 0)))
			}
			gain := bounded(score[i] * chance)
			if math.IsNaN(u.Cost) || gain > u.Expected {
				u.Cost = cost
			}
			if !(gain/cost <= u.PerCost) {
				u.PerCost = bounded(gain / cost)
			}
			u.Expected = max(u.Expected, gain)
		}
	}
	u.Next = u.Expected * kept(promises)
	return u, nil
}

// chances returns how likely it is that a candidate succeeds and holds all limits, and what it costs, NaN where
// nothing says. It raises Holds and Feasible to what the candidate has.
func (u *Outlook) chances(factors []factor, candidate int) (chance, cost float64) {
	chance, cost = 1, math.NaN()
	holds := 1.0
	for _, f := range factors {
		p := math.NaN()
		if f.p != nil {
			p = f.p[candidate]
		}
		if f.output != "" {
			holds *= p
			u.Holds[f.output] = max(u.Holds[f.output], p)
		}
		switch {
		case f.cost != nil:
			cost = f.cost[candidate]
		case f.p != nil:
			chance *= p
		}
	}
	u.Feasible = max(u.Feasible, holds)
	return chance, cost
}

// improvement writes the expected improvement over the value that the model sees as best, in
// the user's units, at the rows of x, where the model predicts mean and sd.
func (o *draft) improvement(
	ctx context.Context, m consulted, dst, mean, sd []float64, x *linalg.Dense, scale *scaling.Values, best float64,
) error {
	f := acq.EI{Best: best}
	if !o.config.positive {
		by, _, err := m.score(ctx, dst, mean, sd, x, f, best)
		if err != nil {
			return err
		}
		if by == nil { // the surrogate scores by something else than improvement
			scoreMoments(dst, mean, sd, f)
		}
		for i := range dst {
			dst[i] = scale.Scale * math.Exp(dst[i])
		}
		return nil
	}
	level := o.config.userValue(scale, m.back(best))
	worth := func(mean, sd float64) float64 {
		return bounded(level * o.config.meanWorth(scale.Scale*(mean-best), scale.Scale*sd))
	}
	if r := as[*hierarchicalRun](m); r != nil {
		return gp.Marked(ctx, r.Expect(ctx, dst, x, worth))
	}
	for i := range dst {
		dst[i] = worth(mean[i], sd[i])
	}
	return nil
}
