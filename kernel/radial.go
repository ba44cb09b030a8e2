package kernel

import "math"

// radial is a covariance shape as a function of the scaled distance r:
//
//	value  k(r)     = (1 + b1·r + b2·r²)·e
//	slope  −r·dk/dr = (g1·r + g2·r² + g3·r³)·e,  e = exp(−(a·r + h·r²)).
//
// The slope is the derivative by the logarithm of a length shared by all
// dimensions. Both cost one exponential. One form for all shapes makes the loops
// below the only place where exponentials are taken.
type radial struct {
	a, h       float64
	b1, b2     float64
	g1, g2, g3 float64
}

const (
	sqrt3 = 1.73205080756887729352744634150587236694
	sqrt5 = 2.23606797749978969640917366873127623544
)

var shapes = [...]radial{
	matern12:    {a: 1, g1: 1},
	matern32:    {a: sqrt3, b1: sqrt3, g2: 3},
	matern52:    {a: sqrt5, b1: sqrt5, b2: 5.0 / 3, g2: 5.0 / 3, g3: 5.0 / 3 * sqrt5},
	squaredExp:  {h: 0.5, g2: 1},
	matern32x12: {a: 1 + sqrt3, b1: sqrt3, g1: 1, g2: 3 + sqrt3},
}

// farSquare is where every shape has underflowed: points farther apart count as
// this far, which keeps Inf·0 out of the formulas. A NaN passes.
const farSquare = 1e6

// roots sets dst_i to r at r² = scale·sq_i. It is a pass of its own because a
// square root inside the loops below would wait for the exponential before it:
// the instruction merges into a register that the compiler reuses.
func roots(dst, sq []float64, scale float64) {
	dst = dst[:len(sq)]
	for i, s := range sq {
		s *= scale
		if s > farSquare {
			s = farSquare
		}
		dst[i] = math.Sqrt(s)
	}
}

// values sets dst_i to variance·k at r² = scale·sq_i. dst may be sq. It works row
// by row on what Gram and Cross fill, and on nothing but its arguments.
func (f *radial) values(dst, sq []float64, scale, variance float64) {
	a, h, b1, b2 := f.a, f.h, f.b1, f.b2
	dst = dst[:len(sq)]
	roots(dst, sq, scale)
	for i, r := range dst {
		x := -r * (a + h*r)
		var e float64
		if x >= expMin {
			k := x*expInvStep + expShift
			n := math.Float64bits(k)
			k -= expShift
			t := (x - k*expStepHi) - k*expStepLo
			p := math.Float64frombits(expTable[n%128] + n<<45)
			t2 := t * t
			e = p + p*(t+t2*(0.5+t*(1.0/6))+t2*t2*(1.0/24+t*(1.0/120)))
		} else {
			e = math.Exp(x)
		}
		dst[i] = variance * ((1 + r*(b1+r*b2)) * e)
	}
}

// valuesAndSlopes sets val_i and slope_i to the value and slope at r² = scale·sq_i.
// val or slope may be sq.
//
// The exponential is 2^(n/128)·exp(t), n the integer nearest to 128·x/log 2, the
// power from a table and exp(t), |t| ≤ log(2)/256, from five terms of its series
// (P. T. P. Tang, Table-driven implementation of the exponential function in IEEE
// floating-point arithmetic, ACM Trans. Math. Softw. 15 (1989) 144–157). Its
// relative error is below 1.1 units in the last place (TestExp). It is written
// out in both loops because a call would cost as much as the function.
func (f *radial) valuesAndSlopes(val, slope, sq []float64, scale float64) {
	a, h, b1, b2 := f.a, f.h, f.b1, f.b2
	g1, g2, g3 := f.g1, f.g2, f.g3
	val, slope = val[:len(sq)], slope[:len(sq)]
	roots(slope, sq, scale)
	for i, r := range slope {
		x := -r * (a + h*r)
		var e float64
		if x >= expMin {
			k := x*expInvStep + expShift
			n := math.Float64bits(k)
			k -= expShift
			t := (x - k*expStepHi) - k*expStepLo
			p := math.Float64frombits(expTable[n%128] + n<<45)
			t2 := t * t
			e = p + p*(t+t2*(0.5+t*(1.0/6))+t2*t2*(1.0/24+t*(1.0/120)))
		} else {
			e = math.Exp(x)
		}
		val[i] = (1 + r*(b1+r*b2)) * e
		slope[i] = r * (g1 + r*(g2+r*g3)) * e
	}
}

// at returns the value and slope at r² = s, by the same arithmetic as the rows.
func (f *radial) at(s float64) (val, slope float64) {
	var sq, v, g [1]float64
	sq[0] = s
	f.valuesAndSlopes(v[:], g[:], sq[:], 1)
	return v[0], g[0]
}

// value returns the value at r² = s.
func (f *radial) value(s float64) float64 {
	var v [1]float64
	v[0] = s
	f.values(v[:], v[:], 1, 1)
	return v[0]
}
