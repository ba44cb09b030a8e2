package bench

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
)

// execution is one call of Experiment.Run.
type execution struct {
	*Experiment
	*planner
	store *store
	start time.Time

	mu       sync.Mutex
	latest   int   // the last repeat begun
	stop     int   // the first one that is not to be made
	open     []int // by repeat: batches still to be made
	learned  map[runKey]*model
	kept     int // models in memory without a batch that uses them
	failures []Failure
	progress *estimate
}

// model is what is learned of a split, shared by the batches that need it.
type model struct {
	mu      sync.Mutex // held while learning
	tuner   Tuner
	err     error // that no batch gets any further with
	seconds float64

	uses  int // batches still to come or under way
	users int // batches under way
}

func (x *execution) now() time.Time {
	if x.Clock == nil {
		return time.Time{}
	}
	return x.Clock()
}

// begins reports whether a repeat is to be made. It says the same of a repeat
// however often it is asked, so none is left in the middle.
func (x *execution) begins(repeat int) bool {
	now := x.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if repeat >= x.stop {
		return false
	}
	if repeat > x.latest {
		if x.latest >= 0 && x.Limit > 0 && now.Sub(x.start) > x.Limit {
			x.stop = repeat
			return false
		}
		x.latest = repeat
	}
	return true
}

// make does what is to be done of a batch. Its error is one that ends the
// experiment.
func (x *execution) make(ctx context.Context, b *batch) error {
	if !x.begins(b.repeat) {
		return nil
	}
	if err := x.makeBatch(ctx, b); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open[b.repeat]--
	return nil
}

func (x *execution) makeBatch(ctx context.Context, b *batch) error {
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
	if l.uses == 0 || x.kept >= x.keep() {
		l.tuner = nil
		return
	}
	x.kept++
}

// keep bounds the number of models in memory that are not in use. They take
// about 10 MB each.
func (e *Experiment) keep() int {
	if e.Keep == 0 {
		return 100
	}
	return max(e.Keep, 0)
}

// learn returns what the methods of a batch learned, nil if they could not.
func (x *execution) learn(ctx context.Context, b *batch, l *model) (Tuner, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tuner == nil && l.err == nil {
		began := x.now()
		t, err := b.methods[0].Learn(ctx, b.training)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			l.err = err
		} else {
			x.mu.Lock()
			l.tuner = t
			x.mu.Unlock()
			l.seconds = x.since(began)
			x.finished(b.key, l.seconds)
		}
	}
	for _, m := range b.methods {
		var err error
		if l.err == nil {
			err = x.keepTime(b.of(m), l.seconds, 0)
		} else {
			lost := 0
			for _, r := range b.runs {
				if r.method == m {
					lost++
				}
			}
			err = x.fail(ctx, b.of(m), lost, l.err)
		}
		if err != nil {
			return nil, err
		}
	}
	return l.tuner, nil
}

// tune makes the runs of a batch on one task. Each is reckoned to take the time
// of preparing for the task besides its own.
func (x *execution) tune(ctx context.Context, table *tablePlan, tuner Tuner, runs []plannedRun) error {
	task := table.Task(runs[0].task)
	space, err := table.cube.WithCandidates(task.X)
	if err != nil {
		return err
	}
	began := x.now()
	start, err := tuner.Prepare(ctx, space)
	prepared := x.since(began)
	for _, run := range runs {
		k := run.runKey
		began := x.now()
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
		seconds := x.since(began)
		r.Space, r.Method, r.Acquisition = k.space, k.method, k.acquisition
		r.Split, r.Task, r.Repeat = k.split, k.task, k.repeat
		if err := x.store.addRecord(r); err != nil {
			return err
		}
		if err := x.keepTime(k, prepared+seconds, len(r.Regret)-1); err != nil {
			return err
		}
		x.finished(k, seconds)
		x.tell(k, 0)
	}
	return nil
}

// run makes one run.
func (x *execution) run(ctx context.Context, start Starter, task *TableTask, r plannedRun) (*Record, error) {
	seed := x.p.runSeed(r.runKey)
	opts := []cmbo.Option{cmbo.WithSeed(seed), cmbo.WithAcquisition(r.acquisition), cmbo.WithParallelism(1)}
	o, err := start(seed, append(opts, r.method.Options...)...)
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
	x.tell(k, n)
	return nil
}

// since returns the seconds since a time, to the microsecond; 0 without a clock.
func (x *execution) since(began time.Time) float64 {
	return math.Round(x.now().Sub(began).Seconds()*1e6) / 1e6
}

// keepTime writes down how long a run took, or what was learned for runs.
func (x *execution) keepTime(k runKey, seconds float64, queries int) error {
	if x.Clock == nil {
		return nil
	}
	seconds = math.Round(seconds*1e6) / 1e6
	return x.store.addTiming(&Timing{
		Space: k.space, Method: k.method, Acquisition: k.acquisition, Split: k.split,
		Task: k.task, Repeat: k.repeat, Seconds: seconds, Queries: queries,
	})
}

func (x *execution) finished(k runKey, seconds float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.progress.finished(k, seconds)
}

// tell reports progress after n failed runs.
func (x *execution) tell(k runKey, failed int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.progress.failed += failed
	if x.Progress != nil {
		x.Progress(x.progress.at(k, x.now().Sub(x.start)))
	}
}
