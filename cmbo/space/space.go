package space

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/names"
	"github.com/gocmbo/cmbo/linalg"
)

// A Space is the set of points an optimiser may propose: all values of its parameters, or a list of
// candidates among them. It is immutable and safe for concurrent use.
//
// A point is a row of float64 with one entry a parameter, in the order the parameters were declared:
// the number itself, the index of a categorical's choice, 0 or 1 for a boolean. [Space.Row] makes a
// row from a map of names to values, [Space.Config] turns it back.
type Space struct {
	params []Param
	names  map[string]int
	dim    int // coordinates of the encoding

	rows    [][]float64   // candidates as given, nil for a parameter space
	encoded *linalg.Dense // the same in the unit cube
	first   []int         // first[i] is the smallest index of a row equal to row i
	lookup  map[string]int
}

// Defined fails with [ErrSpace] unless a constructor made s.
func (s *Space) Defined() error {
	if s == nil {
		return fmt.Errorf("%w: a nil Space", ErrSpace)
	}
	if s.params == nil {
		return fmt.Errorf("%w: a zero Space, which no constructor made", ErrSpace)
	}
	return nil
}

// New returns the space of all values of the given parameters. It fails with [ErrSpace] if there are
// none, a name is used twice, or a parameter is not what its constructor asks for.
func New(params ...Param) (*Space, error) {
	if len(params) == 0 {
		return nil, fmt.Errorf("%w: no parameters", ErrSpace)
	}
	s := &Space{params: slices.Clone(params), names: make(map[string]int, len(params))}
	for i, p := range s.params {
		if p.name == "" {
			return nil, fmt.Errorf("%w: parameter %d has an empty name", ErrSpace, i)
		}
		if err := p.validate(); err != nil {
			return nil, err
		}
		if p.step != 0 {
			s.params[i].hi = p.nth(p.count() - 1)
		}
		if j, dup := s.names[p.name]; dup {
			return nil, fmt.Errorf("%w: parameters %d and %d are both named %q", ErrSpace, j, i, p.name)
		}
		s.names[p.name] = i
		s.dim += p.width()
	}
	return s, nil
}

// UnitCube returns the space of dim coordinates in [0, 1], named x0, x1, ...: for points that are already encoded.
func UnitCube(dim int) (*Space, error) {
	if dim < 1 || dim > 1<<24 { // parameters that memory hardly holds are a mistake
		return nil, fmt.Errorf("%w: a unit cube of %d coordinates", ErrSpace, dim)
	}
	return New(each.Below(dim, func(i int) Param { return Float(fmt.Sprintf("x%d", i), 0, 1) })...)
}

// Candidates returns a finite space: exactly the given rows, whose coordinates lie in [0, 1] and enter the model as
// they are; equal rows are proposed once. The rows are copied. It fails with [ErrSpace] without rows, with
// [ErrDimension] if their lengths differ, with [ErrValue] or [ErrOutOfSpace]. For rows in other units, describe
// their columns with [New] and restrict it with [Space.WithCandidates].
func Candidates(rows [][]float64) (*Space, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: an empty list of candidates", ErrSpace)
	}
	s, err := UnitCube(len(rows[0]))
	if err != nil {
		return nil, err
	}
	return s.WithCandidates(rows)
}

// WithCandidates returns a finite space that has the same parameters but consists of exactly the given rows, which must lie
// in s; equal rows are proposed once. They are copied, as [Space.Canonical] does. It fails as [Candidates] and Canonical do.
func (s *Space) WithCandidates(rows [][]float64) (*Space, error) {
	if err := s.Defined(); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: an empty list of candidates", ErrSpace)
	}
	c := s.WithoutCandidates()
	c.rows, c.first, c.lookup = make([][]float64, len(rows)), make([]int, len(rows)), make(map[string]int, len(rows))
	for i, r := range rows {
		var err error
		if c.rows[i], err = s.Canonical(r); err != nil {
			return nil, AtRow(err, i)
		}
		key := points.Key(c.rows[i])
		if _, dup := c.lookup[key]; !dup {
			c.lookup[key] = i
		}
		c.first[i] = c.lookup[key]
	}
	c.encoded = s.EncodeAll(c.rows)
	return c, nil
}

// Dim returns the number of coordinates of the encoding in the unit cube.
func (s *Space) Dim() int { return s.dim }

// Params returns a copy of the parameters in their order.
func (s *Space) Params() []Param { return slices.Clone(s.params) }

