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
	"github.com/gocmbo/cmbo/internal/rng"
)

// A constraint is a limit on an output, such as etime<=5, or etime<=30%: then it is that
// quantile of the task's own values.
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
	if c.value, err = strconv.ParseFloat(limit, 64); err != nil || !found || c.output == "" || math.IsNaN(c.value) || c.quantile && !(c.value > 0 && c.value < 100) {
		return c, errors.New("not of the form output<=5, output>=5 or output<=30%")
	}
	return c, nil
}

// limit returns the limit in a task.
func (c constraint) limit(t *problem) float64 {
	if !c.quantile {
		return c.value
	}
	y := slices.DeleteFunc(slices.Clone(t.Outputs[c.output]), math.IsNaN)
	slices.Sort(y)
	return y[min(int(c.value/100*float64(len(y))), len(y)-1)]
}

// holding reports which rows of a task hold limits on outputs.
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
	var sum float64
	for _, c := range t.cost {
		sum += c // NaN where it is missing
	}
	if !(sum > 0) {
		return false
	}
	t.budget *= sum / float64(len(t.cost))
	t.options = []cmbo.Option{cmbo.WithOutput(output, cmbo.AsCost()), cmbo.WithBudget(t.budget)}
	return t.rate(minimize)
}

// A way is a method under constraints, or at a cost.
type way struct {
	name  string
	past  func(t, target *problem) cmbo.Task // how a past task is shown to Learn; nil for none
	tell  func(o *cmbo.Optimizer, id, row int, t *problem) error
	aware bool // the run knows the constraints, or the cost
}

func whole(t, _ *problem) cmbo.Task { return t.Task }

// constraintWays returns the methods that are compared under constraints.
func (s *study) constraintWays() []way {
	worst := 0.0
	for _, t := range s.tasks {
		for _, y := range t.Y {
			worst = max(worst, 10*math.Abs(y))
		}
	}
	if !s.past.minimize {
		worst = -worst
	}
	outputs := func(o *cmbo.Optimizer, id, row int, t *problem) error {
		values := make(cmbo.Outputs)
		for _, c := range s.constraints {
			if v := t.Outputs[c.output][row]; !math.IsNaN(v) {
				values[c.output] = v
			}
		}
		return o.Tell(id, t.Y[row], values)
	}
	penalized := func(t *problem, feasible []bool) cmbo.Task {
		p := cmbo.Task{ID: t.ID, X: t.X, Y: slices.Clone(t.Y)}
		for i, ok := range feasible {
			if !ok {
				p.Y[i] = worst
			}
		}
		return p
	}
	byOwn := func(t, _ *problem) cmbo.Task { return penalized(t, t.feasible) }
	byTarget := func(t, target *problem) cmbo.Task {
		return penalized(t, holding(t, s.constraints, target.limits))
	}
	failed := func(t, target *problem) cmbo.Task {
		p := cmbo.Task{ID: t.ID}
		for i, ok := range holding(t, s.constraints, target.limits) {
			if ok {
				p.X, p.Y = append(p.X, t.X[i]), append(p.Y, t.Y[i])
			} else {
				p.Failed = append(p.Failed, t.X[i])
			}
		}
		return p
	}
	penalty := func(o *cmbo.Optimizer, id, row int, t *problem) error {
		if t.feasible[row] {
			return o.Tell(id, t.Y[row])
		}
		return o.Tell(id, worst)
	}
	failure := func(o *cmbo.Optimizer, id, row int, t *problem) error {
		if t.feasible[row] {
			return o.Tell(id, t.Y[row])
		}
		return o.TellFailed(id)
	}
	if s.contexts {
		var ways []way
		for _, name := range contextWays {
			ways = append(ways, way{name, whole, outputs, true})
		}
		return ways
	}
	return []way{
		{"constraint, with transfer", whole, outputs, true},
		{"constraint, without transfer", nil, outputs, true},
		{"penalty, with transfer", byTarget, penalty, false},
		{"penalty, with transfer, each past task by its own limit", byOwn, penalty, false},
		{"penalty, without transfer", nil, penalty, false},
		{"failures, with transfer", failed, failure, false},
		{"random search", nil, nil, false},
	}
}

// costWays returns the methods that are compared at a cost: it is told, or ignored.
func (s *study) costWays() []way {
	told := func(o *cmbo.Optimizer, id, row int, t *problem) error {
		return o.Tell(id, t.Y[row], cmbo.Outputs{s.cost: t.cost[row]})
	}
	ignored := func(o *cmbo.Optimizer, id, row int, t *problem) error { return o.Tell(id, t.Y[row]) }
	return []way{
		{"cost told, with transfer", whole, told, true},
		{"cost ignored, with transfer", whole, ignored, false},
		{"cost told, without transfer", nil, told, true},
		{"cost ignored, without transfer", nil, ignored, false},
		{"random search", nil, nil, false},
	}
}

// sample returns what a past task shows.
func (s *study) sample(t *problem) *problem {
	q := problem{Task: cmbo.Task{ID: t.ID, Outputs: make(map[string][]float64)}}
	for _, i := range s.draw(t, "rows of ") {
		q.X, q.Y = append(q.X, t.X[i]), append(q.Y, t.Y[i])
		if t.feasible != nil {
			q.feasible = append(q.feasible, t.feasible[i])
		}
		for name, column := range t.Outputs {
			q.Outputs[name] = append(q.Outputs[name], column[i])
		}
	}
	return &q
}

