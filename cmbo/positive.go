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
// less. A value that is not positive is refused with [ErrValue]. Outputs are not concerned.
//
// What is proposed has the largest expected improvement of the logarithm. Noise variances are in squared units of the
// value ([WithNoise]), and count as small beside its square. New takes the option from its prior, and fails with
// [ErrPriorMismatch] where that was learned without. A [Surrogate] finds logarithms in [Data].
func WithPositiveValues() SharedOption {
	return shared("WithPositiveValues", func(c *sharedConfig) error { c.positive = true; return nil })
}

func (c *sharedConfig) sense() scaling.Sense {
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

// worth returns, in the user's units, what an improvement on y is worth that the model sees as gain.
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
