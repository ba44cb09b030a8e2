package scaling

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/stat"
)

// A Warp is an increasing map of values to the scale on which a model with a normal error suits them better: the
// inverse hyperbolic sine of the value in some unit, which is the logarithm of what is far above the unit, and a line
// near 0, so that no value is without an image. The unit 0 stands for no warp, others are a thousandth of the least
// known value: what is above that has its logarithm to seven digits.
type Warp struct{ Unit float64 }

// minWarped keeps ratios of values to the unit finite, which is the least one over warpBelow.
const (
	minWarped = 1e-150
	warpBelow = 1024
)

// ChooseWarp returns the warp of values of several tasks: by their least one, if all are positive and logarithms have,
// of normal distributions, one for each task, a larger log-likelihood than the values, by more than so much a value; else
// none.
func ChooseWarp(margin float64, tasks ...[]float64) Warp {
	least, gain := math.Inf(1), 0.0
	for _, y := range tasks {
		if len(y) == 0 {
			continue
		}
		if least = min(least, slices.Min(y)); !(least >= minWarped) {
			return Warp{}
		}
		logs, _ := Sense{Log: true}.Apply(y, nil)
		if slices.Min(y) < slices.Max(y) && slices.Min(logs) < slices.Max(logs) {
			gain += float64(len(y))*(math.Log(Fit(ZScore, y).Scale/Fit(ZScore, logs).Scale)-margin) - stat.Sum(logs)
		}
	}
	if gain > 0 {
		return Warp{least / warpBelow}
	}
	return Warp{}
}

// goodTail is a skewness of logarithms towards good values, less than that of squares of distances from the best point: these
// logarithms would tell apart the values next to it, and be no smoother.
const goodTail = 0.3

// LogUnit returns the unit of a [Sense] for the values of several tasks, large ones being good, 0 for none: the median of the
// tasks' least sizes, where ChooseWarp warps sizes, the values being of one sign, and their logarithms have no tail towards
// good values. Below it sizes are told apart as they are, which keeps those of values that tend to 0 smooth.
func LogUnit(margin float64, tasks ...[]float64) float64 {
	sizes, least := make([][]float64, len(tasks)), make([]float64, len(tasks))
	negative, cubes, n := tasks[0][0] < 0, 0.0, 0
	for i, y := range tasks {
		sizes[i], _ = Sense{Minimize: negative}.Apply(y, nil)
		logs, _ := Sense{Minimize: negative, Log: true}.Apply(sizes[i], nil)
		for _, z := range Fit(ZScore, logs).Z {
			cubes, n = cubes+z*z*z, n+1
		}
		least[i] = slices.Min(sizes[i])
	}
	if slices.Sort(least); ChooseWarp(margin, sizes...).Unit > 0 && cubes <= goodTail*float64(n) {
		return Orient(least[len(least)/2], negative)
	}
	return 0
}

// LogWarp returns the warp of positive values of which there may be none.
func LogWarp(y []float64) Warp {
	if len(y) == 0 {
		return Warp{1}
	}
	return Warp{max(slices.Min(y), minWarped) / warpBelow}
}

// LogUnit returns what the image of a value far above the unit has to have added to be the value's logarithm.
func (w Warp) LogUnit() float64 { return math.Log(w.Unit / 2) }

// Apply maps a value, infinite ones to themselves.
func (w Warp) Apply(v float64) float64 {
	if w.Unit == 0 {
		return v
	}
	return math.Asinh(v / w.Unit)
}

// ApplyAll maps values.
func (w Warp) ApplyAll(y []float64) []float64 { return each.Of(y, w.Apply) }

// Invert maps an image back, to rounding.
func (w Warp) Invert(z float64) float64 {
	if w.Unit == 0 {
		return z
	}
	return w.Unit * math.Sinh(z)
}
