//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package files

import "os"

// OpenLocked opens a file; here nothing keeps two processes apart.
func OpenLocked(name string, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, perm)
}
