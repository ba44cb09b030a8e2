package space

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/internal/names"
)

// Kind is the type of a parameter.
type Kind uint8

// The kinds of parameters. Their values in a row of float64 are: the number itself for floats,
// integers and ordinals, the index of the choice for categoricals, 0 or 1 for booleans.
const (
	KindFloat Kind = iota
	KindLogFloat
	KindInt
	KindLogInt
	KindCategorical
	KindBool
	KindOrdinal
)

var kindNames = [...]string{"float", "logfloat", "int", "logint", "categorical", "bool", "ordinal"}

// String returns the kind's name in lower case, as snapshots and priors store it.
func (k Kind) String() string { return names.Of(kindNames[:], int(k), "Kind") }

// ParseKind returns the kind that prints as name. It fails if none does.
func ParseKind(name string) (Kind, error) {
	k := slices.Index(kindNames[:], name)
	if k < 0 {
		return 0, fmt.Errorf("unknown kind %q, none of %s", name, strings.Join(kindNames[:], ", "))
	}
	return Kind(k), nil
}

// A Param is one named dimension of a search space. Make one with [Float], [LogFloat], [Int],
// [LogInt], [Ordinal], [Categorical] or [Bool]; [New] validates it. A Param is an immutable value.
type Param struct {
	name    string
	kind    Kind
	lo, hi  float64
	step    float64 // 0 for none
	scale   float64 // power of ten that makes lo and step whole numbers, 0 if none does
	choices []string
	values  []float64 // of an ordinal
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

// Int is an integer parameter in lo..hi, lo <= hi, both within ±2^53, mapped linearly to [0, 1].
func Int(name string, lo, hi int) Param {
	return Param{name: name, kind: KindInt, lo: wholeFloat(int64(lo)), hi: wholeFloat(int64(hi))}
}

// LogInt is an integer parameter in lo..hi, 1 <= lo <= hi, whose logarithm is
// mapped linearly to [0, 1]: a batch size, a number of trees.
func LogInt(name string, lo, hi int) Param {
	return Param{name: name, kind: KindLogInt, lo: wholeFloat(int64(lo)), hi: wholeFloat(int64(hi))}
}

// Ordinal is a choice among at least one number, given in increasing order: a layer of 16, 32 or 64 units. Its values are
// mapped to [0, 1] by their place in the list; where differences count, use [Int] or [Float] with a step.
func Ordinal(name string, values ...float64) Param {
	p := Param{name: name, kind: KindOrdinal, values: slices.Clone(values)}
	if n := len(values); n > 0 {
		p.lo, p.hi = values[0], values[n-1]
	}
	return p
}

// Categorical is a choice among at least one distinct names without order. It is encoded one-hot, one coordinate a choice.
func Categorical(name string, choices ...string) Param {
	return Param{name: name, kind: KindCategorical, hi: float64(len(choices) - 1), choices: slices.Clone(choices)}
}

// Bool is a switch, encoded as one coordinate, 0 or 1.
func Bool(name string) Param {
	return Param{name: name, kind: KindBool, hi: 1}
}

// WithStep returns a [Float] or [Int] parameter that takes the values lo, lo + step, lo + 2 step, ... up to hi
// alone; [New] makes the last of them the upper bound. A step of 0 is none. New refuses steps of other kinds, and
// those that are negative, below a billionth of the larger bound or, for an integer, no whole number. If lo and
// step are decimals of up to 15 places, each value is the float64 next to the decimal: 0.1 + 2·0.1 is 0.3. A float
// that is one of them but for rounding is taken for it: [Space.Canonical].
func (p Param) WithStep(step float64) Param {
	p.step, p.scale = step, 0
	if p.kind == KindInt && step == 1 {
		p.step = 0
	}
	if p.kind == KindFloat && p.step != 0 {
		p.scale = decimalScale(p.lo, p.step)
	}
	return p
}

// decimalScale returns the smallest power of ten that makes whole numbers of
// the decimals a and b, 0 if they have more than 15 places.
func decimalScale(a, b float64) float64 {
	places := 0
	for _, v := range []float64{a, b} {
		_, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
		places = max(places, len(fraction))
	}
	if places > 15 {
		return 0
	}
	return math.Pow10(places)
}

// String describes the values, such as "a logfloat in [1e-05, 1]" or "one of "rbf", "poly"".
func (p Param) String() string {
	switch p.kind {
	case KindCategorical:
		return "one of " + names.Quote(8, p.choices)
	case KindBool:
		return "a bool"
	case KindOrdinal:
		return fmt.Sprintf("an ordinal of %v", p.values)
	}
	article := "a"
	if p.kind == KindInt {
		article = "an"
	}
	text := fmt.Sprintf("%s %s in [%s, %s]", article, p.kind, p.text(p.lo), p.text(p.hi))
	if p.step != 0 {
		text += fmt.Sprintf(" with step %g", p.step)
	}
	return text
}

// Name returns the parameter's name.
func (p Param) Name() string { return p.name }

// Kind returns the parameter's kind.
func (p Param) Kind() Kind { return p.kind }

// Bounds returns the smallest and the largest value the parameter takes in a
// row; for a categorical 0 and the number of choices less one.
func (p Param) Bounds() (lo, hi float64) { return p.lo, p.hi }

// Step returns the distance between neighbouring values of a parameter with a
// step: that given to [Param.WithStep], 1 for integers without one, else 0.
func (p Param) Step() float64 {
	if p.step == 0 && p.whole() {
		return 1
	}
	return p.step
}

// Choices returns a copy of a categorical's choices, nil for other kinds.
func (p Param) Choices() []string { return slices.Clone(p.choices) }

// Values returns a copy of an ordinal's numbers, nil for other kinds.
func (p Param) Values() []float64 { return slices.Clone(p.values) }

func (p Param) whole() bool { return p.kind == KindInt || p.kind == KindLogInt }

// wholeValues reports whether all values are integers that int holds.
func (p Param) wholeValues() bool {
	return p.whole() || p.kind == KindOrdinal && !slices.ContainsFunc(p.values, func(v float64) bool {
		return v != math.Trunc(v) || v < leastInt || v > mostInt
	})
}

// numeric reports whether the entry in a row is the value itself and the values have an order.
func (p Param) numeric() bool { return p.kind != KindCategorical && p.kind != KindBool }

// count returns the number of values the parameter takes, +Inf for a real.
func (p Param) count() float64 {
	switch {
	case p.kind == KindOrdinal:
		return float64(len(p.values))
	case p.step != 0:
		// A bound that is a multiple of the step but for rounding counts.
		q := (p.hi - p.lo) / p.step
		return math.Floor(q+p.slack()) + 1
	case p.kind <= KindLogFloat:
		return math.Inf(1)
	}
	return p.hi - p.lo + 1
}

// slack is how far a value of a parameter with a step may lie from a multiple, in steps: what text
// of eight digits and the rounding of bounds and values leave.
func (p Param) slack() float64 {
	return 1e-8 + 0x1p-50*math.Max(math.Abs(p.lo), math.Abs(p.hi))/p.step
}

// nth returns value k of the values of a parameter with a finite count, from 0.
func (p Param) nth(k float64) float64 {
	switch {
	case p.kind == KindOrdinal:
		return p.values[int(k)]
	case p.step == 0 || k == 0: // lo itself, which p.scale may round
		return min(p.lo+k, p.hi) // ranks beyond 2^53 round
	}
	v := p.lo + k*p.step
	if p.scale > 0 {
		// Whole numbers divided by a power of ten round once.
		if t := math.Round(p.lo*p.scale) + k*math.Round(p.step*p.scale); math.Abs(t) <= maxInt {
			v = t / p.scale
		}
	}
	return v
}

// rank returns the index of the value nearest to v, by which nth knows it.
func (p Param) rank(v float64) float64 {
	switch {
	case p.kind == KindOrdinal:
		i, found := slices.BinarySearch(p.values, v)
		if i == len(p.values) || !found && i > 0 && v-p.values[i-1] < p.values[i]-v {
			i--
		}
		return float64(i)
	case p.step == 0:
		return v - p.lo
	}
	return min(max(math.Round((v-p.lo)/p.step), 0), p.count()-1)
}

// width is the number of coordinates the parameter takes in the unit cube.
func (p Param) width() int {
	if p.kind == KindCategorical {
		return len(p.choices)
	}
	return 1
}

func (p Param) equal(q Param) bool {
	return p.name == q.name && p.kind == q.kind && p.lo == q.lo && p.hi == q.hi && p.step == q.step &&
		slices.Equal(p.choices, q.choices) && slices.Equal(p.values, q.values)
}

// maxInt bounds integer parameters so that every value is exact in a float64.
const maxInt = 1 << 53

// An int of 32 bits has to hold them, too: a space may come from another machine.
const leastInt, mostInt = max(-maxInt, math.MinInt), min(maxInt, math.MaxInt)

// wholeFloat converts an integer; those beyond ±2^53 stay beyond where they would round to it.
func wholeFloat(v int64) float64 {
	switch f := float64(v); {
	case v > maxInt:
		return max(f, maxInt+2)
	case v < -maxInt:
		return min(f, -maxInt-2)
	default:
		return f
	}
}

// validate reports what is wrong with the definition itself.
func (p Param) validate() error {
	fail := func(format string, args ...any) error { return Errorf(ErrSpace, format, args...).of(p.name) }
	log := p.kind == KindLogFloat || p.kind == KindLogInt
	switch {
	case !utf8.ValidString(p.name):
		return fail("the name is not UTF-8, and could not be stored")
	case int(p.kind) >= len(kindNames):
		return fail("unknown kind %d; use the constructors", p.kind)
	case math.IsNaN(p.lo) || math.IsInf(p.lo, 0) || math.IsNaN(p.hi) || math.IsInf(p.hi, 0):
		return fail("bounds [%g, %g] are not finite", p.lo, p.hi)
	case p.kind == KindFloat && !(p.lo < p.hi || p.lo == p.hi && p.step != 0):
		return fail("need lo < hi, have [%g, %g]", p.lo, p.hi)
	case p.kind == KindFloat && math.IsInf(p.hi-p.lo, 0):
		return fail("the range of [%g, %g] overflows", p.lo, p.hi)
	case p.kind == KindLogFloat && !(p.lo > 0 && p.lo < p.hi):
		return fail("need 0 < lo < hi, have [%g, %g]", p.lo, p.hi)
	case p.whole() && !(p.lo <= p.hi):
		return fail("need lo <= hi, have %g..%g", p.lo, p.hi)
	case p.kind == KindLogInt && !(p.lo >= 1):
		return fail("a log integer needs lo >= 1, have %g", p.lo)
	case log && p.lo < p.hi && !(math.Log(p.lo) < math.Log(p.hi)):
		return fail("the logarithms of [%g, %g] do not differ", p.lo, p.hi)
	case p.whole() && (p.lo < leastInt || p.hi > mostInt):
		return fail("%.16g..%.16g is beyond %d..%d, the exact integers of a float64 and an int", p.lo, p.hi, int64(leastInt), int64(mostInt))
	case p.kind == KindCategorical && len(p.choices) == 0:
		return fail("a categorical needs at least one choice")
	case p.kind == KindOrdinal && len(p.values) == 0:
		return fail("an ordinal needs at least one value")
	}
	seen := make(map[string]bool, len(p.choices))
	for _, c := range p.choices {
		switch {
		case seen[c]:
			return fail("choice %q appears twice", c)
		case !utf8.ValidString(c):
			return fail("choice %q is not UTF-8, and could not be stored", c)
		}
		seen[c] = true
	}
	for i, v := range p.values {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fail("value %g is not finite", v)
		case i > 0 && !(v > p.values[i-1]):
			return fail("value %g follows %g; they must increase", v, p.values[i-1])
		}
	}
	if p.step == 0 {
		return nil
	}
	switch {
	case p.kind != KindFloat && p.kind != KindInt:
		return fail("a %s parameter takes no step", p.kind)
	case !(p.step > 0 && !math.IsInf(p.step, 1)):
		return fail("a step of %g is not positive and finite", p.step)
	case p.kind == KindInt && p.step != math.Trunc(p.step):
		return fail("an integer's step of %g is not a whole number", p.step)
	case p.step < 1e-9*math.Max(math.Abs(p.lo), math.Abs(p.hi)):
		return fail("a step of %g is below a billionth of the bounds [%g, %g]", p.step, p.lo, p.hi)
	}
	return nil
}

