package special

import "math"

// Ln2Pi is ln 2π.
const Ln2Pi = 1.83787706640934548356065947281123527972279494727756682563430308

const (
	sqrt2Pi    = 2.50662827463100050241576528481104525 // √(2π)
	logSqrt2Pi = Ln2Pi / 2                             // log √(2π)
	sqrtHalfPi = 1.25331413731550025120788264240552263 // √(π/2)
	sqrtPi     = 1.77245385090551602729816748334114518 // √π
)

// Z90 bounds the central nine tenths of the standard normal distribution.
const Z90 = 1.6448536269514722

// NormPDF returns the standard normal density
//
//	φ(z) = exp(−z²/2)/√(2π).
//
// Relative error at most 6u, in the tails too: the rounding of z², which an
// exponential would magnify, is carried along. It is 0 from |z| = 38.6 on.
func NormPDF(z float64) float64 {
	return expSquare(-0.5, z) / sqrt2Pi
}

// NormCDF returns the standard normal distribution function Φ(z).
//
// Relative error at most 8u for every z. The left tail is φ(z)·M(−z), which
// underflows to 0 from z = −38.5 on; the right half is 1 − Φ(−z).
func NormCDF(z float64) float64 {
	if z > 0 {
		return 1 - NormCDF(-z)
	}
	return 0.5 * expSquare(-0.5, z) * Erfcx(-z/math.Sqrt2)
}

// NormLogCDF returns log Φ(z).
//
// Relative error at most 10u for every z: both terms of
//
//	log Φ(z) = −z²/2 + log(erfcx(−z/√2)/2),  z ≤ 0,
//
// are negative, and the right half is log1p(−Φ(−z)). It is −Inf where z²/2
// overflows, from z = −1.9e154 on, and 0 where Φ(−z) underflows.
func NormLogCDF(z float64) float64 {
	if z > 0 {
		return math.Log1p(-NormCDF(-z))
	}
	return -0.5*z*z + math.Log(0.5*Erfcx(-z/math.Sqrt2))
}

// expSquare returns exp(c·z²) for c = ±1/2 or ±1 to within a few units of roundoff. The square is
// formed in two parts, z² = a² + (z−a)(z+a), where a is z cut to 26 bits, so that c·a² is exact.
func expSquare(c, z float64) float64 {
	if z > 40 || z < -40 {
		if c < 0 {
			return 0 // below half of the smallest float64
		}
		return math.Inf(1)
	}
	a := math.Float64frombits(math.Float64bits(z) &^ (1<<27 - 1))
	b := c * (z - a) * (z + a) // |b| ≤ 2^-25·40², so three terms of its exponential suffice
	e := math.Exp(c * a * a)
	if e > math.MaxFloat64 {
		return e
	}
	return e + e*b*(1+b*(0.5+b*(1.0/6)))
}

// Erfcx returns the scaled complementary error function erfcx(x) = exp(x²)·erfc(x).
//
// Relative error at most 8u for x ≥ 0, where the function falls from 1 like 1/(x√π), and 6u for x < 0, where erfcx(x) =
// 2·exp(x²) − erfcx(−x). It is +Inf from x = −26.7 down. For x ≥ 0, (1+2x)·erfcx(x) lies between 1 and 1.4 and is a
// polynomial of degree 24 in t = (x−4)/(x+4), whose truncated terms add up to 1e-17 (M. M. Shepherd and J. G. Laframboise,
// Chebyshev approximation of (1+2x)exp(x²)erfc x in 0 ≤ x < ∞, Math. Comp. 36 (1981) 249–253).
func Erfcx(x float64) float64 {
	if x < 0 {
		return 2*expSquare(1, x) - Erfcx(-x)
	}
	if x > 1e8 { // 1/(2x²) < u
		return 1 / (x * sqrtPi)
	}
	return halfLine(erfcxCoef[:], (x-4)/(x+4)) / (1 + 2*x)
}

// NormLogInterval returns ln(Φ(b) − Φ(a)), the logarithm of the probability that a standard normal variable lies between a
// and b; -Inf unless a < b. Either may be infinite. Both tails keep the relative accuracy of [NormLogCDF]; of a short
// interval the probability has a relative error of at most 1e-8.
func NormLogInterval(a, b float64) float64 {
	switch {
	case !(a < b):
		return math.Inf(-1)
	case a > 0: // the mirror image, whose tails do not cancel
		a, b = -b, -a
	}
	if mid := a + (b-a)/2; (b-a)*(1+math.Abs(mid)) < shortInterval { // where ln Φ(b) − ln Φ(a) would cancel
		return Log(b-a) - 0.5*mid*mid - logSqrt2Pi
	}
	if b > 0 {
		return math.Log1p(-NormCDF(a) - NormCDF(-b))
	}
	// The squares would cancel in ln Φ(a) − ln Φ(b).
	below := 0.5*(b-a)*(b+a) + math.Log(Erfcx(-a/math.Sqrt2)/Erfcx(-b/math.Sqrt2))
	top := NormLogCDF(b)
	if math.IsInf(top, -1) { // as both functions may be 0
		return top
	}
	return top + math.Log(-math.Expm1(below))
}

// shortInterval is the length, times its distance from 0 plus 1, below which the density in
// the middle times the length is the probability: the next term is (b−a)²·(mid²−1)/24 of it.
const shortInterval = 1e-4
