package space

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
)

// A remap turns rows recorded with some parameters into rows of a space.
type remap struct {
	recorded *Space
	space    *Space
	from     []int     // by parameter of the space: its place in a recorded row, or -1
	fill     []float64 // defaults, NaN or nil for none
	choices  map[string]map[string]string
	same     bool // nothing changes
	snaps    bool // between steps there is the nearest value
	filled   []string
	dropped  []string
}

// newRemap matches parameters by name, as they are called now. Those that were not
// recorded take the value of defaults. Without a default, or for recorded ones that the
// space does not have, it fails unless there are changes, by which it drops them.
func newRemap(s *Space, recorded []Param, fill []float64, c *Changes) (*remap, error) {
	m, were := &remap{space: s, from: make([]int, len(s.params)), fill: fill, snaps: c != nil}, recorded
	if c != nil {
		recorded, m.choices = slices.Clone(recorded), c.Choices
		for i, p := range were { // all at once: names may be swapped
			now, renamed := c.Renamed[p.name]
			if !renamed {
				continue
			}
			if slices.ContainsFunc(were, func(q Param) bool {
				_, too := c.Renamed[q.name]
				return q.name == now && !too
			}) {
				return nil, Errorf(ErrSpace, "it was recorded, and so was %q, which is renamed to it", p.name).of(now)
			}
			recorded[i].name = now
		}
	}
	r, err := New(recorded...)
	if err != nil {
		return nil, err
	}
	m.recorded, m.same = r, r.SameParams(s) && len(m.choices) == 0
	for i, p := range s.params {
		j, ok := r.names[p.name]
		if !ok {
			if fill == nil || math.IsNaN(fill[i]) {
				return nil, Errorf(ErrSpace, "it was not recorded; recorded are %s: Changes.Renamed or Defaults (Space.Adopt)",
					names.Quote(8, each.Of(were, Param.Name))).of(p.name)
			}
			m.from[i], m.filled = -1, append(m.filled, p.name)
			continue
		}
		// Numbers become numbers, and what has a name takes part by its name.
		q := r.params[j]
		if m.from[i] = j; p.numeric() != q.numeric() && p.kind != KindCategorical && q.kind != KindCategorical {
			return nil, Errorf(ErrSpace, "it was recorded as %s; the space has %s", q, p).of(p.name)
		}
	}
	for _, p := range r.params {
		if _, ok := s.names[p.name]; !ok {
			if c == nil {
				return nil, Errorf(ErrSpace, "it was recorded, but is not in the space; Space.Adopt drops it").of(p.name)
			}
			m.dropped = append(m.dropped, p.name)
		}
	}
	return m, nil
}

// convert turns the value v of q into one of p, which need not lie in its range. The texts of values may have changed.
func (p Param) convert(q Param, v float64, changed map[string]string) (float64, error) {
	if changed == nil && (p.numeric() && q.numeric() || p.kind == KindBool && q.kind == KindBool) {
		return v, nil
	}
	if q.check(v) == nil {
		v = q.round(v)
	}
	text := q.text(v)
	now, ok := changed[text]
	if !ok {
		now = text
	}
	if f, ok := p.fromText(now); ok {
		return f, nil
	}
	if p.kind == KindCategorical && q.numeric() {
		if f, ok := p.fromText(strconv.FormatFloat(v, 'g', -1, 64)); ok {
			return f, nil
		}
	}
	return 0, Errorf(ErrOutOfSpace, "%q is not a value of %s", now, p).of(p.name).with(v)
}

