package baseline

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// empirical makes a model from observations and a base process that is given.
func empirical(t testing.TB, obs []observations, base hierarchy.Base, gridPoints *linalg.Dense, c *config) *empiricalGP {
	m, err := newEmpiricalGP(ctx, base, gridPoints)
	require.NoError(t, err)
	require.NoError(t, m.expectMaximize(ctx, obs, c))
	return m
}

// With every task known everywhere, up to noise that vanishes, EM ends at the
// sample mean and covariance.
func TestEMOnCompleteData(t *testing.T) {
	r := testRNG(t)
	const k, n = 7, 5
	x := randomPoints(r, n, 2)
	obs := make([]observations, k)
	f := make([][]float64, k)
	for i := range obs {
		f[i] = make([]float64, n)
		for j := range f[i] {
			f[i][j] = r.NormFloat64() + float64(j)
		}
		obs[i] = observations{ID: "t", X: x, Z: f[i], Noise: make([]float64, n)}
	}
	base := hierarchy.Base{Mean: 0.4, Kernel: kernel.Scale(1, kernel.Matern32(0.5)), NoiseVariance: 1e-9}
	m := empirical(t, obs, base, x, &config{iterations: 3, workers: 2})
	mean, cov := sampleMoments(f, k)
	near(t, mean, m.mean, 1e-7, "mean")
	for i := range n {
		near(t, cov[i], m.cov.Row(i), 1e-7, "covariance")
	}
	// Shrinkage is towards the base kernel at the same trace.
	shrunk := empirical(t, obs, base, x, &config{iterations: 1, shrinkage: 0.3, workers: 1})
	require.InEpsilon(t, m.cov.Trace(), shrunk.cov.Trace(), 1e-6)
	for i := range n {
		for j := range n {
			want := 0.7*cov[i][j] + 0.3*m.cov.Trace()/m.gram.Trace()*m.gram.At(i, j)
			require.InDelta(t, want, shrunk.cov.At(i, j), 1e-6)
		}
	}
}

// partial draws tasks seen at some of the grid points each.
func partial(t testing.TB, k, n, seen int) ([]observations, *linalg.Dense) {
	r := testRNG(t)
	x := randomPoints(r, n, 2)
	obs := make([]observations, k)
	for i := range obs {
		idx := r.Perm(n)[:seen]
		z := make([]float64, seen)
		a, b := r.NormFloat64(), r.NormFloat64()
		for j, p := range idx {
			z[j] = 1 + a*x.At(p, 0) + b*x.At(p, 1) + 0.1*r.NormFloat64()
		}
		obs[i] = observations{ID: "t", X: points.Pick(x, idx), Z: z, Noise: make([]float64, seen)}
	}
	return obs, x
}

// Each step raises the likelihood of the tasks, on a grid that has all of their
// points and on one that has not, and the likelihood reported is the density of
// the values under the prior.
func TestEMRaisesTheLikelihood(t *testing.T) {
	obs, x := partial(t, 12, 10, 5)
	obs[3].Noise[1] = 0.3
	base := hierarchy.Base{Mean: 0, Kernel: kernel.Scale(1, kernel.Matern32(0.5)), NoiseVariance: 0.01}
	for name, g := range map[string]*linalg.Dense{"all points": x, "some": points.First(x, 6)} {
		t.Run(name, func(t *testing.T) {
			_, logs, err := hierarchy.EM(ctx, base, g, obs, 0, 12, 2)
			require.NoError(t, err)
			require.Len(t, logs, 12)
			for i := 1; i < len(logs); i++ {
				require.GreaterOrEqual(t, logs[i], logs[i-1]-1e-9, "step %d", i)
			}
			require.Greater(t, logs[11], logs[0]+1)
			// At the start the prior is the base process.
			var want float64
			for _, o := range obs {
				n := len(o.Z)
				a := make([][]float64, n)
				for i := range a {
					a[i] = make([]float64, n)
					for j := range n {
						a[i][j] = base.Kernel.Eval(o.X.Row(i), o.X.Row(j))
					}
					a[i][i] += gp.Noise(o.Noise, len(o.Z), base.NoiseVariance)[i]
				}
				alpha, logDet := solve(a, o.Z)
				want -= 0.5 * (linalg.Dot(alpha, o.Z) + logDet + float64(n)*math.Log(2*math.Pi))
			}
			require.InEpsilon(t, want, logs[0], 1e-7)
		})
	}
}

