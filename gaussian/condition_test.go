package gaussian

import (
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

func maxDiff(a, b *linalg.Sym) float64 {
	var m float64
	for i := range a.Dim() {
		for j, v := range a.Row(i) {
			d := math.Abs(v - b.At(i, j))
			if !(d <= m) {
				m = d
			}
		}
	}
	return m
}

func maxDiffVec(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var m float64
	for i, v := range a {
		d := math.Abs(v - b[i])
		if !(d <= m) {
			m = d
		}
	}
	return m
}

func TestMarginal(t *testing.T) {
	rng := testutil.RNG(t)
	p := randomNormal(rng, 5, 10)
	m, err := p.Marginal([]int{3, 0, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range []int{3, 0, 3} {
		if m.Mean()[i] != p.Mean()[a] {
			t.Errorf("mean[%d] = %g", i, m.Mean()[i])
		}
		for j, b := range []int{3, 0, 3} {
			if m.Cov().At(i, j) != p.Cov().At(a, b) {
				t.Errorf("cov[%d,%d] = %g", i, j, m.Cov().At(i, j))
			}
		}
	}
	if _, _, err := m.Factor(); err != nil {
		t.Errorf("a repeated index makes the marginal singular, not invalid: %v", err)
	}
	if _, err := p.Marginal(nil); !errors.Is(err, ErrDimension) {
		t.Errorf("no index: %v", err)
	}
	for _, bad := range []int{-1, 5} {
		if _, err := p.Marginal([]int{0, bad}); !errors.Is(err, ErrIndex) {
			t.Errorf("index %d: %v", bad, err)
		}
	}
}

func TestConditionFormula(t *testing.T) {
	// x ~ N(m, S) in the plane: x_0 | x_1 = v has mean m_0 + s_01/s_11·(v − m_1)
	// and variance s_00 − s_01²/s_11.
	p := mustNormal([]float64{1, 2}, linalg.NewSym(2, []float64{3, 0, 1, 2}))
	c, err := p.Condition([]int{1}, []float64{4})
	if err != nil {
		t.Fatal(err)
	}
	if !testutil.Close(c.Mean()[0], 2, 1e-15) || !testutil.Close(c.Cov().At(0, 0), 2.5, 1e-15) {
		t.Errorf("x_0 | x_1 = 4 is N(%g, %g), want N(2, 2.5)", c.Mean()[0], c.Cov().At(0, 0))
	}
}

func TestConditionInSteps(t *testing.T) {
	// Conditioning on a then b is conditioning on both.
	rng := testutil.RNG(t)
	p := randomNormal(rng, 8, 100)
	both, err := p.Condition([]int{6, 1, 3}, []float64{0.5, -1, 2})
	if err != nil {
		t.Fatal(err)
	}
	one, err := p.Condition([]int{6}, []float64{0.5})
	if err != nil {
		t.Fatal(err)
	}
	two, err := one.Condition([]int{1, 3}, []float64{-1, 2})
	if err != nil {
		t.Fatal(err)
	}
	tol := 50 * 8 * epsilon * 100
	if d := maxDiff(both.Cov(), two.Cov()); !(d <= tol) {
		t.Errorf("covariances differ by %g", d)
	}
	if d := maxDiffVec(both.Mean(), two.Mean()); !(d <= tol) {
		t.Errorf("means differ by %g", d)
	}
	// No given values: the distribution itself.
	same, err := p.Condition(nil, nil)
	if err != nil || maxDiff(same.Cov(), p.Cov()) != 0 || maxDiffVec(same.Mean(), p.Mean()) != 0 {
		t.Errorf("conditioning on nothing changed the normal: %v", err)
	}
}

func TestConditionSingular(t *testing.T) {
	// x_1 = 2·x_0 and x_2 is independent noise plus x_0: given both x_0 and the
	// redundant x_1, only the noise is left.
	s := linalg.NewSym(3, []float64{1, 0, 0, 2, 4, 0, 1, 2, 1.25})
	p := mustNormal([]float64{0, 0, 0}, s)
	c, err := p.Condition([]int{0, 1}, []float64{3, 6})
	if err != nil {
		t.Fatal(err)
	}
	if !testutil.Close(c.Mean()[0], 3, 1e-14) || !testutil.Close(c.Cov().At(0, 0), 0.25, 1e-14) {
		t.Errorf("x_2 | x_0, x_1 is N(%g, %g), want N(3, 0.25)", c.Mean()[0], c.Cov().At(0, 0))
	}
	if _, err := p.Condition([]int{0, 1}, []float64{3, 5}); !errors.Is(err, ErrInconsistent) {
		t.Errorf("impossible values: %v", err)
	}
	// A pivot of rounding size is no evidence of a second dimension.
	r := mustNormal(nil, linalg.NewSym(3, []float64{1, 0, 0, 1, 1 + epsilon, 0, 1, 1, 2}))
	if _, err := r.Condition([]int{0, 1}, []float64{1, 2}); !errors.Is(err, ErrInconsistent) {
		t.Errorf("values apart on a line of rounding width: %v", err)
	}
	// x_1 is a function of x_0: given x_0 nothing is left to vary.
	d, err := p.Condition([]int{0}, []float64{3})
	if err != nil {
		t.Fatal(err)
	}
	if d.Mean()[0] != 6 || math.Abs(d.Cov().At(0, 0)) > 4*epsilon {
		t.Errorf("x_1 | x_0 = 3 is N(%g, %g), want N(6, 0)", d.Mean()[0], d.Cov().At(0, 0))
	}
	if _, _, err := d.Factor(); err != nil {
		t.Errorf("factor of the conditional: %v", err)
	}
	// A larger one against vanishing noise.
	rng := testutil.RNG(t)
	q := mustNormal(randomMean(rng, 9), lowRank(rng, 9, 4))
	idx := []int{8, 1, 5, 0, 2, 7}
	x := make([]float64, 9)
	if err := q.RandTo(x, rng); err != nil {
		t.Fatal(err)
	}
	v := make([]float64, len(idx))
	for i, k := range idx {
		v[i] = x[k]
	}
	e, err := q.Condition(idx, v)
	if err != nil {
		t.Fatal(err)
	}
	// Rank 4 is used up by six coordinates: the rest is determined, as far as
	// eigenvalues of rounding size, n·ε·tr S, in the draw and in S_aa allow.
	sd := 8 * math.Sqrt(9*epsilon*q.Trace())
	for i, k := range []int{3, 4, 6} {
		if !(math.Abs(e.Mean()[i]-x[k]) <= sd) {
			t.Errorf("coordinate %d is %g, predicted %g", k, x[k], e.Mean()[i])
		}
	}
	if !(e.Trace() <= 1e-10*q.Trace()) {
		t.Errorf("remaining variance %g of %g", e.Trace(), q.Trace())
	}
}

func TestConditionErrors(t *testing.T) {
	p := randomNormal(testutil.RNG(t), 3, 10)
	for _, tt := range []struct {
		name   string
		idx    []int
		values []float64
		want   error
	}{
		{"lengths", []int{0, 1}, []float64{1}, ErrDimension},
		{"nothing left", []int{0, 1, 2}, []float64{1, 1, 1}, ErrDimension},
		{"repeated", []int{1, 1}, []float64{1, 1}, ErrIndex},
		{"out of range", []int{3}, []float64{1}, ErrIndex},
		{"negative", []int{-1}, []float64{1}, ErrIndex},
		{"NaN", []int{0}, []float64{math.NaN()}, ErrNotFinite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := p.Condition(tt.idx, tt.values); !errors.Is(err, tt.want) {
				t.Errorf("Condition = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestConditionNoisy(t *testing.T) {
	// Against exact conditioning of the joint normal of (x, y), y = x_idx + e.
	rng := testutil.RNG(t)
	const n = 6
	p := randomNormal(rng, n, 100)
	idx := []int{4, 1, 4} // coordinate 4 observed twice
	noise := []float64{0.1, 0.02, 0.5}
	y := []float64{0.3, -1, 0.7}
	joint := linalg.NewSym(n+3, nil)
	at := func(i int) int {
		if i < n {
			return i
		}
		return idx[i-n]
	}
	mean := make([]float64, n+3)
	for i := range n + 3 {
		mean[i] = p.Mean()[at(i)]
		for j := range i + 1 {
			v := p.Cov().At(at(i), at(j))
			if i == j && i >= n {
				v += noise[i-n]
			}
			joint.Set(i, j, v)
		}
	}
	want, err := mustNormal(mean, joint).Condition([]int{n, n + 1, n + 2}, y)
	if err != nil {
		t.Fatal(err)
	}
	got, jitter, err := p.ConditionNoisy(idx, y, noise)
	if err != nil || jitter != 0 {
		t.Fatalf("jitter %g, %v", jitter, err)
	}
	tol := 50 * n * epsilon * 100
	if d := maxDiff(got.Cov(), want.Cov()); !(d <= tol) {
		t.Errorf("covariances differ by %g", d)
	}
	if d := maxDiffVec(got.Mean(), want.Mean()); !(d <= tol) {
		t.Errorf("means differ by %g", d)
	}
	same, _, err := p.ConditionNoisy(nil, nil, []float64{1})
	if err != nil || same != p {
		t.Errorf("no observation: %v", err)
	}

	// One variance stands for all; zero noise on a repeated coordinate needs
	// jitter, which is reported.
	a, _, err1 := p.ConditionNoisy(idx, y, []float64{0.3})
	b, _, err2 := p.ConditionNoisy(idx, y, []float64{0.3, 0.3, 0.3})
	if err1 != nil || err2 != nil || maxDiff(a.Cov(), b.Cov()) != 0 {
		t.Errorf("common variance: %v, %v", err1, err2)
	}
	four := linalg.NewSym(2, []float64{4, 0, 1, 4})
	if _, jitter, err := mustNormal(nil, four).ConditionNoisy([]int{0, 0}, []float64{1, 1}, []float64{0}); err != nil || !(jitter > 0) {
		t.Errorf("repeated exact observation: jitter %g, %v", jitter, err)
	}
	for _, tt := range []struct {
		name     string
		idx      []int
		y, noise []float64
		want     error
	}{
		{"y", []int{0}, []float64{1, 2}, []float64{1}, ErrDimension},
		{"noise", []int{0}, []float64{1}, []float64{1, 2}, ErrDimension},
		{"no noise", []int{0}, []float64{1}, nil, ErrDimension},
		{"index", []int{n}, []float64{1}, []float64{1}, ErrIndex},
		{"negative noise", []int{0}, []float64{1}, []float64{-1}, ErrArgument},
		{"NaN noise", []int{0}, []float64{1}, []float64{math.NaN()}, ErrNotFinite},
		{"NaN y", []int{0}, []float64{math.NaN()}, []float64{1}, ErrNotFinite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := p.ConditionNoisy(tt.idx, tt.y, tt.noise); !errors.Is(err, tt.want) {
				t.Errorf("ConditionNoisy = %v, want %v", err, tt.want)
			}
		})
	}
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
		require.NoError(t, c.UpdateMean(mean, v))
		require.NoError(t, c.UpdateVariance(variance, v))
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
