package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// TestContext: descriptors of tasks come back as they were written, numbers, choices and gaps.
func TestContext(t *testing.T) {
	space, err := cmbo.NewSpace(cmbo.Float("lr", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	tasks := []cmbo.Task{
		{ID: "a", X: [][]float64{{0.5}}, Y: []float64{1}, Failed: [][]float64{{1}}, Context: cmbo.Context{"cores": 8, "rate": 0.25, "disk": "ssd"}},
		{ID: "b", Failed: [][]float64{{0}}, X: [][]float64{}, Y: []float64{}, Context: cmbo.Context{"cores": 16.0, "live": true}},
		{ID: "c", X: [][]float64{{0}}, Y: []float64{3}},
	}
	want := []cmbo.Context{{"cores": 8.0, "rate": 0.25, "disk": "ssd"}, {"cores": 16.0, "live": "true"}, nil}
	m := history.Mapping{Context: map[string]string{"cores": "", "rate": "", "disk": "", "live": ""}}
	comma := m
	comma.DecimalComma = true
	moved := m
	moved.Context = map[string]string{"cores": "lr", "rate": "r", "disk": "d", "live": "l"} // a key of the line, and one of its config
	same := func(what string, got []cmbo.Task) {
		t.Helper()
		for i, task := range got {
			if !reflect.DeepEqual(task.Context, want[i]) {
				t.Errorf("%s: task %s: %#v, want %#v", what, task.ID, task.Context, want[i])
			}
		}
	}
	for what, write := range map[string][2]any{
		"CSV":             {history.CSV{Space: space}, history.CSV{Space: space, Mapping: m}},
		"CSV, comma":      {history.CSV{Space: space, Mapping: comma, Comma: ';'}, history.CSV{Space: space, Mapping: comma, Comma: ';'}},
		"JSON lines":      {history.JSONLines{Space: space}, history.JSONLines{Space: space, Mapping: m}},
		"JSON lines flat": {history.JSONLines{Space: space, Config: "-"}, history.JSONLines{Space: space, Config: "-", Mapping: m}},
		"renamed":         {history.JSONLines{Space: space, Mapping: moved}, history.JSONLines{Space: space, Mapping: moved}},
	} {
		var b bytes.Buffer
		var got *history.Result
		var seq iter.Seq2[cmbo.Task, error]
		switch w := write[0].(type) {
		case history.CSV:
			err = w.Write(&b, tasks...)
			r := write[1].(history.CSV)
			if err == nil {
				got, err = r.Read(bytes.NewReader(b.Bytes()))
			}
			seq = r.Tasks(bytes.NewReader(b.Bytes()), nil)
		case history.JSONLines:
			err = w.Write(&b, tasks...)
			r := write[1].(history.JSONLines)
			if err == nil {
				got, err = r.Read(bytes.NewReader(b.Bytes()))
			}
			seq = r.Tasks(bytes.NewReader(b.Bytes()), nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		same(what, got.Tasks)
		if what == "CSV, comma" {
			continue // two rows of a task do not fit
		}
		n := 0
		for task, err := range seq {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			n++
			if w := want[task.ID[0]-'a']; !reflect.DeepEqual(task.Context, w) {
				t.Errorf("%s, streamed: task %s: %v", what, task.ID, task.Context)
			}
		}
		if n != 3 {
			t.Errorf("%s: %d tasks", what, n)
		}
	}
}

// TestContextErrors: what does not fit together is an error with its place.
func TestContextErrors(t *testing.T) {
	space := spaceOf(t, cmbo.Float("lr", 0, 1))
	m := history.Mapping{Context: map[string]string{"cores": ""}}
	for _, policy := range []history.Policy{history.Fail, history.Skip} {
		_, err := history.CSV{Space: space, Mapping: m, Policy: policy}.Read(strings.NewReader("task,lr,value,cores\na,0,1,8\na,0,1,\nb,0,1,x\na,0,1,9\n"))
		if !errors.Is(err, cmbo.ErrTask) || fmt.Sprint(err) != `history: line 5: task "a": descriptor "cores" is 9, and on a line of the same task before it is 8` {
			t.Errorf("%v: %v", policy, err)
		}
	}
	for text, want := range map[string]string{
		`{"task": "a", "config": {"lr": 0}, "value": 1, "cores": [1]}`:      "neither a number nor a string",
		`{"task": "a", "config": {"lr": 0}, "value": 1, "cores": Infinity}`: "not finite",
		`{"task": "a", "config": {"lr": 0}, "value": 1, "cores": 1e999}`:    "too large",
	} {
		if _, err := (history.JSONLines{Space: space, Mapping: m}).Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := (history.CSV{Space: space, Mapping: m}).Read(strings.NewReader("lr,value,cores\n0,1,inf\n")); !errors.Is(err, cmbo.ErrValue) {
		t.Errorf("%v", err)
	}
	for _, none := range []string{"", " ", "NaN", "nan", "NAN"} {
		got, err := history.CSV{Space: space, Mapping: m}.Read(strings.NewReader("lr,value,cores\n0,1," + none + "\n"))
		if err != nil || len(got.Tasks[0].Context) > 0 {
			t.Errorf("%q: %v, %v", none, got, err)
		}
	}
	// Two choices in Latin-1, of which decoded JSON would make one.
	const lines = "{\"task\":\"a\",\"lr\":0,\"value\":1,\"cores\":\"\xe4\"}\n{\"task\":\"b\",\"lr\":1,\"value\":2,\"cores\":\"\xf6\"}\n"
	byText := history.Mapping{Context: m.Context, DecimalComma: true}
	for what, read := range map[string]func() (any, error){
		"CSV": func() (any, error) {
			return history.CSV{Space: space, Mapping: m}.Read(strings.NewReader("lr,value,cores\n0,1,\xe4\n"))
		},
		"JSON lines": func() (any, error) { return history.JSONLines{Space: space, Mapping: m}.Read(strings.NewReader(lines)) },
		"lines as CSV": func() (any, error) {
			return history.JSONLines{Space: space, Mapping: byText}.Read(strings.NewReader(lines))
		},
		"HPO-B": func() (any, error) {
			return history.HPOB{}.Read(strings.NewReader("{\"s\":{\"a\":{\"X\":[[0]],\"y\":[1],\"context\":{\"cores\":\"\xe4\"}}}}"))
		},
	} {
		if got, err := read(); !errors.Is(err, cmbo.ErrTask) || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	for _, bad := range []history.Mapping{
		{Context: map[string]string{"cores": "value"}},
		{Context: map[string]string{"cores": "lr"}},
		{Context: map[string]string{"cores": "n", "nodes": "n"}},
		{Context: map[string]string{"cores": "n"}, Outputs: map[string]string{"nodes": "n"}},
		{Context: map[string]string{"": "n"}},
	} {
		if _, err := (history.CSV{Space: space, Mapping: bad}).Read(strings.NewReader("lr,value\n0,1\n")); !errors.Is(err, cmbo.ErrOption) {
			t.Errorf("%v: %v", bad.Context, err)
		}
	}
	one := cmbo.Task{ID: "a", X: [][]float64{{0}}, Y: []float64{1}}
	for _, v := range []any{"720", " x", "", "nan", []int{1}} {
		one.Context = cmbo.Context{"cores": v}
		if err := (history.CSV{Space: space}).Write(new(bytes.Buffer), one); err == nil {
			t.Errorf("%#v was written", v)
		}
	}
	for _, v := range []string{"NaN", "Infinity", "\ufeff"} {
		one.Context = cmbo.Context{"cores": v}
		if err := (history.JSONLines{Space: space}).Write(new(bytes.Buffer), one); !errors.Is(err, cmbo.ErrOption) {
			t.Errorf("%q: %v", v, err)
		}
	}
	one.Context = cmbo.Context{"cores": "720"} // a choice as a string, but no more where strings are cells of a table
	if err := (history.JSONLines{Space: space}).Write(new(bytes.Buffer), one); err != nil {
		t.Error(err)
	}
	if err := (history.JSONLines{Space: space, Mapping: history.Mapping{DecimalComma: true}}).Write(new(bytes.Buffer), one); !errors.Is(err, cmbo.ErrOption) {
		t.Error(err)
	}
}
