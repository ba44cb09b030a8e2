//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// double is an unevaluated sum of two numbers, the second below half a unit of
// the first (T. J. Dekker, Numer. Math. 18 (1971) 224–242).
type double struct{ hi, lo float64 }

func quickSum(a, b float64) double {
	s := a + b
	return double{s, b - (s - a)}
}

func (a double) add(b double) double {
	s := a.hi + b.hi
	t := s - a.hi
	e := (a.hi - (s - t)) + (b.hi - t)
	return quickSum(s, e+a.lo+b.lo)
}

func (a double) mul(b double) double {
	p := a.hi * b.hi
	return quickSum(p, math.FMA(a.hi, b.hi, -p)+(a.hi*b.lo+a.lo*b.hi))
}

func (a double) div(n float64) double {
	q := a.hi / n
	return quickSum(q, (math.FMA(-q, n, a.hi)+a.lo)/n)
}

// expDouble returns e^x = p·2^k with a relative error of about 1e-30: it sums
// the Taylor series of e^r for |r| ≤ ln 2/2.
func expDouble(x float64) (p double, k int) {
	ln2 := double{math.Ln2, 0x1.abc9e3b39803fp-56}
	n := math.RoundToEven(x / math.Ln2)
	r := double{x, 0}.add(double{-n, 0}.mul(ln2))
	p = double{1, 0}
	for i := 27; i > 0; i-- {
		p = p.mul(r).div(float64(i)).add(double{1, 0})
	}
	return p, int(n)
}

// TestExpOracle checks the oracle with e and with e^x·e^−x = 1.
func TestExpOracle(t *testing.T) {
	p, k := expDouble(1)
	// e = 2.718281828459045 + 1.4456468917292502e-16.
	if e := (double{math.Ldexp(p.hi, k), math.Ldexp(p.lo, k)}); e.hi != math.E || math.Abs(e.lo-1.4456468917292502e-16) > 1e-30 {
		t.Errorf("e = %v", e)
	}
	rng := testutil.RNG(t)
	for range 1000 {
		x := 700 * (2*rng.Float64() - 1)
		p, k := expDouble(x)
		q, l := expDouble(-x)
		if e := p.mul(q).add(double{-math.Ldexp(1, -k-l), 0}); math.Abs(e.hi) > 1e-27 {
			t.Errorf("e^%g·e^−%g − 1 = %g", x, x, e.hi)
		}
	}
}

// expError returns the error of got as a value of e^x in units of the last place
// of the exact one.
func expError(x, got float64) float64 {
	p, k := expDouble(x)
	// The unit of the result is that of p, times 2^k, or that of denormals.
	_, e := math.Frexp(p.hi)
	unit := math.Ldexp(1, max(e-53, -1074-k))
	// Scaling got back is exact, but in two steps lest 2^−k overflows.
	scaled := math.Ldexp(math.Ldexp(got, -k/2), -k+k/2)
	return math.Abs((scaled-p.hi)-p.lo) / unit
}

// expUlps and expUlpsDenormal are the bounds that doc.go states; a denormal result
// is rounded again by the scaling.
const (
	expUlps         = 0.9
	expUlpsDenormal = 0.95
)

// expLimit returns the values of e^x that are exact or beyond the range.
func expLimit(x float64) (float64, bool) {
	switch {
	case math.IsNaN(x), x > 709.782712893384:
		return x * math.Inf(1), true
	case x < -745.1332191019412:
		return 0, true
	case math.Abs(x) < 0x1p-60:
		return 1, true
	}
	return 0, false
}

func TestExp(t *testing.T) {
	samples := 100_000
	if testing.Short() {
		samples = 10_000
	}
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, r := range []struct {
			name   string
			lo, hi float64
			limit  float64
		}{
			{"reduced", -0.35, 0.35, expUlps},
			{"kernels", -40, 0, expUlps},
			{"normal", -708.39, 709.78, expUlps},
			{"denormal", -746, -708.39, expUlpsDenormal},
			{"near 0", -1e-8, 1e-8, expUlps},
		} {
			var worst, at float64
			x, y := make([]float64, 1021), make([]float64, 1021)
			for range samples / len(x) {
				for i := range x {
					x[i] = r.lo + (r.hi-r.lo)*rng.Float64()
				}
				tab.Exp(y, x)
				for i := range x {
					if e := expError(x[i], y[i]); e > worst {
						worst, at = e, x[i]
					}
				}
			}
			t.Logf("%s: %.3f units, at %g", r.name, worst, at)
			if !(worst <= r.limit) {
				t.Errorf("%s: error of %.3f units at %g", r.name, worst, at)
			}
		}
	})
}

// TestExpSpecial: the special cases of math.Exp, the ends of the range, and
// results where 2^k is a power of two, in every lane.
func TestExpSpecial(t *testing.T) {
	const least = math.SmallestNonzeroFloat64
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		xs := []float64{
			0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(),
			least, -least, 0x1p-60, -0x1p-60, 0x1p-1022,
			709.782712893384, 709.7827128933841, 709.7827128933842, 710, 720, 1e4, math.MaxFloat64,
			-745.1332191019411, -745.1332191019412, -745.14, -746, -760, -1e4, -math.MaxFloat64,
			-708.3964185322641, -708.3964185322642, 1, -1,
		}
		for n := 1; n < 20; n++ {
			for _, v := range xs {
				x := guarded(t, make([]float64, n))
				for i := range x {
					x[i] = v
				}
				y := guarded(t, make([]float64, n))
				tab.Exp(y, x)
				for i := range y {
					if want, ok := expLimit(v); ok && y[i] != want && !(math.IsNaN(want) && math.IsNaN(y[i])) {
						t.Fatalf("n=%d: exp(%g) = %g, want %g", n, v, y[i], want)
					} else if !ok && !(expError(v, y[i]) <= expUlpsDenormal) {
						t.Fatalf("n=%d: exp(%g) = %g, %.3g units off", n, v, y[i], expError(v, y[i]))
					}
				}
				tab.Exp(x, x)
				for i := range x {
					if math.Float64bits(x[i]) != math.Float64bits(y[i]) && !math.IsNaN(x[i]) {
						t.Fatalf("n=%d: exp(%g) in place: %g and %g", n, v, x[i], y[i])
					}
				}
			}
		}
	})
}

// TestExpLanes: the value does not depend on the place in the slice.
func TestExpLanes(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, 37)
		for i := range x {
			x[i] = -750 + 1500*rng.Float64()
		}
		y, one := make([]float64, len(x)), make([]float64, 1)
		tab.Exp(y, x)
		for i := range x {
			if tab.Exp(one, x[i:i+1]); one[0] != y[i] {
				t.Fatalf("exp(%g) is %g alone and %g at %d", x[i], one[0], y[i], i)
			}
		}
	})
}
