package cmbo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// TestLearnReport: what learning says of the tasks.
func TestLearnReport(t *testing.T) {
	testutil.SkipRace(t, "TestLearnIgnoresTheOrderOfTasks has its goroutines")
	space := unitCube(t, 2)
	tasks := family(10, 30)
	r := learn(t, space, tasks, cmbo.WithIndexPoints(40)).Report()
	require.Equal(t, 12/(12+float64(len(tasks))), r.Shrinkage)
	require.Greater(t, r.Common, 0.0)
	require.Contains(t, r.String(), "in common to all tasks: ")
	r = learn(t, space, tasks[:1], cmbo.WithIndexPoints(40)).Report()
	require.InDelta(t, 0.54*(1-r.Noise), r.Common, 0.005)
	require.Equal(t, "one task does not show what tasks have in common", strings.TrimSuffix(r.String(), "; learned from as smooth functions"))
	// One function, of variance 1/2 as its points are uniform, and as much noise or none.
	for _, c := range []struct{ noise, common float64 }{{0, 1}, {0.5, 0.5}} {
		draw := rng.Stream(28, t.Name())
		for i := range tasks {
			for k, x := range tasks[i].X {
				tasks[i].Y[k] = math.Sin(2*math.Pi*x[0]) + math.Sqrt(c.noise)*draw.NormFloat64()
			}
		}
		r = learn(t, space, tasks, cmbo.WithIndexPoints(40)).Report()
		require.InDelta(t, c.common, r.Common, 0.15)
		require.InDelta(t, 1-c.common, r.Noise, 0.15)
		require.True(t, r.Smooth)
	}
	list, _ := grid(t, 6)
	require.False(t, learn(t, list, tasks, cmbo.WithIndexPoints(40)).Report().Smooth)
	for _, k := range []kernel.Stationary{kernel.Matern32(1, 1), kernel.Matern52(1, 1)} {
		r := learn(t, space, tasks, cmbo.WithIndexPoints(40), cmbo.WithKernel(kernel.Scale(1, k))).Report()
		require.Equal(t, k.Eval([]float64{0, 0}, []float64{1, 0}) > 0.5, r.Smooth, "the kernel given")
	}
}

// TestLearnAnything: histories as they come: one task, one observation,
// constant values, repeated points, sizes far apart.
func TestLearnAnything(t *testing.T) {
	space, _ := grid(t, 6)
	one := cmbo.Task{ID: "one", X: [][]float64{{0.5, 0.5}}, Y: []float64{3}}
	constant := cmbo.Task{ID: "constant", X: [][]float64{{0, 0}, {1, 1}, {0, 1}}, Y: []float64{2, 2, 2}}
	repeated := cmbo.Task{ID: "repeated", X: [][]float64{{0.2, 0.2}, {0.2, 0.2}, {0.2, 0.2}, {0.9, 0.1}}, Y: []float64{1, 1.5, 0.5, 4}}
	points := 200
	if testing.Short() {
		points = 50
	}
	large := family(1, points)[0]
	huge := cmbo.Task{ID: "huge", X: [][]float64{{0, 0}, {0.4, 1}, {1, 1}}, Y: []float64{-1e150, 0, 1e150}}
	noisy := cmbo.Task{ID: "noisy", X: [][]float64{{0, 0}, {0.4, 1}, {1, 1}}, Y: []float64{1, 2, 3}, NoiseVariance: []float64{0.1, 0, 0.2}}
	known := cmbo.Task{ID: "known", X: [][]float64{{0, 0}, {0.4, 1}, {1, 1}}, Y: []float64{1, 2, 3}, NoiseVariance: []float64{0.1, 0.3, 0.2}}
	for _, tasks := range [][]cmbo.Task{
		{one}, {constant}, {repeated}, {large}, {huge}, {noisy}, {known}, {one, constant},
		{one, constant, repeated, large, huge, noisy, known},
	} {
		for y := cmbo.ZScore; y <= cmbo.Copula; y++ {
			if y == cmbo.RawValues && len(tasks) == 1 && tasks[0].ID == "huge" {
				continue // values of 1e150 are not on the scale that RawValues promises
			}
			p, err := cmbo.Learn(ctx, space, tasks, cmbo.WithYPolicy(y), cmbo.WithIndexPoints(20))
			if y == cmbo.RawValues && err != nil {
				require.ErrorIs(t, err, cmbo.ErrNumerical)
				continue
			}
			require.NoError(t, err, "%s", y)
			if slices.ContainsFunc(tasks, func(t cmbo.Task) bool { return t.ID == "huge" }) {
				continue // beside such values those of the run are all alike
			}
			o := newOptimizer(t, space, cmbo.WithPrior(p), cmbo.WithYPolicy(y))
			drive(t, o, bump([]float64{0.3, 0.3}), 3)
		}
	}
}

