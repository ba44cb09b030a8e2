package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// Lines of a journal made by hand.
const (
	study0 = `{"op_code":0,"worker_id":"w","study_name":"s","directions":[1]}` + "\n"
	trial0 = `{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":"2024-01-01T00:00:00.000000"}` + "\n"
)

func setParam(trial int, name, value, dist string) string {
	d, err := json.Marshal(dist)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"op_code":5,"trial_id":%d,"param_name":%q,"param_value_internal":%s,"distribution":%s}`+"\n", trial, name, value, d)
}

func tell(trial int, value string) string {
	return fmt.Sprintf(`{"op_code":6,"trial_id":%d,"state":1,"values":[%s]}`+"\n", trial, value)
}

func number(class, rest string) string {
	return fmt.Sprintf(`{"name": %q, "attributes": {%s}}`, class, rest)
}

func choices(list string) string {
	return `{"name": "CategoricalDistribution", "attributes": {"choices": [` + list + `]}}`
}

const unit = `{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}}`

// Seconds are those from a trial's start to its end, where both are known: of local time, as
// Optuna before version 5 wrote it, or of a zone that is named.
func TestOptunaSeconds(t *testing.T) {
	var text strings.Builder
	text.WriteString(study0)
	for i, times := range [][2]string{
		{`"2026-03-01T23:59:59.250000"`, `"2026-03-02T00:00:01"`}, {`null`, `"2026-03-01T10:00:00"`}, {`"2026-03-01T10:00:00"`, `7`}, {`"2026-03-01T10:00:00"`, `"2026-03-01T10:00:00"`},
		{`"2026-03-01T10:00:00"`, `"2026-03-01T10:00:05.000000+00:00"`},
		{`"2026-03-01T23:59:59.250000+00:00"`, `"2026-03-02T02:00:01.000000+02:00"`},
	} {
		fmt.Fprintf(&text, `{"op_code":4,"study_id":0,"datetime_start":%s}`+"\n", times[0])
		text.WriteString(setParam(i, "x", "0.25", unit))
		fmt.Fprintf(&text, `{"op_code":6,"trial_id":%d,"state":1,"values":[2],"datetime_complete":%s}`+"\n", i, times[1])
	}
	text.WriteString(`{"op_code":4,"study_id":0,"datetime_start":null,"state":4}` + "\n" + `{"op_code":6,"trial_id":6,"state":0,"datetime_start":"2026-03-01T10:00:00"}` + "\n")
	text.WriteString(setParam(6, "x", "0.5", unit) + `{"op_code":6,"trial_id":6,"state":1,"values":[3],"datetime_complete":"2026-03-01T10:01:00"}` + "\n")
	text.WriteString(`{"op_code":4,"study_id":0,"datetime_start":"2026-03-01T10:00:00"}` + "\n" + setParam(7, "x", "0.75", unit))
	text.WriteString(`{"op_code":6,"trial_id":7,"state":3,"values":null,"datetime_complete":"2026-03-01T10:00:02"}` + "\n")
	// A trial that runs is not started again, and has begun when it did.
	text.WriteString(`{"op_code":4,"study_id":0,"datetime_start":"2026-03-01T10:00:00"}` + "\n" + setParam(8, "x", "0.75", unit))
	text.WriteString(`{"op_code":6,"trial_id":8,"state":0,"datetime_start":"2026-03-01T10:00:50"}` + "\n")
	text.WriteString(`{"op_code":6,"trial_id":8,"state":1,"values":[4],"datetime_complete":"2026-03-01T10:01:30"}` + "\n")
	got := mustRead(t, history.Optuna{Seconds: "seconds"}, strings.NewReader(text.String()))
	if v := got.Tasks[0].FailedOutputs["seconds"]; len(v) != 1 || v[0] != 2 {
		t.Errorf("seconds of failures %v", v)
	}
	v := got.Tasks[0].Outputs["seconds"]
	if len(v) != 8 || v[0] != 1.75 || v[5] != 1.75 || v[6] != 60 || v[7] != 90 {
		t.Fatalf("seconds %v", v)
	}
	for _, missing := range v[1:5] {
		if !math.IsNaN(missing) {
			t.Errorf("seconds %v", v)
		}
	}
	if got, err := (history.Optuna{}).Read(strings.NewReader(text.String())); err != nil || got.Tasks[0].Outputs != nil {
		t.Errorf("outputs %v, %v", got.Tasks[0].Outputs, err)
	}
	if _, err := (history.Optuna{Seconds: "\xff"}).Read(strings.NewReader(text.String())); !errors.Is(err, cmbo.ErrOption) {
		t.Errorf("%v", err)
	}
}

// TestOptunaReplay plays operations that Optuna passes over.
func TestOptunaReplay(t *testing.T) {
	good := study0 + trial0 + setParam(0, "x", "0.25", unit) + tell(0, "2")
	for name, text := range map[string]string{
		"study twice":       study0 + study0 + good[len(study0):],
		"no study":          good + `{"op_code":1,"study_id":7}` + "\n" + `{"op_code":4,"study_id":-1}` + "\n" + `{"op_code":4,"study_id":1}` + "\n",
		"no trial":          good + tell(1, "3") + tell(-1, "3") + setParam(5, "x", "1", unit),
		"told twice":        good + tell(0, "3") + setParam(0, "x", "1", unit),
		"started twice":     study0 + trial0 + setParam(0, "x", "0.25", unit) + `{"op_code":6,"trial_id":0,"state":0,"values":[9]}` + "\n" + tell(0, "2"),
		"set again":         study0 + trial0 + setParam(0, "x", "0.75", unit) + setParam(0, "x", "0.25", unit) + tell(0, "2"),
		"incompatible":      study0 + trial0 + setParam(0, "x", "0.25", unit) + setParam(0, "x", "0", choices(`"a"`)) + setParam(0, "x", "0.5", number("FloatDistribution", `"low":0.1,"high":1,"log":true`)) + tell(0, "2"),
		"compatible":        study0 + trial0 + setParam(0, "x", "0.5", unit) + setParam(0, "x", "0.25", number("FloatDistribution", `"low":0,"high":1,"log":false,"step":null`)) + setParam(0, "x", "0.75", number("UniformDistribution", `"low":0,"high":1`)) + tell(0, "2"),
		"attributes":        study0 + `{"op_code":2,"study_id":0,"user_attr":{"a":NaN}}` + "\n" + trial0 + setParam(0, "x", "0.25", unit) + `{"op_code":8,"trial_id":0,"user_attr":{"value":"}\"{"}}` + "\n" + `{"op_code":10}` + "\n" + tell(0, "2"),
		"deleted trial":     `{"op_code":0,"study_name":"gone","directions":[2]}` + "\n" + trial0 + `{"op_code":1,"study_id":0}` + "\n" + study0 + strings.ReplaceAll(trial0, `"study_id":0`, `"study_id":1`) + setParam(0, "y", "0.25", unit) + tell(0, "9") + setParam(1, "x", "0.25", unit) + tell(1, "2"),
		"empty lines":       "\n" + strings.ReplaceAll(good, "\n", "\r\n\r\n"),
		"torn within":       good + `{"op_code":6,"trial_`,
		"torn at the end":   good + `{"op_code":6,"trial_` + "\n",
		"whole but no end":  good + `{"op_code":0,"study_name":"t","directions":[2]}`,
		"waiting":           good + `{"op_code":4,"study_id":0,"state":4,"datetime_start":null,"value":null,"values":null,"distributions":{},"params":{},"intermediate_values":{}}` + "\n",
		"long attribute":    study0 + `{"op_code": 8, "trial_id":0,"user_attr":{"a":"` + strings.Repeat("x", 2000) + `"}}` + "\n" + good[len(study0):],
		"added":             study0 + `{"op_code":4,"study_id":0,"state":1,"value":2,"values":null,"distributions":{"x":` + quote(unit) + `},"params":{"x":0.25},"intermediate_values":{"0":Infinity}}` + "\n",
		"added with values": study0 + `{"op_code":4,"study_id":0,"state":1,"value":null,"values":[2],"distributions":{"x":` + quote(unit) + `},"params":{"x":0.25}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, history.Optuna{Limits: history.Limits{Line: 500}}, []byte(text))
			if want := []cmbo.Task{{ID: "s", X: [][]float64{{0.25}}, Y: []float64{2}}}; !sameBits(got.Tasks, want) {
				t.Errorf("have %v, want %v", got.Tasks, want)
			}
			if torn := strings.HasPrefix(name, "torn") || strings.HasPrefix(name, "whole"); got.Torn != torn {
				t.Errorf("torn is %t", got.Torn)
			}
			if n := got.Studies[0].Running; len(got.Studies) != 1 || n != 0 {
				t.Errorf("%+v", got.Studies)
			}
		})
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestOptunaBadLines(t *testing.T) {
	begin := study0 + trial0
	tests := []struct {
		line, field, value, reason string
		sentinel                   error
	}{
		{`{"op_code":11}`, "op_code", "11", "newer Optuna", cmbo.ErrVersion},
		{`{"op_code":-1}`, "op_code", "-1", "newer Optuna", cmbo.ErrVersion},
		{`{"op_code":"5"}`, "", "", "cannot unmarshal", cmbo.ErrCorrupt},
		{`{"op_code":5.5}`, "", "", "cannot unmarshal", cmbo.ErrCorrupt},
		{`{"trial_id":0}`, "op_code", "", "missing", cmbo.ErrCorrupt},
		{`[]`, "", "", "cannot unmarshal", cmbo.ErrCorrupt},
		{`null`, "op_code", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":0,"directions":[1]}`, "study_name", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":0,"study_name":"t","directions":[3]}`, "directions", "3", "unknown", cmbo.ErrCorrupt},
		{`{"op_code":1}`, "study_id", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":4}`, "study_id", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":4,"study_id":0,"state":5}`, "state", "5", "unknown", cmbo.ErrCorrupt},
		{`{"op_code":4,"study_id":0,"state":1,"params":{"x":1},"distributions":{}}`, "x", "", "distribution: missing", cmbo.ErrCorrupt},
		{`{"op_code":4,"study_id":0,"state":1,"params":[1]}`, "", "", "not a JSON object", cmbo.ErrCorrupt},
		{`{"op_code":4,"study_id":0,"state":1,"intermediate_values":{"x":1}}`, "", "", "number x into Go struct field operation.intermediate_values", cmbo.ErrCorrupt},
		{`{"op_code":5,"param_name":"x"}`, "trial_id", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":5,"trial_id":0}`, "param_name", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":5,"trial_id":0,"param_name":"x","param_value_internal":1}`, "x", "", "distribution: missing", cmbo.ErrCorrupt},
		{setParam(0, "x", "1", "{"), "x", "", "distribution: unexpected end", cmbo.ErrCorrupt},
		{setParam(0, "x", "1", number("NormalDistribution", "")), "x", "NormalDistribution", "distribution: of unknown type", cmbo.ErrVersion},
		{setParam(0, "x", "1", number("FloatDistribution", `"low":0`)), "x", "", "distribution: high: no value", cmbo.ErrCorrupt},
		{setParam(0, "x", "1", number("FloatDistribution", `"low":-Infinity,"high":0`)), "x", "", "distribution: low: not finite", cmbo.ErrValue},
		{setParam(0, "x", "null", unit), "x", "null", "no value", cmbo.ErrCorrupt},
		{setParam(0, "x", "2", choices(`"a","b"`)), "x", "2", "not the index of one of 2", cmbo.ErrCorrupt},
		{setParam(0, "x", "0.5", choices(`"a","b"`)), "x", "0.5", "not the index", cmbo.ErrCorrupt},
		{setParam(0, "x", "-1", choices(`"a","b"`)), "x", "-1", "not the index", cmbo.ErrCorrupt},
		{setParam(0, "x", "0", choices(``)), "x", "0", "not the index of one of 0", cmbo.ErrCorrupt},
		{`{"op_code":6,"trial_id":0}`, "state", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":6,"trial_id":0,"state":7}`, "state", "7", "unknown", cmbo.ErrCorrupt},
		{`{"op_code":6,"trial_id":0,"state":1,"values":3}`, "values", "3", "not a list", cmbo.ErrCorrupt},
		{`{"op_code":7,"trial_id":0,"intermediate_value":1}`, "step", "", "missing", cmbo.ErrCorrupt},
		{`{"op_code":4,"study_id":0,` + strings.Repeat(" ", 500) + `}`, "", "", "the line has more bytes; the limit is 400, which Limits.Line sets", cmbo.ErrCorrupt},
		{`{"op_code":5,"trial_{"op_code":6}`, "", "", "invalid character", cmbo.ErrCorrupt}, // torn, then written on
		{`garbage`, "", "", "invalid character", cmbo.ErrCorrupt},
	}
	for _, tt := range tests {
		for _, p := range []history.Policy{history.Fail, history.Skip} {
			text := begin + strings.TrimSuffix(tt.line, "\n") + "\n" + trial0
			_, err := history.Optuna{Limits: history.Limits{Line: 400}, Policy: p}.Read(strings.NewReader(text))
			mustBeRow(t, err, 3, tt.field, tt.value, tt.sentinel, tt.reason)
		}
	}
}

