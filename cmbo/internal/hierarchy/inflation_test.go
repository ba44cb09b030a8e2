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
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
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

// TestInflation: of runs that are begun by hand on the best third of each task, low values lie as many
// times as far below the knee as they are predicted as least squares say, and as many as an inflated
// interval is to hold are in those that reach as much lower; where tasks differ by normal numbers nothing
// is inflated much, where they differ by cubes of these it is.
func TestInflation(t *testing.T) {
	testutil.SkipRace(t, "TestPassesAreEM has its goroutines")
	ctx := context.Background()
	o := testSettings(2)
	o.Compress = true
	at := make(map[float64]*Model)
	for _, rough := range []float64{0, 0.5} {
		tasks := hills(24, rough)
		m := learn(t, tasks, uniform(rng.Stream(12, "grid"), 60, 2), o)
		require.NoError(t, m.Inflate(ctx, 0))
		at[rough] = m
		var product, square float64
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
			best, other, rest := order[:16], order[16:], y[16:]
			y = y[:16]
			s := o
			s.Whole, s.OwnFrom, s.Outgrow = true, [2]int{}, 0
			r := NewRun(m, s, math.NaN(), 1, nil, nil)
			require.NoError(t, r.Fit(ctx, points.Pick(task.X, best), y, nil, nil))
			mean, sd := make([]float64, len(rest)), make([]float64, len(rest))
			require.NoError(t, r.Predict(ctx, mean, sd, points.Pick(task.X, other)))
			r.low = m.lowOf(y, slices.Max(y), 1)
			for i, v := range mean {
				if v < r.low.Knee {
					predicted, seen := (v-r.low.Knee)/r.low.Near, (rest[i]-r.low.Knee)/r.low.Near
					product += predicted * seen
					square += predicted * predicted
					s := math.Hypot(sd[i], math.Sqrt(r.NoiseVariance())) / r.low.Near
					errs = append(errs, max(seen-predicted, m.depth*predicted-seen)/s)
				}
			}
		}
		slices.Sort(errs)
		require.Greater(t, len(errs), 100)
		held, _ := slices.BinarySearch(errs, m.inflation*special.Z90)
		t.Logf("roughness %g: depth %.3f, inflation %.3f, %d of %d low values held", rough, m.depth, m.inflation, held, len(errs))
		require.InEpsilon(t, max(product/square, 1), m.depth, 1e-9)
		if m.inflation > 1 {
			require.InDelta(t, 0.9*float64(len(errs)), held, 1)
		} else {
			require.Greater(t, float64(held), 0.89*float64(len(errs)))
		}
		var e codec.Encoder
		m.Encode(&e)
		d := codec.Decoder{Buf: e.Buf, Limits: codec.Limits{Tasks: 24, TaskRows: 48, TotalRows: 24 * 48, Points: 60}}
		back, err := Decode(&d, 2, o)
		require.NoError(t, err)
		require.NoError(t, d.Err)
		require.Equal(t, []float64{m.inflation, m.depth}, []float64{back.inflation, back.depth})
	}
	require.Less(t, at[0].inflation, 1.1)
	require.Greater(t, at[0.5].inflation, 1.25)
}

