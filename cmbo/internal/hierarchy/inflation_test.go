package hierarchy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
)

// hills are tasks with one hill in common, from whose foot on each adds to the values what
// its own draws say: the cube of a normal number times rough, for each region of the foot.
func hills(k int, rough float64) (tasks []Task) {
	for i := range k {
		r := rng.Stream(11, "hill", uint64(i))
		x := uniform(r, 48, 2)
		region := make([]float64, 4)
		for j := range region {
			v := r.NormFloat64()
			region[j] = rough * v * v * v
		}
		y := make([]float64, 48)
		for j := range y {
			p := x.Row(j)
			y[j] = math.Exp(-8*((p[0]-0.5)*(p[0]-0.5)+(p[1]-0.5)*(p[1]-0.5))) + 0.01*r.NormFloat64()
			if y[j] < 0.5 {
				foot := region[int(2*p[0])+2*int(2*p[1])]
				y[j] += (0.5 - y[j]) * (foot - 1)
			}
		}
		tasks = append(tasks, scaled(fmt.Sprintf("hill %02d", i), x, y))
	}
	return tasks
}

// TestInflation: as many low values as an inflated interval is to hold are in those of runs that
// are begun by hand, on the best third of each task; where tasks differ by normal numbers nothing
// is inflated much, where they differ by cubes of these it is.
func TestInflation(t *testing.T) {
	ctx := context.Background()
	o := testSettings(2)
	o.Compress = true
	at := make(map[float64]float64)
	for _, rough := range []float64{0, 0.5} {
		tasks := hills(24, rough)
		m := learn(t, tasks, uniform(rng.Stream(12, "grid"), 60, 2), o)
		require.NoError(t, m.Inflate(ctx))
		at[rough] = m.inflation
		var errs []float64
		for _, task := range tasks {
			order, y := make([]int, 48), make([]float64, 48)
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(task.Z[b], task.Z[a]) })
			for i, k := range order {
				y[i] = task.Shift + task.Scale*task.Z[k]
			}
			told, other, rest := order[:16], order[16:], y[16:]
			y = y[:16]
			s := o
			s.Whole = true
			r := NewRun(m, s, math.NaN(), 1, nil, nil)
			require.NoError(t, r.Fit(ctx, points.Pick(task.X, told), y, nil, nil))
			mean, sd := make([]float64, len(rest)), make([]float64, len(rest))
			require.NoError(t, r.Predict(ctx, mean, sd, points.Pick(task.X, other)))
			for i, v := range mean {
				if v < m.lowOf(y, make([]float64, len(y))).Knee {
					errs = append(errs, math.Abs(rest[i]-v)/math.Hypot(sd[i], math.Sqrt(r.NoiseVariance())))
				}
			}
		}
		slices.Sort(errs)
		require.Greater(t, len(errs), 100)
		held, _ := slices.BinarySearch(errs, m.inflation*special.Z90)
		t.Logf("roughness %g: inflation %.3f, %d of %d low values held", rough, m.inflation, held, len(errs))
		if m.inflation > 1 {
			require.InDelta(t, 0.9*float64(len(errs)), held, 1)
		} else {
			require.Greater(t, float64(held), 0.89*float64(len(errs)))
		}
	}
	require.Less(t, at[0], 1.3)
	require.Greater(t, at[0.5], 1.35)
}

// TestInflated: deviations are inflated from the knee on, by half of the way half of Near below it.
func TestInflated(t *testing.T) {
	o := testSettings(2)
	o.Compress = true
	m := learn(t, hills(6, 0.5), uniform(rng.Stream(12, "grid"), 30, 2), o)
	m.inflation = 3
	r := NewRun(m, o, math.NaN(), 1, nil, nil)
	require.Equal(t, 2.0, r.Inflated(-100, 2), "before the first value")
	x := uniform(rng.Stream(13, "told"), 3, 2)
	require.NoError(t, r.Fit(context.Background(), x, []float64{1, 0.8, 0.2}, nil, nil))
	knee, near := r.low.Knee, r.low.Near
	for below, want := range map[float64]float64{-5: 2, 0: 2, 0.5: 4, 1: 6, 7: 6} {
		require.InDelta(t, want, r.Inflated(knee-below*near, 2), 1e-12, below)
	}
}
