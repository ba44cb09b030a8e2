package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// katibSpace is that of testdata/katib, with a step that the trials pass over.
func katibSpace(tb testing.TB) *cmbo.Space {
	tb.Helper()
	s := spaceOf(tb,
		cmbo.LogFloat("lr", 1e-4, 1), cmbo.Int("depth", 1, 12), cmbo.Float("drop", 0, 0.5).WithStep(0.1),
		cmbo.Ordinal("units", 16, 32, 64), cmbo.Categorical("kind", "relu", "tanh"),
	)
	return s
}

func katibTrials(tb testing.TB) []byte {
	tb.Helper()
	b, err := os.ReadFile("testdata/katib/trials.json")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestKatib compares what is read with what the maker of the file says that it is.
func TestKatib(t *testing.T) {
	b, err := os.ReadFile("testdata/katib/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected []struct {
		Experiment string
		Parameters map[string]string
		Outcome    any
	}
	if err := json.Unmarshal(b, &expected); err != nil {
		t.Fatal(err)
	}
	s := katibSpace(t)
	for _, metric := range []string{"loss", "accuracy"} {
		got := mustRead(t, history.Katib{Space: s, Metric: metric}, bytes.NewReader(katibTrials(t)))
		if got.Minimize != (metric == "loss") || got.Metric != metric {
			t.Errorf("%s: minimize %v, metric %q", metric, got.Minimize, got.Metric)
		}
		mustBeLearnable(t, &got.Result)
		var tasks []cmbo.Task
		snapped := 0
		for _, e := range expected {
			if (e.Experiment == "team-b/cifar") != (metric == "accuracy") {
				continue
			}
			if len(tasks) == 0 || tasks[len(tasks)-1].ID != e.Experiment {
				tasks = append(tasks, cmbo.Task{ID: e.Experiment})
			}
			task := &tasks[len(tasks)-1]
			num := func(name string) float64 {
				v, err := strconv.ParseFloat(e.Parameters[name], 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			kind := 0.0
			if e.Parameters["kind"] == "tanh" {
				kind = 1
			}
			drop := math.Round(num("drop")*10) / 10
			if drop != num("drop") {
				snapped++
			}
			x := []float64{num("lr"), num("depth"), drop, num("units"), kind}
			if y, ok := e.Outcome.(float64); ok {
				task.X, task.Y = append(task.X, x), append(task.Y, y)
			} else {
				task.Failed = append(task.Failed, x)
			}
		}
		if !sameBits(got.Tasks, tasks) {
			t.Errorf("%s: have %v, want %v", metric, got.Tasks, tasks)
		}
		if got.Report.Snapped != snapped || snapped == 0 {
			t.Errorf("%d rows were snapped, want %d", got.Report.Snapped, snapped)
		}
		if metric == "loss" && got.Report.PassedOver != 4+3 {
			t.Errorf("%d passed over", got.Report.PassedOver)
		}
		// The other direction.
		flipped, err := history.Katib{Space: s, Metric: metric, Direction: history.Maximize}.Read(bytes.NewReader(katibTrials(t)))
		if err != nil || flipped.Minimize {
			t.Fatal(err)
		}
		if sign := flipped.Tasks[0].Y[0] / tasks[0].Y[0]; sign != 1 && metric == "accuracy" || sign != -1 && metric == "loss" {
			t.Errorf("%s: %g of %g", metric, flipped.Tasks[0].Y[0], tasks[0].Y[0])
		}
	}
}

// trialJSON is a trial with the given differences from a good one.
func trialJSON(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`{"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial",
"metadata": {"name": "t1", "namespace": "ns", "ownerReferences": [{"kind": "Experiment", "name": "e"}]},
"spec": {"objective": {"type": "minimize", "objectiveMetricName": "loss"}, "parameterAssignments": [{"name": "x", "value": "0.5"}]},
"status": {"conditions": [{"type": "Succeeded", "status": "True"}], "observation": {"metrics": [{"name": "loss", "min": "1", "max": "3", "latest": "2"}]}}}`)
}

// A trial's task is named by its owner, else by Katib's own label, else by the old one; of two metrics of a name the last
// counts.
func TestKatibNames(t *testing.T) {
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	const owner = `"ownerReferences": [{"kind": "Experiment", "name": "e"}]`
	const metrics = `"metrics": [{"name": "loss", "min": "7", "max": "8", "latest": "9"}, `
	for labels, want := range map[string]string{
		owner + `, "labels": {"katib.kubeflow.org/experiment": "new", "experiment": "old"}`: "ns/e",
		`"labels": {"katib.kubeflow.org/experiment": "new", "experiment": "old"}`:           "ns/new",
		`"labels": {"experiment": "old"}`:                                                   "ns/old",
	} {
		text := trialJSON(owner, labels, `"metrics": [`, metrics)
		got := mustRead(t, history.Katib{Space: s}, strings.NewReader(text))
		if id, y := got.Tasks[0].ID, got.Tasks[0].Y[0]; id != want || y != 1 {
			t.Errorf("%s: task %q has %g, want %q and 1", labels, id, y, want)
		}
	}
}

// Seconds are those from a trial's start to its completion, where both are known.
func TestKatibSeconds(t *testing.T) {
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	const status = `"status": {"conditions"`
	var text string
	for i, times := range []string{
		`"startTime": "2026-03-01T10:00:58Z", "completionTime": "2026-03-01T10:01:07Z", `, `"startTime": "2026-03-01T10:00:00Z", `,
		`"startTime": "2026-03-01T10:00:00Z", "completionTime": "2026-03-01T11:00:00+01:00", `, `"startTime": "2026-03-01T10:00:00Z", "completionTime": "soon", `,
	} {
		text += trialJSON(`"t1"`, fmt.Sprintf(`"t%d"`, i), status, `"status": {`+times+`"conditions"`)
	}
	text += trialJSON(`"t1"`, `"crashed"`, status, `"status": {"startTime": "2026-03-01T10:00:00Z", "completionTime": "2026-03-01T10:00:04Z", "conditions"`, "Succeeded", "Failed")
	got := mustRead(t, history.Katib{Space: s, Seconds: "seconds", Outputs: []string{"loss"}}, strings.NewReader(text))
	outputs := got.Tasks[0].Outputs
	if v := outputs["seconds"]; len(v) != 4 || v[0] != 9 || !math.IsNaN(v[1]) || !math.IsNaN(v[2]) || !math.IsNaN(v[3]) || len(outputs["loss"]) != 4 {
		t.Errorf("outputs %v", outputs)
	}
	if v := got.Tasks[0].FailedOutputs["seconds"]; len(v) != 1 || v[0] != 4 {
		t.Errorf("seconds of failures %v", v)
	}
	for _, name := range []string{"loss", " bad", "a\nb"} {
		if _, err := (history.Katib{Space: s, Seconds: name, Outputs: []string{"loss"}}).Read(strings.NewReader(text)); !errors.Is(err, cmbo.ErrOption) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestKatibTrials(t *testing.T) {
	testutil.SkipRace(t, "one goroutine reads")
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	const owner, objective = `[{"kind": "Experiment", "name": "e"}]`, `"type": "minimize", "objectiveMetricName": "loss"`
	second := trialJSON(`"t1"`, `"t2"`)
	for name, tt := range map[string]struct {
		text   string
		want   string // the tasks
		err    error
		reason string
	}{
		"one":                  {text: trialJSON(), want: "ns/e [[0.5]] [1] []"},
		"two, one after other": {text: trialJSON() + "\n" + second + " \n\n", want: "ns/e [[0.5] [0.5]] [1 1] []"},
		"greatest":             {text: trialJSON("minimize", "maximize"), want: "ns/e [[0.5]] [3] []"},
		"a strategy":           {text: trialJSON(objective, objective+`, "metricStrategies": [{"name": "acc", "value": "max"}, {"name": "loss", "value": "latest"}]`), want: "ns/e [[0.5]] [2] []"},
		"least unavailable":    {text: trialJSON(`"1"`, `"unavailable"`), want: "ns/e [[0.5]] [2] []"},
		"all unavailable":      {text: trialJSON(`"1"`, `"unavailable"`, `"2"`, `"unavailable"`) + second, want: "ns/e [[0.5]] [1] [[0.5]]"},
		"infinite":             {text: trialJSON(`"1"`, `"-inf"`) + second, want: "ns/e [[0.5]] [1] [[0.5]]"},
		"condition not true":   {text: trialJSON(`"True"`, `"False"`) + second, want: "ns/e [[0.5]] [1] []"},
		"nulls":                {text: trialJSON(`"kind": "Trial"`, `"kind": "Trial", "x": null`, `"name": "t1"`, `"name": "t1", "labels": null`, `"Succeeded"`, `"Failed"`, `{"metrics": [{"name": "loss", "min": "1", "max": "3", "latest": "2"}]}`, `null`) + second, want: "ns/e [[0.5]] [1] [[0.5]]"},
		"by label":             {text: trialJSON(`"ownerReferences": `+owner, `"labels": {"katib.kubeflow.org/experiment": "l"}`), want: "ns/l [[0.5]] [1] []"},
		"by an old label":      {text: trialJSON(`"ownerReferences": `+owner, `"labels": {"experiment": "o"}`), want: "ns/o [[0.5]] [1] []"},
		"no experiment":        {text: trialJSON(`"ownerReferences": `+owner, `"labels": {}`), err: cmbo.ErrTask, reason: `line 1: trial "t1": no experiment or`},
		"no objective":         {text: trialJSON(objective, ``), err: cmbo.ErrTask, reason: `or no objective`},
		"twice":                {text: trialJSON() + "\n\n" + trialJSON(), err: cmbo.ErrCorrupt, reason: `line 6: task "ns/e": trial "t1": the trial is there twice`},
		"outside":              {text: trialJSON("0.5", "1.5"), err: cmbo.ErrOutOfSpace, reason: `task "ns/e": "x" is "1.5": trial "t1": 1.5 is not in [0, 1]`},
		"no number":            {text: trialJSON("0.5", "high"), err: cmbo.ErrOutOfSpace, reason: `"x" is "high": trial "t1": not a number`},
		"no parameter":         {text: trialJSON(`"x"`, `"y"`), err: cmbo.ErrOutOfSpace, reason: `"x": trial "t1": no such parameter`},
		"numbers":              {text: trialJSON(`"0.5"`, `0.5`, `"1"`, `-1e0`), want: "ns/e [[0.5]] [-1] []"},
		"not text":             {text: trialJSON(`"0.5"`, `true`), err: cmbo.ErrOutOfSpace, reason: `no value`},
		"running":              {text: trialJSON("Succeeded", "Running") + trialJSON(`"loss"`, `"error"`, "Succeeded", "Running"), err: cmbo.ErrNoTasks, reason: `none of 2 trials is of the objective and has ended; the last is about "error"`},
		"failed outside":       {text: trialJSON("0.5", "1.5", "Succeeded", "Failed") + second, want: "ns/e [[0.5]] [1] []"},
		"metrics differ":       {text: trialJSON() + trialJSON(`"t1"`, `"t2"`, `"loss"`, `"error"`), err: cmbo.ErrTask, reason: `the trial "t2" is about "error", but "t1" about "loss"; Katib.Metric says`},
		"directions differ":    {text: trialJSON() + trialJSON(`"t1"`, `"t2"`, "minimize", "maximize"), err: cmbo.ErrTask, reason: `the trial "t2" is to maximize, but "t1" to minimize; set Katib.Direction`},
		"cut off":              {text: trialJSON()[:400], err: cmbo.ErrCorrupt, reason: "cut off"},
		"cut off at a list":    {text: `{"kind": "List", "items":`, err: cmbo.ErrCorrupt, reason: "cut off"},
		"yaml":                 {text: "apiVersion: v1\nitems:\n", err: cmbo.ErrCorrupt, reason: "--output json"},
		"empty":                {text: " \n", err: cmbo.ErrNoTasks},
		"other kinds":          {text: `{"kind": "List", "items": [{"kind": "Experiment", "spec": {"objective": 3, "parameters": []}}]}`, err: cmbo.ErrNoTasks},
		"deep":                 {text: strings.Repeat(`{"a":`, 100), err: history.ErrLimit, reason: "Limits.Depth"},
		"long":                 {text: `{"a": "` + strings.Repeat("a", 3<<20), err: history.ErrLimit, reason: "Limits.String"},
		"wide":                 {text: `{"status": {"conditions": [` + strings.Repeat("{},", 1<<20), err: history.ErrLimit, reason: "Limits.String"},
	} {
		got, err := history.Katib{Space: s}.Read(strings.NewReader(tt.text))
		if !errors.Is(err, tt.err) || err != nil && (tt.err == nil || !strings.Contains(err.Error(), tt.reason) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		task := got.Tasks[0]
		if text := fmt.Sprintf("%s %v %v %v", task.ID, task.X, task.Y, task.Failed); len(got.Tasks) != 1 || text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
	for _, tt := range []struct {
		k    history.Katib
		want error
	}{{history.Katib{}, cmbo.ErrSpace}, {history.Katib{Space: s, Direction: 3}, cmbo.ErrOption}, {history.Katib{Space: s, Policy: 2}, cmbo.ErrOption}, {history.Katib{Space: s, Limits: history.Limits{Depth: -1}}, cmbo.ErrOption}} {
		if _, err := tt.k.Read(strings.NewReader(trialJSON())); !errors.Is(err, tt.want) {
			t.Error(err)
		}
	}
	// A copy that breaks off is the reader's error.
	broken := errors.New("broken")
	_, err := history.Katib{Space: s}.Read(io.MultiReader(strings.NewReader(trialJSON()), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

func FuzzKatib(f *testing.F) {
	f.Add([]byte(trialJSON()+trialJSON(`"t1"`, `"t2"`)), "")
	f.Add([]byte(`{"kind":"List","items":[`+trialJSON("0.5", "1.5")+`,`+trialJSON(`"t1"`, `"t2"`, "Succeeded", "Failed")+`]}`), "loss")
	s := spaceOf(f, cmbo.Float("x", 0, 1).WithStep(0.25))
	f.Fuzz(func(t *testing.T, text []byte, metric string) {
		form := history.Katib{Space: s, Metric: metric, Direction: history.Maximize, Policy: history.Skip, Limits: history.Limits{Bytes: 1 << 16, String: 100, Columns: 50}}
		got, err := form.Read(bytes.NewReader(text))
		if err != nil {
			mustBeSentinel(t, err)
			return
		}
		mustBeLearnable(t, &got.Result)
		form.Policy = history.Fail
		again, err := form.Read(bytes.NewReader(text))
		if err != nil {
			sameUnderFail(t, &got.Result, nil, err)
		} else {
			sameUnderFail(t, &got.Result, &again.Result, nil)
		}
	})
}

// Further metrics become outputs by their strategies, the latest without one; one that was
// not reported is missing.
func TestKatibOutputs(t *testing.T) {
	text := trialJSON(`"objectiveMetricName": "loss"`, `"objectiveMetricName": "loss", "additionalMetricNames": ["ms", "mb"], "metricStrategies": [{"name": "mb", "value": "max"}]`,
		`{"name": "loss", "min": "1", "max": "3", "latest": "2"}`, `{"name": "loss", "min": "1", "max": "3", "latest": "2"},
			{"name": "ms", "min": "4", "max": "6", "latest": "5"}, {"name": "mb", "min": "7", "max": "9", "latest": "8"}, {"name": "gone", "latest": "unavailable"}`)
	box := spaceOf(t, cmbo.Float("x", 0, 1))
	got := mustRead(t, history.Katib{Space: box, Outputs: []string{"ms", "mb", "gone"}}, strings.NewReader(text))
	if row := got.Tasks[0].Outputs.Row(0); len(row) != 2 || row["ms"] != 5 || row["mb"] != 9 {
		t.Errorf("%v", row)
	}
	for _, policy := range []history.Policy{history.Fail, history.Skip} {
		_, err := history.Katib{Space: box, Outputs: []string{"ms", "sm"}, Policy: policy}.Read(strings.NewReader(text))
		mustBeRow(t, err, 0, "sm", "", history.ErrColumn, `no trial has this metric, named for output "sm"; there are "gone", "loss", "mb", "ms"`)
	}
	if _, err := (history.Katib{Space: box, Outputs: []string{""}}).Read(strings.NewReader(text)); !errors.Is(err, cmbo.ErrOption) {
		t.Error(err)
	}
}
