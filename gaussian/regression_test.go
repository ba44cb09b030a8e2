package gaussian

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func randomPoints(rng *rand.Rand, n, dim int) *linalg.Dense {
	x := linalg.NewDense(n, dim, nil)
	for i := range n {
		for j := range dim {
			x.Set(i, j, rng.Float64())
		}
	}
	return x
}

// regression is Gaussian process regression with zero prior mean, as users put it
// together from a kernel and a Conditioner.
type regression struct {
	k            kernel.Kernel
	x            *linalg.Dense
	c            Conditioner
	cross, white linalg.Dense
}

func regress(t testing.TB, k kernel.Kernel, noise float64, x *linalg.Dense, y, extra []float64) *regression {
	t.Helper()
	r := &regression{k: k, x: x}
	var gram linalg.Sym
	kernel.Gram(&gram, k, x)
	d := make([]float64, len(y))
	for i := range d {
		d[i] = noise
		if extra != nil {
			d[i] += extra[i]
		}
	}
	require.NoError(t, r.c.Factorize(&gram, d, y))
	return r
}

// predictTo sets mean and variance to those at the rows of z.
func (r *regression) predictTo(mean, variance []float64, z *linalg.Dense) error {
	clear(mean)
	kernel.Diag(variance, r.k, z)
	kernel.Cross(&r.cross, r.k, r.x, z)
	return errors.Join(r.c.Whiten(&r.cross, &r.cross), r.c.Update(mean, variance, &r.cross))
}

// posteriorTo sets mean and cov to those at the rows of z.
func (r *regression) posteriorTo(mean []float64, cov *linalg.Sym, z *linalg.Dense) error {
	clear(mean)
	kernel.Gram(cov, r.k, z)
	kernel.Cross(&r.cross, r.k, r.x, z)
	return r.c.Condition(mean, cov, &r.white, &r.cross)
}

// TestRegressionIsConditioning: the posterior at any points is that of the normal of
// all values given the observed ones, whichever way the covariance is updated.
func TestRegressionIsConditioning(t *testing.T) {
	rng := testutil.RNG(t)
	const n, m, dim = 14, 7, 3 // n is no multiple of the four observations taken together
	x, z := randomPoints(rng, n, dim), randomPoints(rng, m, dim)
	y, extra := testutil.Normals(rng, n), make([]float64, n)
	all := linalg.NewDense(n+m, dim, nil)
	idx, noise := make([]int, n), make([]float64, n)
	for i := range n + m {
		if i < n {
			extra[i] = 0.1 * rng.Float64()
			idx[i], noise[i] = i, 0.02+extra[i]
			copy(all.Row(i), x.Row(i))
			continue
		}
		copy(all.Row(i), z.Row(i-n))
	}
	k := kernel.Sum(kernel.Scale(1.5, kernel.Matern32(0.4, 0.6, 0.9)), kernel.Constant(0.3))
	var gram linalg.Sym
	kernel.Gram(&gram, k, all)
	wantMean, wantCov := conditioned(t, make([]float64, n+m), &gram, idx, y, noise)
	r := regress(t, k, 0.02, x, y, extra)
	mean, variance := make([]float64, n+m), make([]float64, n+m)
	var cov linalg.Sym
	require.NoError(t, r.posteriorTo(mean, &cov, all))
	const tol = 1e-12
	assert.LessOrEqual(t, maxDiff(&cov, wantCov), tol, "covariances differ")
	assert.LessOrEqual(t, testutil.MaxDiff(mean, wantMean), tol, "means differ")
	kernel.Cross(&r.white, k, x, all)
	require.NoError(t, r.c.Whiten(&r.white, &r.white))
	var other linalg.Sym
	other.Copy(&gram)
	var cross linalg.Dense
	kernel.Cross(&cross, k, all, all)
	require.NoError(t, r.predictTo(mean, variance, all))
	require.NoError(t, r.c.UpdateCov(&other, &r.white))
	require.NoError(t, r.c.UpdateCross(&cross, &r.white, &r.white))
	for i := range n + m {
		assert.InDelta(t, cov.At(i, i), variance[i], 64*0x1p-52, "variance[%d]", i)
		for j := range n + m {
			assert.InDelta(t, cov.At(i, j), other.At(i, j), 64*0x1p-52, "covariance [%d,%d] of UpdateCov", i, j)
			assert.InDelta(t, cov.At(i, j), cross.At(i, j), 64*0x1p-52, "covariance [%d,%d] of UpdateCross", i, j)
		}
	}
	few := linalg.NewDense(n-1, n+m, nil)
	assert.ErrorIs(t, r.c.Condition(nil, &cov, &r.white, few), ErrDimension, "another number of observations")
	assert.ErrorIs(t, r.c.Condition(nil, nil, &r.white, &r.cross), ErrArgument, "nil")
}

// TestProcessors wants the same bits whatever the number of processors, above
// the size from which linear algebra is shared between goroutines.
func TestProcessors(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 230
	x, y := randomPoints(rng, n, 3), testutil.Normals(rng, n)
	var want []float64
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(procs)
		g := regress(t, kernel.Matern32(0.5), 0.1, x, y, nil)
		var cov linalg.Sym
		require.NoError(t, g.posteriorTo(make([]float64, n), &cov, x))
		got := append(slices.Clone(cov.Row(n-1)), g.c.LogMarginal())
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "%d processors", procs)
	}
}

// foreign is a kernel of another package: (1 + xᵀy/ℓ)².
type foreign struct{ l float64 }

func (k foreign) Eval(x, y []float64) float64 {
	s := 1 + linalg.Dot(x, y)/k.l
	return s * s
}
func (k foreign) NumParams() int                       { return 1 }
func (k foreign) AppendParams(dst []float64) []float64 { return append(dst, math.Log(k.l)) }
func (k foreign) WithParams(theta []float64) (kernel.Kernel, error) {
	if !(math.Abs(theta[0]) < 3) {
		return nil, errors.New("out of range")
	}
	return foreign{math.Exp(theta[0])}, nil
}

// level is a function of one value, which is no covariance if that is negative.
type level float64

func (k level) Eval(_, _ []float64) float64                   { return float64(k) }
func (k level) NumParams() int                                { return 0 }
func (k level) AppendParams(dst []float64) []float64          { return dst }
func (k level) WithParams(_ []float64) (kernel.Kernel, error) { return k, nil }

func second[T any](_ T, err error) error { return err }