// TestLearnDoesNotKeepInput: the tasks may be changed afterwards.
func TestLearnDoesNotKeepInput(t *testing.T) {
	space, _ := grid(t, 6)
	tasks := family(4, 12)
	p := learn(t, space, tasks)
	q := learn(t, space, family(4, 12))
	for j := range tasks {
		for i := range tasks[j].X {
			tasks[j].X[i][0], tasks[j].Y[i] = 77, -77
		}
	}
	f := bump([]float64{0.3, 0.3})
	require.Equal(t, drive(t, newOptimizer(t, space, cmbo.WithPrior(q)), f, 5), drive(t, newOptimizer(t, space, cmbo.WithPrior(p)), f, 5))
}

func TestLearnRejects(t *testing.T) {
	space, _ := grid(t, 4)
	good := family(3, 8)
	edit := func(f func(ts []cmbo.Task)) []cmbo.Task {
		ts := family(3, 8)
		f(ts)
		return ts
	}
	for name, tt := range map[string]struct {
		space *cmbo.Space
		tasks []cmbo.Task
		opts  []cmbo.LearnOption
		want  error
		says  string
	}{
		"nil space":  {nil, good, nil, cmbo.ErrSpace, ""},
		"no tasks":   {space, nil, nil, cmbo.ErrNoTasks, ""},
		"empty task": {space, edit(func(ts []cmbo.Task) { ts[1].X, ts[1].Y = nil, nil }), nil, cmbo.ErrTask, `"task-01"`},
		"empty ID":   {space, edit(func(ts []cmbo.Task) { ts[2].ID = "" }), nil, cmbo.ErrTask, "row 2: a task without an ID"},
		"no text":    {space, edit(func(ts []cmbo.Task) { ts[2].ID = "a\xff" }), nil, cmbo.ErrTask, `task "a\xff": an ID that is not UTF-8`},
		"many rows": {space, edit(func(ts []cmbo.Task) {
			ts[1].Failed = slices.Repeat(ts[1].X[:1], 1<<16-len(ts[1].X)+1)
		}), nil, cmbo.ErrTask, `task "task-01": 65537 rows, failed ones among them; at most 65536`},
		"many failures": {space, append(slices.Clone(good), cmbo.Task{ID: "failures", Failed: slices.Repeat(good[1].X[:1], 1<<16+1)}),
			nil, cmbo.ErrTask, `task "failures": 65537 rows, failed ones among them; at most 65536`},
		"same ID":      {space, edit(func(ts []cmbo.Task) { ts[2].ID = "task-00" }), nil, cmbo.ErrTask, "tasks 0 and 2"},
		"ragged":       {space, edit(func(ts []cmbo.Task) { ts[1].X[3] = []float64{1} }), nil, cmbo.ErrDimension, `task "task-01": row 3: 1 value for 2 parameters`},
		"lengths":      {space, edit(func(ts []cmbo.Task) { ts[1].Y = ts[1].Y[:7] }), nil, cmbo.ErrDimension, "8 points but 7 values"},
		"NaN point":    {space, edit(func(ts []cmbo.Task) { ts[1].X[3][1] = math.NaN() }), nil, cmbo.ErrValue, `row 3: parameter "x1"`},
		"outside":      {space, edit(func(ts []cmbo.Task) { ts[1].X[3][1] = 1.01 }), nil, cmbo.ErrOutOfSpace, "1.01 is not in [0, 1]"},
		"NaN value":    {space, edit(func(ts []cmbo.Task) { ts[0].Y[2] = math.NaN() }), nil, cmbo.ErrValue, "row 2: value NaN"},
		"Inf value":    {space, edit(func(ts []cmbo.Task) { ts[0].Y[2] = math.Inf(-1) }), nil, cmbo.ErrValue, "row 2"},
		"huge value":   {space, edit(func(ts []cmbo.Task) { ts[0].Y[2] = 1e200 }), nil, cmbo.ErrValue, "value 1e+200 is not within ±1e+150"},
		"noise length": {space, edit(func(ts []cmbo.Task) { ts[0].NoiseVariance = []float64{1} }), nil, cmbo.ErrDimension, "1 noise variances"},
		"noise":        {space, edit(func(ts []cmbo.Task) { ts[0].NoiseVariance = []float64{0, 0, -1, 0, 0, 0, 0, 0} }), nil, cmbo.ErrValue, "row 2: noise variance -1"},
		"nil option":   {space, good, []cmbo.LearnOption{nil}, cmbo.ErrOption, ""},
		"kernel":       {space, good, []cmbo.LearnOption{cmbo.WithKernel(nil)}, cmbo.ErrOption, ""},
		"index points": {space, good, []cmbo.LearnOption{cmbo.WithIndexPoints(0)}, cmbo.ErrOption, ""},
		"y policy":     {space, good, []cmbo.LearnOption{cmbo.WithYPolicy(4)}, cmbo.ErrOption, ""},
	} {
		_, err := cmbo.Learn(ctx, tt.space, tt.tasks, tt.opts...)
		require.ErrorIs(t, err, tt.want, name)
		require.ErrorContains(t, err, tt.says, name)
	}
	// A kernel made for another dimension is caught, not passed on as a panic.
	_, err := cmbo.Learn(ctx, space, good, cmbo.WithKernel(kernel.Matern32(1, 1, 1)))
	require.Error(t, err)
}

