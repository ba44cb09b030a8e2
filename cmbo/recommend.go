package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
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
	// ([Optimizer.Enqueue]) if Gain is more than [Outlook.Expected], what a new point is expected to gain, and more than an
	// evaluation costs.
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
	expected := around(r.Mean, r.SD)
	switch {
	case math.IsNaN(r.Mean):
		expected = "its values have no scale yet"
	case r.lognormal:
		expected = r.Quantiles.String()
	}
	s := fmt.Sprintf("use%v: %s; values told there: %d", space.Point{Space: r.space, X: r.X}, expected, r.Values)
	if r.Again != nil && r.Gain > (r.Quantiles.High-r.Quantiles.Low)/1000 { // less is none
		at := " there"
		if !slices.Equal(r.Again, r.X) {
			at = fmt.Sprintf(" at%v", space.Point{Space: r.space, X: r.Again})
		}
		s += fmt.Sprintf("; one value more%s is expected to gain %s", at, number(r.Gain, 2))
	}
	return s
}

// Recommend returns the point to use in the end: of the evaluated points whose mean outputs hold all limits, the one
// of the best predicted mean. The point of the best value would, under noise, be the luckiest one. Where outputs are noisy,
// only those count that hold the limits without the noise with a probability of .9, or else the likeliest one.
//
// Without [WithNoise] a share p of the noise variance may be a deviation of the point's own, which the model cannot
// follow: one half on a list of candidates, elsewhere what the deviations of values next to each other say, which are
// alike if they are the function's. Of the mean deviation of k values there, the choice therefore counts kp/(kp+1-p) for
// the point, and SD and Quantiles include (1-p)/(kp+1-p) of that share. Gain takes points for independent of each other.
// Recommend takes the time of [Optimizer.Predict] for each point, and the cube of their number, changes no proposal,
// returns the same after [Restore], and fails with [ErrNumerical] or ctx.Err().
func (o *Optimizer) Recommend(ctx context.Context) (Recommendation, error) {
	return withModel(ctx, o, func() (Recommendation, error) {
		present := o.draft()
		r := Recommendation{Mean: math.NaN(), SD: math.NaN(), Quantiles: unknown.quantiles(), space: o.space, lognormal: o.config.sense().Log}
		values, err := present.surelyHolding(ctx, present.pointsHolding())
		if len(values) == 0 || err != nil {
			return r, err
		}
		d, scale := present.data(false)
		if err := o.fit(ctx, d); err != nil {
			return r, err
		}
		point := func(i int) []float64 { return slices.Clone(present.h.Observations[values[i][0]].X) }
		r.X, r.Values = point(0), len(values[0])
		if !present.hasScale(d) {
			return r, nil
		}
		mean, sd, err := o.model.believed(ctx, present.encodedOf(values))
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

// encodedOf returns the points of observations in the unit cube.
func (o *draft) encodedOf(values [][]int) *linalg.Dense {
	first := each.Of(values, func(of []int) int { return of[0] })
	return points.Pick(o.h.Encoded(o.h.Observations), first)
}

const surely = 0.9      // how likely noisy outputs have to hold their limits at the point recommended
const exactNoise = 1e-5 // noise variance, in scaled units, up to which an output is not noisy

// surelyHolding returns those of points, by their observations, that hold the limits of noisy outputs without the noise as
// surely as that, else the likeliest: of many next to a limit the best are those whose errors are luckiest.
func (o *draft) surelyHolding(ctx context.Context, values [][]int) ([][]int, error) {
	if len(values) == 0 {
		return nil, nil
	}
	logs := make([]float64, len(values))
	for _, r := range o.requirements {
		m, ok := r.(*outputModel)
		if !ok {
			continue
		}
		f, ok, err := m.fit(ctx, o, false)
		if err != nil {
			return nil, err
		}
		// Fewer than five values of its own show no noise.
		if _, told := o.h.EncodedOutput(m.output.Name); !ok || m.past == nil && len(told) < 5 || !(m.model.noise() > exactNoise) {
			continue
		}
		mean, sd, err := m.model.believed(ctx, o.encodedOf(values))
		if err != nil {
			return nil, err
		}
		lo, hi := m.output.Limits()
		for i, s := range sd {
			s = max(s, math.SmallestNonzeroFloat64)
			logs[i] += special.NormLogInterval((f.to(lo)-mean[i])/s, (f.to(hi)-mean[i])/s)
		}
	}
	least := min(math.Log(surely), slices.Max(logs))
	return points.Entries(values, each.Where(len(values), func(i int) bool { return logs[i] >= least })), nil
}

// withOwn returns the means of points with what each has of its own, and the variance left of that: a model takes for
// noise what it cannot follow. With a share p of the noise variance the points' own, k values whose noise is not given
// leave kp/(kp+1-p) of their mean deviation to the point, and p(1-p)/(kp+1-p) of the variance. On a list, whose points may
// have nothing in common, p is one half; elsewhere it is as values next to each other show: see ownShare.
func (o *draft) withOwn(d Data, values [][]int, mean []float64) (worth, left []float64) {
	_, row := observed(d)
	worth, left = slices.Clone(mean), make([]float64, len(mean))
	var at []int
	var deviations []float64
	counts, sums := make([]float64, len(mean)), make([]float64, len(mean))
	for i, observations := range values {
		for _, n := range observations {
			if j := row[n]; !noiseGiven(d, j) {
				e := o.model.seen(d.Y[j]) - mean[i]
				at, deviations = append(at, n), append(deviations, e)
				counts[i], sums[i] = counts[i]+1, sums[i]+e
			}
		}
	}
	p := 0.5
	if !o.space.Finite() {
		p = ownShare(points.Pick(o.h.Encoded(o.h.Observations), at), deviations)
	}
	for i, k := range counts {
		if k > 0 { // not all noise is given
			worth[i] += p * sums[i] / (k*p + 1 - p)
			left[i] = o.model.noise() * p * (1 - p) / (k*p + 1 - p)
		}
	}
	return worth, left
}

// ownShare returns the probability that deviations at the rows of x are the function's, of which nine tenths are alike next
// to each other, and not errors: the evidence of a process with lengths of 1/30 or of 1/100 of a parameter's range, each as
// likely, against that of white noise, both of unknown variance, with odds of one to three before. It takes O(n³).
func ownShare(x *linalg.Dense, deviations []float64) float64 {
	squares, n, odds := linalg.Dot(deviations, deviations), float64(len(deviations)), 1./3
	if squares > 0 {
		cov, white := linalg.NewSym(len(deviations), nil), make([]float64, len(deviations))
		var chol linalg.Cholesky
		odds = 0
		for _, length := range []float64{1. / 30, 1. / 100} {
			kernel.Gram(cov, kernel.Scale(9, kernel.Matern12(length)), x)
			if chol.FactorizeShift(cov, 1) == nil { // which it always is
				chol.SolveLowerVecTo(white, deviations)
				odds += math.Exp(n/2*math.Log(squares/linalg.Dot(white, white))-chol.LogDet()/2) / 6
			}
		}
	}
	return 1 / (1 + 1/odds)
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
