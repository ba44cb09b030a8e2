package cmbo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// Sentinel errors of the package. Every error that cmbo itself finds wraps one of them, so
// errors.Is tells what kind of trouble it is; errors.As with [*DataError] tells where in the input
// it lies. What a context, a reader, a writer or a journal returned is wrapped as it is.
var (
	// ErrDimension: a row, a list or a matrix has the wrong number of entries.
	ErrDimension = space.ErrDimension
	// ErrValue: a value is NaN, infinite or beyond ±1e150, or not positive where all
	// are said to be, or a variance is negative.
	ErrValue = space.ErrValue
	// ErrOutOfSpace: a point does not lie in the search space.
	ErrOutOfSpace = space.ErrOutOfSpace
	// ErrSpace: the search space itself is ill-defined.
	ErrSpace = space.ErrSpace
	// ErrNoTasks: Learn was given nothing to learn from: no task, or none with a value.
	ErrNoTasks = space.ErrNoTasks
	// ErrTask: a task has no observations, no ID, an ID used twice, or rows, outputs or descriptors that no task can have.
	ErrTask = space.ErrTask
	// ErrOutput: an evaluation brought an output that was not declared, or lacks one that was: see [WithOutput].
	ErrOutput = space.ErrOutput
	// ErrStep: a step of a learning curve that is negative, or does not follow the one before: see [Optimizer.Report].
	ErrStep = space.ErrStep
	// ErrOption: an option's value is outside its range, or two options contradict each other.
	ErrOption = space.ErrOption
	// ErrPriorMismatch: the prior was learned for another space, direction, sign of values or
	// y policy than the run has, or a snapshot names another prior.
	ErrPriorMismatch = errors.New("cmbo: prior does not fit")
	// ErrLearners: learners that cannot be merged, being of other spaces, options, passes or tasks before this pass.
	ErrLearners = errors.New("cmbo: learners do not fit")
	// ErrBudget: what is left of the run's budget pays for no evaluation more: see [WithBudget].
	ErrBudget = errors.New("cmbo: the budget pays for no more")
	// ErrNoCandidates: every point that could be proposed has been proposed or observed:
	// all of a finite or small discrete space, or all that were drawn from a larger one.
	ErrNoCandidates = errors.New("cmbo: no candidates left")
	// ErrUnknownTrial: no trial of that ID was handed out.
	ErrUnknownTrial = errors.New("cmbo: unknown trial")
	// ErrTrialClosed: the trial was already told, stopped, failed or cancelled.
	ErrTrialClosed = errors.New("cmbo: trial is closed")
	// ErrCorrupt: stored data is truncated, damaged or inconsistent.
	ErrCorrupt = codec.ErrCorrupt
	// ErrLimit: stored data goes beyond a limit, such as one of [PriorLimits]. It wraps ErrCorrupt.
	ErrLimit = codec.ErrLimit
	// ErrPanic: code that the caller gave, such as a journal, a surrogate or a kernel, panicked. See [*PanicError].
	ErrPanic = errors.New("cmbo: panic in the caller's code")
	// ErrInternal: cmbo itself panicked, a mistake in the library that is worth a report with the stack of the [*PanicError].
	ErrInternal = errors.New("cmbo: panic in the library")
	// ErrVersion: stored data has a format that this release does not read, or integers that an int of
	// this build does not hold.
	ErrVersion = codec.ErrVersion
	// ErrNumerical: a matrix stayed singular under every jitter tried, an iteration failed, a surrogate returned numbers of
	// no use, or what a task adds to the sums of a Learner is beyond their range.
	ErrNumerical = gp.ErrNumerical
)

// A PanicError is a panic in whatever goroutine, of code that the caller gave or of the
// library itself: the call that ran it fails and changes nothing.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where, as runtime/debug.Stack formats it
	where error  // what cmbo did meanwhile, nil if that is not known
	kind  error  // ErrPanic or ErrInternal
}

// Error says whose the panic was, what it was and, if that is known, what for.
func (e *PanicError) Error() string {
	if e.where != nil {
		return fmt.Sprintf("%v: %v", e.kind, e.where)
	}
	return fmt.Sprintf("%v: %v", e.kind, e.Value)
}

// Unwrap returns [ErrPanic], if the library had called code of the caller, or [ErrInternal], and the value if it is an error.
func (e *PanicError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{e.kind, err}
	}
	return []error{e.kind}
}

// panicError makes the error of a panic while where happened, nil for not known.
func panicError(p *parallel.Panic, where error) *PanicError {
	e := &PanicError{Value: p.Value, Stack: p.Stack, where: where, kind: ErrInternal}
	if p.Foreign {
		e.kind = ErrPanic
	}
	return e
}

// guarded returns what do returns, or, if do panics, or fails with a panic of another
// goroutine, a [*PanicError]. With an error it returns nothing else.
func guarded[T any](do func() (T, error)) (out T, err error) {
	defer func() {
		var none T
		if v := recover(); v != nil {
			out, err = none, panicError(parallel.Caught(v, "cmbo.guarded"), nil)
		} else if p := (*parallel.Panic)(nil); err != nil {
			out = none
			if !errors.As(err, new(*PanicError)) && errors.As(err, &p) {
				err = panicError(p, err)
			}
		}
	}()
	return do()
}

// called is guarded of a call with a context. It returns refused, unless that is nil, and refuses a nil context.
func called[T any](ctx context.Context, refused error, do func() (T, error)) (out T, err error) {
	if err := cmp.Or(refused, gp.CheckContext(ctx)); err != nil {
		return out, err
	}
	return guarded(do)
}

// guard is guarded for what returns an error alone.
func guard(do func() error) error {
	_, err := guarded(func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func optionErrorf(format string, args ...any) error { return gp.OptionErrorf(format, args...) }

// refuseUnless returns nil if ok, else the error of optionErrorf.
func refuseUnless(ok bool, format string, args ...any) error {
	return gp.RefuseUnless(ok, format, args...)
}

func checkWriter(w io.Writer) error { return refuseUnless(w != nil, "a nil io.Writer") }
