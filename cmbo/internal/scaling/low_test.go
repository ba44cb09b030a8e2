package scaling

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values far below the best one are raised to one limit, which does not depend on how
// far they are below it; all others stay as they are.
func TestRaiseLow(t *testing.T) {
	ordinary := []float64{3, 1, 4, 1, 5, 9, 2, 6} // the best 9, the lower median 3
	const limit = 9 - lowWidths*6
	for name, c := range map[string]struct {
		y     []float64
		width float64
		want  []float64
	}{
		"nothing low":                      {ordinary, 0, ordinary},
		"at the limit":                     {append([]float64{limit}, ordinary...), 0, append([]float64{limit}, ordinary...)},
		"a penalty":                        {append([]float64{-1e9}, ordinary...), 0, append([]float64{limit}, ordinary...)},
		"two":                              {append([]float64{-1e300, -1e9}, 3, 1, 4, 1, 5, 9, 3, 6), 0, append([]float64{limit, limit}, 3, 1, 4, 1, 5, 9, 3, 6)},
		"infinite differences":             {append([]float64{-math.MaxFloat64}, ordinary...), 0, append([]float64{limit}, ordinary...)},
		"a wide task":                      {append([]float64{-1e9}, ordinary...), 1e9, append([]float64{-1e9}, ordinary...)},
		"known to be wide enough":          {append([]float64{-1e9}, ordinary...), 7, append([]float64{9 - lowWidths*7}, ordinary...)},
		"high values":                      {append([]float64{1e9}, ordinary...), 0, append([]float64{1e9}, ordinary...)},
		"few values":                       {[]float64{0, 1, -1e9}, 0, []float64{0, 1, -1e9}},
		"few of a known width":             {[]float64{0, 1, -1e9}, 2, []float64{0, 1, 1 - lowWidths*2}},
		"two of a known width":             {[]float64{0, -1e9}, 2, []float64{0, -1e9}},
		"half of them alike":               {[]float64{1, 1, 1, 1, 1, 0, 0, 0, -1e9}, 0, []float64{1, 1, 1, 1, 1, 0, 0, 0, 1 - lowWidths}},
		"no width":                         {[]float64{1, 1, 1, 1, 1, 1, 1, 1, -1e9}, 0, []float64{1, 1, 1, 1, 1, 1, 1, 1, -1e9}},
		"no width but a known one":         {[]float64{1, 1, 1, 1, 1, 1, 1, 1, -1e9}, 2, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1 - lowWidths*2}},
		"few and alike, of a known width":  {[]float64{1, 1, 1, -1e9}, 2, []float64{1, 1, 1, 1 - lowWidths*2}},
		"few and alike, near":              {[]float64{1, 1, 1, 1 - 2*gapRanges}, 2, []float64{1, 1, 1, 1 - 2*gapRanges}},
		"none":                             {nil, 1, nil},
		"few and a penalty":                {[]float64{3, 1, -1e9, 4}, 0, []float64{3, 1, 4 - lowWidths, 4}},
		"few and far penalties":            {[]float64{3, -1e9, 1, -1e9, 4, -2e9}, 0, []float64{3, 4 - lowWidths, 1, 4 - lowWidths, 4, 4 - lowWidths}},
		"not far enough":                   {[]float64{3, 1, 1 - 3*gapRanges, 4}, 0, []float64{3, 1, 1 - 3*gapRanges, 4}},
		"most are penalties":               {[]float64{3, 1, -1e9, -1e9, -1e9, -1e9, -1e9, -1e9, 4}, 0, []float64{3, 1, 4 - lowWidths, 4 - lowWidths, 4 - lowWidths, 4 - lowWidths, 4 - lowWidths, 4 - lowWidths, 4}},
		"three quarters":                   {slices.Concat([]float64{3, 1, 2, 4}, slices.Repeat([]float64{-1e9}, 12)), 0, slices.Concat([]float64{3, 1, 2, 4}, slices.Repeat([]float64{4 - lowWidths}, 12))},
		"more than three quarters":         {slices.Concat([]float64{3, 1, 4}, slices.Repeat([]float64{-1e9}, 13)), 0, slices.Concat([]float64{3, 1, 4}, slices.Repeat([]float64{-1e9}, 13))},
		"half are penalties":               {[]float64{3, 1, 2, 4, -1e9, -1e9, -1e9, -1e9}, 0, []float64{3, 1, 2, 4, 4 - lowWidths*3, 4 - lowWidths*3, 4 - lowWidths*3, 4 - lowWidths*3}},
		"half are the best":                {[]float64{1, 1, 1, 1, .5, 0, -1e9, -1e9}, 0, []float64{1, 1, 1, 1, .5, 0, 1 - lowWidths*.5, 1 - lowWidths*.5}},
		"most are the best":                {[]float64{1, 1, 1, 1, 1, .5, -1e9, -1e9, -1e9}, 0, []float64{1, 1, 1, 1, 1, .5, 1 - lowWidths*.5, 1 - lowWidths*.5, 1 - lowWidths*.5}},
		"low values apart from each other": {[]float64{3, 1, 4, -100, -300, -500, -700, -900}, 0, []float64{3, 1, 4, -100, -300, 4 - lowWidths*104, 4 - lowWidths*104, 4 - lowWidths*104}},
	} {
		in := slices.Clone(c.y)
		assert.Equal(t, c.want, RaiseLow(c.y, c.width), name)
		assert.Equal(t, in, c.y, "%s: the argument", name)
	}
}

