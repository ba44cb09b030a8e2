package cmbo_test

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// videos are tasks on a list whose best point follows the height of a video.
func videos(t testing.TB, n int, noise bool) (*cmbo.Space, []cmbo.Task) {
	t.Helper()
	space, rows := grid(t, 8)
	var tasks []cmbo.Task
	for i := range n {
		r := rng.Stream(9, "video", uint64(i))
		h := r.Float64()
		task := cmbo.Task{ID: string(rune('a' + i)), Context: cmbo.Context{"height": 100 + 1000*h, "live": i%2 == 0, "rate": nil}}
		if noise {
			task.Context = cmbo.Context{"height": r.NormFloat64()}
		}
		for _, x := range rows {
			if r.Float64() < 0.3 {
				task.X, task.Y = append(task.X, x), append(task.Y, -(x[0]-h)*(x[0]-h)-0.3*(x[1]-0.5)*(x[1]-0.5)+0.01*r.NormFloat64())
			}
		}
		tasks = append(tasks, task)
	}
	return space, tasks
}

// Descriptors that past tasks follow choose the first point, and the run that was described is
// stored and restored with them; useless ones change no bit.
func TestContext(t *testing.T) {
	space, tasks := videos(t, 24, false)
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64))
	relation, err := prior.Relation(ctx)
	require.NoError(t, err)
	require.Equal(t, "height", relation.Descriptors[0])
	for _, h := range []float64{0.1, 0.9} {
		o := newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"height": 100 + 1000*h, "rate": math.NaN(), "live": nil}))
		first := ask(t, o)
		require.InDelta(t, h, first.X[0], 0.25)
		require.NoError(t, o.Tell(first.ID, -0.1))
		back := restored(t, o, cmbo.WithPrior(prior))
		f := func(x []float64) float64 { return -(x[0] - h) * (x[0] - h) }
		require.Equal(t, drive(t, o, f, 6), drive(t, back, f, 6))
		tr := transferOf(t, back)
		require.Equal(t, relation, *tr.Relation)
		require.Contains(t, tr.String(), "height tells tasks apart: ")
		task := taskOf(t, back, "new")
		require.Equal(t, cmbo.Context{"height": 100 + 1000*h}, task.Context)
	}

	// What was stored is described as it was, through Encode, Tasks and Adopt.
	back := decodePrior(t, bytes.NewReader(encode(t, prior)))
	require.Equal(t, cmbo.Context{"height": tasks[0].Context["height"], "live": "true"}, back.Tasks()[0].Context)
	same, err := back.Relation(ctx)
	require.NoError(t, err)
	require.Equal(t, relation, same)
	q, _, err := back.Adopt(ctx, space, cmbo.Changes{})
	require.NoError(t, err)
	require.Equal(t, back.Tasks()[3].Context, q.Tasks()[3].Context)
	list, err := cmbo.LearnFrom(ctx, space, each(tasks), cmbo.WithIndexPoints(64))
	require.NoError(t, err)
	require.Equal(t, digest(t, list), digest(t, learn(t, space, tasks, cmbo.WithIndexPoints(64))))
}

// TestForeignContext: a descriptor of use that the past does not know, or not so large, is told once for all models that it
// is of use to; one that is of no use is not.
func TestForeignContext(t *testing.T) {
	t.Parallel()
	space, tasks := timed(t, 16)
	for i := range tasks {
		tasks[i].Outputs["joules"] = tasks[i].Outputs["seconds"]
	}
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64), cmbo.WithMinimize())
	limits := []cmbo.Option{cmbo.WithPrior(prior), cmbo.WithOutput("seconds", cmbo.AtMost(20)), cmbo.WithOutput("joules", cmbo.AsCost())}
	for words, context := range map[string]cmbo.Context{
		"; height 5000 lies beyond 1": {"height": 5000, "noise": 1e9},
		"; height -1 lies beyond 1":   {"height": -1},
		"; height is not known":       {"noise": 0},
		"":                            {"height": 600, "noise": 1e9},
	} {
		o := newOptimizer(t, space, append(limits, cmbo.WithContext(context))...)
		text := transferOf(t, o).String()
		require.Equal(t, 2, strings.Count(text, "height tells tasks apart"))
		_, told, _ := strings.Cut(text, "no descriptor is shown to be of use") // to the values themselves
		require.Regexp(t, "^"+words, told)
		require.Equal(t, min(len(words), 1), strings.Count(told, "; "), told)
	}
}

