package kernel

import (
	"fmt"
	"slices"
)

// Spec describes a kernel of this package by name and parameters, as plain data that encodes to
// JSON and back without loss. A snapshot or a learnt prior stores kernels in this form.
//
//	Name                                    Params           Kernels
//	Matern12, Matern32, Matern52,
//	SquaredExp, Matern32x12                 lengths          none
//	Constant                                value            none
//	Scale                                   variance         one
//	Sum, Product                            none             one or more
//
// Names are those of the constructors; parameters are what the constructors take, not logarithms.
type Spec struct {
	Name    string    `json:"name"`
	Params  []float64 `json:"params,omitempty"`
	Kernels []Spec    `json:"kernels,omitempty"`
}

// SpecError reports a [Spec] that describes no kernel.
type SpecError struct {
	Name   string // of the offending part
	Reason string
}

// Error names the part and the reason.
func (e *SpecError) Error() string {
	return fmt.Sprintf("kernel: description of %q: %s", e.Name, e.Reason)
}

// ForeignError reports a kernel that has no [Spec], being of another package.
type ForeignError struct {
	Type string // its Go type
}

// Error names the type.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("kernel: %s is not a kernel of this package and has no description", e.Type)
}

// Describe returns the description of k. The error is a *ForeignError if k or a part of it is not of this package.
func Describe(k Kernel) (Spec, error) {
	switch k := unwrap(k).(type) {
	case Stationary:
		if len(k.ls) > 0 {
			return Spec{Name: k.name(), Params: k.Lengths()}, nil
		}
	case constant:
		return Spec{Name: "Constant", Params: []float64{float64(k)}}, nil
	case scaled:
		return describe("Scale", []float64{k.variance}, k.k)
	case compound:
		return describe(k.name(), nil, k.ks...)
	}
	return Spec{}, &ForeignError{Type: fmt.Sprintf("%T", k)}
}

func describe(name string, params []float64, ks ...Kernel) (Spec, error) {
	s := Spec{Name: name, Params: params, Kernels: make([]Spec, len(ks))}
	for i, k := range ks {
		c, err := Describe(k)
		if err != nil {
			return Spec{}, err
		}
		s.Kernels[i] = c
	}
	return s, nil
}

// Kernel returns the kernel that s describes. The error is a *SpecError for an unknown name,
// missing or surplus parts and parameters out of range: nothing panics, whatever s holds.
func (s Spec) Kernel() (Kernel, error) {
	fail := func(format string, args ...any) (Kernel, error) {
		return nil, &SpecError{Name: s.Name, Reason: fmt.Sprintf(format, args...)}
	}
	for i, v := range s.Params {
		if !validParam(v) {
			return fail("parameter %d is %g", i, v)
		}
	}
	parts := make([]Kernel, len(s.Kernels))
	for i, c := range s.Kernels {
		k, err := c.Kernel()
		if err != nil {
			return nil, err
		}
		parts[i] = k
	}
	form, ok := forms[s.Name]
	if i := slices.Index(shapeNames[:], s.Name); i >= 0 {
		form = specForm{some, 0, func(lengths []float64, _ []Kernel) Kernel { return newStationary(shape(i), lengths) }}
	} else if !ok {
		return fail("no kernel of this name")
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{{"parameters", len(s.Params), form.params}, {"kernels", len(parts), form.kernels}} {
		if c.want == some && c.got == 0 {
			return fail("no %s", c.what)
		} else if c.want != some && c.got != c.want {
			return fail("%d %s, want %d", c.got, c.what, c.want)
		}
	}
	return form.make(s.Params, parts), nil
}

// specForm is what the description of a kernel holds, and what makes the kernel of it.
type specForm struct {
	params, kernels int // numbers of them, or some
	make            func(params []float64, parts []Kernel) Kernel
}

const some = -1 // one or more

var forms = map[string]specForm{
	"Constant": {1, 0, func(p []float64, _ []Kernel) Kernel { return Constant(p[0]) }},
	"Scale":    {1, 1, func(p []float64, ks []Kernel) Kernel { return Scale(p[0], ks[0]) }},
	"Sum":      {0, some, func(_ []float64, ks []Kernel) Kernel { return Sum(ks...) }},
	"Product":  {0, some, func(_ []float64, ks []Kernel) Kernel { return Product(ks...) }},
}
