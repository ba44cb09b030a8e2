package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// broken wraps random search such that learning fails in split 0, or the runs on
// a task.
func broken(learns bool, task string) Method {
	m := Methods()[0]
	m.Name = "broken"
	learn := m.Learn
	m.Learn = func(ctx context.Context, l Training) (Tuner, error) {
		t, err := learn(ctx, l)
		if !learns {
			return nil, errors.New("learned nothing")
		}
		return func(ctx context.Context, target *cmbo.Space, seed uint64, opts ...cmbo.Option) (AskTeller, error) {
			if first, _ := target.Candidate(0); fmt.Sprint(first) == task {
				return &failing{}, nil
			}
			return t(ctx, target, seed, opts...)
		}, err
	}
	return m
}

func TestFailuresLoseNothingElse(t *testing.T) {
	table := toyTable(8, 20)
	p := smallProtocol()
	p.Methods = []string{"GP", "broken"}
	split := divided(t, p, table, 1)
	victim := table.Task(split.targets[0])
	for _, tt := range []struct {
		method  Method
		missing int
		first   string
	}{
		{broken(true, fmt.Sprint(victim.X[0])), 2, "toy, broken, split 1, task " + victim.ID + ", repeat 0: broken"},
		{broken(false, ""), 4, "toy, broken, split 0: learned nothing"},
	} {
		dir := t.TempDir()
		run := func(m Method) *Outcome {
			var last Progress
			e := &Experiment{Protocol: p, Catalogue: []Method{Methods()[1], m}, Progress: func(p Progress) { last = p }}
			out, err := e.Run(context.Background(), []*Table{table}, dir)
			require.NoError(t, err)
			require.Equal(t, last.Total, last.Done+last.Failed)
			require.Contains(t, last.Last, "toy, ")
			return out
		}
		out := run(tt.method)
		require.Equal(t, 12, out.Total)
		require.Equal(t, 12-tt.missing, out.Done)
		require.Len(t, out.Failures, 2, "a run or a split of two each, whatever the number of repeats")
		require.Equal(t, tt.first, out.Failures[0].String())
		listed, _, err := readLines[Failure](filepath.Join(dir, failuresFile))
		require.NoError(t, err)
		require.Equal(t, out.Failures, listed)
		records, err := ReadRecords(dir)
		require.NoError(t, err)
		require.Len(t, records, 12-tt.missing)

		out = run(broken(true, ""))
		require.Empty(t, out.Failures, "what failed is tried again")
		require.Equal(t, 12, out.Done)
		require.NoFileExists(t, filepath.Join(dir, failuresFile))
	}
}

// TestFailuresOfOtherTables: a call about one table keeps what could not be done on another one.
func TestFailuresOfOtherTables(t *testing.T) {
	dir, p := t.TempDir(), smallProtocol()
	p.Methods = []string{"Random", "broken"}
	run := func(m Method, tables ...*Table) []Failure {
		e := &Experiment{Protocol: p, Catalogue: []Method{Methods()[0], m}}
		_, err := e.Run(context.Background(), tables, dir)
		require.NoError(t, err)
		listed, _, err := readLines[Failure](filepath.Join(dir, failuresFile))
		require.NoError(t, err)
		return listed
	}
	toy := run(broken(false, ""), toyTable(8, 20))
	require.Len(t, toy, 2)
	require.Equal(t, toy, run(broken(true, ""), gridTable(9, 16)))
	grid := gridTable(9, 16)
	grid.Space = "another"
	both := run(broken(false, ""), grid)
	require.Len(t, both, 4)
	require.Equal(t, toy, both[2:], "in order")
}

