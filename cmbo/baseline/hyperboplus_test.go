package baseline

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

func TestDigamma(t *testing.T) {
	const euler = 0.577215664901532860606512090082402431
	for _, tt := range []struct{ x, psi, tri float64 }{
		{1, -euler, math.Pi * math.Pi / 6},
		{0.5, -euler - 2*math.Ln2, math.Pi * math.Pi / 2},
		{2, 1 - euler, math.Pi*math.Pi/6 - 1},
		{0.25, -euler - math.Pi/2 - 3*math.Ln2, math.Pi*math.Pi + 8*0.915965594177219015054603514932384110774},
	} {
		// Some ten terms of the recurrence, each rounded.
		require.InEpsilon(t, tt.psi, digamma(tt.x), 1e-13)
		require.InEpsilon(t, tt.tri, trigamma(tt.x), 1e-13)
	}
	for _, x := range []float64{1e-3, 0.7, 3.3, 9.9, 40, 1e5} {
		// ψ is the derivative of ln Γ, ψ′ of ψ; the step costs half of the digits.
		h := 1e-5 * x
		a, _ := math.Lgamma(x + h)
		b, _ := math.Lgamma(x - h)
		require.InDelta(t, (a-b)/(2*h), digamma(x), 1e-5*(1+math.Abs(digamma(x))))
		require.InEpsilon(t, (digamma(x+h)-digamma(x-h))/(2*h), trigamma(x), 1e-5)
	}
}

// The fit is where the likelihood is stationary and lower on either side; draws
// have the moments of the law.
func TestGammaLaw(t *testing.T) {
	r := testRNG(t)
	for _, want := range []gammaLaw{{0.4, 2}, {1, 0.5}, {7, 3}} {
		const n = 20000
		v := make([]float64, n)
		for i := range v {
			v[i] = want.draw(r)
		}
		m, variance := stat.MeanVariance(v)
		mu, va := want.shape*want.scale, want.shape*want.scale*want.scale
		kurt := 6/want.shape + 2
		require.InDelta(t, mu, m, 5*math.Sqrt(va/n))
		require.InDelta(t, va, variance, 5*va*math.Sqrt(kurt/n))

		got := fitGamma(v)
		like := func(g gammaLaw) float64 {
			lg, _ := math.Lgamma(g.shape)
			s := -lg - g.shape*math.Log(g.scale)
			for _, x := range v {
				s += ((g.shape-1)*math.Log(x) - x/g.scale) / n
			}
			return s
		}
		top := like(got)
		for _, f := range []float64{0.99, 1.01} {
			require.Less(t, like(gammaLaw{got.shape * f, got.scale}), top)
			require.Less(t, like(gammaLaw{got.shape, got.scale * f}), top)
			require.Less(t, like(gammaLaw{got.shape * f, got.scale / f}), top)
		}
		require.InEpsilon(t, want.shape, got.shape, 0.06)
		logs := 0.0
		for _, x := range v {
			logs += math.Log(x/m) / n
		}
		require.InDelta(t, logs, digamma(got.shape)-math.Log(got.shape), 1e-10)
	}
	same := fitGamma([]float64{3, 3, 3})
	require.InEpsilon(t, 3, same.shape*same.scale, 1e-12)
	require.InDelta(t, 3, same.draw(r), 0.2)
}

