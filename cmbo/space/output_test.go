package space

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Columns keep which rows lack an output, in JSON too.
func TestColumns(t *testing.T) {
	nan := math.NaN()
	var c Columns
	rows := []map[string]float64{nil, {"a": 1}, {"a": 2, "b": 3}, nil}
	for i, r := range rows {
		c.Append(i, r)
	}
	same := func(got Columns) {
		t.Helper()
		require.Equal(t, []string{"a", "b"}, got.Names())
		assert.InDeltaSlice(t, []float64{nan, 1, 2, nan}, got["a"], 0)
		assert.InDeltaSlice(t, []float64{nan, nan, 3, nan}, got["b"], 0)
		for i, r := range rows {
			assert.Equal(t, r, got.Row(i))
		}
	}
	same(c)
	b, err := json.Marshal(Task{ID: "t", Outputs: c})
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"t","x":null,"y":null,"outputs":{"a":[null,1,2,null],"b":[null,null,3,null]}}`, string(b))
	var back Task
	require.NoError(t, json.Unmarshal(b, &back))
	same(back.Outputs)
	b, err = json.Marshal(Task{ID: "t"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"t","x":null,"y":null}`, string(b), "nothing is seen of no outputs")
	_, err = json.Marshal(Columns{"size": {1, math.Inf(-1)}})
	require.ErrorIs(t, err, ErrValue)
	require.ErrorContains(t, err, `output "size" has -Inf in row 1`)
}

