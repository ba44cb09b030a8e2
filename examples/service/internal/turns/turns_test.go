package turns

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// short returns turns of one processor whose quick computations take so long.
func short(quick time.Duration) *Turns {
	t := New(1)
	t.quickTime = quick
	return t
}

// However many studies compute for ever, a study that is quick gets its turn.
func TestSlowDoNotHoldUpQuick(t *testing.T) {
	turns := short(time.Millisecond)
	end := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 { // one less than there are places for the quick
		p := new(Pace)
		began := make(chan struct{})
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = turns.Run(t.Context(), p, func() error { close(began); <-end; return nil })
		}()
		<-began
	}
	for range 50 { // these are known to be slow
		p := new(Pace)
		p.slow.Store(true)
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = turns.Run(t.Context(), p, func() error { <-end; return nil })
		}()
	}
	quick := new(Pace)
	for range 100 {
		if err := turns.Run(t.Context(), quick, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	close(end)
	wg.Wait()
	wait(t, func() bool { return len(turns.quick) == 0 && len(turns.slow) == 0 })
}

// wait waits until something holds.
func wait(t *testing.T, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it never happens")
}

// Of the slow, no more compute at once than there are processors, and each gets
// its turn before any gets a second.
func TestSlowShareFairly(t *testing.T) {
	const studies, rounds = 6, 5
	turns := short(-1) // everything is slow
	var at, most atomic.Int32
	var mu sync.Mutex
	count := make([]int, studies)
	ready := make(chan struct{})
	var wg sync.WaitGroup
	for i := range studies {
		p := new(Pace)
		p.slow.Store(true)
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-ready
			for range rounds {
				_ = turns.Run(t.Context(), p, func() error {
					most.Store(max(most.Load(), at.Add(1)))
					time.Sleep(5 * time.Millisecond)
					mu.Lock()
					count[i]++
					for k := range count {
						if count[k] > 0 && count[i] > count[k]+1 {
							t.Errorf("a study is ahead of its share: %v", count)
						}
					}
					mu.Unlock()
					at.Add(-1)
					return nil
				})
			}
		}()
	}
	close(ready)
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at once", most.Load())
	}
}

// A study is quick again once it was, and one that waits leaves with its context.
func TestPace(t *testing.T) {
	turns := short(5 * time.Millisecond)
	p := new(Pace)
	p.Suspect()
	if !p.slow.Load() {
		t.Error("not suspected")
	}
	fail := errors.New("failed")
	if err := turns.Run(t.Context(), p, func() error { time.Sleep(10 * time.Millisecond); return fail }); err != fail || !p.slow.Load() {
		t.Errorf("%v, slow %v", err, p.slow.Load())
	}
	if err := turns.Run(t.Context(), p, func() error { return nil }); err != nil || p.slow.Load() {
		t.Errorf("%v, slow %v", err, p.slow.Load())
	}
	p.slow.Store(true)
	end, began := make(chan struct{}), make(chan struct{})
	go func() {
		other := new(Pace)
		other.slow.Store(true)
		_ = turns.Run(context.Background(), other, func() error { close(began); <-end; return nil })
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := turns.Run(ctx, p, func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(end)
}
