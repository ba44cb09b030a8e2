package stat

import (
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
