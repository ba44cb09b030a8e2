package cmbo_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// recorded makes k past tasks of n points each, all alike but for their offset, and
// turns the last one upside down.
func recorded(k, n int) []cmbo.Task {
	f := bump([]float64{0.3, 0.7})
	var tasks []cmbo.Task
	for j := range k {
		r := rng.Stream(9, "recorded", uint64(j))
		t := cmbo.Task{ID: fmt.Sprintf("task-%d", j)}
		sign := 1.0
		if j == k-1 {
			sign = -1
		}
		for range n {
			x := []float64{r.Float64(), r.Float64()}
			t.X, t.Y = append(t.X, x), append(t.Y, float64(j)+sign*f(x))
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// Check does what anybody could do by hand.
func TestCheckByHand(t *testing.T) {
	space := unitCube(t, 2)
	tasks := recorded(5, 12)
	// A point recorded twice, two failures, and an option for the runs.
	tasks[1].X, tasks[1].Y = append(tasks[1].X, tasks[1].X[0]), append(tasks[1].Y, tasks[1].Y[0]-0.5)
	tasks[1].Failed = [][]float64{{0.31, 0.72}, {0.9, 0.1}}
	for i := range tasks {
		for j := range tasks[i].Y {
			tasks[i].Y[j] = -tasks[i].Y[j] // to be minimised
		}
	}
	const evaluations = 6
	report, err := cmbo.Check(ctx, space, tasks, cmbo.WithMinimize(), cmbo.WithCheckEvaluations(evaluations), cmbo.WithAcquisition(cmbo.UCB(9)))
	require.NoError(t, err)
	require.Len(t, report.Tasks, 5)
	got := report.Tasks[1]
	require.Equal(t, "task-1", got.ID)

	y := make(map[string]float64)
	for i, x := range tasks[1].X {
		y[fmt.Sprint(x)] = tasks[1].Y[i]
	}
	y[fmt.Sprint(tasks[1].X[0])] = tasks[1].Y[0] + 0.25
	var known []float64
	for _, v := range y {
		known = append(known, v)
	}
	slices.Sort(known) // 12 of them; from the best, the median is the 7th
	unit := known[6] - known[0]
	rows := append(slices.Clone(tasks[1].X[:12]), tasks[1].Failed...)
	list := listOf(t, space, rows)
	run := func(opts ...cmbo.Option) (o *cmbo.Optimizer, regret, reached float64) {
		o = newOptimizer(t, list, append(opts, cmbo.WithAcquisition(cmbo.UCB(9)))...)
		best := 1.0
		reached = evaluations + 1
		for n := range evaluations {
			trial := ask(t, o)
			if v, ok := y[fmt.Sprint(trial.X)]; ok {
				require.NoError(t, o.Tell(trial.ID, v))
				best = min(best, (v-known[0])/unit)
			} else {
				require.NoError(t, o.TellFailed(trial.ID))
			}
			if regret += best / evaluations; best <= 0.01 {
				reached = min(reached, float64(n+1))
			}
		}
		return o, regret, reached
	}
	var common, noise float64
	var prior *cmbo.Prior // of all but the second task
	for i := range tasks {
		p := learn(t, space, slices.Delete(slices.Clone(tasks), i, i+1), cmbo.WithMinimize())
		if i == 1 {
			prior = p
		}
		common, noise = common+p.Report().Common/5, noise+p.Report().Noise/5
	}
	require.InDelta(t, common, report.Common, 1e-12)
	require.InDelta(t, noise, report.Noise, 1e-12)
	require.Positive(t, noise)
	with, regret, reached := run(cmbo.WithPrior(prior))
	require.InDelta(t, regret, got.With.Regret, 1e-12)
	require.Equal(t, reached, got.With.Evaluations)
	require.Equal(t, transferOf(t, with), got.Transfer)
	var sum, n float64
	for seed := range uint64(3) {
		_, regret, reached := run(cmbo.WithMinimize(), cmbo.WithSeed(1+seed))
		sum, n = sum+regret/3, n+reached/3
	}
	require.InDelta(t, sum, got.Without.Regret, 1e-12)
	require.InDelta(t, n, got.Without.Evaluations, 1e-12)

	var d, v float64
	for _, k := range report.Tasks {
		d += (k.Without.Regret - k.With.Regret) / 5
	}
	for _, k := range report.Tasks {
		e := k.Without.Regret - k.With.Regret - d
		v += e * e / 4
	}
	require.InDelta(t, d, report.Difference, 1e-12)
	require.InDelta(t, math.Sqrt(v*(1.0/5+1.0/4)), report.StandardError, 1e-12)
}

// On tasks that are alike the prior helps, and the one that is upside down is named,
// unlike one that has nothing to do with the others.
// The sample of tasks does not depend on their order.
func TestCheckSays(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it is about words")
	space := unitCube(t, 2)
	tasks := recorded(7, 15)
	r := rng.Stream(9, "noise")
	noise := cmbo.Task{ID: "noise"}
	for range 15 {
		noise.X, noise.Y = append(noise.X, []float64{r.Float64(), r.Float64()}), append(noise.Y, r.NormFloat64())
	}
	report, err := cmbo.Check(ctx, space, append(tasks[:7:7], noise), cmbo.WithCheckEvaluations(1))
	require.NoError(t, err)
	require.Equal(t, []string{"task-6"}, report.Reversed)
	report, err = cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(6), cmbo.WithCheckTasks(6))
	require.NoError(t, err)
	require.Len(t, report.Tasks, 6)
	require.Equal(t, []string{"task-6"}, report.Reversed)
	require.Equal(t, cmbo.TransferHelps, report.Verdict, "%v", report)
	require.Contains(t, report.String(), "transfer helps: the mean regret is ")
	require.Contains(t, report.String(), "upside down for the others: task-6\n")
	for _, k := range report.Tasks {
		if k.ID != "task-6" {
			require.Less(t, k.With.Regret, k.Without.Regret, "%v", report)
		}
	}
	// Of two left out, each of which contradicts the other, the others tell which is upside down.
	for seed := range uint64(50) {
		pair, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(1), cmbo.WithCheckTasks(2), cmbo.WithSeed(seed+1))
		require.NoError(t, err)
		require.Equal(t, []string{"task-6"}, pair.Reversed)
		if slices.ContainsFunc(pair.Tasks, func(c cmbo.CheckedTask) bool { return c.ID == "task-6" }) {
			break
		}
		require.Less(t, seed, uint64(49))
	}
	slices.Reverse(tasks)
	again, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(1), cmbo.WithCheckTasks(2), cmbo.WithIndexPoints(20))
	require.NoError(t, err)
	require.Equal(t, cmbo.TransferTooEarly, again.Verdict)
	require.Contains(t, again.String(), "too few tasks to tell: 2 of 5")
	one, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(1), cmbo.WithCheckTasks(1), cmbo.WithIndexPoints(20))
	require.NoError(t, err)
	require.NotContains(t, one.String(), "NaN")
	for _, k := range again.Tasks {
		require.True(t, slices.ContainsFunc(report.Tasks, func(c cmbo.CheckedTask) bool { return c.ID == k.ID }))
	}
}

