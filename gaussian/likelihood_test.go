package gaussian

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLikelihoodGradient(t *testing.T) {
	rng := testutil.RNG(t)
	const n, dim = 14, 3
	x, y := randomPoints(rng, n, dim), testutil.Normals(rng, n)
	extra := make([]float64, n)
	for i := range extra {
		extra[i] = 0.1 * rng.Float64()
	}
	var l Likelihood
	for name, k := range map[string]kernel.Kernel{
		"isotropic": kernel.Scale(1.2, kernel.Matern32(0.5)),
		"lengths":   kernel.Scale(0.8, kernel.Matern32x12(0.3, 0.7, 1.5)),
		"composite": kernel.Sum(kernel.Scale(0.5, kernel.SquaredExp(0.4)), kernel.Product(kernel.Matern52(0.9), kernel.Constant(0.7))),
		"foreign":   foreign{0.9},
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range [][]float64{nil, extra} {
				require.NoError(t, l.Reset(k, x, y, e))
				theta := append(k.AppendParams(nil), math.Log(0.05))
				np := len(theta) - 1
				eval := func(theta, grad []float64) float64 {
					kk, err := k.WithParams(theta[:np])
					require.NoError(t, err)
					v, err := l.Eval(kk, math.Exp(theta[np]), grad)
					require.NoError(t, err)
					return v
				}
				grad := make([]float64, np+1)
				v := eval(theta, grad)
				testutil.CheckGrad(t, func(th []float64) float64 { return eval(th, nil) }, theta, grad, 1e-7)

				want := regress(t, k, 0.05, x, y, e).c.LogMarginal()
				assert.InEpsilon(t, want, v, 1e-11, "likelihood %.15g, of a Conditioner %.15g", v, want)
			}
		})
	}
}

func TestLikelihoodReuse(t *testing.T) {
	rng := testutil.RNG(t)
	k := kernel.Scale(1.5, kernel.Matern52(0.4))
	var l Likelihood
	grad := make([]float64, 3)
	for _, n := range []int{9, 3, 12} {
		x, y := randomPoints(rng, n, 2), testutil.Normals(rng, n)
		require.NoError(t, l.Reset(k, x, y, nil))
		got, err := l.Eval(k, 0.1, grad)
		want := regress(t, k, 0.1, x, y, nil).c.LogMarginal()
		assert.NoError(t, err, "n=%d", n)
		assert.InEpsilon(t, want, got, 1e-12, "n=%d: %g, want %g", n, got, want)
		testutil.ZeroAlloc(t, func() { _, _ = l.Eval(k, 0.1, grad) })
	}
}

