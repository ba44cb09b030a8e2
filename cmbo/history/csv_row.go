package history

import (
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
)

// header says where the columns are, and gives the cells of a row.
type header struct {
	*form
	width  int
	at     map[string]int
	fields []string // of the row
}

// commaHint is what to say of a header that may have another separator than the description.
func commaHint(may bool) string {
	if may {
		return "; CSV.Comma says what separates fields"
	}
	return ""
}

func newHeader(fields []string, n *form) (*header, *RowError) {
	h := &header{form: n, width: len(fields), at: make(map[string]int, len(fields))}
	places := n.places()
	wanted := make(map[string]bool, len(places))
	for _, p := range places {
		wanted[p.name] = true
	}
	for i, name := range fields {
		if !wanted[name] {
			name = strings.TrimSpace(name)
		}
		if j, dup := h.at[name]; dup && name != "" {
			return nil, rowErrorf(cmbo.ErrCorrupt, "columns %d and %d of the header have this name", j+1, i+1).in(name, "")
		}
		h.at[strings.Clone(name)] = i
	}
	delete(h.at, "") // which stands for what there is not
	places = slices.DeleteFunc(places, func(p place) bool { return !p.must || h.has(p.name) })
	if missing := each.Of(places, func(p place) string { return p.name }); missing != nil {
		hint := commaHint(len(fields) == 1 && strings.ContainsAny(fields[0], ";\t|"))
		return nil, rowErrorf(cmbo.ErrCorrupt, "the header lacks %s; it has %s%s", quoteAll(missing), quoteAll(fields), hint)
	}
	if e := recased(n, h.at); e != nil {
		return nil, e
	}
	s := newSightings(n.others(), "the header lacks this column", n.limits)
	s.see(maps.Keys(h.at))
	return h, s.lack()
}

func (h *header) read(fields []string) (r row) {
	if len(fields) != h.width {
		return r.failed(rowErrorf(cmbo.ErrCorrupt, "%d fields; the header has %d", len(fields), h.width))
	}
	h.fields = fields
	if h.has(h.status) {
		if r.outcome = h.outcome(h.text(h.status)); r.outcome == passedOver {
			return r
		}
	}
	id := h.taskID
	if h.has(h.task) {
		id = strings.TrimSpace(h.text(h.task))
		if e := checkID(id); e != nil {
			return r.failed(e.in(h.task, ""))
		}
	}
	r.id = id
	return h.row(r, h.field)
}

func (h *header) has(column string) bool {
	_, ok := h.at[column]
	return ok
}

// text is that of a cell, empty if the column is missing.
func (h *header) text(column string) string {
	if i, ok := h.at[column]; ok {
		return h.fields[i]
	}
	return ""
}

func (h *header) field(_, column string) field { return field{text: h.text(column)} }

// rowLimit hands on the bytes of a CSV file until a row has too many bytes or fields. Whoever reads
// rows through it renews the number of bytes for each. Fields are counted as encoding/csv will find
// them, before it does: it would make an index and a string of each.
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