// One step on partial data, by the textbook formulas for the joint distribution
// of a task's values on the grid.
func TestEMStep(t *testing.T) {
	obs, x := partial(t, 4, 6, 3)
	base := hierarchy.Base{Mean: 0.2, Kernel: kernel.Scale(1, kernel.Matern32(0.5)), NoiseVariance: 0.05}
	m := empirical(t, obs, base, x, &config{iterations: 1, workers: 1})
	const n = 6
	means, covs := make([][]float64, 4), make([][][]float64, 4)
	for i, o := range obs {
		mu := func([]float64) float64 { return 0.2 }
		means[i], _ = gpOracle(base.Kernel.Eval, mu, o.X, o.Z, gp.Noise(o.Noise, len(o.Z), base.NoiseVariance), x)
		// cov(f_p, f_q | y) by polarisation: the variance of f_p + f_q.
		covs[i] = make([][]float64, n)
		for p := range n {
			covs[i][p] = make([]float64, n)
			for q := range n {
				a := make([][]float64, len(o.Z))
				cp, cq := make([]float64, len(o.Z)), make([]float64, len(o.Z))
				for s := range a {
					a[s] = make([]float64, len(o.Z))
					for u := range a[s] {
						a[s][u] = base.Kernel.Eval(o.X.Row(s), o.X.Row(u))
					}
					a[s][s] += 0.05
					cp[s], cq[s] = base.Kernel.Eval(o.X.Row(s), x.Row(p)), base.Kernel.Eval(o.X.Row(s), x.Row(q))
				}
				w, _ := solve(a, cq)
				covs[i][p][q] = base.Kernel.Eval(x.Row(p), x.Row(q)) - linalg.Dot(cp, w)
			}
		}
	}
	mean, spread := sampleMoments(means, 4)
	near(t, mean, m.mean, 1e-10, "mean")
	for p := range n {
		want := make([]float64, n)
		for q := range n {
			want[q] = spread[p][q]
			for i := range covs {
				want[q] += covs[i][p][q] / 4
			}
		}
		near(t, want, m.cov.Row(p), 1e-10, "covariance")
	}
}

// Off the grid the prior is the base process with its values on the grid replaced:
// as a draw would be. On the grid it is mean and covariance as learned.
func TestEmpiricalPrior(t *testing.T) {
	obs, x := partial(t, 8, 9, 5)
	base := hierarchy.Base{Mean: 0.1, Kernel: kernel.Scale(0.8, kernel.Matern52(0.6)), NoiseVariance: 0.02}
	m := empirical(t, obs, base, x, &config{iterations: 5, shrinkage: 0.2, workers: 1})
	r := testRNG(t)
	off := randomPoints(r, 3, 2)
	all := linalg.NewDense(12, 2, nil)
	for i := range 9 {
		copy(all.Row(i), x.Row(i))
	}
	for i := range 3 {
		copy(all.Row(9+i), off.Row(i))
	}
	for _, bound := range []bool{false, true} {
		s := m.Surrogate(1).(*empiricalRun)
		if bound {
			require.NoError(t, s.Bind(ctx, all))
		}
		mean, variance := make([]float64, 12), make([]float64, 12)
		require.NoError(t, s.Moments(ctx, mean, variance, all))
		var cov linalg.Sym
		var cross linalg.Dense
		require.NoError(t, s.Gram(ctx, &cov, all))
		require.NoError(t, s.Cov(ctx, &cross, all, all))
		near(t, m.mean, mean[:9], 1e-12, "mean on the grid")
		for i := range 9 {
			near(t, m.cov.Row(i), cov.Row(i)[:9], 1e-12, "covariance on the grid")
		}
		for i := range 12 {
			require.InDelta(t, cov.At(i, i), variance[i], 1e-10)
			near(t, cov.Row(i), cross.Row(i), 1e-12, "cross covariance")
		}
		// Off the grid: conditioned on grid values that are themselves random.
		var gram [][]float64
		for i := range 9 {
			row := make([]float64, 9)
			for j := range row {
				row[j] = base.Kernel.Eval(x.Row(i), x.Row(j))
			}
			gram = append(gram, row)
		}
		for p := range 3 {
			c := make([]float64, 9)
			for i := range c {
				c[i] = base.Kernel.Eval(x.Row(i), off.Row(p))
			}
			b, _ := solve(gram, c)
			wantMean, wantVar := 0.1, base.Kernel.Eval(off.Row(p), off.Row(p))
			for i := range b {
				wantMean += b[i] * (m.mean[i] - 0.1)
				wantVar -= b[i] * c[i]
				for j := range b {
					wantVar += b[i] * m.cov.At(i, j) * b[j]
				}
			}
			require.InDelta(t, wantMean, mean[9+p], 1e-8)
			require.InDelta(t, wantVar, variance[9+p], 1e-8)
		}
		var chol linalg.Cholesky
		_, err := chol.FactorizeJitter(&cov, 1e-10)
		require.NoError(t, err, "a covariance")
	}
}

