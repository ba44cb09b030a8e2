package baseline

import (
	"context"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
)

// memo keeps what was computed for the latest candidate lists, so that the runs on one list share it. It is safe for
// concurrent use: of equal lists who asks later waits for the first, of others nobody does.
type memo[T any] struct {
	mu      sync.Mutex
	entries []*memoEntry[T] // latest use last
}

const memoLists = 4

type memoEntry[T any] struct {
	x     linalg.Dense
	mu    sync.Mutex // held while value is computed
	known bool
	value T
}

// get returns compute() of the candidates x, computed before for equal ones if it is still there. Errors are not kept.
func (m *memo[T]) get(x *linalg.Dense, compute func(x *linalg.Dense) (T, error)) (T, error) {
	e := m.entry(x)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known {
		return e.value, nil
	}
	v, err := compute(&e.x)
	e.value, e.known = v, err == nil
	return v, err
}

// entry returns the one of the candidates x, a new one if there is none.
func (m *memo[T]) entry(x *linalg.Dense) *memoEntry[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := new(memoEntry[T])
	if i := slices.IndexFunc(m.entries, func(e *memoEntry[T]) bool { return points.Equal(&e.x, x) }); i >= 0 {
		e = m.entries[i]
		m.entries = slices.Delete(m.entries, i, i+1)
	} else {
		e.x.Copy(x)
	}
	m.entries = append(m.entries, e)
	m.entries = slices.Delete(m.entries, 0, max(0, len(m.entries)-memoLists))
	return e
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
