package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
)

// The operations of a journal, by the value of "op_code".
const (
	opCreateStudy = iota
	opDeleteStudy
	opStudyUserAttr
	opStudySystemAttr
	opCreateTrial
	opTrialParam
	opTrialState
	opTrialIntermediate
	opTrialUserAttr
	opTrialSystemAttr
	opDiscardTrials // Optuna itself passes over it
)

// attributes reports whether an operation has no more than attributes, of which constraints are read
// where they are asked for.
func attributes(op int) bool {
	return op == opStudyUserAttr || op == opStudySystemAttr || op >= opTrialUserAttr && op <= opDiscardTrials
}

// operation is a line of the journal: the union of what operations hold.
type operation struct {
	Op           *int                       `json:"op_code"`
	Study        *int                       `json:"study_id"`
	Trial        *int                       `json:"trial_id"`
	StudyName    *string                    `json:"study_name"`
	Directions   []int                      `json:"directions"`
	State        *int                       `json:"state"`
	Value        json.RawMessage            `json:"value"`
	Values       json.RawMessage            `json:"values"`
	Param        *string                    `json:"param_name"`
	ParamValue   json.RawMessage            `json:"param_value_internal"`
	Distribution json.RawMessage            `json:"distribution"`
	Distribs     map[string]json.RawMessage `json:"distributions"`
	Params       json.RawMessage            `json:"params"`
	Step         *int64                     `json:"step"`
	Intermediate json.RawMessage            `json:"intermediate_value"`
	Steps        map[int64]json.RawMessage  `json:"intermediate_values"`
	Start        json.RawMessage            `json:"datetime_start"`
	End          json.RawMessage            `json:"datetime_complete"`
	Attribute    json.RawMessage            `json:"system_attr"`
	Attributes   json.RawMessage            `json:"system_attrs"`
}

// study is a study as the operations so far make it.
type study struct {
	name       string
	line       int // that created it
	directions []Direction
	wanted     bool
	deleted    bool
	asked      *Optuna // that reads it
	params     map[string]*parameter
	trials     []*trial // by number
	kept       []*trial // to be read, by number
	failures   []*trial // that may be read, by number
}

// parameter is one of a study.
type parameter struct {
	name  string
	study *study
	first *distribution // what later ones must be compatible with
}

type journal struct {
	Optuna
	studies []*study // by ID
	byName  map[string]*study
	trials  []*trial // by ID
	dists   map[string]*distribution
}

// maxParams bounds the parameters of a study, and with it the time that a
// hostile journal can take: settings are looked up one by one.
const maxParams = 4096

func (j *journal) read(r io.Reader) (torn bool, err error) {
	var held *RowError // a line that is not JSON, which may be the last
	err = eachLine(r, j.Limits, func(n int, line []byte, whole bool, long *RowError) error {
		switch {
		case held != nil:
			return held
		case !whole:
			torn = true
			return nil
		case long != nil:
			if op, ok := opCode(line); ok && attributes(op) {
				return nil
			}
			return long
		case len(bytes.TrimSpace(line)) == 0:
			return nil
		}
		var op operation
		if err := json.Unmarshal(bare(line), &op); err != nil {
			e := rowErrorf(cmbo.ErrCorrupt, "%v", err).at(n)
			if !errors.As(err, new(*json.SyntaxError)) {
				return e
			}
			held = e
			return nil
		}
		if e := j.apply(&op, n); e != nil {
			return e.at(n)
		}
		return nil
	})
	return torn || held != nil, err
}

// opCode finds the operation at the beginning of a line that was cut.
func opCode(line []byte) (op int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(line))
	for _, want := range []json.Token{json.Delim('{'), "op_code"} {
		if t, err := d.Token(); err != nil || t != want {
			return 0, false
		}
	}
	return op, d.Decode(&op) == nil
}

func missing(field string) *RowError {
	return rowErrorf(cmbo.ErrCorrupt, "missing").in(field, "")
}

func (j *journal) apply(op *operation, line int) *RowError {
	if op.Op == nil {
		return missing("op_code")
	}
	switch *op.Op {
	case opCreateStudy:
		return j.createStudy(op, line)
	case opDeleteStudy, opCreateTrial:
		if op.Study == nil {
			return missing("study_id")
		}
		id := *op.Study
		if id < 0 || id >= len(j.studies) || j.studies[id].deleted {
			return nil
		}
		s := j.studies[id]
		if *op.Op == opCreateTrial {
			return j.createTrial(s, op, line)
		}
		// The name is free; the IDs of the study and its trials stay taken.
		s.deleted = true
		delete(j.byName, s.name)
		for _, t := range s.trials {
			t.trim()
		}
	case opTrialParam, opTrialState, opTrialIntermediate, opTrialSystemAttr:
		if op.Trial == nil {
			return missing("trial_id")
		}
		id := *op.Trial
		if id < 0 || id >= len(j.trials) || finished(j.trials[id].state) {
			return nil
		}
		return j.trials[id].change(j, op, line)
	default:
		if !attributes(*op.Op) {
			return rowErrorf(cmbo.ErrVersion, "an operation unknown here; is the journal of a newer Optuna?").
				in("op_code", fmt.Sprint(*op.Op))
		}
	}
	return nil
}

