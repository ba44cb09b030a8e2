package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/names"
)

// The numbers that Python writes into what it calls JSON.
var pythonNumbers = []string{"-Infinity", "Infinity", "NaN"}

// A scanner reads a stream of JSON of which it keeps nothing: the largest thing in memory is one
// string or number. It takes Python's NaN and infinities for numbers.
type scanner struct {
	r      *bufio.Reader
	limits Limits
	offset int64
	line   int // ends of lines before offset
	depth  int
	buf    []byte
	kept   []byte // the text since raw began, nil elsewhere
}

// scan returns a scanner of a text that is in memory, and of which raw may keep all.
func scan(text []byte, limits Limits) *scanner {
	limits.String = math.MaxInt
	return &scanner{r: bufio.NewReaderSize(bytes.NewReader(text), min(len(text), 1<<12)), limits: limits}
}

func (s *scanner) corrupt(format string, args ...any) error {
	return rowErrorf(cmbo.ErrCorrupt, "JSON, byte %d: %s", s.offset, fmt.Sprintf(format, args...))
}

// next reads a byte; the end of the input is an error of the text.
func (s *scanner) next() (byte, error) {
	c, err := s.r.ReadByte()
	if err == io.EOF {
		return 0, rowErrorf(cmbo.ErrCorrupt, "JSON is cut off after %d bytes", s.offset)
	}
	if err != nil {
		return 0, err
	}
	s.offset++
	if c == '\n' {
		s.line++
	}
	if s.kept != nil {
		if s.kept = append(s.kept, c); len(s.kept) > s.limits.String {
			return 0, beyond("String", int64(s.limits.String), "byte %d: an object has more bytes", s.offset)
		}
	}
	return c, nil
}

// back puts back the byte that next has read.
func (s *scanner) back(c byte) {
	_ = s.r.UnreadByte()
	s.offset--
	if c == '\n' {
		s.line--
	}
	s.kept = s.kept[:max(len(s.kept)-1, 0)]
}

// token reads the first byte that is not white space.
func (s *scanner) token() (byte, error) {
	for {
		c, err := s.next()
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, err
		}
	}
}

// peek is token without taking the byte. An error stays: who reads on has it again.
func (s *scanner) peek() (byte, error) {
	c, err := s.token()
	if err == nil {
		s.back(c)
	}
	return c, err
}

func (s *scanner) text() (string, error) {
	c, err := s.token()
	if err != nil {
		return "", err
	}
	if c != '"' {
		return "", s.corrupt("want a string, have %q", c)
	}
	s.buf = append(s.buf[:0], c)
	for escaped, ended := false, false; !ended; {
		if !escaped {
			s.plain()
		}
		if c, err = s.next(); err != nil {
			return "", err
		}
		if len(s.buf) > s.limits.String {
			return "", beyond("String", int64(s.limits.String), "byte %d: a string has more bytes", s.offset)
		}
		s.buf = append(s.buf, c)
		ended = c == '"' && !escaped
		escaped = c == '\\' && !escaped
	}
	text, ok := jsonString(s.buf)
	if !ok {
		return "", s.corrupt("%s is not a string", names.Clip(string(s.buf)))
	}
	return text, nil
}

// plain takes of the string that text reads what is buffered, up to the next quotation mark or
// backslash. It leaves to next what goes beyond a limit. A line feed makes the string an error.
func (s *scanner) plain() {
	run, _ := s.r.Peek(max(0, min(s.r.Buffered(), s.limits.String-max(len(s.buf), len(s.kept)))))
	if i := bytes.IndexAny(run, `"\`); i >= 0 {
		run = run[:i]
	}
	s.buf = append(s.buf, run...)
	if s.kept != nil {
		s.kept = append(s.kept, run...)
	}
	s.offset += int64(len(run))
	_, _ = s.r.Discard(len(run))
}

// literal reads a number, Python's among them, or true, false and null, of which it returns NaN.
func (s *scanner) literal() (v float64, err error) {
	for s.buf = s.buf[:0]; ; {
		c, err := s.next()
		if err != nil {
			return 0, err
		}
		if c <= ' ' || strings.IndexByte(`,]}:"[{`, c) >= 0 {
			s.back(c)
			break
		}
		if len(s.buf) > s.limits.String {
			return 0, beyond("String", int64(s.limits.String), "byte %d: a number has more bytes", s.offset)
		}
		s.buf = append(s.buf, c)
	}
	word := string(s.buf)
	python := slices.Contains(pythonNumbers, word)
	if python && s.kept != nil {
		s.kept = strconv.AppendQuote(s.kept[:len(s.kept)-len(word)], word)
	}
	switch {
	case word == "null" || word == "true" || word == "false":
		return math.NaN(), nil
	case !python && !json.Valid(s.buf): // strconv takes numbers that JSON has not
		return 0, s.corrupt("%q is not a value", names.Clip(word))
	}
	v, err = strconv.ParseFloat(word, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // infinite, which the caller refuses
	}
	return v, err
}

