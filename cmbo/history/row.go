package history

import (
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
)

// row is what a row of a CSV file or a line of JSON says.
type row struct {
	id       string
	x        []float64
	y, noise float64
	outputs  map[string]float64
	context  cmbo.Context
	curve    *cmbo.Curve
	outcome  outcome
	snapped  bool
	bad      *RowError // of a row that cannot be taken
}

// rows calls put with what each observation of a task says, and with each failure after them.
func rows(t *cmbo.Task, put func(row) error) error {
	for k, x := range slices.Concat(t.X, t.Failed) {
		r := row{id: t.ID, x: x, context: t.Context, outcome: hasFailed}
		if k >= len(t.Y) {
			r.outputs = t.FailedOutputs.Row(k - len(t.Y))
		} else {
			r.outcome, r.y, r.outputs = hasValue, t.Y[k], t.Outputs.Row(k)
			if t.NoiseVariance != nil {
				r.noise = t.NoiseVariance[k]
			}
			if t.Curves != nil && len(t.Curves[k].Steps) > 0 {
				r.curve = &t.Curves[k]
			}
		}
		if err := put(r); err != nil {
			return err
		}
	}
	return nil
}

// output adds a further value.
func (r *row) output(name string, v float64) {
	if r.outputs == nil {
		r.outputs = make(map[string]float64)
	}
	r.outputs[name] = v
}

// describe adds a descriptor; nil is none.
func (r *row) describe(name string, v any) {
	if v == nil {
		return
	}
	if r.context == nil {
		r.context = make(cmbo.Context)
	}
	r.context[name] = v
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

// fields are the cells of a row of a CSV file, or the values of a line of JSON, by column.
type fields interface {
	// text and paramText are what messages show.
	text(column string) string
	paramText(i int) string
	// empty reports whether there is nothing to read.
	empty(column string) bool
	param(i int, c column) (float64, *RowError)
	number(column string, check func(float64) *RowError) (float64, *RowError)
	descriptor(column string) (any, *RowError)
}

// row fills in a row whose task and outcome are known.
func (n *form) row(r row, f fields) row {
	bad := func(e *RowError, column string) row { return r.failed(e.in(column, f.text(column))) }
	r.x = make([]float64, len(n.columns))
	var e *RowError
	for i, c := range n.params {
		if r.x[i], e = f.param(i, c); e != nil {
			return r.failed(e.in(n.columns[i], f.paramText(i)))
		}
	}
	if err := n.space.Check(r.x); err != nil {
		return r.failed(outside(err, n.params, f.paramText))
	}
	for _, o := range n.context {
		v, e := f.descriptor(o.column)
		if e != nil {
			return bad(e, o.column)
		}
		r.describe(o.name, v)
	}
	if r.outcome != hasFailed {
		if r.y, e = f.number(n.value, checkValue); e != nil {
			return bad(e, n.value)
		}
		if !f.empty(n.noise) {
			if r.noise, e = f.number(n.noise, checkNoise); e != nil {
				return bad(e, n.noise)
			}
		}
	}
	for _, o := range n.outputs {
		if f.empty(o.column) {
			continue
		}
		v, e := f.number(o.column, checkValue)
		switch {
		case e == nil:
			r.output(o.name, v)
		case r.outcome != hasFailed: // whose point counts without
			return bad(e, o.column)
		}
	}
	return r
}
