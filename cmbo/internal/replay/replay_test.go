package replay

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/stretchr/testify/require"
)

// A record has each point once, with the means of what was recorded there, and failures where nothing else was; its
// regrets are shares of the distance from the best value that holds all limits to the median of those.
func TestRecord(t *testing.T) {
	line, err := space.UnitCube(1)
	require.NoError(t, err)
	nan := math.NaN()
	task := &space.Task{
		X:             [][]float64{{.1}, {.2}, {.1}, {.3}, {.4}, {.5}, {.1}, {.6}, {.7}},
		Y:             []float64{1, 5, 2, 9, 4, -2, 6, 8, 100},
		Outputs:       space.Columns{"size": {4, 6, 5, 7, 8, 1, 6, nan, 7.5}, "time": {10, nan, 30, 1, 1, 1, nan, 1, 1}},
		Failed:        [][]float64{{.9}, {.1}, {.9}},
		FailedOutputs: space.Columns{"size": {2, 70, 4}},
	}
	limit := 7.0
	outputs := []runlog.Output{{Name: "size", AtMost: &limit}, {Name: "time", Optional: true}}
	rows := [][]float64{{.1}, {.2}, {.3}, {.4}, {.5}, {.7}, {.9}}
	for _, tt := range []struct {
		minimize bool
		outputs  []runlog.Output
		rows     [][]float64
		y        []float64
		regret   []float64
	}{
		{false, outputs, rows, []float64{3, 5, 9, 4, -2, 100, nan}, []float64{1, 4. / 6, 0, 1, 1, 1, 1}},
		{true, outputs, rows, []float64{3, 5, 9, 4, -2, 100, nan}, []float64{5. / 7, 1, 1, 1, 0, 1, 1}},
		{false, nil, [][]float64{{.1}, {.2}, {.3}, {.4}, {.5}, {.6}, {.7}, {.9}}, []float64{3, 5, 9, 4, -2, 8, 100, nan},
			[]float64{1, 1, 91. / 95, 1, 1, 92. / 95, 0, 1}},
	} {
		r, err := New(line, task, tt.minimize, tt.outputs...)
		require.NoError(t, err)
		require.Equal(t, tt.rows, r.Space.Rows())
		require.InDeltaSlice(t, tt.regret, r.Regret, 1e-15)
		require.Len(t, r.Outputs, len(tt.y))
		for i, y := range tt.y {
			require.True(t, r.Y[i] == y || math.IsNaN(r.Y[i]) && math.IsNaN(y), "%v", r.Y)
		}
		if tt.outputs != nil {
			require.Equal(t, map[string]float64{"size": 5, "time": 20}, r.Outputs[0])
			require.Equal(t, map[string]float64{"size": 6}, r.Outputs[1])
			require.Equal(t, map[string]float64{"size": 3}, r.Outputs[6])
		}
		require.Empty(t, r.Lacks())
	}
}

// Where half of the values are the best one, regrets are shares of the whole range; and a record says what it lacks of
// having something to find.
func TestRecordLacks(t *testing.T) {
	line, err := space.UnitCube(1)
	require.NoError(t, err)
	limit := 7.0
	size := runlog.Output{Name: "size", AtMost: &limit}
	for _, tt := range []struct {
		y, size []float64
		regret  []float64
		lacks   string
	}{
		{[]float64{1, 5, 5, 4, 5}, nil, []float64{1, 0, 0, 0.25, 0}, ""},
		{[]float64{0, 0x1.cp-70, 0x1.ep-70, 0x1p-69, 0x1p-71}, nil, []float64{1, 1, 0.5, 0, 1}, ""},
		{[]float64{1, 5, 5, 5}, nil, []float64{1, 0, 0, 0}, "5 different points"},
		{[]float64{5, 5, 5, 5, 5}, nil, []float64{1, 1, 1, 1, 1}, "two different values"},
		{[]float64{1, 2, 3, 4, 5}, []float64{8, 8, 8, 8, 8}, nil, "a value within all limits"},
		{[]float64{1, 2, 3, 4, 5}, []float64{8, 8, 7, 8, 8}, []float64{1, 1, 1, 1, 1}, "two different values within all limits"},
		{[]float64{1, 2}, []float64{math.NaN(), math.NaN()}, nil, "5 different points with all outputs"},
	} {
		task := &space.Task{Y: tt.y}
		for i := range tt.y {
			task.X = append(task.X, []float64{float64(i) / 8})
		}
		var outputs []runlog.Output
		if tt.size != nil {
			task.Outputs, outputs = space.Columns{"size": tt.size}, []runlog.Output{size}
		}
		r, err := New(line, task, false, outputs...)
		require.NoError(t, err)
		require.Equal(t, tt.regret, r.Regret)
		require.Equal(t, tt.lacks, r.Lacks())
		if tt.size == nil {
			require.Equal(t, tt.y, r.Y)
		}
	}
}
