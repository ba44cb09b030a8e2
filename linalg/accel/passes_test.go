//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

func TestSymPass(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for n := range 43 {
			lda := n + 2
			a := fill(rng, max((n-1)*lda+n, 0))
			v, w, x := guarded(t, fill(rng, n)), guarded(t, fill(rng, n)), guarded(t, fill(rng, n))
			y := guarded(t, fill(rng, n))
			got := guarded(t, a)
			tab.SymPass(n, got, lda, v, w, x, y)
			full := make([]float64, n*n)
			for i := range a {
				r, j := i/lda, i%lda
				if j > r {
					if got[i] != a[i] {
						t.Fatalf("n=%d: wrote outside, at %d", n, i)
					}
					continue
				}
				want, tol := sumBound(3, 2, func(l int) float64 { return [...]float64{a[i], -v[r] * w[j], -w[r] * v[j]}[l] })
				if !(math.Abs(got[i]-want) <= tol) {
					t.Fatalf("n=%d: entry (%d, %d) is %g, want %g", n, r, j, got[i], want)
				}
				full[r*n+j], full[j*n+r] = got[i], got[i]
			}
			for i := range n {
				want, tol := sumBound(n, 2, func(l int) float64 { return full[i*n+l] * x[l] })
				if !(math.Abs(y[i]-want) <= tol) {
					t.Fatalf("n=%d: y[%d] = %g, want %g", n, i, y[i], want)
				}
			}
		}
	})
}

// TestSymPassNaN: a NaN or an infinity in x reaches the entries of y that the
// formula sends it to, which is all, and one in the upper triangle reaches none.
func TestSymPassNaN(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		for n := 1; n < 20; n++ {
			a := make([]float64, n*n)
			for i := range n {
				for j := range n {
					a[i*n+j] = 1
					if j > i {
						a[i*n+j] = math.NaN()
					}
				}
			}
			v, w, x, y := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range x {
				x[i] = 1
			}
			for _, special := range []float64{1, math.Inf(1)} {
				x[n-1] = special
				tab.SymPass(n, a, n, v, w, x, y)
				for i := range y {
					if want := float64(n-1) + special; y[i] != want {
						t.Fatalf("n=%d: y[%d] = %g, want %g", n, i, y[i], want)
					}
				}
			}
		}
	})
}

func TestBidiagPass(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, m := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 17, 21} {
			for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 27} {
				checkBidiag(t, tab, rng, m, n)
			}
		}
	})
}

func checkBidiag(t *testing.T, tab accel.TierTable, rng *rand.Rand, m, n int) {
	t.Helper()
	lda := n + 1
	a := fill(rng, max((m-1)*lda+n, 0))
	vec := func(n int) []float64 { return guarded(t, fill(rng, n)) }
	u, s, y, c := vec(m), vec(m), vec(m), vec(m)
	z, v, p, r := vec(n), vec(n), vec(n), vec(n)
	const g = -0.75
	got := guarded(t, a)
	tab.BidiagPass(m, n, got, lda, u, z, s, v, p, g, y, c, r)
	for i := range a {
		k, j := i/lda, i%lda
		if j >= n {
			if got[i] != a[i] {
				t.Fatalf("%d×%d: wrote outside, at %d", m, n, i)
			}
			continue
		}
		want, tol := sumBound(3, 2, func(l int) float64 { return [...]float64{a[i], -u[k] * z[j], -s[k] * v[j]}[l] })
		if !(math.Abs(got[i]-want) <= tol) {
			t.Fatalf("%d×%d: entry (%d, %d) is %g, want %g", m, n, k, j, got[i], want)
		}
	}
	for k := range m {
		want, tol := sumBound(n, 2, func(j int) float64 { return got[k*lda+j] * p[j] })
		if !(math.Abs(y[k]-want) <= tol) {
			t.Fatalf("%d×%d: y[%d] = %g, want %g", m, n, k, y[k], want)
		}
		want = got[k*lda] + g*y[k]
		if !(math.Abs(c[k]-want) <= 4*testutil.Unit*(math.Abs(got[k*lda])+math.Abs(g*y[k]))) {
			t.Fatalf("%d×%d: c[%d] = %g, want %g", m, n, k, c[k], want)
		}
	}
	for j := range n {
		want, tol := sumBound(m, 2, func(k int) float64 { return got[k*lda+j] * c[k] })
		if !(math.Abs(r[j]-want) <= tol) {
			t.Fatalf("%d×%d: r[%d] = %g, want %g", m, n, j, r[j], want)
		}
	}
}
