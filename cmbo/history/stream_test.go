package history_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// collect takes a sequence in.
func collect(seq iter.Seq2[cmbo.Task, error]) (tasks []cmbo.Task, err error) {
	for t, e := range seq {
		if e != nil {
			return tasks, e
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// streams are the formats that yield tasks.
func streams(s *cmbo.Space, p history.Policy, rows int) map[string]interface {
	Tasks(io.Reader, *history.Report) iter.Seq2[cmbo.Task, error]
	Read(io.Reader) (*history.Result, error)
	Write(io.Writer, ...cmbo.Task) error
} {
	l := history.Limits{Rows: rows}
	return map[string]interface {
		Tasks(io.Reader, *history.Report) iter.Seq2[cmbo.Task, error]
		Read(io.Reader) (*history.Result, error)
		Write(io.Writer, ...cmbo.Task) error
	}{
		"csv":   history.CSV{Space: s, Policy: p, Limits: l, Mapping: history.Mapping{Status: "status"}},
		"jsonl": history.JSONLines{Space: s, Policy: p, Limits: l},
	}
}

// TestTasksAreThoseOfRead: whatever room there is, the tasks are those that Read returns, bit for bit, and so is the report.
func TestTasksAreThoseOfRead(t *testing.T) {
	rng := testutil.RNG(t)
	s := spaceOf(t, cmbo.Float("x", -1e300, 1e300), cmbo.Categorical("kind", "a", "b, \"c\""))
	for range 6 {
		tasks := randomTasks(rng, s, 1+rng.IntN(40), 12)
		for i := range tasks {
			for range rng.IntN(3) {
				tasks[i].Failed = append(tasks[i].Failed, []float64{rng.NormFloat64(), 1})
			}
		}
		for name, f := range streams(s, history.Skip, 0) {
			var b bytes.Buffer
			if err := f.Write(&b, tasks...); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for _, rows := range []int{14, 30, 1 << 20} {
				f := streams(s, history.Skip, rows)[name]
				want := mustRead(t, f, strings.NewReader(text))
				var report history.Report
				got, err := collect(f.Tasks(strings.NewReader(text), &report))
				if err != nil || !sameBits(got, want.Tasks) {
					t.Fatalf("%s, %d rows: %d tasks of %d: %v", name, rows, len(got), len(want.Tasks), err)
				}
				if fmt.Sprint(report) != fmt.Sprint(want.Report) {
					t.Fatalf("%s: report %+v, want %+v", name, report, want.Report)
				}
			}
		}
	}
}

// table is a file of rows that are made as they are read, one task after the other.
type table struct {
	tasks, each int
	next        int
	left        []byte
}

func (n *table) Read(p []byte) (int, error) {
	for len(n.left) == 0 {
		switch {
		case n.next == 0:
			n.left = append(n.left, "task,x0,x1,x2,x3,x4,value\n"...)
		case n.next > n.tasks*n.each:
			return 0, io.EOF
		}
		for i := 0; i < 100 && n.next < n.tasks*n.each; i++ {
			x := uint64(n.next) * 0x9e3779b97f4a7c15 >> 40
			n.left = fmt.Appendf(n.left, "run-%07d,0.%d,0.%d,0.%d,0.%d,0.%d,%d\n", n.next/n.each, x&255, x>>8&255, x>>16&255, x>>4&255, x>>12&255, n.next)
			n.next++
		}
		if n.next == n.tasks*n.each {
			n.next++
		}
	}
	k := copy(p, n.left)
	n.left = n.left[k:]
	return k, nil
}

var tasksLong = flag.Int("tasks", 0, "number of tasks that TestTasksMemory streams; 2,000 if 0")

// TestTasksMemory bounds what is in memory while 50 rows a task pass through: beside
// what the reader holds before the first row, 64 bytes a task.
//
//	go test -run TestTasksMemory -timeout 2h -v ./cmbo/history -tasks 1000000
func TestTasksMemory(t *testing.T) {
	testutil.SkipRace(t, "it measures memory")
	tasks := 2000
	if *tasksLong > 0 {
		tasks = *tasksLong
	}
	s, err := cmbo.UnitCube(5)
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before, most, n := heap(), 0, 0
	var report history.Report
	for task, err := range (history.CSV{Space: s}).Tasks(&table{tasks: tasks, each: 50}, &report) {
		if err != nil {
			t.Fatal(err)
		}
		if len(task.X) != 50 {
			t.Fatalf("task %q has %d rows", task.ID, len(task.X))
		}
		if n++; n%(tasks/20) == 0 {
			most = max(most, heap()-before)
		}
	}
	budget := tasks*64 + 1<<19
	t.Logf("%d tasks, %.1f MB in use at most, budget %.1f", n, float64(most)/1e6, float64(budget)/1e6)
	if n != tasks || report.Accepted != 50*tasks {
		t.Fatalf("%d tasks, %+v", n, report)
	}
	if most > budget {
		t.Errorf("%d bytes, budget %d", most, budget)
	}
}

func TestTasksRefusals(t *testing.T) {
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	head := "task,x,value\n"
	for _, tt := range []struct {
		name, text string
		rows       int
		policy     history.Policy
		tasks      int // that come before the error
		want       error
		reason     string
	}{
		{name: "apart", text: "a,0,1\nb,0,1\na,1,1\n", tasks: 2, want: cmbo.ErrTask, reason: `line 4: task "a": rows of other tasks lie between`},
		{name: "apart by white space", text: "a,0,1\nb,0,1\n a ,1,1\n", tasks: 2, want: cmbo.ErrTask, reason: `task "a": rows of other`},
		{name: "a bad row of another task", text: "a,0,1\nb,0,?\na,1,1\n", policy: history.Skip, tasks: 1},
		{name: "bad", text: "a,0,1\na,2,1\nb,0,1\n", want: cmbo.ErrOutOfSpace, reason: `line 3: task "a"`},
		{name: "long", text: "a,0,1\na,.1,1\na,.2,1\n", rows: 2, want: history.ErrLimit, reason: `line 4: task "a": the task has more rows; the limit is 2, which Limits.Rows sets`},
		{name: "no rows", want: cmbo.ErrNoTasks},
		{name: "no values", text: "a,0,?\n", policy: history.Skip, want: cmbo.ErrNoTasks},
	} {
		got, err := collect(history.CSV{Space: s, Policy: tt.policy, Limits: history.Limits{Rows: tt.rows}}.Tasks(strings.NewReader(head+tt.text), nil))
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.reason) || tt.want == nil && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if len(got) != tt.tasks {
			t.Errorf("%s: %d tasks, want %d", tt.name, len(got), tt.tasks)
		}
	}
	for _, err := range []error{
		second(collect(history.CSV{}.Tasks(nil, nil))),
		second(collect(history.JSONLines{}.Tasks(nil, nil))),
	} {
		if !errors.Is(err, cmbo.ErrSpace) {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestTasksStops: whoever has enough ends the reading.
func TestTasksStops(t *testing.T) {
	s, err := cmbo.UnitCube(5)
	if err != nil {
		t.Fatal(err)
	}
	in, n := &table{tasks: 100, each: 3}, 0
	for _, err := range (history.CSV{Space: s}).Tasks(in, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
	}
	if n != 2 || in.next > 299 {
		t.Errorf("%d tasks, %d rows", n, in.next)
	}
}

// TestOneTaskOneID: what differs in white space or in how a number is written is one
// task, and text that only looks alike is not.
func TestOneTaskOneID(t *testing.T) {
	s := spaceOf(t, cmbo.Float("x", 0, 1))
	ids := func(r *history.Result, err error) (out []string) {
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range r.Tasks {
			out = append(out, task.ID)
		}
		return out
	}
	csv := "task,x,value\nA,0,1\nA ,.1,1\n\tA,.2,1\n1.10,0,1\n1.1,0,1\n"
	if got := fmt.Sprint(ids(history.CSV{Space: s}.Read(strings.NewReader(csv)))); got != "[A 1.10 1.1]" {
		t.Error(got)
	}
	var lines strings.Builder
	for i, id := range []string{`1`, `1.0`, `1e0`, `"1"`, `" 1"`, `"1.0"`, `-0`, `0`, `1.50`, `1.5`, `9007199254740993`, `9007199254740992`, `1e400`} {
		fmt.Fprintf(&lines, `{"task": %s, "x": 0, "value": %d}`+"\n", id, i)
	}
	if got := fmt.Sprint(ids(history.JSONLines{Space: s}.Read(strings.NewReader(lines.String())))); got != "[1 1.0 0 1.5 9007199254740993 9007199254740992 1e400]" {
		t.Error(got)
	}
	for _, f := range streams(s, history.Fail, 0) {
		if err := f.Write(io.Discard, cmbo.Task{ID: "A ", X: [][]float64{{0}}, Y: []float64{1}}); !errors.Is(err, cmbo.ErrTask) {
			t.Error(err)
		}
	}
}

// TestWriteTurnsRows: rows recorded with the parameters in another order are written under
// their names.
func TestWriteTurnsRows(t *testing.T) {
	a, b := cmbo.Float("a", 0, 1), cmbo.Float("b", 0, 1).WithStep(0.1)
	s := spaceOf(t, a, b)
	tenths := 0.1
	tasks := []cmbo.Task{
		{ID: "turned", Params: []cmbo.Param{b, a}, X: [][]float64{{0.5, 0.25}}, Y: []float64{1}, Failed: [][]float64{{0.2, 0.75}}},
		{ID: "as it is", Params: []cmbo.Param{a, b}, X: [][]float64{{0.25, tenths + 0.2}}, Y: []float64{2}},
	}
	for name, f := range streams(s, history.Fail, 0) {
		var out bytes.Buffer
		if err := f.Write(&out, tasks...); err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, f, &out)
		if x := fmt.Sprint(got.Tasks[0].X, got.Tasks[0].Failed, got.Tasks[1].X); x != "[[0.25 0.5]] [[0.75 0.2]] [[0.25 0.30000000000000004]]" {
			t.Errorf("%s: %s", name, x)
		}
	}
}

// BenchmarkTasks measures the reading a row at a time.
func BenchmarkTasks(b *testing.B) {
	s, err := cmbo.UnitCube(5)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(&table{tasks: 2000, each: 50})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := collect(history.CSV{Space: s}.Tasks(bytes.NewReader(text), nil)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBadRowsAreNotHeld: the errors of a report hold their words, and not the rows that these are part of.
func TestBadRowsAreNotHeld(t *testing.T) {
	testutil.SkipRace(t, "it measures memory")
	s, err := cmbo.UnitCube(1)
	if err != nil {
		t.Fatal(err)
	}
	row := []byte("a,0.5,bad," + strings.Repeat("x", 1<<16) + "\n")
	input := []io.Reader{strings.NewReader("task,x0,value,log\na,0.5,1,\n")}
	for range history.MaxErrors {
		input = append(input, bytes.NewReader(row))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, err := history.CSV{Space: s, Policy: history.Skip}.Read(io.MultiReader(input...))
	if err != nil || len(got.Report.Errors) != history.MaxErrors {
		t.Fatalf("%+v, %v", got, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 2<<20 {
		t.Errorf("%d bad rows hold %d bytes", history.MaxErrors, held)
	}
	runtime.KeepAlive(got)
}

// TestStatusWithSpaces: white space around a status does not count in the description either.
func TestStatusWithSpaces(t *testing.T) {
	s, err := cmbo.UnitCube(1)
	if err != nil {
		t.Fatal(err)
	}
	form := history.CSV{Space: s, Mapping: history.Mapping{Done: []string{"good "}, Failed: []string{" lost"}}}
	var b bytes.Buffer
	want := cmbo.Task{ID: "a", X: [][]float64{{0.1}}, Y: []float64{1}, Failed: [][]float64{{0.2}}}
	if err := form.Write(&b, want); err != nil {
		t.Fatal(err)
	}
	if got, err := form.Read(&b); err != nil || !sameBits(got.Tasks, []cmbo.Task{want}) {
		t.Errorf("%+v, %v", got, err)
	}
}
