//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// OpenLocked opens a file for reading and writing, and makes it with perm if it is not there. Until
// it is closed or the process ends, another OpenLocked of it fails with [ErrLocked] on Linux,
// macOS, the BSDs and Windows; elsewhere nothing keeps two processes apart.
func OpenLocked(name string, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	return f, nil
}
