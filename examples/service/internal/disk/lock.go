package disk

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/gocmbo/cmbo/internal/files"
)

// ErrLocked: another process works in the directory.
var ErrLocked = errors.New("another process uses the directory")

// Lock makes the calling process the only one to work in a directory of the
// operating system until the result is closed or the process ends, however it
// ends. It fails with [ErrLocked]. Where the system cannot do that it always
// succeeds, and whoever starts two services on one directory loses data.
func Lock(dir string) (io.Closer, error) {
	f, err := files.OpenLocked(filepath.Join(dir, "lock"), 0o600)
	switch {
	case errors.Is(err, files.ErrLocked):
		return nil, ErrLocked
	case err != nil:
		return nil, failure(err)
	}
	return f, nil
}
