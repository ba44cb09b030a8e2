package optim

import "math"

// The line search asks for f(x(t)) ≤ f(x) + armijo·∇fᵀ(x(t) − x) and, while
// variables still move at t, for a slope above curvature times the first.
const (
	armijo    = 1e-4
	curvature = 0.9
	maxTrials = 30 // enough to shrink a step by 10^-15
	rounding  = 0x1p-53
)

// firstStep returns the first t to try: 1 for a quasi-Newton direction; the
// length of a gradient means nothing, so it moves no variable by more than 1.
func (m *Minimizer) firstStep() float64 {
	if m.pairs > 0 {
		return 1
	}
	largest := 1.0
	for _, v := range m.d {
		largest = max(largest, math.Abs(v))
	}
	return 1 / largest
}

// search looks along x(t) = P(x + t·d), starting at t, moves to the point found and reports whether there was one. The
// interval (a, b) brackets points wanted: a has enough decrease, with too steep a slope, b has not.
func (m *Minimizer) search(t float64) bool {
	m.flat = false
	slope0 := m.dotFree(m.g, m.d)
	var (
		a      = 0.0
		fa     = m.fx
		slopeA = slope0
		b      = math.Inf(1)
		moved  bool // xt, gt, ft hold the point of a
	)
	for trial := 0; trial < maxTrials; trial++ {
		decrease, still := m.project(t)
		if still || -decrease <= rounding*math.Abs(m.fx) {
			m.flat = trial == 0
			break // nothing left that f could show
		}
		ft := m.eval(m.xt, m.gt)
		ok := finite(ft) && allFinite(m.gt)
		slope := math.NaN()
		if ok {
			slope = m.slope()
		}
		if !ok || !(ft <= m.fx+armijo*decrease) {
			b = t
			if ok {
				t = between(a, fa, slopeA, t, ft, slope)
			} else {
				t = a + 0.25*(t-a)
			}
			moved = false
			continue
		}
		if slope >= curvature*slope0 {
			m.remember(ft)
			return true
		}
		next := outside(a, slopeA, t, slope)
		a, fa, slopeA, moved = t, ft, slope, true
		if !math.IsInf(b, 1) {
			next = a + 0.5*(b-a)
			if b-a <= 1e-9*b {
				break
			}
		}
		t = next
	}
	if a == 0 {
		return false
	}
	// Enough decrease, but no end to the descent in sight or no trials left.
	if !moved {
		m.project(a)
		fa = m.eval(m.xt, m.gt)
		if !finite(fa) || !allFinite(m.gt) {
			return false
		}
	}
	m.remember(fa)
	return true
}

// project sets xt to P(x + t·d). It returns ∇fᵀ(xt − x) and whether xt is x.
func (m *Minimizer) project(t float64) (decrease float64, still bool) {
	still = true
	for i, x := range m.x {
		l, h := m.lo[i], m.hi[i]
		v := x
		if m.d[i] != 0 {
			v = min(max(x+t*m.d[i], l), h)
		}
		m.xt[i] = v
		if v != x {
			still = false
			decrease += m.g[i] * (v - x)
		}
	}
	return decrease, still
}

// slope returns the derivative of f along the projected path at xt: variables that have reached a bound no longer move.
func (m *Minimizer) slope() float64 {
	var s float64
	for i, d := range m.d {
		l, h := m.lo[i], m.hi[i]
		if d > 0 && m.xt[i] < h || d < 0 && m.xt[i] > l {
			s += m.gt[i] * d
		}
	}
	return s
}

// between returns a step inside (a, b), a the lower end: the minimum of the cubic
// through values and slopes, kept away from the ends.
func between(a, fa, ga, b, fb, gb float64) float64 {
	w := b - a
	t := a + 0.5*w
	z := ga + gb - 3*(fb-fa)/w
	if r := z*z - ga*gb; r >= 0 {
		if den := gb - ga + 2*math.Sqrt(r); den != 0 {
			if c := b - w*(gb+math.Sqrt(r)-z)/den; finite(c) {
				t = c
			}
		}
	}
	return min(max(t, a+0.1*w), b-0.1*w)
}

// outside returns a step beyond b by the secant of the slopes, two to ten times as far.
func outside(a, ga, b, gb float64) float64 {
	t := 4 * b
	if gb > ga {
		t = b + (b-a)*gb/(ga-gb)
	}
	return min(max(t, 2*b), 10*b)
}
