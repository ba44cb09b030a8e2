package baseline

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// sampleMoments returns mean and covariance of functions at n points by their
// definitions, with the given divisor.
func sampleMoments(f [][]float64, divisor float64) (mean []float64, cov [][]float64) {
	n := len(f[0])
	mean, cov = make([]float64, n), make([][]float64, n)
	for _, v := range f {
		for j := range n {
			mean[j] += v[j] / float64(len(f))
		}
	}
	for p := range n {
		cov[p] = make([]float64, n)
		for q := range n {
			for _, v := range f {
				cov[p][q] += (v[p] - mean[p]) * (v[q] - mean[q]) / divisor
			}
		}
	}
	return mean, cov
}

// shuffledTasks gives every task values at the same points, in an order of its
// own.
func shuffledTasks(t testing.TB, k int, x *linalg.Dense) ([]cmbo.Task, [][]float64) {
	r := testRNG(t)
	n := points.Len(x)
	tasks, f := make([]cmbo.Task, k), make([][]float64, k)
	for i := range tasks {
		tasks[i].ID = string(rune('a' + i))
		f[i] = make([]float64, n)
		for _, j := range r.Perm(n) {
			f[i][j] = r.NormFloat64() + bump([]float64{0.7, 0.3})(x.Row(j))
			tasks[i].X = append(tasks[i].X, x.Row(j))
			tasks[i].Y = append(tasks[i].Y, f[i][j])
		}
	}
	return tasks, f
}

// On complete data the prediction is the closed form of the paper, by plain
// elimination on the sample covariance.
func TestMetaBOClosedForm(t *testing.T) {
	r := testRNG(t)
	const k, n = 14, 9
	x := randomPoints(r, n, 2)
	tasks, f := shuffledTasks(t, k, x)
	m, err := learnMetaBO(ctx, square(t), tasks, WithYPolicy(cmbo.RawValues))
	require.NoError(t, err)
	mean, cov := sampleMoments(f, k-1)
	for _, seen := range [][]int{nil, {4}, {4, 0, 7, 2}} {
		obs := points.Pick(x, append([]int{}, seen...))
		y := make([]float64, len(seen))
		resid := make([]float64, len(seen))
		a := make([][]float64, len(seen))
		for i, p := range seen {
			y[i] = r.NormFloat64()
			resid[i] = y[i] - mean[p]
			for _, q := range seen {
				a[i] = append(a[i], cov[p][q])
			}
		}
		for _, bound := range []bool{false, true} {
			s := m.Surrogate(1)
			if bound {
				require.NoError(t, s.(cmbo.Binder).Bind(ctx, x))
			}
			require.NoError(t, s.Fit(ctx, cmbo.Data{X: obs, Y: y, Raw: y}))
			gotMean, gotSD := predict(t, s, x)
			factor := float64(k-1) / float64(k-len(seen)-1)
			for j := range n {
				c := make([]float64, len(seen))
				for i, p := range seen {
					c[i] = cov[p][j]
				}
				wm, wv := mean[j], cov[j][j]
				if len(seen) > 0 {
					w, _ := solve(a, c)
					for i := range w {
						wm += w[i] * resid[i]
						wv -= w[i] * c[i]
					}
				}
				// The 1e-10 on the diagonal, times the condition of a.
				require.InDelta(t, wm, gotMean[j], 1e-8)
				require.InDelta(t, factor*wv, gotSD[j]*gotSD[j], 1e-8)
			}
		}
	}
}

// The factor makes the covariance unbiased: over many samples of past functions
// its mean is that of the true process.
func TestMetaBOIsUnbiased(t *testing.T) {
	if testing.Short() {
		t.Skip("statistical")
	}
	r := testRNG(t)
	const k, samples = 8, 1500
	x := randomPoints(r, 3, 2)
	truth := linalg.NewSym(3, testutil.SPD(r, 3, 20))
	var chol linalg.Cholesky
	require.NoError(t, chol.Factorize(truth))
	var sum, square2 float64
	for range samples {
		m := &metaBO{past: &past{dim: 2, workers: 1}, noiseVariance: noiseFloor}
		for range k {
			f := make([]float64, 3)
			chol.Lower().MulVecTo(f, []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()})
			s := &source{observations: observations{X: x, Z: f}}
			s.record()
			m.past.sources = append(m.past.sources, s)
		}
		s := m.Surrogate(1)
		require.NoError(t, s.Fit(ctx, cmbo.Data{X: points.First(x, 1), Y: []float64{0.3}, Raw: []float64{0.3}}))
		_, sd := predict(t, s, x)
		v := sd[2] * sd[2]
		sum += v / samples
		square2 += v * v / samples
	}
	want := truth.At(2, 2) - truth.At(2, 0)*truth.At(2, 0)/truth.At(0, 0)
	se := math.Sqrt((square2 - sum*sum) / samples)
	require.InDelta(t, want, sum, 4*se)
	require.Less(t, 4*se, want/7, "a factor of 7/6 would be seen")
}

// Where tasks have points of their own, the functions are the means of their
// processes, on a list and off it.
func TestMetaBOFromPosteriors(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 6, 9)
	m, err := learnMetaBO(ctx, square(t), tasks)
	require.NoError(t, err)
	require.Nil(t, m.past.sources[0].recorded)
	z := randomPoints(r, 5, 2)
	f := make([][]float64, 6)
	for i, src := range m.past.sources {
		f[i], _ = gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), z)
	}
	mean, cov := sampleMoments(f, 5)
	for _, bound := range []bool{false, true} {
		s := m.Surrogate(1)
		if bound {
			require.NoError(t, s.(cmbo.Binder).Bind(ctx, z))
		}
		require.NoError(t, s.Fit(ctx, cmbo.Data{}))
		gm, gs := predict(t, s, z)
		near(t, mean, gm, 1e-8, "mean")
		for j := range gs {
			require.InDelta(t, cov[j][j], gs[j]*gs[j], 1e-8)
		}
	}
	require.Greater(t, m.noiseVariance, noiseFloor)

	// More observations than tasks: regularised, finite, with the largest factor.
	s := m.Surrogate(1)
	require.NoError(t, s.Fit(ctx, dataAt(bump([]float64{0.5, 0.5}), randomPoints(r, 12, 2), 1)))
	gm, gs := predict(t, s, z)
	for j := range gm {
		require.Less(t, math.Abs(gm[j]), 10.0)
		require.False(t, math.IsNaN(gs[j]))
	}
}

// One task has no spread: its mean with the kernel of its process.
func TestMetaBOOfOneTask(t *testing.T) {
	r := testRNG(t)
	m, err := learnMetaBO(ctx, square(t), family(r, 1, 9))
	require.NoError(t, err)
	src := m.past.sources[0]
	d := dataAt(bump([]float64{0.5, 0.5}), randomPoints(r, 4, 2), 1)
	z := randomPoints(r, 5, 2)
	s := m.Surrogate(1)
	require.NoError(t, s.Fit(ctx, d))
	gm, gs := predict(t, s, z)
	mu := func(x []float64) float64 {
		m, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), linalg.NewDense(1, 2, append([]float64(nil), x...)))
		return m[0]
	}
	wm, wv := gpOracle(src.h.Kernel.Eval, mu, d.X, d.Y, []float64{m.noiseVariance, m.noiseVariance, m.noiseVariance, m.noiseVariance}, z)
	near(t, wm, gm, 1e-7, "mean")
	for j := range gs {
		require.InDelta(t, math.Sqrt(wv[j]), gs[j], 1e-6)
	}
}
