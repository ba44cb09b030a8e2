package special

import (
	"math"
	"testing"
)

const u = 1.0 / (1 << 53)

var inf = math.Inf(1)

// TestLimits holds the values at the ends, where branches take over from
// formulas that would give NaN.
func TestLimits(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name    string
		got     float64
		want    float64
		comment string
	}{
		{"NormPDF(+Inf)", NormPDF(inf), 0, ""},
		{"NormPDF(-Inf)", NormPDF(-inf), 0, ""},
		{"NormPDF(1e200)", NormPDF(1e200), 0, "z² overflows"},
		{"NormCDF(-Inf)", NormCDF(-inf), 0, ""},
		{"NormCDF(+Inf)", NormCDF(inf), 1, ""},
		{"NormCDF(0)", NormCDF(0), 0.5, ""},
		{"NormCDF(-1e200)", NormCDF(-1e200), 0, ""},
		{"NormLogCDF(-Inf)", NormLogCDF(-inf), -inf, ""},
		{"NormLogCDF(+Inf)", NormLogCDF(inf), 0, ""},
		{"Erfcx(+Inf)", Erfcx(inf), 0, ""},
		{"Erfcx(-Inf)", Erfcx(-inf), inf, ""},
		{"Erfcx(-27)", Erfcx(-27), inf, "2·exp(729)"},
		{"Erfcx(MaxFloat64)", Erfcx(math.MaxFloat64), 1 / (math.MaxFloat64 * math.Sqrt(math.Pi)), "2x overflows"},
		{"NormEI(-Inf)", NormEI(-inf), 0, ""},
		{"NormEI(+Inf)", NormEI(inf), inf, ""},
		{"NormLogEI(-Inf)", NormLogEI(-inf), -inf, ""},
		{"NormLogEI(+Inf)", NormLogEI(inf), inf, ""},
		{"NormLogEI(-1.8e154)", NormLogEI(-1.8e154), -0.5 * 1.8e154 * 1.8e154, "x² overflows, x²/2 does not"},
		{"NormQuantile(0)", NormQuantile(0), -inf, ""},
		{"NormQuantile(1)", NormQuantile(1), inf, ""},
		{"NormQuantile(1/2)", NormQuantile(0.5), 0, ""},
		{"NormQuantile(-1e-9)", NormQuantile(-1e-9), nan, ""},
		{"NormQuantile(1+2u)", NormQuantile(1 + 2*u), nan, ""},
		{"Log(0)", Log(0), -inf, ""},
		{"Log(-1)", Log(-1), nan, ""},
		{"Log(+Inf)", Log(inf), inf, ""},
	}
	for _, tt := range tests {
		if tt.got != tt.want && !(math.IsNaN(tt.got) && math.IsNaN(tt.want)) {
			t.Errorf("%s = %g, want %g %s", tt.name, tt.got, tt.want, tt.comment)
		}
	}
	for _, b := range bounds {
		if got := b.f(nan); got != skipped && !math.IsNaN(got) {
			t.Errorf("%s(NaN) = %g", b.name, got)
		}
	}
}

// TestIdentities checks relations between the functions, in units of the bounds
// they promise.
func TestIdentities(t *testing.T) {
	for z := -37.0; z <= 37; z += 0.0937 {
		if got := NormQuantile(NormCDF(z)); z < 0 && math.Abs(got-z) > 32*u*math.Max(1, math.Abs(z)) {
			t.Errorf("NormQuantile(NormCDF(%g)) = %g", z, got)
		}
		if got, want := NormEI(z)-NormEI(-z), z; math.Abs(got-want) > 32*u*math.Max(math.Abs(z), 1) {
			t.Errorf("h(%g) − h(%g) = %g", z, -z, got)
		}
		if got := NormCDF(z) + NormCDF(-z); math.Abs(got-1) > 2*u {
			t.Errorf("Φ(%g) + Φ(%g) = %g", z, -z, got)
		}
		if got, want := math.Exp(NormLogEI(z)), NormEI(z); math.Abs(got-want) > 16*u*(1+z*z)*want {
			t.Errorf("exp(log h(%g)) = %g, h = %g", z, got, want)
		}
		if got, want := mills(math.Abs(z))*NormPDF(z), NormCDF(-math.Abs(z)); math.Abs(got-want) > 24*u*want {
			t.Errorf("M·φ at %g = %g, Φ(−|z|) = %g", z, got, want)
		}
	}
}

// TestNormLogEISweep walks over 10^±150 and asks for what an optimiser needs:
// finite values and slopes, increasing and decreasing with z.
func TestNormLogEISweep(t *testing.T) {
	var zs []float64
	for e := 150.0; e >= -150; e -= 0.25 {
		zs = append(zs, -math.Pow(10, e))
	}
	zs = append(zs, 0)
	for e := -150.0; e <= 150; e += 0.25 {
		zs = append(zs, math.Pow(10, e))
	}
	for i, z := range zs {
		v := NormLogEI(z)
		if math.IsInf(v, 0) || math.IsNaN(v) {
			t.Fatalf("log h(%g) = %g", z, v)
		}
		if i == 0 {
			continue
		}
		y := zs[i-1]
		// Points closer than rounding resolves may swap within the error bound.
		if w := NormLogEI(y); !(w <= v+12*u*math.Max(1, math.Abs(v))) || (z-y > 1e-13*math.Max(1, math.Abs(z)) && !(w < v)) {
			t.Errorf("log h falls from %g at %g to %g at %g", w, y, v, z)
		}
	}
}

