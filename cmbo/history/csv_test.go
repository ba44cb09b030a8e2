package history_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

func TestCSVRead(t *testing.T) {
	want := []cmbo.Task{
		{ID: "a", X: [][]float64{{0.01, 3, 0, 1}, {1, 12, 2, 0}}, Y: []float64{0.5, -2}, NoiseVariance: []float64{0, 0.25}},
		{ID: "b", X: [][]float64{{1e-5, 1, 1, 1}}, Y: []float64{7}},
	}
	tests := []struct {
		name, text string
		format     history.CSV
	}{
		{name: "plain", text: "task,lr,depth,kernel,bias,value,noise_variance\na,0.01,3,rbf,true,0.5,\nb,1e-5,1,poly,1,7,0\na,1,12,16,false,-2,0.25\n"},
		{name: "mark, CR LF, no last end", text: "\ufefftask,lr,depth,kernel,bias,value,noise_variance\r\na,0.01,3,rbf,true,0.5,\r\nb,1e-5,1,poly,1,7,0\r\na,1,12,16,false,-2,0.25"},
		{name: "order and more columns", text: "when,value,bias,,kernel,depth,lr,noise_variance,,task\n1,0.5,TRUE,x,rbf,3,0.01,,y,a\n2,7,True,,poly,1,1e-5,,,b\n3,-2,False,,16,12,1,0.25,,a\n"},
		{name: "spaces and fractions", text: "task, lr,\tdepth, kernel, bias, value, noise_variance\na, 0.010, 3.0, rbf , 1.0, +5e-1, \nb, 0.00001, 1, poly, true, 7, \na, 1.000, 1.2e1, 16, 0,-2.0, .25\n"},
		{name: "quotes and empty lines", text: "\n\"task\",\"lr\",\"depth\",kernel,bias,value,noise_variance\n\na,\"0.01\",\"3\",\"rbf\",true,0.5,\n\nb,1e-5,1,poly,1,\"\n7\",0\na,1,12,16,false,-2,0.25\n\n"},
		{
			name: "names", text: "study;lr;depth;kernel;bias;loss;sd2;task;value\na;0.01;3;rbf;true;0.5;;?;?\nb;1e-5;1;poly;1;7;;?;?\na;1;12;16;false;-2;0.25;?;?\n",
			format: history.CSV{Value: "loss", Task: "study", Noise: "sd2", Comma: ';'},
		},
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

func TestCSVReadOneTask(t *testing.T) {
	s := small(t)
	text := "lr,depth,kernel,bias,value,task,noise_variance\n0.1,3,rbf,true,1,x,-1\n"
	for _, tt := range []struct {
		format history.CSV
		id     string
	}{
		{history.CSV{Space: s, Task: "-", Noise: "-"}, "task"},
		{history.CSV{Space: s, Task: "-", Noise: "-", TaskID: "mine"}, "mine"},
	} {
		got := mustRead(t, tt.format, strings.NewReader(text))
		if len(got.Tasks) != 1 || got.Tasks[0].ID != tt.id || got.Tasks[0].NoiseVariance != nil {
			t.Errorf("have %v, want one task %q", got.Tasks, tt.id)
		}
	}
}

func TestCSVBadRows(t *testing.T) {
	const head = "task,lr,depth,kernel,bias,value,noise_variance\n"
	long := strings.Repeat("ä", 60)
	tests := []struct {
		row, field, value, reason string
		sentinel                  error
	}{
		{"a,0.1,3,rbf,true,1", "", "", "6 fields; the header has 7", cmbo.ErrCorrupt},
		{"a,0.1,3,rbf,true,1,,", "", "", "8 fields; the header has 7", cmbo.ErrCorrupt},
		{"   ", "", "", "1 fields", cmbo.ErrCorrupt},
		{",0.1,3,rbf,true,1,", "task", "", "no task ID", cmbo.ErrTask},
		{"\xff,0.1,3,rbf,true,1,", "task", "", "not UTF-8", cmbo.ErrTask},
		{"a,,3,rbf,true,1,", "lr", "", "no value", cmbo.ErrOutOfSpace},
		{"a,0.1.2,3,rbf,true,1,", "lr", "0.1.2", "not a number", cmbo.ErrOutOfSpace},
		{"a,NaN,3,rbf,true,1,", "lr", "NaN", "not finite", cmbo.ErrValue},
		{"a,-inf,3,rbf,true,1,", "lr", "-inf", "not finite", cmbo.ErrValue},
		{"a,1e999,3,rbf,true,1,", "lr", "1e999", "too large", cmbo.ErrValue},
		{"a,1.5,3,rbf,true,1,", "lr", "1.5", "1.5 is not in [1e-05, 1]", cmbo.ErrOutOfSpace},
		{"a,0.1,3.5,rbf,true,1,", "depth", "3.5", "not a whole number", cmbo.ErrOutOfSpace},
		{"a,0.1,13,rbf,true,1,", "depth", "13", "13 is not in [1, 12]", cmbo.ErrOutOfSpace},
		{"a,0.1,3,RBF,true,1,", "kernel", "RBF", `not one of "rbf", "poly", "16"`, cmbo.ErrOutOfSpace},
		{"a,0.1,3,,true,1,", "kernel", "", "no value", cmbo.ErrOutOfSpace},
		{"a,0.1,3," + long + ",true,1,", "kernel", strings.Repeat("ä", 30) + "...", "not one of", cmbo.ErrOutOfSpace},
		{"a,0.1,3,rbf,yes,1,", "bias", "yes", "not true, false, 0 or 1", cmbo.ErrOutOfSpace},
		{"a,0.1,3,rbf,2,1,", "bias", "2", "not true, false, 0 or 1", cmbo.ErrOutOfSpace},
		{"a,0.1,3,rbf,,1,", "bias", "", "no value", cmbo.ErrOutOfSpace},
		{"a,0.1,3,rbf,true,,", "value", "", "no value", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,failed,", "value", "failed", "not a number", cmbo.ErrValue},
		{"a,0x1p-1,3,rbf,true,1,", "lr", "0x1p-1", "not a decimal number", cmbo.ErrOutOfSpace},
		{"a,0.1,1_0,rbf,true,1,", "depth", "1_0", "not a decimal number", cmbo.ErrOutOfSpace},
		{"a,0.1,3,rbf,0x1p0,1,", "bias", "0x1p0", "not true, false, 0 or 1", cmbo.ErrOutOfSpace},
		{"a,0.1,3,rbf,true,1_0.5,", "value", "1_0.5", "not a decimal number", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,0x1p9999,", "value", "0x1p9999", "not a decimal number", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,1,0X2P-3", "noise_variance", "0X2P-3", "not a decimal number", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,nan,", "value", "nan", "not finite", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,+Inf,", "value", "+Inf", "not finite", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,1.1e150,", "value", "1.1e150", "beyond ±1e+150", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,1,-1e-9", "noise_variance", "-1e-9", "in [0, 1e+150]", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,1,NaN", "noise_variance", "NaN", "not finite", cmbo.ErrValue},
		{"a,0.1,3,rbf,true,1,x", "noise_variance", "x", "not a number", cmbo.ErrValue},
		{"a,0.1,3,r\"bf,true,1,", "", "", "character 10: bare \"", cmbo.ErrCorrupt},
		{"a,0.1,3,\"r\"bf,true,1,", "", "", "character 11: extraneous", cmbo.ErrCorrupt},
	}
	const good = "b,0.1,3,rbf,true,1,\n"
	s := small(t)
	var all strings.Builder
	all.WriteString(head + good)
	for i, tt := range tests {
		text := head + good + tt.row + "\n" + good
		_, err := history.CSV{Space: s}.Read(strings.NewReader(text))
		mustBeRow(t, err, 3, tt.field, tt.value, tt.sentinel, tt.reason)
		if tt.field != "task" && tt.field != "" {
			var e *history.RowError
			if errors.As(err, &e); e.Task != "a" {
				t.Errorf("row %d: task %q", i, e.Task)
			}
		}
		all.WriteString(tt.row + "\n" + good)
	}
	got := mustRead(t, history.CSV{Space: s, Policy: history.Skip}, strings.NewReader(all.String()))
	mustBeLearnable(t, got)
	if got.Report.Skipped != len(tests) || got.Report.Accepted != len(tests)+1 {
		t.Fatalf("%d rows skipped, want %d; %d accepted", got.Report.Skipped, len(tests), got.Report.Accepted)
	}
	for i, tt := range tests {
		mustBeRow(t, got.Report.Errors[i], 3+2*i, tt.field, tt.value, tt.sentinel, tt.reason)
	}
}

func TestCSVFatal(t *testing.T) {
	const head = "task,lr,depth,kernel,bias,value\n"
	const good = "a,0.1,3,rbf,true,1\n"
	tests := []struct {
		name, text string
		line       int
		field      string
		reason     string
		sentinel   error
	}{
		{"empty", "", 0, "", "the file is empty", cmbo.ErrNoTasks},
		{"only a mark", "\ufeff", 0, "", "the file is empty", cmbo.ErrNoTasks},
		{"empty lines", "\n\r\n\n", 0, "", "the file is empty", cmbo.ErrNoTasks},
		{"only a header", head, 0, "", "there are no rows", cmbo.ErrNoTasks},
		{"no parameter", "\nlr,kernel,value\n" + good, 2, "", `the header lacks "depth", "bias"; it has "lr", "kernel", "value"`, cmbo.ErrCorrupt},
		{"no value", "lr,depth,kernel,bias\n" + good, 1, "", `the header lacks "value"`, cmbo.ErrCorrupt},
		{"other separator", "lr;depth;kernel;bias;value\n", 1, "", `it has "lr;depth;kernel;bias;value"; CSV.Comma says what separates`, cmbo.ErrCorrupt},
		{"other separator of quoted names", "\"lr\";\"depth\";\"value\"\n", 1, "", "quoted-field; CSV.Comma says what separates", cmbo.ErrCorrupt},
		{"column twice", "lr,depth,kernel,lr,bias,value\n" + good, 1, "lr", "columns 1 and 4", cmbo.ErrCorrupt},
		{"column twice but for spaces", "lr,depth,kernel,bias,value, lr \n" + good, 1, "lr", "columns 1 and 6", cmbo.ErrCorrupt},
		{"other column twice", "x,lr,depth,kernel,bias,value,x\n" + good, 1, "x", "columns 1 and 7", cmbo.ErrCorrupt},
		{"header quote", "lr,de\"pth\n" + good, 1, "", "character 6", cmbo.ErrCorrupt},
		{"open quote", head + good + "a,0.1,3,\"rbf,true,1\n" + good + good, 3, "", "until line", cmbo.ErrCorrupt},
		{"quote closed elsewhere", head + good + "a,0.1,3,\"rbf,true,1\n" + good + "a,0.1,3,\"rbf,true,1\n" + good, 3, "", "until line 5", cmbo.ErrCorrupt},
		{"UTF-16", "\xff\xfel\x00r\x00", 1, "", "UTF-16", cmbo.ErrCorrupt},
		{"UTF-16, the other way", "\xfe\xff\x00l\x00r", 1, "", "UTF-16", cmbo.ErrCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range []history.Policy{history.Fail, history.Skip} {
				_, err := history.CSV{Space: small(t), Policy: p}.Read(strings.NewReader(tt.text))
				mustBeRow(t, err, tt.line, tt.field, "", tt.sentinel, tt.reason)
			}
		})
	}
	t.Run("all rows bad", func(t *testing.T) {
		_, err := history.CSV{Space: small(t), Policy: history.Skip}.Read(strings.NewReader(head + "a,9,3,rbf,true,1\na,0.1,3,rbf,true,\n"))
		mustBeRow(t, err, 2, "lr", "9", cmbo.ErrNoTasks, "9 is not in")
		if !strings.Contains(err.Error(), "rows all bad: 2") {
			t.Error(err)
		}
	})
	t.Run("reader fails", func(t *testing.T) {
		broken := errors.New("broken pipe")
		_, err := history.CSV{Space: small(t), Policy: history.Skip}.Read(io.MultiReader(strings.NewReader(head+good), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

func TestCSVSettings(t *testing.T) {
	s := small(t)
	awkward := spaceOf(t, cmbo.Float("value", 0, 1), cmbo.Float("noise_variance", 0, 1))
	for i, tt := range []struct {
		format history.CSV
		want   error
	}{
		{history.CSV{}, cmbo.ErrSpace},
		{history.CSV{Space: s, Policy: 2}, cmbo.ErrOption},
		{history.CSV{Space: s, Limits: history.Limits{Line: -1}}, cmbo.ErrOption},
		{history.CSV{Space: s, Comma: '"'}, cmbo.ErrOption},
		{history.CSV{Space: s, Comma: '\n'}, cmbo.ErrOption},
		{history.CSV{Space: s, Comma: -1}, cmbo.ErrOption},
		{history.CSV{Space: s, Value: "task"}, cmbo.ErrOption},
		{history.CSV{Space: s, Task: "noise_variance"}, cmbo.ErrOption},
		{history.CSV{Space: s, Value: "a\r\nb"}, cmbo.ErrOption},
		{history.CSV{Space: awkward}, cmbo.ErrOption},
		{history.CSV{Space: awkward, Value: "y"}, cmbo.ErrOption},
		{history.CSV{Space: s, Task: "study"}, cmbo.ErrCorrupt}, // named, so it must be there
		{history.CSV{Space: s, Noise: "sd"}, cmbo.ErrCorrupt},
		{history.CSV{Space: s}, nil},
	} {
		_, err := tt.format.Read(strings.NewReader("lr,depth,kernel,bias,value\n0.1,3,rbf,true,1\n"))
		if !errors.Is(err, tt.want) {
			t.Errorf("%d: %v, want %v", i, err, tt.want)
		}
	}
	got, err := history.CSV{Space: awkward, Value: "y", Noise: "-"}.Read(strings.NewReader("value,noise_variance,y\n0.25,0.5,3\n"))
	if err != nil || !sameBits(got.Tasks, []cmbo.Task{{ID: "task", X: [][]float64{{0.25, 0.5}}, Y: []float64{3}}}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestCSVLongestLine holds the limit to the byte, and shows that no more than it is
// read of a row without an end.
func TestCSVLongestLine(t *testing.T) {
	s := small(t)
	const head = "lr,depth,kernel,bias,value,note\n"
	for _, most := range []int{len(head), 100, 4095, 4096, 4097, 20000} {
		for _, extra := range []int{-1, 0, 1} {
			row := "0.1,3,rbf,true,1,"
			row += strings.Repeat("n", max(0, most+extra-len(row)-1)) + "\n"
			text := head + "0.1,3,rbf,true,1,\n" + row + "0.1,3,rbf,true,1,\n"
			got, err := history.CSV{Space: s, Limits: history.Limits{Line: most}, Policy: history.Skip}.Read(strings.NewReader(text))
			if len(row) > most {
				mustBeRow(t, err, 0, "", "", cmbo.ErrCorrupt, fmt.Sprintf("after line 2: a row has more bytes, or a quote that is not closed; the limit is %d, which Limits.Line sets", most))
			} else if err != nil || got.Report.Accepted != 3 {
				t.Errorf("limit %d, row of %d: %v", most, len(row), err)
			}
		}
		for _, row := range [][2]string{{"", "x"}, {"", ","}, {"\"", "x"}, {"\"", "\"\""}, {"\"", "x\n"}} {
			r := &endless{text: row[1]}
			_, err := history.CSV{Space: s, Limits: history.Limits{Line: most, Columns: 1 << 20}, Policy: history.Skip}.Read(io.MultiReader(strings.NewReader(head+row[0]), r))
			mustBeRow(t, err, 0, "", "", cmbo.ErrCorrupt, "Limits.Line sets")
			if r.read > most+2 {
				t.Errorf("limit %d: %d bytes were read", most, r.read)
			}
		}
	}
}

// TestCSVShortLines: limits below what is looked at to tell a text are those of rows too.
func TestCSVShortLines(t *testing.T) {
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	for _, mark := range []string{"", "\ufeff"} {
		for most := range 20 {
			_, err := history.CSV{Space: s, Limits: history.Limits{Line: most + 1}}.Read(strings.NewReader(mark + "x,value\n" + strings.Repeat("0,1\n", 9)))
			if short := most+1 < len("x,value\n"); errors.Is(err, history.ErrLimit) != short || !short && err != nil {
				t.Errorf("limit %d: %v", most+1, err)
			}
		}
	}
}

// TestCSVManyBadRows holds the report to its size.
func TestCSVManyBadRows(t *testing.T) {
	rows := 3 * history.MaxErrors
	text := "lr,depth,kernel,bias,value\n0.1,3,rbf,true,1\n" + strings.Repeat("0.1,3,rbf,true,?\n", rows)
	got := mustRead(t, history.CSV{Space: small(t), Policy: history.Skip}, strings.NewReader(text))
	if got.Report.Skipped != rows || len(got.Report.Errors) != history.MaxErrors || got.Report.Errors[history.MaxErrors-1].Line != history.MaxErrors+2 {
		t.Errorf("%d skipped, %d kept", got.Report.Skipped, len(got.Report.Errors))
	}
}

func TestCSVRoundTrip(t *testing.T) {
	rng := testutil.RNG(t)
	s := mixed(t)
	for i := range 60 {
		want := randomTasks(rng, s, 1+rng.IntN(12), 8)
		f := history.CSV{Space: s, Comma: []rune{0, ';', '\t', '.', ' ', 'e', '→'}[i%7]}
		if i%3 == 1 {
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
		mustBeLearnable(t, got)
		if err := f.Write(&b, got.Tasks...); err != nil || b.String() != first {
			t.Fatalf("written again: %v\n%s\nbefore:\n%s", err, b.String(), first)
		}
	}
}

// TestCSVWritePlain reads what is written with another reader.
func TestCSVWritePlain(t *testing.T) {
	task := cmbo.Task{ID: "a, b", X: [][]float64{{0.1, 3, 2, 1}, {1e-5, 12, 0, 0}}, Y: []float64{0.30000000000000004, -1e-7}, NoiseVariance: []float64{0, 4}}
	var b bytes.Buffer
	if err := (history.CSV{Space: small(t)}).Write(&b, task); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"task", "lr", "depth", "kernel", "bias", "value", "noise_variance"},
		{"a, b", "0.1", "3", "16", "true", "0.30000000000000004", ""},
		{"a, b", "1e-05", "12", "rbf", "false", "-1e-07", "4"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("have %q, want %q", got, want)
	}
}

// TestWriteErrors is for both formats that tasks are written in.
func TestWriteErrors(t *testing.T) {
	s := small(t)
	x := []float64{0.1, 3, 2, 1}
	good := cmbo.Task{ID: "a", X: [][]float64{x}, Y: []float64{1}}
	with := func(f func(*cmbo.Task)) cmbo.Task {
		c := cmbo.Task{ID: "a", X: [][]float64{x, x}, Y: []float64{1, 2}}
		f(&c)
		return c
	}
	odd := func(p cmbo.Param) *cmbo.Space {
		s := spaceOf(t, p)
		return s
	}
	tests := []struct {
		name  string
		tasks []cmbo.Task
		space *cmbo.Space
		task  string
		want  error
		row   int
	}{
		{"none", nil, s, "", cmbo.ErrNoTasks, -2},
		{"no ID", []cmbo.Task{good, {}}, s, "", cmbo.ErrTask, 1},
		{"ID twice", []cmbo.Task{good, good}, s, "", cmbo.ErrTask, -1},
		{"ID not UTF-8", []cmbo.Task{with(func(t *cmbo.Task) { t.ID = "\xff" })}, s, "", cmbo.ErrTask, -1},
		{"ID with CR LF", []cmbo.Task{with(func(t *cmbo.Task) { t.ID = "a\r\nb" })}, s, "", cmbo.ErrTask, -1},
		{"no points", []cmbo.Task{{ID: "a"}}, s, "", cmbo.ErrTask, -1},
		{"values", []cmbo.Task{with(func(t *cmbo.Task) { t.Y = t.Y[:1] })}, s, "", cmbo.ErrDimension, -1},
		{"variances", []cmbo.Task{with(func(t *cmbo.Task) { t.NoiseVariance = []float64{1} })}, s, "", cmbo.ErrDimension, -1},
		{"short row", []cmbo.Task{with(func(t *cmbo.Task) { t.X[1] = x[:2] })}, s, "", cmbo.ErrDimension, 1},
		{"outside", []cmbo.Task{with(func(t *cmbo.Task) { t.X[1] = []float64{2, 3, 2, 1} })}, s, "", cmbo.ErrOutOfSpace, 1},
		{"NaN", []cmbo.Task{with(func(t *cmbo.Task) { t.Y[1] = math.NaN() })}, s, "", cmbo.ErrValue, 1},
		{"large", []cmbo.Task{with(func(t *cmbo.Task) { t.Y[1] = 2e150 })}, s, "", cmbo.ErrValue, 1},
		{"negative variance", []cmbo.Task{with(func(t *cmbo.Task) { t.NoiseVariance = []float64{1, -1} })}, s, "", cmbo.ErrValue, 1},
		{"two for one", []cmbo.Task{good, with(func(t *cmbo.Task) { t.ID = "b" })}, s, "-", cmbo.ErrTask, -2},
		{"no space", []cmbo.Task{good}, nil, "", cmbo.ErrSpace, -2},
		{"name with CR LF", []cmbo.Task{{ID: "a", X: [][]float64{{0}}, Y: []float64{1}}}, odd(cmbo.Float("a\r\nb", 0, 1)), "", cmbo.ErrSpace, -2},
		{"name with a mark", []cmbo.Task{{ID: "a", X: [][]float64{{0}}, Y: []float64{1}}}, odd(cmbo.Float("\ufeffx", 0, 1)), "", cmbo.ErrSpace, -2},
		{"descriptor with CR LF", []cmbo.Task{with(func(t *cmbo.Task) { t.Context = cmbo.Context{"a": "x\r\ny"} })}, s, "", cmbo.ErrOption, -2},
		{"descriptor not UTF-8", []cmbo.Task{with(func(t *cmbo.Task) { t.Context = cmbo.Context{"a": "x\xff"} })}, s, "", cmbo.ErrTask, -2},
		{"choice with CR LF", []cmbo.Task{{ID: "a", X: [][]float64{{0}}, Y: []float64{1}}}, odd(cmbo.Categorical("c", "a\r\nb")), "", cmbo.ErrSpace, -2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for format, write := range map[string]func(io.Writer, ...cmbo.Task) error{
				"CSV":       history.CSV{Space: tt.space, Task: tt.task}.Write,
				"JSONLines": history.JSONLines{Space: tt.space, Task: tt.task}.Write,
			} {
				var b bytes.Buffer
				err := write(&b, tt.tasks...)
				if !errors.Is(err, tt.want) || b.Len() > 0 {
					t.Errorf("%s: %v, want %v; %d bytes written", format, err, tt.want, b.Len())
				}
				var de *cmbo.DataError
				if tt.row > -2 && (!errors.As(err, &de) || de.Row != tt.row) {
					t.Errorf("%s: %v has no row %d", format, err, tt.row)
				}
			}
		})
	}
	full := errors.New("disk full")
	many := make([]cmbo.Task, 200)
	for i := range many {
		many[i] = with(func(t *cmbo.Task) { t.ID = fmt.Sprintf("%0100d", i) })
	}
	for left := range 3 {
		w := &failing{left: left * 5000, err: full}
		if err := (history.CSV{Space: s}).Write(w, many...); !errors.Is(err, full) {
			t.Errorf("CSV: %v", err)
		}
		w.left = left * 5000
		if err := (history.JSONLines{Space: s}).Write(w, many...); !errors.Is(err, full) {
			t.Errorf("JSONLines: %v", err)
		}
	}
}

// failing is a writer that takes so many bytes.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.left {
		return 0, f.err
	}
	f.left -= len(p)
	return len(p), nil
}

// TestNilReaders: what is nil is said to be.
func TestNilReaders(t *testing.T) {
	s := small(t)
	c, j := history.CSV{Space: s}, history.JSONLines{Space: s}
	for name, read := range map[string]func() error{
		"CSV": func() error { _, err := c.Read(nil); return err }, "JSON lines": func() error { _, err := j.Read(nil); return err },
		"Optuna": func() error { _, err := history.Optuna{Space: s}.Read(nil); return err },
		"Katib":  func() error { _, err := history.Katib{Space: s}.Read(nil); return err },
		"HPO-B":  func() error { _, err := history.HPOB{}.Read(nil); return err }, "names": func() error { _, err := history.HPOB{}.Names(nil); return err },
		"tasks": func() error {
			for _, err := range c.Tasks(nil, nil) {
				return err
			}
			return nil
		},
		"CSV to nowhere": func() error { return c.Write(nil) }, "JSON lines to nowhere": func() error { return j.Write(nil) },
	} {
		if err := read(); !errors.Is(err, cmbo.ErrOption) || !strings.Contains(err.Error(), "a nil io.") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
