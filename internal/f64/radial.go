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
const FarSquare = farRoot * farRoot

const farRoot = 1000

// lead is by how many entries the square roots are ahead in the loops below: a root takes as long as half of what follows
// it, and a processor that looks ahead by a few entries only does the one beside the other. They wait where results go.
const lead = 8

// firstRoots sets the first entries of dst to r at r² = scale·sq.
func firstRoots(dst, sq []float64, scale float64) {
	for i, s := range sq[:min(lead, len(sq))] {
		dst[i] = math.Sqrt(scale * s)
	}
}

// RadialValues has no slopes to compute.
func (*generic) RadialValues(dst, sq []float64, scale, variance float64, f *Radial) {
	if f.H == 0 && f.B2 == 0 {
		linearValues(dst, sq, scale, variance, f)
		return
	}
	a, h, b1, b2 := -f.A, -f.H, f.B1, f.B2
	dst = dst[:len(sq)]
	firstRoots(dst, sq, scale)
	for i, r := range dst {
		if j := i + lead; j < len(sq) {
			dst[j] = math.Sqrt(scale * sq[j])
		}
		var e float64
		if x := r * (a + r*h); x >= expMin {
			e = expNear(x)
		} else {
			r, e = far(r, f)
		}
		dst[i] = variance * ((1 + r*(b1+r*b2)) * e)
	}
}

// linearValues is RadialValues without the terms in r², where they are 0: the same bits in less time.
func linearValues(dst, sq []float64, scale, variance float64, f *Radial) {
	a, b1 := -f.A, f.B1
	dst = dst[:len(sq)]
	firstRoots(dst, sq, scale)
	for i, r := range dst {
		if j := i + lead; j < len(sq) {
			dst[j] = math.Sqrt(scale * sq[j])
		}
		var e float64
		if x := r * a; x >= expMin {
			e = expNear(x)
		} else {
			r, e = far(r, f)
		}
		dst[i] = variance * ((1 + r*b1) * e)
	}
}

func (*generic) RadialSlopes(val, slope, sq []float64, scale float64, f *Radial) {
	if f.H == 0 && f.B2 == 0 && f.G3 == 0 {
		linearSlopes(val, slope, sq, scale, f)
		return
	}
	a, h, b1, b2 := -f.A, -f.H, f.B1, f.B2
	g1, g2, g3 := f.G1, f.G2, f.G3
	val, slope = val[:len(sq)], slope[:len(sq)]
	firstRoots(slope, sq, scale)
	for i, r := range slope {
		if j := i + lead; j < len(sq) {
			slope[j] = math.Sqrt(scale * sq[j])
		}
		var e float64
		if x := r * (a + r*h); x >= expMin {
			e = expNear(x)
		} else {
			r, e = far(r, f)
		}
		val[i] = (1 + r*(b1+r*b2)) * e
		slope[i] = r * (g1 + r*(g2+r*g3)) * e
	}
}

// linearSlopes is RadialSlopes without the terms that are 0.
func linearSlopes(val, slope, sq []float64, scale float64, f *Radial) {
	a, b1, g1, g2 := -f.A, f.B1, f.G1, f.G2
	val, slope = val[:len(sq)], slope[:len(sq)]
	firstRoots(slope, sq, scale)
	for i, r := range slope {
		if j := i + lead; j < len(sq) {
			slope[j] = math.Sqrt(scale * sq[j])
		}
		var e float64
		if x := r * a; x >= expMin {
			e = expNear(x)
		} else {
			r, e = far(r, f)
		}
		val[i] = (1 + r*b1) * e
		slope[i] = r * (g1 + r*g2) * e
	}
}

// far returns the distance that r counts as, and its exponential, where that is about to underflow or r is NaN.
func far(r float64, f *Radial) (float64, float64) {
	if r > farRoot {
		r = farRoot
	}
	return r, math.Exp(-r * (f.A + r*f.H))
}

func (*generic) RadialAt(s float64, f *Radial) (val, slope float64) {
	var sq, v, g [1]float64
	sq[0] = s
	Generic.RadialSlopes(v[:], g[:], sq[:], 1, f)
	return v[0], g[0]
}
