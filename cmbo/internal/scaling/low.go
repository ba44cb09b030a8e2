package scaling

import "slices"

// lowWidths is how far below the best value of its task a value is told apart from
// worse ones, in widths of the task.
const lowWidths = 5

// fewestValues is the number of values that show the width of their task by themselves.
const fewestValues = 8

// RaiseLow returns y with values far below the others raised to where that begins, y
// itself if there are none. Such values say that a point is bad, not how bad: a
// penalty that stands for a crash, a loss that diverged. They would set a scale on
// which all others look alike.
//
// The width of a task is the way from its median to its best value, or, where half of
// the values are the best one, from its lower quartile; at least width, what is known
// of it otherwise, 0 for nothing. Fewer than three values have no width, and fewer
// than eight none by themselves.
func RaiseLow(y []float64, width float64) []float64 {
	n := len(y)
	if n < 3 || n < fewestValues && width == 0 {
		return y
	}
	sorted := slices.Sorted(slices.Values(y))
	best := sorted[n-1]
	spread := best - sorted[n/2]
	if spread == 0 {
		spread = best - sorted[(n-1)/4]
	}
	if spread == 0 {
		return y
	}
	limit := best - lowWidths*max(spread, width)
	if !(sorted[0] < limit) {
		return y
	}
	out := slices.Clone(y)
	for i := range out {
		out[i] = max(out[i], limit)
	}
	return out
}