// TestOptunaBadTrials has a bad trial among good ones.
func TestOptunaBadTrials(t *testing.T) {
	begin := study0 + trial0 + setParam(0, "x", "0.25", unit) + tell(0, "2") // four lines
	tests := []struct {
		lines, field, value, reason string
		line                        int
		sentinel                    error
	}{
		{trial0 + tell(1, "2"), "x", "", "trial 1: no such parameter", 6, cmbo.ErrOutOfSpace},
		{trial0 + setParam(1, "x", "1.5", unit) + tell(1, "2"), "x", "1.5", "trial 1: 1.5 is not in [0, 1]", 6, cmbo.ErrOutOfSpace},
		{trial0 + setParam(1, "x", "1", unit) + tell(1, "NaN"), "values", "NaN", "trial 1: not finite", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + tell(1, "1e999"), "values", "1e999", "too large", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + tell(1, "1e151"), "values", "1e151", "beyond", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + tell(1, "null"), "values", "null", "no value", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + tell(1, ""), "values", "", "0 values", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + tell(1, "1,2"), "values", "", "2 values", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + `{"op_code":6,"trial_id":1,"state":1,"values":null}` + "\n", "values", "", "0 values", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + `{"op_code":6,"trial_id":1,"state":2,"values":null}` + "\n", "values", "", "no value", 7, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + `{"op_code":7,"trial_id":1,"step":3,"intermediate_value":5}` + "\n" + `{"op_code":6,"trial_id":1,"state":2,"values":[1,2]}` + "\n", "values", "", "2 values", 8, cmbo.ErrValue},
		{trial0 + setParam(1, "x", "1", unit) + `{"op_code":7,"trial_id":1,"step":3,"intermediate_value":NaN}` + "\n" + `{"op_code":7,"trial_id":1,"step":1,"intermediate_value":5}` + "\n" + `{"op_code":6,"trial_id":1,"state":2}` + "\n", "values", "NaN", "not finite", 9, cmbo.ErrValue},
	}
	for _, tt := range tests {
		o := history.Optuna{Pruned: true}
		text := begin + tt.lines + trial0 + setParam(2, "x", "0.5", unit) + tell(2, "3")
		_, err := o.Read(strings.NewReader(text))
		mustBeRow(t, err, tt.line, tt.field, tt.value, tt.sentinel, tt.reason)
		bad := err.(*history.RowError)
		if !bad.Skippable {
			t.Errorf("%v does not name the policy", err)
		}
		bad.Skippable = false
		o.Policy = history.Skip
		got := read(t, o, []byte(text))
		if !reflect.DeepEqual(got.Report.Errors, []*history.RowError{bad}) || len(got.Tasks[0].X) != 2 || got.Report.Errors[0].Task != "s" {
			t.Errorf("%+v, %v", got.Report, got.Tasks)
		}
	}
}

