package kerneltest

import (
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/kernel"
)

// paramStep is the first step in a log-parameter.
const paramStep = 0x1p-5

func (c *checker) paramGradient() error {
	k, ok := c.k.(kernel.ParamGradient)
	if !ok {
		return nil
	}
	theta := k.AppendParams(nil)
	return c.pairs(func(i, j int, x, y []float64) error {
		grad := slices.Repeat([]float64{math.NaN()}, len(theta))
		if v, want := k.ParamGrad(grad, x, y), k.Eval(x, y); !(math.Abs(v-want) <= 8*eps*c.scale(x, y)) {
			return fmt.Errorf("ParamGrad returns %v for points %d and %d, Eval %v", v, i, j, want)
		}
		for p, g := range grad {
			d := difference(paramStep, func(h float64) float64 { return c.shifted(theta, p, h, x, y) })
			if !d.agrees(g, c.largest) {
				return fmt.Errorf("∂k(x_%d, x_%d)/∂θ_%d = %v, %v by differences", i, j, p, g, d.value)
			}
		}
		return nil
	})
}

// shifted returns k(x, y) with log-parameter p moved by h, NaN if that cannot be had.
func (c *checker) shifted(theta []float64, p int, h float64, x, y []float64) float64 {
	t := slices.Clone(theta)
	t[p] += h
	k, err := c.k.WithParams(t)
	if err != nil {
		return math.NaN()
	}
	return k.Eval(x, y)
}

// derivative is a numerical derivative with its uncertainty.
type derivative struct {
	value, err float64
	step       float64 // the smallest step that entered
}

// difference returns the derivative of f at 0 from central differences with steps h, h/2, h/4, …, extrapolated to step 0 (L.
// F. Richardson; the choice among the extrapolations by their agreement is that of C. J. F. Ridders, Adv. Eng. Software 4
// (1982) 75–76). h must be small against the scale on which f varies: the first extrapolations, which might agree by chance,
// are passed over.
func difference(h float64, f func(h float64) float64) derivative {
	const levels = 7
	var row, last [levels]float64
	best := derivative{value: math.NaN(), err: math.Inf(1), step: h}
	for i := range levels {
		row, last = last, row
		row[0] = (f(h) - f(-h)) / (2 * h)
		factor := 4.0
		for j := 1; j <= i; j++ {
			row[j] = (factor*row[j-1] - last[j-1]) / (factor - 1)
			factor *= 4
			if e := math.Max(math.Abs(row[j]-row[j-1]), math.Abs(row[j]-last[j-1])); j >= 2 && e < best.err {
				best = derivative{row[j], e, h}
			}
		}
		h /= 2
	}
	return best
}

// agrees reports whether the analytic derivative g of a function of the given scale may be the same number: apart by no more
// than the uncertainty, the rounding of the values in the differences and 1e-9 of the scale.
func (d derivative) agrees(g, scale float64) bool {
	return math.Abs(g-d.value) <= 4*d.err+scale*(1e-9+256*eps/d.step)
}
