//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// syncDir syncs the directory itself: a file whose name is not on disk is lost
// however often its content was synced.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
