package history_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

const hpob = `{"4796": {"b": {"X": [[0.5, 0.25], [1, 0], [0.5, 0.25]], "y": [[0.1], [0.2], [0.3]]},
	"a": {"X": [[0, 1]], "y": [-3]}}, "5527": {"c": {"X": [[0]], "y": [[1]]}}}`

func TestHPOB(t *testing.T) {
	want := []cmbo.Task{
		{ID: "a", X: [][]float64{{0, 1}}, Y: []float64{-3}},
		{ID: "b", X: [][]float64{{0.5, 0.25}, {1, 0}}, Y: []float64{0.1, 0.2}},
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, hpob); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{"plain": strings.NewReader(hpob), "gzip": &packed} {
		got, err := history.HPOB{Name: "4796"}.Read(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !sameBits(got.Tasks, want) || got.Space.Dim() != 2 {
			t.Errorf("%s: %v, want %v", name, got.Tasks, want)
		}
		mustBeLearnable(t, &got.Result)
	}
}

// TestHPOBErrors: the first thing that is wrong ends the reading.
func TestHPOBErrors(t *testing.T) {
	for _, tt := range []struct {
		text, space, task, reason string
		want                      error
	}{
		{hpob, "", "", `more than one space, "4796", "5527"`, cmbo.ErrCorrupt},
		{hpob, "1", "", `no space "1"; the file has "4796", "5527"`, cmbo.ErrNoTasks},
		{`{}`, "1", "", `no space "1"; there is none`, cmbo.ErrNoTasks},
		{`{"s": {}}`, "", "", "there are no configurations", cmbo.ErrNoTasks},
		{"", "", "", "cut off", cmbo.ErrCorrupt},
		{hpob[:70], "4796", "b", "cut off", cmbo.ErrCorrupt},
		{`[]`, "", "", "want '{'", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5]], "y": [1]}}} {}`, "", "", "text after the object", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5]], "y": [1]}}, }`, "", "", "want a string", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5,]], "y": [1]}}}`, "", "t", "is not a value", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5]], "y": [1]}}, "s": {}}`, "s", "", `"s" appears twice`, cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0]], "y": [1]}, "t": {"X": [[0]], "y": [1]}}}`, "", "t", "appears twice", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0]], "X": [[0]], "y": [1]}}}`, "", "t", "appears twice", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], [2]], "y": [1, 2]}}}`, "", "t", "row 1: X: coordinate 0 is 2", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], [0.5, 1]], "y": [1, 2]}}}`, "", "t", "row 1: X: 2 coordinates, want 1", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5, 1], [0, null]], "y": [1, 2]}}}`, "", "t", "row 1: X: coordinate 1 is null", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], null], "y": [1, 2]}}}`, "", "t", "row 1: X: not a list", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], 0.5], "y": [1, 2]}}}`, "", "t", "row 1: X: not a list", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], []], "y": [1, 2]}}}`, "", "t", "row 1: X: no coordinates", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [["a"]], "y": [1]}}}`, "", "t", "row 0: X: coordinate 0 is null", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [["\q"]], "y": [1]}}}`, "", "t", "is not a string", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], [NaN]], "y": [1, 2]}}}`, "", "t", "row 1: X: coordinate 0 is null, NaN, or another value that is no number", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": null, "y": [1]}}}`, "", "t", "want '['", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], [1]], "y": [1, null]}}}`, "", "t", "row 1: y is null", cmbo.ErrValue},
		{`{"s": {"t": {"X": [[0.5], [1]], "y": [[1], [null]]}}}`, "", "t", "row 1: y is null", cmbo.ErrValue},
		{`{"s": {"t": {"X": [[0.5], [1]], "y": [[1], [1, 2]]}}}`, "", "t", "row 1: y: 2 values, want 1", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5], [1]], "y": [1]}}}`, "", "t", "2 configurations but 1 values", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5]], "Y": [[1, 2]], "outputs": ["a", "b"]}}}`, "", "t", `no "y"; Value says which of the outputs of "Y"`, cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [], "y": []}}}`, "", "t", "no configurations", cmbo.ErrCorrupt},
		{`{"s": {"t": {"X": [[0.5]], "y": [1e160]}}}`, "", "t", "beyond", cmbo.ErrValue},
		{`{"s": {"t": {"X": [[0.5]], "y": [1e999]}}}`, "", "t", "y is +Inf", cmbo.ErrValue},
		{`{"s": {"t": {"X": [[0.5]], "y": [-Infinity]}}}`, "", "t", "y is -Inf", cmbo.ErrValue},
		{`{"s": {"": {"X": [[0.5]], "y": [1]}}}`, "", "", "no task ID", cmbo.ErrTask},
		{"\x1f\x8b\x08", "", "", "", cmbo.ErrCorrupt},
	} {
		_, err := history.HPOB{Name: tt.space}.Read(strings.NewReader(tt.text))
		var e *history.RowError
		if row := errors.As(err, &e); !errors.Is(err, tt.want) || row != (tt.reason != "") || row && (e.Task != tt.task || !strings.Contains(e.Reason, tt.reason)) {
			t.Errorf("%.60s: %v, want task %q, %q", tt.text, err, tt.task, tt.reason)
		}
	}
}

