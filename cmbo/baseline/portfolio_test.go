package baseline

import (
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// bestOf returns the mean over tasks of the best of the chosen rows, in shares of each
// task's range.
func bestOf(y [][]float64, rows []int) float64 {
	var sum float64
	for _, v := range y {
		lo, hi, best := v[0], v[0], v[rows[0]]
		for _, u := range v {
			lo, hi = min(lo, u), max(hi, u)
		}
		for _, r := range rows {
			best = max(best, v[r])
		}
		if hi > lo {
			sum += (best - lo) / (hi - lo)
		}
	}
	return sum / float64(len(y))
}

// On tasks whose values are all recorded each row asked is the one that raises the mean
// best most, found here by trying them all; what the rows bring in the run changes
// nothing, and rows that somebody else asked count.
func TestPortfolioIsGreedy(t *testing.T) {
	r := testRNG(t)
	list, rows := grid(t, 4)
	const k = 5
	y := make([][]float64, k)
	var tasks []cmbo.Task
	for i := range y {
		y[i] = make([]float64, len(rows))
		for j := range y[i] {
			y[i][j] = 100 + float64(1+i)*r.NormFloat64()
		}
		tasks = append(tasks, cmbo.Task{ID: string(rune('a' + i)), X: rows, Y: y[i]})
	}
	for j := range y[3] {
		y[3][j] = 7 // says nothing
	}
	index := make(map[[2]float64]int)
	for j, row := range rows {
		index[[2]float64{row[0], row[1]}] = j
	}
	m, err := learnPortfolio(ctx, list, tasks)
	require.NoError(t, err)
	for _, value := range []func(int) float64{func(int) float64 { return 1 }, func(i int) float64 { return float64(-i * i) }} {
		o := newOptimizer(t, list, cmbo.WithSurrogate(m.Surrogate(1)))
		chosen := []int{6}
		require.NoError(t, o.Observe(rows[6], 3))
		for step := 0; bestOf(y, chosen) < 0.8; step++ {
			require.Less(t, step, 4, "every task's best row is enough")
			want, top := -1, bestOf(y, chosen)
			for j := range rows {
				if b := bestOf(y, append(chosen[:len(chosen):len(chosen)], j)); b > top {
					want, top = j, b
				}
			}
			trial := ask(t, o)
			got := index[[2]float64{trial.X[0], trial.X[1]}]
			require.Equal(t, want, got, "step %d", step)
			chosen = append(chosen, got)
			if step == 1 {
				require.NoError(t, o.TellFailed(trial.ID))
				continue
			}
			require.NoError(t, o.Tell(trial.ID, value(step)))
		}
	}
}

// Values count as shares of their range, and a task without a range says nothing, whatever its level.
func TestPortfolioScale(t *testing.T) {
	f := [][]float64{{1, 2, 5}, {3, 3, 4}, {1, 1.125, 1.5}}
	(&outcomes{lo: []float64{1, 3, 1}, hi: []float64{5, 3, 1.5}}).scale(f)
	require.Equal(t, [][]float64{{0, 0.25, 1}, {0, 0, 0}, {0, 0.25, 1}}, f)
}

// Once each task has had its best row, the second best count, then the third.
func TestPortfolioGoesOn(t *testing.T) {
	list, rows := grid(t, 2)
	tasks := []cmbo.Task{
		{ID: "a", X: rows, Y: []float64{4, 1, 3, 0}},
		{ID: "b", X: rows, Y: []float64{5, 4, 2, 0}},
	}
	m, err := learnPortfolio(ctx, list, tasks)
	require.NoError(t, err)
	o := newOptimizer(t, list, cmbo.WithSurrogate(m.Surrogate(1)))
	// After the first row: 1/4 + 4/5 against 3/4 + 2/5. Then row 2 raises the second best of
	// a, and the last one nothing.
	for i, want := range []int{0, 2, 1, 3} {
		trial := ask(t, o)
		require.Equal(t, rows[want], trial.X, "step %d", i)
		require.NoError(t, o.Tell(trial.ID, 0))
	}
}

// Where a task was not recorded its process stands in, and in a space without a list
// ranges are those over the tasks' points.
func TestPortfolioPredictsTheRest(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 2, 15)
	tasks[1].X = append(tasks[1].X, tasks[1].X[0])
	tasks[1].Y = append(tasks[1].Y, tasks[1].Y[0]+1) // a repeated measurement
	m, err := learnPortfolio(ctx, square(t), tasks)
	require.NoError(t, err)
	x := linalg.NewDense(4, 2, nil)
	for i, row := range [][]float64{tasks[0].X[3], tasks[1].X[0], {0.31, 0.62}, {0.7, 0.3}} {
		copy(x.Row(i), row)
	}
	s := m.Surrogate(1).(*portfolioRun)
	require.NoError(t, s.Fit(ctx, cmbo.Data{}))
	got := make([]float64, 4)
	require.NoError(t, s.Score(ctx, got, x, nil, 0))
	want := make([]float64, 4)
	for i, src := range m.sources {
		at := func(x *linalg.Dense) []float64 {
			f, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), x)
			for j := range f {
				var known []float64
				for p, z := range src.Z {
					if src.X.At(p, 0) == x.At(j, 0) && src.X.At(p, 1) == x.At(j, 1) {
						known = append(known, z)
					}
				}
				if known != nil {
					f[j], _ = stat.MeanVariance(known)
				}
			}
			return f
		}
		over := at(m.grid)
		lo, hi := over[0], over[0]
		for _, v := range over {
			lo, hi = min(lo, v), max(hi, v)
		}
		for j, v := range at(x) {
			want[j] += max((v-lo)/(hi-lo), 0) / 2
		}
		require.Len(t, over, 30, "distinct points of task %d", i)
	}
	near(t, want, got, 1e-8, "before the first value")

	require.NoError(t, s.Fit(ctx, dataAt(func([]float64) float64 { return 0 }, x, 1)))
	require.NoError(t, s.Score(ctx, got, x, nil, 0))
	for j, v := range got {
		require.LessOrEqual(t, v, 0.0, "row %d has been asked", j)
	}
}
