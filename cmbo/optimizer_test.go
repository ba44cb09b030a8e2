package cmbo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

func TestOptimizerFindsMaximum(t *testing.T) {
	testutil.SkipShort(t, "it asks where whole runs end")
	space, rows := grid(t, 15)
	target := bump([]float64{0.27, 0.33})
	best := math.Inf(-1)
	for _, r := range rows {
		best = max(best, target(r))
	}
	prior := learn(t, space, family(8, 20))
	for name, opts := range map[string][]cmbo.Option{
		"prior, UCB":   {cmbo.WithPrior(prior)},
		"prior, EI":    {cmbo.WithPrior(prior), cmbo.WithAcquisition(cmbo.EI())},
		"prior, PI":    {cmbo.WithPrior(prior), cmbo.WithAcquisition(cmbo.PI())},
		"prior, maxPI": {cmbo.WithPrior(prior), cmbo.WithAcquisition(cmbo.MaxValuePI())},
		"plain, EI":    {cmbo.WithAcquisition(cmbo.EI())},
		"plain, UCB":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOptimizer(t, space, opts...)
			drive(t, o, target, 25)
			got, ok := o.Best()
			require.True(t, ok)
			require.InDelta(t, best, got.Y, 1e-3)
			require.Equal(t, target(got.X), got.Y)
		})
	}
}

// TestOptimizerPriorHelps: the very first proposal of a learned prior is near
// one of the past maxima.
func TestOptimizerPriorHelps(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it asks how good a proposal is")
	space, _ := grid(t, 15)
	o := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, family(8, 20))))
	_, ok := o.Best()
	require.False(t, ok)
	trial := ask(t, o)
	near := min(math.Hypot(trial.X[0]-0.25, trial.X[1]-0.3), math.Hypot(trial.X[0]-0.8, trial.X[1]-0.7))
	require.Less(t, near, 0.25, "%v", trial.X)
}

func TestOptimizerProposesNothingTwice(t *testing.T) {
	rows := [][]float64{{0.1}, {0.5}, {0.1}, {0.9}, {0.5}, {0.3}}
	space, err := cmbo.Candidates(rows)
	require.NoError(t, err)
	o := newOptimizer(t, space, cmbo.WithInitial(2))
	require.NoError(t, o.Observe([]float64{0.3}, 0.2))
	var seen []float64
	for range 3 {
		trial := ask(t, o)
		require.Equal(t, rows[trial.Index], trial.X)
		require.NotContains(t, seen, trial.X[0])
		seen = append(seen, trial.X[0])
		require.NoError(t, o.Tell(trial.ID, trial.X[0]))
	}
	slices.Sort(seen)
	require.Equal(t, []float64{0.1, 0.5, 0.9}, seen)
	_, err = o.Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoCandidates)
	require.ErrorContains(t, err, "all 6")

	// A cancelled trial's point comes back, a failed one's does not.
	o = newOptimizer(t, space)
	ts := askN(t, o, 9)
	require.Len(t, ts, 4, "as many as there are")
	require.NoError(t, o.TellFailed(ts[0].ID))
	require.NoError(t, o.Cancel(ts[1].ID))
	again := ask(t, o)
	require.Equal(t, ts[1].X, again.X)
	_, err = o.Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoCandidates)
}

// A batch ends with the last point, be it a single one, its size may be the largest that is
// allowed, and the log says of a batch alone what it saw of others' values.
func TestAskNAtItsBounds(t *testing.T) {
	space, _ := grid(t, 2)
	o := newOptimizer(t, space, cmbo.WithSurrogate(flat{}), cmbo.WithInitial(0))
	ts := askN(t, o, 3)
	require.Len(t, ts, 3)
	ts = askN(t, o, 5)
	require.Len(t, ts, 1, "the last of four")
	require.NoError(t, o.Cancel(ts[0].ID))
	ts = askN(t, o, 1<<16)
	require.Len(t, ts, 1)
	_, err := o.AskN(ctx, 1<<16+1)
	require.ErrorIs(t, err, cmbo.ErrOption)
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	require.NotContains(t, b.String(), `"saw"`, "nobody told anything meanwhile")
}

// steps is a surrogate that keeps the numbers of the proposals that it was fitted for.
type steps struct {
	flat
	seen []int
}

func (s *steps) Fit(_ context.Context, d cmbo.Data) error {
	s.seen = append(s.seen, d.Step)
	return nil
}

