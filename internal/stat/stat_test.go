package stat

import (
	"cmp"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, Median([]float64{9, 1, 2}))
	assert.Equal(t, 3.0, Median([]float64{9, 1, 2, 4, 3}))
	assert.Equal(t, 1.5, Median([]float64{9, 1, 2, -4}))
	assert.Equal(t, math.MaxFloat64, Median([]float64{math.MaxFloat64, math.MaxFloat64}), "the sum of the middle two overflows")
	assert.True(t, math.IsNaN(Median(nil)))
}

func TestOrder(t *testing.T) {
	v := []float64{3, 1, 2, 1, 3, 1}
	assert.Equal(t, []int{1, 3, 5, 2, 0, 4}, Order(len(v), func(i, j int) int { return cmp.Compare(v[i], v[j]) }))
	assert.Equal(t, []int{0, 4, 2, 1, 3, 5}, Order(len(v), func(i, j int) int { return cmp.Compare(v[j], v[i]) }), "of equals the smaller first")
	assert.Empty(t, Order(0, nil))
}

func TestSum(t *testing.T) {
	assert.Equal(t, 9, Sum([]int{3, 4, 2}))
	assert.Equal(t, 0.0, Sum([]float64{1e16, 1, -1e16}), "from the first to the last")
	assert.Zero(t, Sum[int64](nil))
}

func TestNormalise(t *testing.T) {
	w := []float64{1, 0, 3}
	Normalise(w)
	assert.Equal(t, []float64{0.25, 0, 0.75}, w)
	Normalise(nil)
}

func TestMeanVariance(t *testing.T) {
	for _, c := range []struct {
		v              []float64
		mean, variance float64
	}{{nil, 0, 0}, {[]float64{3}, 3, 0}, {[]float64{1, 2, 6}, 3, 14. / 3}} {
		mean, variance := MeanVariance(c.v)
		assert.InDelta(t, c.mean, mean, 1e-15)
		assert.InDelta(t, c.variance, variance, 1e-15)
	}
}

// Quantiles from tables of Student's distribution, to the digits printed there.
func TestStudentQuantile(t *testing.T) {
	for freedom, want := range map[int][2]float64{
		1: {6.314, 12.706}, 2: {2.920, 4.303}, 3: {2.353, 3.182}, 4: {2.132, 2.776}, 5: {2.015, 2.571}, 9: {1.833, 2.262},
		10: {1.812, 2.228}, 29: {1.699, 2.045}, 30: {1.697, 2.042}, 120: {1.658, 1.980},
	} {
		assert.InDelta(t, want[0], StudentQuantile(0.95, freedom), 0.0005, "%d degrees of freedom", freedom)
		assert.InDelta(t, want[1], StudentQuantile(0.975, freedom), 0.0005, "%d degrees of freedom", freedom)
	}
	assert.InDelta(t, math.Tan(0.475*math.Pi), StudentQuantile(0.975, 1), 1e-10)
	// With two degrees P(|T| < t) = t/√(2+t²).
	q := StudentQuantile(0.975, 2)
	assert.InDelta(t, 0.95, q/math.Sqrt(2+q*q), 1e-11)
}
