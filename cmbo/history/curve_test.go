package history_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// TestCurves: what evaluations showed before their ends comes back as it was written, and with
// the value that it belongs to.
func TestCurves(t *testing.T) {
	space := spaceOf(t, cmbo.Float("lr", 0, 1))
	tasks := []cmbo.Task{{
		ID: "a", X: [][]float64{{0}, {0.25}, {0.5}, {1}}, Y: []float64{1, 2, 3, 4}, NoiseVariance: []float64{0, 0, 0.5, 0}, Failed: [][]float64{{0.75}},
		Curves: []cmbo.Curve{{}, {Steps: []int{1, 3}, Values: []float64{0.1, 1e-7}}, {Steps: []int{2}, Values: []float64{-1}, Stopped: true}, {}},
	}, {ID: "b", X: [][]float64{{0}}, Y: []float64{1}}}
	for _, j := range []history.JSONLines{{Space: space}, {Space: space, Config: "-", Curve: "lr curve"}} {
		var b bytes.Buffer
		if err := j.Write(&b, tasks...); err != nil {
			t.Fatal(err)
		}
		if j.Curve == "" {
			plain, err := j.Read(bytes.NewReader(b.Bytes()))
			if err != nil || plain.Tasks[0].Curves != nil {
				t.Errorf("curves that nobody named: %v, %v", plain.Tasks[0].Curves, err)
			}
			j.Curve = "curve"
		}
		got := mustRead(t, j, bytes.NewReader(b.Bytes()))
		if !reflect.DeepEqual(got.Tasks[0].Curves, tasks[0].Curves) || got.Tasks[1].Curves != nil {
			t.Errorf("%v, %v", got.Tasks[0].Curves, got.Tasks[1].Curves)
		}
		for task, err := range j.Tasks(bytes.NewReader(b.Bytes()), nil) {
			if err != nil || task.ID == "a" && !reflect.DeepEqual(task.Curves, tasks[0].Curves) {
				t.Errorf("%v, %v", task.Curves, err)
			}
		}
	}
	j := history.JSONLines{Space: space, Curve: "curve"}
	var b bytes.Buffer
	early := cmbo.Task{ID: "c", X: [][]float64{{0}}, Y: []float64{1}, NoiseVariance: []float64{0.5}, Curves: []cmbo.Curve{{Stopped: true}}}
	if err := j.Write(&b, early); err != nil || !strings.Contains(b.String(), `"curve": {"steps":[],"values":[],"stopped":true}`) {
		t.Errorf("stopped before it showed anything: %s, %v", &b, err)
	}
	if got, err := j.Read(&b); err != nil || len(got.Tasks[0].Curves) != 1 || !got.Tasks[0].Curves[0].Stopped {
		t.Errorf("stopped before it showed anything: %v, %v", got, err)
	}
	for curve, want := range map[string]string{
		`[1]`: "cannot unmarshal", `{"steps": [1]}`: "0 values at 1 steps", `{"steps": [2, 1], "values": [0, 0]}`: "step 1 of a curve follows step 2",
		`{"steps": [1], "values": [1], "stop": true}`: `unknown field "stop"`, `{"step": [1], "value": [1]}`: `unknown field "step"`,
		`{"steps": [1, 2], "values": [3, null]}`: `number 1 of a curve: "values" is null`, `{"steps": [null], "values": [3]}`: `number 0 of a curve: "steps" is null`,
		`{"steps": [1], "values": [NaN]}`: "cannot unmarshal", `{"steps": [1], "values": [1], "stopped": true}`: "no noise variance",
	} {
		_, err := j.Read(strings.NewReader(`{"config": {"lr": 0}, "value": 1, "curve": ` + curve + `}`))
		if !errors.Is(err, cmbo.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", curve, err, want)
		}
	}
	stopped := cmbo.Task{ID: "a", X: [][]float64{{0}}, Y: []float64{1}, NoiseVariance: []float64{0.04},
		Curves: []cmbo.Curve{{Stopped: true}}}
	var out bytes.Buffer
	err := history.JSONLines{Space: space, Noise: "-"}.Write(&out, stopped)
	if !errors.Is(err, cmbo.ErrOption) || !strings.Contains(err.Error(), `"a" has curves that were stopped`) || out.Len() > 0 {
		t.Errorf("a stopped curve without its variance: %v, %s", err, out.String())
	}
	if err := (history.CSV{Space: space, Noise: "-"}).Write(&out, stopped); err != nil {
		t.Error(err) // it leaves curves out
	}
	if err := (history.JSONLines{Space: space, Mapping: history.Mapping{Columns: map[string]string{"lr": "curve"}}, Config: "-"}).Write(new(bytes.Buffer), tasks...); !errors.Is(err, cmbo.ErrOption) {
		t.Errorf("a parameter and the curves in one key: %v", err)
	}
	for _, name := range []string{"value", "config", "task", "status"} {
		if _, err := (history.JSONLines{Space: space, Curve: name}).Read(strings.NewReader("")); !errors.Is(err, cmbo.ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
