package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/internal/f64"
)

// Func returns f(x) and sets grad to its gradient. It may return a NaN or an
// infinity, or set entries of grad to such, where f is not defined.
type Func func(x, grad []float64) float64

// Options tune a search. A zero field has the default given; a negative tolerance is never met.
type Options struct {
	// GradTol ends the search when no entry of the projected gradient
	// x − P(x − ∇f), P the projection onto the box, exceeds it. Default 1e-6.
	GradTol float64
	// FuncTol ends the search when a step lowers f by no more than FuncTol times max(|f|, 1). Default 1e-10.
	FuncTol float64
	// MaxIter ends the search after so many steps. Default 200.
	MaxIter int
	// Memory is the number of past steps the curvature is learnt from. Default 8.
	Memory int
	// Stop, if not nil, is asked before each step whether to end the search, with
	// the current point, which it must not keep, and f and its gradient there.
	Stop func(x, grad []float64, f float64) bool
}

// Result is the outcome of a search.
type Result struct {
	X      []float64 // the best point, inside the box
	F      float64   // f(X)
	status status
}

// Converged reports whether the search ended at a stationary point as far as its tolerances tell.
func (r Result) Converged() bool { return r.status <= funcConverged }

// status tells why a search ended.
type status int

const (
	// The projected gradient is within GradTol.
	gradConverged status = iota
	// The last step lowered f by less than FuncTol, or the next would by less than the rounding of f.
	funcConverged
	// MaxIter, or Stop, ended it.
	iterLimit
	stopped
	// No lower point was found along the projected gradient, as happens at a kink,
	// between points where f is not finite or where the gradient is wrong.
	stuck
	// f or its gradient is not finite at the start. X is the start, moved into the box, and F what f returned.
	notFinite
)

// Minimizer is the workspace of searches. The zero value is ready; it serves one
// goroutine at a time, and a second search of the same size does not allocate.
type Minimizer struct {
	f      Func
	lo, hi []float64
	o      Options

	x, g   []float64 // the current point
	fx     float64
	xt, gt []float64 // the point tried
	d      []float64 // search direction
	best   []float64
	fbest  float64

	free  []bool    // variables not held at a bound
	s, y  []float64 // the last steps and gradient changes, a ring of memory rows
	alpha []float64
	flat  bool // the last search expected a decrease below the rounding of f
	pairs int  // pairs held
	next  int  // ring position to write
}

// Minimize searches from x0, moved into the box, by the projected L-BFGS method, in O(n·Memory) a step beside the
// evaluations of f, of which one is enough for most steps. The result's X aliases m and is valid until its next use. It
// panics if the lengths differ or a lower bound is not at most its upper bound.
//
// The variables at a bound towards which −∇f points are held; for the others the two-loop recursion, restricted to them,
// gives a quasi-Newton direction, and a line search along its projection onto the box finds a point with sufficient decrease
// and, where it does not end at bounds, sufficient curvature. When that fails the projected gradient is tried.
//
// D. P. Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM J. Control Optim.
// 20 (1982) 221–246; J. Nocedal, Updating quasi-Newton matrices with limited storage, Math. Comp. 35 (1980) 773–782.
func (m *Minimizer) Minimize(f Func, x0, lo, hi []float64, o Options) Result {
	m.reset(f, x0, lo, hi, o)
	m.fx = m.eval(m.x, m.g)
	copy(m.best, m.x)
	m.fbest = m.fx
	if !finite(m.fx) || !allFinite(m.g) {
		return m.result(notFinite)
	}
	for iter := 0; ; iter++ {
		if m.projected() <= m.o.GradTol {
			return m.result(gradConverged)
		}
		if m.o.Stop != nil && m.o.Stop(m.x, m.g, m.fx) {
			return m.result(stopped)
		}
		if iter >= m.o.MaxIter {
			return m.result(iterLimit)
		}
		before := m.fx
		m.hold()
		ok := false
		if m.direction() {
			ok = m.search(m.firstStep())
		}
		if !ok && m.pairs > 0 {
			// The pairs so far mislead here: forget them.
			m.pairs, m.next = 0, 0
			m.steepest()
			ok = m.search(m.firstStep())
		}
		if !ok {
			if m.flat && m.o.FuncTol >= 0 {
				return m.result(funcConverged)
			}
			return m.result(stuck)
		}
		if before-m.fx <= m.o.FuncTol*max(1, math.Abs(m.fx)) {
			return m.result(funcConverged)
		}
	}
}

