package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// TestOutputs: further columns become outputs, gaps and all, and come back as they were
// written; a file of tasks without outputs has none.
func TestOutputs(t *testing.T) {
	space := spaceOf(t, cmbo.Float("lr", 0, 1), cmbo.Categorical("c", "x", "y"))
	nan := math.NaN()
	tasks := []cmbo.Task{
		{ID: "a", X: [][]float64{{0.5, 1}, {0.25, 0}}, Y: []float64{1, 2}, Failed: [][]float64{{1, 1}, {0, 1}}, Outputs: map[string][]float64{"seconds": {0.1, nan}, "Höhe, m": {nan, -3}},
			FailedOutputs: map[string][]float64{"seconds": {nan, 1e-7}}},
		{ID: "b", X: [][]float64{{0, 0}}, Y: []float64{3}},
	}
	same := func(what string, got []cmbo.Task) {
		t.Helper()
		for i := range tasks {
			if !reflect.DeepEqual(got[i].Y, tasks[i].Y) || !reflect.DeepEqual(got[i].Failed, tasks[i].Failed) {
				t.Errorf("%s: %+v", what, got[i])
			}
			for k := range tasks[i].Failed {
				if !reflect.DeepEqual(got[i].FailedOutputs.Row(k), tasks[i].FailedOutputs.Row(k)) {
					t.Errorf("%s: task %s, failure %d: %v, want %v", what, tasks[i].ID, k, got[i].FailedOutputs.Row(k), tasks[i].FailedOutputs.Row(k))
				}
			}
			for k := range tasks[i].Y {
				if !reflect.DeepEqual(got[i].Outputs.Row(k), tasks[i].Outputs.Row(k)) {
					t.Errorf("%s: task %s, row %d: %v, want %v", what, tasks[i].ID, k, got[i].Outputs.Row(k), tasks[i].Outputs.Row(k))
				}
			}
		}
	}
	own := history.Mapping{Outputs: map[string]string{"seconds": "metrics.time", "Höhe, m": ""}}
	alone := history.Mapping{Outputs: map[string]string{"seconds": "", "Höhe, m": ""}}
	for _, m := range []history.Mapping{{}, own} {
		read := m
		if m.Outputs == nil {
			read = alone
		}
		var b bytes.Buffer
		if err := (history.CSV{Space: space, Mapping: m}).Write(&b, tasks...); err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, history.CSV{Space: space, Mapping: read}, bytes.NewReader(b.Bytes()))
		same("CSV", got.Tasks)
		got, err := history.CSV{Space: space}.Read(bytes.NewReader(b.Bytes()))
		if err != nil || got.Tasks[0].Outputs != nil {
			t.Errorf("outputs that nobody named: %v, %v", got.Tasks[0].Outputs, err)
		}
		for _, config := range []string{"", "-"} {
			b.Reset()
			if err := (history.JSONLines{Space: space, Mapping: m, Config: config}).Write(&b, tasks...); err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, history.JSONLines{Space: space, Mapping: read, Config: config}, bytes.NewReader(b.Bytes()))
			same("JSON lines", got.Tasks)
		}
	}
	var with, without bytes.Buffer
	if err := (history.CSV{Space: space}).Write(&without, tasks[1]); err != nil {
		t.Fatal(err)
	}
	if err := (history.CSV{Space: space, Mapping: alone}).Write(&with, tasks[1]); err != nil {
		t.Fatal(err)
	}
	if without.String() != "task,lr,c,value\nb,0,x,3\n" || with.String() != "task,lr,c,value,\"Höhe, m\",seconds\nb,0,x,3,,\n" {
		t.Errorf("%q, %q", without.String(), with.String())
	}
	// Of a failure what is no number is missing, and its point counts.
	failed := mustRead(t, history.CSV{Space: space, Mapping: alone}, strings.NewReader("lr,c,value,seconds,status,\"Höhe, m\"\n0,x,1,2,,\n1,y,,NaN,failed,\n1,x,,3,failed,\n"))
	if v := failed.Tasks[0].FailedOutputs["seconds"]; len(v) != 2 || !math.IsNaN(v[0]) || v[1] != 3 {
		t.Errorf("%v", v)
	}
	// A column that is empty holds nothing; a comma may be the decimal point.
	got, err := history.CSV{Space: space, Comma: ';', Mapping: history.Mapping{DecimalComma: true, Outputs: map[string]string{"seconds": "time", "parts": ""}}}.Read(
		strings.NewReader("lr;c;value;time;parts\n0,5;x;1;2,5;\n0;y;2; ;\n"))
	if err != nil {
		t.Fatal(err)
	}
	if o := got.Tasks[0].Outputs; len(o) != 1 || o["seconds"][0] != 2.5 || !math.IsNaN(o["seconds"][1]) {
		t.Errorf("%v", o)
	}
}

