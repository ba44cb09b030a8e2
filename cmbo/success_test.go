package cmbo_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/linalg"
)

// crashes reports whether an evaluation of the test's objective fails.
func crashes(x []float64) bool { return x[0]+x[1] > 1 }

// objective is best where evaluations fail.
func objective(x []float64) float64 { return -math.Hypot(x[0]-0.7, x[1]-0.7) }

// crashing makes past tasks that fail in a part of the space.
func crashing(n int) []cmbo.Task {
	tasks := make([]cmbo.Task, n)
	for i := range tasks {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		tasks[i].ID = fmt.Sprint("task ", i)
		for range 15 {
			x := []float64{r.Float64(), r.Float64()}
			if crashes(x) {
				tasks[i].Failed = append(tasks[i].Failed, x)
			} else {
				tasks[i].X, tasks[i].Y = append(tasks[i].X, x), append(tasks[i].Y, objective(x)+0.1*float64(i))
			}
		}
	}
	return tasks
}

// driveFailing asks and answers n times, and returns the points and how many failed.
func driveFailing(t *testing.T, o *cmbo.Optimizer, n int) (points [][]float64, failed int) {
	t.Helper()
	for range n {
		trial := ask(t, o)
		points = append(points, trial.X)
		if crashes(trial.X) {
			failed++
			require.NoError(t, o.TellFailed(trial.ID))
		} else {
			require.NoError(t, o.Tell(trial.ID, objective(trial.X)))
		}
	}
	return points, failed
}

// TestFailuresTeach: with every acquisition a run keeps away from where the past
// failed, which one that knows of no failures does not.
func TestFailuresTeach(t *testing.T) {
	testutil.SkipShort(t, "it asks where proposals lie")
	space := unitCube(t, 2)
	tasks := crashing(4)
	prior, err := cmbo.Learn(t.Context(), space, tasks)
	require.NoError(t, err)
	for i := range tasks {
		tasks[i].Failed = nil
	}
	without, err := cmbo.Learn(t.Context(), space, tasks)
	require.NoError(t, err)
	for _, a := range []acq.Func{cmbo.EI(), cmbo.PI(), cmbo.UCB(1)} {
		for told := range 3 {
			asks := func(p *cmbo.Prior) []float64 {
				o := newOptimizer(t, space, cmbo.WithAcquisition(a), cmbo.WithPrior(p))
				for _, x := range [][]float64{{0.2, 0.3}, {0.1, 0.6}}[:told] {
					require.NoError(t, o.Observe(x, objective(x)))
				}
				trial := ask(t, o)
				return trial.X
			}
			require.True(t, crashes(asks(without)), "%v after %d", a, told)
			x := asks(prior)
			require.Less(t, x[0]+x[1], 1.1, "%v after %d", a, told)
		}
	}
	o := newOptimizer(t, space, cmbo.WithPrior(prior))
	ask(t, o)
	s, ok := o.LastStep()
	require.True(t, ok)
	var mean, n [2]float64 // where evaluations fail and where they succeed, off the border
	for i, x := range s.Candidates {
		if d := x[0] + x[1] - 1; math.Abs(d) > 0.3 {
			k := 0
			if d < 0 {
				k = 1
			}
			mean[k] += s.Success[i]
			n[k]++
		}
	}
	t.Log(mean[0]/n[0], mean[1]/n[1])
	require.Less(t, mean[0]/n[0], 0.3)
	require.Greater(t, mean[1]/n[1], 0.8)
}

// TestNoFailuresNoModel: without a failure there is no probability of success, and
// tasks that hold none give the prior of tasks without the field, bit for bit.
func TestNoFailuresNoModel(t *testing.T) {
	space := unitCube(t, 2)
	tasks := crashing(3)
	for i := range tasks {
		tasks[i].Failed = nil
	}
	prior, err := cmbo.Learn(t.Context(), space, tasks)
	require.NoError(t, err)
	o := newOptimizer(t, space, cmbo.WithPrior(prior))
	trial := ask(t, o)
	require.NoError(t, o.Tell(trial.ID, 1))
	trial = ask(t, o)
	s, ok := o.LastStep()
	require.True(t, ok)
	require.Nil(t, s.Success)
	require.NoError(t, o.TellFailed(trial.ID))
	ask(t, o)
	s, _ = o.LastStep()
	require.Len(t, s.Success, len(s.Mean))
	for _, p := range s.Success {
		require.True(t, p >= 0 && p <= 1)
	}
}

