package report

import (
	"testing"
)

// BenchmarkAnalyse measures the analysis in runs a second, at the size of a
// small and of a large experiment.
func BenchmarkAnalyse(b *testing.B) {
	for _, c := range []struct {
		name string
		d    design
	}{{"small", small()}, {"large", large()}} {
		rs := c.d.make(1)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyse(rs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(rs)*b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
