package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// contextWays are what a run is told of its task: nothing, its descriptors, those of a task
// drawn at random, past tasks having been dealt others' too.
var contextWays = [...]string{"without descriptors", "with", "dealt out at random"}

// contextTask is a task with descriptors, and the regret of each row.
type contextTask struct {
	cmbo.Task
	regret []float64
}

// contextTasks returns the tasks that have a context. Regret is in units of the range of the
// task's values; that of learning curves' ends in those of readCurves.
func (o *options) contextTasks() (name string, tasks []contextTask, err error) {
	if o.curves {
		name, steps, curves, err := readCurves(o.data[0], o.space)
		for _, c := range curves {
			t := contextTask{Task: cmbo.Task{ID: c.id, Context: c.context}}
			for i, l := range c.losses {
				if len(l) == steps {
					t.X, t.Y, t.regret = append(t.X, c.x[i]), append(t.Y, l[steps-1]), append(t.regret, c.regret[i])
				}
			}
			tasks = append(tasks, t)
		}
		return name, tasks, err
	}
	got, err := o.outputs()
	if err != nil {
		return "", nil, err
	}
	for _, t := range got.Tasks {
		lo, hi := slices.Min(t.Y), slices.Max(t.Y)
		if len(t.Context) == 0 || lo == hi {
			continue
		}
		best := hi
		if o.past.minimize {
			best = lo
		}
		c := contextTask{Task: t}
		for _, y := range t.Y {
			c.regret = append(c.regret, math.Abs(y-best)/(hi-lo))
		}
		tasks = append(tasks, c)
	}
	if len(tasks) < 4 {
		err = fmt.Errorf("%d of %d tasks have a context and two different values; at least 4 are needed", len(tasks), len(got.Tasks))
	}
	return got.Name, tasks, err
}

// contextRun is the area under the regret curve of a run, for each of the ways, and the gain
// that the relation of the past tasks has, dealt out at random and not.
type contextRun struct {
	area [len(contextWays)]float64
	gain [len(contextWays)]float64
}

// byContext leaves out each task with a context, some times with other rows of the past.
func byContext(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	name, tasks, err := o.contextTasks()
	if err != nil {
		return err
	}
	p := o.protocol
	n := len(tasks)
	targets := n
	if p.Targets > 0 {
		targets = min(n, p.Targets)
	}
	runs := make([]contextRun, targets*p.Repeats)
	if err := o.each(ctx, len(runs), stderr, func(i int) error { return runs[i].play(ctx, tasks, i%targets, i/targets, o) }); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "space %s: %d tasks left out of %d, %d runs, %d evaluations from zero, %d rows of each past task\n\n", name, targets, n, len(runs), p.Budget, p.SourceRows)
	w := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| descriptors\t| area of queries 1-%d\t| of that without\t| better, worse\t| they said something\t| gain then\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|\n", p.Budget)
	s := &study{seed: p.Seed}
	for k, name := range contextWays {
		areas, plain := make([]float64, targets), make([]float64, targets)
		var each, first []float64
		spoke, gain := 0, 0.0
		for i, r := range runs {
			areas[i%targets] += r.area[k] / float64(p.Repeats)
			plain[i%targets] += r.area[0] / float64(p.Repeats)
			each, first = append(each, r.area[k]), append(first, r.area[0])
			if r.gain[k] > 0 {
				spoke++
				gain += r.gain[k]
			}
		}
		mean, ratio, lo, hi := s.compare(areas, plain)
		better, worse := sides(each, first)
		fmt.Fprintf(w, "| %s\t| %.4f\t| %.2f [%.2f, %.2f]\t| %d, %d\t| %.0f %%\t| %.2f\t|\n", name, mean, ratio, lo, hi, better, worse, 100*float64(spoke)/float64(len(runs)), gain/max(float64(spoke), 1))
	}
	return w.Flush()
}

// play tunes one task with the others' past.
func (r *contextRun) play(ctx context.Context, tasks []contextTask, target, repeat int, o *options) error {
	p := o.protocol
	space, err := cmbo.UnitCube(len(tasks[0].X[0]))
	if err != nil {
		return err
	}
	t := tasks[target]
	list, err := space.WithCandidates(t.X)
	if err != nil {
		return err
	}
	deal := rng.Stream(p.Seed, "context", uint64(target), uint64(repeat)).Perm(len(tasks))
	var opts []cmbo.LearnOption
	if o.past.minimize || o.curves {
		opts = append(opts, cmbo.WithMinimize())
	}
	var prior *cmbo.Prior
	for k := range contextWays {
		told := func(i int) cmbo.Context {
			if k == 2 {
				return tasks[deal[i]].Context
			}
			return tasks[i].Context
		}
		var past []cmbo.Task
		for i := range tasks {
			if i == target {
				continue
			}
			q := cmbo.Task{ID: tasks[i].ID, Context: told(i)}
			rows := rng.Stream(p.Seed, "rows "+q.ID, uint64(target), uint64(repeat)).Perm(len(tasks[i].X))
			if p.SourceRows > 0 {
				rows = rows[:min(p.SourceRows, len(rows))]
			}
			for _, j := range rows {
				q.X, q.Y = append(q.X, tasks[i].X[j]), append(q.Y, tasks[i].Y[j])
			}
			past = append(past, q)
		}
		if k != 1 { // for which it is learned already
			if prior, err = cmbo.Learn(ctx, list, past, append(opts, cmbo.WithParallelism(1))...); err != nil {
				return err
			}
		}
		run := []cmbo.Option{cmbo.WithPrior(prior), cmbo.WithParallelism(1)}
		if k > 0 {
			relation, err := prior.Relation(ctx)
			if err != nil {
				return err
			}
			if r.gain[k] = relation.Gain; relation.Gain == 0 {
				r.area[k] = r.area[0] // which TestContextOfNoUse shows
				continue
			}
			run = append(run, cmbo.WithContext(told(target)))
		}
		if r.area[k], err = contextArea(ctx, list, t, p.Budget, run); err != nil {
			return err
		}
	}
	return nil
}

// contextArea is the mean regret of the best value after each evaluation.
func contextArea(ctx context.Context, list *cmbo.Space, t contextTask, budget int, run []cmbo.Option) (area float64, err error) {
	o, err := cmbo.New(list, run...)
	if err != nil {
		return 0, err
	}
	best := math.Inf(1)
	for range budget {
		trial, err := o.Ask(ctx)
		if err != nil {
			return 0, err
		}
		if err := o.Tell(trial.ID, t.Y[trial.Index]); err != nil {
			return 0, err
		}
		best = min(best, t.regret[trial.Index])
		area += best / float64(budget)
	}
	return area, nil
}
