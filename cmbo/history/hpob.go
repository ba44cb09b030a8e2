package history

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/names"
)

// An HPOB describes what to take from a file in HPO-B's format, plain or gzip'd:
//
//	{space: {task: {"X": [[...], ...], "y": [[v], ...]}}}
//
// or, where evaluations brought several values,
//
//	{space: {task: {"X": [[...], ...], "Y": [[v, w, ...], ...], "outputs": ["v", "w", ...]}}}
//
// A task's "context", {"name": number or string, ...}, becomes its Context: null, NaN and "NaN" are
// missing, Infinity and "Infinity" are ErrValue, as [Mapping.Context] says.
//
// The zero value reads the only space of a file of the first kind.
//
// S. Pineda Arango et al., HPO-B: a large-scale reproducible benchmark for
// black-box HPO based on OpenML, NeurIPS Datasets and Benchmarks 2021.
type HPOB struct {
	// Name is the name of the search space to be read; empty stands for the only one of a file.
	Name string
	// Value is the name, among "outputs", of the value to be optimised in a file that has
	// several. The others become the tasks' Outputs, null for those that are missing.
	Value  string
	Policy Policy
	Limits Limits // Line does not apply
}

// An HPOBResult is what [HPOB.Read] makes of a file. Larger values are better.
type HPOBResult struct {
	Result
	// Name is the name of the search space.
	Name string
	// Kept holds for each task, by row of the file, the index of the observation that the row
	// became, or that of the equal row before it; -1 for a bad row.
	Kept [][]int
	// Repeated counts the rows that were left out because the task had an equal one before.
	Repeated int
}

// Read reads one search space, whose configurations are encoded already, each coordinate in [0, 1]:
// the Space is cmbo.UnitCube. The tasks are sorted by ID. Of equal configurations of a task only the
// first stays, as HPO-B's users have it; -0 counts as 0. Values may stand bare or each in brackets.
// Other spaces, and other keys of a task, are passed over: without Value "Y" and "outputs", with it "y".
//
// A row is bad if its configuration has another number of coordinates than the first of the file, or an
// entry that is not a number in [0, 1], if its values are not one for each output, that to be optimised
// within ±1e150, or if it has no counterpart in the other list. A [*RowError] names the task, and the row
// in its Reason. Whatever the Policy, Read fails with cmbo's ErrCorrupt if the text is not JSON of this
// shape or has a name twice, and with ErrNoTasks if the file lacks the space or the space a good row.
func (h HPOB) Read(r io.Reader) (*HPOBResult, error) {
	out, err := newCollector(nil, h.Policy)
	if err != nil {
		return nil, err
	}
	t := &hpobReader{collector: out, objective: h.Value, kept: make(map[string][]int)}
	found := false
	var others []string
	err = h.spaces(r, func(s *scanner, name string) error {
		switch {
		case h.Name != "" && name != h.Name:
			if len(others) < 9 {
				others = append(others, name)
			}
			return s.skip()
		case found && h.Name == "":
			return rowErrorf(cmbo.ErrCorrupt, "the file has more than one space, %s; name one", quoteAll([]string{t.name, name}))
		case found:
			return rowErrorf(cmbo.ErrCorrupt, "the space %q appears twice", names.Clip(name))
		}
		found, t.name, t.scanner = true, name, s
		return t.space()
	})
	if err != nil {
		return nil, err
	}
	if !found {
		known := "there is none"
		if others != nil {
			known = "the file has " + quoteAll(others)
		}
		return nil, rowErrorf(cmbo.ErrNoTasks, "no space %q; %s", names.Clip(h.Name), known)
	}
	return t.finish()
}

// Names lists the search spaces of a file, sorted. It reads the whole file and fails as [HPOB.Read] does.
func (h HPOB) Names(r io.Reader) ([]string, error) {
	var all []string
	err := h.spaces(r, func(s *scanner, name string) error {
		if all = append(all, name); len(all) > s.limits.Columns {
			return beyond("Columns", int64(s.limits.Columns), "the file has more spaces")
		}
		return s.skip()
	})
	slices.Sort(all)
	return all, err
}