// Data.Step is the number of the proposal, from 1.
func TestOptimizerCountsProposals(t *testing.T) {
	space, _ := grid(t, 3)
	s := new(steps)
	o := newOptimizer(t, space, cmbo.WithSurrogate(s), cmbo.WithInitial(0))
	for range 3 {
		ask(t, o)
	}
	require.Equal(t, []int{1, 2, 3}, slices.Compact(s.seen))
}

// TestOptimizerParameterSpaceProposesNothingTwice: in a space too large to be
// listed, local candidates hit points in use again and again, and one that is greedy
// would ask for the best of them. It may not, whether told, open, failed or
// observed.
func TestOptimizerParameterSpaceProposesNothingTwice(t *testing.T) {
	space := newSpace(t, cmbo.Int("n", 1, 5000))
	o := newOptimizer(t, space, cmbo.WithAcquisition(cmbo.UCB(1e-9)), cmbo.WithCandidateCounts(100, 200), cmbo.WithInitial(3))
	used, hit := map[float64]bool{2500: true}, false
	require.NoError(t, o.Observe([]float64{2500}, 1))
	for i := range 16 {
		trial := ask(t, o)
		require.False(t, used[trial.X[0]])
		if s, ok := o.LastStep(); ok {
			hit = hit || slices.ContainsFunc(s.Candidates, func(x []float64) bool { return used[x[0]] })
		}
		used[trial.X[0]] = true
		switch i {
		case 14: // whose lesson keeps later proposals away from it
			require.NoError(t, o.TellFailed(trial.ID))
		case 6, 13: // stay open
		default:
			require.NoError(t, o.Tell(trial.ID, -math.Abs(trial.X[0]-2500)/5000))
		}
	}
	require.True(t, hit, "no candidate was a point in use: the test is too easy")

	// Nor is there a point left when all of them have been observed.
	for _, initial := range []int{0, 6000} {
		o := newOptimizer(t, space, cmbo.WithInitial(initial), cmbo.WithSurrogate(flat{}), cmbo.WithCandidateCounts(100, 0))
		for n := range 5000 {
			require.NoError(t, o.Observe([]float64{float64(n + 1)}, 1))
		}
		_, err := o.Ask(ctx)
		require.ErrorIs(t, err, cmbo.ErrNoCandidates)
	}
}

// again is a surrogate that thinks best of what it has seen.
type again struct{ seen *linalg.Dense }

func (a *again) Fit(_ context.Context, d cmbo.Data) error { a.seen = d.Seen; return nil }
func (a *again) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	n, _ := a.seen.Dims()
	for i := range mean {
		mean[i], sd[i] = 0, 0
		for k := range n {
			if slices.Equal(x.Row(i), a.seen.Row(k)) {
				mean[i] = 1
			}
		}
	}
	return nil
}

// TestFailedPointsAreNotRepeated: a point that was told or failed is proposed again
// only if it is enqueued, in the design and by the model, on candidates, listed and
// other parameter spaces, in the same run and in those restored from it.
func TestFailedPointsAreNotRepeated(t *testing.T) {
	listed := newSpace(t, cmbo.Int("n", 0, 24))
	var rows [][]float64
	for i := range 25 {
		rows = append(rows, []float64{float64(i)})
	}
	list := listOf(t, listed, rows)
	large := newSpace(t, cmbo.LogInt("n", 1, 5000))
	for _, s := range []*cmbo.Space{list, listed, large} {
		for _, initial := range []int{0, 40} {
			var journal []byte
			write := cmbo.WithJournal(func(lines []byte) error { journal = append(journal, lines...); return nil })
			model := cmbo.WithSurrogate(new(again))
			o := newOptimizer(t, s, model, cmbo.WithInitial(initial), cmbo.WithAcquisition(cmbo.UCB(1)), write)
			failed, used := map[float64]bool{}, map[float64]bool{}
			for i := range 20 {
				trial := ask(t, o)
				x := trial.X[0]
				require.False(t, used[x], "%g, which was told or failed", x)
				used[x] = true
				if i < 5 {
					failed[x] = true
					require.NoError(t, o.TellFailed(trial.ID))
				} else {
					require.NoError(t, o.Tell(trial.ID, x))
				}
				switch i {
				case 2:
					fresh := len(journal)
					o = restored(t, o, model, write)
					journal = journal[fresh:]
				case 3, 6:
					var err error
					o, _, err = cmbo.RestoreJournal(bytes.NewReader(journal), model, write)
					require.NoError(t, err)
				}
			}
			require.Len(t, failed, 5)
			for x := range failed {
				require.NoError(t, o.Enqueue([]float64{x}))
				trial := ask(t, o)
				require.Equal(t, x, trial.X[0])
			}
		}
	}
}

