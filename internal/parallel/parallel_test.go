package parallel

import (
	"context"
	"errors"
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