// spaces calls member, which reads its value, with the name of each space of a file. Gzip, told by
// its first two bytes, is unpacked.
func (h HPOB) spaces(r io.Reader, member func(s *scanner, name string) error) error {
	l := h.Limits
	l.Rows, l.Bytes = cmp.Or(l.Rows, 1<<21), cmp.Or(l.Bytes, 64<<20)
	l, err := l.filled()
	if err != nil {
		return err
	}
	from := bounded(r, 0)
	b := bufio.NewReaderSize(from, 1<<16)
	r = b
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		u := &unpacked{from: from}
		_ = u.z.Reset(b) // which Read repeats
		r = u
	}
	b = bufio.NewReaderSize(bounded(r, l.Bytes), 1<<16)
	if err := skipMark(b); err != nil {
		return err
	}
	s := &scanner{r: b, limits: l}
	if err := s.object(func(name string) error { return member(s, name) }); err != nil {
		return err
	}
	return s.end()
}

// unpacked makes what is wrong with packed data, and not with reading it, an error of this package.
type unpacked struct {
	z    gzip.Reader
	from *byteLimit
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, u.from.err) {
		err = fmt.Errorf("%w: %w", cmbo.ErrCorrupt, err)
	}
	return n, err
}

type hpobReader struct {
	*scanner
	*collector
	name      string
	objective string           // the name of the one to be optimised, "" in a file with one
	dim       int              // 0 until the first good configuration
	kept      map[string][]int // by task
	repeated  int

	configurations, results int // of all tasks

	// Of the task that is read. A small file can repeat a row a million times: equal ones are kept once.
	rows [][]float64
	at   map[[sha256.Size]byte]int // of rows, by their digests
	x    []int                     // by row of the file, its place in rows, -1 for what is no list
	y    []float64                 // values, row after row
	ends []int                     // of the rows of y
	bits []byte
}

func (t *hpobReader) space() error {
	return t.object(func(id string) error {
		if e := checkID(id); e != nil {
			return e
		}
		if _, seen := t.kept[id]; seen {
			return &RowError{Task: names.Clip(id), Reason: "the task appears twice", Err: cmbo.ErrCorrupt}
		}
		t.kept[id] = nil
		return t.task(id)
	})
}

func (t *hpobReader) task(id string) error {
	p := hpobTask{hpobReader: t, ys: "y", names: []string{""}, known: make(map[string]bool)}
	t.rows, t.x, t.y, t.ends, t.at = t.rows[:0], t.x[:0], t.y[:0], t.ends[:0], make(map[[sha256.Size]byte]int)
	if t.objective != "" {
		p.ys, p.names = "Y", nil
	}
	seen := make(map[string]bool)
	err := t.object(func(key string) error {
		wanted := key == "X" || key == p.ys || key == "context" || key == "outputs" && t.objective != ""
		if seen[key] && wanted {
			return rowErrorf(cmbo.ErrCorrupt, "the key appears twice").in(key, "")
		}
		if !wanted {
			p.several = p.several || key == "Y"
			return t.skip()
		}
		seen[key] = true
		switch key {
		case "X":
			return t.array(p.configuration)
		case p.ys:
			return t.array(p.result)
		case "outputs":
			return t.array(p.outputName)
		}
		p.context = make(cmbo.Context)
		return t.object(p.descriptor)
	})
	if err == nil {
		err = p.collect(id)
	}
	if e, ok := err.(*RowError); ok && e.Task == "" {
		e.Task = names.Clip(id)
	}
	return err
}

type hpobTask struct {
	*hpobReader
	ys      string          // the key of the values
	several bool            // there are values of several outputs, which are not read
	names   []string        // of the values of a row
	known   map[string]bool // the same
	context cmbo.Context
	row     []float64
}

