package web_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/examples/service/api"
)

// frame is a file that another program wrote.
func frame(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../../cmbo/history/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func spaceOf(t *testing.T, params ...cmbo.Param) *cmbo.Space {
	t.Helper()
	s, err := cmbo.NewSpace(params...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digestOf(t *testing.T, space *cmbo.Space, tasks []cmbo.Task, opts ...cmbo.LearnOption) string {
	t.Helper()
	prior, err := cmbo.Learn(t.Context(), space, tasks, opts...)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := prior.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// Files as other programs wrote them become the prior that the library learns from
// what its readers make of them.
func TestFiles(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	logged := spaceOf(t, cmbo.Bool("bias"), cmbo.LogFloat("lr", 1e-5, 1), cmbo.Categorical("kernel", "rbf", `say "hi"`, "poly, 3"), cmbo.Int("depth", 1, 9))
	small := spaceOf(t, cmbo.Float("x", 0, 1))
	const lines = `{"task":"a","config":{"x":0.25},"value":1}
{"task":"a","config":{"x":0.75},"value":3}
{"task":"a","config":{"x":0.5},"status":"failed"}
{"task":"b","config":{"x":0.75},"value":2}
`
	const watched = `{"task":"a","config":{"x":0.25},"value":1,"epochs":{"steps":[1,2],"values":[4,2]}}
{"task":"a","config":{"x":0.75},"value":3}
`
	const unit = `"distributions":{"x":"{\"name\":\"FloatDistribution\",\"attributes\":{\"low\":0,\"high\":1,\"log\":false,\"step\":null}}"}`
	const reported = `{"op_code":0,"study_name":"a","directions":[1]}
{"op_code":4,"study_id":0,"state":1,"value":1,` + unit + `,"params":{"x":0.25},"intermediate_values":{"2":2,"1":4}}
{"op_code":4,"study_id":0,"state":1,"value":3,` + unit + `,"params":{"x":0.75}}
`
	defaults := map[string]any{"depth": 3.}
	mlflow := history.MLflow(logged, "loss")
	mlflow.Mapping.Defaults = defaults
	table := history.CSV{Space: small, Comma: ';', TaskID: "t", Policy: history.Skip}
	table.Mapping.Columns, table.Mapping.DecimalComma = map[string]string{"x": "X in mm"}, true
	for _, tt := range []struct {
		file  api.File
		space *cmbo.Space
		read  func(text string) (*history.Result, error)
		want  api.FileReport
	}{
		{
			api.File{Format: api.FormatMLflow, Text: frame(t, "frames/mlflow.csv"), Value: "loss", Defaults: defaults}, logged,
			func(text string) (*history.Result, error) { return mlflow.Read(strings.NewReader(text)) },
			api.FileReport{Format: "mlflow", Tasks: 2, Rows: 10, Accepted: 10, Failed: 2, PassedOver: 4},
		},
		{
			api.File{Format: api.FormatJSONLines, Text: lines}, small,
			func(text string) (*history.Result, error) {
				return history.JSONLines{Space: small}.Read(strings.NewReader(text))
			},
			api.FileReport{Format: "jsonlines", Tasks: 2, Rows: 4, Accepted: 4, Failed: 1},
		},
		{
			api.File{Format: api.FormatJSONLines, Text: watched, Curve: "epochs"}, small,
			func(text string) (*history.Result, error) {
				return history.JSONLines{Space: small, Curve: "epochs"}.Read(strings.NewReader(text))
			},
			api.FileReport{Format: "jsonlines", Tasks: 1, Rows: 2, Accepted: 2},
		},
		{
			api.File{Format: api.FormatOptuna, Text: reported, Intermediate: true}, small,
			func(text string) (*history.Result, error) {
				return history.JSONLines{Space: small, Curve: "epochs"}.Read(strings.NewReader(watched))
			},
			api.FileReport{Format: "optuna", Tasks: 1, Rows: 2, Accepted: 2},
		},
		{
			api.File{Format: api.FormatCSV, Text: "X in mm;value\n0,25;1\n0,75;2,5\n7;1\n", Separator: ";", DecimalComma: true, Task: "t", Columns: map[string]string{"x": "X in mm"}, Skip: true}, small,
			func(text string) (*history.Result, error) { return table.Read(strings.NewReader(text)) },
			api.FileReport{Format: "csv", Tasks: 1, Rows: 3, Accepted: 2, Skipped: 1, Errors: []string{`history: line 4: task "t": "x" is "7": 7 is not in [0, 1]`}},
		},
	} {
		read, err := tt.read(tt.file.Text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.LearnPrior(t.Context(), &api.NewPrior{Space: tt.space, Learn: api.Learn{Files: []api.File{tt.file}, Minimize: true}})
		if err != nil {
			t.Errorf("%s: %v", tt.file.Format, err)
			continue
		}
		if want := digestOf(t, tt.space, read.Tasks, cmbo.WithMinimize()); p.Digest != want {
			t.Errorf("%s: digest %s, of the library's tasks %s", tt.file.Format, p.Digest, want)
		}
		if len(p.Files) != 1 || !reflect.DeepEqual(p.Files[0], tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.file.Format, p.Files, tt.want)
		}
		if p.Space == nil || len(p.Space.Params()) != len(tt.space.Params()) {
			t.Errorf("%s: space %v", tt.file.Format, p.Space)
		}
	}
}

// A journal of Optuna tells the space itself; with the space of a study its trials
// become the study's prior.
func TestOptunaJournal(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	text := frame(t, "optuna/optuna-5.0.0-basic.log")
	read, err := history.Optuna{Studies: []string{"svm on iris"}, Direction: history.Minimize}.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	learn := api.Learn{Files: []api.File{{Format: api.FormatOptuna, Text: text, Studies: []string{"svm on iris"}}}, Minimize: true}
	p, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "iris", Learn: learn})
	if err != nil {
		t.Fatal(err)
	}
	if want := digestOf(t, read.Space, read.Tasks, cmbo.WithMinimize()); p.Digest != want {
		t.Errorf("digest %s, of the library's tasks %s", p.Digest, want)
	}
	if p.Tasks != 1 || p.Files[0].Accepted != read.Report.Accepted || p.Files[0].Failed != read.Report.Failed {
		t.Errorf("%+v, the library has %+v", p.Files, read.Report)
	}
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "new", Space: p.Space, Prior: "iris", Options: api.Options{Minimize: true}}); err != nil {
		t.Error(err)
	}
	if _, err := c.CreateStudy(t.Context(), &api.NewStudy{ID: "other", Space: p.Space, Learn: &learn, Options: api.Options{Minimize: true}}); err != nil {
		t.Error(err)
	}
}