func TestLikelihoodErrors(t *testing.T) {
	rng := testutil.RNG(t)
	k := kernel.Matern32(0.5, 0.5)
	var l Likelihood
	// No data: likelihood 1.
	grad := []float64{9, 9, 9}
	v, err := l.Eval(k, 1, grad)
	assert.NoError(t, err, "no data")
	assert.Zero(t, v, "no data")
	assert.Zero(t, grad[0], "no data: %v", grad)
	x, y := randomPoints(rng, 3, 2), testutil.Normals(rng, 3)
	bad := randomPoints(rng, 3, 2)
	bad.Set(1, 0, math.NaN())
	var at *ValueError
	err = l.Reset(k, bad, y, nil)
	require.ErrorAs(t, err, &at, "NaN in row 1, column 0")
	assert.Equal(t, [2]int{1, 0}, [2]int{at.Row, at.Col}, "NaN in row 1, column 0: %v", err)
	for name, tt := range map[string]struct{ err, want error }{
		"nil kernel":         {l.Reset(nil, x, y, nil), ErrArgument},
		"nil x":              {l.Reset(k, nil, y, nil), ErrArgument},
		"short y":            {l.Reset(k, x, y[:2], nil), ErrDimension},
		"dimension":          {l.Reset(kernel.Matern32(1, 1, 1), x, y, nil), ErrDimension},
		"NaN":                {l.Reset(k, bad, y, nil), ErrNotFinite},
		"no variances":       {l.Reset(k, x, y, make([]float64, 3)), nil},
		"a variance below 0": {l.Reset(k, x, y, []float64{0, 0, -1e-300}), ErrArgument},
		"an infinite one":    {l.Reset(k, x, y, []float64{math.Inf(1), 0, 0}), ErrNotFinite},
		"few variances":      {l.Reset(k, x, y, []float64{0, 0}), ErrDimension},
		"negative kernel":    {l.Reset(level(-1), x, y, nil), ErrArgument},
		"infinite kernel":    {l.Reset(level(math.Inf(1)), x, y, nil), ErrArgument},
		"kernel of 0":        {l.Reset(level(0), x, y, nil), nil},
	} {
		assert.ErrorIs(t, tt.err, tt.want, name)
	}
	require.NoError(t, l.Reset(k, x, y, nil))
	for name, tt := range map[string]struct{ err, want error }{
		"nil kernel":     {second(l.Eval(nil, 1, nil)), ErrArgument},
		"negative noise": {second(l.Eval(k, -1, nil)), ErrArgument},
		"NaN noise":      {second(l.Eval(k, math.NaN(), nil)), ErrNotFinite},
		"short gradient": {second(l.Eval(k, 1, grad[:2])), ErrDimension},
		"overflow":       {second(l.Eval(k, 1e-3, nil)), nil},
	} {
		assert.ErrorIs(t, tt.err, tt.want, name)
	}
	require.NoError(t, l.Reset(k, x, []float64{1e200, 0, 0}, nil))
	assert.ErrorIs(t, second(l.Eval(k, 1e-3, nil)), ErrNotFinite, "overflow")
	require.NoError(t, l.Reset(k, x, []float64{1e153, 0, 0}, nil))
	v, err = l.Eval(kernel.Scale(1e-2, kernel.Matern32(1)), 1e-3, grad)
	require.ErrorAs(t, err, &at, "a gradient that overflows: %g", v)
	assert.Equal(t, "gradient", at.What, "a gradient that overflows: %g, %v", v, err)
	assert.Zero(t, at.Row, "a gradient that overflows: %g, %v", v, err)
	// A kernel of another dimension than the points is an error, not a panic.
	assert.ErrorIs(t, second(l.Eval(kernel.Matern32(1, 1, 1), 1, nil)), ErrDimension, "dimension")
}

