//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// lowerOf returns the lower triangle of an n×n matrix with row stride ld, and
// NaNs where nothing is to be read.
func lowerOf(a []float64, n, ld int) []float64 {
	l := make([]float64, max((n-1)*ld+n, 0))
	for i := range l {
		l[i] = math.NaN()
		if r, j := i/ld, i%ld; j <= r {
			l[i] = a[r*n+j]
		}
	}
	return l
}

// TestChol checks |A + shift·I − L·Lᵀ| ≤ γ_{n+2}|L||Lᵀ|, with (|L||Lᵀ|)_ij not
// above (a_ii·a_jj)^½, in place and from one matrix to another, on sizes about the
// strips and panels of all tiers; and that nothing below or beside L is written.
func TestChol(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 20, 23, 24, 25, 31, 36, 47, 48, 49, 56, 60, 73, 100, 131} {
			for _, shift := range []float64{0, 0.25} {
				spd := testutil.SPD(rng, n, 1e6)
				lda, ldl := n+1, n+3
				a := guarded(t, lowerOf(spd, n, lda))
				l := guarded(t, make([]float64, max((n-1)*ldl+n, 0)))
				if p, v := tab.Chol(n, shift, a, lda, l, ldl); p != -1 {
					t.Fatalf("n=%d: pivot %d is %g", n, p, v)
				}
				for i := range n {
					for j := range i + 1 {
						terms := func(k int) float64 { return l[i*ldl+k] * l[j*ldl+k] }
						got, _ := sumBound(j+1, 0, terms)
						want := spd[i*n+j]
						if i == j {
							want += shift
						}
						tol := 2 * testutil.Gamma(n+2) * math.Sqrt((spd[i*n+i]+shift)*(spd[j*n+j]+shift))
						if !(math.Abs(got-want) <= tol) {
							t.Fatalf("n=%d: (L·Lᵀ)[%d,%d] is %g, want %g ± %.2g", n, i, j, got, want, tol)
						}
					}
					for j := n; j < ldl && i*ldl+j < len(l); j++ {
						if l[i*ldl+j] != 0 {
							t.Fatalf("n=%d: wrote beside row %d", n, i)
						}
					}
				}
				tab.Chol(n, shift, a, lda, a, lda)
				for i := range n {
					for j := range i + 1 {
						if a[i*lda+j] != l[i*ldl+j] {
							t.Fatalf("n=%d: (%d, %d) is %g in place and %g", n, i, j, a[i*lda+j], l[i*ldl+j])
						}
					}
				}
			}
		}
	})
}

// TestCholPivot: the first pivot that is not positive and finite is reported,
// wherever it stands in strips and panels, with its value.
func TestCholPivot(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		const n = 61
		for at := range n {
			for _, bad := range []float64{0, math.Copysign(0, -1), -3, math.Inf(1), math.Inf(-1), math.NaN()} {
				a := make([]float64, n*n)
				for i := range n {
					a[i*n+i] = 4
				}
				a[at*n+at] = bad
				p, v := tab.Chol(n, 0, a, n, a, n)
				if p != at || v != bad && !(math.IsNaN(v) && math.IsNaN(bad)) {
					t.Fatalf("%g at %d: pivot %d is %g", bad, at, p, v)
				}
			}
			for _, good := range []float64{math.MaxFloat64, 0x1p-1074} {
				a := make([]float64, n*n)
				for i := range n {
					a[i*n+i] = good
				}
				if p, v := tab.Chol(n, 0, a, n, a, n); p != -1 || a[at*n+at] != math.Sqrt(good) {
					t.Fatalf("%g: pivot %d is %g, entry %d of the factor %g", good, p, v, at, a[at*n+at])
				}
			}
		}
	})
}

// FuzzChol compares with the plain loops: the factors of a matrix that is
// diagonally dominant by far lie within a bound of each other, and where an entry
// is replaced by anything else the same rows come out not finite.
func FuzzChol(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(uint8(4+19*i), uint8(3*i), s)
	}
	f.Fuzz(func(t *testing.T, n8, at8 uint8, raw []byte) {
		n := int(n8%77) + 1
		v := &values{raw: raw}
		a := make([]float64, n*n)
		for i := range n {
			for j := range i {
				// In ±1: the sine of any bits.
				a[i*n+j] = math.Sin(math.Mod(v.next(), 100))
				if math.IsNaN(a[i*n+j]) {
					a[i*n+j] = 0.5
				}
			}
			a[i*n+i] = 2 * float64(n)
		}
		// With ‖A⁻¹‖ ≤ 1/n, the row sums being at most n−1, and ‖A‖ ≤ 3n the factors
		// of two matrices with |ΔA_ij| ≤ 2n·γ_{n+2} differ by less than
		// 4·n·γ_{n+2}·√(3n).
		tol := 8 * float64(n) * math.Sqrt(3*float64(n)) * testutil.Gamma(n+2)
		want := append([]float64(nil), a...)
		f64.Generic.Chol(n, 0, a, n, want, n)
		for _, tab := range accel.Tables() {
			got := guarded(t, a)
			if p, v := tab.Chol(n, 0, got, n, got, n); p != -1 {
				t.Fatalf("%s, n=%d: pivot %d is %g", tab.Name, n, p, v)
			}
			for i := range n {
				for j := range i + 1 {
					if !(math.Abs(got[i*n+j]-want[i*n+j]) <= tol) {
						t.Fatalf("%s, n=%d: (%d, %d) is %g, want %g", tab.Name, n, i, j, got[i*n+j], want[i*n+j])
					}
				}
			}
		}
		at := int(at8) % n
		x := v.next()
		a[at*n] = x
		wantP, wantV := f64.Generic.Chol(n, 0, a, n, want, n)
		if math.Abs(x*x-4*float64(n*n)) < float64(n) || math.Abs(x) < 0x1p-500 && at == 0 {
			return // the pivot may fall to either side
		}
		for _, tab := range accel.Tables() {
			got := guarded(t, a)
			if p, v := tab.Chol(n, 0, got, n, got, n); p != wantP || math.IsNaN(v) != math.IsNaN(wantV) {
				t.Fatalf("%s, n=%d, %g in row %d: pivot %d is %g, want %d, %g", tab.Name, n, x, at, p, v, wantP, wantV)
			}
		}
	})
}