// change replays an operation on a trial that is not finished.
func (t *trial) change(j *journal, op *operation, line int) *RowError {
	switch {
	case *op.Op == opTrialState:
		return t.setState(op, line)
	case *op.Op == opTrialSystemAttr:
		t.attribute(op.Attribute)
		return nil
	case *op.Op == opTrialParam && op.Param == nil:
		return missing("param_name")
	case *op.Op == opTrialParam:
		return j.setParam(t, *op.Param, op.ParamValue, op.Distribution, line, true)
	case op.Step == nil:
		return missing("step")
	}
	t.report(*op.Step, op.Intermediate)
	return nil
}

// createStudy has no effect if there is a study of the name.
func (j *journal) createStudy(op *operation, line int) *RowError {
	if op.StudyName == nil {
		return missing("study_name")
	}
	if j.byName[*op.StudyName] != nil {
		return nil
	}
	s := &study{
		name: *op.StudyName, line: line, wanted: j.Studies == nil || slices.Contains(j.Studies, *op.StudyName),
		asked: &j.Optuna, params: make(map[string]*parameter),
	}
	for _, d := range op.Directions {
		if d < 0 || d > int(Maximize) {
			return rowErrorf(cmbo.ErrCorrupt, "unknown").in("directions", fmt.Sprint(d))
		}
		s.directions = append(s.directions, Direction(d))
	}
	j.studies = append(j.studies, s)
	j.byName[s.name] = s
	return nil
}

// createTrial makes a trial that runs, or one in whatever state it was added.
func (j *journal) createTrial(s *study, op *operation, line int) *RowError {
	t := &trial{study: s, number: len(s.trials), line: line}
	if !isNull(op.Value) {
		t.values = []json.RawMessage{op.Value}
	}
	if e := t.update(op); e != nil {
		return e
	}
	if !isNull(op.Params) {
		names, values, e := object(op.Params, j.Limits)
		if e != nil {
			return e
		}
		for _, name := range names {
			if e := j.setParam(t, name, values[name], op.Distribs[name], line, false); e != nil {
				return e
			}
		}
	}
	for step, value := range op.Steps {
		t.report(step, value)
	}
	t.attribute(op.Attributes)
	s.trials = append(s.trials, t)
	j.trials = append(j.trials, t)
	t.trim()
	return nil
}

// setParam sets a parameter. With check it has no effect if the distribution is not compatible with what the study has.
func (j *journal) setParam(t *trial, name string, value, dist json.RawMessage, line int, check bool) *RowError {
	s := t.study
	if s.deleted || !s.wanted {
		return nil
	}
	d, e := j.distribution(dist)
	if e != nil {
		e.Reason = "distribution: " + e.Reason
		return e.in(name, e.Value)
	}
	param := s.params[name]
	switch {
	case param == nil && len(s.params) == maxParams:
		return rowErrorf(cmbo.ErrCorrupt, "the study has more than %d parameters", maxParams).in(name, "")
	case param == nil:
		param = &parameter{name, s, d}
		s.params[name] = param
	case check && !param.first.compatible(d):
		return nil
	}
	v, e := jsonFloat(value, cmbo.ErrCorrupt)
	if e != nil {
		return e.in(name, string(value))
	}
	if d.kind == distCategorical && (v < 0 || int(v) >= len(d.choices) || v != float64(int(v))) {
		return rowErrorf(cmbo.ErrCorrupt, "not the index of one of %d choices", len(d.choices)).in(name, string(value))
	}
	p := setting{param: param, dist: d, v: v, line: line}
	if old := t.setting(name); old != nil {
		*old = p
	} else {
		t.settings = append(t.settings, p)
	}
	return nil
}

func (j *journal) describe() []Study {
	var out []Study
	for _, s := range j.studies {
		if s.deleted {
			continue
		}
		d := Study{Name: s.name, Directions: s.directions}
		count := [numStates]*int{&d.Running, &d.Complete, &d.Pruned, &d.Failed, &d.Waiting}
		for _, t := range s.trials {
			*count[t.state]++
		}
		out = append(out, d)
	}
	return out
}

// selected returns the studies that have trials to be read.
func (j *journal) selected() ([]*study, error) {
	for _, name := range j.Studies {
		if j.byName[name] == nil {
			known := each.Of(j.describe(), func(s Study) string { return s.Name })
			return nil, &RowError{Task: name, Reason: "there is no such study; the journal has " + quoteAll(known),
				Err: cmbo.ErrTask}
		}
	}
	var out []*study
	for _, s := range j.studies {
		if s.deleted || !s.wanted {
			continue
		}
		for _, t := range s.trials {
			if t.state == complete || t.state == pruned && j.Pruned {
				s.kept = append(s.kept, t)
			} else if t.state == failed {
				s.failures = append(s.failures, t)
			}
		}
		if s.kept != nil {
			out = append(out, s)
		}
	}
	return out, nil
}
