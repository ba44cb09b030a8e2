package parallel

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// A limit below 1 is the number of processors, and nobody waits for pieces that there are not.
func TestWorkers(t *testing.T) {
	old := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(old)
	for _, tt := range [][3]int{{0, 9, 3}, {-1, 9, 3}, {0, 2, 2}, {1, 9, 1}, {2, 9, 2}, {7, 9, 7}, {7, 0, 1}, {0, 0, 1}} {
		require.Equal(t, tt[2], Workers(tt[0], tt[1]), "limit %d, %d pieces", tt[0], tt[1])
	}
}

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

// TestForAlone: one worker needs no memory.
func TestForAlone(t *testing.T) {
	sum := 0
	do := func(_, i int) error { sum += i; return nil }
	testutil.ZeroAlloc(t, func() {
		if err := For(context.Background(), 1, 3, do); err != nil {
			t.Error(err)
		}
	})
	require.Positive(t, sum)
}

func TestForStopsWhenCancelled(t *testing.T) {
	for _, limit := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		var done atomic.Int32
		err := For(ctx, limit, 1000, func(_, i int) error {
			switch n := done.Add(1); {
			case n == 5:
				cancel()
			case n > 5: // begun before the fifth came to cancel
				<-ctx.Done()
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, done.Load(), int32(5+4))
		cancel()
	}
}

// TestPanicsBecomeErrors: a panic, or the end of a goroutine, is the error of its
// piece of work, whichever goroutine it runs on, and nothing waits for it.
func TestPanicsBecomeErrors(t *testing.T) {
	cause := errors.New("cause")
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
			err := For(context.Background(), limit, 9, func(_, i int) error { return piece(i) })
			var p *Panic
			require.ErrorAs(t, err, &p, "limit %d, bad %d", limit, bad)
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
			err = For(context.Background(), limit, 9, func(_, i int) error { return piece(i) })
		}()
		require.Error(t, <-done, "limit %d", limit)
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

// Where no function on the stack is the boundary, those of the library and of the standard library are nobody else's.
func TestNothingForeign(t *testing.T) {
	var p *Panic
	func() {
		defer func() { p = Caught(recover(), "internal/parallel.none") }()
		inner()
	}()
	require.Equal(t, "inside", p.Value)
	require.False(t, p.Foreign)
}

// The standard library has the folders that tell its functions from a caller's.
func TestStandardFolders(t *testing.T) {
	out, err := exec.Command("go", "list", "std").Output()
	require.NoError(t, err)
	var folders []string
	for _, p := range strings.Fields(string(out)) {
		first, _, _ := strings.Cut(p, "/")
		folders = append(folders, first)
	}
	slices.Sort(folders)
	require.Equal(t, slices.Compact(folders), standard)
}
