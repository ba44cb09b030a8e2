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
)

// The files of an HPO-B directory that this package reads.
var hpobFiles = []struct{ name, split string }{
	{"meta-train-dataset.json", "train"},
	{"meta-validation-dataset.json", "validation"},
	{"meta-test-dataset.json", "test"},
}

const hpobInitial = "bo-initializations.json"

// OpenTable reads one search space from path: a file in HPO-B's format, plain
// JSON or gzip'd,
//
//	{space: {task: {"X": [[...], ...], "y": [[v], ...]}}}
//
// or a directory with HPO-B's own meta-train-dataset.json,
// meta-validation-dataset.json, meta-test-dataset.json and
// bo-initializations.json, of which at least one data set must be there. An
// empty name stands for the only space of a file. Values may be listed bare or
// each in brackets; null is no number. A coordinate of -0 is read as 0. Other
// spaces are passed over without being kept, so memory follows the size of the
// space, not of the file.
//
// It fails with a [*FormatError] that names the place, or with the error of
// the file system or of the JSON decoder.
//
// S. Pineda Arango et al., HPO-B: a large-scale reproducible benchmark for
// black-box HPO based on OpenML, NeurIPS Datasets and Benchmarks 2021.
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
	var all *Table
	for _, f := range hpobFiles {
		t, err := openFile(existing(path, f.name), space)
		if errors.Is(err, os.ErrNotExist) || errors.As(err, new(*unknownSpaceError)) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		for i := range t.Tasks {
			t.Tasks[i].Split = f.split
		}
		if all == nil {
			all = t
			continue
		}
		if t.Dim != all.Dim {
			return nil, &FormatError{Space: space, Row: -1, Reason: fmt.Sprintf("%s has %d coordinates, the files before have %d", f.name, t.Dim, all.Dim)}
		}
		all.Tasks = append(all.Tasks, t.Tasks...)
		all.Duplicates += t.Duplicates
	}
	if all == nil {
		return nil, fmt.Errorf("bench: no space %q in the data sets of %s", space, path)
	}
	if err := sortTasks(all); err != nil {
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
	r, err := plain(f)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(r)
	err = object(d, func(name string) error {
		names = append(names, name)
		return skip(d)
	})
	return names, err
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
	r, err := plain(r)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(r)
	var found *Table
	var others []string
	err = object(d, func(name string) error {
		if found != nil && space == "" {
			return fmt.Errorf("bench: the file has more than one space (%s, %s, ...); name one", found.Space, name)
		}
		if space != "" && name != space {
			others = append(others, name)
			return skip(d)
		}
		if found != nil {
			return &FormatError{Space: name, Row: -1, Reason: "appears twice"}
		}
		t, err := readSpace(d, name)
		found = t
		return err
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, &unknownSpaceError{space, others}
	}
	return found, sortTasks(found)
}

type unknownSpaceError struct {
	space string
	known []string
}

func (e *unknownSpaceError) Error() string {
	if len(e.known) == 0 {
		return "bench: the file has no spaces"
	}
	return fmt.Sprintf("bench: no space %q; the file has %s", e.space, strings.Join(e.known, ", "))
}

// plain unpacks gzip, told by its first two bytes.
func plain(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(b)
	}
	return b, nil
}

// object reads a JSON object and calls member with each name; member reads the
// value.
func object(d *json.Decoder, member func(name string) error) error {
	t, err := d.Token()
	if err != nil {
		return noEOF(err)
	}
	if t != json.Delim('{') {
		return fmt.Errorf("bench: offset %d: want an object, have %v", d.InputOffset(), t)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return noEOF(err)
		}
		if err := member(t.(string)); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return noEOF(err)
}

// noEOF makes an end of file inside a value an error of its own.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skip reads one value and forgets it.
func skip(d *json.Decoder) error {
	depth := 0
	for {
		t, err := d.Token()
		if err != nil {
			return noEOF(err)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func readSpace(d *json.Decoder, space string) (*Table, error) {
	t := &Table{Space: space}
	err := object(d, func(id string) error {
		var raw struct {
			X rows   `json:"X"`
			Y values `json:"y"`
		}
		if err := d.Decode(&raw); err != nil {
			var fe *FormatError
			if errors.As(err, &fe) {
				fe.Space, fe.Task = space, id
				return fe
			}
			return fmt.Errorf("bench: space %q: task %q: %w", space, id, noEOF(err))
		}
		if t.Dim == 0 && len(raw.X) > 0 {
			t.Dim = len(raw.X[0])
		}
		if t.Dim == 0 {
			return &FormatError{Space: space, Task: id, Row: -1, Reason: "no coordinates"}
		}
		task, err := newTask(space, id, raw.X, raw.Y, t.Dim)
		if err != nil {
			return err
		}
		t.Duplicates += len(raw.X) - len(task.X)
		t.Tasks = append(t.Tasks, task)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.Tasks) == 0 {
		return nil, &FormatError{Space: space, Row: -1, Reason: "no tasks"}
	}
	return t, nil
}

func sortTasks(t *Table) error {
	slices.SortFunc(t.Tasks, func(a, b TableTask) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(t.Tasks); i++ {
		if t.Tasks[i].ID == t.Tasks[i-1].ID {
			return &FormatError{Space: t.Space, Task: t.Tasks[i].ID, Row: -1, Reason: "appears twice"}
		}
	}
	return nil
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
	d := json.NewDecoder(r)
	return object(d, func(name string) error {
		if name != t.Space {
			return skip(d)
		}
		return object(d, func(id string) error {
			var listed map[string][]*int // nil for null
			if err := d.Decode(&listed); err != nil {
				return fmt.Errorf("bench: %s: task %q: %w", hpobInitial, id, noEOF(err))
			}
			task := t.Task(id)
			if task == nil {
				return nil
			}
			initial := make(map[string][]int, len(listed))
			for seed, rows := range listed {
				idx := make([]int, len(rows))
				for k, i := range rows {
					if i == nil {
						return &FormatError{Space: t.Space, Task: id, Row: -1, Reason: fmt.Sprintf("initial configuration %d of %q is null", k, seed)}
					}
					if *i < 0 || *i >= len(task.kept) {
						return &FormatError{Space: t.Space, Task: id, Row: *i, Reason: fmt.Sprintf("initial configuration of %q is outside 0..%d", seed, len(task.kept)-1)}
					}
					idx[k] = task.kept[*i]
				}
				initial[seed] = idx
			}
			task.Initial = initial
			return nil
		})
	})
}
