package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, Median([]float64{9, 1, 2}))
	assert.Equal(t, 1.5, Median([]float64{9, 1, 2, -4}))
	assert.Equal(t, math.MaxFloat64, Median([]float64{math.MaxFloat64, math.MaxFloat64}), "the sum of the middle two overflows")
	assert.True(t, math.IsNaN(Median(nil)))
}
