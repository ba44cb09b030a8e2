package hierarchy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// carryAll carries tasks to a grid under a known base process.
func carryAll(t *testing.T, tasks []Task, z *linalg.Dense, neighbours int) (*grid, []*carried) {
	t.Helper()
	g := newGrid(fixedBase(2), z, neighbours)
	on := make([]*carried, len(tasks))
	for i := range tasks {
		var err error
		on[i], err = g.carryTask(&tasks[i])
		require.NoError(t, err)
	}
	return g, on
}

func (g *grid) start() Moments {
	m := Moments{Mean: make([]float64, g.len()), Cov: g.gram}
	for i := range m.Mean {
		m.Mean[i] = g.base.Mean
	}
	return m
}

// With all grid points as neighbours and the base process's own moments, a point off
// the grid has the base process's covariances exactly.
func TestGridKeepsBaseProcess(t *testing.T) {
	r := rng.Stream(1, t.Name())
	z, x := uniform(r, 12, 2), uniform(r, 5, 2)
	for _, neighbours := range []int{3, 12} {
		g := newGrid(fixedBase(2), z, neighbours)
		m := &Model{grid: g, pop: g.start()}
		_, cov := denseMoments(t, m, &hypothesis{m: m, past: population}, join(x, z))
		want := linalg.NewSym(17, nil)
		kernel.Gram(want, g.base.Kernel, join(x, z))
		for i := range 17 {
			assert.InDelta(t, want.At(i, i), cov.At(i, i), 1e-10) // variances with any number
			for j := range i {
				if neighbours == 12 || i >= 5 && j >= 5 {
					assert.InDelta(t, want.At(i, j), cov.At(i, j), 1e-9, "%d neighbours, (%d, %d)", neighbours, i, j)
				}
			}
		}
		var chol linalg.Cholesky
		cov.AddDiag(1e-9)
		assert.NoError(t, chol.Factorize(cov), "%d neighbours", neighbours)
	}
}

// A task that is concentrated says of the grid what it said: the likelihood, the posterior
// mean, and what it adds to the sums of EM, in either form, whether or not points are of the grid,
// have noise of their own, or are too few to tell of all grid points. In parts it says what it would if what the grid does
// not say were independent from part to part.
func TestConcentrate(t *testing.T) {
	r := rng.Stream(1, t.Name())
	for _, c := range []struct{ distinct, part int }{{40, 40}, {5, 40}, {40, 11}, {5, 11}} {
		distinct := c.distinct
		inParts(t, c.part)
		z := uniform(r, 9, 2)
		x := linalg.NewDense(40, 2, nil)
		some := join(z, uniform(r, 40, 2))
		task := Task{ID: "long", X: x, Z: make([]float64, 40), Noise: make([]float64, 40)}
		for i := range 40 {
			copy(x.Row(i), some.Row(i%distinct))
			task.Z[i] = r.NormFloat64() + 3*x.Row(i)[0]
			if i%3 == 0 {
				task.Noise[i] = 0.3
			}
		}
		g, on := carryAll(t, []Task{task}, z, 4)
		g.base.Mean = 0.7
		m := g.start()
		for i := range m.Mean {
			m.Mean[i] += 0.3 * r.NormFloat64()
		}
		of := make(map[float64]int)
		for k, part := range task.parts(c.part) {
			for _, v := range part.Z {
				of[v] = k
			}
		}
		for i, v := range task.Z {
			for j, w := range task.Z[:i] {
				if of[v] != of[w] {
					on[0].rest.Set(i, j, 0)
				}
			}
		}
		short, err := g.concentrate(&task)
		require.NoError(t, err)
		require.Equal(t, 9, short.len())
		for _, f := range []form{primal, dual, precision} {
			var sums [2]tally
			var means [2][]float64
			for i, c := range []*carried{on[0], short} {
				var e estep
				sums[i] = tally{form: f, s: linalg.NewSym(9, nil), u: make([]float64, 9)}
				sums[i].log, err = e.condition(c, m, g.base.Mean)
				require.NoError(t, err)
				sums[i].add(&e, c)
				means[i], err = e.posteriorMean(c, m, g.base.Mean)
				require.NoError(t, err)
			}
			tol := 1e-6 // jitter
			if distinct == 40 {
				tol = 1e-10
				assert.InDelta(t, sums[0].log, sums[1].log, tol)
			}
			for i := range 9 {
				assert.InDelta(t, means[0][i], means[1][i], tol)
				assert.InDelta(t, sums[0].u[i], sums[1].u[i], tol*max(1, math.Abs(sums[0].u[i])))
				for j := range i + 1 {
					assert.InDelta(t, sums[0].s.At(i, j), sums[1].s.At(i, j), tol*max(1, math.Abs(sums[0].s.At(i, j))), "%d %d", i, j)
				}
			}
		}
	}
}

