package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
)

// TestNoiseTable: a run that evaluates points again uses a better one than that of the best
// value in the end, workers change nothing, and -method names ways.
func TestNoiseTable(t *testing.T) {
	testutil.SkipShort(t, "it compares whole runs")
	space := make(map[string]any)
	for j := range 6 {
		r := rng.Stream(2, "noise", uint64(j))
		at := 0.4 + 0.2*r.Float64()
		var x, y [][]float64
		for range 60 {
			p := []float64{r.Float64(), r.Float64()}
			x, y = append(x, p), append(y, []float64{math.Hypot(p[0]-at, p[1]-0.5)})
		}
		space["task-"+strconv.Itoa(j)] = map[string]any{"X": x, "y": y}
	}
	b, err := json.Marshal(map[string]any{"toy": space})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "noise.json")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	table := func(more ...string) string {
		o := mustParse(t, append([]string{"-data", path, "-minimize", "-noise", "1", "-budget", "15", "-repeats", "6", "-source-rows", "30", "-quiet"}, more...)...)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		return console.String()
	}
	got := withWorkers(t, func(n string, more ...string) string { return table(append(more, "-workers", n)...) })
	require.Contains(t, got, "space toy: 6 tasks left out of 6, 36 runs a way, 15 evaluations from zero with noise of 1 of each task's deviation")
	require.Regexp(t, `\| noise told, again .*\| 0\.[0-8]\d \[.*\| [1-9]\d* %`, got)
	require.Regexp(t, `\| noise told, with transfer .*\| 0\.[0-7]\d \[.*\| 0 %`, got)
	require.Regexp(t, `\| random search .*\| 1\.00 \[1\.00, 1\.00\] \| 0 %`, got)
	one := table("-method", "random")
	require.Contains(t, one, "random search")
	require.NotContains(t, one, "noise told,")
	o := mustParse(t, "-data", path, "-noise", "1", "-method", "EI")
	require.ErrorContains(t, run(context.Background(), o, new(bytes.Buffer), os.Stderr), "no way is named")
	for _, args := range [][]string{{"-noise", "0"}, {"-noise", "-1"}, {"-noise", "NaN"}, {"-noise", "1", "-acquisition", "EI"}} {
		_, err := parse(append(args, "-data", path), new(bytes.Buffer))
		require.Error(t, err, args)
	}
}
