package gaussian

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
	"github.com/stretchr/testify/require"
)

func maxDiff(a, b *linalg.Sym) float64 {
	var m float64
	for i := range a.Dim() {
		m = max(m, testutil.MaxDiff(a.Row(i), b.Row(i)))
	}
	return m
}

// TestConditionerExpected: a row without a value leaves means as they are, to the
// bit, shrinks variances as any row does, and a failure leaves the receiver as it
// was, as does what happens to a clone.
func TestConditionerExpected(t *testing.T) {
	rng := testutil.RNG(t)
	const n, points = 6, 9
	all := linalg.NewSym(points, testutil.SPD(rng, points, 50))
	grow := func(c *Conditioner, rows int, y float64) {
		for i := c.Len(); i < rows; i++ {
			require.NoError(t, c.Append(all.Row(i)[:i], all.At(i, i), 0.1, y))
		}
	}
	moments := func(c *Conditioner) (mean, variance []float64) {
		mean, variance = make([]float64, points), make([]float64, points)
		v := linalg.NewDense(c.Len(), points, nil)
		for i := range points {
			variance[i] = all.At(i, i)
			for r := range c.Len() {
				v.Set(r, i, all.At(r, i))
			}
		}
		require.NoError(t, c.Whiten(v, v))
		require.NoError(t, c.Update(mean, variance, v))
		return mean, variance
	}
	var c Conditioner
	grow(&c, n, 0.7)
	mean, before := moments(&c)
	d := c.Clone()
	require.NoError(t, d.AppendExpected(all.Row(n)[:n], all.At(n, n), 0.1))
	gotMean, gotVariance := moments(d)
	require.Equal(t, mean, gotMean)
	e := c.Clone()
	grow(e, n+1, 3)
	_, wantVariance := moments(e)
	require.Equal(t, wantVariance, gotVariance)
	require.Less(t, gotVariance[n], before[n])

	require.ErrorIs(t, d.AppendExpected(all.Row(n)[:n], 1, 0.1), ErrDimension)
	require.ErrorIs(t, d.AppendExpected(make([]float64, n+1), 1, -1), ErrArgument)
	require.ErrorIs(t, d.AppendExpected(make([]float64, n+1), 0, 0), ErrNotPositiveDefinite)
	require.Equal(t, n+1, d.Len())
	again, _ := moments(&c)
	require.Equal(t, mean, again, "the clone shares memory with its source")

	alpha := make([]float64, n)
	var inverse linalg.Sym
	require.NoError(t, c.Precision(alpha, &inverse))
	for i := range n {
		var left float64
		for j := range n {
			var a float64
			for k := range n {
				v := all.At(i, k)
				if i == k {
					v += 0.1
				}
				a += v * inverse.At(k, j)
				if j == 0 {
					left += v * alpha[k]
				}
			}
			if i == j {
				a--
			}
			require.InDelta(t, 0, a, 1e-13)
		}
		require.InDelta(t, 0.7, left, 1e-13)
	}
	require.ErrorIs(t, c.Precision(alpha[1:], &inverse), ErrDimension)
	require.ErrorIs(t, c.Precision(alpha, nil), ErrArgument)
}

// TestAppendUnderJitter: a row that is appended takes the jitter in use: of n ones by
// n the determinant is then jⁿ⁻¹·(n + j). One that is refused says how much it was.
func TestAppendUnderJitter(t *testing.T) {
	ones := linalg.NewSym(2, []float64{1, 1, 1, 1})
	for _, expected := range []bool{false, true} {
		var c Conditioner
		require.NoError(t, c.Factorize(ones, []float64{0}, []float64{0, 0}))
		j := c.Jitter()
		require.Positive(t, j)
		add := func(variance float64) error {
			if expected {
				return c.AppendExpected([]float64{1, 1}, variance, 0)
			}
			return c.Append([]float64{1, 1}, variance, 0, 0)
		}
		var refused *DefiniteError
		require.ErrorAs(t, add(0.5), &refused)
		require.Equal(t, j, refused.Jitter)
		require.Equal(t, 2, refused.Pivot)
		require.NoError(t, add(1))
		// Each pivot is the difference of numbers near 1.
		require.InDelta(t, -(2*math.Log(j)+math.Log(3+j)+3*special.Ln2Pi)/2, c.LogMarginal(), 10*testutil.Unit/j)
	}
	var c Conditioner
	var refused *DefiniteError
	require.ErrorAs(t, c.Append(nil, 0, 0, 0), &refused)
	require.Zero(t, refused.Jitter)
}