// Numbers of a task that are null are an error and not 0, where there are numbers only; the
// others come back as they were.
func TestTaskJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"id": "t", "x": [[1], [2]], "y": [3, null]}`:                                            `task "t": row 1: "y" is null`,
		`{"id": "t", "x": [[1], [null]], "y": [3, 4]}`:                                            `task "t": row 1: column 0: "x" is null`,
		`{"id": "t", "failed": [[null]]}`:                                                         `task "t": row 0: column 0: "failed" is null`,
		`{"id": "t", "x": [[1]], "y": [3], "curves": [{"steps": [1], "values": [null]}]}`:         `task "t": number 0 of a curve: "values" is null`,
		`{"id": "t", "x": [[1]], "y": [3], "curves": [{"steps": [1], "values": [1], "stop": 1}]}`: `unknown field "stop"`,
		`{"id": "t", "failed": [[1], null]}`:                                                      `task "t": row 1: "failed" is null`,
		`{"id": "t", "faild": [[1]]}`:                                                             `task "t": json: unknown field "faild"`,
		`{"id": "t", "x": 1}`:                                                                     "cannot unmarshal",
		`{"id": "t", "params": [{"name": "a"}]}`:                                                  `parameter "a"`,
	} {
		got := Task{ID: "s", Y: []float64{7}, Failed: [][]float64{{8}}}
		err := json.Unmarshal([]byte(text), &got)
		assert.ErrorContains(t, err, want)
		for _, kind := range []error{ErrValue, ErrSpace, ErrTask} { // one of them
			is := kind == ErrTask
			if strings.HasSuffix(want, "null") {
				is = kind == ErrValue
			} else if strings.Contains(want, "parameter") {
				is = kind == ErrSpace
			}
			assert.Equal(t, is, errors.Is(err, kind), "%v: %v", kind, err)
		}
		assert.Equal(t, Task{ID: "s", Y: []float64{7}, Failed: [][]float64{{8}}}, got, "nothing is lost")
	}
	known := Task{ID: "s", X: [][]float64{{1}}, Y: []float64{7}, Curves: []Curve{{Steps: []int{1}, Values: []float64{7}}}}
	for text, id := range map[string]string{`null`: "s", `{"id": "t"}`: "t"} {
		got := known
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		assert.Equal(t, id, got.ID)
		assert.Equal(t, known.Y, got.Y)
		assert.Equal(t, known.X, got.X)
		c := known.Curves[0]
		require.NoError(t, json.Unmarshal([]byte(`{"stopped": true}`), &c))
		assert.Equal(t, Curve{Steps: []int{1}, Values: []float64{7}, Stopped: true}, c)
	}
	want := Task{ID: "t", X: [][]float64{{1, 2}, {0, 3}}, Y: []float64{0, 4}, NoiseVariance: []float64{1, 0}, Curves: []Curve{{Steps: []int{0, 2}, Values: []float64{1, 0}, Stopped: true}, {}},
		Context: Context{"size": 3.0}, Failed: [][]float64{{4, 5}}, Params: []Param{Float("a", 0, 9), Float("b", 0, 9)}}
	b, err := json.Marshal(want)
	require.NoError(t, err)
	var got Task
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, want, got)
	// What is read into a task writes into none of which that was a copy, also if it fails.
	next := `"id": "u", "noise_variance": [8], "curves": [{"steps": [5], "values": [8]}, {}], "context": {"cores": 8}, "params": [{"name": "c", "kind": "bool"}]`
	earlier := got
	for text, problem := range map[string]string{
		`"y": [null]`: `task "u": row 0: "y" is null`, `"noise_variance": ["8"]`: `task "u": "noise_variance": json: cannot unmarshal string`,
	} {
		assert.ErrorContains(t, json.Unmarshal([]byte("{"+next+","+text+"}"), &got), problem)
		assert.Equal(t, want, got)
	}
	require.NoError(t, json.Unmarshal([]byte("{"+next+"}"), &got))
	assert.Equal(t, want, earlier)
	want.ID, want.NoiseVariance, want.Curves = "u", []float64{8}, []Curve{{Steps: []int{5}, Values: []float64{8}}, {}}
	want.Context, want.Params = Context{"cores": 8.0}, []Param{Bool("c")}
	assert.Equal(t, want, got)
	require.NoError(t, json.Unmarshal([]byte(`{"noise_variance": null, "curves": null, "context": null, "params": null}`), &got))
	assert.Equal(t, Task{ID: "u", X: want.X, Y: want.Y, Failed: want.Failed}, got)
}

// Outputs are checked with their task and follow its rows to another space.
func TestTaskOutputs(t *testing.T) {
	s, err := New(Float("a", 0, 1))
	require.NoError(t, err)
	task := Task{ID: "t", X: [][]float64{{0}, {2}, {1}}, Y: []float64{1, 2, 3}, Outputs: Columns{"time": {4, 5, math.NaN()}, "size": {math.NaN(), 5, 6}}}
	adopted, a, err := s.Adopt([]Task{task}, Changes{})
	require.NoError(t, err)
	assert.Len(t, a.Outside, 1)
	assert.InDeltaSlice(t, []float64{4, math.NaN()}, adopted[0].Outputs["time"], 0)
	assert.InDeltaSlice(t, []float64{math.NaN(), 6}, adopted[0].Outputs["size"], 0)
	task.Failed, task.FailedOutputs = [][]float64{{-1}, {0.5}}, Columns{"time": {7, 8}}
	adopted, _, err = s.Adopt([]Task{task}, Changes{})
	require.NoError(t, err)
	assert.Equal(t, Columns{"time": {8}}, adopted[0].FailedOutputs)
	task.X[1][0], task.Failed[0][0] = 0.5, 0
	task.FailedOutputs["time"] = []float64{7}
	_, err = CheckTasks(s, []Task{task})
	assert.ErrorContains(t, err, `task "t": 1 values of output "time" for 2 failures`)
	task.FailedOutputs = nil
	for want, outputs := range map[string]Columns{
		`task "t": 2 values of output "time" for 3 values`: {"time": {1, 2}},
		`task "t": output "": its name is empty`:           {"": {1, 2, 3}},
		`task "t": row 1: output "time": value +Inf`:       {"time": {1, math.Inf(1), 3}},
	} {
		task.Outputs = outputs
		_, err := CheckTasks(s, []Task{task})
		assert.ErrorContains(t, err, want)
	}
}
