package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A constraint is a limit on an output, such as etime<=5, or etime<=30%: then it is that quantile of the task's own values.
type constraint struct {
	text, output string
	least        bool // the limit is a lower one
	value        float64
	quantile     bool
}

func parseConstraint(s string) (c constraint, err error) {
	c.text = s
	name, limit, found := strings.Cut(s, "<=")
	if !found {
		name, limit, found = strings.Cut(s, ">=")
		c.least = true
	}
	if rest := name + limit; strings.Contains(rest, "<=") || strings.Contains(rest, ">=") {
		return c, errors.New("several limits; the flag takes one and may be given several times")
	}
	c.output = strings.TrimSpace(name)
	limit, c.quantile = strings.CutSuffix(strings.TrimSpace(limit), "%")
	if c.value, err = strconv.ParseFloat(limit, 64); err != nil || !found || c.output == "" || math.IsNaN(c.value) ||
		c.quantile && !(c.value > 0 && c.value < 100) {
		return c, errors.New("not of the form output<=5, output>=5 or output<=30%")
	}
	return c, nil
}

func (c constraint) limit(t *problem) float64 {
	if !c.quantile {
		return c.value
	}
	y := slices.DeleteFunc(slices.Clone(t.Outputs[c.output]), math.IsNaN)
	slices.Sort(y)
	return y[min(int(c.value/100*float64(len(y))), len(y)-1)]
}

func holding(t *problem, cs []constraint, limits []float64) []bool {
	ok := slices.Repeat([]bool{true}, len(t.Y))
	for k, c := range cs {
		for i, v := range t.Outputs[c.output] {
			ok[i] = ok[i] && (c.least && v >= limits[k] || !c.least && v <= limits[k])
		}
	}
	return ok
}

// restrict puts a task under constraints. It returns false if the task lacks an output, or
// fewer than two different values hold the limits.
func (t *problem) restrict(cs []constraint, minimize bool) bool {
	limits := make(map[string][]cmbo.OutputOption)
	for _, c := range cs {
		if len(t.Outputs[c.output]) == 0 {
			return false
		}
		l := c.limit(t)
		t.limits = append(t.limits, l)
		o := cmbo.AtMost(l)
		if c.least {
			o = cmbo.AtLeast(l)
		}
		limits[c.output] = append(limits[c.output], o)
	}
	for name, opts := range limits {
		t.options = append(t.options, cmbo.WithOutput(name, append(opts, cmbo.Optional())...))
	}
	t.feasible = holding(t, cs, t.limits)
	return t.rate(minimize)
}

// price gives a task its costs and its budget, so many times the mean of them; false if it
// lacks the output in some row, or has not two different values.
func (t *problem) price(output string, minimize bool) bool {
	t.cost = t.Outputs[output]
	sum := stat.Sum(t.cost)
	if !(sum > 0) { // or NaN where a cost is missing
		return false
	}
	t.budget *= sum / float64(len(t.cost))
	t.options = []cmbo.Option{cmbo.WithOutput(output, cmbo.AsCost()), cmbo.WithBudget(t.budget)}
	return t.rate(minimize)
}

// A handling says how a run, and the past that it learns from, is told of rows that do not hold
// the limits, or of costs, and a run under noise of its variance.
type handling int

const (
	ignored      handling = iota // their values alone count
	told                         // the outputs are told, and the run knows the limits or the cost
	penalty                      // in place of the values, by the limits of the task left out
	penaltyByOwn                 // likewise, in each past task by its own limits
	failure                      // they are told as failed, by the limits of the task left out
)

var constraintWays = []way{
	{name: "constraint, with transfer", transfer: true, handling: told},
	{name: "constraint, without transfer", handling: told},
	{name: "penalty, with transfer", transfer: true, handling: penalty},
	{name: "penalty, with transfer, each past task by its own limit", transfer: true, handling: penaltyByOwn},
	{name: "penalty, without transfer", handling: penalty},
	{name: "failures, with transfer", transfer: true, handling: failure},
	{name: "random search", random: true},
}

var costWays = []way{
	{name: "cost told, with transfer", transfer: true, handling: told},
	{name: "cost ignored, with transfer", transfer: true},
	{name: "cost told, without transfer", handling: told},
	{name: "cost ignored, without transfer"},
	{name: "random search", random: true},
}

// contextWays are what a run is told of its task: nothing, its descriptors, those of a task
// drawn at random, past tasks having been dealt others' too.
var contextWays = []way{
	{name: "without descriptors", transfer: true, handling: told},
	{name: "with", transfer: true, handling: told},
	{name: "dealt out at random", transfer: true, handling: told},
}

