package report

import (
	"errors"
	"fmt"
)

// ErrInput is what every refusal of an input wraps.
var ErrInput = errors.New("report: invalid input")

// An InputError says what of the input cannot be analysed. It wraps [ErrInput]
// and, where one fits, an error of package cmbo such as cmbo.ErrNotFinite.
type InputError struct {
	// Where names the record, clustering, timing or option.
	Where string
	// Reason tells what is wrong with it.
	Reason string
	// Err is the kind of mistake, nil if only ErrInput fits.
	Err error
}

// Error describes the mistake.
func (e *InputError) Error() string { return fmt.Sprintf("report: %s: %s", e.Where, e.Reason) }

// Unwrap returns [ErrInput] and the kind of mistake.
func (e *InputError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInput}
	}
	return []error{ErrInput, e.Err}
}

func inputErrorf(where string, kind error, format string, args ...any) error {
	return &InputError{Where: where, Reason: fmt.Sprintf(format, args...), Err: kind}
}
