package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
)

// The states of a trial, by the value of "state".
const (
	running = iota
	complete
	pruned
	failed
	waiting

	numStates
)

// finished reports whether a trial in this state takes no more changes.
func finished(state int) bool { return state == complete || state == pruned || state == failed }

// trial is a trial as the operations so far make it.
type trial struct {
	study    *study
	number   int
	line     int // of the operation that finished it
	state    int
	settings []setting
	values   []json.RawMessage
	step     int64 // of last
	last     json.RawMessage
	shown    map[int64]json.RawMessage // by step, if that is asked for

	start, end  time.Time // zero where it is not known
	constraints []json.RawMessage
}

// somewhere is the zone of times that name none. How far it is from others nobody knows.
var somewhere = time.FixedZone("somewhere", 0)

// mark takes the times that an operation has, with a zone since version 5; what is none counts as not known.
func (t *trial) mark(op *operation) {
	for _, m := range []struct {
		to   *time.Time
		from json.RawMessage
	}{{&t.start, op.Start}, {&t.end, op.End}} {
		text, _ := jsonString(m.from)
		at, err := time.Parse(time.RFC3339, text)
		if at = at.UTC(); err != nil {
			at, err = time.ParseInLocation("2006-01-02T15:04:05", text, somewhere)
		}
		if err == nil {
			*m.to = at
		}
	}
}

// outputs returns the seconds that the trial took, and its constraints, under the names that are asked for.
func (t *trial) outputs() (map[string]float64, *RowError) {
	o, out := t.study.asked, make(map[string]float64)
	known := !t.start.IsZero() && !t.end.IsZero() && t.start.Location() == t.end.Location()
	if s := t.end.Sub(t.start).Seconds(); o.Seconds != "" && known && s > 0 {
		out[o.Seconds] = s
	}
	if n := len(t.constraints); n > 0 && n != len(o.Constraints) {
		return nil, rowErrorf(cmbo.ErrOutput, "%d constraints, of which %d are named", n, len(o.Constraints)).at(t.line)
	}
	for i, raw := range t.constraints {
		if v, err := strconv.ParseFloat(jsonText(raw), 64); !math.IsNaN(v) && (err == nil || math.IsInf(v, 0)) {
			out[o.Constraints[i]] = min(max(v, -points.MaxValue), points.MaxValue)
		}
	}
	return out, nil
}

// attribute takes the constraints of a system attribute, or of all of a trial's: a list, or since version 5
// each under its own name. What is no list counts as none.
func (t *trial) attribute(raw json.RawMessage) {
	var of map[string]json.RawMessage
	var list []json.RawMessage
	names := t.study.asked.Constraints
	if !t.study.wanted || len(names) == 0 || json.Unmarshal(raw, &of) != nil {
		return
	}
	if json.Unmarshal(of["constraints"], &list) == nil && list != nil {
		t.constraints = list
	}
	for i, name := range names {
		if v, ok := of["constraints:"+name]; ok && (t.constraints == nil || len(t.constraints) == len(names)) {
			t.constraints = append(t.constraints, make([]json.RawMessage, len(names)-len(t.constraints))...)
			t.constraints[i] = v
		}
	}
}

type setting struct {
	param *parameter
	dist  *distribution
	v     float64 // number, or index of the choice
	line  int
}

// setState changes the state; a trial that runs is not started again.
func (t *trial) setState(op *operation, line int) *RowError {
	switch {
	case op.State == nil:
		return missing("state")
	case *op.State == running && t.state == running:
		return nil
	}
	t.line = line
	e := t.update(op)
	t.trim()
	return e
}

// update takes the state, the values and the times that an operation has.
func (t *trial) update(op *operation) *RowError {
	if op.State != nil {
		if t.state = *op.State; t.state < 0 || t.state >= numStates {
			return rowErrorf(cmbo.ErrCorrupt, "unknown").in("state", fmt.Sprint(t.state))
		}
	}
	if !isNull(op.Values) {
		t.values = nil
		if err := json.Unmarshal(op.Values, &t.values); err != nil {
			return rowErrorf(cmbo.ErrCorrupt, "not a list").in("values", string(op.Values))
		}
	}
	t.mark(op)
	return nil
}

// report keeps the intermediate value of the last step, or of all.
func (t *trial) report(step int64, raw json.RawMessage) {
	if t.last == nil || step >= t.step {
		t.step, t.last = step, raw
	}
	if t.study.asked.Intermediate {
		if t.shown == nil {
			t.shown = make(map[int64]json.RawMessage)
		}
		t.shown[step] = raw
	}
}

// curve returns what a complete trial reported, but for values that are no numbers.
func (t *trial) curve() (c cmbo.Curve) {
	for _, step := range slices.Sorted(maps.Keys(t.shown)) {
		y, e := jsonFloat(t.shown[step], cmbo.ErrValue)
		if k := int(step); e == nil && checkValue(y) == nil && k >= 0 && int64(k) == step && t.state == complete {
			c.Steps, c.Values = append(c.Steps, k), append(c.Values, y)
		}
	}
	return c
}

// trim drops what is not needed of a finished trial.
func (t *trial) trim() {
	if t.state == failed {
		t.values, t.last, t.shown = nil, nil, nil
	}
	if t.state == pruned && !t.study.asked.Pruned || !t.study.wanted || t.study.deleted {
		t.settings, t.values, t.last, t.shown, t.constraints = nil, nil, nil, nil, nil
	}
}

func (t *trial) result() (float64, *RowError) {
	raw := t.last
	switch {
	case len(t.values) == 1:
		raw = t.values[0]
	case t.state == complete || len(t.values) > 1:
		return 0, rowErrorf(cmbo.ErrValue, "%d values", len(t.values)).in("values", "").at(t.line)
	}
	y, e := jsonFloat(raw, cmbo.ErrValue)
	if e == nil {
		e = checkValue(y)
	}
	if e != nil {
		return 0, e.in("values", strings.Trim(string(raw), `"`)).at(t.line)
	}
	return y, nil
}

// setting returns the trial's value of a parameter, nil if it has none.
func (t *trial) setting(name string) *setting {
	param := t.study.params[name]
	if k := slices.IndexFunc(t.settings, func(p setting) bool { return p.param == param }); k >= 0 {
		return &t.settings[k]
	}
	return nil
}