// TestOutputsRefused: names that clash and values that are no numbers.
func TestOutputsRefused(t *testing.T) {
	space := spaceOf(t, cmbo.Float("lr", 0, 1))
	outputs := func(pairs ...string) history.Mapping {
		m := history.Mapping{Outputs: make(map[string]string)}
		for i := 0; i < len(pairs); i += 2 {
			m.Outputs[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		m    history.Mapping
		want string
	}{
		{outputs("a", "value"), `"value" is the name of both Value and output "a"`},
		{outputs("status", ""), `"status" is the name of both Status and output "status"`},
		{outputs("lr", ""), `"lr" is the name of both parameter "lr" and output "lr"`},
		{outputs("a", "c", "b", "c"), `"c" is the name of both output "a" and output "b"`},
		{outputs("", "c"), `output "": its name is empty`},
		{outputs("a", "b\r\nc"), "has an end of line"},
	} {
		_, err := history.CSV{Space: space, Mapping: tt.m}.Read(strings.NewReader("lr,value\n0,1\n"))
		if !errors.Is(err, cmbo.ErrOption) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	_, err := history.JSONLines{Space: space, Mapping: outputs("config", "")}.Read(strings.NewReader("{}"))
	if !errors.Is(err, cmbo.ErrOption) || !strings.Contains(err.Error(), `"config" is the name of both Config and output "config"`) {
		t.Error(err)
	}
	for _, text := range []string{"x", "NaN", "1e160"} {
		_, err := history.CSV{Space: space, Mapping: outputs("s", "")}.Read(strings.NewReader("lr,value,s\n0,1," + text + "\n"))
		var e *history.RowError
		if !errors.As(err, &e) || e.Field != "s" || e.Line != 2 {
			t.Errorf("%s: %v", text, err)
		}
		_, err = history.JSONLines{Space: space, Mapping: outputs("s", "")}.Read(strings.NewReader(`{"config": {"lr": 0}, "value": 1, "s": "` + text + `"}`))
		if !errors.As(err, &e) || e.Field != "s" {
			t.Errorf("%s: %v", text, err)
		}
	}
	task := cmbo.Task{ID: "t", X: [][]float64{{0}}, Y: []float64{1}}
	for want, outputs := range map[string]map[string][]float64{
		`2 values of output "s" for 1 values`: {"s": {1, 2}},
		`output "s": value +Inf`:              {"s": {math.Inf(1)}},
		`both Value and output "value"`:       {"value": {1}},
		`both parameter "lr" and output "lr"`: {"lr": {1}},
	} {
		task.Outputs = outputs
		if err := (history.CSV{Space: space}).Write(new(bytes.Buffer), task); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestMisspelt: a column or a key that no row has is an error of all readers and says what there
// is; one row that has it, even null, is enough.
func TestMisspelt(t *testing.T) {
	space := spaceOf(t, cmbo.Float("lr", 0, 1))
	both := history.Mapping{Outputs: map[string]string{"seconds": "secs"}, Context: map[string]string{"cores": ""}}
	const table = "task,lr,value,sec,core\na,0,1,2,8\nb,1,2,3,8\n"
	const lines = `{"task": "a", "config": {"lr": 0, "secs": 1}, "value": 1, "sec": 2}` + "\n" + `{"task": "b", "config": {"lr": 1}, "value": 2, "core": 8}` + "\n"
	for _, policy := range []history.Policy{history.Fail, history.Skip} {
		c := history.CSV{Space: space, Mapping: both, Policy: policy}
		j := history.JSONLines{Space: space, Mapping: both, Policy: policy}
		_, err := c.Read(strings.NewReader(table))
		mustBeRow(t, err, 1, "secs", "", history.ErrColumn, `the header lacks this column, named for output "seconds"; there are "core", "lr", "sec", "task", "value"`)
		for _, err := range c.Tasks(strings.NewReader(table), nil) {
			mustBeRow(t, err, 1, "secs", "", history.ErrColumn, `the header lacks`)
		}
		_, err = j.Read(strings.NewReader(lines))
		mustBeRow(t, err, 0, "secs", "", history.ErrColumn, `no line has this key, named for output "seconds"; there are "config", "core", "sec", "task", "value"`)
		var ids []string
		for task, err := range j.Tasks(strings.NewReader(lines), nil) {
			if ids = append(ids, task.ID); len(ids) == 3 {
				mustBeRow(t, err, 0, "secs", "", history.ErrColumn, `no line has`)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(ids, ",") != "a,b," {
			t.Errorf("tasks %q: the error comes after the last", ids)
		}
	}
	alone := history.Mapping{Context: both.Context}
	_, err := history.CSV{Space: space, Mapping: alone}.Read(strings.NewReader(table))
	mustBeRow(t, err, 1, "cores", "", history.ErrColumn, `the header lacks this column, named for descriptor "cores"`)
	_, err = history.JSONLines{Space: space, Mapping: alone}.Read(strings.NewReader(lines))
	mustBeRow(t, err, 0, "cores", "", history.ErrColumn, `no line has this key, named for descriptor "cores"`)
	run := history.MLflow(space, "loss")
	run.Mapping.Outputs = map[string]string{"seconds": "metrics.secs"}
	_, err = run.Read(strings.NewReader("experiment_id,status,params.lr,metrics.loss,metrics.sec\n1,FINISHED,0,1,2\n"))
	mustBeRow(t, err, 1, "metrics.secs", "", cmbo.ErrCorrupt, `the header lacks this column, named for output "seconds"; there are "experiment_id", "metrics.loss", "metrics.sec"`)

	j := history.JSONLines{Space: space, Mapping: both}
	for _, rest := range []string{
		`{"config": {"lr": 1}, "value": 1, "secs": null, "cores": null}`, `{"config": {"lr": 1}, "value": 1, "secs": 2, "cores": 2}`,
		`{"config": {"lr": 1}, "status": "failed", "secs": 2, "cores": 2}`,
	} {
		if got, err := j.Read(strings.NewReader(lines + rest)); err != nil || got.Report.Rows != 3 {
			t.Errorf("%s: %v", rest, err)
		}
	}
	j.Mapping.Done = []string{"done"}
	const ran = `{"config": {"lr": 1}, "status": "runs", "secs": 2, "cores": 2}`
	if got, err := j.Read(strings.NewReader(lines + ran)); err != nil || got.Report.PassedOver != 1 {
		t.Errorf("%s: %v", ran, err)
	}
	j.Policy = history.Skip
	if _, err := j.Read(strings.NewReader("{}\n")); !errors.Is(err, cmbo.ErrNoTasks) {
		t.Errorf("without a good line there is nothing to miss: %v", err)
	}
	// What a reader with the names reads its writer writes, if no task has a value.
	var b bytes.Buffer
	if err := j.Write(&b, cmbo.Task{ID: "a", X: [][]float64{{0}}, Y: []float64{1}, Failed: [][]float64{{1}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := j.Read(&b); err != nil || got.Report.Accepted != 2 || got.Tasks[0].Outputs != nil || got.Tasks[0].Context != nil {
		t.Errorf("%v", err)
	}
	// So it is of curves, of which failures and one row's null say nothing.
	j = history.JSONLines{Space: space, Curve: "curve"}
	const bare = `{"config": {"lr": 0}, "value": 1, "curves": {"steps": [1], "values": [2]}}` + "\n"
	_, err = j.Read(strings.NewReader(bare))
	mustBeRow(t, err, 0, "curve", "", history.ErrColumn, `no line has this key, named for setting "Curve"; there are "config", "curves", "value"`)
	b.Reset()
	if err := j.Write(&b, cmbo.Task{ID: "a", X: [][]float64{{0}}, Y: []float64{1}, Failed: [][]float64{{1}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := j.Read(io.MultiReader(strings.NewReader(bare), &b)); err != nil || got.Report.Accepted != 3 || got.Tasks[0].Curves != nil {
		t.Errorf("%v", err)
	}
	// A message of an input with many keys does not hold them all.
	j = history.JSONLines{Space: space, Config: "-", Mapping: history.Mapping{Outputs: map[string]string{"seconds": ""}}, Limits: history.Limits{Columns: 3}}
	_, err = j.Read(strings.NewReader(`{"lr": 0, "value": 1, "a": 2}` + "\n" + `{"lr": 0, "value": 1, "b": 2}` + "\n"))
	mustBeRow(t, err, 0, "seconds", "", cmbo.ErrCorrupt, `there are "a", "lr", "value"`)
	if strings.Contains(err.Error(), `"b"`) {
		t.Error(err)
	}
}

// TestOptunaConstraints: what a constraints_func returned becomes outputs of the names given, of
// trials told one operation at a time as of those added whole.
func TestOptunaConstraints(t *testing.T) {
	const dist = `"{\"name\":\"FloatDistribution\",\"attributes\":{\"low\":0.0,\"high\":1.0,\"log\":false,\"step\":null}}"`
	lines := []string{`{"op_code":0,"study_name":"limits","directions":[1]}`}
	trial := func(state, constraints string) {
		id := strings.Count(strings.Join(lines, ""), `"op_code":4`)
		lines = append(lines, `{"op_code":4,"study_id":0,"datetime_start":"2026-11-26T21:11:43+00:00"}`,
			fmt.Sprintf(`{"op_code":5,"trial_id":%d,"param_name":"x","param_value_internal":0.5,"distribution":%s}`, id, dist),
			fmt.Sprintf(`{"op_code":9,"trial_id":%d,"system_attr":%s}`, id, constraints),
			fmt.Sprintf(`{"op_code":6,"trial_id":%d,"state":%s,"datetime_complete":"2026-11-26T21:11:45+00:00"}`, id, state),
			fmt.Sprintf(`{"op_code":9,"trial_id":%d,"system_attr":{"constraints":[7,7]}}`, id)) // of a trial that has ended
	}
	trial(`1,"values":[1]`, `{"constraints":[0.5,-1.0]}`)
	trial(`1,"values":[2]`, `{"constraints":[Infinity,NaN]}`)
	trial(`3,"values":null`, `{"constraints":[3,4]}`)
	lines = append(lines, `{"op_code":4,"study_id":0,"state":1,"value":3,"params":{"x":0.25},"distributions":{"x":`+dist+
		`},"system_attrs":{"constraints":[-Infinity,4.0],"other":[1]}}`)
	trial(`1,"values":[4]`, `{"other":1}`)
	journal := func() []byte { return []byte(strings.Join(lines, "\n") + "\n") }
	o := history.Optuna{Constraints: []string{"size", "memory"}, Seconds: "seconds"}
	nan := math.NaN()
	task := read(t, o, journal()).Tasks[0]
	for name, want := range map[string][]float64{"size": {0.5, 1e150, -1e150, nan}, "memory": {-1, nan, 4, nan}, "seconds": {2, 2, nan, 2}} {
		if fmt.Sprint(task.Outputs[name]) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, task.Outputs[name], want)
		}
	}
	if got := fmt.Sprint(task.FailedOutputs); got != "map[memory:[4] seconds:[2] size:[3]]" {
		t.Errorf("of the failure: %s", got)
	}
	if task := read(t, history.Optuna{}, journal()).Tasks[0]; len(task.Outputs) > 0 {
		t.Errorf("not asked for: %v", task.Outputs)
	}

	for _, c := range []struct {
		o    history.Optuna
		is   error
		says string
	}{
		{history.Optuna{Constraints: []string{"size"}}, cmbo.ErrOutput, "trial 0: 2 constraints, of which 1 are named"},
		{history.Optuna{Constraints: []string{"size", "size"}}, cmbo.ErrOption, `"size" is the name of two outputs`},
		{history.Optuna{Constraints: []string{"size"}, Seconds: "size"}, cmbo.ErrOption, `"size" is the name of two outputs`},
		{history.Optuna{Constraints: []string{" "}}, cmbo.ErrOption, `output " ": its name`},
	} {
		if _, err := c.o.Read(bytes.NewReader(journal())); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o.Constraints, err)
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "constraints") })
	if _, err := o.Read(bytes.NewReader(journal())); !errors.Is(err, history.ErrColumn) {
		t.Errorf("none has constraints: %v", err)
	}
	trial(`2,"values":null`, `{"constraints":[5,6]}`)
	if _, err := o.Read(bytes.NewReader(journal())); !errors.Is(err, history.ErrColumn) {
		t.Errorf("one that is passed over has constraints: %v", err)
	}

	// trial.set_constraint of Optuna 5 writes one operation a name, or those of a trial that is added.
	trial(`1,"values":[5]`, `{"constraints:memory":-0.5}`)
	last := len(lines) - 2
	lines = slices.Insert(lines, last, strings.Replace(lines[last-1], "memory", "size", 1))
	if _, err := o.Read(bytes.NewReader(journal())); err != nil {
		t.Error(err)
	}
	trial(`1,"values":[6]`, `{"constraints:memory":Infinity,"other":1}`)
	task = read(t, o, journal()).Tasks[0]
	n := len(task.Y)
	if got := fmt.Sprint(task.Outputs["size"][n-2:], task.Outputs["memory"][n-2:]); got != "[-0.5 NaN] [-0.5 1e+150]" {
		t.Errorf("set one by one: %s", got)
	}
	o.Constraints = []string{"memory", "Size"}
	if _, err := o.Read(bytes.NewReader(journal())); !errors.Is(err, history.ErrColumn) || !strings.Contains(err.Error(), `"Size": no trial has this constraint`) {
		t.Errorf("a name that none has: %v", err)
	}
}
