package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/history"
)

// The files of an HPO-B directory that this package reads.
var hpobFiles = []struct{ name, split string }{
	{"meta-train-dataset.json", "train"},
	{"meta-validation-dataset.json", "validation"},
	{"meta-test-dataset.json", "test"},
}

const hpobInitial = "bo-initializations.json"

// maxTableBytes bounds a file of tables, unpacked: HPO-B's largest has one
// gigabyte.
const maxTableBytes = 8 << 30

// OpenTable reads one search space from path: a file in HPO-B's format, plain
// JSON or gzip'd, as [history.HPOB] reads it, of at most 8 GiB unpacked, or a
// directory with HPO-B's own meta-train-dataset.json,
// meta-validation-dataset.json, meta-test-dataset.json and
// bo-initializations.json, of which at least one data set must be there. An
// empty name stands for the only space of a file. The first bad row is an
// error. It fails as history.HPOB does, or with the error of the file system.
func OpenTable(path, space string) (*Table, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return openFile(path, space)
	}
	if space == "" {
		return nil, errors.New("bench: a directory of HPO-B needs the ID of a search space")
	}
	all := &Table{Space: space}
	for _, f := range hpobFiles {
		t, err := openFile(existing(path, f.name), space)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, cmbo.ErrNoTasks) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		for i := range t.Tasks {
			t.Tasks[i].Split = f.split
		}
		if all.Dim != 0 && t.Dim != all.Dim {
			return nil, fmt.Errorf("%w: space %q: %s has %d coordinates, the files before have %d", cmbo.ErrDimension, space, f.name, t.Dim, all.Dim)
		}
		all.Dim = t.Dim
		all.Tasks = append(all.Tasks, t.Tasks...)
		all.Duplicates += t.Duplicates
	}
	if all.Tasks == nil {
		return nil, fmt.Errorf("bench: no space %q in the data sets of %s", space, path)
	}
	slices.SortFunc(all.Tasks, func(a, b TableTask) int { return strings.Compare(a.ID, b.ID) })
	if err := all.check(); err != nil {
		return nil, err
	}
	return all, readInitial(existing(path, hpobInitial), all)
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
		files = files[:0]
		for _, f := range hpobFiles {
			files = append(files, existing(path, f.name))
		}
	}
	var all []string
	for _, name := range files {
		names, err := spacesOf(name)
		if errors.Is(err, os.ErrNotExist) && info.IsDir() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func spacesOf(path string) (names []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.HPOB{Limits: history.Limits{Bytes: maxTableBytes}}.Names(f)
}

// existing prefers name, then its gzip'd form.
func existing(dir, name string) string {
	p := filepath.Join(dir, name)
	if _, err := os.Stat(p); err != nil {
		if _, err := os.Stat(p + ".gz"); err == nil {
			return p + ".gz"
		}
	}
	return p
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
	for i, task := range got.Tasks {
		t.Tasks = append(t.Tasks, TableTask{ID: task.ID, X: task.X, Y: task.Y, kept: got.Kept[i]})
	}
	return t, nil
}

// readInitial adds the fixed initial configurations to the tasks that have
// them. A missing file is no error: only HPO-B's own protocol needs it.
func readInitial(path string, t *Table) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := plain(f)
	if err != nil {
		return err
	}
	var listed map[string]map[string]map[string][]*int // by space, task and seed; nil for null
	if err := json.NewDecoder(r).Decode(&listed); err != nil {
		return fmt.Errorf("bench: %s: %w", hpobInitial, err)
	}
	for id, seeds := range listed[t.Space] {
		task := t.Task(id)
		if task == nil {
			continue
		}
		task.Initial = make(map[string][]int, len(seeds))
		for seed, rows := range seeds {
			idx := make([]int, len(rows))
			for k, i := range rows {
				fail := func(format string, args ...any) error {
					return fmt.Errorf("bench: %s: space %q: task %q: initial configuration %d of %q is %s", hpobInitial, t.Space, id, k, seed, fmt.Sprintf(format, args...))
				}
				if i == nil {
					return fail("null")
				}
				if *i < 0 || *i >= len(task.kept) {
					return fail("%d, outside 0..%d", *i, len(task.kept)-1)
				}
				idx[k] = task.kept[*i]
			}
			task.Initial[seed] = idx
		}
	}
	return nil
}

// plain unpacks gzip, told by its first two bytes.
func plain(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(b)
	}
	return b, nil
}
