package runlog

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
)

// Stored is the JSON form of an event.
type Stored struct {
	Kind    string             `json:"event"`
	Trial   int                `json:"trial,omitempty"`
	Step    *int64             `json:"step,omitempty"`
	Index   *int               `json:"index,omitempty"`
	X       []float64          `json:"x,omitempty"`
	Y       *float64           `json:"y,omitempty"`
	Noise   float64            `json:"noise_variance,omitempty"`
	Outputs map[string]float64 `json:"outputs,omitempty"`
	State   []*float64         `json:"state,omitempty"` // null for infinity
	Count   *int               `json:"count,omitempty"`
	Params  []float64          `json:"params,omitempty"`
	Saw     int                `json:"saw,omitempty"`
	Paused  bool               `json:"paused,omitempty"`
}

// A form is the name of a kind and the parts of its stored form, those that may be missing with a question mark.
type form struct{ name, parts string }

var forms = [...]form{
	EventAsked:     {"asked", "trial? x index? state? saw?"},
	EventTold:      {"told", "trial? y noise_variance? outputs?"},
	EventFailed:    {"failed", "trial? outputs?"},
	EventCancelled: {"cancelled", "trial?"},
	EventObserved:  {"observed", "x y noise_variance? outputs?"},
	EventFitted:    {"fitted", "count params? saw?"},
	EventEnqueued:  {"enqueued", "x"},
	EventReported:  {"reported", "trial? step y"},
	EventStopped:   {"stopped", "trial? y? noise_variance? paused? outputs?"},
}

// checkForm reports a part that the kind must have and s has not, or the other way round.
func (s Stored) checkForm(parts []string) error {
	for _, p := range []struct {
		name  string
		there bool
	}{
		{"trial", s.Trial != 0}, {"step", s.Step != nil}, {"index", s.Index != nil}, {"x", s.X != nil}, {"y", s.Y != nil},
		{"noise_variance", s.Noise != 0}, {"outputs", s.Outputs != nil}, {"state", s.State != nil},
		{"count", s.Count != nil}, {"params", s.Params != nil}, {"saw", s.Saw != 0}, {"paused", s.Paused},
	} {
		if must := slices.Contains(parts, p.name); must && !p.there {
			return fmt.Errorf("%q without %s", s.Kind, p.name)
		} else if p.there && !must && !slices.Contains(parts, p.name+"?") {
			return fmt.Errorf("%q with %s", s.Kind, p.name)
		}
	}
	return nil
}

// Checks report what a model cannot have asked to be logged, nil where it asks for nothing.
type Checks struct {
	State  func(state []float64) error  // of a proposal
	Fitted func(params []float64) error // parameters
	Value  func(y float64) error        // a value, nil where all finite ones may be told
}

// CheckState reports numbers of a proposal that the log cannot store or the model cannot take back, if there are any.
func (c Checks) CheckState(state []float64) error {
	if len(state) == 0 {
		return nil
	}
	if c.State == nil {
		return fmt.Errorf("%d numbers of a proposal are of no use to the model", len(state))
	}
	for i, v := range state {
		if math.IsNaN(v) || math.IsInf(v, -1) { // JSON has neither, and stores +Inf as null
			return fmt.Errorf("number %d of a proposal is %g", i, v)
		}
	}
	return c.State(state)
}

// CheckFitted reports parameters that the log cannot store or the model cannot take
// back, and a number of observations below 0.
func (c Checks) CheckFitted(count int, params []float64) error {
	if c.Fitted == nil {
		return fmt.Errorf("fitted parameters are of no use to the model")
	}
	if count < 0 {
		return fmt.Errorf("parameters fitted to %d observations", count)
	}
	for i, v := range params {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("fitted parameter %d is %g", i, v)
		}
	}
	return c.Fitted(params)
}

// Export returns the JSON form.
func (e Event) Export() Stored {
	out := Stored{Kind: forms[e.Kind].name, Trial: e.Trial, X: e.X, Noise: e.Noise, Outputs: e.Outputs, Params: e.Params,
		Saw: e.Saw, Paused: e.Paused}
	switch e.Kind {
	case EventAsked:
		if e.Index >= 0 {
			out.Index = &e.Index
		}
	case EventReported:
		step := int64(e.Step)
		out.Step, out.Y = &step, &e.Y
	case EventStopped:
		if e.Noise > 0 {
			out.Y = &e.Y
		}
	case EventTold, EventObserved:
		out.Y = &e.Y
	case EventFitted:
		out.Count = &e.Count
	}
	out.State = each.Of(e.State, func(d float64) *float64 {
		if math.IsInf(d, 1) {
			return nil
		}
		return &d
	})
	return out
}

