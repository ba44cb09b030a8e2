package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
)

// The files of an experiment's folder.
const (
	settingsFile = "experiment.json"
	runsFile     = "runs.jsonl"
	failuresFile = "failures.jsonl"
)

const storeVersion = 3

// Settings are what an experiment's folder holds in experiment.json: what was
// asked for, and of which tables.
type Settings struct {
	Version  int         `json:"version"`
	Protocol Protocol    `json:"protocol"`
	Tables   []TableInfo `json:"tables"` // sorted by space
}

// A TableInfo identifies a table.
type TableInfo struct {
	Space  string `json:"space"`
	Dim    int    `json:"dim"`
	Tasks  int    `json:"tasks"`
	Rows   int    `json:"rows"`
	Digest string `json:"digest"` // SHA-256 of all that matters of it
}

// A SettingsError says why an experiment cannot go on in a folder: it was begun
// with other settings or on another table.
type SettingsError struct {
	Dir    string
	Reason string
}

// Error describes the difference.
func (e *SettingsError) Error() string {
	return fmt.Sprintf("bench: the experiment in %s cannot be continued with other settings (%s); use another folder", e.Dir, e.Reason)
}

// store keeps what an experiment has found, in a folder or, without one, in
// memory. It is safe for concurrent use.
type store struct {
	dir string

	mu     sync.Mutex
	memory []Record
	f      *os.File // of records; nil without a folder
	keys   map[runKey]bool
}

// openStore opens a folder, makes it if need be, and takes off what a killed
// process left half written. An empty name keeps everything in memory.
func openStore(dir string, want *Settings) (*store, error) {
	s := &store{dir: dir, keys: make(map[runKey]bool)}
	if dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := settleSettings(dir, want); err != nil {
		return nil, err
	}
	return s, s.open()
}

// open reads the file of records, cuts off an unfinished last line and opens it for more.
func (s *store) open() error {
	path := filepath.Join(s.dir, runsFile)
	known, valid, err := readLines[Record](path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for i := range known {
		s.keys[known[i].key()] = true
	}
	if s.f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
		return err
	}
	err = s.f.Truncate(valid)
	if err == nil {
		_, err = s.f.Seek(valid, io.SeekStart)
	}
	if err != nil {
		err = errors.Join(err, s.close())
	}
	return err
}

// settleSettings holds what is asked for against what the folder is for, and
// writes it down.
func settleSettings(dir string, want *Settings) error {
	have, err := ReadSettings(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Join(dir, runsFile)); err == nil {
			return &SettingsError{dir, "there is a " + runsFile + " but no " + settingsFile}
		}
		return writeSettings(dir, want)
	case err != nil:
		return err
	}
	if why := want.Protocol.contains(&have.Protocol); why != "" {
		return &SettingsError{dir, "it was begun with " + why}
	}
	merged := *want
	merged.Tables = slices.Clone(want.Tables)
	for _, h := range have.Tables {
		i := slices.IndexFunc(want.Tables, func(t TableInfo) bool { return t.Space == h.Space })
		if i < 0 {
			merged.Tables = append(merged.Tables, h)
		} else if want.Tables[i] != h {
			return &SettingsError{dir, fmt.Sprintf("the table of space %q was another one", h.Space)}
		}
	}
	slices.SortFunc(merged.Tables, func(a, b TableInfo) int { return strings.Compare(a.Space, b.Space) })
	return writeSettings(dir, &merged)
}

func writeSettings(dir string, s *Settings) error {
	b, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, settingsFile), func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// ReadSettings reads what the experiment in a folder was asked for.
func ReadSettings(dir string) (*Settings, error) {
	b, err := os.ReadFile(filepath.Join(dir, settingsFile))
	if err != nil {
		return nil, err
	}
	s := &Settings{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", cmbo.ErrCorrupt, filepath.Join(dir, settingsFile), err)
	}
	if s.Version != storeVersion {
		return nil, fmt.Errorf("%w: %s has version %d, this program knows %d", cmbo.ErrVersion, filepath.Join(dir, settingsFile), s.Version, storeVersion)
	}
	return s, nil
}

// replaceFile writes a file in one step: it has its former contents or the new
// ones, whenever the process ends.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".tmp"))
	}
	return os.Rename(path+".tmp", path)
}

// ReadRecords reads all that the experiment in a folder has found so far,
// whether it is complete, under way or was killed.
func ReadRecords(dir string) ([]Record, error) {
	records, _, err := readLines[Record](filepath.Join(dir, runsFile))
	return records, err
}

// readLines decodes a file of JSON lines. It ignores the text after the
// last line feed, which a killed process did not finish; valid is the number of
// bytes up to there.
func readLines[T any](path string) (items []T, valid int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := b.ReadBytes('\n')
		if err == io.EOF {
			return items, valid, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var item T
		if err := json.Unmarshal(line, &item); err != nil {
			return nil, 0, fmt.Errorf("%w: %s: line %d: %w", cmbo.ErrCorrupt, path, n, err)
		}
		items = append(items, item)
		valid += int64(len(line))
	}
}

// replaceLines writes a file of JSON lines in one step.
func replaceLines[T any](path string, items []T) error {
	return replaceFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		for i := range items {
			if err := e.Encode(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// add keeps a record unless its key is there. One write makes the line, so a process
// that is killed leaves all lines but perhaps the last one whole.
func (s *store) add(r *Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[r.key()] {
		return nil
	}
	if s.f == nil {
		s.memory = append(s.memory, *r)
	} else {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := s.f.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	s.keys[r.key()] = true
	return nil
}

func (s *store) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f = nil
	return err
}

// finish closes the file and brings its lines into an order that follows from
// the lines and the methods' ranks in the catalogue, not from who wrote them when.
// Of lines with equal keys the first stays.
func (s *store) finish(rank map[string]int) error {
	order := func(a, b Record) int { return compareKeys(rank, a.key(), b.key()) }
	if s.dir == "" {
		slices.SortFunc(s.memory, order)
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	records, err := ReadRecords(s.dir)
	if err != nil {
		return err
	}
	slices.SortStableFunc(records, order)
	records = slices.CompactFunc(records, func(a, b Record) bool { return a.key() == b.key() })
	return replaceLines(filepath.Join(s.dir, runsFile), records)
}

// writeFailures lists failures, or removes the list if there are none.
func (s *store) writeFailures(fs []Failure) error {
	if s.dir == "" {
		return nil
	}
	path := filepath.Join(s.dir, failuresFile)
	if len(fs) == 0 {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return replaceLines(path, fs)
}
