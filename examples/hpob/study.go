package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
)

// own are the comparisons that have methods of their own: by their flag, the file that they
// take and the flags that matter with them beside those that matter with all.
var own = map[string]struct {
	file, flags string
	run         func(context.Context, *study) error
}{
	"context":    {`whose tasks have a "context"`, "space value minimize skip context", onOutputs},
	"constraint": {`with "Y" and "outputs"`, "space value minimize skip constraint cost", onOutputs},
	"constraint -context": {`with "Y", "outputs" and "context"`, "space value minimize skip constraint context",
		onOutputs},
	"cost":                       {`with "Y" and "outputs"`, "space value minimize skip constraint cost", onOutputs},
	"noise":                      {"of one value, or with -value", "space value minimize skip noise method", underNoise},
	"experiment curves":          {`with "curves"`, "space experiment method", onCurves},
	"experiment curves -context": {`with "curves" and "context"`, "space experiment context", onOutputs},
}

// checkOwn refuses what makes no sense for a comparison of its own.
func (c *overrides) checkOwn(o *options) error {
	to := own[o.own]
	err := c.refuse(to.flags+" data budget targets repeats source-rows seed workers quiet",
		"-"+o.own+" compares methods of its own")
	if err != nil {
		return err
	}
	if len(o.data) != 1 || o.past.formatOf(o.data[0]) != "hpob" {
		return fmt.Errorf("-%s takes one file in HPO-B's format %s", o.own, to.file)
	}
	if o.past.value == "" && (o.constraints != nil || o.cost != "") {
		return errors.New("-value is missing, the name of the output to be optimised")
	}
	for _, c := range o.constraints {
		if c.output == o.past.value {
			return fmt.Errorf("-constraint: %q is a limit on the objective itself, which -value names; limits are on other outputs", c.text)
		}
	}
	if o.cost != "" && o.cost == o.past.value {
		return fmt.Errorf("-cost: %q is the objective itself, which -value names; a cost is another output", o.cost)
	}
	return nil
}

// A study leaves out each task of a file once and tunes it in several ways, with the others as its past.
type study struct {
	*options
	stdout, stderr io.Writer
	space          string
	tasks          []*problem
	worst          float64                           // a penalty, worse than all values by far
	priors         map[[sha256.Size]byte]*cmbo.Prior // of the run under way, by the past that each learned
}

// A way is one of those that a study compares.
type way struct {
	name     string
	transfer bool     // it learns from the other tasks
	random   bool     // rows are drawn, not asked for
	handling handling // of limits, of costs, and of how noisy values are
	again    bool     // noisy points are evaluated again where that promises more than a new one
}

func (w way) String() string { return w.name }

// A problem is a task to be tuned.
type problem struct {
	cmbo.Task
	space    *cmbo.Space   // its rows, as candidates
	regret   []float64     // of each row, 1 for those that are not feasible
	options  []cmbo.Option // of a run that knows the limits, or the cost
	limits   []float64     // by constraint
	feasible []bool        // nil for all
	cost     []float64     // of each row; nil if each is one
	budget   float64       // in the unit of the cost
	losses   [][]float64   // learning curves by row, up to where they diverge
}

