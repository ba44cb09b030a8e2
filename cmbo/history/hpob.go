package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// An HPOB describes what to take from a file in HPO-B's format, plain or
// gzip'd:
//
//	{space: {task: {"X": [[...], ...], "y": [[v], ...]}}}
//
// or, where evaluations brought several values,
//
//	{space: {task: {"X": [[...], ...], "Y": [[v, w, ...], ...], "outputs": ["v", "w", ...]}}}
//
// A task's "context", {"name": number or string, ...}, becomes its Context.
//
// The zero value reads the only space of a file of the first kind.
//
// S. Pineda Arango et al., HPO-B: a large-scale reproducible benchmark for
// black-box HPO based on OpenML, NeurIPS Datasets and Benchmarks 2021.
type HPOB struct {
	// Name is the name of the search space to be read; empty stands for the
	// only one of a file.
	Name string
	// Value is the name, among "outputs", of the value to be optimised in a file that has
	// several. The others become the tasks' Outputs, null for those that are missing.
	Value string
	// Policy says what becomes of bad rows.
	Policy Policy
	// Limits bound what is read; Line does not apply.
	Limits Limits
}

// An HPOBResult is what [HPOB.Read] makes of a file. Larger values are better.
type HPOBResult struct {
	Result
	// Name is the name of the search space.
	Name string
	// Kept holds for each task, by row of the file, the index of the
	// observation that the row became, or that of the equal row before it; -1
	// for a bad row.
	Kept [][]int
	// Repeated counts the rows that were left out because the task had an
	// equal one before.
	Repeated int
}

// Read reads one search space. The configurations are encoded already, each
// coordinate in [0, 1]: the Space is cmbo.UnitCube. The tasks are sorted by ID.
// Of equal configurations of a task only the first stays, as HPO-B's users have
// it; -0 counts as 0. Values may stand bare or each in brackets. Other spaces,
// and other keys of a task, are passed over: without Value "Y" and "outputs", with it "y".
//
// A row is bad, and dealt with as the Policy says, if its configuration has
// another number of coordinates than the first of the file, or an entry that is
// not a number in [0, 1], if its value is not one number within ±1e150 (Python's
// NaN and Infinity are none), if it has not a value for each of the outputs, or if X and y are of different lengths and it has
// no counterpart. A [*RowError] names the task, and the row in its Reason; one of
// a task without good rows, which is left out, is about the task. Whatever the
// Policy, Read fails with cmbo's ErrCorrupt if the text is not JSON of this
// shape or has a name twice, with [ErrLimit] beyond a limit, and with ErrNoTasks
// if the file lacks the space or the space a good row.
//
// In memory are the tasks of the space: memory follows what is read of it, not
// the length of the file.
func (h HPOB) Read(r io.Reader) (*HPOBResult, error) {
	s, err := newHPOBScanner(r, h.Limits)
	if err != nil {
		return nil, err
	}
	out, err := newCollector(nil, h.Policy)
	if err != nil {
		return nil, err
	}
	t := &hpobReader{scanner: s, collector: out, objective: h.Value}
	found := false
	var others []string
	err = s.object(func(name string) error {
		switch {
		case h.Name != "" && name != h.Name:
			if len(others) < 9 {
				others = append(others, name)
			}
			return s.skip()
		case found && h.Name == "":
			return rowErrorf(cmbo.ErrCorrupt, "the file has more than one space, %s; name one", quoteAll([]string{t.name, name}))
		case found:
			return rowErrorf(cmbo.ErrCorrupt, "the space %q appears twice", clip(name))
		}
		found, t.name = true, name
		return t.space()
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	if !found {
		known := "there is none"
		if others != nil {
			known = "the file has " + quoteAll(others)
		}
		return nil, rowErrorf(cmbo.ErrNoTasks, "no space %q; %s", clip(h.Name), known)
	}
	return t.finish()
}

// Names lists the search spaces of a file, sorted. It reads the whole file
// and fails as [HPOB.Read] does.
func (h HPOB) Names(r io.Reader) ([]string, error) {
	s, err := newHPOBScanner(r, h.Limits)
	if err != nil {
		return nil, err
	}
	var names []string
	err = s.object(func(name string) error {
		if names = append(names, name); len(names) > s.limits.Columns {
			return beyond("Columns", int64(s.limits.Columns), "the file has more spaces")
		}
		return s.skip()
	})
	if err == nil {
		err = s.end()
	}
	slices.Sort(names)
	return names, err
}

// newHPOBScanner unpacks gzip, told by its first two bytes.
func newHPOBScanner(r io.Reader, l Limits) (*scanner, error) {
	if l.Rows == 0 {
		l.Rows = 1 << 21
	}
	l, err := l.filled()
	if err != nil {
		return nil, err
	}
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	b := bufio.NewReaderSize(bounded(r, 0), 1<<16)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cmbo.ErrCorrupt, err)
		}
		r = &unpacked{z}
	} else {
		r = b
	}
	b = bufio.NewReaderSize(bounded(r, l.Bytes), 1<<16)
	return &scanner{r: b, limits: l}, skipMark(b)
}

