package web

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Many bodies that grow in steps never have more than there is, and all become as
// large as they want.
func TestRoom(t *testing.T) {
	const total = 1000
	r := &room{free: total}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			most := 1 + rng.Int64N(total)
			g := r.enter(most)
			defer g.leave()
			for have := int64(0); have < most; {
				n := 1 + rng.Int64N(most-have)
				if err := g.take(ctx, n); err != nil {
					t.Errorf("a body of %d has %d: %v", most, have, err)
					return
				}
				have += n
				if used := r.used(); used > total {
					t.Errorf("%d of %d are used", used, total)
				}
			}
			g.whole()
		}()
	}
	wg.Wait()
	if r.free != total || len(r.guests) != 0 {
		t.Errorf("%d are free, %d bodies are in", r.free, len(r.guests))
	}
}

// Room is not given where two bodies would then wait for each other.
func TestRoomIsSafe(t *testing.T) {
	r := &room{free: 100}
	a, b := r.enter(80), r.enter(80)
	for _, g := range []*guest{a, b} {
		if err := g.take(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
	}
	// 60 are free: both could take 30, and neither the 30 more that it may need.
	if err := a.take(t.Context(), 30); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.take(ctx, 30); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second body got room: %v", err)
	}
	if err := a.take(t.Context(), 30); err != nil {
		t.Fatal(err)
	}
	a.leave()
	if err := b.take(t.Context(), 60); err != nil {
		t.Fatal(err)
	}
	b.leave()
	if r.free != 100 {
		t.Errorf("%d are free", r.free)
	}
}
