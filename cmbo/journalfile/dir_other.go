//go:build !unix

package journalfile

// syncDir does nothing: these systems have no way to sync a directory.
func syncDir(string) error { return nil }