// check reports whether v is a value the parameter takes.
func (p Param) check(v float64) error {
	fail := func(sentinel error, format string, args ...any) error {
		return Errorf(sentinel, format, args...).of(p.name).with(v)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fail(ErrValue, "%g", v)
	}
	if p.kind == KindFloat && p.step != 0 {
		k := p.rank(v)
		if d := math.Abs(v-p.nth(k)) / p.step; !(d <= p.slack()) {
			return fail(ErrOutOfSpace, "%g is not one of %g, %g, ... %g", v, p.lo, p.nth(1), p.hi)
		}
		return nil
	}
	if !(v >= p.lo && v <= p.hi) {
		if p.kind == KindCategorical {
			return fail(ErrOutOfSpace, "choice index %g is not in 0..%g", v, p.hi)
		}
		return fail(ErrOutOfSpace, "%g is not in [%g, %g]", v, p.lo, p.hi)
	}
	if p.kind == KindOrdinal {
		if p.values[int(p.rank(v))] != v {
			return fail(ErrOutOfSpace, "%g is not one of %v", v, p.values)
		}
		return nil
	}
	if p.kind > KindLogFloat && v != math.Trunc(v) {
		return fail(ErrOutOfSpace, "%g is not a whole number", v)
	}
	if p.step != 0 && math.Mod(v-p.lo, p.step) != 0 {
		return fail(ErrOutOfSpace, "%g is not one of %g, %g, ... %g", v, p.lo, p.lo+p.step, p.hi)
	}
	return nil
}

