package f64_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

func fill(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// sumBound returns the sum of k products and the bound γ_{k+extra}·Σ|terms| for
// what another order of summation may differ from it by, twice.
func sumBound(k, extra int, term func(l int) float64) (sum, bound float64) {
	var abs float64
	for l := range k {
		v := term(l)
		sum += v
		abs += math.Abs(v)
	}
	return sum, 2 * testutil.Gamma(k+extra) * abs
}

func TestVectors(t *testing.T) {
	rng := testutil.RNG(t)
	for n := range 21 {
		x, y := fill(rng, n), fill(rng, n+3)
		want, tol := sumBound(n, 0, func(i int) float64 { return x[i] * y[i] })
		if got := f64.Ops.Dot(x, y); !(math.Abs(got-want) <= tol) {
			t.Errorf("Dot, n=%d: %g, want %g", n, got, want)
		}
		a := [][]float64{fill(rng, n), fill(rng, n), fill(rng, n), fill(rng, n)}
		d := append([]float64(nil), y...)
		f64.Ops.Axpy(d, 1.5, x)
		e := append([]float64(nil), y[:n]...)
		f64.Ops.Axpy4(e, 1, -2, 3, -4, a[0], a[1], a[2], a[3])
		for i := range y {
			want, tol := y[i], 0.0
			if i < n {
				want += 1.5 * x[i]
				tol = 2 * testutil.Unit * (math.Abs(y[i]) + math.Abs(1.5*x[i]))
				s, tol := sumBound(5, 0, func(l int) float64 {
					return [...]float64{y[i], a[0][i], -2 * a[1][i], 3 * a[2][i], -4 * a[3][i]}[l]
				})
				if !(math.Abs(e[i]-s) <= tol) {
					t.Errorf("Axpy4, n=%d: entry %d is %g, want %g", n, i, e[i], s)
				}
			}
			if !(math.Abs(d[i]-want) <= tol) {
				t.Errorf("Axpy, n=%d: entry %d is %g, want %g", n, i, d[i], want)
			}
		}
	}
}

// strides describes one operand of a product in a padded array.
type strides struct{ rs, cs, size int }

// layouts returns row-major and column-major layouts of an r×c matrix.
func layouts(r, c int) []strides {
	return []strides{{c + 2, 1, r*(c+2) + 2}, {1, r + 1, c*(r+1) + 1}}
}

func checkGemm(t *testing.T, rng *rand.Rand, m, n, k int, sa, sb strides, alpha float64) {
	t.Helper()
	a, b := fill(rng, sa.size), fill(rng, sb.size)
	ldc := n + 3
	c := fill(rng, m*ldc+1)
	got := append([]float64(nil), c...)
	f64.Ops.Gemm(m, n, k, alpha, a, sa.rs, sa.cs, b, sb.rs, sb.cs, got, ldc)
	for i := range c {
		r, j := i/ldc, i%ldc
		if r >= m || j >= n {
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
			t.Fatalf("%d×%d×%d: entry (%d, %d) is %g, want %g ± %.2g", m, n, k, r, j, got[i], want, tol)
		}
	}
}

// TestGemm straddles the register tile and, with the block sizes lowered, every
// block, for all four transposes.
func TestGemm(t *testing.T) {
	defer f64.SetGemmBlocks(8, 6, 7)()
	rng := testutil.RNG(t)
	for _, m := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 17} {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 13} {
			for _, k := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 15} {
				for _, sa := range layouts(m, k) {
					for _, sb := range layouts(k, n) {
						checkGemm(t, rng, m, n, k, sa, sb, -1.25)
					}
				}
			}
		}
	}
	// Both strides other than 1: every second entry.
	checkGemm(t, rng, 9, 8, 10, strides{40, 2, 400}, strides{2, 30, 400}, 1)
}

// TestGemmDefaultBlocks crosses the block sizes in force.
func TestGemmDefaultBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	rng := testutil.RNG(t)
	for _, s := range [][3]int{{130, 5, 257}, {3, 131, 258}, {129, 130, 9}} {
		for _, sa := range layouts(s[0], s[2]) {
			for _, sb := range layouts(s[2], s[1]) {
				checkGemm(t, rng, s[0], s[1], s[2], sa, sb, 1)
			}
		}
	}
}

