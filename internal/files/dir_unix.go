//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
)

// SyncName makes the name of a file last: one whose name is not on disk is lost however
// often its content was synced. The name is in the directory that a link leads to.
func SyncName(name string) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