// TestNormEISeries compares the series with h from φ and R, within the bounds of both.
func TestNormEISeries(t *testing.T) {
	for i := range 100_000 {
		z := seriesFrom * float64(i) / 99_999
		if got, want := NormEI(z), excess(z); math.Abs(got-want) > 12*u*want {
			t.Fatalf("h(%g) = %g, %g from φ and R", z, got, want)
		}
	}
}

// TestBranchPoints steps over every point where a formula changes: the two sides
// must agree within their bounds plus the step itself.
func TestBranchPoints(t *testing.T) {
	tests := []struct {
		name  string
		f     func(float64) float64
		at    float64
		units float64
	}{
		{"NormCDF", NormCDF, 0, 8},
		{"NormLogCDF", NormLogCDF, 0, 10},
		{"NormEI", NormEI, 0, 10},
		{"NormEI between two centres", NormEI, -seriesStep / 2, 10},
		{"NormLogEI", NormLogEI, 0, 6},
		{"NormLogEI at the end of the polynomial", NormLogEI, -1e9, 6},
		{"Erfcx", Erfcx, 0, 8},
		{"Erfcx, asymptotic", Erfcx, 1e8, 8},
		{"millsRest", func(x float64) float64 { return millsRest(x) }, 1e9, 4},
		{"NormQuantile, left", NormQuantile, 0.25, 8},
		{"NormQuantile, right", NormQuantile, 0.75, 8},
		{"Log", Log, 0x1p-1022, 2},
	}
	for _, tt := range tests {
		lo, hi := math.Nextafter(tt.at, -inf), math.Nextafter(tt.at, inf)
		a, b := tt.f(lo), tt.f(hi)
		// No function here has a relative slope above 2/|x| in these places.
		tol := (2*tt.units + 16) * u * math.Abs(b)
		if !(math.Abs(a-b) <= tol) {
			t.Errorf("%s jumps from %v to %v at %g", tt.name, a, b, tt.at)
		}
	}
}

func TestExpSquare(t *testing.T) {
	for _, z := range []float64{0, 1e-200, 0.1, -3.3, 17.1, 26.1, -37.5} {
		if got := expSquare(-0.5, z) * expSquare(0.5, z); math.Abs(got-1) > 16*u {
			t.Errorf("exp(−z²/2)·exp(z²/2) = %v at %g", got, z)
		}
	}
	if got := expSquare(1, -26.7); got != inf {
		t.Errorf("exp(26.7²) = %g", got)
	}
	if got := expSquare(1, 41); got != inf {
		t.Errorf("exp(41²) = %g", got)
	}
	if got := expSquare(-1, 41); got != 0 {
		t.Errorf("exp(−41²) = %g", got)
	}
}

// FuzzNormal asks for the order of the functions and their ranges at any
// argument at all.
func FuzzNormal(f *testing.F) {
	for _, z := range []float64{0, 1, -1, 38, -38.5, 1e8, -1e9, 1e154, -1e155, inf, -inf, 5e-324} {
		f.Add(z)
	}
	f.Fuzz(func(t *testing.T, z float64) {
		if z != z {
			t.Skip()
		}
		p, l := NormCDF(z), NormLogCDF(z)
		if !(p >= 0 && p <= 1) || !(l <= 0) {
			t.Errorf("Φ(%g) = %g, log %g", z, p, l)
		}
		h, lh := NormEI(z), NormLogEI(z)
		if !(h >= 0 && h >= z) || math.IsNaN(lh) {
			t.Errorf("h(%g) = %g, log %g", z, h, lh)
		}
		if e := Erfcx(z); !(e >= 0) {
			t.Errorf("erfcx(%g) = %g", z, e)
		}
		if q := NormQuantile(p); p > 0 && p < 0.5 && z > -37 && math.Abs(q-z) > 64*u*math.Abs(z)+64*u {
			t.Errorf("quantile of Φ(%g) is %g", z, q)
		}
	})
}

func BenchmarkSpecial(b *testing.B) {
	for _, bb := range []struct {
		name string
		f    func(float64) float64
		x    float64
	}{
		{"NormCDF", NormCDF, -2.3},
		{"NormLogCDF", NormLogCDF, -2.3},
		{"NormQuantile", NormQuantile, 0.01},
		{"NormLogEI", NormLogEI, -2.3},
		{"Erfcx", Erfcx, 2.3},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.f(bb.x)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcalls/s")
		})
	}
}

