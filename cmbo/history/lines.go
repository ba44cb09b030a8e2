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

// lineReader reads lines of bounded length.
type lineReader struct {
	br   *bufio.Reader
	most int // bytes of a line, its end not counted
	buf  []byte
	n    int // number of the last line
}

func newLineReader(r io.Reader, limits Limits) (*lineReader, error) {
	br := bufio.NewReaderSize(bounded(r, limits.Bytes), 1<<16)
	if err := skipMark(br); err != nil {
		return nil, err
	}
	return &lineReader{br: br, most: limits.Line}, nil
}

// tooLong is the error of a line that next has cut.
func (l *lineReader) tooLong() *RowError {
	return beyond("Line", int64(l.most), "the line has more bytes").at(l.n)
}

// next returns the next line without its end. whole is false for a last line that has none. A line
// that is too long is passed over to its end and cut. At the end of the input next returns io.EOF.
// The line is valid until the next call.
func (l *lineReader) next() (line []byte, whole, long bool, err error) {
	l.buf = l.buf[:0]
	size := 0
	for {
		part, err := l.br.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull && err != io.EOF {
			return nil, false, false, err
		}
		part, whole = bytes.CutSuffix(part, []byte("\n"))
		size += len(part)
		l.buf = append(l.buf, part[:min(len(part), l.most+1-len(l.buf))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && size == 0 {
			return nil, false, false, io.EOF
		}
		l.n++
		line = l.buf
		if size <= l.most {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		return line, whole, size > l.most, nil
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

// jsonNumber returns the text of a JSON number. Python's NaN and infinities,
// which [bare] has quoted, count as numbers.
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

// jsonFloat parses a JSON number.
func jsonFloat(raw []byte, unread error) (float64, *RowError) { return number(jsonText(raw), unread) }

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// jsonName is the name by which a choice goes that may be any JSON value: the
// text of a string, the JSON of other values without white space.
func jsonName(raw []byte) string {
	if s, ok := jsonString(raw); ok {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// fromJSON reads a parameter's value.
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

// quoted returns the JSON text of a string.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // every string has a JSON form
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