func TestOptimizerSmallDiscreteSpaceIsListed(t *testing.T) {
	space := newSpace(t, cmbo.Int("n", 1, 3), cmbo.Categorical("c", "a", "b"), cmbo.Bool("b"))
	o := newOptimizer(t, space)
	var seen []string
	for range 12 {
		trial := ask(t, o)
		require.Equal(t, -1, trial.Index)
		require.NoError(t, space.Check(trial.X))
		key := trial.Choice("c")
		if trial.Bool("b") {
			key += "+"
		}
		key += string(rune('0' + trial.Int("n")))
		require.NotContains(t, seen, key)
		if step, ok := o.LastStep(); ok {
			require.Len(t, step.Scores, 12, "of all points")
		}
		seen = append(seen, key)
		require.NoError(t, o.Tell(trial.ID, float64(len(seen)%5)))
	}
	_, err := o.Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoCandidates)
}

func TestOptimizerMixedSpaceProposesValidPoints(t *testing.T) {
	space, err := cmbo.NewSpace(cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12), cmbo.LogInt("batch", 8, 4096),
		cmbo.Categorical("opt", "sgd", "adam", "lion"), cmbo.Bool("nesterov"), cmbo.Float("momentum", 0, 0.99))
	require.NoError(t, err)
	f := func(x []float64) float64 {
		return -math.Abs(math.Log10(x[0])+2) - 0.1*math.Abs(x[1]-7) + x[4]
	}
	tasks := make([]cmbo.Task, 5)
	for j := range tasks {
		o := newOptimizer(t, space, cmbo.WithInitial(20), cmbo.WithSeed(uint64(j)))
		drive(t, o, f, 15)
		tasks[j] = taskOf(t, o, string(rune('a'+j)))
	}
	for name, opts := range map[string][]cmbo.Option{
		"plain":   {cmbo.WithCandidateCounts(200, 50)},
		"default": {cmbo.WithPrior(learn(t, space, tasks, cmbo.WithIndexPoints(60))), cmbo.WithCandidateCounts(200, 50)},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOptimizer(t, space, opts...)
			seen := make(map[[6]float64]bool)
			for range 15 {
				trial := ask(t, o)
				require.NoError(t, space.Check(trial.X))
				require.Equal(t, -1, trial.Index, "there is no list")
				key := [6]float64(trial.X)
				require.False(t, seen[key])
				seen[key] = true
				require.NoError(t, o.Tell(trial.ID, f(trial.X)))
			}
			best, _ := o.Best()
			mean, sd := predict(t, o, best.X)
			require.InDelta(t, best.Y, mean, 4*sd+0.5)
		})
	}
}

// TestOptimizerMinimizes: minimising f proposes what maximising -f does.
func TestOptimizerMinimizes(t *testing.T) {
	space, _ := grid(t, 9)
	tasks := family(4, 20)
	f := bump([]float64{0.3, 0.3})
	minus := func(x []float64) float64 { return -f(x) }
	flipped := make([]cmbo.Task, len(tasks))
	for j, task := range tasks {
		flipped[j] = cmbo.Task{ID: task.ID, X: task.X}
		for _, y := range task.Y {
			flipped[j].Y = append(flipped[j].Y, -y)
		}
	}
	up := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, tasks)))
	down := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, flipped, cmbo.WithMinimize())))
	require.Equal(t, drive(t, up, f, 10), drive(t, down, minus, 10))
	a, _ := up.Best()
	b, _ := down.Best()
	require.Equal(t, a.X, b.X)
	require.Equal(t, a.Y, -b.Y)
	ma, sa := predict(t, up, []float64{0.5, 0.5})
	mb, sb := predict(t, down, []float64{0.5, 0.5})
	require.Equal(t, ma, -mb)
	require.Equal(t, sa, sb)

	plainUp, plainDown := newOptimizer(t, space), newOptimizer(t, space, cmbo.WithMinimize())
	require.Equal(t, drive(t, plainUp, f, 8), drive(t, plainDown, minus, 8))

	_, err := cmbo.New(space, cmbo.WithPrior(learn(t, space, tasks)), cmbo.WithMinimize())
	require.ErrorIs(t, err, cmbo.ErrPriorMismatch)
}

