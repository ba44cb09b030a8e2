//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
)

// eachTier runs a test on every tier the machine has. There is nothing to test on
// a machine without any.
func eachTier(t *testing.T, f func(t *testing.T, tab accel.TierTable)) {
	tabs := accel.Tables()
	if len(tabs) == 0 {
		t.Skip("no tier on this processor")
	}
	for _, tab := range tabs {
		t.Run(tab.Name, func(t *testing.T) { f(t, tab) })
	}
}

func fill(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// sumBound returns the sum of k products and the bound γ_{k+extra}·Σ|terms| for
// what another order of summation, or another rounding of the products, may
// differ from it by, twice.
func sumBound(k, extra int, term func(l int) float64) (sum, bound float64) {
	var abs float64
	for l := range k {
		v := term(l)
		sum += v
		abs += math.Abs(v)
	}
	return sum, 2 * testutil.Gamma(k+extra) * abs
}

// strides describes one operand of a product in a padded array.
type strides struct{ rs, cs, size int }

// layouts returns row-major and column-major layouts of an r×c matrix, whose
// arrays end with the last entry.
func layouts(r, c int) []strides {
	return []strides{{c + 2, 1, max((r-1)*(c+2)+c, 0)}, {1, r + 1, max((c-1)*(r+1)+r, 0)}}
}

// checkGemm compares a product with its sums, and GemmSet on anything with Gemm on
// zeros. All slices come from a guarded
// region, so that nothing outside them can be touched.
func checkGemm(t *testing.T, tab accel.TierTable, rng *rand.Rand, m, n, k int, sa, sb strides, alpha float64) {
	t.Helper()
	a, b := guarded(t, fill(rng, sa.size)), guarded(t, fill(rng, sb.size))
	ldc := n + 3
	c := fill(rng, max((m-1)*ldc+n, 0))
	got := guarded(t, c)
	tab.Gemm(m, n, k, alpha, a, sa.rs, sa.cs, b, sb.rs, sb.cs, got, ldc)
	for i := range c {
		r, j := i/ldc, i%ldc
		if j >= n {
			if got[i] != c[i] {
				t.Fatalf("%d×%d×%d: wrote outside, at %d", m, n, k, i)
			}
			continue
		}
		want, tol := sumBound(k+1, 2, func(l int) float64 {
			if l == k {
				return c[i]
			}
			return alpha * a[r*sa.rs+l*sa.cs] * b[l*sb.rs+j*sb.cs]
		})
		if !(math.Abs(got[i]-want) <= tol) {
			t.Fatalf("%d×%d×%d, A %v, B %v: entry (%d, %d) is %g, want %g ± %.2g", m, n, k, sa, sb, r, j, got[i], want, tol)
		}
	}
	clear(c)
	tab.Gemm(m, n, k, alpha, a, sa.rs, sa.cs, b, sb.rs, sb.cs, c, ldc)
	for i := range got {
		got[i] = math.NaN()
	}
	tab.GemmSet(m, n, k, alpha, a, sa.rs, sa.cs, b, sb.rs, sb.cs, got, ldc)
	for i := range got {
		if inside := i%ldc < n; inside && got[i] != c[i] || !inside && !math.IsNaN(got[i]) {
			t.Fatalf("%d×%d×%d, A %v, B %v: GemmSet, entry (%d, %d) is %g, want %g", m, n, k, sa, sb, i/ldc, i%ldc, got[i], c[i])
		}
	}
}

// TestGemm straddles the register tiles, panels and, lowered, the cuts, for all
// four transposes.
func TestGemm(t *testing.T) {
	testutil.SkipRace(t, "one goroutine multiplies small matrices")
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, cuts := range [][3]int{{7, 9, 16}, {7, 9, 100}, {256, 256, 256}} {
			restore := accel.SetBlocks(cuts[0], cuts[1], cuts[2], 256)
			for _, m := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 23} {
				for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 25, 33} {
					for _, k := range []int{0, 1, 3, 4, 5, 8, 11, 17} {
						for _, sa := range layouts(m, k) {
							for _, sb := range layouts(k, n) {
								checkGemm(t, tab, rng, m, n, k, sa, sb, -1.25)
							}
						}
					}
				}
			}
			restore()
		}
		// Both strides other than 1, and rows of B far apart.
		checkGemm(t, tab, rng, 9, 8, 10, strides{40, 2, 400}, strides{2, 30, 400}, 1)
		checkGemm(t, tab, rng, 9, 1, 10, strides{40, 2, 400}, strides{2, 30, 400}, 1)
		checkGemm(t, tab, rng, 41, 27, 5, strides{5, 1, 41 * 5}, strides{600, 1, 4*600 + 27}, 1)
		for _, s := range [][3]int{{257, 5, 259}, {3, 131, 258}, {130, 101, 9}, {390, 60, 200}} {
			for _, sa := range layouts(s[0], s[2]) {
				for _, sb := range layouts(s[2], s[1]) {
					checkGemm(t, tab, rng, s[0], s[1], s[2], sa, sb, 1)
				}
			}
		}
	})
}

