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

// The marginal likelihood of a task is that of its dense covariance, and its derivatives
// are those of differences, with noise variances given or not.
func TestLinearEvidence(t *testing.T) {
	r := testRNG(t)
	for _, n := range []int{1, 4, 9} {
		phi := linalg.NewDense(n, 6, nil)
		y, noise := make([]float64, n), make([]float64, n)
		for i := range n {
			y[i] = r.NormFloat64()
			for j := range 6 {
				phi.Set(i, j, r.NormFloat64())
			}
		}
		noise[n/2] = 0.3
		const la, lb = 0.7, 1.9
		direct := func(la, lb float64) float64 {
			k := make([][]float64, n)
			for i := range k {
				k[i] = make([]float64, n)
				for j := range n {
					k[i][j] = linalg.Dot(phi.Row(i), phi.Row(j)) / math.Exp(la)
				}
				v := math.Exp(-lb)
				if noise[i] > 0 {
					v = noise[i]
				}
				k[i][i] += v
			}
			a, logDet := solve(k, y)
			return 0.5 * (linalg.Dot(a, y) + logDet + float64(n)*math.Log(2*math.Pi))
		}
		var dPhi linalg.Dense
		dLog := make([]float64, 2)
		require.InEpsilon(t, direct(la, lb), linearEvidence(&dPhi, dLog, phi, y, noise, la, lb), 1e-12)
		const h = 1e-5
		require.InDelta(t, (direct(la+h, lb)-direct(la-h, lb))/2/h, dLog[0], 1e-7)
		require.InDelta(t, (direct(la, lb+h)-direct(la, lb-h))/2/h, dLog[1], 1e-7)
		for i := range n {
			for j := range 6 {
				at := phi.At(i, j)
				phi.Set(i, j, at+h)
				up := direct(la, lb)
				phi.Set(i, j, at-h)
				down := direct(la, lb)
				phi.Set(i, j, at)
				require.InDelta(t, (up-down)/2/h, dPhi.At(i, j), 1e-7, "feature %d of %d", j, i)
			}
		}
	}
}

// The gradient of the whole objective is that of differences.
func TestABLRGradient(t *testing.T) {
	r := testRNG(t)
	obs, err := prepare(square(t), family(r, 3, 6), &config{})
	require.NoError(t, err)
	net := network{sizes: []int{2, 4, ablrWidth}}
	o := newABLRObjective(&net, obs, 2)
	theta := net.start(r)
	for range obs {
		theta = append(theta, 3+r.NormFloat64(), 4+r.NormFloat64())
	}
	grad, other := make([]float64, len(theta)), make([]float64, len(theta))
	o.eval(ctx, theta, grad)
	for _, i := range append(r.Perm(net.size())[:60], net.size(), net.size()+3, net.size()+5) {
		const h = 1e-5
		at := theta[i]
		theta[i] = at + h
		up := o.eval(ctx, theta, other)
		theta[i] = at - h
		down := o.eval(ctx, theta, other)
		theta[i] = at
		require.InDelta(t, (up-down)/2/h, grad[i], 1e-7, "parameter %d", i)
	}
}