// unpacked makes what is wrong with packed data an error of this package.
type unpacked struct{ z *gzip.Reader }

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", cmbo.ErrCorrupt, err)
	}
	return n, err
}

// hpobReader reads the tasks of one space.
type hpobReader struct {
	*scanner
	*collector
	name      string
	objective string // the name of the one to be optimised, "" in a file with one
	dim       int    // 0 until the first good configuration
	count     [2]int // of rows of X and of y
	kept      [][]int
	repeated  int
}

// space reads all tasks.
func (t *hpobReader) space() error {
	seen := make(map[string]bool)
	return t.object(func(id string) error {
		if e := checkID(id); e != nil {
			return e
		}
		if seen[id] {
			return &RowError{Task: clip(id), Reason: "the task appears twice", Err: cmbo.ErrCorrupt}
		}
		seen[id] = true
		return t.task(id)
	})
}

// task reads one task.
func (t *hpobReader) task(id string) error {
	p := hpobTask{hpobReader: t, first: make(map[string]int)}
	ys := "y"
	if t.objective != "" {
		ys = "Y"
	}
	err := t.object(func(key string) error {
		switch {
		case key == "X" && p.fileX == nil:
			p.fileX = []int32{}
			return t.array(func() error { return t.counted(0, p.configuration) })
		case key == "y" && t.objective == "" && p.fileY == nil:
			p.fileY = []float64{}
			return t.array(func() error { return t.counted(1, p.value) })
		case key == "Y" && t.objective != "" && p.fileY == nil:
			p.fileY = []float64{}
			return t.array(func() error { return t.counted(1, p.several) })
		case key == "outputs" && t.objective != "" && p.names == nil:
			p.names = []string{}
			return t.array(p.outputName)
		case key == "context" && p.context == nil:
			p.context = make(cmbo.Context)
			return t.object(p.descriptor)
		case key == "X" || key == ys || key == "context" || key == "outputs" && t.objective != "":
			return rowErrorf(cmbo.ErrCorrupt, "the key appears twice").in(key, "")
		}
		return t.skip()
	})
	if err != nil {
		if e, ok := err.(*RowError); ok && e.Task == "" {
			e.Task = clip(id)
		}
		return err
	}
	return p.collect(id)
}

// counted reads an entry of X or of y, unless there are too many.
func (t *hpobReader) counted(list int, read func() error) error {
	if t.count[list]++; t.count[list] > t.scanner.limits.Rows {
		return beyond("Rows", int64(t.scanner.limits.Rows), "byte %d: the space has more configurations or values", t.offset)
	}
	return read()
}

// hpobTask gathers one task. Rows of the file point to distinct configurations,
// of which only one copy is in memory.
type hpobTask struct {
	*hpobReader
	fileX []int32 // by row of the file: its index in x, or minus the number of its reason in badX,
	// of which the last serves all further ones
	fileY   []float64 // NaN for a bad one
	x       [][]float64
	badX    []string
	badY    map[int]string
	rows    [][]float64 // of the file, where there are several values: NaN for one that is missing
	names   []string    // of these
	context cmbo.Context
	first   map[string]int // index in x by configuration, or by its digest where that is shorter
	bits    []byte         // of row
	row     []float64
}

// numbers reads a list of numbers into row. It says what is not one.
func (p *hpobTask) numbers() (bad string, err error) {
	p.row = p.row[:0]
	c, err := p.peek()
	if err != nil {
		return "", err
	}
	if c != '[' {
		v, ok, err := p.number()
		if err != nil || !ok {
			return "null, or another value that is not a number", err
		}
		p.row = append(p.row, v)
		return "", nil
	}
	err = p.array(func() error {
		v, ok, err := p.number()
		if err != nil {
			return err
		}
		if !ok && bad == "" {
			bad = fmt.Sprintf("entry %d is null, or another value that is not a number", len(p.row))
		}
		if p.row = append(p.row, v); len(p.row) > p.limits.Columns {
			return beyond("Columns", int64(p.limits.Columns), "row %d: more numbers in a list", len(p.fileX))
		}
		return nil
	})
	return bad, err
}

