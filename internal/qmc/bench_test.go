package qmc

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkNew(b *testing.B) {
	for _, dim := range []int{6, 40} {
		b.Run(fmt.Sprintf("dim=%d", dim), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				New(dim, rng)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sequences/s")
		})
	}
}

func BenchmarkNext(b *testing.B) {
	for _, dim := range []int{6, 40, MaxDim + 8} {
		b.Run(fmt.Sprintf("dim=%d", dim), func(b *testing.B) {
			s := New(dim, rand.New(rand.NewPCG(1, 2)))
			x := make([]float64, dim)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(x)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpoints/s")
		})
	}
}
