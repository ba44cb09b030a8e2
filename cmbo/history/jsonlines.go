package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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
// The parameters may also stand beside the value instead of in an object of
// their own. Other keys are passed over, on both levels. The zero value of
// everything but Space is usable.
type JSONLines struct {
	// Space declares the parameters. Required.
	Space *cmbo.Space
	// Value, Task, Noise and Config name the keys of the measured value, of
	// the task's ID, of the noise variance and of the object of parameters:
	// "value", "task", "noise_variance" and "config" if empty. A key of the
	// task or of the noise that is named here must be there; under its default
	// name it may be missing. "-" says that there is none; for Config, that
	// the parameters stand beside the value.
	Value, Task, Noise, Config string
	// Curve names the key of what the evaluation showed before its end, {"steps": [1, 2],
	// "values": [0.5, 0.7], "stopped": true}, the last only if the end was not waited for: then
	// the value is an estimate and has a noise variance. Curves are not read if it is empty, and
	// written, where there are any, as "curve".
	Curve string
	// TaskID is the ID of the task of lines without a key for it, "task" if
	// empty.
	TaskID string
	// Mapping says where the parameters are, which lines count, and how values
	// are read. Strings are taken for numbers and truth values if it has a Prefix,
	// Columns, a Parse or a DecimalComma, as exports of other programs need it.
	Mapping Mapping
	// Policy says what becomes of bad lines.
	Policy Policy
	// Limits bound what is read.
	Limits Limits
}

// setting validates the description; config is empty if parameters stand
// beside the value.
func (j JSONLines) setting() (n names, config string, err error) {
	if j.Space == nil {
		return names{}, "", fmt.Errorf("%w: a nil Space", cmbo.ErrSpace)
	}
	n, err = newNames(j.Space, j.Mapping, j.Value, j.Task, j.Noise, j.TaskID, j.Limits)
	if err != nil {
		return n, "", err
	}
	n.curve = j.Curve
	if err := n.curveApart(); err != nil {
		return n, "", err
	}
	config = j.Config
	switch config {
	case "":
		config = "config"
	case "-":
		return n, "", n.apart()
	}
	if slices.ContainsFunc(n.others(), func(o output) bool { return o.column == config }) {
		return n, "", fmt.Errorf("%w: Config is named %q, as is an output or a descriptor", cmbo.ErrOption, config)
	}
	if config == n.curve || config == n.value || config == n.task || config == n.noise {
		return n, "", fmt.Errorf("%w: Config is named %q, as is another key", cmbo.ErrOption, config)
	}
	if why := unwritable(config); why != "" {
		return n, "", fmt.Errorf("%w: the name %q %s", cmbo.ErrOption, config, why)
	}
	return n, config, nil
}

// Read reads tasks. Lines of one task need not be next to each other.
//
// A number, an integer or not, is a JSON number, a boolean true, false, 0 or 1;
// a choice is a string, or a JSON value of another kind whose text, without
// white space, is the choice's name: 16, null, [1,2]. The task's ID is a
// string, of which white space around it does not count, or a number: 1 and 1.0 are
// "1". Empty lines and a byte order mark are passed over; lines
// end with LF or CR LF. A noise variance of null, like 0, stands for one that
// is not known. A line whose status, if it has one, is that of a failed
// evaluation becomes a failure of its task, as [Mapping] has it.
//
// A bad line is dealt with as the Policy says: it is longer than Limits has it, not
// one JSON object, has a key twice, lacks a key, has a value that is not a
// finite number (Python's NaN and Infinity are told as such) or a point
// outside the space. Without a single good line Read fails with cmbo's
// ErrNoTasks.
//
// Read holds the tasks and one line at a time in memory.
func (j JSONLines) Read(r io.Reader) (*Result, error) {
	n, config, err := j.setting()
	if err != nil {
		return nil, err
	}
	return readAll(j.Space, j.Policy, "lines", func(take taker) error { return j.lines(r, n, config, take) })
}

