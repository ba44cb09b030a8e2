package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

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
	c.output = strings.TrimSpace(name)
	limit, c.quantile = strings.CutSuffix(strings.TrimSpace(limit), "%")
	if c.value, err = strconv.ParseFloat(limit, 64); err != nil || !found || c.output == "" || math.IsNaN(c.value) || c.quantile && !(c.value > 0 && c.value < 100) {
		return c, fmt.Errorf("-constraint: %q is not of the form output<=5, output>=5 or output<=30%%", s)
	}
	return c, nil
}

// limit returns the limit in a task.
func (c constraint) limit(t *cmbo.Task) float64 {
	if !c.quantile {
		return c.value
	}
	var y []float64
	for _, v := range t.Outputs[c.output] {
		if !math.IsNaN(v) {
			y = append(y, v)
		}
	}
	slices.Sort(y)
	return y[min(int(c.value/100*float64(len(y))), len(y)-1)]
}

func (c constraint) holds(v, limit float64) bool {
	if c.least {
		return v >= limit
	}
	return v <= limit
}

// limited is a task to be tuned under constraints: which of its rows are feasible, and how far
// each is from the best of these.
type limited struct {
	*cmbo.Task
	limits   []float64 // by constraint
	feasible []bool
	regret   []float64 // in units of the range of the feasible values, 1 for the others
	options  []cmbo.Option
	cost     []float64 // of its rows, with -cost
	budget   float64   // in the unit of the cost
}

