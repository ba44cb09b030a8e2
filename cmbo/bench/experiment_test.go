package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// gridTable is a toy table whose tasks share their configurations.
func gridTable(tasks, rows int) *Table {
	t := toyTable(tasks, rows)
	t.Space = "grid"
	for j := range t.Tasks {
		t.Tasks[j].X = t.Tasks[0].X
		for k, x := range t.Tasks[j].X {
			t.Tasks[j].Y[k] = x[0] - x[1]*float64(j%3)
		}
	}
	return t
}

// smallProtocol is a few runs of methods of each kind.
func smallProtocol() Protocol {
	p, _ := FindProtocol("paper")
	p.Name, p.Splits, p.SourceRows, p.Targets, p.Initial, p.Repeats, p.Budget = "small", 2, 8, 2, 3, 2, 4
	p.Methods = []string{"Random", "GP", "TAF-R", "RM-GP-UCB", "WssClus_WssCMP", "JefClus_WssCMP", "cm-BO"}
	p.Acquisitions = []string{"UCB(3)", "EI"}
	p.Clusters = [2]int{2, 3}
	if testing.Short() {
		p.Methods = slices.DeleteFunc(p.Methods, func(m string) bool { return m == "JefClus_WssCMP" }) // most of the time
	}
	return p
}

func smallTables() []*Table { return []*Table{toyTable(8, 20), gridTable(9, 16)} }

// smallRuns is the number of runs of smallProtocol on smallTables: on two tables,
// in two splits, twice, and on one target (15 % of 8 or 9 tasks), once Random,
// TAF-R with EI, RM-GP-UCB with UCB, and the other methods with both.
func smallRuns() int { return 2 * 2 * 2 * (1 + 1 + 1 + (len(smallProtocol().Methods)-3)*2) }

func runSmall(t *testing.T, dir string, workers int) *Outcome {
	t.Helper()
	e := &Experiment{Protocol: smallProtocol(), Workers: workers}
	out, err := e.Run(context.Background(), smallTables(), dir)
	require.NoError(t, err)
	require.Empty(t, out.Failures)
	require.Equal(t, smallRuns(), out.Total)
	require.Equal(t, smallRuns(), out.Done)
	return out
}

// finished returns the files of the experiment that runSmall makes, which is made once.
var finished = sync.OnceValues(func() (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "finished")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := (&Experiment{Protocol: smallProtocol(), Workers: 2}).Run(context.Background(), smallTables(), dir); err != nil {
		return nil, err
	}
	files = make(map[string][]byte)
	for _, name := range []string{settingsFile, runsFile} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// finishedFolder returns a folder of its own with the experiment that runSmall makes.
func finishedFolder(t *testing.T) string {
	t.Helper()
	files, err := finished()
	require.NoError(t, err)
	dir := t.TempDir()
	for name, b := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return dir
}

// sameFolder holds the files of two folders against each other.
func sameFolder(t *testing.T, want, got string) {
	t.Helper()
	for _, name := range []string{settingsFile, runsFile} {
		a, err := os.ReadFile(filepath.Join(want, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), "%s differs", name)
	}
	entries, err := os.ReadDir(got)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{settingsFile, runsFile}, names)
}

func TestExperimentWorkers(t *testing.T) {
	one, four := t.TempDir(), t.TempDir()
	runSmall(t, one, 1)
	runSmall(t, four, 4)
	sameFolder(t, one, four)

	records, err := ReadRecords(one)
	require.NoError(t, err)
	require.Len(t, records, smallRuns())

	e := &Experiment{Protocol: smallProtocol()}
	out, err := e.Run(context.Background(), smallTables(), "")
	require.NoError(t, err)
	require.Equal(t, records, out.Records, "the same without a folder")
	again := runSmall(t, one, 2)
	require.Equal(t, smallRuns(), again.Known)
	sameFolder(t, four, one)
}

