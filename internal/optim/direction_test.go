package optim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestDirection compares the two-loop recursion with the matrix it stands for:
// H ← (I − ρ·s·yᵀ)·H·(I − ρ·y·sᵀ) + ρ·s·sᵀ, ρ = 1/sᵀy, from γ·I through all pairs,
// oldest first, everything restricted to the free variables.
func TestDirection(t *testing.T) {
	const n, mem = 7, 4
	rng := testutil.RNG(t)
	a := testutil.SPD(rng, n, 50)
	mul := func(x []float64) []float64 {
		y := make([]float64, n)
		for i := range n {
			for j := range n {
				y[i] += a[i*n+j] * x[j]
			}
		}
		return y
	}
	normal := func() []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	for _, pairs := range []int{0, 1, 3, 4, 6} { // 6 overwrites the first two
		for held := range 3 {
			t.Run(fmt.Sprintf("pairs=%d/held=%d", pairs, held), func(t *testing.T) {
				var m Minimizer
				x0 := normal()
				m.reset(nil, x0, none(len(x0), -1), none(len(x0), 1), Options{Memory: mem})
				copy(m.g, mul(m.x))
				var ss, ys [][]float64
				for range pairs {
					copy(m.xt, normal())
					copy(m.gt, mul(m.xt))
					s, y := make([]float64, n), make([]float64, n)
					for i := range n {
						s[i], y[i] = m.xt[i]-m.x[i], m.gt[i]-m.g[i]
					}
					ss, ys = append(ss, s), append(ys, y)
					m.remember(0)
				}
				if k := len(ss) - mem; k > 0 {
					ss, ys = ss[k:], ys[k:]
				}
				for i := range m.free {
					m.free[i] = i >= held
				}
				if !m.direction() {
					t.Fatal("no direction of descent")
				}

				// The matrix over the free variables.
				dot := func(x, y []float64) float64 {
					var v float64
					for i := held; i < n; i++ {
						v += x[i] * y[i]
					}
					return v
				}
				h := make([][]float64, n)
				gamma := 1.0
				if k := len(ss); k > 0 {
					for i := range k { // the newest pair with curvature there
						if sy := dot(ss[i], ys[i]); sy > 0 {
							gamma = sy / dot(ys[i], ys[i])
						}
					}
				}
				for i := range h {
					h[i] = make([]float64, n)
					h[i][i] = gamma
				}
				for k := range ss {
					s, y := ss[k], ys[k]
					sy := dot(s, y)
					if !(sy > 0) {
						continue
					}
					hy := make([]float64, n)
					for i := held; i < n; i++ {
						hy[i] = dot(h[i], y)
					}
					c := (1 + dot(y, hy)/sy) / sy
					for i := held; i < n; i++ {
						for j := held; j < n; j++ {
							h[i][j] += c*s[i]*s[j] - (hy[i]*s[j]+s[i]*hy[j])/sy
						}
					}
				}
				for i := range n {
					var want float64
					if i >= held {
						want = -dot(h[i], m.g)
					}
					if !(math.Abs(m.d[i]-want) <= 1e-10*math.Max(1, math.Abs(want))) {
						t.Errorf("d[%d] = %v, want %v", i, m.d[i], want)
					}
				}
			})
		}
	}
}

// TestSearch checks what a search promises, from random starts on functions with
// a wide range of curvatures: the decrease, the curvature, the box.
func TestSearch(t *testing.T) {
	rng := testutil.RNG(t)
	for range 300 {
		c := math.Pow(10, 6*rng.Float64()-3)
		f := func(x, g []float64) float64 { // convex, quartic far out
			v := c * x[0]
			g[0] = 4*v*v*v*c + 2*v*c
			return v*v*v*v + v*v
		}
		x0, hi := rng.NormFloat64(), math.Inf(1)
		if rng.IntN(2) == 0 {
			hi = x0 + rng.Float64()
		}
		var m Minimizer
		m.reset(f, []float64{x0}, none(1, -1), []float64{hi}, Options{})
		f0 := m.eval(m.x, m.g)
		m.fx, m.fbest = f0, f0
		g0 := m.g[0]
		m.hold()
		if m.projected() == 0 || !m.direction() {
			continue
		}
		first := m.firstStep()
		if move := first * math.Abs(m.d[0]); move > 1+1e-15 {
			t.Fatalf("first step moves by %g", move)
		}
		if !m.search(first * math.Pow(10, 4*rng.Float64()-2)) {
			t.Fatalf("no point found from %v with curvature %g", x0, c*c)
		}
		x := m.x[0]
		if !(m.fx <= f0+armijo*g0*(x-x0)) {
			t.Errorf("from %v to %v: f falls from %v to %v only", x0, x, f0, m.fx)
		}
		if x < hi && m.g[0]*m.d[0] < curvature*g0*m.d[0] {
			t.Errorf("from %v to %v: slope %v left of %v", x0, x, m.g[0]*m.d[0], g0*m.d[0])
		}
		if x > hi {
			t.Errorf("%v is outside the box", x)
		}
	}
}

// TestSearchEnds: a descent without an end inside the box ends at a point that was evaluated, whose
// value and gradient are those kept.
func TestSearchEnds(t *testing.T) {
	rng := testutil.RNG(t)
	for range 300 {
		end := rng.ExpFloat64()
		f := func(x, g []float64) float64 {
			g[0] = -1 - x[0]
			if x[0] > end {
				g[0] = math.NaN()
				return g[0]
			}
			return -x[0] - x[0]*x[0]/2
		}
		var m Minimizer
		m.reset(f, []float64{0}, none(1, -1), none(1, 1), Options{})
		m.fx = m.eval(m.x, m.g)
		m.hold()
		m.direction()
		if x := m.x[0]; !m.search(1) || m.x[0] < 0.99*end || m.x[0] > end || m.fx != -m.x[0]-m.x[0]*m.x[0]/2 || m.g[0] != -1-m.x[0] {
			t.Fatalf("from %v, to %v: %v, %v, %v", x, end, m.x[0], m.fx, m.g[0])
		}
	}
}