// twelve returns a task of twelve noisy values of f, or of their negatives.
func twelve(r *rand.Rand, id string, f surface, noise float64, negated bool) cmbo.Task {
	task, sign := cmbo.Task{ID: id}, 1.0
	if negated {
		sign = -1
	}
	for range 12 {
		x := []float64{r.Float64(), r.Float64()}
		task.X, task.Y = append(task.X, x), append(task.Y, sign*(f(x[0], x[1])+noise*r.NormFloat64()))
	}
	return task
}

// Of ten tasks of twelve noisy values one that is negated is named, which most others do not contradict, and
// so are three, and no other is.
func TestCheckNamesNegatedTasks(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it checks ten tasks twice")
	space := unitCube(t, 2)
	for _, c := range []struct {
		negated       int
		spread, noise float64
	}{{1, 0.2, 0.1}, {3, 0.1, 0.01}} {
		r := rng.Stream(uint64(c.negated), t.Name())
		var tasks []cmbo.Task
		var want []string
		for i := range 10 {
			f, id := peak(near(r, 0.35, c.spread), near(r, 0.6, c.spread), 0.25), fmt.Sprint(i)
			if i%3 == 2 && i < 3*c.negated {
				want = append(want, id)
			}
			tasks = append(tasks, twelve(r, id, f, c.noise, slices.Contains(want, id)))
		}
		report, err := cmbo.Check(ctx, space, tasks)
		require.NoError(t, err)
		require.Equal(t, want, report.Reversed, "%v", report)
	}
}