func TestConditionerBlocks(t *testing.T) {
	// The blocks of a prior against conditioning the whole normal.
	rng := testutil.RNG(t)
	const n = 10
	m, p := testutil.Normals(rng, n), linalg.NewSym(n, testutil.SPD(rng, n, 100))
	idx := []int{7, 2, 7, 5}
	y, noise := testutil.Normals(rng, 4), []float64{0.1, 0.2, 0.3, 0.4}
	wantMean, wantCov := conditioned(t, m, p, idx, y, noise)
	for _, appended := range []int{0, 1, 4} {
		k := 4 - appended
		var c Conditioner
		resid := make([]float64, 4)
		var kk linalg.Sym
		kk.Subset(p, idx[:k])
		cross := linalg.NewDense(4, n, nil)
		for i, j := range idx {
			resid[i] = y[i] - m[j]
			copy(cross.Row(i), p.Row(j))
		}
		nk := noise[:k]
		if k == 0 {
			nk = []float64{1}
		}
		require.NoError(t, c.Factorize(&kk, nk, resid[:k]))
		for i := k; i < 4; i++ {
			row := make([]float64, i)
			for j := range row {
				row[j] = p.At(idx[i], idx[j])
			}
			require.NoError(t, c.Append(row, p.At(idx[i], idx[i]), noise[i], resid[i]))
		}
		assert.Equal(t, 4, c.Len(), "observations")
		assert.Zero(t, c.Jitter(), "jitter")
		var v, v0, v1 linalg.Dense
		mean := append([]float64(nil), m...)
		variance := make([]float64, n)
		for i := range variance {
			variance[i] = p.At(i, i)
		}
		cov := new(linalg.Sym)
		cov.Copy(p)
		left, right := cross.View(0, 0, 4, 3), cross.View(0, 3, 4, n-3)
		block := linalg.NewDense(3, n-3, nil)
		for i := range 3 {
			copy(block.Row(i), p.Row(i)[3:])
		}
		for _, err := range []error{
			c.Whiten(&v, cross), c.Whiten(&v0, &left), c.Whiten(&v1, &right),
			c.Update(mean, variance, &v), c.UpdateCov(cov, &v), c.UpdateCross(block, &v0, &v1),
		} {
			require.NoError(t, err)
		}
		const tol = 1e-12
		assert.LessOrEqual(t, testutil.MaxDiff(mean, wantMean), tol, "%d appended: means differ", appended)
		assert.LessOrEqual(t, maxDiff(cov, wantCov), tol, "%d appended: covariances differ", appended)
		for i := range n {
			assert.InDelta(t, wantCov.At(i, i), variance[i], tol, "%d appended: variance[%d]", appended, i)
		}
		for i := range 3 {
			for j := range n - 3 {
				assert.InDelta(t, wantCov.At(i, 3+j), block.At(i, j), tol, "%d appended: block[%d,%d]", appended, i, j)
			}
		}
		// The likelihood is the density of y under the prior.
		var s linalg.Sym
		s.Subset(p, idx)
		for i, e := range noise {
			s.Set(i, i, s.At(i, i)+e)
		}
		lp := -2 * math.Log(2*math.Pi)
		var chol linalg.Cholesky
		z := make([]float64, 4)
		require.NoError(t, chol.Factorize(&s))
		chol.SolveVecTo(z, resid)
		for i, r := range resid {
			lp -= r*z[i]/2 + math.Log(chol.Lower().At(i, i))
		}
		got := c.LogMarginal()
		assert.InEpsilon(t, lp, got, 1e-12, "%d appended: LogMarginal = %g, want %g", appended, got, lp)

		// Other residuals with the same factor.
		for i := range resid {
			resid[i] *= -2
		}
		require.NoError(t, c.SetResid(resid))
		scaled := make([]float64, n)
		require.NoError(t, c.Update(scaled, nil, &v))
		for i, s := range scaled {
			w := -2 * (wantMean[i] - m[i])
			assert.InDelta(t, w, s, tol, "%d appended: update with residuals times −2", appended)
		}
		assert.ErrorIs(t, c.SetResid(resid[1:]), ErrDimension, "SetResid")
		assert.ErrorIs(t, c.SetResid([]float64{0, 0, 0, math.Inf(1)}), ErrNotFinite, "SetResid")

		testutil.ZeroAlloc(t, func() {
			_ = c.Factorize(&kk, nk, resid[:k])
		})
	}
}

// TestConditionerClamps takes more variance away than there is, as rounding may.
func TestConditionerClamps(t *testing.T) {
	var c Conditioner
	one := linalg.NewSym(1, []float64{1})
	require.NoError(t, c.Factorize(one, []float64{0}, []float64{1}))
	v := linalg.NewDense(1, 2, []float64{1 + 1e-9, 0.5})
	variance := []float64{1, 1}
	cov := linalg.NewSym(2, []float64{1, 0, 0.3, 1})
	assert.NoError(t, c.Update(nil, variance, v), "Update")
	assert.Equal(t, []float64{0, 0.75}, variance, "Update")
	assert.NoError(t, c.UpdateCov(cov, v), "UpdateCov")
	assert.Equal(t, []float64{0, 0.75}, []float64{cov.At(0, 0), cov.At(1, 1)}, "UpdateCov")
}

