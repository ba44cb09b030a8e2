// Package parallel runs independent pieces of work on a bounded number of
// goroutines such that results do not depend on that number: work is named by
// index, each index is done exactly once, and whoever needs a reduction does
// it in the order of the indices, afterwards or by Ordered.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Workers returns the number of goroutines to use for n pieces of work under a
// limit; a limit below 1 stands for GOMAXPROCS. The result is at least 1.
func Workers(limit, n int) int {
	if limit < 1 {
		limit = runtime.GOMAXPROCS(0)
	}
	return max(1, min(limit, n))
}

// For calls do(worker, i) once for every i in [0, n), on Workers(limit, n)
// goroutines, and returns when all of them have returned: none outlives the
// call. worker is in [0, Workers(limit, n)) and never in use twice at a time,
// so it may index scratch memory. Indices are taken in ascending order.
//
// The first error in the order of the indices is returned, and indices above
// it may be skipped; so is ctx.Err() once ctx is done, checked before each
// index. A panic of do counts as its error, a [*Panic]. A single worker runs on
// the calling goroutine.
func For(ctx context.Context, limit, n int, do func(worker, i int) error) (err error) {
	workers := Workers(limit, n)
	if workers == 1 {
		i := 0
		defer func() {
			if i < n && err == nil {
				err = caught(i, recover())
			}
		}()
		for ; i < n; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(0, i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next   atomic.Int64
		mu     sync.Mutex
		failed atomic.Int64 // smallest index that failed, n if none
		first  error
		wg     sync.WaitGroup
	)
	failed.Store(int64(n))
	report := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if int64(i) < failed.Load() {
			failed.Store(int64(i))
			first = err
		}
	}
	work := func(w int) {
		i, ended := 0, false
		defer func() {
			if !ended {
				report(i, caught(i, recover()))
			}
			wg.Done()
		}()
		for {
			i = int(next.Add(1) - 1)
			if i >= n || int64(i) > failed.Load() {
				break
			}
			err := ctx.Err()
			if err == nil {
				err = do(w, i)
			}
			if err != nil {
				report(i, err)
				break
			}
		}
		ended = true
	}
	for w := range workers {
		wg.Add(1)
		go work(w)
	}
	wg.Wait()
	return first
}

// A Panic is the error of a piece of work that panicked, or that ended its
// goroutine, as testing.T.FailNow does.
type Panic struct {
	Index int
	Value any    // what it panicked with, nil if it ended its goroutine
	Stack []byte // where it panicked
}

// Error says what the work panicked with, without the stack.
func (p *Panic) Error() string {
	if p.Value == nil {
		return fmt.Sprintf("piece %d ended its goroutine", p.Index)
	}
	return fmt.Sprintf("piece %d panicked: %v", p.Index, p.Value)
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// caught makes the error of a piece of work from what a deferred function
// recovered. A panic that a For within the work has caught already, and its caller
// panicked with again, keeps its stack.
func caught(i int, value any) error {
	if p, ok := value.(*Panic); ok {
		return &Panic{Index: i, Value: p.Value, Stack: p.Stack}
	}
	return &Panic{Index: i, Value: value, Stack: debug.Stack()}
}

// Slots returns the number of results that [Ordered] holds at a time: one for each
// goroutine and one more, so that it seldom has to wait for its turn.
func Slots(limit, n int) int {
	if w := Workers(limit, n); w > 1 {
		return min(w+1, n)
	}
	return 1
}

// Ordered is [For] with a reduction in the order of the indices: do(worker, slot,
// i) leaves its result in the slot, in [0, Slots(limit, n)), which nobody else uses
// until take(slot, i) has returned. take is called in ascending order, one at a
// time, by the goroutine that finished what was waited for, while others go on.
//
// The first error in the order of the indices is returned; neither do of higher
// indices nor take of it and above need be called. A panic of either counts as
// its error, a [*Panic].
func Ordered(ctx context.Context, limit, n int, do func(worker, slot, i int) error, take func(slot, i int) error) error {
	slots := Slots(limit, n)
	var (
		mu     sync.Mutex
		freed  = sync.NewCond(&mu)
		ready  = make([]int, n) // slot of a finished index, -1 before
		free   = make([]int, slots)
		next   int // index to do
		turn   int // index to take
		taking bool
		failed = n // smallest index that failed
		first  error
	)
	for i := range ready {
		ready[i] = -1
	}
	for s := range free {
		free[s] = s
	}
	fail := func(i int, err error) {
		if i < failed {
			failed, first = i, err
		}
		freed.Broadcast()
	}
	// unlocked calls f without the lock and reports whether it succeeded.
	unlocked := func(i int, f func() error) (ok bool) {
		mu.Unlock()
		var err error
		ended := false
		defer func() {
			if !ended {
				err = caught(i, recover())
			}
			mu.Lock()
			if ok = err == nil; !ok {
				fail(i, err)
			}
		}()
		err = f()
		ended = true
		return
	}
	// reduce takes what is ready.
	reduce := func() {
		for !taking && turn < failed && ready[turn] >= 0 {
			i, slot := turn, ready[turn]
			taking = true
			ok := unlocked(i, func() error { return take(slot, i) })
			taking = false
			if !ok {
				return
			}
			turn++
			free = append(free, slot)
			freed.Broadcast()
		}
	}
	work := func(worker int) {
		mu.Lock()
		defer mu.Unlock()
		for {
			for len(free) == 0 && next < failed {
				freed.Wait() // for whoever is at work on turn
			}
			if next >= failed {
				return
			}
			i, slot := next, free[len(free)-1]
			next++
			free = free[:len(free)-1]
			if unlocked(i, func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return do(worker, slot, i)
			}) {
				ready[i] = slot
				reduce()
			}
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait() // also if work ends this goroutine
	for w := 1; w < Workers(limit, n); w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			work(w)
		}()
	}
	work(0)
	wg.Wait()
	return first
}
