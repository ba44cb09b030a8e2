package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// All values together have a mean of 0 and a deviation of 1, every value and noise
// variance of a task is what it was, and tasks that have such moments stay as they are.
func TestStandardize(t *testing.T) {
	tasks := []Task{
		{ID: "a", Z: []float64{0, 1, 5}, Noise: []float64{1, 2, 3}, Shift: 3, Scale: 2},
		{ID: "b", Z: []float64{-7, 9}, Shift: -1, Scale: 10},
	}
	was := slices.Clone(tasks)
	mean, sd := CommonScale(tasks)
	got := Standardize(tasks, mean, sd)
	var n, sum, squares float64
	for i, s := range got {
		for j, z := range s.Z {
			n, sum, squares = n+1, sum+z, squares+z*z
			assert.InDelta(t, was[i].Shift+was[i].Scale*was[i].Z[j], s.Shift+s.Scale*z, 1e-12)
		}
		for j, v := range s.Noise {
			assert.InEpsilon(t, was[i].Noise[j]*was[i].Scale*was[i].Scale, v*s.Scale*s.Scale, 1e-14)
		}
	}
	assert.InDelta(t, 0, sum/n, 1e-15)
	assert.InDelta(t, 1, math.Sqrt(squares/n), 1e-15)
	assert.Equal(t, []float64{0, 1, 5}, tasks[0].Z, "the argument")

	tiny := []Task{{Z: []float64{3e-11, 5e-11}}, {Z: []float64{7e-11}}}
	mean, sd = CommonScale(tiny)
	assert.InEpsilon(t, 5e-11, mean, 1e-12, "no rounding, in a unit so large")
	assert.InEpsilon(t, math.Sqrt(8./3)*1e-11, sd, 1e-12)

	for _, tt := range []struct {
		z        []float64
		mean, sd float64
	}{{[]float64{-2, 2}, 0, 2}, {[]float64{4, 6}, 5, 1}, {[]float64{-8, -4}, -6, 2}} {
		mean, sd := CommonScale([]Task{{Z: tt.z[:1]}, {Z: tt.z[1:]}})
		assert.Equal(t, []float64{tt.mean, tt.sd}, []float64{mean, sd})
	}

	for _, same := range [][]Task{
		{{Z: []float64{-1, 1 + 1e-12}, Shift: 4, Scale: 5}, {Z: []float64{1, -1}, Scale: 1}},
		{{Z: []float64{-1, 1}, Shift: 4, Scale: 5}, {Z: []float64{1, -1}, Scale: 1}},
		{{Z: []float64{2, 2}, Shift: 4, Scale: 5}},
	} {
		mean, sd := CommonScale(same)
		assert.Equal(t, same, Standardize(same, mean, sd))
	}
}
