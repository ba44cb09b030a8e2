package cmbo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/replay"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A CheckOption sets something of [Check]: every [LearnOption] and [Option] does, and
// concerns the priors and the runs that Check makes.
type CheckOption interface {
	applyCheck(*checkConfig) error
}

type checkConfig struct {
	tasks, evaluations int
	learn              []LearnOption
	with, without      []Option
	outputs            []runlog.Output
}

func (o option) applyCheck(c *checkConfig) error {
	if o.check != nil {
		return o.check(c)
	}
	switch o.id {
	case optPrior, optNewPrior, optSurrogate, optJournal, optJournalMark, optContext:
		return optionErrorf("%s, and Check makes the priors and the runs itself", o.id)
	case optCost, optBudget:
		return optionErrorf("%s, and Check counts evaluations", o.id)
	}
	if o.learn != nil {
		c.learn = append(c.learn, o)
	}
	if o.run == nil {
		return nil
	}
	if o.id == optOutput {
		run := &runConfig{outputs: c.outputs}
		if err := o.run(run); err != nil {
			return err
		}
		for _, out := range run.outputs {
			if out.Cost {
				return optionErrorf("output %q as the cost, and Check counts evaluations", out.Name)
			}
		}
		c.outputs = run.outputs
	}
	if o.id != optKernel { // with a prior it concerns Learn
		c.with = append(c.with, o)
	}
	c.without = append(c.without, o)
	return nil
}

// Defaults of Check.
const (
	defaultCheckTasks       = 10
	defaultCheckEvaluations = 30
	checkRepeats            = 3 // of a run without prior, whose first points are random
)

// WithCheckTasks bounds the tasks that [Check] leaves out at n, a seeded sample; the
// default is 10. The time it takes is proportional to their number.
func WithCheckTasks(n int) CheckOption {
	return option{id: "WithCheckTasks", check: gp.Setting(
		func(c *checkConfig) { c.tasks = n }, n >= 1, "a check of %d tasks", n)}
}

// WithCheckEvaluations bounds the evaluations of each run of [Check] at n; the default is 30.
func WithCheckEvaluations(n int) CheckOption {
	return option{id: "WithCheckEvaluations", check: gp.Setting(
		func(c *checkConfig) { c.evaluations = n }, n >= 1, "a check with %d evaluations", n)}
}

// A CheckReport says whether what was learned from some tasks helps the others.
type CheckReport struct {
	// Verdict is [TransferHelps] or [TransferMisleads] if Difference lies above or below 0 by q times StandardError, q
	// being Student's 95 % quantile: 2.13 for 5 tasks left out, 1.83 for 10. Each is said of about one in twenty pasts
	// of noise at most. Else it is [TransferUnclear]; [TransferTooEarly] with fewer than 5 tasks left out.
	Verdict Verdict
	// Tasks are those that were left out, in the order given.
	Tasks []CheckedTask
	// Difference is the mean over Tasks of Without.Regret − With.Regret, above 0 where the past helps. StandardError is
	// that of the mean, s·√(1/n + 1/(K−1)) for n of K tasks with values, s being the standard deviation over Tasks:
	// tasks that are in each other's pasts do not differ independently. NaN for a single task.
	Difference, StandardError float64
	// Common and Noise are the means, over the priors learned, of the fields of [LearnReport].
	Common, Noise float64
	// Reversed are the IDs of tasks whose values seem to have the other sign: the tasks left out contradict them. What
	// was learned of such a task ranks the points of these the other way round, with a mean rank correlation of
	// −1/√(n−1) or less for n points, the deviation of chance. The task contradicted most is found first, and counts the
	// other way round when the others are judged. Reversed are also tasks left out whose run, with the past of all the
	// others, gave most of the mass to a reversed past. Nil with fewer than 5 tasks with values, and where Common is .05 or
	// less but not 0: smooth functions that have nothing in common rank each other's points by more than that deviation.
	Reversed []string
	// Apart are tasks whose values of an output are fifty times those of the others, or more, or a fiftieth, or less, or whose
	// values deviate from their median so much more, or less: they may have been recorded in another unit. They are fewer
	// than the others, or as many and the smaller ones.
	Apart []ApartOutput

	notes []string // limits that do not fit the tasks' values, and tasks that could not be left out
}