// TestSufficientDecrease: a step to just short of the mirror image of the start
// lowers f, but not enough.
func TestSufficientDecrease(t *testing.T) {
	f := func(x, g []float64) float64 { g[0] = 2 * x[0]; return x[0] * x[0] }
	var m Minimizer
	m.reset(f, []float64{1}, none(1, -1), none(1, 1), Options{})
	m.fx = m.eval(m.x, m.g)
	m.hold()
	m.direction()
	if !m.search(1 - 1e-6) {
		t.Fatal("no point found")
	}
	if m.x[0] < -0.99 {
		t.Errorf("accepted %v", m.x[0])
	}
}

// TestBetween: a step inside an interval is where the cubic through its ends is least, the
// middle where it has no such place, and a tenth of the interval from the ends.
func TestBetween(t *testing.T) {
	for _, ends := range [][2]float64{{0, 3}, {-2, 5}, {0.25, 0.5}} {
		a, b := ends[0], ends[1]
		for share, want := range map[float64]float64{0.1: 0.1, 0.3: 0.3, 0.8: 0.8, 0.95: 0.9, 0.02: 0.1} {
			least := a + share*(b-a)
			for _, c := range []float64{0, 0.7, -0.05} { // (x−least)²·(1 + c·(x−least))
				v := func(x float64) float64 { d := x - least; return 4 + d*d*(1+c*d) }
				slope := func(x float64) float64 { d := x - least; return d * (2 + 3*c*d) }
				if got := between(a, v(a), slope(a), b, v(b), slope(b)); !(math.Abs(got-(a+want*(b-a))) <= 1e-12*(b-a)) {
					t.Errorf("%g of (%g, %g), %g: %g", share, a, b, c, got)
				}
			}
		}
		if got, want := between(a, 0, 1, b, b-a, 4), a+(b-a)/3; math.Abs(got-want) > 1e-12 { // level at one place, falling nowhere
			t.Errorf("of what is level at %g: %g", want, got)
		}
		if got := between(a, 0, 1, b, b-a, 1); got != a+0.5*(b-a) { // a line
			t.Errorf("of a line on (%g, %g): %g", a, b, got)
		}
		if got := between(a, 0, 1, b, 2*(b-a)/3, 1); got != a+0.5*(b-a) { // a cubic that rises everywhere
			t.Errorf("of what rises on (%g, %g): %g", a, b, got)
		}
	}
}

// TestOutside: where a function falls on both sides the next step goes to where the secant of its slopes is level, two to ten
// times as far; where slopes do not rise, four times.
func TestOutside(t *testing.T) {
	for _, c := range []struct{ a, ga, b, gb, want float64 }{
		{0, -4, 1, -3, 4}, {0.5, -4, 1, -3, 2.5}, {1, -5, 4, -4, 16}, {1, -2, 4, -1, 8}, {0, -1, 1, -0.99, 10}, {0, -1, 3, -1, 12},
		{0, -1, 3, -2, 12},
	} {
		if got := outside(c.a, c.ga, c.b, c.gb); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("slope %g at %g and %g at %g: %g, not %g", c.ga, c.a, c.gb, c.b, got, c.want)
		}
	}
}

// TestUnits: in other units, of powers of two, a search goes through the same points, and
// the first of equal values is kept.
func TestUnits(t *testing.T) {
	points := func(unit float64) (out [][2]float64) {
		minimize(func(x, g []float64) float64 {
			u, v := x[0]/unit, x[1]/unit
			out = append(out, [2]float64{u, v})
			g[0], g[1] = unit*(u+0.5*v), unit*(9*v+0.5*u)
			return unit * unit * (u*u + u*v + 9*v*v) / 2
		}, []float64{unit / 4, unit / 16}, none(2, -1), none(2, 1), Options{GradTol: -1, FuncTol: -1, MaxIter: 8})
		return out
	}
	want := points(1)
	if got := points(0x1p-60); len(want) < 8 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in small units %v, else %v", got, want)
	}
	r := minimize(func(x, g []float64) float64 { g[0] = 1; return 7 }, []float64{3}, none(1, -1), none(1, 1), Options{})
	if r.X[0] != 3 {
		t.Errorf("of equal values %v", r)
	}
}

// TestSlopeAtBounds: variables that a direction presses against a bound no longer count, others do.
func TestSlopeAtBounds(t *testing.T) {
	m := Minimizer{
		lo: []float64{0, 0, 0, 0, 0}, hi: []float64{1, 1, 1, 1, 1}, d: []float64{1, -1, 1, -1, 0},
		xt: []float64{1, 0, 0, 1, 0.5}, gt: []float64{1, 2, 4, 8, 16},
	}
	if got := m.slope(); got != 4-8 {
		t.Errorf("slope %g, not -4", got)
	}
}

// Steepest descent moves free variables alone, whatever moved before.
func TestSteepest(t *testing.T) {
	m := Minimizer{g: []float64{2, -3, 4}, d: []float64{7, 7, 7}, free: []bool{true, false, true}}
	m.steepest()
	if !slices.Equal(m.d, []float64{-2, 0, -4}) {
		t.Errorf("direction %v", m.d)
	}
}
