package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// readback is what Optuna itself reads from a journal; see testdata/optuna.
type readback struct {
	Studies []struct {
		Name       string
		Directions []string
		Trials     []struct {
			Number int
			State  string
			Params map[string]json.RawMessage
			Values []json.RawMessage
			Last   json.RawMessage
		}
	}
}

func optunaReadback(t *testing.T, log string) readback {
	t.Helper()
	var rb readback
	if err := json.Unmarshal(fixture(t, strings.TrimSuffix(log, ".log")+".json"), &rb); err != nil {
		t.Fatal(err)
	}
	return rb
}

// choice is the name of a choice by the rule in the documentation.
func choice(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return s
	}
	return string(raw)
}

// tasks makes tasks of the trials that Optuna reads, by way of Space.Row.
func (rb readback) tasks(t *testing.T, s *cmbo.Space, pruned bool, studies ...string) []cmbo.Task {
	t.Helper()
	var out []cmbo.Task
	for _, study := range rb.Studies {
		if studies != nil && !slices.Contains(studies, study.Name) {
			continue
		}
		task := cmbo.Task{ID: study.Name}
		for _, trial := range study.Trials {
			y := trial.Values
			if trial.State == "PRUNED" && pruned {
				y = []json.RawMessage{trial.Last}
			} else if trial.State != "COMPLETE" && trial.State != "FAIL" {
				continue
			}
			config := make(map[string]any)
			for _, p := range s.Params() {
				raw := trial.Params[p.Name()]
				if raw == nil && trial.State == "FAIL" {
					continue
				}
				switch p.Kind() {
				case cmbo.KindCategorical:
					config[p.Name()] = choice(raw)
				case cmbo.KindBool:
					config[p.Name()] = string(raw) == "true"
				default:
					config[p.Name()] = json.Number(raw)
				}
			}
			x, err := s.Row(config)
			if trial.State == "FAIL" {
				if err == nil {
					task.Failed = append(task.Failed, x)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var v float64
			if err := json.Unmarshal(y[0], &v); err != nil {
				t.Fatal(err)
			}
			task.X, task.Y = append(task.X, x), append(task.Y, v)
		}
		if task.X != nil {
			out = append(out, task)
		}
	}
	return out
}

// checkStudies compares the description of the studies with Optuna's.
func (rb readback) checkStudies(t *testing.T, got []history.Study) {
	t.Helper()
	if len(got) != len(rb.Studies) {
		t.Fatalf("%d studies, want %d", len(got), len(rb.Studies))
	}
	for i, want := range rb.Studies {
		s := got[i]
		count := map[string]int{"COMPLETE": s.Complete, "PRUNED": s.Pruned, "FAIL": s.Failed, "RUNNING": s.Running, "WAITING": s.Waiting}
		for _, trial := range want.Trials {
			count[trial.State]--
		}
		for state, n := range count {
			if n != 0 {
				t.Errorf("study %q: %d more trials in state %s than Optuna has", s.Name, n, state)
			}
		}
		var ds []string
		for _, d := range s.Directions {
			ds = append(ds, strings.ToUpper(d.String()))
		}
		if s.Name != want.Name || !slices.Equal(ds, want.Directions) {
			t.Errorf("study %q to %v, want %q to %v", s.Name, ds, want.Name, want.Directions)
		}
	}
}

func read(t *testing.T, o history.Optuna, text []byte) *history.OptunaResult {
	t.Helper()
	got := mustRead(t, o, bytes.NewReader(text))
	mustBeLearnable(t, &got.Result)
	return got
}

// TestOptunaBasic reads real journals of several versions of Optuna and
// compares with what that Optuna reads from them.
func TestOptunaBasic(t *testing.T) {
	space := spaceOf(t,
		cmbo.LogFloat("lr", 1e-5, 1e-1),
		cmbo.Float("momentum", 0, 0.99),
		cmbo.Float("dropout", 0, 0.5).WithStep(0.1),
		cmbo.Int("depth", 1, 12),
		cmbo.LogInt("batch", 4, 512),
		cmbo.Int("width", 16, 256).WithStep(16),
		cmbo.Categorical("kernel", "rbf", "poly, 3", `say "hi"`),
		cmbo.Categorical("penalty", "null", "1", "2.5", "1.0", "1e-05"),
		cmbo.Bool("bias"),
	)
	for _, log := range journals(t, "basic") {
		t.Run(log, func(t *testing.T) {
			rb := optunaReadback(t, log)
			text := fixture(t, log)
			for _, pruned := range []bool{false, true} {
				got := read(t, history.Optuna{Pruned: pruned}, text)
				if !reflect.DeepEqual(got.Space.Params(), space.Params()) {
					t.Errorf("inferred %v, want %v", got.Space.Params(), space.Params())
				}
				if want := rb.tasks(t, space, pruned); !sameBits(got.Tasks, want) {
					t.Errorf("have %v, want %v", got.Tasks, want)
				}
				if !got.Minimize || got.Torn || got.Report.Skipped != 0 {
					t.Errorf("minimize %t, torn %t, %+v", got.Minimize, got.Torn, got.Report)
				}
				rb.checkStudies(t, got.Studies)
				last := got.Tasks[0].Y
				if n := len(last); last[n-1] != 0.30000000000000004 || n != map[bool]int{false: 4, true: 5}[pruned] {
					t.Errorf("values %v", last)
				}
			}
		})
	}
}

func TestOptunaParallel(t *testing.T) {
	for _, log := range journals(t, "parallel") {
		t.Run(log, func(t *testing.T) {
			rb := optunaReadback(t, log)
			got := read(t, history.Optuna{}, fixture(t, log))
			rb.checkStudies(t, got.Studies)
			if want := rb.tasks(t, got.Space, false); !sameBits(got.Tasks, want) || len(want) != 1 || len(want[0].X) != 12 {
				t.Errorf("have %v, want %v", got.Tasks, want)
			}
		})
	}
}

// TestOptunaDeclared reads into a space that is not the journal's own.
func TestOptunaDeclared(t *testing.T) {
	space := spaceOf(t,
		cmbo.Categorical("kernel", `say "hi"`, "other", "poly, 3", "rbf"),
		cmbo.Categorical("bias", "true", "false"),
		cmbo.Float("depth", 0, 20),
		cmbo.Float("lr", 0, 1),
	)
	for _, log := range journals(t, "basic") {
		rb := optunaReadback(t, log)
		got := read(t, history.Optuna{Space: space, Studies: []string{"svm on digits"}}, fixture(t, log))
		if want := rb.tasks(t, space, false, "svm on digits"); !sameBits(got.Tasks, want) || len(want) != 1 {
			t.Errorf("have %v, want %v", got.Tasks, want)
		}
		if got.Space != space {
			t.Errorf("space %v", got.Space)
		}
		rb.checkStudies(t, got.Studies)
	}
}

// TestOptunaNumbers: choices that are numbers keep their order, and with others among
// them are names.
func TestOptunaNumbers(t *testing.T) {
	for list, want := range map[string]string{
		`64, 16.0, 32`:           "an ordinal of [16 32 64]; 64 32",
		`-0.5, 1e-05, 2`:         "an ordinal of [-0.5 1e-05 2]; -0.5 2",
		`null, 16, 32`:           `one of "null", "16", "32"; 0 2`,
		`1, true, 2`:             `one of "1", "true", "2"; 0 2`,
		`"16", 32, 64`:           `one of "16", "32", "64"; 0 2`,
		`1, 1.0, 2`:              `one of "1", "1.0", "2"; 0 2`,
		`9007199254740993, 1, 2`: `one of "9007199254740993", "1", "2"; 0 2`,
		`9007199254740994, 1, 2`: `one of "9007199254740994", "1", "2"; 0 2`,
		`1e400, 1, 2`:            `one of "1e400", "1", "2"; 0 2`,
		`NaN, 1, 2`:              `one of "NaN", "1", "2"; 0 2`,
		`true, false`:            "a bool; 1 0",
	} {
		last := strings.Count(list, ",")
		text := study0
		for i, k := range []int{0, last} {
			text += trial0 + setParam(i, "c", fmt.Sprint(k), choices(list)) + tell(i, "1")
		}
		got := read(t, history.Optuna{}, []byte(text))
		x := got.Tasks[0].X
		if s := fmt.Sprintf("%s; %v %v", got.Space.Params()[0], x[0][0], x[1][0]); s != want {
			t.Errorf("[%s]: %s, want %s", list, s, want)
		}
	}
}

func TestOptunaEdge(t *testing.T) {
	for _, log := range journals(t, "edge") {
		t.Run(log, func(t *testing.T) {
			text := fixture(t, log)
			rb := optunaReadback(t, log)
			// line finds the n-th line, from 1, that has all of the texts.
			line := func(n int, all ...string) int {
				for i, l := range strings.Split(strings.ReplaceAll(string(text), `": `, `":`), "\n") {
					if !slices.ContainsFunc(all, func(s string) bool { return !strings.Contains(l, s) }) {
						if n--; n == 0 {
							return i + 1
						}
					}
				}
				t.Fatalf("no line with %q", all)
				return 0
			}
			fails := func(o history.Optuna, line int, field, value string, sentinel error, reason string) {
				t.Helper()
				_, err := o.Read(bytes.NewReader(text))
				mustBeRow(t, err, line, field, value, sentinel, reason)
			}
			for _, p := range []history.Policy{history.Fail, history.Skip} {
				fails(history.Optuna{Policy: p, Studies: []string{"up", "two"}}, line(1, `"study_name":"two"`), "", "", cmbo.ErrTask, "2 objectives")
				fails(history.Optuna{Policy: p, Studies: []string{"up", "down"}}, line(1, `"study_name":"down"`), "", "", cmbo.ErrTask,
					`the study is to minimize, but study "up" is to maximize`)
				fails(history.Optuna{Policy: p, Studies: []string{"down"}}, line(1, `"param_name":"x"`, `\"high\":2.0`), "x", "", cmbo.ErrSpace,
					fmt.Sprintf(`a number in [0, 2] here, but a number in [0, 1] on line %d in study "down"`, line(1, `"trial_id":7`, `"param_name":"x"`)))
				fails(history.Optuna{Policy: p, Studies: []string{"up", "gone"}}, 0, "", "", cmbo.ErrTask, `the journal has "empty", "up", "down"`)
				fails(history.Optuna{Policy: p, Studies: []string{"empty"}}, 0, "", "", cmbo.ErrNoTasks, "no trials")
				fails(history.Optuna{Policy: p, Studies: []string{}}, 0, "", "", cmbo.ErrNoTasks, "no trials")
			}
			fails(history.Optuna{Studies: []string{"up"}}, line(1, "Infinity"), "values", "Infinity", cmbo.ErrValue, "trial 3: not finite")
			fails(history.Optuna{Studies: []string{"branches"}}, line(1, `"trial_id":11`, `"op_code":6`), "c", "", cmbo.ErrOutOfSpace, "trial 0: no such parameter")
			fails(history.Optuna{Studies: []string{"branches"}, Policy: history.Skip}, line(1, `"trial_id":11`, `"op_code":6`), "c", "", cmbo.ErrNoTasks, "trial 0: no such parameter")

			// "up" has a value that is not finite and an enqueued point out of range.
			got := read(t, history.Optuna{Studies: []string{"up", "empty"}, Policy: history.Skip}, text)
			if got.Minimize || got.Report.Accepted != 3 || got.Report.Skipped != 2 {
				t.Errorf("minimize %t, %+v", got.Minimize, got.Report)
			}
			mustBeRow(t, got.Report.Errors[1], line(1, `"param_name":"x"`, `"param_value_internal":7.5`), "x", "7.5", cmbo.ErrOutOfSpace, "trial 4: 7.5 is not in [0, 1]")
			rb.checkStudies(t, got.Studies)

			wide := spaceOf(t, cmbo.Float("x", 0, 2))
			down := history.Optuna{Studies: []string{"down"}, Space: wide}
			got = read(t, down, text)
			if !got.Minimize || !sameBits(got.Tasks, rb.tasks(t, got.Space, false, "down")) {
				t.Errorf("minimize %t, %v", got.Minimize, got.Tasks)
			}

			both := history.Optuna{Studies: []string{"up", "down"}, Direction: history.Maximize, Space: wide, Policy: history.Skip}
			got = read(t, both, text)
			up := got.Tasks[0].Y
			both.Direction = history.Minimize
			flipped := read(t, both, text)
			if got.Minimize || !flipped.Minimize || len(up) != 3 || up[0] != -0.417022004702574 {
				t.Errorf("minimize %t and %t, %v", got.Minimize, flipped.Minimize, up)
			}
			for i := range got.Tasks {
				for k, y := range got.Tasks[i].Y {
					if z := flipped.Tasks[i].Y[k]; z != -y || z < 0 {
						t.Errorf("%g against %g", y, z)
					}
				}
			}

			model := spaceOf(t, cmbo.Categorical("model", "tree", "svm"))
			got = read(t, history.Optuna{Studies: []string{"branches"}, Space: model}, text)
			if want := rb.tasks(t, model, false, "branches"); !sameBits(got.Tasks, want) {
				t.Errorf("have %v, want %v", got.Tasks, want)
			}

			got = read(t, history.Optuna{Studies: []string{"deleted"}}, text)
			if want := rb.tasks(t, got.Space, false, "deleted"); !sameBits(got.Tasks, want) || len(want[0].Y) != 2 || got.Minimize {
				t.Errorf("have %v, want %v", got.Tasks, want)
			}
		})
	}
}

func TestOptunaTorn(t *testing.T) {
	for _, log := range journals(t, "torn") {
		rb := optunaReadback(t, log)
		got := read(t, history.Optuna{}, fixture(t, log))
		rb.checkStudies(t, got.Studies)
		if !got.Torn || !sameBits(got.Tasks, rb.tasks(t, got.Space, false)) || got.Report.Accepted != 1 {
			t.Errorf("torn %t, %v", got.Torn, got.Tasks)
		}
	}
}

// TestOptunaCut cuts journals at every byte: what is read is what the whole
// lines say, and the rest of a line is told, where nothing else is left, too.
func TestOptunaCut(t *testing.T) {
	testutil.SkipRace(t, "one goroutine reads")
	for kind, step := range map[string]int{"torn": 1, "parallel": 17} {
		text := fixture(t, journals(t, kind)[0])
		var want *history.OptunaResult
		var wantErr error
		end := 0 // of the whole lines
		for n := 0; n <= len(text); n++ {
			if n > 0 && text[n-1] == '\n' || n == 0 {
				end = n
				want, wantErr = history.Optuna{}.Read(bytes.NewReader(text[:n]))
				if wantErr != nil && !errors.Is(wantErr, cmbo.ErrNoTasks) {
					t.Fatalf("%d bytes: %v", n, wantErr)
				}
				continue
			}
			if n%step != 0 {
				continue
			}
			got, err := history.Optuna{}.Read(bytes.NewReader(text[:n]))
			said := wantErr != nil
			if text, torn := strings.CutSuffix(fmt.Sprint(err), " before a last line that is not whole"); text != fmt.Sprint(wantErr) || torn != said {
				t.Fatalf("%d bytes: %v, but of %d: %v", n, err, end, wantErr)
			}
			if err == nil && (!got.Torn || want.Torn || !sameBits(got.Tasks, want.Tasks) || !reflect.DeepEqual(got.Studies, want.Studies)) {
				t.Fatalf("%d bytes: %+v, but of %d: %+v", n, got, end, want)
			}
		}
	}
}