// An ApartOutput is an output of a task whose values differ from those of others as another unit would make them; an Output
// of "" stands for the task's values themselves.
type ApartOutput struct {
	Task, Output string
	// Ratio is the median size of the task's values of the output, or of the deviations of its values from their median,
	// divided by the median of this over the other tasks.
	Ratio float64
}

// A CheckedTask is a task that was left out and then tuned on its own records.
type CheckedTask struct {
	ID string
	// With is the run with the prior of the other tasks, Without the mean of three runs without a prior.
	With, Without Replay
	// Transfer is what the run with the prior said at its end.
	Transfer Transfer
}

// A Replay sums up runs on the records of a task. Regret is the distance from the task's best value, in units of the
// distance from that to the median of its values, or to the worst if the median is as good as the best. It is at most
// 1, and 1 before the first value.
type Replay struct {
	// Regret is that of the best value so far, as the mean over the evaluations.
	Regret float64
	// Evaluations is the number of evaluations until the regret was .01 or less, one more than there were if it never was.
	Evaluations float64
}

// Check says whether transfer helps on the caller's own histories: it leaves out tasks one at a time, learns a prior from
// the others and tunes the task left out on its own records, with the prior and without. No function is evaluated. If an
// optimiser chose those records, they favour good values, and the difference looks smaller than on a new task.
//
// To be left out, a task needs 5 different points and two different values; with limits ([WithOutput]), two different values
// within them. The report names the other tasks. With limits regret is that of the best value within them, and rows that
// lack a required output are not proposed. Check cannot see that all tasks are negated alike.
//
// Options are those of Learn and New except priors, models, journals, contexts, costs and budgets.
// Each task left out takes a Learn and four runs. Check fails as [Learn] and [New] do, with [ErrOutput]
// if no task has an output that is not [Optional], and with [ErrTask] if none can be left out.
func Check(ctx context.Context, s *Space, tasks []Task, opts ...CheckOption) (*CheckReport, error) {
	return called(ctx, nil, func() (*CheckReport, error) {
		c := &checkConfig{tasks: defaultCheckTasks, evaluations: defaultCheckEvaluations}
		if err := applyAll("CheckOption", opts, c, CheckOption.applyCheck); err != nil {
			return nil, err
		}
		l, err := newLearnConfig(c.learn)
		if err != nil {
			return nil, err
		}
		if err := s.Defined(); err != nil {
			return nil, err
		}
		if tasks, err = l.checkTasks(s, tasks); err != nil {
			return nil, err
		}
		report := &CheckReport{Apart: apartOutputs(tasks)}
		if report.notes, err = c.declare(tasks); err != nil {
			return nil, err
		}
		valued := withValues(tasks)
		var out []int                        // tasks to leave out
		lacking := make(map[string][]string) // others, by what they lack
		for i := range tasks {
			record, err := replay.New(s, &tasks[i], l.minimize, c.outputs...)
			if err != nil {
				return nil, space.InTask(err, tasks[i].ID)
			}
			if what := record.Lacks(); what != "" {
				lacking[what] = append(lacking[what], tasks[i].ID)
			} else if valued > 1 {
				out = append(out, i)
			}
		}
		for _, what := range slices.Sorted(maps.Keys(lacking)) {
			report.notes = append(report.notes, fmt.Sprintf("not left out, as they lack %s: %s", what, some(lacking[what], 10)))
		}
		if len(out) == 0 {
			return nil, space.Errorf(ErrTask, "none of %s has %d different points and two different values, and "+
				"others with values to learn from%s", names.Count(len(tasks), "task"), replay.MinRows,
				strings.Join(append([]string{""}, report.notes...), "; "))
		}
		draw := func(i int) uint64 { return rng.Stream(l.seed, "check:"+tasks[i].ID).Uint64() }
		slices.SortFunc(out, func(a, b int) int { return cmp.Compare(draw(a), draw(b)) })
		out = out[:min(len(out), c.tasks)]
		slices.Sort(out)
		var ranked [][]float64
		against := make([]bool, len(tasks))
		for _, i := range out {
			t, ranks, learned, err := c.leaveOut(ctx, s, tasks, i, l.minimize)
			if err != nil {
				return nil, fmt.Errorf("task %q left out: %w", tasks[i].ID, err)
			}
			report.Tasks = append(report.Tasks, t)
			_, down := t.Transfer.upright()
			against[i] = down > 0.5
			report.Common += learned.Common / float64(len(out))
			report.Noise += learned.Noise / float64(len(out))
			ranked = append(ranked, each.Of(tasks, func(t Task) float64 { return ranks[t.ID] }))
		}
		shared := !hierarchy.NothingShared(report.Common) // else none contradicts the others
		for i, down := range upsideDown(len(tasks), out, ranked) {
			if valued >= verdictValues && shared && (down || against[i]) {
				report.Reversed = append(report.Reversed, tasks[i].ID)
			}
		}
		report.judge(valued)
		return report, nil
	})
}

