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