// No task that is carried keeps a matrix of its own points where these are more than the grid's.
func TestCarriedTasksAreNoLargerThanTheGrid(t *testing.T) {
	g := newGrid(fixedBase(2), uniform(rng.Stream(1, t.Name()), 9, 2), 4)
	for n, want := range map[int]int{5: 5, 9: 9, 40: 9} {
		on, err := g.carryTasks(ctx, makeTasks(1, 2, n, 2, 0, 1), 1)
		require.NoError(t, err)
		for _, c := range on {
			require.Equal(t, want, c.rest.Dim())
		}
	}
}

// nearest finds the largest entries, the first of equals, whatever it takes for the largest.
func TestNearest(t *testing.T) {
	r := rng.Stream(1, t.Name())
	for range 200 {
		n := 1 + r.IntN(300)
		l := locator{row: make([]float64, n)}
		for i := range l.row {
			l.row[i] = float64(r.IntN(60) - 30) // with equals
		}
		m := 1 + r.IntN(min(n, 20))
		got := make([]int, m)
		l.nearest(got, []float64{30, 7, 1e-300, 1e300, 0, math.NaN()}[r.IntN(6)])
		require.Len(t, got, m)
		in := make(map[int]bool)
		for i, v := range got {
			in[v] = true
			require.True(t, i == 0 || got[i-1] < v)
		}
		for _, a := range got {
			for b := range n {
				if !in[b] {
					require.True(t, l.row[a] > l.row[b] || l.row[a] == l.row[b] && a < b)
				}
			}
		}
	}
}

// A step of EM is the average of the tasks' posteriors, computed task by task.
func TestEMStep(t *testing.T) {
	const few, many = 4, 7 // tasks of 6 points on a grid of 14
	require.Less(t, few*6, dualFrom*14)
	require.Greater(t, many*6, dualFrom*14)
	for _, k := range []int{few, many} {
		testEMStep(t, k)
	}
}

func testEMStep(t *testing.T, k int) {
	r := rng.Stream(1, t.Name())
	tasks := makeTasks(3, k, 6, 2, 0, 1)
	tasks[2].Noise = []float64{.1, 0, 0, .2, 0, .05}
	z := uniform(r, 14, 2)
	copy(z.Row(2), tasks[0].X.Row(3))
	g, on := carryAll(t, tasks, z, 5)
	from := g.start()
	got, _, err := g.expectMaximize(ctx, on, from, 0.3, 1, 1)
	require.NoError(t, err)

	n := float64(len(tasks))
	want := make([]float64, 14)
	var posts []taskPosterior
	for _, c := range on {
		q := posteriorOf(t, c, from, g.base.Mean)
		posts = append(posts, q)
		linalg.Axpy(want, 1/n, q.mean)
	}
	cov := linalg.NewSym(14, nil)
	for _, q := range posts {
		s := linalg.NewSym(14, nil)
		s.Copy(from.Cov)
		s.AddTransGram(-1, &q.v)
		cov.AddScaled(1/n, s)
		d := linalg.NewDense(1, 14, nil)
		for i := range want {
			d.Set(0, i, q.mean[i]-want[i])
		}
		cov.AddTransGram(1/n, d)
	}
	trace := cov.Trace()
	cov.Scale(0.7)
	cov.AddScaled(0.3*trace/g.gram.Trace(), g.gram)
	sameMoments(t, Moments{want, cov}, got, 1e-11)
}

