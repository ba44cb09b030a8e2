package gp

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
)

// A View is how a process sees scaled values: differences between those far below the best are smaller, see
// [scaling.Low], and all are brought to mean 0 and deviation 1 again. A cost that explodes in a part of the space is no
// draw of a stationary process, and its logarithm may be. The zero View is that of the values as they are.
type View struct {
	low          scaling.Low
	shift, scale float64
	steepest     float64 // the logarithm of the slope back from the least of the values
}

// fewestSeen is the number of values that show how they are best seen.
const fewestSeen = 8

// Look returns values as a view shows them in which differences count in full down to a share
// of their width below the best one, of those that count, nil for all: y and the zero View for a share
// of 0, for fewer than eight values, and for values without a width.
func Look(y []float64, counts []bool, share float64) ([]float64, View) {
	if share == 0 || len(y) < fewestSeen {
		return y, View{}
	}
	low := scaling.LowOf(y, share)
	if low.Near == 0 {
		return y, View{}
	}
	if counts != nil {
		best := math.Inf(-1)
		for i, v := range y {
			if counts[i] {
				best = max(best, v)
			}
		}
		low.Knee = best - low.Near
	}
	z, _ := low.Compress(y, nil)
	s := scaling.Fit(scaling.ZScore, z)
	return s.Z, View{low, s.Shift, s.Scale, -low.LogSlope(slices.Min(y))}
}

// logSlopes returns the sum of the logarithms of the view's slopes at values, which turns a
// density of what it shows into one of the values.
func (v View) logSlopes(y []float64) float64 {
	if v == (View{}) {
		return 0
	}
	sum := -float64(len(y)) * math.Log(v.scale)
	for _, y := range y {
		sum += v.low.LogSlope(y)
	}
	return sum
}

// Line brings moments of what the view shows to the unit of the values near the best one, which
// is how values are to be compared with it: lower ones lie closer than they are. The way back is
// low's BackFrom, below the least of the values shown with the slope that it has there.
func (v View) Line(mean, sd float64) (float64, float64) {
	if v == (View{}) {
		return mean, sd
	}
	return v.shift + v.scale*mean, v.scale * sd
}
