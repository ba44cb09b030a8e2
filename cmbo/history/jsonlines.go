package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo"
)

// A JSONLines describes a file of one JSON object a line, each an observation:
//
//	{"task": "svm on iris", "config": {"lr": 0.01, "kernel": "rbf"}, "value": 0.93, "noise_variance": 0.0004}
//
// The parameters may also stand beside the value. Other keys are passed over, on both levels, but those of a curve
// are bad, and so are, as in a [CSV], those that differ from a preset one in case alone.
type JSONLines struct {
	// Space declares the parameters. Required.
	Space *cmbo.Space
	// Value, Task and Noise name keys as they do columns of a [CSV]. Config names that of
	// the object of parameters, "config" if empty; "-" says that they stand beside the value.
	Value, Task, Noise, Config string
	// Curve names the key of what the evaluation showed before its end, {"steps": [1, 2], "values": [0.5, 0.7],
	// "stopped": true}, the last only if the end was not waited for: then the value is an estimate and has a noise
	// variance. Curves are not read if it is empty, and written, where there are any, as "curve".
	Curve string
	// TaskID is the ID of the task of lines without a key for it, "task" if empty.
	TaskID string
	// Mapping says where the parameters are, which lines count, and how values are read. Strings are taken for numbers and
	// truth values if it has a Prefix, Columns, a Parse or a DecimalComma, as exports of other programs need it.
	Mapping Mapping
	Policy  Policy
	Limits  Limits
}

func (j JSONLines) setting() (form, error) {
	n, err := newForm(j.Space, j.Mapping, j.Value, j.Task, j.Noise, j.TaskID, j.Limits)
	if err != nil {
		return n, err
	}
	n.config, _ = named(j.Config, "config")
	n.curve, n.needCurve = j.Curve, j.Curve != ""
	if !n.needStatus && n.status == n.config {
		n.status = ""
	}
	return n, n.apart()
}

// Read reads tasks. Lines of one task need not be next to each other; empty ones are passed over.
//
// A boolean is true, false, 0 or 1; a choice is a string, or a JSON value of another kind whose text, without white
// space, is the choice's name: 16, null, [1,2]. The task's ID is a string, of which white space around it does not
// count, or a number: 1 and 1.0 are "1". A noise variance of null, like 0, stands for one that is not known.
//
// A line is bad if it is longer than Limits has it, not one JSON object, has a key twice, lacks a key,
// has a value that is not a finite number (Python's NaN and Infinity are told as such) or a point
// outside the space. Whatever the Policy, Read fails with [ErrColumn] if no line has the key of the
// curves, or of an output or a descriptor of the Mapping: null in one says that there is none.
func (j JSONLines) Read(r io.Reader) (*Result, error) {
	return j.stream(r).all()
}

// Tasks reads what [JSONLines.Read] does, a task at a time, as [CSV.Tasks] does. A key that no line
// has is an error after the last task.
func (j JSONLines) Tasks(r io.Reader, report *Report) iter.Seq2[cmbo.Task, error] {
	return j.stream(r).tasks(report)
}

func (j JSONLines) stream(r io.Reader) stream {
	n, err := j.setting()
	d := newLineDecoder(n)
	read := func(take taker) error { return d.lines(r, take) }
	return stream{err: err, space: j.Space, policy: j.Policy, limits: n.limits, rows: "lines", read: read, lack: d.lack}
}

func (d *lineDecoder) lines(r io.Reader, take taker) error {
	return eachLine(r, d.limits, func(n int, line []byte, _ bool, long *RowError) error {
		switch {
		case long != nil:
			return take(row{bad: long}, n)
		case len(bytes.TrimSpace(line)) > 0:
			return take(d.decode(line), n)
		}
		return nil
	})
}

type lineDecoder struct {
	form
	*sightings
	byText         bool              // values are read as the cells of a CSV file
	taken          map[string]bool   // keys that are no parameters where they stand beside the value
	values, object map[string][]byte // of the current line, and of its object of parameters
	nested         bool              // the line has that object
}

func newLineDecoder(n form) *lineDecoder {
	of := n.others()
	if n.needCurve {
		of = append(of, output{"setting", "Curve", n.curve})
	}
	return &lineDecoder{
		form: n, sightings: newSightings(of, "no line has this key", n.limits),
		byText: n.Prefix != "" || n.Columns != nil || n.Parse != nil || n.DecimalComma,
		taken:  map[string]bool{n.value: true, n.task: true, n.noise: true, n.status: true, n.curve: true},
	}
}

