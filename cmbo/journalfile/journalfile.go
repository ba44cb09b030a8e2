// Package journalfile keeps a run of package cmbo in a file, so that the same call
// begins the run and, after the process was killed, goes on with it.
package journalfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/files"
)

// ErrLocked: another process, or another Open of this one, writes to the file.
var ErrLocked = errors.New("journalfile: the file is in use")

// Open begins a run whose journal is the named file, or goes on with the run that is in it, with the space and the options
// that it was begun with: those of [cmbo.New], but for [cmbo.WithJournal]. It fails as [cmbo.ResumeJournal] does;
// [cmbo.WithJournalMark] lets it notice that a file has lost its end. What an interrupted write has left is cut off. With
// another prior than the run began with, read the file, give what it holds and [cmbo.WithNewPrior] to [cmbo.RestoreJournal],
// write that run's [cmbo.Optimizer.Snapshot], which begins a journal, to a new file, sync it and rename it to name; then Open
// it with the new prior.
//
// An event that the Optimizer acknowledges has been written and synced, and so has the file's name. If a write fails, the
// call that caused it fails, nothing has changed, and the next call may succeed. After a failed sync, or if the rest of a
// failed write cannot be cut off, nobody knows what the file holds, and all later calls fail: open the file again.
//
// Until the Closer is closed, or the process ends, another Open of the file fails with [ErrLocked]
// on Linux, macOS, the BSDs and Windows; elsewhere nothing keeps two processes from writing to one
// file, which damages it. Closing leaves an Optimizer whose asks and tells fail.
func Open(name string, space *cmbo.Space, opts ...cmbo.Option) (*cmbo.Optimizer, io.Closer, error) {
	f, err := files.OpenLocked(name, 0o666)
	if errors.Is(err, files.ErrLocked) {
		err = fmt.Errorf("%s: %w", name, ErrLocked)
	}
	if err != nil {
		return nil, nil, err
	}
	j := &journal{file: f, name: name}
	o, err := j.resume(name, space, opts)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, j, nil
}

// file is what a journal needs of an [os.File].
type file interface {
	io.Reader
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// journal writes to the end of a file.
type journal struct {
	mu   sync.Mutex
	file file
	name string
	size int64 // of what was acknowledged
	err  error // why nothing can be written any more
}

func (j *journal) resume(name string, space *cmbo.Space, opts []cmbo.Option) (*cmbo.Optimizer, error) {
	o, valid, err := cmbo.ResumeJournal(j.file, space, append(opts[:len(opts):len(opts)], cmbo.WithJournal(j.write))...)
	if err != nil {
		return nil, err
	}
	j.size = valid
	if err := j.file.Truncate(j.size); err != nil {
		return nil, err
	}
	// A process may have written these lines and been killed before it synced.
	if err := j.file.Sync(); err != nil {
		return nil, err
	}
	return o, files.SyncName(name)
}

// write appends lines, or leaves the file as it was.
func (j *journal) write(lines []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if j.size == 0 { // or a crash could leave the end of a torn first line behind a whole one
		if err := j.file.Truncate(0); err != nil {
			return err
		}
	}
	if _, err := j.file.WriteAt(lines, j.size); err != nil {
		if e := j.file.Truncate(j.size); e != nil {
			j.err = fmt.Errorf("journalfile: a failed write was not cut off: %w", e)
		}
		return err
	}
	if err := j.file.Sync(); err != nil {
		j.err = fmt.Errorf("journalfile: the file is in an unknown state since a sync failed: %w", err)
		return err
	}
	j.size += int64(len(lines))
	return nil
}

// Close closes the file and lets others open it.
func (j *journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.err, os.ErrClosed) {
		return j.err
	}
	j.err = fmt.Errorf("journalfile: %s: %w", j.name, os.ErrClosed)
	return j.file.Close()
}