// TestOptunaCompatible sets a categorical twice; the second has an effect if
// Python takes the choices for equal.
func TestOptunaCompatible(t *testing.T) {
	for _, tt := range []struct {
		first, second string
		same          bool
	}{
		{`"a", 1, null`, `"a", 1, null`, true},
		{`"a", 1, null`, `"a",1.0,null`, true},
		{`"a", 1, null`, `"a", true, null`, true},
		{`"a", false, 2.5e0`, `"a", 0, 2.50`, true},
		{`"a", [1, 2]`, `"a", [1,2]`, true},
		{`"a", NaN`, `"a", NaN`, true},
		{`"a", 1`, `"a", "1"`, false},
		{`"a", 1`, `"a", 2`, false},
		{`"a", "b"`, `"b", "a"`, false},
		{`"a", "b"`, `"a", "b", "c"`, false},
		{`"a", null`, `"a", false`, false},
	} {
		text := study0 + trial0 + setParam(0, "x", "0", choices(tt.first)) + setParam(0, "x", "1", choices(tt.second)) + tell(0, "2")
		got := mustRead(t, history.Optuna{}, strings.NewReader(text))
		if i := got.Tasks[0].X[0][0]; (i == 1) != tt.same {
			t.Errorf("%s after %s: choice %g", tt.second, tt.first, i)
		}
	}
}

