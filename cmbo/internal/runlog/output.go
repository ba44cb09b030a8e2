package runlog

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/linalg"
)

// An Output is a value that evaluations bring beside the objective, with limits or none.
type Output struct {
	Name     string   `json:"name"`
	AtLeast  *float64 `json:"at_least,omitempty"`
	AtMost   *float64 `json:"at_most,omitempty"`
	Optional bool     `json:"optional,omitempty"` // it may be missing
	Cost     bool     `json:"cost,omitempty"`     // it is what an evaluation costs
}

// Limited reports whether it is a constraint.
func (o *Output) Limited() bool { return o.AtLeast != nil || o.AtMost != nil }

// String says it in words, such as "seconds" (at most 5, optional), with digits that tell limits apart.
func (o *Output) String() string {
	var words []string
	if o.AtLeast != nil {
		words = append(words, fmt.Sprintf("at least %v", *o.AtLeast))
	}
	if o.AtMost != nil {
		words = append(words, fmt.Sprintf("at most %v", *o.AtMost))
	}
	if o.Cost {
		words = append(words, "the cost")
	}
	if o.Optional {
		words = append(words, "optional")
	}
	if words == nil {
		return fmt.Sprintf("%q", o.Name)
	}
	return fmt.Sprintf("%q (%s)", o.Name, strings.Join(words, ", "))
}

// Limits returns the limits, infinite where there is none.
func (o *Output) Limits() (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	return *cmp.Or(o.AtLeast, &lo), *cmp.Or(o.AtMost, &hi)
}

// Beyond returns how far v is beyond a limit, 0 if it holds the limits.
func (o *Output) Beyond(v float64) float64 {
	lo, hi := o.Limits()
	return max(lo-v, v-hi, 0)
}

// CheckOutputs reports outputs that cannot be: without a name or with one that another has,
// not in the order of their names, with limits that nothing holds, or a second cost. Names are those
// that a stored run may have, of which space.CheckName refuses some to a new one.
func CheckOutputs(outputs []Output) error {
	cost := ""
	for i, o := range outputs {
		if o.Name == "" || !utf8.ValidString(o.Name) {
			return fmt.Errorf("output %q", o.Name)
		}
		if i > 0 && outputs[i-1].Name >= o.Name {
			return fmt.Errorf("output %q follows %q", o.Name, outputs[i-1].Name)
		}
		for _, l := range []*float64{o.AtLeast, o.AtMost} {
			if l != nil && space.CheckValue(*l) != nil {
				return fmt.Errorf("output %q: limit %g is not a number within ±1e150", o.Name, *l)
			}
		}
		if lo, hi := o.Limits(); lo >= hi {
			return fmt.Errorf("output %q: at least %g and at most %g leave no room", o.Name, lo, hi)
		} else if o.Cost && hi <= 0 {
			return fmt.Errorf("output %q is a cost, which is positive: at most %g leaves no room", o.Name, hi)
		}
		if o.Cost && cost != "" {
			return fmt.Errorf("outputs %q and %q are both the cost", cost, o.Name)
		}
		if o.Cost {
			cost = o.Name
		}
	}
	return nil
}

// CheckValues reports outputs that an evaluation cannot have brought: unknown, missing,
// no numbers, or costs that are not positive. One that failed may lack all but the cost.
func (h *Log) CheckValues(values map[string]float64, failed bool) error {
	for _, name := range slices.Sorted(maps.Keys(values)) { // before one that is missing: it may be that one misspelled
		if !slices.ContainsFunc(h.outputs, func(o Output) bool { return o.Name == name }) {
			known := each.Of(h.outputs, func(o Output) string { return o.Name })
			return space.Errorf(space.ErrOutput, "output %q is none of the run's, %q", name, known)
		}
	}
	for _, o := range h.outputs {
		v, ok := values[o.Name]
		switch {
		case ok:
			if err := space.CheckOutput(o.Name, v); err != nil {
				return err
			}
			if o.Cost && !(v > 0) {
				return space.Errorf(space.ErrOutput, "output %q is a cost, and %g is not positive", o.Name, v)
			}
		case !o.Optional && (o.Cost || !failed):
			return space.Errorf(space.ErrOutput, "output %q is missing, and it is not optional", o.Name)
		}
	}
	return nil
}

// Hold reports whether the values that an evaluation brought are known to hold all limits.
func Hold(outputs []Output, values map[string]float64) bool {
	return !slices.ContainsFunc(outputs, func(o Output) bool {
		v, ok := values[o.Name]
		return o.Limited() && !(ok && o.Beyond(v) == 0)
	})
}

// Feasible reports whether observation i is known to hold all limits.
func (h *Log) Feasible(i int) bool { return Hold(h.outputs, h.Observations[i].Outputs) }

// Nearest returns the index of the observation that is the least beyond the limits, in deviations of each output's values
// summed over the outputs, of equals the one of the best value and then the first; -1 if all lack an output that has a limit.
func (h *Log) Nearest(minimize bool) int {
	n := len(h.Observations)
	beyond := make([]float64, n)
	for _, o := range h.outputs {
		if !o.Limited() {
			continue
		}
		var values []float64
		for _, ob := range h.Observations {
			if v, ok := ob.Outputs[o.Name]; ok {
				values = append(values, v)
			}
		}
		unit := scaling.Fit(scaling.ZScore, values).Scale
		for i, ob := range h.Observations {
			if v, ok := ob.Outputs[o.Name]; ok {
				beyond[i] += o.Beyond(v) / unit
			} else {
				beyond[i] = math.Inf(1)
			}
		}
	}
	best := -1
	value := func(i int) float64 { return scaling.Orient(h.Observations[i].Y, minimize) }
	for i, b := range beyond {
		if !math.IsInf(b, 1) && (best < 0 || b < beyond[best] || b == beyond[best] && value(i) > value(best)) {
			best = i
		}
	}
	return best
}

// EncodedOutput returns the points evaluated, failed ones too, that have an output, in the unit cube, and its values.
func (h *Log) EncodedOutput(name string) (x *linalg.Dense, values []float64) {
	var rows [][]float64
	for _, e := range h.answers {
		if v, ok := e.Outputs[name]; ok && e.Kind != EventStopped {
			rows, values = append(rows, e.X), append(values, v)
		}
	}
	return h.space.EncodeAll(rows), values
}

// CostOutput returns the output that is the cost, nil for none.
func (h *Log) CostOutput() *Output {
	if i := slices.IndexFunc(h.outputs, func(o Output) bool { return o.Cost }); i >= 0 {
		return &h.outputs[i]
	}
	return nil
}