// TestOptimizerScaleOfValues: with values standardised, a power of two times
// the values plus nothing changes no bit of a proposal.
func TestOptimizerScaleOfValues(t *testing.T) {
	space, _ := grid(t, 9)
	f := bump([]float64{0.6, 0.3})
	larger := func(x []float64) float64 { return 1024 * f(x) }
	a, b := drive(t, newOptimizer(t, space), f, 10), drive(t, newOptimizer(t, space), larger, 10)
	require.Equal(t, a, b)
	// The default prior knows the scale of the past, which has to be larger too.
	past := family(4, 20)
	a = drive(t, newOptimizer(t, space, cmbo.WithPrior(learn(t, space, past))), f, 10)
	for i := range past {
		for j := range past[i].Y {
			past[i].Y[j] *= 1024
		}
	}
	b = drive(t, newOptimizer(t, space, cmbo.WithPrior(learn(t, space, past))), larger, 10)
	require.Equal(t, a, b)
}

func TestOptimizerSameAtAnyNumberOfCores(t *testing.T) {
	space, _ := grid(t, 12)
	params := unitCube(t, 2)
	f := bump([]float64{0.6, 0.3})
	run := func(cores int) (out [][]float64, weights []float64) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		o := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, family(7, 20), cmbo.WithIndexPoints(40))))
		out = append(out, drive(t, o, f, 5)...)
		weights = append(weights, weightsOf(t, o)...)
		out = append(out, drive(t, newOptimizer(t, params, cmbo.WithPrior(learn(t, params, family(5, 15), cmbo.WithIndexPoints(50)))), f, 5)...)
		out = append(out, drive(t, newOptimizer(t, params), f, 10)...)
		return out, weights
	}
	one, w1 := run(1)
	eight, w8 := run(8)
	require.Equal(t, one, eight)
	require.Equal(t, w1, w8)
}

func TestOptimizerTrialsInAnyOrder(t *testing.T) {
	space, _ := grid(t, 9)
	o := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, family(4, 20))))
	f := bump([]float64{0.3, 0.3})
	ts := askN(t, o, 5)
	for i, a := range ts {
		require.Equal(t, i+1, a.ID)
		for _, b := range ts[:i] {
			require.NotEqual(t, a.X, b.X)
		}
	}
	require.Len(t, o.Open(), 5)
	for _, i := range []int{3, 0, 4} {
		require.NoError(t, o.Tell(ts[i].ID, f(ts[i].X)))
	}
	require.NoError(t, o.TellFailed(ts[1].ID))
	require.NoError(t, o.Cancel(ts[2].ID))
	require.Empty(t, o.Open())

	before := o.Observations()
	require.ErrorIs(t, o.Tell(ts[3].ID, 1), cmbo.ErrTrialClosed)
	require.ErrorContains(t, o.Tell(ts[3].ID, 1), "4 was told")
	require.ErrorIs(t, o.Tell(ts[1].ID, 1), cmbo.ErrTrialClosed)
	require.ErrorContains(t, o.TellFailed(ts[1].ID), "2 was failed")
	require.ErrorContains(t, o.Cancel(ts[2].ID), "3 was cancelled")
	require.ErrorIs(t, o.Tell(6, 1), cmbo.ErrUnknownTrial)
	require.ErrorContains(t, o.Tell(6, 1), "6; the last one asked is 5")
	require.ErrorIs(t, o.Tell(0, 1), cmbo.ErrUnknownTrial)
	require.ErrorIs(t, o.Cancel(-1), cmbo.ErrUnknownTrial)
	require.Equal(t, before, o.Observations())
}

// TestOptimizerBatchEqualsSequence: asking for n at once is asking n times.
func TestOptimizerBatchEqualsSequence(t *testing.T) {
	space, _ := grid(t, 9)
	prior := learn(t, space, family(4, 20))
	for _, opts := range [][]cmbo.Option{{cmbo.WithPrior(prior)}, {cmbo.WithInitial(2)}} {
		a, b := newOptimizer(t, space, opts...), newOptimizer(t, space, opts...)
		drive(t, a, bump([]float64{0.3, 0.3}), 6)
		drive(t, b, bump([]float64{0.3, 0.3}), 6)
		batch := askN(t, a, 4)
		for _, want := range batch {
			got := ask(t, b)
			require.Equal(t, want.X, got.X)
			require.Equal(t, want.ID, got.ID)
		}
	}
}

