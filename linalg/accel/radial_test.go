//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// testShapes are a Matern 5/2, a squared exponential, a product of Matern shapes
// and one with all terms.
var testShapes = []f64.Radial{
	{A: 2.23606797749979, B1: 2.23606797749979, B2: 5.0 / 3, G2: 5.0 / 3, G3: 3.7267799624996494},
	{H: 0.5, G2: 1},
	{A: 2.732050807568877, B1: 1.7320508075688772, G1: 1, G2: 4.732050807568877},
	{A: 0.7, H: 0.3, B1: 1.1, B2: 0.2, G1: 0.4, G2: 0.9, G3: 2},
}

// checkRadial compares with the plain loops. r has an error of 2u on either side,
// x = a·r + h·r² one of 6u, so the exponential one of 6u·x beside its own two
// units, 4u; the factors, sums of positive terms, add fewer than 12u. A denormal
// result has an absolute error of a unit, times the polynomial.
func checkRadial(t *testing.T, tab accel.TierTable, f *f64.Radial, sq []float64, scale, variance float64) {
	t.Helper()
	n := len(sq)
	sq = guarded(t, sq)
	got, val, slope := guarded(t, make([]float64, n)), guarded(t, make([]float64, n)), guarded(t, make([]float64, n))
	want, wantVal, wantSlope := make([]float64, n), make([]float64, n), make([]float64, n)
	tab.RadialValues(got, sq, scale, variance, f)
	tab.RadialSlopes(val, slope, sq, scale, f)
	f64.Generic.RadialValues(want, sq, scale, variance, f)
	f64.Generic.RadialSlopes(wantVal, wantSlope, sq, scale, f)
	for i, s := range sq {
		r := math.Sqrt(min(s*scale, f64.FarSquare))
		x := f.A*r + f.H*r*r
		poly := 1 + r*(f.B1+r*f.B2) + r*(f.G1+r*(f.G2+r*f.G3))
		for _, c := range [][2]float64{{got[i], want[i]}, {val[i], wantVal[i]}, {slope[i], wantSlope[i]}} {
			g, w := c[0], c[1]
			tol := 2 * (6*x + 16) * testutil.Unit * math.Abs(w)
			if tiny := 0x1p-1020 * poly * max(1, math.Abs(variance)); math.Abs(w) < tiny {
				tol += 0x1p-1073 * (1 + poly) * max(1, math.Abs(variance))
			}
			if g != w && !(math.IsNaN(g) && math.IsNaN(w)) && !(math.Abs(g-w) <= tol) {
				t.Fatalf("%s, %+v, r² = %g·%g: %g, want %g ± %.2g", tab.Name, *f, scale, s, g, w, tol)
			}
		}
		at, atSlope := tab.RadialAt(s*scale, f)
		if math.Float64bits(at) != math.Float64bits(val[i]) && !math.IsNaN(at) ||
			math.Float64bits(atSlope) != math.Float64bits(slope[i]) && !math.IsNaN(atSlope) {
			t.Fatalf("%s: r² = %g·%g gives %g and %g at a point, %g and %g at %d of a row", tab.Name, scale, s, at, atSlope, val[i], slope[i], i)
		}
		if v := variance * val[i]; variance == 1 && v != got[i] && !math.IsNaN(v) {
			t.Fatalf("%s: the value at r² = %g·%g is %g with its slope, %g without", tab.Name, scale, s, v, got[i])
		}
	}
	in := guarded(t, sq)
	tab.RadialValues(in, in, scale, variance, f)
	both := guarded(t, sq)
	tab.RadialSlopes(slope, both, both, scale, f)
	for i := range in {
		if math.Float64bits(in[i]) != math.Float64bits(got[i]) && !math.IsNaN(in[i]) {
			t.Fatalf("%s: in place %g, else %g", tab.Name, in[i], got[i])
		}
		if math.Float64bits(slope[i]) != math.Float64bits(val[i]) && !math.IsNaN(slope[i]) {
			t.Fatalf("%s: values beside slopes in place %g, else %g", tab.Name, slope[i], val[i])
		}
	}
}

func TestRadial(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for n := range 41 {
			for i := range testShapes {
				sq := make([]float64, n)
				for j := range sq {
					sq[j] = math.Pow(10, 7-14*rng.Float64())
				}
				checkRadial(t, tab, &testShapes[i], sq, 1, 1)
				checkRadial(t, tab, &testShapes[i], sq, 0.37, 2.5)
			}
		}
		special := []float64{0, math.Copysign(0, -1), 1e-320, 1e6, 1e7, math.MaxFloat64, math.Inf(1), math.NaN(), -1, math.Inf(-1), 5e5}
		for i := range testShapes {
			checkRadial(t, tab, &testShapes[i], special, 1, 1)
			checkRadial(t, tab, &testShapes[i], special, 4, 0.5)
		}
	})
}

func FuzzRadial(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(5+9*i), uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, n8, shape uint8, raw []byte) {
		v := &values{raw: raw}
		sq := v.slice(t, int(n8%41))
		for _, tab := range accel.Tables() {
			checkRadial(t, tab, &testShapes[int(shape)%len(testShapes)], sq, 1, 1)
		}
	})
}
