package cmbo

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/special"
)

// Quantiles are what a model expects of a value, in the user's units: it takes one in twenty
// to lie below Low, every second one below Median, and one in twenty above High.
type Quantiles struct{ Low, Median, High float64 }

// String is such as "12.43 (90 % in 9.107 to 17.02)": as many digits of all three, of which none then passes another.
func (q Quantiles) String() string {
	n := digits(q.Median, (q.High-q.Low)/2)
	return fmt.Sprintf("%s (90 %% in %s to %s)", number(q.Median, n), number(q.Low, n), number(q.High, n))
}

// digits is how many show differences of d in v, to the first digit of d at least: four or more.
func digits(v, d float64) int {
	if n := math.Ceil(math.Log10(math.Abs(v) / d)); n > 3 && n < 17 { // not where d is 0, or nothing beside v
		return int(n) + 1
	}
	return 4
}

// number is v with n digits, from 1 to ten million without an exponent: 150, not 1.5e+02.
func number(v float64, n int) string {
	s := strconv.FormatFloat(v, 'g', n, 64)
	if rounded, _ := strconv.ParseFloat(s, 64); math.Abs(rounded) >= 1 && math.Abs(rounded) <= 1e7 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return s
}

// short is v with six digits.
func short(v float64) string { return number(v, 6) }

// around is a mean beside its deviation.
func around(mean, sd float64) string { return number(mean, digits(mean, sd)) + " ± " + number(sd, 2) }

// A belief is what a model expects of a value: a normal distribution of the value, or of its
// logarithm, whose median alone may be another: see consulted.belief.
type belief struct {
	mean, sd, median float64
	sense            scaling.Sense
}

// unknown is what a model believes that knows nothing.
var unknown = belief{mean: math.NaN(), sd: math.NaN(), median: math.NaN()}

// userValue brings a value that the model was told to the user's units and direction.
func (c *runConfig) userValue(scale *scaling.Values, v float64) float64 {
	v, _ = scale.Back(v, 0)
	return c.sense().Told(scaling.Orient(v, c.minimize))
}

// moments returns mean and deviation of the value.
func (b belief) moments() (mean, sd float64) { return b.sense.Moments(b.mean, b.sd) }

func bounded(v float64) float64 { return min(v, math.MaxFloat64) }

func (b belief) quantiles() Quantiles {
	return Quantiles{b.sense.Told(b.mean - special.Z90*b.sd), b.sense.Told(b.median), b.sense.Told(b.mean + special.Z90*b.sd)}
}
