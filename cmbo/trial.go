package cmbo

import (
	"fmt"
	"strings"
)

// A Trial is a point an [Optimizer] proposes for evaluation. It is plain data:
// the caller may keep or change it.
type Trial struct {
	// ID identifies the trial in Tell, TellFailed and Cancel: 1, 2, ... in the
	// order of asking.
	ID int
	// Index is the row in the list of candidates, -1 in a parameter space.
	Index int
	// X is the point, as [Space] describes rows.
	X []float64

	space *Space
}

// Float returns the value of a float, integer or ordinal parameter. Like an index
// out of range, the name of no such parameter is a mistake of the program: Float,
// Int, Choice and Bool panic and say which names there are. Where names come from
// elsewhere, use [Trial.Config]; [Trial.Into] returns an error.
func (t Trial) Float(name string) float64 { return t.values().float(name) }

// Int returns the value of an integer parameter or of an ordinal of whole
// numbers. It panics as [Trial.Float] does.
func (t Trial) Int(name string) int { return t.values().int(name) }

// Choice returns the chosen name of a categorical parameter. It panics as
// [Trial.Float] does.
func (t Trial) Choice(name string) string { return t.values().choice(name) }

// Bool returns the value of a boolean parameter. It panics as [Trial.Float] does.
func (t Trial) Bool(name string) bool { return t.values().bool(name) }

// Config returns the values by name, as [Space.Config] does; nil if the trial
// was not made by an Optimizer.
func (t Trial) Config() map[string]any { return t.values().config() }

// Into sets the fields of a struct to the values of the parameters that their
// tags name:
//
//	var cfg struct {
//		LR    float64 `cmbo:"lr"`
//		Depth int     `cmbo:"depth"`
//	}
//	err := trial.Into(&cfg)
//
// [SpaceOf] describes the tags, of which only the name matters here, and the
// types of fields. Into fails with [ErrSpace] if cfg is no pointer to a struct, if
// a tag names no parameter, a parameter has no field or one of another type, or
// if the trial was not made by an Optimizer; cfg is unchanged then.
func (t Trial) Into(cfg any) error { return t.values().into(cfg) }

func (t Trial) values() values { return values{t.space, t.X} }

// An Observation is a point and the value measured there.
type Observation struct {
	X []float64 // the point, as [Space] describes rows
	Y float64   // in the user's units
	// NoiseVariance is the variance of the measurement's error in squared
	// units of Y, 0 if it was not given.
	NoiseVariance float64
	// Trial is the ID of the trial that was told, 0 for an observation the
	// optimiser did not propose.
	Trial int

	space *Space
}

// Float returns the value of a parameter as [Trial.Float] does.
func (o Observation) Float(name string) float64 { return o.values().float(name) }

// Int returns the value of a parameter as [Trial.Int] does.
func (o Observation) Int(name string) int { return o.values().int(name) }

// Choice returns the value of a parameter as [Trial.Choice] does.
func (o Observation) Choice(name string) string { return o.values().choice(name) }

// Bool returns the value of a parameter as [Trial.Bool] does.
func (o Observation) Bool(name string) bool { return o.values().bool(name) }

// Config returns the values by name as [Trial.Config] does.
func (o Observation) Config() map[string]any { return o.values().config() }

// Into sets the fields of a struct as [Trial.Into] does.
func (o Observation) Into(cfg any) error { return o.values().into(cfg) }

func (o Observation) values() values { return values{o.space, o.X} }

// values is a point and the space that knows its parameters, nil if an
// optimiser did not make it.
type values struct {
	space *Space
	x     []float64
}

// value returns the entry of the named parameter and panics unless it suits.
func (v values) value(getter, name string, suits func(Param) bool) (Param, float64) {
	if v.space == nil {
		panic(fmt.Sprintf("cmbo: %s(%q): no Optimizer made the point", getter, name))
	}
	i, ok := v.space.names[name]
	if !ok {
		var names []string
		for _, p := range v.space.params {
			names = append(names, p.name)
		}
		panic(fmt.Sprintf("cmbo: %s(%q): there is no parameter of that name among %q", getter, name, names))
	}
	p := v.space.params[i]
	if !suits(p) {
		panic(fmt.Sprintf("cmbo: %s(%q): it is a parameter of kind %s", getter, name, p.kind))
	}
	if i >= len(v.x) || p.check(v.x[i]) != nil {
		panic(fmt.Sprintf("cmbo: %s(%q): the point %v was changed and is none of the space", getter, name, v.x))
	}
	return p, v.x[i]
}

func (v values) float(name string) float64 {
	_, x := v.value("Float", name, Param.numeric)
	return x
}

func (v values) int(name string) int {
	_, x := v.value("Int", name, Param.wholeValues)
	return int(x)
}

func (v values) choice(name string) string {
	p, x := v.value("Choice", name, func(p Param) bool { return p.kind == KindCategorical })
	return p.choices[int(x)]
}

func (v values) bool(name string) bool {
	_, x := v.value("Bool", name, func(p Param) bool { return p.kind == KindBool })
	return x != 0
}

func (v values) config() map[string]any {
	if v.space == nil {
		return nil
	}
	m, err := v.space.Config(v.x)
	if err != nil {
		return nil
	}
	return m
}

// String lists the trial's ID and its values by name, such as
// "trial 3: lr=0.01 depth=4 kernel=rbf".
func (t Trial) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "trial %d:", t.ID)
	for i, v := range t.X {
		if t.space == nil || i >= len(t.space.params) || t.space.params[i].check(v) != nil {
			fmt.Fprintf(&b, " %g", v)
			continue
		}
		p := t.space.params[i]
		fmt.Fprintf(&b, " %s=%v", p.name, p.toAny(v))
	}
	return b.String()
}
