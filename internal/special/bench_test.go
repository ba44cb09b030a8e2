package special

import "testing"

// BenchmarkNormEI evaluates h from −8 to 0, by the series and from φ and R.
func BenchmarkNormEI(b *testing.B) {
	z := make([]float64, 1024)
	for i := range z {
		z[i] = -8 * float64(i*389%len(z)) / float64(len(z))
	}
	for _, tt := range []struct {
		name string
		f    func(float64) float64
	}{{"series", NormEI}, {"phi·R", excess}} {
		b.Run(tt.name, func(b *testing.B) {
			var sum float64
			for b.Loop() {
				for _, v := range z {
					sum += tt.f(v)
				}
			}
			if !(sum > 0) {
				b.Fatal(sum)
			}
			b.ReportMetric(float64(b.N*len(z))/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}
