package disk

import (
	"errors"
	"io"
)

// ErrLocked: another process works in the directory.
var ErrLocked = errors.New("another process uses the directory")

// Lock makes the calling process the only one to work in a directory of the
// operating system until the result is closed or the process ends, however it
// ends. It fails with [ErrLocked]. Only Unix systems can do that; elsewhere it
// always succeeds, and whoever starts two services on one directory loses data.
func Lock(dir string) (io.Closer, error) { return lock(dir) }
