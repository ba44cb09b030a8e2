package history

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/gocmbo/cmbo/cmbo"
)

// row is what a row of a CSV file or a line of JSON says.
type row struct {
	id       string
	x        []float64
	y, noise float64
	outputs  map[string]float64
	context  cmbo.Context
	curve    cmbo.Curve
	outcome  outcome
	snapped  bool
	bad      *RowError // of a row that cannot be taken
}

// A cell is what stands in a written row under a name.
type cell struct {
	object, column string // object: of JSON lines, in which the column is, "" for the line itself
	text           string
	plain          bool // text is no string but a number, true, false, a curve, or "" for nothing
	null           bool // nothing is written as null in JSON lines, and not left out
}

// cells appends those of observation k of a task, or of a failure, which come after them. The
// columns are the same in all rows.
func (n *form) cells(cells []cell, t *cmbo.Task, k int) []cell {
	r := row{context: t.Context, outcome: hasFailed}
	if failed := k - len(t.Y); failed >= 0 {
		r.x, r.outputs = t.Failed[failed], t.FailedOutputs.Row(failed)
	} else {
		r.x, r.outputs, r.outcome, r.y = t.X[k], t.Outputs.Row(k), hasValue, t.Y[k]
		if t.NoiseVariance != nil {
			r.noise = t.NoiseVariance[k]
		}
		if t.Curves != nil {
			r.curve = t.Curves[k]
		}
	}
	add := func(c cell) {
		if c.column != "" { // what has no name the file does not have
			cells = append(cells, c)
		}
	}
	number := func(column string, v float64, known, null bool) {
		c := cell{column: column, plain: true, null: null}
		if known {
			c.text = formatFloat(v)
		}
		add(c)
	}
	add(cell{column: n.task, text: t.ID})
	for i, v := range r.x {
		add(cell{object: n.config, column: n.columns[i], text: n.params[i].text(v),
			plain: n.params[i].param.Kind() != cmbo.KindCategorical})
	}
	number(n.value, r.y, r.outcome == hasValue, true)
	number(n.noise, r.noise, r.noise > 0, n.needNoise)
	add(cell{column: n.status, text: n.ended(r.outcome)})
	for _, o := range n.outputs {
		v, known := r.outputs[o.name]
		number(o.column, v, known, n.Outputs != nil)
	}
	shown := cell{column: n.curve, plain: true, null: n.needCurve}
	if c := r.curve; len(c.Steps) > 0 || c.Stopped {
		c.Steps, c.Values = append([]int{}, c.Steps...), append([]float64{}, c.Values...) // none is [], not null
		text, _ := json.Marshal(c)                                                        // whose values are finite
		shown.text = string(text)
	}
	add(shown)
	for _, o := range n.context {
		if text, choice := r.context[o.name].(string); choice {
			add(cell{column: o.column, text: text})
			continue
		}
		v, known := r.context[o.name].(float64)
		number(o.column, v, known, n.Context != nil)
	}
	return cells
}

// eachRow calls put with the cells of each row of the tasks.
func (n *form) eachRow(tasks []cmbo.Task, put func([]cell) error) error {
	var cells []cell
	for i := range tasks {
		for k := range len(tasks[i].X) + len(tasks[i].Failed) {
			cells = n.cells(cells[:0], &tasks[i], k)
			if err := put(cells); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *row) output(name string, v float64) {
	if r.outputs == nil {
		r.outputs = make(map[string]float64)
	}
	r.outputs[name] = v
}

// failed returns the row with what is wrong with it; a failed evaluation whose
// point is not in the space is of no use, and passed over.
func (r row) failed(e *RowError) row {
	if r.outcome == hasFailed {
		return row{outcome: passedOver}
	}
	r.bad = e
	return r
}

// A field is a cell of a CSV file or a value of a line of JSON.
type field struct {
	text   string // of the cell; of JSON where it is read as one
	raw    []byte // of JSON, nil for a key that is missing
	isJSON bool   // raw is read, not text
}

// shown is what messages show.
func (f field) shown() string {
	if text, ok := jsonNumber(f.raw); ok { // NaN without the quotation marks that bare gave it
		return text
	}
	return cmp.Or(string(f.raw), f.text)
}

func (f field) empty() bool {
	if f.isJSON || f.raw != nil {
		return isNull(f.raw)
	}
	return strings.TrimSpace(f.text) == ""
}

// row fills in a row whose task and outcome are known. field is that of a column in an object, which is "" but for
// parameters in JSON lines.
func (n *form) row(r row, field func(object, column string) field) row {
	bad := func(e *RowError, column string) row { return r.failed(e.in(column, field("", column).shown())) }
	shown := func(i int) string { return field(n.config, n.columns[i]).shown() }
	r.x = make([]float64, len(n.columns))
	var e *RowError
	for i, c := range n.params {
		if r.x[i], e = n.param(i, c, field(n.config, n.columns[i])); e != nil {
			return r.failed(e.in(n.columns[i], shown(i)))
		}
	}
	if err := n.space.Check(r.x); err != nil {
		return r.failed(outside(err, n.params, shown))
	}
	if len(n.context) > 0 {
		r.context = make(cmbo.Context, len(n.context))
	}
	for _, o := range n.context {
		v, e := n.descriptor(field("", o.column))
		if e != nil {
			return bad(e, o.column)
		}
		if v != nil {
			r.context[o.name] = v
		}
	}
	if r.outcome != hasFailed {
		if r.y, e = n.number(n.value, field("", n.value), checkValue); e != nil {
			return bad(e, n.value)
		}
		if noise := field("", n.noise); !noise.empty() {
			if r.noise, e = n.number(n.noise, noise, checkNoise); e != nil {
				return bad(e, n.noise)
			}
		}
	}
	for _, o := range n.outputs {
		value := field("", o.column)
		if value.empty() {
			continue
		}
		v, e := n.number(o.column, value, checkValue)
		switch {
		case e == nil:
			r.output(o.name, v)
		case r.outcome != hasFailed: // whose point counts without
			return bad(e, o.column)
		}
	}
	return r
}