// number reads a value that should be a number.
func (p *hpobTask) number() (v float64, ok bool, err error) {
	c, err := p.peek()
	if err != nil {
		return 0, false, err
	}
	if c == '"' || c == '[' || c == '{' {
		return 0, false, p.skip()
	}
	return p.literal()
}

// configuration reads an entry of X.
func (p *hpobTask) configuration() error {
	c, err := p.peek()
	if err != nil {
		return err
	}
	bad, err := p.numbers()
	if err != nil {
		return err
	}
	switch {
	case bad != "":
	case c != '[':
		bad = "not a list"
	case len(p.row) == 0:
		bad = "no coordinates"
	case p.dim != 0 && len(p.row) != p.dim:
		bad = fmt.Sprintf("%d coordinates, want %d", len(p.row), p.dim)
	}
	outside := -1
	if bad == "" {
		outside = slices.IndexFunc(p.row, func(v float64) bool { return !(v >= 0 && v <= 1) })
	}
	if bad != "" || outside >= 0 {
		if len(p.badX) < MaxErrors {
			if outside >= 0 {
				bad = fmt.Sprintf("coordinate %d is %g, outside [0, 1]", outside, p.row[outside])
			}
			p.badX = append(p.badX, "X: "+bad)
		}
		p.fileX = append(p.fileX, -int32(len(p.badX)))
		return nil
	}
	p.dim = len(p.row)
	p.fileX = append(p.fileX, int32(p.intern()))
	return nil
}

