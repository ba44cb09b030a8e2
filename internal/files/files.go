// Package files does what package os leaves to the system: it opens a file for one
// process alone, and makes the name of a file last.
package files

import "errors"

// ErrLocked: another process, or another [OpenLocked] of this one, has the file open.
var ErrLocked = errors.New("the file is in use")
