package acq

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestGolden compares every quantity with values from 50-digit arithmetic.
func TestGolden(t *testing.T) {
	var file struct {
		Cases []struct {
			Mean, SD, Best float64
			EI             float64
			LogEI          float64 `json:"log_ei"`
			PI             float64
			LogPI          float64 `json:"log_pi"`
			UCB            float64 `json:"ucb_beta3"`
		}
	}
	testutil.Golden(t, "acquisition.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		for _, q := range []struct {
			name      string
			got, want float64
		}{
			{"EI", ExpectedImprovement(c.Mean, c.SD, c.Best), c.EI},
			{"log EI", LogExpectedImprovement(c.Mean, c.SD, c.Best), c.LogEI},
			{"EI score", EI{c.Best}.Score(c.Mean, c.SD), c.LogEI},
			{"PI", special.NormCDF(PI{c.Best}.Score(c.Mean, c.SD)), c.PI},
			{"log PI", special.NormLogCDF(PI{c.Best}.Score(c.Mean, c.SD)), c.LogPI},
			{"UCB", UCB{DefaultBeta}.Score(c.Mean, c.SD), c.UCB},
		} {
			// Below the normal numbers a relative error means nothing.
			if !testutil.Close(q.got, q.want, 1e-12) && !(math.Abs(q.got-q.want) <= 0x1p-1060) {
				t.Errorf("case %d, %s at mean %g, sd %g, best %g: %v, want %v", i, q.name, c.Mean, c.SD, c.Best, q.got, q.want)
			}
		}
	}
}

// funcs returns every function with the given parameter for EI and PI.
func funcs(p float64) []Func { return []Func{UCB{DefaultBeta}, EI{p}, PI{p}} }

// decades are the powers of ten from 10^-100 to 10^100 and their negatives, in
// order, around 0.
func decades() []float64 {
	var v []float64
	for e := 100; e >= -100; e -= 4 {
		v = append(v, -math.Pow(10, float64(e)))
	}
	v = append(v, 0)
	for e := -100; e <= 100; e += 4 {
		v = append(v, math.Pow(10, float64(e)))
	}
	return v
}

// TestSweep moves mean and sd over 10^±100, in all combinations: scores are finite,
// they never fall with the mean, EI and UCB not with sd,
// PI does as the sign of mean − target says.
func TestSweep(t *testing.T) {
	means := decades()
	var sds []float64
	for _, v := range means {
		if v > 0 {
			sds = append(sds, v)
		}
	}
	for _, best := range []float64{0, 1, -1e-50, 1e100} {
		for _, f := range funcs(best) {
			score := make([][]float64, len(means))
			for i, m := range means {
				for _, sd := range sds {
					s := f.Score(m, sd)
					if math.IsNaN(s) || math.IsInf(s, 0) {
						t.Fatalf("%v at mean %g, sd %g: %g", f, m, sd, s)
					}
					score[i] = append(score[i], s)
				}
			}
			for i := range means {
				for j := range sds {
					s := score[i][j]
					slack := 1e-13 * math.Abs(s)
					if i > 0 && !(score[i-1][j] <= s+slack) {
						t.Fatalf("%v falls from %g to %g between means %g and %g, sd %g", f, score[i-1][j], s, means[i-1], means[i], sds[j])
					}
					if j > 0 {
						rise := s - score[i][j-1]
						if _, ok := f.(PI); ok && means[i] > best {
							rise = -rise
						}
						if !(rise >= -slack) {
							t.Fatalf("%v moves from %g to %g between sds %g and %g, mean %g", f, score[i][j-1], s, sds[j-1], sds[j], means[i])
						}
					}
				}
			}
		}
	}
}

