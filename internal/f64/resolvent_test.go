package f64_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

func TestFlush(t *testing.T) {
	rng := testutil.RNG(t)
	for n := range 12 {
		x, y := fill(rng, n), fill(rng, n)
		for i := range x {
			x[i] *= math.Pow(2, -float64(rng.IntN(600)))
		}
		dst := make([]float64, n)
		sum := f64.Ops.FlushMul(dst, x, y)
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
		out := []float64{0, 7, 0}
		chain := append([]float64(nil), x...)
		f64.Ops.FlushChain(2, chain, append(append([]float64(nil), y...), y...), out, 2)
		want = 0
		for i := range x {
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
}

func TestTransposeAndSquares(t *testing.T) {
	rng := testutil.RNG(t)
	for _, rows := range []int{0, 1, 3, 4, 5, 9} {
		for _, cols := range []int{0, 1, 2, 31, 33, 70} {
			lda, ldd := cols+2, rows+1
			a := fill(rng, rows*lda)
			dst := make([]float64, cols*ldd+1)
			f64.Ops.Transpose(rows, cols, dst, ldd, a, lda)
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
			f64.Ops.AddSquares(got, x, w, a, lda)
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
		diff, sum := f64.Ops.DiffDots(a, b, s, u, d)
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
		if got := f64.Ops.Magnitude(x); got != 0 {
			t.Errorf("zeros: %g", got)
		}
		for i := range x {
			x[i] = float64(i)
			for _, v := range []float64{-9, 8, math.Inf(-1), math.NaN()} {
				y := append([]float64(nil), x...)
				y[i] = v
				got := f64.Ops.Magnitude(y)
				if finite := v-v == 0; finite && got != math.Abs(v) || !finite && got-got == 0 {
					t.Errorf("%v: %g", y, got)
				}
				f64.Ops.Scale(y, -2)
				if y[i] != -2*v && v == v || i > 0 && y[0] != -2*x[0] {
					t.Errorf("scaled by -2: %v", y)
				}
			}
		}
	}
}
