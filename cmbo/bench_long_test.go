package cmbo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
)

// BenchmarkLearnLong learns the default's prior in 6 coordinates from tasks of many
// observations.
func BenchmarkLearnLong(b *testing.B) {
	box := unitCube(b, 6)
	for _, size := range [][2]int{{1, 1000}, {1, 2000}, {1, 65536}, {5, 1000}, {5, 2000}} {
		b.Run(fmt.Sprintf("K=%d/n=%d", size[0], size[1]), func(b *testing.B) {
			tasks := syntheticTasks(size[0], size[1], 6)
			for b.Loop() {
				if _, err := cmbo.Learn(b.Context(), box, tasks); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstAsk is the first proposal of a run of the default after many values, as of a
// run that is resumed, among 1,200 candidates in a parameter space of 6 coordinates.
func BenchmarkFirstAsk(b *testing.B) {
	box := unitCube(b, 6)
	prior, err := cmbo.Learn(b.Context(), box, syntheticTasks(20, 50, 6))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				o := newOptimizer(b, box, cmbo.WithPrior(prior))
				r := rng.Stream(3, "observed")
				for range n {
					x := make([]float64, 6)
					var y float64
					for j := range x {
						x[j] = r.Float64()
						y -= (x[j] - 0.4) * (x[j] - 0.4) / float64(1+j)
					}
					if err := o.Observe(x, y+0.02*r.NormFloat64()); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := o.Ask(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlainRun is a run without past tasks in a parameter space of 6 coordinates: the metrics are the median and
// the longest time of its proposals, some of which fit the process anew.
func BenchmarkPlainRun(b *testing.B) {
	box := unitCube(b, 6)
	for _, n := range []int{100, 300} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			var took []float64
			for b.Loop() {
				o := newOptimizer(b, box)
				for range n {
					began := time.Now()
					t, err := o.Ask(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, float64(time.Since(began).Microseconds())/1e3)
					var y float64
					for j, u := range t.X {
						y -= (u - 0.4) * (u - 0.4) / float64(1+j)
					}
					if err := o.Tell(t.ID, y); err != nil {
						b.Fatal(err)
					}
				}
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "median-ms")
			b.ReportMetric(took[len(took)-1], "longest-ms")
		})
	}
}
