package plot

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/each"
)

// An Axis describes one axis of a panel. The zero value is a linear axis with limits from the data.
type Axis struct {
	// Label names the quantity and its unit.
	Label string
	// Log makes the axis logarithmic. Values that are not positive are drawn
	// at its lower end and do not count for its limits.
	Log bool
	// Min and Max are the limits if both are finite and Min < Max; on a logarithmic axis both have to be positive.
	Min, Max float64
	// Zero makes a linear axis without such limits include 0.
	Zero bool
	// Integer keeps the ticks of a linear axis at whole numbers.
	Integer bool
	// Names label the whole numbers from 0 on, and are all there is on the axis.
	Names []string
}

// limits reports whether Min and Max are the limits.
func (a *Axis) limits() bool { return known(a.Min, a.Max) && a.Min < a.Max && (a.Min > 0 || !a.Log) }

// known reports whether all values are finite.
func known(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return !(math.Abs(v) <= math.MaxFloat64) })
}

type tick struct {
	at    float64
	label string
}

// An extent is the range of some data; it is empty until a value was added.
type extent struct {
	lo, hi float64
	any    bool
}

// add extends the range to a finite value.
func (e *extent) add(v float64) {
	if !e.any {
		*e = extent{v, v, true}
	}
	e.lo, e.hi = min(e.lo, v), max(e.hi, v)
}

// Magnitudes between which limits, their differences and steps are finite and normal.
const minMagnitude, maxMagnitude = 1e-300, 1e300

// bound brings a number between the magnitudes with which scales can compute.
func bound(v float64) float64 {
	if math.Abs(v) < minMagnitude {
		return 0
	}
	return min(max(v, -maxMagnitude), maxMagnitude)
}

// A scale maps data to [0, 1] and knows the ticks of an axis.
type scale struct {
	log    bool
	lo, hi float64 // lo < hi, and lo > 0 if log
	ticks  []tick
	minor  []float64
}

// pos returns where v lies between the limits, 0 at lo and 1 at hi, bounded well
// outside so that coordinates stay finite. What a logarithm does not know lies at 0.
func (s *scale) pos(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		if v <= 0 {
			return 0
		}
		v, lo, hi = math.Log10(v), math.Log10(lo), math.Log10(hi)
	}
	return min(max((v-lo)/(hi-lo), -100), 100)
}

// newScale chooses the limits, those of the axis or else the data's, moved outward to
// a tick if nice, and about count ticks, at least one.
func newScale(a *Axis, data extent, nice bool, count int) *scale {
	s := &scale{log: a.Log, lo: data.lo, hi: data.hi}
	switch {
	case a.Names != nil:
		s = &scale{lo: -0.5, hi: max(float64(len(a.Names)), 1) - 0.5}
		s.ticks = each.Below(len(a.Names), func(i int) tick { return tick{float64(i), a.Names[i]} })
		return s
	case a.limits():
		s.lo, s.hi, nice = a.Min, a.Max, false
	case !data.any && s.log:
		s.lo, s.hi = 0.1, 1
	case !data.any, a.Zero && data == extent{any: true}:
		s.lo, s.hi = 0, 1
	case a.Zero && !s.log:
		s.lo, s.hi = min(s.lo, 0), max(s.hi, 0)
	}
	s.lo, s.hi = bound(s.lo), bound(s.hi)
	if s.log {
		s.lo, s.hi = max(s.lo, minMagnitude), max(s.hi, minMagnitude)
	}
	s.widen()
	integer := a.Integer && !s.log
	if integer && s.hi-s.lo < 1 && !a.limits() {
		s.lo, s.hi = math.Floor(s.lo), max(math.Ceil(s.hi), math.Floor(s.lo)+1)
	}
	if s.log && s.hi > 5*s.lo {
		s.logTicks(nice, max(count, 2))
	} else {
		s.evenTicks(nice, max(count, 2), integer)
	}
	return s
}

