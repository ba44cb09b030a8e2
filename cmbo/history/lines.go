package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
)

// eachLine calls do with each line without its end, which is valid until do returns, and its number, and fails as do
// does. whole is false for a last line that has no end. A line that is too long, as the error long says, is passed over
// to its end and cut.
func eachLine(r io.Reader, limits Limits, do func(n int, line []byte, whole bool, long *RowError) error) error {
	br := bufio.NewReaderSize(bounded(r, limits.Bytes), 1<<16)
	if err := skipMark(br); err != nil {
		return err
	}
	var buf []byte
	for n, size := 1, 0; ; {
		part, err := br.ReadSlice('\n')
		switch {
		case err == io.EOF && size == 0 && len(part) == 0:
			return nil
		case err != nil && err != bufio.ErrBufferFull && err != io.EOF:
			return err
		}
		part, whole := bytes.CutSuffix(part, []byte("\n"))
		size += len(part)
		buf = append(buf, part[:min(len(part), limits.Line+1-len(buf))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		var long *RowError
		line := bytes.TrimSuffix(buf, []byte("\r"))
		if size > limits.Line {
			line, long = buf, beyond("Line", int64(limits.Line), "the line has more bytes").at(n)
		}
		if err := do(n, line, whole, long); err != nil {
			return err
		}
		buf, size, n = buf[:0], 0, n+1
	}
}

// jsonString decodes a JSON string; ok is false for other values.
func jsonString(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	escaped := func(c byte) bool { return c < ' ' || c == '\\' || c >= utf8.RuneSelf }
	if !slices.ContainsFunc(raw, escaped) { // most, which need no decoder
		return string(raw[1 : len(raw)-1]), true
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// jsonNumber returns the text of a JSON number. Python's NaN and infinities, which [bare] has quoted, count as numbers.
func jsonNumber(raw []byte) (text string, ok bool) {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		return string(raw), true
	}
	text, _ = jsonString(raw)
	return text, slices.Contains(pythonNumbers, text)
}

// jsonText is what a cell of a table says that holds a JSON value but for a choice: a string keeps
// its quotation marks, and is no number.
func jsonText(raw []byte) string {
	if text, ok := jsonNumber(raw); ok || isNull(raw) {
		return text
	}
	return string(raw)
}

func jsonFloat(raw []byte, unread error) (float64, *RowError) { return number(jsonText(raw), unread) }

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// jsonName is the name by which a choice goes that may be any JSON value: the
// text of a string, the JSON of other values without white space.
func jsonName(raw []byte) string {
	if s, ok := jsonString(raw); ok {
		return s
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // raw is JSON
	return b.String()
}

func (c column) fromJSON(raw []byte) (float64, *RowError) {
	if c.param.Kind() == cmbo.KindCategorical {
		return choiceIndex(c.choices, jsonName(raw))
	}
	return c.fromText(jsonText(raw))
}

// jsonDescriptor decodes a number, or a string or truth value, which is a choice; nil for none. An
// infinity is refused in quotation marks too, where it is "no limit" rather than one choice of several.
func jsonDescriptor(raw []byte) (any, *RowError) {
	text, isNumber := jsonNumber(raw)
	switch {
	case isNull(raw) || text == "NaN":
		return nil, nil
	case !utf8.Valid(raw): // decoded, different choices might be one
		return nil, rowErrorf(cmbo.ErrTask, "not UTF-8")
	case isNumber:
		return number(text, cmbo.ErrValue)
	case raw[0] == '[' || raw[0] == '{':
		return nil, rowErrorf(cmbo.ErrCorrupt, "neither a number nor a string")
	}
	return jsonName(raw), nil
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // every string has a JSON form
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
