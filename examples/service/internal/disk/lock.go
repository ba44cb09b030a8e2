package disk

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrLocked: another process works in the directory.
var ErrLocked = errors.New("another process uses the directory")

// Lock makes the calling process the only one to work in a directory of the
// operating system until the result is closed or the process ends, however it
// ends. It fails with [ErrLocked].
func Lock(dir string) (io.Closer, error) {
	l := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	switch held, err := l.TryLock(); {
	case err != nil:
		return nil, failure(err)
	case !held:
		return nil, ErrLocked
	}
	return l, nil
}