// declare takes from tasks what is not declared of their outputs, which would be learned for nothing, and says which
// limits do not fit their values.
func (c *checkConfig) declare(tasks []Task) (misfits []string, err error) {
	all := make(map[string][]float64) // of each output
	for i := range tasks {
		for name, column := range tasks[i].Outputs {
			all[name] = append(all[name], column...)
		}
	}
	for _, o := range c.outputs {
		values, known := all[o.Name]
		if !known && !o.Optional { // there would be nothing to propose
			return nil, space.Errorf(ErrOutput, "output %q: no value of a task has it; their outputs are %q", o.Name, slices.Sorted(maps.Keys(all)))
		}
		if words := misfit(o, values); words != "" {
			misfits = append(misfits, words)
		}
	}
	for i := range tasks {
		for _, columns := range []*space.Columns{&tasks[i].Outputs, &tasks[i].FailedOutputs} {
			*columns = maps.Clone(*columns)
			maps.DeleteFunc(*columns, func(name string, _ []float64) bool {
				return !slices.ContainsFunc(c.outputs, func(o runlog.Output) bool { return o.Name == name })
			})
		}
		for name := range tasks[i].FailedOutputs {
			tasks[i].FailedOutputs[name] = failedColumn(&tasks[i], name)
		}
	}
	return misfits, nil
}

// upsideDown says which of n tasks those left out contradict. ranked holds, for each of out, how what was learned
// of each task, but for itself, ranks its points, in deviations of chance. The task that is contradicted most in the
// mean is turned, and speaks for the others the other way round, until none is contradicted by a deviation. Of the
// tasks that are turned and the others the fewer are upside down, as far as a deviation in the mean says so.
func upsideDown(n int, out []int, ranked [][]float64) []bool {
	sign := slices.Repeat([]float64{1}, n)
	agreement := func(i int) float64 {
		var sum, others float64
		for k, o := range out {
			if o != i {
				sum, others = sum+sign[o]*sign[i]*ranked[k][i], others+1
			}
		}
		return sum / max(others, 1)
	}
	turned := 0.0
	for range n {
		worst, least := -1, -clearRanks
		for i := range n {
			if a := agreement(i); a <= least {
				worst, least = i, a
			}
		}
		if worst < 0 {
			break
		}
		turned += sign[worst]
		sign[worst] = -sign[worst]
	}
	fewer := -1.0
	if turned > float64(n)/2 {
		fewer = 1
	}
	return each.Below(n, func(i int) bool { return sign[i] == fewer && agreement(i) >= clearRanks })
}

// judge compares the runs with and without, on n tasks left out of pool tasks with values.
//
// Differences of variance σ² and correlation ρ have a mean of variance σ²(1+(n-1)ρ)/n, and their s² is σ²(1-ρ) in
// the mean. On noise the past of a task is of use as far as each of its pool-1 tasks is like it by chance, and two
// tasks are as like one the other: ρ is 1/(pool-1), and less as runs have chance of their own. With 1/pool, as
// Nadeau and Bengio have it (Inference for the Generalization Error, 2003), the mean's variance is s²(1/n+1/(pool-1)).
func (r *CheckReport) judge(pool int) {
	differences := each.Of(r.Tasks, func(t CheckedTask) float64 { return t.Without.Regret - t.With.Regret })
	mean, variance := stat.MeanVariance(differences)
	n := float64(len(r.Tasks))
	r.Difference, r.StandardError = mean, math.Sqrt(variance*(1+n/float64(pool-1))/(n-1))
	bound := r.StandardError * stat.StudentQuantile(0.95, len(r.Tasks)-1)
	switch {
	case len(r.Tasks) < verdictValues:
		r.Verdict = TransferTooEarly
	case r.Difference > bound:
		r.Verdict = TransferHelps
	case r.Difference < -bound:
		r.Verdict = TransferMisleads
	default:
		r.Verdict = TransferUnclear
	}
}