// WithoutCandidates returns the space of all values of the parameters of s.
func (s *Space) WithoutCandidates() *Space {
	return &Space{params: s.params, names: s.names, dim: s.dim}
}

// Rows returns the candidate rows, nil for a parameter space. They are shared and must not be changed.
func (s *Space) Rows() [][]float64 { return s.rows }

// Encoded returns the candidates in the unit cube, one a row, nil for a parameter
// space. It is shared and must not be changed.
func (s *Space) Encoded() *linalg.Dense { return s.encoded }

// First returns the smallest index of a candidate equal to candidate i.
func (s *Space) First(i int) int { return s.first[i] }

// NumCandidates returns the number of candidate rows, 0 for a parameter space.
func (s *Space) NumCandidates() int { return len(s.rows) }

// Candidate returns a copy of candidate row i; it fails with [ErrDimension] if there is no such row.
func (s *Space) Candidate(i int) ([]float64, error) {
	if i < 0 || i >= len(s.rows) {
		return nil, fmt.Errorf("%w: candidate %d of %d", ErrDimension, i, len(s.rows))
	}
	return slices.Clone(s.rows[i]), nil
}

// Index returns the smallest index of a candidate equal to row, or -1 if there is none or s is a parameter space.
func (s *Space) Index(row []float64) int {
	_, i, _ := s.Place(row)
	return i
}

// Place returns what [Space.Canonical] does and the smallest index of the candidate that row is, or -1 in a
// parameter space. It fails as Canonical does, and with [ErrOutOfSpace] if no candidate is equal to row.
func (s *Space) Place(row []float64) (canonical []float64, i int, err error) {
	if canonical, err = s.Canonical(row); err != nil {
		return nil, -1, err
	}
	if i, ok := s.lookup[points.Key(canonical)]; ok {
		return canonical, i, nil
	}
	if s.Finite() {
		return nil, -1, fmt.Errorf("%w: the point is none of the %d candidates", ErrOutOfSpace, len(s.rows))
	}
	return canonical, -1, nil
}

// Check reports whether row is a point of the parameters' ranges, with an error that names the
// parameter and the value: [ErrDimension], [ErrValue] or [ErrOutOfSpace]; [ErrSpace] as
// [Space.Defined] has it. It does not ask whether the row is among the candidates.
func (s *Space) Check(row []float64) error {
	if err := s.Defined(); err != nil {
		return err
	}
	if len(row) != len(s.params) {
		return Errorf(ErrDimension, "%s for %s", names.Count(len(row), "value"), names.Count(len(s.params), "parameter"))
	}
	for i, p := range s.params {
		if err := p.check(row[i]); err != nil {
			return atColumn(err, i)
		}
	}
	return nil
}

// Canonical returns a copy of row in the form in which equal points have equal entries. Where a parameter has a step,
// the entry becomes the value that [Space.Check] takes it for: 0.3 for 0.1 + 0.2. It fails as Check does.
func (s *Space) Canonical(row []float64) ([]float64, error) {
	if err := s.Check(row); err != nil {
		return nil, err
	}
	row = slices.Clone(row)
	for i, p := range s.params {
		row[i] = p.round(row[i])
	}
	return row, nil
}

// Encode returns the coordinates of a point in the unit cube, one a parameter
// and one a choice for categoricals. It fails as [Space.Check] does.
func (s *Space) Encode(row []float64) ([]float64, error) {
	row, err := s.Canonical(row)
	if err != nil {
		return nil, err
	}
	u := make([]float64, s.dim)
	s.encodeTo(u, row)
	return u, nil
}

// encodeTo writes the encoding of a checked row to dst.
func (s *Space) encodeTo(dst, row []float64) {
	k := 0
	for i, p := range s.params {
		p.encode(dst[k:k+p.width()], row[i])
		k += p.width()
	}
}

// EncodeAll returns the coordinates of rows of the space in the unit cube, one a row;
// rows that [Space.Check] refuses may panic.
func (s *Space) EncodeAll(rows [][]float64) *linalg.Dense {
	u := linalg.NewDense(len(rows), s.dim, nil)
	for i, r := range rows {
		s.encodeTo(u.Row(i), r)
	}
	return u
}

