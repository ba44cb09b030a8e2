package cmbo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/special"
)

// A Forecast is what the model expected of a value from the values told before it, beside the value itself; both are
// in the user's units.
type Forecast struct {
	// Trial is the trial that was told, 0 for an observation the optimiser did not propose.
	Trial int
	// Y is the value.
	Y float64
	// Mean and SD are those of the noise-free objective at the point, as
	// [Optimizer.Predict] gave them just before the value was told.
	Mean, SD float64
	// NoiseSD is the standard deviation of the measurement's error: the one given with
	// the value ([WithNoise]), else the model's; 0 if a surrogate does not say.
	NoiseSD float64
	// Quantiles are those of the value, objective and error together.
	Quantiles Quantiles

	belief belief // of the value; used where it is one of its logarithm
}

// Z returns how many standard deviations, of objective and noise together, the value lies above the mean. Where the
// model sees logarithms, value, mean and deviation are theirs. A deviation of 0 gives ±Inf, or 0 at the mean.
func (f Forecast) Z() float64 {
	y, mean, sd := f.normal()
	if y == mean {
		return 0
	}
	return (y - mean) / sd
}

// normal returns the value, or its logarithm, and the normal distribution forecast of it.
func (f Forecast) normal() (y, mean, sd float64) {
	if s := f.belief.sense; s.Log {
		return s.See(f.Y), f.belief.mean, f.belief.sd
	}
	return f.Y, f.Mean, math.Hypot(f.SD, f.NoiseSD)
}

// Inside reports whether the value lies in the 90 % interval of the forecast: whether Z is at most 1.645 in size.
func (f Forecast) Inside() bool { return math.Abs(f.Z()) <= special.Z90 }

// LogScore returns the logarithm of the density that the forecast gave the value, as a normal or lognormal
// distribution: larger is better. In units a thousand times as large every score is larger by ln 1000, so that only
// scores of values of one run compare. A forecast without a deviation gives -Inf to all values but its mean.
func (f Forecast) LogScore() float64 {
	z := f.Z()
	_, _, sd := f.normal()
	score := -0.5*z*z - math.Log(max(sd, math.SmallestNonzeroFloat64)) - 0.5*math.Log(2*math.Pi)
	if s := f.belief.sense; s.Log {
		score -= math.Log(s.Slope(f.Y))
	}
	return score
}

// A Calibration says how well the model foretold the values of a run, each before it was told.
type Calibration struct {
	// Forecasts holds a forecast for each value, in the order in which they were told. Values that came before the model
	// knew a scale have none: those before two different values, unless the y policy is [RawValues]. The hierarchical
	// prior knows the scale from past tasks.
	Forecasts []Forecast
	// Coverage is the share of values inside their 90 % intervals, and LogScore the mean of [Forecast.LogScore]; both
	// are NaN without forecasts.
	Coverage, LogScore float64
	// Outputs holds the calibration of the model of each output with a limit, and of the cost, by name; nil if there is
	// none. An output v that is learned in logarithms has its forecasts on the scale asinh(1024 v/u), u being the
	// smallest value known. Standard deviations are those by which limits are judged: without a past they are not
	// widened as [Optimizer.Predict] has it.
	Outputs map[string]Calibration
}

// String says in words how many values lay inside the intervals, and whether the intervals are too narrow or too wide:
// with intervals that hold nine tenths, so few or so many inside would be seen in one of twenty runs.
func (c Calibration) String() string {
	text := c.words()
	for _, name := range slices.Sorted(maps.Keys(c.Outputs)) {
		text += "; of " + name + " " + c.Outputs[name].words()
	}
	return text
}

// words says it of the objective, or of one output.
func (c Calibration) words() string {
	n, k := len(c.Forecasts), inside(c.Forecasts)
	switch {
	case n == 0:
		return "no forecasts yet"
	case binomialTail(n, k, 0.9) < 0.05:
		return fmt.Sprintf("the model is too sure of itself: %d of %d values lay inside their 90 %% interval", k, n)
	case binomialTail(n, n-k, 0.1) < 0.05:
		return fmt.Sprintf("the model is less sure than it could be: %d of %d values lay inside their 90 %% interval", k, n)
	}
	return fmt.Sprintf("%d of %d values lay inside their 90 %% interval", k, n)
}

