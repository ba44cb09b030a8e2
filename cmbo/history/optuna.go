package history

import (
	"fmt"
	"io"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/names"
)

// A Direction says whether small or large values are the good ones.
type Direction uint8

// The directions of a study. Unset is none.
const (
	Unset Direction = iota
	Minimize
	Maximize
)

// String returns the direction's name in lower case.
func (d Direction) String() string {
	return names.Of([]string{"unset", "minimize", "maximize"}, int(d), "Direction")
}

// An Optuna describes what to take from a journal file, as Optuna's JournalStorage writes it. The
// zero value takes the complete trials of all studies and infers the space.
type Optuna struct {
	// Space declares the parameters; nil has it inferred. The trials may have further parameters, which are passed over.
	Space *cmbo.Space
	// Studies names the studies to read, nil for all.
	Studies []string
	// Direction makes the values of all tasks go one way: those of studies of the other direction
	// change their sign. Unset takes them as recorded, and the studies must agree.
	Direction Direction
	// Pruned takes pruned trials, too, with the last value they reported.
	Pruned bool
	// Intermediate makes curves of what complete trials reported: see [cmbo.Optimizer.Report]. What
	// is no number in them is left out.
	Intermediate bool
	// Seconds, if it is not empty, names an output for the time from a trial's start to its end; a
	// trial that lacks one of the two, or of which only one names its zone, lacks it.
	Seconds string
	// Constraints names, as outputs, what trial.set_constraint was given by these names, or the numbers that
	// a sampler's constraints_func returned, in their order: a trial holds a constraint up to 0, so that New
	// takes cmbo.WithOutput(name, cmbo.AtMost(0)). What is beyond ±1e150 counts as that, what is no number is
	// missing. A trial whose list has another number of them is bad; if none has one Read fails with [ErrColumn].
	Constraints []string
	Policy      Policy
	Limits      Limits // lines that only hold attributes may be longer than Line
}

// An OptunaResult is what [Optuna.Read] makes of a journal: a task a study, whose ID is the study's name.
type OptunaResult struct {
	Result
	// Minimize reports whether small values of the tasks are good: learn with cmbo.WithMinimize then.
	Minimize bool
	// Studies describes all studies of the journal, also those not read.
	Studies []Study
	// Torn reports whether a last line was passed over that was not whole,
	// which a process left that was killed while it wrote.
	Torn bool
}

// A Study describes a study of a journal.
type Study struct {
	Name string
	// Directions has an entry an objective.
	Directions []Direction
	// The number of trials by their state.
	Complete, Pruned, Failed, Running, Waiting int
}

