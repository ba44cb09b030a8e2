package study

import (
	"context"
	"slices"
	"sync"
)

// A lock is held by one at a time. Those who wait get it in the order in which they came: it is handed over, so that
// nobody takes it before them, not even the one who has just let go of it. Requests take it, and so does work aside, whose
// result nobody waits for, and which learns when a request waits. The zero value is a lock that nobody holds.
type lock struct {
	mu    sync.Mutex
	held  bool // it is if anybody waits
	queue []waiter
	yield func() // tells the holder, work aside, that a request waits; nil if it need not know
}

type waiter struct {
	turn  chan struct{} // closed when the lock is handed over
	aside bool          // the holder need not know of it
}

// take waits for the lock, for a request: work aside that holds it learns of that. It returns ctx.Err() if ctx ends before.
func (l *lock) take(ctx context.Context) error { return l.wait(ctx, false) }

// takeAside waits for the lock likewise, for work aside.
func (l *lock) takeAside(ctx context.Context) error { return l.wait(ctx, true) }

func (l *lock) wait(ctx context.Context, aside bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.queue = append(l.queue, waiter{turn, aside})
	l.tell() // now that it is in the queue, lest the holder lets go of the lock and takes it again before
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.queue, func(w waiter) bool { return w.turn == turn }); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	} else { // it was handed over just now
		l.next()
	}
	return ctx.Err()
}

// try takes the lock if nobody holds it, and so nobody waits for it.
func (l *lock) try() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

// yieldBy has end called, which must not use the lock, once as soon as a request waits: at once if one does. The caller
// holds the lock; end is forgotten when it lets go of it.
func (l *lock) yieldBy(end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.yield = end
	l.tell()
}

// tell tells the holder if a request waits. The caller has mu.
func (l *lock) tell() {
	if l.yield != nil && slices.ContainsFunc(l.queue, func(w waiter) bool { return !w.aside }) {
		l.yield()
		l.yield = nil
	}
}

// release lets go of the lock.
func (l *lock) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

// next hands the lock to who waits longest. The caller has mu.
func (l *lock) next() {
	l.yield = nil
	if l.held = len(l.queue) > 0; l.held {
		close(l.queue[0].turn)
		l.queue = slices.Delete(l.queue, 0, 1)
	}
}
