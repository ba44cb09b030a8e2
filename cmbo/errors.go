package cmbo

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// Sentinel errors of the package. Every error that cmbo itself finds wraps one
// of them, so errors.Is tells what kind of trouble it is; errors.As with
// [*DataError] tells where in the input it lies. What a context, a reader, a
// writer or a journal returned is wrapped as it is.
var (
	// ErrDimension: a row, a list or a matrix has the wrong number of entries.
	ErrDimension = space.ErrDimension
	// ErrNotFinite: a value is NaN, infinite or beyond ±1e150, or a variance is
	// negative.
	ErrNotFinite = space.ErrNotFinite
	// ErrOutOfSpace: a point does not lie in the search space.
	ErrOutOfSpace = space.ErrOutOfSpace
	// ErrSpace: the search space itself is ill-defined.
	ErrSpace = space.ErrSpace
	// ErrNoTasks: Learn was given nothing to learn from: no task, or none with a value.
	ErrNoTasks = space.ErrNoTasks
	// ErrTask: a task has no observations, no ID, or an ID used twice.
	ErrTask = space.ErrTask
	// ErrOption: an option's value is outside its range, or two options
	// contradict each other.
	ErrOption = space.ErrOption
	// ErrPriorMismatch: the prior was learned for another space, direction or
	// variant than the optimiser is asked to use.
	ErrPriorMismatch = errors.New("cmbo: prior does not fit")
	// ErrNoCandidates: every point that could be proposed has been proposed or observed,
	// or has failed if repeats are allowed: all of a finite or small discrete space, or all
	// that were drawn from a larger one.
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
	// ErrVersion: stored data has a format that this release does not read, or comes from
	// one whose proposals this one cannot repeat.
	ErrVersion = codec.ErrVersion
	// ErrNumerical: a matrix stayed singular under every jitter tried, an
	// iteration failed, or a surrogate returned numbers of no use.
	ErrNumerical = gp.ErrNumerical
)

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

func optionErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
}

func isExhausted(err error) bool { return errors.Is(err, ErrNoCandidates) }