// intern returns the index in x of the configuration in row.
func (p *hpobTask) intern() int {
	p.bits = p.bits[:0]
	for j, v := range p.row {
		p.row[j] = v + 0 // -0 becomes 0
		p.bits = binary.LittleEndian.AppendUint64(p.bits, math.Float64bits(p.row[j]))
	}
	key := p.bits
	if len(key) > sha256.Size {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	i, ok := p.first[string(key)]
	if !ok {
		i = len(p.x)
		p.first[string(key)], p.x = i, append(p.x, slices.Clone(p.row))
	}
	return i
}

// value reads an entry of y.
func (p *hpobTask) value() error {
	bad, err := p.numbers()
	if err != nil {
		return err
	}
	v := math.NaN()
	switch {
	case bad != "":
	case len(p.row) != 1:
		bad = fmt.Sprintf("%d values in one entry of y", len(p.row))
	default:
		v = p.row[0]
	}
	if bad != "" {
		if p.badY == nil {
			p.badY = make(map[int]string)
		}
		if len(p.badY) < MaxErrors {
			p.badY[len(p.fileY)] = "y: " + bad
		}
	}
	p.fileY = append(p.fileY, v)
	return nil
}

// several reads an entry of Y.
func (p *hpobTask) several() error {
	c, err := p.peek()
	if err != nil {
		return err
	}
	if c != '[' {
		p.rows = append(p.rows, nil)
		return p.skip()
	}
	var row []float64
	err = p.array(func() error {
		v, ok, err := p.number()
		if !ok {
			v = math.NaN()
		}
		if row = append(row, v); len(row) > p.limits.Columns {
			return beyond("Columns", int64(p.limits.Columns), "row %d: more numbers in a list", len(p.rows))
		}
		return err
	})
	p.rows = append(p.rows, row)
	return err
}

// descriptor reads an entry of context: a number, a string, false, true, or null.
func (p *hpobTask) descriptor(name string) error {
	if _, twice := p.context[name]; twice || name == "" || len(p.context) >= p.limits.Columns {
		return rowErrorf(cmbo.ErrCorrupt, "descriptor %q has no name, appears twice, or is one of too many", clip(name))
	}
	c, err := p.peek()
	if err != nil {
		return err
	}
	switch c {
	case '"':
		p.context[name], err = p.text()
	case '[', '{':
		return rowErrorf(cmbo.ErrCorrupt, "descriptor %q is neither a number nor a string", clip(name))
	default:
		v, ok, e := p.literal()
		switch err = e; {
		case ok:
			p.context[name] = v
		case c == 't' || c == 'f':
			p.context[name] = c == 't'
		}
	}
	return err
}

// outputName reads an entry of outputs.
func (p *hpobTask) outputName() error {
	name, err := p.text()
	if err != nil {
		return err
	}
	if space.CheckOutputName(name) != nil || slices.Contains(p.names, name) {
		return rowErrorf(cmbo.ErrCorrupt, "output %d is %q, which is no name, or appears twice", len(p.names), clip(name))
	}
	if p.names = append(p.names, name); len(p.names) > p.limits.Columns {
		return beyond("Columns", int64(p.limits.Columns), "more outputs")
	}
	return nil
}

// choose makes the values of those that are to be optimised, among several.
func (p *hpobTask) choose(id string) error {
	at := slices.Index(p.names, p.objective)
	if at < 0 {
		return &RowError{Task: clip(id), Reason: fmt.Sprintf("no output %q; it has %s", clip(p.objective), quoteAll(p.names)), Err: cmbo.ErrCorrupt}
	}
	p.badY = make(map[int]string)
	for i, row := range p.rows {
		v := math.NaN()
		switch {
		case len(row) != len(p.names):
			p.badY[i] = fmt.Sprintf("Y: %d values for %d outputs", len(row), len(p.names))
		case math.IsNaN(row[at]):
			p.badY[i] = fmt.Sprintf("Y: %q is null, or another value that is not a number", p.objective)
		default:
			v = row[at]
		}
		p.fileY = append(p.fileY, v)
	}
	return nil
}

// outputs returns the further values of row i; bad says what is wrong with one.
func (p *hpobTask) outputs(i int) (out map[string]float64, bad *RowError) {
	if p.objective == "" {
		return nil, nil
	}
	for k, v := range p.rows[i] {
		if name := p.names[k]; name != p.objective && !math.IsNaN(v) {
			if e := checkValue(v); e != nil {
				e.Reason = fmt.Sprintf("row %d: output %q is %g: %s", i, name, v, e.Reason)
				return nil, e
			}
			if out == nil {
				out = make(map[string]float64)
			}
			out[name] = v
		}
	}
	return out, nil
}

// collect joins configurations and values.
func (p *hpobTask) collect(id string) error {
	if p.objective != "" {
		if err := p.choose(id); err != nil {
			return err
		}
	}
	at := make([]int, len(p.x)) // 1 + index of the observation of a configuration
	kept := make([]int, 0, len(p.fileX))
	n := 0
	for i := range max(len(p.fileX), len(p.fileY)) {
		var e *RowError
		var outputs map[string]float64
		switch {
		case i >= len(p.fileX) || i >= len(p.fileY):
			e = rowErrorf(cmbo.ErrCorrupt, "row %d: %d configurations but %d values", i, len(p.fileX), len(p.fileY))
		case p.fileX[i] < 0:
			e = rowErrorf(cmbo.ErrCorrupt, "row %d: %s", i, p.badX[-p.fileX[i]-1])
		case p.badY[i] != "":
			e = rowErrorf(cmbo.ErrCorrupt, "row %d: %s", i, p.badY[i])
		case at[p.fileX[i]] == 0:
			if e = checkValue(p.fileY[i]); e != nil {
				e.Reason = fmt.Sprintf("row %d: y is %g: %s", i, p.fileY[i], e.Reason)
			} else {
				outputs, e = p.outputs(i)
			}
		}
		k := -1
		switch {
		case e != nil:
			e.Task = clip(id)
			if err := p.bad(e); err != nil {
				return err
			}
		case at[p.fileX[i]] > 0:
			k = at[p.fileX[i]] - 1
			p.repeated++
		default:
			p.add(id, p.x[p.fileX[i]], p.fileY[i], 0, outputs)
			k = n
			n++
			at[p.fileX[i]] = n
		}
		kept = append(kept, k)
	}
	if n > 0 {
		context, err := p.context.Normal()
		if err != nil {
			return &RowError{Task: clip(id), Reason: err.Error(), Err: cmbo.ErrCorrupt}
		}
		p.result.Tasks[p.index[id]].Context = context
		p.kept = append(p.kept, kept)
		return nil
	}
	if len(kept) > 0 {
		return nil // all bad, as the report says
	}
	return p.bad(&RowError{Task: clip(id), Reason: "no coordinates: the task has no configurations", Err: cmbo.ErrCorrupt})
}

// finish sorts the tasks.
func (t *hpobReader) finish() (*HPOBResult, error) {
	done, err := t.collector.finish("configurations")
	if err != nil {
		return nil, err
	}
	if done.Space, err = cmbo.UnitCube(t.dim); err != nil {
		return nil, err
	}
	params := done.Space.Params()
	order := make([]int, len(done.Tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(done.Tasks[i].ID, done.Tasks[j].ID) })
	res := &HPOBResult{Result: *done, Name: t.name, Repeated: t.repeated}
	res.Tasks = nil
	for _, i := range order {
		done.Tasks[i].Params = params
		res.Tasks, res.Kept = append(res.Tasks, done.Tasks[i]), append(res.Kept, t.kept[i])
	}
	return res, nil
}
