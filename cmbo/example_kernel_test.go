package cmbo_test

import (
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/kernel"
)

// periodic is a kernel for parameters that come round, such as an hour of the day:
//
//	k(x, y) = exp(−2·Σ_d sin²(π·(x_d − y_d)) / ℓ²).
//
// Points are in the unit cube. Its hyperparameter is the lengthscale ℓ.
// kerneltest.TestKernel holds such a type to the rules of package kernel.
type periodic struct{ lengthscale float64 }

func (p periodic) Eval(x, y []float64) float64 {
	var sum float64
	for d := range x {
		s := math.Sin(math.Pi * (x[d] - y[d]))
		sum += s * s
	}
	return math.Exp(-2 * sum / (p.lengthscale * p.lengthscale))
}

func (p periodic) NumParams() int { return 1 }

func (p periodic) AppendParams(dst []float64) []float64 {
	return append(dst, math.Log(p.lengthscale))
}

func (p periodic) WithParams(theta []float64) (kernel.Kernel, error) {
	if len(theta) != 1 {
		return nil, &kernel.ParamCountError{Got: len(theta), Want: 1}
	}
	return periodic{math.Exp(theta[0])}, nil
}

// A kernel of one's own takes the place of the default one. Its hyperparameters are
// fitted like those of any other; Scale adds a variance to them.
func ExampleWithKernel() {
	space, err := cmbo.NewSpace(cmbo.Float("hour", 0, 24))
	if err != nil {
		panic(err)
	}
	load := func(hour float64) float64 { return math.Cos((hour - 23.5) / 24 * 2 * math.Pi) }

	opt, err := cmbo.New(space, cmbo.WithKernel(kernel.Scale(1, periodic{1})))
	if err != nil {
		panic(err)
	}
	for _, hour := range []float64{2, 6, 10, 14, 18} {
		if err := opt.Observe([]float64{hour}, load(hour)); err != nil {
			panic(err)
		}
	}
	// Nothing was measured after 18 o'clock, but midnight is next to 2.
	mean, _, err := opt.Predict(ctx, []float64{23.5})
	if err != nil {
		panic(err)
	}
	fmt.Printf("at 23:30: %.1f\n", mean)
	// Output:
	// at 23:30: 1.0
}
