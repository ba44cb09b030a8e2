//go:build !unix

package files

// SyncDir does nothing: these systems have no way to sync a directory.
func SyncDir(string) error { return nil }
