package multivariate

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// TestMixSolvesLeastSquares: the proposal is the latest image less the combination of its differences
// from the earlier ones, as many as the memory holds, that leaves the least of the residual: here by
// normal equations. A pair that is repeated adds nothing.
func TestMixSolvesLeastSquares(t *testing.T) {
	rng := testutil.RNG(t)
	var a anderson
	for _, c := range []struct{ n, memory int }{{6, 1}, {6, 4}, {3, 2}, {8, 5}, {8, 0}} {
		a.memory = c.memory
		a.reset()
		var gs, rs [][]float64
		for step := range 9 {
			x, g := testutil.Normals(rng, c.n), testutil.Normals(rng, c.n)
			r := make([]float64, c.n)
			for i := range r {
				r[i] = g[i] - x[i]
			}
			gs, rs = append(gs, g), append(rs, r)
			a.push(x, g)
			k := len(gs) - 1
			first := max(0, k-c.memory)
			want := slices.Clone(g)
			if m := k - first; m > 0 {
				d := linalg.NewDense(c.n, m, nil)
				for j := range m {
					for i := range c.n {
						d.Set(i, j, r[i]-rs[first+j][i])
					}
				}
				gram := linalg.NewSym(m, nil)
				gram.AddTransGram(1, d)
				var chol linalg.Cholesky
				if err := chol.Factorize(gram); err != nil {
					t.Fatal(err)
				}
				coef := make([]float64, m)
				for j := range m {
					for i := range c.n {
						coef[j] += d.At(i, j) * r[i]
					}
				}
				chol.SolveVecTo(coef, coef)
				for j, v := range coef {
					for i := range want {
						want[i] -= v * (g[i] - gs[first+j][i])
					}
				}
			}
			got := make([]float64, c.n)
			a.mix(got)
			if d := testutil.MaxDiff(got, want); !(d <= 1e-8) {
				t.Fatalf("%+v, step %d: %g, want %g: off by %g", c, step, got, want, d)
			}
			if step == 0 && c.memory > 1 { // a step that repeats the one before is left out
				gs, rs = append(gs, g), append(rs, r)
				a.push(x, g)
				a.mix(got)
				if !slices.Equal(got, g) {
					t.Fatalf("%+v, a step repeated: %.17g, want %.17g", c, got, g)
				}
				gs, rs = gs[:1], rs[:1]
				a.reset()
				a.push(x, g)
			}
		}
	}
}

// TestBarycenterSteps: the acceleration takes as few steps as it does, to one, and where members are
// nearly singular less than half of those of the plain iteration.
func TestBarycenterSteps(t *testing.T) {
	for _, c := range []struct {
		cond         float64
		rank         int // 0 for a definite one
		steps, plain int // 0 where rounding has a part in them
		method       string
	}{
		{10, 0, 7, 9, methodCholesky}, {1e4, 0, 13, 30, methodCholesky}, {1e6, 0, 15, 40, methodCholesky},
		{0, 4, 0, 0, methodProcrustes}, {1e11, 0, 0, 0, methodProcrustes},
	} {
		rng := testutil.RNG(t)
		var ps []*Normal
		for range 4 {
			if c.rank > 0 {
				ps = append(ps, mustNormal(nil, lowRank(rng, 6, c.rank)))
			} else {
				ps = append(ps, randomNormal(rng, 6, c.cond))
			}
		}
		r := barycenter(t, ps, nil, nil)
		plain := barycenter(t, ps, nil, &limits{memory: -1, maxIter: 2000})
		if !r.Converged || !plain.Converged {
			t.Errorf("condition %g: converged %t, plain %t, want both", c.cond, r.Converged, plain.Converged)
		}
		if r.Method != c.method {
			t.Errorf("condition %g: %s, want %s", c.cond, r.Method, c.method)
		}
		if c.steps > 0 {
			if r.Iterations < c.steps-1 || r.Iterations > c.steps+1 {
				t.Errorf("condition %g: %d steps, want %d to one", c.cond, r.Iterations, c.steps)
			}
			if plain.Iterations < c.plain-1 || plain.Iterations > c.plain+1 {
				t.Errorf("condition %g: %d plain steps, want %d to one", c.cond, plain.Iterations, c.plain)
			}
		} else if 2*r.Iterations >= plain.Iterations {
			t.Errorf("condition %g: %d steps, want less than half of %d", c.cond, r.Iterations, plain.Iterations)
		}
	}
}

// TestOneMember: what solves for the barycentre of several finds that of one, which is the member.
func TestOneMember(t *testing.T) {
	p := randomNormal(testutil.RNG(t), 4, 100)
	if got := weightedMean([]*Normal{p}, []float64{1}); !slices.Equal(got, p.Mean()) {
		t.Errorf("mean %.17g, want %.17g", got, p.Mean())
	}
	b := newBarySolver([]*Normal{p}, []float64{1}, usualLimits)
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.method != methodCommuting {
		t.Errorf("%s, want %s", b.method, methodCommuting)
	}
	if d, bound := maxDiff(&b.best, p.Cov()), 64*epsilon*p.Trace(); !(d < bound) {
		t.Errorf("covariance off by %g, want less than %g", d, bound)
	}
}