// TestGemmRowCut: cutting the rows of C at multiples of 16 changes nothing.
// Callers that share rows between goroutines rely on it.
func TestGemmRowCut(t *testing.T) {
	rng := testutil.RNG(t)
	m, n, k := 103, 11, 37
	for _, sa := range layouts(m, k) {
		for _, sb := range layouts(k, n) {
			a, b := fill(rng, sa.size), fill(rng, sb.size)
			whole, rows := make([]float64, m*n), make([]float64, m*n)
			f64.Ops.Gemm(m, n, k, 1, a, sa.rs, sa.cs, b, sb.rs, sb.cs, whole, n)
			for i := 0; i < m; {
				h := min(16*(1+rng.IntN(3)), m-i)
				f64.Ops.Gemm(h, n, k, 1, a[i*sa.rs:], sa.rs, sa.cs, b, sb.rs, sb.cs, rows[i*n:], n)
				i += h
			}
			for i := range whole {
				if whole[i] != rows[i] {
					t.Fatalf("entry %d: %g whole, %g in parts", i, whole[i], rows[i])
				}
			}
		}
	}
}

func TestGemmNaN(t *testing.T) {
	// Row 0 of A is zero, column 0 of B holds a NaN, an infinity stands elsewhere.
	for _, n := range []int{1, 2, 5} {
		a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		b[(n-1)*n] = math.NaN()
		b[n-1] += math.Inf(1)
		f64.Ops.Gemm(n, n, n, 1, a, n, 1, b, n, 1, c, n)
		for i := range n {
			if !math.IsNaN(c[i*n]) || !math.IsNaN(c[i*n+n-1]) {
				t.Errorf("n=%d: row %d is %v, want NaN at both ends", n, i, c[i*n:i*n+n])
			}
		}
	}
}

func TestTrsm(t *testing.T) {
	rng := testutil.RNG(t)
	for _, m := range []int{0, 1, 2, 3, 4, 5, 6, 7, 12, 31, 33, 70, 103} {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 9, 12} {
			ldx, ldl := n+1, n+2
			l := fill(rng, n*ldl+1)
			for i := range n {
				l[i*ldl+i] = 2 + rng.Float64()
				for j := i + 1; j < ldl; j++ {
					l[i*ldl+j] = math.NaN() // not to be read
				}
			}
			x := fill(rng, m*ldx+1)
			b := append([]float64(nil), x...)
			f64.Ops.Trsm(m, n, x, ldx, l, ldl)
			for i := range x {
				r, j := i/ldx, i%ldx
				if r >= m || j >= n {
					if x[i] != b[i] {
						t.Fatalf("%d×%d: wrote outside, at %d", m, n, i)
					}
					continue
				}
				// |b − L·x| ≤ γ_{n+2}|L||x| (Higham 2002, Theorem 8.5, with one
				// more rounding for the reciprocal).
				got, tol := sumBound(j+1, 3, func(k int) float64 { return x[r*ldx+k] * l[j*ldl+k] })
				if !(math.Abs(got-b[i]) <= tol) {
					t.Fatalf("%d×%d: residual (%d, %d) is %g, bound %g", m, n, r, j, got-b[i], tol)
				}
			}
		}
	}
}

// TestTrsmRowCut: cutting the rows of X at multiples of 32 changes nothing.
func TestTrsmRowCut(t *testing.T) {
	rng := testutil.RNG(t)
	m := 103
	for _, n := range []int{1, 4, 9, 22, 23} {
		l := fill(rng, n*n)
		for i := range n {
			l[i*n+i] = 3
		}
		x := fill(rng, m*n)
		y := append([]float64(nil), x...)
		f64.Ops.Trsm(m, n, x, n, l, n)
		for i := 0; i < m; i += 32 {
			f64.Ops.Trsm(min(32, m-i), n, y[i*n:], n, l, n)
		}
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("n=%d, entry %d: %g whole, %g in parts", n, i, x[i], y[i])
			}
		}
	}
}