// numbers reads an entry of X or of the values, of which count says how many there are: a list of numbers, or
// one that stands bare, into row, NaN for what is none.
func (p *hpobTask) numbers(count *int) (list bool, err error) {
	if *count++; *count > p.limits.Rows {
		return false, beyond("Rows", int64(p.limits.Rows), "byte %d: the space has more configurations or values", p.offset)
	}
	p.row = p.row[:0]
	number := func() error {
		v := math.NaN()
		c, err := p.peek()
		switch {
		case err != nil:
		case c == '"' || c == '[' || c == '{':
			err = p.skip()
		default:
			v, err = p.literal()
		}
		if p.row = append(p.row, v); err == nil && len(p.row) > p.limits.Columns {
			return beyond("Columns", int64(p.limits.Columns), "byte %d: more numbers in a list", p.offset)
		}
		return err
	}
	if c, _ := p.peek(); c == '[' {
		return true, p.array(number)
	}
	return false, number()
}

// configuration reads an entry of X.
func (p *hpobTask) configuration() error {
	list, err := p.numbers(&p.configurations)
	if !list {
		p.x = append(p.x, -1)
		return err
	}
	p.bits = p.bits[:0]
	for j, v := range p.row {
		p.row[j] = v + 0 // -0 becomes 0
		p.bits = binary.LittleEndian.AppendUint64(p.bits, math.Float64bits(p.row[j]))
	}
	key := sha256.Sum256(p.bits)
	k, known := p.at[key]
	if !known {
		k = len(p.rows)
		p.at[key] = k
		p.rows = append(p.rows, slices.Clone(p.row))
	}
	p.x = append(p.x, k)
	return err
}

// result reads an entry of the values.
func (p *hpobTask) result() error {
	_, err := p.numbers(&p.results)
	p.y = append(p.y, p.row...)
	p.ends = append(p.ends, len(p.y))
	return err
}

// wrong says why x is no configuration, "" if it is one.
func (p *hpobTask) wrong(x []float64) string {
	outside := slices.IndexFunc(x, func(v float64) bool { return !(v >= 0 && v <= 1) })
	switch {
	case len(x) == 0:
		return "no coordinates"
	case p.dim != 0 && len(x) != p.dim:
		return fmt.Sprintf("%d coordinates, want %d", len(x), p.dim)
	case outside >= 0 && math.IsNaN(x[outside]):
		return fmt.Sprintf("coordinate %d is null, NaN, or another value that is no number", outside)
	case outside >= 0:
		return fmt.Sprintf("coordinate %d is %g, outside [0, 1]", outside, x[outside])
	}
	return ""
}

// descriptor reads an entry of context: a number, a string, false, true, or null.
func (p *hpobTask) descriptor(name string) error {
	if _, twice := p.context[name]; twice || name == "" || len(p.context) >= p.limits.Columns {
		return rowErrorf(cmbo.ErrCorrupt, "descriptor %q has no name, appears twice, or is one of too many", names.Clip(name))
	}
	raw, err := p.raw()
	if err != nil {
		return err
	}
	v, e := jsonDescriptor(raw)
	if e != nil {
		return rowErrorf(e.Err, "descriptor %q is %s: %s", names.Clip(name), names.Clip(field{raw: raw}.shown()), e.Reason)
	}
	p.context[name] = v
	return nil
}

// outputName reads an entry of outputs.
func (p *hpobTask) outputName() error {
	name, err := p.text()
	if err != nil {
		return err
	}
	if space.CheckName("output", name) != nil || p.known[name] {
		return rowErrorf(cmbo.ErrCorrupt, "output %d is %q, which is no name, or appears twice",
			len(p.names), names.Clip(name))
	}
	p.known[name] = true
	if p.names = append(p.names, name); len(p.names) > p.limits.Columns {
		return beyond("Columns", int64(p.limits.Columns), "more outputs")
	}
	return nil
}

