package space

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Context describes a task by name: a number, in any unit, or a choice, a string. What is not known is nil or left out.
//
//	space.Context{"height": 1080, "category": "Sports", "interlaced": false, "rate": nil}
//
// Values of Go's integer types count as numbers and false and true as choices. It never enters the
// space: it says which past tasks a new one is like. [CheckName] says what a name is.
type Context map[string]any

// Normal returns a copy in which numbers are float64, choices string, and what is missing
// left out, NaN among it; nil for nothing. It fails with [ErrTask] for a name that [CheckName] refuses, for a
// value that is neither, and for a choice that is not UTF-8, with [ErrValue] for an infinite number.
func (c Context) Normal() (Context, error) {
	var out Context
	for _, name := range slices.Sorted(maps.Keys(c)) {
		v := c[name]
		if v == nil {
			continue
		}
		if x, ok := v.(bool); ok {
			v = strconv.FormatBool(x)
		} else if x, ok := goNumber(v, false); ok {
			v = x
		} else if text, ok := v.(string); !ok {
			return nil, Errorf(ErrTask, "descriptor %q is a %T, neither a number nor a string", name, v)
		} else if !utf8.ValidString(text) {
			return nil, Errorf(ErrTask, "descriptor %q is %q, which is not UTF-8, and could not be stored", name, text)
		}
		if x, ok := v.(float64); ok && math.IsNaN(x) {
			continue
		} else if ok && math.IsInf(x, 0) {
			return nil, Errorf(ErrValue, "descriptor %q is %g", name, x)
		}
		if err := CheckName("descriptor", name); err != nil {
			return nil, Errorf(ErrTask, "%v", err)
		}
		if out == nil {
			out = make(Context)
		}
		out[name] = v
	}
	return out, nil
}