// TestJeffreysToIsJeffreys: one after another or all at once, with any jitter, and where a partner has
// the numbers of p, the divergences are the same bits.
func TestJeffreysToIsJeffreys(t *testing.T) {
	rng := testutil.RNG(t)
	var w Workspace
	for _, jitter := range []float64{0, 0.5, 1, 2} {
		p := randomNormal(rng, 5, 100)
		qs := []*Normal{randomNormal(rng, 5, 10), randomNormal(rng, 5, 1e3), mustNormal(p.Mean(), p.Cov()), randomNormal(rng, 5, 10), p}
		got := make([]float64, len(qs))
		if err := w.JeffreysTo(got, p, qs, jitter); err != nil {
			t.Fatal(err)
		}
		for i, q := range qs {
			want, err := w.Jeffreys(p, q, jitter)
			if err != nil {
				t.Fatal(err)
			}
			if got[i] != want {
				t.Errorf("jitter %g, partner %d: %.17g, want %.17g", jitter, i, got[i], want)
			}
			if same := i == 2 || i == 4; (got[i] == 0) != same {
				t.Errorf("jitter %g, partner %d: zero %t, want %t: %g", jitter, i, got[i] == 0, same, got[i])
			}
		}
	}
}

// TestRelativeChange: a change is relative, whatever the unit, and none where there is nothing.
func TestRelativeChange(t *testing.T) {
	at := func(a, b, c float64) *linalg.Sym { return linalg.NewSym(2, []float64{a, b, b, c}) }
	for _, unit := range []float64{1e-170, 1, 1e170} {
		s := at(unit, 0, 2*unit)
		if got := relativeChange(s, s); got != 0 {
			t.Errorf("unit %g: no change is %g, want 0", unit, got)
		}
		if got := relativeChange(at(2*unit, 0, 4*unit), s); !(math.Abs(got-1) <= 1e-15) {
			t.Errorf("unit %g: doubling is %.17g, want 1", unit, got)
		}
		if got, want := relativeChange(at(unit, unit, 2*unit), s), math.Sqrt(2./5); !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("unit %g: a covariance is %.17g, want %.17g", unit, got, want)
		}
	}
	if got := relativeChange(at(0, 0, 0), at(0, 0, 0)); got != 0 {
		t.Errorf("0 from 0: %g, want 0", got)
	}
	if got := relativeChange(at(1, 0, 0), at(0, 0, 0)); !math.IsInf(got, 1) {
		t.Errorf("1 from 0: %g, want +Inf", got)
	}
}

// TestRefusalsSayWhere: the row, the column and the size of what is refused stand in the error, −1
// where there is none.
func TestRefusalsSayWhere(t *testing.T) {
	eye := linalg.NewSym(2, []float64{1, 0, 0, 1})
	_, err := NewNormal(nil, linalg.NewSym(0, nil))
	var size *gaussian.DimensionError
	if !errors.As(err, &size) {
		t.Fatalf("no rows: %v, want a DimensionError", err)
	}
	if size.What != "cov" || size.Got != 0 || size.Want != 1 {
		t.Errorf("no rows: %s of size %d for %d, want cov of size 0 for 1", size.What, size.Got, size.Want)
	}
	var value *gaussian.ValueError
	for _, c := range []struct {
		factor   []float64
		row, col int
		value    float64
	}{
		{[]float64{1, 0, 0, 2}, 1, -1, 3},
		{[]float64{1, 0.5, 0, 1}, 0, 1, 0.5},
		{[]float64{1, 0, 0, 0.5}, 1, -1, -0.75},
	} {
		_, err = AdoptNormal([]float64{0, 0}, eye, linalg.NewDense(2, 2, c.factor))
		if !errors.As(err, &value) {
			t.Fatalf("factor %g: %v, want a ValueError", c.factor, err)
		}
		if value.Row != c.row || value.Col != c.col || value.Value != c.value {
			t.Errorf("factor %g: [%d,%d] is %g, want [%d,%d] and %g",
				c.factor, value.Row, value.Col, value.Value, c.row, c.col, c.value)
		}
	}
	// Triangles that differ, by their unit.
	for _, unit := range []float64{1e-9, 1, 1e9} {
		s := linalg.NewSym(2, []float64{unit, 0, 0, unit})
		s.Row(1)[0] = 1e-10 * unit
		_, err = NewNormal([]float64{0, 0}, s)
		if !errors.Is(err, ErrNotSymmetric) || !errors.As(err, &value) {
			t.Fatalf("unit %g: %v, want a ValueError of %v", unit, err, ErrNotSymmetric)
		}
		if value.Row != 1 || value.Col != 0 || value.Value != 1e-10*unit {
			t.Errorf("unit %g: [%d,%d] is %g, want [1,0] and %g", unit, value.Row, value.Col, value.Value, 1e-10*unit)
		}
		s.Row(1)[0] = 1e-14 * unit
		if _, err = NewNormal([]float64{0, 0}, s); err != nil {
			t.Errorf("unit %g, off by rounding: %v", unit, err)
		}
	}
	// An entry beyond what the variances allow, of either sign and beside each.
	for _, v := range []float64{-3, 3} {
		for _, n := range []int{2, 40} {
			s := linalg.NewSym(n, nil)
			s.AddDiag(2)
			s.Set(n-1, n-2, v)
			_, err = NewNormal(make([]float64, n), s)
			var definite *gaussian.DefiniteError
			if !errors.As(err, &definite) {
				t.Fatalf("n=%d, entry %g: %v, want a DefiniteError", n, v, err)
			}
			if definite.Pivot != n-1 || definite.Value != 4-v*v {
				t.Errorf("n=%d, entry %g: pivot %d is %g, want pivot %d and %g",
					n, v, definite.Pivot, definite.Value, n-1, 4-v*v)
			}
		}
	}
	singular := mustNormal([]float64{0, 0}, linalg.NewSym(2, []float64{1, 1, 1, 1}))
	_, err = singular.definite("op", "cov")
	var definite *gaussian.DefiniteError
	if !errors.As(err, &definite) {
		t.Fatalf("singular: %v, want a DefiniteError", err)
	}
	if definite.Pivot != -1 || definite.Jitter != 0 {
		t.Errorf("singular: pivot %d, jitter %g, want -1 and 0", definite.Pivot, definite.Jitter)
	}
}