// From enough tasks EM finds the process they were drawn from, spread between tasks
// included, though each shows a fifth of the grid.
func TestEMRecoversTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("statistical")
	}
	const k, n = 400, 10
	obs, x := partial(t, k, n, 4)
	base := hierarchy.Base{Mean: 1, Kernel: kernel.Scale(1, kernel.Matern32(1)), NoiseVariance: 0.01}
	m := empirical(t, obs, base, x, &config{iterations: 60, workers: 2})
	for p := range n {
		vp := x.At(p, 0)*x.At(p, 0) + x.At(p, 1)*x.At(p, 1)
		// Some 160 tasks show each point.
		require.InDelta(t, 1, m.mean[p], 5*math.Sqrt((vp+0.01)/160))
		for q := range n {
			vq := x.At(q, 0)*x.At(q, 0) + x.At(q, 1)*x.At(q, 1)
			want := x.At(p, 0)*x.At(q, 0) + x.At(p, 1)*x.At(q, 1)
			require.InDelta(t, want, m.cov.At(p, q), 5*math.Sqrt((vp*vq+want*want)/100)+0.02)
		}
	}
}

// A grid is the distinct points of the tasks, or a sample of so many.
func TestGrid(t *testing.T) {
	obs, x := partial(t, 12, 10, 5)
	g := gridOf(obs, &config{seed: 1, grid: 10})
	require.Equal(t, 10, points.Len(g))
	g = gridOf(obs, &config{seed: 1, grid: 4})
	require.Equal(t, 4, points.Len(g))
	known := map[string]bool{}
	for i := range points.Len(x) {
		known[points.Key(x.Row(i))] = true
	}
	for i := range 4 {
		require.True(t, known[points.Key(g.Row(i))])
	}
	m, err := learnEmpiricalGP(ctx, square(t), publicTasks(distinctIDs(obs)), set(func(c *config) { c.grid, c.iterations = 4, 2 }))
	require.NoError(t, err)
	require.Equal(t, 4, points.Len(m.grid))
	_, err = learnEmpiricalGP(ctx, square(t), nil)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
}

func distinctIDs(obs []observations) []observations {
	for i := range obs {
		obs[i].ID = string(rune('a' + i))
	}
	return obs
}

// The share of shrinkage by hand, and on draws of a Gaussian, where no constant share
// is better by a fifth.
func TestOAS(t *testing.T) {
	diag := func(v ...float64) *linalg.Sym {
		s := linalg.NewSym(len(v), nil)
		for i, x := range v {
			s.Set(i, i, x)
		}
		return s
	}
	require.InDelta(t, (0.5*114+256)/(20.5*(114-64)), oas(diag(1, 2, 3, 10), 20), 1e-15)
	require.Equal(t, 1.0, oas(diag(1, 3), 3))
	require.Equal(t, 1.0, oas(diag(2, 2, 2), 50))
	r := testRNG(t)
	truth := []float64{8, 4, 2, 1, 0.5, 0.25}
	p := len(truth)
	const draws, repeats = 12, 400
	loss := make([]float64, 22) // of the shares 0, .05, … 1, and of the estimator's
	for range repeats {
		s := linalg.NewSym(p, nil)
		for range draws {
			x := make([]float64, p)
			for i := range x {
				x[i] = math.Sqrt(truth[i]) * r.NormFloat64()
			}
			for i := range x {
				for j := range i + 1 {
					s.Set(i, j, s.At(i, j)+x[i]*x[j]/draws)
				}
			}
		}
		for k := range loss {
			share := float64(k) / 20
			if k == 21 {
				share = oas(s, draws)
			}
			for i := range p {
				for j := range p {
					e := (1 - share) * s.At(i, j)
					if i == j {
						e += share*s.Trace()/float64(p) - truth[i]
					}
					loss[k] += e * e / repeats
				}
			}
		}
	}
	best := math.Inf(1)
	for _, l := range loss[:21] {
		best = min(best, l)
	}
	require.Less(t, loss[21], 1.2*best, "%v", loss)
	require.Less(t, loss[21], 0.8*loss[0])
	require.Less(t, loss[21], 0.8*loss[20])

	// The method draws the covariance that EM finds without shrinkage.
	tasks := family(r, 6, 9)
	m, err := learnEmpiricalGP(ctx, square(t), tasks, shrinksByOAS)
	require.NoError(t, err)
	plain, err := learnEmpiricalGP(ctx, square(t), tasks, set(func(c *config) { c.shrinkage = 0 }))
	require.NoError(t, err)
	share := oas(plain.cov, 6)
	require.Greater(t, share, 0.0)
	require.Less(t, share, 1.0)
	for i := range plain.cov.Dim() {
		for j := range i + 1 {
			want := (1-share)*plain.cov.At(i, j) + share*plain.cov.Trace()/plain.gram.Trace()*plain.gram.At(i, j)
			require.InDelta(t, want, m.cov.At(i, j), 1e-12)
			require.InDelta(t, m.cov.At(i, j)-m.gram.At(i, j), m.delta.At(i, j), 1e-12)
		}
	}
}

