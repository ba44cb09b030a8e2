package bench

import (
	"context"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// execution is one call of Experiment.Run.
type execution struct {
	*Experiment
	*plan
	store *store

	mu       sync.Mutex
	kept     int // tuners in memory
	failures []Failure
	progress Progress
}

// make does what is to be done of a batch. Its error is one that ends the experiment.
func (x *execution) make(ctx context.Context, b *batch) error {
	x.mu.Lock()
	b.users++ // what the model taught stays in memory until it is released
	x.mu.Unlock()
	defer x.release(b.model)
	tuner, err := x.learn(ctx, b)
	if tuner == nil {
		return err
	}
	for _, run := range b.runs {
		r, missing := x.run(ctx, tuner, b.table.Task(run.task), run)
		if missing == nil {
			if err := x.store.add(r); err != nil {
				return err
			}
		}
		if err := x.tell(ctx, run.runKey, 1, missing); err != nil {
			return err
		}
	}
	return nil
}

// release forgets a tuner that no batch needs any more, or for which there is no room until it is needed again.
func (x *execution) release(l *model) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l.users--
	l.uses--
	if l.users == 0 && l.tuner != nil && (l.uses == 0 || x.kept > keptTuners) {
		l.tuner = nil
		x.kept--
	}
}

// keptTuners bounds the number of tuners in memory but for those in use. They take about 10 MB each.
const keptTuners = 100

// learn returns what the method of a batch learned, nil if it could not.
func (x *execution) learn(ctx context.Context, b *batch) (Tuner, error) {
	l := b.model
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tuner == nil && l.err == nil {
		t, err := l.method.Learn(ctx, l.training)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x.mu.Lock()
		if l.tuner, l.err = t, err; err == nil {
			x.kept++
		}
		x.mu.Unlock()
	}
	if l.err != nil {
		return nil, x.tell(ctx, l.key, len(b.runs), l.err)
	}
	return l.tuner, nil
}

// run makes one run, whose seed is the same for every method, other for every run of a method.
func (x *execution) run(ctx context.Context, tuner Tuner, task *TableTask, run plannedRun) (*Record, error) {
	k := run.runKey
	space, err := cmbo.Candidates(task.X)
	if err != nil {
		return nil, err
	}
	seed := rng.Stream(x.Seed, "run", uint64(k.split), idHash(k.task), uint64(k.repeat)).Uint64()
	o, err := tuner(ctx, space, seed, cmbo.WithSeed(seed), cmbo.WithAcquisition(run.acquisition), cmbo.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	r, err := trace(ctx, task, o, x.initial(task, k.split, k.repeat), x.Budget)
	if err != nil {
		return nil, err
	}
	r.Space, r.Method, r.Acquisition = k.space, k.method, k.acquisition
	r.Split, r.Task, r.Repeat, r.Program = k.split, k.task, k.repeat, Program()
	return r, nil
}

// tell takes down that n runs are done, or why they are missing, unless the whole experiment is ending.
func (x *execution) tell(ctx context.Context, k runKey, n int, missing error) error {
	if missing != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if missing == nil {
		x.progress.Done += n
	} else {
		x.progress.Failed += n
		f := Failure{k.space, k.method, k.acquisition, k.split, k.task, k.repeat, missing.Error()}
		if !slices.Contains(x.failures, f) { // each repeat misses what could not be learned
			x.failures = append(x.failures, f)
		}
	}
	x.progress.Last = k.String()
	if x.Progress != nil {
		x.Progress(x.progress)
	}
	return nil
}