// rate sets the regret of each row in units of the range of the feasible values. It returns
// false if there are no two different ones.
func (t *problem) rate(minimize bool) bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, y := range t.Y {
		if t.feasible == nil || t.feasible[i] {
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	best := hi
	if minimize {
		best = lo
	}
	for i, y := range t.Y {
		v := 1.0
		if t.feasible == nil || t.feasible[i] {
			v = math.Abs(y-best) / (hi - lo)
		}
		t.regret = append(t.regret, v)
	}
	return lo < hi
}

// readOutputs reads the tasks of the one file, which may have several outputs. Those for which use returns false are
// left out; what is what they would have to have. It reports an output of a limit or a cost that no task has.
func (s *study) readOutputs(least int, what string, use func(*problem) bool) error {
	got, err := s.past.hpob(s.data[0], s.options.space)
	if err != nil {
		return err
	}
	s.space = got.Name
	has := make(map[string]bool)
	for _, t := range got.Tasks {
		for name := range t.Outputs {
			has[name] = true
		}
	}
	for _, name := range s.outputs() {
		if !has[name] {
			return fmt.Errorf("no task has an output %q beside %q; there are %q",
				name, s.past.value, slices.Sorted(maps.Keys(has)))
		}
	}
	for _, t := range got.Tasks {
		if p := (&problem{Task: t, budget: float64(s.protocol.Budget)}); use(p) {
			s.tasks = append(s.tasks, p)
		}
	}
	if len(s.tasks) < least {
		return fmt.Errorf("%d of %d tasks have %s; at least %d are needed", len(s.tasks), len(got.Tasks), what, least)
	}
	return nil
}

// outputs returns those that limits or a cost are about.
func (s *study) outputs() []string {
	all := each.Of(s.constraints, func(c constraint) string { return c.output })
	if s.cost != "" {
		all = append(all, s.cost)
	}
	return all
}

// chosen returns the ways of which -method names a part, all of them without it.
func chosen[W fmt.Stringer](s *study, ways []W) (use []W, err error) {
	use = slices.DeleteFunc(slices.Clone(ways), func(w W) bool {
		named := func(part string) bool { return strings.Contains(w.String(), part) }
		return len(s.ways) > 0 && !slices.ContainsFunc(s.ways, named)
	})
	if len(use) == 0 {
		err = fmt.Errorf("-method: no way is named like %q; there are %q", s.ways, each.Of(ways, W.String))
	}
	return use, err
}

func (s *study) targets() int {
	return min(cmp.Or(s.protocol.Targets, len(s.tasks)), len(s.tasks))
}

// draw returns the rows that a past task shows: -source-rows at random.
func (s *study) draw(t *problem, label string, index ...uint64) []int {
	rows := rng.Stream(s.protocol.Seed, label+t.ID, index...).Perm(len(t.X))
	return rows[:min(s.protocol.SourceRows, len(rows))]
}

func (t *problem) pick(y []float64, rows []int) cmbo.Task {
	x := each.Of(rows, func(i int) []float64 { return t.X[i] })
	return cmbo.Task{ID: t.ID, X: x, Y: each.Of(rows, func(i int) float64 { return y[i] })}
}

// A proposer is an optimiser under way, or has rows that were drawn in its place.
type proposer struct {
	*cmbo.Optimizer // nil for rows that were drawn
	rows            []int
}

// propose begins a run on a task in a way, whose past shows the other tasks; label names the stream of what is drawn.
func (s *study) propose(ctx context.Context, w way, label string, target int, repeat uint64,
	past func(i int) cmbo.Task, opts ...cmbo.Option) (*proposer, error) {
	seed, t := s.protocol.Seed, s.tasks[target]
	if w.random {
		return &proposer{rows: rng.Stream(seed, label, uint64(target), repeat).Perm(len(t.X))}, nil
	}
	opts = append(opts, cmbo.WithSeed(seed+repeat), cmbo.WithParallelism(1))
	learn := []cmbo.LearnOption{cmbo.WithSeed(seed), cmbo.WithParallelism(1)}
	if s.past.minimize {
		opts, learn = append(opts, cmbo.WithMinimize()), append(learn, cmbo.WithMinimize())
	}
	if w.transfer {
		tasks := each.Of(each.Where(len(s.tasks), func(i int) bool { return i != target }), past)
		shown := sha256.Sum256(fmt.Append(nil, tasks))
		if s.priors[shown] == nil {
			prior, err := cmbo.Learn(ctx, t.space, tasks, learn...)
			if err != nil {
				return nil, err
			}
			s.priors[shown] = prior
		}
		opts = append(opts, cmbo.WithPrior(s.priors[shown]))
	}
	o, err := cmbo.New(t.space, opts...)
	return &proposer{Optimizer: o}, err
}

// next returns the next trial, which has an Index alone if it was drawn; more is false where
// nothing is left to try, or to pay for.
func (p *proposer) next(ctx context.Context) (trial cmbo.Trial, more bool, err error) {
	if p.Optimizer != nil {
		trial, err = p.Ask(ctx)
		if errors.Is(err, cmbo.ErrNoCandidates) || errors.Is(err, cmbo.ErrBudget) {
			return trial, false, nil
		}
		return trial, err == nil, err
	}
	if len(p.rows) == 0 {
		return trial, false, nil
	}
	trial.Index, p.rows = p.rows[0], p.rows[1:]
	return trial, true, nil
}

// play plays every way so many times, as many at a time as -workers says, and tells how far it is. Run i leaves out the task
// i modulo the number of targets, one way after the other: those that are shown the same past share what is learned of it.
func play[W fmt.Stringer, R any](ctx context.Context, s *study, ways []W, runs int,
	one func(s *study, w W, run int) (R, error)) ([][]R, error) {
	for _, t := range s.tasks[:s.targets()] {
		var err error
		if t.space, err = cmbo.Candidates(t.X); err != nil {
			return nil, fmt.Errorf("task %q: %w", t.ID, err)
		}
	}
	out := each.Below(len(ways), func(int) []R { return make([]R, runs) })
	n := len(ways) * runs
	var done atomic.Int64
	return out, parallel.For(ctx, s.workers, runs, func(_, run int) (err error) {
		s := *s
		s.priors = make(map[[sha256.Size]byte]*cmbo.Prior)
		for i, way := range ways {
			if out[i][run], err = one(&s, way, run); err != nil {
				return fmt.Errorf("%s, task %q left out: %w", way, s.tasks[run%s.targets()].ID, err)
			}
			if k := done.Add(1); !s.quiet && k%int64(max(n/100, 1)) == 0 {
				fmt.Fprintf(s.stderr, "%d of %d\n", k, n)
			}
		}
		return nil
	})
}

// A played run has the regret of the best feasible value after equal steps of the budget.
type played struct {
	regret      []float64
	infeasible  int
	first       int     // evaluations to the first feasible value, one more than there were if none was
	evaluations int     // those that ended within the budget
	gain        float64 // of the most useful descriptors, of outputs with limits if there are any; 0 for none
}

// evaluate tunes a task until the budget is spent: what ends later does not count.
func evaluate(ctx context.Context, o *proposer, t *problem, steps int,
	tell func(trial cmbo.Trial) error) (played, error) {
	p := played{regret: slices.Repeat([]float64{1}, steps)}
	spent, best := 0.0, 1.0
	for spent < t.budget {
		trial, more, err := o.next(ctx)
		if more && o.Optimizer != nil {
			err = tell(trial)
		}
		if err != nil {
			return p, err
		}
		if !more {
			break
		}
		row, cost := trial.Index, 1.0
		if t.cost != nil {
			cost = t.cost[row]
		}
		if spent += cost; spent > t.budget {
			break
		}
		p.evaluations++
		if t.feasible != nil && !t.feasible[row] {
			p.infeasible++
		} else if p.first == 0 {
			p.first = p.evaluations
		}
		best = min(best, t.regret[row])
		for k := range p.regret {
			if float64(k+1)*t.budget >= spent*float64(steps) {
				p.regret[k] = best
			}
		}
	}
	if p.first == 0 {
		p.first = p.evaluations + 1
	}
	return p, nil
}

// A table has its cells in columns, "|" between them.
type table struct{ *tabwriter.Writer }

func (s *study) table(heads string) table {
	t := table{tabwriter.NewWriter(s.stdout, 0, 0, 1, ' ', 0)}
	t.row("%s", heads)
	fmt.Fprintln(t, strings.Repeat("|---\t", strings.Count(heads, "|")+1)+"|")
	return t
}

func (t table) row(format string, args ...any) {
	fmt.Fprint(t, "| "+strings.ReplaceAll(fmt.Sprintf(format, args...), "|", "\t| ")+"\t|\n")
}

// columns returns the steps at which a table shows regrets, those of at before the last one and that, and their heads.
func columns(last int, at ...int) (shown []int, heads string) {
	for _, e := range append(at, last) {
		if e = max(e, 1); e <= last && !slices.Contains(shown, e) {
			shown = append(shown, e)
		}
	}
	return shown, strings.Trim(strings.ReplaceAll(fmt.Sprint(shown), " ", "|"), "[]")
}

// areas returns the mean regret of each group of runs over all steps.
func areas(groups [][]played) []float64 {
	of := make([]float64, len(groups))
	for i, rs := range groups {
		for _, r := range rs {
			for _, v := range r.regret {
				of[i] += v / float64(len(r.regret)*len(rs))
			}
		}
	}
	return of
}

// sides tells how often a is less than b, and how often more.
func sides(a, b []float64) string {
	less, more := 0, 0
	for i := range a {
		if a[i] < b[i] {
			less++
		} else if a[i] > b[i] {
			more++
		}
	}
	return fmt.Sprintf("%d, %d", less, more)
}

// cells writes each of them in a format.
func cells(format string, of []float64) string {
	return strings.Join(each.Of(of, func(v float64) string { return fmt.Sprintf(format, v) }), "")
}

// compare returns the mean of a, and its ratio to that of b with an interval that holds nine
// tenths of the ratios over tasks drawn with replacement. Means below .0001 count as that in ratios.
func (s *study) compare(a, b []float64) (mean float64, ratio string) {
	over := func(u, v float64) float64 {
		least := 1e-4 * float64(len(a))
		return max(u, least) / max(v, least)
	}
	x, y := stat.Sum(a), stat.Sum(b)
	const draws = 1000
	r := rng.Stream(s.protocol.Seed, "bootstrap")
	ratios := make([]float64, draws)
	for k := range ratios {
		var u, v float64
		for range a {
			i := r.IntN(len(a))
			u, v = u+a[i], v+b[i]
		}
		ratios[k] = over(u, v)
	}
	slices.Sort(ratios)
	return x / float64(len(a)), fmt.Sprintf("%.2f [%.2f, %.2f]", over(x, y), ratios[draws/20], ratios[draws-1-draws/20])
}