// tenPeaks returns ten tasks, whose peaks lie as far as spread from the middle, and the IDs of those that are negated.
func tenPeaks(r *rand.Rand, spread, noise float64, negated int) (tasks []cmbo.Task, down []string) {
	for _, i := range r.Perm(10)[:negated] {
		down = append(down, fmt.Sprint(i))
	}
	for i := range 10 {
		f, id := peak(near(r, 0.5, spread), near(r, 0.5, spread), 0.25), fmt.Sprint(i)
		tasks = append(tasks, twelve(r, id, f, noise, slices.Contains(down, id)))
	}
	return tasks, down
}

// A task whose peak lies so far from others' that some rank its points the other way round is not
// upside down, even where others are.
func TestCheckNamesNoOther(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it checks ten tasks four times")
	space := unitCube(t, 2)
	for _, c := range []struct {
		negated int
		spread  float64
	}{{0, 0.5}, {1, 0.5}, {3, 0.5}, {3, 0.25}} {
		tasks, negated := tenPeaks(rng.Stream(1310, fmt.Sprint("zz", 12, c.spread, 0.1, c.negated)), c.spread, 0.1, c.negated)
		report, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(1))
		require.NoError(t, err)
		require.Subset(t, negated, report.Reversed)
	}
}

var checkProblems = flag.Int("checks", 0, "problems of ten tasks of each kind that TestCheckNames counts the names of")

// TestCheckNames counts, by how far the peaks of ten tasks lie apart and how many are negated, which of them
// Check names: of those that are negated, and of the others.
func TestCheckNames(t *testing.T) {
	if *checkProblems == 0 {
		t.Skip("-checks 16 takes two minutes")
	}
	space := unitCube(t, 2)
	for _, spread := range []float64{0.1, 0.2, 0.25, 0.35, 0.5} {
		for _, negated := range []int{0, 1, 3} {
			var found, wrong int
			for i := range *checkProblems {
				tasks, down := tenPeaks(rng.Stream(79, fmt.Sprint(spread, negated, i)), spread, []float64{0.01, 0.1}[i%2], negated)
				report, err := cmbo.Check(ctx, space, tasks)
				require.NoError(t, err)
				for _, id := range report.Reversed {
					if slices.Contains(down, id) {
						found++
					} else {
						wrong++
					}
				}
			}
			n := *checkProblems
			t.Logf("spread %g, %d of ten negated: %d of %d named, and %d of %d others", spread, negated, found, n*negated, wrong, n*(10-negated))
			require.LessOrEqual(t, 10*wrong, n*(10-negated))
		}
	}
}

var noiseChecks = flag.Int("noise-checks", 0, "checks of each kind that TestCheckOfNoise counts the verdicts of")