// Restore applies a stored event after checking it as if it were new.
func (h *Log) Restore(s Stored, c Checks) error {
	kind := slices.IndexFunc(forms[:], func(f form) bool { return f.name == s.Kind })
	if kind <= 0 {
		return fmt.Errorf("%q is not an event", s.Kind)
	}
	if err := s.checkForm(strings.Fields(forms[kind].parts)); err != nil {
		return err
	}
	e := Event{
		Kind: EventKind(kind), Trial: s.Trial, Step: int(value(s.Step)), Index: -1, X: s.X, Y: value(s.Y), Noise: s.Noise,
		Outputs: s.Outputs, Params: s.Params, Count: value(s.Count), Saw: s.Saw, Paused: s.Paused,
	}
	if e.Saw < 0 || e.Saw > len(h.Events) {
		return fmt.Errorf("%q saw %d of %d events", s.Kind, e.Saw, len(h.Events))
	}
	var err error
	switch e.Kind {
	case EventEnqueued:
		e.X, _, err = h.space.Place(e.X)
	case EventAsked, EventObserved:
		e.X, err = h.space.Canonical(e.X)
	case EventFitted:
		err = c.CheckFitted(e.Count, e.Params)
	default:
		if e.Trial < 1 || e.Trial > len(h.Trials) || h.Trials[e.Trial-1].Status != Open {
			err = fmt.Errorf("trial %d is not open", e.Trial)
		}
	}
	if err != nil {
		return err
	}
	switch e.Kind {
	case EventReported:
		err = cmp.Or(codec.CheckInt(*s.Step), h.CheckReport(e.Trial, e.Step, e.Y))
	case EventStopped:
		if (s.Y != nil) != (e.Noise != 0) || len(h.Trials[e.Trial-1].Curve.Steps) == 0 {
			return fmt.Errorf("%q without a curve, an end or its variance", s.Kind)
		}
		err = errors.Join(space.CheckValue(e.Y), space.CheckNoise(e.Noise), h.checkEnd(e.Outputs))
	case EventTold, EventObserved:
		err = errors.Join(space.CheckValue(e.Y), space.CheckNoise(e.Noise), h.CheckValues(e.Outputs, false))
	case EventFailed:
		err = h.checkEnd(e.Outputs)
	case EventAsked:
		err = h.restoreAsked(&e, s, c)
	}
	if err == nil && s.Y != nil && c.Value != nil {
		err = c.Value(e.Y)
	}
	if err == nil {
		h.Apply(e)
	}
	return err
}

// checkEnd reports outputs that an evaluation without a value cannot have brought. One that came
// to an end by what it reported, as by a value that is no number, brought none.
func (h *Log) checkEnd(outputs map[string]float64) error {
	if outputs == nil {
		return nil
	}
	return h.CheckValues(outputs, true)
}

// value returns what p points to, 0 for nil.
func value[T any](p *T) T { return *cmp.Or(p, new(T)) }

func (h *Log) restoreAsked(e *Event, s Stored, c Checks) error {
	if e.Trial != len(h.Trials)+1 {
		return fmt.Errorf("trial %d follows %d", e.Trial, len(h.Trials))
	}
	if q := h.Queue; len(q) > 0 && !slices.Equal(q[0], e.X) {
		return fmt.Errorf("trial %d is not the point that was enqueued", e.Trial)
	}
	if s.Index != nil {
		e.Index = *s.Index
	}
	if h.space.Finite() != (e.Index >= 0) || e.Index >= len(h.space.Rows()) ||
		e.Index >= 0 && !slices.Equal(h.space.Rows()[e.Index], e.X) {
		return fmt.Errorf("trial %d is not candidate %d", e.Trial, e.Index)
	}
	inf := math.Inf(1)
	e.State = each.Of(s.State, func(d *float64) float64 { return *cmp.Or(d, &inf) })
	return c.CheckState(e.State)
}