// TestOptimizerPendingLeavesMean: open trials shrink the deviation and leave
// the mean, and Predict does not see them.
func TestOptimizerPendingLeavesMean(t *testing.T) {
	space, _ := grid(t, 9)
	for _, opts := range [][]cmbo.Option{{cmbo.WithInitial(2)}} {
		o := newOptimizer(t, space, opts...)
		drive(t, o, bump([]float64{0.3, 0.3}), 4)
		x := []float64{0.5, 0.5}
		m0, s0 := predict(t, o, x)
		ask(t, o)
		first, _ := o.LastStep()
		ask(t, o)
		second, _ := o.LastStep()
		require.Equal(t, first.Mean, second.Mean)
		for i := range first.SD {
			require.LessOrEqual(t, second.SD[i], first.SD[i]+1e-9)
		}
		require.Less(t, second.SD[first.Chosen], first.SD[first.Chosen])
		m1, s1 := predict(t, o, x)
		require.Equal(t, m0, m1)
		require.Equal(t, s0, s1)
	}
}

func TestOptimizerRejectsBadInput(t *testing.T) {
	space, _ := grid(t, 9)
	prior := learn(t, space, family(4, 20))
	for _, opts := range [][]cmbo.Option{{cmbo.WithPrior(prior)}, nil} {
		o, twin := newOptimizer(t, space, opts...), newOptimizer(t, space, opts...)
		f := bump([]float64{0.3, 0.3})
		drive(t, o, f, 6)
		drive(t, twin, f, 6)
		trial, same := askSame(t, o, twin)

		for _, y := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
			require.ErrorIs(t, o.Tell(trial.ID, y), cmbo.ErrValue)
			require.ErrorIs(t, o.Observe([]float64{0, 0}, y), cmbo.ErrValue)
		}
		require.ErrorIs(t, o.Tell(trial.ID, 1, cmbo.WithNoise(-1)), cmbo.ErrValue)
		require.ErrorIs(t, o.Tell(trial.ID, 1, cmbo.WithNoise(math.NaN())), cmbo.ErrValue)
		require.ErrorIs(t, o.Tell(trial.ID, 1, nil), cmbo.ErrOption)
		require.ErrorIs(t, o.Observe([]float64{0}, 1), cmbo.ErrDimension)
		require.ErrorIs(t, o.Observe([]float64{0, 1.5}, 1), cmbo.ErrOutOfSpace)
		require.ErrorIs(t, o.Observe([]float64{0, math.NaN()}, 1), cmbo.ErrValue)
		_, _, err := o.Predict(ctx, []float64{0, 2})
		require.ErrorIs(t, err, cmbo.ErrOutOfSpace)
		_, err = o.AskN(ctx, 0)
		require.ErrorIs(t, err, cmbo.ErrOption)
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err = o.Ask(cancelled)
		require.ErrorIs(t, err, context.Canceled)
		_, err = o.AskN(cancelled, 3)
		require.ErrorIs(t, err, context.Canceled)
		_, err = o.Task("")
		require.ErrorIs(t, err, cmbo.ErrTask)

		// Nothing of it left a trace.
		require.Equal(t, twin.Observations(), o.Observations())
		require.Equal(t, twin.Open(), o.Open())
		require.NoError(t, o.Tell(trial.ID, 0.5))
		require.NoError(t, twin.Tell(same.ID, 0.5))
		require.Equal(t, drive(t, twin, f, 3), drive(t, o, f, 3))
	}
}

