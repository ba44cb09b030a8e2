package paper

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

// hill is a smooth function on the unit square with its maximum, 1, at (a, b).
func hill(a, b float64) func(x []float64) float64 {
	return func(x []float64) float64 { return math.Exp(-4 * ((x[0]-a)*(x[0]-a) + (x[1]-b)*(x[1]-b))) }
}

// twoKinds makes past tasks on the unit square, with maxima around two places in turn.
func twoKinds(k, n int) []cmbo.Task {
	tasks := make([]cmbo.Task, k)
	for j := range tasks {
		r := rng.Stream(11, "two kinds", uint64(j))
		f := hill(0.25+0.05*r.NormFloat64(), 0.3+0.05*r.NormFloat64())
		if j%2 == 1 {
			f = hill(0.8+0.05*r.NormFloat64(), 0.7+0.05*r.NormFloat64())
		}
		tasks[j].ID = fmt.Sprintf("task-%02d", j)
		for range n {
			x := []float64{r.Float64(), r.Float64()}
			tasks[j].X, tasks[j].Y = append(tasks[j].X, x), append(tasks[j].Y, 100+7*f(x))
		}
	}
	return tasks
}

// waves are tasks in d coordinates of three shapes, of n observations and more.
func waves(label string, k, n, d int) []cmbo.Task {
	tasks := make([]cmbo.Task, k)
	for j := range tasks {
		r := rng.Stream(5, label, uint64(j))
		tasks[j].ID = fmt.Sprint("t", j)
		for range n + j {
			x, s := make([]float64, d), float64(j%3)
			for i := range x {
				x[i] = r.Float64()
				s += math.Sin(3*x[i] + float64(j%3))
			}
			tasks[j].X, tasks[j].Y = append(tasks[j].X, x), append(tasks[j].Y, s+0.05*r.NormFloat64())
		}
	}
	return tasks
}

// lattice is a list of m×m candidates on the unit square.
func lattice(t testing.TB, m int) *cmbo.Space {
	var rows [][]float64
	for i := range m {
		for j := range m {
			rows = append(rows, []float64{float64(i) / float64(m-1), float64(j) / float64(m-1)})
		}
	}
	s, err := cmbo.Candidates(rows)
	require.NoError(t, err)
	return s
}

func square(t testing.TB) *cmbo.Space {
	s, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	return s
}

func learn(t testing.TB, s *cmbo.Space, tasks []cmbo.Task, opts ...Option) *Prior {
	p, err := Learn(ctx, s, tasks, opts...)
	require.NoError(t, err)
	return p
}

// begin makes a run and its surrogate.
func begin(t testing.TB, s *cmbo.Space, p *Prior, run []RunOption, opts ...cmbo.Option) (*cmbo.Optimizer, *Surrogate) {
	m, err := p.Surrogate(ctx, s, run...)
	require.NoError(t, err)
	o, err := cmbo.New(s, append(opts, cmbo.WithSurrogate(m))...)
	require.NoError(t, err)
	return o, m
}

func ask(t testing.TB, o *cmbo.Optimizer) cmbo.Trial {
	trial, err := o.Ask(ctx)
	require.NoError(t, err)
	return trial
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

func weightsOf(t testing.TB, o *cmbo.Optimizer) []float64 {
	w, err := o.Weights(ctx)
	require.NoError(t, err)
	return w
}