// Learn ends with the error of its context wherever that is cancelled.
func TestLearnCancelled(t *testing.T) {
	space, _ := grid(t, 4)
	tasks := family(4, 8)
	tasks[0].Failed = [][]float64{{0.5, 0.5}}
	asked := func(n int) (int, error) {
		c := testutil.Countdown(n)
		_, err := cmbo.Learn(c, space, tasks, cmbo.WithParallelism(1))
		return c.Asked(), err
	}
	total, err := asked(math.MaxInt32)
	require.NoError(t, err)
	require.Greater(t, total, 60)
	for i := range 60 {
		at := i * (total - 1) / 59
		_, err := asked(at)
		require.ErrorIs(t, err, context.Canceled, "cancelled when asked %d times of %d", at, total)
	}
	c, cancel := context.WithCancel(ctx)
	cancel()
	_, err = cmbo.Learn(c, space, tasks)
	require.ErrorIs(t, err, context.Canceled)
}

// foreign is a kernel of another package.
type foreign struct{ length float64 }

func (f foreign) Eval(x, y []float64) float64 {
	var s float64
	for i := range x {
		s += math.Abs(x[i] - y[i])
	}
	return math.Exp(-s / f.length)
}
func (f foreign) NumParams() int                       { return 1 }
func (f foreign) AppendParams(dst []float64) []float64 { return append(dst, math.Log(f.length)) }
func (f foreign) WithParams(t []float64) (kernel.Kernel, error) {
	if len(t) != 1 {
		return nil, errors.New("one parameter")
	}
	return foreign{math.Exp(t[0])}, nil
}

