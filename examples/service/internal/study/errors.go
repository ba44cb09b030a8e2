package study

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of the package, besides those of cmbo and disk, which pass through.
var (
	// ErrName: an ID or a name is not made as it must be.
	ErrName = errors.New("a name has 1 to 63 characters of a-z, 0-9, _ and -, and begins with a letter or a digit")
	// ErrUnknownStudy: there is no study of that ID.
	ErrUnknownStudy = errors.New("there is no such study")
	// ErrStudyExists: another study has the ID.
	ErrStudyExists = errors.New("there is a study of this ID, made by another request")
	// ErrKey: a request's key is not made as it must be.
	ErrKey = errors.New("a request's key has 1 to 64 characters of A-Z, a-z, 0-9, _, . and -")
	// ErrKeyReused: a key was used before by another request.
	ErrKeyReused = errors.New("another request had this key")
	// ErrRemoved: a study or a prior was deleted, but may be back after a power failure.
	ErrRemoved = errors.New("it is gone, but the disk failed to make that last")
	// ErrUnknownPrior: there is no prior of that name or digest.
	ErrUnknownPrior = errors.New("there is no such prior")
	// ErrNameTaken: the name stands for another prior.
	ErrNameTaken = errors.New("the name stands for another prior")
	// ErrOtherVersion: another version of the service stored what this one does not read.
	ErrOtherVersion = errors.New("another version of the service stored it")
	// ErrRequest: a request contradicts itself or lacks something.
	ErrRequest = errors.New("bad request")
	// ErrStopped: the service is shutting down.
	ErrStopped = errors.New("the service is shutting down")
)

// A LimitError says which limit was met.
type LimitError struct {
	What  string
	Limit int
	Kept  bool // the limit is one of what is kept, not of what was sent
}

// Error tells what and how many.
func (e *LimitError) Error() string {
	if e.Kept {
		return fmt.Sprintf("no more than %d %s are kept", e.Limit, e.What)
	}
	return fmt.Sprintf("no more than %d %s are taken", e.Limit, e.What)
}

// A PriorInUseError says which studies run with a prior that was to be deleted.
type PriorInUseError struct{ Studies []string }

// Error names the first of them.
func (e *PriorInUseError) Error() string {
	const shown = 10
	ids := strings.Join(e.Studies[:min(shown, len(e.Studies))], ", ")
	if n := len(e.Studies) - shown; n > 0 {
		ids += fmt.Sprintf(" and %d more", n)
	}
	return "studies run with the prior, delete them or give them another one first: " + ids
}

// validName reports whether s can name a study or a prior, and a file: lower
// case only, as some file systems do not tell cases apart.
func validName(s string) bool {
	foreign := func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-') }
	return len(s) >= 1 && len(s) <= 63 && s[0] != '_' && s[0] != '-' && !strings.ContainsFunc(s, foreign)
}

func validKey(s string) bool {
	foreign := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-')
	}
	return len(s) <= 64 && !strings.ContainsFunc(s, foreign)
}
