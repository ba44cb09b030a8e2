package cmbo

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
)

// Outputs are values that an evaluation brought beside the objective, by name, in the user's units, told with its
// value or its failure:
//
//	err = opt.Tell(trial.ID, size, cmbo.Outputs{"seconds": s})
//
// Names must be declared by [WithOutput]. With a value all must be there that are not [Optional], with a failure, or a
// stop that tells any, only a cost. Else the call fails with [ErrOutput], as for a cost that is not positive; values
// that are NaN or beyond ±1e150 are [ErrValue].
type Outputs map[string]float64

func (v Outputs) applyObservation(e *runlog.Event) error {
	if e.Outputs != nil {
		return optionErrorf("Outputs given twice")
	}
	if len(v) > 0 {
		e.Outputs = maps.Clone(v)
	}
	return nil
}

// WithOutput declares a value that evaluations bring beside the objective, to be told as one of
// [Outputs]. With [AtMost] or [AtLeast] it is a constraint: the run looks for the best value of
// those that hold all limits. Without a limit it changes no proposal, unless it is [AsCost].
//
// Its model is the hierarchical prior of the past tasks that have an output of this name ([Prior.Outputs]), else a
// Gaussian process. The acquisition is the improvement over the best value within all limits, times the probabilities
// that the point holds them. Until some value is within all limits, the acquisition only decides among the points whose
// probability is at least 95 % of the largest; from ten values on of which none holds the limits of its output every second
// point is chosen by its distance from all others, and all are while these are one value of which no past task tells. So an
// error code is best told as a flag, 0 or 1: codes look as if they led somewhere.
//
// Names have up to 200 bytes, no control characters and no space at an end, and differ from each other, and from others of
// past tasks, by more than case, spaces and the signs _-. [Optimizer.Transfer] and [Check] report limits that do not fit the
// values of past tasks.
func WithOutput(name string, opts ...OutputOption) Option {
	return option{id: optOutput, run: func(c *runConfig) error {
		if err := space.CheckName("output", name); err != nil {
			return optionErrorf("%v", err)
		}
		o := runlog.Output{Name: name}
		if err := applyAll("OutputOption", opts, &o, OutputOption.applyOutput); err != nil {
			return err
		}
		at, known := slices.BinarySearchFunc(c.outputs, o, func(a, b runlog.Output) int { return strings.Compare(a.Name, b.Name) })
		if known {
			return optionErrorf("output %q is declared twice", name)
		}
		c.outputs = slices.Insert(slices.Clone(c.outputs), at, o)
		err := runlog.CheckOutputs(c.outputs)
		return refuseUnless(err == nil, "%v", err)
	}}
}

// An OutputOption says more of an output: see [WithOutput].
type OutputOption interface {
	applyOutput(*runlog.Output) error
}

type outputOption func(*runlog.Output) error

func (f outputOption) applyOutput(o *runlog.Output) error { return f(o) }

// AtMost requires values of v or less, a number within ±1e150.
func AtMost(v float64) OutputOption {
	return outputOption(func(o *runlog.Output) error {
		if o.AtMost != nil {
			return optionErrorf("output %q: at most %g and at most %g", o.Name, *o.AtMost, v)
		}
		o.AtMost = &v
		return nil
	})
}

// AtLeast requires values of v or more, a number within ±1e150. With [AtMost] values must lie between the two.
func AtLeast(v float64) OutputOption {
	return outputOption(func(o *runlog.Output) error {
		if o.AtLeast != nil {
			return optionErrorf("output %q: at least %g and at least %g", o.Name, *o.AtLeast, v)
		}
		o.AtLeast = &v
		return nil
	})
}

// Optional says that evaluations may lack the output. One that lacks an output with a limit
// is not known to hold it, and so is never the best.
func Optional() OutputOption {
	return outputOption(func(o *runlog.Output) error { o.Optional = true; return nil })
}

// A Violation is an output that does not hold a limit.
type Violation struct {
	Output string
	// Value is the one told, and Limit the one that it is beyond.
	Value, Limit float64
	// Missing says that no value was told, so that the output is not known to hold its limits: Value and Limit are 0.
	Missing bool
}

// String says it in words, such as "seconds 6.1 > 5".
func (v Violation) String() string {
	sign := " < "
	switch {
	case v.Missing:
		return v.Output + " not told"
	case v.Value > v.Limit:
		sign = " > "
	}
	n := max(digits(v.Limit, math.Abs(v.Value-v.Limit)), 6)
	return v.Output + " " + number(v.Value, n) + sign + number(v.Limit, n)
}

// Violations returns the limits that the observation does not hold, in the order of the outputs' names; nil if it is
// feasible.
func (o Observation) Violations() []Violation { return slices.Clone(o.violations) }

// Outputs returns the names of the outputs of which the prior knows something, those of past tasks, sorted.
func (p *Prior) Outputs() []string {
	if p.made() != nil {
		return nil
	}
	return each.Of(p.outputs, func(o *outputPrior) string { return o.name })
}