func TestLearnKernels(t *testing.T) {
	space, _ := grid(t, 6)
	tasks := family(6, 15)
	for name, opts := range map[string][]cmbo.LearnOption{
		"composite": {cmbo.WithKernel(kernel.Sum(kernel.Scale(1, kernel.SquaredExp(0.5)), kernel.Constant(0.1)))},
		"foreign":   {cmbo.WithKernel(foreign{0.5})},
		"ablated":   {cmbo.WithKernel(kernel.Constant(1)), cmbo.WithAblation("rougher-kernel")},
	} {
		t.Run(name, func(t *testing.T) {
			p := learn(t, space, tasks, opts...)
			o := newOptimizer(t, space, cmbo.WithPrior(p))
			drive(t, o, bump([]float64{0.3, 0.3}), 4)
		})
	}
	o := newOptimizer(t, space, cmbo.WithKernel(foreign{0.5}), cmbo.WithInitial(2))
	drive(t, o, bump([]float64{0.3, 0.3}), 6)
}

// A run whose past tasks have two values each takes its own values for values, and not for noise.
func TestPastOfTwoValues(t *testing.T) {
	s := unitCube(t, 3)
	f := func(x []float64) float64 { return (x[0]-0.3)*(x[0]-0.3) + x[1] + 0.3*x[2] }
	var tasks []cmbo.Task
	for i := range 10 {
		x := sample(t, s, 2, uint64(i))
		tasks = append(tasks, cmbo.Task{ID: fmt.Sprint(i), X: x, Y: []float64{f(x[0]), f(x[1])}})
	}
	p := learn(t, s, tasks, cmbo.WithMinimize())
	o := newOptimizer(t, s, cmbo.WithPrior(p))
	rows := sample(t, s, 12, 77)
	var y []float64
	for _, x := range rows {
		y = append(y, f(x))
		require.NoError(t, o.Observe(x, f(x)))
	}
	var mean, off, spread float64
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for i, x := range rows {
		m, _ := predict(t, o, x)
		off, spread = off+(m-y[i])*(m-y[i]), spread+(y[i]-mean)*(y[i]-mean)
	}
	t.Logf("noise variance %.3g; %.3f of the variance of the values is left", p.NoiseVariance(), off/spread)
	require.Less(t, off/spread, 0.05)
}

// TestLearnOfNearlyEqualPoints: points that nearly coincide, as those of a parameter without the logarithm that its
// values follow, are learned from, on fewer index points than there are.
func TestLearnOfNearlyEqualPoints(t *testing.T) {
	cube := unitCube(t, 2)
	for seed := uint64(60); seed < 80; seed++ {
		r := rng.Stream(seed, "nearly equal points")
		var tasks []cmbo.Task
		for j := range 4 {
			k := cmbo.Task{ID: fmt.Sprint(j)}
			for range 1 + r.IntN(30) {
				x := []float64{math.Pow(10, -8*r.Float64()), math.Pow(10, -8*r.Float64())}
				k.X, k.Y = append(k.X, x), append(k.Y, math.Sin(3*x[0]))
			}
			tasks = append(tasks, k)
		}
		p, err := cmbo.Learn(ctx, cube, tasks, cmbo.WithIndexPoints(25))
		require.NoError(t, err, "seed %d", seed)
		require.Len(t, drive(t, newOptimizer(t, cube, cmbo.WithPrior(p), cmbo.WithCandidateCounts(32, 8)), func(x []float64) float64 { return x[0] }, 2), 2)
	}
}

