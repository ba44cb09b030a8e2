package cmbo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/linalg"
)

// Learn makes a [Prior] of past tasks, which are copied: a model of what they have in common. From more than 1,000
// tasks with values it learns as a [Learner] does.
//
// Let w be the distance from a task's best value to its median. More than .75 w below the best value differences count less
// and less, beyond 3 w not at all: a penalty says that a point is bad, not how bad. With fewer than eight values, or where
// the median would be a penalty, the worst values are penalties if they are at most three quarters of all, nearer to each
// other than to the others, and below the others by more than ten times the range of these, of which at least three, not all
// equal, must be left. If a task's values are all equal, its noise variances are ignored except with [RawValues]. Skewed
// values of one sign are seen by their logarithms: see [LearnReport].
//
// It fails with [ErrNoTasks], [ErrSpace], [ErrOption], [ErrNumerical] or ctx.Err(), and with a [*DataError] of
// [ErrTask], [ErrDimension], [ErrValue] or [ErrOutOfSpace]. K tasks of n observations each (at most 65,536 rows,
// failed ones among them) on I index points take O(K (n³ + n I) + I³) for each of 16 steps of EM; if n > I, O(K n² (n + I))
// once and then O(K I³). Of n > 2,000 that grows as n does: of parts of a task, of up to so many points near each other, what
// the index points do not say counts as independent. The fit of their shared process takes about 60 times O(n³) a task,
// without a list of candidates up to twice as many, from at most 200 tasks and 512 observations of each. Except with [Copula]
// at most 64 tasks are replayed, each by up to 20 values of a run.
func Learn(ctx context.Context, space *Space, tasks []Task, opts ...LearnOption) (*Prior, error) {
	return called(ctx, nil, func() (*Prior, error) {
		l, err := NewLearner(space, opts...)
		if err != nil {
			return nil, err
		}
		if withValues(tasks) > sampleTasks {
			return l.learnMany(ctx, tasks)
		}
		return l.config.learn(ctx, space, tasks)
	})
}

func withValues(tasks []Task) (n int) {
	for i := range tasks {
		n += min(len(tasks[i].X), 1)
	}
	return n
}

// learn makes the prior of tasks that are held.
func (c *learnConfig) learn(ctx context.Context, s *Space, tasks []Task) (*Prior, error) {
	t, err := c.trainingSet(s, tasks)
	if err != nil {
		return nil, err
	}
	return t.learn(ctx)
}

func (l *Learner) learnMany(ctx context.Context, tasks []Task) (*Prior, error) {
	if _, err := l.config.checkTasks(l.space, tasks); err != nil { // of those that are not kept, too
		return nil, err
	}
	return l.learn(ctx, func() iter.Seq2[Task, error] {
		return func(yield func(Task, error) bool) {
			for _, t := range tasks {
				if !yield(t, nil) {
					return
				}
			}
		}
	})
}

// maxRows bounds the rows of a task, and with them the time that it takes to learn.
const maxRows = 1 << 16

// checkTasks is [space.CheckTasks] that reports what tasks of one Learn, its memory or the options exclude, too.
func (c *learnConfig) checkTasks(s *Space, tasks []Task) ([]Task, error) {
	tasks, err := space.CheckTasks(s, tasks)
	if err != nil {
		return nil, err
	}
	known := make(vocabulary)
	for _, t := range tasks {
		if err := known.take(&t); err != nil {
			return nil, err
		}
		if n := len(t.X) + len(t.Failed); n > maxRows {
			return nil, space.InTask(space.Errorf(ErrTask, "%d rows, failed ones among them; at most %d are learned from: give a sample", n, maxRows), t.ID)
		}
		for j, y := range t.Y {
			if err := c.checkPositive(y); err != nil {
				return nil, space.InTask(space.AtRow(err, j), t.ID)
			}
		}
		for j, curve := range t.Curves {
			for _, y := range curve.Values {
				if err := c.checkPositive(y); err != nil {
					return nil, space.InTask(space.AtRow(err, j), t.ID)
				}
			}
		}
	}
	return tasks, nil
}

// A vocabulary holds the IDs and descriptors of tasks, and their outputs by spelling.
type vocabulary map[string]firstUse

type firstUse struct {
	task string
	word any // a descriptor's value, an output's name
}

// take adds what a task has, unless v is nil, and reports what one before excludes: its ID, a descriptor that is a number
// here and a choice there, and an output whose name hardly differs.
func (v vocabulary) take(t *Task) error {
	if v == nil {
		return nil
	}
	if _, twice := v["task "+t.ID]; twice {
		return space.InTask(space.Errorf(ErrTask, "two tasks have this ID"), t.ID)
	}
	v["task "+t.ID] = firstUse{}
	for _, name := range slices.Sorted(maps.Keys(t.Context)) { // of several the same one is reported each time
		value := t.Context[name]
		first := cmp.Or(v["descriptor "+name], firstUse{t.ID, value})
		v["descriptor "+name] = first
		_, a := first.word.(string)
		if _, b := value.(string); a != b {
			return space.InTask(space.Errorf(ErrTask, "descriptor %q is %#v, and in task %q it is %#v",
				name, value, first.task, first.word), t.ID)
		}
	}
	for _, name := range slices.Concat(t.Outputs.Names(), t.FailedOutputs.Names()) {
		first := cmp.Or(v["output "+spelling(name)], firstUse{t.ID, name})
		if v["output "+spelling(name)] = first; first.word != name {
			return space.InTask(space.Errorf(ErrTask, "output %q: task %q has %q; %s", name, first.task, first.word, differAs), t.ID)
		}
	}
	return nil
}

