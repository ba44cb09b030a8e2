package scaling

import (
	"cmp"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
)

// The width of a task is the way from its median to its best value, or, where half of the values are the best one, from its
// lower quartile. Of a run that has converged, most of whose points lie next to the best one, it is that of values apart: see
// points.Apart.
const (
	// lowWidths is how far below the best value of its task a value is told apart from worse ones, in widths.
	lowWidths = 3
	// nearWidths is how far below the best value differences count in full.
	nearWidths = 0.75
)

// RaisedFrom is how far below the knee a task's values come to lie, in Near, that RaiseLow raises.
var RaisedFrom = math.Log(lowWidths / nearWidths)

// converged is how many times the width of all values that of values apart is where a run has converged.
const converged = 8

// fewestValues is the number of values that show the width of their task by themselves.
const fewestValues = 8

// gapRanges is how many times the range of the others lies between them and penalties.
const gapRanges = 10

// beyondLosses is how many times as far from the others as these, or they, from each other penalties unlike any loss lie.
const beyondLosses = 1000

// RaiseLow returns y with values far below the others raised to where that begins, y itself if
// there are none. Such values say that a point is bad, not how bad: a penalty that stands for a
// crash, a loss that diverged. They would set a scale on which all others look alike.
//
// The width is at least the one given, what is known of it otherwise, 0 for nothing. Fewer than three values have no
// width, and fewer than eight none by themselves unless the worst of them are penalties beyond doubt: see penalties.
// Where the others are all equal, nothing but the width given tells them from penalties.
func RaiseLow(y []float64, width float64) []float64 { return RaiseBelow(y, math.Inf(1), width) }

// RaiseBelow is RaiseLow of values of which the best that counts is given, +Inf for the largest: to where values
// begin that are far below it and all others.
func RaiseBelow(y []float64, best, width float64) []float64 {
	sorted := ascending(y)
	top, shown, from := widthOf(sorted)
	few := len(y) < fewestValues
	if k := penalties(sorted, width); k > from || few && k > 0 {
		if top, shown, _ = widthOf(sorted[k:]); shown == 0 {
			shown = top - sorted[k]
		}
		few = false
	}
	if few && width == 0 || len(y) < 3 {
		return y
	}
	if width = max(shown, width); width == 0 {
		return y
	}
	limit := min(best, top) - lowWidths*width
	if !(slices.Min(y) < limit) {
		return y
	}
	return each.Of(y, func(v float64) float64 { return max(v, limit) })
}

// RaisePenalties is RaiseLow of values of which the worst are penalties unlike any loss: several that are next to equal, or
// farther below the others than a thousand times the range of these. It returns others as they are: losses may explode.
func RaisePenalties(y []float64) []float64 {
	sorted := ascending(y)
	k := penalties(sorted, 0)
	if k == 0 {
		return y
	}
	gap, differ := sorted[k]-sorted[k-1], sorted[k-1]-sorted[0]
	if far := gap > beyondLosses*(sorted[len(y)-1]-sorted[k]); !far && (k == 1 || differ*beyondLosses > gap) {
		return y
	}
	return RaiseLow(y, 0)
}

// CompressLow returns the values of a past task, raised as by RaiseLow, with the differences between low ones made
// smaller, and their noise variances, if any, accordingly. How good points differ is what another task gains from; how
// bad ones do would take most of the variance that is learned. Tasks without a width stay as they are.
func CompressLow(y, noise []float64, apart ...float64) (low, variances []float64) {
	y, l := LowOfTask(y, apart...)
	return l.Compress(y, noise)
}

// LowOfTask returns the values of a task, raised as by RaiseLow, and what makes differences between low ones smaller.
func LowOfTask(y []float64, apart ...float64) ([]float64, Low) {
	width := 0.0
	if len(apart) > 0 {
		sorted := ascending(apart)
		_, width, _ = widthOf(sorted[penalties(sorted, 0):])
		if _, shown, _ := widthOf(ascending(y)); width < converged*shown {
			width = 0
		}
	}
	if y = RaiseLow(y, width); len(y) < fewestValues {
		return y, Low{}
	}
	l := LowOf(y, nearWidths)
	if near := nearWidths * width; near > l.Near {
		l = Low{l.Knee + l.Near - near, near}
	}
	return y, l
}

// Raised returns how far below the knee the values of a task lie that RaiseLow raises, in Near, but for penalties.
func Raised(y []float64, apart ...float64) []float64 {
	raised, l := LowOfTask(y, apart...)
	if l.Near == 0 {
		return nil
	}
	return l.Depths(y, raised, 0)
}

// Depths is Raised, rising, of values that were raised where a width was given; not in Near where that is 0.
func (l Low) Depths(y, raised []float64, width float64) (depths []float64) {
	sorted, after := ascending(y), ascending(raised)
	first := penalties(sorted, width)
	for i := len(y) - 1; i >= first; i-- {
		if sorted[i] < after[i] {
			depths = append(depths, (l.Knee-sorted[i])/cmp.Or(l.Near, 1))
		}
	}
	return depths
}

