package f64_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestResolve runs both factorisations of BᵀB + s·I for a bidiagonal B of three
// rows and compares the inverse they give with cofactors.
func TestResolve(t *testing.T) {
	rng := testutil.RNG(t)
	for range 100 {
		var a [3]float64
		var b [3]float64 // the last is 0
		for i := range a {
			a[i] = 0.1 + rng.Float64()
			if i < 2 {
				b[i] = rng.Float64()
			}
		}
		s := []float64{1e-3 + rng.Float64(), 0.5, 7, 1e-2, 3}[:1+rng.IntN(5)]
		n := len(s)
		w := fill(rng, n)
		row := func() []float64 { return make([]float64, n) }
		h := row()
		that, up, tq := [3][]float64{}, [3][]float64{}, [3][]float64{}
		for i := range 3 {
			that[i], up[i], tq[i] = row(), row(), row()
			f64.ResolveForward(a[i]*a[i], b[i]*b[i], -a[i]*b[i], s, h, that[i], up[i], tq[i])
		}
		for p := range h {
			h[p] = a[2] * a[2]
		}
		across, rp, root := [3][]float64{}, [3][]float64{}, [3]float64{}
		for i := 2; ; i-- {
			root[i] = f64.ResolveDiagonal(that[i], h, s, w)
			if i == 0 {
				break
			}
			across[i-1], rp[i-1] = row(), row()
			f64.ResolveBackward(a[i-1]*a[i-1], b[i-1]*b[i-1], -a[i-1]*b[i-1], s, h, across[i-1], rp[i-1])
		}
		var wantRoot [3]float64
		for p, sp := range s {
			// T = BᵀB + s·I, tridiagonal; X its inverse by cofactors.
			d0, d1, d2 := a[0]*a[0]+sp, a[1]*a[1]+b[0]*b[0]+sp, a[2]*a[2]+b[1]*b[1]+sp
			e0, e1 := a[0]*b[0], a[1]*b[1]
			det := d0*(d1*d2-e1*e1) - e0*e0*d2
			x := [3]float64{(d1*d2 - e1*e1) / det, d0 * d2 / det, (d0*d1 - e0*e0) / det}
			x01, x12 := -e0*d2/det, -d0*e1/det
			for i := range 3 {
				wantRoot[i] += w[p] * (1 - sp*x[i])
				if !testutil.Close(that[i][p], x[i], 1e-9) {
					t.Fatalf("X_%d%d = %g, want %g", i, i, that[i][p], x[i])
				}
			}
			if got := up[0][p] * that[1][p]; !testutil.Close(got, x01, 1e-9) {
				t.Fatalf("λ·X_11 = %g, want %g", got, x01)
			}
			if got := across[1][p] * that[1][p]; !testutil.Close(got, x12, 1e-9) {
				t.Fatalf("μ·X_11 = %g, want %g", got, x12)
			}
			if q := a[1]*a[1] + sp + b[0]*b[0]*tq[0][p]; !testutil.Close(up[1][p], -e1/q, 1e-12) {
				t.Fatalf("λ_1 = %g, want %g", up[1][p], -e1/q)
			}
			if rho := sp + a[2]*a[2]; !testutil.Close(rp[1][p], rho/(rho+b[1]*b[1]), 1e-14) {
				t.Fatalf("ρ/p = %g, want %g", rp[1][p], rho/(rho+b[1]*b[1]))
			}
		}
		for i, v := range wantRoot {
			if !(math.Abs(root[i]-v) <= 1e-9*float64(n)*4) {
				t.Fatalf("diagonal %d is %g, want %g", i, root[i], v)
			}
		}
	}
}

