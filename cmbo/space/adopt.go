package space

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// A remap turns rows recorded with some parameters into rows of a space.
type remap struct {
	recorded *Space
	space    *Space
	from     []int     // by parameter of the space: its place in a recorded row, or -1
	fill     []float64 // defaults
	same     bool      // nothing changes
	filled   []string
	dropped  []string
}

// newRemap matches parameters by name. Those that were not recorded take the
// value of defaults. Without a default, or for recorded ones that the space
// does not have, it fails unless loose, which drops them.
func newRemap(s *Space, recorded []Param, defaults []float64, given []bool, loose bool) (*remap, error) {
	r, err := New(recorded...)
	if err != nil {
		return nil, err
	}
	m := &remap{recorded: r, space: s, from: make([]int, len(s.params)), fill: defaults, same: r.SameParams(s)}
	for i, p := range s.params {
		j, ok := r.names[p.name]
		if !ok {
			if !given[i] {
				return nil, differ(p.name, "it was not recorded; a default would fill it in (Space.Adopt)")
			}
			m.from[i], m.filled = -1, append(m.filled, p.name)
			continue
		}
		if m.from[i] = j; !p.accepts(r.params[j]) {
			return nil, differ(p.name, "it was recorded as %s; the space has %s", r.params[j], p)
		}
	}
	for _, p := range r.params {
		if _, ok := s.names[p.name]; !ok {
			if !loose {
				return nil, differ(p.name, "it was recorded, but is not in the space; Space.Adopt drops it")
			}
			m.dropped = append(m.dropped, p.name)
		}
	}
	return m, nil
}

// differ is the error of a task's parameter that the space has otherwise.
func differ(name, format string, args ...any) error {
	e := Errorf(ErrSpace, format, args...)
	e.Name = name
	return e
}

// accepts reports whether some value of q can be a value of p: numbers become
// numbers, and what has a name takes part by its name.
func (p Param) accepts(q Param) bool {
	return p.numeric() == q.numeric() || p.kind == KindCategorical || q.kind == KindCategorical
}

