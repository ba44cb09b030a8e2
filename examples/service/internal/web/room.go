package web

import (
	"context"
	"slices"
	"sync"
)

// room is memory for bodies in flight. A body takes it as its bytes arrive, so that
// a client that announces much and sends nothing holds none.
//
// Bodies that each hold a part and wait for the rest could wait for each other for
// good. So room is only given as long as there is an order in which all of them can
// still become as large as they may (the banker's algorithm: E. W. Dijkstra, EWD 108).
type room struct {
	mu     sync.Mutex
	free   int64
	guests []*guest // in the order in which they came
}

// A guest is a body that may have room.
type guest struct {
	room  *room
	have  int64
	most  int64 // it ever has
	wants int64 // besides, 0 if it does not wait
	ready chan struct{}
}

// enter lets a body of at most so many bytes in, which must not be more than there
// are in all. It waits for nothing.
func (r *room) enter(most int64) *guest {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := &guest{room: r, most: most}
	r.guests = append(r.guests, g)
	return g
}

// take waits for n more bytes.
func (g *guest) take(ctx context.Context, n int64) error {
	r := g.room
	r.mu.Lock()
	g.wants, g.ready = n, make(chan struct{})
	r.admit()
	r.mu.Unlock()
	select {
	case <-g.ready:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g.wants = 0 // what came at the same time is given back with the rest
	return ctx.Err()
}

// whole says that the body takes no more.
func (g *guest) whole() {
	g.room.mu.Lock()
	defer g.room.mu.Unlock()
	g.most = g.have
	g.room.admit()
}

// leave gives everything back.
func (g *guest) leave() {
	r := g.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += g.have
	r.guests = slices.DeleteFunc(r.guests, func(o *guest) bool { return o == g })
	r.admit()
}

// admit gives room to those that wait, the first to come first. The lock is held.
func (r *room) admit() {
	for _, g := range r.guests {
		n := g.wants
		if n == 0 || n > r.free {
			continue
		}
		g.have += n
		r.free -= n
		if !r.safe() {
			g.have -= n
			r.free += n
			continue
		}
		g.wants = 0
		close(g.ready)
	}
}

// safe reports whether all that have room can become as large as they may, one after
// the other.
func (r *room) safe() bool {
	holders := slices.DeleteFunc(slices.Clone(r.guests), func(g *guest) bool { return g.have == 0 })
	slices.SortFunc(holders, func(a, b *guest) int { return int((a.most - a.have) - (b.most - b.have)) })
	free := r.free
	for _, g := range holders {
		if g.most-g.have > free {
			return false
		}
		free += g.have
	}
	return true
}

// used returns the bytes that bodies have.
func (r *room) used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var n int64
	for _, g := range r.guests {
		n += g.have
	}
	return n
}