func TestNewRejects(t *testing.T) {
	space, _ := grid(t, 4)
	prior := learn(t, space, family(4, 10))
	other := unitCube(t, 3)
	for name, tt := range map[string]struct {
		space *cmbo.Space
		opts  []cmbo.Option
		want  error
	}{
		"nil space":     {nil, nil, cmbo.ErrSpace},
		"nil option":    {space, []cmbo.Option{nil}, cmbo.ErrOption},
		"nil prior":     {space, []cmbo.Option{cmbo.WithPrior(nil)}, cmbo.ErrOption},
		"nil surrogate": {space, []cmbo.Option{cmbo.WithSurrogate(nil)}, cmbo.ErrOption},
		"nil kernel":    {space, []cmbo.Option{cmbo.WithKernel(nil)}, cmbo.ErrOption},
		"other space":   {other, []cmbo.Option{cmbo.WithPrior(prior)}, cmbo.ErrPriorMismatch},
		"negative beta": {space, []cmbo.Option{cmbo.WithAcquisition(cmbo.UCB(-1))}, cmbo.ErrOption},
		"noise":         {space, []cmbo.Option{cmbo.WithNoiseVariance(0)}, cmbo.ErrOption},
		"NaN noise":     {space, []cmbo.Option{cmbo.WithNoiseVariance(math.NaN())}, cmbo.ErrOption},
		"huge noise":    {space, []cmbo.Option{cmbo.WithNoiseVariance(1e151)}, cmbo.ErrOption},
		"initial":       {space, []cmbo.Option{cmbo.WithInitial(-1)}, cmbo.ErrOption},
		"policy":        {space, []cmbo.Option{cmbo.WithYPolicy(9)}, cmbo.ErrOption},
		"counts":        {space, []cmbo.Option{cmbo.WithCandidateCounts(0, 0)}, cmbo.ErrOption},
		"parallelism":   {space, []cmbo.Option{cmbo.WithParallelism(0)}, cmbo.ErrOption},
	} {
		_, err := cmbo.New(tt.space, tt.opts...)
		require.ErrorIs(t, err, tt.want, name)
	}
}

// TestOptimizerNoisePerObservation: a measurement said to be precise is
// followed, one said to be vague is not.
func TestOptimizerNoisePerObservation(t *testing.T) {
	space, _ := grid(t, 9)
	prior := learn(t, space, family(4, 20))
	for _, opts := range [][]cmbo.Option{{cmbo.WithPrior(prior)}, {cmbo.WithInitial(0)}} {
		gap := func(noise float64) float64 {
			o := newOptimizer(t, space, opts...)
			for i, x := range [][]float64{{0, 0}, {1, 1}, {0, 1}, {1, 0}} {
				require.NoError(t, o.Observe(x, float64(i%2), cmbo.WithNoise(1e-6)))
			}
			x := []float64{0.5, 0.5}
			require.NoError(t, o.Observe(x, 3, cmbo.WithNoise(noise)))
			m, _ := predict(t, o, x)
			return math.Abs(m - 3)
		}
		require.Less(t, gap(1e-6), 0.1)
		require.Greater(t, gap(100), 0.5)
	}
}

func TestOptimizerRepeatedMeasurements(t *testing.T) {
	space, _ := grid(t, 5)
	r := rng.Stream(1, "repeats")
	for _, opts := range [][]cmbo.Option{{cmbo.WithPrior(learn(t, space, family(4, 20))), cmbo.WithNoiseVariance(1e-4)}, {cmbo.WithInitial(0)}} {
		o := newOptimizer(t, space, opts...)
		x := []float64{0.25, 0.25}
		_, s0 := predict(t, o, x)
		for range 60 {
			require.NoError(t, o.Observe(x, 1+0.1*r.NormFloat64()))
		}
		m, s := predict(t, o, x)
		require.InDelta(t, 1, m, 0.1)
		require.Less(t, s, s0)
		ask(t, o)
	}
}

func TestOptimizerTaskRoundTrip(t *testing.T) {
	space, _ := grid(t, 9)
	o := newOptimizer(t, space)
	_, err := o.Task("empty")
	require.ErrorIs(t, err, cmbo.ErrTask)
	drive(t, o, bump([]float64{0.3, 0.3}), 7)
	require.NoError(t, o.Observe([]float64{0.1, 0.2}, 5, cmbo.WithNoise(0.5)))
	task := taskOf(t, o, "run")
	require.Len(t, task.Y, 8)
	require.Equal(t, 0.5, task.NoiseVariance[7])
	prior := learn(t, space, append(family(3, 10), task))
	require.Equal(t, 4, prior.NumTasks())
}