// TestGemmRowCut: cutting the rows of C at multiples of 16 changes nothing.
func TestGemmRowCut(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, s := range [][3]int{{103, 11, 37}, {98, 1, 21}, {72, 40, 300}, {97, 26, 5}, {53, 3, 600}, {300, 5, 9}} {
			m, n, k := s[0], s[1], s[2]
			for _, sa := range layouts(m, k) {
				for _, sb := range layouts(k, n) {
					a, b := fill(rng, sa.size), fill(rng, sb.size)
					whole, rows := make([]float64, m*n), make([]float64, m*n)
					tab.Gemm(m, n, k, 1, a, sa.rs, sa.cs, b, sb.rs, sb.cs, whole, n)
					for i := 0; i < m; {
						h := min(16*(1+rng.IntN(3)), m-i)
						tab.Gemm(h, n, k, 1, a[i*sa.rs:], sa.rs, sa.cs, b, sb.rs, sb.cs, rows[i*n:], n)
						i += h
					}
					for i := range whole {
						if whole[i] != rows[i] {
							t.Fatalf("%d×%d×%d: entry %d: %g whole, %g in parts", m, n, k, i, whole[i], rows[i])
						}
					}
				}
			}
		}
	})
}

func TestGemmNaN(t *testing.T) {
	// A is zero, column 0 of B holds a NaN, an infinity stands in the last one.
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		for _, n := range []int{2, 5, 13, 30} {
			for _, trans := range []bool{false, true} {
				a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
				brs, bcs := n, 1
				if trans {
					brs, bcs = 1, n
				}
				b[(n-1)*brs] = math.NaN()
				b[(n-1)*bcs] += math.Inf(1)
				tab.Gemm(n, n, n, 1, a, n, 1, b, brs, bcs, c, n)
				for i := range n {
					for j := range n {
						if math.IsNaN(c[i*n+j]) != (j == 0 || j == n-1) {
							t.Fatalf("n=%d, transposed %v: entry (%d, %d) is %g", n, trans, i, j, c[i*n+j])
						}
					}
				}
			}
		}
	})
}

func checkTrsm(t *testing.T, tab accel.TierTable, rng *rand.Rand, m, n int) {
	t.Helper()
	ldx, ldl := n+1, n+2
	lv := fill(rng, max((n-1)*ldl+n, 0))
	for i := range n {
		for j := range n {
			switch {
			case j == i:
				lv[i*ldl+j] = 2 + rng.Float64()
			case j > i:
				lv[i*ldl+j] = math.NaN() // not to be read
			default:
				lv[i*ldl+j] /= math.Sqrt(float64(n)) // to keep X in range
			}
		}
		for j := i*ldl + n; j < min((i+1)*ldl, len(lv)); j++ {
			lv[j] = math.NaN()
		}
	}
	b := fill(rng, max((m-1)*ldx+n, 0))
	l, x := guarded(t, lv), guarded(t, b)
	check := func(what string, entry func(r, j int) (sum, tol float64)) {
		t.Helper()
		for i := range x {
			r, j := i/ldx, i%ldx
			if j >= n {
				if x[i] != b[i] {
					t.Fatalf("%s, %d×%d: wrote outside, at %d", what, m, n, i)
				}
				continue
			}
			if got, tol := entry(r, j); !(math.Abs(got-b[i]) <= tol) {
				t.Fatalf("%s, %d×%d: residual (%d, %d) is %g, bound %g", what, m, n, r, j, got-b[i], tol)
			}
		}
	}
	// |b − L·x| ≤ γ_{n+2}|L||x| (Higham 2002, Theorem 8.5, with one more rounding
	// for the reciprocal, which rows of L may be multiplied by).
	tab.Trsm(m, n, x, ldx, l, ldl)
	check("Trsm", func(r, j int) (sum, tol float64) {
		return sumBound(j+1, 3, func(k int) float64 { return x[r*ldx+k] * l[j*ldl+k] })
	})
	copy(x, b)
	tab.TrsmBack(m, n, x, ldx, l, ldl)
	check("TrsmBack", func(r, j int) (sum, tol float64) {
		return sumBound(n-j, 3, func(k int) float64 { return x[r*ldx+j+k] * l[(j+k)*ldl+j] })
	})
}