// Descriptors that say nothing change no bit of a run.
func TestContextOfNoUse(t *testing.T) {
	space, tasks := videos(t, 16, true)
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64))
	relation, err := prior.Relation(ctx)
	require.NoError(t, err)
	require.Zero(t, relation)
	f := bump([]float64{0.3, 0.3})
	a, b := newOptimizer(t, space, cmbo.WithPrior(prior)), newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"height": 0.2}))
	require.Equal(t, drive(t, a, f, 6), drive(t, b, f, 6))
	x, sa := predict(t, a, []float64{1, 1})
	y, sb := predict(t, b, []float64{1, 1})
	require.Equal(t, []float64{x, sa}, []float64{y, sb})
	require.Contains(t, transferOf(t, b).String(), "no descriptor is shown to be of use")
	require.Nil(t, transferOf(t, a).Relation)
}

// TestRelationCancelled: a call that is cancelled on its way ends there and leaves nothing behind, so that the next one
// works out what descriptors are worth.
func TestRelationCancelled(t *testing.T) {
	space, tasks := videos(t, 24, false)
	want, err := learn(t, space, tasks, cmbo.WithIndexPoints(64)).Relation(ctx)
	require.NoError(t, err)
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64))
	looks := 0
	got, err := prior.Relation(testutil.Countdown(0))
	for ; err != nil; looks++ {
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, got)
		got, err = prior.Relation(testutil.Countdown(looks + 1))
	}
	require.Equal(t, want, got)
	require.Greater(t, looks, len(tasks)+2*3, "before each task and each length of both descriptors")
	got, err = prior.Relation(testutil.Countdown(1))
	require.NoError(t, err)
	require.Equal(t, want, got, "is kept")
}

// crowded notes how many goroutines there are while it is evaluated.
type crowded struct {
	foreign
	most *atomic.Int64
}

func (w crowded) Eval(x, y []float64) float64 {
	for n, m := int64(runtime.NumGoroutine()), w.most.Load(); n > m && !w.most.CompareAndSwap(m, n); {
		m = w.most.Load()
	}
	return w.foreign.Eval(x, y)
}

func (w crowded) WithParams(t []float64) (kernel.Kernel, error) {
	return crowded{foreign{math.Exp(t[0])}, w.most}, nil
}

// TestParallelismIsTheRuns: a run works out what descriptors say on as many goroutines as it may have, not as Learn had.
func TestParallelismIsTheRuns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	space, tasks := videos(t, 12, false)
	for _, n := range []int{1, 3} {
		w := crowded{foreign{0.5}, new(atomic.Int64)}
		prior := learn(t, space, tasks, cmbo.WithIndexPoints(20), cmbo.WithKernel(w), cmbo.WithParallelism(4-n))
		w.most.Store(0)
		before := int64(runtime.NumGoroutine())
		newOptimizer(t, space, cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"height": 500}), cmbo.WithParallelism(n))
		if n == 1 {
			require.Equal(t, before, w.most.Load())
		} else {
			require.Greater(t, w.most.Load(), before)
			require.LessOrEqual(t, w.most.Load(), before+int64(n))
		}
	}
}