// TestHPOBSkip keeps the good rows of a file with all that HPO-B's own programs
// write and do not read.
func TestHPOBSkip(t *testing.T) {
	text := `{"z": [{"deep": [null, "\u00e9\"", -1.5e-3]}], "s": {
		"b": {"X": [[0.5, 0], [NaN, 0], [0.25, 1], [0.5, 0], [1, 1], [0, 0], [0.75]], "y": [[1], [2], [NaN], [4], [null], [6], [7], [8]], "note": {"x": []}},
		"c": {"X": [[0.5, 2]], "y": [1]},
		"a": {"y": [null, 3, 4], "X": [[0.25, 0], [0.25, -0.0], [1, 1]]}}}`
	got := mustRead(t, history.HPOB{Name: "s", Policy: history.Skip}, strings.NewReader(text))
	mustBeLearnable(t, &got.Result)
	want := []cmbo.Task{
		{ID: "a", X: [][]float64{{0.25, 0}, {1, 1}}, Y: []float64{3, 4}},
		{ID: "b", X: [][]float64{{0.5, 0}, {0, 0}}, Y: []float64{1, 6}},
	}
	if !sameBits(got.Tasks, want) {
		t.Errorf("have %v, want %v", got.Tasks, want)
	}
	if kept := [][]int{{-1, 0, 1}, {0, -1, -1, 0, -1, 1, -1, -1}}; !reflect.DeepEqual(got.Kept, kept) || got.Repeated != 1 {
		t.Errorf("kept %v, %d repeated", got.Kept, got.Repeated)
	}
	if r := got.Report; r.Rows != 11 || r.Accepted != 4 || r.Skipped != 7 {
		t.Errorf("%+v", r)
	}
	names, err := history.HPOB{}.Names(strings.NewReader(text))
	if err != nil || !slices.Equal(names, []string{"s", "z"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// TestHPOBNumerals takes the numbers of JSON, and no others.
func TestHPOBNumerals(t *testing.T) {
	for _, text := range []string{"0", "-0", "1", "-12", "0.5", "1e5", "1E+05", "-1.25e-3", "01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "0x1", "1_0", "1a", "inf", "nan", "1.e5", "0.5.5"} {
		_, err := history.HPOB{}.Read(strings.NewReader(`{"s": {"t": {"X": [[0]], "y": [` + text + `]}}}`))
		if valid := json.Valid([]byte(text)); (err == nil) != valid {
			t.Errorf("%s: %v, a number of JSON: %t", text, err, valid)
		}
	}
}

// pack compresses text that repeats, many times its own length.
func pack(t *testing.T, begin, repeated string, n int, end string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := strings.Repeat(repeated, 1024)
	// Once a write has failed, all later ones and Close do.
	_, _ = io.WriteString(z, begin)
	for range n / 1024 {
		_, _ = io.WriteString(z, block)
	}
	_, _ = io.WriteString(z, end)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// packTasks compresses tasks of a thousand configurations each.
func packTasks(t *testing.T, n int) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, ",[0.%d]", 1000+i)
	}
	_, _ = io.WriteString(z, `{"s":{"t":{}`)
	for i := range n {
		_, _ = fmt.Fprintf(z, `,"%d":{"X":[%s],"y":[0%s]}`, i, rows.String()[1:], strings.Repeat(",0", 999))
	}
	_, _ = io.WriteString(z, "}}")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// TestLimits: small inputs that would fill the memory end with an error that
// names the limit, and cost little until then.
func TestLimits(t *testing.T) {
	testutil.SkipRace(t, "one goroutine reads")
	space := small(t)
	hpobOf := func(l history.Limits) func(io.Reader) error {
		return func(r io.Reader) error {
			_, err := history.HPOB{Name: "s", Policy: history.Skip, Limits: l}.Read(r)
			return err
		}
	}
	names := func(r io.Reader) error {
		_, err := history.HPOB{}.Names(r)
		return err
	}
	const million = 1 << 20
	head := "lr,depth,kernel,bias,value\n"
	for name, tt := range map[string]struct {
		input io.Reader
		read  func(io.Reader) error
		field string
	}{
		"bytes":                   {pack(t, `{"s":{"t":{"X":[`, "[0],", million/4, ""), hpobOf(history.Limits{Bytes: million / 2}), "Bytes"},
		"bad rows":                {pack(t, `{"s":{"t":{"X":[`, "[9],", million/4, ""), hpobOf(history.Limits{Bytes: million / 2}), "Bytes"},
		"bytes of a skipped one":  {pack(t, `{"r":{"t":{"X":[`, "[0],", million/4, ""), hpobOf(history.Limits{Bytes: million / 2}), "Bytes"},
		"white space":             {pack(t, "", "      ", 20*million, ""), names, "Bytes"},
		"rows":                    {pack(t, `{"s":{"t":{"X":[`, "[0],", 3*million, ""), hpobOf(history.Limits{}), "Rows"},
		"rows that are bad":       {pack(t, `{"s":{"t":{"X":[`, "[],", 3*million/8, ""), hpobOf(history.Limits{Rows: million / 4}), "Rows"},
		"values":                  {pack(t, `{"s":{"t":{"y":[`, "0,", 3*million/8, ""), hpobOf(history.Limits{Rows: million / 4}), "Rows"},
		"rows of tasks":           {packTasks(t, 140), hpobOf(history.Limits{Rows: million / 8}), "Rows"},
		"depth":                   {strings.NewReader(`{"r":` + strings.Repeat("[", million)), hpobOf(history.Limits{}), "Depth"},
		"depth of objects":        {strings.NewReader(`{"s":{"t":{"X":` + strings.Repeat(`[[{"a":`, million)), hpobOf(history.Limits{}), "Depth"},
		"columns":                 {strings.NewReader(`{"s":{"t":{"X":[[` + strings.Repeat("0,", million)), hpobOf(history.Limits{}), "Columns"},
		"depth of lines":          {strings.NewReader(`{"r":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "}\n"), linesOf(space, history.Limits{}), "Depth"},
		"string":                  {strings.NewReader(`{"` + strings.Repeat("s", million)), hpobOf(history.Limits{}), "String"},
		"string of escapes":       {strings.NewReader(`{"r":"` + strings.Repeat(`\"`, million)), hpobOf(history.Limits{}), "String"},
		"number":                  {strings.NewReader(`{"s":` + strings.Repeat("1", million)), names, "String"},
		"columns of the header":   {strings.NewReader(strings.Repeat(",", 15*million)), csvOf(space, history.Limits{}), "Columns"},
		"columns of a row":        {strings.NewReader(head + strings.Repeat(",", 15*million)), csvOf(space, history.Limits{}), "Columns"},
		"columns in quotes":       {strings.NewReader(head + strings.Repeat(`"",`, 5*million)), csvOf(space, history.Limits{}), "Columns"},
		"line":                    {strings.NewReader(head + strings.Repeat("x", 17*million)), csvOf(space, history.Limits{}), "Line"},
		"bytes of a CSV":          {strings.NewReader(head + strings.Repeat("0.1,3,rbf,true,1\n", 100)), csvOf(space, history.Limits{Bytes: 1000}), "Bytes"},
		"keys":                    {strings.NewReader("{" + manyKeys(20000) + "}"), linesOf(space, history.Limits{}), "Columns"},
		"keys of the parameters":  {strings.NewReader(`{"config":{` + manyKeys(20000) + "}}"), linesOf(space, history.Limits{}), "Columns"},
		"bytes of lines":          {strings.NewReader(strings.Repeat("{}\n", 400)), linesOf(space, history.Limits{Bytes: 1000}), "Bytes"},
		"line of an Optuna study": {strings.NewReader(`{"op_code":6,"x":"` + strings.Repeat("x", 2000) + `"}` + "\n"), optunaOf(history.Limits{Line: 1000}), "Line"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tt.read(tt.input)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, history.ErrLimit) || !errors.Is(err, cmbo.ErrCorrupt) || !strings.Contains(err.Error(), "Limits."+tt.field+" sets") {
				t.Errorf("%v, want the limit %s", err, tt.field)
			}
			most := uint64(50)
			if name == "line" || name == "rows" { // up to limits that are not made smaller here
				most = 250
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > most { // of all that was ever allocated
				t.Errorf("%d MB", mb)
			}
		})
	}
	for _, l := range []history.Limits{{Bytes: -1}, {Line: -1}, {Columns: -1}, {Depth: -1}, {Rows: -1}, {String: -1}} {
		if _, err := (history.HPOB{Limits: l}).Read(strings.NewReader(hpob)); !errors.Is(err, cmbo.ErrOption) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	// Up to a limit all is well.
	exact := history.Limits{Bytes: int64(len(hpob)), Rows: 4, Columns: 2, Depth: 5, String: 5}
	for _, end := range []string{"", " ", "\n\n", "   "} {
		_, err := (history.HPOB{Name: "4796", Limits: exact}).Read(strings.NewReader(hpob + end))
		if errors.Is(err, history.ErrLimit) != (end != "") || err != nil && end == "" {
			t.Errorf("%q after it: %v", end, err)
		}
	}
	for depth, beyond := range map[int]bool{63: false, 64: true} { // the object is one more
		text := `{"r": ` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `, "4796": {"a": {"X": [[0]], "y": [1]}}}`
		if _, err := (history.HPOB{Name: "4796"}).Read(strings.NewReader(text)); errors.Is(err, history.ErrLimit) != beyond || err != nil != beyond {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
	row := head + `0.1,3,"rbf",true,1` + "\n"
	largest := history.Limits{
		Bytes: math.MaxInt64, Line: math.MaxInt, Columns: math.MaxInt, Depth: math.MaxInt, Rows: math.MaxInt, String: math.MaxInt,
	}
	for text, read := range map[string]func(io.Reader) error{
		row: csvOf(space, largest), `{"s": {"t": {"X": [[0.5]], "y": [[1]]}}}`: hpobOf(largest),
		study0 + trial0 + setParam(0, "x", "0.25", unit) + tell(0, "2"):               optunaOf(largest),
		`{"config":{"lr":0.1,"depth":3,"kernel":"rbf","bias":true},"value":1}` + "\n": linesOf(space, largest),
	} {
		if err := read(strings.NewReader(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := csvOf(space, history.Limits{Columns: 5})(strings.NewReader(row)); err != nil {
		t.Error(err)
	}
	if err := csvOf(space, history.Limits{Columns: 5})(strings.NewReader("lr,depth,kernel,bias,value,x\n")); !errors.Is(err, history.ErrLimit) {
		t.Error(err)
	}
}

// TestHPOBMemory: long configurations are in memory once. A packed file of some KB may hold
// as many as Limits.Bytes of text take.
func TestHPOBMemory(t *testing.T) {
	testutil.SkipRace(t, "it allocates copies of slices that grow")
	const n, dim = 200, 10_000
	var b strings.Builder
	b.WriteString(`{"s":{"t":{"y":[0` + strings.Repeat(",0", n-1) + `],"X":[`)
	for i := range n {
		fmt.Fprintf(&b, "%.*s[%s0.%03d]", min(i, 1), ",", strings.Repeat("0,", dim-1), i)
	}
	text := strings.NewReader(b.String() + "]}}}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := history.HPOB{}.Read(text)
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Tasks[0].X) != n {
		t.Fatal(err)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 8*n*dim*3/2 {
		t.Errorf("%d bytes for %d numbers", bytes, n*dim)
	}
}

func csvOf(s *cmbo.Space, l history.Limits) func(io.Reader) error {
	return func(r io.Reader) error {
		_, err := history.CSV{Space: s, Policy: history.Skip, Limits: l}.Read(r)
		return err
	}
}

func linesOf(s *cmbo.Space, l history.Limits) func(io.Reader) error {
	return func(r io.Reader) error {
		_, err := history.JSONLines{Space: s, Policy: history.Skip, Limits: l}.Read(r)
		return err
	}
}

func optunaOf(l history.Limits) func(io.Reader) error {
	return func(r io.Reader) error {
		_, err := history.Optuna{Policy: history.Skip, Limits: l}.Read(r)
		return err
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// TestCSVManyCommas: commas within quotation marks are no fields, whatever rows
// lie before.
func TestCSVManyCommas(t *testing.T) {
	text := "lr;depth;kernel;bias;value;note\n" + `0.1;3;"rbf";true;1;"` + strings.Repeat("a;\"\"", 100) + "\n" + `"` + "\n" +
		"0.1;3;rb\"f;true;1;;;;;\n" + `0.1;3;"rbf"x;true;1;` + "\n" + "0.2;3;rbf;true;2;\n"
	got, err := history.CSV{Space: small(t), Comma: ';', Policy: history.Skip, Limits: history.Limits{Columns: 10}}.Read(strings.NewReader(text))
	if err != nil || !slices.Equal(got.Tasks[0].Y, []float64{1, 2}) || got.Report.Skipped != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	wide := "lr→depth→kernel→bias→value\n0.1→3→rbf→true→1\n"
	form := history.CSV{Space: small(t), Comma: '→', Limits: history.Limits{Columns: 5}}
	if _, err := form.Read(strings.NewReader(wide)); err != nil {
		t.Error(err)
	}
	form.Limits.Columns = 4
	if _, err := form.Read(strings.NewReader(wide)); !errors.Is(err, history.ErrLimit) {
		t.Error(err)
	}
}

// TestHPOBOutputs: of several values one is optimised and the others are outputs, missing
// ones and all.
func TestHPOBOutputs(t *testing.T) {
	const text = `{"s": {"b": {"outputs": ["size", "seconds", "cpu"], "X": [[0.5], [1], [0.5], [0], [0.25], [0.75]], "y": [9],
		"Y": [[1, 2, 3], [4, null, NaN], [7, 8, 9], [null, 1, 1], [1, 2], [5, 1e999, 1]], "context": {"height": 1080}},
		"a": {"X": [[0]], "Y": [[1, 0.5]], "outputs": ["seconds", "size"]}}}`
	got := mustRead(t, history.HPOB{Value: "size", Policy: history.Skip}, strings.NewReader(text))
	mustBeLearnable(t, &got.Result)
	a, b := got.Tasks[0], got.Tasks[1]
	if !reflect.DeepEqual(a.Y, []float64{0.5}) || !reflect.DeepEqual(a.Outputs.Row(0), map[string]float64{"seconds": 1}) {
		t.Errorf("a: %+v", a)
	}
	if !reflect.DeepEqual(b.Y, []float64{1, 4}) || !reflect.DeepEqual(b.Outputs.Row(0), map[string]float64{"seconds": 2, "cpu": 3}) || b.Outputs.Row(1) != nil {
		t.Errorf("b: %+v", b)
	}
	if r := got.Report; r.Rows != 6 || r.Accepted != 3 || r.Skipped != 3 || got.Repeated != 1 {
		t.Errorf("%+v, %d repeated", r, got.Repeated)
	}
	for i, want := range []string{`row 3: output "size" is null`, "row 4: Y: 2 values, want 3", `row 5: output "seconds" is +Inf`} {
		if e := got.Report.Errors[i]; e.Task != "b" || !strings.Contains(e.Reason, want) {
			t.Errorf("%v, want %s", e, want)
		}
	}
	for text, want := range map[string]string{
		`{"s": {"t": {"X": [[0]], "Y": [[1]], "outputs": ["a"]}}}`:                     `no output "size"; it has "a"`,
		`{"s": {"t": {"X": [[0]], "y": [1]}}}`:                                         `no output "size"; it has none`,
		`{"s": {"t": {"X": [[0]], "Y": [[1]], "outputs": ["size", "size"]}}}`:          `output 1 is "size", which is no name, or appears twice`,
		`{"s": {"t": {"X": [[0]], "Y": [[1]], "outputs": [""]}}}`:                      `output 0 is ""`,
		`{"s": {"t": {"X": [[0]], "Y": [[1]], "Y": [[1]], "outputs": ["size"]}}}`:      "the key appears twice",
		`{"s": {"t": {"X": [[0]], "Y": [[1]], "outputs": ["size"], "outputs": [""]}}}`: "the key appears twice",
		`{"s": {"t": {"X": [[0]], "Y": [1], "outputs": ["size", "a"]}}}`:               "row 0: Y: 1 values, want 2",
		`{"s": {"t": {"X": [[0], [1]], "Y": [[1]], "outputs": ["size"]}}}`:             "2 configurations but 1 values",
	} {
		_, err := history.HPOB{Value: "size"}.Read(strings.NewReader(text))
		if !errors.Is(err, cmbo.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A task's context becomes its Context: numbers, strings, switches, and what is null is left
// out. What cannot describe a task is refused with its name.
func TestHPOBContext(t *testing.T) {
	read := func(context string) ([]cmbo.Task, error) {
		got, err := history.HPOB{}.Read(strings.NewReader(`{"s": {"a": {"context": ` + context + `, "X": [[0], [1]], "y": [1, 2]}, "b": {"X": [[0]], "y": [1]}}}`))
		if err != nil {
			return nil, err
		}
		return got.Tasks, nil
	}
	tasks, err := read(`{"height": 720, "category": "Sports", "live": false, "rate": null, "a": NaN, "b": "NaN"}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := (cmbo.Context{"height": 720.0, "category": "Sports", "live": "false"}); !reflect.DeepEqual(tasks[0].Context, want) || tasks[1].Context != nil {
		t.Errorf("%v, %v", tasks[0].Context, tasks[1].Context)
	}
	for _, bad := range []string{`{"height": [1]}`, `{"": 1}`, `{"a": 1, "a": 2}`, `{"a": {}}`, `3`} {
		if _, err := read(bad); !errors.Is(err, cmbo.ErrCorrupt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{`{"memory": Infinity}`, `{"memory": "-Infinity"}`, `{"memory": 1e999}`} {
		if _, err := read(bad); !errors.Is(err, cmbo.ErrValue) || !strings.Contains(err.Error(), `descriptor "memory"`) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A small file that repeats a row millions of times, good or bad, does not fill the memory: rows are kept once.
func TestHPOBOfEqualRows(t *testing.T) {
	testutil.SkipRace(t, "one goroutine reads")
	const million = 1 << 20
	for _, unit := range []string{"[0],", "[2],", "[" + strings.Repeat("0,", 255) + "0],"} {
		n := min(million/2, 8*million/len(unit))
		var before, peak runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		last := &heapAtEnd{Reader: pack(t, `{"s":{"t":{"X":[`, unit, n, strings.TrimSuffix(unit, ",")+`],"y":[`), stats: &peak}
		if _, err := (history.HPOB{Name: "s", Policy: history.Skip}).Read(last); err == nil {
			t.Error("half a file is read")
		}
		if mb := (int64(peak.HeapAlloc) - int64(before.HeapAlloc)) >> 20; mb > 12 {
			t.Errorf("%d rows %.8s: %d MB", n, unit, mb)
		}
	}
}

// heapAtEnd looks at the heap once a reader has ended.
type heapAtEnd struct {
	io.Reader
	stats *runtime.MemStats
}

func (r *heapAtEnd) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		runtime.GC()
		runtime.ReadMemStats(r.stats)
	}
	return n, err
}

// TestHPOBManyOutputs: the time to read the names of outputs grows as their number does. Compared each
// with all before, those of these tasks take half a minute.
func TestHPOBManyOutputs(t *testing.T) {
	names := make([]string, 1<<14)
	for i := range names {
		names[i] = fmt.Sprintf("%q", fmt.Sprint(i))
	}
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, `,"t%d":{"outputs":[%s],"X":[[0.5]],"Y":[]}`, i, strings.Join(names, ","))
	}
	start := time.Now()
	_, err := history.HPOB{Value: "0", Policy: history.Skip}.Read(strings.NewReader(`{"s":{` + b.String()[1:] + `}}`))
	if spent := time.Since(start); !errors.Is(err, cmbo.ErrNoTasks) || spent > 10*time.Second {
		t.Errorf("%v; it took %v", err, spent)
	}
}

// once gives a text and, at its end, an error once.
type once struct {
	io.Reader
	err error
}

func (o *once) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	if err == io.EOF {
		err, o.err = o.err, io.EOF
	}
	return n, err
}

// TestReaderErrors: an error of the reader is that of the call, wherever in the text it arises, packed or
// not, also if the reader says it once and then that the text is at its end.
func TestReaderErrors(t *testing.T) {
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, `{"s":{"t":{"X":[[0.5]],"y":[[1]]}}}`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		text string
		read func(io.Reader) error
	}{
		"CSV":        {"x,value\n0,1", func(r io.Reader) error { _, err := history.CSV{Space: s}.Read(r); return err }},
		"JSON lines": {`{"x":0,"value":1}`, func(r io.Reader) error { _, err := history.JSONLines{Space: s}.Read(r); return err }},
		"Optuna": {study0 + trial0 + setParam(0, "x", "0.25", unit) + tell(0, "2"),
			func(r io.Reader) error { _, err := history.Optuna{}.Read(r); return err }},
		"Katib":         {trialJSON(`"t1"`, `"t2"`), func(r io.Reader) error { _, err := history.Katib{Space: s}.Read(r); return err }},
		"HPO-B":         {`{"s":{"t":{"X":[[0.5]],"y":[[1]]}}}`, func(r io.Reader) error { _, err := history.HPOB{}.Read(r); return err }},
		"HPO-B, packed": {packed.String(), func(r io.Reader) error { _, err := history.HPOB{}.Read(r); return err }},
	} {
		if err := tt.read(strings.NewReader(tt.text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := range len(tt.text) + 1 {
			if err := tt.read(&once{strings.NewReader(tt.text[:n]), broken}); err != broken && !(n == 1 && name == "HPO-B, packed") { // a byte of gzip is no JSON
				t.Fatalf("%s, after %d of %d bytes: %v", name, n, len(tt.text), err)
			}
		}
	}
	for n := 2; n < packed.Len(); n++ {
		if _, err := (history.HPOB{}).Read(bytes.NewReader(packed.Bytes()[:n])); !errors.Is(err, cmbo.ErrCorrupt) {
			t.Errorf("cut after %d of %d bytes: %v", n, packed.Len(), err)
		}
	}
}
