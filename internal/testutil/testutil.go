// Package testutil holds what the tests of several packages share: seeded generators, error bounds, comparisons,
// gradient checks, allocation checks and golden files. It works on plain slices and imports nothing of this module.
package testutil

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gocmbo/cmbo/internal/each"
)

// RNG returns a generator seeded by the name of the test, so that a test sees the same numbers whichever tests run beside it.
func RNG(tb testing.TB) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(tb.Name()))
	return rand.New(rand.NewPCG(h.Sum64(), 0x9e3779b97f4a7c15))
}

// Normals returns n draws from the standard normal distribution.
func Normals(rng *rand.Rand, n int) []float64 {
	return each.Below(n, func(int) float64 { return rng.NormFloat64() })
}

// Weird returns n numbers that break things: special values and extremes of the exponent range among ordinary ones.
func Weird(rng *rand.Rand, n int) []float64 {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0, -1, 1e200, 1e-200}
	x := Normals(rng, n)
	for i := range x {
		if k := rng.IntN(40); k < len(special) {
			x[i] = special[k]
		}
	}
	return x
}

// MaxDiff returns the largest |x_i − y_i|, a NaN if there is one, +Inf for slices of different lengths.
func MaxDiff(x, y []float64) float64 {
	if len(x) != len(y) {
		return math.Inf(1)
	}
	var m float64
	for i, v := range x {
		m = max(m, math.Abs(v-y[i]))
	}
	return m
}

// Unit is the unit roundoff of float64, 2^-53.
const Unit = 1.0 / (1 << 53)

// Gamma returns γ_k = k·u/(1 − k·u), the constant of Higham's error bounds
// (Accuracy and Stability of Numerical Algorithms, 2002, section 3.1).
func Gamma(k int) float64 { return float64(k) * Unit / (1 - float64(k)*Unit) }

// RelErr returns |got − want|/|want|, and |got| if want is 0. Equal infinities
// have error 0, two NaNs have error 0; one NaN or another infinity has error +Inf.
func RelErr(got, want float64) float64 {
	switch {
	case got == want, math.IsNaN(got) && math.IsNaN(want):
		return 0
	case math.IsNaN(got) || math.IsNaN(want) || math.IsInf(want, 0):
		return math.Inf(1)
	case want == 0:
		return math.Abs(got)
	}
	return math.Abs(got-want) / math.Abs(want)
}

// Close reports whether got is within relative error tol of want, in the sense of RelErr.
func Close(got, want, tol float64) bool { return RelErr(got, want) <= tol }

// SPD returns a random symmetric positive definite n×n matrix, row-major, whose
// eigenvalues are spaced evenly in logarithm from 1/cond to 1.
func SPD(rng *rand.Rand, n int, cond float64) []float64 {
	return Spectrum(rng, each.Below(n, func(i int) float64 { return math.Pow(cond, -float64(i)/float64(max(n-1, 1))) }))
}

// Spectrum returns a random symmetric matrix, row-major, with the given eigenvalues (up to rounding).
func Spectrum(rng *rand.Rand, lambda []float64) []float64 {
	n := len(lambda)
	q := Orthogonal(rng, n)
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			var s float64
			for k, l := range lambda {
				s += q[i*n+k] * l * q[j*n+k]
			}
			a[i*n+j], a[j*n+i] = s, s
		}
	}
	return a
}

// Orthogonal returns a random n×n orthogonal matrix, row-major: Gaussian rows orthonormalised twice by Gram–Schmidt.
func Orthogonal(rng *rand.Rand, n int) []float64 {
	q := Normals(rng, n*n)
	for i := range n {
		qi := q[i*n : i*n+n]
		for range 2 {
			for k := range i {
				qk := q[k*n : k*n+n]
				var s float64
				for j, v := range qk {
					s += v * qi[j]
				}
				for j, v := range qk {
					qi[j] -= s * v
				}
			}
		}
		var s float64
		for _, v := range qi {
			s += v * v
		}
		s = 1 / math.Sqrt(s)
		for j := range qi {
			qi[j] *= s
		}
	}
	return q
}

