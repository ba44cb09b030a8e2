package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// logged is what a program logged of a run.
type logged struct {
	Task   string         `json:"task"`
	Params map[string]any `json:"params"`
	Value  *float64       `json:"value"`
	State  string         `json:"state"`
}

// loggedTasks makes tasks of what was logged, in the order of the file.
func loggedTasks(t *testing.T, file string, s *cmbo.Space, done string, defaults map[string]any) []cmbo.Task {
	t.Helper()
	text, err := os.ReadFile("testdata/frames/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var runs []logged
	if err := json.Unmarshal(text, &runs); err != nil {
		t.Fatal(err)
	}
	var out []cmbo.Task
	for _, r := range runs {
		for name, v := range defaults {
			if _, ok := r.Params[name]; !ok {
				r.Params[name] = v
			}
		}
		x, err := s.Row(r.Params)
		i := slices.IndexFunc(out, func(t cmbo.Task) bool { return t.ID == r.Task })
		if i < 0 && (r.State == done || strings.HasPrefix(r.State, "FAIL") && err == nil) {
			i = len(out)
			out = append(out, cmbo.Task{ID: r.Task, Params: s.Params()})
		}
		switch {
		case r.State == done && err != nil:
			t.Fatal(err)
		case r.State == done:
			out[i].X, out[i].Y = append(out[i].X, x), append(out[i].Y, *r.Value)
		case strings.HasPrefix(r.State, "FAIL") && err == nil:
			out[i].Failed = append(out[i].Failed, x)
		}
	}
	return out
}

func frame(t *testing.T, name string) *bytes.Reader {
	t.Helper()
	text, err := os.ReadFile("testdata/frames/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

// TestMLflow reads what MLflow wrote, as CSV and as JSON lines, and compares it
// with what was logged.
func TestMLflow(t *testing.T) {
	space := spaceOf(t, cmbo.Bool("bias"), cmbo.LogFloat("lr", 1e-5, 1), cmbo.Categorical("kernel", "rbf", `say "hi"`, "poly, 3"), cmbo.Int("depth", 1, 9))
	form := history.MLflow(space, "loss")
	if _, err := form.Read(frame(t, "mlflow.csv")); !errors.Is(err, cmbo.ErrOutOfSpace) || !strings.Contains(err.Error(), `"params.depth": no value (Policy: history.Skip leaves such rows out`) {
		t.Errorf("a run without depth: %v", err)
	}
	form.Mapping.Defaults = map[string]any{"depth": 3}
	got := mustRead(t, form, frame(t, "mlflow.csv"))
	mustBeLearnable(t, got)
	want := loggedTasks(t, "mlflow.json", space, "FINISHED", form.Mapping.Defaults)
	if !sameBits(got.Tasks, want) || len(want) != 2 || len(want[0].Y) != 4 || len(want[0].Failed) != 1 {
		t.Errorf("have %v, want %v", got.Tasks, want)
	}
	if r := got.Report; r.PassedOver != 4 || r.Failed != 2 || r.Skipped != 0 {
		t.Errorf("%+v", r)
	}

	lines := history.JSONLines{Space: space, Value: form.Value, Task: form.Task, Noise: "-", Config: "-", Mapping: form.Mapping}
	again := mustRead(t, lines, frame(t, "mlflow.jsonl"))
	mustBeLearnable(t, again)
	for i := range again.Tasks {
		for j, y := range again.Tasks[i].Y {
			if math.Abs(y-want[i].Y[j]) > 1e-9 { // pandas writes ten decimal places
				t.Errorf("value %g, want %g", y, want[i].Y[j])
			}
			again.Tasks[i].Y[j] = want[i].Y[j]
		}
	}
	if !sameBits(again.Tasks, want) {
		t.Errorf("have %v, want %v", again.Tasks, want)
	}
}

// TestOptunaFrame reads what Optuna wrote.
func TestOptunaFrame(t *testing.T) {
	space := spaceOf(t,
		cmbo.LogFloat("lr", 1e-5, 1e-1), cmbo.Float("dropout", 0, 0.5).WithStep(0.1), cmbo.Int("width", 16, 256).WithStep(16),
		cmbo.Ordinal("units", 16, 32, 64), cmbo.Categorical("kernel", "rbf", "poly, 3"), cmbo.Bool("bias"))
	form := history.OptunaFrame(space, "net")
	got := mustRead(t, form, frame(t, "optuna.csv"))
	mustBeLearnable(t, got)
	want := loggedTasks(t, "optuna.json", space, "COMPLETE", nil)
	if !sameBits(got.Tasks, want) || len(want) != 1 || len(want[0].Y) != 6 || len(want[0].Failed) != 3 {
		t.Errorf("have %v, want %v", got.Tasks, want)
	}
	if r := got.Report; r.PassedOver != 3+3+1 { // without bias, pruned, running
		t.Errorf("%+v", r)
	}
	form.Mapping.Done = append(form.Mapping.Done, "PRUNED")
	if got, err := form.Read(frame(t, "optuna.csv")); err != nil {
		t.Log(err) // a pruned trial has its last value, so this is not to happen
		t.Fail()
	} else if len(got.Tasks[0].Y) != 9 {
		t.Errorf("%d values with the pruned trials", len(got.Tasks[0].Y))
	}
}

// TestWandB reads the form in which the table of runs is exported: every field in
// quotation marks, columns of the run, of the configuration and of the summary.
func TestWandB(t *testing.T) {
	text := `"Name","State","Notes","User","Tags","Created","Runtime","Sweep","batch_size","lr","optimizer","epoch","val_loss"
"lively-sweep-7","finished","-","ada","","2024-03-05T11:22:33.000Z","412","x1k9","64","0.0031","adam","9","0.412"
"misty-sweep-6","crashed","-","ada","","2024-03-05T11:12:33.000Z","52","x1k9","128","0.9","sgd","",""
"calm-sweep-5","running","-","ada","","2024-03-05T11:02:33.000Z","12","x1k9","32","0.01","sgd","1","1.7"
"wise-sweep-4","failed","-","ada","","2024-03-05T11:01:33.000Z","2","x1k9","256","","adam","",""
"pious-sweep-3","finished","-","ada","","2024-03-05T10:52:33.000Z","399","k2m0","32","1e-4","sgd","9","NaN"
"deft-sweep-2","finished","-","ada","","2024-03-05T10:42:33.000Z","403","k2m0","32","1e-4","sgd","9","0.5"
`
	space := spaceOf(t, cmbo.LogInt("batch_size", 16, 256), cmbo.LogFloat("lr", 1e-5, 1), cmbo.Categorical("optimizer", "sgd", "adam"))
	form := history.WandB(space, "val_loss", "resnet")
	if _, err := form.Read(strings.NewReader(text)); !errors.Is(err, cmbo.ErrValue) || !strings.Contains(err.Error(), "line 6") || !strings.Contains(err.Error(), "history.Skip") {
		t.Errorf("a value of NaN: %v", err)
	}
	form.Policy = history.Skip
	got := mustRead(t, form, strings.NewReader(text))
	mustBeLearnable(t, got)
	want := []cmbo.Task{{ID: "resnet", X: [][]float64{{64, 0.0031, 1}, {32, 1e-4, 0}}, Y: []float64{0.412, 0.5}, Failed: [][]float64{{128, 0.9, 0}}}}
	if !sameBits(got.Tasks, want) || got.Report.PassedOver != 2 || got.Report.Skipped != 1 {
		t.Errorf("have %v, want %v; %+v", got.Tasks, want, got.Report)
	}
	form.Task = "Sweep"
	if got, err := form.Read(strings.NewReader(text)); err != nil || len(got.Tasks) != 2 || got.Tasks[1].ID != "k2m0" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestMapping reads a spreadsheet of another convention in every respect.
func TestMapping(t *testing.T) {
	space := spaceOf(t, cmbo.LogFloat("lr", 1e-5, 1), cmbo.Float("timeout", 0, 7200), cmbo.Categorical("kernel", "rbf", "0.5", ""), cmbo.Bool("bias"), cmbo.Int("depth", 1, 9))
	mapping := history.Mapping{
		Columns:  map[string]string{"lr": "Lernrate", "kernel": "Kern"},
		Prefix:   "p ",
		Defaults: map[string]any{"depth": 4, "bias": true, "kernel": "rbf"},
		Status:   "Zustand", Done: []string{"ok", "gut"}, Failed: []string{"kaputt"},
		Parse: func(column, text string) (string, error) {
			if h, m, ok := strings.Cut(text, "h"); ok && column == "p timeout" {
				var hours, minutes int
				if _, err := fmt.Sscan(h, &hours); err != nil {
					return "", err
				}
				fmt.Sscan(m, &minutes)
				return fmt.Sprint(3600*hours + 60*minutes), nil
			}
			return strings.TrimSuffix(text, "%"), nil
		},
		DecimalComma: true,
	}
	form := history.CSV{Space: space, Comma: ';', Value: "Güte", Mapping: mapping}
	head := "Jahr;Lernrate;p timeout;Kern;p bias;Güte;noise_variance;Zustand\n"
	text := head +
		"2024;0,01;1h30;0.5;wahr;12,5%;0,25;gut\n" +
		"2024;1e-3;12,5;;;-3;;OK\n" +
		"2024;0,5;0h;rbf;false;;;kaputt\n" +
		"2024;0,5;;rbf;false;;;kaputt\n" +
		"2024;0,5;1;rbf;false;;;läuft\n"
	form.Mapping.Parse = func(column, text string) (string, error) {
		if text == "wahr" {
			return "true", nil
		}
		return mapping.Parse(column, text)
	}
	got := mustRead(t, form, strings.NewReader(text))
	mustBeLearnable(t, got)
	want := []cmbo.Task{{
		ID: "task", X: [][]float64{{0.01, 5400, 1, 1, 4}, {1e-3, 12.5, 2, 1, 4}}, Y: []float64{12.5, -3}, NoiseVariance: []float64{0.25, 0},
		Failed: [][]float64{{0.5, 0, 0, 0, 4}},
	}}
	if !sameBits(got.Tasks, want) || got.Report.PassedOver != 2 || got.Report.Failed != 1 {
		t.Errorf("have %v, want %v; %+v", got.Tasks, want, got.Report)
	}

	// What is written with a mapping is read with it.
	for _, f := range []history.Mapping{mapping, {}, {Status: "how", Prefix: "x."}} {
		f.Parse = nil
		var b bytes.Buffer
		form := history.CSV{Space: space, Comma: ';', Mapping: f}
		if err := form.Write(&b, want...); err != nil {
			t.Fatal(err)
		}
		if back, err := form.Read(&b); err != nil || !sameBits(back.Tasks, want) || back.Report.PassedOver != 0 {
			t.Errorf("%v, %v", back, err)
		}
		lines := history.JSONLines{Space: space, Mapping: f}
		if err := lines.Write(&b, want...); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if back, err := lines.Read(&b); err != nil || !sameBits(back.Tasks, want) {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}

	for _, tt := range []struct{ row, field, reason string }{
		{"2024;0.01;1;rbf;true;1;;gut", "Lernrate", "a point in a number"},
		{"2024;1.000,5;1;rbf;true;1;;gut", "Lernrate", "a point in a number"},
		{"2024;0,1;xh;rbf;true;1;;gut", "p timeout", "Parse: expected integer"},
		{"2024;0,1;1;poly;true;1;;gut", "Kern", "not one of"},
		{"2024;0,1;1;rbf;true;;;gut", "Güte", "no value"},
	} {
		_, err := form.Read(strings.NewReader(head + tt.row + "\n"))
		var e *history.RowError
		if !errors.As(err, &e) || e.Field != tt.field || !strings.Contains(e.Reason, tt.reason) || !e.Skippable {
			t.Errorf("%s: %v, want %s: %s", tt.row, err, tt.field, tt.reason)
		}
	}
	if _, err := form.Read(strings.NewReader(head + "2024;0,01;1;rbf;true;1;;läuft\n")); !errors.Is(err, cmbo.ErrNoTasks) || !strings.Contains(err.Error(), "wants none") {
		t.Error(err)
	}
	if _, err := form.Read(strings.NewReader(head + "2024;0,01;1;rbf;true;1;;kaputt\n")); !errors.Is(err, cmbo.ErrNoTasks) || !strings.Contains(err.Error(), "1 failed") {
		t.Error(err)
	}
	if _, err := form.Read(strings.NewReader("Jahr;Lernrate;Kern;Güte\n")); !errors.Is(err, cmbo.ErrCorrupt) || !strings.Contains(err.Error(), `lacks "p timeout", "Zustand"`) {
		t.Error(err)
	}
}

func TestMappingErrors(t *testing.T) {
	space := spaceOf(t, cmbo.Float("a", 0, 1), cmbo.Float("b", 0, 1))
	for reason, f := range map[string]history.CSV{
		`Columns has "c"`:       {Mapping: history.Mapping{Columns: map[string]string{"c": "x"}}},
		`Defaults has "c"`:      {Mapping: history.Mapping{Defaults: map[string]any{"c": 1}}},
		`Defaults: cmbo: point`: {Mapping: history.Mapping{Defaults: map[string]any{"a": 2}}},
		`"x" is the name of both parameter "a" and parameter "b"`: {Mapping: history.Mapping{Columns: map[string]string{"a": "x", "b": "x"}}},
		`"value" is the name of both parameter "a" and Value`:     {Mapping: history.Mapping{Columns: map[string]string{"a": "value"}}},
		`"s" is the name of both parameter "a" and Status`:        {Mapping: history.Mapping{Columns: map[string]string{"a": "s"}, Status: "s"}},
		`"value" is the name of both Value and Status`:            {Mapping: history.Mapping{Status: "value"}},
		`the column "" of parameter "a" is empty`:                 {Mapping: history.Mapping{Columns: map[string]string{"a": ""}}},
		"end of line of two characters":                           {Mapping: history.Mapping{Prefix: "\r\n"}},
	} {
		f.Space = space
		if _, err := f.Read(strings.NewReader("a,b,value\n0,0,1\n")); !errors.Is(err, cmbo.ErrOption) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v, want %s", err, reason)
		}
	}
	// A parameter may be named status; failures then need another column.
	own := spaceOf(t, cmbo.Categorical("status", "failed", "fine"))
	text := "status,value\nfailed,1\nfine,2\n"
	got, err := history.CSV{Space: own}.Read(strings.NewReader(text))
	if err != nil || len(got.Tasks[0].Y) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	task := cmbo.Task{ID: "t", X: [][]float64{{0}}, Y: []float64{1}, Failed: [][]float64{{1}}}
	if err := (history.CSV{Space: own}).Write(new(bytes.Buffer), task); !errors.Is(err, cmbo.ErrOption) {
		t.Error(err)
	}
	// And so may the object of the parameters, unless the status is asked for.
	j := history.JSONLines{Space: space, Config: "status"}
	task = cmbo.Task{ID: "t", X: [][]float64{{1, 0}, {0.5, 1}}, Y: []float64{1, 2}}
	var b bytes.Buffer
	if err := j.Write(&b, task); err != nil {
		t.Fatal(err)
	}
	if got, err := j.Read(&b); err != nil || !reflect.DeepEqual(got.Tasks[0].X, task.X) || !reflect.DeepEqual(got.Tasks[0].Y, task.Y) {
		t.Errorf("%v, %v", got, err)
	}
	task.Failed = [][]float64{{0, 1}}
	if err := j.Write(&b, task); !errors.Is(err, cmbo.ErrOption) {
		t.Errorf("failures without a status: %v", err)
	}
	j.Mapping.Status = "status"
	if _, err := j.Read(&b); !errors.Is(err, cmbo.ErrOption) {
		t.Errorf("one key for the parameters and the status asked for: %v", err)
	}
}

// TestRecased: a column that would be one of those that may be missing, but for its case, is not passed over, which
// would make one task of all, or values of failures.
func TestRecased(t *testing.T) {
	space := spaceOf(t, cmbo.Float("Noise_Variance", 0, 1))
	read := func(c history.CSV, column string) error {
		c.Space = space
		_, err := c.Read(strings.NewReader("Noise_Variance," + column + ",value\n0,a,1\n"))
		j := history.JSONLines{Space: space, Task: c.Task, Mapping: c.Mapping}
		_, other := j.Read(strings.NewReader(fmt.Sprintf("{\"Noise_Variance\":0,%q:\"a\",\"value\":1}\n", column)))
		if (err == nil) != (other == nil) || err != nil && (!errors.Is(err, cmbo.ErrCorrupt) || !errors.Is(other, cmbo.ErrCorrupt)) {
			t.Errorf("%s: CSV %v, JSON lines %v", column, err, other)
		}
		return err
	}
	for column, preset := range map[string]string{"Task": "task", "STATUS": "status"} {
		want := fmt.Sprintf("history: line 1: %q: it differs from %q in case", column, preset)
		if err := read(history.CSV{}, column); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, err := range []error{
		read(history.CSV{Task: "-"}, "Task"), read(history.CSV{Task: "Task"}, "Task"), read(history.CSV{}, "tasks"),
		read(history.CSV{Mapping: history.Mapping{Status: "-"}}, "Status"),
		read(history.CSV{Mapping: history.Mapping{Context: map[string]string{"Status": ""}}}, "Status"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestNotText: files that no reader takes are answered with what to do.
func TestNotText(t *testing.T) {
	space := small(t)
	for head, want := range map[string]string{
		"SQLite format 3\x00\x10\x00": "optuna.copy_study(",
		"\x1f\x8b\x08\x00":            "unpack it",
		"PK\x03\x04\x14\x00":          "save the sheet as CSV",
	} {
		for name, read := range map[string]func() error{
			"CSV": func() error { _, err := history.CSV{Space: space}.Read(strings.NewReader(head)); return err },
			"JSONLines": func() error {
				_, err := history.JSONLines{Space: space}.Read(strings.NewReader(head))
				return err
			},
			"Optuna": func() error { _, err := history.Optuna{}.Read(strings.NewReader(head)); return err },
			"HPOB":   func() error { _, err := history.HPOB{}.Read(strings.NewReader(head)); return err },
		} {
			if name == "HPOB" && head[0] == 0x1f {
				continue
			}
			if err := read(); !errors.Is(err, cmbo.ErrCorrupt) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestFailureOutsideTheSpace: a failed evaluation whose point is not in the space is passed over,
// whatever else its row lacks.
func TestFailureOutsideTheSpace(t *testing.T) {
	space := spaceOf(t, cmbo.Float("a", 0, 1))
	good := `{"a": 0, "value": 1, "nv": 0.1, "status": "done"}` + "\n"
	for name, f := range map[string]history.JSONLines{
		`{"a": 2, "status": "failed"}`:             {Noise: "nv"},
		`{"a": 2, "status": "failed", "c": "bad"}`: {Curve: "c"},
	} {
		f.Space = space
		got, err := f.Read(strings.NewReader(good + name + "\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := got.Report; r.Rows != 1 || r.Accepted != 1 || r.Skipped != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestBadIDNamesNoTask: the error of a row without a task's ID names no task.
func TestBadIDNamesNoTask(t *testing.T) {
	space := spaceOf(t, cmbo.Float("a", 0, 1))
	_, csv := history.CSV{Space: space}.Read(strings.NewReader("task,a,value\n,0,1\n"))
	_, lines := history.JSONLines{Space: space}.Read(strings.NewReader(`{"task": "", "a": 0, "value": 1}` + "\n"))
	for _, err := range []error{csv, lines} {
		var e *history.RowError
		if !errors.As(err, &e) || e.Task != "" || e.Field != "task" || !errors.Is(err, cmbo.ErrTask) {
			t.Error(err)
		}
	}
}
