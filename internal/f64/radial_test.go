package f64_test

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestRadialTerms: shapes without terms in r² have loops of their own, whose bits
// are those of the full ones, which a coefficient too small to matter asks for.
func TestRadialTerms(t *testing.T) {
	const tiny = math.SmallestNonzeroFloat64
	rng := testutil.RNG(t)
	sq := []float64{0, 1e-300, 1e5, 2.6e5, 1e6, 1e7, math.MaxFloat64, math.Inf(1)}
	for range 200 {
		sq = append(sq, math.Exp(10*rng.NormFloat64()))
	}
	n := len(sq)
	for _, f := range []f64.Radial{{A: 1, G1: 1}, {A: 1.75, B1: 1.75, G2: 3}, {A: 2.75, B1: 1.75, G1: 1, G2: 4.75}} {
		full := f
		full.B2, full.G3 = tiny, tiny
		var val, slope, only [2][]float64
		for i, g := range []*f64.Radial{&f, &full} {
			val[i], slope[i], only[i] = make([]float64, n), make([]float64, n), make([]float64, n)
			f64.Ops.RadialSlopes(val[i], slope[i], sq, 1.5, g)
			f64.Ops.RadialValues(only[i], sq, 1.5, 2.5, g)
		}
		for i, s := range sq {
			if val[0][i] != val[1][i] || slope[0][i] != slope[1][i] || only[0][i] != only[1][i] || only[0][i] != 2.5*val[0][i] {
				t.Errorf("%+v, r² = %g·1.5: %v, %v, %v; in full %v, %v, %v", f, s, val[0][i], slope[0][i], only[0][i], val[1][i], slope[1][i], only[1][i])
			}
		}
	}
}

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
			f64.Ops.RadialValues(val, sq, 6, 1, &f)
		}
		entries(b)
	})
	b.Run("slopes", func(b *testing.B) {
		for b.Loop() {
			f64.Ops.RadialSlopes(val, slope, sq, 6, &f)
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
				f64.Ops.AddSquares(dst, x[:d], w, c, n)
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
