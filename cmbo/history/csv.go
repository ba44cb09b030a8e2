package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/each"
)

// A CSV describes a file of comma-separated values with a header: a column for each parameter, one
// for the measured value, and maybe others for the task's ID, the variance of the measurement's error
// and what Mapping names. They are found by name, in any order; others are passed over, unless one differs in case
// alone from a preset name that the header lacks, "Task" from "task": that is ErrCorrupt, whatever the Policy.
type CSV struct {
	// Space declares the parameters. Required.
	Space *cmbo.Space
	// Value, Task and Noise name the columns of the measured value, of the task's ID and of the noise variance: "value",
	// "task" and "noise_variance" if empty. The latter two must be there if they are named here; "-" says that there is none.
	Value, Task, Noise string
	// TaskID is the ID of the one task of a file without a column for it, "task" if empty.
	TaskID string
	// Comma separates the fields, ',' if 0.
	Comma rune
	// Mapping says where the parameters are, which rows count, and how cells are read.
	Mapping Mapping
	Policy  Policy
	Limits  Limits
}

func (c CSV) setting() (form, rune, error) {
	n, err := newForm(c.Space, c.Mapping, c.Value, c.Task, c.Noise, c.TaskID, c.Limits)
	if err != nil {
		return n, 0, err
	}
	comma := cmp.Or(c.Comma, ',')
	if comma == '"' || comma == '\r' || comma == '\n' || comma == utf8.RuneError || !utf8.ValidRune(comma) {
		return n, 0, fmt.Errorf("%w: %q cannot separate fields", cmbo.ErrOption, comma)
	}
	return n, comma, n.apart()
}

// Read reads tasks. Rows of one task need not be next to each other.
//
// Fields may be quoted as RFC 4180 has it, lines end with LF or CR LF, empty lines and a byte order mark of UTF-8 are passed
// over. White space around names in the header, task IDs, numbers, booleans and choices is ignored, but where it is part of
// a choice. Numbers are decimal: 12, -0.5, .5, 1e-05. An empty noise variance, like 0, stands for one that is not known.
//
// A row is bad if it has another number of fields than the header, a value, a parameter or a noise
// variance that is missing, not a number or not finite, a point outside the space, or an empty task
// ID. Whatever the Policy, Read fails with cmbo's ErrCorrupt if the header lacks a column or has one
// twice, if a row is longer than Limits has it, or if a quoted field that spans lines is not closed.
func (c CSV) Read(r io.Reader) (*Result, error) {
	return c.stream(r).all()
}

// Tasks reads what [CSV.Read] does, a task at a time, for files whose tasks do not fit in the memory. The report,
// nil if it is not wanted, counts as the reading goes on. An error ends the sequence; a task without a good row is
// left out. The sequence reads r as it goes, and so can be ranged over once.
//
// The rows of a task must follow each other: in memory are those of one task, and at most 64 bytes for each task
// before, so that one that comes apart is an error, of cmbo's ErrTask, and not two (TestTasksMemory). Limits.Rows
// bounds the rows of a task.
func (c CSV) Tasks(r io.Reader, report *Report) iter.Seq2[cmbo.Task, error] {
	return c.stream(r).tasks(report)
}

func (c CSV) stream(r io.Reader) stream {
	n, comma, err := c.setting()
	read := func(take taker) error { return c.rows(r, n, comma, take) }
	return stream{err: err, space: c.Space, policy: c.Policy, limits: n.limits, rows: "rows", read: read}
}

func (c CSV) rows(r io.Reader, n form, comma rune, take taker) error {
	from := bounded(r, n.limits.Bytes)
	begin := bufio.NewReaderSize(from, 16)
	if err := skipMark(begin); err != nil {
		return err
	}
	head, _ := begin.Peek(begin.Buffered())
	limit := &rowLimit{r: io.MultiReader(bytes.NewReader(head), from), limits: n.limits, comma: comma, begins: true, left: n.limits.Line}
	br := bufio.NewReader(limit)
	reader := csv.NewReader(br) // reads through br, which is large enough for it
	reader.Comma, reader.FieldsPerRecord, reader.ReuseRecord = comma, -1, true
	header, err := reader.Read()
	if err == io.EOF {
		return &RowError{Reason: "the file is empty; it needs a header", Err: cmbo.ErrNoTasks}
	}
	if err != nil {
		return csvError(err, 0)
	}
	h, e := newHeader(header, &n)
	if e != nil {
		line, _ := reader.FieldPos(0)
		return e.at(line)
	}
	last := 1
	for {
		limit.left = n.limits.Line - br.Buffered()
		fields, err := reader.Read()
		if err == io.EOF {
			return nil
		}
		var pe *csv.ParseError
		if err != nil && !(errors.As(err, &pe) && pe.StartLine == pe.Line) {
			return csvError(err, last)
		}
		var r row
		if err != nil {
			last = pe.Line
			r.bad = rowErrorf(cmbo.ErrCorrupt, "character %d: %v", pe.Column, pe.Err)
		} else {
			last, _ = reader.FieldPos(0)
			r = h.read(fields)
		}
		if err := take(r, last); err != nil {
			return err
		}
	}
}

// csvError gives an error that ends the reading its place; the row before begins on line last, 0 of the header.
func csvError(err error, last int) error {
	var limit *RowError
	var pe *csv.ParseError
	switch {
	case errors.As(err, &limit):
		e := *limit
		e.Reason = fmt.Sprintf("after line %d: %s", last, e.Reason)
		return &e
	case errors.As(err, &pe):
		e := rowErrorf(cmbo.ErrCorrupt, "until line %d, character %d: %v", pe.Line, pe.Column, pe.Err)
		e.Reason += commaHint(last == 0)
		return e.at(pe.StartLine)
	}
	return err
}

// Write writes tasks as [CSV.Read] reads them: the task's ID, the parameters, the value, the noise variance if any
// is known or Noise is set, and the status if a task has failures or Status is set: the first of Done and of
// Failed, "done" and "failed" by default. Failures come after the observations of their task. Outputs come last,
// those of the Mapping or all, and after them descriptors; curves are left out: [JSONLines] holds them.
//
// The tasks are validated before the first byte is written: it fails as cmbo.Learn does for invalid
// ones, with ErrTask if Task is "-" and there is more than one, and with the error of w.
func (c CSV) Write(w io.Writer, tasks ...cmbo.Task) error {
	n, comma, err := c.setting()
	if err != nil {
		return err
	}
	if n, tasks, err = n.toWrite(w, c.Space, tasks, func(text string) field { return field{text: text} }); err != nil {
		return err
	}
	noisy := func(t cmbo.Task) bool {
		return slices.ContainsFunc(t.NoiseVariance, func(v float64) bool { return v > 0 })
	}
	if !n.needNoise && !slices.ContainsFunc(tasks, noisy) {
		n.noise = ""
	}
	out := csv.NewWriter(w)
	out.Comma = comma
	var header, fields []string
	err = n.eachRow(tasks, func(cells []cell) error {
		if header == nil {
			header = each.Of(cells, func(c cell) string { return c.column })
			if err := out.Write(header); err != nil {
				return err
			}
		}
		fields = fields[:0]
		for _, c := range cells {
			if c.plain {
				c.text = n.comma(c.text)
			}
			fields = append(fields, c.text)
		}
		return out.Write(fields)
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}
