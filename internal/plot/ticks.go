package plot

import "math"

// A tick is a labelled place on an axis.
type tick struct {
	at    float64
	label string
}

// An extent is the range of some data; it is empty until a value was added.
type extent struct {
	lo, hi float64
	any    bool
}

func (e *extent) add(v float64) {
	if !known(v) {
		return
	}
	v = bound(v)
	if !e.any {
		*e = extent{v, v, true}
		return
	}
	e.lo, e.hi = min(e.lo, v), max(e.hi, v)
}

// maxMagnitude keeps differences and steps of axis limits finite.
const maxMagnitude = 1e300

// minMagnitude keeps limits, their steps and neighbours normal numbers; what
// is smaller counts as 0.
const minMagnitude = 1e-300

// bound brings a finite number into the range in which scales can compute.
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

// pos returns where v lies between the limits, 0 at lo and 1 at hi, bounded
// well outside so that coordinates stay finite. What a logarithm does not know
// lies at the lower end. NaN stays NaN.
func (s *scale) pos(v float64) float64 {
	var t float64
	switch {
	case !s.log:
		t = (v - s.lo) / (s.hi - s.lo)
	case v <= 0:
		return 0
	default:
		t = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
		if math.IsInf(s.hi/s.lo, 0) || math.IsInf(v/s.lo, 0) {
			t = (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
		}
	}
	if math.IsNaN(t) {
		return t
	}
	return min(max(t, -100), 100)
}

// newScale chooses limits and ticks for data e. Fixed limits of the axis win;
// free ones are the data's, moved outward to a tick if nice. There are about
// count ticks; fewer is possible, never none.
func newScale(a *Axis, e extent, nice bool, count int) *scale {
	if a.Names != nil {
		s := &scale{lo: -0.5, hi: max(float64(len(a.Names)), 1) - 0.5}
		for i, n := range a.Names {
			s.ticks = append(s.ticks, tick{float64(i), n})
		}
		return s
	}
	s := &scale{log: a.Log}
	fixedLo, fixedHi := a.limits()
	if !e.any {
		e = extent{0, 1, true}
		if s.log {
			e.lo = 0.1
		}
	}
	if a.Zero && !s.log {
		e.add(0)
	}
	s.lo, s.hi = bound(e.lo), bound(e.hi)
	if fixedLo {
		s.lo = bound(a.Min)
	}
	if fixedHi {
		s.hi = bound(a.Max)
	}
	if s.log {
		s.lo, s.hi = max(s.lo, minMagnitude), max(s.hi, minMagnitude)
	}
	s.widen(fixedLo, fixedHi)
	if a.Integer && !s.log && s.hi-s.lo < 1 && !fixedLo && !fixedHi {
		s.lo = math.Floor(s.lo)
		s.hi = max(math.Ceil(s.hi), s.lo+1)
	}
	count = max(count, 2)
	if s.log {
		s.logTicks(nice && !fixedLo, nice && !fixedHi, count)
	} else {
		s.linearTicks(nice && !fixedLo, nice && !fixedHi, count, a.Integer)
	}
	return s
}

// widen makes the limits differ by more than labels could tell apart.
func (s *scale) widen(fixedLo, fixedHi bool) {
	if s.log {
		if s.hi < s.lo*(1+1e-6) {
			if !fixedLo || s.hi <= s.lo {
				s.lo = max(s.lo/2, minMagnitude)
			}
			s.hi = max(s.hi, s.lo*2) * 2
		}
		return
	}
	size := max(math.Abs(s.lo), math.Abs(s.hi))
	if s.hi-s.lo > 1e-9*size {
		return
	}
	pad := 0.1 * size
	if size == 0 {
		pad = 0.5
	}
	switch {
	case fixedLo && !fixedHi:
		s.hi = s.lo + 2*pad
	case fixedHi && !fixedLo:
		s.lo = s.hi - 2*pad
	default:
		s.lo, s.hi = s.lo-pad, max(s.hi, s.lo)+pad
	}
}

// niceStep is the smallest of 1, 2, 5 times a power of ten that is at least
// raw, up to rounding.
func niceStep(raw float64) float64 {
	e := math.Floor(math.Log10(raw))
	p := math.Pow10(int(e))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

func (s *scale) linearTicks(niceLo, niceHi bool, count int, integer bool) {
	step := niceStep((s.hi - s.lo) / float64(count))
	if integer && s.hi-s.lo >= 1 { // limits closer than that cannot keep the promise
		step = max(step, 1)
	}
	if niceLo {
		s.lo = math.Floor(s.lo/step+1e-9) * step
	}
	if niceHi {
		s.hi = math.Ceil(s.hi/step-1e-9) * step
	}
	s.finerTicks(step, integer)
}

// finerTicks is stepTicks with a step small enough for two ticks, which free
// limits do not need; whole numbers may not allow it.
func (s *scale) finerTicks(step float64, integer bool) {
	s.stepTicks(step)
	for range 4 {
		if len(s.ticks) >= 2 || integer && step <= 1 {
			break
		}
		step = niceStep(step / 3)
		s.stepTicks(step)
	}
	if len(s.ticks) == 0 {
		s.ticks = []tick{{s.lo, short(s.lo)}, {s.hi, short(s.hi)}}
	}
}

// stepTicks puts ticks at the multiples of step between the limits.
func (s *scale) stepTicks(step float64) {
	s.ticks, s.minor = nil, nil
	decimals := 0
	if e := math.Floor(math.Log10(step) + 1e-9); e < 0 {
		decimals = int(-e)
	}
	first, last := math.Ceil(s.lo/step-1e-9), math.Floor(s.hi/step+1e-9)
	for k := first; k <= last && len(s.ticks) < 100; k++ {
		v := k * step
		if decimals > 0 && decimals <= 15 {
			// The number nearest to the decimal: 3*0.2 is 0.6000000000000001.
			p := math.Pow10(decimals)
			v = math.Round(v*p) / p
		}
		if v == 0 {
			v = 0 // -0
		}
		s.ticks = append(s.ticks, tick{at: v})
	}
	size := max(math.Abs(s.lo), math.Abs(s.hi))
	if size >= 1e6 || decimals > 5 && size < 1e-2 {
		digits := int(math.Floor(math.Log10(size)+1e-9)-math.Floor(math.Log10(step)+1e-9)) + 1
		for i, t := range s.ticks {
			s.ticks[i].label = scientific(t.at, min(max(digits, 0), 15))
		}
		return
	}
	for i, t := range s.ticks {
		s.ticks[i].label = fixed(t.at, min(decimals, 15))
	}
}

func (s *scale) logTicks(niceLo, niceHi bool, count int) {
	decades := math.Log10(s.hi) - math.Log10(s.lo)
	if decades < 0.7 {
		// Too short for 1-2-5: equal steps, unevenly spaced.
		step := niceStep((s.hi - s.lo) / float64(count))
		if niceLo {
			if lo := math.Floor(s.lo/step+1e-9) * step; lo > 0 {
				s.lo = lo
			}
		}
		if niceHi {
			s.hi = math.Ceil(s.hi/step-1e-9) * step
		}
		s.finerTicks(step, false)
		return
	}
	fine := decades*3 <= float64(count)+1 || decades < 1.5
	stride := 1
	if !fine {
		stride = max(1, int(math.Ceil(decades/float64(count)-1e-9)))
	}
	if niceLo { // the reciprocals of 1, 2 and 5 are such numbers, too
		s.lo = 1 / niceStep(1/s.lo)
	}
	if niceHi {
		s.hi = niceStep(s.hi)
	}
	eLo, eHi := int(math.Floor(math.Log10(s.lo)))-1, int(math.Ceil(math.Log10(s.hi)))+1
	for e := eLo; e <= eHi; e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow10(e)
			if v < s.lo*(1-1e-9) || v > s.hi*(1+1e-9) {
				continue
			}
			switch {
			case m == 1 && ((e%stride)+stride)%stride == 0, fine && (m == 2 || m == 5):
				s.ticks = append(s.ticks, tick{at: v})
			case stride == 1 || m == 1 && decades < 40:
				s.minor = append(s.minor, v)
			}
		}
	}
	if len(s.ticks) < 2 { // a stride may leave out every decade inside the limits
		s.minor = nil
		s.ticks = []tick{{at: s.lo}, {at: s.hi}}
	}
	plain := s.ticks[0].at > 0.9e-4 && s.ticks[len(s.ticks)-1].at < 1.1e5
	for i, t := range s.ticks {
		if plain {
			e := int(math.Floor(math.Log10(t.at) + 1e-9))
			s.ticks[i].label = fixed(t.at, max(0, -e))
		} else {
			s.ticks[i].label = scientific(t.at, 1)
		}
	}
}
