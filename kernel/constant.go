package kernel

import (
	"fmt"
	"math"
)

// Constant returns the kernel k(x, y) = c for all x and y: an unknown offset of
// variance c. Its one log-parameter is log c. It panics if c is not in [2^-500, 2^500].
func Constant(c float64) Kernel {
	mustParam("Constant", "value", c)
	return constant(c)
}

// constant is the kernel with one value everywhere.
type constant float64

func (k constant) Eval(x, y []float64) float64 {
	if len(x) != len(y) {
		panic(fmt.Sprintf("kernel: Constant: Eval: points of dimension %d and %d", len(x), len(y)))
	}
	return float64(k)
}

func (k constant) NumParams() int                     { return 1 }
func (k constant) AppendParams(d []float64) []float64 { return append(d, math.Log(float64(k))) }

func (k constant) WithParams(theta []float64) (Kernel, error) {
	if len(theta) != 1 {
		return nil, &ParamCountError{Kernel: "Constant", Got: len(theta), Want: 1}
	}
	c, err := fromLog("Constant", theta, 0)
	if err != nil {
		return nil, err
	}
	return constant(c), nil
}

// ParamGrad sets dst to c, the derivative by log c, and returns c.
func (k constant) ParamGrad(dst, x, y []float64) float64 {
	if want := 1; len(dst) != want {
		panic(countMessage(k, "ParamGrad", len(dst), want))
	}
	dst[0] = k.Eval(x, y)
	return dst[0]
}

func (k constant) String() string { return fmt.Sprintf("Constant(%.4g)", float64(k)) }