func TestConditionerZeroAlloc(t *testing.T) {
	rng := testutil.RNG(t)
	p := linalg.NewSym(8, testutil.SPD(rng, 8, 10))
	var k linalg.Sym
	k.Subset(p, []int{1, 2, 3})
	cross := linalg.NewDense(3, 8, nil)
	mean, variance, resid, noise := make([]float64, 8), make([]float64, 8), make([]float64, 3), []float64{0.1}
	var c Conditioner
	var v linalg.Dense
	var cov linalg.Sym
	dst := linalg.NewDense(8, 8, nil)
	testutil.ZeroAlloc(t, func() {
		_ = c.Factorize(&k, noise, resid)
		_ = c.Whiten(&v, cross)
		_ = c.Update(mean, variance, &v)
		cov.Copy(p)
		_ = c.UpdateCov(&cov, &v)
		_ = c.UpdateCross(dst, &v, &v)
	})
}

func TestConditionerErrors(t *testing.T) {
	rng := testutil.RNG(t)
	nan := math.NaN()
	k := linalg.NewSym(2, testutil.SPD(rng, 2, 10))
	knan := linalg.NewSym(2, []float64{1, 0, nan, 1})
	indefinite := linalg.NewSym(2, []float64{1, 0, 2, 1})
	one, two := []float64{0.1}, []float64{1, 2}
	var c Conditioner
	for name, tt := range map[string]struct{ err, want error }{
		"nil":            {c.Factorize(nil, one, two), ErrArgument},
		"resid":          {c.Factorize(k, one, two[:1]), ErrDimension},
		"noise":          {c.Factorize(k, []float64{1, 2, 3}, two), ErrDimension},
		"negative noise": {c.Factorize(k, []float64{1, -1}, two), ErrArgument},
		"NaN noise":      {c.Factorize(k, []float64{nan}, two), ErrNotFinite},
		"NaN":            {c.Factorize(knan, one, two), ErrNotFinite},
		"indefinite":     {c.Factorize(indefinite, one, two), ErrNotPositiveDefinite},
	} {
		assert.ErrorIs(t, tt.err, tt.want, "Factorize: %s", name)
		assert.Zero(t, c.Len(), "Factorize: %s: still observations", name)
	}
	var d *DefiniteError
	err := c.Factorize(indefinite, one, two)
	require.ErrorAs(t, err, &d)
	assert.Equal(t, 1, d.Pivot, "the error %v does not carry the pivot", err)
	assert.InEpsilon(t, 1e-4*1.1, d.Jitter, 1e-15, "the jitter with which the pivot arose")
	assert.InDelta(t, 1.1+d.Jitter-4/(1.1+d.Jitter), d.Value, 1e-14, "the error %v does not carry the pivot", err)
	require.NoError(t, c.Factorize(k, one, two))
	lml := c.LogMarginal()
	for name, tt := range map[string]struct{ err, want error }{
		"cross":          {c.Append(one, 1, 1, 1), ErrDimension},
		"NaN cross":      {c.Append([]float64{0, nan}, 1, 1, 1), ErrNotFinite},
		"NaN variance":   {c.Append(two, nan, 1, 1), ErrNotFinite},
		"NaN resid":      {c.Append(two, 1, 1, nan), ErrNotFinite},
		"negative noise": {c.Append(two, 1, -1, 1), ErrArgument},
		"indefinite":     {c.Append([]float64{9, 9}, 1, 0, 1), ErrNotPositiveDefinite},
	} {
		assert.ErrorIs(t, tt.err, tt.want, "Append: %s", name)
		assert.Equal(t, 2, c.Len(), "Append: %s: the failed call changed the receiver", name)
		assert.Equal(t, lml, c.LogMarginal(), "Append: %s: the failed call changed the receiver", name)
	}
	v, narrow := linalg.NewDense(2, 3, nil), linalg.NewDense(1, 3, nil)
	three := make([]float64, 3)
	s3 := linalg.NewSym(3, nil)
	for name, tt := range map[string]struct{ err, want error }{
		"Whiten rows":         {c.Whiten(new(linalg.Dense), narrow), ErrDimension},
		"Whiten nil":          {c.Whiten(nil, v), ErrArgument},
		"Update rows":         {c.Update(three, nil, narrow), ErrDimension},
		"Update columns":      {c.Update(two, nil, v), ErrDimension},
		"Update nil":          {c.Update(three, nil, nil), ErrArgument},
		"Update variance":     {c.Update(nil, two, v), ErrDimension},
		"UpdateCov":           {c.UpdateCov(k, v), ErrDimension},
		"UpdateCov nil":       {c.UpdateCov(nil, v), ErrArgument},
		"UpdateCov fits":      {c.UpdateCov(s3, v), nil},
		"UpdateCross nil":     {c.UpdateCross(nil, v, v), ErrArgument},
		"UpdateCross rows":    {c.UpdateCross(linalg.NewDense(2, 3, nil), v, v), ErrDimension},
		"UpdateCross columns": {c.UpdateCross(linalg.NewDense(3, 2, nil), v, v), ErrDimension},
	} {
		assert.ErrorIs(t, tt.err, tt.want, name)
	}
	c.Reset()
	assert.Zero(t, c.Len(), "Reset left something")
	assert.Zero(t, c.LogMarginal(), "Reset left something")
	assert.Zero(t, c.Jitter(), "Reset left something")
	// Nothing observed: everything stays.
	assert.NoError(t, c.Whiten(new(linalg.Dense), linalg.NewDense(0, 3, nil)))
}