// shown returns rows of a task as the past of another one.
func (s *study) shown(t, target *problem, h handling, rows []int) cmbo.Task {
	feasible := t.feasible
	switch h {
	case ignored, told:
		q := t.pick(t.Y, rows)
		q.Outputs = make(map[string][]float64)
		for _, name := range s.outputs() {
			q.Outputs[name] = t.pick(t.Outputs[name], rows).Y
		}
		return q
	case penalty, failure:
		feasible = holding(t, s.constraints, target.limits)
	}
	q := cmbo.Task{ID: t.ID}
	for _, i := range rows {
		switch {
		case feasible[i]:
			q.X, q.Y = append(q.X, t.X[i]), append(q.Y, t.Y[i])
		case h == failure:
			q.Failed = append(q.Failed, t.X[i])
		default:
			q.X, q.Y = append(q.X, t.X[i]), append(q.Y, s.worst)
		}
	}
	return q
}

func (s *study) tell(o *cmbo.Optimizer, trial cmbo.Trial, t *problem, h handling) error {
	row := trial.Index
	switch {
	case h == told:
		values := make(cmbo.Outputs)
		for _, name := range s.outputs() {
			if v := t.Outputs[name][row]; !math.IsNaN(v) {
				values[name] = v
			}
		}
		return o.Tell(trial.ID, t.Y[row], values)
	case h == ignored || t.feasible[row]:
		return o.Tell(trial.ID, t.Y[row])
	case h == failure:
		return o.TellFailed(trial.ID)
	}
	return o.Tell(trial.ID, s.worst)
}

func (s *study) speaks(m way) bool { return s.contexts && m != contextWays[0] }

// anew reports whether each repeat draws the rows of past tasks and deals descriptors out anew.
func (s *study) anew() bool { return s.contexts && s.constraints == nil }

// described returns what a run on a target is told of each task, by index. What repeat numbers is dealt out anew.
func (s *study) described(m way, target int, repeat ...uint64) func(i int) cmbo.Context {
	switch {
	case !s.contexts:
		return func(int) cmbo.Context { return nil }
	case m != contextWays[2]:
		return func(i int) cmbo.Context { return s.tasks[i].Context }
	}
	deal := rng.Stream(s.protocol.Seed, "context", append([]uint64{uint64(target)}, repeat...)...).Perm(len(s.tasks))
	return func(i int) cmbo.Context { return s.tasks[deal[i]].Context }
}

// tune tunes a task in a way, with a past once unless that is drawn anew: the prior proposes from
// the first question on, nothing is random.
func (s *study) tune(ctx context.Context, target, steps int, m way) ([]played, error) {
	t, repeats := s.tasks[target], s.protocol.Repeats
	if m.transfer && !s.anew() {
		repeats = 1
	}
	runs := make([]played, repeats)
	for k := range runs {
		label, redealt, redrawn := "rows of ", []uint64(nil), []uint64(nil)
		if s.anew() {
			label, redealt, redrawn = "rows ", []uint64{uint64(k)}, []uint64{uint64(target), uint64(k)}
		}
		described := s.described(m, target, redealt...)
		var opts []cmbo.Option
		if m.handling == told {
			opts = append(opts, t.options...)
		}
		if s.speaks(m) {
			opts = append(opts, cmbo.WithContext(described(target)))
		}
		o, err := s.propose(ctx, m, "random search", target, uint64(k), func(i int) cmbo.Task {
			q := s.shown(s.tasks[i], t, m.handling, s.draw(s.tasks[i], label, redrawn...))
			q.Context = described(i)
			return q
		}, opts...)
		if err != nil {
			return nil, err
		}
		tell := func(trial cmbo.Trial) error { return s.tell(o.Optimizer, trial, t, m.handling) }
		if runs[k], err = evaluate(ctx, o, t, steps, tell); err != nil {
			return nil, err
		}
		if s.speaks(m) {
			tr, err := o.Transfer(ctx)
			if err != nil {
				return nil, err
			}
			if s.constraints == nil {
				runs[k].gain = tr.Relation.Gain
			}
			for _, of := range tr.Outputs {
				runs[k].gain = max(runs[k].gain, of.Relation.Gain)
			}
		}
	}
	return runs, nil
}

// costSteps is the number of equal steps of a budget in cost after which regret is taken.
const costSteps = 200