// TestOptunaPruned takes the value of the last step, in whatever order steps
// were reported, and the later one of a step that was reported twice.
func TestOptunaPruned(t *testing.T) {
	report := func(step int, v string) string {
		return fmt.Sprintf(`{"op_code":7,"trial_id":0,"step":%d,"intermediate_value":%s}`+"\n", step, v)
	}
	text := study0 + trial0 + setParam(0, "x", "0.25", unit) + report(3, "6") + report(3, "7") + report(-1, "NaN") + report(2, "8") + `{"op_code":6,"trial_id":0,"state":2,"values":null}` + "\n"
	got := read(t, history.Optuna{Pruned: true}, []byte(text))
	if got.Tasks[0].Y[0] != 7 {
		t.Errorf("value %g", got.Tasks[0].Y[0])
	}
	if _, err := (history.Optuna{}).Read(strings.NewReader(text)); !errors.Is(err, cmbo.ErrNoTasks) {
		t.Error(err)
	}
}

// TestOptunaIntermediate makes curves of what complete trials reported, in the order of the steps and
// in the direction of the values, of all others none.
func TestOptunaIntermediate(t *testing.T) {
	report := func(trial, step int, v string) string {
		return fmt.Sprintf(`{"op_code":7,"trial_id":%d,"step":%d,"intermediate_value":%s}`+"\n", trial, step, v)
	}
	text := study0 + trial0 + trial0 + trial0 + setParam(0, "x", "0.25", unit) + setParam(1, "x", "0.5", unit) + setParam(2, "x", "0.75", unit) +
		report(0, 3, "7") + report(0, -1, "1") + report(0, 2, "8") + report(0, 4, "NaN") + report(0, 5, "1e151") + report(0, 2, "9") + tell(0, "6") +
		report(1, 1, "4") + `{"op_code":6,"trial_id":1,"state":2,"values":null}` + "\n" + report(2, 1, "4") + `{"op_code":6,"trial_id":2,"state":3,"values":null}` + "\n" +
		`{"op_code":4,"study_id":0,"state":1,"value":2,"values":null,"distributions":{"x":` + quote(unit) + `},"params":{"x":1},"intermediate_values":{"10":3,"9":4}}` + "\n"
	for sign, direction := range map[float64]history.Direction{1: history.Minimize, -1: history.Maximize} {
		o := history.Optuna{Direction: direction, Pruned: true, Intermediate: true}
		got := read(t, o, []byte(text)).Tasks[0]
		want := []cmbo.Curve{{Steps: []int{2, 3}, Values: []float64{9 * sign, 7 * sign}}, {}, {Steps: []int{9, 10}, Values: []float64{4 * sign, 3 * sign}}}
		if !reflect.DeepEqual(got.Curves, want) || len(got.Failed) != 1 {
			t.Errorf("%v %v", got.Curves, got.Failed)
		}
		if o.Intermediate = false; read(t, o, []byte(text)).Tasks[0].Curves != nil {
			t.Error("curves that nobody asked for")
		}
	}
}

