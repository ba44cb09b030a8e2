package scaling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values that are log-normal in each task are warped, normal ones and what has a value of 0
// or below are not. A warp keeps the order, is undone, and above its unit is the logarithm.
func TestWarp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var normal, logNormal [][]float64
	for range 5 {
		level, n, l := math.Exp(5*r.NormFloat64()), []float64(nil), []float64(nil)
		for range 30 {
			z := r.NormFloat64()
			n, l = append(n, level*(10+z)), append(l, level*math.Exp(z))
		}
		normal, logNormal = append(normal, n), append(logNormal, l)
	}
	assert.Equal(t, Warp{}, ChooseWarp(0, normal...))
	assert.Equal(t, Warp{}, ChooseWarp(0, append(logNormal, []float64{0, 1})...))
	assert.Equal(t, Warp{}, ChooseWarp(0, append(logNormal, []float64{1e-200, 1})...))
	assert.Equal(t, Warp{minWarped / 1024}, ChooseWarp(0, append(logNormal, []float64{minWarped, 1e-70, 1})...))
	assert.Equal(t, Warp{}, ChooseWarp(0))
	assert.Equal(t, Warp{}, ChooseWarp(0, []float64{3, 3, 3}, nil))
	w := ChooseWarp(0, append(logNormal, nil)...)
	least := math.Inf(1)
	for _, y := range logNormal {
		for _, v := range y {
			least = min(least, v)
		}
	}
	assert.Equal(t, least/1024, w.Unit)
	values := []float64{math.Inf(-1), -1e150, -3, 0, least / 2, least, 1, 10, 1e150, math.Inf(1)}
	for i, z := range w.ApplyAll(values) {
		if i > 0 {
			assert.Greater(t, z, w.Apply(values[i-1]))
		}
		if back := w.Invert(z); math.Abs(values[i]) <= 1e150 {
			assert.InDelta(t, values[i], back, 1e-13*math.Abs(values[i]))
		} else {
			assert.Equal(t, values[i], back)
		}
	}
	for _, v := range []float64{least, 100 * least} {
		assert.InDelta(t, math.Log(v), w.Apply(v)+w.LogUnit(), 3e-7, "the logarithm")
	}
	assert.Equal(t, w, LogWarp(slices.Concat(logNormal...)))
	assert.Equal(t, Warp{1}, LogWarp(nil))
	assert.Equal(t, 3.0, Warp{}.Apply(3))
	assert.Equal(t, 3.0, Warp{}.Invert(3))
}

// TestLogUnit: log-normal values of one sign are seen by their logarithms, from the median of the tasks' least sizes on;
// normal values, those of both signs, and squares, whose logarithms have a tail towards small and good ones, are not.
func TestLogUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var normal, logNormal, mirrored, squares, least []float64
	var tasks, negative, all [][]float64
	for range 5 {
		normal, logNormal, mirrored = nil, nil, nil
		for range 40 {
			z := r.NormFloat64()
			normal, logNormal, mirrored = append(normal, 10+z), append(logNormal, math.Exp(z)), append(mirrored, -math.Exp(z))
			squares = append(squares, -z*z)
		}
		tasks, negative, all = append(tasks, logNormal), append(negative, mirrored), append(all, normal)
		least = append(least, slices.Min(logNormal))
	}
	slices.Sort(least)
	assert.Equal(t, least[2], LogUnit(0.3, tasks...))
	assert.Equal(t, -least[2], LogUnit(0.3, negative...))
	assert.Zero(t, LogUnit(3, tasks...))
	assert.Zero(t, LogUnit(0, all...))
	assert.Zero(t, LogUnit(0.3, append(tasks, mirrored)...))
	assert.Zero(t, LogUnit(0.3, append(tasks, []float64{1, 0})...))
	assert.Zero(t, LogUnit(0.3, squares))
	for i := range squares {
		squares[i] *= -1 // large ones are good
	}
	assert.NotZero(t, LogUnit(0.3, squares))

	// The tail is the mean cube of all standardised logarithms.
	var refused, taken int
	for shift := range 60 {
		var pair [][]float64
		var skewness float64
		for k := range 2 {
			logs := make([]float64, 10)
			for i := range logs {
				logs[i] = float64(i) + float64(k)
			}
			logs[9] += float64(shift) / 20
			s := Fit(ZScore, logs)
			for _, z := range s.Z {
				skewness += z * z * z / 20
			}
			for i, l := range logs {
				logs[i] = math.Exp(l)
			}
			pair = append(pair, logs)
		}
		if skewness > 0.3 {
			refused++
			assert.Zero(t, LogUnit(0.3, pair...), "%g", skewness)
		} else {
			taken++
			assert.NotZero(t, LogUnit(0.3, pair...), "%g", skewness)
		}
	}
	assert.Greater(t, min(refused, taken), 10)
}
