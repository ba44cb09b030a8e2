// Package turns shares the processors among studies, so that slow computations
// of some do not hold up quick ones of others.
//
// A computation cannot be interrupted, but the computations under way share the
// processors fairly. So it is the number of slow ones that has to be bounded, and
// quick ones must not queue behind them. A study does not say how long it takes:
// the time that its latest computation took says which queue it belongs in. One
// that turns out slow on its way changes over as soon as there is room among the
// slow, and takes one of four places for each processor until then.
//
// A study computes one thing at a time, and each queue is first come, first
// served: of n slow studies that always have a request waiting, each gets one
// turn in n.
package turns

import (
	"context"
	"sync/atomic"
	"time"
)

// quickTime is how long a quick computation takes at most.
const quickTime = 250 * time.Millisecond

// Turns are those of one process. Make them with [New].
type Turns struct {
	quick, slow, jobs chan struct{}
	quickTime         time.Duration
}

// New returns turns for so many processors.
func New(processors int) *Turns {
	return &Turns{
		quick: make(chan struct{}, 4*processors), slow: make(chan struct{}, processors),
		jobs:      make(chan struct{}, processors),
		quickTime: quickTime,
	}
}

// A Pace is what is known of a study's computations. The zero value takes the
// first for a quick one.
type Pace struct{ slow atomic.Bool }

// Suspect takes the next computation for a slow one.
func (p *Pace) Suspect() { p.slow.Store(true) }

// Run runs f, one computation of a study, when it is its turn. It returns
// ctx.Err() if ctx ends before.
func (t *Turns) Run(ctx context.Context, p *Pace, f func() error) error {
	if p.slow.Load() {
		return in(ctx, t.slow, func() error { return t.timed(p, f) })
	}
	select {
	case t.quick <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan struct{})
	defer close(done)
	go t.watch(done)
	return t.timed(p, f)
}

// timed runs f and notes its pace.
func (t *Turns) timed(p *Pace, f func() error) error {
	begin := time.Now()
	defer func() { p.slow.Store(time.Since(begin) > t.quickTime) }()
	return f()
}

// watch gives the place of a computation among the quick to the next, once the
// computation is done or has taken too long and found a place among the slow.
func (t *Turns) watch(done <-chan struct{}) {
	late := time.NewTimer(t.quickTime)
	defer late.Stop()
	select {
	case <-done:
		<-t.quick
		return
	case <-late.C:
	}
	select {
	case <-done:
		<-t.quick
	case t.slow <- struct{}{}:
		<-t.quick
		<-done
		<-t.slow
	}
}

// Job runs f, work that belongs to no study, when it is its turn. It returns
// ctx.Err() if ctx ends before.
func (t *Turns) Job(ctx context.Context, f func() error) error { return in(ctx, t.jobs, f) }

// TryJob runs f as [Turns.Job] does if there is a place for it at once, and reports whether there was.
func (t *Turns) TryJob(f func() error) (ran bool, err error) {
	select {
	case t.jobs <- struct{}{}:
		defer func() { <-t.jobs }()
		return true, f()
	default:
		return false, nil
	}
}

// in runs f in a queue.
func in(ctx context.Context, queue chan struct{}, f func() error) error {
	select {
	case queue <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-queue }()
	return f()
}

// FirstWhile is the usual length of the first of [Whiles].
const FirstWhile = 500 * time.Millisecond

// Whiles bound the parts of a computation that goes on where it was interrupted. Each is a twentieth longer than the one
// before, as what cannot be interrupted may take longer than the first.
type Whiles struct{ Next time.Duration }

// Context returns one that ends after the next of them.
func (w *Whiles) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	now := w.Next
	w.Next += now / 20
	return context.WithTimeout(ctx, now)
}