// TestEnds: deviations are inflated from the knee on, by half of the way half of Near below it, and
// lower ends are of means that lie as many times as far below it as the depth says.
func TestEnds(t *testing.T) {
	o := testSettings(2)
	o.Compress = true
	m := learn(t, hills(6, 0.5), uniform(rng.Stream(12, "grid"), 30, 2), o)
	m.inflation, m.depth = 3, 1.5
	r := NewRun(m, o, math.NaN(), 1, nil, nil)
	low, high := r.Ends(-100, 2)
	require.Equal(t, []float64{-100 - 2*special.Z90, -100 + 2*special.Z90}, []float64{low, high}, "before the first value")
	x := uniform(rng.Stream(13, "told"), 3, 2)
	require.NoError(t, r.Fit(context.Background(), x, []float64{1, 0.8, 0.2}, nil, nil))
	knee, near := r.low.Knee, r.low.Near
	for _, tt := range []struct{ mean, sd, inflated, lower float64 }{
		{5, 0.1, 0.1, 5}, {0, 0.1, 0.1, 0}, {-0.5, 0.1, 0.2, -0.75}, {-1, 0.1, 0.3, -1.5}, {-7, 0.1, 0.3, -10.5},
	} {
		low, high := r.Ends(knee+tt.mean*near, tt.sd*near)
		require.InDelta(t, r.low.Back(knee+(tt.lower-special.Z90*tt.inflated)*near), low, 1e-9*near, tt)
		require.InDelta(t, r.low.Back(knee+(tt.mean+special.Z90*tt.inflated)*near), high, 1e-12*near, tt)
	}
	// With some of a normal distribution where values were raised to, the twentieth that lies lowest is so much of these.
	m.depth = 1
	m.SetRaised([]float64{50, 6, 4, 10})
	limit := math.Log(4)
	for _, tt := range []struct{ sds, lower float64 }{
		{2, 0}, {1.65, 0}, {1.64, 4}, {1.5, 6}, {1.29, 6}, {1.28, 10}, {0.85, 10}, {0.84, 50}, {0, 50}, {-9, 50},
	} { // Φ(−z) is .05, .1 and .2 at 1.6449, 1.2816 and .8416: 1 − .05/Φ is 0, 1/2 and 3/4
		mean, sd := -limit+tt.sds*0.3, 0.3
		inflated := sd
		if mean < 0 {
			inflated = sd / (1 + 2*min(-mean, 1)) // which Ends undoes
		}
		low, high := r.Ends(knee+mean*near, inflated*near)
		want := r.low.Back(knee + (mean-special.Z90*sd)*near)
		if tt.lower > 0 {
			want = min(want, knee-tt.lower*near)
		}
		require.InDelta(t, want, low, 1e-9*near, tt)
		require.InDelta(t, r.low.Back(knee+(mean+special.Z90*sd)*near), high, 1e-9*near, tt)
	}
	m.SetRaised([]float64{math.Inf(1)})
	low, _ = r.Ends(knee-2*near, 0.1*near)
	require.Equal(t, -points.MaxValue, low)
	// Of three raised values of the run's own it is so much of these, from where they were raised to, though no low ones are
	// seen closer together.
	r.low = scaling.Low{}
	for _, tt := range []struct {
		depths      []float64
		mean, lower float64
	}{
		{[]float64{5, 6}, -1, -1 - special.Z90}, {[]float64{4, 5, 6}, -1, -6}, {[]float64{4, 5, 6}, 2, 2 - special.Z90},
		{[]float64{4, 5, 6}, 1.3, -5}, // Φ(−1.1) is .136: 1 − .05/Φ is .63, and the second begins at 1/3
	} {
		r.depths, r.y = tt.depths, []float64{1, 0.2, 0.8}
		low, high := r.Ends(tt.mean, 1)
		require.InDelta(t, tt.lower, low, 1e-12, tt)
		require.InDelta(t, tt.mean+special.Z90, high, 1e-12, tt)
	}
}

// TestInflationBounds: depth and inflation lie from 1 to what any past is believed, and few values say
// nothing.
func TestInflationBounds(t *testing.T) {
	for _, tt := range []struct {
		n                int
		mean, seen       float64
		depth, inflation float64
	}{
		{20, -1, -1.5, 1.5, 1}, {19, -1, -1.5, 1, 1}, {20, -1, -0.5, 1, 0.5 / 0.1 / special.Z90}, {20, -1, 9, 1, 10},
		{20, -1, -50, 10, 10}, {20, -0.1, -0.15, 1.5, 1}, {20, -1e-170, -1, 1, 1 / 0.1 / special.Z90},
	} {
		m := &Model{inflation: 1, depth: 1}
		m.inflate(slices.Repeat([]lowValue{{tt.mean, 0.1, tt.seen}}, tt.n))
		require.InDeltaSlice(t, []float64{tt.depth, tt.inflation}, []float64{m.depth, m.inflation}, 1e-12, tt)
	}
}