// TestFailuresRestored: a run with failures goes on from a snapshot, a journal and an
// encoded prior as it would have.
func TestFailuresRestored(t *testing.T) {
	space := unitCube(t, 2)
	learned, err := cmbo.Learn(t.Context(), space, crashing(3))
	require.NoError(t, err)
	var blob bytes.Buffer
	require.NoError(t, learned.Encode(&blob))
	decoded := decodePrior(t, bytes.NewReader(blob.Bytes()))
	var again bytes.Buffer
	require.NoError(t, decoded.Encode(&again))
	require.Equal(t, blob.Bytes(), again.Bytes())
	for _, prior := range []*cmbo.Prior{nil, learned} {
		var opts, restoring []cmbo.Option
		if prior != nil {
			opts = append(opts, cmbo.WithPrior(prior), cmbo.WithInitial(2))
			restoring = append(restoring, cmbo.WithPrior(decoded))
		}
		o := newOptimizer(t, space, opts...)
		driveFailing(t, o, 9)
		trial := ask(t, o)
		require.NoError(t, o.TellFailed(trial.ID))
		twin := restored(t, o, restoring...)
		want, _ := driveFailing(t, o, 3)
		got, _ := driveFailing(t, twin, 3)
		require.Equal(t, want, got)
	}
}

// TestFailuresAlone: a prior keeps tasks of failures alone, which come last, and learns where
// evaluations succeed from them where no other evaluation failed, too.
func TestFailuresAlone(t *testing.T) {
	space := unitCube(t, 2)
	valued := crashing(3)
	valued[0].Failed = nil
	alone := []cmbo.Task{{ID: "crash", Failed: [][]float64{{0.8, 0.7}, {0.9, 0.2}}}, {ID: "crash 2", Failed: [][]float64{{0.6, 0.6}}}}
	bare := crashing(3)
	for i := range bare {
		bare[i].Failed = nil
	}
	for _, with := range [][]cmbo.Task{bare, valued} {
		p := learn(t, space, append(with[:3:3], alone...), cmbo.WithIndexPoints(20))
		tasks := p.Tasks()
		require.Len(t, tasks, 5)
		for i, task := range alone {
			require.Equal(t, task.ID, tasks[3+i].ID)
			require.Empty(t, tasks[3+i].Y)
			require.InDeltaSlice(t, slices.Concat(task.Failed...), slices.Concat(tasks[3+i].Failed...), 1e-15)
		}
		_, _, err := p.Adopt(t.Context(), space, cmbo.Changes{})
		require.NoError(t, err)
		run := newOptimizer(t, space, cmbo.WithPrior(p))
		ask(t, run)
		step, _ := run.LastStep()
		require.NotEmpty(t, step.Success)
		for _, twice := range []cmbo.Task{{ID: "crash", Failed: alone[0].Failed}, {ID: "crash", X: valued[0].X, Y: valued[0].Y}} {
			_, err = cmbo.Learn(t.Context(), space, append(append(with[:3:3], alone...), twice))
			require.ErrorIs(t, err, cmbo.ErrTask)
			require.ErrorContains(t, err, `task "crash"`)
		}
	}
	_, err := cmbo.Learn(t.Context(), space, alone)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	require.ErrorContains(t, err, "no value in 2 tasks with 3 failures")
	_, err = cmbo.Check(t.Context(), space, append(valued[:1:1], alone...))
	require.ErrorIs(t, err, cmbo.ErrTask)
	require.ErrorContains(t, err, "none of 3 tasks has 5 different points and two different values, and others with values to learn from")
}

// boundless is an acquisition that is infinite at some means.
type boundless struct{ at func(mean float64) float64 }

func (b boundless) Score(mean, _ float64) float64 { return b.at(mean) }
func (boundless) String() string                  { return "boundless" }