func TestTrials(t *testing.T) {
	space := unitCube(t, 2)
	opt := newOptimizer(t, space)
	require.Empty(t, opt.Trials())
	asked := askN(t, opt, 7)
	report := func(id int, y float64) {
		report(t, opt, id, 1, y)
	}
	require.NoError(t, opt.Tell(2, 0.5))
	require.NoError(t, opt.TellFailed(3))
	require.NoError(t, opt.Cancel(4))
	report(5, 0.25)
	require.NoError(t, opt.TellStopped(ctx, 5))
	report(6, math.NaN())
	report(7, 0.75)
	want := []cmbo.Status{cmbo.StatusOpen, cmbo.StatusTold, cmbo.StatusFailed, cmbo.StatusCancelled, cmbo.StatusStopped,
		cmbo.StatusFailed, cmbo.StatusOpen}
	restored := restored(t, opt)
	for i, w := range want {
		require.Equal(t, cmbo.StatusOpen, asked[i].Status)
		asked[i].Status = w
	}
	for _, o := range []*cmbo.Optimizer{opt, restored} {
		got := o.Trials()
		for i := range got { // but for the space, of which each has its own
			require.Equal(t, asked[i].Config(), got[i].Config())
			require.Equal(t, asked[i].Status, got[i].Status)
			require.Equal(t, i+1, got[i].ID)
		}
		require.Len(t, got, len(want))
		require.Equal(t, []cmbo.Trial{got[0], got[6]}, o.Open())
		got[0].X[0] = 2
		require.NotEqual(t, got[0].X, o.Trials()[0].X)
	}
	for _, err := range []error{opt.Tell(5, 1), opt.Cancel(6)} {
		require.ErrorIs(t, err, cmbo.ErrTrialClosed)
	}
	require.ErrorContains(t, opt.Tell(5, 1), "5 was stopped")
	text, err := json.Marshal(opt.Trials()[4])
	require.NoError(t, err)
	require.Contains(t, string(text), `"Status":"stopped"`)
	var read cmbo.Trial // by a worker elsewhere
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, opt.Trials()[4].X, read.X)
	require.Equal(t, cmbo.StatusStopped, read.Status)
}

func TestTrialAccessors(t *testing.T) {
	space := newSpace(t, cmbo.LogFloat("lr", 1e-5, 1), cmbo.Int("depth", 1, 12), cmbo.Categorical("opt", "sgd", "adam"), cmbo.Bool("on"))
	trial, err := newOptimizer(t, space).Ask(ctx)
	require.NoError(t, err)
	require.Equal(t, trial.X[0], trial.Float("lr"))
	require.Equal(t, int(trial.X[1]), trial.Int("depth"))
	require.Equal(t, trial.X[1], trial.Float("depth"))
	require.Contains(t, []string{"sgd", "adam"}, trial.Choice("opt"))
	require.Equal(t, trial.X[3] == 1, trial.Bool("on"))
	require.Len(t, trial.Config(), 4)
	for want, f := range map[string]func(){
		`Float("nothing"): there is no parameter of that name among ["lr" "depth" "opt" "on"]`: func() { trial.Float("nothing") },
		`Float("opt"): it is a parameter of kind categorical`:                                  func() { trial.Float("opt") },
		`Int("lr"): it is a parameter of kind logfloat`:                                        func() { trial.Int("lr") },
		`Choice("lr"): it is a parameter of kind logfloat`:                                     func() { trial.Choice("lr") },
		`Bool("depth"): it is a parameter of kind int`:                                         func() { trial.Bool("depth") },
		`Bool("on"): no Optimizer made the point`:                                              func() { (cmbo.Trial{}).Bool("on") },
	} {
		require.PanicsWithValue(t, "cmbo: "+want, f)
	}
	require.Nil(t, cmbo.Trial{}.Config())
	trial.X[2] = 99
	require.Panics(t, func() { trial.Choice("opt") })
}

// endingSurrogate ends a context while it computes, and does not look at it.
type endingSurrogate struct {
	fit, predict func()
}

func (s endingSurrogate) Fit(context.Context, cmbo.Data) error { s.fit(); return nil }

func (s endingSurrogate) Predict(_ context.Context, mean, sd []float64, _ *linalg.Dense) error {
	s.predict()
	for i := range sd {
		sd[i] = 1
	}
	return nil
}

