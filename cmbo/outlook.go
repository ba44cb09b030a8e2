package cmbo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// An Outlook says what more evaluations may bring, in the user's units: advice on when to stop.
type Outlook struct {
	// Next is a cautious estimate of the gain of the next evaluation: Expected times the share of earlier expected gains that
	// came true (its lower limit of 99 %, at most 1), of the last four values or, if less, of the last ten. It is 0 if none
	// of the last four was better than the best told before, under noise the luckiest, and NaN before any value could be. It
	// exceeded what was left in 4 to 8 % of the runs of go test ./cmbo -run TestForecastsOfSkewedCosts -v -skewed 20.
	Next float64
	// Expected is the largest expected improvement, among the candidates that are left and within the budget, over the
	// best value told, or what takes its place [WithNoise]. The actual gain is mostly smaller. Stop once an evaluation
	// costs more than Expected is worth.
	Expected float64
	// Most is the model's upper bound on what is left: no single candidate has a chance above 5 % to succeed, hold all
	// limits and improve by more. Under noise, and where the model is overconfident, more may be left: in 32 to 55 %
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
		text += fmt.Sprintf("; it is expected to cost %s, and the most for its cost gains %s a unit", number(u.Cost, 3), number(u.PerCost, 3))
	}
	switch {
	case math.IsInf(u.Left, 1) && u.priced:
		text += fmt.Sprintf("; %s is spent", number(u.Spent, 4))
	case u.priced && !(u.Left > 0):
		text += fmt.Sprintf("; the budget is spent: %s of %s", number(u.Spent, 4), number(u.Spent+u.Left, 4))
	case u.priced:
		text += fmt.Sprintf("; %s of the budget of %s is spent", number(u.Spent, 4), number(u.Spent+u.Left, 4))
	}
	return text
}

// words says what evaluations may bring.
func (u Outlook) words() string {
	if math.IsNaN(u.Gained) && u.Feasible == 0 && len(u.Holds) == 0 { // candidates would have said something of an output
		return "no value holds the limits yet, and no candidate may be proposed"
	}
	if math.IsNaN(u.Gained) && u.Feasible < 1 { // a value that holds the limits may still have no scale
		return fmt.Sprintf("no value holds the limits yet; the likeliest to hold them does so with a probability of %.2f", u.Feasible)
	}
	if math.IsNaN(u.Expected) {
		return "what more evaluations would bring is not known yet"
	}
	if u.Expected == 0 && u.Most == 0 { // as where nothing is left to evaluate
		return fmt.Sprintf("no evaluation is expected to gain more; %s was gained since the first", number(u.Gained, 3))
	}
	more := "none is likely to gain more"
	if u.Most > u.Expected {
		more += " than " + number(u.Most, 3)
	}
	relied := ""
	if !math.IsNaN(u.Next) {
		relied = ", of which its latest forecasts bear out " + number(u.Next, 3)
	}
	return fmt.Sprintf("the next evaluation is expected to gain %s%s, and %s; %s was gained since the first",
		number(u.Expected, 3), relied, more, number(u.Gained, 3))
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
	next, err := o.candidates(len(o.h.Trials)+1, nil)
	if err == nil {
		next.free, err = o.payable(ctx, next.free, next.x)
	}
	if err != nil && !errors.Is(err, ErrNoCandidates) && !errors.Is(err, ErrBudget) {
		return u, err
	}
	open := proposable{x: o.h.EncodedPending(), free: each.Below(len(o.h.Pending()), func(i int) int { return i })}
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
	if !o.config.sense().Log {
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
		return o.config.meanWorth(level, scale.Scale*(mean-best), scale.Scale*sd)
	}
	if r := as[*hierarchicalRun](m); r != nil {
		return gp.Marked(ctx, r.Expect(ctx, dst, x, worth))
	}
	for i := range dst {
		dst[i] = worth(mean[i], sd[i])
	}
	return nil
}

// A promise is the improvement that a model expected of an evaluation, and what came of it, in the user's units.
type promise struct{ expected, gained float64 }

// recordWindows are the numbers of evaluations, the last ones, by which a model's promises
// are judged, and the smaller judgement counts: nearer the end of a search gains shrink
// faster than what rough models expect, and few evaluations tell little.
var recordWindows = [...]int{4, 10}

// fewestExpected is, by the number of improvements seen, the least number of them that may have been expected: the mean
// of the Poisson distribution that has so many or more once in a hundred times. Once in twenty would let one run in ten
// see a forecast that is more than is left, nearly always after ten values, when few promises were made.
var fewestExpected = [...]float64{0, 0.0101, 0.1486, 0.4360, 0.8232, 1.2791, 1.7853, 2.3302, 2.9061, 3.5075, 4.1302}

// kept returns the share of what was promised that may be relied on: what was gained over
// what was expected, at the lower limit that the number of improvements leaves, and at most
// 1. NaN if nothing was promised yet.
func kept(promises []promise) float64 {
	if len(promises) == 0 {
		return math.NaN()
	}
	share := 1.0
	for _, n := range recordWindows {
		improvements := 0
		var expected, gained float64
		for _, p := range promises[max(len(promises)-n, 0):] {
			expected, gained = expected+p.expected, gained+p.gained
			if p.gained > 0 {
				improvements++
			}
		}
		if improvements == 0 {
			return 0
		}
		share = min(share, gained/expected*fewestExpected[improvements]/float64(improvements))
	}
	return share
}

// record returns the model's promises of the last evaluations. The caller holds the model.
func (o *draft) record(ctx context.Context) ([]promise, error) {
	past, err := o.relive(&o.judged, func(past *hindsight, before *draft, e runlog.Event) error {
		at := before.h.Best(o.config.minimize)
		if at < 0 || len(o.h.Observations)-len(before.h.Observations) > recordWindows[len(recordWindows)-1] {
			return nil
		}
		d, scale := before.data(false)
		if !before.hasScale(d) {
			return nil
		}
		gain, err := before.gain(ctx, past.model, d, &scale, e.X)
		if err != nil {
			return err
		}
		chance := 1.0 // that all limits hold
		for _, m := range past.outputs {
			if !m.output.Limited() {
				continue
			}
			g, err := m.factor(ctx, before, false)(o.space.EncodeAll([][]float64{e.X}))
			if err != nil {
				return err
			}
			if g.p != nil {
				chance *= g.p[0]
			}
		}
		best := before.h.Observations[at].Y
		p := promise{expected: chance * gain}
		c := &o.config
		if runlog.Hold(c.outputs, e.Outputs) && scaling.Orient(e.Y, c.minimize) > scaling.Orient(best, c.minimize) {
			p.gained = math.Abs(e.Y - best)
		}
		past.promises = append(past.promises, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return past.promises, nil
}

// gain returns the expected improvement of the value at x, in the user's units, that Outlook expects there.
func (o *draft) gain(ctx context.Context, m consulted, d Data, scale *scaling.Values, x []float64) (float64, error) {
	if err := m.Fit(ctx, d); err != nil {
		return 0, err
	}
	at := o.space.EncodeAll([][]float64{x})
	mean, sd, err := m.believed(ctx, at)
	if err != nil {
		return 0, err
	}
	told, err := m.told(ctx, d)
	if err != nil {
		return 0, err
	}
	out := []float64{0}
	err = o.improvement(ctx, m, out, mean, sd, at, scale, slices.Max(among(told, o.feasible())))
	return out[0], err
}
