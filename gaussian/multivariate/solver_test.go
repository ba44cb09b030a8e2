package multivariate

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

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
				require.NoError(t, chol.Factorize(gram))
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
			require.InDeltaSlice(t, want, got, 1e-8, "%+v, step %d", c, step)
			if step == 0 && c.memory > 1 { // a step that repeats the one before is left out
				gs, rs = append(gs, g), append(rs, r)
				a.push(x, g)
				a.mix(got)
				require.Equal(t, g, got)
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
		require.True(t, r.Converged && plain.Converged)
		require.Equal(t, c.method, r.Method, "condition %g", c.cond)
		if c.steps > 0 {
			require.InDelta(t, c.steps, r.Iterations, 1, "condition %g", c.cond)
			require.InDelta(t, c.plain, plain.Iterations, 1, "condition %g", c.cond)
		} else {
			require.Less(t, 2*r.Iterations, plain.Iterations, "condition %g", c.cond)
		}
	}
}

// TestOneMember: what solves for the barycentre of several finds that of one, which is the member.
func TestOneMember(t *testing.T) {
	p := randomNormal(testutil.RNG(t), 4, 100)
	require.Equal(t, p.Mean(), weightedMean([]*Normal{p}, []float64{1}))
	b := newBarySolver([]*Normal{p}, []float64{1}, usualLimits)
	require.NoError(t, b.run(t.Context()))
	require.Equal(t, methodCommuting, b.method)
	require.Less(t, maxDiff(&b.best, p.Cov()), 64*epsilon*p.Trace())
}

// TestJeffreysToIsJeffreys: one after another or all at once, with any jitter, and where a partner has
// the numbers of p, the divergences are the same bits.
func TestJeffreysToIsJeffreys(t *testing.T) {
	rng := testutil.RNG(t)
	var w Workspace
	for _, jitter := range []float64{-1, 0, 0.5, 1, 2} {
		p := randomNormal(rng, 5, 100)
		qs := []*Normal{randomNormal(rng, 5, 10), randomNormal(rng, 5, 1e3), mustNormal(p.Mean(), p.Cov()), randomNormal(rng, 5, 10), p}
		got := make([]float64, len(qs))
		used, err := w.JeffreysTo(got, p, qs, jitter)
		require.NoError(t, err)
		var most float64
		for i, q := range qs {
			want, own, err := w.Jeffreys(p, q, jitter)
			require.NoError(t, err)
			require.Equal(t, want, got[i], "jitter %g, partner %d", jitter, i)
			require.Equal(t, i == 2 || i == 4, got[i] == 0)
			most = math.Max(most, own)
		}
		require.Equal(t, most, used)
	}
}

// TestRelativeChange: a change is relative, whatever the unit, and none where there is nothing.
func TestRelativeChange(t *testing.T) {
	at := func(a, b, c float64) *linalg.Sym { return linalg.NewSym(2, []float64{a, b, b, c}) }
	for _, unit := range []float64{1e-170, 1, 1e170} {
		s := at(unit, 0, 2*unit)
		require.InDelta(t, 0, relativeChange(s, s), 0)
		require.InDelta(t, 1, relativeChange(at(2*unit, 0, 4*unit), s), 1e-15)
		require.InDelta(t, math.Sqrt(2./5), relativeChange(at(unit, unit, 2*unit), s), 1e-15)
	}
	require.Zero(t, relativeChange(at(0, 0, 0), at(0, 0, 0)))
	require.True(t, math.IsInf(relativeChange(at(1, 0, 0), at(0, 0, 0)), 1))
}

// TestRefusalsSayWhere: the row, the column and the size of what is refused stand in the error, −1
// where there is none.
func TestRefusalsSayWhere(t *testing.T) {
	eye := linalg.NewSym(2, []float64{1, 0, 0, 1})
	_, err := NewNormal(nil, linalg.NewSym(0, nil))
	var size *gaussian.DimensionError
	require.ErrorAs(t, err, &size)
	require.Equal(t, gaussian.DimensionError{Op: size.Op, What: "cov", Got: 0, Want: 1}, *size)
	_, err = AdoptNormal([]float64{0, 0}, eye, linalg.NewDense(2, 2, []float64{1, 0, 0, 2}))
	var value *gaussian.ValueError
	require.ErrorAs(t, err, &value)
	require.Equal(t, []float64{1, -1, 3}, []float64{float64(value.Row), float64(value.Col), value.Value})
	_, err = AdoptNormal([]float64{0, 0}, eye, linalg.NewDense(2, 2, []float64{1, 0.5, 0, 1}))
	require.ErrorAs(t, err, &value)
	require.Equal(t, []float64{0, 1, 0.5}, []float64{float64(value.Row), float64(value.Col), value.Value})
	_, err = AdoptNormal([]float64{0, 0}, eye, linalg.NewDense(2, 2, []float64{1, 0, 0, 0.5}))
	require.ErrorAs(t, err, &value)
	require.Equal(t, []float64{1, -1, -0.75}, []float64{float64(value.Row), float64(value.Col), value.Value})
	// Triangles that differ, by their unit.
	for _, unit := range []float64{1e-9, 1, 1e9} {
		s := linalg.NewSym(2, []float64{unit, 0, 0, unit})
		s.Row(1)[0] = 1e-10 * unit
		_, err = NewNormal([]float64{0, 0}, s)
		require.ErrorIs(t, err, ErrNotSymmetric)
		require.ErrorAs(t, err, &value)
		require.Equal(t, []float64{1, 0, 1e-10 * unit}, []float64{float64(value.Row), float64(value.Col), value.Value})
		s.Row(1)[0] = 1e-14 * unit
		_, err = NewNormal([]float64{0, 0}, s)
		require.NoError(t, err)
	}
	// An entry beyond what the variances allow, of either sign and beside each.
	for _, v := range []float64{-3, 3} {
		for _, n := range []int{2, 40} {
			s := linalg.NewSym(n, nil)
			s.AddDiag(2)
			s.Set(n-1, n-2, v)
			_, err = NewNormal(make([]float64, n), s)
			var definite *gaussian.DefiniteError
			require.ErrorAs(t, err, &definite)
			require.Equal(t, n-1, definite.Pivot)
			require.Equal(t, 4-v*v, definite.Value)
		}
	}
	singular := mustNormal([]float64{0, 0}, linalg.NewSym(2, []float64{1, 1, 1, 1}))
	_, err = singular.definite("op", "cov")
	var definite *gaussian.DefiniteError
	require.ErrorAs(t, err, &definite)
	require.Equal(t, -1, definite.Pivot)
	require.Zero(t, definite.Jitter)
}
