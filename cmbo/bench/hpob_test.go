package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

const twoSpaces = `{
  "other": {"t": {"X": [[1, 2], [3]], "y": []}},
  "svm": {
    "b": {"X": [[0, 0.5], [1, 0.5], [0, 0.5]], "y": [[0.1], [0.9], [0.7]]},
    "a": {"X": [[0.25, 1]], "y": [3e2]}
  }
}`

func TestReadTable(t *testing.T) {
	got, err := ReadTable(strings.NewReader(twoSpaces), "svm")
	require.NoError(t, err)
	require.Equal(t, "svm", got.Space)
	require.Equal(t, 2, got.Dim)
	require.Equal(t, 1, got.Duplicates, "the third row of b repeats the first")
	require.Len(t, got.Tasks, 2)
	require.Equal(t, "a", got.Tasks[0].ID, "sorted")
	require.Equal(t, []float64{300}, got.Tasks[0].Y)
	require.True(t, got.Tasks[0].Constant())
	b := got.Task("b")
	require.Equal(t, [][]float64{{0, 0.5}, {1, 0.5}}, b.X)
	require.Equal(t, []float64{0.1, 0.9}, b.Y, "the first of equal rows stays")
	require.False(t, b.Constant())
	require.Nil(t, got.Task("c"))
	_, err = ReadTable(strings.NewReader(twoSpaces), "nowhere")
	require.ErrorContains(t, err, `no space "nowhere"; the file has "other", "svm"`)
}

// TestNegativeZero: -0 and 0 are one row, as they are for cmbo, whichever comes
// first.
func TestNegativeZero(t *testing.T) {
	got, err := ReadTable(strings.NewReader(`{"s": {
		"a": {"X": [[-0.0, 0.5], [0, 0.5], [1, -0]], "y": [1, 2, 3]},
		"b": {"X": [[1, 0], [0, 0.5]], "y": [4, 5]}}}`), "")
	require.NoError(t, err)
	require.Equal(t, 1, got.Duplicates)
	require.Len(t, got.Tasks[0].X, 2)
	require.Equal(t, []float64{1, 3}, got.Tasks[0].Y)
	for _, x := range got.Tasks[0].X {
		for _, v := range x {
			require.False(t, math.Signbit(v))
		}
	}
	require.True(t, got.sameRows())
	// Tables made by hand may hold it all the same.
	got.Tasks[0].X[0][0] = math.Copysign(0, -1)
	require.True(t, got.sameRows())
	space, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	space, err = space.WithCandidates([][]float64{{math.Copysign(0, -1), 0.5}})
	require.NoError(t, err)
	opt := newOptimizer(t, space, cmbo.WithInitial(0))
	require.NoError(t, opt.Observe([]float64{0, 0.5}, 1), "one row for cmbo")
}

func TestOpenTableDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	_, err := OpenTable(dir, "4796")
	require.ErrorContains(t, err, `no space "4796"`)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	write("meta-train-dataset.json", `{"4796": {"3": {"X": [[0], [0.5]], "y": [[1], [2]]}}, "5": {"x": {}}}`)
	write("meta-test-dataset.json", `{"4796": {"31": {"X": [[1], [0.5], [1], [0]], "y": [[1], [2], [3], [4]]}}}`)
	write("meta-validation-dataset.json", `{"5": {}}`)
	write("bo-initializations.json", `{"5": {}, "4796": {"31": {"test0": [3, 2]}, "gone": {"test0": [0]}}}`)
	got := tableOf(t, dir, "4796")
	require.Len(t, got.Tasks, 2)
	require.Equal(t, "train", got.Task("3").Split)
	require.Equal(t, "test", got.Task("31").Split)
	require.Equal(t, map[string][]int{"test0": {2, 0}}, got.Task("31").Initial, "indices follow the rows that were kept")

	write("bo-initializations.json", `{"4796": {"31": {"test0": [4]}}}`)
	_, err = OpenTable(dir, "4796")
	require.ErrorContains(t, err, `initial configuration 0 of "test0" is 4, outside 0..3`)
	write("bo-initializations.json", `{"4796": {"31": {"test0": [3, null]}}}`)
	_, err = OpenTable(dir, "4796")
	require.ErrorContains(t, err, `task "31": initial configuration 1 of "test0" is null`)
	require.ErrorIs(t, err, cmbo.ErrCorrupt)
	write("bo-initializations.json", `{"4796": {"31": {"test1": [9], "test0": [8]}, "3": {"test1": [7], "test0": [6]}}}`)
	for range 16 { // of several the same one each time
		_, err = OpenTable(dir, "4796")
		require.ErrorContains(t, err, `task "3": initial configuration 0 of "test0" is 6`)
	}
	_, err = OpenTable(dir, "")
	require.ErrorContains(t, err, "needs the ID")
	require.ErrorIs(t, err, cmbo.ErrOption)
	_, err = OpenTable(filepath.Join(dir, "nothing.json"), "4796")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestNewTable makes a table of a user's own tasks.
func TestNewTable(t *testing.T) {
	space, err := cmbo.NewSpace(cmbo.Int("i", 0, 4), cmbo.Categorical("c", "a", "b"))
	require.NoError(t, err)
	other, err := cmbo.NewSpace(cmbo.Categorical("c", "b", "a"), cmbo.Int("i", 0, 4))
	require.NoError(t, err)
	tasks := []cmbo.Task{
		{ID: "two", X: [][]float64{{0, 1}, {4, 0}, {0, 1}}, Y: []float64{1e6, 2e6, 3e6}, Failed: [][]float64{{1, 1}}},
		{ID: "none", Failed: [][]float64{{1, 1}}},
		{ID: "one", Params: other.Params(), X: [][]float64{{0, 2}}, Y: []float64{-5}},
	}
	got, err := NewTable("mine", space, tasks, true)
	require.NoError(t, err)
	require.Equal(t, &Table{Space: "mine", Dim: 3, Duplicates: 1, Tasks: []TableTask{
		{ID: "one", X: [][]float64{{0.5, 0, 1}}, Y: []float64{5}},
		{ID: "two", X: [][]float64{{0, 0, 1}, {1, 1, 0}}, Y: []float64{-1e6, -2e6}},
	}}, got)
	_, err = NewTable("mine", space, tasks[1:2], false)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	_, err = NewTable("mine", space, append(tasks, tasks[0]), false)
	require.ErrorIs(t, err, cmbo.ErrTask)
	_, err = NewTable("mine", space, []cmbo.Task{{ID: "x", X: [][]float64{{5, 0}}, Y: []float64{1}}}, false)
	require.ErrorIs(t, err, cmbo.ErrOutOfSpace)
	_, err = NewTable("mine", space, []cmbo.Task{{ID: "x", Params: append(other.Params(), cmbo.Bool("more")), X: [][]float64{{0, 0, 0}}, Y: []float64{1}}}, false)
	require.ErrorIs(t, err, cmbo.ErrSpace)
}