// The noise variance fitted is the most likely one, found here among many by elimination;
// values with a noise of their own keep it, and predictions follow.
func TestFittedNoise(t *testing.T) {
	r := testRNG(t)
	m, err := learnEmpiricalGP(ctx, square(t), family(r, 5, 9), fitsNoise, set(func(c *config) { c.iterations = 3 }))
	require.NoError(t, err)
	x, z := randomPoints(r, 12, 2), randomPoints(r, 3, 2)
	f := bump([]float64{0.6, 0.4})
	var found []float64
	for _, sd := range []float64{0.01, 0.5} {
		d := dataAt(func(x []float64) float64 { return f(x) + sd*r.NormFloat64() }, x, 1)
		setNoise(&d, 2, 0.04)
		s := m.Surrogate(1).(*empiricalRun)
		require.NoError(t, s.Fit(ctx, d))
		mean, variance := make([]float64, 12), make([]float64, 12)
		require.NoError(t, s.Moments(ctx, mean, variance, x))
		var c linalg.Sym
		require.NoError(t, s.Gram(ctx, &c, x))
		loss := func(log float64) float64 {
			a, b := make([][]float64, 12), make([]float64, 12)
			for i := range a {
				a[i] = append([]float64(nil), c.Row(i)...)
				a[i][i] += gp.Noise(d.NoiseVariance, 12, math.Exp(log))[i]
				b[i] = d.Y[i] - mean[i]
			}
			alpha, logDet := solve(a, b)
			return (log+4)*(log+4)/2 + log + (linalg.Dot(alpha, b)+logDet)/2
		}
		best, least := 0.0, math.Inf(1)
		for i := range 1000 {
			if log := math.Log(1e-4) * (1 - float64(i)/999); loss(log) < least {
				best, least = log, loss(log)
			}
		}
		require.InDelta(t, best, math.Log(s.NoiseVariance()), 0.03)
		found = append(found, s.NoiseVariance())
		want, _ := gpOracle(m.kernelAt(t), m.meanAt(t), x, d.Y, gp.Noise(d.NoiseVariance, 12, s.NoiseVariance()), z)
		got, _ := predict(t, s, z)
		near(t, want, got, 1e-8, "prediction")
		require.NoError(t, s.Fit(ctx, firstOf(d, 1, 2)))
		require.NotEqual(t, m.base.NoiseVariance, s.NoiseVariance())
		require.NoError(t, s.Fit(ctx, cmbo.Data{}))
		require.Equal(t, m.base.NoiseVariance, s.NoiseVariance())
	}
	require.Greater(t, found[1], 5*found[0])
}

// kernelAt and meanAt are the prior's covariance and mean, point by point.
func (m *empiricalGP) kernelAt(t *testing.T) func(x, y []float64) float64 {
	s := m.Surrogate(1).(*empiricalRun)
	return func(x, y []float64) float64 {
		var c linalg.Dense
		require.NoError(t, s.Cov(ctx, &c, linalg.NewDense(1, 2, x), linalg.NewDense(1, 2, y)))
		return c.At(0, 0)
	}
}

func (m *empiricalGP) meanAt(t *testing.T) func(x []float64) float64 {
	s := m.Surrogate(1).(*empiricalRun)
	return func(x []float64) float64 {
		mean, v := []float64{0}, []float64{0}
		require.NoError(t, s.Moments(ctx, mean, v, linalg.NewDense(1, 2, x)))
		return mean[0]
	}
}
