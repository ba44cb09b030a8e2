//go:build !unix

package disk

import (
	"errors"
	"syscall"
)

// isFull knows Windows's numbers for a full disk besides the portable one.
func isFull(err error) bool {
	const handleDiskFull, diskFull = syscall.Errno(39), syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, handleDiskFull) || errors.Is(err, diskFull)
}

// syncDir does nothing: these systems have no way to sync a directory.
func syncDir(string) error { return nil }
