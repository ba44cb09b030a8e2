package history

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
)

// maxInt bounds the integers that are exact in a float64.
const maxInt = 1 << 53

// number parses a finite decimal number; unread is the sentinel for text that
// is none. What else Go takes for one, 0x1p-1 or 1_0, is a mistake in a table.
func number(text string, unread error) (float64, *RowError) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return 0, rowErrorf(unread, "no value")
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, rowErrorf(unread, "not a number")
	case strings.ContainsAny(text, "_xX"):
		return 0, rowErrorf(unread, "not a decimal number")
	case err != nil:
		return 0, rowErrorf(cmbo.ErrValue, "too large for a float64")
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, rowErrorf(cmbo.ErrValue, "not finite")
	}
	return v, nil
}

// checkValue checks a measured value as package cmbo will.
func checkValue(y float64) *RowError {
	if !points.Admitted(y) {
		return rowErrorf(cmbo.ErrValue, "beyond ±%g", points.MaxValue)
	}
	return nil
}

// checkNoise checks a noise variance as package cmbo will.
func checkNoise(v float64) *RowError {
	if !(v >= 0 && v <= points.MaxValue) {
		return rowErrorf(cmbo.ErrValue, "a noise variance is in [0, %g]", points.MaxValue)
	}
	return nil
}

// choiceIndex returns the value of a choice in a row.
func choiceIndex(choices []string, name string) (float64, *RowError) {
	if i := slices.Index(choices, name); i >= 0 {
		return float64(i), nil
	}
	if name == "" {
		return 0, rowErrorf(cmbo.ErrOutOfSpace, "no value")
	}
	return 0, rowErrorf(cmbo.ErrOutOfSpace, "not one of %s", quoteAll(choices))
}

// A column reads the values of one parameter.
type column struct {
	param   cmbo.Param
	choices []string
}

func columns(s *cmbo.Space) []column {
	return each.Of(s.Params(), func(p cmbo.Param) column { return column{p, p.Choices()} })
}

// fromText parses the text of a cell. Whether a number lies in the range is left to the space.
func (c column) fromText(text string) (float64, *RowError) {
	trimmed := strings.TrimSpace(text)
	switch c.param.Kind() {
	case cmbo.KindCategorical:
		if !slices.Contains(c.choices, text) {
			text = trimmed
		}
		return choiceIndex(c.choices, text)
	case cmbo.KindBool:
		v, e := number(trimmed, cmbo.ErrOutOfSpace)
		switch {
		case strings.EqualFold(trimmed, "true"):
			return 1, nil
		case strings.EqualFold(trimmed, "false"):
			return 0, nil
		case trimmed != "" && (e != nil || v != 0 && v != 1):
			e = rowErrorf(cmbo.ErrOutOfSpace, "not true, false, 0 or 1")
		}
		return v, e
	case cmbo.KindInt, cmbo.KindLogInt:
		// 2^53 may be in the range, and 2^53+1, which is not, rounds to it.
		if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil && math.Abs(float64(n)) == maxInt && n != int64(float64(n)) {
			return 0, rowErrorf(cmbo.ErrOutOfSpace, "beyond the exact integers of a float64")
		}
	}
	return number(trimmed, cmbo.ErrOutOfSpace)
}

// text formats a checked value so that fromText gives it back.
func (c column) text(v float64) string {
	switch c.param.Kind() {
	case cmbo.KindCategorical:
		return c.choices[int(v)]
	case cmbo.KindBool:
		return strconv.FormatBool(v != 0)
	case cmbo.KindInt, cmbo.KindLogInt:
		return formatWhole(v)
	}
	return formatFloat(v)
}

// formatFloat writes the shortest decimal that reads back as v.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// formatWhole writes a whole number without an exponent.
func formatWhole(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// checkTasks returns what a writer is given as rows of the space, with the context as it is
// stored, if a reader would accept it.
func checkTasks(w io.Writer, s *cmbo.Space, tasks []cmbo.Task) ([]cmbo.Task, error) {
	if w == nil {
		return nil, fmt.Errorf("%w: a nil io.Writer", cmbo.ErrOption)
	}
	out, err := space.CheckTasks(s, tasks)
	if err != nil {
		return nil, err
	}
	for i, t := range tasks {
		why := unwritable(t.ID)
		if strings.TrimSpace(t.ID) != t.ID {
			why = "begins or ends with white space, which readers pass over"
		}
		if why != "" {
			return nil, space.InTask(space.Errorf(cmbo.ErrTask, "the ID %s", why), t.ID)
		}
		// Rows of the space itself stay as they are, between steps too.
		if p, err := cmbo.NewSpace(t.Params...); t.Params == nil || err == nil && p.SameParams(s) {
			out[i].X, out[i].Failed = t.X, t.Failed
		}
	}
	for _, p := range s.Params() {
		if why := unwritable(p.Name()); why != "" {
			return nil, fmt.Errorf("%w: the parameter %q %s", cmbo.ErrSpace, p.Name(), why)
		}
		for _, c := range p.Choices() {
			if why := unwritable(c); why != "" {
				return nil, fmt.Errorf("%w: parameter %q: the choice %q %s", cmbo.ErrSpace, p.Name(), c, why)
			}
		}
	}
	return out, nil
}

// unwritable says why a text cannot be written so that it reads back: JSON replaces what is not UTF-8, a
// reader of CSV files takes CR LF for LF, and the first name of a file loses a byte order mark.
func unwritable(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.Contains(s, "\r\n"):
		return "has an end of line of two characters"
	case strings.HasPrefix(s, "\ufeff"):
		return "begins with a byte order mark"
	}
	return ""
}