// restrict returns a task under constraints; nil if it lacks an output, or fewer than two
// different values hold the limits.
func restrict(t cmbo.Task, cs []constraint, minimize bool) *limited {
	l := &limited{Task: &t}
	for _, c := range cs {
		if len(t.Outputs[c.output]) == 0 {
			return nil
		}
		l.limits = append(l.limits, c.limit(&t))
	}
	l.feasible = (&study{cs: cs}).holds(&t, l.limits)
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, y := range t.Y {
		if l.feasible[i] {
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	if !(lo < hi) {
		return nil
	}
	best := hi
	if minimize {
		best = lo
	}
	for i, y := range t.Y {
		v := 1.0
		if l.feasible[i] {
			v = math.Abs(y-best) / (hi - lo)
		}
		l.regret = append(l.regret, v)
	}
	limits := make(map[string][]cmbo.OutputOption)
	for k, c := range cs {
		o := cmbo.AtMost(l.limits[k])
		if c.least {
			o = cmbo.AtLeast(l.limits[k])
		}
		limits[c.output] = append(limits[c.output], o)
	}
	for name, opts := range limits {
		l.options = append(l.options, cmbo.WithOutput(name, append(opts, cmbo.Optional())...))
	}
	return l
}

// A played run has the regret of the best feasible value after each evaluation, with -cost
// at equal steps of the budget.
type played struct {
	regret      []float64
	infeasible  int
	first       int // evaluations to the first feasible value, one more than there were if none was
	evaluations int // those that ended within the budget
}

// A way is a method under constraints: how the past is shown to Learn, and what is told.
type way struct {
	name  string
	past  func(t, target *limited) cmbo.Task // nil for none
	tell  func(o *cmbo.Optimizer, id, row int, t *limited) error
	aware bool // the run knows the constraints, or the cost
}

// study is a comparison under constraints.
type study struct {
	cs       []constraint
	cost     string // the output that evaluations cost, "" for constraints
	minimize bool
	rows     int // of each past task, 0 for all
	budget   int
	repeats  int
	seed     uint64
	tasks    []*limited
}

// ways returns the methods that are compared.
func (s *study) ways() []way {
	worst := 0.0
	for _, t := range s.tasks {
		for _, y := range t.Y {
			worst = max(worst, 10*math.Abs(y))
		}
	}
	if !s.minimize {
		worst = -worst
	}
	outputs := func(o *cmbo.Optimizer, id, row int, t *limited) error {
		values := make(cmbo.Outputs)
		for _, c := range s.cs {
			if v := t.Outputs[c.output][row]; !math.IsNaN(v) {
				values[c.output] = v
			}
		}
		return o.Tell(id, t.Y[row], values)
	}
	whole := func(t, _ *limited) cmbo.Task { return *t.Task }
	penalized := func(t, _ *limited) cmbo.Task {
		p := *t.Task
		p.Outputs, p.Y = nil, slices.Clone(t.Y)
		for i, ok := range t.feasible {
			if !ok {
				p.Y[i] = worst
			}
		}
		return p
	}
	byTarget := func(t, target *limited) cmbo.Task {
		q := *t
		q.feasible = s.holds(t.Task, target.limits)
		return penalized(&q, nil)
	}
	failed := func(t, target *limited) cmbo.Task {
		p := cmbo.Task{ID: t.ID}
		for i, ok := range s.holds(t.Task, target.limits) {
			if ok {
				p.X, p.Y = append(p.X, t.X[i]), append(p.Y, t.Y[i])
			} else {
				p.Failed = append(p.Failed, t.X[i])
			}
		}
		return p
	}
	penalty := func(o *cmbo.Optimizer, id, row int, t *limited) error {
		if t.feasible[row] {
			return o.Tell(id, t.Y[row])
		}
		return o.Tell(id, worst)
	}
	failure := func(o *cmbo.Optimizer, id, row int, t *limited) error {
		if t.feasible[row] {
			return o.Tell(id, t.Y[row])
		}
		return o.TellFailed(id)
	}
	return []way{
		{"constraint, with transfer", whole, outputs, true},
		{"constraint, without transfer", nil, outputs, true},
		{"penalty, with transfer", byTarget, penalty, false},
		{"penalty, with transfer, each past task by its own limit", penalized, penalty, false},
		{"penalty, without transfer", nil, penalty, false},
		{"failures, with transfer", failed, failure, false},
		{"random search", nil, nil, false},
	}
}

// holds reports which rows of a task hold limits.
func (s *study) holds(t *cmbo.Task, limits []float64) []bool {
	ok := slices.Repeat([]bool{true}, len(t.Y))
	for k, c := range s.cs {
		for i, v := range t.Outputs[c.output] {
			ok[i] = ok[i] && c.holds(v, limits[k])
		}
	}
	return ok
}

// sample returns a task with so many of its rows, drawn at random, all of them for 0.
func (s *study) sample(t *limited) *limited {
	if s.rows == 0 || s.rows >= len(t.X) {
		return t
	}
	q := limited{Task: &cmbo.Task{ID: t.ID, Outputs: make(map[string][]float64)}, limits: t.limits}
	rows := rng.Stream(s.seed, "rows of "+t.ID).Perm(len(t.X))[:s.rows]
	for _, i := range rows {
		q.X, q.Y, q.feasible = append(q.X, t.X[i]), append(q.Y, t.Y[i]), append(q.feasible, t.feasible[i])
	}
	for name, column := range t.Outputs {
		for _, i := range rows {
			q.Outputs[name] = append(q.Outputs[name], column[i])
		}
	}
	return &q
}

// play tunes task i by a method.
func (s *study) play(ctx context.Context, i int, w way) ([]played, error) {
	t := s.tasks[i]
	space, err := cmbo.Candidates(t.X)
	if err != nil {
		return nil, err
	}
	opts := []cmbo.Option{cmbo.WithParallelism(1)}
	if s.minimize {
		opts = append(opts, cmbo.WithMinimize())
	}
	if w.aware {
		opts = append(opts, t.options...)
	}
	repeats := s.repeats
	if w.past != nil {
		repeats = 1 // the prior proposes from the first question on, nothing is random
		var past []cmbo.Task
		for j, other := range s.tasks {
			if j != i {
				past = append(past, w.past(s.sample(other), t))
			}
		}
		learn := []cmbo.LearnOption{cmbo.WithParallelism(1)}
		if s.minimize {
			learn = append(learn, cmbo.WithMinimize())
		}
		prior, err := cmbo.Learn(ctx, space, past, learn...)
		if err != nil {
			return nil, err
		}
		opts = append(opts, cmbo.WithPrior(prior))
	}
	var runs []played
	for k := range repeats {
		ask := func(o *cmbo.Optimizer) (id, row int, err error) {
			trial, err := o.Ask(ctx)
			return trial.ID, trial.Index, err
		}
		if w.tell == nil {
			order := rng.Stream(s.seed, "random search", uint64(i), uint64(k)).Perm(len(t.X))
			ask = func(*cmbo.Optimizer) (id, row int, err error) {
				row, order = order[0], order[1:]
				return 0, row, nil
			}
		}
		o, err := cmbo.New(space, append(slices.Clip(opts), cmbo.WithSeed(s.seed+uint64(k)))...)
		if err != nil {
			return nil, err
		}
		if s.cost != "" {
			p, err := s.playBudget(o, ask, w, t)
			if err != nil {
				return nil, err
			}
			runs = append(runs, p)
			continue
		}
		budget := min(s.budget, len(t.X))
		p := played{first: budget + 1}
		best := 1.0
		for n := range budget {
			id, row, err := ask(o)
			if err == nil && w.tell != nil {
				err = w.tell(o, id, row, t)
			}
			if err != nil {
				return nil, err
			}
			if t.feasible[row] {
				p.first = min(p.first, n+1)
			} else {
				p.infeasible++
			}
			best = min(best, t.regret[row])
			p.regret = append(p.regret, best)
		}
		runs = append(runs, p)
	}
	return runs, nil
}

// newStudy reads the tasks of a file that has several outputs, and returns the name of their
// space.
func newStudy(o *options) (*study, string, error) {
	got, err := o.outputs()
	if err != nil {
		return nil, "", err
	}
	p := o.protocol
	s := &study{cs: o.constraints, cost: o.cost, minimize: o.past.minimize, rows: p.SourceRows, budget: p.Budget, repeats: p.Repeats, seed: p.Seed}
	for _, t := range got.Tasks {
		l := restrict(t, s.cs, s.minimize)
		if l != nil && s.cost != "" && !s.price(l) {
			l = nil
		}
		if l != nil {
			s.tasks = append(s.tasks, l)
		}
	}
	if len(s.tasks) < 2 {
		return nil, "", fmt.Errorf("%d of %d tasks have all outputs and two different values that hold the limits; at least 2 are needed", len(s.tasks), len(got.Tasks))
	}
	return s, got.Name, nil
}

// underConstraints compares methods on the tasks of a file that has several outputs, each
// task left out once.
func underConstraints(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	s, name, err := newStudy(o)
	if err != nil {
		return err
	}
	ways := s.ways()
	runs, err := s.compareWays(ctx, o, ways, stderr)
	if err == nil {
		s.report(stdout, name, o.past.value, ways, runs)
	}
	return err
}

// compareWays plays each way on each task, with the others as its past.
func (s *study) compareWays(ctx context.Context, o *options, ways []way, stderr io.Writer) ([][][]played, error) {
	n := len(s.tasks)
	if k := o.protocol.Targets; k > 0 {
		n = min(n, k)
	}
	runs := make([][][]played, len(ways))
	for i := range runs {
		runs[i] = make([][]played, n)
	}
	err := o.each(ctx, n*len(ways), stderr, func(job int) (err error) {
		way, task := job%len(ways), job/len(ways)
		if runs[way][task], err = s.play(ctx, task, ways[way]); err != nil {
			err = fmt.Errorf("%s, task %q left out: %w", ways[way].name, s.tasks[task].ID, err)
		}
		return err
	})
	return runs, err
}

// report prints the table.
func (s *study) report(stdout io.Writer, name, value string, ways []way, runs [][][]played) {
	var texts []string
	for _, c := range s.cs {
		texts = append(texts, c.text)
	}
	n := len(runs[0])
	fmt.Fprintf(stdout, "space %s: %s with %s; %d tasks left out of %d, %d evaluations from zero\n\n", name, value, strings.Join(texts, ", "), n, len(s.tasks), s.budget)
	w := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| method\t| area\t| of the first's\t| better, worse\t| regret at 5\t| 10\t| 20\t| %d\t| infeasible\t| first feasible\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n", s.budget)
	for k, m := range ways {
		var infeasible, first float64
		at := make([]float64, 4)
		var areas, firsts []float64
		for i, rs := range runs[k] {
			areas, firsts = append(areas, area(rs)), append(firsts, area(runs[0][i]))
			share := 1 / float64(n*len(rs))
			for _, r := range rs {
				infeasible += share * float64(r.infeasible) / float64(len(r.regret))
				first += share * float64(r.first)
				for j, e := range []int{5, 10, 20, s.budget} {
					at[j] += share * r.regret[min(e, len(r.regret))-1]
				}
			}
		}
		mean, ratio, lo, hi := s.compare(areas, firsts)
		better, worse := sides(areas, firsts)
		fmt.Fprintf(w, "| %s\t| %.3f\t| %.2f [%.2f, %.2f]\t| %d, %d\t| %.3f\t| %.3f\t| %.3f\t| %.3f\t| %.0f %%\t| %.1f\t|\n", m.name, mean, ratio, lo, hi, better, worse, at[0], at[1], at[2], at[3], 100*infeasible, first)
	}
	w.Flush()
}