// expect reads a byte, which has to be the one wanted.
func (s *scanner) expect(want byte) error {
	c, err := s.token()
	if err == nil && c != want {
		err = s.corrupt("want %q, have %q", want, c)
	}
	return err
}

// list calls entry, which reads it, for each entry of a list or an object.
func (s *scanner) list(open, end byte, entry func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.depth++; s.depth > s.limits.Depth {
		return beyond("Depth", int64(s.limits.Depth), "byte %d: lists and objects nest deeper", s.offset)
	}
	defer func() { s.depth-- }()
	for first := true; ; first = false {
		c, err := s.token()
		if err != nil {
			return err
		}
		switch {
		case c == end:
			return nil
		case first:
			s.back(c)
		case c != ',':
			return s.corrupt("want ',' or %q, have %q", end, c)
		}
		if err := entry(); err != nil {
			return err
		}
	}
}

// array calls entry, which reads it, for each entry of a list.
func (s *scanner) array(entry func() error) error { return s.list('[', ']', entry) }

// object calls member, which reads the value, with each name of an object.
func (s *scanner) object(member func(name string) error) error {
	return s.list('{', '}', func() error {
		name, err := s.text()
		if err == nil {
			err = s.expect(':')
		}
		if err != nil {
			return err
		}
		return member(name)
	})
}

// skip reads a value and forgets it.
func (s *scanner) skip() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return s.object(func(string) error { return s.skip() })
	case '[':
		return s.array(s.skip)
	case '"':
		_, err := s.text()
		return err
	}
	_, err = s.literal()
	return err
}

// raw returns the text of a value of at most Limits.String bytes, in which Python's NaN and
// infinities are strings: what is read as a number is then told to be none.
func (s *scanner) raw() ([]byte, error) {
	_, _ = s.peek() // so that the text begins with the value
	s.kept = make([]byte, 0, 64)
	err := s.skip()
	text := s.kept
	s.kept = nil
	return text, err
}

// value decodes a value as package json does.
func (s *scanner) value(to any) error {
	text, err := s.raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return s.corrupt("%v", err)
	}
	return nil
}

// more reports whether anything but white space follows.
func (s *scanner) more() (bool, error) {
	_, err := s.peek()
	if _, end := s.r.Peek(1); end == io.EOF {
		return false, nil
	}
	return err == nil, err
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	more, err := s.more()
	if more {
		s.offset++
		return s.corrupt("text after the object")
	}
	return err
}

// object decodes a text that is one object: its names in their order, and of each the text of
// its value. A name that appears twice is wrong, and so are more than Limits.Columns.
func object(text []byte, limits Limits) (names []string, values map[string][]byte, e *RowError) {
	s := scan(text, limits)
	values = make(map[string][]byte)
	c, err := s.peek()
	switch {
	case err == nil && c != '{':
		err = s.corrupt("not a JSON object")
	case err == nil:
		err = s.object(func(name string) (err error) {
			if _, twice := values[name]; twice {
				return rowErrorf(cmbo.ErrCorrupt, "the key appears twice").in(name, "")
			}
			if names = append(names, name); len(names) > limits.Columns {
				return beyond("Columns", int64(limits.Columns), "the object has more keys")
			}
			values[name], err = s.raw()
			return err
		})
	}
	if err == nil {
		err = s.end()
	}
	errors.As(err, &e) // a text in memory gives no others
	return names, values, e
}

// bare returns a text in which Python's NaN and infinities are strings, as package json needs it;
// a text that has none of them, or is no JSON, as it is.
func bare(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	s := scan(text, Limits{Depth: 10_000})
	quoted, err := s.raw()
	if err != nil || s.end() != nil {
		return text
	}
	return quoted
}
