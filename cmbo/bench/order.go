package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// sortLines sorts a file of records, the first of lines with equal keys
// staying.
func sortLines(path string, rank map[string]int) error {
	type entry struct {
		key  runKey
		line []byte
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	var entries []entry
	err = eachLine(f, func(n int, line []byte) error {
		var item Record
		if err := json.Unmarshal(line, &item); err != nil {
			return fmt.Errorf("%w: %s: line %d: %w", cmbo.ErrCorrupt, path, n, err)
		}
		entries = append(entries, entry{item.key(), bytes.Clone(line)})
		return nil
	})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return compareKeys(rank, a.key, b.key) })
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.key == b.key })
	return replaceFile(path, func(w io.Writer) error {
		for _, e := range entries {
			if _, err := w.Write(e.line); err != nil {
				return err
			}
		}
		return nil
	})
}

// compareKeys orders by space, method, acquisition, split, task and
// repeat, methods by rank.
func compareKeys(rank map[string]int, a, b runKey) int {
	place := func(m string) int {
		if r, ok := rank[m]; ok {
			return r
		}
		return len(rank)
	}
	return cmp.Or(
		strings.Compare(a.space, b.space),
		cmp.Compare(place(a.method), place(b.method)),
		strings.Compare(a.method, b.method),
		strings.Compare(a.acquisition, b.acquisition),
		cmp.Compare(a.split, b.split),
		strings.Compare(a.task, b.task),
		cmp.Compare(a.repeat, b.repeat),
	)
}
