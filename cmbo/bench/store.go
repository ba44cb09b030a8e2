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

// Settings are what an experiment's folder holds in experiment.json: what was asked for, and of which tables.
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

// store keeps what an experiment has found in memory and, if it has a name, in a folder. It is safe for concurrent use.
type store struct {
	dir string

	mu      sync.Mutex
	records []Record
	keys    map[runKey]bool
	f       *os.File // of records; nil without a folder
}

// openStore opens a folder, makes it if need be, and takes off what a killed process left half written.
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
	path := filepath.Join(dir, runsFile)
	known, valid, err := readLines[Record](path)
	if err == nil {
		err = os.Truncate(path, valid)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, r := range known {
		if !s.keys[r.key()] {
			s.keys[r.key()], s.records = true, append(s.records, r)
		}
	}
	s.f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	return s, err
}

// settleSettings holds what is asked for against what the folder is for, and writes it down.
func settleSettings(dir string, want *Settings) error {
	other := func(reason string) error {
		return fmt.Errorf("%w: the experiment in %s cannot be continued with other settings (%s); use another folder",
			cmbo.ErrOption, dir, reason)
	}
	have, err := ReadSettings(dir)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, runsFile)); err == nil {
			return other("there is a " + runsFile + " but no " + settingsFile)
		}
		have = want
	} else if err != nil {
		return err
	}
	if why := want.Protocol.contains(&have.Protocol); why != "" {
		return other("it was begun with " + why)
	}
	merged := *want
	merged.Tables = slices.Clone(want.Tables)
	for _, h := range have.Tables {
		i := slices.IndexFunc(want.Tables, func(t TableInfo) bool { return t.Space == h.Space })
		if i < 0 {
			merged.Tables = append(merged.Tables, h)
		} else if want.Tables[i] != h {
			return other(fmt.Sprintf("the table of space %q was another one", h.Space))
		}
	}
	slices.SortFunc(merged.Tables, func(a, b TableInfo) int { return strings.Compare(a.Space, b.Space) })
	return replaceFile(filepath.Join(dir, settingsFile), "\t", merged)
}

// ReadSettings reads what the experiment in a folder was asked for.
func ReadSettings(dir string) (*Settings, error) {
	path := filepath.Join(dir, settingsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Settings{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", cmbo.ErrCorrupt, path, err)
	}
	if s.Version != storeVersion {
		return nil, fmt.Errorf("%w: %s has version %d, this program knows %d", cmbo.ErrVersion, path, s.Version, storeVersion)
	}
	return s, nil
}

// replaceFile writes items as JSON, each ending in a line feed, in one step: the file has its
// former contents or the new ones, whenever the process ends.
func replaceFile[T any](path, indent string, items ...T) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	e := json.NewEncoder(w)
	e.SetIndent("", indent)
	for i := range items {
		if err = e.Encode(&items[i]); err != nil {
			break
		}
	}
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".tmp"))
	}
	return os.Rename(path+".tmp", path)
}

// ReadRecords reads all that the experiment in a folder has found so far, whether it is complete, under way or was killed.
func ReadRecords(dir string) ([]Record, error) {
	records, _, err := readLines[Record](filepath.Join(dir, runsFile))
	return records, err
}

// readLines decodes a file of JSON lines. It ignores the text after the last line feed, which a
// killed process did not finish; valid is the number of bytes up to there.
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

// add keeps a record. One write makes the line, so a process that is killed leaves all lines but perhaps the last one whole.
func (s *store) add(r *Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, *r)
	if s.f == nil {
		return nil
	}
	b, err := json.Marshal(r)
	if err == nil {
		_, err = s.f.Write(append(b, '\n'))
	}
	return err
}

// finish brings the records into an order that follows from their keys, not from who made them
// when, and writes them and the failures, with those known of tables that were not tried again, or
// removes the list of these if there are none. The store is closed.
func (s *store) finish(order func(a, b runKey) int, failures []Failure, tried map[string]bool) error {
	slices.SortFunc(s.records, func(a, b Record) int { return order(a.key(), b.key()) })
	if s.dir == "" {
		return nil
	}
	if err := replaceFile(filepath.Join(s.dir, runsFile), "", s.records...); err != nil {
		return err
	}
	path := filepath.Join(s.dir, failuresFile)
	known, _, _ := readLines[Failure](path)
	failures = slices.Concat(failures, slices.DeleteFunc(known, func(f Failure) bool { return tried[f.Space] }))
	slices.SortFunc(failures, func(a, b Failure) int { return order(a.key(), b.key()) })
	if len(failures) > 0 {
		return replaceFile(path, "", failures...)
	}
	return os.RemoveAll(path)
}