// Read replays a journal as Optuna does: operations that it would refuse have no effect, and neither has a last
// line that is not whole. A complete trial is an observation, a failed one of the space a failure of the task;
// others are passed over. A trial is bad if it lacks a parameter of the space or lies outside it, as enqueued
// trials may, or if its value is not finite. A [*RowError] gives the line that set the parameter or the value.
//
// A declared Space takes numbers for numeric parameters, and choices by name: that of a string is
// the string, that of any other choice its JSON text, such as 16, 1e-05, true or null. A categorical
// of numbers can be declared as a numeric parameter, one of true and false as a boolean.
//
// An inferred space has all parameters of the trials with a value, in the order in which they first
// appear: Float or LogFloat, Int or LogInt, with the step they have, Bool for the choices true and false,
// Ordinal for numbers, else Categorical with choices named as above. Read fails with cmbo's ErrSpace if a
// parameter has distributions that differ, two choices of one name, or a range of one real number.
//
// Whatever the Policy, Read fails with cmbo's ErrCorrupt if a line is not an operation or is longer
// than Limits has it, ErrVersion at an operation it does not know, ErrTask if a study to be read has
// several objectives, if directions differ or if there is no study of a name in Studies, and
// ErrNoTasks without a good trial. Studies without trials to be read count for none of this.
func (o Optuna) Read(r io.Reader) (*OptunaResult, error) {
	if err := o.Space.Defined(); o.Space != nil && err != nil {
		return nil, err
	}
	out, err := oriented(o.Space, o.Policy, &o.Limits, o.Direction, o.Seconds, o.Constraints)
	if err != nil {
		return nil, err
	}
	j := &journal{Optuna: o, byName: make(map[string]*study), dists: make(map[string]*distribution)}
	torn, err := j.read(r)
	if err != nil {
		return nil, err
	}
	res := &OptunaResult{Studies: j.describe(), Torn: torn}
	studies, err := j.selected()
	if err == nil {
		res.Minimize, err = o.direction(studies)
	}
	if space := o.Space; err == nil && space == nil && len(studies) > 0 {
		space, err = infer(studies)
		out.setSpace(space)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range studies {
		if e := checkID(s.name); e != nil {
			return nil, e.at(s.line)
		}
		flip := o.Direction != Unset && s.directions[0] != o.Direction
		if err := s.collect(out, flip); err != nil {
			return nil, err
		}
	}
	rows := "trials to be read"
	if torn {
		rows += " before a last line that is not whole"
	}
	done, err := out.finish(rows, nil)
	if err != nil {
		return nil, err
	}
	for i, name := range o.Constraints {
		has := func(t *trial) bool { return i < len(t.constraints) && t.constraints[i] != nil }
		if !slices.ContainsFunc(j.trials, has) {
			return nil, rowErrorf(ErrColumn, "no trial has this constraint").in(name, "")
		}
	}
	res.Result = *done
	return res, nil
}

// direction checks the objectives of studies that have trials to be read.
func (o Optuna) direction(studies []*study) (minimize bool, err error) {
	d := o.Direction
	for _, s := range studies {
		fail := func(format string, args ...any) error {
			e := rowErrorf(cmbo.ErrTask, format, args...).at(s.line)
			e.Task = s.name
			return e
		}
		switch {
		case len(s.directions) != 1:
			return false, fail("the study has %d objectives; name the studies to be read", len(s.directions))
		case s.directions[0] == Unset:
			return false, fail("the study has no direction")
		case o.Direction != Unset:
		case d != Unset && s.directions[0] != d:
			return false, fail("the study is to %s, but study %q is to %s; name the studies to be read, or set Direction",
				s.directions[0], studies[0].name, d)
		default:
			d = s.directions[0]
		}
	}
	return d == Minimize, nil
}

// collect turns a study's trials into observations.
func (s *study) collect(out *collector, flip bool) error {
	space := out.result.Space
	cols := columns(space)
	for _, t := range s.kept {
		r, line := row{id: s.name, curve: t.curve()}, t.line
		if r.x, r.bad = t.point(cols, space); r.bad == nil {
			r.y, r.bad = t.result()
		}
		if r.bad == nil {
			r.outputs, r.bad = t.outputs()
		}
		if r.bad != nil {
			line, r.bad.Reason = r.bad.Line, fmt.Sprintf("trial %d: %s", t.number, r.bad.Reason)
		}
		if flip {
			r.y = -r.y
			for i, v := range r.curve.Values {
				r.curve.Values[i] = -v
			}
		}
		if err := out.take(r, line); err != nil {
			return err
		}
	}
	for _, t := range s.failures {
		if x, bad := t.point(cols, space); bad == nil {
			outputs, _ := t.outputs() // a failure needs none
			if err := out.take(row{id: s.name, x: x, outcome: hasFailed, outputs: outputs}, t.line); err != nil {
				return err
			}
		}
	}
	return nil
}

// point makes a point of a trial's parameters.
func (t *trial) point(cols []column, space *cmbo.Space) ([]float64, *RowError) {
	x := make([]float64, len(cols))
	set := make([]*setting, len(cols))
	for i, c := range cols {
		if set[i] = t.setting(c.param.Name()); set[i] == nil {
			return nil, rowErrorf(cmbo.ErrOutOfSpace, "no such parameter").in(c.param.Name(), "").at(t.line)
		}
		var e *RowError
		if x[i], e = set[i].value(c); e != nil {
			return nil, e.in(c.param.Name(), set[i].text()).at(set[i].line)
		}
	}
	if err := space.Check(x); err != nil {
		line := t.line
		e := outside(err, cols, func(i int) string {
			line = set[i].line
			return set[i].text()
		})
		return nil, e.at(line)
	}
	return x, nil
}