func TestSymPass(t *testing.T) {
	rng := testutil.RNG(t)
	for n := range 12 {
		lda := n + 2
		a := fill(rng, n*lda+1)
		v, w, x := fill(rng, n), fill(rng, n), fill(rng, n)
		y := fill(rng, n)
		got := append([]float64(nil), a...)
		f64.Ops.SymPass(n, got, lda, v, w, x, y)
		full := make([]float64, n*n)
		for i := range a {
			r, j := i/lda, i%lda
			if r >= n || j > r {
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
}

func TestBidiagPass(t *testing.T) {
	rng := testutil.RNG(t)
	for _, m := range []int{0, 1, 2, 3, 4, 7, 8, 9, 11, 17} {
		for _, n := range []int{1, 2, 3, 6, 9} {
			lda := n + 1
			a := fill(rng, m*lda+1)
			u, s, y, c := fill(rng, m), fill(rng, m), fill(rng, m), fill(rng, m)
			z, v, p, r := fill(rng, n), fill(rng, n), fill(rng, n), fill(rng, n)
			const g = -0.75
			got := append([]float64(nil), a...)
			f64.Ops.BidiagPass(m, n, got, lda, u, z, s, v, p, g, y, c, r)
			for i := range a {
				k, j := i/lda, i%lda
				if k >= m || j >= n {
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
	}
}

// TestPoleSum compares with closed forms: for a diagonal matrix the sum itself,
// for two rows σ² from trace and determinant:
// Σ σ²/(σ²+s) = (s·tr + 2·det)/(s² + s·tr + det).
func TestPoleSum(t *testing.T) {
	rng := testutil.RNG(t)
	s, w := []float64{1e-30, 1e-9, 0.5, 20, 3e4}, []float64{1e-15, 2e-5, 0.25, 1, 7}
	work := make([]float64, 3*len(s))
	a2 := make([]float64, 9)
	for i := range a2 {
		a2[i] = math.Pow(10, -30*rng.Float64())
	}
	var want float64
	for p := range s {
		for _, a := range a2 {
			want += w[p] * (a / (a + s[p]))
		}
	}
	if got := f64.Ops.PoleSum(a2, make([]float64, 8), s, w, work); !testutil.Close(got, want, 1e-14) {
		t.Errorf("diagonal: %.17g, want %.17g", got, want)
	}
	for range 200 {
		a, b, c := math.Pow(10, -20*rng.Float64()), math.Pow(10, -20*rng.Float64()), math.Pow(10, -20*rng.Float64())
		tr, det := a+b+c, a*c
		want = 0
		for p, sp := range s {
			want += w[p] * (sp*tr + 2*det) / (sp*sp + sp*tr + det)
		}
		if got := f64.Ops.PoleSum([]float64{a, c}, []float64{b}, s, w, work); !testutil.Close(got, want, 1e-14) {
			t.Errorf("%g %g %g: %.17g, want %.17g", a, b, c, got, want)
		}
	}
	if got := f64.Ops.PoleSum(nil, nil, s, w, work); got != 0 {
		t.Errorf("no rows: %g", got)
	}
}

// fixed is a table whose Dot knows one answer.
type fixed struct{ f64.Table }

func (fixed) Dot(x, y []float64) float64 { return 42 }

func TestUse(t *testing.T) {
	restore := f64.Use(fixed{f64.Generic})
	if got := f64.Ops.Dot(nil, nil); got != 42 {
		t.Errorf("Dot = %g with another table", got)
	}
	restore()
	if got := f64.Ops.Dot(nil, nil); got != 0 {
		t.Errorf("Dot = %g after restoring", got)
	}
}

func TestZeroAlloc(t *testing.T) {
	n := 150
	a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	testutil.ZeroAlloc(t, func() { f64.Ops.Gemm(n, n, n, 1, a, 1, n, b, n, 1, c, n) })
	testutil.ZeroAlloc(t, func() { f64.Ops.Dot(a, b) })
}

func BenchmarkGemm(b *testing.B) {
	for _, n := range []int{50, 100, 300, 1000} {
		for name, s := range map[string][4]int{"NN": {n, 1, n, 1}, "NT": {n, 1, 1, n}, "TN": {1, n, n, 1}} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				rng := testutil.RNG(b)
				x, y, z := fill(rng, n*n), fill(rng, n*n), make([]float64, n*n)
				b.ReportAllocs()
				for b.Loop() {
					clear(z)
					f64.Ops.Gemm(n, n, n, 1, x, s[0], s[1], y, s[2], s[3], z, n)
				}
				b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
