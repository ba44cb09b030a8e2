//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package journalfile

import "os"

func openLocked(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
}
