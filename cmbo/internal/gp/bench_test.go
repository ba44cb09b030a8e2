package gp

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// BenchmarkRun is what a run without a prior asks of a process of n observations in
// six dimensions: a search for its hyperparameters among two forms, the factor from
// nothing, and a prediction at 1,200 points.
func BenchmarkRun(b *testing.B) {
	const dim = 6
	for _, n := range []int{50, 200, 1000} {
		rng := testutil.RNG(b)
		draw := func(rows int) *linalg.Dense {
			x := linalg.NewDense(rows, dim, nil)
			for i := range rows {
				for j := range dim {
					x.Set(i, j, rng.Float64())
				}
			}
			return x
		}
		x, at := draw(n), draw(1200)
		y := make([]float64, n)
		for i := range y {
			r := x.Row(i)
			y[i] = math.Sin(5*r[0]) + math.Cos(4*r[1]*r[2]) + 0.1*rng.NormFloat64()
		}
		k := kernel.Scale(1, kernel.Matern32(0.8))
		h := Hyper{Kernel: k, NoiseVariance: 0.01}
		noise := Noise(nil, n, 0.01)
		p := New(FromKernel{Kernel: k})
		mean, variance := make([]float64, 1200), make([]float64, 1200)
		run := func(what string, f func() error) {
			b.Run(fmt.Sprintf("%s/n=%d", what, n), func(b *testing.B) {
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("fit", func() error {
			f := Fits{Forms: []Form{{Kernel: k}, {Kernel: kernel.Scale(1, kernel.Matern32(0.8, 0.8, 0.8, 0.8, 0.8, 0.8))}}, Noise: math.NaN(), Seed: 1}
			_, err := f.At(ctx, n, func(int) (*linalg.Dense, []float64, []float64, error) { return x, y, nil, nil })
			return err
		})
		run("factor", func() error {
			p.Reset(FromKernel{Kernel: h.Kernel})
			return p.Extend(ctx, x, y, noise)
		})
		if err := p.Condition(ctx, x, y, noise); err != nil {
			b.Fatal(err)
		}
		run("predict", func() error { return p.Moments(ctx, mean, variance, at) })
	}
}
