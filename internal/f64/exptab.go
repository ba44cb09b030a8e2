package f64

import "math"

// expNear returns e^x for x from expMin to 0 as 2^(n/512)·exp(t), n the integer nearest to 512·x/log 2, the power from
// a table and exp(t), |t| ≤ log(2)/1024, from four terms of its series (P. T. P. Tang, Table-driven implementation of
// the exponential function in IEEE floating-point arithmetic, ACM Trans. Math. Softw. 15 (1989) 144–157). Its relative
// error is below 1.1 units in the last place. It is just short enough to be inlined: a call would cost as much again.
func expNear(x float64) float64 {
	k := x*expInvStep + expShift
	n := math.Float64bits(k)
	k -= expShift
	x = x - k*expStepHi - k*expStepLo
	p := math.Float64frombits(expTable[n%512] + n<<43)
	y := x * x
	return p + p*(x+y*(0.5+x*(1.0/6)+y*(1.0/24)))
}

// Constants of exp: 1/step, and step = log(2)/512 in two parts, the first with 31
// bits so that its multiples up to 2^19 are exact.
const (
	expInvStep = 738.6598609351492645682814366729687743624
	expStepHi  = 0x1.62e42feep-10
	expStepLo  = 3.7269822837316168284069e-13
	expShift   = 0x1.8p52 // adding it rounds to an integer, held in the low bits
	expMin     = -707     // below, the product in expNear may be subnormal
)

// expTable[j] holds the bits of 2^(j/512), correctly rounded, minus j·2^43: adding
// n·2^43, j = n mod 512, multiplies by the power of two that belongs to n. A power is the
// one before it times 2^(1/512), both kept as sums of a number and of what it is short of.
var expTable = func() (table [512]uint64) {
	const rootHi, rootLo = 0x1.0058c86da1c0ap+0, -0x1.5e00e62d6b30dp-56
	hi, lo := 1.0, 0.0
	for j := range table {
		table[j] = math.Float64bits(hi) - uint64(j)<<43
		product := float64(hi * rootHi)
		rest := math.FMA(hi, rootHi, -product) + (hi*rootLo + lo*rootHi)
		hi = product + rest
		lo = rest - (hi - product)
	}
	return table
}()
