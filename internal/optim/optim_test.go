package optim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
)

func TestMinimize(t *testing.T) {
	for _, p := range problems() {
		t.Run(p.name, func(t *testing.T) {
			g := make([]float64, len(p.x0))
			testutil.CheckGrad(t, func(x []float64) float64 { return p.f(x, make([]float64, len(x))) },
				append([]float64(nil), p.x0...), func() []float64 { p.f(p.x0, g); return g }(), 1e-4)

			evals := 0
			r := minimize(counted(p.f, &evals), p.x0, p.lo, p.hi, Options{})
			t.Logf("status %d: f = %.3g, %d evaluations", r.status, r.F, evals)
			if !r.Converged() {
				t.Errorf("status %d", r.status)
			}
			if got := p.f(r.X, g); got != r.F {
				t.Errorf("F = %v, f(X) = %v", r.F, got)
			}
			checkKKT(t, r.X, g, p.lo, p.hi, 1e-3*math.Max(1, math.Abs(r.F)))
			for i, w := range p.want {
				if !math.IsNaN(w) && !(math.Abs(r.X[i]-w) <= p.tol) {
					t.Errorf("X = %v, want %v", r.X, p.want)
					break
				}
			}
			if evals > p.maxEvals {
				t.Errorf("%d evaluations, at most %d allowed", evals, p.maxEvals)
			}
		})
	}
}

// checkKKT checks the conditions of Karush, Kuhn and Tucker in a box: gradient
// zero inside, not negative at lower bounds, not positive at upper bounds.
func checkKKT(t *testing.T, x, g, lo, hi []float64, tol float64) {
	t.Helper()
	for i, v := range x {
		l, h := math.Inf(-1), math.Inf(1)
		if lo != nil {
			l = lo[i]
		}
		if hi != nil {
			h = hi[i]
		}
		if !(v >= l && v <= h) {
			t.Errorf("x[%d] = %v outside [%v, %v]", i, v, l, h)
		}
		if v > l && g[i] > tol || v < h && g[i] < -tol {
			t.Errorf("gradient %.3g at x[%d] = %v in [%v, %v]", g[i], i, v, l, h)
		}
	}
}

// TestQuadratic solves box-constrained convex quadratics to a tolerance that
// identifies the active bounds, which the conditions then verify.
func TestQuadratic(t *testing.T) {
	for _, n := range []int{1, 2, 5, 20, 60} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			rng := testutil.RNG(t)
			a := testutil.SPD(rng, n, 100)
			b, lo, hi, x0 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				b[i] = rng.NormFloat64()
				lo[i] = -4 * rng.Float64()
				hi[i] = 4 * rng.Float64()
				x0[i] = rng.NormFloat64()
			}
			f := func(x, g []float64) float64 {
				var v float64
				for i := range n {
					var s float64
					for j := range n {
						s += a[i*n+j] * x[j]
					}
					g[i] = s - b[i]
					v += x[i] * (0.5*s - b[i])
				}
				return v
			}
			r := minimize(f, x0, lo, hi, Options{GradTol: 1e-9, FuncTol: -1})
			if r.status != gradConverged && r.status != stuck {
				t.Errorf("status %d", r.status)
			}
			g := make([]float64, n)
			f(r.X, g)
			checkKKT(t, r.X, g, lo, hi, 1e-7)
			// Convexity: no random feasible point is lower.
			x := make([]float64, n)
			for range 200 {
				for i := range x {
					x[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
				}
				if v := f(x, g); v < r.F {
					t.Fatalf("f = %v at a random point, %v at the solution", v, r.F)
				}
			}
		})
	}
}

