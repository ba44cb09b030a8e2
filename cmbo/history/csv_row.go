package history

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
)

// header says where the columns are; -1 for those that are missing and may be.
type header struct {
	*names
	width                     int
	columns                   []column
	params                    []int
	value, task, noise, state int
	more, about               []int // of the outputs and of the descriptors
	at                        map[string]int
	space                     *cmbo.Space
}

func newHeader(fields []string, n *names, s *cmbo.Space) (*header, *RowError) {
	h := &header{names: n, width: len(fields), columns: columns(s), space: s}
	wanted := map[string]bool{n.value: true, n.task: true, n.noise: true, n.status: true}
	for _, c := range n.columns {
		wanted[c] = true
	}
	for _, o := range n.others() {
		wanted[o.column] = true
	}
	at := make(map[string]int, len(fields))
	for i, name := range fields {
		if !wanted[name] {
			name = strings.TrimSpace(name)
		}
		if j, dup := at[name]; dup && name != "" {
			return nil, rowErrorf(cmbo.ErrCorrupt, "columns %d and %d of the header have this name", j+1, i+1).in(name, "")
		}
		at[strings.Clone(name)] = i
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
	for i, c := range n.columns {
		h.params = append(h.params, find(c, !n.filled[i]))
	}
	h.value, h.task, h.noise = find(n.value, true), find(n.task, n.needTask), find(n.noise, n.needNoise)
	for _, o := range n.outputs {
		h.more = append(h.more, find(o.column, false))
	}
	for _, o := range n.context {
		h.about = append(h.about, find(o.column, false))
	}
	h.state, h.at = find(n.status, n.needStatus), at
	if missing != nil {
		hint := ""
		if len(fields) == 1 && strings.ContainsAny(fields[0], ";\t|") {
			hint = "; CSV.Comma says what separates fields"
		}
		return nil, rowErrorf(cmbo.ErrCorrupt, "the header lacks %s; it has %s%s", quoteAll(missing), quoteAll(fields), hint)
	}
	return h, nil
}

// cell returns the text of a field, empty if the column is missing.
func (h *header) cell(fields []string, i int) string {
	if i < 0 {
		return ""
	}
	return fields[i]
}

// parse reads a row.
func (h *header) parse(fields []string) (r row) {
	if len(fields) != h.width {
		return r.failed(rowErrorf(cmbo.ErrCorrupt, "%d fields; the header has %d", len(fields), h.width))
	}
	if h.Keep != nil && !h.Keep(func(column string) string {
		if i, ok := h.at[column]; ok {
			return strings.Clone(fields[i])
		}
		return ""
	}) {
		return row{outcome: passedOver}
	}
	if h.state >= 0 {
		if r.outcome = h.outcome(fields[h.state]); r.outcome == passedOver {
			return r
		}
	}
	r.id = h.taskID
	if h.task >= 0 {
		r.id = strings.TrimSpace(fields[h.task])
		if e := checkID(r.id); e != nil {
			r.id = ""
			return r.failed(e.in(h.names.task, ""))
		}
	}
	r.x = make([]float64, len(h.params))
	for i, c := range h.params {
		var e *RowError
		if r.x[i], e = h.param(i, h.columns[i], h.cell(fields, c)); e != nil {
			return r.failed(e.in(h.names.columns[i], h.cell(fields, c)))
		}
	}
	if err := h.space.Check(r.x); err != nil {
		return r.failed(outside(err, h.space.Params(), func(i int) string { return h.cell(fields, h.params[i]) }))
	}
	for i, o := range h.context {
		v, e := h.descriptor(h.cell(fields, h.about[i]))
		if e != nil {
			return r.failed(e.in(o.column, h.cell(fields, h.about[i])))
		}
		r.describe(o.name, v)
	}
	if r.outcome == hasFailed {
		return r
	}
	var e *RowError
	if r.y, e = h.mapping.value(h.names.value, fields[h.value], checkValue); e != nil {
		return r.failed(e.in(h.names.value, strings.TrimSpace(fields[h.value])))
	}
	if text := strings.TrimSpace(h.cell(fields, h.noise)); text != "" {
		if r.noise, e = h.mapping.value(h.names.noise, text, checkNoise); e != nil {
			return r.failed(e.in(h.names.noise, text))
		}
	}
	for i, o := range h.outputs {
		if text := strings.TrimSpace(h.cell(fields, h.more[i])); text != "" {
			v, e := h.mapping.value(o.column, text, checkValue)
			if e != nil {
				return r.failed(e.in(o.column, text))
			}
			r.output(o.name, v)
		}
	}
	return r
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
