package gp

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/kernel"
)

// CheckKernel reports, as kind, a kernel that cannot take points of the given dimension, or whose variance is not a finite
// number >= 0. Kernels of the library panic with a text on shapes; any other panic is the error, a [*parallel.Panic].
func CheckKernel(k kernel.Kernel, dim int, kind error) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		p := parallel.Caught(r, "cmbo/internal/gp.CheckKernel")
		if _, shape := r.(string); shape && !p.Foreign {
			err = fmt.Errorf("%w: the kernel does not take points of %d coordinates: %v", kind, dim, r)
		} else {
			err = fmt.Errorf("the kernel, at a point of %d coordinates: %w", dim, p)
		}
	}()
	x := make([]float64, dim)
	if v := k.Eval(x, x); !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%w: the kernel's variance is %g", kind, v)
	}
	if got, want := len(k.AppendParams(nil)), k.NumParams(); got != want {
		return fmt.Errorf("%w: the kernel has %d parameters but says %d", kind, got, want)
	}
	return nil
}
