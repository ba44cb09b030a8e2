package kernel_test

import (
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/kernel/kerneltest"
)

// only hides the gradient.
type only struct{ kernel.Kernel }

// TestComposedGradient: a composite has the gradient that all parts have.
func TestComposedGradient(t *testing.T) {
	full := kernel.Matern52(0.5)
	tests := []struct {
		part kernel.Kernel
		want bool
	}{
		{full, true},
		{only{full}, false},
		{kernel.Sum(full, full), true},
		{kernel.Sum(only{full}, full), false},
	}
	x := points(t, 7, 2)
	for i, tt := range tests {
		for _, k := range []kernel.Kernel{
			kernel.Scale(2, tt.part), kernel.Sum(full, tt.part), kernel.Product(tt.part, full),
			kernel.Scale(0.5, kernel.Product(kernel.Sum(tt.part, kernel.Constant(1)), full)),
		} {
			if _, ok := k.(kernel.ParamGradient); ok != tt.want {
				t.Errorf("case %d, %v: gradient %t", i, k, ok)
			}
			kerneltest.TestKernel(t, k, x)
		}
	}
	// WithParams keeps the kind.
	k, err := kernel.Scale(2, full).WithParams([]float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := k.(kernel.ParamGradient); !ok {
		t.Error("WithParams loses the gradient")
	}
}
