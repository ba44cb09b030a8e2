package baseline

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

func TestTasksAreValidated(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name  string
		tasks []cmbo.Task
		want  error
		task  string
		row   int
	}{
		{"no id", []cmbo.Task{{X: [][]float64{{0, 0}}, Y: []float64{1}}}, cmbo.ErrTask, "", 0},
		{"twice", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}}, Y: []float64{1}}, {ID: "a", X: [][]float64{{0, 0}}, Y: []float64{1}}}, cmbo.ErrTask, "a", -1},
		{"empty", []cmbo.Task{{ID: "a"}}, cmbo.ErrTask, "a", -1},
		{"lengths", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}}, Y: []float64{1, 2}}}, cmbo.ErrDimension, "a", -1},
		{"noise lengths", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}}, Y: []float64{1}, NoiseVariance: []float64{1, 1}}}, cmbo.ErrDimension, "a", -1},
		{"ragged", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}, {0}}, Y: []float64{1, 2}}}, cmbo.ErrDimension, "a", 1},
		{"outside", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}, {0, 2}}, Y: []float64{1, 2}}}, cmbo.ErrOutOfSpace, "a", 1},
		{"nan point", []cmbo.Task{{ID: "a", X: [][]float64{{nan, 0}}, Y: []float64{1}}}, cmbo.ErrValue, "a", 0},
		{"nan value", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}, {1, 0}}, Y: []float64{1, nan}}}, cmbo.ErrValue, "a", 1},
		{"huge value", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}}, Y: []float64{1e200}}}, cmbo.ErrValue, "a", 0},
		{"negative noise", []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}}, Y: []float64{1}, NoiseVariance: []float64{-1}}}, cmbo.ErrValue, "a", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, m := range Methods() {
				if !m.Transfers {
					continue
				}
				_, err := m.Learn(ctx, square(t), tt.tasks)
				require.ErrorIs(t, err, tt.want, m.Name)
				var de *cmbo.DataError
				require.True(t, errors.As(err, &de), m.Name)
				require.Equal(t, tt.task, de.Task, m.Name)
				require.Equal(t, tt.row, de.Row, m.Name)
			}
		})
	}
	for _, m := range Methods() {
		_, err := m.Learn(ctx, nil, nil)
		require.ErrorIs(t, err, cmbo.ErrSpace, m.Name)
	}
}

// Values are scaled task by task, noise variances with them, and turned around
// where smaller is better.
func TestPrepare(t *testing.T) {
	task := cmbo.Task{ID: "a", X: [][]float64{{0, 0}, {0, 1}, {1, 1}}, Y: []float64{10, 12, 17}, NoiseVariance: []float64{0, 2, 4}}
	_, obs, err := settle(config{method: "test"}, square(t), []cmbo.Task{task}, []Option{WithMinimize(), WithYPolicy(cmbo.MinMax)})
	require.NoError(t, err)
	near(t, []float64{1, 5.0 / 7, 0}, obs[0].Z, 1e-15, "values")
	near(t, []float64{0, 2.0 / 49, 4.0 / 49}, obs[0].Noise, 1e-15, "noise")
	require.Equal(t, []float64{0, 1}, obs[0].X.Row(1))
	require.Equal(t, []float64{10, 12, 17}, task.Y, "the caller's values are not touched")
}

// unit inverts the linear policies, also where the spread is small beside the
// mean, and is 1 where there is nothing to tell.
func TestUnit(t *testing.T) {
	for _, scale := range []float64{1e-6, 3, 1e20} {
		raw := []float64{1e8 + scale, 1e8 - 2*scale, 1e8 + 5*scale}
		z := cmbo.MinMax.Apply(raw)
		span := raw[2] - raw[1]
		// Rounding of the scaled values: the policy divides exact differences.
		require.InEpsilon(t, span, unit(raw, z), 1e-14)
	}
	require.Equal(t, 1.0, unit([]float64{3, 3}, []float64{0, 0}))
	require.Equal(t, 1.0, unit(nil, nil))
}

func TestOptionsAreValidated(t *testing.T) {
	for name, o := range map[string]Option{
		"nil":         nil,
		"policy":      WithYPolicy(9),
		"parallelism": WithParallelism(0),
	} {
		_, _, err := settle(config{method: "test"}, square(t), nil, []Option{o})
		require.ErrorIs(t, err, cmbo.ErrOption, name)
	}
	var none context.Context
	for _, m := range Methods() {
		_, err := m.Learn(none, nil, nil)
		require.ErrorIs(t, err, cmbo.ErrOption, m.Name)
	}
}
