package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// TestContextTable: descriptors that the tasks' best points follow are of use, those dealt out
// at random change nothing, and neither do workers.
func TestContextTable(t *testing.T) {
	testutil.SkipShort(t, "it compares whole runs")
	space, ends := make(map[string]any), make(map[string]any)
	for j := range 14 {
		r := rng.Stream(2, "context", uint64(j))
		at := float64(j%7) / 6
		var x, y, curves [][]float64
		for range 30 {
			p := []float64{r.Float64(), r.Float64()}
			x, y = append(x, p), append(y, []float64{(p[0]-at)*(p[0]-at) + 0.1*p[1]})
			curves = append(curves, []float64{7, y[len(y)-1][0]})
		}
		space["task-"+strconv.Itoa(j)] = map[string]any{"X": x, "y": y, "context": map[string]any{"at": at, "name": strconv.Itoa(j)}}
		ends["task-"+strconv.Itoa(j)] = map[string]any{"X": x, "curves": curves, "context": map[string]any{"at": at}}
	}
	write := func(name string, space map[string]any) string {
		b, err := json.Marshal(map[string]any{"toy": space})
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	path := write("context.json", space)
	table := func(workers string, file ...string) string {
		o := mustParse(t, append(file, "-context", "-budget", "3", "-repeats", "1", "-source-rows", "20", "-quiet", "-workers", workers)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		return console.String()
	}
	got := withWorkers(t, func(n string, more ...string) string {
		return table(n, append([]string{"-data", path, "-minimize", "-targets", "7"}, more...)...)
	})
	require.Contains(t, got, "space toy: 7 tasks left out of 14, 7 runs, 3 evaluations from zero, 20 rows of each past task")
	require.Regexp(t, `\| with +\| 0\.\d+ +\| 0\.[0-6]\d \[.*\| 100 %`, got)
	require.Regexp(t, `\| dealt out at random +\| 0\.\d+ +\| (0\.9|1\.0)`, got)
	// The ends of learning curves are such values, losses.
	onCurves := table("2", "-data", write("curves.json", ends), "-experiment", "curves", "-targets", "3")
	require.Regexp(t, `\| with +\| 0\.\d+ +\| 0\.[0-6]\d \[.*\| 100 %`, onCurves)
	for _, args := range [][]string{{"-data", path, "-context", "-method", "EI"}, {"-data", path, "-data", path, "-context"}} {
		_, err := parse(args, new(bytes.Buffer))
		require.Error(t, err)
	}
}

// TestPriorsShared: what was learned of a past is learned once, and of another one anew.
func TestPriorsShared(t *testing.T) {
	s := &study{options: new(options), priors: make(map[[sha256.Size]byte]*cmbo.Prior)}
	for _, id := range []string{"a", "b", "target"} {
		p := &problem{Task: cmbo.Task{ID: id, X: [][]float64{{0}, {0.5}, {1}}, Y: []float64{1, 3, 2}}}
		var err error
		p.space, err = cmbo.Candidates(p.X)
		require.NoError(t, err)
		s.tasks = append(s.tasks, p)
	}
	var learned map[[sha256.Size]byte]*cmbo.Prior
	for i, rows := range [][]int{{0, 1, 2}, {0, 1, 2}, {2, 1, 0}} {
		_, err := s.propose(t.Context(), way{transfer: true}, "", 2, uint64(i), func(j int) cmbo.Task { return s.tasks[j].pick(s.tasks[j].Y, rows) })
		require.NoError(t, err)
		require.Len(t, s.priors, 1+i/2)
		for past, prior := range learned {
			require.Same(t, prior, s.priors[past])
		}
		learned = maps.Clone(s.priors)
	}
}
