package f64_test

import (
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// BenchmarkRadial is a row of covariances of shape Matérn 3/2, squared distances
// in [0, 1).
func BenchmarkRadial(b *testing.B) {
	const n = 128
	rng := testutil.RNG(b)
	sq, val, slope := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range sq {
		sq[i] = rng.Float64()
	}
	f := f64.Radial{A: 1.75, B1: 1.75, G2: 3}
	entries := func(b *testing.B) {
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	}
	b.Run("values", func(b *testing.B) {
		for b.Loop() {
			f64.RadialValues(val, sq, 6, 1, &f)
		}
		entries(b)
	})
	b.Run("slopes", func(b *testing.B) {
		for b.Loop() {
			f64.RadialSlopes(val, slope, sq, 6, &f)
		}
		entries(b)
	})
}

// BenchmarkAddSquares adds one point's squared distances to a row.
func BenchmarkAddSquares(b *testing.B) {
	const n = 128
	rng := testutil.RNG(b)
	x, w, c, dst := fill(rng, 8), fill(rng, 8), fill(rng, 8*n), make([]float64, n)
	for _, d := range []int{1, 2, 3, 4, 6, 8} {
		b.Run("d="+string(rune('0'+d)), func(b *testing.B) {
			for b.Loop() {
				clear(dst)
				f64.AddSquares(dst, x[:d], w, c, n)
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