// String is a table of the tasks, with a line for their means, and the verdict.
func (r *CheckReport) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "left out\tregret with\twithout\tevaluations with\twithout\tverdict of the run\n")
	mean, n, better := CheckedTask{ID: "mean"}, float64(len(r.Tasks)), 0
	row := func(t CheckedTask, verdict string) {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.1f\t%.1f\t%s\n",
			t.ID, t.With.Regret, t.Without.Regret, t.With.Evaluations, t.Without.Evaluations, verdict)
	}
	for _, t := range r.Tasks {
		row(t, t.Transfer.Verdict.String())
		mean.With.add(t.With, 1/n)
		mean.Without.add(t.Without, 1/n)
		if t.With.Regret < t.Without.Regret {
			better++
		}
	}
	row(mean, "(verdict below)")
	w.Flush()
	words := r.Verdict.String()
	switch r.Verdict {
	case TransferTooEarly:
		words = fmt.Sprintf("too few tasks to tell: %d of %d", len(r.Tasks), verdictValues)
	case TransferUnclear:
		words = "no difference that stands out"
	}
	difference := fmt.Sprintf("%.3f", r.Difference)
	if !math.IsNaN(r.StandardError) {
		difference += fmt.Sprintf(" ± %.3f", r.StandardError)
	}
	fmt.Fprintf(&b, "%s: the mean regret is %.3f with the past and %.3f without, a difference of %s; better with it on %d of %s\n",
		words, mean.With.Regret, mean.Without.Regret, difference, better, names.Count(len(r.Tasks), "task"))
	if r.Common > 0 && r.Verdict != TransferTooEarly {
		fmt.Fprintln(&b, LearnReport{Common: r.Common, Noise: r.Noise})
	}
	if len(r.Reversed) > 0 {
		fmt.Fprintf(&b, "upside down for the others: %s\n", strings.Join(r.Reversed, ", "))
	}
	for _, a := range r.Apart {
		fmt.Fprintf(&b, "another unit, perhaps: %s of %s is %s times that of the others\n",
			cmp.Or(a.Output, "the spread of the values"), a.Task, number(a.Ratio, 3))
	}
	for _, words := range r.notes {
		fmt.Fprintln(&b, words)
	}
	return b.String()
}

func (r *Replay) add(s Replay, share float64) {
	r.Regret += share * s.Regret
	r.Evaluations += share * s.Evaluations
}

// arrived is the regret at which a run counts as having found the best value.
const arrived = 0.01

// replay tunes a task on what is known of it.
func (c *checkConfig) replay(ctx context.Context, r *replay.Record, opts ...Option) (o *Optimizer, out Replay, err error) {
	if o, err = New(r.Space, opts...); err != nil {
		return nil, out, err
	}
	evaluations := min(c.evaluations, len(r.Y))
	out.Evaluations = float64(evaluations + 1)
	regret := 1.0
	for n := range evaluations {
		t, err := o.Ask(ctx)
		if err != nil {
			return nil, out, err
		}
		if y := r.Y[t.Index]; math.IsNaN(y) {
			err = o.TellFailed(t.ID, r.Outputs[t.Index])
		} else {
			err = o.Tell(t.ID, y, Outputs(r.Outputs[t.Index]))
		}
		if err != nil {
			return nil, out, err
		}
		regret = min(regret, r.Regret[t.Index])
		out.Regret += regret / float64(evaluations)
		if regret <= arrived {
			out.Evaluations = min(out.Evaluations, float64(n+1))
		}
	}
	return o, out, nil
}

