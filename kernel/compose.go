package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/internal/each"
)

// Scale returns variance·k. Its log-parameters are log variance, then those of k.
// It panics if variance is not in [2^-500, 2^500] or k is nil.
func Scale(variance float64, k Kernel) Kernel {
	mustParam("Scale", "variance", variance)
	mustKernels("Scale", []Kernel{k})
	return scaled{variance, k}.expose()
}

// Sum returns the sum of kernels. Its log-parameters are those of the terms, one
// after the other. It panics without a term or with a nil one.
func Sum(ks ...Kernel) Kernel {
	mustKernels("Sum", ks)
	return compound{false, slices.Clone(ks)}.expose()
}

// Product returns the product of kernels. Its log-parameters are those of the
// factors, one after the other. It panics without a factor or with a nil one.
func Product(ks ...Kernel) Kernel {
	mustKernels("Product", ks)
	return compound{true, slices.Clone(ks)}.expose()
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

// node is a composite kernel. Its gradient works if all its parts have one; gradNode shows it where they do.
type node interface {
	Kernel
	fmt.Stringer
	paramGrad(dst, x, y []float64) float64
}

type gradNode struct{ node }

// ParamGrad implements [ParamGradient].
func (k gradNode) ParamGrad(dst, x, y []float64) float64 {
	if want := k.NumParams(); len(dst) != want {
		panic(countMessage(k, "ParamGrad", len(dst), want))
	}
	return k.paramGrad(dst, x, y)
}

// expose wraps n in the type that has the gradient if all of ks have it.
func expose(n node, ks []Kernel) Kernel {
	for _, k := range ks {
		if _, ok := k.(ParamGradient); !ok {
			return n
		}
	}
	return gradNode{n}
}

// unwrap returns the composite inside k, or k.
func unwrap(k Kernel) Kernel {
	if w, ok := k.(gradNode); ok {
		return w.node
	}
	return k
}

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

func (k scaled) String() string { return fmt.Sprintf("Scale(%.4g, %v)", k.variance, k.k) }

type compound struct {
	product bool
	ks      []Kernel
}

func (k compound) name() string   { return map[bool]string{false: "Sum", true: "Product"}[k.product] }
func (k compound) expose() Kernel { return expose(k, k.ks) }

func (k compound) NumParams() (n int) {
	for _, part := range k.ks {
		n += part.NumParams()
	}
	return n
}

func (k compound) AppendParams(d []float64) []float64 {
	for _, part := range k.ks {
		d = part.AppendParams(d)
	}
	return d
}

func (k compound) String() string {
	parts := each.Of(k.ks, func(part Kernel) string { return fmt.Sprint(part) })
	return k.name() + "(" + strings.Join(parts, ", ") + ")"
}

func (k compound) Eval(x, y []float64) float64 {
	if !k.product {
		var v float64
		for _, t := range k.ks {
			v += t.Eval(x, y)
		}
		return v
	}
	v := 1.0
	for _, f := range k.ks {
		v *= f.Eval(x, y)
	}
	return v
}

func (k compound) WithParams(theta []float64) (Kernel, error) {
	if n := k.NumParams(); len(theta) != n {
		return nil, &ParamCountError{Kernel: k.name(), Got: len(theta), Want: n}
	}
	ks, off := make([]Kernel, len(k.ks)), 0
	for i, part := range k.ks {
		var err error
		if ks[i], err = withParams(part, theta, off); err != nil {
			return nil, err
		}
		off += part.NumParams()
	}
	return compound{k.product, ks}.expose(), nil
}

// withParams gives k its part of theta, which begins at index off. An error that
// names an index is restated for the whole of theta.
func withParams(k Kernel, theta []float64, off int) (Kernel, error) {
	n := k.NumParams()
	out, err := k.WithParams(theta[off : off+n : off+n])
	var p *ParamError
	if errors.As(err, &p) {
		return nil, &ParamError{Kernel: p.Kernel, Index: p.Index + off, Value: p.Value}
	}
	return out, err
}

func (k compound) paramGrad(dst, x, y []float64) float64 {
	v := 0.0
	if k.product {
		v = 1
	}
	rest := dst
	for _, f := range k.ks {
		n := f.NumParams()
		fv := f.(ParamGradient).ParamGrad(rest[:n:n], x, y)
		if !k.product {
			v, rest = v+fv, rest[n:]
			continue
		}
		// Nothing is divided, a factor may be zero: the parts before take this
		// value, this part takes the product of the values before.
		for i := range len(dst) - len(rest) {
			dst[i] *= fv
		}
		for i := range n {
			rest[i] *= v
		}
		v, rest = v*fv, rest[n:]
	}
	return v
}
