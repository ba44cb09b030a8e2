package space

import (
	"fmt"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
)

// A Point is a row with the space that knows its parameters, nil if nobody gave one. Its methods are those of a
// trial in package cmbo: the getters of single values panic where the name is that of no parameter of their kind.
type Point struct {
	Space *Space
	X     []float64
}

// value returns the entry of the named parameter and panics unless it suits.
func (v Point) value(getter, name string, suits func(Param) bool) (Param, float64) {
	if v.Space == nil {
		panic(fmt.Sprintf("cmbo: %s(%q): no Optimizer made the point", getter, name))
	}
	i, ok := v.Space.names[name]
	if !ok {
		known := each.Of(v.Space.params, Param.Name)
		panic(fmt.Sprintf("cmbo: %s(%q): there is no parameter of that name among %q", getter, name, known))
	}
	p := v.Space.params[i]
	if !suits(p) {
		panic(fmt.Sprintf("cmbo: %s(%q): it is a parameter of kind %s", getter, name, p.kind))
	}
	if i >= len(v.X) || p.check(v.X[i]) != nil {
		panic(fmt.Sprintf("cmbo: %s(%q): the point %v was changed and is none of the space", getter, name, v.X))
	}
	return p, v.X[i]
}

// Float returns the value of a float, integer or ordinal parameter.
func (v Point) Float(name string) float64 {
	_, x := v.value("Float", name, Param.numeric)
	return x
}

// Int returns the value of an integer parameter or of an ordinal of whole numbers.
func (v Point) Int(name string) int {
	_, x := v.value("Int", name, Param.wholeValues)
	return int(x)
}

// Choice returns the chosen name of a categorical parameter.
func (v Point) Choice(name string) string {
	p, x := v.value("Choice", name, func(p Param) bool { return p.kind == KindCategorical })
	return p.choices[int(x)]
}

// Bool returns the value of a boolean parameter.
func (v Point) Bool(name string) bool {
	_, x := v.value("Bool", name, func(p Param) bool { return p.kind == KindBool })
	return x != 0
}

// Config returns the values by name, as [Space.Config] does; nil without a space or for a row that is none of it.
func (v Point) Config() map[string]any {
	if v.Space == nil {
		return nil
	}
	m, _ := v.Space.Config(v.X) // nil with an error
	return m
}

// String lists the values by name, such as " lr=0.01 depth=4 kernel=rbf".
func (v Point) String() string {
	var b strings.Builder
	for i, x := range v.X {
		if v.Space == nil || i >= len(v.Space.params) || v.Space.params[i].check(x) != nil {
			fmt.Fprintf(&b, " %g", x)
			continue
		}
		p := v.Space.params[i]
		fmt.Fprintf(&b, " %s=%v", p.name, p.toAny(x))
	}
	return b.String()
}