// conditioned is N(m, S) given y_i of coordinate idx_i with noise, by the formula and
// an inverse from eigenvalues.
func conditioned(t *testing.T, m []float64, s *linalg.Sym, idx []int, y, noise []float64) (mean []float64, cov *linalg.Sym) {
	t.Helper()
	k := len(idx)
	var a linalg.Sym
	a.Subset(s, idx)
	cross := linalg.NewDense(k, len(m), nil)
	resid := linalg.NewDense(k, 1, nil)
	for i, p := range idx {
		a.Set(i, i, a.At(i, i)+noise[i])
		copy(cross.Row(i), s.Row(p))
		resid.Set(i, 0, y[i]-m[p])
	}
	var e spectral.EigenSym
	require.NoError(t, e.Factorize(&a))
	var v, vc, vr, update linalg.Dense
	e.VectorsTo(&v)
	vc.TransMul(&v, cross)
	vr.TransMul(&v, resid)
	for i, l := range e.Values() {
		vr.Set(i, 0, vr.At(i, 0)/l)
	}
	update.TransMul(&vc, &vr)
	mean = append([]float64(nil), m...)
	for i := range mean {
		mean[i] += update.At(i, 0)
	}
	cov = new(linalg.Sym)
	cov.Copy(s)
	for i := range m {
		for j := range i + 1 {
			c := cov.At(i, j)
			for p, l := range e.Values() {
				c -= vc.At(p, i) * vc.At(p, j) / l
			}
			cov.Set(i, j, c)
		}
	}
	return mean, cov
}

// TestConditionerOfAnyCount: whatever the number of observations, none among them, all ways to the
// moments give those of the formula, and a clone does too.
func TestConditionerOfAnyCount(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 7
	for count := range 10 {
		m, s := testutil.Normals(rng, n), linalg.NewSym(n, testutil.SPD(rng, n, 20))
		idx, noise := make([]int, count), make([]float64, count)
		for i := range idx {
			idx[i], noise[i] = rng.IntN(n), 0.5+rng.Float64()
		}
		y := testutil.Normals(rng, count)
		wantMean, wantCov := m, s
		if count > 0 {
			wantMean, wantCov = conditioned(t, m, s, idx, y, noise)
		}
		var k linalg.Sym
		k.Subset(s, idx)
		cross, resid := linalg.NewDense(count, n, nil), make([]float64, count)
		for i, j := range idx {
			resid[i] = y[i] - m[j]
			copy(cross.Row(i), s.Row(j))
		}
		first := new(Conditioner)
		if count == 0 {
			noise = []float64{1}
		}
		require.NoError(t, first.Factorize(&k, noise, resid))
		for _, c := range []*Conditioner{first, first.Clone()} {
			require.Equal(t, count, c.Len())
			require.Equal(t, first.LogMarginal(), c.LogMarginal())
			var v, white linalg.Dense
			require.NoError(t, c.Whiten(&v, cross))
			mean, variance := append([]float64(nil), m...), make([]float64, n)
			for i := range variance {
				variance[i] = s.At(i, i)
			}
			require.NoError(t, c.Update(mean, variance, &v))
			require.InDeltaSlice(t, wantMean, mean, 1e-12, "%d", count)
			for i := range variance {
				require.InDelta(t, wantCov.At(i, i), variance[i], 1e-12)
			}
			var updated, whole, lower linalg.Sym
			updated.Copy(s)
			require.NoError(t, c.UpdateCov(&updated, &v))
			require.LessOrEqual(t, maxDiff(wantCov, &updated), 1e-12)
			block := linalg.NewDense(n, n, nil)
			for i := range n {
				copy(block.Row(i), s.Row(i))
			}
			require.NoError(t, c.UpdateCross(block, &v, &v))
			for i := range n {
				require.InDeltaSlice(t, wantCov.Row(i), block.Row(i), 1e-12)
			}
			// Condition reads the lower triangle alone.
			lower.Copy(s)
			for i := range n {
				for j := i + 1; j < n; j++ {
					lower.Row(i)[j] = 99
				}
			}
			mean = append([]float64(nil), m...)
			require.NoError(t, c.Condition(mean, &lower, &white, cross))
			require.InDeltaSlice(t, wantMean, mean, 1e-12)
			require.LessOrEqual(t, maxDiff(wantCov, &lower), 1e-12)
			whole.Copy(s)
			require.NoError(t, c.Condition(nil, &whole, &white, cross))
			require.Equal(t, lower, whole)
		}
	}
}

