package space

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/names"
)

// A Task is the history of one tuning run: points of the space and the values
// measured there. Both sources of a prior and a finished run take this form.
type Task struct {
	// ID names the task in diagnostics and errors; UTF-8, and unique within one Learn.
	ID string `json:"id"`
	// X holds one point a row, as [Space] describes them.
	X [][]float64 `json:"x"`
	// Y holds the measured values, in the user's units and direction.
	Y []float64 `json:"y"`
	// NoiseVariance holds the variance of each measurement's error in squared
	// units of Y; nil if it is not known, 0 for a single one not known.
	NoiseVariance []float64 `json:"noise_variance,omitempty"`
	// Outputs holds what was measured beside Y, by name, in the user's units; nil for nothing. Tasks
	// need not have the same outputs. [CheckName] says what a name is; in what one Learn is given no
	// two may differ by case, spaces and the signs _-. alone.
	Outputs Columns `json:"outputs,omitempty"`
	// Curves holds what the evaluations showed before their ends, in the unit and the
	// direction of Y, in the order of Y; nil for nothing. See cmbo.Optimizer.Report.
	Curves []Curve `json:"curves,omitempty"`
	// Context describes the task, so that a new one is told which past ones it is like; nil
	// for nothing. The paper's method passes it over.
	Context Context `json:"context,omitempty"`
	// Failed holds the points whose evaluation failed and gave no value, one a row. They teach where evaluations succeed, and
	// nothing of how good points are. A task may consist of failures alone, but not all tasks of a past: of these Learn
	// has nothing to learn from.
	Failed [][]float64 `json:"failed,omitempty"`
	// FailedOutputs holds what was measured of the evaluations that failed, in the order of
	// Failed, as Outputs does of the others; nil for nothing.
	FailedOutputs Columns `json:"failed_outputs,omitempty"`
	// Params are the parameters the rows were recorded with, in the order of their entries, which a space finds by name and
	// choices by theirs; nil if those are the space's own. Where a space has others, [Space.Adopt] brings the task to it.
	Params []Param `json:"params,omitempty"`
}

// A Curve is what an evaluation showed before its end, which is a value of [Task.Y]: Values at Steps in rising
// order, none for an evaluation that showed nothing. The steps of all tasks mean the same, such as epochs.
type Curve struct {
	Steps  []int     `json:"steps"`
	Values []float64 `json:"values"`
	// Stopped says that the end was not waited for: the value of Y is an estimate, and its
	// variance is in [Task.NoiseVariance].
	Stopped bool `json:"stopped,omitempty"`
}

// UnmarshalJSON fails with [ErrTask] for a key that a task does not have and a value of another type, with [ErrValue] where a
// number of x, y or failed is null, which encoding/json takes for 0, and with [ErrSpace] for params that are none. Then, and
// in what has no key, t stays as it is. A struct that embeds a task needs a method of its own.
func (t *Task) UnmarshalJSON(b []byte) error {
	type plain Task
	to := plain(*t)
	n := struct {
		*plain
		X             json.RawMessage `json:"x"`
		Y             json.RawMessage `json:"y"`
		NoiseVariance json.RawMessage `json:"noise_variance"`
		Curves        json.RawMessage `json:"curves"`
		Context       json.RawMessage `json:"context"`
		Failed        json.RawMessage `json:"failed"`
		Params        json.RawMessage `json:"params"`
	}{plain: &to}
	err := decode(b, &n)
	if err == nil {
		err = cmp.Or(
			numbers("x", n.X, &to.X), numbers("y", n.Y, &to.Y), numbers("failed", n.Failed, &to.Failed),
			anew("noise_variance", n.NoiseVariance, &to.NoiseVariance), anew("curves", n.Curves, &to.Curves),
			anew("context", n.Context, &to.Context), anew("params", n.Params, &to.Params),
		)
	}
	if err = InTask(err, to.ID); err != nil {
		if !errors.As(err, new(*DataError)) && !errors.Is(err, ErrSpace) {
			err = fmt.Errorf("%w: %w", ErrTask, err)
		}
		return err
	}
	*t = Task(to)
	return nil
}

// UnmarshalJSON fails as that of a [Task] does: with "stop" for "stopped" an estimate would be taken for a measurement.
func (c *Curve) UnmarshalJSON(b []byte) error {
	type plain Curve
	to := plain(*c)
	n := struct {
		*plain
		Steps  json.RawMessage `json:"steps"`
		Values json.RawMessage `json:"values"`
	}{plain: &to}
	err := decode(b, &n)
	if err == nil {
		err = cmp.Or(numbers("steps", n.Steps, &to.Steps), numbers("values", n.Values, &to.Values))
	}
	var null *DataError
	if errors.As(err, &null) {
		return Errorf(ErrValue, "number %d of a curve: %s", null.Row, null.Reason)
	}
	if err == nil {
		*c = Curve(to)
	}
	return err
}

// anew decodes a list or a map unless its key is missing. It does not write into the one that is
// there, as encoding/json does: copies of a task share it.
func anew[T any](name string, text json.RawMessage, to *T) error {
	if text == nil {
		return nil
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		if errors.As(err, new(*json.UnmarshalTypeError)) {
			err = fmt.Errorf("%q: %w", name, err)
		}
		return err
	}
	*to = v
	return nil
}

// numbers decodes a list of numbers, of lists of them, or of names, unless its key is missing. It
// fails where an entry or a list is null.
func numbers[T []int | []float64 | [][]float64 | []string](name string, text json.RawMessage, to *T) error {
	if err := anew(name, text, to); err != nil || !bytes.Contains(text, []byte("null")) {
		return err
	}
	var values []any
	_ = json.Unmarshal(text, &values) // which was read above
	for i, v := range values {
		null := Errorf(ErrValue, "%q is null", name)
		if v == nil {
			return AtRow(null, i)
		}
		row, _ := v.([]any)
		if c := slices.Index(row, nil); c >= 0 {
			return AtRow(atColumn(null, c), i)
		}
	}
	return nil
}

