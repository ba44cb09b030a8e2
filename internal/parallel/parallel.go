// Package parallel runs independent pieces of work on a bounded number of
// goroutines such that results do not depend on that number: work is named by
// index, each index is done exactly once, and whoever needs a reduction does
// it afterwards in the order of the indices.
package parallel

import (
	"context"
	"runtime"
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
// index. A single worker runs on the calling goroutine.
func For(ctx context.Context, limit, n int, do func(worker, i int) error) error {
	workers := Workers(limit, n)
	if workers == 1 {
		for i := range n {
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
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1) - 1)
				if i >= n || int64(i) > failed.Load() {
					return
				}
				if err := ctx.Err(); err != nil {
					report(i, err)
					return
				}
				if err := do(w, i); err != nil {
					report(i, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	return first
}