// TestCheckOfNoise: tasks that tell nothing of each other help or mislead in at most one check of twenty each, as far
// as so many checks can tell. With the flag it has more kinds of them, and tasks whose peaks lie close together.
func TestCheckOfNoise(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts verdicts")
	space := unitCube(t, 2)
	checks, counts, sizes := 60, []int{5}, []int{6}
	if *noiseChecks > 0 {
		checks, counts, sizes = *noiseChecks, []int{5, 7, 10}, []int{6, 12}
	}
	var noise [2]float64 // checks that say helps and misleads
	var of float64
	count := func(honest, common bool, k, rows int) (said [2]float64) {
		for i := range checks {
			r := rng.Stream(uint64(i), fmt.Sprint(t.Name(), honest, common, k, rows))
			cx, cy := 0.2+0.6*r.Float64(), 0.2+0.6*r.Float64()
			tasks := make([]cmbo.Task, k)
			for j := range tasks {
				f, task := peak(near(r, cx, 0.1), near(r, cy, 0.1), 0.25), &tasks[j]
				task.ID = fmt.Sprint(j)
				for n := range rows {
					x, y := []float64{r.Float64(), r.Float64()}, r.NormFloat64()
					if common && j > 0 {
						x = tasks[0].X[n]
					}
					if honest {
						y = f(x[0], x[1]) + 0.05*y
					}
					task.X, task.Y = append(task.X, x), append(task.Y, y)
				}
			}
			report, err := cmbo.Check(ctx, space, tasks)
			require.NoError(t, err)
			switch report.Verdict {
			case cmbo.TransferHelps:
				said[0]++
			case cmbo.TransferMisleads:
				said[1]++
			}
		}
		t.Logf("%d tasks of %d rows, honest %v, at common points %v: of %d %v", k, rows, honest, common, checks, said)
		return said
	}
	for _, k := range counts {
		for _, rows := range sizes {
			for _, common := range []bool{false, true} {
				said := count(false, common, k, rows)
				noise[0], noise[1], of = noise[0]+said[0], noise[1]+said[1], of+float64(checks)
			}
		}
		if k > 5 {
			require.GreaterOrEqual(t, count(true, false, k, 12)[0], 0.9*float64(checks))
		}
	}
	for _, said := range noise {
		require.LessOrEqual(t, said, 0.05*of+2*math.Sqrt(0.05*0.95*of), "%v of %v", noise, of)
	}
}

// asked is a context that tells when it is asked.
type asked struct {
	context.Context
	err func() error
}

func (c asked) Err() error { return c.err() }

// TestCheckMemory: beside the tasks Check holds the records of those left out, and not of all.
func TestCheckMemory(t *testing.T) {
	testutil.SkipRace(t, "it measures memory")
	space := unitCube(t, 2)
	r := rng.Stream(1, t.Name())
	tasks := make([]cmbo.Task, 1000)
	for i := range tasks {
		tasks[i] = twelve(r, fmt.Sprint(i), peak(0.5, 0.5, 0.25), 0.1, false)
	}
	held := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before, learning := held(), 0.0
	learns := asked{ctx, func() error { learning = held(); return context.Canceled }}
	_, err := cmbo.Check(learns, space, tasks, cmbo.WithCheckTasks(1))
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, learning-before, 2e3*float64(len(tasks)), "bytes when a Learn begins")
	runtime.KeepAlive(tasks)
}

// Two tasks with values are enough: each is left out once.
func TestCheckOfTwoTasks(t *testing.T) {
	space, _ := grid(t, 4)
	report, err := cmbo.Check(ctx, space, family(2, 12), cmbo.WithCheckEvaluations(1))
	require.NoError(t, err)
	require.Len(t, report.Tasks, 2)
}

func TestCheckRefuses(t *testing.T) {
	space := unitCube(t, 2)
	tasks := recorded(3, 6)
	constant := []cmbo.Task{{ID: "a", X: tasks[0].X, Y: make([]float64, 6)}, {ID: "b", X: tasks[1].X[:4], Y: tasks[1].Y[:4]}}
	prior := learn(t, space, tasks)
	for _, c := range []struct {
		tasks []cmbo.Task
		opts  []cmbo.CheckOption
		err   error
	}{
		{nil, nil, cmbo.ErrNoTasks},
		{tasks[:1], nil, cmbo.ErrTask},
		{constant, nil, cmbo.ErrTask},
		{[]cmbo.Task{tasks[0], {ID: "crashed", Failed: tasks[1].X}}, nil, cmbo.ErrTask},
		{tasks, []cmbo.CheckOption{nil}, cmbo.ErrOption},
		{tasks, []cmbo.CheckOption{cmbo.WithCheckTasks(0)}, cmbo.ErrOption},
		{tasks, []cmbo.CheckOption{cmbo.WithCheckEvaluations(0)}, cmbo.ErrOption},
		{tasks, []cmbo.CheckOption{cmbo.WithPrior(prior)}, cmbo.ErrOption},
	} {
		_, err := cmbo.Check(ctx, space, c.tasks, c.opts...)
		require.ErrorIs(t, err, c.err)
	}
}