// convert turns the value v of q into one of p, which need not lie in its range.
func (p Param) convert(q Param, v float64) (float64, error) {
	if p.numeric() && q.numeric() || p.kind == KindBool && q.kind == KindBool {
		return v, nil
	}
	if q.check(v) == nil {
		v = q.round(v)
	}
	text := q.text(v)
	switch {
	case p.kind == KindCategorical:
		i := slices.Index(p.choices, text)
		if i < 0 && q.numeric() {
			i = slices.Index(p.choices, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if i >= 0 {
			return float64(i), nil
		}
	case p.kind == KindBool && text == "true":
		return 1, nil
	case p.kind == KindBool && text == "false":
		return 0, nil
	case p.numeric():
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, nil
		}
	}
	e := Errorf(ErrOutOfSpace, "%q is not a value of %s", text, p)
	e.Name, e.Value = p.name, v
	return 0, e
}

// text names a value: a choice's name, true or false, the shortest decimal, without an
// exponent for whole numbers up to 2^53.
func (p Param) text(v float64) string {
	switch p.kind {
	case KindCategorical:
		return p.choices[int(v)]
	case KindBool:
		return strconv.FormatBool(v != 0)
	}
	if v == math.Trunc(v) && math.Abs(v) <= maxInt {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// apply returns the row of the space that a recorded row becomes; outside tells
// an error of a row that has no place in the space from one of a row that is
// none in itself.
func (m *remap) apply(x []float64) (row []float64, outside bool, err error) {
	if m.same {
		row, err = m.space.Canonical(x)
		return row, errors.Is(err, ErrOutOfSpace), err
	}
	if len(x) != len(m.recorded.params) {
		return nil, false, Errorf(ErrDimension, "%d values for %d recorded parameters", len(x), len(m.recorded.params))
	}
	for j, q := range m.recorded.params {
		// Numbers may lie outside the range they were recorded with.
		if !q.numeric() {
			if err := q.check(x[j]); err != nil {
				return nil, false, err
			}
		}
	}
	row = slices.Clone(m.fill)
	for i, j := range m.from {
		if j < 0 {
			continue
		}
		if row[i], err = m.space.params[i].convert(m.recorded.params[j], x[j]); err != nil {
			return nil, true, err
		}
	}
	row, err = m.space.Canonical(row)
	return row, errors.Is(err, ErrOutOfSpace), err
}

// An Adoption says what [Space.Adopt] or a prior of package cmbo did.
type Adoption struct {
	// Rows counts the rows that were taken over, failed ones among them.
	Rows int
	// Outside tells of each row that was left out because it has no place in
	// the space: its task, row, parameter and value. Rows of failed evaluations
	// are counted after the others of their task. A task that lost all rows is
	// left out.
	Outside []*DataError
	// Filled and Dropped name the parameters, each once and sorted, that
	// tasks did not have and took from the defaults, and that the space does
	// not have.
	Filled, Dropped []string
}

// Adopt brings tasks that were recorded with other parameters to this space.
// Parameters are matched by name, in any order, and choices by theirs. A
// parameter that a task does not have takes its value from defaults, which are
// as [Space.Row] takes them; parameters that the space does not have are
// dropped: rows that only differed there become repeated measurements. Ranges,
// steps, scales (linear or logarithmic) and lists of choices may differ; between
// a categorical and another kind values go by their text, 16 and "16", 1e6 and
// "1000000" or "1e+06", true and "true". Rows outside the space are left out and reported. Tasks without
// Params are taken as rows in the order of this space's parameters.
//
// The tasks are copied. It fails, and names task and parameter, with [ErrSpace]
// if a parameter has neither a recorded value nor a default or its kind cannot
// be converted, as [Space.Row] does for defaults, and as Learn of package cmbo does for tasks
// that are not valid in themselves.
func (s *Space) Adopt(tasks []Task, defaults map[string]any) ([]Task, *Adoption, error) {
	if err := s.Defined(); err != nil {
		return nil, nil, err
	}
	fill, given := make([]float64, len(s.params)), make([]bool, len(s.params))
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		i, ok := s.names[name]
		if !ok {
			return nil, nil, Errorf(ErrOutOfSpace, "a default for %q, which is not a parameter", name)
		}
		v, err := s.params[i].fromAny(defaults[name])
		if err == nil {
			err = s.params[i].check(v)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("default: %w", err)
		}
		fill[i], given[i] = v, true
	}
	a := new(Adoption)
	var out []Task
	for i := range tasks {
		t := &tasks[i]
		if err := t.checkForm(); err != nil {
			return nil, nil, err
		}
		m, err := newRemap(s, t.recorded(s), fill, given, true)
		if err != nil {
			return nil, nil, InTask(err, t.ID)
		}
		a.Filled, a.Dropped = append(a.Filled, m.filled...), append(a.Dropped, m.dropped...)
		q := Task{ID: t.ID, Params: s.Params()}
		for k, x := range slices.Concat(t.X, t.Failed) {
			row, outside, err := m.apply(x)
			if err != nil {
				var de *DataError
				if err = InTask(AtRow(err, k), t.ID); !outside || !errors.As(err, &de) {
					return nil, nil, err
				}
				a.Outside = append(a.Outside, de)
				continue
			}
			a.Rows++
			if k >= len(t.X) {
				q.Failed = append(q.Failed, row)
				continue
			}
			q.Outputs.Append(len(q.Y), t.Outputs.Row(k))
			q.X, q.Y = append(q.X, row), append(q.Y, t.Y[k])
			if t.NoiseVariance != nil {
				q.NoiseVariance = append(q.NoiseVariance, t.NoiseVariance[k])
			}
		}
		if len(q.X)+len(q.Failed) > 0 {
			out = append(out, q)
		}
	}
	for _, names := range []*[]string{&a.Filled, &a.Dropped} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return out, a, nil
}

// recorded returns the parameters of a task's rows, those of the space if it
// names none.
func (t *Task) recorded(s *Space) []Param {
	if t.Params == nil {
		return s.params
	}
	return t.Params
}

// in returns a valid task whose rows are rows of the space.
func (t *Task) in(s *Space) (Task, error) {
	q := *t
	if err := t.checkForm(); err != nil {
		return q, err
	}
	m, err := newRemap(s, t.recorded(s), make([]float64, len(s.params)), make([]bool, len(s.params)), false)
	if err != nil {
		return q, InTask(err, t.ID)
	}
	rows := make([][]float64, 0, len(t.X)+len(t.Failed))
	for k, x := range slices.Concat(t.X, t.Failed) {
		row, _, err := m.apply(x)
		if err != nil {
			return q, InTask(AtRow(err, k), t.ID)
		}
		rows = append(rows, row)
	}
	q.X, q.Failed, q.Params = rows[:len(t.X)], rows[len(t.X):], s.params
	return q, nil
}

// Difference says where the parameters of s and t part, t being called the space: the
// name of the first that differs, and how. It returns "" if they are equal.
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