// A Low makes differences between low values smaller: one d·Near below Knee comes to lie
// Near·ln(1 + d) below it, so that the slope falls from 1 on. A Near of 0 makes none smaller.
type Low struct{ Knee, Near float64 }

// Compress returns values and their noise variances, if any, those given where none is low.
func (l Low) Compress(y, noise []float64) (low, variances []float64) {
	if l.Near == 0 || !(slices.Min(y) < l.Knee) {
		return y, noise
	}
	low, variances = slices.Clone(y), slices.Clone(noise)
	for i, v := range y {
		d := (l.Knee - v) / l.Near
		if d <= 0 {
			continue
		}
		low[i] = l.At(v)
		if len(noise) > 0 {
			slope := 1 / (1 + d)
			variances[i] *= slope * slope
		}
	}
	return low, variances
}

// LowOf returns one whose Near is a share of the width of values, 0 where they have none.
func LowOf(y []float64, share float64) Low {
	best, width, _ := widthOf(ascending(y))
	near := share * width
	return Low{best - near, near}
}

// LogSlope returns the logarithm of the slope at a value.
func (l Low) LogSlope(v float64) float64 {
	if d := (l.Knee - v) / l.Near; l.Near > 0 && d > 0 {
		return -math.Log1p(d)
	}
	return 0
}

// At returns what becomes of a value, a finite number unless that is infinite.
func (l Low) At(v float64) float64 {
	d := (l.Knee - v) / l.Near
	if !(l.Near > 0 && d > 0) {
		return v
	}
	if !math.IsInf(v, -1) {
		d = min(d, math.MaxFloat64)
	}
	return l.Knee - math.Log1p(d)*l.Near
}

// Back returns the value of which one comes. Farther below than RaiseLow leaves any value of a task the slope rises no more.
func (l Low) Back(low float64) float64 { return l.BackFrom(low, RaisedFrom) }

// BackFrom is Back for values whose slope rises no more from one on whose logarithm is steepest.
func (l Low) BackFrom(low, steepest float64) float64 {
	d := (l.Knee - low) / l.Near
	if !(l.Near > 0 && d > 0) {
		return low
	}
	steep := min(d, steepest)
	return l.Knee - l.Near*(math.Expm1(steep)+math.Exp(steep)*(d-steep))
}

// SlopeFrom returns the slope of BackFrom.
func (l Low) SlopeFrom(low, steepest float64) float64 {
	if d := (l.Knee - low) / l.Near; l.Near > 0 && d > 0 {
		return math.Exp(min(d, steepest))
	}
	return 1
}

// NearOf returns the Near of values that CompressLow has made, moved and scaled since; 0 if they are not compressed.
func NearOf(low []float64, apart ...float64) float64 {
	if len(low) < fewestValues {
		return 0
	}
	_, width, _ := widthOf(ascending(low))
	sorted := ascending(apart)
	_, ofApart, _ := widthOf(sorted)
	// The width ends 1 − nearWidths below the knee, in widths as they were.
	ends := 1 + math.Log1p(1/nearWidths-1)
	// LowOfTask takes the width of those that are no penalties, which lie where it has values raised to.
	for k := 0; k+3 <= len(sorted) && sorted[max(k-1, 0)] == sorted[0]; k++ {
		best, others, _ := widthOf(sorted[k:])
		if raised := (1 + RaisedFrom) * others / ends; math.Abs(best-sorted[0]-raised) <= 1e-9*raised {
			ofApart = others
			break
		}
	}
	if near := ofApart / ends; near >= converged*nearWidths*width {
		return near
	}
	return width / ends
}

// widthOf returns the best of values in rising order, their width, 0 for none, and the index of that from which it is
// measured.
func widthOf(sorted []float64) (best, width float64, from int) {
	n := len(sorted)
	if n < 3 {
		return 0, 0, 0
	}
	best, from = sorted[n-1], n/2
	if sorted[from] == best {
		from = (n - 1) / 4
	}
	return best, best - sorted[from], from
}

// penalties returns how many of the values, in rising order, are penalties: at most three quarters and all but three, closer
// to each other than to the others, and from these many times the range that they have, or width where they are all equal.
func penalties(sorted []float64, width float64) int {
	n := len(sorted)
	for k := min(n-3, 3*n/4); k > 0; k-- {
		gap, span := sorted[k]-sorted[k-1], sorted[n-1]-sorted[k]
		if span == 0 {
			span = width
		}
		if span > 0 && gap > gapRanges*span && gap > sorted[k-1]-sorted[0] {
			return k
		}
	}
	return 0
}

// ascending is slices.Sorted of a list, in memory for it alone.
func ascending(y []float64) []float64 {
	sorted := slices.Clone(y)
	slices.Sort(sorted)
	return sorted
}