// panicking is a kernel that panics at its last evaluation.
type panicking struct {
	kernel.Kernel
	left *int
}

func (k panicking) Eval(x, y []float64) float64 {
	if *k.left--; *k.left == 0 {
		panic("countdown")
	}
	return k.Kernel.Eval(x, y)
}

func (k panicking) WithParams(theta []float64) (kernel.Kernel, error) {
	w, err := k.Kernel.WithParams(theta)
	return panicking{w, k.left}, err
}

// TestKernelPanicsPass: a search does not take a kernel's panic, wherever it is, for a
// point that is not defined, nor a check of the data for a wrong dimension.
func TestKernelPanicsPass(t *testing.T) {
	rng := testutil.RNG(t)
	x, y := randomPoints(rng, 4, 2), testutil.Normals(rng, 4)
	left := 0
	k := panicking{kernel.Matern32(0.5), &left}
	fit := func(at int) (panicked bool) {
		defer func() { panicked = recover() == "countdown" }()
		left = at
		var f Fitter
		o := &FitOptions{Starts: 1, Params: []LogNormal{{SD: 1, Min: 0.01, Max: 10}}}
		assert.NoError(t, second(f.Fit(t.Context(), k, 0.01, x, y, nil, o)), "call %d", at)
		return
	}
	require.False(t, fit(0), "panics without being asked")
	for at, calls := 1, -left; at <= calls; at++ {
		assert.True(t, fit(at), "call %d of %d: the panic did not pass", at, calls)
	}
}

// dented is constant but for variances that are too small for a covariance.
type dented float64

func (k dented) Eval(x, y []float64) float64 {
	if x[0] == y[0] {
		return float64(k) * (1 - 5e-5)
	}
	return float64(k)
}
func (k dented) NumParams() int                       { return 1 }
func (k dented) AppendParams(dst []float64) []float64 { return append(dst, math.Log(float64(k))) }
func (k dented) WithParams(theta []float64) (kernel.Kernel, error) {
	return dented(math.Exp(theta[0])), nil
}

// TestLikelihoodGradientUnderJitter: the jitter is a share of the mean variance, and moves with it.
func TestLikelihoodGradientUnderJitter(t *testing.T) {
	var l Likelihood
	require.NoError(t, l.Reset(dented(1), linalg.NewDense(5, 1, []float64{1, 2, 3, 4, 5}), []float64{1, 1, -0.3, 0.2, -0.3}, nil))
	eval := func(theta, grad []float64) float64 {
		v, err := l.Eval(dented(math.Exp(theta[0])), math.Exp(theta[1]), grad)
		require.NoError(t, err)
		require.Positive(t, l.cond.Jitter())
		return v
	}
	theta, grad := []float64{math.Log(1.5), math.Log(2e-5)}, make([]float64, 2)
	eval(theta, grad)
	testutil.CheckGrad(t, func(th []float64) float64 { return eval(th, nil) }, theta, grad, 1e-6)
}