// Descriptors of another kind, of no task, or that cannot be are refused with their names.
func TestContextRefused(t *testing.T) {
	space, tasks := videos(t, 5, false)
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64))
	for want, opts := range map[string][]cmbo.Option{
		`option: WithContext: descriptor "height" is a []int`: {cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"height": []int{1}})},
		"WithContext without a Prior":                         {cmbo.WithContext(cmbo.Context{"height": 3})},
		// A snapshot would hold another choice than the run has, and a journal could not be gone on with.
		`descriptor "category" is "Caf\xe9", which is not UTF-8`: {cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"category": "Caf\xe9"})},
	} {
		_, err := cmbo.New(space, opts...)
		require.ErrorIs(t, err, cmbo.ErrOption, want)
		require.ErrorContains(t, err, want)
	}
	bad := append([]cmbo.Task(nil), tasks...)
	bad[2].Context = cmbo.Context{"height": "low"}
	_, err := cmbo.Learn(ctx, space, bad)
	require.ErrorIs(t, err, cmbo.ErrTask)
	require.ErrorContains(t, err, `descriptor "height" is "low", and in task "a" it is`)
	for range 16 { // of several descriptors the first one is named, whatever the order of the map
		bad[1].Context = cmbo.Context{"a": 1.0, "b": 1.0, "c": 1.0}
		bad[2].Context = cmbo.Context{"a": "1", "b": "1", "c": "1"}
		_, err = cmbo.Learn(ctx, space, bad)
		require.ErrorContains(t, err, `descriptor "a" is "1", and in task "b" it is 1`)
	}
	bad[1] = tasks[1]
	bad[2].Context = cmbo.Context{"": 1.0}
	_, err = cmbo.Learn(ctx, space, bad)
	require.ErrorContains(t, err, `descriptor "": its name is empty`)
}

// timed are tasks whose size falls with effort, while the time rises with it and with the height
// of a video.
func timed(t testing.TB, n int) (*cmbo.Space, []cmbo.Task) {
	t.Helper()
	space, rows := grid(t, 8)
	var tasks []cmbo.Task
	for i := range n {
		r := rng.Stream(10, "timed", uint64(i))
		h, own := r.Float64(), math.Exp(r.NormFloat64())
		task := cmbo.Task{ID: string(rune('a' + i)), Context: cmbo.Context{"height": 100 + 1000*h, "noise": r.NormFloat64()}, Outputs: map[string][]float64{"seconds": nil}}
		for _, x := range rows {
			if r.Float64() < 0.4 {
				task.X, task.Y = append(task.X, x), append(task.Y, own*(3-2*x[0]+(x[1]-0.5)*(x[1]-0.5)))
				task.Outputs["seconds"] = append(task.Outputs["seconds"], seconds(x, h)*math.Exp(0.05*r.NormFloat64()))
			}
		}
		tasks = append(tasks, task)
	}
	return space, tasks
}

func seconds(x []float64, h float64) float64 { return math.Exp(2*h + 2*x[0] + x[1]) }

