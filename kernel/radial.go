package kernel

import "github.com/gocmbo/cmbo/internal/f64"

const (
	sqrt3 = 1.73205080756887729352744634150587236694
	sqrt5 = 2.23606797749978969640917366873127623544
)

// shapes hold values as functions of the scaled distance r and slopes −r·dk/dr, which are the
// derivatives by the logarithm of a length shared by all dimensions. Both cost one exponential. One
// form for all shapes makes the loops of internal/f64 the only place where exponentials are taken.
var shapes = [...]f64.Radial{
	matern12:    {A: 1, G1: 1},
	matern32:    {A: sqrt3, B1: sqrt3, G2: 3},
	matern52:    {A: sqrt5, B1: sqrt5, B2: 5.0 / 3, G2: 5.0 / 3, G3: 5.0 / 3 * sqrt5},
	squaredExp:  {H: 0.5, G2: 1},
	matern32x12: {A: 1 + sqrt3, B1: sqrt3, G1: 1, G2: 3 + sqrt3},
}
