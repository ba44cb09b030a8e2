package cmbo

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/special"
)

// WithPositiveValues says that all values, of the past tasks and of the new one, are above 0,
// as times, costs and counts are: models see logarithms, hold values for lognormal
// ([Quantiles]) and say nothing that is 0 or less. A value that is not positive is refused with
// [ErrNotFinite]. Outputs are not concerned.
//
// What is proposed has the largest expected improvement of the logarithm. Noise variances are
// in squared units of the value ([WithNoise]), and count as small beside its square. New takes
// the option from its prior, and fails with [ErrPriorMismatch] where that was learned without.
// A [Surrogate] finds logarithms in [Data].
func WithPositiveValues() SharedOption {
	return shared("WithPositiveValues", func(c *sharedConfig) error { c.positive = true; return nil })
}

func (c *sharedConfig) sense() sense { return sense{Minimize: c.minimize, Log: c.positive} }

type sense = scaling.Sense

// checkPositive reports a value that is not positive where all are said to be.
func (c *sharedConfig) checkPositive(y float64) error {
	if !c.positive || y > 0 {
		return nil
	}
	e := space.Errorf(ErrNotFinite, "value %g is not positive, as WithPositiveValues says that all are", y)
	e.Value = y
	return e
}

// checkValue reports a value that the run cannot have.
func (c *runConfig) checkValue(y float64) error {
	return cmp.Or(space.CheckValue(y), c.checkPositive(y))
}

// maxRows bounds the rows of a task: a covariance of them takes 2 GiB then, and without the memory the process ends.
const maxRows = 1 << 14

// checkTasks is [space.CheckTasks] that reports what tasks of one Learn, its memory or the options exclude, too.
func (c *learnConfig) checkTasks(s *Space, tasks []Task) ([]Task, error) {
	tasks, err := space.CheckTasks(s, tasks)
	if err = cmp.Or(err, checkContexts(tasks), checkSpellings(tasks)); err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if n := len(t.X) + len(t.Failed); n > maxRows {
			return nil, space.InTask(space.Errorf(ErrTask, "%d rows, failed ones among them; at most %d are learned from: give a sample", n, maxRows), t.ID)
		}
		for j, y := range t.Y {
			if err := c.checkPositive(y); err != nil {
				return nil, space.InTask(space.AtRow(err, j), t.ID)
			}
		}
		for j, curve := range t.Curves {
			for _, y := range curve.Values {
				if err := c.checkPositive(y); err != nil {
					return nil, space.InTask(space.AtRow(err, j), t.ID)
				}
			}
		}
	}
	return tasks, nil
}

// Quantiles are what a model expects of a value, in the user's units: it takes one in twenty
// to lie below Low, every second one below Median, and one in twenty above High.
type Quantiles struct{ Low, Median, High float64 }

// String is such as "12.4 (90 % in 9.1 to 17)".
func (q Quantiles) String() string {
	return fmt.Sprintf("%.4g (90 %% in %.3g to %.3g)", q.Median, q.Low, q.High)
}

// A belief is what a model expects of a value: a normal distribution of the value, or of its
// logarithm, whose median alone may be another: see consulted.belief.
type belief struct {
	mean, sd, median float64
	log              bool
}

// unknown is what a model believes that knows nothing.
var unknown = belief{mean: math.NaN(), sd: math.NaN(), median: math.NaN()}

// userValue brings a value that the model was told to the user's units and direction.
func (c *runConfig) userValue(scale *scaling.Values, v float64) float64 {
	v, _ = scale.Back(v, 0)
	return belief{log: c.positive}.value(scaling.Orient(v, c.minimize))
}

// moments returns mean and deviation of the value.
func (b belief) moments() (mean, sd float64) {
	if !b.log {
		return b.mean, b.sd
	}
	v := b.sd * b.sd
	mean = exp(b.mean + v/2)
	return mean, bounded(mean * math.Sqrt(math.Expm1(v)))
}

func bounded(v float64) float64 { return min(v, math.MaxFloat64) }

// exp returns the value of which v is the logarithm, which is neither 0 nor infinite however far
// a model reaches.
func exp(v float64) float64 { return bounded(max(math.Exp(v), math.SmallestNonzeroFloat64)) }

func (b belief) quantiles() Quantiles {
	return Quantiles{b.value(b.mean - special.Z90*b.sd), b.value(b.median), b.value(b.mean + special.Z90*b.sd)}
}

// value returns the value that v is, or is the logarithm of.
func (b belief) value(v float64) float64 {
	if b.log {
		v = exp(v)
	}
	return v
}

// worth returns, in the user's units, what an improvement on y is worth that the model sees
// as gain.
func (c *runConfig) worth(y, gain float64) float64 {
	if !c.positive {
		return gain
	}
	if c.minimize {
		gain = -gain
	}
	return bounded(y * math.Abs(math.Expm1(gain)))
}

// meanWorth returns the expectation of worth of what N(mean, sd²) improves on 0, in units of
// y: of the price of an option to sell, or to buy, at y what is worth e^N.
func (c *runConfig) meanWorth(mean, sd float64) float64 {
	z := mean / max(sd, math.SmallestNonzeroFloat64) // 0 where both are
	if c.minimize {
		return max(special.NormCDF(z)-math.Exp(special.NormLogCDF(z-sd)-mean+sd*sd/2), 0)
	}
	return bounded(max(math.Exp(special.NormLogCDF(z+sd)+mean+sd*sd/2)-special.NormCDF(z), 0))
}
