package cmbo

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// spaceJSON is the JSON form of a space.
type spaceJSON struct {
	Params     []paramJSON `json:"params"`
	Candidates [][]float64 `json:"candidates,omitempty"`
}

type paramJSON struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Lo      float64  `json:"lo,omitempty"`
	Hi      float64  `json:"hi,omitempty"`
	Choices []string `json:"choices,omitempty"`
}

func (s *Space) describe() spaceJSON {
	d := spaceJSON{Candidates: s.rows}
	for _, p := range s.params {
		d.Params = append(d.Params, paramJSON{Name: p.name, Kind: p.kind.String(), Lo: p.lo, Hi: p.hi, Choices: p.choices})
	}
	return d
}

// MarshalJSON returns
//
//	{"params": [{"name": "lr", "kind": "logfloat", "lo": 1e-5, "hi": 1}, ...],
//	 "candidates": [[...], ...]}
//
// with the kinds float, logfloat, int, logint, categorical (which has "choices"
// and needs no bounds) and bool (which needs none); candidates are rows, absent
// for a parameter space.
func (s *Space) MarshalJSON() ([]byte, error) { return json.Marshal(s.describe()) }

// UnmarshalJSON sets a zero Space to what MarshalJSON describes. It fails with
// [ErrSpace], also where s is a space already, which never changes, or as
// [Space.WithCandidates] does, and leaves s as it was.
func (s *Space) UnmarshalJSON(b []byte) error {
	if s.params != nil {
		return fmt.Errorf("%w: UnmarshalJSON into a space that is defined", ErrSpace)
	}
	var d spaceJSON
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("%w: %w", ErrSpace, err)
	}
	t, err := d.space()
	if err != nil {
		return err
	}
	*s = *t
	return nil
}

func (s *spaceJSON) space() (*Space, error) {
	params := make([]Param, len(s.Params))
	for i, p := range s.Params {
		k := slices.Index(kindNames[:], p.Kind)
		if k < 0 {
			return nil, fmt.Errorf("%w: parameter %q is of unknown kind %q", ErrSpace, p.Name, p.Kind)
		}
		q := Param{name: p.Name, kind: Kind(k), lo: p.Lo, hi: p.Hi, choices: p.Choices}
		switch {
		case q.kind == KindCategorical && q.lo == 0 && q.hi == 0:
			q.hi = float64(len(q.choices) - 1)
		case q.kind == KindBool && q.lo == 0 && q.hi == 0:
			q.hi = 1
		}
		if err := q.checkStored(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSpace, err)
		}
		params[i] = q
	}
	space, err := NewSpace(params...)
	if err != nil || s.Candidates == nil {
		return space, err
	}
	return space.WithCandidates(s.Candidates)
}

// checkStored checks what the constructors make sure of.
func (p Param) checkStored() error {
	switch {
	case p.kind == KindCategorical && (p.lo != 0 || float64(len(p.choices)-1) != p.hi):
		return fmt.Errorf("parameter %q has bounds other than its choices", p.name)
	case p.kind == KindBool && (p.lo != 0 || p.hi != 1):
		return fmt.Errorf("parameter %q is boolean with bounds [%g, %g]", p.name, p.lo, p.hi)
	case p.kind != KindCategorical && p.choices != nil:
		return fmt.Errorf("parameter %q is a %s with choices", p.name, p.kind)
	case (p.kind == KindInt || p.kind == KindLogInt) && (p.lo != math.Trunc(p.lo) || p.hi != math.Trunc(p.hi)):
		return fmt.Errorf("parameter %q is an integer in [%g, %g]", p.name, p.lo, p.hi)
	}
	return nil
}