// Tasks reads what [JSONLines.Read] does, a task at a time, as [CSV.Tasks] does.
func (j JSONLines) Tasks(r io.Reader, report *Report) iter.Seq2[cmbo.Task, error] {
	n, config, err := j.setting()
	if err != nil {
		return failing(err)
	}
	s := stream{space: j.Space, policy: j.Policy, limits: n.limits, report: report, rows: "lines"}
	return s.tasks(func(take taker) error { return j.lines(r, n, config, take) })
}

// lines calls take for each line.
func (j JSONLines) lines(r io.Reader, n names, config string, take taker) error {
	lines, err := newLineReader(r, n.limits)
	if err != nil {
		return err
	}
	d := newLineDecoder(j.Space, n, config)
	for {
		line, _, long, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !long && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r := row{bad: lines.tooLong()}
		if !long {
			r = d.decode(line)
		}
		if err := take(r, lines.n); err != nil {
			return err
		}
	}
}

// lineDecoder decodes lines of one description.
type lineDecoder struct {
	names
	config  string
	space   *cmbo.Space
	columns []column
	index   map[string]int
	byText  bool     // values are read as the cells of a CSV file
	raw     [][]byte // of the parameters of the current line
	more    [][]byte // of the outputs of the current line
	about   [][]byte // of the descriptors
	curve   []byte
}

func newLineDecoder(s *cmbo.Space, n names, config string) *lineDecoder {
	d := &lineDecoder{names: n, config: config, space: s, columns: columns(s), index: make(map[string]int)}
	for i, c := range n.columns {
		d.index[c] = i
	}
	d.byText = n.Prefix != "" || n.Columns != nil || n.Parse != nil || n.DecimalComma
	d.raw, d.more = make([][]byte, len(d.columns)), make([][]byte, len(d.outputs))
	d.about = make([][]byte, len(d.context))
	return d
}

// decode reads a line.
func (d *lineDecoder) decode(line []byte) (r row) {
	clear(d.raw)
	clear(d.more)
	clear(d.about)
	d.curve = nil
	var task, value, noise, status, config []byte
	var others map[string][]byte // for Keep
	if d.Keep != nil {
		others = make(map[string][]byte)
	}
	param := func(name string, raw []byte) *RowError {
		if i, ok := d.index[name]; ok {
			d.raw[i] = raw
		}
		if others != nil {
			others[name] = raw
		}
		return nil
	}
	e := object(line, d.limits.Columns, func(name string, raw []byte) *RowError {
		switch {
		case name == d.value:
			value = raw
		case name == d.config && d.config != "":
			config = raw
			return nil
		case name == d.task && d.task != "":
			task = raw
		case name == d.noise && d.noise != "":
			noise = raw
		case name == d.status && d.status != "":
			status = raw
		case name == d.names.curve && name != "":
			d.curve = raw
			return nil
		default:
			for i, o := range d.outputs {
				if o.column == name {
					d.more[i] = raw
				}
			}
			for i, o := range d.context {
				if o.column == name {
					d.about[i] = raw
				}
			}
			return param(name, raw)
		}
		if others != nil {
			others[name] = raw
		}
		return nil
	})
	if e != nil {
		return r.failed(e)
	}
	if config != nil {
		clear(d.raw)
		if e = object(config, d.limits.Columns, param); e != nil && e.Field == "" {
			e.in(d.config, "")
		}
	}
	if e == nil && d.Keep != nil && !d.Keep(func(name string) string { return cellText(others[name]) }) {
		return row{outcome: passedOver}
	}
	if e == nil && status == nil && d.needStatus {
		e = rowErrorf(cmbo.ErrCorrupt, "missing").in(d.status, "")
	}
	if status != nil {
		if r.outcome = d.outcome(cellText(status)); r.outcome == passedOver {
			return r
		}
	}
	id, bad := d.id(task)
	if bad != nil {
		return r.failed(bad.in(d.task, string(task)))
	}
	if r.id = id; e != nil {
		return r.failed(e)
	}
	r.x = make([]float64, len(d.columns))
	for i, c := range d.columns {
		if r.x[i], e = d.parameter(i, c); e != nil {
			return r.failed(e.in(d.names.columns[i], string(d.raw[i])))
		}
	}
	if err := d.space.Check(r.x); err != nil {
		return r.failed(outside(err, d.space.Params(), func(i int) string { return string(d.raw[i]) }))
	}
	for i, o := range d.context {
		v, e := d.described(d.about[i])
		if e != nil {
			return r.failed(e.in(o.column, string(d.about[i])))
		}
		r.describe(o.name, v)
	}
	if r.outcome == hasFailed {
		return r
	}
	if r.y, e = d.number(d.value, value, checkValue); e != nil {
		return r.failed(e.in(d.value, string(value)))
	}
	if noise == nil && d.needNoise {
		return r.failed(rowErrorf(cmbo.ErrNotFinite, "missing").in(d.noise, ""))
	}
	if !isNull(noise) {
		if r.noise, e = d.number(d.noise, noise, checkNoise); e != nil {
			return r.failed(e.in(d.noise, string(noise)))
		}
	}
	if !isNull(d.curve) {
		r.curve = new(cmbo.Curve)
		err := json.Unmarshal(d.curve, r.curve)
		if err == nil {
			err = r.curve.Check()
		}
		if err == nil && r.curve.Stopped && r.noise == 0 {
			err = errors.New("it was stopped, and the value has no noise variance")
		}
		if err != nil {
			return r.failed(rowErrorf(cmbo.ErrCorrupt, "%v", err).in(d.names.curve, string(d.curve)))
		}
	}
	for i, o := range d.outputs {
		if isNull(d.more[i]) {
			continue
		}
		v, e := d.number(o.column, d.more[i], checkValue)
		if e != nil {
			return r.failed(e.in(o.column, string(d.more[i])))
		}
		r.output(o.name, v)
	}
	return r
}

