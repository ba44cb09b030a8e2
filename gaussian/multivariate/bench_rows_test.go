package multivariate

import (
	"fmt"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// BenchmarkClusterIteration is one round of k-means without pruning: the centres
// of 4 groups of 15 posteriors and all 240 distances, factors of the members kept.
func BenchmarkClusterIteration(b *testing.B) {
	const k, c = 60, 4
	ps := posteriorSet(testutil.RNG(b), gridPoints(10, 10), k, 1e-6, false)
	for _, p := range ps {
		if _, _, err := p.Factor(); err != nil {
			b.Fatal(err)
		}
	}
	for _, d := range []string{"W2", "Jeffreys"} {
		b.Run(fmt.Sprintf("%s/K=60/C=4/n=100", d), func(b *testing.B) {
			var w Workspace
			dst := make([]float64, k)
			b.ReportAllocs()
			for b.Loop() {
				for i := range c {
					centre, err := Centroid(ps[i*k/c:(i+1)*k/c], nil)
					if err != nil {
						b.Fatal(err)
					}
					if d == "W2" {
						err = squaredDistances(&w, dst, centre, ps)
					} else {
						err = w.JeffreysTo(dst, centre, ps, 1e-6)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(k*c*float64(b.N)/b.Elapsed().Seconds(), "distances/s")
		})
	}
}

// BenchmarkOnline is what a step of the method takes for its weights: the distances
// of a new posterior, known by its moments, to four prototypes whose factors and
// inverses are kept.
func BenchmarkOnline(b *testing.B) {
	ps := posteriorSet(testutil.RNG(b), gridPoints(20, 15), 5, 1e-6, false)
	last, ps := ps[4], ps[:4]
	for _, d := range []string{"W2", "Jeffreys"} {
		b.Run(fmt.Sprintf("%s/C=4/n=300", d), func(b *testing.B) {
			var w Workspace
			dst := make([]float64, len(ps))
			b.ReportAllocs()
			for b.Loop() {
				fresh, err := AdoptNormal(last.mean, last.cov, nil)
				if err != nil {
					b.Fatal(err)
				}
				if d == "W2" {
					err = squaredDistances(&w, dst, fresh, ps)
				} else {
					err = w.JeffreysTo(dst, fresh, ps, 1e-6)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(ps)*b.N)/b.Elapsed().Seconds(), "prototypes/s")
		})
	}
}

// squaredDistances sets dst to the squared distances of p to others.
func squaredDistances(w *Workspace, dst []float64, p *Normal, qs []*Normal) (err error) {
	for i, q := range qs {
		if dst[i], err = w.W2Squared(p, q); err != nil {
			return err
		}
	}
	return nil
}
