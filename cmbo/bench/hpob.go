package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
	"github.com/gocmbo/cmbo/internal/each"
)

// hpobSplits are HPO-B's own division of the tasks, a file of its directory each.
var hpobSplits = []string{"train", "validation", "test"}

func hpobFile(split string) string { return "meta-" + split + "-dataset.json" }

const hpobInitial = "bo-initializations.json"

// maxTableBytes bounds a file of tables, unpacked: HPO-B's largest has one gigabyte.
const maxTableBytes = 8 << 30

// OpenTable reads one search space from path: a file in HPO-B's format, plain JSON or gzip'd, as [history.HPOB] reads
// it, of at most 8 GiB unpacked, or a directory with HPO-B's own meta-train-dataset.json, meta-validation-dataset.json,
// meta-test-dataset.json and bo-initializations.json, of which at least one data set must be there. An empty name
// stands for the only space of a file. The first bad row is an error. It fails as history.HPOB does, with
// [cmbo.ErrOption] for a directory without a name, or with the error of the file system.
func OpenTable(path, space string) (*Table, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return openFile(path, space)
	}
	if space == "" {
		return nil, fmt.Errorf("%w: a directory of HPO-B needs the ID of a search space", cmbo.ErrOption)
	}
	all := &Table{Space: space}
	for _, split := range hpobSplits {
		name := hpobFile(split)
		t, err := openFile(filepath.Join(path, name), space)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, cmbo.ErrNoTasks) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range t.Tasks {
			t.Tasks[i].Split = split
		}
		if all.Dim != 0 && t.Dim != all.Dim {
			return nil, fmt.Errorf("%w: space %q: %s has %d coordinates, the files before have %d",
				cmbo.ErrDimension, space, name, t.Dim, all.Dim)
		}
		all.Dim = t.Dim
		all.Tasks = append(all.Tasks, t.Tasks...)
		all.Duplicates += t.Duplicates
	}
	if all.Tasks == nil {
		return nil, fmt.Errorf("%w: no space %q in the data sets of %s", cmbo.ErrNoTasks, space, path)
	}
	slices.SortFunc(all.Tasks, func(a, b TableTask) int { return strings.Compare(a.ID, b.ID) })
	if err := all.check(); err != nil {
		return nil, err
	}
	return all, all.readInitial(filepath.Join(path, hpobInitial))
}

// Spaces lists the search spaces in a file or directory that [OpenTable] reads,
// sorted. It fails as OpenTable does, without looking into the tasks.
func Spaces(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		files = each.Of(hpobSplits, func(split string) string { return filepath.Join(path, hpobFile(split)) })
	}
	var all []string
	for _, name := range files {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) && info.IsDir() {
			continue
		}
		if err != nil {
			return nil, err
		}
		names, err := history.HPOB{Limits: history.Limits{Bytes: maxTableBytes}}.Names(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func openFile(path, space string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTable(f, space)
}

// ReadTable is [OpenTable] for one file's contents.
func ReadTable(r io.Reader, space string) (*Table, error) {
	got, err := history.HPOB{Name: space, Limits: history.Limits{Bytes: maxTableBytes}}.Read(r)
	if err != nil {
		return nil, err
	}
	t := &Table{Space: got.Name, Dim: got.Space.Dim(), Duplicates: got.Repeated}
	t.Tasks = each.Below(len(got.Tasks), func(i int) TableTask {
		return TableTask{ID: got.Tasks[i].ID, X: got.Tasks[i].X, Y: got.Tasks[i].Y, kept: got.Kept[i]}
	})
	return t, nil
}

// readInitial adds the fixed initial configurations to the tasks that have
// them. A missing file is no error: only HPO-B's own protocol needs it.
func (t *Table) readInitial(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var listed map[string]map[string]map[string][]*int // by space, task and seed; nil for null
	if err := json.Unmarshal(text, &listed); err != nil {
		return fmt.Errorf("%w: %s: %w", cmbo.ErrCorrupt, hpobInitial, err)
	}
	for _, id := range slices.Sorted(maps.Keys(listed[t.Space])) {
		task, seeds := t.Task(id), listed[t.Space][id]
		if task == nil {
			continue
		}
		task.Initial = make(map[string][]int, len(seeds))
		for _, seed := range slices.Sorted(maps.Keys(seeds)) {
			rows := seeds[seed]
			idx := make([]int, len(rows))
			for k, i := range rows {
				what := "null"
				if i != nil && *i >= 0 && *i < len(task.kept) {
					idx[k] = task.kept[*i]
					continue
				} else if i != nil {
					what = fmt.Sprintf("%d, outside 0..%d", *i, len(task.kept)-1)
				}
				const format = "%w: %s: space %q: task %q: initial configuration %d of %q is %s"
				return fmt.Errorf(format, cmbo.ErrCorrupt, hpobInitial, t.Space, id, k, seed, what)
			}
			task.Initial[seed] = idx
		}
	}
	return nil
}
