package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/names"
)

// A Policy says what a reader does with a bad row.
type Policy uint8

const (
	// Fail makes the first bad row the error of the whole call.
	Fail Policy = iota
	// Skip leaves bad rows out and lists them in the [Report].
	Skip
)

// String returns the policy's name in lower case.
func (p Policy) String() string { return names.Of([]string{"fail", "skip"}, int(p), "Policy") }

// MaxErrors is the number of bad rows a [Report] keeps; it counts the others.
const MaxErrors = 100

// A Report says what became of the rows of an input: lines of data, configurations, or trials of
// Optuna and Katib with a value or, failed, with a point of the space.
type Report struct {
	// Rows counts the rows seen: Accepted and Skipped together.
	Rows, Accepted, Skipped int
	// Failed counts those accepted that became failures of their task.
	Failed int
	// Snapped counts those accepted whose values lay between the steps of a parameter
	// and became the nearest; only [Katib] takes such rows.
	Snapped int
	// PassedOver counts further rows that a [Mapping] did not want.
	PassedOver int
	// Errors holds the first [MaxErrors] bad rows.
	Errors []*RowError
}

// String counts the rows, and quotes the first bad one.
func (r Report) String() string {
	s := fmt.Sprintf("%d rows, %d of them failures", r.Accepted, r.Failed)
	if r.PassedOver > 0 {
		s += fmt.Sprintf("; %d passed over", r.PassedOver)
	}
	if r.Skipped > 0 {
		s += fmt.Sprintf("; %d bad", r.Skipped)
	}
	if len(r.Errors) > 0 {
		s += fmt.Sprintf(", the first: %v", r.Errors[0])
	}
	return s
}

// A Result is what a reader makes of an input.
type Result struct {
	// Space holds the points of the tasks.
	Space *cmbo.Space
	// Tasks are in the order in which the input first names them, their observations in the order of the input.
	Tasks []cmbo.Task
	// Report counts rows, and lists the bad ones under [Skip].
	Report Report
}

// A RowError says where in an input a problem lies. Fields that do not apply are empty or 0.
type RowError struct {
	Line   int    // line on which the row begins, from 1; 0: the input as a whole
	Task   string // ID of the task
	Field  string // name of the column, key or parameter
	Value  string // the offending text, cut to 64 bytes
	Reason string // what is wrong
	Err    error  // the cause; it is or wraps a sentinel of package cmbo
	// Skippable reports that the Policy ended the reading: under [Skip] the row is left out.
	Skippable bool
}

