package baseline

import (
	"math"
	"math/rand/v2"
)

// gammaLaw is a Gamma distribution with location 0: density proportional to
// x^(shape−1)·e^(−x/scale).
type gammaLaw struct{ shape, scale float64 }

// maxShape stands for a shape beyond measure, where all values are (nearly)
// equal.
const maxShape = 1e4

// fitGamma returns the law of maximum likelihood for positive values: its shape a
// solves
//
//	ln a − ψ(a) = ln(mean of v) − mean of ln v,
//
// ψ the digamma function, by Newton's method in ln a from the approximation of
// T. P. Minka, Estimating a Gamma distribution (2002); its scale is mean/a.
func fitGamma(v []float64) gammaLaw {
	var mean, logs float64
	for _, x := range v {
		mean += x / float64(len(v))
		logs += math.Log(x) / float64(len(v))
	}
	s := math.Log(mean) - logs
	if !(s > 1/(2*maxShape)) {
		return gammaLaw{shape: maxShape, scale: mean / maxShape}
	}
	a := (3 - s + math.Sqrt((s-3)*(s-3)+24*s)) / (12 * s)
	for range 50 {
		// d/d ln a of ln a − ψ(a) is 1 − a·ψ′(a) < 0.
		step := (math.Log(a) - digamma(a) - s) / (1 - a*trigamma(a))
		a *= math.Exp(-min(max(step, -1), 1))
		if math.Abs(step) < 1e-12 {
			break
		}
	}
	a = min(a, maxShape)
	return gammaLaw{shape: a, scale: mean / a}
}

// draw returns a value of the law, by the method of G. Marsaglia and W. W. Tsang,
// A simple method for generating gamma variables, ACM TOMS 26 (2000) 363–372.
func (g gammaLaw) draw(r *rand.Rand) float64 {
	a, boost := g.shape, 1.0
	if a < 1 {
		boost = math.Pow(r.Float64(), 1/a)
		a++
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := r.Float64(); math.Log(u) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return g.scale * boost * d * v
		}
	}
}

// digamma returns ψ(x) for x > 0: the asymptotic series beyond 10, with error
// below 1e-14, and the recurrence ψ(x) = ψ(x+1) − 1/x below.
func digamma(x float64) float64 {
	var sum float64
	for ; x < 10; x++ {
		sum -= 1 / x
	}
	f := 1 / (x * x)
	series := f * (1.0/12 - f*(1.0/120-f*(1.0/252-f*(1.0/240-f*(1.0/132-f*(691.0/32760-f/12))))))
	return sum + math.Log(x) - 0.5/x - series
}

// trigamma returns ψ′(x) for x > 0 likewise.
func trigamma(x float64) float64 {
	var sum float64
	for ; x < 10; x++ {
		sum += 1 / (x * x)
	}
	f := 1 / (x * x)
	series := f / x * (1.0/6 - f*(1.0/30-f*(1.0/42-f*(1.0/30-f*(5.0/66-f*(691.0/2730-f*7.0/6))))))
	return sum + 1/x + 0.5*f + series
}