// binomialTail returns the probability of at most k successes among n, each with probability p.
func binomialTail(n, k int, p float64) float64 {
	var sum float64
	lg := func(x int) float64 { l, _ := math.Lgamma(float64(x + 1)); return l }
	for i := range k + 1 {
		sum += math.Exp(lg(n) - lg(i) - lg(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// Calibration compares the values of the run with what the model expected of each before it was told. The model goes
// through the log again, so that the result is the same after a restore. A call only goes through the values told
// since the one before. Each takes about the time of [Optimizer.Predict], and that of a fit in a run with more values
// than its past, or without a past where Ask made none. Fits to an output that has a limit or is the cost, and that the
// past lacks, are in no snapshot: those made before a restore are made anew. It changes no proposal, and fails with
// [ErrNumerical], or with ctx.Err(); the next call goes on from there.
func (o *Optimizer) Calibration(ctx context.Context) (Calibration, error) {
	return withModel(ctx, o, func() (Calibration, error) {
		past, err := o.draft().relive(&o.past, func(past *hindsight, before *draft, e runlog.Event) error {
			outputs, err := before.foretell(ctx, past.outputs, e)
			if err != nil {
				return err
			}
			f, ok, err := past.forecast(ctx, before, e)
			if err != nil {
				return err
			}
			for name, f := range outputs {
				past.ofOutputs[name] = append(past.ofOutputs[name], f)
			}
			if ok {
				past.forecasts = append(past.forecasts, f)
			}
			return nil
		})
		if err != nil {
			return Calibration{}, err
		}
		c := calibrationOf(past.forecasts)
		if len(past.outputs) > 0 {
			c.Outputs = make(map[string]Calibration)
		}
		for _, m := range past.outputs {
			c.Outputs[m.output.Name] = calibrationOf(past.ofOutputs[m.output.Name])
		}
		return c, nil
	})
}

// forecast is what the model expects of the value of e before it is told; ok is false as long as the values
// before have no scale.
func (past *hindsight) forecast(ctx context.Context, before *draft, e runlog.Event) (f Forecast, ok bool, err error) {
	d, scale := before.data(false)
	if err := past.model.Fit(ctx, d); err != nil {
		return f, false, err
	}
	b, ok, err := before.expect(ctx, past.model, d, scale, e.X)
	if !ok {
		return f, false, err
	}
	f = Forecast{Trial: e.Trial, Y: e.Y, belief: b}
	f.Mean, f.SD = b.moments()
	_, noise := scale.Back(0, math.Sqrt(past.model.noise()))
	if e.Noise > 0 {
		_, v := before.config.sense().Apply([]float64{e.Y}, []float64{e.Noise})
		noise = math.Sqrt(v[0])
	}
	f.NoiseSD = noise
	if b.sense.Log {
		_, f.NoiseSD = b.sense.Moments(b.sense.See(f.Mean), noise)
	}
	f.belief.sd = math.Hypot(b.sd, noise)
	f.Quantiles = f.belief.quantiles()
	return f, true, nil
}

// expect is what a model that was told d expects of the noise-free objective at x: unknown, and
// ok is false, as long as the values have no scale.
func (o *draft) expect(ctx context.Context, m consulted, d Data, scale scaling.Values, x []float64) (b belief, ok bool, err error) {
	if !o.hasScale(d) {
		return unknown, false, nil
	}
	b, err = m.predictOne(ctx, &o.config, &scale, o.space.EncodeAll([][]float64{x}).Row(0))
	return b, err == nil, err
}

// hasScale reports whether what the model says can be brought to the values' unit.
func (o *draft) hasScale(d Data) bool { return o.config.y == RawValues || distinct(d.Raw) }

// distinct reports whether there are two different values, by more than rounding.
func distinct(y []float64) bool { return len(y) > 0 && scaling.Apart(slices.Min(y), slices.Max(y)) }

func calibrationOf(fs []Forecast) Calibration {
	c := Calibration{Forecasts: slices.Clone(fs), Coverage: math.NaN(), LogScore: math.NaN()}
	if n := float64(len(fs)); n > 0 {
		c.Coverage, c.LogScore = float64(inside(fs))/n, 0
		for _, f := range fs {
			c.LogScore += f.LogScore() / n
		}
	}
	return c
}

// inside counts the values inside their 90 % intervals.
func inside(fs []Forecast) int { return each.Count(fs, Forecast.Inside) }
