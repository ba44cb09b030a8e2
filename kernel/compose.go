package kernel

import (
	"fmt"
	"math"
	"strings"
)

// Scale returns variance·k. Its log-parameters are log variance, then those of k.
// It has the gradients that k has. It panics if variance is not in [2^-500, 2^500]
// or k is nil.
func Scale(variance float64, k Kernel) Kernel {
	mustParam("Scale", "variance", variance)
	mustKernels("Scale", []Kernel{k})
	return scaled{variance, k}.expose()
}

// Sum returns the sum of kernels. Its log-parameters are those of the terms, one
// after the other. It has a gradient if all terms have it. It panics without a
// term or with a nil one.
func Sum(ks ...Kernel) Kernel {
	mustKernels("Sum", ks)
	return sum{append([]Kernel(nil), ks...)}.expose()
}

// Product returns the product of kernels. Its log-parameters are those of the
// factors, one after the other. It has a gradient if all factors have it. It
// panics without a factor or with a nil one.
func Product(ks ...Kernel) Kernel {
	mustKernels("Product", ks)
	return product{append([]Kernel(nil), ks...)}.expose()
}

func mustKernels(name string, ks []Kernel) {
	if len(ks) == 0 {
		panic(fmt.Sprintf("kernel: %s: no kernel", name))
	}
	for i, k := range ks {
		if k == nil {
			panic(fmt.Sprintf("kernel: %s: kernel %d is nil", name, i))
		}
	}
}

// node is a composite kernel. Its gradients work if all its parts have them; the
// types below show the ones that do.
type node interface {
	Kernel
	fmt.Stringer
	paramGrad(dst, x, y []float64) float64
	addInputGrad(dst, x, y []float64, c float64) float64
}

type (
	paramNode struct{ node } // parts with parameter gradients only
	inputNode struct{ node } // parts with input gradients only
	bothNode  struct{ node }
)

func (k paramNode) ParamGrad(dst, x, y []float64) float64 { return paramGrad(k.node, dst, x, y) }
func (k bothNode) ParamGrad(dst, x, y []float64) float64  { return paramGrad(k.node, dst, x, y) }
func (k inputNode) InputGrad(dst, x, y []float64) float64 { return inputGrad(k.node, dst, x, y) }
func (k bothNode) InputGrad(dst, x, y []float64) float64  { return inputGrad(k.node, dst, x, y) }

func paramGrad(k node, dst, x, y []float64) float64 {
	if want := k.NumParams(); len(dst) != want {
		panic(countMessage(k, "ParamGrad", len(dst), want))
	}
	return k.paramGrad(dst, x, y)
}

func inputGrad(k node, dst, x, y []float64) float64 {
	if want := len(x); len(dst) != want {
		panic(countMessage(k, "InputGrad", len(dst), want))
	}
	clear(dst)
	return k.addInputGrad(dst, x, y, 1)
}

// expose wraps n in the type that has the gradients all of ks have.
func expose(n node, ks []Kernel) Kernel {
	param, input := true, true
	for _, k := range ks {
		_, p := k.(ParamGradient)
		_, i := k.(InputGradient)
		param, input = param && p, input && i
	}
	switch {
	case param && input:
		return bothNode{n}
	case param:
		return paramNode{n}
	case input:
		return inputNode{n}
	}
	return n
}

// unwrap returns the composite inside k, or k.
func unwrap(k Kernel) Kernel {
	switch w := k.(type) {
	case paramNode:
		return w.node
	case inputNode:
		return w.node
	case bothNode:
		return w.node
	}
	return k
}

// addInputGrad adds c·∂k/∂x to dst and returns k(x, y). Kernels of other packages
// cost a buffer.
func addInputGrad(k Kernel, dst, x, y []float64, c float64) float64 {
	if a, ok := unwrap(k).(interface {
		addInputGrad(dst, x, y []float64, c float64) float64
	}); ok {
		return a.addInputGrad(dst, x, y, c)
	}
	g := make([]float64, len(dst))
	v := k.(InputGradient).InputGrad(g, x, y)
	for i, gi := range g {
		dst[i] += c * gi
	}
	return v
}

// scaled is variance·k.
type scaled struct {
	variance float64
	k        Kernel
}

func (k scaled) expose() Kernel              { return expose(k, []Kernel{k.k}) }
func (k scaled) Eval(x, y []float64) float64 { return k.variance * k.k.Eval(x, y) }
func (k scaled) NumParams() int              { return 1 + k.k.NumParams() }
func (k scaled) AppendParams(d []float64) []float64 {
	return k.k.AppendParams(append(d, math.Log(k.variance)))
}

