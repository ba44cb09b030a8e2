package cmbo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// outputPrior is what past tasks teach of one output: a hierarchical prior of its values,
// whatever the model of the objective is.
type outputPrior struct {
	name  string
	warp  scaling.Warp // of the values
	model *hierarchy.Model
	rows  [][]int // by task of the model: the observations that have the output, and then the failures
}

// measured are the values of an output of the tasks.
type measured struct {
	tasks []hierarchy.Task // but for their values
	y     [][]float64
	rows  [][]int
}

// failedColumn returns what the failures of a task have brought of an output, nil for nothing. A 0
// of what is positive otherwise, such as seconds, stands for what was not measured.
func failedColumn(t *Task, name string) []float64 {
	column, values := slices.Clone(t.FailedOutputs[name]), t.Outputs[name]
	if len(values) == 0 || slices.ContainsFunc(values, func(v float64) bool { return v <= 0 }) {
		return column
	}
	for i, v := range column {
		if v <= 0 {
			column[i] = math.NaN()
		}
	}
	return column
}

// takeOutputs gathers the outputs of a task whose points are encoded, those of failures too.
func (t *trainingSet) takeOutputs(task *Task, x, failed *linalg.Dense) {
	names := slices.Concat(task.Outputs.Names(), task.FailedOutputs.Names())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		column := task.Outputs[name]
		if of := failedColumn(task, name); of != nil {
			if column == nil {
				column = slices.Repeat([]float64{math.NaN()}, len(task.Y))
			}
			column = slices.Concat(column, of)
		}
		rows := each.Where(len(column), func(i int) bool { return !math.IsNaN(column[i]) })
		if len(rows) == 0 {
			continue
		}
		m := t.outputs[name]
		if m == nil {
			m = new(measured)
			t.outputs[name] = m
		}
		at := x
		if len(column) > len(task.Y) {
			at = points.Join(x, failed)
		}
		if len(rows) < len(column) {
			at = points.Pick(at, rows)
		}
		m.tasks = append(m.tasks, hierarchy.Task{ID: task.ID, X: at, Context: task.Context})
		m.y, m.rows = append(m.y, points.Entries(column, rows)), append(m.rows, rows)
	}
}

// learnOutputs learns the outputs of the tasks, in the order of their names; nil if there are none.
func (t *trainingSet) learnOutputs(ctx context.Context) ([]*outputPrior, error) {
	var out []*outputPrior
	for _, name := range slices.Sorted(maps.Keys(t.outputs)) {
		o, err := t.learnOutput(ctx, name, t.outputs[name], t.grid())
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", name, err)
		}
		out = append(out, o)
	}
	return out, nil
}

func (t *trainingSet) learnOutput(ctx context.Context, name string, m *measured, grid *linalg.Dense) (*outputPrior, error) {
	c := t.config
	p := &outputPrior{name: name, warp: scaling.ChooseWarp(0, m.y...), rows: m.rows}
	for i := range m.tasks {
		s := scaling.Fit(scaling.ZScore, p.warp.ApplyAll(m.y[i]))
		m.tasks[i].Z, m.tasks[i].Shift, m.tasks[i].Scale = s.Z, s.Shift, s.Scale
	}
	mean, sd := hierarchy.CommonScale(m.tasks)
	var err error
	p.model, err = hierarchy.Learn(ctx, hierarchy.Standardize(m.tasks, mean, sd), grid, outputSettings(c, t.space, t.list))
	return p, gp.Marked(ctx, err)
}

func outputSettings(c *learnConfig, s *Space, list bool) hierarchy.Settings {
	o := hierarchySettings(c, s, list)
	o.Output, o.Apart = true, false
	return o
}

// output returns what the prior knows of an output, nil for nothing.
func (p *Prior) output(name string) *outputPrior {
	if p != nil {
		if i := slices.IndexFunc(p.outputs, func(o *outputPrior) bool { return o.name == name }); i >= 0 {
			return p.outputs[i]
		}
	}
	return nil
}

// differAs says how names must differ that are not meant for the same.
const differAs = "give both the same name, or names that differ by more than case, spaces, and the signs _-."

