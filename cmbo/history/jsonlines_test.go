package history_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

func TestJSONLinesRead(t *testing.T) {
	want := []cmbo.Task{
		{ID: "a", X: [][]float64{{0.01, 3, 0, 1}, {1, 12, 2, 0}}, Y: []float64{0.5, -2}, NoiseVariance: []float64{0, 0.25}},
		{ID: "b", X: [][]float64{{1e-5, 1, 1, 1}}, Y: []float64{7}},
	}
	tests := []struct {
		name, text string
		format     history.JSONLines
	}{
		{name: "nested", text: `{"task":"a","config":{"lr":0.01,"depth":3,"kernel":"rbf","bias":true},"value":0.5}
{"task":"b","config":{"lr":1e-5,"depth":1,"kernel":"poly","bias":1},"value":7,"noise_variance":null}
{"task":"a","config":{"lr":1,"depth":12,"kernel":"16","bias":false},"value":-2,"noise_variance":0.25}
`},
		{name: "flat, mark, CR LF, order, more keys", text: "\ufeff{\"value\": 5e-1, \"lr\": 0.010, \"depth\": 3.0, \"kernel\": \"rbf\", \"bias\": true, \"task\": \"a\", \"more\": {\"lr\": [NaN]}}\r\n\r\n" +
			`{"noise_variance": 0, "value": 7.0, "lr": 0.00001, "depth": 1, "kernel": "poly", "bias": true, "task": "b", "": null}` + "\r\n  \n" +
			`{"value": -2, "lr": 1, "depth": 1.2E+1, "kernel": 16, "bias": 0, "task": "a", "noise_variance": 2.5e-1}`},
		{name: "names and other choices", format: history.JSONLines{Value: "loss", Task: "study", Noise: "sd2", Config: "params"},
			text: `{"study":"a","params":{"lr":0.01,"depth":3,"kernel":"r\u0062f","bias":true,"x":NaN},"loss":0.5,"sd2":0,"value":NaN,"task":7}
{"study":"b","params":{"lr":1e-5,"depth":1,"kernel":"poly","bias":1,"NaN":"Infinity"},"loss":7,"sd2":0}
{"study":"a","params":{"lr":1,"depth":12,"kernel":16,"bias":false},"loss":-2,"sd2":0.25}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.format.Space = small(t)
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(tt.text), "bytes": iotest.OneByteReader(strings.NewReader(tt.text))} {
				got, err := tt.format.Read(r)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !sameBits(got.Tasks, want) {
					t.Fatalf("%s: have %v, want %v", name, got.Tasks, want)
				}
				mustBeLearnable(t, got)
			}
		})
	}
}

func TestJSONLinesTaskID(t *testing.T) {
	text := `{"lr":1,"depth":12,"kernel":16,"bias":false,"value":1}
{"task":17,"lr":1,"depth":12,"kernel":16,"bias":false,"value":2}
`
	got, err := history.JSONLines{Space: small(t), TaskID: "mine"}.Read(strings.NewReader(text))
	if err != nil || len(got.Tasks) != 2 || got.Tasks[0].ID != "mine" || got.Tasks[1].ID != "17" {
		t.Errorf("%v, %v", got, err)
	}
	_, err = history.JSONLines{Space: small(t), Task: "task"}.Read(strings.NewReader(text))
	mustBeRow(t, err, 1, "task", "", cmbo.ErrTask, "missing")
	_, err = history.JSONLines{Space: small(t), Noise: "noise_variance"}.Read(strings.NewReader(text))
	mustBeRow(t, err, 1, "noise_variance", "", cmbo.ErrValue, "missing")
	_, err = history.JSONLines{Space: small(t), Mapping: history.Mapping{Status: "state"}}.Read(strings.NewReader(text))
	mustBeRow(t, err, 1, "state", "", cmbo.ErrCorrupt, "missing")
}

func TestJSONLinesBadLines(t *testing.T) {
	const good = `{"task":"b","config":{"lr":0.1,"depth":3,"kernel":"rbf","bias":true},"value":1}` + "\n"
	line := func(config, rest string) string { return `{"task":"a","config":{` + config + `},` + rest + `}` }
	const all = `"lr":0.1,"depth":3,"kernel":"rbf","bias":true`
	tests := []struct {
		line, field, value, reason string
		sentinel                   error
	}{
		{`{"task":"a","config":{` + all + `},"value":1`, "", "", "JSON is cut off", cmbo.ErrCorrupt},
		{`{"task":"a","config":{` + all, "", "", "JSON is cut off", cmbo.ErrCorrupt},
		{`{"task":"a`, "", "", "JSON is cut off", cmbo.ErrCorrupt},
		{`lr=0.1`, "", "", "JSON, byte", cmbo.ErrCorrupt},
		{`[1,2]`, "", "", "not a JSON object", cmbo.ErrCorrupt},
		{`"text"`, "", "", "not a JSON object", cmbo.ErrCorrupt},
		{`{"value":nan}`, "", "", "JSON, byte", cmbo.ErrCorrupt},
		{`{"value":1} {"value":2}`, "", "", "byte 13: text after the object", cmbo.ErrCorrupt},
		{`{"value":1}}`, "", "", "byte 12: text after the object", cmbo.ErrCorrupt},
		{`{"value":1,"task":"a","value":2}`, "value", "", "appears twice", cmbo.ErrCorrupt},
		{line(all+`,"lr":0.2`, `"value":1`), "lr", "", "appears twice", cmbo.ErrCorrupt},
		{`{"task":"a","config":[],"value":1}`, "config", "", "not a JSON object", cmbo.ErrCorrupt},
		{`{"task":"","config":{` + all + `},"value":1}`, "task", `""`, "no task ID", cmbo.ErrTask},
		{`{"task":null,"config":{` + all + `},"value":1}`, "task", "null", "not a string or a number", cmbo.ErrTask},
		{`{"task":"a","config":{},"lr":0.1,"depth":3,"kernel":"rbf","bias":true,"value":1}`, "lr", "", "missing", cmbo.ErrOutOfSpace},
		{line(`"lr":0.1,"depth":3,"kernel":"rbf"`, `"value":1`), "bias", "", "missing", cmbo.ErrOutOfSpace},
		{line(`"lr":null,"depth":3,"kernel":"rbf","bias":true`, `"value":1`), "lr", "null", "no value", cmbo.ErrOutOfSpace},
		{line(`"lr":"0.1","depth":3,"kernel":"rbf","bias":true`, `"value":1`), "lr", `"0.1"`, "not a number", cmbo.ErrOutOfSpace},
		{line(`"lr":NaN,"depth":3,"kernel":"rbf","bias":true`, `"value":1`), "lr", "NaN", "not finite", cmbo.ErrValue},
		{line(`"lr":1e999,"depth":3,"kernel":"rbf","bias":true`, `"value":1`), "lr", "1e999", "too large", cmbo.ErrValue},
		{`{"task":"caf` + "\xe9" + `","config":{` + all + `},"value":1}`, "task", `"caf` + "\xe9" + `"`, "not UTF-8", cmbo.ErrTask},
		{line(`"lr":2,"depth":3,"kernel":"rbf","bias":true`, `"value":1`), "lr", "2", "2 is not in", cmbo.ErrOutOfSpace},
		{line(`"lr":1,"depth":3.5,"kernel":"rbf","bias":true`, `"value":1`), "depth", "3.5", "not a whole number", cmbo.ErrOutOfSpace},
		{line(`"lr":1,"depth":true,"kernel":"rbf","bias":true`, `"value":1`), "depth", "true", "not a number", cmbo.ErrOutOfSpace},
		{line(`"lr":1,"depth":3,"kernel":0,"bias":true`, `"value":1`), "kernel", "0", "not one of", cmbo.ErrOutOfSpace},
		{line(`"lr":1,"depth":3,"kernel":16.0,"bias":true`, `"value":1`), "kernel", "16.0", "not one of", cmbo.ErrOutOfSpace},
		{line(`"lr":1,"depth":3,"kernel":"rbf","bias":"true"`, `"value":1`), "bias", `"true"`, "not true", cmbo.ErrOutOfSpace},
		{line(`"lr":1,"depth":3,"kernel":"rbf","bias":null`, `"value":1`), "bias", "null", "no value", cmbo.ErrOutOfSpace},
		{line(all, `"score":1`), "value", "", "missing", cmbo.ErrValue},
		{line(all, `"value":null`), "value", "null", "no value", cmbo.ErrValue},
		{line(all, `"value":"1"`), "value", `"1"`, "not a number", cmbo.ErrValue},
		{line(all, `"value":-Infinity`), "value", "-Infinity", "not finite", cmbo.ErrValue},
		{line(all, `"value":Infinity`), "value", "Infinity", "not finite", cmbo.ErrValue},
		{line(all, `"value":-2e150`), "value", "-2e150", "beyond", cmbo.ErrValue},
		{line(all, `"value":[1]`), "value", "[1]", "not a number", cmbo.ErrValue},
		{line(all, `"value":1,"noise_variance":-1`), "noise_variance", "-1", "in [0,", cmbo.ErrValue},
		{line(all, `"value":1,"noise_variance":NaN`), "noise_variance", "NaN", "not finite", cmbo.ErrValue},
		{strings.Repeat(" ", 1001), "", "", "the line has more bytes; the limit is 1000, which Limits.Line sets", cmbo.ErrCorrupt},
		{line(all, `"value":1`) + strings.Repeat(" ", 1000), "", "", "the line has more bytes; the limit is 1000, which Limits.Line sets", cmbo.ErrCorrupt},
	}
	f := history.JSONLines{Space: small(t), Limits: history.Limits{Line: 1000}}
	var text strings.Builder
	text.WriteString(good)
	for _, tt := range tests {
		_, err := f.Read(strings.NewReader(good + tt.line + "\n" + good))
		mustBeRow(t, err, 2, tt.field, tt.value, tt.sentinel, tt.reason)
		text.WriteString(tt.line + "\n" + good)
	}
	f.Policy = history.Skip
	got := mustRead(t, f, strings.NewReader(text.String()))
	mustBeLearnable(t, got)
	if got.Report.Skipped != len(tests) || got.Report.Accepted != len(tests)+1 {
		t.Fatalf("%d lines skipped, want %d; %d accepted", got.Report.Skipped, len(tests), got.Report.Accepted)
	}
	for i, tt := range tests {
		mustBeRow(t, got.Report.Errors[i], 2+2*i, tt.field, tt.value, tt.sentinel, tt.reason)
	}
}

func TestJSONLinesFatal(t *testing.T) {
	s := small(t)
	broken := errors.New("broken pipe")
	for _, tt := range []struct {
		name   string
		format history.JSONLines
		r      io.Reader
		want   error
	}{
		{"empty", history.JSONLines{Space: s}, strings.NewReader(""), cmbo.ErrNoTasks},
		{"empty lines", history.JSONLines{Space: s}, strings.NewReader("\n \r\n\n"), cmbo.ErrNoTasks},
		{"UTF-16", history.JSONLines{Space: s}, strings.NewReader("\xff\xfe{\x00"), cmbo.ErrCorrupt},
		{"reader", history.JSONLines{Space: s, Policy: history.Skip}, io.MultiReader(strings.NewReader("{}\n"), iotest.ErrReader(broken)), broken},
		{"no space", history.JSONLines{}, strings.NewReader(""), cmbo.ErrSpace},
		{"policy", history.JSONLines{Space: s, Policy: 9}, strings.NewReader(""), cmbo.ErrOption},
		{"config", history.JSONLines{Space: s, Config: "value"}, strings.NewReader(""), cmbo.ErrOption},
		{"flat clash", history.JSONLines{Space: s, Config: "-", Value: "lr"}, strings.NewReader(""), cmbo.ErrOption},
	} {
		if _, err := tt.format.Read(tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	_, err := history.JSONLines{Space: s, Policy: history.Skip}.Read(strings.NewReader("{}\n{\n"))
	mustBeRow(t, err, 1, "lr", "", cmbo.ErrNoTasks, "missing")
}

// TestJSONLinesLongLine shows that of a line that is too long no more than the
// limit is kept, and that one of the limit is read.
func TestJSONLinesLongLine(t *testing.T) {
	const good = `{"lr":0.1,"depth":3,"kernel":"rbf","bias":true,"value":1}` + "\n"
	long := io.LimitReader(&endless{text: "0123456789"}, 8<<20)
	f := history.JSONLines{Space: small(t), Policy: history.Skip, Limits: history.Limits{Line: 100}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := f.Read(io.MultiReader(strings.NewReader(good), long, strings.NewReader("\n"+good)))
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if got.Report.Accepted != 2 || got.Report.Skipped != 1 {
		t.Errorf("%+v", got.Report)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated for a line of %d", n, 8<<20)
	}
	f.Limits.Line = len(good) - len("\n")
	if got, err = f.Read(strings.NewReader(good)); err != nil || got.Report.Accepted != 1 {
		t.Errorf("a line of the limit: %v", err)
	}
}

func TestJSONLinesRoundTrip(t *testing.T) {
	rng := testutil.RNG(t)
	s := mixed(t)
	for i := range 60 {
		want := randomTasks(rng, s, 1+rng.IntN(12), 8)
		f := history.JSONLines{Space: s, Config: []string{"", "-", "x"}[i%3]}
		if i%4 == 1 {
			f.Value, f.Task, f.Noise = "score, \"best\"", "study", "variance"
		}
		if i%5 == 4 {
			want, f.Task, f.TaskID = want[:1], "-", want[0].ID
		}
		var b bytes.Buffer
		if err := f.Write(&b, want...); err != nil {
			t.Fatal(err)
		}
		first := b.String()
		got, err := f.Read(&b)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if !sameBits(got.Tasks, want) {
			t.Fatalf("have %v, want %v\n%s", got.Tasks, want, first)
		}
		if err := f.Write(&b, got.Tasks...); err != nil || b.String() != first {
			t.Fatalf("written again: %v\n%s\nbefore:\n%s", err, b.String(), first)
		}
	}
}

// TestJSONLinesWritePlain reads what is written with encoding/json, and the
// points with cmbo.Space.Row.
func TestJSONLinesWritePlain(t *testing.T) {
	s := mixed(t)
	rng := testutil.RNG(t)
	want := randomTasks(rng, s, 5, 6)
	var b bytes.Buffer
	if err := (history.JSONLines{Space: s}).Write(&b, want...); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(&b)
	for _, task := range want {
		for i, x := range task.X {
			if !lines.Scan() {
				t.Fatal("a line is missing")
			}
			var got struct {
				Task   string
				Config map[string]any
				Value  float64
				Noise  float64 `json:"noise_variance"`
			}
			if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			row, err := s.Row(got.Config)
			if err != nil || !reflect.DeepEqual(row, x) || got.Task != task.ID || got.Value != task.Y[i] {
				t.Fatalf("%v: %s, want %v of %q", err, lines.Bytes(), x, task.ID)
			}
			if task.NoiseVariance != nil && got.Noise != task.NoiseVariance[i] {
				t.Fatalf("noise %g, want %g", got.Noise, task.NoiseVariance[i])
			}
		}
	}
	if lines.Scan() {
		t.Error("too many lines")
	}
}

// TestExactIntegers holds the readers to integers that a float64 has.
func TestExactIntegers(t *testing.T) {
	if fmt.Sprint(^uint(0)>>32) == "0" {
		t.Skip("the range does not fit int")
	}
	most := 1
	for range 53 {
		most *= 2
	}
	s := spaceOf(t, cmbo.Int("n", -most, most))
	for text, good := range map[string]bool{
		"9007199254740992": true, "-9007199254740992": true, "9007199254740991": true, "9007199254740992.0": true,
		"9007199254740993": false, "-9007199254740993": false, "9007199254740994": false,
	} {
		_, err := history.CSV{Space: s}.Read(strings.NewReader("n,value\n" + text + ",1\n"))
		_, err2 := history.JSONLines{Space: s}.Read(strings.NewReader(`{"n":` + text + `,"value":1}`))
		if (err == nil) != good || (err2 == nil) != good || err != nil && !errors.Is(err, cmbo.ErrOutOfSpace) {
			t.Errorf("%s: %v, %v", text, err, err2)
		}
	}
}
