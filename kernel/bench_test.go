package kernel_test

import (
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// points returns n random points of the unit cube.
func points(tb testing.TB, n, dim int) *linalg.Dense {
	rng := testutil.RNG(tb)
	x := linalg.NewDense(n, dim, nil)
	for i := range n {
		row := x.Row(i)
		for d := range row {
			row[d] = rng.Float64()
		}
	}
	return x
}

func lengths(n int) []float64 {
	ls := make([]float64, n)
	for i := range ls {
		ls[i] = 0.5 + 0.1*float64(i)
	}
	return ls
}

func perPair(b *testing.B, pairs int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pairs), "ns/pair")
}

// BenchmarkPairs is the kernel's share of one evaluation of a marginal likelihood
// with its gradient.
func BenchmarkPairs(b *testing.B) {
	for _, n := range []int{50, 200} {
		for _, bb := range []struct {
			name string
			k    kernel.Kernel
		}{
			{"isotropic", kernel.Scale(1.3, kernel.Matern32(0.7))},
			{"ARD", kernel.Scale(1.3, kernel.Matern32(lengths(6)...))},
			{"composite", kernel.Sum(kernel.Scale(1.3, kernel.Matern32(0.7)), kernel.Constant(0.1))},
		} {
			b.Run(fmt.Sprintf("n=%d/%s", n, bb.name), func(b *testing.B) {
				x := points(b, n, 6)
				p := kernel.NewPairs(x)
				w := linalg.NewSym(n, testutil.SPD(testutil.RNG(b), n, 100))
				var g linalg.Sym
				dst := make([]float64, bb.k.NumParams())
				b.ReportAllocs()
				for b.Loop() {
					p.Gram(&g, bb.k)
					p.GradDot(dst, w)
				}
				perPair(b, n*(n-1)/2)
			})
		}
	}
}

func BenchmarkNewPairs(b *testing.B) {
	x := points(b, 50, 6)
	var p kernel.Pairs
	var g linalg.Sym
	var k kernel.Kernel = kernel.Matern32(0.7)
	b.ReportAllocs()
	for b.Loop() {
		p.Reset(x)
		p.Gram(&g, k)
	}
	perPair(b, 50*49/2)
}

func BenchmarkGram(b *testing.B) {
	for _, n := range []int{55, 300} {
		for _, dim := range []int{2, 6, 16} {
			for _, bb := range []struct {
				name string
				k    kernel.Kernel
			}{
				{"Matern32", kernel.Scale(1.3, kernel.Matern32(0.7))},
				{"SquaredExp", kernel.SquaredExp(0.7)},
			} {
				b.Run(fmt.Sprintf("n=%d/dim=%d/%s", n, dim, bb.name), func(b *testing.B) {
					x := points(b, n, dim)
					var g linalg.Sym
					b.ReportAllocs()
					for b.Loop() {
						kernel.Gram(&g, bb.k, x)
					}
					perPair(b, n*(n-1)/2)
				})
			}
		}
	}
}

func BenchmarkCross(b *testing.B) {
	x, y := points(b, 300, 6), points(b, 55, 6)
	k := kernel.Scale(1.3, kernel.Matern32(0.7))
	var c linalg.Dense
	b.ReportAllocs()
	for b.Loop() {
		kernel.Cross(&c, k, x, y)
	}
	perPair(b, 300*55)
}

func BenchmarkEval(b *testing.B) {
	x := points(b, 2, 6)
	for _, k := range []kernel.Kernel{kernel.Matern32(0.7), kernel.Scale(1.3, kernel.Matern52(lengths(6)...))} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k.Eval(x.Row(0), x.Row(1))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevals/s")
		})
	}
}