// Tasks with failures and with parameters of their own become what the library makes
// of them.
func TestTasksWithFailures(t *testing.T) {
	s := newService(t)
	space := spaceOf(t, cmbo.Float("x", 0, 1), cmbo.Int("n", 1, 8))
	body := `{"space":` + marshal(t, space) + `,"tasks":[
		{"id":"a","x":[[0.1,2],[0.9,3]],"y":[1,2],"failed":[[0.5,8]]},
		{"id":"turned","params":[{"name":"n","kind":"int","lo":1,"hi":8},{"name":"x","kind":"float","lo":0,"hi":1}],"x":[[2,0.3],[3,0.4]],"y":[2,1]},
		{"id":"lost","x":[],"y":[],"failed":[[0.2,1]]}]}`
	var got api.Prior
	s.reads(t, post("/v1/priors", body), &got)
	want := digestOf(t, space, []cmbo.Task{
		{ID: "a", X: [][]float64{{0.1, 2}, {0.9, 3}}, Y: []float64{1, 2}, Failed: [][]float64{{0.5, 8}}},
		{ID: "turned", X: [][]float64{{2, 0.3}, {3, 0.4}}, Y: []float64{2, 1}, Params: []cmbo.Param{space.Params()[1], space.Params()[0]}},
		{ID: "lost", Failed: [][]float64{{0.2, 1}}},
	})
	if got.Digest != want || got.Tasks != 2 { // with values
		t.Errorf("%+v, want %s", got, want)
	}
}