// Decode returns the point whose encoding is nearest to u, parameter by parameter; coordinates outside [0, 1] are
// clamped. It fails with [ErrDimension] or [ErrValue]. It inverts Encode, for reals to rounding.
func (s *Space) Decode(u []float64) ([]float64, error) {
	if len(u) != s.dim {
		return nil, Errorf(ErrDimension, "%d coordinates for an encoding of %d", len(u), s.dim)
	}
	for i, v := range u {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, atColumn(Errorf(ErrValue, "%g", v).with(v), i)
		}
	}
	row := make([]float64, len(s.params))
	k := 0
	for i, p := range s.params {
		row[i] = p.decode(u[k : k+p.width()])
		k += p.width()
	}
	return row, nil
}

// Row makes a point from values by name: a number for floats and ordinals, a whole number for
// integers, a choice's name for categoricals, true or false for booleans. Every parameter must be
// there and no other. Any Go integer or float type will do for numbers, so decoded JSON can be
// passed on. It fails with [ErrOutOfSpace] or [ErrValue] and names the parameter, or as Defined does.
func (s *Space) Row(config map[string]any) ([]float64, error) {
	if err := s.Defined(); err != nil {
		return nil, err
	}
	row := make([]float64, len(s.params))
	for i, p := range s.params {
		v, ok := config[p.name]
		if !ok {
			return nil, Errorf(ErrOutOfSpace, "missing").of(p.name)
		}
		var err error
		if row[i], err = p.fromAny(v); err != nil {
			return nil, err
		}
	}
	if len(config) > len(s.params) {
		for _, name := range slices.Sorted(maps.Keys(config)) {
			if _, ok := s.names[name]; !ok {
				return nil, Errorf(ErrOutOfSpace, "there is no parameter %q", name)
			}
		}
	}
	if err := s.Check(row); err != nil {
		return nil, err
	}
	return row, nil
}

// Config returns a point's values by name: float64, int, string or bool, by the parameter's kind;
// an ordinal's are int if all its numbers are whole. It fails as [Space.Check] does.
func (s *Space) Config(row []float64) (map[string]any, error) {
	if err := s.Check(row); err != nil {
		return nil, err
	}
	m := make(map[string]any, len(row))
	for i, p := range s.params {
		m[p.name] = p.toAny(row[i])
	}
	return m, nil
}

func (p Param) fromAny(v any) (float64, error) {
	switch x := v.(type) {
	case string:
		if p.kind == KindCategorical {
			if i := slices.Index(p.choices, x); i >= 0 {
				return float64(i), nil
			}
			return 0, Errorf(ErrOutOfSpace, "%q is not one of %q", x, p.choices).of(p.name)
		}
	case bool:
		if p.kind == KindBool && x {
			return 1, nil
		} else if p.kind == KindBool {
			return 0, nil
		}
	case json.Number:
		if f, err := parseNumber(x, p.whole()); err == nil && p.numeric() {
			return f, nil
		}
	default:
		if f, ok := goNumber(v, p.whole()); ok && p.numeric() {
			return f, nil
		}
	}
	return 0, Errorf(ErrOutOfSpace, "a value of type %T does not suit a %s parameter", v, p.kind).of(p.name)
}

// goNumber converts a value of any Go integer or float type; where it has to be whole it must not round to a bound of ±2^53.
func goNumber(v any, whole bool) (f float64, ok bool) {
	var n int64
	switch x := reflect.ValueOf(v); {
	case x.CanFloat():
		return x.Float(), true
	case x.CanInt():
		n = x.Int()
	case x.CanUint() && x.Uint() > math.MaxInt64:
		return float64(x.Uint()), true
	case x.CanUint():
		n = int64(x.Uint())
	default:
		return 0, false
	}
	if whole {
		return wholeFloat(n), true
	}
	return float64(n), true
}

// parseNumber converts a JSON number, exactly where it has to be whole: what lies beyond ±2^53 stays beyond.
func parseNumber(n json.Number, whole bool) (float64, error) {
	if whole {
		if v, err := n.Int64(); err == nil {
			return wholeFloat(v), nil
		}
	}
	return n.Float64()
}

func (p Param) toAny(v float64) any {
	switch {
	case p.wholeValues():
		return int(v)
	case p.kind == KindCategorical:
		return p.choices[int(v)]
	case p.kind == KindBool:
		return v != 0
	}
	return v
}

// SameParams reports whether two spaces encode points alike.
func (s *Space) SameParams(t *Space) bool {
	return slices.EqualFunc(s.params, t.params, Param.equal)
}

// Finite reports whether the space is a list of candidates.
func (s *Space) Finite() bool { return s.rows != nil }