// Draws of parameters are weighed by the likelihood of the data; predictions are
// the mixture's and acquisitions the weighted sum.
func TestHyperBOPlus(t *testing.T) {
	r := testRNG(t)
	m, err := learnHyperBOPlus(ctx, square(t), family(r, 5, 12), set(func(c *config) { c.samples = 9 }))
	require.NoError(t, err)
	d := dataAt(bump([]float64{0.6, 0.2}), randomPoints(r, 6, 2), 1)
	z := randomPoints(r, 4, 2)
	s := m.Surrogate(3).(*hierarchyRun)
	require.NoError(t, s.Bind(ctx, z))
	require.NoError(t, s.Fit(ctx, d))
	like := make([]float64, 9)
	var total float64
	means, sds := make([][]float64, 9), make([][]float64, 9)
	for i, mem := range s.members {
		f := mem.prior.(gp.FromKernel)
		n := len(d.Y)
		a := make([][]float64, n)
		resid := make([]float64, n)
		noise := make([]float64, n)
		for p := range a {
			a[p] = make([]float64, n)
			for q := range n {
				a[p][q] = f.Kernel.Eval(d.X.Row(p), d.X.Row(q))
			}
			a[p][p] += mem.noiseVariance
			noise[p] = mem.noiseVariance
			resid[p] = d.Y[p] - f.Mean
		}
		alpha, logDet := solve(a, resid)
		like[i] = math.Exp(-0.5 * (linalg.Dot(alpha, resid) + logDet))
		total += like[i]
		mu, v := gpOracle(f.Kernel.Eval, func([]float64) float64 { return f.Mean }, d.X, d.Y, noise, z)
		for j := range v {
			v[j] = math.Sqrt(v[j])
		}
		means[i], sds[i] = mu, v
	}
	mean, sd := []float64{7, 7, 7, 7}, []float64{7, 7, 7, 7} // which are overwritten
	require.NoError(t, s.Predict(ctx, mean, sd, z))
	score := map[string][]float64{}
	for name, f := range map[string]acq.Func{"UCB": acq.UCB{Beta: 3}, "EI": acq.EI{Best: 1}, "PI": acq.PI{Target: 1.2}} {
		v := make([]float64, 4)
		require.NoError(t, s.Score(ctx, v, z, f, 1))
		score[name] = v
	}
	for j := range mean {
		var wm, wv, ucb, ei, pi float64
		for i := range like {
			p := like[i] / total
			wm += p * means[i][j]
			wv += p * (means[i][j]*means[i][j] + sds[i][j]*sds[i][j])
			ucb += p * (means[i][j] + 3*sds[i][j])
			ei += p * acq.ExpectedImprovement(means[i][j], sds[i][j], 1)
			pi += p * special.NormCDF((means[i][j]-1.2)/sds[i][j])
		}
		require.InDelta(t, wm, mean[j], 1e-7)
		require.InDelta(t, math.Sqrt(wv-wm*wm), sd[j], 1e-6)
		require.InEpsilon(t, ucb, score["UCB"][j], 1e-6)
		require.InEpsilon(t, ei, math.Exp(score["EI"][j]), 1e-5)
		require.InEpsilon(t, pi, math.Exp(score["PI"][j]), 1e-5)
	}
	// Bound or not, the same.
	free := m.Surrogate(3)
	require.NoError(t, free.Fit(ctx, d))
	m2, s2 := predict(t, free, z)
	require.Equal(t, mean, m2)
	require.Equal(t, sd, s2)
	_, err = learnHyperBOPlus(ctx, square(t), nil)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
}

// Tasks that agree on their parameters leave nothing to draw: the mixture is the
// Gaussian process that they share.
func TestHyperBOPlusOfEqualTasks(t *testing.T) {
	r := testRNG(t)
	task := family(r, 1, 20)[0]
	var tasks []cmbo.Task
	for _, id := range []string{"a", "b", "c"} {
		tasks = append(tasks, cmbo.Task{ID: id, X: task.X, Y: task.Y})
	}
	// An isotropic kernel: with a length for each coordinate these differ.
	m, err := learnHyperBOPlus(ctx, square(t), tasks, withKernel(kernel.Matern32, false))
	require.NoError(t, err)
	c, obs, err := settle(config{method: "test"}, square(t), tasks[:1], nil)
	require.NoError(t, err)
	gp, err := learnPast(ctx, 2, obs, c)
	require.NoError(t, err)
	h := gp.sources[0].h
	require.InEpsilon(t, math.Exp(h.Kernel.AppendParams(nil)[1]), m.length.shape*m.length.scale, 0.05)
	require.InEpsilon(t, h.NoiseVariance, m.noise.shape*m.noise.scale, 0.3)
	require.InDelta(t, 0, m.sd, 0.02)
}