// TestPredictWaitsAsLongAsItMay: who asks what the model expects while another call has it waits no longer than its context.
func TestPredictWaitsAsLongAsItMay(t *testing.T) {
	fitting, release := make(chan struct{}), make(chan struct{})
	space, _ := grid(t, 3)
	o := newOptimizer(t, space, cmbo.WithSurrogate(endingSurrogate{func() { close(fitting); <-release }, func() {}}))
	asked := make(chan error)
	go func() { _, err := o.Ask(ctx); asked <- err }()
	<-fitting
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err := o.Predict(done, []float64{0, 0})
	require.ErrorIs(t, err, context.Canceled)
	_, err = o.Quantiles(done, []float64{0, 0})
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	require.NoError(t, <-asked)
}

// Ask fails once ctx is done, also with a model that does not look at it.
func TestAskWhenContextEndsInModel(t *testing.T) {
	for _, where := range []string{"fit", "predict"} {
		done, cancel := context.WithCancel(ctx)
		s := endingSurrogate{func() {}, cancel}
		if where == "fit" {
			s = endingSurrogate{cancel, func() { require.Fail(t, "predicts after ctx is done") }}
		}
		space, _ := grid(t, 3)
		o := newOptimizer(t, space, cmbo.WithSurrogate(s))
		_, err := o.Ask(done)
		require.ErrorIs(t, err, context.Canceled, where)
		require.Empty(t, o.Open())
	}
}

// TestZeroOptimizer: calls of an Optimizer that nobody made say so.
func TestZeroOptimizer(t *testing.T) {
	var o cmbo.Optimizer
	for name, call := range map[string]func() error{
		"Ask":         func() error { _, err := o.Ask(ctx); return err },
		"Tell":        func() error { return o.Tell(1, 2) },
		"TellFailed":  func() error { return o.TellFailed(1) },
		"TellStopped": func() error { return o.TellStopped(ctx, 1) },
		"Cancel":      func() error { return o.Cancel(1) },
		"Report":      func() error { _, err := o.Report(ctx, 1, 1, 2); return err },
		"Observe":     func() error { return o.Observe([]float64{1}, 2) },
		"Enqueue":     func() error { return o.Enqueue([]float64{1}) },
		"Predict":     func() error { _, _, err := o.Predict(ctx, []float64{1}); return err },
		"Importance":  func() error { _, err := o.Importance(ctx); return err },
		"Transfer":    func() error { _, err := o.Transfer(ctx); return err },
		"AskN":        func() error { _, err := o.AskN(ctx, 2); return err },
		"Quantiles":   func() error { _, err := o.Quantiles(ctx, []float64{1}); return err },
		"Weights":     func() error { _, err := o.Weights(ctx); return err },
		"Task":        func() error { _, err := o.Task("run"); return err },
		"Snapshot":    func() error { return o.Snapshot(io.Discard) },
		"Explain":     func() error { _, err := o.Explain(ctx, 1); return err },
		"Outlook":     func() error { _, err := o.Outlook(ctx); return err },
		"Calibration": func() error { _, err := o.Calibration(ctx); return err },
		"Recommend":   func() error { _, err := o.Recommend(ctx); return err },
		"Cutoff":      func() error { _, _, err := o.Cutoff(ctx, 1, 1); return err },
	} {
		require.ErrorIs(t, call(), cmbo.ErrOption, name)
		require.ErrorContains(t, call(), "a zero Optimizer; use New or Restore", name)
	}
	_, best := o.Best()
	_, step := o.LastStep()
	_, mark := o.JournalMark()
	require.False(t, best || step || mark)
	require.Empty(t, o.Open())
	require.Empty(t, o.Observations())
	require.Empty(t, o.Enqueued())
	require.Nil(t, o.Space())
}

// TestFixedImprovement: with a prior as without one, EI over a fixed value is that.
func TestFixedImprovement(t *testing.T) {
	s, rows := grid(t, 5)
	scores := func(f acq.Func) []float64 {
		o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, family(4, 10))), cmbo.WithAcquisition(f))
		for i := range 3 {
			require.NoError(t, o.Observe(rows[7*i], 100+float64(i)))
		}
		ask(t, o)
		step, ok := o.LastStep()
		require.True(t, ok)
		return step.Scores
	}
	told := scores(cmbo.EI())
	require.Equal(t, told, scores(acq.EI{Best: 102}), "the best told")
	low, high := scores(acq.EI{Best: 90}), scores(acq.EI{Best: 110})
	for i := range told {
		require.Greater(t, low[i], told[i])
		require.Less(t, high[i], told[i])
	}
}
