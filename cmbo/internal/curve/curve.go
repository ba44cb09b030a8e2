package curve

import (
	"math"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
)

// A Curve has values at steps in rising order, and ended with End.
type Curve struct {
	Steps  []int
	Values []float64
	End    float64
}

// At returns the value at a step, between two reported ones on the line that joins them; ok
// is false outside the steps reported.
func (c *Curve) At(step int) (v float64, ok bool) {
	i, found := slices.BinarySearch(c.Steps, step)
	switch {
	case found:
		return c.Values[i], true
	case i == 0 || i == len(c.Steps):
		return 0, false
	}
	w := float64(step-c.Steps[i-1]) / float64(c.Steps[i]-c.Steps[i-1])
	return (1-w)*c.Values[i-1] + w*c.Values[i], true
}

// A Scale brings the values of a task, as Low sees them, to those of other tasks. What it sees below Floor counts as
// Floor: that a loss diverges says that it is bad, not how bad.
type Scale struct {
	Shift, Unit, Floor float64
	Low                scaling.Low
}

// To brings a value to the scale.
func (s Scale) To(v float64) float64 { return (max(s.Low.At(v), s.Floor) - s.Shift) / s.Unit }

// back returns what Low sees at z on the scale.
func (s Scale) back(z float64) float64 { return s.Shift + s.Unit*z }

// raw brings moments of what Low sees to values.
func (s Scale) raw(mean, variance float64) (float64, float64) {
	slope := s.Low.SlopeFrom(mean, scaling.RaisedFrom)
	return s.Low.Back(mean), variance * slope * slope
}

// Standardize returns the scale of a task by the values that its curves ended with, with the differences between low ones
// made smaller as those that past tasks teach; ok is false if they are all equal.
func Standardize(ends []float64) (s Scale, ok bool) {
	raised, l := scaling.LowOfTask(ends)
	low, _ := l.Compress(raised, nil)
	fit := scaling.Fit(scaling.ZScore, low)
	if !scaling.Apart(slices.Min(low), slices.Max(low)) {
		return Scale{}, false
	}
	return Scale{fit.Shift, fit.Scale, slices.Min(low), l}, true
}

// Evaluations are those of a past task: the values that all ended with, and the curves that some of them have.
type Evaluations struct {
	Ends   []float64
	Curves []Curve
}

// Past is what the curves of past tasks say. It is safe for concurrent use; nil stands for no past.
type Past struct {
	floor float64 // the lowest on the tasks' scales
	tasks []scaled
	steps map[int]bool // that curves report

	mu   sync.Mutex
	laws map[int]sums // of some of these steps
}

type scaled struct {
	Scale
	curves []Curve
}

// Learn learns from past tasks, nil if none has curves and a scale. It keeps the curves.
func Learn(tasks []Evaluations) *Past {
	p := &Past{steps: make(map[int]bool), laws: make(map[int]sums)}
	for _, t := range tasks {
		if len(t.Curves) == 0 {
			continue
		}
		if s, ok := Standardize(t.Ends); ok {
			p.tasks = append(p.tasks, scaled{s, t.Curves})
			p.floor = min(p.floor, (s.Floor-s.Shift)/s.Unit)
			for _, c := range t.Curves {
				for _, step := range c.Steps {
					p.steps[step] = true
				}
			}
		}
	}
	if len(p.tasks) == 0 {
		return nil
	}
	return p
}

// Scale returns that of a new task whose ends have a mean and a deviation, as low sees them.
func (p *Past) Scale(mean, sd float64, low scaling.Low) Scale {
	return Scale{mean, sd, mean + p.floor*sd, low}
}

// Last returns the largest step of the curves, 0 for none.
func (p *Past) Last() (step int) {
	if p == nil {
		return 0
	}
	for s := range p.steps {
		step = max(step, s)
	}
	return step
}

// worth is how many curves of a run those of all past tasks count as, at most. What they
// have in common is learned at once, and where the run differs, a dozen of its own decide.
const worth = 10

// sums are weighted sums over curves of the value v at a step and the end y.
type sums struct{ n, v, y, vv, vy, yy float64 }