// TestCheckOfFewTasksNamesNone: three tasks of six rows cannot tell which of them is upside down.
func TestCheckOfFewTasksNamesNone(t *testing.T) {
	space := unitCube(t, 2)
	for i := range uint64(10) {
		r := rng.Stream(i, t.Name())
		var tasks []cmbo.Task
		for j := range 3 {
			task := twelve(r, fmt.Sprint(j), peak(near(r, 0.5, 0.3), near(r, 0.5, 0.3), 0.25), 0.1, false)
			task.X, task.Y = task.X[:6], task.Y[:6]
			tasks = append(tasks, task)
		}
		report, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(1))
		require.NoError(t, err)
		require.Equal(t, cmbo.TransferTooEarly, report.Verdict)
		require.Empty(t, report.Reversed)
	}
}

// TestCheckSaysWhatIsMissing: tasks that cannot be left out are named, with what they lack.
func TestCheckSaysWhatIsMissing(t *testing.T) {
	space := unitCube(t, 2)
	tasks := recorded(5, 6)
	for i := range tasks {
		tasks[i].Outputs = map[string][]float64{"seconds": {1, 2, 3, 4, 5, 6}}
	}
	tasks[1].Outputs["seconds"] = []float64{6, 7, 8, 9, 6, 7}
	tasks[2].Outputs["seconds"][1], tasks[2].Outputs["seconds"][4] = math.NaN(), math.NaN()
	for i := range tasks[3].Y {
		tasks[3].Y[i], tasks[3].Outputs["seconds"][i] = 1, 1
	}
	report, err := cmbo.Check(ctx, space, tasks, cmbo.WithOutput("seconds", cmbo.AtMost(5)), cmbo.WithCheckEvaluations(1), cmbo.WithCheckTasks(1))
	require.NoError(t, err)
	require.Contains(t, report.String(), `not left out, as they lack 5 different points with all outputs: task-2
not left out, as they lack a value within all limits: task-1
not left out, as they lack two different values within all limits: task-3
`)
	_, err = cmbo.Check(ctx, space, recorded(14, 4), cmbo.WithCheckTasks(1))
	require.ErrorIs(t, err, cmbo.ErrTask)
	require.ErrorContains(t, err, "; not left out, as they lack 5 different points: task-0, task-1, task-2, task-3, "+
		"task-4, task-5, task-6, task-7, task-8, task-9 and 4 more")
}

// Tasks that have next to nothing in common contradict no other, and help none: smooth functions rank each other's points by
// chance as clearly as functions that are alike.
func TestTasksOfTheirOwn(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it checks eight tasks, and runs beside them, four times")
	named, helps := 0, 0
	for seed := range uint64(4) {
		r := rng.Stream(seed, t.Name())
		rows := make([][]float64, 100)
		for i := range rows {
			rows[i] = []float64{r.Float64(), r.Float64()}
		}
		space, err := cmbo.Candidates(rows)
		require.NoError(t, err)
		function := func() func(x []float64) float64 {
			waves := make([][4]float64, 60)
			for i := range waves {
				waves[i] = [4]float64{2.5 * r.NormFloat64(), 2.5 * r.NormFloat64(), 2 * math.Pi * r.Float64(), r.NormFloat64()}
			}
			return func(x []float64) (y float64) {
				for _, w := range waves {
					y += w[3] * math.Cos(w[0]*x[0]+w[1]*x[1]+w[2])
				}
				return y
			}
		}
		tasks := make([]cmbo.Task, 8)
		for i := range tasks {
			f := function()
			tasks[i].ID = fmt.Sprint(i)
			for _, k := range r.Perm(len(rows))[:30] {
				tasks[i].X, tasks[i].Y = append(tasks[i].X, rows[k]), append(tasks[i].Y, f(rows[k]))
			}
		}
		report, err := cmbo.Check(ctx, space, tasks, cmbo.WithCheckEvaluations(1))
		require.NoError(t, err)
		named += len(report.Reversed)
		o := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, tasks)))
		drive(t, o, function(), 30)
		if transferOf(t, o).Verdict == cmbo.TransferHelps {
			helps++
		}
	}
	t.Logf("%d of 32 tasks are named, %d of 4 runs are said to be helped", named, helps)
	require.LessOrEqual(t, named, 1)
	require.Zero(t, helps)
}
