package history

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
)

// header says where the columns are; those of the task and of the noise may be
// missing, -1.
type header struct {
	width              int
	columns            []column
	params             []int
	value, task, noise int
	space              *cmbo.Space
}

func newHeader(fields []string, n names, s *cmbo.Space) (*header, *RowError) {
	h := &header{width: len(fields), columns: columns(s), space: s}
	wanted := map[string]bool{n.value: true, n.task: true, n.noise: true}
	for _, c := range h.columns {
		wanted[c.param.Name()] = true
	}
	at := make(map[string]int, len(fields))
	for i, name := range fields {
		if !wanted[name] {
			name = strings.TrimSpace(name)
		}
		if j, dup := at[name]; dup && name != "" {
			return nil, rowErrorf(cmbo.ErrCorrupt, "columns %d and %d of the header have this name", j+1, i+1).in(name, "")
		}
		at[name] = i
	}
	var missing []string
	find := func(name string, need bool) int {
		if i, ok := at[name]; ok && name != "" {
			return i
		}
		if need {
			missing = append(missing, name)
		}
		return -1
	}
	for _, c := range h.columns {
		h.params = append(h.params, find(c.param.Name(), true))
	}
	h.value, h.task, h.noise = find(n.value, true), find(n.task, n.needTask), find(n.noise, n.needNoise)
	if missing != nil {
		return nil, rowErrorf(cmbo.ErrCorrupt, "the header lacks %s; it has %s", quoteAll(missing), quoteAll(fields))
	}
	return h, nil
}

// parse reads a row. The ID is valid in an error, too, if there is one.
func (h *header) parse(fields []string, n names) (id string, x []float64, y, v float64, bad *RowError) {
	if len(fields) != h.width {
		return "", nil, 0, 0, rowErrorf(cmbo.ErrCorrupt, "%d fields; the header has %d", len(fields), h.width)
	}
	id = n.taskID
	if h.task >= 0 {
		id = fields[h.task]
		if e := checkID(id); e != nil {
			return "", nil, 0, 0, e.in(n.task, "")
		}
	}
	x = make([]float64, len(h.params))
	for i, c := range h.params {
		var e *RowError
		if x[i], e = h.columns[i].fromText(fields[c]); e != nil {
			return id, nil, 0, 0, e.in(h.columns[i].param.Name(), fields[c])
		}
	}
	if err := h.space.Check(x); err != nil {
		return id, nil, 0, 0, outside(err, h.space.Params(), func(i int) string { return fields[h.params[i]] })
	}
	text := strings.TrimSpace(fields[h.value])
	y, e := number(text, cmbo.ErrNotFinite)
	if e == nil {
		e = checkValue(y)
	}
	if e != nil {
		return id, nil, 0, 0, e.in(n.value, text)
	}
	if h.noise >= 0 {
		text := strings.TrimSpace(fields[h.noise])
		if text != "" {
			if v, e = number(text, cmbo.ErrNotFinite); e == nil {
				e = checkNoise(v)
			}
			if e != nil {
				return id, nil, 0, 0, e.in(n.noise, text)
			}
		}
	}
	return id, x, y, v, nil
}

// rowLimit hands on the bytes of a CSV file until a row has too many bytes or
// fields. Whoever reads rows through it renews the number of bytes for each.
// Fields are counted as encoding/csv will find them, before it does: it would
// make an index and a string of each.
type rowLimit struct {
	r       io.Reader
	limits  Limits
	comma   rune
	left    int    // bytes
	fields  int    // commas in the current row
	inside  bool   // a quoted field
	closing bool   // the last byte was a quotation mark inside a quoted field
	begins  bool   // the next byte is the first of a field
	last    []byte // the bytes that may make a comma
	err     error
}

func newRowLimit(r io.Reader, limits Limits, comma rune) *rowLimit {
	return &rowLimit{r: bounded(r, limits.Bytes), limits: limits, comma: comma, begins: true}
}

func (l *rowLimit) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.left <= 0 {
		// The row may have ended with the input.
		var next [1]byte
		if n, err := l.r.Read(next[:]); n == 0 {
			return 0, err
		}
		l.err = beyond("Line", int64(l.limits.Line), "a row has more bytes, or a quote that is not closed")
		return 0, l.err
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	for i, c := range p[:n] {
		if l.scan(c); l.fields >= l.limits.Columns {
			l.err = beyond("Columns", int64(l.limits.Columns), "a row has more fields")
			return i, l.err
		}
	}
	return n, err
}

// scan follows the text by a byte.
func (l *rowLimit) scan(c byte) {
	if l.inside {
		switch {
		case c == '"':
			l.closing = !l.closing // two make one in the text
			return
		case !l.closing:
			return
		}
		l.inside, l.closing = false, false
	}
	if c == '\n' {
		l.fields, l.begins, l.last = 0, true, l.last[:0]
		return
	}
	if c == '"' && l.begins {
		l.inside, l.begins = true, false
		return
	}
	l.begins = false
	if l.last = append(l.last, c); len(l.last) > utf8.UTFMax {
		l.last = l.last[1:]
	}
	if r, _ := utf8.DecodeLastRune(l.last); r == l.comma {
		l.fields, l.begins, l.last = l.fields+1, true, l.last[:0]
	}
}
