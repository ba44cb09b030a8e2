package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// The gradient of the likelihood is that of differences, and what is predicted is what the
// likelihood is of.
func TestGC3PGradient(t *testing.T) {
	r := testRNG(t)
	m := &gc3p{dim: 2, net: network{sizes: []int{2, 3, scoreWidth}, relu: true}}
	head := network{sizes: []int{scoreWidth, 2}}
	theta := append(m.net.start(r), head.start(r)...)
	x := centred(randomPoints(r, 6, 2))
	z := make([]float64, 6)
	for i := range z {
		z[i] = r.NormFloat64()
	}
	var p pass
	grad, other := make([]float64, len(theta)), make([]float64, len(theta))
	loss := m.loss(&p, theta, grad, x, z)
	s := m.predict(theta, x)
	var want float64
	for i := range z {
		u := (z[i] - s.mean[i]) / s.sd[i]
		want -= math.Log(math.Exp(-u*u/2)/s.sd[i]/math.Sqrt(2*math.Pi)) / 6
	}
	require.InEpsilon(t, want, loss, 1e-12)
	for _, i := range append(r.Perm(len(theta))[:80], len(theta)-2, len(theta)-1) {
		const h = 1e-6
		at := theta[i]
		theta[i] = at + h
		up := m.loss(&p, theta, other, x, z)
		theta[i] = at - h
		down := m.loss(&p, theta, other, x, z)
		theta[i] = at
		require.InDelta(t, (up-down)/2/h, grad[i], 1e-6, "parameter %d", i)
	}
	theta[len(theta)-1] = -800
	for _, sd := range m.predict(theta, x).sd {
		require.Equal(t, minScoreSD, sd, "the least deviation")
	}
	v, slope := softplus(-800)
	require.Equal(t, 0.0, v+slope)
	v, slope = softplus(800)
	require.Equal(t, 801.0, v+slope)
}

// The network finds mean and deviation of scores, units playing no part, and runs begin with
// draws of them.
func TestGC3PLearnsScores(t *testing.T) {
	testutil.SkipRace(t, "TestMethodsAreDeterministic has its goroutines")
	r := testRNG(t)
	var tasks []cmbo.Task
	for i := range 8 {
		task := cmbo.Task{ID: string(rune('a' + i))}
		for range 60 {
			x := []float64{r.Float64(), r.Float64()}
			sd := 0.1
			if x[1] > 0.5 {
				sd = 0.8
			}
			task.X = append(task.X, x)
			task.Y = append(task.Y, math.Exp(float64(i)*(2*x[0]-1+sd*r.NormFloat64())))
		}
		tasks = append(tasks, task)
	}
	tasks = tasks[1:] // the first one is constant
	m, err := learnGC3P(ctx, square(t), tasks, set(func(c *config) { c.updates = 150 }))
	require.NoError(t, err)
	s := m.predict(m.theta, centred(linalg.NewDense(4, 2, []float64{0.1, 0.2, 0.9, 0.2, 0.1, 0.8, 0.9, 0.8})))
	require.Greater(t, s.mean[1], s.mean[0]+1)
	require.Greater(t, s.mean[3], s.mean[2]+0.5)
	require.Less(t, s.sd[0], 0.7*s.sd[2])
	require.Less(t, s.sd[1], 0.7*s.sd[3])

	run := m.Surrogate(5).(*gc3pRun)
	require.NoError(t, run.Fit(ctx, cmbo.Data{Step: 1}))
	x := randomPoints(r, 5, 2)
	got := make([]float64, 5)
	require.NoError(t, run.Score(ctx, got, x, acq.EI{}, math.NaN()))
	require.ErrorIs(t, run.Score(ctx, slices.Clone(got), x, nil, 0), cmbo.ErrOption)
	src := rng.Stream(5, "baseline gc3p draw", 1)
	at := m.predict(m.theta, centred(x))
	for i := range got {
		require.Equal(t, at.mean[i]+at.sd[i]*src.NormFloat64(), got[i])
	}
}

// From the fifth value on the expected improvement is that of the stated process, whatever
// rises with the values; predictions are on the line through scores and values.
func TestGC3PScore(t *testing.T) {
	r := testRNG(t)
	m, err := learnGC3P(ctx, square(t), family(r, 4, 12), set(func(c *config) { c.updates = 50 }))
	require.NoError(t, err)
	x, z := randomPoints(r, 9, 2), randomPoints(r, 5, 2)
	f := bump([]float64{0.6, 0.4})
	d := dataAt(f, x, 10)
	warped := dataAt(func(x []float64) float64 { return math.Exp(9 * f(x)) }, x, 10)
	s := m.Surrogate(1).(*gc3pRun)
	require.NoError(t, s.Bind(ctx, z))
	require.NoError(t, s.Fit(ctx, d))
	got, same := make([]float64, 5), make([]float64, 5)
	require.NoError(t, s.Score(ctx, got, z, acq.EI{Best: 77}, 77))
	scored := cmbo.Copula.Apply(d.Raw)
	at, there := m.predict(m.theta, centred(x)), m.predict(m.theta, centred(z))
	resid := make([]float64, 9)
	for i := range resid {
		resid[i] = (scored[i] - at.mean[i]) / at.sd[i]
	}
	mu, v := gpOracle(s.h.Kernel.Eval, zeroMean, x, resid, s.h.Noise(make([]float64, 9)), z)
	mean, sd := predict(t, s, z)
	slope := unit(d.Y, scored)
	for j := range got {
		score, dev := there.mean[j]+there.sd[j]*mu[j], there.sd[j]*math.Sqrt(v[j])
		require.InDelta(t, acq.EI{Best: slices.Max(scored)}.Score(score, dev), got[j], 1e-6)
		var line float64
		for i := range scored {
			line += (d.Y[i] - slope*scored[i]) / 9
		}
		require.InDelta(t, line+slope*score, mean[j], 1e-8)
		require.InDelta(t, slope*dev, sd[j], 1e-8)
	}
	other := m.Surrogate(1).(*gc3pRun)
	require.NoError(t, other.Fit(ctx, warped))
	require.NoError(t, other.Score(ctx, same, z, acq.EI{}, 0))
	near(t, got, same, 1e-9, "warped values")
	require.Equal(t, 5, points.Len(z))

	// Known noise is left out, of the fit too.
	for i := range d.Y {
		setNoise(&d, i, 0.5)
	}
	noisy := m.Surrogate(1).(*gc3pRun)
	require.NoError(t, noisy.Fit(ctx, d))
	require.NoError(t, noisy.Score(ctx, same, z, acq.EI{}, 0))
	near(t, got, same, 1e-12, "known noise")
	require.Equal(t, s.h, noisy.h)
}
