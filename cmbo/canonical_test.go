package cmbo_test

import (
	"bytes"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// TestStepRounding: 0.1 + 0.2 is the point 0.3 of a grid, whoever gives it: a caller, a
// list of candidates, a task, or a log.
func TestStepRounding(t *testing.T) {
	a, b := 0.1, 0.2
	sum := a + b
	require.NotEqual(t, 0.3, sum)
	s := newSpace(t, cmbo.Float("x", 0, 0.5).WithStep(0.1))

	o := newOptimizer(t, s)
	given := []float64{sum}
	require.NoError(t, o.Observe(given, 10))
	require.Equal(t, []float64{sum}, given, "the caller's row")
	asked := drive(t, o, func(x []float64) float64 { return x[0] }, 5)
	require.ElementsMatch(t, [][]float64{{0}, {0.1}, {0.2}, {0.4}, {0.5}}, asked)
	_, err := o.Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoCandidates)

	// As candidates, the two are one, and either finds it.
	list := listOf(t, s, [][]float64{{0.1}, {sum}, {0.3}})
	of := newOptimizer(t, list, cmbo.WithSeed(1))
	for _, x := range []float64{sum, 0.3} {
		require.Equal(t, 1, list.Index([]float64{x}))
		require.NoError(t, of.Enqueue([]float64{x}))
		trial := ask(t, of)
		require.Equal(t, []float64{0.3}, trial.X)
		require.Equal(t, 1, trial.Index)
		require.NoError(t, of.Tell(trial.ID, x))
	}
	drive(t, of, func(x []float64) float64 { return x[0] }, 1)
	_, err = of.Ask(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoCandidates)

	tasks, _, err := s.Adopt([]cmbo.Task{
		{ID: "same", X: [][]float64{{sum}}, Y: []float64{1}},
		{ID: "other", Params: []cmbo.Param{cmbo.Float("x", 0, 1)}, X: [][]float64{{sum}}, Y: []float64{1}, Failed: [][]float64{{sum}}},
	}, cmbo.Changes{})
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0.3}, {0.3}, {0.3}}, [][]float64{tasks[0].X[0], tasks[1].X[0], tasks[1].Failed[0]})

	// A log may hold the sum wherever it holds a point.
	for _, r := range []*cmbo.Optimizer{o, of} {
		require.Contains(t, string(snapshot(t, r)), "0.3]")
		state := bytes.ReplaceAll(cmbo.SnapshotState(snapshot(t, r)), []byte("0.3]"), []byte("0.30000000000000004]"))
		again := restore(t, bytes.NewReader(cmbo.SealSnapshot(state)))
		require.Equal(t, snapshot(t, r), snapshot(t, again))
		_, err = again.Ask(ctx)
		require.ErrorIs(t, err, cmbo.ErrNoCandidates)
	}
}
