//go:build unix

package files

import "os"

// SyncDir makes the names of new files in a directory last: a file whose name is
// not on disk is lost however often its content was synced.
func SyncDir(dir string) error {
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
