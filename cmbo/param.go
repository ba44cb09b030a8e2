package cmbo

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Kind is the type of a parameter.
type Kind uint8

// The kinds of parameters. Their values in a row of float64 are: the number
// itself for floats and integers, the index of the choice for categoricals, 0
// or 1 for booleans.
const (
	KindFloat Kind = iota
	KindLogFloat
	KindInt
	KindLogInt
	KindCategorical
	KindBool
)

var kindNames = [...]string{"float", "logfloat", "int", "logint", "categorical", "bool"}

// String returns the kind's name in lower case, as snapshots and priors store it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// A Param is one named dimension of a search space. Make one with [Float],
// [LogFloat], [Int], [LogInt], [Categorical] or [Bool]; [NewSpace] validates
// it. A Param is an immutable value.
type Param struct {
	name    string
	kind    Kind
	lo, hi  float64
	choices []string
}

// Float is a real parameter in [lo, hi], lo < hi, mapped linearly to [0, 1].
func Float(name string, lo, hi float64) Param {
	return Param{name: name, kind: KindFloat, lo: lo, hi: hi}
}

// LogFloat is a real parameter in [lo, hi], 0 < lo < hi, whose logarithm is
// mapped linearly to [0, 1]: a learning rate, a regularisation strength.
func LogFloat(name string, lo, hi float64) Param {
	return Param{name: name, kind: KindLogFloat, lo: lo, hi: hi}
}

// Int is an integer parameter in lo..hi, lo <= hi, mapped linearly to [0, 1].
func Int(name string, lo, hi int) Param {
	return Param{name: name, kind: KindInt, lo: float64(lo), hi: float64(hi)}
}

// LogInt is an integer parameter in lo..hi, 1 <= lo <= hi, whose logarithm is
// mapped linearly to [0, 1]: a batch size, a number of trees.
func LogInt(name string, lo, hi int) Param {
	return Param{name: name, kind: KindLogInt, lo: float64(lo), hi: float64(hi)}
}

// Categorical is a choice among at least one distinct names without order. It
// is encoded one-hot, one coordinate a choice.
func Categorical(name string, choices ...string) Param {
	return Param{name: name, kind: KindCategorical, hi: float64(len(choices) - 1), choices: slices.Clone(choices)}
}

// Bool is a switch, encoded as one coordinate, 0 or 1.
func Bool(name string) Param {
	return Param{name: name, kind: KindBool, hi: 1}
}

// Name returns the parameter's name.
func (p Param) Name() string { return p.name }

// Kind returns the parameter's kind.
func (p Param) Kind() Kind { return p.kind }

// Bounds returns the smallest and the largest value the parameter takes in a
// row; for a categorical 0 and the number of choices less one.
func (p Param) Bounds() (lo, hi float64) { return p.lo, p.hi }

// Choices returns a copy of a categorical's choices, nil for other kinds.
func (p Param) Choices() []string { return slices.Clone(p.choices) }

// width is the number of coordinates the parameter takes in the unit cube.
func (p Param) width() int {
	if p.kind == KindCategorical {
		return len(p.choices)
	}
	return 1
}

func (p Param) equal(q Param) bool {
	return p.name == q.name && p.kind == q.kind && p.lo == q.lo && p.hi == q.hi && slices.Equal(p.choices, q.choices)
}

// maxInt bounds integer parameters so that every value is exact in a float64.
const maxInt = 1 << 53