// Variances that rounding takes below 0 are 0 after a step.
func TestStepKeepsVariances(t *testing.T) {
	g := newGrid(fixedBase(2), uniform(rng.Stream(1, t.Name()), 3, 2), 3)
	m, s := g.start(), linalg.NewSym(3, nil)
	m.Cov = linalg.NewSym(3, []float64{1, 0.5, 0, 0.5, 1, 0, 0, 0, 1})
	s.Set(0, 0, 2*(1+1e-9)) // of two tasks
	g.maximize(&m, s, []float64{0, 1, 0}, 2, 0)
	require.InDeltaSlice(t, []float64{0, 0.75, 1}, []float64{m.Cov.At(0, 0), m.Cov.At(1, 1), m.Cov.At(2, 2)}, 1e-15)
	require.GreaterOrEqual(t, m.Cov.At(0, 0), 0.0)
}

// taskPosterior is what a task leaves of the moments: f(Z) ~ N(mean, C − vᵀ·v).
type taskPosterior struct {
	mean []float64
	v    linalg.Dense // n×g
}

func posteriorOf(t *testing.T, c *carried, m Moments, base float64) (p taskPosterior) {
	t.Helper()
	var e estep
	var err error
	p.mean, err = e.posteriorMean(c, m, base)
	require.NoError(t, err)
	e.chol.SolveLowerTo(&p.v, &e.proj)
	return p
}

// A task's posterior is that of dense conditioning, and its likelihood that of its
// dense covariance.
func TestTaskPosterior(t *testing.T) {
	r := rng.Stream(1, t.Name())
	tasks := makeTasks(4, 1, 6, 2, 0, 1)
	z := uniform(r, 10, 2)
	g, on := carryAll(t, tasks, z, 4)
	m := &Model{grid: g, pop: g.start()}
	for i := range m.pop.Mean {
		m.pop.Mean[i] += 0.3 * float64(i%3)
	}
	mean, cov := denseMoments(t, m, &hypothesis{m: m, past: population}, join(tasks[0].X, z))
	seen := linalg.NewSym(6, nil)
	resid := make([]float64, 6)
	for i := range 6 {
		for j := range i + 1 {
			seen.Set(i, j, cov.At(i, j))
		}
		// The mean that a task has is carried by the weights that carry its values.
		mean[i] = g.base.Mean
		for a, q := range on[0].idx[i] {
			mean[i] += on[0].w[i][a] * (m.pop.Mean[q] - g.base.Mean)
		}
		resid[i] = tasks[0].Z[i] - mean[i]
	}
	seen.AddDiag(g.base.NoiseVariance)
	alpha, logDet := solve(t, seen, resid)
	var e estep
	log, err := e.condition(on[0], m.pop, g.base.Mean)
	require.NoError(t, err)
	assert.InDelta(t, -0.5*(linalg.Dot(alpha, resid)+logDet+6*math.Log(2*math.Pi)), log, 1e-9)
	p := posteriorOf(t, on[0], m.pop, g.base.Mean)
	post := linalg.NewSym(10, nil)
	post.Copy(m.pop.Cov)
	post.AddTransGram(-1, &p.v)
	for i := range 10 {
		k := cov.Row(6 + i)[:6]
		w, _ := solve(t, seen, k)
		assert.InDelta(t, mean[6+i]+linalg.Dot(k, alpha), p.mean[i], 1e-9)
		assert.InDelta(t, cov.At(6+i, 6+i)-linalg.Dot(k, w), post.At(i, i), 1e-9)
	}
}