// widen makes the limits differ by more than labels could tell apart.
func (s *scale) widen() {
	size := max(-s.lo, s.hi)
	switch {
	case s.log && s.hi < s.lo*(1+1e-6):
		s.lo, s.hi = s.lo/2, s.hi*2
	case s.log || s.hi-s.lo > 1e-9*size:
	case size == 0:
		s.lo, s.hi = -0.5, 0.5
	default:
		s.lo, s.hi = s.lo-0.1*size, s.hi+0.1*size
	}
}

// niceStep is the smallest of 1, 2, 5 times a power of ten that is at least raw, up to rounding.
func niceStep(raw float64) float64 {
	p := math.Pow10(exponent(raw))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// exponent is that of the power of ten below a positive number, or at it up to rounding.
func exponent(v float64) int { return int(math.Floor(math.Log10(v) + 1e-9)) }

// evenTicks puts ticks at the multiples of a step, of which at least two lie between the
// limits unless whole numbers do not allow it.
func (s *scale) evenTicks(nice bool, count int, integer bool) {
	least := 0.0
	if integer && s.hi-s.lo >= 1 { // limits closer than that have no two whole numbers
		least = 1
	}
	step := max(niceStep((s.hi-s.lo)/float64(count)), least)
	if nice {
		if lo := math.Floor(s.lo/step+1e-9) * step; lo > 0 || !s.log {
			s.lo = lo
		}
		s.hi = math.Ceil(s.hi/step-1e-9) * step
	}
	s.multiples(step)
	for len(s.ticks) < 2 && step > least {
		step = max(niceStep(step/3), least)
		s.multiples(step)
	}
}

// multiples puts ticks at the multiples of step between the limits.
func (s *scale) multiples(step float64) {
	s.ticks = nil
	decimals := max(-exponent(step), 0)
	size := max(-s.lo, s.hi)
	for k := math.Ceil(s.lo/step - 1e-9); k <= math.Floor(s.hi/step+1e-9); k++ {
		v := k * step
		if decimals > 0 && decimals <= 15 {
			// The number nearest to the decimal: 3*0.2 is 0.6000000000000001.
			p := math.Pow10(decimals)
			v = math.Round(v*p) / p
		}
		label := fixed(v, decimals)
		if size >= 1e6 || decimals > 5 && size < 1e-2 {
			label = scientific(v, min(max(exponent(size)-exponent(step)+1, 0), 15))
		}
		s.ticks = append(s.ticks, tick{v, label})
	}
}

// logTicks puts ticks at powers of ten, all of them or every second, third ..., and where
// there is room at their doubles and fives.
func (s *scale) logTicks(nice bool, count int) {
	decades := math.Log10(s.hi) - math.Log10(s.lo)
	fine := decades*3 <= float64(count)+1 || decades < 2
	stride := max(1, int(decades/float64(count)+1e-9))
	if nice { // the reciprocals of 1, 2 and 5 are such numbers, too
		s.lo, s.hi = 1/niceStep(1/s.lo), niceStep(s.hi)
	}
	first := int(math.Ceil(math.Log10(s.lo) - 1e-9))
	for e := first - 1; e <= exponent(s.hi); e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow10(e)
			switch {
			case v < s.lo*(1-1e-9) || v > s.hi*(1+1e-9):
			case m == 1 && (e-first)%stride == 0, fine && (m == 2 || m == 5):
				s.ticks = append(s.ticks, tick{at: v})
			case stride == 1:
				s.minor = append(s.minor, v)
			}
		}
	}
	plain := s.ticks[0].at > 0.9e-4 && s.ticks[len(s.ticks)-1].at < 1.1e5
	for i, t := range s.ticks {
		if s.ticks[i].label = scientific(t.at, 1); plain {
			s.ticks[i].label = fixed(t.at, max(0, -exponent(t.at)))
		}
	}
}

// fits reports whether the labels keep apart on a horizontal axis of width w.
func (s *scale) fits(w float64) bool {
	for i := 1; i < len(s.ticks); i++ {
		a, b := s.ticks[i-1], s.ticks[i]
		if (s.pos(b.at)-s.pos(a.at))*w < (textWidth(a.label, tickSize)+textWidth(b.label, tickSize))/2+8 {
			return false
		}
	}
	return true
}
