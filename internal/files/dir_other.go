//go:build !unix

package files

// SyncName does nothing: these systems have no way to sync a directory.
func SyncName(string) error { return nil }