// TestOptunaInfer infers spaces from distributions.
func TestOptunaInfer(t *testing.T) {
	tests := []struct {
		name   string
		dists  []string // of x, one a study
		want   cmbo.Param
		reason string // of an error on the last study's line
	}{
		{"float", []string{unit}, cmbo.Float("x", 0, 1), ""},
		{"uniform", []string{number("UniformDistribution", `"low":0,"high":2`)}, cmbo.Float("x", 0, 2), ""},
		{"discrete", []string{number("DiscreteUniformDistribution", `"low":0,"high":2,"q":0.5`)}, cmbo.Float("x", 0, 2).WithStep(0.5), ""},
		{"log", []string{number("LogUniformDistribution", `"low":0.125,"high":2`)}, cmbo.LogFloat("x", 0.125, 2), ""},
		{"int", []string{number("IntUniformDistribution", `"low":0,"high":9,"step":3`)}, cmbo.Int("x", 0, 9).WithStep(3), ""},
		{"log int", []string{number("IntLogUniformDistribution", `"low":1,"high":9,"step":1`)}, cmbo.LogInt("x", 1, 9), ""},
		{"steps of one", []string{number("IntDistribution", `"low":0,"high":9,"step":1`), number("IntDistribution", `"low":0,"high":9`)}, cmbo.Int("x", 0, 9), ""},
		{"old and new", []string{unit, number("UniformDistribution", `"low":0,"high":1`)}, cmbo.Float("x", 0, 1), ""},
		{"bool", []string{choices("true, false"), choices("false,true")}, cmbo.Bool("x"), ""},
		{"choices", []string{choices(`null, 1, 1.5, "a", [1, {"b": " c"}], NaN, -Infinity`)}, cmbo.Categorical("x", "null", "1", "1.5", "a", `[1,{"b":" c"}]`, "NaN", "-Infinity"), ""},
		{"order of choices", []string{choices(`"b","a"`), choices(`"a","b"`)}, cmbo.Categorical("x", "b", "a"), ""},
		{"one choice", []string{choices(`true`)}, cmbo.Categorical("x", "true"), ""},
		{"one integer", []string{number("IntDistribution", `"low":1,"high":1,"step":1,"log":false`)}, cmbo.Int("x", 1, 1), ""},

		{"ranges differ", []string{unit, number("FloatDistribution", `"low":0,"high":2`)}, cmbo.Param{}, "a number in [0, 2] here, but a number in [0, 1] on line 3 in study \"s0\""},
		{"steps differ", []string{unit, number("FloatDistribution", `"low":0,"high":1,"step":0.25`)}, cmbo.Param{}, "step 0.25 here"},
		{"choices differ", []string{choices(`"a"`), choices(`"a","b"`)}, cmbo.Param{}, `one of "a", "b" here, but one of "a"`},
		{"log differs", []string{number("FloatDistribution", `"low":0.1,"high":1`), number("FloatDistribution", `"low":0.1,"high":1,"log":true`)}, cmbo.Param{}, "[0.1, 1], log here"},
		{"kind differs", []string{unit, number("IntDistribution", `"low":0,"high":1`)}, cmbo.Param{}, "an integer in [0, 1] here"},
		{"kind differs from choices", []string{unit, choices(`0, 1`)}, cmbo.Param{}, `one of "0", "1" here`},
		{"one real", []string{number("FloatDistribution", `"low":1,"high":1`)}, cmbo.Param{}, "declare a Space without it"},
		{"log of zero", []string{number("FloatDistribution", `"low":0,"high":1,"log":true`)}, cmbo.Param{}, "0 < lo < hi"},
		{"integers too large", []string{number("IntDistribution", `"low":0,"high":1e300`)}, cmbo.Param{}, "cannot be a parameter"},
		{"half an integer", []string{number("IntDistribution", `"low":0,"high":1.5`)}, cmbo.Param{}, "does not fit int"},
		{"one name twice", []string{choices(`1, "1"`)}, cmbo.Param{}, `choice "1" appears twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			for i, d := range tt.dists {
				id := fmt.Sprint(i)
				value := "1"
				if strings.Contains(d, "Categorical") || strings.Contains(d, `"step":3`) {
					value = "0"
				}
				text.WriteString(strings.ReplaceAll(study0, `"s"`, `"s`+id+`"`) + strings.ReplaceAll(trial0, `"study_id":0`, `"study_id":`+id) + setParam(i, "x", value, d) + tell(i, "1"))
			}
			got, err := history.Optuna{}.Read(strings.NewReader(text.String()))
			if tt.reason != "" {
				mustBeRow(t, err, 4*len(tt.dists)-1, "x", "", cmbo.ErrSpace, tt.reason)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p := got.Space.Params(); !reflect.DeepEqual(p, []cmbo.Param{tt.want}) {
				t.Errorf("%v, want %v", p, tt.want)
			}
		})
	}
	_, err := history.Optuna{}.Read(strings.NewReader(study0 + trial0 + tell(0, "1")))
	mustBeRow(t, err, 0, "", "", cmbo.ErrSpace, "no trial has a parameter")
}

// TestOptunaValues takes values of one kind for parameters of another.
func TestOptunaValues(t *testing.T) {
	list := choices(`16, 0.5, "a", true, 1`)
	for _, tt := range []struct {
		dist, value string
		param       cmbo.Param
		want        float64 // NaN for an error
	}{
		{list, "0", cmbo.Int("x", 1, 32), 16},
		{list, "0", cmbo.LogFloat("x", 1, 32), 16},
		{list, "1", cmbo.Float("x", 0, 1), 0.5},
		{list, "1", cmbo.Int("x", 0, 1), math.NaN()},
		{list, "2", cmbo.Float("x", 0, 1), math.NaN()},
		{list, "3", cmbo.Bool("x"), 1},
		{list, "4", cmbo.Bool("x"), 1},
		{list, "3", cmbo.Int("x", 0, 1), math.NaN()},
		{list, "0", cmbo.Bool("x"), math.NaN()},
		{list, "0.0", cmbo.Categorical("x", "a", "16"), 1},
		{list, "1", cmbo.Categorical("x", "a", "16"), math.NaN()},
		{unit, "1.0", cmbo.Bool("x"), 1},
		{unit, "1.0", cmbo.Int("x", 0, 4), 1},
		{unit, "0.5", cmbo.Int("x", 0, 4), math.NaN()},
		{unit, "0.5", cmbo.Categorical("x", "0", "0.5"), 1},
		{number("IntDistribution", `"low":0,"high":4`), "3.0", cmbo.Categorical("x", "0", "3"), 1},
		{number("IntDistribution", `"low":0,"high":4`), "0", cmbo.Bool("x"), 0},
		{number("IntDistribution", `"low":0,"high":4`), "4", cmbo.Float("x", 0, 10), 4},
	} {
		s := spaceOf(t, tt.param)
		got, err := history.Optuna{Space: s}.Read(strings.NewReader(study0 + trial0 + setParam(0, "x", tt.value, tt.dist) + tell(0, "1")))
		switch {
		case math.IsNaN(tt.want):
			var e *history.RowError
			if !errors.As(err, &e) || e.Line != 3 || e.Field != "x" || !errors.Is(err, cmbo.ErrOutOfSpace) {
				t.Errorf("%s of %s as %s: %v", tt.value, tt.dist, tt.param.Kind(), err)
			}
		case err != nil || got.Tasks[0].X[0][0] != tt.want:
			t.Errorf("%s of %s as %s: %v, want %g", tt.value, tt.dist, tt.param.Kind(), err, tt.want)
		}
	}
}

func TestOptunaSettings(t *testing.T) {
	text := study0 + trial0 + setParam(0, "x", "0.25", unit) + tell(0, "2")
	for _, tt := range []struct {
		o    history.Optuna
		text string
		want error
	}{
		{history.Optuna{Direction: 3}, text, cmbo.ErrOption},
		{history.Optuna{Policy: 2}, text, cmbo.ErrOption},
		{history.Optuna{Limits: history.Limits{Line: -1}}, text, cmbo.ErrOption},
		{history.Optuna{}, "", cmbo.ErrNoTasks},
		{history.Optuna{}, "\xff\xfe", cmbo.ErrCorrupt},
		{history.Optuna{}, strings.Replace(text, `[1]`, `[0]`, 1), cmbo.ErrTask},
		{history.Optuna{}, strings.Replace(text, `[1]`, `[]`, 1), cmbo.ErrTask},
		{history.Optuna{}, strings.Replace(text, `"s"`, `""`, 1), cmbo.ErrTask},
		{history.Optuna{}, text, nil},
	} {
		if _, err := tt.o.Read(strings.NewReader(tt.text)); !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.o, err, tt.want)
		}
	}
	if _, err := (history.Optuna{Space: new(cmbo.Space), Policy: history.Skip}).Read(strings.NewReader(text)); !errors.Is(err, cmbo.ErrSpace) || errors.Is(err, cmbo.ErrNoTasks) {
		t.Errorf("a zero space: %v", err)
	}
	var many strings.Builder
	many.WriteString(study0 + trial0)
	for i := range 4097 {
		many.WriteString(setParam(0, fmt.Sprint(i), "0", unit))
	}
	_, err := history.Optuna{}.Read(strings.NewReader(many.String()))
	mustBeRow(t, err, 4099, "4096", "", cmbo.ErrCorrupt, "more than 4096 parameters")
}