// Without shrinkage EM never lowers the likelihood.
func TestEMClimbs(t *testing.T) {
	r := rng.Stream(1, t.Name())
	tasks := makeTasks(5, 12, 8, 2, 0, 1)
	g, on := carryAll(t, tasks, uniform(r, 15, 2), 6)
	_, logs, err := g.expectMaximize(ctx, on, g.start(), 0, 25, 1)
	require.NoError(t, err)
	for i := 1; i < len(logs); i++ {
		assert.GreaterOrEqual(t, logs[i], logs[i-1]-1e-8*math.Abs(logs[i]), "step %d", i)
	}
	assert.Greater(t, logs[24], logs[0]+1)
}

// Smooth tasks without noise leave next to nothing of most of the covariance, which rounding takes
// below 0, and the moments are learned all the same: those of the least noise.
func TestEMOfExactValues(t *testing.T) {
	r := rng.Stream(1, t.Name())
	x := uniform(r, 20, 1)
	of := func(noise float64) (tasks []Task) {
		r := rng.Stream(2, t.Name())
		for i := range 12 {
			a, b, y := 1+0.2*r.NormFloat64(), r.NormFloat64(), make([]float64, points.Len(x))
			for j := range y {
				y[j] = math.Sin(3*a*x.Row(j)[0]) + math.Cos(2*x.Row(j)[0]+0.3*b)
			}
			tasks = append(tasks, scaled(fmt.Sprint(i), x, y))
			if noise > 0 {
				tasks[i].Noise = slices.Repeat([]float64{noise}, len(y))
			}
		}
		return tasks
	}
	em := func(base, noise float64) Moments {
		k := kernel.Scale(1, kernel.Matern32(30))
		m, logs, err := EM(ctx, Base{Kernel: k, NoiseVariance: base}, x, of(noise), 0.1, 16, 1)
		require.NoError(t, err)
		require.Len(t, logs, 16)
		return m
	}
	want := em(leastNoise, 0)
	assert.Equal(t, want, em(1e-7, 0), "noise learned")
	assert.Equal(t, want, em(0.1, 1e-30), "noise given")
	assert.NotEqual(t, want, em(1e-2, 0))
}

// Of many tasks a sample gives the moments, the same one in whatever order
// they come; as many as the bound are all taken.
func TestGroupTasks(t *testing.T) {
	tasks := makeTasks(5, 12, 8, 2, 0, 1)
	z := uniform(rng.Stream(5, t.Name()), 20, 2)
	o := testSettings(2)
	all := learn(t, tasks, z, o)
	o.GroupTasks = len(tasks)
	require.Equal(t, all.pop, learn(t, tasks, z, o).pop)
	o.GroupTasks = 5
	few := learn(t, tasks, z, o)
	require.NotEqual(t, all.pop, few.pop)
	turned := slices.Clone(tasks)
	slices.Reverse(turned)
	back := learn(t, turned, z, o)
	for i := range few.pop.Mean {
		require.InDelta(t, few.pop.Mean[i], back.pop.Mean[i], 1e-7)
	}
	require.Len(t, few.Tasks(), len(tasks))
}

// The mean that each task leaves of the population's is that of dense conditioning, on the
// grid and off it.
func TestTaskMeans(t *testing.T) {
	r := rng.Stream(24, t.Name())
	tasks := makeTasks(24, 4, 6, 2, 0, 1)
	z := uniform(r, 10, 2)
	settings := testSettings(2)
	settings.Workers = 3
	m := learn(t, tasks, z, settings)
	require.Zero(t, m.Settings().Workers, "which were Learn's")
	x := join(uniform(r, 3, 2), z)
	means, err := m.TaskMeans(ctx, x, 2)
	require.NoError(t, err)
	require.Len(t, means, len(tasks))
	for i, task := range tasks {
		mean, cov := denseMoments(t, m, &hypothesis{m: m, past: population}, join(task.X, z))
		seen, resid := linalg.NewSym(6, nil), make([]float64, 6)
		for a := range 6 {
			for b := range a + 1 {
				seen.Set(a, b, cov.At(a, b))
			}
			resid[a] = task.Z[a] - mean[a]
		}
		seen.AddDiag(m.Base().NoiseVariance)
		alpha, _ := solve(t, seen, resid)
		grid := make([]float64, 10)
		for a := range grid {
			grid[a] = mean[6+a] + linalg.Dot(cov.Row(6 + a)[:6], alpha)
		}
		assert.InDeltaSlice(t, denseMeans(t, m.grid, grid, x), means[i], 1e-9, "task %d", i)
		assert.InDeltaSlice(t, grid, means[i][3:], 1e-9)
	}
}