// tune tunes task i in a way, with a past once: the prior proposes from the first question on,
// nothing is random.
func (s *study) tune(ctx context.Context, i, steps int, w way) ([]played, error) {
	t, p := s.tasks[i], s.protocol
	space, err := cmbo.Candidates(t.X)
	if err != nil {
		return nil, err
	}
	told := slices.Index(contextWays[:], w.name) // -1 for ways that are not about descriptors
	described := func(int) cmbo.Context { return nil }
	if told >= 0 {
		described = s.described(told, i)
	}
	var prior *cmbo.Prior
	if w.past != nil {
		p.Repeats = 1
		prior, err = s.learn(ctx, space, i, func(j int) cmbo.Task {
			q := w.past(s.sample(s.tasks[j]), t)
			q.Context = described(j)
			return q
		})
		if err != nil {
			return nil, err
		}
	}
	runs := make([]played, p.Repeats)
	for k := range runs {
		var o *cmbo.Optimizer
		var order []int
		if w.tell == nil {
			order = rng.Stream(p.Seed, "random search", uint64(i), uint64(k)).Perm(len(t.X))
		} else {
			opts := s.run(prior, cmbo.WithSeed(p.Seed+uint64(k)))
			if told > 0 {
				opts = append(opts, cmbo.WithContext(described(i)))
			}
			if w.aware {
				opts = append(opts, t.options...)
			}
			if o, err = cmbo.New(space, opts...); err != nil {
				return nil, err
			}
		}
		if runs[k], err = evaluate(ctx, o, order, t, steps, w.tell); err != nil {
			return nil, err
		}
		if told > 0 {
			tr, err := o.Transfer(ctx)
			if err != nil {
				return nil, err
			}
			for _, of := range tr.Outputs {
				runs[k].spoke = runs[k].spoke || of.Relation.Descriptors != nil
			}
		}
	}
	return runs, nil
}

// costSteps is the number of equal steps of a budget in cost after which regret is taken.
const costSteps = 200

// byConstraint compares methods under constraints, or by what they reach within a budget.
func byConstraint(ctx context.Context, s *study) error {
	budget, cs := s.protocol.Budget, s.constraints
	what := "all outputs and two different values that hold the limits"
	if cs == nil {
		what = fmt.Sprintf("two different values and the output %q in each row, in sum above 0", s.cost)
	}
	err := s.readOutputs(2, what, func(t *problem) bool {
		if s.contexts && len(t.Context) == 0 {
			return false
		}
		return cs != nil && t.restrict(cs, s.past.minimize) || cs == nil && t.price(s.cost, s.past.minimize)
	})
	if err != nil {
		return err
	}
	ways, steps := s.costWays(), costSteps
	if cs != nil {
		ways, steps = s.constraintWays(), budget
	}
	var names, texts []string
	for _, w := range ways {
		names = append(names, w.name)
	}
	n := s.targets()
	runs, err := play(ctx, s, names, n, func(k, i int) ([]played, error) { return s.tune(ctx, i, steps, ways[k]) })
	if err != nil {
		return err
	}
	for _, c := range cs {
		texts = append(texts, c.text)
	}
	var w table
	var at []int // the steps that the table shows
	if cs != nil {
		fmt.Fprintf(s.stdout, "space %s: %s with %s; %d tasks left out of %d, %d evaluations from zero\n\n", s.space, s.past.value, strings.Join(texts, ", "), n, len(s.tasks), budget)
		var heads string
		at, heads = columns(budget, 5, 10, 20)
		heads = "method|area|of the first's|better, worse|regret at " + heads + "|infeasible|first feasible"
		if s.contexts {
			heads += "|they said something"
		}
		w = s.table(heads)
	} else {
		fmt.Fprintf(s.stdout, "space %s: %s at the cost of %s; %d tasks left out of %d, a budget of %d evaluations of the task's mean cost\n\n", s.space, s.past.value, s.cost, n, len(s.tasks), budget)
		w = s.table("method|runs|area|of the first's|better, worse|regret at 2 %|5 %|10 %|30 %|100 %|evaluations")
		at = []int{costSteps * 2 / 100, costSteps * 5 / 100, costSteps / 10, costSteps * 3 / 10, costSteps}
	}
	for k, name := range names {
		var infeasible, first, evaluations, spoke float64
		var areas, firsts []float64
		regret := make([]float64, len(at))
		count := 0
		for i, rs := range runs[k] {
			areas, firsts = append(areas, area(rs...)), append(firsts, area(runs[0][i]...))
			count += len(rs)
			share := 1 / float64(n*len(rs))
			for _, r := range rs {
				infeasible += share * float64(r.infeasible) / float64(max(r.evaluations, 1))
				first += share * float64(r.first)
				evaluations += share * float64(r.evaluations)
				if r.spoke {
					spoke += share
				}
				for j, e := range at {
					regret[j] += share * r.regret[min(e, steps)-1]
				}
			}
		}
		mean, ratio, lo, hi := s.compare(areas, firsts)
		better, worse := sides(areas, firsts)
		cells := fmt.Sprintf("%.2f [%.2f, %.2f]|%d, %d", ratio, lo, hi, better, worse)
		for _, v := range regret {
			cells += fmt.Sprintf("|%.3f", v)
		}
		switch {
		case s.contexts:
			cells += fmt.Sprintf("|%.0f %%|%.1f|%.0f %%", 100*infeasible, first, 100*spoke)
			w.row("%s|%.3f|%s", name, mean, cells)
		case cs != nil:
			w.row("%s|%.3f|%s|%.0f %%|%.1f", name, mean, cells, 100*infeasible, first)
		default:
			w.row("%s|%d|%.4f|%s|%.0f", name, count, mean, cells, evaluations)
		}
	}
	return w.Flush()
}