// Check fails with [ErrDimension] if there are not as many values as steps, with [ErrStep] if
// these do not rise, and as [CheckValue] does.
func (c *Curve) Check() error {
	if len(c.Steps) != len(c.Values) {
		return Errorf(ErrDimension, "a curve of %d values at %d steps", len(c.Values), len(c.Steps))
	}
	for i, s := range c.Steps {
		switch {
		case s < 0:
			return Errorf(ErrStep, "step %d of a curve is negative", s)
		case i > 0 && s <= c.Steps[i-1]:
			return Errorf(ErrStep, "step %d of a curve follows step %d", s, c.Steps[i-1])
		}
		if v := c.Values[i]; CheckValue(v) != nil {
			return Errorf(ErrValue, "value %g at step %d of a curve is not within ±%g", v, s, points.MaxValue)
		}
	}
	return nil
}

// Observe adds to t the value y at x, which t keeps; its noise variance, 0 if that is not known; and the outputs and
// the curve of the evaluation.
func Observe(t *Task, x []float64, y, noise float64, outputs map[string]float64, curve Curve) {
	if t.NoiseVariance == nil && noise > 0 {
		t.NoiseVariance = make([]float64, len(t.Y), cap(t.Y))
	}
	if t.NoiseVariance != nil {
		t.NoiseVariance = append(t.NoiseVariance, noise)
	}
	if t.Curves == nil && (len(curve.Steps) > 0 || curve.Stopped) {
		t.Curves = make([]Curve, len(t.Y), cap(t.Y))
	}
	if t.Curves != nil {
		t.Curves = append(t.Curves, curve)
	}
	t.Outputs.Append(len(t.Y), outputs)
	t.X, t.Y = append(t.X, x), append(t.Y, y)
}

// CloneCurves returns a copy of curves, nil for none.
func CloneCurves(curves []Curve) []Curve {
	out := slices.Clone(curves)
	for i, c := range out {
		out[i].Steps, out[i].Values = slices.Clone(c.Steps), slices.Clone(c.Values)
	}
	return out
}

// fault validates what does not depend on a space, and names the first offending place.
func (t *Task) fault() error {
	switch {
	case t.ID == "":
		return Errorf(ErrTask, "a task without an ID")
	case !utf8.ValidString(t.ID):
		return Errorf(ErrTask, "an ID that is not UTF-8")
	case len(t.X)+len(t.Failed) == 0:
		return Errorf(ErrTask, "no observations")
	case len(t.X) != len(t.Y):
		return Errorf(ErrDimension, "%s but %s", names.Count(len(t.X), "point"), names.Count(len(t.Y), "value"))
	case t.NoiseVariance != nil && len(t.NoiseVariance) != len(t.Y):
		return Errorf(ErrDimension, "%d noise variances for %d values", len(t.NoiseVariance), len(t.Y))
	case t.Curves != nil && len(t.Curves) != len(t.Y):
		return Errorf(ErrDimension, "%d curves for %d values", len(t.Curves), len(t.Y))
	}
	for i := range t.Curves {
		err := t.Curves[i].Check()
		if err == nil && t.Curves[i].Stopped && (t.NoiseVariance == nil || t.NoiseVariance[i] == 0) {
			err = Errorf(ErrTask, "the end of a curve that was stopped has no variance")
		}
		if err != nil {
			return AtRow(err, i)
		}
	}
	for i, y := range t.Y {
		err := CheckValue(y)
		if err == nil && t.NoiseVariance != nil {
			err = CheckNoise(t.NoiseVariance[i])
		}
		if err != nil {
			return AtRow(err, i)
		}
	}
	if err := t.Outputs.check(len(t.Y), "values"); err != nil {
		return err
	}
	return t.FailedOutputs.check(len(t.Failed), "failures")
}

// CheckTasks validates tasks, IDs included, and returns them with rows of the space: those recorded with the same
// parameters in another order are turned. Slices may be shared. It fails with [ErrNoTasks] if there are none, and
// with [ErrTask], [ErrDimension], [ErrValue], [ErrOutOfSpace] or [ErrSpace] and a [*DataError] that says where.
func CheckTasks(s *Space, tasks []Task) ([]Task, error) {
	if len(tasks) == 0 {
		return nil, ErrNoTasks
	}
	out := make([]Task, len(tasks))
	seen := make(map[string]int, len(tasks))
	for i := range tasks {
		var err error
		if out[i], err = tasks[i].in(s); err != nil {
			if tasks[i].ID == "" {
				return nil, AtRow(err, i)
			}
			return nil, err
		}
		if j, dup := seen[tasks[i].ID]; dup {
			return nil, InTask(Errorf(ErrTask, "tasks %d and %d have the same ID", j, i), tasks[i].ID)
		}
		seen[tasks[i].ID] = i
	}
	return out, nil
}

// CheckValue fails with [ErrValue] if y is not finite or beyond ±1e150.
func CheckValue(y float64) error {
	if !points.Admitted(y) {
		return Errorf(ErrValue, "value %g is not within ±%g", y, points.MaxValue).with(y)
	}
	return nil
}

// CheckNoise fails with [ErrValue] unless v is a variance of at most 1e150.
func CheckNoise(v float64) error {
	if !(v >= 0 && v <= points.MaxValue) {
		return Errorf(ErrValue, "noise variance %g is not in [0, %g]", v, points.MaxValue).with(v)
	}
	return nil
}