// Values of which none is unlike any loss stay, however low, and others are raised as RaiseLow does.
func TestRaisePenalties(t *testing.T) {
	others := []float64{3, 1, 4, 1, 5, 9, 2, 6} // whose range is 8
	for _, c := range []struct {
		low    []float64
		raised bool
	}{
		{[]float64{-20, -40}, false}, {[]float64{-1000}, false}, {[]float64{-8000}, true}, {[]float64{-1000, -1000}, true},
		{[]float64{-1000, -1000.9}, true}, {[]float64{-1000, -1001.1}, false}, {[]float64{-1000, -900}, false},
		{[]float64{-1e9, -2e9}, true}, {[]float64{-78, -78}, false}, {[]float64{-80, -80}, true},
	} {
		y := append(slices.Clone(c.low), others...)
		raised := RaiseLow(y, 0)
		assert.NotEqual(t, y, raised)
		if !c.raised {
			raised = y
		}
		assert.Equal(t, raised, RaisePenalties(y), c.low)
	}
	assert.Equal(t, []float64{1, -1e9}, RaisePenalties([]float64{1, -1e9}))
	assert.Empty(t, RaisePenalties(nil))
}

// A past task's values close to its best stay; below that the difference to them is
// compressed, its exponential giving back what it was, up to where RaiseLow ends it.
func TestCompressLow(t *testing.T) {
	const median, best = 3.0, 9.0 // the width is 6
	y := []float64{best, 8, 6.5, 5, median, 2, 1, -4, -1e9}
	const h = nearWidths * (best - median)
	low, _ := CompressLow(y, nil)
	assert.Equal(t, y[:2], low[:2], "near the best")
	for i, v := range y {
		if v >= best-h {
			assert.Equal(t, v, low[i])
			continue
		}
		v = max(v, best-lowWidths*(best-median))
		gap := best - h - low[i]
		assert.InDelta(t, best-h-v, h*math.Expm1(gap/h), 1e-14*(best-v)*math.Exp(gap/h), "the difference of %g", y[i])
		assert.Less(t, low[i], low[i-1], "the order")
	}
	const a, b = 7, 0.125 // maps of the values map what comes of them
	mapped := make([]float64, len(y))
	for i := range y {
		mapped[i] = a + b*y[i]
	}
	got, _ := CompressLow(mapped, nil)
	for i := range got {
		assert.InDelta(t, a+b*low[i], got[i], 1e-14*(a+b*best))
	}
	few := y[:fewestValues-1]
	low, _ = CompressLow(few, nil)
	assert.Equal(t, few, low, "few values")
	same := slices.Repeat([]float64{2}, 10)
	low, _ = CompressLow(same, nil)
	assert.Equal(t, same, low, "no width")
	same[3] = -1e9
	low, _ = CompressLow(same, nil)
	assert.Equal(t, same, low, "no width but for one value")
	low, _ = CompressLow([]float64{4, 4, 4, 4, 4, 4, 3, 1}, nil) // the lower quartile is 3
	assert.Equal(t, 4-nearWidths+nearWidths*math.Log(nearWidths), low[6])
	ties := []float64{4, 4, 4, 4, 4, 3, 3, 2, 1} // the lower quartile is 3
	low, _ = CompressLow(ties, nil)
	assert.InDelta(t, 4-nearWidths+nearWidths*math.Log(nearWidths), low[5], 1e-15)
}

// A small error of a value becomes as much smaller as the slope there, so that a noise variance does by its square.
func TestCompressLowNoise(t *testing.T) {
	y := []float64{9, 8, 6.5, 5, 3, 2, 1, -4, 3}
	noise := []float64{1, 1, 1, 1, 0, 4, 1, 1, 1}
	low, variances := CompressLow(y, noise)
	for i := range y {
		const step = 1e-5
		if y[i] == 9 || y[i] == 3 { // of which the width is made
			continue
		}
		moved := slices.Clone(y)
		moved[i] += step
		up, _ := CompressLow(moved, nil)
		moved[i] -= 2 * step
		down, _ := CompressLow(moved, nil)
		slope := (up[i] - down[i]) / (2 * step)
		assert.InDelta(t, noise[i]*slope*slope, variances[i], 1e-8, "value %g", y[i])
	}
	assert.Zero(t, variances[4], "unknown stays unknown")
	assert.Equal(t, []float64{1, 1, 1, 1, 0, 4, 1, 1, 1}, noise, "the argument")
	assert.Equal(t, 9.0, low[0])
}

