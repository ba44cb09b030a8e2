package cmbo

import (
	"fmt"
	"math"
	"slices"
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

// value returns the entry of the named parameter if it has one of the kinds.
func (t Trial) value(name string, kinds ...Kind) (Param, float64, bool) {
	if t.space == nil {
		return Param{}, 0, false
	}
	i, ok := t.space.names[name]
	if !ok || i >= len(t.X) || !slices.Contains(kinds, t.space.params[i].kind) {
		return Param{}, 0, false
	}
	return t.space.params[i], t.X[i], true
}

// Float returns the value of a float, integer or ordinal parameter, NaN if there is no
// such parameter.
func (t Trial) Float(name string) float64 {
	if _, v, ok := t.value(name, KindFloat, KindLogFloat, KindInt, KindLogInt, KindOrdinal); ok {
		return v
	}
	return math.NaN()
}

// Int returns the value of an integer parameter or of an ordinal of whole
// numbers, the smallest int if there is no such parameter.
func (t Trial) Int(name string) int {
	if p, v, ok := t.value(name, KindInt, KindLogInt, KindOrdinal); ok && p.wholeValues() {
		return int(v)
	}
	return math.MinInt
}

// Choice returns the chosen name of a categorical parameter, the empty string
// if there is no such parameter.
func (t Trial) Choice(name string) string {
	p, v, ok := t.value(name, KindCategorical)
	if !ok || !(v >= 0 && v < float64(len(p.choices))) {
		return ""
	}
	return p.choices[int(v)]
}

// Bool returns the value of a boolean parameter, false if there is no such
// parameter.
func (t Trial) Bool(name string) bool {
	_, v, ok := t.value(name, KindBool)
	return ok && v != 0
}

// Config returns the values by name, as [Space.Config] does; nil if the trial
// was not made by an Optimizer.
func (t Trial) Config() map[string]any {
	if t.space == nil {
		return nil
	}
	m, err := t.space.Config(t.X)
	if err != nil {
		return nil
	}
	return m
}

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
