package acq

import (
	"math"
	"math/big"
	"testing"

	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// The oracle works in 1600-bit arithmetic: at z = −38 the formula loses the 1040
// bits of φ(38), and 500 are left.
const prec = 1600

func bf(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }

// bigExp returns exp(x) by the series at x/2^32 and squaring.
func bigExp(x *big.Float) *big.Float {
	const halvings = 32
	y := new(big.Float).Copy(x)
	y.SetMantExp(y, -halvings)
	sum, term := bf(1), bf(1)
	for k := 1; k < 80; k++ {
		term.Mul(term, y)
		term.Quo(term, bf(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigPi is 16·atan(1/5) − 4·atan(1/239).
func bigPi() *big.Float {
	atan := func(n float64) *big.Float {
		sum, power, n2 := bf(0), new(big.Float).Quo(bf(1), bf(n)), bf(n*n)
		for k := 0; k < 720; k++ {
			term := new(big.Float).Quo(power, bf(float64(2*k+1)))
			if k%2 == 0 {
				sum.Add(sum, term)
			} else {
				sum.Sub(sum, term)
			}
			power.Quo(power, n2)
		}
		return sum
	}
	a, b := atan(5), atan(239)
	return a.Sub(a.Mul(a, bf(16)), b.Mul(b, bf(4)))
}

// oracle computes expected improvements.
type oracle struct{ rootTwoPi *big.Float }

func newOracle() oracle {
	p := bigPi()
	return oracle{p.Sqrt(p.Mul(p, bf(2)))}
}

// ei returns (m − b)·Φ(z) + sd·φ(z), z = (m − b)/sd, Φ(z) = 1/2 + φ(z)·(z + z³/3
// + z⁵/15 + …), and Φ(z).
func (o oracle) ei(mean, sd, best float64) (ei, cdf *big.Float) {
	d := new(big.Float).Sub(bf(mean), bf(best))
	z := new(big.Float).Quo(d, bf(sd))
	z2 := new(big.Float).Mul(z, z)
	half := new(big.Float).Mul(z2, bf(-0.5))
	phi := bigExp(half)
	phi.Quo(phi, o.rootTwoPi)
	sum, term := bf(0), new(big.Float).Copy(z)
	for k := 1; term.Sign() != 0 && term.MantExp(nil) > -prec; k++ {
		sum.Add(sum, term)
		term.Mul(term, z2)
		term.Quo(term, bf(float64(2*k+1)))
	}
	cdf = sum.Mul(sum, phi)
	cdf.Add(cdf, bf(0.5))
	ei = new(big.Float).Mul(d, cdf)
	return ei.Add(ei, phi.Mul(phi, bf(sd))), cdf
}

// TestOrder draws pairs of points and asks the scores to order them as expected
// improvement and probability of improvement, computed in long arithmetic, do.
// Pairs are drawn far apart and close together, at all scales.
func TestOrder(t *testing.T) {
	o := newOracle()
	rng := testutil.RNG(t)
	pairs := 250
	if testing.Short() {
		pairs = 20
	}
	strict := 0
	for range pairs {
		scale := math.Pow(10, 40*rng.Float64()-20)
		best := scale * rng.NormFloat64()
		sd := scale * math.Exp(2*rng.NormFloat64())
		mean := best + sd*(40*rng.Float64()-30)
		sd2 := sd * math.Exp(rng.NormFloat64())
		mean2 := best + sd2*(mean-best)/sd
		switch rng.IntN(3) {
		case 0: // anywhere
			mean2 = best + sd2*(40*rng.Float64()-30)
		case 1: // close together
			near := math.Pow(10, -13*rng.Float64())
			sd2 = sd * (1 + near*rng.NormFloat64())
			mean2 = mean + sd*near*rng.NormFloat64()
		}
		if z := math.Max(math.Abs(mean-best)/sd, math.Abs(mean2-best)/sd2); z > 37 {
			continue
		}
		e1, p1 := o.ei(mean, sd, best)
		e2, p2 := o.ei(mean2, sd2, best)
		for _, f := range []struct {
			f    Func
			a, b *big.Float
			tie  float64 // relative difference below which rounding may decide
		}{
			// Rounding of z moves log EI and log Φ by z² units, of log sd by
			// its size: 37² + 50 units, and as many again for the functions.
			{EI{best}, e1, e2, 4000 * 0x1p-53},
			{PI{best}, p1, p2, 4000 * 0x1p-53},
		} {
			s1, s2 := f.f.Score(mean, sd), f.f.Score(mean2, sd2)
			diff := new(big.Float).Sub(f.a, f.b)
			rel, _ := new(big.Float).Quo(diff, f.b).Float64()
			if math.Abs(rel) < f.tie {
				continue
			}
			strict++
			if want := diff.Sign(); (s1 > s2) != (want > 0) || (s1 < s2) != (want < 0) {
				t.Errorf("%v: scores %v and %v of (%v, %v) and (%v, %v), relative difference %.3g", f.f, s1, s2, mean, sd, mean2, sd2, rel)
			}
		}
		// The values themselves, while the numbers are at hand.
		want, _ := e1.Float64()
		z := (mean - best) / sd
		if got := ExpectedImprovement(mean, sd, best); !testutil.Close(got, want, (16+2*z*z)*testutil.Unit) && z < 0 || z >= 0 && !testutil.Close(got, want, 16*testutil.Unit) {
			t.Errorf("EI(%v, %v, %v) = %v, want %v", mean, sd, best, got, want)
		}
		// math.Log of the rounded value adds two roundings of its own.
		if got, l := LogExpectedImprovement(mean, sd, best), math.Log(want); !(math.Abs(got-l) <= 18*testutil.Unit*math.Max(math.Max(1, math.Abs(l)), math.Abs(math.Log(sd)))) {
			t.Errorf("log EI(%v, %v, %v) = %v, want %v", mean, sd, best, got, l)
		}
		want, _ = p1.Float64()
		if got := special.NormCDF(PI{best}.Score(mean, sd)); !testutil.Close(got, want, (8+2*z*z)*testutil.Unit) && z < 0 || z >= 0 && !testutil.Close(got, want, 8*testutil.Unit) {
			t.Errorf("PI(%v, %v, %v) = %v, want %v", mean, sd, best, got, want)
		}
	}
	t.Logf("%d comparisons", strict)
	if strict < pairs {
		t.Errorf("only %d comparisons", strict)
	}
}