// TestStrictlyIncreasing: apart by more than rounding, points must not tie, not
// at z = −10^200 either. A step of 10% in mean − best is a step of 0.2 and more
// in log EI where that matters.
func TestStrictlyIncreasing(t *testing.T) {
	for _, sd := range []float64{1e-100, 1e-50, 1e-3, 1, 1e80} {
		for _, f := range funcs(0) {
			last := math.Inf(-1)
			var at float64
			for d := -1e100; d < -1e-100; d *= 0.9 {
				if _, ok := f.(UCB); ok && -d < 1e-10*sd || d/sd > -1e-10 {
					break // d is lost against sd, as it is in the acquisition
				}
				s := f.Score(d, sd)
				if !(s > last) {
					t.Fatalf("%v: %v at %g and %v at %g, sd %g", f, last, at, s, d, sd)
				}
				last, at = s, d
			}
		}
	}
}

// TestFold steps over the points where the formula of the EI score changes.
func TestFold(t *testing.T) {
	for _, z := range []float64{-foldZ, 0, 1} {
		lo, hi := z*(1-1e-14), z*(1+1e-14)
		if z == 0 {
			lo, hi = -1e-14, 1e-14
		}
		if a, b := (EI{0}).Score(lo, 1), (EI{0}).Score(hi, 1); !testutil.Close(a, b, 1e-12) {
			t.Errorf("at z = %g: %v and %v", z, a, b)
		}
	}
	// The difference from the best value counts alone.
	if a, b := (EI{1e120}).Score(-2e120, 1), (EI{0}).Score(-3e120, 1); !testutil.Close(a, b, 1e-14) {
		t.Errorf("3e120 below the best value: %v and %v", a, b)
	}
	// The logarithm itself goes on as it is.
	for _, c := range [][4]float64{{-1e120, 1, 0, -0.5e240}, {-2e120, 1, 1e120, -4.5e240}, {-0x1p1023, 0x1p600, 0x1p1023, -0x1p847}} {
		if got := LogExpectedImprovement(c[0], c[1], c[2]); !testutil.Close(got, c[3], 1e-14) {
			t.Errorf("log EI = %g, want %g", got, c[3])
		}
	}
	if got := LogExpectedImprovement(-1e160, 1, 0); !math.IsInf(got, -1) {
		t.Errorf("log EI = %g where z² overflows", got)
	}
}

