package cmbo_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
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
		first, err := o.Ask(ctx)
		require.NoError(t, err)
		require.InDelta(t, h, first.X[0], 0.25)
		require.NoError(t, o.Tell(first.ID, -0.1))
		var b bytes.Buffer
		require.NoError(t, o.Snapshot(&b))
		back, err := cmbo.Restore(&b, cmbo.WithPrior(prior))
		require.NoError(t, err)
		f := func(x []float64) float64 { return -(x[0] - h) * (x[0] - h) }
		require.Equal(t, drive(t, o, f, 6), drive(t, back, f, 6))
		tr := transferOf(t, back)
		require.Equal(t, relation, *tr.Relation)
		require.Contains(t, tr.String(), "height tells tasks apart: ")
		task, err := back.Task("new")
		require.NoError(t, err)
		require.Equal(t, cmbo.Context{"height": 100 + 1000*h}, task.Context)
	}

	// What was stored is described as it was, through Encode, Tasks, Add and Adopt.
	back, err := cmbo.DecodePrior(bytes.NewReader(encode(t, prior)))
	require.NoError(t, err)
	require.Equal(t, cmbo.Context{"height": tasks[0].Context["height"], "live": "true"}, back.Tasks()[0].Context)
	same, err := back.Relation(ctx)
	require.NoError(t, err)
	require.Equal(t, relation, same)
	q, _, err := back.Adopt(ctx, space, cmbo.Changes{})
	require.NoError(t, err)
	require.Equal(t, back.Tasks()[3].Context, q.Tasks()[3].Context)
	some := learn(t, space, tasks[:20], cmbo.WithIndexPoints(64))
	more, err := some.Add(ctx, tasks[20:])
	require.NoError(t, err)
	require.Equal(t, "false", more.Tasks()[23].Context["live"])
	list, err := cmbo.LearnFrom(ctx, space, each(tasks), cmbo.WithIndexPoints(64))
	require.NoError(t, err)
	require.Equal(t, digest(t, list), digest(t, learn(t, space, tasks, cmbo.WithIndexPoints(64))))
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
	x, sa, err := a.Predict([]float64{1, 1})
	require.NoError(t, err)
	y, sb, err := b.Predict([]float64{1, 1})
	require.NoError(t, err)
	require.Equal(t, []float64{x, sa}, []float64{y, sb})
	require.Contains(t, transferOf(t, b).String(), "descriptors say nothing")
	require.Nil(t, transferOf(t, a).Relation)
}

// Descriptors of another kind, of no task, or that cannot be are refused with their names.
func TestContextRefused(t *testing.T) {
	space, tasks := videos(t, 5, false)
	prior := learn(t, space, tasks, cmbo.WithIndexPoints(64))
	for want, opts := range map[string][]cmbo.Option{
		`option: WithContext: descriptor "height" is a []int`: {cmbo.WithPrior(prior), cmbo.WithContext(cmbo.Context{"height": []int{1}})},
		"WithContext without a Prior":                         {cmbo.WithContext(cmbo.Context{"height": 3})},
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
	_, err = prior.Add(ctx, []cmbo.Task{{ID: "z", X: tasks[0].X, Y: tasks[0].Y, Context: cmbo.Context{"live": 1}}})
	require.ErrorIs(t, err, cmbo.ErrTask)
	bad[2].Context = cmbo.Context{"": 1.0}
	_, err = cmbo.Learn(ctx, space, bad)
	require.ErrorContains(t, err, "a descriptor without a name")
}
