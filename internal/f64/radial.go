package f64

import "math"

// Radial is the shape of a covariance as a function of the scaled distance r:
//
//	value  k(r)     = (1 + B1·r + B2·r²)·e
//	slope  −r·dk/dr = (G1·r + G2·r² + G3·r³)·e,  e = exp(−(A·r + H·r²)).
type Radial struct {
	A, H       float64
	B1, B2     float64
	G1, G2, G3 float64
}

// FarSquare is where every shape has underflowed: points farther apart count as
// this far, which keeps Inf·0 out of the formulas. A NaN passes.
const FarSquare = 1e6

// roots sets dst_i to r at r² = scale·sq_i. It is a pass of its own because a
// square root inside the loops below would wait for the exponential before it:
// the instruction merges into a register that the compiler reuses.
func roots(dst, sq []float64, scale float64) {
	dst = dst[:len(sq)]
	for i, s := range sq {
		s *= scale
		if s > FarSquare {
			s = FarSquare
		}
		dst[i] = math.Sqrt(s)
	}
}

// The exponential of the loops below is 2^(n/128)·exp(t), n the integer nearest to 128·x/log 2, the
// power from a table and exp(t), |t| ≤ log(2)/256, from five terms of its series
// (P. T. P. Tang, Table-driven implementation of the exponential function in IEEE
// floating-point arithmetic, ACM Trans. Math. Softw. 15 (1989) 144–157). Its
// relative error is below 1.1 units in the last place. It is written out in both
// loops because a call would cost as much as the function.

// radialValues has no slopes to compute.
func radialValues(dst, sq []float64, scale, variance float64, f *Radial) {
	a, h, b1, b2 := f.A, f.H, f.B1, f.B2
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

func radialSlopes(val, slope, sq []float64, scale float64, f *Radial) {
	a, h, b1, b2 := f.A, f.H, f.B1, f.B2
	g1, g2, g3 := f.G1, f.G2, f.G3
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

func radialAt(s float64, f *Radial) (val, slope float64) {
	var sq, v, g [1]float64
	sq[0] = s
	radialSlopes(v[:], g[:], sq[:], 1, f)
	return v[0], g[0]
}
