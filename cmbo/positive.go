package cmbo

import (
	"cmp"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/special"
)

// WithPositiveValues says that all values, of the past tasks and of the new one, are above 0, as times, costs and
// counts are. Models then see logarithms, hold values for lognormal ([Quantiles]) and predict nothing that is 0 or
// less. A value that is not positive is refused with [ErrValue]. Outputs are not concerned. Without the option [Learn] has
// models see logarithms where those of the past's values are likelier, and no value is refused: see [LearnReport].
//
// What is proposed has the largest expected improvement of the logarithm. Noise variances are in squared units of the
// value ([WithNoise]), and count as small beside its square. New takes the option from its prior, and fails with
// [ErrPriorMismatch] where that was learned without. A [Surrogate] finds logarithms in [Data].
func WithPositiveValues() SharedOption {
	return shared("WithPositiveValues", func(c *sharedConfig) error { c.positive = true; return nil })
}

func (c *learnConfig) sense() scaling.Sense {
	return scaling.Sense{Minimize: c.minimize, Log: c.positive || c.logUnit != 0, Unit: c.logUnit}
}

// sense is the prior's, whose direction and promise are the run's.
func (c *runConfig) sense() scaling.Sense {
	if c.prior != nil {
		return c.prior.config.sense()
	}
	return scaling.Sense{Minimize: c.minimize, Log: c.positive}
}

// checkPositive reports a value that is not positive where all are said to be.
func (c *sharedConfig) checkPositive(y float64) error {
	if !c.positive || y > 0 {
		return nil
	}
	e := space.Errorf(ErrValue, "value %g is not positive, as WithPositiveValues says that all are", y)
	e.Value = y
	return e
}

// checkValue reports a value that the run cannot have.
func (c *runConfig) checkValue(y float64) error {
	return cmp.Or(space.CheckValue(y), c.checkPositive(y))
}

// growth returns the parts of the value y, large being good, that grow with an improvement of what the model sees and by its
// inverse: all of it is one of them where that is the logarithm.
func (c *runConfig) growth(y float64) (up, down float64) {
	good, slope := scaling.Orient(y, c.minimize), c.sense().Slope(y)
	return (good + slope) / 2, (good - slope) / 2
}

// worth returns, in the user's units, what an improvement on y is worth that the model sees as gain.
func (c *runConfig) worth(y, gain float64) float64 {
	if !c.sense().Log {
		return gain
	}
	up, down := c.growth(y)
	return bounded(up*bounded(math.Expm1(gain)) + down*math.Expm1(-gain))
}

// meanWorth returns the expectation of worth, where the model sees N(mean, sd²) as gain: of the prices of an option to
// buy at 1 what is worth e^N, and to sell what is worth e^-N.
func (c *runConfig) meanWorth(y, mean, sd float64) float64 {
	z := mean / max(sd, math.SmallestNonzeroFloat64) // 0 where both are
	up, down := c.growth(y)
	buy := bounded(max(math.Exp(special.NormLogCDF(z+sd)+mean+sd*sd/2)-special.NormCDF(z), 0))
	sell := max(special.NormCDF(z)-math.Exp(special.NormLogCDF(z-sd)-mean+sd*sd/2), 0)
	return bounded(up*buy - down*sell)
}
