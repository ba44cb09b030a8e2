package baseline

import (
	"context"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// memo keeps what was computed for the latest candidate lists, so that the runs
// on one list share it. It is safe for concurrent use, and computes one thing at a time.
type memo[T any] struct {
	mu      sync.Mutex
	entries []memoEntry[T] // latest use last
}

// memoLists bounds the number of lists kept.
const memoLists = 4

type memoEntry[T any] struct {
	x     *linalg.Dense
	value T
}

// get returns compute() of the candidates x, computed before for equal ones if
// it is still there. Errors are not kept.
func (m *memo[T]) get(x *linalg.Dense, compute func(x *linalg.Dense) (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.entries, func(e memoEntry[T]) bool { return points.Equal(e.x, x) })
	if i >= 0 {
		e := m.entries[i]
		m.entries = append(slices.Delete(m.entries, i, i+1), e)
		return e.value, nil
	}
	own := new(linalg.Dense)
	own.Copy(x)
	v, err := compute(own)
	if err != nil {
		return v, err
	}
	if len(m.entries) == memoLists {
		m.entries = slices.Delete(m.entries, 0, 1)
	}
	m.entries = append(m.entries, memoEntry[T]{own, v})
	return v, nil
}

// kept is a run's access to what is computed of lists of points: of the candidates that were
// bound once, for all runs on them.
type kept[T any] struct {
	lists   *memo[T]
	compute func(ctx context.Context, x *linalg.Dense) (T, error)
	cand    *linalg.Dense // bound candidates, nil in a parameter space
	bound   T
}

// Bind computes it of the candidates.
func (k *kept[T]) Bind(ctx context.Context, candidates *linalg.Dense) error {
	v, err := k.lists.get(candidates, func(x *linalg.Dense) (T, error) { return k.compute(ctx, x) })
	if err == nil {
		k.cand, k.bound = candidates, v
	}
	return err
}

// of returns what is computed of the rows of x, which is shared and must not be changed.
func (k *kept[T]) of(ctx context.Context, x *linalg.Dense) (T, error) {
	if k.cand != nil && x == k.cand {
		return k.bound, nil
	}
	return k.compute(ctx, x)
}