// TestNonFinite searches functions that fail in parts of the box.
func TestNonFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	// x − log x, not defined for x ≤ 0, minimum 1 at 1; the first step from 3e-3
	// overshoots, a step left from 5 falls out of the domain.
	barrier := func(bad float64) Func {
		return func(x, g []float64) float64 {
			if x[0] <= 0 {
				g[0] = bad
				return bad
			}
			g[0] = 1 - 1/x[0]
			return x[0] - math.Log(x[0])
		}
	}
	for _, bad := range []float64{nan, inf, -inf} {
		for _, x0 := range []float64{3e-3, 0.5, 5, 500} {
			r := minimize(barrier(bad), []float64{x0}, []float64{-10}, none(1, 1), Options{})
			if !r.Converged() || math.Abs(r.X[0]-1) > 1e-4 {
				t.Errorf("bad = %g, x0 = %g: %+v", bad, x0, r)
			}
		}
		evals := 0
		r := minimize(counted(barrier(bad), &evals), []float64{-1}, []float64{-10}, none(1, 1), Options{})
		if r.status != notFinite || r.X[0] != -1 || evals != 1 {
			t.Errorf("bad = %g: start outside the domain gives %+v", bad, r)
		}
	}
	r := minimize(func(x, g []float64) float64 { g[0] = nan; return 1 }, []float64{3}, none(1, -1), none(1, 1), Options{})
	if r.status != notFinite {
		t.Errorf("a gradient that is not finite: %+v", r)
	}
	// Steps to what is not finite are quartered.
	var tried []float64
	minimize(func(x, g []float64) float64 {
		tried, g[0] = append(tried, x[0]), -1
		if x[0] > 0.1 {
			return nan
		}
		return -x[0]
	}, []float64{0}, none(1, -1), []float64{4}, Options{MaxIter: 1})
	if fmt.Sprint(tried[:4]) != "[0 1 0.25 0.0625]" {
		t.Errorf("tried %v", tried)
	}
	if !finite(math.MaxFloat64) {
		t.Errorf("the largest number is not finite")
	}
	// A finite value with a gradient that is not: kept as the best point seen,
	// not continued from.
	r = minimize(func(x, g []float64) float64 {
		g[0] = 2 * x[0]
		if math.Abs(x[0]) < 0.5 {
			g[0] = nan
		}
		return x[0] * x[0]
	}, []float64{3}, none(1, -1), none(1, 1), Options{})
	if !(r.F < 0.3) || r.status == notFinite {
		t.Errorf("undefined gradient: %+v", r)
	}
	// NaN everywhere but at the start.
	calls := 0
	r = minimize(func(x, g []float64) float64 {
		calls++
		g[0] = 1
		if calls > 1 {
			return nan
		}
		return 7
	}, []float64{3}, none(1, -1), none(1, 1), Options{})
	if r.F != 7 || r.X[0] != 3 || r.status != stuck {
		t.Errorf("NaN around the start: %+v", r)
	}
}

// TestNeverWorse feeds gradients that have nothing to do with the function.
func TestNeverWorse(t *testing.T) {
	rng := testutil.RNG(t)
	for range 200 {
		var start float64
		first := true
		lowest := math.Inf(1)
		r := minimize(func(x, g []float64) float64 {
			var v float64
			for i := range x {
				v += math.Sin(7*x[i]) * rng.Float64()
				g[i] = rng.NormFloat64()
			}
			if rng.IntN(10) == 0 && !first {
				v = math.NaN()
			}
			if first {
				start, first = v, false
			}
			if v < lowest {
				lowest = v
			}
			return v
		}, []float64{0.1, 0.2, 0.3}, fill(3, -1), fill(3, 1), Options{MaxIter: 20})
		if !(r.F <= start) || r.F != lowest {
			t.Fatalf("start %v, lowest %v, result %+v", start, lowest, r)
		}
	}
}

func TestStatus(t *testing.T) {
	slow := func(x, g []float64) float64 { g[0] = 1; return x[0] } // ends near -MaxFloat64, where a step of 1 is rounding
	tests := []struct {
		name string
		f    Func
		lo   []float64
		o    Options
		want status
	}{
		{"iterations", rosenbrock, none(2, -1), Options{MaxIter: 3}, iterLimit},
		{"gradient", rosenbrock, none(2, -1), Options{FuncTol: -1}, gradConverged},
		{"decrease", rosenbrock, none(2, -1), Options{GradTol: -1, FuncTol: 1e-3}, funcConverged},
		{"decrease of a small value", func(x, g []float64) float64 { g[0], g[1] = 1.5*x[0], 0; return 0.75 * x[0] * x[0] }, none(2, -1), Options{GradTol: -1, FuncTol: 0.8, MaxIter: 1}, iterLimit},
		{"decrease of a large value", func(x, g []float64) float64 { g[0], g[1] = 1.5*x[0], 0; return 0.75*x[0]*x[0] - 1e6 }, none(2, -1), Options{GradTol: -1, FuncTol: 1e-3, MaxIter: 1}, funcConverged},
		{"no tolerance", rosenbrock, none(2, -1), Options{GradTol: -1, FuncTol: -1}, stuck},
		{"unbounded", func(x, g []float64) float64 { g[1] = 0; return slow(x[:1], g[:1]) }, none(2, -1), Options{}, funcConverged},
		{"bounded", func(x, g []float64) float64 { g[1] = 0; return slow(x[:1], g[:1]) }, fill(2, -1e3), Options{}, gradConverged},
		{"kink", func(x, g []float64) float64 {
			g[0], g[1] = math.Copysign(1, x[0]), 0
			return math.Abs(x[0])
		}, none(2, -1), Options{FuncTol: -1}, stuck},
		{"flat", func(x, g []float64) float64 { clear(g); return 1 }, none(2, -1), Options{}, gradConverged},
		{"wrong sign", func(x, g []float64) float64 { f := rosenbrock(x, g); g[0], g[1] = -g[0], -g[1]; return f }, none(2, -1), Options{}, stuck},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := minimize(tt.f, []float64{-1.2, 1}, tt.lo, none(2, 1), tt.o)
			if r.status != tt.want || r.Converged() != (tt.want == gradConverged || tt.want == funcConverged) {
				t.Errorf("status %d, want %d", r.status, tt.want)
			}
		})
	}
}

