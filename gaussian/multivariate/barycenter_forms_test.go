package multivariate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// TestBarycenterStep compares one plain step with the map S → T·S·T evaluated by
// symmetric roots.
func TestBarycenterStep(t *testing.T) {
	rng := testutil.RNG(t)
	ctx := context.Background()
	ps := []*Normal{randomNormal(rng, 5, 30), randomNormal(rng, 5, 30), randomNormal(rng, 5, 30)}
	w := []float64{0.5, 0.2, 0.3}
	for _, form := range []string{"cholesky", "procrustes"} {
		b := newBarySolver(ps, w, limits{tol: 1e-30, maxIter: 1})
		if err := b.start(ctx); err != nil {
			t.Fatal(err)
		}
		var s, root, inv, m, want linalg.Sym
		s.Copy(&b.s)
		var r spectral.RootPSD
		if err := r.SqrtTo(&root, &s); err != nil {
			t.Fatal(err)
		}
		var e spectral.EigenSym
		if err := e.Factorize(&s); err != nil {
			t.Fatal(err)
		}
		e.FuncTo(&inv, func(l float64) float64 { return 1 / math.Sqrt(l) })
		rd, id := root.Dense(), inv.Dense()
		sum := linalg.NewSym(5, nil)
		for i, p := range ps {
			m.Congruence(&rd, p.Cov())
			if err := r.SqrtTo(&m, &m); err != nil {
				t.Fatal(err)
			}
			sum.AddScaled(w[i], &m)
		}
		sd := sum.Dense()
		var h linalg.Dense
		h.Mul(&id, &sd)
		want.Gram(&h)
		var err error
		if form == "procrustes" {
			err = b.runProcrustes(ctx)
		} else if err = b.chol.Factorize(&b.s); err == nil {
			_, err = b.runCholesky(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := relativeChange(&b.best, &want); !(d <= 1e-13) {
			t.Errorf("%s: step differs from its definition by %g", form, d)
		}
		if d := relativeChange(&want, &s); !testutil.Close(b.bestResidual, d, 1e-9) {
			t.Errorf("%s: residual %g, want %g", form, b.bestResidual, d)
		}
	}
}

func TestBarycenterForms(t *testing.T) {
	// Both forms, with and without acceleration, find the same solution; the
	// accelerated ones in fewer steps.
	rng := testutil.RNG(t)
	ps := posteriorSet(rng, gridPoints(5, 4), 6, 1e-6, false)
	steps := map[string]int{}
	var ref *linalg.Sym
	for _, memory := range []int{4, 0} {
		for _, form := range []string{"cholesky", "procrustes"} {
			b := newBarySolver(ps, equalWeights(len(ps)), limits{tol: 1e-11, maxIter: 100, memory: memory})
			err := b.start(context.Background())
			if err == nil && form == "cholesky" {
				if err = b.chol.Factorize(&b.s); err == nil {
					_, err = b.runCholesky(context.Background())
				}
			} else if err == nil {
				err = b.runProcrustes(context.Background())
			}
			if err != nil || b.bestResidual > 1e-11 {
				t.Fatalf("%s, memory %d: residual %g, %v", form, memory, b.bestResidual, err)
			}
			if ref == nil {
				ref = new(linalg.Sym)
				ref.Copy(&b.best)
			}
			if d := relativeChange(&b.best, ref); !(d <= 1e-10) {
				t.Errorf("%s, memory %d: another solution: %g", form, memory, d)
			}
			steps[fmt.Sprint(form, memory)] = b.iter
		}
	}
	t.Log(steps)
	for _, form := range []string{"cholesky", "procrustes"} {
		if !(steps[form+"4"] < steps[form+"0"]) {
			t.Errorf("%s: %d steps with acceleration, %d without", form, steps[form+"4"], steps[form+"0"])
		}
	}
}

func TestBarycenterClosedForms(t *testing.T) {
	rng := testutil.RNG(t)
	p, q := randomNormal(rng, 4, 10), randomNormal(rng, 4, 10)

	r := barycenter(t, []*Normal{p}, []float64{3}, nil)
	if r.Center != p || r.Method != methodExact || !r.Converged || r.Iterations != 0 || r.Residual != 0 {
		t.Errorf("one member: %+v", r)
	}
	r = barycenter(t, []*Normal{q, p, q}, []float64{0, 1e-300, 0}, nil)
	if r.Center != p || r.Method != methodExact {
		t.Errorf("all weight on one: %+v", r)
	}
	other := mustNormal(q.Mean(), p.Cov())
	r = barycenter(t, []*Normal{p, other}, []float64{1, 3}, nil)
	if r.Method != methodExact || maxDiff(r.Center.Cov(), p.Cov()) != 0 {
		t.Errorf("equal covariances: %+v", r)
	}
	for i, m := range r.Center.Mean() {
		if want := 0.25*p.Mean()[i] + 0.75*q.Mean()[i]; m != want {
			t.Errorf("mean[%d] = %g, want %g", i, m, want)
		}
	}

	// Commuting covariances: (Σ w_i·S_i^½)². The latter families are ill-conditioned
	// and rotated.
	for _, spread := range []float64{1, 3, 6} {
		for _, rotate := range []bool{false, true} {
			const n = 6
			rot := linalg.NewDense(n, n, testutil.Orthogonal(rng, n))
			w := []float64{0.2, 0.3, 0.5}
			var ps []*Normal
			root := make([]float64, n)
			for _, wi := range w {
				s := linalg.NewSym(n, nil)
				for i := range n {
					v := math.Exp(spread * rng.NormFloat64())
					s.Set(i, i, v)
					root[i] += wi * math.Sqrt(v)
				}
				if rotate {
					var c linalg.Sym
					c.Congruence(rot, s)
					s = &c
				}
				ps = append(ps, mustNormal(nil, s))
			}
			want := linalg.NewSym(n, nil)
			for i, v := range root {
				want.Set(i, i, v*v)
			}
			if rotate {
				var c linalg.Sym
				c.Congruence(rot, want)
				want = &c
			}
			r := barycenter(t, ps, w, nil)
			t.Logf("spread %g, rotated %t: %v, %d steps, residual %.1e", spread, rotate, r.Method, r.Iterations, r.Residual)
			if !r.Converged || r.Method != methodCommuting || r.Iterations != 0 {
				t.Errorf("spread %g, rotated %t: %+v", spread, rotate, r)
			}
			// Rotation rounds the members by E = O(n·ε), which moves their roots
			// by up to ‖E‖^½ where eigenvalues are as small.
			tol := 64 * n * epsilon
			if rotate && spread > 1 {
				tol = math.Sqrt(n * epsilon)
			}
			if d := relativeChange(r.Center.Cov(), want); !(d <= tol) {
				t.Errorf("spread %g, rotated %t: off by %g", spread, rotate, d)
			}
		}
	}
}

// TestBarycenterTwoNarrow is the case on which another library returned zeros on
// the diagonal (ott-jax/ott, thread 199): variances from 5e-3 to 1.
func TestBarycenterTwoNarrow(t *testing.T) {
	a := []float64{0.3206, 0.8825, 0.1113, 0.9454, 0.0052}
	b := []float64{0.3075, 0.8545, 0.1110, 0.9206, 0.0054}
	diag := func(v []float64) *linalg.Sym {
		s := linalg.NewSym(len(v), nil)
		for i, x := range v {
			s.Set(i, i, x)
		}
		return s
	}
	ps := []*Normal{
		mustNormal([]float64{-0.8909, -0.3568, 0.2758, 0.0352, -0.1457}, diag(a)),
		mustNormal([]float64{-0.8862, -0.3652, 0.2751, 0.0349, -0.1486}, diag(b)),
	}
	w := []float64{300. / 537, 237. / 537}
	r := barycenter(t, ps, w, nil)
	for i := range a {
		root := w[0]*math.Sqrt(a[i]) + w[1]*math.Sqrt(b[i])
		if got := r.Center.Cov().At(i, i); !testutil.Close(got, root*root, 1e-14) {
			t.Errorf("variance[%d] = %.17g, want %.17g", i, got, root*root)
		}
	}
}

func TestBarycenterSingular(t *testing.T) {
	// Members that live on one subspace have their barycentre there: compare
	// with the barycentre inside it.
	rng := testutil.RNG(t)
	const n, k = 7, 3
	q := linalg.NewDense(n, n, testutil.Orthogonal(rng, n))
	basis := q.View(0, 0, n, k)
	var small, large []*Normal
	for range 4 {
		s := linalg.NewSym(k, testutil.SPD(rng, k, 30))
		var c linalg.Sym
		c.Congruence(&basis, s)
		small, large = append(small, mustNormal(nil, s)), append(large, mustNormal(nil, &c))
	}
	a, b := barycenter(t, small, nil, nil), barycenter(t, large, nil, nil)
	var want linalg.Sym
	want.Congruence(&basis, a.Center.Cov())
	if d := relativeChange(b.Center.Cov(), &want); !b.Converged || !(d <= 1e-9) {
		t.Errorf("on a subspace: off by %g, %+v", d, b)
	}
	if b.Method != methodProcrustes {
		t.Errorf("method %v for singular members", b.Method)
	}
	// Definite, but so ill-conditioned that the Cholesky form would lose digits.
	ill := barycenter(t, []*Normal{randomNormal(rng, 5, 1e11), randomNormal(rng, 5, 1e11)}, nil, nil)
	if !ill.Converged || ill.Method != methodProcrustes {
		t.Errorf("ill-conditioned members: %+v", ill)
	}
	// Point masses.
	zero := linalg.NewSym(2, nil)
	r := barycenter(t, []*Normal{mustNormal([]float64{0, 2}, zero), mustNormal([]float64{4, 0}, zero)}, []float64{3, 1}, nil)
	if r.Center.Mean()[0] != 1 || r.Center.Mean()[1] != 1.5 || r.Center.Trace() != 0 {
		t.Errorf("two point masses: mean %v, trace %g", r.Center.Mean(), r.Center.Trace())
	}
	// A point mass and a normal: (1−w)²·S.
	s := linalg.NewSym(2, []float64{2, 0, 0.5, 1})
	r = barycenter(t, []*Normal{mustNormal([]float64{0, 0}, s), mustNormal([]float64{0, 0}, zero)}, []float64{0.75, 0.25}, nil)
	for i := range 2 {
		for j := range 2 {
			if got, want := r.Center.Cov().At(i, j), 0.5625*s.At(i, j); !(math.Abs(got-want) <= 1e-13) {
				t.Errorf("point mass and normal: S[%d,%d] = %g, want %g", i, j, got, want)
			}
		}
	}
}

// TestBarycenterNearlySingular wants convergence where members lose ranks in
// different directions, which the plain iteration does not reach.
func TestBarycenterNearlySingular(t *testing.T) {
	rng := testutil.RNG(t)
	ps := posteriorSet(rng, gridPoints(5, 4), 5, 1e-6, true)
	r := barycenter(t, ps, nil, nil)
	t.Logf("%v: %d steps, residual %.1e", r.Method, r.Iterations, r.Residual)
	if !r.Converged || r.Method != methodProcrustes {
		t.Errorf("accelerated: %+v", r)
	}
	plain := barycenter(t, ps, nil, &limits{memory: -1, maxIter: r.Iterations})
	t.Logf("plain: residual %.1e", plain.Residual)
	if plain.Converged || !(plain.Residual > 1e3*r.Residual) {
		t.Errorf("plain: %+v", plain)
	}
	w := equalWeights(len(ps))
	if a, b := objective(t, ps, w, r.Center), objective(t, ps, w, plain.Center); !(a <= b*(1+1e-12)) {
		t.Errorf("objective %.15g accelerated, %.15g plain", a, b)
	}
}

// TestBarycenterMethod: one member that is ill-conditioned, wherever it stands, has the slower way
// taken.
func TestBarycenterMethod(t *testing.T) {
	rng := testutil.RNG(t)
	ill, well, other := randomNormal(rng, 5, 1e13), randomNormal(rng, 5, 10), randomNormal(rng, 5, 10)
	for _, c := range []struct {
		ps   []*Normal
		want string
	}{{[]*Normal{well, other}, methodCholesky}, {[]*Normal{ill, well}, methodProcrustes}, {[]*Normal{well, ill}, methodProcrustes}} {
		if r := barycenter(t, c.ps, nil, nil); r.Method != c.want {
			t.Errorf("%s, want %s", r.Method, c.want)
		}
	}
}

func TestBarycenterInterruptible(t *testing.T) {
	rng := testutil.RNG(t)
	sets := map[string][]*Normal{
		"cholesky":   {randomNormal(rng, 3, 10), randomNormal(rng, 3, 10)},
		"procrustes": {mustNormal(nil, lowRank(rng, 3, 2)), mustNormal(nil, lowRank(rng, 3, 2))},
	}
	for name, ps := range sets {
		for _, n := range []int{1, 2, 4, 5} {
			if _, err := Barycenter(testutil.Countdown(n), ps, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: after %d looks: %v", name, n, err)
			}
		}
	}
}

// TestBarycenterHiddenCommuting: that covariances commute is seen where the rounding of the
// Cholesky form hides it.
func TestBarycenterHiddenCommuting(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 5
	q := linalg.NewDense(n, n, testutil.Orthogonal(rng, n))
	hidden := false
	for range 20 {
		var ps []*Normal
		for range 3 {
			spectrum := linalg.NewSym(n, nil)
			for i := range n {
				spectrum.Set(i, i, math.Pow(10, -7*rng.Float64()))
			}
			var s linalg.Sym
			s.Congruence(q, spectrum)
			ps = append(ps, mustNormal(nil, &s))
		}
		r := barycenter(t, ps, nil, nil)
		if r.Method != methodCommuting || r.Iterations != 0 || !(r.Residual <= commutingTol*n*epsilon) {
			t.Errorf("%+v", r)
		}
		b := newBarySolver(ps, equalWeights(3), usualLimits)
		if err := b.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.chol.Factorize(&b.s); err != nil {
			t.Fatal(err)
		}
		done, err := b.runCholesky(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hidden = hidden || !done
	}
	if !hidden {
		t.Error("the Cholesky form always finished: the test is too easy")
	}
}

// TestDiagonalRatio: the square of the largest diagonal entry by the smallest, below 1 and above.
func TestDiagonalRatio(t *testing.T) {
	for _, unit := range []float64{1e-9, 1, 1e9} {
		l := linalg.NewDense(3, 3, []float64{0.5 * unit, 0, 0, 9 * unit, 0.25 * unit, 0, 9 * unit, 9 * unit, 0.125 * unit})
		if got := diagonalRatio(l); got != 16 {
			t.Errorf("unit %g: ratio %.17g, want 16", unit, got)
		}
	}
}

// TestProcrustesMemory: a history takes 256 MB at most, and more only for the least memory.
func TestProcrustesMemory(t *testing.T) {
	for n, want := range map[int]int{1: 24, 682: 24, 683: 23, 1000: 11, 1500: 4, 4000: 4} {
		if got := procrustesMemory(4, n); got != want {
			t.Errorf("n=%d: memory %d, want %d", n, got, want)
		}
	}
}
