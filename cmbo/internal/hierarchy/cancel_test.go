package hierarchy

import (
	"context"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// ending is a context that is done once it was asked so many times.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelled: a run whose Fit ended wherever it may is, once it is told the same again, the one that was told at once,
// and a search for lengths goes on where it ended.
func TestCancelled(t *testing.T) {
	r := rng.Stream(1, t.Name())
	grid, x, pending, at := uniform(r, 30, 2), uniform(r, 12, 2), uniform(r, 2, 2), uniform(r, 4, 2)
	y := make([]float64, 12)
	for i := range y {
		y[i] = family(r, x.Row(i), 1)
	}
	for tasks, given := range map[int][]float64{1: nil, 2: nil, 3: append(make([]float64, 11), 0.01)} { // one is outgrown
		s := testSettings(2)
		s.OwnFrom = [2]int{10, 10}
		m := learn(t, makeTasks(3, tasks, 9, 2, 0, 1), grid, s)
		tell := func(ctx context.Context, run *Run, n int, given []float64, pending *linalg.Dense) error {
			head := x.View(0, 0, n, 2)
			return run.Fit(ctx, &head, y[:n], given, pending)
		}
		predict := func(run *Run) [2][]float64 {
			out := [2][]float64{make([]float64, 4), make([]float64, 4)}
			require.NoError(t, run.Predict(ctx, out[0], out[1], at))
			return out
		}
		once := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, tell(ctx, once, 12, given, pending))
		want, over, ended, whole := predict(once), predict(once), 0, 0
		require.NoError(t, once.Predict(ctx, over[0], over[1], at))
		require.Equal(t, want, over, "written over other numbers")
		for ; ; whole += 1 + whole/9 {
			run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
			require.NoError(t, tell(ctx, run, 7, nil, pending))
			predict(run)
			if tell(&ending{ctx, whole}, run, 12, given, pending) == nil {
				break
			}
			ended++
			require.NoError(t, tell(ctx, run, 12, given, pending))
			require.Equal(t, want, predict(run), "%d tasks, ended after %d", tasks, whole)
		}
		require.Greater(t, ended, 3)
		run := NewRun(m, s, math.NaN(), 1, nil, nil)
		for tries := 0; given == nil && tell(&ending{ctx, whole / 2}, run, 12, nil, pending) != nil; tries++ {
			require.Less(t, tries, 9, "%d tasks: what a search looked at it looks at again", tasks)
		}
		require.NoError(t, tell(ctx, run, 12, given, pending))
		require.Equal(t, want, predict(run))
	}
}
