package gaussian

import (
	"context"
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

func rate(b *testing.B, what string) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), what+"/s")
}

func BenchmarkPosterior(b *testing.B) {
	for _, dim := range []int{2, 6} {
		b.Run(fmt.Sprintf("obs=55/points=300/dim=%d", dim), func(b *testing.B) {
			rng := testutil.RNG(b)
			r := regress(b, kernel.Scale(1, kernel.Matern32(0.4)), 1e-4, randomPoints(rng, 55, dim), testutil.Normals(rng, 55), nil)
			z := randomPoints(rng, 300, dim)
			var cov linalg.Sym
			mean := make([]float64, 300)
			b.ReportAllocs()
			for b.Loop() {
				if err := r.posteriorTo(mean, &cov, z); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "posteriors")
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	rng := testutil.RNG(b)
	r := regress(b, kernel.Scale(1, kernel.Matern32(0.4)), 1e-4, randomPoints(rng, 50, 6), testutil.Normals(rng, 50), nil)
	z := randomPoints(rng, 1200, 6)
	mean, variance := make([]float64, 1200), make([]float64, 1200)
	b.Run("obs=50/points=1200/dim=6", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := r.predictTo(mean, variance, z); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(1200*float64(b.N)/b.Elapsed().Seconds(), "points/s")
	})
}

func BenchmarkLikelihood(b *testing.B) {
	for name, k := range map[string]kernel.Kernel{
		"isotropic": kernel.Scale(1, kernel.Matern32(0.5)),
		"lengths":   kernel.Scale(1, kernel.Matern32(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)),
	} {
		b.Run("obs=50/dim=6/"+name, func(b *testing.B) {
			x, y := fitData(b, 50, 6)
			var l Likelihood
			if err := l.Reset(k, x, y, nil); err != nil {
				b.Fatal(err)
			}
			grad := make([]float64, k.NumParams()+1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Eval(k, 0.01, grad); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "evaluations")
		})
	}
}

func BenchmarkFit(b *testing.B) {
	for _, starts := range []int{1, 3} {
		b.Run(fmt.Sprintf("obs=50/dim=6/starts=%d", starts), func(b *testing.B) {
			x, y := fitData(b, 50, 6)
			k := kernel.Scale(1, kernel.Matern32(1))
			var f Fitter
			b.ReportAllocs()
			evals := evaluations(&f)
			for b.Loop() {
				*evals = 0
				if _, err := f.Fit(context.Background(), k, 0.1, x, y, nil, &FitOptions{Starts: starts}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(*evals), "evaluations")
			rate(b, "fits")
		})
	}
}

func BenchmarkConditioner(b *testing.B) {
	b.Run("obs=50/points=300", func(b *testing.B) {
		prior := linalg.NewSym(300, testutil.SPD(testutil.RNG(b), 300, 1e6))
		idx := make([]int, 50)
		cross := linalg.NewDense(50, 300, nil)
		for i := range idx {
			idx[i] = 6 * i
			copy(cross.Row(i), prior.Row(6*i))
		}
		var k, cov linalg.Sym
		k.Subset(prior, idx)
		resid, noise, mean := make([]float64, 50), []float64{1e-3}, make([]float64, 300)
		var c Conditioner
		var v linalg.Dense
		b.ReportAllocs()
		for b.Loop() {
			cov.Copy(prior)
			for _, err := range [...]error{c.Factorize(&k, noise, resid), c.Whiten(&v, cross), c.Update(mean, nil, &v), c.UpdateCov(&cov, &v)} {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		rate(b, "updates")
	})
}