func (k scaled) WithParams(theta []float64) (Kernel, error) {
	if len(theta) != k.NumParams() {
		return nil, &ParamCountError{Kernel: "Scale", Got: len(theta), Want: k.NumParams()}
	}
	v, err := fromLog("Scale", theta, 0)
	if err != nil {
		return nil, err
	}
	in, err := withParams(k.k, theta, 1)
	if err != nil {
		return nil, err
	}
	return scaled{v, in}.expose(), nil
}

func (k scaled) paramGrad(dst, x, y []float64) float64 {
	v := k.variance * k.k.(ParamGradient).ParamGrad(dst[1:], x, y)
	dst[0] = v
	for i := range dst[1:] {
		dst[1+i] *= k.variance
	}
	return v
}

func (k scaled) addInputGrad(dst, x, y []float64, c float64) float64 {
	return k.variance * addInputGrad(k.k, dst, x, y, c*k.variance)
}

func (k scaled) String() string { return fmt.Sprintf("Scale(%.4g, %v)", k.variance, k.k) }

// sum is the sum of its terms.
type sum struct{ ks []Kernel }

func (k sum) expose() Kernel                     { return expose(k, k.ks) }
func (k sum) NumParams() int                     { return numParams(k.ks) }
func (k sum) AppendParams(d []float64) []float64 { return appendParams(d, k.ks) }
func (k sum) String() string                     { return join("Sum", k.ks) }

func (k sum) Eval(x, y []float64) float64 {
	var v float64
	for _, t := range k.ks {
		v += t.Eval(x, y)
	}
	return v
}

func (k sum) WithParams(theta []float64) (Kernel, error) {
	ks, err := withAllParams("Sum", k.ks, theta)
	if err != nil {
		return nil, err
	}
	return sum{ks}.expose(), nil
}

func (k sum) paramGrad(dst, x, y []float64) float64 {
	var v float64
	for _, t := range k.ks {
		n := t.NumParams()
		v += t.(ParamGradient).ParamGrad(dst[:n:n], x, y)
		dst = dst[n:]
	}
	return v
}

func (k sum) addInputGrad(dst, x, y []float64, c float64) float64 {
	var v float64
	for _, t := range k.ks {
		v += addInputGrad(t, dst, x, y, c)
	}
	return v
}

// product is the product of its factors.
type product struct{ ks []Kernel }

func (k product) expose() Kernel                     { return expose(k, k.ks) }
func (k product) NumParams() int                     { return numParams(k.ks) }
func (k product) AppendParams(d []float64) []float64 { return appendParams(d, k.ks) }
func (k product) String() string                     { return join("Product", k.ks) }

func (k product) Eval(x, y []float64) float64 {
	v := 1.0
	for _, f := range k.ks {
		v *= f.Eval(x, y)
	}
	return v
}

func (k product) WithParams(theta []float64) (Kernel, error) {
	ks, err := withAllParams("Product", k.ks, theta)
	if err != nil {
		return nil, err
	}
	return product{ks}.expose(), nil
}

func (k product) paramGrad(dst, x, y []float64) float64 {
	v := 1.0
	rest := dst
	for _, f := range k.ks {
		n := f.NumParams()
		fv := f.(ParamGradient).ParamGrad(rest[:n:n], x, y)
		// Nothing is divided, a factor may be zero: the parts before take this
		// value, this part takes the product of the values before.
		for i := range len(dst) - len(rest) {
			dst[i] *= fv
		}
		for i := range n {
			rest[i] *= v
		}
		v *= fv
		rest = rest[n:]
	}
	return v
}

func (k product) addInputGrad(dst, x, y []float64, c float64) float64 {
	var buf [8]float64
	vals := buf[:0]
	if len(k.ks) > len(buf) {
		vals = make([]float64, 0, len(k.ks))
	}
	v := 1.0
	for _, f := range k.ks {
		fv := f.Eval(x, y)
		vals = append(vals, fv)
		v *= fv
	}
	for i, f := range k.ks {
		others := c
		for j, fv := range vals {
			if j != i {
				others *= fv
			}
		}
		addInputGrad(f, dst, x, y, others)
	}
	return v
}

func join(name string, ks []Kernel) string {
	var b strings.Builder
	b.WriteString(name)
	for i, k := range ks {
		b.WriteString([]string{"(", ", "}[min(i, 1)])
		fmt.Fprint(&b, k)
	}
	b.WriteByte(')')
	return b.String()
}
