package cmbo

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// Sentinel errors of the package. Every error that cmbo itself finds wraps one
// of them, so errors.Is tells what kind of trouble it is; errors.As with
// [*DataError] tells where in the input it lies. What a context, a reader, a
// writer or a journal returned is wrapped as it is.
var (
	// ErrDimension: a row, a list or a matrix has the wrong number of entries.
	ErrDimension = errors.New("cmbo: wrong dimension")
	// ErrNotFinite: a value is NaN, infinite or beyond ±1e150, or a variance is
	// negative.
	ErrNotFinite = errors.New("cmbo: unusable value")
	// ErrOutOfSpace: a point does not lie in the search space.
	ErrOutOfSpace = errors.New("cmbo: point outside the space")
	// ErrSpace: the search space itself is ill-defined.
	ErrSpace = errors.New("cmbo: invalid space")
	// ErrNoTasks: Learn was given nothing to learn from.
	ErrNoTasks = errors.New("cmbo: no tasks")
	// ErrTask: a task has no observations, no ID, or an ID used twice.
	ErrTask = errors.New("cmbo: invalid task")
	// ErrOption: an option's value is outside its range, or two options
	// contradict each other.
	ErrOption = errors.New("cmbo: invalid option")
	// ErrPriorMismatch: the prior was learned for another space, direction or
	// variant than the optimiser is asked to use.
	ErrPriorMismatch = errors.New("cmbo: prior does not fit")
	// ErrNoCandidates: every candidate of a finite space has been proposed or
	// observed.
	ErrNoCandidates = errors.New("cmbo: no candidates left")
	// ErrUnknownTrial: no trial of that ID was handed out.
	ErrUnknownTrial = errors.New("cmbo: unknown trial")
	// ErrTrialClosed: the trial was already told, failed or cancelled.
	ErrTrialClosed = errors.New("cmbo: trial is closed")
	// ErrCorrupt: stored data is truncated, damaged or inconsistent.
	ErrCorrupt = codec.ErrCorrupt
	// ErrLimit: stored data goes beyond a limit, such as one of [PriorLimits]. It
	// wraps ErrCorrupt.
	ErrLimit = codec.ErrLimit
	// ErrPanic: code that the caller gave, such as a journal, a surrogate or a kernel,
	// panicked. See [*PanicError].
	ErrPanic = errors.New("cmbo: panic in the caller's code")
	// ErrVersion: stored data was written by a newer release.
	ErrVersion = errors.New("cmbo: data of a newer version")
	// ErrNumerical: a matrix stayed singular under every jitter tried, or an
	// iteration failed.
	ErrNumerical = gp.ErrNumerical
)

// A DataError says where in the caller's data a problem lies. Fields that do
// not apply are empty or -1.
type DataError struct {
	Task   string  // ID of the task, or empty
	Row    int     // index of the observation, point, candidate or task without an ID, or -1
	Column int     // index of the parameter or coordinate, or -1
	Name   string  // name of the parameter, or empty
	Value  float64 // the offending value, if there is one
	Reason string  // what is wrong, with the numbers
	Err    error   // the sentinel
}

// Error describes the problem with its place and its numbers.
func (e *DataError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if e.Task != "" {
		fmt.Fprintf(&b, ": task %q", e.Task)
	}
	if e.Row >= 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
	}
	switch {
	case e.Name != "":
		fmt.Fprintf(&b, ": parameter %q", e.Name)
	case e.Column >= 0:
		fmt.Fprintf(&b, ": column %d", e.Column)
	}
	if e.Reason != "" {
		b.WriteString(": ")
		b.WriteString(e.Reason)
	}
	return b.String()
}

// Unwrap returns the sentinel.
func (e *DataError) Unwrap() error { return e.Err }

// A PanicError is a panic of code that the caller gave, in whatever goroutine: the
// call that ran it fails and changes nothing.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where, as runtime/debug.Stack formats it
	where error  // what cmbo did meanwhile, nil if that is not known
}

// Error says what the panic was and, if that is known, what for.
func (e *PanicError) Error() string {
	if e.where != nil {
		return fmt.Sprintf("%v: %v", ErrPanic, e.where)
	}
	return fmt.Sprintf("%v: %v", ErrPanic, e.Value)
}

// Unwrap returns [ErrPanic], and the value if it is an error.
func (e *PanicError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{ErrPanic, err}
	}
	return []error{ErrPanic}
}

// panicked returns the error of a call that ends: with what its deferred function
// recovered, or with err, in which a panic of another goroutine may lie.
func panicked(recovered any, err error) error {
	var p *parallel.Panic
	switch {
	case recovered == nil && (errors.Is(err, ErrPanic) || !errors.As(err, &p)):
		return err
	case recovered == nil:
		return &PanicError{Value: p.Value, Stack: p.Stack, where: err}
	}
	if p, ok := recovered.(*parallel.Panic); ok {
		return &PanicError{Value: p.Value, Stack: p.Stack}
	}
	return &PanicError{Value: recovered, Stack: debug.Stack()}
}

// dataErrorf builds a DataError that is not tied to a place yet; inTask and
// atRow add the place on the way up.
func dataErrorf(sentinel error, format string, args ...any) *DataError {
	return &DataError{Row: -1, Column: -1, Reason: fmt.Sprintf(format, args...), Err: sentinel}
}

// inTask adds the task's ID to a DataError; other errors are wrapped.
func inTask(err error, id string) error {
	var de *DataError
	if errors.As(err, &de) {
		c := *de
		c.Task = id
		return &c
	}
	return fmt.Errorf("task %q: %w", id, err)
}

// atRow adds a row index to a DataError; other errors are wrapped.
func atRow(err error, row int) error {
	var de *DataError
	if errors.As(err, &de) {
		c := *de
		c.Row = row
		return &c
	}
	return fmt.Errorf("row %d: %w", row, err)
}

// atColumn adds the index of a parameter to a DataError; other errors are wrapped.
func atColumn(err error, column int) error {
	var de *DataError
	if errors.As(err, &de) {
		c := *de
		c.Column = column
		return &c
	}
	return fmt.Errorf("column %d: %w", column, err)
}

func optionErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
}

func isExhausted(err error) bool { return errors.Is(err, ErrNoCandidates) }