func TestLogAddExp(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ a, b, want float64 }{
		{-inf, -inf, -inf}, {-inf, 3, 3}, {3, -inf, 3}, {-1000, -1000 + math.Log(2), -1000 + math.Log(3)},
	} {
		if got := LogAddExp(c.a, c.b); got != c.want && !(math.Abs(got-c.want) < 1e-12) {
			t.Errorf("LogAddExp(%g, %g) = %g, not %g", c.a, c.b, got, c.want)
		}
	}
}

// TestNormLogIntervalTails compares the far tails with ln φ(b) + ln ∫ exp(b·s − s²/2) ds over the length,
// by Simpson's rule, whose terms are all positive.
func TestNormLogIntervalTails(t *testing.T) {
	for _, b := range []float64{-0.5, -2, -6, -30, -512, -1e4, -1e6} {
		for _, width := range []float64{1.5e-4, 0.01, 0.5, 2} { // times |b| is the logarithm by which φ falls
			const n = 4000
			length := width / math.Max(1, -b)
			a := b - length
			length = b - a
			sum := 0.0
			for i := range n + 1 {
				s := length * float64(i) / n
				weight := float64(2 + 2*(i%2))
				if i == 0 || i == n {
					weight = 1
				}
				sum += weight * math.Exp(b*s-s*s/2)
			}
			want := -b*b/2 - logSqrt2Pi + math.Log(sum*length/(3*n))
			for _, got := range []float64{NormLogInterval(a, b), NormLogInterval(-b, -a)} {
				if math.Abs(got-want) > 2e-15*math.Abs(want)+8*u/min(1, width) && length*(1-b) >= shortInterval {
					t.Errorf("(%g, %g): %.17g, want %.17g, relative error %.2g", a, b, got, want, got/want-1)
				}
			}
		}
	}
}

// The probability of an interval is the difference of the distribution function at its
// ends, in both tails and beyond where that underflows; adjacent intervals add up.
func TestNormLogInterval(t *testing.T) {
	inf := math.Inf(1)
	for z := -40.0; z <= 40; z += 0.37 {
		if got, want := NormLogInterval(-inf, z), NormLogCDF(z); got != want {
			t.Errorf("below %g: %g, want %g", z, got, want)
		}
		if got, want := NormLogInterval(z, inf), NormLogCDF(-z); got != want {
			t.Errorf("above %g: %g, want %g", z, got, want)
		}
		for _, width := range []float64{1e-12, 1e-9, 0.9e-4 / (1 + math.Abs(z)), 1.1e-4 / (1 + math.Abs(z)), 1e-3, 0.2, 3, 50} {
			a, b := z, z+width
			got := NormLogInterval(a, b)
			if mirror := NormLogInterval(-b, -a); math.Abs(got-mirror) > 1e-8 {
				t.Errorf("(%g, %g): %g, mirrored %g", a, b, got, mirror)
			}
			mid := a + (b-a)/2 // two halves
			if halves := LogAddExp(NormLogInterval(a, mid), NormLogInterval(mid, b)); math.Abs(got-halves) > 1e-8 {
				t.Errorf("(%g, %g): %g, its halves %.12g", a, b, got, halves)
			}
			if z > -5 && b < 5 && width > 0.1 {
				if want := math.Log(NormCDF(b) - NormCDF(a)); math.Abs(got-want) > 1e-8 {
					t.Errorf("(%g, %g): %g, want %g", a, b, got, want)
				}
			}
		}
	}
	for _, z := range []float64{1e3, 1e80, 1e154, 1e200, math.MaxFloat64} {
		for _, got := range []float64{NormLogInterval(z, inf), NormLogInterval(-inf, -z), NormLogInterval(z, 2*z), NormLogInterval(-z, -z/2)} {
			if math.IsNaN(got) || got > -1e5 {
				t.Errorf("beyond %g: %g", z, got)
			}
		}
		if got := NormLogInterval(-z, z); got != 0 {
			t.Errorf("within ±%g: %g", z, got)
		}
	}
	for _, c := range [][2]float64{{1, 1}, {2, 1}, {math.NaN(), 1}, {0, math.NaN()}} {
		if got := NormLogInterval(c[0], c[1]); !math.IsInf(got, -1) {
			t.Errorf("(%g, %g): %g", c[0], c[1], got)
		}
	}
}

// TestNormLogIntervalWide: the probability of nearly everything is 1 less what lies on either side.
func TestNormLogIntervalWide(t *testing.T) {
	for a := -37.0; a < 0; a += 0.7 {
		for b := 0.8; b < 37; b += 0.7 {
			want := math.Log1p(-NormCDF(a) - NormCDF(-b))
			if got := NormLogInterval(a, b); math.Abs(got/want-1) > 20*u {
				t.Fatalf("(%g, %g): %.17g, want %.17g", a, b, got, want)
			}
		}
	}
	for a := -30.0; a < 30; a += 0.7 { // and that of next to nothing its length times the density
		b := a + 5e-5/(1+math.Abs(a))
		if got, want := NormLogInterval(a, b), math.Log((b-a)*NormPDF(a+(b-a)/2)); math.Abs(got/want-1) > 1e-14 {
			t.Fatalf("(%g, %g): %.17g, want %.17g", a, b, got, want)
		}
	}
}
