package history

import (
	"errors"
	"io"
	"strings"

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

var errRowLimit = errors.New("history: row too long")

// rowLimit ends the reading after so many bytes. Whoever reads rows through it
// renews the number for each.
type rowLimit struct {
	r    io.Reader
	left int
}

func (l *rowLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		// The row may have ended with the input.
		var next [1]byte
		if n, err := l.r.Read(next[:]); n == 0 {
			return 0, err
		}
		return 0, errRowLimit
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
