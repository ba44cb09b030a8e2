//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// inverseOf returns the lower triangle of (L·Lᵀ)⁻¹ as a tier computes it, on
// guarded memory, with NaNs where nothing is to be read and row stride ldc.
func inverseOf(t *testing.T, tab f64.Table, n int, l []float64, ldl, ldc int) []float64 {
	t.Helper()
	u, c := make([]float64, n*(n+tab.InverseStep())), make([]float64, max((n-1)*ldc+n, 0))
	for i := range u {
		u[i] = math.NaN()
	}
	for i := range c {
		c[i] = math.NaN()
	}
	u, c, l = guarded(t, u), guarded(t, c), guarded(t, l)
	for i := 0; i < n; i += tab.InverseStep() {
		tab.InvertRows(n, i, u, l, ldl)
	}
	for i := 0; i < n; i += tab.InverseStep() {
		tab.InverseRows(n, i, c, ldc, u)
	}
	for i := range c {
		if i%ldc >= n && !math.IsNaN(c[i]) {
			t.Fatalf("n=%d: wrote beside row %d", n, i/ldc)
		}
	}
	return c
}

// checkInverse compares a tier with the plain loops for an L with l_jj = 2 and
// |l_jk| < 1/n: then row sums of |L⁻¹| are at most 1 and of |L⁻¹||L| at most 3, so
// that both compute X = L⁻¹ with rows of |ΔX| that add up to 3·γ_{n+2} at most, and
// entries of XᵀX, sums of n products of numbers not above 1, within n·7·γ_{n+2}.
func checkInverse(t *testing.T, n int, below func(i, j int) float64) {
	t.Helper()
	ldl, ldc := n+2, n+1
	l := make([]float64, max((n-1)*ldl+n, 0))
	for i := range l {
		l[i] = math.NaN()
	}
	for i := range n {
		for j := range i {
			l[i*ldl+j] = below(i, j) / float64(n)
		}
		l[i*ldl+i] = 2
	}
	want := inverseOf(t, f64.Generic, n, l, ldl, ldc)
	for _, tab := range accel.Tables() {
		got := inverseOf(t, tab.Table, n, l, ldl, ldc)
		tol := 14 * float64(n) * testutil.Gamma(n+2)
		for i := range n {
			for j := range i + 1 {
				if !(math.Abs(got[i*ldc+j]-want[i*ldc+j]) <= tol) {
					t.Fatalf("%s, n=%d: (%d, %d) is %g, want %g ± %.2g", tab.Name, n, i, j, got[i*ldc+j], want[i*ldc+j], tol)
				}
			}
		}
	}
}

func TestInverse(t *testing.T) {
	rng := testutil.RNG(t)
	for n := range 77 {
		checkInverse(t, n, func(_, _ int) float64 { return 2*rng.Float64() - 1 })
	}
	checkInverse(t, 301, func(_, _ int) float64 { return 2*rng.Float64() - 1 })
}

func FuzzInverse(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(4+19*i), s)
	}
	f.Fuzz(func(t *testing.T, n8 uint8, raw []byte) {
		v := &values{raw: raw}
		checkInverse(t, int(n8%77), func(_, _ int) float64 {
			// In ±1: the sine of any bits.
			x := math.Sin(math.Mod(v.next(), 100))
			if math.IsNaN(x) {
				return 0.5
			}
			return x
		})
	})
}