// TestTaskMeansOfManyValues: of a task of very many values the mean is that of a sample, of one of fewer of all.
func TestTaskMeansOfManyValues(t *testing.T) {
	testutil.SkipRace(t, "TestPassesAreEM has its goroutines")
	r := rng.Stream(25, t.Name())
	m := learn(t, makeTasks(25, 4, 6, 2, 0, 1), uniform(r, 10, 2), testSettings(2))
	long := Task{ID: "long", X: uniform(r, meanRows+1, 2)}
	for i := range meanRows + 1 {
		long.Z = append(long.Z, long.X.At(i, 0)+0.1*r.NormFloat64())
	}
	means, err := m.posteriorMeans(ctx, []Task{long, *long.some(meanRows, m.settings.Seed), *long.some(meanRows-1, m.settings.Seed)}, 1)
	require.NoError(t, err)
	require.Equal(t, means[1], means[0])
	require.NotEqual(t, means[2], means[1])
}

// A base process of a single task is not asked what tasks foretell of each other, however noisy it is.
func TestBaseOfOneTask(t *testing.T) {
	const rows, dim = 40, 2
	r := rng.Stream(7, t.Name())
	list, tasks := uniform(r, rows, dim), make([]Task, 3)
	for i := range tasks {
		y := make([]float64, rows)
		for j := range y {
			y[j] = r.NormFloat64()
		}
		tasks[i] = scaled(fmt.Sprint(i), list, y)
	}
	s := DefaultSettings(dim)
	require.NoError(t, s.Ablate("BaseTasks=1"))
	m, err := Learn(t.Context(), tasks, list, s)
	require.NoError(t, err)
	require.True(t, m.LooksLikeNoise())
}

// TestSaysNothing: tasks say nothing that are noise for the most part, of 150 values and of forty each, and all whose values
// are equal.
func TestSaysNothing(t *testing.T) {
	for _, tt := range []struct {
		tasks, values int
		noise         float64
		flat, want    bool
	}{
		{3, 150, 9.1, false, true}, {3, 149, 9.1, false, false}, {3, 150, 8.9, false, false}, {10, 400, 9.1, false, true},
		{10, 399, 9.1, false, false}, {3, 3, 0.1, true, true},
	} {
		base := fixedBase(2)
		base.NoiseVariance = tt.noise * base.Kernel.Eval([]float64{0, 0}, []float64{0, 0})
		m := &Model{tasks: make([]Task, tt.tasks), values: tt.values, flat: tt.flat}
		m.set(newGrid(base, uniform(rng.Stream(1, t.Name()), 3, 2), 3), Moments{})
		require.Equal(t, tt.want, m.SaysNothing(), "%v", tt)
	}
}

