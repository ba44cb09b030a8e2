package testutil

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// recorder is a testing.TB that notes failures instead of reporting them.
type recorder struct {
	testing.TB
	failed []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.failed = append(r.failed, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }
func (r *recorder) Fatal(a ...any)            { r.Fatalf("%s", fmt.Sprint(a...)) }

// failures returns what f reports.
func failures(t *testing.T, f func(tb testing.TB)) []string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if v := recover(); v != nil && v != any(r) {
				panic(v)
			}
		}()
		f(r)
	}()
	return r.failed
}

func TestRNG(t *testing.T) {
	if a, b := RNG(t).Uint64(), RNG(t).Uint64(); a != b {
		t.Errorf("two generators of one test: %d, %d", a, b)
	}
	var other uint64
	t.Run("sub", func(t *testing.T) { other = RNG(t).Uint64() })
	if RNG(t).Uint64() == other {
		t.Error("tests of different names see the same numbers")
	}
}

func TestRelErr(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct{ got, want, err float64 }{
		{1, 1, 0}, {0, 0, 0}, {inf, inf, 0}, {nan, nan, 0},
		{1.5, 1, 0.5}, {-1, 1, 2}, {0.25, 0, 0.25}, {3, -4, 1.75},
		{nan, 1, inf}, {1, nan, inf}, {inf, 1, inf}, {1, inf, inf}, {-inf, inf, inf},
	} {
		if err := RelErr(tt.got, tt.want); err != tt.err {
			t.Errorf("RelErr(%g, %g) = %g, want %g", tt.got, tt.want, err, tt.err)
		}
	}
	if !Close(1.5, 1, 0.5) || Close(1.5, 1, 0.4) || Close(nan, 1, 1e300) {
		t.Error("Close")
	}
	if g := Gamma(4); !(g > 4*Unit && g < 4*Unit*(1+8*Unit)) {
		t.Errorf("Gamma(4) = %g", g)
	}
}

func TestGenerators(t *testing.T) {
	for _, n := range []int{0, 1, 2, 13} {
		q := Orthogonal(RNG(t), n)
		a := SPD(RNG(t), n, 100)
		var trace, want, square, wantSquare float64
		for i := range n {
			for j := range n {
				var s float64
				for k := range n {
					s += q[i*n+k] * q[j*n+k]
				}
				if i == j {
					s--
				}
				if !(math.Abs(s) <= 8*float64(n)*Unit) {
					t.Errorf("n=%d: rows %d and %d of Orthogonal: %g", n, i, j, s)
				}
				if a[i*n+j] != a[j*n+i] {
					t.Errorf("n=%d: SPD is not symmetric", n)
				}
				square += a[i*n+j] * a[i*n+j]
			}
			trace += a[i*n+i]
			l := 1.0
			if n > 1 {
				l = math.Pow(100, -float64(i)/float64(n-1))
			}
			want += l
			wantSquare += l * l
		}
		if !Close(trace, want, 1e-13) || !Close(square, wantSquare, 1e-13) {
			t.Errorf("n=%d: Σλ = %g, Σλ² = %g, want %g, %g", n, trace, square, want, wantSquare)
		}
	}
}

func TestCheckGrad(t *testing.T) {
	f := func(x []float64) float64 { return math.Sin(x[0]) * math.Exp(x[1]) }
	x := []float64{0.3, -0.7}
	good := []float64{math.Cos(0.3) * math.Exp(-0.7), math.Sin(0.3) * math.Exp(-0.7)}
	CheckGrad(t, f, x, good, 1e-9)
	if x[0] != 0.3 || x[1] != -0.7 {
		t.Errorf("x is now %v", x)
	}
	for _, bad := range [][]float64{{good[0] + 1e-6, good[1]}, {good[0], -good[1]}, {math.NaN(), good[1]}, {good[0]}} {
		if failures(t, func(tb testing.TB) { CheckGrad(tb, f, x, bad, 1e-9) }) == nil {
			t.Errorf("gradient %v passed", bad)
		}
	}
}

var sink []byte

func TestZeroAlloc(t *testing.T) {
	ZeroAlloc(t, func() {})
	var kept []byte
	ZeroAlloc(t, func() {
		if kept == nil {
			kept = make([]byte, 100) // the first call sizes a workspace
		}
	})
	if !raceEnabled && failures(t, func(tb testing.TB) { ZeroAlloc(tb, func() { sink = make([]byte, 100) }) }) == nil {
		t.Error("an allocation in every call passed")
	}
}

func TestGolden(t *testing.T) {
	t.Setenv("CMBO_GOLDEN", t.TempDir())
	if err := os.WriteFile(filepath.Join(os.Getenv("CMBO_GOLDEN"), "x.json"), []byte(`{"a": [1, 2.5]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var v struct{ A []float64 }
	Golden(t, "x.json", &v)
	if len(v.A) != 2 || v.A[1] != 2.5 {
		t.Errorf("read %v", v)
	}
	if failures(t, func(tb testing.TB) { Golden(tb, "y.json", &v) }) == nil {
		t.Error("a missing file passed")
	}
	var w []float64
	if failures(t, func(tb testing.TB) { Golden(tb, "x.json", &w) }) == nil {
		t.Error("a file of another form passed")
	}
}
