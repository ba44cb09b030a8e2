package history

import (
	"bufio"
	"fmt"
	"io"
	"strings"

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
	// TaskID is the ID of the task of lines without a key for it, "task" if
	// empty.
	TaskID string
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
	n, err = newNames(j.Value, j.Task, j.Noise, j.TaskID, j.Limits)
	if err != nil {
		return n, "", err
	}
	config = j.Config
	switch config {
	case "":
		config = "config"
	case "-":
		return n, "", n.apart(j.Space)
	}
	if config == n.value || config == n.task || config == n.noise {
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
// string or a number. Empty lines and a byte order mark are passed over; lines
// end with LF or CR LF. A noise variance of null, like 0, stands for one that
// is not known.
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
	out, err := newCollector(j.Space, j.Policy)
	if err != nil {
		return nil, err
	}
	lines, err := newLineReader(r, n.limits)
	if err != nil {
		return nil, err
	}
	d := newLineDecoder(j.Space, n, config)
	for {
		line, _, long, err := lines.next()
		if err == io.EOF {
			return out.finish("lines")
		}
		if err != nil {
			return nil, err
		}
		if !long && len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		id, x, y, v, bad := "", []float64(nil), 0.0, 0.0, (*RowError)(nil)
		if long {
			bad = lines.tooLong()
		} else {
			id, x, y, v, bad = d.decode(line)
		}
		if bad != nil {
			bad.Task = id
			if err := out.bad(bad.at(lines.n)); err != nil {
				return nil, err
			}
			continue
		}
		out.add(id, x, y, v)
	}
}

// lineDecoder decodes lines of one description.
type lineDecoder struct {
	names
	config  string
	space   *cmbo.Space
	columns []column
	index   map[string]int
	raw     [][]byte // of the parameters of the current line
}

func newLineDecoder(s *cmbo.Space, n names, config string) *lineDecoder {
	d := &lineDecoder{names: n, config: config, space: s, columns: columns(s), index: make(map[string]int)}
	for i, c := range d.columns {
		d.index[c.param.Name()] = i
	}
	d.raw = make([][]byte, len(d.columns))
	return d
}

// decode reads a line. The ID is valid in an error, too, if there is one.
func (d *lineDecoder) decode(line []byte) (id string, x []float64, y, v float64, bad *RowError) {
	clear(d.raw)
	var task, value, noise, config []byte
	param := func(name string, raw []byte) *RowError {
		if i, ok := d.index[name]; ok {
			d.raw[i] = raw
		}
		return nil
	}
	bad = object(line, d.limits.Columns, func(name string, raw []byte) *RowError {
		switch {
		case name == d.value:
			value = raw
		case name == d.config && d.config != "":
			config = raw
		case name == d.task && d.task != "":
			task = raw
		case name == d.noise && d.noise != "":
			noise = raw
		default:
			return param(name, raw)
		}
		return nil
	})
	if bad != nil {
		return "", nil, 0, 0, bad
	}
	id, bad = d.id(task)
	if bad != nil {
		return "", nil, 0, 0, bad.in(d.task, string(task))
	}
	if config != nil {
		clear(d.raw)
		if bad := object(config, d.limits.Columns, param); bad != nil {
			if bad.Field == "" {
				bad.in(d.config, "")
			}
			return id, nil, 0, 0, bad
		}
	}
	x = make([]float64, len(d.columns))
	for i, c := range d.columns {
		if d.raw[i] == nil {
			return id, nil, 0, 0, rowErrorf(cmbo.ErrOutOfSpace, "missing").in(c.param.Name(), "")
		}
		var e *RowError
		if x[i], e = c.fromJSON(d.raw[i]); e != nil {
			return id, nil, 0, 0, e.in(c.param.Name(), string(d.raw[i]))
		}
	}
	if err := d.space.Check(x); err != nil {
		return id, nil, 0, 0, outside(err, d.space.Params(), func(i int) string { return string(d.raw[i]) })
	}
	if y, bad = d.number(value, checkValue); bad != nil {
		return id, nil, 0, 0, bad.in(d.value, string(value))
	}
	if noise == nil && d.needNoise {
		return id, nil, 0, 0, rowErrorf(cmbo.ErrNotFinite, "missing").in(d.noise, "")
	}
	if !isNull(noise) {
		if v, bad = d.number(noise, checkNoise); bad != nil {
			return id, nil, 0, 0, bad.in(d.noise, string(noise))
		}
	}
	return id, x, y, v, nil
}

// id decodes the task's ID.
func (d *lineDecoder) id(raw []byte) (string, *RowError) {
	if raw == nil {
		if d.needTask {
			return "", rowErrorf(cmbo.ErrTask, "missing")
		}
		return d.taskID, nil
	}
	id, ok := jsonString(raw)
	if !ok {
		if id, ok = jsonNumber(raw); !ok {
			return "", rowErrorf(cmbo.ErrTask, "not a string or a number")
		}
	}
	return id, checkID(id)
}

// number decodes a measured value or a variance.
func (d *lineDecoder) number(raw []byte, check func(float64) *RowError) (float64, *RowError) {
	if raw == nil {
		return 0, rowErrorf(cmbo.ErrNotFinite, "missing")
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
// null if Noise is set.
//
// The tasks are validated before the first byte is written: it fails as
// cmbo.Learn does for invalid ones, with ErrTask if two have the same ID or if
// Task is "-" and there is more than one, and with the error of w.
func (j JSONLines) Write(w io.Writer, tasks ...cmbo.Task) error {
	n, config, err := j.setting()
	if err != nil {
		return err
	}
	if err := checkTasks(j.Space, tasks); err != nil {
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
	for _, c := range cols {
		keys = append(keys, quoted(c.param.Name())+": ")
	}
	out := bufio.NewWriter(w)
	for i := range tasks {
		t := &tasks[i]
		begin := open
		if n.task != "" {
			begin = "{" + quoted(n.task) + ": " + quoted(t.ID) + ", " + open[1:]
		}
		for k, x := range t.X {
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
			out.WriteString(mid + quoted(n.value) + ": " + formatFloat(t.Y[k]))
			if v := noise(t, k); v > 0 && n.noise != "" {
				out.WriteString(", " + quoted(n.noise) + ": " + formatFloat(v))
			} else if n.needNoise {
				out.WriteString(", " + quoted(n.noise) + ": null")
			}
			out.WriteString("}\n")
		}
	}
	return out.Flush()
}