// CheckGrad compares grad with central differences of f at x, coordinate by coordinate, with steps h = cbrt(ε)·max(1,
// |x_i|). It fails the test where the two differ by more than tol·max(1, |grad_i|). x is restored.
func CheckGrad(tb testing.TB, f func(x []float64) float64, x, grad []float64, tol float64) {
	tb.Helper()
	if len(grad) != len(x) {
		tb.Fatalf("gradient has %d entries, want %d", len(grad), len(x))
	}
	for i := range x {
		x0 := x[i]
		h := math.Cbrt(2*Unit) * math.Max(1, math.Abs(x0))
		x[i] = x0 + h
		hi, fhi := x[i], f(x)
		x[i] = x0 - h
		lo, flo := x[i], f(x)
		x[i] = x0
		want := (fhi - flo) / (hi - lo)
		if !(math.Abs(grad[i]-want) <= tol*math.Max(1, math.Abs(grad[i]))) {
			tb.Errorf("gradient[%d] = %.10g, central difference %.10g", i, grad[i], want)
		}
	}
}

// ZeroAlloc fails the test if f allocates, after one call to size workspaces.
// Under the race detector, which allocates itself, it only calls f.
func ZeroAlloc(tb testing.TB, f func()) {
	tb.Helper()
	f()
	if raceEnabled {
		return
	}
	if n := testing.AllocsPerRun(5, f); n != 0 {
		tb.Errorf("%g allocations in steady state, want 0", n)
	}
}

// SkipShort leaves the test, or what follows of it, out of short runs, for the reason given: those
// are for what a platform or the race detector may do to the code, of which statistics of whole runs,
// how good proposals are and which runs there are say nothing.
func SkipShort(tb testing.TB, why string) {
	if testing.Short() {
		tb.Helper()
		tb.Skipf("not in short mode: %s", why)
	}
}

// SkipRace leaves the test out under the race detector, for the reason given: what one
// goroutine does alone takes ten times as long watched, and shows nothing more.
func SkipRace(tb testing.TB, why string) {
	tb.Helper()
	if raceEnabled {
		tb.Skip("under the race detector: " + why)
	}
}

// Countdown returns a context that is cancelled once its error was asked for n times. Several goroutines may ask.
func Countdown(n int) *countdown { return &countdown{Context: context.Background(), n: int64(n)} }

// countdown is a context that counts how many times its error is asked for.
type countdown struct {
	context.Context
	n     int64
	asked atomic.Int64
}

// Err returns context.Canceled from the time on that it was asked for often enough.
func (c *countdown) Err() error {
	if c.asked.Add(1) > c.n {
		return context.Canceled
	}
	return nil
}

// Asked returns how many times the error was asked for.
func (c *countdown) Asked() int { return int(c.asked.Load()) }

// BenchCubes runs f at several sizes, set up by setup, and reports the rate for so many operations in units of n³.
func BenchCubes(b *testing.B, cubes float64, sizes []int, setup func(n int) func()) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			f := setup(n)
			f() // sizes the workspace
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			flop := cubes * float64(n) * float64(n) * float64(n)
			b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// SameOnProcessors fails the test unless results, of what is named, are the same bits on one
// processor as on several, which it sets GOMAXPROCS to.
func SameOnProcessors(tb testing.TB, what string, results func() [][]float64) {
	tb.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := results()
	for _, p := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(p)
		for i, got := range results() {
			for k, v := range got {
				if math.Float64bits(v) != math.Float64bits(want[i][k]) {
					tb.Fatalf("%s, GOMAXPROCS %d: result %d differs at %d: %g, %g", what, p, i, k, v, want[i][k])
				}
			}
		}
	}
}

// Golden decodes the JSON file called name into v. It is read from the folder in the environment
// variable CMBO_GOLDEN if that is set, else from testdata of the package under test.
func Golden(tb testing.TB, name string, v any) {
	tb.Helper()
	dir := cmp.Or(os.Getenv("CMBO_GOLDEN"), "testdata")
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}