// round returns the value that check takes v for.
func (p Param) round(v float64) float64 {
	if p.kind == KindFloat && p.step != 0 {
		return p.nth(p.rank(v))
	}
	return v
}

// scaled returns v on the scale that is mapped linearly to [0, 1].
func (p Param) scaled(v float64) float64 {
	if p.kind == KindLogFloat || p.kind == KindLogInt {
		return math.Log(v)
	}
	return v
}

// encode writes the coordinates of a valid value v to dst[:p.width()].
func (p Param) encode(dst []float64, v float64) {
	clear(dst[:p.width()])
	switch {
	case p.kind == KindCategorical:
		dst[int(v)] = 1
	case p.hi == p.lo: // has one value
	case p.kind == KindOrdinal:
		dst[0] = p.rank(v) / (p.count() - 1)
	default:
		dst[0] = clamp01((p.scaled(v) - p.scaled(p.lo)) / (p.scaled(p.hi) - p.scaled(p.lo)))
	}
}

// decode returns the value whose encoding is nearest to the coordinates u: the first largest coordinate of a categorical,
// the nearest whole number or multiple of the step on the parameter's own scale for integers and steps.
func (p Param) decode(u []float64) float64 {
	switch p.kind {
	case KindCategorical:
		return float64(slices.Index(u, slices.Max(u)))
	case KindBool:
		if u[0] >= 0.5 {
			return 1
		}
		return 0
	}
	t := clamp01(u[0])
	if p.kind == KindOrdinal || p.step != 0 {
		return p.nth(math.Round(t * (p.count() - 1)))
	}
	switch t { // the very bounds, which rounding may miss
	case 0:
		return p.lo
	case 1:
		return p.hi
	}
	v := p.scaled(p.lo) + t*(p.scaled(p.hi)-p.scaled(p.lo))
	if p.kind == KindLogFloat || p.kind == KindLogInt {
		v = math.Exp(v)
	}
	if p.whole() {
		v = math.Round(v)
	}
	return min(max(v, p.lo), p.hi)
}

// spread maps a uniform number t in [0, 1) to a value such that every whole number and every choice has the same
// probability (on the log scale for LogInt as nearly as whole numbers allow); reals follow their own scale.
func (p Param) spread(t float64) float64 {
	n := p.count()
	switch {
	case p.kind == KindLogInt:
		lo, hi := math.Log(p.lo-0.5), math.Log(p.hi+0.5)
		return min(max(math.Round(math.Exp(lo+t*(hi-lo))), p.lo), p.hi)
	case math.IsInf(n, 1):
		return p.decode([]float64{t})
	}
	return p.nth(min(math.Floor(t*n), n-1))
}

func clamp01(t float64) float64 { return min(max(t, 0), 1) }