// A run predicts as linear regression on the features does, by weights in closed form, with
// the precisions of highest posterior density.
func TestABLRPrediction(t *testing.T) {
	testutil.SkipRace(t, "TestMethodsAreDeterministic has its goroutines")
	r := testRNG(t)
	m, err := learnABLR(ctx, square(t), family(r, 4, 10))
	require.NoError(t, err)
	d := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, 8, 2), 1)
	z := randomPoints(r, 4, 2)
	s := m.Surrogate(1).(*ablrRun)
	require.NoError(t, s.Bind(ctx, z))
	require.NoError(t, s.Fit(ctx, d))
	mean, sd := predict(t, s, z)
	phi, at := m.net.forward(new(pass), m.theta, centred(d.X)), m.net.forward(new(pass), m.theta, centred(z))
	// S⁻¹ = α·I + β·Φᵀ·Φ, the weights' mean β·S·Φᵀ·y.
	beta := 1 / s.noiseVariance
	a, right := make([][]float64, ablrWidth), make([]float64, ablrWidth)
	for j := range a {
		a[j] = make([]float64, ablrWidth)
		a[j][j] = 1 / s.scale
		for i := range points.Len(phi) {
			linalg.Axpy(a[j], beta*phi.At(i, j), phi.Row(i))
			right[j] += beta * phi.At(i, j) * d.Y[i]
		}
	}
	w, _ := solve(a, right)
	for j := range mean {
		require.InDelta(t, linalg.Dot(w, at.Row(j)), mean[j], 1e-7)
		v, _ := solve(a, at.Row(j))
		require.InDelta(t, math.Sqrt(linalg.Dot(v, at.Row(j))), sd[j], 1e-7)
	}
	// Covariances of points with themselves are those with others, and their diagonal the variances.
	var cov linalg.Dense
	var gram linalg.Sym
	variance := make([]float64, 4)
	require.NoError(t, s.featurePrior.Cov(ctx, &cov, z, z))
	require.NoError(t, s.featurePrior.Gram(ctx, &gram, z))
	require.NoError(t, s.featurePrior.Moments(ctx, mean, variance, z))
	for i := range variance {
		require.InEpsilon(t, linalg.Dot(at.Row(i), at.Row(i))*s.scale, variance[i], 1e-12)
		for j := range variance {
			require.InDelta(t, linalg.Dot(at.Row(i), at.Row(j))*s.scale, cov.At(i, j), 1e-12*variance[i])
			require.InDelta(t, cov.At(i, j), gram.At(i, j), 1e-12*variance[i])
		}
	}
	require.NotEqual(t, 1.0, s.scale)
	density := func(la, lb float64) float64 {
		var unused linalg.Dense
		u, v := la-m.alpha[0], lb-m.beta[0]
		return linearEvidence(&unused, make([]float64, 2), phi, d.Y, d.NoiseVariance, la, lb) + u*u/m.alpha[1]/2 + v*v/m.beta[1]/2
	}
	la, lb := -math.Log(s.scale), -math.Log(s.noiseVariance)
	for _, step := range [][2]float64{{0.1, 0}, {-0.1, 0}, {0, 0.1}, {0, -0.1}} {
		require.Less(t, density(la, lb), density(la+step[0], lb+step[1]))
	}
	require.NoError(t, s.Fit(ctx, cmbo.Data{}))
	require.Equal(t, math.Exp(-m.alpha[0]), s.scale)
}

// A task whose rows are all listed twice is learned from as one that lists them once; rows of other
// values at the same points stay.
func TestABLRRepetitions(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 8)
	twice := make([]cmbo.Task, len(tasks))
	for i, task := range tasks {
		twice[i] = cmbo.Task{ID: task.ID, X: append(task.X, task.X...), Y: append(task.Y, task.Y...)}
	}
	raw := WithYPolicy(cmbo.RawValues)
	once, err := learnABLR(ctx, square(t), tasks, raw, brief)
	require.NoError(t, err)
	again, err := learnABLR(ctx, square(t), twice, raw, brief)
	require.NoError(t, err)
	require.Equal(t, once.theta, again.theta)
	require.Equal(t, once.beta, again.beta)

	x := linalg.NewDense(5, 1, []float64{.1, .2, .1, .1, .2})
	o := distinct(observations{X: x, Z: []float64{1, 2, 1, 3, 2}, Noise: []float64{0, 0, 0, 0, 1}})
	require.True(t, points.Equal(o.X, linalg.NewDense(4, 1, []float64{.1, .2, .1, .2})))
	require.Equal(t, []float64{1, 2, 3, 2}, o.Z)
	require.Equal(t, []float64{0, 0, 0, 1}, o.Noise)
}

// Features shared by many tasks predict a new one from a few values better than a process of
// its own does.
func TestABLRTransfers(t *testing.T) {
	testutil.SkipShort(t, "it compares losses")
	r := testRNG(t)
	f := func(a float64) func(x []float64) float64 {
		return func(x []float64) float64 { return a * math.Sin(5*x[0]+2*x[1]*x[1]) }
	}
	var tasks []cmbo.Task
	for i := range 12 {
		tasks = append(tasks, taskOf(t, string(rune('a'+i)), f(r.NormFloat64()), randomPoints(r, 25, 2)))
	}
	m, err := learnABLR(ctx, square(t), tasks)
	require.NoError(t, err)
	alone, err := learnPlainGP(ctx, square(t), nil)
	require.NoError(t, err)
	d, z := dataAt(f(1.5), randomPoints(r, 5, 2), 1), randomPoints(r, 200, 2)
	u := unit(d.Raw, d.Y)
	var loss [2]float64
	for k, s := range []cmbo.Surrogate{m.Surrogate(1), alone.Surrogate(1)} {
		require.NoError(t, s.Fit(ctx, d))
		mean, _ := predict(t, s, z)
		for i := range mean {
			e := d.Raw[0] + u*(mean[i]-d.Y[0]) - f(1.5)(z.Row(i))
			loss[k] += e * e / 200
		}
	}
	require.Less(t, loss[0], 0.25*loss[1], "%v", loss)
	require.GreaterOrEqual(t, m.alpha[1], minPrecision)
	require.GreaterOrEqual(t, m.beta[1], minPrecision)
}
