package optim

import (
	"fmt"
	"testing"
)

func BenchmarkMinimize(b *testing.B) {
	for _, n := range []int{2, 10, 50} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			var m Minimizer
			x0 := fill(n, -0.5)
			evals := 0
			f := counted(rosenbrock, &evals)
			b.ReportAllocs()
			for b.Loop() {
				m.Minimize(f, x0, none(len(x0), -1), none(len(x0), 1), Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(evals), "ns/eval")
		})
	}
}
