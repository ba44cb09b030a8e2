package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/special"
)

// A Recommendation says which of the points evaluated to use, where values are noisy.
type Recommendation struct {
	// X is the point; nil before the first value, and while no point holds the limits of all outputs.
	X []float64
	// Mean and SD are the model's mean and standard deviation of the noise-free objective at X, in the user's units, NaN
	// before the values have a scale; Values is the number of values told there. SD is too small if the noise is not
	// given ([WithNoise]) and few rows, of past tasks or of a run without a prior, show too little of it. Measuring
	// points again ([Optimizer.Enqueue]) shows up to a thousand times as much noise, up to the tasks' variance.
	Mean, SD float64
	Values   int
	// Quantiles are those of the noise-free objective at X; NaN where Mean is.
	Quantiles Quantiles
	// Again is the evaluated point at which one value more is expected to raise the mean of the point recommended most,
	// and Gain by how much, in the user's units; nil and 0 with a single point, or while Mean is NaN. Evaluate it again
	// ([Optimizer.Enqueue]) if Gain is more than [Outlook] expects of a new point, and more than an evaluation costs.
	Again []float64
	Gain  float64

	space     *Space
	lognormal bool
}

// String says it in words.
func (r Recommendation) String() string {
	if r.X == nil {
		return "there is no point to recommend yet"
	}
	expected := fmt.Sprintf("%.4g ± %.2g", r.Mean, r.SD)
	switch {
	case math.IsNaN(r.Mean):
		expected = "its values have no scale yet"
	case r.lognormal:
		expected = r.Quantiles.String()
	}
	s := fmt.Sprintf("use%v: %s; values told there: %d", space.Point{Space: r.space, X: r.X}, expected, r.Values)
	if r.Again != nil && r.Gain > (r.Quantiles.High-r.Quantiles.Low)/1000 { // less is none
		s += fmt.Sprintf("; one value more at%v is expected to gain %.2g", space.Point{Space: r.space, X: r.Again}, r.Gain)
	}
	return s
}

// Recommend returns the point to use in the end: of the evaluated points whose mean outputs hold all limits, the one
// of the best predicted mean. The point of the best value would, under noise, be the luckiest one.
//
// Without [WithNoise] half of the noise variance may be a deviation of the point's own, which the model cannot
// follow. Of the mean deviation of k values there, the choice therefore counts k/(k+1) for the point, and SD and
// Quantiles include 1/(k+1) of that half. Gain takes points for independent of each other. Recommend takes the time
// of [Optimizer.Predict] for each point, changes no proposal, returns the same after [Restore], and fails with
// [ErrNumerical] or ctx.Err().
func (o *Optimizer) Recommend(ctx context.Context) (Recommendation, error) {
	return withModel(ctx, o, func() (Recommendation, error) {
		present := o.draft()
		r := Recommendation{Mean: math.NaN(), SD: math.NaN(), Quantiles: unknown.quantiles(), space: o.space, lognormal: o.config.positive}
		values := present.pointsHolding()
		if len(values) == 0 {
			return r, nil
		}
		at := make([]int, len(values))
		for i, v := range values {
			at[i] = v[0]
		}
		d, scale := present.data(false)
		if err := o.fit(ctx, d); err != nil {
			return r, err
		}
		point := func(i int) []float64 { return slices.Clone(present.h.Observations[at[i]].X) }
		r.X, r.Values = point(0), len(values[0])
		if !present.hasScale(d) {
			return r, nil
		}
		mean, sd, err := o.model.believed(ctx, points.Pick(present.h.Encoded(present.h.Observations), at))
		if err != nil {
			return r, err
		}
		worth, left := present.withOwn(d, values, mean)
		best := slices.Index(worth, slices.Max(worth))
		r.X, r.Values = point(best), len(values[best])
		b := o.model.belief(&o.config, &scale, mean[best], math.Hypot(sd[best], math.Sqrt(left[best])))
		r.Mean, r.SD = b.moments()
		r.Quantiles = b.quantiles()
		if i, gain := again(worth, sd, best, o.noiseOf(d)); i >= 0 {
			r.Again, r.Gain = point(i), o.config.worth(r.Quantiles.Median, scale.Scale*gain)
		}
		return r, nil
	})
}

// pointsHolding returns, for each point evaluated whose outputs hold all limits on the mean, its observations.
func (o *draft) pointsHolding() (values [][]int) {
	place := make(map[string]int)
	for i, ob := range o.h.Observations {
		key := points.Key(ob.X)
		if _, known := place[key]; !known {
			place[key], values = len(values), append(values, nil)
		}
		values[place[key]] = append(values[place[key]], i)
	}
	return slices.DeleteFunc(values, func(of []int) bool {
		holds := true
		for _, out := range o.config.outputs {
			if !out.Limited() {
				continue
			}
			var sum, n float64
			for _, i := range of {
				if v, ok := o.h.Observations[i].Outputs[out.Name]; ok {
					sum, n = sum+v, n+1
				}
			}
			holds = holds && out.Beyond(sum/n) == 0 // which is NaN where none was told
		}
		return !holds
	})
}

// withOwn returns the means of points with what each has of its own, and the variance left of that: a model takes for
// noise what it cannot follow, and without repetitions nothing tells the two apart. At even odds, each half of the noise
// variance, k values whose noise is not given leave k/(k+1) of their mean deviation to the point, 1/(k+1) of its half.
func (o *draft) withOwn(d Data, values [][]int, mean []float64) (worth, left []float64) {
	_, row := observed(d)
	worth, left = slices.Clone(mean), make([]float64, len(mean))
	for i, observations := range values {
		var k, sum float64
		for _, n := range observations {
			if j := row[n]; !noiseGiven(d, j) {
				k, sum = k+1, sum+o.model.seen(d.Y[j])-mean[i]
			}
		}
		worth[i] += sum / (k + 1)
		left[i] = min(k, 1) * o.model.noise() / 2 / (k + 1) // 0 where all noise is given
	}
	return worth, left
}

// noiseOf returns the noise variance of one value more, in scaled units: the mean of those given, else the model's.
func (o *Optimizer) noiseOf(d Data) float64 {
	var sum, n float64
	for i, v := range d.NoiseVariance {
		if noiseGiven(d, i) {
			sum, n = sum+v, n+1
		}
	}
	if n > 0 {
		return sum / n
	}
	return o.model.noise()
}

// again returns the point of which one value more raises the largest of the means most, and the expected rise, -1 of a
// single point. With variance v and noise variance n the mean of a point then has the deviation v/√(v+n) from what it
// is: it counts if it passes, or falls behind, the largest of the others.
func again(mean, sd []float64, best int, noise float64) (at int, gain float64) {
	if len(mean) == 1 {
		return -1, 0
	}
	second := slices.Max(slices.Delete(slices.Clone(mean), best, best+1))
	for i, m := range mean {
		behind := mean[best] - m
		if i == best {
			behind = mean[best] - second
		}
		g := 0.0
		if v := sd[i] * sd[i]; v > 0 {
			s := v / math.Sqrt(v+noise)
			g = s * special.NormEI(-behind/s)
		}
		if i == 0 || g > gain {
			at, gain = i, g
		}
	}
	return at, gain
}
