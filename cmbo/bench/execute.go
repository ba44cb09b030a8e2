package bench

import (
	"context"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// execution is one call of Experiment.Run.
type execution struct {
	*Experiment
	*planner
	store *store

	mu       sync.Mutex
	learned  map[runKey]*model
	kept     int // models in memory without a batch that uses them
	failures []Failure
	progress Progress
}

// model is what is learned of a split, shared by the batches that need it.
type model struct {
	mu    sync.Mutex // held while learning
	tuner Tuner
	err   error // that no batch gets any further with

	uses  int // batches still to come or under way
	users int // batches under way
}

// make does what is to be done of a batch. Its error is one that ends the
// experiment.
func (x *execution) make(ctx context.Context, b *batch) error {
	l := x.acquire(b)
	defer x.release(l)
	tuner, err := x.learn(ctx, b, l)
	if tuner == nil {
		return err
	}
	for len(b.runs) > 0 {
		n := 1
		for n < len(b.runs) && b.runs[n].task == b.runs[0].task {
			n++
		}
		if err := x.tune(ctx, b.table, tuner, b.runs[:n]); err != nil {
			return err
		}
		b.runs = b.runs[n:]
	}
	return nil
}

// acquire returns the model of a batch.
func (x *execution) acquire(b *batch) *model {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.learned[b.key]
	if l.users == 0 && l.tuner != nil {
		x.kept--
	}
	l.users++
	return l
}

// release forgets a model that no batch needs any more, or for which there is no
// room until it is needed again.
func (x *execution) release(l *model) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l.users--
	l.uses--
	if l.users > 0 || l.tuner == nil {
		return
	}
	if l.uses == 0 || x.kept >= keptModels {
		l.tuner = nil
		return
	}
	x.kept++
}

// keptModels bounds the number of models in memory that are not in use. They take
// about 10 MB each.
const keptModels = 100

// learn returns what the method of a batch learned, nil if it could not.
func (x *execution) learn(ctx context.Context, b *batch, l *model) (Tuner, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tuner == nil && l.err == nil {
		t, err := b.method.Learn(ctx, b.training)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			l.err = err
		} else {
			x.mu.Lock()
			l.tuner = t
			x.mu.Unlock()
		}
	}
	if l.err != nil {
		if err := x.fail(ctx, b.key, len(b.runs), l.err); err != nil {
			return nil, err
		}
	}
	return l.tuner, nil
}

// tune makes the runs of a batch on one task.
func (x *execution) tune(ctx context.Context, table *tablePlan, tuner Tuner, runs []plannedRun) error {
	task := table.Task(runs[0].task)
	space, err := table.cube.WithCandidates(task.X)
	if err != nil {
		return err
	}
	start, err := tuner(ctx, space)
	for _, run := range runs {
		k := run.runKey
		var r *Record
		runErr := err
		if runErr == nil {
			r, runErr = x.run(ctx, start, task, run)
		}
		if runErr != nil {
			if err := x.fail(ctx, k, 1, runErr); err != nil {
				return err
			}
			continue
		}
		r.Space, r.Method, r.Acquisition = k.space, k.method, k.acquisition
		r.Split, r.Task, r.Repeat = k.split, k.task, k.repeat
		if err := x.store.add(r); err != nil {
			return err
		}
		x.tell(k, 1, 0)
	}
	return nil
}

// run makes one run, whose seed is the same for every method, other for every run of a method.
func (x *execution) run(ctx context.Context, start Starter, task *TableTask, r plannedRun) (*Record, error) {
	seed := rng.Stream(x.p.Seed, "run", uint64(r.split), idHash(r.task), uint64(r.repeat)).Uint64()
	opts := []cmbo.Option{cmbo.WithSeed(seed), cmbo.WithAcquisition(r.acquisition), cmbo.WithParallelism(1)}
	o, err := start(seed, opts...)
	if err != nil {
		return nil, err
	}
	return trace(ctx, task, o, x.p.initial(task, r.split, r.repeat), x.p.Budget)
}

// fail takes down that n runs are missing, unless the whole experiment is ending.
func (x *execution) fail(ctx context.Context, k runKey, n int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	x.mu.Lock()
	x.failures = append(x.failures, Failure{k.space, k.method, k.acquisition, k.split, k.task, k.repeat, err.Error()})
	x.mu.Unlock()
	x.tell(k, 0, n)
	return nil
}

// tell reports progress after so many runs that are done, or could not be made.
func (x *execution) tell(k runKey, done, failed int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.progress.Done += done
	x.progress.Failed += failed
	x.progress.Last = k.String()
	if x.Progress != nil {
		x.Progress(x.progress)
	}
}
