package points

import (
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
)

func rows(dim int, v ...float64) *linalg.Dense { return linalg.NewDense(len(v)/dim, dim, v) }

// TestKey: zeros of either sign are the same point, the smallest difference is
// another one, and coordinates do not run into each other.
func TestKey(t *testing.T) {
	assert.Equal(t, Key([]float64{0, 1}), Key([]float64{math.Copysign(0, -1), 1}))
	assert.NotEqual(t, Key([]float64{1}), Key([]float64{math.Nextafter(1, 2)}))
	assert.NotEqual(t, Key([]float64{0, 1}), Key([]float64{1, 0}))
	assert.NotEqual(t, Key([]float64{0}), Key([]float64{0, 0}))
}

func TestAdmitted(t *testing.T) {
	for _, v := range []float64{0, -1e150, 1e150} {
		assert.True(t, Admitted(v), "%g", v)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.1e150, -1.1e150} {
		assert.False(t, Admitted(v), "%g", v)
	}
}

func TestRows(t *testing.T) {
	x := rows(2, 0, 1, 2, 3, 0, 1, 4, 5)
	assert.Equal(t, 4, Len(x))
	assert.Zero(t, Len(nil))
	assert.True(t, Equal(rows(2, 0, 1, 2, 3), First(x, 2)))
	assert.True(t, Equal(rows(2, 4, 5, 0, 1), Pick(x, []int{3, 0})))
	assert.True(t, Equal(rows(2, 0, 1, 2, 3, 4, 5), Distinct(x)))
	assert.True(t, Equal(rows(2, 2, 3, 0, 1, 4, 5), Distinct(rows(2, 2, 3), x)))
	assert.True(t, Equal(x, Join(First(x, 2), rows(2, 0, 1, 4, 5))))
	assert.True(t, Equal(x, Join(nil, x)))
	assert.True(t, Equal(x, Join(x, linalg.NewDense(0, 2, nil))))
	assert.Equal(t, 2, Same(x, rows(2, 0, 1, 2, 3, 7, 7, 4, 5)))
	assert.Equal(t, 2, Same(x, First(x, 2)))
	assert.Zero(t, Same(nil, x))
	assert.False(t, Equal(rows(2, 0, 1), rows(1, 0)))
	assert.False(t, Equal(x, First(x, 3)))
	assert.Equal(t, []int{3, 0, 1}, Locate(rows(2, 4, 5, 0, 1, 2, 3), x), "the first of equal rows")
	assert.Nil(t, Locate(rows(2, 4, 5, 9, 9), x))
	n, dim := Join(nil, nil).Dims()
	assert.Zero(t, n+dim)
	assert.True(t, Equal(rows(2, 0, 1, 0, 1, 2, 3, 2, 4, 4, 5), Sorted(rows(2, 2, 4, 4, 5, 0, 1, 2, 3, 0, 1))))
	assert.Same(t, x, Sample(x, 4, 1, "all"))
	drawn := make(map[string]bool)
	for seed := range uint64(50) {
		at := Locate(Sample(rows(1, 5, 6, 7), 2, seed, "two"), rows(1, 5, 6, 7))
		assert.Less(t, at[0], at[1])
		drawn[fmt.Sprint(at)] = true
	}
	assert.Len(t, drawn, 3)
}