func TestTrsm(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, cut := range []int{5, 256} {
			restore := accel.SetBlocks(256, 256, 256, cut)
			for _, m := range []int{0, 1, 2, 3, 4, 5, 8, 9, 13, 17, 31, 33, 36, 37, 70} {
				for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 20, 24, 25, 31} {
					checkTrsm(t, tab, rng, m, n)
				}
			}
			restore()
		}
		checkTrsm(t, tab, rng, 3, 331)
		checkTrsm(t, tab, rng, 41, 331)
	})
}

// TestTrsmRowCut: cutting the rows of X at multiples of 32 changes nothing.
func TestTrsmRowCut(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for _, s := range [][2]int{{71, 9}, {99, 40}, {66, 330}, {130, 17}, {97, 3}} {
			m, n := s[0], s[1]
			l := fill(rng, n*n)
			for i := range n {
				l[i*n+i] = 3 + float64(n)
			}
			b := fill(rng, m*n)
			for name, solve := range map[string]func(m, n int, x []float64, ldx int, l []float64, ldl int){"Trsm": tab.Trsm, "TrsmBack": tab.TrsmBack} {
				x, y := append([]float64(nil), b...), append([]float64(nil), b...)
				solve(m, n, x, n, l, n)
				for i := 0; i < m; {
					h := min(32*(1+rng.IntN(2)), m-i)
					solve(h, n, y[i*n:], n, l, n)
					i += h
				}
				for i := range x {
					if x[i] != y[i] {
						t.Fatalf("%s, %d×%d: entry %d: %g whole, %g in parts", name, m, n, i, x[i], y[i])
					}
				}
			}
		}
	})
}

// TestPoleSum compares with closed forms: for a diagonal matrix the sum itself,
// for two rows σ² from trace and determinant:
// Σ σ²/(σ²+s) = (s·tr + 2·det)/(s² + s·tr + det).
func TestPoleSum(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for np := 1; np < 90; np++ {
			s, w := make([]float64, np), make([]float64, np)
			for p := range s {
				s[p] = math.Pow(10, 6-36*rng.Float64())
				w[p] = math.Pow(10, 2-15*rng.Float64())
			}
			s, w = guarded(t, s), guarded(t, w)
			work := make([]float64, 3*np)
			a2 := guarded(t, make([]float64, 9))
			for i := range a2 {
				a2[i] = math.Pow(10, -30*rng.Float64())
			}
			var want float64
			for p := range s {
				for _, a := range a2 {
					want += w[p] * (a / (a + s[p]))
				}
			}
			if got := tab.PoleSum(a2, guarded(t, make([]float64, 8)), s, w, work); !testutil.Close(got, want, 1e-14) {
				t.Errorf("%d poles, diagonal: %.17g, want %.17g", np, got, want)
			}
			a, b, c := math.Pow(10, -20*rng.Float64()), math.Pow(10, -20*rng.Float64()), math.Pow(10, -20*rng.Float64())
			tr, det := a+b+c, a*c
			want = 0
			for p, sp := range s {
				want += w[p] * (sp*tr + 2*det) / (sp*sp + sp*tr + det)
			}
			if got := tab.PoleSum(guarded(t, []float64{a, c}), guarded(t, []float64{b}), s, w, work); !testutil.Close(got, want, 1e-14) {
				t.Errorf("%d poles, %g %g %g: %.17g, want %.17g", np, a, b, c, got, want)
			}
			if got := tab.PoleSum(nil, nil, s, w, work); got != 0 {
				t.Errorf("no rows: %g", got)
			}
		}
	})
}

func TestVectors(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		rng := testutil.RNG(t)
		for n := range 83 {
			x, y := guarded(t, fill(rng, n)), guarded(t, fill(rng, n))
			want, tol := sumBound(n, 0, func(i int) float64 { return x[i] * y[i] })
			if got := tab.Dot(x, y); !(math.Abs(got-want) <= tol) {
				t.Errorf("Dot, n=%d: %g, want %g", n, got, want)
			}
			d := guarded(t, y)
			tab.Axpy(d, 1.5, x)
			for i := range d {
				want := y[i] + 1.5*x[i]
				if !(math.Abs(d[i]-want) <= 2*testutil.Unit*(math.Abs(y[i])+math.Abs(1.5*x[i]))) {
					t.Errorf("Axpy, n=%d: entry %d is %g, want %g", n, i, d[i], want)
				}
			}
			tab.Axpy(d, 1, d)
			for i := range d {
				want := y[i] + 1.5*x[i]
				if !(math.Abs(d[i]-2*want) <= 4*testutil.Unit*(math.Abs(y[i])+math.Abs(1.5*x[i]))) {
					t.Errorf("Axpy on itself, n=%d: entry %d is %g, want %g", n, i, d[i], 2*want)
				}
			}
		}
	})
}

