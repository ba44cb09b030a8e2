package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/bench"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

// writeHPOB makes a folder as HPO-B's, of one space "7" with four past tasks and
// two new ones.
func writeHPOB(t *testing.T) string {
	dir := t.TempDir()
	r := rng.Stream(5, "tables")
	type table struct {
		X [][]float64 `json:"X"`
		Y [][]float64 `json:"y"`
	}
	sets := map[string]map[string]map[string]table{}
	initial := map[string]map[string]map[string][]int{"7": {}}
	for name, tasks := range map[string]int{"train": 3, "validation": 1, "test": 2} {
		sets[name] = map[string]map[string]table{"7": {}}
		for i := range tasks {
			var tb table
			c := r.Float64()
			for range 40 {
				x := r.Float64()
				tb.X, tb.Y = append(tb.X, []float64{x}), append(tb.Y, []float64{-math.Abs(x - c)})
			}
			id := fmt.Sprint(name, i)
			sets[name]["7"][id] = tb
			if name == "test" {
				initial["7"][id] = map[string][]int{"test0": {1, 2, 3}, "test1": {4, 5, 6}}
			}
		}
	}
	write := func(name string, v any) {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	for name, set := range sets {
		write("meta-"+name+"-dataset.json", set)
	}
	write("bo-initializations.json", initial)
	return dir
}

func TestPublished(t *testing.T) {
	data, out := writeHPOB(t), t.TempDir()
	args := []string{"-experiment", "hpob", "-data", data, "-out", out, "-quiet", "-repeats", "2", "-budget", "3", "-method", "Random,GP", "-acquisition", "EI"}
	require.NoError(t, run(context.Background(), mustParse(t, args...), &bytes.Buffer{}, os.Stderr))

	// A published method that falls back once, on one of the tasks, in a folder
	// of files and in one file of all methods.
	curve := []float64{0.5, 0.75, 0.7, 1, 1, 1}
	space := map[string]any{"7": map[string]any{"test0": map[string]any{"test0": curve, "test1": curve, "test4": curve}, "gone": map[string]any{"test0": curve}}}
	results, single := t.TempDir(), filepath.Join(t.TempDir(), "all.json")
	b, err := json.Marshal(space)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(results, "FSBO.json"), b, 0o600))
	b, err = json.Marshal(map[string]any{"FSBO": space})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(single, b, 0o600))

	settings, err := bench.ReadSettings(out)
	require.NoError(t, err)
	records, _, err := bench.ReadRecords(out)
	require.NoError(t, err)
	require.Len(t, records, 8)
	for _, path := range []string{results, single} {
		all, err := addPublished(records, settings, path)
		require.NoError(t, err)
		require.Len(t, all, 10, "two seeds of the one task that is ours")
		for _, r := range all[8:] {
			require.Equal(t, "FSBO (published)", r.Method)
			require.Equal(t, "test0", r.Task)
			require.Equal(t, []float64{0.5, 0.25, 0.25, 0}, r.Regret)
		}
		require.NoError(t, run(context.Background(), mustParse(t, "-report", out, "-published", path), &bytes.Buffer{}, os.Stderr))
		page, err := os.ReadFile(filepath.Join(out, "report.html"))
		require.NoError(t, err)
		require.Contains(t, string(page), "FSBO (published)")
	}

	settings.Protocol.Budget = 6
	_, err = addPublished(records, settings, single)
	require.ErrorContains(t, err, "has 6 values")
	settings.Protocol.Own = false
	_, err = addPublished(records, settings, single)
	require.ErrorContains(t, err, "HPO-B's protocol")
	_, err = readPublished(filepath.Join(out, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = readPublished(t.TempDir())
	require.ErrorContains(t, err, "no .json file")
	_, err = readPublished(filepath.Join(out, "report.html"))
	require.ErrorContains(t, err, "report.html")
}

// TestPublishedCurves reads what was published, where it is at hand.
func TestPublishedCurves(t *testing.T) {
	dir := os.Getenv("CMBO_DATA")
	if dir == "" {
		t.Skip("CMBO_DATA names no folder of tables")
	}
	all, err := readPublished(filepath.Join(dir, "hpob_published_results.json.gz"))
	require.NoError(t, err)
	require.Contains(t, all, "RGPE")
	var sum, runs float64
	for _, tasks := range all["RGPE"] {
		for _, seeds := range tasks {
			for _, best := range seeds {
				require.Len(t, best, 101)
				top := 0.0
				for _, v := range best[:51] {
					top = max(top, v)
				}
				sum, runs = sum+1-top, runs+1
			}
		}
	}
	require.InDelta(t, 0.0412, sum/runs, 5e-5, "mean normalised regret of RGPE after 50 queries")
}