// TestRecordsAreTrue follows the rows of each run through the table.
func TestRecordsAreTrue(t *testing.T) {
	testutil.SkipRace(t, "TestExperimentWorkers has its goroutines")
	p, tables := smallProtocol(), smallTables()
	p.Splits, p.Repeats = 1, 1
	if testing.Short() {
		tables = tables[1:]
	}
	for _, m := range Methods() {
		if !slices.Contains(p.Methods, m.Name) {
			p.Methods = append(p.Methods, m.Name)
		}
	}
	out, err := (&Experiment{Protocol: p}).Run(context.Background(), tables, "")
	require.NoError(t, err)
	require.Empty(t, out.Failures)
	type place struct {
		space, task   string
		split, repeat int
	}
	initial := make(map[place][]int)
	methods := make(map[string]bool)
	predicted := make(map[string]string)
	for i := range out.Records {
		r := &out.Records[i]
		methods[r.Method] = true
		task := tables[slices.IndexFunc(tables, func(t *Table) bool { return t.Space == r.Space })].Task(r.Task)
		require.Len(t, r.Rows, p.Initial+p.Budget)
		require.Len(t, r.Regret, p.Budget+1)
		at := place{r.Space, r.Task, r.Split, r.Repeat}
		if initial[at] == nil {
			initial[at] = r.Rows[:p.Initial]
		}
		require.Equal(t, initial[at], r.Rows[:p.Initial], "all methods begin alike")
		rows := slices.Clone(r.Rows)
		slices.Sort(rows)
		require.Len(t, slices.Compact(rows), len(r.Rows), "no row twice")
		lo, hi := task.Range()
		best := lo
		for k, row := range r.Rows {
			best = max(best, task.Y[row])
			if q := k + 1 - p.Initial; q >= 0 {
				require.Equal(t, (hi-best)/(hi-lo), r.Regret[q])
			}
		}
		predictions := p.Budget
		if r.Method == "no-past" {
			predictions -= 5 - p.Initial // its own design, which the initial points count towards
		}
		require.Len(t, r.Z, predictions, "%s predicts", r.Method)
		require.Len(t, r.LogSD, predictions)
		predicted[r.Method] += fmt.Sprint(r.Z)
	}
	for _, v := range [][2]paper.Variant{{paper.JefClusWssCMP, paper.JefClusJefCMP}, {paper.WssClusJefCMP, paper.WssClusWssCMP}} {
		a, b := v[0].String(), v[1].String()
		require.False(t, predicted[a] == predicted[b], "%s runs as %s", a, b)
	}
	require.Len(t, methods, len(Methods()))
	require.Len(t, initial, len(tables)*p.Splits*p.Repeats)
}

// TestResume cuts the files of a finished experiment at random bytes, which is
// what a killed process leaves, and goes on.
func TestResume(t *testing.T) {
	whole := finishedFolder(t)
	r := rng.Stream(1, "cuts")
	cuts := 6
	if testing.Short() {
		cuts = 3
	}
	for i := range cuts {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
		path := filepath.Join(dir, runsFile)
		info, err := os.Stat(path)
		require.NoError(t, err)
		at := r.Int64N(info.Size())
		if i == 0 {
			at = 0
		}
		require.NoError(t, os.Truncate(path, at))
		require.NoError(t, os.WriteFile(filepath.Join(dir, runsFile+".tmp"), []byte("{"), 0o600))
		partial, err := ReadRecords(dir)
		require.NoError(t, err, "what is whole can be read at any time")
		out := runSmall(t, dir, 1+i%3)
		require.Equal(t, len(partial), out.Known)
		sameFolder(t, whole, dir)
	}
}

var child = flag.String("bench.child", "", "folder of the experiment that TestKill's child makes")

func TestKillChild(t *testing.T) {
	if *child == "" {
		t.Skip("makes the experiment that TestKill kills")
	}
	runSmall(t, *child, 2)
}