func (d *lineDecoder) decode(line []byte) (r row) {
	var e *RowError
	if _, d.values, e = object(line, d.limits); e != nil {
		return r.failed(e)
	}
	delete(d.values, "") // which stands for what there is not
	d.see(maps.Keys(d.values))
	if e = recased(&d.form, d.values); e != nil {
		return r.failed(e)
	}
	config, ok := d.values[d.config]
	if d.nested = ok; ok {
		if _, d.object, e = object(config, d.limits); e != nil && e.Field == "" {
			e.in(d.config, "")
		}
	}
	status, ok := d.values[d.status]
	if e == nil && !ok && d.needStatus {
		e = missing(d.status)
	}
	if ok {
		if r.outcome = d.outcome(d.cell(status)); r.outcome == passedOver {
			return r
		}
	}
	id, bad := d.id(d.values[d.task])
	if bad != nil {
		return r.failed(bad.in(d.task, string(d.values[d.task])))
	}
	if r.id = id; e != nil {
		return r.failed(e)
	}
	if r = d.row(r, d.field); r.bad != nil || r.outcome != hasValue {
		return r
	}
	if _, ok := d.values[d.noise]; d.needNoise && !ok {
		return r.failed(rowErrorf(cmbo.ErrValue, "missing").in(d.noise, ""))
	}
	if !isNull(d.values[d.curve]) {
		err := json.Unmarshal(d.values[d.curve], &r.curve)
		if err == nil {
			err = r.curve.Check()
		}
		if err == nil && r.curve.Stopped && r.noise == 0 {
			err = errors.New("it was stopped, and the value has no noise variance")
		}
		if err != nil {
			return r.failed(rowErrorf(cmbo.ErrCorrupt, "%v", err).in(d.curve, string(d.values[d.curve])))
		}
	}
	return r
}

// field is that of a column in an object. On a line without the object of parameters they stand beside the value, but
// not under the name of something else.
func (d *lineDecoder) field(object, column string) field {
	switch {
	case object != "" && d.nested:
		return d.fieldOf(d.object[column])
	case object != "" && d.taken[column]:
		return d.fieldOf(nil)
	}
	return d.fieldOf(d.values[column])
}

// fieldOf is that of a JSON text, nil for a key that is missing.
func (d *lineDecoder) fieldOf(raw []byte) field {
	f := field{raw: raw, isJSON: !d.byText || raw == nil}
	if !f.isJSON {
		f.text = d.cell(raw)
	}
	return f
}

// cell is the text of a value as a cell of a table would have it in the convention of the mapping.
func (d *lineDecoder) cell(raw []byte) string {
	switch text, ok := jsonNumber(raw); {
	case isNull(raw):
		return ""
	case ok && raw[0] != '"':
		return d.comma(text)
	}
	return jsonName(raw)
}

func (d *lineDecoder) id(raw []byte) (string, *RowError) {
	switch {
	case raw == nil && d.needTask:
		return "", rowErrorf(cmbo.ErrTask, "missing")
	case raw == nil:
		return d.taskID, nil
	case !utf8.Valid(raw): // decoded, tasks of different names might share one
		return "", checkID(string(raw))
	}
	id, ok := jsonString(raw)
	if !ok {
		if id, ok = jsonNumber(raw); !ok {
			return "", rowErrorf(cmbo.ErrTask, "not a string or a number")
		}
		id = numberID(id)
	}
	id = strings.TrimSpace(id)
	return id, checkID(id)
}

// numberID is the ID that a number makes: 1, 1.0 and 1e0 name one task. Numbers that a
// float64 might not tell apart stay as they are written.
func numberID(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	whole := v == math.Trunc(v) && math.Abs(v) < maxInt
	switch {
	case err != nil || len(text) > 15 && !whole:
		return text
	case whole:
		return formatWhole(v + 0)
	}
	return formatFloat(v)
}

// Write writes tasks as [JSONLines.Read] reads them, what [CSV.Write] does in its order, and curves.
// What is missing is left out, or null if Noise, Curve or the Mapping names it; the value of a failure
// is null. It fails as CSV.Write does, and with ErrOption if a curve was stopped and Noise is "-".
func (j JSONLines) Write(w io.Writer, tasks ...cmbo.Task) error {
	n, err := j.setting()
	if err != nil {
		return err
	}
	if n.curve == "" && slices.ContainsFunc(tasks, func(t cmbo.Task) bool { return t.Curves != nil }) {
		n.curve = "curve"
	}
	read := newLineDecoder(n)
	if n, tasks, err = n.toWrite(w, j.Space, tasks, func(text string) field { return read.fieldOf([]byte(quoted(text))) }); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	err = n.eachRow(tasks, func(cells []cell) error {
		object, between := "", "{"
		for _, c := range cells {
			text := c.text
			switch {
			case !c.plain:
				text = quoted(text)
			case text == "" && c.null:
				text = "null"
			case text == "":
				continue
			}
			if object != "" && c.object == "" {
				out.WriteString("}")
			}
			if object == "" && c.object != "" {
				out.WriteString(between + quoted(c.object) + ": ")
				between = "{" // what comes next is the first of the object
			}
			object = c.object
			out.WriteString(between + quoted(c.column) + ": " + text)
			between = ", "
		}
		_, err := out.WriteString("}\n")
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
