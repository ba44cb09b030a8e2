package cmbo_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper"
	"github.com/gocmbo/cmbo/internal/rng"
)

// BenchmarkLearnWorkers runs Learn of the paper's method on one goroutine and on two; it sets GOMAXPROCS
// to their number.
func BenchmarkLearnWorkers(b *testing.B) {
	space, tasks := syntheticList(300, 6), syntheticTasks(60, 50, 6)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("K=60/workers=%d", workers), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := paper.Learn(ctx, space, tasks, paper.WithParallelism(workers)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(60*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// BenchmarkAskTellTail measures the tail of the time a proposal and its answer take
// over 300 candidates with 50 to 59 observations and four prototypes: the 99th
// percentile is the metric p99-ms.
func BenchmarkAskTellTail(b *testing.B) {
	space, tasks := syntheticList(300, 6), syntheticTasks(60, 50, 6)
	for _, v := range []paper.Variant{paper.WssClusWssCMP, paper.WssClusJefCMP} {
		prior, err := paper.Learn(ctx, space, tasks, paper.WithVariant(v), paper.WithParallelism(1))
		if err != nil {
			b.Fatal(err)
		}
		r := rng.Stream(1, "values")
		start := func(b *testing.B) *cmbo.Optimizer {
			s, err := prior.Surrogate(ctx, space)
			if err != nil {
				b.Fatal(err)
			}
			o := newOptimizer(b, space, cmbo.WithSurrogate(s))
			for i := range 50 {
				x, err := space.Candidate(i)
				if err != nil {
					b.Fatal(err)
				}
				if err := o.Observe(x, r.NormFloat64()); err != nil {
					b.Fatal(err)
				}
			}
			return o
		}
		b.Run(v.String(), func(b *testing.B) {
			b.ReportAllocs()
			var took []float64
			var o *cmbo.Optimizer
			for b.Loop() {
				if len(took)%10 == 0 {
					b.StopTimer()
					o = start(b)
					b.StartTimer()
				}
				began := time.Now()
				trial := ask(b, o)
				if err := o.Tell(trial.ID, r.NormFloat64()); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began).Seconds())
			}
			slices.Sort(took)
			b.ReportMetric(1e3*took[int(math.Ceil(0.99*float64(len(took))))-1], "p99-ms")
			b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "asks/s")
		})
	}
}
