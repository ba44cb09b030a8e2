// Package disk keeps what the service must not lose: logs that grow by one
// checksummed line at a time, and files that are written once.
//
// Nothing counts as stored before it is synced, and the directory that names it
// too. Nothing is built on a write or sync that failed: see [Log].
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FS is what the package needs of a file system; [OS] is the real one. Names
// are paths of the operating system.
type FS interface {
	// Create opens a file for writing, empty, whether it was there or not.
	Create(name string) (File, error)
	// Open opens a file that is there for writing.
	Open(name string) (File, error)
	ReadFile(name string) ([]byte, error)
	// Size returns the number of bytes in a file.
	Size(name string) (int64, error)
	// ReadDir lists the names of the files in a directory, without order.
	ReadDir(dir string) ([]string, error)
	// Rename moves a file, in place of the one that has the new name.
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(dir string) error
	// SyncDir makes what was created, renamed and removed in a directory last.
	SyncDir(dir string) error
}

// A File is open for writing.
type File interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	// Sync makes the content last.
	Sync() error
	Close() error
}

// Errors of storage. Every error of the package wraps one of them.
var (
	// ErrFull: there is no room.
	ErrFull = errors.New("the disk is full")
	// ErrIO: reading, writing or syncing failed.
	ErrIO = errors.New("the disk failed")
	// ErrDamaged: a file does not hold what was written to it.
	ErrDamaged = errors.New("a file is damaged")
	// ErrMissing: there is no such file.
	ErrMissing = errors.New("there is no such file")
)

// failure wraps an error of a file system in ErrFull, ErrMissing or ErrIO.
func failure(err error) error {
	kind := ErrIO
	switch {
	case err == nil:
		return nil
	case isKnown(err):
		return err
	case isFull(err):
		kind = ErrFull
	case errors.Is(err, fs.ErrNotExist):
		kind = ErrMissing
	}
	return &Error{Kind: kind, Err: err}
}

func isKnown(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrIO) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrMissing)
}

// An Error is a failed operation: what kind of trouble it is, for clients, and
// what the system said, with paths, for the log.
type Error struct {
	Kind error // ErrFull, ErrIO or ErrMissing
	Err  error
}

// Error tells both.
func (e *Error) Error() string { return e.Kind.Error() + ": " + e.Err.Error() }

// Unwrap returns both.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// OS is the operating system's file system.
var OS FS = system{}

type system struct{}

func (system) Create(name string) (File, error) {
	return asFile(os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600))
}

func (system) Open(name string) (File, error) { return asFile(os.OpenFile(name, os.O_WRONLY, 0)) }

func asFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

func (system) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

func (system) Size(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (system) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (system) Rename(from, to string) error { return os.Rename(from, to) }
func (system) Remove(name string) error     { return os.Remove(name) }

func (system) Mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (system) SyncDir(dir string) error { return syncDir(dir) }

// unfinished ends the names of files that are being written. Those found at a
// start were left by a process that was killed.
const unfinished = ".tmp"

// MakeDir makes a directory if it is not there, in one that is, and makes that
// last.
func MakeDir(fsys FS, dir string) error {
	if err := fsys.Mkdir(dir); err != nil {
		return failure(err)
	}
	return failure(fsys.SyncDir(filepath.Dir(dir)))
}

// WriteFile writes a whole file in place of the one of that name: after a crash
// there is the old one or the new one, and after success the new one. Two calls
// for one name must not overlap.
func WriteFile(fsys FS, name string, content []byte) error {
	temp := name + unfinished
	err := writeSynced(fsys, temp, content)
	if err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		_ = fsys.Remove(temp) // room for others; it is removed at a start otherwise
		return failure(err)
	}
	return failure(fsys.SyncDir(filepath.Dir(name)))
}

func writeSynced(fsys FS, name string, content []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(content, 0); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Remove removes a file, if it is there, and makes that last: also where one that was removed before could still come
// back.
func Remove(fsys FS, name string) error {
	_, err := fsys.Size(name)
	if err == nil {
		err = fsys.Remove(name)
	}
	if failed := failure(err); failed != nil && !errors.Is(failed, ErrMissing) {
		return failed
	}
	return failure(fsys.SyncDir(filepath.Dir(name)))
}

// ReadFile reads a file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	b, err := fsys.ReadFile(name)
	return b, failure(err)
}

// Size returns the number of bytes in a file.
func Size(fsys FS, name string) (int, error) {
	n, err := fsys.Size(name)
	return int(n), failure(err)
}

// List returns the names of a directory's files that end in suffix, without it,
// after removing what was left unfinished. It syncs the directory, so that the files
// last: the process that made one may have been killed before it did so.
func List(fsys FS, dir, suffix string) ([]string, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, failure(err)
	}
	var out []string
	for _, n := range names {
		if strings.HasSuffix(n, unfinished) {
			_ = fsys.Remove(filepath.Join(dir, n))
			continue
		}
		if base, ok := strings.CutSuffix(n, suffix); ok && base != "" {
			out = append(out, base)
		}
	}
	return out, failure(fsys.SyncDir(dir))
}
