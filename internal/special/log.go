package special

import "math"

// Log returns the natural logarithm of x. It is math.Log, except that it is right for subnormal x as well: the amd64
// assembly of package math reads them as numbers of exponent −1023 and is off by up to 35.
func Log(x float64) float64 {
	if x < 0x1p-1022 && x > 0 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// LogAddExp returns log(eᵃ + eᵇ), of which either may be −Inf.
func LogAddExp(a, b float64) float64 {
	a, b = max(a, b), min(a, b)
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