// cellText is the text of a value as a cell would have it.
func cellText(raw []byte) string {
	if isNull(raw) {
		return ""
	}
	return jsonName(raw)
}

// cell is the text of a value in the convention of the mapping.
func (d *lineDecoder) cell(raw []byte) string {
	if text, ok := jsonNumber(raw); ok && raw[0] != '"' {
		return d.mapping.number(text)
	}
	return cellText(raw)
}

// described decodes a descriptor: a number, or a string or truth value, which is a choice.
func (d *lineDecoder) described(raw []byte) (any, *RowError) {
	text, isNumber := jsonNumber(raw)
	switch {
	case isNull(raw) || text == "NaN":
		return nil, nil
	case d.byText:
		return d.mapping.descriptor(d.cell(raw))
	case isNumber:
		return number(text, cmbo.ErrNotFinite)
	case raw[0] == '[' || raw[0] == '{':
		return nil, rowErrorf(cmbo.ErrTask, "neither a number nor a string")
	}
	return jsonName(raw), nil
}

// parameter decodes parameter i.
func (d *lineDecoder) parameter(i int, c column) (float64, *RowError) {
	raw := d.raw[i]
	switch {
	case d.byText && raw != nil:
		return d.param(i, c, d.cell(raw))
	case d.filled[i] && isNull(raw) && (raw == nil || !slices.Contains(c.choices, "null")):
		return d.fill[i], nil
	case raw == nil:
		return 0, rowErrorf(cmbo.ErrOutOfSpace, "missing")
	}
	return c.fromJSON(raw)
}

// id decodes the task's ID.
func (d *lineDecoder) id(raw []byte) (string, *RowError) {
	if raw == nil {
		if d.needTask {
			return "", rowErrorf(cmbo.ErrTask, "missing")
		}
		return d.taskID, nil
	}
	if !utf8.Valid(raw) { // decoded, tasks of different names might share one
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
		return strconv.FormatFloat(v+0, 'f', -1, 64)
	}
	return formatFloat(v)
}

// number decodes a measured value or a variance.
func (d *lineDecoder) number(key string, raw []byte, check func(float64) *RowError) (float64, *RowError) {
	switch {
	case raw == nil:
		return 0, rowErrorf(cmbo.ErrNotFinite, "missing")
	case d.byText:
		return d.mapping.value(key, d.cell(raw), check)
	}
	v, e := jsonFloat(raw, cmbo.ErrNotFinite)
	if e != nil {
		return 0, e
	}
	return v, check(v)
}