func TestFlush(t *testing.T) {
	rng := testutil.RNG(t)
	for n := range 12 {
		x, y := fill(rng, n), fill(rng, n)
		for i := range x {
			x[i] *= math.Pow(2, -float64(rng.IntN(600)))
		}
		dst, scaled := make([]float64, n), append([]float64(nil), x...)
		sum := f64.FlushMul(dst, x, y)
		want, tol := sumBound(n, 0, func(i int) float64 {
			v := x[i] * y[i]
			if math.Abs(v) < 0x1p-511 {
				v = 0
			}
			if dst[i] != v {
				t.Fatalf("entry %d is %g, want %g", i, dst[i], v)
			}
			return v
		})
		if !(math.Abs(sum-want) <= tol) {
			t.Errorf("n=%d: sum %g, want %g", n, sum, want)
		}
		f64.ScaleMul(scaled, 3, scaled, y)
		bound := make([]float64, n)
		f64.MaxAbs(bound, y)
		f64.MaxAbs(bound, x)
		out := []float64{0, 7, 0}
		chain := append([]float64(nil), x...)
		f64.FlushChain(2, chain, append(append([]float64(nil), y...), y...), out, 2)
		want = 0
		for i := range x {
			if scaled[i] != 3*x[i]*y[i] || bound[i] != max(math.Abs(x[i]), math.Abs(y[i])) {
				t.Fatalf("entry %d: %g, %g", i, scaled[i], bound[i])
			}
			v := dst[i] * y[i]
			if math.Abs(v) < 0x1p-511 {
				v = 0
			}
			if chain[i] != v {
				t.Fatalf("chain: entry %d is %g, want %g", i, chain[i], v)
			}
		}
		if out[0] != sum || out[1] != 7 {
			t.Errorf("chain: %v, want %g first", out, sum)
		}
	}
	one := []float64{1, 1, 1, 1, 1}
	for i, c := range []struct {
		x    float64
		want bool
	}{{0, false}, {0.5, false}, {-0.5, false}, {1, true}, {-1, true}, {2, true}, {math.NaN(), true}, {math.Inf(-1), true}} {
		x := make([]float64, 5)
		x[i%5] = c.x
		if got := f64.Reaches(x, one, 1); got != c.want {
			t.Errorf("%g reaches 1: %v", c.x, got)
		}
	}
}

func TestTransposeAndSquares(t *testing.T) {
	rng := testutil.RNG(t)
	for _, rows := range []int{0, 1, 3, 4, 5, 9} {
		for _, cols := range []int{0, 1, 2, 31, 33, 70} {
			lda, ldd := cols+2, rows+1
			a := fill(rng, rows*lda)
			dst := make([]float64, cols*ldd+1)
			f64.Transpose(rows, cols, dst, ldd, a, lda)
			for k, v := range dst {
				want := 0.0
				if j, i := k/ldd, k%ldd; j < cols && i < rows {
					want = a[i*lda+j]
				}
				if v != want {
					t.Fatalf("%d×%d: entry %d is %g, want %g", rows, cols, k, v, want)
				}
			}
			x, w, sq := fill(rng, rows), fill(rng, rows), fill(rng, cols)
			got := append([]float64(nil), sq...)
			f64.AddSquares(got, x, w, a, lda)
			for j := range got {
				want, tol := sumBound(rows+1, 4, func(d int) float64 {
					if d == rows {
						return sq[j]
					}
					return math.Pow((x[d]-a[d*lda+j])*w[d], 2)
				})
				if !(math.Abs(got[j]-want) <= tol) {
					t.Fatalf("%d×%d: square %d is %g, want %g", rows, cols, j, got[j], want)
				}
			}
		}
	}
}

func TestDiffDots(t *testing.T) {
	rng := testutil.RNG(t)
	for n := range 14 {
		a, b, s, u, d := fill(rng, n), fill(rng, n+1), fill(rng, n), fill(rng, n), fill(rng, n)
		diff, sum := f64.DiffDots(a, b, s, u, d)
		want, tol := sumBound(n, 2, func(i int) float64 { return (b[i] - a[i]) * (s[i] - u[i]) })
		if !(math.Abs(diff-want) <= tol) {
			t.Errorf("n=%d: %g, want %g", n, diff, want)
		}
		want, tol = sumBound(n, 2, func(i int) float64 { return (a[i] + b[i]) * d[i] })
		if !(math.Abs(sum-want) <= tol) {
			t.Errorf("n=%d: sum %g, want %g", n, sum, want)
		}
	}
}

func TestMagnitude(t *testing.T) {
	for n := range 7 {
		x := make([]float64, n)
		if got := f64.Magnitude(x); got != 0 {
			t.Errorf("zeros: %g", got)
		}
		for i := range x {
			x[i] = float64(i)
			for _, v := range []float64{-9, 8, math.Inf(-1), math.NaN()} {
				y := append([]float64(nil), x...)
				y[i] = v
				got := f64.Magnitude(y)
				if finite := v-v == 0; finite && got != math.Abs(v) || !finite && got-got == 0 {
					t.Errorf("%v: %g", y, got)
				}
				f64.Scale(y, -2)
				if y[i] != -2*v && v == v || i > 0 && y[0] != -2*x[0] {
					t.Errorf("scaled by -2: %v", y)
				}
			}
		}
	}
}