// TestSpecialArguments holds what the package comment says of sd = 0 and of
// arguments that are no mean or no standard deviation.
func TestSpecialArguments(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const big = math.MaxFloat64
	tests := []struct {
		f           Func
		mean, sd, s float64
	}{
		{UCB{3}, 2, 0, 2},
		{UCB{3}, big, big, big},
		{UCB{-3}, -big, big, -big},
		{UCB{0}, 2, 1, 2},
		{EI{1}, 3, 0, math.Log(2)},
		{EI{1}, 1, 0, -inf},
		{EI{1}, 0, 0, -inf},
		{EI{0}, 5e-324, 0, -744.4400719213812},
		{EI{-big}, big, 0, math.Log(big) + math.Ln2},
		{EI{-big}, big, 1, math.Log(big) + math.Ln2},
		{PI{1}, 3, 0, inf},
		{PI{0}, 5e-324, 0, inf},
		{PI{1}, 1, 0, -inf},
		{PI{1}, 0, 0, -inf},
		{PI{0}, 1, 1e-310, big},
		{PI{-big}, big, 1, big},
		{PI{-big}, big, big, 2},
		{PI{big}, -big, big, -2},
	}
	for _, tt := range tests {
		if s := tt.f.Score(tt.mean, tt.sd); !testutil.Close(s, tt.s, 1e-15) {
			t.Errorf("%v at mean %g, sd %g: %v, want %v", tt.f, tt.mean, tt.sd, s, tt.s)
		}
	}
	for _, f := range funcs(1) {
		for _, a := range [][2]float64{{nan, 1}, {1, nan}, {inf, 1}, {-inf, 1}, {1, inf}, {1, -1}, {1, -5e-324}, {1, -inf}} {
			if s := f.Score(a[0], a[1]); !math.IsNaN(s) {
				t.Errorf("%v at %v: %v", f, a, s)
			}
		}
	}
	for _, f := range []Func{UCB{nan}, UCB{inf}, EI{nan}, EI{-inf}, PI{nan}, PI{inf}} {
		if s := f.Score(0, 1); !math.IsNaN(s) {
			t.Errorf("%v: %v", f, s)
		}
	}
	values := []struct {
		name      string
		got, want float64
	}{
		{"EI, known better", ExpectedImprovement(3, 0, 1), 2},
		{"EI, known equal", ExpectedImprovement(1, 0, 1), 0},
		{"EI, known worse", ExpectedImprovement(0, 0, 1), 0},
		{"EI, negative sd", ExpectedImprovement(0, -1, 1), nan},
		{"log EI, known better", LogExpectedImprovement(3, 0, 1), math.Log(2)},
		{"log EI, known worse", LogExpectedImprovement(0, 0, 1), -inf},
		{"log EI, known equal", LogExpectedImprovement(1, 0, 1), -inf},
		{"log EI, NaN", LogExpectedImprovement(nan, 1, 1), nan},
		{"PI, known better", special.NormCDF(PI{1}.Score(3, 0)), 1},
		{"PI, known equal", special.NormCDF(PI{1}.Score(1, 0)), 0},
		{"PI, NaN", special.NormCDF(PI{1}.Score(1, nan)), nan},
		{"log PI, known better", special.NormLogCDF(PI{1}.Score(3, 0)), 0},
		{"log PI, known worse", special.NormLogCDF(PI{1}.Score(0, 0)), -inf},
	}
	for _, v := range values {
		if !testutil.Close(v.got, v.want, 0) {
			t.Errorf("%s: %v, want %v", v.name, v.got, v.want)
		}
	}
}

func TestString(t *testing.T) {
	for want, f := range map[string]Func{
		"UCB(3)":     UCB{DefaultBeta},
		"EI(0.5)":    EI{0.5},
		"PI(-1e-09)": PI{-1e-9},
	} {
		if got := f.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, f := range funcs(0.5) {
		testutil.ZeroAlloc(t, func() { f.Score(0.3, 0.2) })
	}
}

// FuzzScore asks any arguments for a score that is a number exactly when they are
// legal.
func FuzzScore(f *testing.F) {
	f.Add(0.0, 1.0, 0.5)
	f.Add(-1e100, 1e-100, 1e100)
	f.Add(math.MaxFloat64, 5e-324, -math.MaxFloat64)
	f.Add(-math.MaxFloat64, 5e-324, math.MaxFloat64)
	f.Add(1.0, 0.0, 1.0)
	f.Fuzz(func(t *testing.T, mean, sd, p float64) {
		legal := !math.IsNaN(mean-mean) && !math.IsNaN(p-p) && sd >= 0 && sd <= math.MaxFloat64
		for _, g := range funcs(p) {
			if _, ok := g.(UCB); ok && math.IsNaN(p-p) {
				continue
			}
			s := g.Score(mean, sd)
			if math.IsNaN(s) == legal {
				t.Errorf("%v at %g, %g: %g", g, mean, sd, s)
			}
			if legal && sd > 0 && math.IsInf(s, 0) {
				t.Errorf("%v at %g, %g: %g", g, mean, sd, s)
			}
			if up := g.Score(math.Nextafter(mean, math.Inf(1)), sd); legal && up < s-1e-13*math.Max(1, math.Abs(s))-1e-12*math.Abs(math.Log(sd)) {
				t.Errorf("%v falls from %g to %g after mean %g, sd %g", g, s, up, mean, sd)
			}
		}
	})
}

func BenchmarkScore(b *testing.B) {
	for _, f := range funcs(0.5) {
		b.Run(fmt.Sprint(f), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Score(0.1, 0.2)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mscores/s")
		})
	}
}