// Low values of a task with noise variances are as far from the knee, in deviations too, in whatever unit the task has its
// values.
func TestLowValuesOfNoise(t *testing.T) {
	s := DefaultSettings(2)
	s.Steps = 4
	var want []lowValue
	for _, unit := range []float64{1, 0x1p-40} {
		tasks := makeTasks(3, 5, 24, 2, 0, 1)
		for i := range tasks {
			tasks[i].Shift *= unit
			tasks[i].Scale *= unit
			tasks[i].Noise = slices.Repeat([]float64{0.01}, 24)
		}
		m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 20, 2), s)
		var got []lowValue
		for i := range m.tasks {
			low, err := m.lowValues(ctx, &m.tasks[i])
			require.NoError(t, err)
			got = append(got, low...)
		}
		require.Greater(t, len(got), 10)
		if want == nil {
			want = got
		}
		require.Len(t, got, len(want))
		for i, v := range got {
			require.InEpsilon(t, want[i].mean, v.mean, 1e-9)
			require.InEpsilon(t, want[i].sd, v.sd, 1e-9)
			require.InEpsilon(t, want[i].seen, v.seen, 1e-9)
		}
	}
}

// Low values of a long task are predicted in pieces, each as it is of a task that has the best values and no others but it.
func TestLowValuesOfALongTask(t *testing.T) {
	s := DefaultSettings(2)
	s.Steps = 2
	tasks := makeTasks(3, 5, 24, 2, 0, 1)
	m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 20, 2), s)
	long := makeTasks(4, 1, 32*block+300, 2, 0, 1)[0]
	worst := stat.Order(len(long.Z), func(i, j int) int { return cmp.Compare(long.Z[i], long.Z[j]) })
	short := *long.pick(slices.Concat(worst[:100], worst[len(worst)-inflationTold:]))
	short.Shift, short.Scale = long.Shift, long.Scale
	var low [2][]lowValue
	for i, task := range []Task{long, short} {
		var err error
		low[i], err = m.lowValues(ctx, &task)
		require.NoError(t, err)
	}
	require.Len(t, low[1], 100)
	require.Equal(t, low[1], low[0][len(low[0])-100:])
}

// What replays show does not depend on the unit of the values, however small.
func TestInflateInSmallUnits(t *testing.T) {
	s := DefaultSettings(2)
	s.Steps = 4
	var want float64
	for _, unit := range []float64{1, 0x1p-600} {
		tasks := makeTasks(3, 12, 40, 2, 0, 1)
		for i := range tasks {
			tasks[i].Shift *= unit
			tasks[i].Scale *= unit
		}
		m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 40, 2), s)
		require.NoError(t, m.Inflate(ctx, 0))
		require.Greater(t, m.depth, 1.1)
		if want == 0 {
			want = m.depth
		}
		require.InDelta(t, want, m.depth, 1e-9)
	}
}

// An interval ends among values that were raised where these lie below its end, and not where that is lower.
func TestEndsAmongRaised(t *testing.T) {
	r := &Run{Model: &Model{inflation: 1, depth: 1}, s: DefaultSettings(1), y: []float64{0, 0, 0, 1, 2}, depths: []float64{1, 2, 3}}
	for sd, want := range map[float64]float64{1: -3, 10: 0.5 - 10*special.Z90} {
		low, high := r.Ends(0.5, sd)
		require.InDelta(t, want, low, 1e-12)
		require.InDelta(t, 0.5+sd*special.Z90, high, 1e-12)
	}
}
