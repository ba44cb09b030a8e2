package runlog

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/space"
)

// Stored is the JSON form of an event.
type Stored struct {
	Kind    string             `json:"event"`
	Trial   int                `json:"trial,omitempty"`
	Step    *int               `json:"step,omitempty"`
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

var eventNames = [...]string{EventAsked: "asked", EventTold: "told", EventFailed: "failed", EventCancelled: "cancelled", EventObserved: "observed", EventFitted: "fitted", EventEnqueued: "enqueued", EventReported: "reported", EventStopped: "stopped"}

// Checks report what a model cannot have asked to be logged, nil where it asks for
// nothing.
type Checks struct {
	State  func(state []float64) error  // of a proposal
	Fitted func(params []float64) error // parameters
	Value  func(y float64) error        // a value, nil where all finite ones may be told
}

// CheckState reports numbers of a proposal that the log cannot store or the model
// cannot take back, if there are any.
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
	out := Stored{Kind: eventNames[e.Kind], Trial: e.Trial, X: e.X, Noise: e.Noise, Outputs: e.Outputs, Params: e.Params, Saw: e.Saw, Paused: e.Paused}
	switch e.Kind {
	case EventAsked:
		if e.Index >= 0 {
			out.Index = &e.Index
		}
	case EventReported:
		out.Step, out.Y = &e.Step, &e.Y
	case EventStopped:
		if e.Noise > 0 {
			out.Y = &e.Y
		}
	case EventTold, EventObserved:
		out.Y = &e.Y
	case EventFitted:
		out.Count = &e.Count
	}
	for _, d := range e.State {
		if math.IsInf(d, 1) {
			out.State = append(out.State, nil)
			continue
		}
		out.State = append(out.State, &d)
	}
	return out
}

// Restore applies a stored event after checking it as if it were new.
func (h *Log) Restore(s Stored, c Checks) error {
	kind := slices.Index(eventNames[:], s.Kind)
	if kind <= 0 {
		return fmt.Errorf("%q is not an event", s.Kind)
	}
	e := Event{Kind: Kind(kind), Trial: s.Trial, Index: -1, X: s.X, Noise: s.Noise, Outputs: s.Outputs, Params: s.Params, Saw: s.Saw, Paused: s.Paused}
	if e.Paused && e.Kind != EventStopped {
		return fmt.Errorf("%q that can go on", s.Kind)
	}
	if e.Saw < 0 || e.Saw > len(h.Events) || e.Saw > 0 && e.Kind != EventAsked && e.Kind != EventFitted {
		return fmt.Errorf("%q saw %d of %d events", s.Kind, e.Saw, len(h.Events))
	}
	var err error
	switch e.Kind {
	case EventEnqueued:
		e.X, _, err = h.space.Place(e.X)
	case EventAsked, EventObserved:
		e.X, err = h.space.Canonical(e.X)
	default:
		if e.X != nil {
			err = fmt.Errorf("%q with a point", s.Kind)
		}
	}
	if err != nil {
		return err
	}
	if s.Y != nil {
		e.Y = *s.Y
	}
	if s.Outputs != nil && e.Kind != EventTold && e.Kind != EventObserved && e.Kind != EventFailed {
		return fmt.Errorf("%q with outputs", s.Kind)
	}
	switch e.Kind {
	case EventTold, EventFailed, EventCancelled, EventReported, EventStopped:
		if e.Trial < 1 || e.Trial > len(h.Trials) || h.Trials[e.Trial-1].Status != Open {
			return fmt.Errorf("trial %d is not open", e.Trial)
		}
	}
	if (s.Step != nil) != (e.Kind == EventReported) {
		return fmt.Errorf("%q with or without a step", s.Kind)
	}
	switch e.Kind {
	case EventReported:
		if s.Y == nil {
			return fmt.Errorf("%q without a value", s.Kind)
		}
		e.Step = *s.Step
		if err := h.CheckReport(e.Trial, e.Step, e.Y); err != nil {
			return err
		}
	case EventStopped:
		if (s.Y != nil) != (e.Noise != 0) || len(h.Trials[e.Trial-1].Curve.Steps) == 0 {
			return fmt.Errorf("%q without a curve, an end or its variance", s.Kind)
		}
		if err := errors.Join(space.CheckValue(e.Y), space.CheckNoise(e.Noise)); err != nil {
			return err
		}
	case EventTold, EventObserved:
		if s.Y == nil {
			return fmt.Errorf("%q without a value", s.Kind)
		}
		err := space.CheckValue(e.Y)
		if err == nil && c.Value != nil {
			err = c.Value(e.Y)
		}
		if err != nil {
			return err
		}
		if err := space.CheckNoise(e.Noise); err != nil {
			return err
		}
		if err := h.CheckValues(e.Outputs, false); err != nil {
			return err
		}
	case EventFailed:
		if err := h.CheckValues(e.Outputs, true); err != nil {
			return err
		}
	case EventAsked:
		if err := h.restoreAsked(&e, s, c); err != nil {
			return err
		}
	case EventFitted:
		return h.restoreFitted(e, s, c)
	}
	h.Apply(e)
	return nil
}

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
	if h.space.Finite() != (e.Index >= 0) || e.Index >= len(h.space.Rows()) || e.Index >= 0 && !slices.Equal(h.space.Rows()[e.Index], e.X) {
		return fmt.Errorf("trial %d is not candidate %d", e.Trial, e.Index)
	}
	for _, d := range s.State {
		v := math.Inf(1)
		if d != nil {
			v = *d
		}
		e.State = append(e.State, v)
	}
	return c.CheckState(e.State)
}

func (h *Log) restoreFitted(e Event, s Stored, c Checks) error {
	if s.Count == nil {
		return fmt.Errorf("%q without a number of observations", s.Kind)
	}
	if err := c.CheckFitted(*s.Count, e.Params); err != nil {
		return err
	}
	e.Count = *s.Count
	h.Apply(e)
	return nil
}
