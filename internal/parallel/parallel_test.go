package parallel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForVisitsEachIndexOnce(t *testing.T) {
	for _, limit := range []int{1, 2, 7} {
		for _, n := range []int{0, 1, 2, 1000} {
			hits := make([]atomic.Int32, n)
			busy := make([]atomic.Int32, Workers(limit, n))
			err := For(context.Background(), limit, n, func(w, i int) error {
				if busy[w].Add(1) != 1 {
					t.Errorf("worker %d is in use twice", w)
				}
				hits[i].Add(1)
				busy[w].Add(-1)
				return nil
			})
			require.NoError(t, err)
			for i := range hits {
				require.EqualValues(t, 1, hits[i].Load(), "limit %d, index %d of %d", limit, i, n)
			}
		}
	}
}

func TestForReturnsFirstErrorByIndex(t *testing.T) {
	for _, limit := range []int{1, 4} {
		bad := func(i int) error { return errors.New(string(rune('a' + i))) }
		err := For(context.Background(), limit, 26, func(_, i int) error {
			if i >= 3 {
				return bad(i)
			}
			return nil
		})
		require.EqualError(t, err, "d")
	}
}

func TestForStopsWhenCancelled(t *testing.T) {
	for _, limit := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		var done atomic.Int32
		err := For(ctx, limit, 1000, func(_, i int) error {
			if done.Add(1) == 5 {
				cancel()
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, done.Load(), int32(5+4))
		cancel()
	}
}

// TestOrdered: each index is done once and taken once, in order, from the slot that
// its work was done in, which nobody touched in between.
func TestOrdered(t *testing.T) {
	for _, limit := range []int{1, 2, 7} {
		for _, n := range []int{0, 1, 2, 3, 500} {
			slots := make([]atomic.Int64, Slots(limit, n))
			busy := make([]atomic.Int32, Workers(limit, n))
			var taking atomic.Int32
			taken := 0
			err := Ordered(context.Background(), limit, n, func(w, slot, i int) error {
				if busy[w].Add(1) != 1 {
					t.Errorf("worker %d is in use twice", w)
				}
				if slots[slot].Swap(int64(i+1)) != 0 {
					t.Errorf("slot %d is in use", slot)
				}
				if i%7 == 0 {
					runtime.Gosched()
				}
				busy[w].Add(-1)
				return nil
			}, func(slot, i int) error {
				if taking.Add(1) != 1 {
					t.Errorf("%d is taken while another one is", i)
				}
				for range i % 5 {
					runtime.Gosched() // let others finish meanwhile
				}
				defer taking.Add(-1)
				if slots[slot].Swap(0) != int64(i+1) || i != taken {
					t.Errorf("limit %d: %d is taken from slot %d after %d", limit, i, slot, taken)
				}
				taken++
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, n, taken, "limit %d", limit)
		}
	}
}

func TestOrderedReturnsFirstErrorByIndex(t *testing.T) {
	for _, limit := range []int{1, 2, 4} {
		for doFails := range 8 {
			for takeFails := range 8 {
				taken := 0
				err := Ordered(context.Background(), limit, 26, func(_, _, i int) error {
					for range 10 * (4 - i%4) {
						runtime.Gosched() // later ones end earlier
					}
					if i >= doFails {
						return fmt.Errorf("do %d", i)
					}
					return nil
				}, func(_, i int) error {
					if i >= takeFails {
						return fmt.Errorf("take %d", i)
					}
					taken++
					return nil
				})
				want := fmt.Sprintf("do %d", doFails)
				if takeFails < doFails {
					want = fmt.Sprintf("take %d", takeFails)
				}
				require.EqualError(t, err, want)
				require.Equal(t, min(doFails, takeFails), taken)
			}
		}
	}
}

func TestOrderedStopsWhenCancelled(t *testing.T) {
	for _, limit := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		var done atomic.Int32
		err := Ordered(ctx, limit, 1000, func(_, _, i int) error {
			if done.Add(1) == 5 {
				cancel()
			}
			return nil
		}, func(_, _ int) error { return nil })
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, done.Load(), int32(5+4))
		cancel()
	}
}

// TestPanicsBecomeErrors: a panic, or the end of a goroutine, is the error of its
// piece of work, whichever goroutine it runs on, and nothing waits for it.
func TestPanicsBecomeErrors(t *testing.T) {
	cause := errors.New("cause")
	ways := map[string]func(limit, n int, do, take func(i int) error) error{
		"For": func(limit, n int, do, _ func(i int) error) error {
			return For(context.Background(), limit, n, func(_, i int) error { return do(i) })
		},
		"Ordered": func(limit, n int, do, _ func(i int) error) error {
			return Ordered(context.Background(), limit, n, func(_, _, i int) error { return do(i) }, func(_, _ int) error { return nil })
		},
		"Ordered, take": func(limit, n int, _, take func(i int) error) error {
			return Ordered(context.Background(), limit, n, func(_, _, _ int) error { return nil }, func(_, i int) error { return take(i) })
		},
	}
	for name, way := range ways {
		for _, limit := range []int{1, 2, 7} {
			for bad := range 9 {
				calls := atomic.Int32{}
				piece := func(i int) error {
					calls.Add(1)
					if i >= bad {
						panic(fmt.Errorf("%d: %w", i, cause))
					}
					return nil
				}
				err := way(limit, 9, piece, piece)
				var p *Panic
				require.ErrorAs(t, err, &p, "%s, limit %d, bad %d", name, limit, bad)
				require.Equal(t, bad, p.Index)
				require.ErrorIs(t, err, cause)
				require.Contains(t, string(p.Stack), "TestPanicsBecomeErrors")
				require.EqualError(t, err, fmt.Sprintf("piece %d panicked: %d: cause", bad, bad))
				require.Positive(t, calls.Load())
			}
			if limit == 1 {
				continue
			}
			// The goroutine of the caller may end too, so another one calls.
			done := make(chan error, 1)
			go func() {
				err := errors.New("the calling goroutine ended")
				defer func() { done <- err }()
				piece := func(i int) error {
					if i == 3 {
						runtime.Goexit()
					}
					return nil
				}
				err = way(limit, 9, piece, piece)
			}()
			require.Error(t, <-done, "%s, limit %d", name, limit)
		}
	}
	// A panic that is passed on keeps the stack of where it began.
	err := For(context.Background(), 2, 4, func(_, i int) error {
		panic(For(context.Background(), 2, 2, func(_, _ int) error { inner(); return nil }))
	})
	var p *Panic
	require.ErrorAs(t, err, &p)
	require.Equal(t, 0, p.Index)
	require.Equal(t, "inside", p.Value)
	require.Contains(t, string(p.Stack), "parallel.inner")
}

//go:noinline
func inner() { panic("inside") }