// TestLearnsOneFunctionOfAllTasks: what all past tasks have in common to the last digit, as a model's size, which follows
// from two parameters, is learned and predicted.
func TestLearnsOneFunctionOfAllTasks(t *testing.T) {
	t.Parallel()
	testutil.SkipRace(t, "one goroutine asks")
	space := newSpace(t, cmbo.Int("depth", 1, 12), cmbo.Float("width", 0, 1))
	size := func(x []float64) float64 { return x[0] * x[1] }
	var tasks []cmbo.Task
	for i := range 20 {
		x := sample(t, space, 30, uint64(1+i))
		task := cmbo.Task{ID: fmt.Sprint(i), X: x}
		for _, x := range x {
			task.Y = append(task.Y, size(x))
		}
		tasks = append(tasks, task)
	}
	o := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, tasks, cmbo.WithIndexPoints(40))))
	for _, x := range [][]float64{{2, 0.3}, {9, 0.8}, {5, 0.1}} {
		require.NoError(t, o.Observe(x, size(x)))
	}
	for _, x := range [][]float64{{11, 0.9}, {4, 0.7}, {7, 0.5}} {
		m, sd := predict(t, o, x)
		require.InDelta(t, size(x), m, 0.5)
		require.Less(t, sd, 2.0)
	}
}

// TestLearnsFromRunsThatConverged: most values of a long run lie next to its best one, in a hundred-thousandth of their
// range. The others still say where the next task is good, and nothing is taken for noise.
func TestLearnsFromRunsThatConverged(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it is about what is learned")
	space := unitCube(t, 2)
	r := rng.Stream(1, t.Name())
	var tasks []cmbo.Task
	for i := range 6 {
		task := cmbo.Task{ID: fmt.Sprint(i)}
		best := []float64{0.5 + 0.1*r.Float64(), 0.4 + 0.1*r.Float64()}
		x := sample(t, space, 100, uint64(1+i))
		for j, x := range x {
			if j >= 30 {
				x[0], x[1] = best[0]+0.002*(x[0]-0.5), best[1]+0.002*(x[1]-0.5)
			}
			d, e := x[0]-best[0], x[1]-best[1]
			task.X, task.Y = append(task.X, x), append(task.Y, -d*d-2*e*e)
		}
		tasks = append(tasks, task)
	}
	prior := learn(t, space, tasks)
	require.Less(t, prior.Report().Noise, 0.02)
	trial, err := newOptimizer(t, space, cmbo.WithPrior(prior)).Ask(ctx)
	require.NoError(t, err)
	require.InDelta(t, 0.55, trial.X[0], 0.1)
	require.InDelta(t, 0.45, trial.X[1], 0.1)
}

// TestPastFailuresAreNoValues: points of the past that failed, here and there or in a part of the space, teach where
// evaluations succeed and nothing of how good points are. As the least value of their task they would be noise, .08 of the
// variance here.
func TestPastFailuresAreNoValues(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it is about where runs end")
	for _, failing := range []string{"here and there", "in a part"} {
		r := rng.Stream(1, t.Name())
		fails := func(x []float64) bool { return failing == "in a part" && x[0] > 0.55 && x[1] < 0.6 }
		h := slopesOf(t, r, "lopsided", 4, 2, 0)
		for i := range h.tasks {
			k := &h.tasks[i]
			x, y := k.X, k.Y
			k.X, k.Y = nil, nil
			for j := range x {
				if fails(x[j]) || failing == "here and there" && j%8 == 3 {
					k.Failed = append(k.Failed, x[j])
				} else {
					k.X, k.Y = append(k.X, x[j]), append(k.Y, y[j])
				}
			}
		}
		prior := learn(t, h.space, h.tasks)
		require.Less(t, prior.Report().Noise, 0.01, failing)
		o, best := newOptimizer(t, h.space, cmbo.WithPrior(prior)), math.Inf(-1)
		for range 10 {
			trial := ask(t, o)
			if fails(trial.X) {
				require.NoError(t, o.TellFailed(trial.ID))
				continue
			}
			best = max(best, h.target(trial.X))
			require.NoError(t, o.Tell(trial.ID, h.target(trial.X)))
		}
		require.Less(t, -best, 0.01, failing)
	}
}