// A prior that does not fit says which request brings it over, and that does, with a
// report.
func TestAdopt(t *testing.T) {
	s := newService(t)
	c := s.over(t)
	old := spaceOf(t, cmbo.Float("x", 0, 2), cmbo.Bool("flag"))
	tasks := []api.Task{
		{ID: "a", X: []api.Row{{0.5, 0}, {1.5, 1}, {0.25, 1}}, Y: api.Row{1, 2, 3}},
		{ID: "b", X: []api.Row{{0.75, 0}, {0.5, 1}}, Y: api.Row{2, 1}},
	}
	if _, err := c.LearnPrior(t.Context(), &api.NewPrior{Name: "old", Space: old, Learn: api.Learn{Tasks: tasks}}); err != nil {
		t.Fatal(err)
	}
	space := spaceOf(t, cmbo.Float("X", 0, 1), cmbo.Int("N", 1, 8))
	study := &api.NewStudy{ID: "new", Space: space, Prior: "old"}
	q := post("/v1/studies", marshal(t, study))
	if d := wrong(t, q, s.answer(q)); d.Code != "prior_mismatch" || !strings.Contains(d.Message, "POST /v1/priors/{name}/adopt") {
		t.Errorf("%+v", d)
	}
	q = post("/v1/priors/old/adopt", `{"space":`+marshal(t, space)+`}`)
	if d := wrong(t, q, s.answer(q)); d.Code != "bad_space" || d.Where == nil || d.Where.Name != "X" || strings.Contains(d.Message, "Space.Adopt") {
		t.Errorf("%+v", d)
	}
	out, err := c.Adopt(t.Context(), "old", &api.Adopt{Name: "adopted", Space: space, Changes: cmbo.Changes{Defaults: map[string]any{"N": 4}, Renamed: map[string]string{"x": "X"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := out.Adoption
	if a.Rows != 4 || a.Outside != 1 || len(a.Problems) != 1 || !strings.Contains(a.Problems[0], "1.5") || !reflect.DeepEqual(a.Filled, []string{"N"}) || a.Text == "" || !reflect.DeepEqual(a.Dropped, []string{"flag"}) {
		t.Errorf("%+v", a)
	}
	kept, err := c.EncodedPrior(t.Context(), "adopted")
	if err != nil {
		t.Fatal(err)
	}
	prior, err := cmbo.DecodePrior(bytes.NewReader(kept))
	if err != nil || prior.NumTasks() != 2 {
		t.Error(err)
	}
	study.Prior = "adopted"
	if _, err := c.CreateStudy(t.Context(), study); err != nil {
		t.Error(err)
	}
	q = post("/v1/priors/nobody/adopt", `{"space":`+marshal(t, space)+`}`)
	if d := wrong(t, q, s.answer(q)); d.Code != "unknown_prior" {
		t.Errorf("%+v", d)
	}
}

// Bad files are refused with the file and the line.
func TestBadFiles(t *testing.T) {
	s := newService(t)
	file := func(f string) call {
		return post("/v1/priors", `{"space":{"params":[{"name":"x","kind":"float","lo":0,"hi":1}]},"files":[{"format":"jsonlines","text":"{\"config\":{\"x\":0.5},\"value\":1}\n"},`+f+`]}`)
	}
	text := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	for _, tt := range []struct {
		name, file, code string
		line             int
	}{
		{"no format", `{"text":"x"}`, "bad_request", 0},
		{"unknown format", `{"format":"xls","text":"x"}`, "bad_request", 0},
		{"no metric", `{"format":"mlflow","text":"x"}`, "bad_request", 0},
		{"two separators", `{"format":"csv","text":"x,value\n0.5,1\n","separator":";;"}`, "bad_request", 0},
		{"another separator", `{"format":"csv","text":"x;value\n0.5;1\n"}`, "bad_data", 1},
		{"no column", `{"format":"csv","text":"y,value\n0.5,1\n"}`, "bad_data", 1},
		{"outside", `{"format":"csv","text":"x,value\n0.5,1\n2,1\n"}`, "bad_value", 3},
		{"no row", `{"format":"csv","text":"x,value\n"}`, "bad_task", 0},
		{"too many lines", `{"format":"csv","text":` + text("x,value\n"+strings.Repeat("\n", 500000)) + `}`, "limit", 0},
		{"too many rows", `{"format":"csv","text":` + text("x,value\n"+strings.Repeat("0.5,1\n", 501)) + `}`, "limit", 0},
		{"not a journal", `{"format":"optuna","text":"x,value\n0.5,1\n"}`, "bad_data", 1},
	} {
		q := file(tt.file)
		d := wrong(t, q, s.answer(q))
		if d.Code != tt.code {
			t.Errorf("%s: %+v", tt.name, d)
		}
		if tt.line > 0 && (d.Where == nil || d.Where.File == nil || *d.Where.File != 1 || d.Where.Line != tt.line) {
			t.Errorf("%s: %+v, where %+v", tt.name, d, d.Where)
		}
	}
	if n := len(s.m.Priors()); n != 0 {
		t.Errorf("%d priors were kept", n)
	}
}

// The trials of Katib's experiments, as kubectl lists them, become the prior that the
// library learns of them.
func TestKatib(t *testing.T) {
	s := newService(t)
	space := spaceOf(t, cmbo.LogFloat("lr", 1e-4, 1), cmbo.Int("depth", 1, 12), cmbo.Float("drop", 0, 0.5).WithStep(0.1),
		cmbo.Ordinal("units", 16, 32, 64), cmbo.Categorical("kind", "relu", "tanh"))
	text := frame(t, "katib/trials.json")
	read, err := history.Katib{Space: space, Metric: "loss", Direction: history.Minimize, Policy: history.Skip}.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.over(t).LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Minimize: true, Files: []api.File{{Format: api.FormatKatib, Value: "loss", Text: text, Skip: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := digestOf(t, space, read.Tasks, cmbo.WithMinimize()); p.Digest != want {
		t.Errorf("digest %s, of the library's tasks %s", p.Digest, want)
	}
	if r := p.Files[0]; r.Accepted != read.Report.Accepted || r.Snapped != read.Report.Snapped || r.Failed != read.Report.Failed || r.Snapped == 0 {
		t.Errorf("%+v, the library has %+v", r, read.Report)
	}
}

// Optuna's table of trials, with and without those that were pruned.
func TestOptunaFrame(t *testing.T) {
	s := newService(t)
	space := spaceOf(t, cmbo.LogFloat("lr", 1e-6, 1), cmbo.Float("dropout", 0, 1))
	text := frame(t, "frames/optuna.csv")
	for _, pruned := range []bool{false, true} {
		form := history.OptunaFrame(space, "net")
		form.Policy = history.Skip
		if pruned {
			form.Mapping.Done = append(form.Mapping.Done, "PRUNED")
		}
		read, err := form.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.over(t).LearnPrior(t.Context(), &api.NewPrior{Space: space, Learn: api.Learn{Files: []api.File{{Format: api.FormatOptunaFrame, Task: "net", Text: text, Pruned: pruned, Skip: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		if want := digestOf(t, space, read.Tasks); p.Digest != want || p.Files[0].Accepted != read.Report.Accepted {
			t.Errorf("pruned %v: digest %s and %+v, of the library's tasks %s and %+v", pruned, p.Digest, p.Files, want, read.Report)
		}
	}
}