// TestShort: a slice too short for its sizes panics, as in the plain loops.
func TestShort(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		s := func(n int) []float64 { return make([]float64, n, n+64)[:n:n] }
		for name, f := range map[string]func(){
			"Dot":           func() { tab.Dot(s(9), s(8)) },
			"Axpy":          func() { tab.Axpy(s(8), 1, s(9)) },
			"Gemm A":        func() { tab.Gemm(5, 5, 5, 1, s(24), 5, 1, s(25), 5, 1, s(25), 5) },
			"Gemm B":        func() { tab.Gemm(5, 5, 5, 1, s(25), 5, 1, s(24), 5, 1, s(25), 5) },
			"Gemm C":        func() { tab.Gemm(5, 5, 5, 1, s(25), 5, 1, s(25), 5, 1, s(24), 5) },
			"GemmSet C":     func() { tab.GemmSet(5, 5, 0, 1, nil, 5, 1, nil, 5, 1, s(24), 5) },
			"Trsm X":        func() { tab.Trsm(5, 5, s(24), 5, s(25), 5) },
			"Trsm L":        func() { tab.Trsm(5, 5, s(25), 5, s(24), 5) },
			"TrsmBack X":    func() { tab.TrsmBack(5, 5, s(24), 5, s(25), 5) },
			"TrsmBack L":    func() { tab.TrsmBack(5, 5, s(25), 5, s(24), 5) },
			"Chol A":        func() { tab.Chol(5, 0, s(24), 5, s(25), 5) },
			"Chol L":        func() { tab.Chol(5, 0, s(25), 5, s(24), 5) },
			"InvertRows L":  func() { tab.InvertRows(5, 0, s(5*29), s(24), 5) },
			"InvertRows u":  func() { tab.InvertRows(5, 0, s(24), s(25), 5) },
			"InverseRows C": func() { tab.InverseRows(5, 0, s(24), 5, s(5*29)) },
			"InverseRows u": func() { tab.InverseRows(5, 0, s(25), 5, s(24)) },
			"SymPass A":     func() { tab.SymPass(5, s(24), 5, s(5), s(5), s(5), s(5)) },
			"SymPass y":     func() { tab.SymPass(5, s(25), 5, s(5), s(5), s(5), s(4)) },
			"BidiagPass A":  func() { tab.BidiagPass(2, 5, s(9), 5, s(2), s(5), s(2), s(5), s(5), 1, s(2), s(2), s(5)) },
			"BidiagPass p":  func() { tab.BidiagPass(2, 5, s(10), 5, s(2), s(5), s(2), s(5), s(4), 1, s(2), s(2), s(5)) },
			"PoleSum b2":    func() { tab.PoleSum(s(5), s(3), s(8), s(8), s(24)) },
			"PoleSum w":     func() { tab.PoleSum(s(5), s(4), s(8), s(7), s(24)) },

			"Axpy4":          func() { tab.Axpy4(s(9), 1, 1, 1, 1, s(9), s(9), s(9), s(8)) },
			"DiffDots":       func() { tab.DiffDots(s(9), s(9), s(9), s(9), s(8)) },
			"Transpose a":    func() { tab.Transpose(9, 8, s(72), 9, s(71), 8) },
			"Transpose dst":  func() { tab.Transpose(9, 8, s(71), 9, s(72), 8) },
			"AddSquares c":   func() { tab.AddSquares(s(9), s(2), s(2), s(17), 9) },
			"AddSquares w":   func() { tab.AddSquares(s(9), s(2), s(1), s(18), 9) },
			"FlushMul":       func() { tab.FlushMul(s(8), s(8), s(7)) },
			"FlushChain m":   func() { tab.FlushChain(2, s(8), s(15), s(2), 1) },
			"FlushChain out": func() { tab.FlushChain(2, s(8), s(16), s(2), 2) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				f()
			}()
		}
	})
}

func TestZeroAlloc(t *testing.T) {
	eachTier(t, func(t *testing.T, tab accel.TierTable) {
		for _, n := range []int{6, 100, 330} {
			a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*(n+24))
			for i := range n {
				b[i*n+i] = 1
			}
			for name, f := range map[string]func(){
				"Gemm":     func() { tab.Gemm(n, n, n, 1, a, n, 1, b, 1, n, c, n) },
				"Trsm":     func() { tab.Trsm(n, n, a, n, b, n) },
				"Chol":     func() { tab.Chol(n, 0, b, n, b, n) },
				"TrsmBack": func() { tab.TrsmBack(n, n, a, n, b, n) },
				"Inverse":  func() { tab.InvertRows(n, 0, c, b, n); tab.InverseRows(n, 0, b, n, c) },
				"Dot":      func() { tab.Dot(a, b) },
				"SymPass":  func() { tab.SymPass(n, a, n, b, b, b, c) },
			} {
				t.Run(fmt.Sprintf("%s/n=%d", name, n), func(t *testing.T) { testutil.ZeroAlloc(t, f) })
			}
		}
	})
}
