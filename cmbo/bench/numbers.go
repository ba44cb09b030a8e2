package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// rows decodes a list of lists of numbers.
type rows [][]float64

func (r *rows) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*[][]float64)(r)); err != nil {
		return err
	}
	return noNull("X", b)
}

// values decodes a list of numbers, each bare or alone in brackets.
type values []float64

func (v *values) UnmarshalJSON(b []byte) error {
	var bare []float64
	if err := json.Unmarshal(b, &bare); err == nil {
		*v = bare
		return noNull("y", b)
	}
	var boxed [][]float64
	if err := json.Unmarshal(b, &boxed); err != nil {
		return err
	}
	if err := noNull("y", b); err != nil {
		return err
	}
	*v = make(values, len(boxed))
	for i, x := range boxed {
		if len(x) != 1 {
			return &FormatError{Row: i, Reason: fmt.Sprintf("%d values in one entry of y", len(x))}
		}
		(*v)[i] = x[0]
	}
	return nil
}

// noNull refuses null in b, a list of numbers or of lists of them, where the
// decoder leaves a zero in its place. Strings, which could hold the word, have
// been refused by then.
func noNull(name string, b []byte) error {
	null := []byte("null")
	if !bytes.Contains(b, null) {
		return nil
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(b, &entries); err != nil {
		return err
	}
	for i, e := range entries {
		if bytes.Contains(e, null) {
			return &FormatError{Row: i, Reason: fmt.Sprintf("null in %s: %.64s", name, e)}
		}
	}
	return &FormatError{Row: -1, Reason: name + " is null"}
}
