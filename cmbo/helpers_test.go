package cmbo_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

// bump is a smooth function on the unit cube with its maximum, 1, at c.
func bump(c []float64) func(x []float64) float64 {
	return func(x []float64) float64 {
		var s float64
		for i, v := range x {
			d := v - c[i]
			s += d * d
		}
		return math.Exp(-4 * s)
	}
}

// family makes past tasks on the unit square in two groups, with maxima around
// two places.
func family(k, n int) []cmbo.Task {
	tasks := make([]cmbo.Task, k)
	for j := range tasks {
		r := rng.Stream(11, "family", uint64(j))
		c := []float64{0.25, 0.3}
		if j%2 == 1 {
			c = []float64{0.8, 0.7}
		}
		for i := range c {
			c[i] += 0.05 * r.NormFloat64()
		}
		f := bump(c)
		tasks[j].ID = fmt.Sprintf("task-%02d", j)
		for range n {
			x := []float64{r.Float64(), r.Float64()}
			tasks[j].X = append(tasks[j].X, x)
			tasks[j].Y = append(tasks[j].Y, 100+7*f(x))
		}
	}
	return tasks
}

// grid is a list of m×m candidates on the unit square.
func grid(t testing.TB, m int) (*cmbo.Space, [][]float64) {
	var rows [][]float64
	for i := range m {
		for j := range m {
			rows = append(rows, []float64{float64(i) / float64(m-1), float64(j) / float64(m-1)})
		}
	}
	s, err := cmbo.Candidates(rows)
	require.NoError(t, err)
	return s, rows
}

func newSpace(t testing.TB, params ...cmbo.Param) *cmbo.Space {
	s, err := cmbo.NewSpace(params...)
	require.NoError(t, err)
	return s
}

func unitCube(t testing.TB, dim int) *cmbo.Space {
	s, err := cmbo.UnitCube(dim)
	require.NoError(t, err)
	return s
}

func learn(t testing.TB, s *cmbo.Space, tasks []cmbo.Task, opts ...cmbo.LearnOption) *cmbo.Prior {
	p, err := cmbo.Learn(ctx, s, tasks, opts...)
	require.NoError(t, err)
	return p
}

func newOptimizer(t testing.TB, s *cmbo.Space, opts ...cmbo.Option) *cmbo.Optimizer {
	o, err := cmbo.New(s, opts...)
	require.NoError(t, err)
	return o
}

func restore(t testing.TB, snapshot io.Reader, opts ...cmbo.Option) *cmbo.Optimizer {
	o, err := cmbo.Restore(snapshot, opts...)
	require.NoError(t, err)
	return o
}

// restored returns the run that a snapshot of o restores.
func restored(t testing.TB, o *cmbo.Optimizer, opts ...cmbo.Option) *cmbo.Optimizer {
	return restore(t, bytes.NewReader(snapshot(t, o)), opts...)
}

func ask(t testing.TB, o *cmbo.Optimizer) cmbo.Trial {
	trial, err := o.Ask(ctx)
	require.NoError(t, err)
	return trial
}

func askN(t testing.TB, o *cmbo.Optimizer, n int) []cmbo.Trial {
	trials, err := o.AskN(ctx, n)
	require.NoError(t, err)
	return trials
}

func explain(t testing.TB, o *cmbo.Optimizer, id int) cmbo.Explanation {
	e, err := o.Explain(ctx, id)
	require.NoError(t, err)
	return e
}

func predict(t testing.TB, o *cmbo.Optimizer, x []float64) (mean, sd float64) {
	mean, sd, err := o.Predict(ctx, x)
	require.NoError(t, err)
	return mean, sd
}

func outlookOf(t testing.TB, o *cmbo.Optimizer) cmbo.Outlook {
	u, err := o.Outlook(ctx)
	require.NoError(t, err)
	return u
}

func report(t testing.TB, o *cmbo.Optimizer, id, step int, y float64) cmbo.Prospect {
	p, err := o.Report(ctx, id, step, y)
	require.NoError(t, err)
	return p
}

func transferOf(t testing.TB, o *cmbo.Optimizer) cmbo.Transfer {
	out, err := o.Transfer(ctx)
	require.NoError(t, err)
	return out
}

func recommend(t testing.TB, o *cmbo.Optimizer) cmbo.Recommendation {
	out, err := o.Recommend(ctx)
	require.NoError(t, err)
	return out
}

func calibrate(t testing.TB, o *cmbo.Optimizer) cmbo.Calibration {
	out, err := o.Calibration(ctx)
	require.NoError(t, err)
	return out
}

func taskOf(t testing.TB, o *cmbo.Optimizer, id string) cmbo.Task {
	out, err := o.Task(id)
	require.NoError(t, err)
	return out
}

func decodePrior(t testing.TB, r io.Reader) *cmbo.Prior {
	out, err := cmbo.DecodePrior(r)
	require.NoError(t, err)
	return out
}

func sample(t testing.TB, s *cmbo.Space, n int, seed uint64) [][]float64 {
	out, err := s.Sample(n, seed)
	require.NoError(t, err)
	return out
}

func listOf(t testing.TB, s *cmbo.Space, rows [][]float64) *cmbo.Space {
	out, err := s.WithCandidates(rows)
	require.NoError(t, err)
	return out
}

func quantiles(t testing.TB, o *cmbo.Optimizer, x []float64) cmbo.Quantiles {
	out, err := o.Quantiles(ctx, x)
	require.NoError(t, err)
	return out
}

// drive asks and tells n times and returns the points asked.
func drive(t testing.TB, o *cmbo.Optimizer, f func([]float64) float64, n int) [][]float64 {
	var asked [][]float64
	for range n {
		trial := ask(t, o)
		asked = append(asked, trial.X)
		require.NoError(t, o.Tell(trial.ID, f(trial.X)))
	}
	return asked
}

// weightsOf returns the weights of the next proposal.
func weightsOf(t testing.TB, o *cmbo.Optimizer) []float64 {
	t.Helper()
	w, err := o.Weights(ctx)
	require.NoError(t, err)
	return w
}

// within asks for |want-got| <= tol·max(1, |want|) entry by entry.
func within(t *testing.T, want, got []float64, tol float64, format string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if d := math.Abs(want[i] - got[i]); !(d <= tol*math.Max(1, math.Abs(want[i]))) {
			t.Fatalf("%s: entry %d is %.17g, want %.17g: off by %.2g", fmt.Sprintf(format, args...), i, got[i], want[i], d)
		}
	}
}
