package hierarchy

import (
	"math"
	"slices"
)

// Standardize returns the tasks brought to a common mean of 0 and a deviation of 1,
// which they have by themselves if each was.
func Standardize(tasks []Task) []Task {
	var mean, square, n float64
	for _, t := range tasks {
		for _, z := range t.Z {
			n++
			d := z - mean
			mean += d / n
			square += d * (z - mean)
		}
	}
	sd := math.Sqrt(square / n)
	if !(sd > 0) || math.Abs(mean) < 1e-9 && math.Abs(sd-1) < 1e-9 {
		mean, sd = 0, 1
	}
	out := make([]Task, len(tasks))
	for i, t := range tasks {
		h := t
		h.Z, h.Noise = slices.Clone(t.Z), slices.Clone(t.Noise)
		h.Shift, h.Scale = t.Shift+mean*t.Scale, sd*t.Scale
		for j := range h.Z {
			h.Z[j] = (h.Z[j] - mean) / sd
		}
		for j := range h.Noise {
			h.Noise[j] /= sd * sd
		}
		out[i] = h
	}
	return out
}
