//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
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

// exponential is the shape e^−r. Where r has 26 bits and its square is given, the
// argument of the exponential is exact.
var exponential = f64.Radial{A: 1}

// TestExp measures the exponential under the shapes, over the whole range that
// distances can ask for.
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
			{"reduced", 0, 0.35, expUlps},
			{"kernels", 0, 40, expUlps},
			{"normal", 0, 708.39, expUlps},
			{"denormal", 708.3966, 745.1, expUlpsDenormal},
			{"near 0", 0, 1e-8, expUlps},
		} {
			var worst, at float64
			x, sq, y := make([]float64, 1021), make([]float64, 1021), make([]float64, 1021)
			for range samples / len(x) {
				for i := range x {
					x[i] = float64(float32(r.lo + (r.hi-r.lo)*rng.Float64()))
					sq[i] = x[i] * x[i]
				}
				tab.RadialValues(y, sq, 1, 1, &exponential)
				for i := range x {
					if e := expError(-x[i], y[i]); e > worst {
						worst, at = e, -x[i]
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

// TestExpSpecial: the ends of the range, in every lane and in place.
func TestExpSpecial(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		for _, c := range [][2]float64{
			{0, 1}, {math.Copysign(0, -1), 1}, {0x1p-60, 1}, {math.Inf(1), 0}, {math.NaN(), math.NaN()},
			{746, 0}, {760, 0}, {1e4, 0}, {1e150, 0},
		} {
			for n := 1; n < 20; n++ {
				sq := guarded(t, make([]float64, n))
				for i := range sq {
					sq[i] = c[0] * c[0]
				}
				y := guarded(t, make([]float64, n))
				tab.RadialValues(y, sq, 1, 1, &exponential)
				tab.RadialValues(sq, sq, 1, 1, &exponential)
				for i, want := range slices.Repeat(c[1:], n) {
					if y[i] != want && !(math.IsNaN(want) && math.IsNaN(y[i])) || math.Float64bits(y[i]) != math.Float64bits(sq[i]) && !math.IsNaN(want) {
						t.Fatalf("n=%d: exp(−%g) = %g, in place %g, want %g", n, c[0], y[i], sq[i], want)
					}
				}
			}
		}
	})
}