// Error describes the problem and its place.
func (e *RowError) Error() string {
	parts := []string{"history"}
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.Task != "" {
		parts = append(parts, fmt.Sprintf("task %q", e.Task))
	}
	switch {
	case e.Field != "" && e.Value != "":
		parts = append(parts, fmt.Sprintf("%q is %q", e.Field, e.Value))
	case e.Field+e.Value != "":
		parts = append(parts, strconv.Quote(e.Field+e.Value))
	}
	parts = append(parts, e.Reason)
	if e.Skippable {
		parts[len(parts)-1] += " (Policy: history.Skip leaves such rows out and reports them)"
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// rowErrorf builds a RowError without a place.
func rowErrorf(sentinel error, format string, args ...any) *RowError {
	return &RowError{Reason: fmt.Sprintf(format, args...), Err: sentinel}
}

func (e *RowError) at(line int) *RowError {
	e.Line = line
	return e
}

// in adds the field and its text, which may be part of a row that is not to be held.
func (e *RowError) in(field, value string) *RowError {
	e.Field, e.Value = field, strings.Clone(names.Clip(value))
	return e
}

// outside turns the refusal of a row by its space into a RowError; text gives the value of a parameter as the input has it.
// The row has an entry for each parameter, so that one of them is what is refused.
func outside(err error, params []column, text func(i int) string) *RowError {
	var de *cmbo.DataError
	errors.As(err, &de)
	e := &RowError{Reason: de.Reason, Err: err}
	return e.in(params[de.Column].param.Name(), text(de.Column))
}

// collector gathers tasks and bad rows for a reader.
type collector struct {
	policy Policy
	result *Result
	report *Report
	params []cmbo.Param   // of the space
	index  map[string]int // of a task in the result, by ID
}

func newCollector(s *cmbo.Space, p Policy) (*collector, error) {
	if p > Skip {
		return nil, fmt.Errorf("%w: unknown %s", cmbo.ErrOption, p)
	}
	c := &collector{policy: p, result: new(Result), index: make(map[string]int)}
	c.report = &c.result.Report
	c.setSpace(s)
	return c, nil
}

// oriented is newCollector, with limits filled in, for values of a direction and outputs of names, maybe for seconds.
func oriented(s *cmbo.Space, p Policy, l *Limits, d Direction, seconds string, names []string) (c *collector, err error) {
	if d > Maximize {
		return nil, fmt.Errorf("%w: unknown %s", cmbo.ErrOption, d)
	}
	if seconds != "" {
		names = append(slices.Clip(names), seconds)
	}
	for i, name := range names {
		if err := space.CheckName("output", name); err != nil {
			return nil, fmt.Errorf("%w: %w", cmbo.ErrOption, err)
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%w: %q is the name of two outputs", cmbo.ErrOption, name)
		}
	}
	if *l, err = l.filled(); err != nil {
		return nil, err
	}
	return newCollector(s, p)
}

// setSpace sets the space before the first row; nil is none yet.
func (c *collector) setSpace(s *cmbo.Space) {
	if c.result.Space = s; s != nil {
		c.params = s.Params()
	}
}

// bad counts a bad row and returns it if it ends the reading.
func (c *collector) bad(e *RowError) error {
	r := c.report
	r.Rows++
	r.Skipped++
	if len(r.Errors) < MaxErrors {
		r.Errors = append(r.Errors, e)
	}
	if c.policy == Fail {
		e.Skippable = true
		return e
	}
	return nil
}

// take counts a row that begins on the line, and adds it to its task.
func (c *collector) take(r row, line int) error {
	report := c.report
	switch {
	case r.bad != nil:
		r.bad.Task = strings.Clone(r.id)
		return c.bad(r.bad.at(line))
	case r.outcome == passedOver:
		report.PassedOver++
		return nil
	}
	report.Rows++
	report.Accepted++
	if r.snapped {
		report.Snapped++
	}
	t := c.task(r.id)
	if r.outcome == hasFailed {
		report.Failed++
		t.FailedOutputs.Append(len(t.Failed), r.outputs)
		t.Failed = append(t.Failed, r.x)
	} else {
		space.Observe(t, r.x, r.y, r.noise, r.outputs, r.curve)
	}
	if e := describe(t, r.context); e != nil {
		e.Task = strings.Clone(r.id)
		return e.at(line)
	}
	return nil
}

// describe adds what a row says of its task.
func describe(t *cmbo.Task, context cmbo.Context) *RowError {
	if t.Context == nil && len(context) > 0 {
		t.Context = make(cmbo.Context)
	}
	for _, name := range slices.Sorted(maps.Keys(context)) {
		v, known := t.Context[name]
		if !known {
			t.Context[name] = context[name]
		} else if v != context[name] {
			return rowErrorf(cmbo.ErrTask, "descriptor %q is %#v, and on a line of the same task before it is %#v",
				name, context[name], v)
		}
	}
	return nil
}

// A taker is given each row and the line on which it begins; an error ends the reading.
type taker func(r row, line int) error

func (c *collector) task(id string) *cmbo.Task {
	i, ok := c.index[id]
	if !ok {
		i = len(c.result.Tasks)
		id = strings.Clone(id) // may be part of a line
		c.index[id] = i
		c.result.Tasks = append(c.result.Tasks, cmbo.Task{ID: id, Params: c.params})
	}
	return &c.result.Tasks[i]
}

// finish returns the result, which must hold an observation; lack, nil if that is known before, says what the rows lack.
func (c *collector) finish(rows string, lack func() *RowError) (*Result, error) {
	r := c.report
	switch {
	case r.Accepted > r.Failed:
		if lack != nil {
			if e := lack(); e != nil {
				return nil, e
			}
		}
		return c.result, nil
	case r.Accepted > 0:
		return nil, fmt.Errorf("%w: none of the %s has a value; %d failed", cmbo.ErrNoTasks, rows, r.Failed)
	case r.Skipped > 0:
		return nil, fmt.Errorf("%w: %s all bad: %d; the first: %w", cmbo.ErrNoTasks, rows, r.Skipped, r.Errors[0])
	case r.PassedOver > 0:
		return nil, &RowError{Reason: fmt.Sprintf("of %d %s the status wants none", r.PassedOver, rows), Err: cmbo.ErrNoTasks}
	}
	return nil, &RowError{Reason: "there are no " + rows, Err: cmbo.ErrNoTasks}
}

// quoteAll lists names for a message, at most eight.
func quoteAll(list []string) string { return names.Quote(8, list) }