type trainingSet struct {
	config   *learnConfig
	space    *Space
	list     bool             // the space has, or had, candidates
	tasks    []hierarchy.Task // those with values
	told     []told           // their values
	failed   []*linalg.Dense  // points of theirs that failed
	labelled []hierarchy.Task // all of them, failures too, with what became of each point
	failures int              // among them
	outputs  map[string]*measured
}

// trainingSet makes one of tasks, which it validates together with the options.
func (c *learnConfig) trainingSet(s *Space, tasks []Task) (*trainingSet, error) {
	t := &trainingSet{config: c, space: s, list: s.Finite(), outputs: make(map[string]*measured)}
	tasks, err := c.checkTasks(s, tasks)
	if err != nil {
		return nil, err
	}
	for _, k := range tasks {
		failed := t.space.EncodeAll(k.Failed)
		t.labelled = append(t.labelled, hierarchy.LabelledTask(k.ID, t.space.EncodeAll(k.X), failed))
		t.failures += len(k.Failed)
		if len(k.X) == 0 {
			k.Context = nil // which a prior does not keep of failures alone
			t.takeOutputs(&k, nil, failed)
		}
	}
	// Failures alone tell a model of values nothing.
	tasks = slices.DeleteFunc(tasks, func(t Task) bool { return len(t.X) == 0 })
	if len(tasks) == 0 {
		return nil, fmt.Errorf("%w: no value in %s with %s", ErrNoTasks, names.Count(len(t.labelled), "task"), names.Count(t.failures, "failure"))
	}
	c = c.withLogarithms(s, tasks)
	t.config = c
	for i := range tasks {
		k, failed := c.scaled(s, &tasks[i]), s.EncodeAll(tasks[i].Failed)
		t.tasks, t.failed = append(t.tasks, k), append(t.failed, failed)
		t.told = append(t.told, told{y: slices.Clone(tasks[i].Y), noise: slices.Clone(tasks[i].NoiseVariance),
			curves: space.CloneCurves(tasks[i].Curves)})
		t.takeOutputs(&tasks[i], k.X, failed)
	}
	if c.kernel != nil {
		err = gp.CheckKernel(c.kernel, s.Dim(), ErrOption)
	}
	return t, err
}

// withLogarithms returns options by which models see logarithms where those of the tasks' values are likelier, unless an
// option says how values are scaled. Of curves, the intervals of ends hold too little then (TestReportCoverage).
func (c *learnConfig) withLogarithms(s *Space, tasks []Task) *learnConfig {
	d, y, o := *c, make([][]float64, len(tasks)), hierarchySettings(c, s, s.Finite())
	d.logUnit = 0
	for i, t := range tasks {
		if len(t.Curves) > 0 || c.y != ZScore || c.positive || o.Logs == 0 {
			return &d
		}
		y[i], _ = scaling.Sense{Minimize: c.minimize}.Apply(t.Y, nil)
		if apart := o.ApartOf(s.EncodeAll(t.X), y[i]); apart != nil {
			y[i] = apart
		}
	}
	if unit := scaling.LogUnit(o.Logs, y...); unit != 0 {
		d.logUnit = scaling.Orient(unit, c.minimize)
	}
	return &d
}

// scaled returns a task of the space as a model sees it.
func (c *learnConfig) scaled(s *Space, k *Task) hierarchy.Task {
	y, noise := c.sense().Apply(k.Y, k.NoiseVariance)
	x := s.EncodeAll(k.X)
	if o := hierarchySettings(c, s, s.Finite()); o.Compress {
		y, noise = scaling.CompressLow(y, noise, o.ApartOf(x, y)...)
	}
	v := c.y.fit(y)
	task := hierarchy.Task{ID: k.ID, X: x, Z: v.Z, Noise: v.NoiseVariances(noise), Shift: v.Shift,
		Scale: v.Scale, Context: k.Context}
	if c.y != RawValues && slices.Max(v.Z) == slices.Min(v.Z) { // no scale
		task.Shift, task.Scale = slices.Min(y), 0
	}
	if c.y == Copula { // scores by rank are the values of a run, too, without an offset and a scale behind them
		task.Shift, task.Scale = 0, 1
	}
	return task
}

func (t *trainingSet) learn(ctx context.Context) (*Prior, error) {
	mean, sd := hierarchy.CommonScale(t.tasks)
	m, err := hierarchy.Learn(ctx, hierarchy.Standardize(t.tasks, mean, sd), t.grid(), hierarchySettings(t.config, t.space, t.list))
	if err != nil {
		return nil, gp.Marked(ctx, err)
	}
	return t.finish(ctx, m)
}

// finish makes the prior of what was learned of values, and learns where evaluations succeed and the outputs.
func (t *trainingSet) finish(ctx context.Context, m *hierarchy.Model) (p *Prior, err error) {
	p = newPrior(t.config.settled(), t.space, t.list, m)
	for i, v := range t.told {
		p.told[i].y, p.told[i].noise, p.told[i].curves = v.y, v.noise, v.curves
	}
	if err := m.Inflate(ctx, t.config.parallelism); err != nil {
		return nil, gp.Marked(ctx, err)
	}
	if p.success, err = t.learnSuccess(ctx); err != nil {
		return nil, fmt.Errorf("probability of success: %w", err)
	}
	p.derive()
	p.outputs, err = t.learnOutputs(ctx)
	return p, err
}