// validate reports what is wrong with the definition itself.
func (p Param) validate() error {
	fail := func(format string, args ...any) error {
		e := dataErrorf(ErrSpace, format, args...)
		e.Name = p.name
		return e
	}
	if p.name == "" {
		return fail("empty name")
	}
	if !utf8.ValidString(p.name) {
		return fail("the name is not UTF-8, and could not be stored")
	}
	if math.IsNaN(p.lo) || math.IsInf(p.lo, 0) || math.IsNaN(p.hi) || math.IsInf(p.hi, 0) {
		return fail("bounds [%g, %g] are not finite", p.lo, p.hi)
	}
	switch p.kind {
	case KindFloat:
		if !(p.lo < p.hi) {
			return fail("need lo < hi, have [%g, %g]", p.lo, p.hi)
		}
		if math.IsInf(p.hi-p.lo, 0) {
			return fail("the range of [%g, %g] overflows", p.lo, p.hi)
		}
	case KindLogFloat:
		if !(p.lo > 0 && p.lo < p.hi) {
			return fail("need 0 < lo < hi, have [%g, %g]", p.lo, p.hi)
		}
		if !(math.Log(p.lo) < math.Log(p.hi)) {
			return fail("the logarithms of [%g, %g] do not differ", p.lo, p.hi)
		}
	case KindInt, KindLogInt:
		if !(p.lo <= p.hi) {
			return fail("need lo <= hi, have %g..%g", p.lo, p.hi)
		}
		if p.kind == KindLogInt && !(p.lo >= 1) {
			return fail("a log integer needs lo >= 1, have %g", p.lo)
		}
		if p.kind == KindLogInt && p.lo < p.hi && !(math.Log(p.lo) < math.Log(p.hi)) {
			return fail("the logarithms of %g and %g do not differ", p.lo, p.hi)
		}
		if math.Abs(p.lo) > maxInt || math.Abs(p.hi) > maxInt {
			return fail("%g..%g is beyond the exact integers of a float64", p.lo, p.hi)
		}
	case KindCategorical:
		if len(p.choices) == 0 {
			return fail("a categorical needs at least one choice")
		}
		seen := make(map[string]bool, len(p.choices))
		for _, c := range p.choices {
			if seen[c] {
				return fail("choice %q appears twice", c)
			}
			if !utf8.ValidString(c) {
				return fail("choice %q is not UTF-8, and could not be stored", c)
			}
			seen[c] = true
		}
	case KindBool:
	default:
		return fail("unknown kind %d; use the constructors", p.kind)
	}
	return nil
}

// check reports whether v is a value the parameter takes.
func (p Param) check(v float64) error {
	fail := func(sentinel error, format string, args ...any) error {
		e := dataErrorf(sentinel, format, args...)
		e.Name, e.Value = p.name, v
		return e
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fail(ErrNotFinite, "%g", v)
	}
	if !(v >= p.lo && v <= p.hi) {
		if p.kind == KindCategorical {
			return fail(ErrOutOfSpace, "choice index %g is not in 0..%g", v, p.hi)
		}
		return fail(ErrOutOfSpace, "%g is not in [%g, %g]", v, p.lo, p.hi)
	}
	if p.kind > KindLogFloat && v != math.Trunc(v) {
		return fail(ErrOutOfSpace, "%g is not a whole number", v)
	}
	return nil
}

// encode writes the coordinates of a valid value v to dst[:p.width()].
func (p Param) encode(dst []float64, v float64) {
	switch p.kind {
	case KindCategorical:
		for i := range p.choices {
			dst[i] = 0
		}
		dst[int(v)] = 1
	case KindLogFloat, KindLogInt:
		dst[0] = 0
		if p.hi > p.lo {
			dst[0] = clamp01((math.Log(v) - math.Log(p.lo)) / (math.Log(p.hi) - math.Log(p.lo)))
		}
	default:
		dst[0] = 0
		if p.hi > p.lo {
			dst[0] = clamp01((v - p.lo) / (p.hi - p.lo))
		}
	}
}

// decode returns the value whose encoding is nearest to the coordinates u:
// the first largest coordinate of a categorical, the nearest whole number on
// the parameter's own scale for integers.
func (p Param) decode(u []float64) float64 {
	switch p.kind {
	case KindCategorical:
		best := 0
		for i := 1; i < len(p.choices); i++ {
			if u[i] > u[best] {
				best = i
			}
		}
		return float64(best)
	case KindBool:
		if u[0] >= 0.5 {
			return 1
		}
		return 0
	}
	v := p.lo
	t := clamp01(u[0])
	switch p.kind {
	case KindFloat, KindInt:
		v = p.lo + t*(p.hi-p.lo)
	case KindLogFloat, KindLogInt:
		v = math.Exp(math.Log(p.lo) + t*(math.Log(p.hi)-math.Log(p.lo)))
	}
	if p.kind == KindInt || p.kind == KindLogInt {
		v = math.Round(v)
	}
	return min(max(v, p.lo), p.hi)
}

// spread maps a uniform number t in [0, 1) to a value such that every whole
// number and every choice has the same probability (on the log scale for
// LogInt as nearly as whole numbers allow); reals follow their own scale.
func (p Param) spread(t float64) float64 {
	switch p.kind {
	case KindInt, KindCategorical, KindBool:
		return min(p.lo+math.Floor(t*(p.hi-p.lo+1)), p.hi)
	case KindLogInt:
		lo, hi := math.Log(p.lo-0.5), math.Log(p.hi+0.5)
		return min(max(math.Round(math.Exp(lo+t*(hi-lo))), p.lo), p.hi)
	}
	return p.decode([]float64{t})
}

func clamp01(t float64) float64 { return min(max(t, 0), 1) }
