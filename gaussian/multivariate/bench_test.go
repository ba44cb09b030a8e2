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

// nearPair is such a posterior and another one next to it.
func nearPair(n int) (p, q *Normal) {
	p, _ = benchPair(n)
	s := new(linalg.Sym)
	s.Copy(p.Cov())
	s.AddDiag(1e-5)
	return p, mustNormal(nil, s)
}

// benchPairs runs do on pairs of two sizes.
func benchPairs(b *testing.B, pair func(n int) (p, q *Normal), do func(w *Workspace, p, q *Normal) error) {
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, q := pair(n)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				if err := do(&w, p, q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

func w2(w *Workspace, p, q *Normal) error { _, err := w.W2(p, q); return err }

func BenchmarkW2(b *testing.B) { benchPairs(b, benchPair, w2) }

func BenchmarkW2NearEqual(b *testing.B) { benchPairs(b, nearPair, w2) }

func BenchmarkKL(b *testing.B) {
	benchPairs(b, benchPair, func(w *Workspace, p, q *Normal) error { _, err := w.KL(p, q); return err })
}

// BenchmarkJeffreys has the inverses kept, BenchmarkJeffreysOnce one of the two to
// compute, as for a new posterior against a prototype.
func BenchmarkJeffreys(b *testing.B) {
	benchPairs(b, benchPair, func(w *Workspace, p, q *Normal) error {
		_, err := w.Jeffreys(p, q, 1e-6)
		return err
	})
}

func BenchmarkJeffreysOnce(b *testing.B) {
	benchPairs(b, benchPair, func(w *Workspace, p, q *Normal) error {
		fresh, err := AdoptNormal(q.mean, q.cov, nil)
		if err == nil {
			_, err = w.Jeffreys(p, fresh, 1e-6)
		}
		return err
	})
}

func BenchmarkBarycenter(b *testing.B) {
	for _, n := range []int{100} {
		b.Run(fmt.Sprintf("n=%d/members=20", n), func(b *testing.B) {
			ps := posteriorSet(testutil.RNG(b), gridPoints(10, 10), 20, 1e-6, false)
			b.ReportAllocs()
			steps := 0
			for b.Loop() {
				r, err := Barycenter(context.Background(), ps, nil)
				if err != nil || !r.Converged {
					b.Fatal(r, err)
				}
				steps = r.Iterations
			}
			b.ReportMetric(float64(steps), "steps")
		})
	}
}
