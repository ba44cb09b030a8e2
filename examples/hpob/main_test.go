package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

// writeTable makes a small table of tasks that peak at two places.
func writeTable(t *testing.T) string {
	type task struct {
		X [][]float64 `json:"X"`
		Y [][]float64 `json:"y"`
	}
	space := make(map[string]task)
	for j := range 10 {
		r := rng.Stream(1, "table", uint64(j))
		var tk task
		for range 40 {
			x := []float64{r.Float64(), r.Float64()}
			d := x[0] - []float64{0.2, 0.8}[j%2]
			tk.X = append(tk.X, x)
			tk.Y = append(tk.Y, []float64{1 - d*d - 0.1*x[1]})
		}
		space["task-"+strconv.Itoa(j)] = tk
	}
	b, err := json.Marshal(map[string]any{"toy": space})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "toy.json")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestRunWritesCurve(t *testing.T) {
	path := writeTable(t)
	random := 0.0 // what random search, the first, ends with
	for _, args := range [][]string{
		{"-method", "random"},
		{"-method", "gp"},
		{"-variant", "JefClus_JefCMP", "-acquisition", "ucb", "-clusters", "2-3"},
		{"-clusters", "2"},
	} {
		out := filepath.Join(t.TempDir(), "curve.csv")
		o, err := parse(append([]string{"-data", path, "-space", "toy", "-splits", "2", "-repeats", "2", "-budget", "6", "-out", out, "-quiet"}, args...), os.Stderr)
		require.NoError(t, err)
		var console bytes.Buffer
		require.NoError(t, run(context.Background(), o, &console, os.Stderr))
		require.Contains(t, console.String(), "mean normalised simple regret of 4 runs")
		f, err := os.Open(out)
		require.NoError(t, err)
		rows, err := csv.NewReader(f).ReadAll()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Len(t, rows, 1+7)
		last := 1.0
		for _, r := range rows[1:] {
			v, err := strconv.ParseFloat(r[1], 64)
			require.NoError(t, err)
			require.True(t, v >= 0 && v <= last, "a mean regret never rises")
			last = v
		}
		if args[1] == "random" {
			random = last
		} else if args[0] != "-method" {
			require.Less(t, last, random, "the past tasks show where to look")
		}
	}
}

func TestParseRejects(t *testing.T) {
	for want, args := range map[string][]string{
		"-data is missing":       {},
		"-variant":               {"-data", "x", "-variant", "y"},
		"-acquisition":           {"-data", "x", "-acquisition", "y"},
		"-method":                {"-data", "x", "-method", "y"},
		"-clusters":              {"-data", "x", "-clusters", "a-b"},
		"must be at least 1":     {"-data", "x", "-splits", "0"},
		`unexpected argument "z`: {"-data", "x", "z"},
	} {
		_, err := parse(args, &strings.Builder{})
		require.ErrorContains(t, err, want)
	}
	o, err := parse([]string{"-data", filepath.Join(t.TempDir(), "none.json")}, &strings.Builder{})
	require.NoError(t, err)
	require.ErrorIs(t, run(context.Background(), o, &bytes.Buffer{}, &strings.Builder{}), os.ErrNotExist)
}

// TestRealTable runs a recorded table where one is at hand.
func TestRealTable(t *testing.T) {
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	if testing.Short() {
		t.Skip("short")
	}
	o, err := parse([]string{"-data", filepath.Join(dir, "ecml_adaboost.json.gz"), "-splits", "1", "-repeats", "2", "-budget", "20", "-out", "", "-quiet"}, os.Stderr)
	require.NoError(t, err)
	var console bytes.Buffer
	require.NoError(t, run(context.Background(), o, &console, os.Stderr))
	t.Log(console.String())
}
