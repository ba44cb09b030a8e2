package hierarchy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
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
// is inflated much, where they differ by cubes of these it is. Of the values as they were told, a
// fifth of the low ones eight deviations lower than the model sees them, as many lie above the lower
// ends as of those would without; penalties are not asked for.
func TestInflation(t *testing.T) {
	ctx := context.Background()
	o := testSettings(2)
	o.Compress = true
	at := make(map[float64]float64)
	for _, rough := range []float64{0, 0.5} {
		tasks := hills(24, rough)
		m := learn(t, tasks, uniform(rng.Stream(12, "grid"), 60, 2), o)
		told := make(map[string][]float64)
		for i, task := range tasks {
			r := rng.Stream(13, "told", uint64(i))
			for _, z := range task.Z {
				if u := r.Float64(); z < -0.5 && u < 0.3 {
					z -= 8
				} else if z < -0.5 && u < 0.35 {
					z -= 1e6
				}
				told[task.ID] = append(told[task.ID], task.Shift+task.Scale*z)
			}
		}
		require.NoError(t, m.Inflate(ctx, told))
		at[rough] = m.inflation
		var errs []float64
		asked, above, seen := 0, 0, 0
		for _, task := range tasks {
			order, y := make([]int, 48), make([]float64, 48)
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(task.Z[b], task.Z[a]) })
			for i, k := range order {
				y[i] = task.Shift + task.Scale*task.Z[k]
			}
			best, other, rest := order[:16], order[16:], y[16:]
			y = y[:16]
			s := o
			s.Whole = true
			r := NewRun(m, s, math.NaN(), 1, nil, nil)
			require.NoError(t, r.Fit(ctx, points.Pick(task.X, best), y, nil, nil))
			mean, sd := make([]float64, len(rest)), make([]float64, len(rest))
			require.NoError(t, r.Predict(ctx, mean, sd, points.Pick(task.X, other)))
			r.low = m.lowOf(y, make([]float64, len(y)))
			for i, v0 := range mean {
				if v0 < r.low.Knee {
					s := math.Hypot(sd[i], math.Sqrt(r.NoiseVariance()))
					errs = append(errs, math.Abs(rest[i]-v0)/s)
					low, high := r.Ends(v0, s)
					require.Less(t, low, high)
					if v := told[task.ID][other[i]]; v > r.low.Knee-scaling.MaxReach*r.low.Near {
						asked++
						if v > low {
							above++
						}
						if rest[i] > v0-special.Z90*m.inflated((v0-r.low.Knee)/r.low.Near, s) {
							seen++
						}
					}
				}
			}
		}
		slices.Sort(errs)
		require.Greater(t, len(errs), 100)
		held, _ := slices.BinarySearch(errs, m.inflation*special.Z90)
		t.Logf("roughness %g: inflation %.3f, %d of %d low values held; reach %.3f, %d and %d of %d above",
			rough, m.inflation, held, len(errs), m.reach, above, seen, asked)
		if m.inflation > 1 {
			require.InDelta(t, 0.9*float64(len(errs)), held, 1)
		} else {
			require.Greater(t, float64(held), 0.89*float64(len(errs)))
		}
		require.Greater(t, m.reach, 0.5)
		require.InDelta(t, seen, above, 1)
		var e codec.Encoder
		require.NoError(t, m.Encode(&e))
		d := codec.Decoder{Buf: e.Buf, Ctx: ctx, Limits: codec.Limits{Tasks: 24, TaskRows: 48, TotalRows: 24 * 48, Points: 60, Entries: 1 << 20}}
		back, err := Decode(&d, 2, o)
		require.NoError(t, err)
		require.NoError(t, d.Err)
		require.Equal(t, []float64{m.inflation, m.reach}, []float64{back.inflation, back.reach})
		require.Less(t, asked, len(errs))
	}
	require.Less(t, at[0], 1.3)
	require.Greater(t, at[0.5], 1.35)
}

// TestEnds: deviations are inflated from the knee on, by half of the way half of Near below it, and
// lower ends are lower by the reach, by half of it half of the way to where values are raised.
func TestEnds(t *testing.T) {
	o := testSettings(2)
	o.Compress = true
	m := learn(t, hills(6, 0.5), uniform(rng.Stream(12, "grid"), 30, 2), o)
	m.inflation, m.reach = 3, 5
	r := NewRun(m, o, math.NaN(), 1, nil, nil)
	low, high := r.Ends(-100, 2)
	require.Equal(t, []float64{-100 - 2*special.Z90, -100 + 2*special.Z90}, []float64{low, high}, "before the first value")
	x := uniform(rng.Stream(13, "told"), 3, 2)
	require.NoError(t, r.Fit(context.Background(), x, []float64{1, 0.8, 0.2}, nil, nil))
	knee, near := r.low.Knee, r.low.Near
	raised := math.Log(4) // below the knee, in Near, of 3 widths below the best value
	for _, tt := range []struct{ mean, sd, inflated, reach float64 }{
		{5, 0.1, 0.1, 0},
		{0, 0.1, 0.1, 5 * special.Z90 * 0.1 / raised},
		{-0.5, 0.1, 0.2, 5 * (0.5 + special.Z90*0.2) / raised},
		{-0.5 * raised, 1e-9, 1e-9 * (1 + raised), 2.5},
		{-1, 0.1, 0.3, 5},
		{-7, 0.1, 0.3, 5},
	} {
		low, high := r.Ends(knee+tt.mean*near, tt.sd*near)
		require.InDelta(t, r.Back(knee+(tt.mean-special.Z90*tt.inflated)*near)-tt.reach*near, low, 1e-6*near, tt)
		require.InDelta(t, r.Back(knee+(tt.mean+special.Z90*tt.inflated)*near), high, 1e-12*near, tt)
	}
}
