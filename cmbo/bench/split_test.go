package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

func toyTable(tasks, rows int) *Table {
	t := &Table{Space: "toy", Dim: 2}
	for j := range tasks {
		r := rng.Stream(1, "toy table", uint64(j))
		task := TableTask{ID: fmt.Sprintf("t%02d", j)}
		for range rows {
			x := []float64{r.Float64(), r.Float64()}
			task.X = append(task.X, x)
			task.Y = append(task.Y, x[0]-x[1]*float64(j%3))
		}
		t.Tasks = append(t.Tasks, task)
	}
	return t
}

func TestDivide(t *testing.T) {
	table := toyTable(21, 30)
	table.Tasks[4].Y = make([]float64, 30) // constant
	plan := Protocol{Seed: 1, SourceShare: 0.85, SourceRows: 12}
	seen := make(map[string]bool)
	for i := range 6 {
		s := divided(t, plan, table, i)
		again := divided(t, plan, table, i)
		require.Equal(t, s, again)
		require.Len(t, s.sources, 17)
		require.Len(t, s.targets, 3)
		require.True(t, slices.IsSorted(s.targets))
		require.True(t, slices.IsSortedFunc(s.sources, func(a, b cmbo.Task) int { return strings.Compare(a.ID, b.ID) }))
		ids := slices.Clone(s.targets)
		for _, src := range s.sources {
			ids = append(ids, src.ID)
			require.Len(t, src.Y, 12)
			rows := make(map[string]bool)
			for k, x := range src.X {
				rows[fmt.Sprint(x)] = true
				task := table.Task(src.ID)
				at := slices.IndexFunc(task.X, func(y []float64) bool { return slices.Equal(x, y) })
				require.Equal(t, task.Y[at], src.Y[k])
			}
			require.Len(t, rows, 12, "without replacement")
		}
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), 20, "every task that is not constant, once")
		require.NotContains(t, ids, "t04")
		seen[fmt.Sprint(s.targets)] = true
	}
	require.Greater(t, len(seen), 3)
	other, err := (&Protocol{Seed: 2, SourceShare: 0.85, SourceRows: 12}).divide(table, 0)
	require.NoError(t, err)
	first, _ := plan.divide(table, 0)
	require.NotEqual(t, first, other)

	plan.Sources = 3
	few := divided(t, plan, table, 0)
	require.Len(t, few.sources, 3)
	require.Equal(t, first.targets, few.targets)
	require.Subset(t, first.sources, few.sources)
	plan.Sources = 0

	_, err = plan.divide(&Table{Space: "one", Tasks: table.Tasks[:1]}, 0)
	require.ErrorContains(t, err, "need 2")
	require.ErrorIs(t, err, cmbo.ErrTask)
	two := divided(t, plan, &Table{Space: "two", Tasks: table.Tasks[:2]}, 0)
	require.Len(t, two.sources, 1)
	require.Len(t, two.targets, 1)
}

func TestInitialRows(t *testing.T) {
	task := &toyTable(1, 40).Tasks[0]
	p := &Protocol{Seed: 1, Initial: 5}
	a := p.initial(task, 0, 0)
	require.Len(t, a, 5)
	require.Equal(t, a, p.initial(task, 0, 0))
	for _, b := range [][]int{(&Protocol{Seed: 2, Initial: 5}).initial(task, 0, 0), p.initial(task, 1, 0), p.initial(task, 0, 1)} {
		require.NotEqual(t, a, b)
	}
	p.Initial = 100
	require.Len(t, p.initial(task, 0, 0), 40)
}

// inOrder proposes the rows of a list in their order.
type inOrder struct {
	rows [][]float64
	next int
	told []float64
}

func (o *inOrder) Observe(_ []float64, y float64, _ ...cmbo.ObservationOption) error {
	o.told = append(o.told, y)
	return nil
}

func (o *inOrder) Ask(context.Context) (cmbo.Trial, error) {
	if o.next == len(o.rows) {
		return cmbo.Trial{}, cmbo.ErrNoCandidates
	}
	o.next++
	return cmbo.Trial{ID: o.next, Index: o.next - 1, X: o.rows[o.next-1]}, nil
}

func (o *inOrder) Tell(_ int, y float64, _ ...cmbo.ObservationOption) error {
	o.told = append(o.told, y)
	return nil
}

type failing struct{ inOrder }

func (failing) Ask(context.Context) (cmbo.Trial, error) { return cmbo.Trial{}, errors.New("broken") }

func TestTrace(t *testing.T) {
	task := &TableTask{ID: "hand", X: [][]float64{{0}, {0.25}, {0.5}, {1}}, Y: []float64{2, 6, 4, 10}}
	o := &inOrder{rows: task.X}
	got, err := trace(context.Background(), task, o, []int{2}, 6)
	require.NoError(t, err)
	// Range 8; best 4 after the initial row, 4, 6, 6, 10, then nothing is left.
	require.Equal(t, []float64{0.75, 0.75, 0.5, 0.5, 0, 0, 0}, got.Regret)
	require.Equal(t, []float64{4, 2, 6, 4, 10}, o.told)
	_, err = trace(context.Background(), task, &failing{}, nil, 2)
	require.EqualError(t, err, "broken")

	space, err := cmbo.Candidates(task.X)
	require.NoError(t, err)
	opt := newOptimizer(t, space, cmbo.WithInitial(1))
	got, err = trace(context.Background(), task, opt, []int{0}, 5)
	require.NoError(t, err)
	require.Len(t, got.Regret, 6)
	require.Zero(t, got.Regret[5])
}

func TestMeanCurve(t *testing.T) {
	require.Nil(t, MeanCurve(nil))
	require.InDeltaSlice(t, []float64{2, 0.5}, MeanCurve([][]float64{{1, 0}, {3, 1}}), 1e-15)
}
