package space

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
)

// Columns are the values of a task's further outputs, by name: of each output one for each value of the objective, or
// for each failure; NaN, in JSON null, where it was not measured.
type Columns map[string][]float64

// MarshalJSON writes an object of lists, null for NaN. It refuses infinite values.
func (c Columns) MarshalJSON() ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		values := c[name]
		if i := slices.IndexFunc(values, func(v float64) bool { return math.IsInf(v, 0) }); i >= 0 {
			return nil, Errorf(ErrValue, "output %q has %g in row %d", name, values[i], i)
		}
	}
	return codec.JSON(c)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Columns) UnmarshalJSON(b []byte) error {
	var m map[string][]*float64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = make(Columns, len(m))
	for name, values := range m {
		(*c)[name] = slices.Repeat([]float64{math.NaN()}, len(values))
		for i, v := range values {
			if v != nil {
				(*c)[name][i] = *v
			}
		}
	}
	return nil
}

// Names returns the names of the outputs, sorted.
func (c Columns) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Append adds the outputs of row n. The columns then have n+1 values each, NaN where a row lacks the output.
func (c *Columns) Append(n int, outputs map[string]float64) {
	if *c == nil {
		if len(outputs) == 0 {
			return
		}
		*c = make(Columns)
	}
	for name := range outputs {
		if _, known := (*c)[name]; !known {
			(*c)[name] = slices.Repeat([]float64{math.NaN()}, n)
		}
	}
	for name, values := range *c {
		v, ok := outputs[name]
		if !ok {
			v = math.NaN()
		}
		(*c)[name] = append(values, v)
	}
}

// Row returns the outputs that row i has, nil for none.
func (c Columns) Row(i int) map[string]float64 {
	var row map[string]float64
	for name, values := range c {
		if v := values[i]; !math.IsNaN(v) {
			if row == nil {
				row = make(map[string]float64, len(c))
			}
			row[name] = v
		}
	}
	return row
}

// check validates the columns of a task with n values or failures, as of calls them.
func (c Columns) check(n int, of string) error {
	for _, name := range c.Names() {
		if err := CheckName("output", name); err != nil {
			return Errorf(ErrTask, "%v", err)
		}
		if got := len(c[name]); got != n {
			return Errorf(ErrDimension, "%d values of output %q for %d %s", got, name, n, of)
		}
		for i, v := range c[name] {
			if math.IsNaN(v) {
				continue
			}
			if err := CheckOutput(name, v); err != nil {
				return AtRow(err, i)
			}
		}
	}
	return nil
}

// maxName bounds the bytes of a name.
const maxName = 200

// CheckName reports a name that an output or a descriptor cannot have; noun says in the error which of them it is.
// Such a name is empty, longer than 200 bytes, not UTF-8, which JSON would not keep, or has control characters or a
// space at an end, which nobody sees.
func CheckName(noun, name string) error {
	why := ""
	switch {
	case name == "":
		why = "is empty"
	case len(name) > maxName:
		name, why = strings.ToValidUTF8(name[:maxName/5], ""),
			fmt.Sprintf("goes on to %d bytes, more than %d", len(name), maxName)
	case !utf8.ValidString(name):
		why = "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		why = "has a control character"
	case strings.TrimSpace(name) != name:
		why = "begins or ends with a space"
	default:
		return nil
	}
	return fmt.Errorf("%s %q: its name %s", noun, name, why)
}

// CheckOutput fails with [ErrValue] if v is not finite or beyond ±1e150.
func CheckOutput(name string, v float64) error {
	if err := CheckValue(v); err != nil {
		return Errorf(ErrValue, "output %q: value %g is not a number within ±1e150", name, v)
	}
	return nil
}