// TestInfiniteScoresAndFailures: infinite scores are what they were once an evaluation
// failed, and the finite ones count from the least of them.
func TestInfiniteScoresAndFailures(t *testing.T) {
	list, _ := grid(t, 4)
	for name, at := range map[string]func(mean float64) float64{
		"all": func(float64) float64 { return math.Inf(1) },
		"some": func(mean float64) float64 {
			switch {
			case mean < 0.3:
				return math.Inf(-1)
			case mean > 0.6:
				return math.Inf(1)
			}
			return mean
		},
	} {
		o := newOptimizer(t, list, cmbo.WithSurrogate(coordinate{}), cmbo.WithInitial(0), cmbo.WithAcquisition(boundless{at}))
		for range 2 {
			trial, err := o.Ask(t.Context())
			require.NoError(t, err, name)
			require.NoError(t, o.TellFailed(trial.ID))
		}
		s, ok := o.LastStep()
		require.True(t, ok)
		for i, mean := range s.Mean {
			want := at(mean)
			if !math.IsInf(want, 0) {
				want = (mean - 1./3) * s.Success[i] * s.Success[i]
			}
			require.Equal(t, want, s.Scores[i], name)
		}
	}
}

// TestPowerOfSuccess: with a past the first failure counts as any probability does, those beyond a fifth of the
// evaluations make the power grow by three each, and one more in five evaluations leaves it as it is.
func TestPowerOfSuccess(t *testing.T) {
	s, p := hedgePrior(t)
	o := newOptimizer(t, s, cmbo.WithPrior(p), cmbo.WithAcquisition(boundless{func(mean float64) float64 { return mean }}))
	ask := func() cmbo.Trial {
		trial := ask(t, o)
		return trial
	}
	// power returns that of the scores of the last step: of each candidate the logarithm of its share of the gain over
	// that of its probability.
	power := func() float64 {
		step, ok := o.LastStep()
		require.True(t, ok)
		least := slices.Min(step.Mean)
		var powers []float64
		for i, mean := range step.Mean {
			if gain := mean - least; gain > 1e-3 && step.Success[i] < 0.9 {
				powers = append(powers, math.Log(step.Scores[i]/gain)/math.Log(step.Success[i]))
			}
		}
		require.Greater(t, len(powers), 9)
		require.InDelta(t, slices.Min(powers), slices.Max(powers), 1e-9)
		return powers[0]
	}
	trial := ask()
	for _, want := range []float64{2, 3, 6, 8} {
		require.NoError(t, o.TellFailed(trial.ID))
		trial = ask()
		require.InDelta(t, want, power(), 1e-9)
	}
	before := power()
	for i := range 10 {
		if i%5 == 2 {
			require.NoError(t, o.TellFailed(trial.ID))
		} else {
			require.NoError(t, o.Tell(trial.ID, 100))
		}
		trial = ask()
		if i%5 == 4 {
			require.InDelta(t, before, power(), 1e-9)
		} else if i%5 == 1 { // 1.2 less, in whole powers
			require.InDelta(t, before-1, power(), 1e-9)
		}
	}
}

// coordinate is a surrogate that takes the first coordinate for the objective.
type coordinate struct{}

func (coordinate) Fit(context.Context, cmbo.Data) error { return nil }
func (coordinate) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	for i := range mean {
		mean[i], sd[i] = x.Row(i)[0], 1
	}
	return nil
}

// Where no value tells the candidates apart, failures alone do, whatever the acquisition.
func TestFailuresAloneDecide(t *testing.T) {
	space, rows := grid(t, 6)
	for _, f := range []acq.Func{cmbo.EI(), cmbo.UCB(3), cmbo.PI()} {
		o := newOptimizer(t, space, cmbo.WithAcquisition(f), cmbo.WithInitial(0))
		for i, x := range rows {
			if x[0] < 0.5 && i%2 == 0 {
				require.NoError(t, o.Enqueue(x))
				trial := ask(t, o)
				require.NoError(t, o.TellFailed(trial.ID))
			}
		}
		trial := ask(t, o)
		step, _ := o.LastStep()
		require.Greater(t, trial.X[0], 0.5, "%v: probability %v", f, step.Success)
	}
}
