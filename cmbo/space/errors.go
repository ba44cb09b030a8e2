package space

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinel errors: what kind of trouble it is; a [*DataError] tells where in the input it lies.
var (
	// ErrDimension: a row, a list or a matrix has the wrong number of entries.
	ErrDimension = errors.New("cmbo: wrong dimension")
	// ErrValue: a value is NaN, infinite or beyond ±1e150, or not positive where all
	// are said to be, or a variance is negative.
	ErrValue = errors.New("cmbo: unusable value")
	// ErrOutOfSpace: a point does not lie in the search space.
	ErrOutOfSpace = errors.New("cmbo: point outside the space")
	// ErrSpace: the search space itself is ill-defined.
	ErrSpace = errors.New("cmbo: invalid space")
	// ErrNoTasks: Learn was given nothing to learn from: no task, or none with a value.
	ErrNoTasks = errors.New("cmbo: no tasks")
	// ErrTask: a task has no observations, no ID, an ID used twice, or what no task can have.
	ErrTask = errors.New("cmbo: invalid task")
	// ErrOutput: an evaluation brought an output that was not declared, or lacks one that was.
	ErrOutput = errors.New("cmbo: wrong output")
	// ErrStep: a step of a learning curve that is negative, or does not follow the one before.
	ErrStep = errors.New("cmbo: wrong step")
	// ErrOption: an option's value is outside its range, or two options contradict each other.
	ErrOption = errors.New("cmbo: invalid option")
)

// A DataError says where in the caller's data a problem lies. Fields that do not apply are empty or -1.
type DataError struct {
	Task   string  // ID of the task, or empty
	Row    int     // index of the observation, failed point, candidate or task without an ID, or -1
	Column int     // index of the parameter or coordinate, or -1
	Name   string  // name of the parameter, or empty
	Value  float64 // the offending value, if there is one
	Reason string  // what is wrong, with the numbers
	Err    error   // the sentinel
}

// Error describes the problem with its place and its numbers.
func (e *DataError) Error() string {
	parts := []string{fmt.Sprint(e.Err)}
	if e.Task != "" {
		parts = append(parts, fmt.Sprintf("task %q", e.Task))
	}
	if e.Row >= 0 {
		parts = append(parts, fmt.Sprintf("row %d", e.Row))
	}
	switch {
	case e.Name != "":
		parts = append(parts, fmt.Sprintf("parameter %q", e.Name))
	case e.Column >= 0:
		parts = append(parts, fmt.Sprintf("column %d", e.Column))
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the sentinel.
func (e *DataError) Unwrap() error { return e.Err }

// Errorf returns a DataError that is not tied to a place yet: [InTask] and [AtRow] add it on the way up.
func Errorf(sentinel error, format string, args ...any) *DataError {
	return &DataError{Row: -1, Column: -1, Reason: fmt.Sprintf(format, args...), Err: sentinel}
}

func (e *DataError) of(name string) *DataError {
	e.Name = name
	return e
}

func (e *DataError) with(value float64) *DataError {
	e.Value = value
	return e
}

// InTask adds the task's ID to a DataError; other errors are wrapped, and nil stays nil.
func InTask(err error, id string) error {
	return located(err, func(e *DataError) { e.Task = id }, "task %q", id)
}

// AtRow adds a row index to a DataError; other errors are wrapped.
func AtRow(err error, row int) error {
	return located(err, func(e *DataError) { e.Row = row }, "row %d", row)
}

// atColumn adds the index of a parameter to a DataError; other errors are wrapped.
func atColumn(err error, column int) error {
	return located(err, func(e *DataError) { e.Column = column }, "column %d", column)
}

// located returns a copy of a DataError with a place, and another error behind its name.
func located(err error, set func(*DataError), name string, place any) error {
	var de *DataError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &de):
		return fmt.Errorf(name+": %w", place, err)
	}
	c := *de
	set(&c)
	return &c
}