// Write writes tasks as [JSONLines.Read] reads them, one observation a line
// with the keys in the order of the example at [JSONLines]; the parameters
// stand beside the value if Config is "-". Numbers are written so that they
// read back bit for bit; a noise variance of 0, not known, is left out, or
// null if Noise is set. Failures follow the observations of their task, with a
// value of null and a status. Outputs and descriptors come last, those of the Mapping or all.
//
// The tasks are validated before the first byte is written: it fails as
// cmbo.Learn does for invalid ones, with ErrTask if two have the same ID or if
// Task is "-" and there is more than one, and with the error of w.
func (j JSONLines) Write(w io.Writer, tasks ...cmbo.Task) error {
	n, config, err := j.setting()
	if err != nil {
		return err
	}
	if tasks, err = checkTasks(w, j.Space, tasks); err != nil {
		return err
	}
	if err := checkNames(j.Space); err != nil {
		return err
	}
	if n.task == "" && len(tasks) > 1 {
		return fmt.Errorf("%w: %d tasks for a file without a key of their IDs", cmbo.ErrTask, len(tasks))
	}
	cols := columns(j.Space)
	open, mid := "{", ", " // before and after the parameters
	if config != "" {
		open, mid = "{"+quoted(config)+": {", "}, "
	}
	var keys []string
	for _, c := range n.columns {
		keys = append(keys, quoted(c)+": ")
	}
	withStatus, err := n.withStatus(tasks)
	if err == nil {
		n, err = n.allOutputs(tasks)
	}
	if err == nil && n.curve == "" && slices.ContainsFunc(tasks, func(t cmbo.Task) bool { return t.Curves != nil }) {
		n.curve = "curve"
		err = n.curveApart()
	}
	if err == nil && config == "" {
		err = n.apart()
	}
	if err == nil && slices.ContainsFunc(n.others(), func(o output) bool { return o.column == config }) {
		err = fmt.Errorf("%w: Config is named %q, as is an output or a descriptor", cmbo.ErrOption, config)
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for i := range tasks {
		t := &tasks[i]
		begin := open
		if n.task != "" {
			begin = "{" + quoted(n.task) + ": " + quoted(t.ID) + ", " + open[1:]
		}
		for k, x := range slices.Concat(t.X, t.Failed) {
			out.WriteString(begin)
			for i, v := range x {
				if i > 0 {
					out.WriteString(", ")
				}
				out.WriteString(keys[i])
				if cols[i].param.Kind() == cmbo.KindCategorical {
					out.WriteString(quoted(cols[i].text(v)))
				} else {
					out.WriteString(cols[i].text(v))
				}
			}
			switch {
			case k < len(t.X):
				out.WriteString(mid + quoted(n.value) + ": " + formatFloat(t.Y[k]))
			default:
				out.WriteString(mid + quoted(n.value) + ": null")
			}
			if v := noise(t, k); v > 0 && n.noise != "" {
				out.WriteString(", " + quoted(n.noise) + ": " + formatFloat(v))
			} else if n.needNoise {
				out.WriteString(", " + quoted(n.noise) + ": null")
			}
			if withStatus {
				text := n.doneText()
				if k >= len(t.X) {
					text = n.failedText()
				}
				out.WriteString(", " + quoted(n.status) + ": " + quoted(text))
			}
			for _, o := range n.outputs {
				if v, ok := outputOf(t, o.name, k); ok {
					out.WriteString(", " + quoted(o.column) + ": " + formatFloat(v))
				}
			}
			if k < len(t.Curves) && len(t.Curves[k].Steps) > 0 {
				c, err := json.Marshal(t.Curves[k])
				if err != nil {
					return err
				}
				out.WriteString(", " + quoted(n.curve) + ": " + string(c))
			}
			for _, o := range n.context {
				switch v := t.Context[o.name].(type) {
				case string:
					out.WriteString(", " + quoted(o.column) + ": " + quoted(v))
				case float64:
					out.WriteString(", " + quoted(o.column) + ": " + formatFloat(v))
				}
			}
			out.WriteString("}\n")
		}
	}
	return out.Flush()
}
