package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/bench"
)

// curves holds published results of a method: the best normalised value so far,
// after the initial configurations and after each further query, by space, task
// and seed ("test0", ...).
type curves map[string]map[string]map[string][]float64

// readPublished reads the results that are published with HPO-B: its folder of
// files, one a method and named after it, or one file of them all by method;
// plain or gzip'd.
func readPublished(path string) (map[string]curves, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	all := make(map[string]curves)
	if !info.IsDir() {
		return all, readJSON(path, &all)
	}
	files, err := filepath.Glob(filepath.Join(path, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var c curves
		if err := readJSON(file, &c); err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no .json file in %s", path)
	}
	return all, nil
}

func readJSON(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if b, err = io.ReadAll(z); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// addPublished puts published curves beside the runs of an experiment by HPO-B's
// own protocol: those of the same spaces, tasks and seeds, up to the same number
// of queries. Some of the published ones fall now and then; the best so far
// counts.
func addPublished(records []bench.Record, s *bench.Settings, path string) ([]bench.Record, error) {
	if !s.Protocol.Own {
		return nil, fmt.Errorf("-published: published curves belong to the tasks and seeds of HPO-B's protocol, -experiment hpob; this is %q", s.Protocol.Name)
	}
	type run struct {
		space, task string
		repeat      int
	}
	ours := make(map[run]int) // to the split
	for _, r := range records {
		ours[run{r.Space, r.Task, r.Repeat}] = r.Split
	}
	all, err := readPublished(path)
	if err != nil {
		return nil, err
	}
	n := len(records)
	for _, method := range slices.Sorted(maps.Keys(all)) {
		for space, tasks := range all[method] {
			for task, seeds := range tasks {
				for seed, best := range seeds {
					repeat, err := strconv.Atoi(strings.TrimPrefix(seed, "test"))
					split, known := ours[run{space, task, repeat}]
					if err != nil || !known {
						continue
					}
					if len(best) <= s.Protocol.Budget {
						return nil, fmt.Errorf("-published: %s has %d values for space %s, task %s, %s, need %d", method, len(best), space, task, seed, s.Protocol.Budget+1)
					}
					r := bench.Record{Space: space, Method: method + " (published)", Split: split, Task: task, Repeat: repeat, Regret: make([]float64, s.Protocol.Budget+1)}
					top := math.Inf(-1)
					for i := range r.Regret {
						top = max(top, best[i])
						r.Regret[i] = 1 - top
					}
					records = append(records, r)
				}
			}
		}
	}
	if len(records) == n {
		return nil, fmt.Errorf("-published: no curve in %s is of a space, task and seed of this experiment", path)
	}
	return records, nil
}
