package space

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

type spaceJSON struct {
	Params     []Param  `json:"params"`
	Candidates rowsJSON `json:"candidates,omitempty"`
}

// Lists that fail to decode where they have null, which encoding/json takes for 0 or "".
type (
	rowsJSON    [][]float64
	choicesJSON []string
	valuesJSON  []float64
)

func (l *rowsJSON) UnmarshalJSON(b []byte) error    { return numbers("candidates", b, (*[][]float64)(l)) }
func (l *choicesJSON) UnmarshalJSON(b []byte) error { return numbers("choices", b, (*[]string)(l)) }
func (l *valuesJSON) UnmarshalJSON(b []byte) error  { return numbers("values", b, (*[]float64)(l)) }

type paramJSON struct {
	Name    string      `json:"name"`
	Kind    string      `json:"kind"`
	Lo      json.Number `json:"lo,omitempty"`
	Hi      json.Number `json:"hi,omitempty"`
	Step    float64     `json:"step,omitempty"`
	Choices choicesJSON `json:"choices,omitempty"`
	Values  valuesJSON  `json:"values,omitempty"`
}

// A Description is all that defines a parameter, for those who store spaces in a form
// of their own: [Param.Describe] gives it and [Description.Param] takes it.
type Description struct {
	Name    string
	Kind    Kind
	Lo, Hi  float64
	Step    float64 // 0 for none, and for an integer without one
	Choices []string
	Values  []float64 // of an ordinal
}

// Describe returns the parts of p. Its slices are shared and must not be changed.
func (p Param) Describe() Description {
	return Description{p.name, p.kind, p.lo, p.hi, p.step, p.choices, p.values}
}

// Param returns the parameter of the parts d. It fails where no constructor makes such a parameter; [New] validates the rest.
func (d Description) Param() (Param, error) {
	p := d.made()
	switch {
	case !d.Kind.ranged() && (p.lo != d.Lo || p.hi != d.Hi):
		return p, fmt.Errorf("parameter %q of kind %s has bounds [%g, %g], want [%g, %g]",
			d.Name, d.Kind, d.Lo, d.Hi, p.lo, p.hi)
	case d.Kind != KindCategorical && d.Choices != nil:
		return p, fmt.Errorf("parameter %q is a %s with choices", d.Name, d.Kind)
	case d.Kind != KindOrdinal && d.Values != nil:
		return p, fmt.Errorf("parameter %q is a %s with values", d.Name, d.Kind)
	case p.whole() && (p.lo != math.Trunc(p.lo) || p.hi != math.Trunc(p.hi)):
		return p, fmt.Errorf("parameter %q is an integer in [%g, %g]", d.Name, p.lo, p.hi)
	}
	return p, nil
}

// made returns what the constructor of the kind makes of the parts that it takes.
func (d Description) made() Param {
	p := Param{name: d.Name, kind: d.Kind, lo: d.Lo, hi: d.Hi}
	switch d.Kind {
	case KindCategorical:
		p = Categorical(d.Name, d.Choices...)
	case KindBool:
		p = Bool(d.Name)
	case KindOrdinal:
		p = Ordinal(d.Name, d.Values...)
	}
	return p.WithStep(d.Step)
}

// ranged reports whether parameters of the kind are made with bounds.
func (k Kind) ranged() bool { return k <= KindLogInt }

// numberJSON writes a float64 as encoding/json does.
func numberJSON(v float64) json.Number {
	b, _ := json.Marshal(v) // a space has no infinite bounds
	return json.Number(b)
}

// decode sets v to the JSON b. A field that is not known fails: who writes "log" where the kind
// says it would get a linear parameter.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if _, more := d.Token(); err == nil && more != io.EOF {
		return errors.New("more than one JSON value")
	}
	return err
}

// MarshalJSON returns the form that [Space.MarshalJSON] has for a parameter.
func (p Param) MarshalJSON() ([]byte, error) {
	d := paramJSON{Name: p.name, Kind: p.kind.String(), Step: p.step, Choices: p.choices, Values: p.values}
	if p.kind.ranged() {
		d.Lo, d.Hi = numberJSON(p.lo), numberJSON(p.hi)
	}
	return json.Marshal(d)
}

// UnmarshalJSON sets p to what MarshalJSON describes. It fails with [ErrSpace]
// if that is no parameter, or has fields that are not known, and leaves p as it was.
func (p *Param) UnmarshalJSON(b []byte) error {
	var d paramJSON
	if err := decode(b, &d); err != nil {
		return fmt.Errorf("%w: parameter %q: %w", ErrSpace, d.Name, err)
	}
	q, err := d.param()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpace, err)
	}
	*p = q
	return nil
}

// MarshalJSON returns
//
//	{"params": [{"name": "lr", "kind": "logfloat", "lo": 1e-5, "hi": 1}, ...],
//	 "candidates": [[...], ...]}
//
// with the kinds float and int (which may have a "step"), logfloat, logint, ordinal (which has
// "values" and needs no bounds), categorical (which has "choices" and needs none) and bool (which
// needs none); candidates are rows, absent for a parameter space.
func (s *Space) MarshalJSON() ([]byte, error) {
	return json.Marshal(spaceJSON{Params: s.params, Candidates: s.rows})
}

// UnmarshalJSON sets a zero Space to what MarshalJSON describes. It fails with [ErrSpace], also for
// fields that are not known and where s is a space already, or as [Space.WithCandidates] does.
func (s *Space) UnmarshalJSON(b []byte) error {
	if s.params != nil {
		return fmt.Errorf("%w: UnmarshalJSON into a space that is defined", ErrSpace)
	}
	var d spaceJSON
	if err := decode(b, &d); err != nil {
		if errors.Is(err, ErrSpace) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrSpace, err)
	}
	t, err := New(d.Params...)
	if err == nil && d.Candidates != nil {
		t, err = t.WithCandidates(d.Candidates)
	}
	if err != nil {
		return err
	}
	*s = *t
	return nil
}

func (d *paramJSON) param() (Param, error) {
	kind, err := ParseKind(d.Kind)
	if err != nil {
		return Param{}, fmt.Errorf("parameter %q is of %w", d.Name, err)
	}
	q := Description{Name: d.Name, Kind: kind, Step: d.Step, Choices: d.Choices, Values: d.Values}
	p := q.made()
	if kind.ranged() && (d.Lo == "" || d.Hi == "") {
		return p, fmt.Errorf("parameter %q is of kind %s without both bounds, \"lo\" and \"hi\"", d.Name, kind)
	}
	q.Lo, q.Hi = p.lo, p.hi
	bound := func(to *float64, text json.Number) (err error) {
		if text != "" {
			if *to, err = parseNumber(text, p.whole()); err != nil {
				return fmt.Errorf("parameter %q: bound %q: %w", d.Name, text, err)
			}
		}
		return nil
	}
	if err := cmp.Or(bound(&q.Lo, d.Lo), bound(&q.Hi, d.Hi)); err != nil {
		return p, err
	}
	if !kind.ranged() && q.Lo == 0 && q.Hi == 0 { // not given, also by who writes all fields
		q.Lo, q.Hi = p.lo, p.hi
	}
	return q.Param()
}