// spelling is what names have in common that differ by case, spaces and the signs _-. alone.
func spelling(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.", r) {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}

// checkSpelling reports outputs whose names hardly differ, in the run or from one of the past, of
// which nothing would be used.
func (c *runConfig) checkSpelling() error {
	ofRun, past := make(map[string]string), make(map[string]string)
	for _, known := range c.prior.Outputs() {
		past[spelling(known)] = known
	}
	for _, o := range c.outputs {
		s := spelling(o.Name)
		if other, twice := ofRun[s]; twice {
			return optionErrorf("outputs %q and %q: %s", other, o.Name, differAs)
		}
		ofRun[s] = o.Name
		if known, like := past[s]; like && c.prior.output(o.Name) == nil {
			return optionErrorf("output %q: past tasks have %q; %s", o.Name, known, differAs)
		}
	}
	return nil
}

// value returns a value of a task of the model, as it was told but for rounding.
func (o *outputPrior) value(t hierarchy.Task, i int) float64 {
	return o.warp.Invert(t.Shift + t.Scale*t.Z[i])
}

// values returns all values of a task.
func (o *outputPrior) values(t hierarchy.Task) []float64 {
	return each.Below(len(t.Z), func(i int) float64 { return o.value(t, i) })
}

// columns adds the outputs to tasks, found by their IDs, as they were told but for rounding.
func (p *Prior) columns(tasks []Task, byID map[string]int) {
	for _, o := range p.outputs {
		for k, s := range o.model.Tasks() {
			t := &tasks[byID[s.ID]]
			for i, row := range o.rows[k] {
				to, n := &t.Outputs, len(t.Y)
				if row >= n {
					to, row, n = &t.FailedOutputs, row-n, len(t.Failed)
				}
				if *to == nil {
					*to = make(space.Columns)
				}
				if (*to)[o.name] == nil {
					(*to)[o.name] = slices.Repeat([]float64{math.NaN()}, n)
				}
				(*to)[o.name][row] = max(-points.MaxValue, min(o.value(s, i), points.MaxValue)) // rounding may pass them
			}
		}
	}
}

// encodeOutputs writes what decodeOutputs reads. Outputs and then curves end a prior, and those
// that are not there take no bytes; of no outputs before curves, more, the number is written.
func (p *Prior) encodeOutputs(e *codec.Encoder, more bool) {
	if len(p.outputs) == 0 && !more {
		return
	}
	e.Uint(uint64(len(p.outputs)))
	for _, o := range p.outputs {
		e.Text(o.name)
		e.Float(o.warp.Unit)
		o.model.Encode(e)
		for _, rows := range o.rows {
			e.Ints(rows)
		}
	}
}

// decodeOutputs reads the outputs of a prior, of which all else is known.
func (p *Prior) decodeOutputs(d *codec.Decoder) error {
	if d.Err != nil || len(d.Buf) == 0 {
		return d.Err
	}
	known, count := make(map[string]told), make(map[string]int)
	for _, t := range p.told {
		known[t.id], count[t.id] = t, len(t.y)
	}
	if p.success != nil {
		for _, t := range p.success.Tasks() {
			for _, z := range t.Z {
				if z == hierarchy.Failed {
					count[t.ID]++
				}
			}
		}
	}
	n := d.Count(1)
	if n == 0 && len(d.Buf) == 0 {
		d.Fail("outputs without any")
	}
	for i := range n {
		o := &outputPrior{name: d.Text(), warp: scaling.Warp{Unit: d.Value()}}
		if o.name == "" || !utf8.ValidString(o.name) || i > 0 && p.outputs[i-1].name >= o.name || !(o.warp.Unit >= 0) {
			d.Fail("output %q, warped by %g", o.name, o.warp.Unit)
		}
		if d.Err != nil {
			return d.Err
		}
		var err error
		if o.model, err = hierarchy.Decode(d, p.space.Dim(), outputSettings(p.config, p.space, p.finite)); err != nil {
			return err
		}
		if d.Err != nil {
			return d.Err
		}
		for _, t := range o.model.Tasks() {
			rows, task := d.Ints(), known[t.ID]
			if len(rows) != len(t.Z) {
				d.Fail("output %q of task %q: %d rows for %d values", o.name, t.ID, len(rows), len(t.Z))
				return d.Err
			}
			if t.Context != nil && !maps.Equal(t.Context, task.context) {
				d.Fail("output %q of task %q: other descriptors than the task's", o.name, t.ID)
			}
			for k, row := range rows {
				if row < 0 || row >= count[t.ID] || k > 0 && row <= rows[k-1] {
					d.Fail("output %q of task %q: row %d of %d", o.name, t.ID, row, count[t.ID])
				}
				if v := o.value(t, k); !(math.Abs(v) <= 2*points.MaxValue) {
					d.Fail("output %q of task %q: row %d has a value of %g", o.name, t.ID, row, v)
				}
			}
			o.rows = append(o.rows, rows)
		}
		p.outputs = append(p.outputs, o)
	}
	return d.Err
}
