package special

import "math"

// Log returns the natural logarithm of x. It is math.Log, except that it is
// right for subnormal x as well: the amd64 assembly of package math reads them as
// numbers of exponent −1023 and is off by up to 35.
func Log(x float64) float64 {
	if x < 0x1p-1022 && x > 0 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Log1mExp returns log(1 − exp(x)) for x ≤ 0: the logarithm of the complement of
// a probability given by its logarithm. It is −Inf at 0 and NaN for x > 0.
//
// Relative error at most 4u for every x. Above −log 2 it is log(−expm1(x)), below it is
// log1p(−exp(x)): each cancels where the other does not.
//
// M. Mächler, Accurately computing log(1 − exp(−|a|)), note to the R package
// Rmpfr, 2012.
func Log1mExp(x float64) float64 {
	if x > -math.Ln2 {
		return Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}
