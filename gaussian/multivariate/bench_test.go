package multivariate

import (
	"context"
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// benchPair is a pair of posteriors on a grid of n points.
func benchPair(n int) (p, q *Normal) {
	sides := map[int][2]int{100: {10, 10}, 300: {20, 15}}
	g := gridPoints(sides[n][0], sides[n][1])
	return mustNormal(nil, posteriorCov(1, g, point{.25, .3}, 55, 1e-4, 1e-6, false)),
		mustNormal(nil, posteriorCov(2, g, point{.5, .2}, 55, 1e-4, 1e-6, false))
}

func rate(b *testing.B, what string) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), what+"/s")
}

func BenchmarkW2(b *testing.B) {
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, q := benchPair(n)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.W2(p, q); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "pairs")
		})
	}
}

func BenchmarkW2NearEqual(b *testing.B) {
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, _ := benchPair(n)
			s := new(linalg.Sym)
			s.Copy(p.Cov())
			s.AddDiag(1e-5)
			q := mustNormal(nil, s)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.W2(p, q); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "pairs")
		})
	}
}

func BenchmarkKL(b *testing.B) {
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, q := benchPair(n)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.KL(p, q); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "pairs")
		})
	}
}

// BenchmarkJeffreys has the inverses kept, BenchmarkJeffreysOnce one of the two to
// compute, as for a new posterior against a prototype.
func BenchmarkJeffreys(b *testing.B) {
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, q := benchPair(n)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := w.Jeffreys(p, q, AutoJitter); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "pairs")
		})
	}
}

func BenchmarkJeffreysOnce(b *testing.B) {
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, q := benchPair(n)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				fresh, err := AdoptNormal(q.mean, q.cov, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := w.Jeffreys(p, fresh, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, "pairs")
		})
	}
}

func BenchmarkBarycenter(b *testing.B) {
	for _, n := range []int{100} {
		b.Run(fmt.Sprintf("n=%d/members=20", n), func(b *testing.B) {
			ps := posteriorSet(testutil.RNG(b), gridPoints(10, 10), 20, 1e-6, false)
			b.ReportAllocs()
			steps := 0
			for b.Loop() {
				r, err := Barycenter(context.Background(), ps, nil, nil)
				if err != nil || !r.Converged {
					b.Fatal(r, err)
				}
				steps = r.Iterations
			}
			b.ReportMetric(float64(steps), "steps")
		})
	}
}
