package special

import "math"

// NormEI returns the expected excess of a standard normal variable over −z,
//
//	h(z) = φ(z) + z·Φ(z) = E max(0, z + ε),  ε ~ N(0, 1).
//
// The expected improvement of N(mean, sd²) over best is sd·h((mean−best)/sd).
// h is positive, increasing and convex, h(z) − h(−z) = z, h(0) = 1/√(2π).
//
// Relative error at most 10u for every z: the two terms, which cancel on the left, are never formed, but h(z) = φ(z)·R(−z)
// for z ≤ 0, in the middle by Taylor's series about close centres, in a third of the time (BenchmarkNormEI), and z + h(−z)
// for z > 0. It underflows to 0 from z = −38.4 on.
func NormEI(z float64) float64 {
	if z > 0 {
		return z + NormEI(-z)
	}
	if !(z >= seriesFrom) {
		return excess(z)
	}
	i := int(0.5 - z/seriesStep)
	c, d := &excessSeries[i], z+float64(i)*seriesStep
	// Sums of pairs do not wait for each other.
	d2 := d * d
	d4 := d2 * d2
	low := (c[0] + c[1]*d) + (c[2]+c[3]*d)*d2
	mid := (c[4] + c[5]*d) + (c[6]+c[7]*d)*d2
	high := (c[8] + c[9]*d) + (c[10]+c[11]*d)*d2
	return low + (mid+(high+(c[12]+c[13]*d)*d4)*d4)*d4
}

// excess is h(z) for z ≤ 0 from φ and R.
func excess(z float64) float64 { return NormPDF(z) * millsRest(-z) }

// The centres of the series are the multiples of seriesStep from seriesFrom to 0. Half a step away
// from the first one terms fall like 0.375^k/k!, and what follows the last is below a fifth of u.
const (
	seriesFrom  = -12
	seriesStep  = 1.0 / 16
	seriesTerms = 14
)

// excessSeries holds the coefficients of h about each centre.
var excessSeries = func() (series [1 - seriesFrom/seriesStep][seriesTerms]float64) {
	for i := range series {
		z, c := -float64(i)*seriesStep, &series[i]
		c[0], c[1] = excess(z), NormCDF(z)
		// The derivatives of φ are φ(z)·He_m(−z), with Hermite's polynomials.
		he, before, factorial := 1.0, 0.0, 1.0
		for k := 2; k < seriesTerms; k++ {
			factorial *= float64(k)
			c[k] = NormPDF(z) * he / factorial
			he, before = -z*he-float64(k-2)*before, he
		}
	}
	return series
}()

// NormLogEI returns log h(z), see [NormEI]. It is finite and increasing for every z ≥ −1.9e154,
// where it is −z²/2 to within rounding. The relative error is at most 6u for z ≤ 0; for z > 0 it is
// an error of at most 6u·max(1, |log h(z)|). The zero of the logarithm is near z = 0.9002.
//
// S. Ament, S. Daulton, D. Eriksson, M. Balandat and E. Bakshy, Unexpected improvements to expected improvement for Bayesian
// optimization, NeurIPS 2023, give another evaluation of the same function.
func NormLogEI(z float64) float64 {
	if z > 0 {
		return math.Log(NormEI(z))
	}
	return -0.5*z*z - logSqrt2Pi + math.Log(millsRest(-z)) // three negative terms
}

// mills returns M(x) = Φ(−x)/φ(x) for x ≥ 0.
func mills(x float64) float64 {
	return sqrtHalfPi * Erfcx(x/math.Sqrt2)
}

// millsRest returns R(x) = 1 − x·M(x) for x ≥ 0, with relative error at most 4u.
//
// R(x) = ∫_0^∞ t·exp(−t²/2 − xt) dt falls from 1 like 1/x², so the difference cannot be formed. (1 + 5x/4 + x²)·R(x) lies
// between 1 and 1.4 and is a polynomial of degree 26 in t = (x−5)/(x+5); the truncated terms add up to 5e-18.
func millsRest(x float64) float64 {
	if x > 1e9 { // 3/x² < u
		return 1 / x / x
	}
	return halfLine(restCoef[:], (x-5)/(x+5)) / (1 + x*(1.25+x))
}