func (s *sums) curves(to Scale, cs []Curve, step int) {
	for i := range cs {
		if v, ok := cs[i].At(step); ok {
			v, y := to.To(v), to.To(cs[i].End)
			s.n, s.v, s.y, s.vv, s.vy, s.yy = s.n+1, s.v+v, s.y+y, s.vv+v*v, s.vy+v*y, s.yy+y*y
		}
	}
}

// Law returns what curves say of the end after a step, on a scale: those of the past, which
// may be nil, and the run's own completed ones.
func (p *Past) Law(step int, to Scale, ofRun []Curve) Law {
	var s sums
	if p != nil {
		p.mu.Lock()
		past, known := p.laws[step]
		if !known {
			for _, t := range p.tasks {
				past.curves(t.Scale, t.curves, step)
			}
			// Steps between those that curves report may be without number, as milliseconds are.
			if p.steps[step] {
				p.laws[step] = past
			}
		}
		p.mu.Unlock()
		if past.n > worth {
			w := worth / past.n
			past = sums{worth, w * past.v, w * past.y, w * past.vv, w * past.vy, w * past.yy}
		}
		s = past
	}
	s.curves(to, ofRun, step)
	return newLaw(s, to)
}

// A Law says what a value at a step says of the end: the regression of one on the other.
type Law struct {
	to             Scale
	n, v, y        float64 // number of curves and means
	svv, slope     float64
	residual, ends float64 // variances: of the end given the value, without coefficients' errors, and of the end
}

func newLaw(s sums, to Scale) Law {
	l := Law{to: to, n: s.n}
	if !l.Known() {
		return l
	}
	l.v, l.y = s.v/s.n, s.y/s.n
	l.svv = max(s.vv-l.v*s.v, 0)
	svy, syy := s.vy-l.v*s.y, max(s.yy-l.y*s.y, 0)
	if l.svv > 1e-12*s.vv { // else the values are equal but for rounding, and say nothing
		l.slope = svy / l.svv
	} else {
		l.svv = math.Inf(1)
	}
	// Student's distributions of n−2 and n−1 degrees of freedom have these variances.
	l.ends = syy / (s.n - 3) * (1 + 1/s.n)
	l.residual = max((syy-l.slope*svy)/(s.n-4), exact*l.ends)
	return l
}

// exact is the share of the ends' variance that a value leaves at least. Curves that come to
// their ends before their last steps leave nothing but rounding, which is no measure.
const exact = 1e-6

// fewest is the number of curves from which on they have a law: the variance of what a
// regression on fewer predicts is infinite.
const fewest = 5

// Known reports whether enough curves have passed the step.
func (l Law) Known() bool { return l.n >= fewest }

// end returns the mean and the variance of the end of a curve with a value at the step, as the scale's Low sees it.
func (l Law) end(v float64) (mean, variance float64) {
	z := l.to.To(v) - l.v
	m := l.to.back(l.y + l.slope*z)
	return m, l.to.Unit * l.to.Unit * l.residual * (1 + 1/l.n + z*z/l.svv)
}

// Evidence returns what the value alone says of the end, as a measurement of the end with an error variance: times the
// normal distribution of all ends it gives that of end. ok is false if it says less than that distribution.
func (l Law) Evidence(v float64) (end, variance float64, ok bool) {
	mean, after := l.end(v)
	before := l.to.Unit * l.to.Unit * l.ends
	if !(after > 0 && 2*after <= before) {
		return 0, 0, false
	}
	variance = 1 / (1/after - 1/before)
	end, variance = l.to.raw(variance*(mean/after-l.to.back(l.y)/before), variance)
	return end, variance, true
}

// Rises reports whether a better value says that the end is better.
func (l Law) Rises() bool { return l.slope > 0 }

// Floored reports whether a value counts as the floor: it says that the end is that bad or worse.
func (l Law) Floored(v float64) bool { return l.to.Low.At(v) <= l.to.Floor }

// Range returns a value below all that tell more, and one that is far above what curves show at the step.
func (l Law) Range() (low, high float64) {
	high = l.to.back(l.v + farAbove*math.Sqrt(l.svv/l.n))
	return l.to.Low.Back(min(l.to.Floor, high)), l.to.Low.Back(high)
}

// farAbove is a number of deviations that no value exceeds.
const farAbove = 8
