package web

import (
	"context"
	"slices"
	"sync"
)

// room is memory for bodies in flight. Requests get it in the order in which they
// ask for it.
type room struct {
	mu      sync.Mutex
	free    int64
	waiting []*guest
}

type guest struct {
	n     int64
	ready chan struct{}
}

// enter waits until there is room for n bytes, which must not be more than there
// is in all.
func (r *room) enter(ctx context.Context, n int64) error {
	r.mu.Lock()
	if len(r.waiting) == 0 && r.free >= n {
		r.free -= n
		r.mu.Unlock()
		return nil
	}
	g := &guest{n: n, ready: make(chan struct{})}
	r.waiting = append(r.waiting, g)
	r.mu.Unlock()
	select {
	case <-g.ready:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-g.ready: // it came at the same time
		r.free += n
	default:
		r.waiting = slices.DeleteFunc(r.waiting, func(w *guest) bool { return w == g })
	}
	r.admit() // those behind one that left may fit
	return ctx.Err()
}

// leave gives n bytes back.
func (r *room) leave(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	r.admit()
}

// admit lets the first in the queue in while there is room. The lock is held.
func (r *room) admit() {
	for len(r.waiting) > 0 && r.waiting[0].n <= r.free {
		g := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.free -= g.n
		close(g.ready)
	}
}