// Back undoes At as far as values of tasks go, and goes on straight from there.
func TestLowBack(t *testing.T) {
	l := Low{Knee: 2, Near: 3}
	end := 2 - 3*(lowWidths/nearWidths-1)
	for _, v := range []float64{5, 2, 1.9, 0, -4, end} {
		assert.InDelta(t, v, l.Back(l.At(v)), 1e-12)
	}
	at := l.At(end)
	assert.InDelta(t, end-7*lowWidths/nearWidths, l.Back(at-7), 1e-12)
	for _, v := range []float64{5, 2, 1.9, at, at - 7} { // the slope of the way back, of values and of deviations
		const h = 1e-6
		assert.InDelta(t, (l.Back(v)-l.Back(v-h))/h, l.SlopeFrom(v-h/2, RaisedFrom), 1e-5, "at %g", v)
	}
	assert.Equal(t, 1.0, Low{}.SlopeFrom(-3, RaisedFrom))
	assert.Equal(t, math.Inf(-1), l.At(math.Inf(-1)))
	assert.Equal(t, -3.0, Low{}.At(-3))
	assert.Equal(t, -3.0, Low{}.Back(-3))
}

// NearOf finds what a task was compressed by, wherever and however large its values are.
func TestNearOf(t *testing.T) {
	y := []float64{9, 8, 7, 6, 5, 3, 0, -2, -8}
	low, _ := CompressLow(y, nil)
	near := nearWidths * (9 - 5)
	assert.InDelta(t, near, NearOf(low), 1e-12)
	for i := range low {
		low[i] = 100 + 7*low[i]
	}
	assert.InDelta(t, 7*near, NearOf(low), 1e-10)
	assert.Zero(t, NearOf(y[:7]), "too few to be compressed")
	assert.Zero(t, NearOf([]float64{1, 1, 1, 1, 1, 1, 1, 1}))
}

// TestNearOfARunThatConverged: of a run whose values apart are eight times as wide as all of them, or a little more, NearOf
// finds what it was compressed by, and of one whose are hardly less.
func TestNearOfARunThatConverged(t *testing.T) {
	for _, times := range []float64{7.9, 8.1, 9, 10, 11} {
		apart := []float64{0, -1, -2, -times, -times - 1, -times - 2, -times - 3, -times - 4} // the median is the fourth
		y := slices.Concat(apart, slices.Repeat([]float64{-1}, 20))
		raised, of := LowOfTask(y, apart...)
		near := nearWidths // of all values
		if times > converged {
			near *= times
		}
		require.InDelta(t, near, of.Near, 1e-12)
		low, _ := of.Compress(raised, nil)
		require.InDelta(t, near, NearOf(low, low[:len(apart)]...), 1e-12, "%g times", times)
	}
}

// TestNearOfARunWithPenalties: however many penalties there are among the values apart, of which LowOfTask takes the width of
// the others, and however many others are raised, NearOf finds what a run that has converged was compressed by.
func TestNearOfARunWithPenalties(t *testing.T) {
	for _, penalties := range []int{0, 1, 5, 10, 20, 29} {
		for _, low := range []int{0, 1, 4} {
			apart := append(slices.Repeat([]float64{-1e9}, penalties), []float64{-25, -24, -23, -22}[:low]...)
			for i := range 30 {
				apart = append(apart, -float64(i)/3)
			}
			y := slices.Concat(apart, slices.Repeat([]float64{-0.01}, 160))
			raised, of := LowOfTask(y, apart...)
			require.InDelta(t, nearWidths*float64(14+(low+1)/2)/3, of.Near, 1e-12)
			low, _ := of.Compress(raised, nil)
			for i := range low {
				low[i] = 100 + 7*low[i]
			}
			require.InDelta(t, 7*of.Near, NearOf(low, low[:len(apart)]...), 1e-9, "%d penalties", penalties)
		}
	}
}

// TestRaised: values that are raised, penalties aside, are as far below the knee as they were, in whatever unit they are.
func TestRaised(t *testing.T) {
	y := []float64{10, 9, 8, 7, 6, 4, -3, -10, -1e9, -1e9 - 1}
	for _, unit := range []float64{1, 1e-3} {
		z := make([]float64, len(y))
		for i, v := range y {
			z[i] = 5 + unit*v
		}
		raised, l := LowOfTask(z)
		require.Greater(t, raised[7], z[7])
		got := Raised(z)
		require.Len(t, got, 2)
		for i, v := range []float64{-3, -10} {
			require.InDelta(t, (l.Knee-5)/unit-v, got[i]*l.Near/unit, 1e-6)
			require.Greater(t, got[i], math.Exp(RaisedFrom)-1)
		}
	}
	require.Equal(t, []float64{13, 21}, Low{Knee: 1}.Depths([]float64{-20, 0, 2, -12, 3}, []float64{-2, 0, 2, -2, 3}, 1), "without Near")
	require.Empty(t, Low{Knee: 1}.Depths([]float64{1, 1, 1, -1e9}, []float64{1, 1, 1, -5}, 2), "a penalty by the width")
	require.Empty(t, Raised(y[:5]), "none is raised")
	require.Empty(t, Raised([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}))
}
