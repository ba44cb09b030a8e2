package multivariate

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// barycenter takes the usual limits where o has zeros; a negative memory is none.
func barycenter(t *testing.T, ps []*Normal, w []float64, o *limits) BarycenterResult {
	t.Helper()
	lim := usualLimits
	if o != nil {
		lim.tol, lim.maxIter = cmp.Or(o.tol, lim.tol), cmp.Or(o.maxIter, lim.maxIter)
		if o.memory != 0 {
			lim.memory, lim.adapt = max(o.memory, 0), false
		}
	}
	r, err := lim.barycenter(context.Background(), ps, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// objective is Σ w_i·W₂²(p_i, q).
func objective(t *testing.T, ps []*Normal, w []float64, q *Normal) float64 {
	t.Helper()
	var s float64
	for i, p := range ps {
		s += w[i] * w2sq(t, p, q)
	}
	return s
}

func equalWeights(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

func posteriorSet(rng *rand.Rand, g []point, members int, jitter float64, rankLosing bool) []*Normal {
	var ps []*Normal
	for s := range members {
		nobs := len(g)/4 + rng.IntN(len(g)/4)
		if rankLosing {
			l := point{math.Exp(math.Log(.2) * rng.Float64()), math.Exp(math.Log(.2) * rng.Float64())}
			ps = append(ps, mustNormal(testutil.Normals(rng, len(g)), posteriorCov(uint64(s), g, l, 2*len(g)/5, 1e-12, jitter, true)))
		} else {
			l := point{.25 * math.Exp(.1*rng.NormFloat64()), .3 * math.Exp(.1*rng.NormFloat64())}
			ps = append(ps, mustNormal(testutil.Normals(rng, len(g)), posteriorCov(uint64(s), g, l, nobs, 1e-4, jitter, false)))
		}
	}
	return ps
}

// fixedPointResidual evaluates S = Σ w_i·(S^½·S_i·S^½)^½ by symmetric roots,
// independently of the solver, relative to S.
func fixedPointResidual(t *testing.T, ps []*Normal, w []float64, s *linalg.Sym) float64 {
	t.Helper()
	var r spectral.RootPSD
	var root, m linalg.Sym
	if err := r.SqrtTo(&root, s); err != nil {
		t.Fatal(err)
	}
	rd := root.Dense()
	sum := linalg.NewSym(s.Dim(), nil)
	for i, p := range ps {
		m.Congruence(&rd, p.Cov())
		if err := r.SqrtTo(&m, &m); err != nil {
			t.Fatal(err)
		}
		sum.AddScaled(w[i], &m)
	}
	return relativeChange(sum, s)
}

func TestBarycenterMinimises(t *testing.T) {
	rng := testutil.RNG(t)
	sets := map[string][]*Normal{
		"random":    {randomNormal(rng, 5, 20), randomNormal(rng, 5, 100), randomNormal(rng, 5, 5)},
		"posterior": posteriorSet(rng, gridPoints(4, 3), 5, 1e-6, false),
		"singular":  {mustNormal(nil, lowRank(rng, 4, 2)), mustNormal(nil, lowRank(rng, 4, 3)), mustNormal(nil, lowRank(rng, 4, 3))},
		"one definite": {
			mustNormal(nil, lowRank(rng, 4, 1)), mustNormal(nil, lowRank(rng, 4, 2)), randomNormal(rng, 4, 10),
		},
	}
	for name, ps := range sets {
		t.Run(name, func(t *testing.T) {
			w := make([]float64, len(ps))
			var sum float64
			for i := range w {
				w[i] = 1 + float64(i)
				sum += w[i]
			}
			// Weights are normalised.
			r := barycenter(t, ps, w, &limits{tol: 1e-12, maxIter: 2000})
			for i := range w {
				w[i] /= sum
			}
			t.Logf("%v: %d steps, residual %.1e", r.Method, r.Iterations, r.Residual)
			if !r.Converged {
				t.Errorf("not converged: %+v", r)
			}
			best := objective(t, ps, w, r.Center)
			rng := testutil.RNG(t)
			n := r.Center.Dim()
			for k := range 60 {
				eps := math.Pow(10, -float64(k%5))
				// (I + ε·A)·S·(I + ε·A)ᵀ plus ε·m.
				a := linalg.NewDense(n, n, nil)
				m := append([]float64(nil), r.Center.Mean()...)
				for i := range n {
					for j := range n {
						a.Set(i, j, eps*rng.NormFloat64())
					}
					a.Set(i, i, 1+a.At(i, i))
					if k%2 == 0 {
						m[i] += eps * rng.NormFloat64()
					}
				}
				var s linalg.Sym
				s.Congruence(a, r.Center.Cov())
				if got := objective(t, ps, w, mustNormal(m, &s)); !(got >= best-1e-12*(best+r.Center.Trace())) {
					t.Errorf("objective %.15g at a perturbation of size %g, %.15g at the barycentre", got, eps, best)
				}
			}
			for _, p := range ps {
				if got := objective(t, ps, w, p); !(got >= best) {
					t.Errorf("objective %.15g at a member, %.15g at the barycentre", got, best)
				}
			}
		})
	}
}

func TestBarycenterFixedPoint(t *testing.T) {
	rng := testutil.RNG(t)
	for _, n := range []int{1, 2, 6, 17} {
		for _, members := range []int{2, 7} {
			ps := make([]*Normal, members)
			for i := range ps {
				ps[i] = randomNormal(rng, n, 50)
			}
			w := equalWeights(members)
			r := barycenter(t, ps, nil, nil)
			if !r.Converged || !(fixedPointResidual(t, ps, w, r.Center.Cov()) <= 1e-10) {
				t.Errorf("n=%d, %d members: %+v, residual of the equation %g", n, members, r, fixedPointResidual(t, ps, w, r.Center.Cov()))
			}
			for i, m := range r.Center.Mean() {
				var want float64
				for _, p := range ps {
					want += p.Mean()[i] / float64(members)
				}
				if !(math.Abs(m-want) <= 8*epsilon*float64(members)) {
					t.Errorf("mean[%d] = %g, want %g", i, m, want)
				}
			}
			// The order of the members does not matter beyond rounding.
			for i, j := 0, len(ps)-1; i < j; i, j = i+1, j-1 {
				ps[i], ps[j] = ps[j], ps[i]
			}
			if d := relativeChange(barycenter(t, ps, nil, nil).Center.Cov(), r.Center.Cov()); !(d <= 1e-9) {
				t.Errorf("n=%d: reversed members give another covariance: %g", n, d)
			}
		}
	}
}

func TestBarycenterOfTwo(t *testing.T) {
	// Two members: ((1−w)·I + w·T)·S_0·((1−w)·I + w·T), T the optimal map, the
	// point at w on the geodesic. Distances along it add up.
	rng := testutil.RNG(t)
	p, q := randomNormal(rng, 6, 100), randomNormal(rng, 6, 100)
	d, _ := new(Workspace).W2(p, q)
	for _, w := range []float64{0.1, 0.5, 0.8} {
		r := barycenter(t, []*Normal{p, q}, []float64{1 - w, w}, &limits{tol: 1e-13})
		a, _ := new(Workspace).W2(p, r.Center)
		b, _ := new(Workspace).W2(r.Center, q)
		if !testutil.Close(a, w*d, 1e-10) || !testutil.Close(b, (1-w)*d, 1e-10) {
			t.Errorf("w = %g: distances %g and %g, want %g and %g", w, a, b, w*d, (1-w)*d)
		}
	}
}

func TestBarycenterScaling(t *testing.T) {
	rng := testutil.RNG(t)
	ps := []*Normal{randomNormal(rng, 4, 10), randomNormal(rng, 4, 10), randomNormal(rng, 4, 10)}
	ref := barycenter(t, ps, nil, nil)
	for _, c := range []float64{0x1p-400, 0x1p-40, 0x1p400} {
		var qs []*Normal
		for _, p := range ps {
			s := new(linalg.Sym)
			s.Copy(p.Cov())
			s.Scale(c)
			qs = append(qs, mustNormal(p.Mean(), s))
		}
		r := barycenter(t, qs, nil, nil)
		got := new(linalg.Sym)
		got.Copy(r.Center.Cov())
		got.Scale(1 / c)
		if d := relativeChange(got, ref.Center.Cov()); !r.Converged || !(d <= 1e-9) {
			t.Errorf("scale %g: off by %g, %+v", c, d, r)
		}
	}
}

// TestBarycenterResidual: what is reported is the relative change of the step that is
// returned, and the smallest of all steps taken. Plain steps are compared with each
// other; accelerated ones, some of which must make the residual grow, by running one
// step more at a time.
func TestBarycenterResidual(t *testing.T) {
	rng := testutil.RNG(t)
	ps := make([]*Normal, 3)
	for i := range ps {
		s := linalg.NewSym(5, testutil.SPD(rng, 5, 300))
		s.Scale(1000)
		ps[i] = mustNormal(nil, s)
	}
	last := barycenter(t, ps, nil, &limits{memory: -1, maxIter: 1}).Center.Cov()
	for k := 2; k < 8; k++ {
		r := barycenter(t, ps, nil, &limits{memory: -1, maxIter: k})
		want := math.Sqrt(frobenius(r.Center.Cov(), last)) / math.Sqrt(frobenius(last, linalg.NewSym(5, nil)))
		if r.Iterations != k || r.Converged || !testutil.Close(r.Residual, want, 1e-9) {
			t.Errorf("after %d plain steps: %+v, the centre changed by %g", k, r, want)
		}
		last = r.Center.Cov()
	}
	// A step that changes the centre by the tolerance is the last.
	all := barycenter(t, ps, nil, &limits{memory: -1, maxIter: 5})
	if r := barycenter(t, ps, nil, &limits{memory: -1, tol: all.Residual}); !r.Converged || r.Iterations != 5 || r.Residual != all.Residual {
		t.Errorf("tolerance %g: %+v", all.Residual, r)
	}
	grew := 0
	for range 8 {
		ps = []*Normal{randomNormal(rng, 5, 1e6), randomNormal(rng, 5, 1e6), randomNormal(rng, 5, 1e6)}
		best := math.Inf(1)
		var center *Normal
		for k := 1; k < 40; k++ {
			r := barycenter(t, ps, nil, &limits{memory: 4, maxIter: k, tol: 1e-13})
			if !(r.Residual <= best) {
				t.Fatalf("residual %g after %d steps, %g before", r.Residual, k, best)
			}
			if r.Residual == best {
				grew++
				if maxDiff(r.Center.Cov(), center.Cov()) != 0 {
					t.Fatalf("%d steps: another centre than that of residual %g", k, best)
				}
			}
			best, center = r.Residual, r.Center
			if r.Converged {
				break
			}
		}
	}
	t.Logf("the residual grew %d times", grew)
	if grew == 0 {
		t.Error("the residual never grew: the test is too easy")
	}

	// A step that is not a number is an error, not a step.
	b := newBarySolver(ps, equalWeights(len(ps)), limits{tol: 1e-10, maxIter: 5})
	if err := b.start(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.t.Copy(&b.s)
	b.t.Set(2, 1, math.NaN())
	if done, err := b.finished(); !done || !errors.Is(err, gaussian.ErrNotFinite) {
		t.Errorf("NaN: finished = %t, %v", done, err)
	}
}

// TestBarycenterOverflow: covariances whose products overflow are reported as that, not
// as indefinite ones.
func TestBarycenterOverflow(t *testing.T) {
	a := mustNormal(nil, linalg.NewSym(2, []float64{4e240, 1e240, 1e240, 2e240}))
	b := mustNormal(nil, linalg.NewSym(2, []float64{1e240, 0, 0, 9e240}))
	if _, err := Barycenter(context.Background(), []*Normal{a, b}, nil); !errors.Is(err, gaussian.ErrNotFinite) || errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		t.Errorf("Barycenter = %v, want gaussian.ErrNotFinite", err)
	}
}

// frobenius returns ‖a − b‖²_F.
func frobenius(a, b *linalg.Sym) (s float64) {
	for i := range a.Dim() {
		for j := range a.Dim() {
			d := a.At(i, j) - b.At(i, j)
			s += d * d
		}
	}
	return s
}

// TestBarycenterNearlyCommuting: members that commute but for a small rotation start
// next to the solution and are solved all the same.
func TestBarycenterNearlyCommuting(t *testing.T) {
	for _, angle := range []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2} {
		var ps []*Normal
		for i, d := range [][2]float64{{1, 4}, {9, 1}, {2, 2.5}} {
			sin, cos := math.Sincos(angle * float64(i))
			s := linalg.NewSym(2, nil)
			s.Set(0, 0, d[0]*cos*cos+d[1]*sin*sin)
			s.Set(1, 1, d[0]*sin*sin+d[1]*cos*cos)
			s.Set(0, 1, (d[0]-d[1])*sin*cos)
			ps = append(ps, mustNormal(nil, s))
		}
		r := barycenter(t, ps, nil, nil)
		if off := fixedPointResidual(t, ps, equalWeights(3), r.Center.Cov()); !r.Converged || !(off <= 1e-10) {
			t.Errorf("angle %g: %v, residual %g; of the equation %g", angle, r.Method, r.Residual, off)
		}
	}
}

// TestMixIsExact: of a linear map mixing finds the fixed point once it has a difference for each
// dimension, whatever was mixed before.
func TestMixIsExact(t *testing.T) {
	rng := testutil.RNG(t)
	var a anderson
	for _, n := range []int{4, 2, 3} {
		a.memory = n
		a.reset()
		m, shift := testutil.Normals(rng, n*n), testutil.Normals(rng, n)
		x := make([]float64, n)
		g := func(x []float64) []float64 {
			out := slices.Clone(shift)
			for i := range out {
				out[i] += 0.4 * linalg.Dot(m[i*n:i*n+n], x)
			}
			return out
		}
		for range n + 1 {
			a.push(x, g(x))
			x = make([]float64, n)
			a.mix(x)
		}
		if d := testutil.MaxDiff(x, g(x)); !(d <= 1e-10) {
			t.Errorf("%d dimensions: %v is %g from its image", n, x, d)
		}
	}
}