// TestKeep follows what is held in memory: a tuner as long as a batch uses it, no
// more than keptTuners beyond that, and none that is not needed again.
func TestKeep(t *testing.T) {
	x := &execution{kept: keptTuners - 1}
	learn := func(context.Context, Training) (Tuner, error) {
		return func(context.Context, *cmbo.Space, uint64, ...cmbo.Option) (AskTeller, error) { return nil, nil }, nil
	}
	var ls []*model
	for range 3 {
		ls = append(ls, &model{method: Method{Learn: learn}, uses: 2})
	}
	use := func(i int) *model {
		ls[i].users++
		_, err := x.learn(context.Background(), &batch{model: ls[i]})
		require.NoError(t, err)
		return ls[i]
	}
	held := func() (n int) {
		for _, l := range ls {
			if l.tuner != nil {
				n++
			}
		}
		return n
	}
	a, b := use(0), use(1)
	require.Equal(t, 2, held())
	x.release(a)
	x.release(b)
	require.Equal(t, 1, held(), "there is room for one")
	x.release(use(2))
	require.Equal(t, 1, held())
	a, b = use(0), use(1)
	require.Equal(t, 2, held())
	x.release(b)
	require.Nil(t, b.tuner, "not needed again")
	x.release(use(2))
	x.release(a)
	require.Zero(t, held())
	require.Equal(t, keptTuners-1, x.kept)
}

func TestExperimentRefusesTables(t *testing.T) {
	change := func(f func(*Table)) *Table {
		table := toyTable(8, 20)
		f(table)
		return table
	}
	for want, table := range map[string]*Table{
		"a nil table":  nil,
		"has no tasks": {Space: "none", Dim: 2},
		`space "toy": task "t00" has no configurations`:              change(func(t *Table) { t.Tasks[0].X, t.Tasks[0].Y = nil, nil }),
		`space "toy": task "t03" has 20 configurations but 1 values`: change(func(t *Table) { t.Tasks[3].Y = []float64{1} }),
		`task "t04" has the value NaN in row 2`:                      change(func(t *Table) { t.Tasks[4].Y[2] = math.NaN() }),
		`task "t04" has the value -Inf in row 0`:                     change(func(t *Table) { t.Tasks[4].Y[0] = math.Inf(-1) }),
		`task "t04" has the value +Inf in row 0`:                     change(func(t *Table) { t.Tasks[4].Y[0] = math.Inf(1) }),
		`task "t00" follows "t01"`:                                   change(func(t *Table) { t.Tasks[0], t.Tasks[1] = t.Tasks[1], t.Tasks[0] }),
		`task "t00" follows "t00"`:                                   change(func(t *Table) { t.Tasks[1].ID = "t00" }),
	} {
		dir := filepath.Join(t.TempDir(), "experiment")
		out, err := (&Experiment{Protocol: smallProtocol()}).Run(context.Background(), []*Table{table}, dir)
		require.ErrorIs(t, err, cmbo.ErrTask, want)
		require.ErrorContains(t, err, want)
		require.Nil(t, out)
		require.NoDirExists(t, dir)
	}
	_, err := (&Protocol{SourceShare: 0.5, SourceRows: 1}).divide(&Table{Tasks: make([]TableTask, 2)}, 0)
	require.ErrorContains(t, err, "0 tasks that are not constant")
}

func TestCancelledExperimentGoesOn(t *testing.T) {
	whole, dir := finishedFolder(t), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	e := &Experiment{Protocol: smallProtocol(), Workers: 2}
	e.Progress = func(p Progress) {
		if p.Done == 10 {
			cancel()
		}
	}
	out, err := e.Run(ctx, smallTables(), dir)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, out.Done, smallRuns())
	require.Empty(t, out.Failures)
	runSmall(t, dir, 2)
	sameFolder(t, whole, dir)
}

// TestPredictedKeepsNumbers: of a prediction without deviation, or of one that lies beyond all numbers, nothing is kept.
func TestPredictedKeepsNumbers(t *testing.T) {
	t.Parallel()
	var r Record
	r.predicted(1, 0, 2, 0, 4)
	r.predicted(1, 0, 0, 4, 4)
	require.Equal(t, []float64{0.5, 0.5}, r.Z)
	require.Equal(t, []float64{round5(math.Log(0.5)), round5(math.Log(0.5))}, r.LogSD)
	for _, p := range [][4]float64{{1, 0, 0, 0}, {0, 0, 0, 0}, {1e308, -1e308, 1, 0}, {math.NaN(), 0, 1, 0}, {1, 0, math.Inf(1), 0}} {
		r.predicted(p[0], p[1], p[2], p[3], 4)
	}
	require.Len(t, r.Z, 2)
	require.Len(t, r.LogSD, 2)
}