// leaveOut compares runs on task i with and without the prior of the others. It returns
// how they rank the task's points and what was learned of them.
func (c *checkConfig) leaveOut(
	ctx context.Context, space *Space, tasks []Task, i int, minimize bool,
) (t CheckedTask, ranks map[string]float64, learned LearnReport, err error) {
	t.ID = tasks[i].ID
	r, err := replay.New(space, &tasks[i], minimize, c.outputs...)
	if err != nil {
		return t, nil, learned, err
	}
	prior, err := Learn(ctx, space, slices.Delete(slices.Clone(tasks), i, i+1), c.learn...)
	if err != nil {
		return t, nil, learned, err
	}
	var o *Optimizer
	if o, t.With, err = c.replay(ctx, r, append(slices.Clip(c.with), WithPrior(prior))...); err != nil {
		return t, nil, learned, err
	}
	if t.Transfer, err = o.Transfer(ctx); err != nil {
		return t, nil, learned, err
	}
	for i := range checkRepeats {
		_, without, err := c.replay(ctx, r, append(slices.Clip(c.without), WithSeed(o.config.seed+uint64(i)))...)
		if err != nil {
			return t, nil, learned, err
		}
		t.Without.add(without, 1.0/checkRepeats)
	}
	if m := as[Mixture](o.model); m != nil {
		ranks, err = ranked(ctx, m, r, o.config.minimize)
	}
	return t, ranks, prior.Report(), err
}

// ranked returns how past tasks rank the n points of a record, as the correlation of the normal scores of their
// posterior means there and of the record's values times √(n-1), of which 1 is the deviation of independent rankings.
func ranked(ctx context.Context, m Mixture, rec *replay.Record, minimize bool) (map[string]float64, error) {
	at := each.Where(len(rec.Y), func(i int) bool { return !math.IsNaN(rec.Y[i]) })
	y := each.Of(at, func(i int) float64 { return scaling.Orient(rec.Y[i], minimize) })
	ids, means, err := m.TaskMeans(ctx, points.Pick(rec.Space.Encoded(), at))
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64)
	for i, id := range ids {
		out[id] = ranks(means[i], y)
	}
	return out, nil
}

// unitGap is the ratio of median sizes from which another unit is thought of: less than that of minutes and seconds.
const unitGap = 50

// apartOutputs returns the outputs of tasks, and the values, that lie apart from the others: beyond the widest gap in the
// medians of their sizes, of values in those of their deviations, if that is unitGap or more.
func apartOutputs(tasks []Task) (out []ApartOutput) {
	sizes := make(map[string][]ApartOutput) // by name, the logarithm of the median for the ratio
	add := func(task, name string, column []float64) {
		var logs []float64
		for _, v := range column {
			if l := math.Log(math.Abs(v)); !math.IsNaN(l) && !math.IsInf(l, 0) {
				logs = append(logs, l)
			}
		}
		if slices.Sort(logs); len(logs) > 0 {
			sizes[name] = append(sizes[name], ApartOutput{task, name, logs[len(logs)/2]})
		}
	}
	for i := range tasks {
		median := stat.Median(slices.Clone(tasks[i].Y))
		add(tasks[i].ID, "", each.Of(tasks[i].Y, func(y float64) float64 { return y - median }))
		for name, column := range tasks[i].Outputs {
			add(tasks[i].ID, name, column)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		list := sizes[name]
		slices.SortFunc(list, func(a, b ApartOutput) int {
			return cmp.Or(cmp.Compare(a.Ratio, b.Ratio), strings.Compare(a.Task, b.Task))
		})
		cut, widest := 0, math.Log(unitGap)
		for i := range list[1:] {
			if gap := list[i+1].Ratio - list[i].Ratio; gap > widest || cut == 0 && gap == widest {
				cut, widest = i+1, gap
			}
		}
		minority, majority := list[:cut], list[cut:]
		if len(minority) > len(majority) {
			minority, majority = majority, minority
		}
		for _, s := range minority {
			out = append(out, ApartOutput{s.Task, name, math.Exp(s.Ratio - majority[len(majority)/2].Ratio)})
		}
	}
	return out
}
