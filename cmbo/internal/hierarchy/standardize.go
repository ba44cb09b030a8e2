package hierarchy

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
)

// CommonScale returns mean and deviation of all values of the tasks: 0 and 1 if each was standardised by itself, or if
// all values are equal. A mean that is rounding, beside the deviation, is 0.
func CommonScale(tasks []Task) (mean, sd float64) {
	var square, n float64
	for _, t := range tasks {
		for _, z := range t.Z {
			n++
			d := z - mean
			mean += d / n
			square += d * (z - mean)
		}
	}
	sd = math.Sqrt(square / n)
	if math.Abs(mean) < 1e-9*sd {
		mean = 0
	}
	if !(sd > 0) || mean == 0 && math.Abs(sd-1) < 1e-9 {
		return 0, 1
	}
	return mean, sd
}

// Standardize returns the tasks with mean taken off their values, which are then divided by sd.
func Standardize(tasks []Task, mean, sd float64) []Task {
	out := make([]Task, len(tasks))
	for i, h := range tasks {
		h.Z, h.Noise = slices.Clone(h.Z), slices.Clone(h.Noise)
		h.Shift, h.Scale = h.Shift+mean*h.Scale, max(sd*h.Scale, math.SmallestNonzeroFloat64)
		for j := range h.Z {
			h.Z[j] = (h.Z[j] - mean) / sd
		}
		for j := range h.Noise {
			h.Noise[j] = min(h.Noise[j]/(sd*sd), points.MaxValue) // beyond which a stored prior has none
		}
		out[i] = h
	}
	return out
}
