package gp

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/kernel"
)

// CheckKernel reports a kernel that cannot take points of the given dimension, or
// whose variance is not a finite number >= 0: kernels panic on shapes.
func CheckKernel(k kernel.Kernel, dim int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the kernel does not take points of %d coordinates: %v", dim, r)
		}
	}()
	x := make([]float64, dim)
	if v := k.Eval(x, x); !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("the kernel's variance is %g", v)
	}
	if got, want := len(k.AppendParams(nil)), k.NumParams(); got != want {
		return fmt.Errorf("the kernel has %d parameters but says %d", got, want)
	}
	return nil
}