// observed returns what row i says, of which the value to be optimised is entry at.
func (p *hpobTask) observed(i, at int) (r row) {
	if i >= len(p.x) || i >= len(p.ends) {
		return r.failed(rowErrorf(cmbo.ErrCorrupt, "row %d: %d configurations but %d values", i, len(p.x), len(p.ends)))
	}
	if p.x[i] < 0 {
		return r.failed(rowErrorf(cmbo.ErrCorrupt, "row %d: X: not a list", i))
	}
	r.x = p.rows[p.x[i]]
	if why := p.wrong(r.x); why != "" {
		return r.failed(rowErrorf(cmbo.ErrCorrupt, "row %d: X: %s", i, why))
	}
	begin := 0
	if i > 0 {
		begin = p.ends[i-1]
	}
	values := p.y[begin:p.ends[i]]
	p.dim = len(r.x)
	if len(values) != len(p.names) {
		return r.failed(rowErrorf(cmbo.ErrCorrupt, "row %d: %s: %d values, want %d", i, p.ys, len(values), len(p.names)))
	}
	for k, v := range values {
		e := checkValue(v)
		switch {
		case k == at && math.IsNaN(v):
			return r.failed(rowErrorf(cmbo.ErrValue, "row %d: %s is null, NaN, or another value that is no number",
				i, p.called(k)))
		case k != at && math.IsNaN(v):
		case e != nil:
			e.Reason = fmt.Sprintf("row %d: %s is %g: %s", i, p.called(k), v, e.Reason)
			return r.failed(e)
		case k == at:
			r.y = v
		default:
			r.output(p.names[k], v)
		}
	}
	return r
}

// called names a value for messages.
func (p *hpobTask) called(k int) string {
	if p.objective == "" {
		return p.ys
	}
	return fmt.Sprintf("output %q", p.names[k])
}

// collect joins configurations and values.
func (p *hpobTask) collect(id string) error {
	objective := slices.Index(p.names, p.objective)
	if objective < 0 {
		return rowErrorf(cmbo.ErrCorrupt, "no output %q; it has %s", names.Clip(p.objective), cmp.Or(quoteAll(p.names), "none"))
	}
	if p.several && len(p.ends) == 0 {
		return rowErrorf(cmbo.ErrCorrupt, `no "y"; Value says which of the outputs of "Y" is to be optimised`)
	}
	kept := make([]int, max(len(p.x), len(p.ends)))
	first := slices.Repeat([]int{-1}, len(p.rows)) // the observation of a configuration
	n := 0
	for i := range kept {
		r := p.observed(i, objective)
		if r.id = id; r.bad != nil {
			r.id, kept[i] = names.Clip(id), -1
		} else if k := p.x[i]; first[k] >= 0 {
			kept[i] = first[k]
			p.repeated++
			continue
		} else {
			kept[i], first[k] = n, n
			n++
		}
		if err := p.take(r, 0); err != nil {
			return err
		}
	}
	if n > 0 {
		maps.DeleteFunc(p.context, func(_ string, v any) bool { return v == nil })
		p.collector.result.Tasks[p.index[id]].Context = p.context
		p.kept[id] = kept
		return nil
	}
	if len(kept) > 0 {
		return nil // all bad, as the report says
	}
	return p.bad(&RowError{Task: names.Clip(id), Reason: "no coordinates: the task has no configurations",
		Err: cmbo.ErrCorrupt})
}

func (t *hpobReader) finish() (*HPOBResult, error) {
	done, err := t.collector.finish("configurations", nil)
	if err != nil {
		return nil, err
	}
	done.Space, _ = cmbo.UnitCube(t.dim) // of at least one coordinate, as each good configuration has
	params := done.Space.Params()
	slices.SortFunc(done.Tasks, func(a, b cmbo.Task) int { return strings.Compare(a.ID, b.ID) })
	res := &HPOBResult{Result: *done, Name: t.name, Repeated: t.repeated}
	for i, task := range done.Tasks {
		done.Tasks[i].Params = params
		res.Kept = append(res.Kept, t.kept[task.ID])
	}
	return res, nil
}
