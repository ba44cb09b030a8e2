package kernel_test

import (
	"testing"

	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/kernel/kerneltest"
)

// only hides gradients.
type only struct{ kernel.Kernel }
type onlyParam struct{ kernel.ParamGradient }
type onlyInput struct{ kernel.InputGradient }

// TestComposedGradients: a composite shows the gradients that all parts have.
func TestComposedGradients(t *testing.T) {
	full := kernel.Matern52(0.5)
	tests := []struct {
		part         kernel.Kernel
		param, input bool
	}{
		{full, true, true},
		{only{full}, false, false},
		{onlyParam{full}, true, false},
		{onlyInput{full}, false, true},
		{kernel.Sum(onlyInput{full}, full), false, true},
	}
	x := points(t, 7, 2)
	for i, tt := range tests {
		for _, k := range []kernel.Kernel{
			kernel.Scale(2, tt.part), kernel.Sum(full, tt.part), kernel.Product(tt.part, full),
			kernel.Scale(0.5, kernel.Product(kernel.Sum(tt.part, kernel.Constant(1)), full)),
		} {
			_, p := k.(kernel.ParamGradient)
			_, in := k.(kernel.InputGradient)
			if p != tt.param || in != tt.input {
				t.Errorf("case %d, %v: parameter gradient %t, input gradient %t", i, k, p, in)
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