// Descriptors that tell the level of an output have the first question hold its limit where the
// level is high, and come nearer to it where it is low; the run is stored and restored with them
// after every event, and neither the order of the tasks nor that of the outputs changes what is
// asked.
func TestContextOfOutputs(t *testing.T) {
	space, tasks := timed(t, 20)
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64), cmbo.WithMinimize())
	slices.Reverse(tasks)
	reversed := learn(t, space, tasks, cmbo.WithIndexPoints(64), cmbo.WithMinimize())
	slices.Reverse(tasks)
	back := decodePrior(t, bytes.NewReader(encode(t, prior)))
	require.Equal(t, encode(t, prior), encode(t, back))
	streamed, err := cmbo.LearnFrom(ctx, space, each(tasks), cmbo.WithIndexPoints(64), cmbo.WithMinimize())
	require.NoError(t, err)
	require.Equal(t, digest(t, prior), digest(t, streamed))

	size := func(x []float64) float64 { return 3 - 2*x[0] + (x[1]-0.5)*(x[1]-0.5) }
	tell := func(o *cmbo.Optimizer, trial cmbo.Trial, h float64) {
		require.NoError(t, o.Tell(trial.ID, size(trial.X), cmbo.Outputs{"seconds": seconds(trial.X, h), "parts": trial.X[0] - trial.X[1]}))
	}
	for h, most := range map[float64]float64{0.1: 20, 0.9: 7.4} {
		context, limit := cmbo.WithContext(cmbo.Context{"height": 100 + 1000*h, "noise": nil}), cmbo.WithOutput("seconds", cmbo.AtMost(most))
		plain, err := newOptimizer(t, space, cmbo.WithPrior(prior), limit).Ask(ctx)
		require.NoError(t, err)
		parts := cmbo.WithOutput("parts", cmbo.AtLeast(-1))
		o := newOptimizer(t, space, cmbo.WithPrior(prior), context, limit, parts)
		others := []*cmbo.Optimizer{
			newOptimizer(t, space, cmbo.WithPrior(prior), parts, limit, context),
			newOptimizer(t, space, cmbo.WithPrior(back), context, limit, parts),
			newOptimizer(t, space, cmbo.WithPrior(reversed), context, limit, parts),
		}
		for n := range 4 {
			trial := ask(t, o)
			if n == 0 {
				require.LessOrEqual(t, seconds(trial.X, h), most)
				require.Equal(t, h == 0.1, seconds(plain.X, h) <= most)
				if h == 0.1 {
					require.Less(t, size(trial.X), size(plain.X)-0.3)
				}
			}
			for _, p := range others {
				same := ask(t, p)
				require.Equal(t, trial.X, same.X)
				tell(p, same, h)
			}
			restored := restored(t, o, cmbo.WithPrior(prior))
			tell(o, trial, h)
			others = append(others, restored)
			tell(restored, trial, h)
		}
		tr := transferOf(t, others[3])
		require.Equal(t, []string{"height"}, tr.Outputs["seconds"].Relation.Descriptors)
		require.Regexp(t, "; of seconds .*, and height tells tasks apart: 9. % of", tr.String())
		require.Zero(t, *tr.Relation, "the sizes do not follow it")
		require.Nil(t, tr.Outputs["parts"].Relation, "no past task has it")
	}
}

// Descriptors that do not tell outputs apart, such as those of other tasks, change no bit of a
// run under limits or at a cost.
func TestContextOfNoUseToOutputs(t *testing.T) {
	space, tasks := timed(t, 16)
	for name, contexts := range map[string]func(i int) cmbo.Context{
		"useless": func(i int) cmbo.Context { return cmbo.Context{"height": tasks[i].Context["noise"]} },
		"dealt":   func(i int) cmbo.Context { return tasks[(5*i+3)%16].Context },
	} {
		dealt := slices.Clone(tasks)
		for i := range dealt {
			dealt[i].Context = contexts(i)
		}
		prior := learn(t, space, dealt, cmbo.WithIndexPoints(64), cmbo.WithMinimize())
		for _, out := range [][]cmbo.Option{
			{cmbo.WithOutput("seconds", cmbo.AtMost(math.Exp(2.5)))},
			{cmbo.WithOutput("seconds", cmbo.AsCost()), cmbo.WithBudget(500)},
		} {
			opts := append(out, cmbo.WithPrior(prior))
			a := newOptimizer(t, space, opts...)
			b := newOptimizer(t, space, append(opts, cmbo.WithContext(cmbo.Context{"height": 0.9}))...)
			for range 5 {
				x, _ := askSame(t, a, b)
				sa, _ := a.LastStep()
				sb, _ := b.LastStep()
				require.Equal(t, sa, sb)
				for _, o := range []*cmbo.Optimizer{a, b} {
					require.NoError(t, o.Tell(x.ID, 1-x.X[0], cmbo.Outputs{"seconds": seconds(x.X, 0.9)}))
				}
			}
			tr := transferOf(t, b)
			require.Zero(t, *tr.Outputs["seconds"].Relation, name)
			require.NotContains(t, tr.String(), "tasks apart")
		}
	}
}