// fromText returns the value that a text names; numbers need not lie in the range.
func (p Param) fromText(text string) (float64, bool) {
	switch {
	case p.kind == KindCategorical:
		i := slices.Index(p.choices, text)
		return float64(i), i >= 0
	case text == "true" && p.kind == KindBool:
		return 1, true
	case p.kind == KindBool:
		return 0, text == "false"
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// Snap returns [Space.Canonical] of row, with entries of integers and of parameters with a step moved to the nearest value
// of the parameter if that is at most half a step away. moved reports whether an entry was. It fails as Canonical does.
func (s *Space) Snap(row []float64) (snapped []float64, moved bool, err error) {
	row = slices.Clone(row)
	for i := range min(len(row), len(s.params)) {
		p, v := s.params[i], row[i]
		if p.Step() == 0 || p.check(v) == nil {
			continue
		}
		near := min(max(math.Round(v), p.lo), p.hi)
		if p.step != 0 {
			near = p.nth(p.rank(v))
		}
		if math.Abs(v-near) <= p.Step()*(0.5+1e-8) {
			row[i], moved = near, true
		}
	}
	snapped, err = s.Canonical(row)
	return snapped, moved, err
}

// text names a value: a choice's name, true or false, the shortest decimal, without an
// exponent for whole numbers up to 2^53, and without the sign of zero.
func (p Param) text(v float64) string {
	switch p.kind {
	case KindCategorical:
		return p.choices[int(v)]
	case KindBool:
		return strconv.FormatBool(v != 0)
	}
	if v == math.Trunc(v) && math.Abs(v) <= maxInt {
		return strconv.FormatFloat(v+0, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// canonical is [Space.Canonical], or Snap where there are changes.
func (m *remap) canonical(x []float64) (row []float64, moved bool, err error) {
	if m.snaps {
		return m.space.Snap(x)
	}
	row, err = m.space.Canonical(x)
	return row, false, err
}

// apply returns the row of the space that a recorded row becomes; outside tells an error of a row
// that has no place in the space from one of a row that is none in itself.
func (m *remap) apply(x []float64) (row []float64, moved, outside bool, err error) {
	if m.same {
		row, moved, err = m.canonical(x)
		return row, moved, errors.Is(err, ErrOutOfSpace), err
	}
	if len(x) != len(m.recorded.params) {
		return nil, false, false, Errorf(ErrDimension, "%d values for %d recorded parameters", len(x), len(m.recorded.params))
	}
	for j, q := range m.recorded.params {
		// Numbers may lie outside the range they were recorded with.
		if !q.numeric() {
			if err := q.check(x[j]); err != nil {
				return nil, false, false, err
			}
		}
	}
	row = make([]float64, len(m.from))
	for i, j := range m.from {
		if j < 0 {
			row[i] = m.fill[i]
			continue
		}
		p := m.space.params[i]
		if row[i], err = p.convert(m.recorded.params[j], x[j], m.choices[p.name]); err != nil {
			return nil, false, true, err
		}
	}
	row, moved, err = m.canonical(row)
	return row, moved, errors.Is(err, ErrOutOfSpace), err
}

// Changes says how a space differs from those that tasks were recorded with, where
// their parameters cannot tell. The zero value changes nothing.
type Changes struct {
	// Defaults holds the values of parameters that tasks do not have, by name, as [Space.Row] takes them.
	Defaults map[string]any `json:"defaults,omitempty"`
	// Renamed holds what recorded parameters are called now, by their recorded names.
	Renamed map[string]string `json:"renamed,omitempty"`
	// Choices holds, by parameter, what recorded values are called now, by their
	// recorded texts: choices, true and false, or numbers.
	Choices map[string]map[string]string `json:"choices,omitempty"`
}

// ready checks the changes against the space, and that what they change was recorded, and returns the defaults
// as a row, NaN for none.
func (c *Changes) ready(s *Space, tasks []Task) ([]float64, error) {
	recorded := func(is func(p Param) bool) bool {
		return slices.ContainsFunc(tasks, func(t Task) bool { return slices.ContainsFunc(t.recorded(s), is) })
	}
	fill := slices.Repeat([]float64{math.NaN()}, len(s.params))
	for _, name := range slices.Sorted(maps.Keys(c.Defaults)) {
		i, ok := s.names[name]
		if !ok {
			return nil, Errorf(ErrOutOfSpace, "a default for %q, which is not a parameter", name)
		}
		v, err := s.params[i].fromAny(c.Defaults[name])
		if err == nil {
			err = s.params[i].check(v)
		}
		if err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
		fill[i] = v
	}
	from := make(map[string]string, len(c.Renamed))
	for _, name := range slices.Sorted(maps.Keys(c.Renamed)) {
		now := c.Renamed[name]
		if _, ok := s.names[now]; !ok {
			return nil, Errorf(ErrOutOfSpace, "%q is renamed to %q, which is not a parameter", name, now)
		}
		if other, twice := from[now]; twice {
			return nil, Errorf(ErrOutOfSpace, "both %q and %q are renamed to %q", other, name, now)
		}
		from[now] = name
		if !recorded(func(p Param) bool { return p.name == name }) {
			return nil, Errorf(ErrSpace, "it is renamed to %q, but no task was recorded with it, as far as their Params say", now).of(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Choices)) {
		i, ok := s.names[name]
		if !ok {
			return nil, Errorf(ErrOutOfSpace, "choices of %q, which is not a parameter", name)
		}
		for _, then := range slices.Sorted(maps.Keys(c.Choices[name])) {
			now := c.Choices[name][then]
			if v, ok := s.params[i].fromText(now); !ok || s.params[i].check(v) != nil {
				return nil, Errorf(ErrSpace, "%q is called %q, which is not a value of %s", then, now, s.params[i]).of(name)
			}
			if !recorded(func(p Param) bool {
				v, ok := p.fromText(then)
				return cmp.Or(c.Renamed[p.name], p.name) == name && ok && p.text(v) == then
			}) {
				return nil, Errorf(ErrSpace, "%q is called %q, but no task was recorded with it, as far as their Params say", then, now).of(name)
			}
		}
	}
	return fill, nil
}

// An Adoption says what [Space.Adopt] or a prior of package cmbo did.
type Adoption struct {
	// Rows counts the rows that were taken over, failed ones among them.
	Rows int
	// Snapped counts those of Rows that lay between the steps of a parameter.
	Snapped int
	// Outside tells of each row that was left out: its task, row, parameter and value. A task that lost all rows is left out.
	Outside []*DataError
	// Filled and Dropped name the parameters, each once and sorted, that tasks took from the
	// defaults, and that the space does not have.
	Filled, Dropped []string
}

// String tells the adoption in a sentence a fact, with up to three of the rows outside.
func (a *Adoption) String() string {
	facts := []string{names.Count(a.Rows, "row") + " taken over"}
	if a.Snapped > 0 {
		facts[0] += fmt.Sprintf(", %d of them moved to the nearest step", a.Snapped)
	}
	if n := len(a.Outside); n > 0 {
		var places []string
		for _, e := range a.Outside[:min(n, 3)] {
			place := fmt.Sprintf("task %q, row %d", e.Task, e.Row)
			if e.Name != "" {
				place += fmt.Sprintf(", parameter %q", e.Name)
			}
			places = append(places, place+" ("+e.Reason+")")
		}
		if n > 3 {
			places = append(places, fmt.Sprintf("and %d more", n-3))
		}
		facts = append(facts, names.Count(n, "row")+" left out: "+strings.Join(places, ", "))
	}
	if len(a.Filled) > 0 {
		facts = append(facts, "taken from the defaults: "+strings.Join(a.Filled, ", "))
	}
	if len(a.Dropped) > 0 {
		facts = append(facts, "dropped: "+strings.Join(a.Dropped, ", "))
	}
	return strings.Join(facts, "; ")
}

// Adopt returns copies of tasks that were recorded with other parameters as tasks of this space. Parameters are
// matched by name, in any order, and choices by theirs, both as the changes say that they are called now. A
// parameter that a task does not have takes its default, one that the space does not have is dropped. Ranges,
// steps, scales and lists of choices may differ; between a categorical and another kind values go by their text, 16
// and "16", 1e6 and "1000000" or "1e+06", true and "true". Values between the steps of a parameter become the
// nearest, as [Space.Snap] has it; other rows outside the space are left out. The Adoption reports both.
//
// It fails, and names task and parameter, with [ErrSpace] if a parameter has neither a recorded value nor a default
// or its kind cannot be converted, or if a task without Params has no row in the space; with [ErrNoTasks] if no row
// at all is taken over; with ErrSpace or [ErrOutOfSpace] for changes that name what is not there; as [Space.Row]
// does for defaults, and as Learn of package cmbo does for tasks that are not valid in themselves.
func (s *Space) Adopt(tasks []Task, c Changes) ([]Task, *Adoption, error) {
	if err := s.Defined(); err != nil {
		return nil, nil, err
	}
	fill, err := c.ready(s, tasks)
	if err != nil {
		return nil, nil, err
	}
	a := new(Adoption)
	var out []Task
	for i := range tasks {
		t := &tasks[i]
		m, context, err := t.ready(s, fill, &c)
		if err != nil {
			return nil, nil, err
		}
		a.Filled, a.Dropped = append(a.Filled, m.filled...), append(a.Dropped, m.dropped...)
		q := Task{ID: t.ID, Params: s.Params(), Context: context}
		for k, x := range slices.Concat(t.X, t.Failed) {
			row, moved, outside, err := m.apply(x)
			if err != nil {
				var de *DataError
				if err = InTask(t.atPoint(err, k), t.ID); !errors.As(err, &de) || !outside {
					if de != nil && t.Params == nil {
						de.Reason += noParams
					}
					return nil, nil, err
				}
				a.Outside = append(a.Outside, de)
				continue
			}
			a.Rows++
			if moved {
				a.Snapped++
			}
			if k >= len(t.X) {
				q.FailedOutputs.Append(len(q.Failed), t.FailedOutputs.Row(k-len(t.X)))
				q.Failed = append(q.Failed, row)
				continue
			}
			noise, curve := 0.0, Curve{}
			if t.NoiseVariance != nil {
				noise = t.NoiseVariance[k]
			}
			if t.Curves != nil {
				curve = CloneCurves(t.Curves[k : k+1])[0]
			}
			Observe(&q, row, t.Y[k], noise, t.Outputs.Row(k), curve)
		}
		if len(q.X)+len(q.Failed) > 0 {
			out = append(out, q)
		} else if t.Params == nil {
			e := *a.Outside[len(a.Outside)-len(t.X)-len(t.Failed)]
			e.Reason += fmt.Sprintf("; none of the %d rows lies in the space%s", len(t.X)+len(t.Failed), noParams)
			e.Err = fmt.Errorf("%w: %w", ErrSpace, e.Err)
			return nil, nil, &e
		}
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoTasks, a)
	}
	a.Filled = slices.Compact(slices.Sorted(slices.Values(a.Filled)))
	a.Dropped = slices.Compact(slices.Sorted(slices.Values(a.Dropped)))
	return out, a, nil
}

const noParams = ", and the task has no Params that say what its columns are"

// atPoint adds to an error the place of point k of a task, those that failed coming after the observations.
func (t *Task) atPoint(err error, k int) error {
	if k < len(t.X) {
		return AtRow(err, k)
	}
	k -= len(t.X)
	return located(err, func(e *DataError) { e.Row, e.Reason = k, e.Reason+", in a row of Failed" }, "row %d of Failed", k)
}

// recorded returns the parameters of a task's rows, those of the space if it names none.
func (t *Task) recorded(s *Space) []Param {
	if t.Params == nil {
		return s.params
	}
	return t.Params
}

// ready validates a task, and returns what turns its rows into rows of the space, and its context as that is stored.
func (t *Task) ready(s *Space, fill []float64, c *Changes) (m *remap, context Context, err error) {
	if err = t.fault(); err == nil {
		context, err = t.Context.Normal()
	}
	if err == nil {
		m, err = newRemap(s, t.recorded(s), fill, c)
	}
	return m, context, InTask(err, t.ID)
}

// in returns a valid task whose rows are rows of the space.
func (t *Task) in(s *Space) (Task, error) {
	q := *t
	m, context, err := t.ready(s, nil, nil)
	if err != nil {
		return q, err
	}
	rows := make([][]float64, 0, len(t.X)+len(t.Failed))
	for k, x := range slices.Concat(t.X, t.Failed) {
		row, _, _, err := m.apply(x)
		if errors.Is(err, ErrDimension) && t.Params == nil {
			err = fmt.Errorf("%w; Task.Params names those of rows recorded with other parameters", err)
		}
		if err != nil {
			return q, InTask(t.atPoint(err, k), t.ID)
		}
		rows = append(rows, row)
	}
	q.X, q.Failed, q.Params, q.Context = rows[:len(t.X)], rows[len(t.X):], s.params, context
	return q, nil
}

// Difference says where the parameters of s and t first differ: the name of the parameter, and how, in words that
// call t "the space". It returns "" if they are equal.
func (s *Space) Difference(t *Space) (name, why string) {
	a, b := s.params, t.params
	for i, p := range a {
		if i >= len(b) || p.name != b[i].name {
			j := slices.IndexFunc(b, func(q Param) bool { return q.name == p.name })
			switch {
			case j < 0:
				return p.name, "the space lacks it"
			case slices.ContainsFunc(a, func(q Param) bool { return q.name == b[i].name }):
				return p.name, fmt.Sprintf("it is parameter %d there, but %d of the space", i, j)
			}
			return b[i].name, "the space has it besides"
		}
		if p.equal(b[i]) {
			continue
		}
		q := b[i]
		if p.kind == KindCategorical && q.kind == KindCategorical {
			for k, c := range p.choices {
				if k >= len(q.choices) || q.choices[k] != c {
					return p.name, fmt.Sprintf("choice %d is %q there; the space has %s", k, c, q)
				}
			}
		}
		return p.name, fmt.Sprintf("%s there, but %s in the space", p, q)
	}
	if len(b) > len(a) {
		return b[len(a)].name, "the space has it besides"
	}
	return "", ""
}
