package cmbo_test

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How large a penalty is changes nothing: neither what is learned of tasks that hold
// it, nor what is proposed once the run has told it.
func TestPenalties(t *testing.T) {
	space, rows := grid(t, 6)
	// Two of twelve values are penalties, or one of six, or most of them.
	priorOf := func(penalty float64) *cmbo.Prior {
		tasks := family(5, 12)
		for i := range tasks {
			tasks[i].Y[i], tasks[i].Y[i+3] = penalty, 2*penalty
			if i == 1 {
				tasks[i].X, tasks[i].Y = tasks[i].X[:4], tasks[i].Y[:4]
			}
			for j := range 6 {
				if i == 2 {
					tasks[i].Y[5+j] = penalty
				}
			}
		}
		return learn(t, space, tasks)
	}
	run := func(p *cmbo.Prior, penalty float64) (asked []int) {
		o := newOptimizer(t, space, cmbo.WithPrior(p))
		f := bump([]float64{0.3, 0.35})
		for i, x := range [][]float64{rows[2], rows[20], rows[33], rows[9]} {
			y := 100 + 7*f(x)
			if i%2 == 1 {
				y = penalty
			}
			require.NoError(t, o.Observe(x, y))
		}
		for range 8 {
			trial, err := o.Ask(ctx)
			require.NoError(t, err)
			require.NoError(t, o.Tell(trial.ID, 100+7*f(trial.X)))
			asked = append(asked, trial.Index)
		}
		return asked
	}
	mild := priorOf(-1e4)
	for _, penalty := range []float64{-1e6, -1e12, -1e100} {
		other := priorOf(penalty) // which holds other values, and learned the same from them
		assert.Equal(t, mild.NoiseVariance(), other.NoiseVariance())
		assert.Equal(t, run(mild, penalty), run(other, penalty), "learned with penalties of %g", penalty)
		assert.Equal(t, run(mild, -1e4), run(mild, penalty), "told %g", penalty)
	}
	// Nor where the past has fewer values than the run, which fits lengths of its own.
	few := cmbo.WithPrior(learn(t, space, family(1, 5)))
	told := func(penalty float64) (mean, sd float64) {
		o := newOptimizer(t, space, few)
		f := bump([]float64{0.3, 0.35})
		for i, at := range []int{2, 20, 33, 9, 14, 27, 5} {
			y := 100 + 7*f(rows[at])
			if i%3 == 1 {
				y = penalty
			}
			require.NoError(t, o.Observe(rows[at], y))
		}
		mean, sd, err := o.Predict(rows[11])
		require.NoError(t, err)
		return mean, sd
	}
	wantMean, wantSD := told(-1e4)
	for _, penalty := range []float64{-1e6, -1e12, -1e100} {
		mean, sd := told(penalty)
		assert.Equal(t, wantMean, mean, "told %g", penalty)
		assert.Equal(t, wantSD, sd, "told %g", penalty)
	}
	// Beside values that are all equal, it is the past's that tell it apart.
	for _, penalty := range []float64{-1e6, -1e12} {
		o := newOptimizer(t, space, cmbo.WithPrior(mild))
		for i, x := range [][]float64{rows[2], rows[20], rows[33], rows[9]} {
			require.NoError(t, o.Observe(x, []float64{100, 100, 100, penalty}[i]))
		}
		mean, sd, err := o.Predict(rows[5])
		require.NoError(t, err)
		assert.InDelta(t, 100, mean, 10, "told %g", penalty)
		assert.Less(t, sd, 10.0, "told %g", penalty)
	}
}
