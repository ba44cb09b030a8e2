//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journalfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func openLocked(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", name, ErrLocked)
		}
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	return f, nil
}
