package kernel

import "github.com/gocmbo/cmbo/internal/f64"

// radial is a covariance shape as a function of the scaled distance r, and of the
// slope −r·dk/dr, which is the derivative by the logarithm of a length shared by
// all dimensions. Both cost one exponential. One form for all shapes makes the
// loops of internal/f64 the only place where exponentials are taken.
type radial f64.Radial

const (
	sqrt3 = 1.73205080756887729352744634150587236694
	sqrt5 = 2.23606797749978969640917366873127623544
)

var shapes = [...]radial{
	matern12:    {A: 1, G1: 1},
	matern32:    {A: sqrt3, B1: sqrt3, G2: 3},
	matern52:    {A: sqrt5, B1: sqrt5, B2: 5.0 / 3, G2: 5.0 / 3, G3: 5.0 / 3 * sqrt5},
	squaredExp:  {H: 0.5, G2: 1},
	matern32x12: {A: 1 + sqrt3, B1: sqrt3, G1: 1, G2: 3 + sqrt3},
}

// farSquare is where every shape has underflowed: points farther apart count as
// this far. A NaN passes.
const farSquare = f64.FarSquare

// values sets dst_i to variance·k at r² = scale·sq_i. dst may be sq. It works row
// by row on what Gram and Cross fill, and on nothing but its arguments.
func (f *radial) values(dst, sq []float64, scale, variance float64) {
	f64.RadialValues(dst, sq, scale, variance, (*f64.Radial)(f))
}

// valuesAndSlopes sets val_i and slope_i to the value and slope at r² = scale·sq_i.
// val or slope may be sq.
func (f *radial) valuesAndSlopes(val, slope, sq []float64, scale float64) {
	f64.RadialSlopes(val, slope, sq, scale, (*f64.Radial)(f))
}

// at returns the value and slope at r² = s, by the same arithmetic as the rows.
func (f *radial) at(s float64) (val, slope float64) { return f64.RadialAt(s, (*f64.Radial)(f)) }

// value returns the value at r² = s.
func (f *radial) value(s float64) float64 {
	v, _ := f.at(s)
	return v
}