// onOutputs compares ways to deal with constraints or with a cost, or what descriptors bring;
// with these the ends of learning curves may be the values.
func onOutputs(ctx context.Context, s *study) error {
	budget, cs, minimize := s.protocol.Budget, s.constraints, s.past.minimize
	ways, steps, least, what := contextWays, budget, 4, "a context and two different values"
	use := func(t *problem) bool { return t.rate(minimize) }
	switch {
	case cs != nil:
		least, what = 2, "all outputs and two different values that hold the limits"
		use = func(t *problem) bool { return t.restrict(cs, minimize) }
		if !s.contexts {
			ways = constraintWays
		}
	case s.cost != "":
		least, what = 2, fmt.Sprintf("two different values and the output %q in each row, in sum above 0", s.cost)
		use = func(t *problem) bool { return t.price(s.cost, minimize) }
		ways, steps = costWays, costSteps
	}
	read := s.readEnds
	if !s.curves {
		read = func() error {
			return s.readOutputs(least, what, func(t *problem) bool { return (!s.contexts || len(t.Context) > 0) && use(t) })
		}
	}
	if err := read(); err != nil {
		return err
	}
	for _, t := range s.tasks {
		for _, y := range t.Y {
			s.worst = max(s.worst, 10*math.Abs(y))
		}
	}
	if !minimize {
		s.worst = -s.worst
	}
	n := s.targets()
	runs, err := play(ctx, s, ways, n, func(s *study, m way, i int) ([]played, error) { return s.tune(ctx, i, steps, m) })
	if err != nil {
		return err
	}
	at, heads := columns(budget, 5, 10, 20) // the steps that the table shows
	tasks := fmt.Sprintf("%d tasks left out of %d", n, len(s.tasks))
	switch {
	case cs != nil:
		texts := each.Of(cs, func(c constraint) string { return c.text })
		fmt.Fprintf(s.stdout, "space %s: %s with %s; %s, %d evaluations from zero\n\n",
			s.space, s.past.value, strings.Join(texts, ", "), tasks, budget)
		heads = "method|area|of the first's|better, worse|regret at " + heads + "|infeasible|first feasible"
		if s.contexts {
			heads += "|they said something"
		}
	case s.cost != "":
		fmt.Fprintf(s.stdout, "space %s: %s at the cost of %s; %s, a budget of %d evaluations of the task's mean cost\n\n",
			s.space, s.past.value, s.cost, tasks, budget)
		at = []int{costSteps * 2 / 100, costSteps * 5 / 100, costSteps / 10, costSteps * 3 / 10, costSteps}
		heads = "method|runs|area|of the first's|better, worse|regret at 2 %|5 %|10 %|30 %|100 %|evaluations"
	default:
		fmt.Fprintf(s.stdout, "space %s: %s, %d runs, %d evaluations from zero, %d rows of each past task\n\n",
			s.space, tasks, n*s.protocol.Repeats, budget, s.protocol.SourceRows)
		heads = fmt.Sprintf("descriptors|area of queries 1-%d|of that without|better, worse|they said something|gain then",
			budget)
	}
	w := s.table(heads)
	alone := func(k int) []float64 { return areas(slices.Collect(slices.Chunk(slices.Concat(runs[k]...), 1))) }
	firsts := areas(runs[0])
	for k, m := range ways {
		all := slices.Concat(runs[k]...)
		var infeasible, first, evaluations, spoke, gain float64
		regret := make([]float64, len(at))
		share := 1 / float64(len(all))
		for _, r := range all {
			infeasible += share * float64(r.infeasible) / float64(max(r.evaluations, 1))
			first += share * float64(r.first)
			evaluations += share * float64(r.evaluations)
			if r.gain > 0 {
				spoke, gain = spoke+share, gain+share*r.gain
			}
			for j, e := range at {
				regret[j] += share * r.regret[e-1]
			}
		}
		by := areas(runs[k])
		mean, ratio := s.compare(by, firsts)
		shared := ratio + "|" + sides(by, firsts) + cells("|%.3f", regret)
		held := fmt.Sprintf("%s|%.3f|%s|%.0f %%|%.1f", m.name, mean, shared, 100*infeasible, first)
		switch {
		case cs != nil && s.contexts:
			w.row("%s|%.0f %%", held, 100*spoke)
		case cs != nil:
			w.row("%s", held)
		case s.cost != "":
			w.row("%s|%d|%.4f|%s|%.0f", m.name, len(all), mean, shared, evaluations)
		default:
			w.row("%s|%.4f|%s|%s|%.0f %%|%.2f", m.name, mean, ratio, sides(alone(k), alone(0)), 100*spoke, gain/max(spoke, share))
		}
	}
	return w.Flush()
}