// TestKill kills a process in the middle of an experiment.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	for _, runs := range []int{1, 20, 60} {
		c := exec.Command(self, "-test.run=^TestKillChild$", "-bench.child="+dir)
		require.NoError(t, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for waiting := true; waiting; {
			select {
			case err := <-ended:
				ended <- err
				waiting = false // too quick for us
			case <-time.After(time.Millisecond):
				b, _ := os.ReadFile(filepath.Join(dir, runsFile))
				waiting = bytes.Count(b, []byte("\n")) < runs
			}
		}
		require.NoError(t, ignoreDone(c.Process.Kill()))
		<-ended
	}
	whole := finishedFolder(t)
	out := runSmall(t, dir, 2)
	require.GreaterOrEqual(t, out.Known, 60)
	sameFolder(t, whole, dir)
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func TestSettingsMustFit(t *testing.T) {
	testutil.SkipShort(t, "it is about what settings say")
	dir := t.TempDir()
	p := smallProtocol()
	p.Methods = []string{"GP", "WssClus_WssCMP"}
	run := func(dir string, p Protocol, tables ...*Table) (*Outcome, error) {
		return (&Experiment{Protocol: p}).Run(context.Background(), tables, dir)
	}
	_, err := run(dir, p, toyTable(8, 20))
	require.NoError(t, err)
	for want, change := range map[string]func(*Protocol){
		"seed 1, now 2":           func(p *Protocol) { p.Seed = 2 },
		"source rows 8, now 9":    func(p *Protocol) { p.SourceRows = 9 },
		"source share 0.85":       func(p *Protocol) { p.SourceShare = 0.5 },
		"past values as they are": func(p *Protocol) { p.Past = "negated" },
		"initial rows 3":          func(p *Protocol) { p.Initial = 2 },
		"budget 4":                func(p *Protocol) { p.Budget = 5 },
		"clusters [2 3]":          func(p *Protocol) { p.Clusters = [2]int{2, 4} },
		"2 splits, now only 1":    func(p *Protocol) { p.Splits = 1 },
		"2 repeats, now only 1":   func(p *Protocol) { p.Repeats = 1 },
		"2 targets":               func(p *Protocol) { p.Targets = 1 },
		"method GP, now not":      func(p *Protocol) { p.Methods = p.Methods[1:] },
		"acquisition EI":          func(p *Protocol) { p.Acquisitions = p.Acquisitions[:1] },
	} {
		q := p.clone()
		change(&q)
		_, err := run(dir, q, toyTable(8, 20))
		require.ErrorIs(t, err, cmbo.ErrOption, want)
		require.ErrorContains(t, err, want)
	}
	other := toyTable(8, 20)
	other.Tasks[3].Y[7]++
	_, err = run(dir, p, other)
	require.ErrorContains(t, err, `the table of space "toy" was another one`)

	more := p.clone()
	more.Splits, more.Repeats, more.Targets = 3, 3, 0
	more.Methods = append(more.Methods, "RGPE")
	more.Acquisitions = append(more.Acquisitions, "PI")
	out, err := run(dir, more, gridTable(9, 16), toyTable(8, 20))
	require.NoError(t, err)
	require.Positive(t, out.Known)
	fresh := t.TempDir()
	_, err = run(fresh, more, toyTable(8, 20), gridTable(9, 16))
	require.NoError(t, err)
	sameFolder(t, fresh, dir)

	require.NoError(t, os.Remove(filepath.Join(dir, settingsFile)))
	_, err = run(dir, more, toyTable(8, 20))
	require.ErrorContains(t, err, "no experiment.json")
	_, err = run("", p, toyTable(8, 20), toyTable(8, 20))
	require.ErrorIs(t, err, cmbo.ErrOption)
}

func TestDamagedFilesAreRefused(t *testing.T) {
	dir := finishedFolder(t)
	path := filepath.Join(dir, runsFile)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := bytes.Clone(b)
	damaged[bytes.IndexByte(b, '\n')+1] = 'x'
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	_, err = ReadRecords(dir)
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	require.ErrorContains(t, err, "line 2")
	_, err = (&Experiment{Protocol: smallProtocol()}).Run(context.Background(), smallTables(), dir)
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	require.NoError(t, os.WriteFile(filepath.Join(dir, settingsFile), []byte(`{"version": 99}`), 0o600))
	_, err = ReadSettings(dir)
	require.ErrorIs(t, err, cmbo.ErrVersion)
	require.NoError(t, os.WriteFile(filepath.Join(dir, settingsFile), []byte(`{"version": `), 0o600))
	_, err = ReadSettings(dir)
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	_, err = ReadRecords(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