// TestReuse runs searches of different sizes and memories on one Minimizer: a
// result must not depend on what ran before.
func TestReuse(t *testing.T) {
	var m Minimizer
	for range 2 {
		for _, p := range problems() {
			want := minimize(p.f, p.x0, p.lo, p.hi, Options{})
			m.Minimize(p.f, p.x0, p.lo, p.hi, Options{})
			got := m.Minimize(p.f, p.x0, p.lo, p.hi, Options{})
			if got.F != want.F || fmt.Sprint(got.X) != fmt.Sprint(want.X) {
				t.Errorf("%s: %+v after other searches, %+v alone", p.name, got, want)
			}
			m.Minimize(rosenbrock, fill(4, 0.1), none(4, -1), none(4, 1), Options{MaxIter: 4, Memory: 2})
			m.Minimize(rosenbrock, fill(4, 0.1), none(4, -1), none(4, 1), Options{MaxIter: 4})
		}
	}
}

func TestAllocations(t *testing.T) {
	var m Minimizer
	x0 := []float64{-1.2, 1}
	lo, hi := none(len(x0), -1), none(len(x0), 1)
	testutil.ZeroAlloc(t, func() { m.Minimize(rosenbrock, x0, lo, hi, Options{}) })
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"lower length": func() { minimize(rosenbrock, fill(2, 0), fill(1, 0), none(2, 1), Options{}) },
		"upper length": func() { minimize(rosenbrock, fill(2, 0), none(2, -1), fill(3, 0), Options{}) },
		"crossed":      func() { minimize(rosenbrock, fill(2, 0), fill(2, 1), fill(2, 0), Options{}) },
		"NaN bound":    func() { minimize(rosenbrock, fill(2, 0), fill(2, math.NaN()), none(2, 1), Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// TestStop: the search ends where Stop says, which is asked before each step.
func TestStop(t *testing.T) {
	asked := 0
	var at []float64
	r := minimize(rosenbrock, fill(4, -0.5), none(4, -1), none(4, 1), Options{Stop: func(x, grad []float64, f float64) bool {
		g := make([]float64, len(x))
		if v := rosenbrock(x, g); v != f || !slices.Equal(g, grad) {
			t.Errorf("Stop is told %v, %v; the function says %v, %v", f, grad, v, g)
		}
		at = slices.Clone(x)
		asked++
		return asked == 4
	}})
	three := minimize(rosenbrock, fill(4, -0.5), none(4, -1), none(4, 1), Options{MaxIter: 3})
	if r.status != stopped || r.Converged() || asked != 4 || three.status != iterLimit || !slices.Equal(at, r.X) || !slices.Equal(at, three.X) {
		t.Errorf("asked %d times: %+v; three steps: %+v", asked, r, three)
	}
}

// TestOnePairMisleads has a step that shows next to no curvature, so that the next one is so long
// that a search along it does not come back to where the function has values: steepest descent comes closer, and what misled
// once is forgotten.
func TestOnePairMisleads(t *testing.T) {
	edge := func(x, g []float64) float64 {
		if g[0] = math.NaN(); x[0] <= 2 {
			g[0] = 1e-15*x[0] - 1
		}
		return g[0] * x[0]
	}
	var m Minimizer
	if r := m.Minimize(edge, []float64{0}, none(1, -1), none(1, 1), Options{FuncTol: -1}); 2-r.X[0] > 1e-8 || m.pairs != 0 {
		t.Errorf("ends %g before the edge, with %d pairs", 2-r.X[0], m.pairs)
	}
}

// TestStatusOfItsOwn: a search that takes no step is not said to have converged for what one before it came to.
func TestStatusOfItsOwn(t *testing.T) {
	var m Minimizer
	level := func(x, g []float64) float64 { g[0] = 1e-20; return 1 }
	slope := func(x, g []float64) float64 { g[0] = 1; return x[0] }
	for i, want := range []status{funcConverged, stuck} {
		r := m.Minimize([]Func{level, slope}[i], []float64{[]float64{0.5, 0}[i]}, []float64{0}, []float64{1}, Options{GradTol: -1})
		if r.status != want {
			t.Errorf("search %d has status %d, want %d", i, r.status, want)
		}
	}
	// Nor is one whose every trial fails, however the first began.
	hole := func(x, g []float64) float64 {
		if g[0] = 1; x[0] < 0 {
			return math.Inf(1)
		}
		return x[0]
	}
	if r := m.Minimize(hole, []float64{0}, none(1, -1), none(1, 1), Options{}); r.status != stuck {
		t.Errorf("status %d beside a hole", r.status)
	}
}