// A variance that comes out below 0 is 0, whichever way it is computed.
func TestVariancesAreNotNegative(t *testing.T) {
	var c Conditioner
	require.NoError(t, c.Factorize(linalg.NewSym(1, []float64{1}), []float64{0}, []float64{1}))
	cross := linalg.NewDense(1, 2, []float64{1, 0.5})
	var v linalg.Dense
	require.NoError(t, c.Whiten(&v, cross))
	for name, update := range map[string]func(cov *linalg.Sym) error{
		"UpdateCov": func(cov *linalg.Sym) error { return c.UpdateCov(cov, &v) },
		"Condition": func(cov *linalg.Sym) error { return c.Condition(nil, cov, new(linalg.Dense), cross) },
		"Update": func(cov *linalg.Sym) error {
			variance := []float64{cov.At(0, 0), cov.At(1, 1)}
			err := c.Update(nil, variance, &v)
			cov.Set(0, 0, variance[0])
			cov.Set(1, 1, variance[1])
			return err
		},
	} {
		cov := linalg.NewSym(2, []float64{1 - 1e-15, 0, 0, 1})
		require.NoError(t, update(cov), name)
		require.Equal(t, []float64{0, 0.75}, []float64{cov.At(0, 0), cov.At(1, 1)}, name)
	}
}

// A Conditioner that conditions on nothing, from the start, after a Reset or a Factorize that
// failed, leaves priors as they are, and takes observations one by one.
func TestConditionerOfNothing(t *testing.T) {
	reset, failed := new(Conditioner), new(Conditioner)
	for _, c := range []*Conditioner{reset, failed} {
		require.NoError(t, c.Factorize(linalg.NewSym(2, []float64{1, 0, 0, 1}), []float64{0.1}, []float64{1, 2}))
	}
	reset.Reset()
	require.ErrorIs(t, failed.Factorize(linalg.NewSym(2, []float64{1, 2, 2, 1}), []float64{0}, []float64{1, 2}), ErrNotPositiveDefinite)
	for name, c := range map[string]*Conditioner{"zero": new(Conditioner), "reset": reset, "failed": failed} {
		for _, c := range []*Conditioner{c, c.Clone()} {
			require.Zero(t, c.Len(), name)
			require.NoError(t, c.Clone().SetResid(nil))
			inverse := linalg.NewSym(2, nil)
			require.NoError(t, c.Precision(nil, inverse))
			require.Zero(t, inverse.Dim())
			mean, cov := []float64{1, 2}, linalg.NewSym(2, []float64{3, 9, 1, 2})
			require.NoError(t, c.Condition(mean, cov, new(linalg.Dense), linalg.NewDense(0, 2, nil)))
			require.Equal(t, []float64{1, 2}, mean)
			require.Equal(t, linalg.NewSym(2, []float64{3, 1, 1, 2}), cov)
			require.NoError(t, c.Append(nil, 3, 1, 5))
			var one Conditioner
			require.NoError(t, one.Factorize(linalg.NewSym(1, []float64{3}), []float64{1}, []float64{5}))
			require.Equal(t, one.LogMarginal(), c.LogMarginal())
			alpha := make([]float64, 1)
			require.NoError(t, c.Precision(alpha, inverse))
			require.Equal(t, []float64{1.25, 0.25}, []float64{alpha[0], inverse.At(0, 0)})
		}
	}
}