// TestNoiseOrRoughness: what tasks have in common point by point is found where points tell nothing of each other, few and
// many tasks alike, though fits to tasks one by one end at noise. Values that say nothing are noise, however many tasks have
// them. Smooth tasks that are unlike each other, single tasks, and tasks of given noise or of few values are what those fits
// say.
func TestNoiseOrRoughness(t *testing.T) {
	testutil.SkipRace(t, "TestPassesAreEM has its goroutines")
	const rows, dim = 80, 7
	for _, tt := range []struct {
		kind          string
		tasks, values int
		noise         float64
		changed       bool
	}{
		{"noise", 8, 40, 0, false},
		{"noise", 64, 40, 0, false},
		{"alike", 2, 40, 0, true},
		{"alike", 3, 40, 0, true},
		{"alike", 24, 40, 0, true},
		{"smooth", 24, 40, 0, false},
		{"noise", 1, 40, 0, false},
		{"alike", 24, 40, 0.9, false},
		{"alike", 48, 7, 0, false},
	} {
		r := rng.Stream(5, t.Name(), uint64(tt.tasks))
		list, tasks := uniform(r, rows, dim), make([]Task, tt.tasks)
		common := make([]float64, rows)
		for i := range common {
			common[i] = r.NormFloat64()
		}
		for i := range tasks {
			x, y := linalg.NewDense(tt.values, dim, nil), make([]float64, tt.values)
			centre := uniform(r, 1, dim).Row(0)
			for j, row := range r.Perm(rows)[:tt.values] {
				copy(x.Row(j), list.Row(row))
				switch y[j] = 0.5 * r.NormFloat64(); tt.kind {
				case "alike":
					y[j] += common[row]
				case "smooth":
					y[j] = math.Hypot(x.At(j, 0)-centre[0], x.At(j, 1)-centre[1])
				}
			}
			tasks[i] = scaled(fmt.Sprint(i), x, y)
			if tt.noise > 0 {
				tasks[i].Noise = slices.Repeat([]float64{tt.noise}, tt.values)
			}
		}
		s := DefaultSettings(dim)
		base, _, err := fitBase(t.Context(), sample(tasks, len(tasks), 0, ""), &s)
		require.NoError(t, err)
		m, err := Learn(t.Context(), tasks, list, s)
		require.NoError(t, err)
		require.Equal(t, tt.changed, base.NoiseVariance != m.Base().NoiseVariance, "%v", tt)
		if shared, _ := m.SharedMean(); tt.changed {
			require.False(t, m.LooksLikeNoise(), "%v", tt)
			require.Greater(t, shared, 0.4, "%v", tt)
		}
		if tt.tasks == 64 { // the other way round
			var logs [2]float64
			for i, noise := range []bool{true, false} {
				logs[i], err = newGrid(s.blind(noise), list, s.Neighbours).foretold(t.Context(), tasks, &s)
				require.NoError(t, err)
			}
			require.Greater(t, logs[0], logs[1]+clearEvidence)
		}
	}
}

// TestRoughnessFromHalf: of tasks that have a smooth function in common, and as much point by point, the latter is asked for
// where half of what a task shows is noise.
func TestRoughnessFromHalf(t *testing.T) {
	const rows, dim, values = 60, 2, 40
	for smooth, changed := range map[float64]bool{0.8: true, 0.9: false} {
		r := rng.Stream(5, t.Name())
		list, tasks := uniform(r, rows, dim), make([]Task, 6)
		common := make([]float64, rows)
		for i := range common {
			common[i] = r.NormFloat64()
		}
		for i := range tasks {
			x, y := linalg.NewDense(values, dim, nil), make([]float64, values)
			for j, row := range r.Perm(rows)[:values] {
				copy(x.Row(j), list.Row(row))
				y[j] = common[row] + 0.3*r.NormFloat64() + smooth*math.Sqrt2*math.Sin(2*math.Pi*x.At(j, 0))
			}
			tasks[i] = scaled(fmt.Sprint(i), x, y)
		}
		s := DefaultSettings(dim)
		base, _, err := fitBase(t.Context(), tasks, &s)
		require.NoError(t, err)
		var alone Model
		alone.set(newGrid(*base, list, s.Neighbours), Moments{})
		require.Equal(t, changed, alone.NoiseShare() >= 0.5)
		require.InDelta(t, 0.5, alone.NoiseShare(), 0.06)
		m, err := Learn(t.Context(), tasks, list, s)
		require.NoError(t, err)
		require.Equal(t, changed, base.NoiseVariance != m.Base().NoiseVariance)
	}
}
