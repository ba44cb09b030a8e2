//go:build amd64 && gc && !purego && !noasm

package accel_test

import (
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg/accel"
	"github.com/gocmbo/cmbo/linalg/accel/internal/peak"
)

// benchTables returns the tiers and the plain loops.
func benchTables() []accel.TierTable {
	return append(accel.Tables(), accel.TierTable{Name: "go", Table: f64.Generic})
}

// bench runs a kernel on every tier and reports so many operations per run.
func bench(b *testing.B, name string, flops float64, f func(tab accel.TierTable) func()) {
	for _, tab := range benchTables() {
		b.Run(fmt.Sprintf("%s/%s", name, tab.Name), func(b *testing.B) {
			g := f(tab)
			b.ReportAllocs()
			for b.Loop() {
				g()
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkPeak measures the rate of multiply-adds that the products are compared
// with.
func BenchmarkPeak(b *testing.B) {
	for _, tab := range accel.Tables() {
		b.Run(tab.Name, func(b *testing.B) {
			var flops float64
			for b.Loop() {
				flops += peak.Run(tab.Lanes, 1000)
			}
			b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, n := range []int{2, 4, 8, 16, 50, 100, 300, 1000} {
		for _, c := range []struct {
			name string
			s    [4]int
		}{{"NN", [4]int{n, 1, n, 1}}, {"NT", [4]int{n, 1, 1, n}}, {"TN", [4]int{1, n, n, 1}}} {
			s := c.s
			bench(b, fmt.Sprintf("%s/n=%d", c.name, n), 2*float64(n)*float64(n)*float64(n), func(tab accel.TierTable) func() {
				rng := testutil.RNG(b)
				x, y, z := fill(rng, n*n), fill(rng, n*n), make([]float64, n*n)
				return func() { tab.Gemm(n, n, n, 1e-9, x, s[0], s[1], y, s[2], s[3], z, n) }
			})
		}
	}
}

// BenchmarkGemmStrip is a product A·Bᵀ of few rows, as the blocked algorithms of
// linalg need them.
func BenchmarkGemmStrip(b *testing.B) {
	for _, m := range []int{1, 4, 8, 16} {
		for _, n := range []int{4, 16, 50, 100, 300} {
			bench(b, fmt.Sprintf("m=%d/n=%d", m, n), 2*float64(m)*float64(n)*float64(n), func(tab accel.TierTable) func() {
				rng := testutil.RNG(b)
				x, y, z := fill(rng, m*n), fill(rng, n*n), make([]float64, m*n)
				return func() { tab.Gemm(m, n, n, 1e-9, x, n, 1, y, 1, n, z, n) }
			})
		}
	}
}

func BenchmarkTrsm(b *testing.B) {
	for _, m := range []int{1, 4, 32, 100} {
		for _, n := range []int{4, 16, 64, 100, 300} {
			bench(b, fmt.Sprintf("m=%d/n=%d", m, n), float64(m)*float64(n)*float64(n), func(tab accel.TierTable) func() {
				rng := testutil.RNG(b)
				l, x := fill(rng, n*n), fill(rng, m*n)
				for i := range n {
					for j := range i {
						l[i*n+j] *= 0.01
					}
					l[i*n+i] = 1
				}
				return func() { tab.Trsm(m, n, x, n, l, n) }
			})
		}
	}
}

func BenchmarkSymPass(b *testing.B) {
	for _, n := range []int{50, 100, 300} {
		bench(b, fmt.Sprintf("n=%d", n), 4*float64(n)*float64(n), func(tab accel.TierTable) func() {
			rng := testutil.RNG(b)
			a, x, y, zero := fill(rng, n*n), fill(rng, n), fill(rng, n), make([]float64, n)
			return func() { tab.SymPass(n, a, n, zero, zero, x, y) }
		})
	}
}

func BenchmarkBidiagPass(b *testing.B) {
	for _, n := range []int{50, 100, 300} {
		bench(b, fmt.Sprintf("n=%d", n), 8*float64(n)*float64(n), func(tab accel.TierTable) func() {
			rng := testutil.RNG(b)
			a, zero, p := fill(rng, n*n), make([]float64, n), fill(rng, n)
			y, c, r := fill(rng, n), fill(rng, n), fill(rng, n)
			return func() { tab.BidiagPass(n, n, a, n, zero, zero, zero, zero, p, 0.5, y, c, r) }
		})
	}
}

func BenchmarkPoleSum(b *testing.B) {
	for _, n := range []int{100, 300} {
		for _, np := range []int{72, 128} {
			bench(b, fmt.Sprintf("n=%d/poles=%d", n, np), 12*float64(n)*float64(np), func(tab accel.TierTable) func() {
				a2, b2, s, w, work := make([]float64, n), make([]float64, n-1), make([]float64, np), make([]float64, np), make([]float64, 3*np)
				for i := range a2 {
					a2[i] = 1 / float64(1+i)
				}
				for i := range s {
					s[i], w[i] = 1/float64(1+i*i), 1
				}
				return func() { tab.PoleSum(a2, b2, s, w, work) }
			})
		}
	}
}

func BenchmarkVectors(b *testing.B) {
	for _, n := range []int{4, 16, 100, 1000} {
		rng := testutil.RNG(b)
		x, y := fill(rng, n), fill(rng, n)
		bench(b, fmt.Sprintf("Dot/n=%d", n), 2*float64(n), func(tab accel.TierTable) func() { return func() { tab.Dot(x, y) } })
		bench(b, fmt.Sprintf("Axpy/n=%d", n), 2*float64(n), func(tab accel.TierTable) func() { return func() { tab.Axpy(y, 1e-9, x) } })
	}
}