func (m *Minimizer) reset(f Func, x0, lo, hi []float64, o Options) {
	n := len(x0)
	if len(lo) != n || len(hi) != n {
		panic(fmt.Sprintf("optim: Minimize: %d variables, %d lower and %d upper bounds", n, len(lo), len(hi)))
	}
	o.GradTol, o.FuncTol = cmp.Or(o.GradTol, 1e-6), cmp.Or(o.FuncTol, 1e-10)
	o.MaxIter, o.Memory = cmp.Or(o.MaxIter, 200), cmp.Or(o.Memory, 8)
	m.f, m.lo, m.hi, m.o = f, lo, hi, o
	m.pairs, m.next, m.flat = 0, 0, false
	m.x, m.g, m.xt, m.gt = f64.Grow(m.x, n), f64.Grow(m.g, n), f64.Grow(m.xt, n), f64.Grow(m.gt, n)
	m.d, m.best, m.free = f64.Grow(m.d, n), f64.Grow(m.best, n), f64.Grow(m.free, n)
	m.s, m.y, m.alpha = f64.Grow(m.s, o.Memory*n), f64.Grow(m.y, o.Memory*n), f64.Grow(m.alpha, o.Memory)
	for i, v := range x0 {
		l, h := m.lo[i], m.hi[i]
		if !(l <= h) {
			panic(fmt.Sprintf("optim: Minimize: bounds %g to %g of variable %d", l, h, i))
		}
		m.x[i] = min(max(v, l), h)
	}
}

func (m *Minimizer) result(s status) Result {
	m.f, m.o.Stop = nil, nil
	return Result{X: m.best, F: m.fbest, status: s}
}

// eval calls f and keeps the best finite point.
func (m *Minimizer) eval(x, g []float64) float64 {
	v := m.f(x, g)
	if finite(v) && v < m.fbest {
		m.fbest = v
		copy(m.best, x)
	}
	return v
}

// projected returns the largest entry of the projected gradient.
func (m *Minimizer) projected() float64 {
	var p float64
	for i, x := range m.x {
		l, h := m.lo[i], m.hi[i]
		v := m.g[i] // far from 0 it would vanish in x − (x − v)
		if to := x - v; !(to >= l && to <= h) {
			v = x - min(max(to, l), h)
		}
		p = max(p, math.Abs(v))
	}
	return p
}

// hold marks the variables that may move.
func (m *Minimizer) hold() {
	for i, x := range m.x {
		l, h := m.lo[i], m.hi[i]
		g := m.g[i]
		m.free[i] = !(x <= l && g >= 0 || x >= h && g <= 0)
	}
}

// steepest sets d to −∇f in the free variables.
func (m *Minimizer) steepest() {
	for i, g := range m.g {
		m.d[i] = 0
		if m.free[i] {
			m.d[i] = -g
		}
	}
}

// direction sets d to the quasi-Newton direction in the free variables and reports whether it is one of descent. Inner
// products run over the free variables only, so that pairs without positive curvature there drop out.
func (m *Minimizer) direction() bool {
	m.steepest()
	n, mem := len(m.x), m.o.Memory
	var gamma float64
	for k := 1; k <= m.pairs; k++ { // newest first
		r := (m.next - k + mem) % mem
		s, y := m.s[r*n:r*n+n], m.y[r*n:r*n+n]
		sy, yy := m.dotFree(s, y), m.dotFree(y, y)
		m.alpha[r] = math.NaN() // skipped
		if !(sy > curvatureEps*yy) {
			continue
		}
		if gamma == 0 {
			gamma = sy / yy
		}
		a := m.dotFree(s, m.d) / sy
		m.alpha[r] = a
		for i, v := range y {
			m.d[i] -= a * v
		}
	}
	if gamma > 0 {
		for i := range m.d {
			m.d[i] *= gamma
		}
	}
	for k := m.pairs; k >= 1; k-- { // oldest first
		r := (m.next - k + mem) % mem
		a := m.alpha[r]
		if math.IsNaN(a) {
			continue
		}
		s, y := m.s[r*n:r*n+n], m.y[r*n:r*n+n]
		b := m.dotFree(y, m.d) / m.dotFree(s, y)
		for i, v := range s {
			m.d[i] += (a - b) * v
		}
	}
	for i, ok := range m.free {
		if !ok {
			m.d[i] = 0
		}
	}
	return m.dotFree(m.g, m.d) < 0 && allFinite(m.d)
}

// curvatureEps is the smallest sᵀy/yᵀy of a pair that is kept: below it the curvature is lost in the rounding of y.
const curvatureEps = 0x1p-52

func (m *Minimizer) dotFree(a, b []float64) float64 {
	var t float64
	for i, v := range a {
		if m.free[i] {
			t += v * b[i]
		}
	}
	return t
}

// remember stores the step from (x, g) to (xt, gt) and moves there.
func (m *Minimizer) remember(ft float64) {
	n, mem := len(m.x), m.o.Memory
	var sy, yy float64
	for i, x := range m.x {
		v := m.gt[i] - m.g[i]
		sy += (m.xt[i] - x) * v
		yy += v * v
	}
	if sy > curvatureEps*yy && finite(yy) {
		s, y := m.s[m.next*n:m.next*n+n], m.y[m.next*n:m.next*n+n]
		for i, x := range m.x {
			s[i] = m.xt[i] - x
			y[i] = m.gt[i] - m.g[i]
		}
		m.next = (m.next + 1) % mem
		m.pairs = min(m.pairs+1, mem)
	}
	m.x, m.xt = m.xt, m.x
	m.g, m.gt = m.gt, m.g
	m.fx = ft
}

func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

func allFinite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !finite(v) })
}
