package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// posteriorOracle returns the posterior covariance function of a source, by
// elimination.
func posteriorOracle(s *source) func(x, y []float64) float64 {
	n := len(s.Z)
	k := s.h.Kernel.Eval
	noise := s.h.Noise(s.Noise)
	return func(x, y []float64) float64 {
		a := make([][]float64, n)
		cx, cy := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i] = make([]float64, n)
			for j := range n {
				a[i][j] = k(s.X.Row(i), s.X.Row(j))
			}
			a[i][i] += noise[i]
			cx[i], cy[i] = k(s.X.Row(i), x), k(s.X.Row(i), y)
		}
		w, _ := solve(a, cy)
		return k(x, y) - linalg.Dot(cx, w)
	}
}

// meanOracle returns the posterior mean function of a source.
func meanOracle(s *source) func(x []float64) float64 {
	return func(x []float64) float64 {
		mean, _ := gpOracle(s.h.Kernel.Eval, zeroMean, s.X, s.Z, s.h.Noise(s.Noise), linalg.NewDense(1, len(x), x))
		return mean[0]
	}
}

// scamlOn returns a run after a Fit to observations of which one has a noise variance
// of its own.
func scamlOn(t testing.TB, r *rand.Rand, n int) (runs, *scamlRun, cmbo.Data) {
	m, err := learnScaMLGP(ctx, square(t), family(r, 3, 8))
	require.NoError(t, err)
	d := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, n, 2), n+1)
	setNoise(&d, 1, 0.2)
	s := m.Surrogate(1).(*scamlRun)
	require.NoError(t, s.Fit(ctx, d))
	return m, s, d
}

// The objective is the density of the values under dense covariances and the
// densities of the parameters, and its gradient is that of the differences.
func TestScaMLObjective(t *testing.T) {
	r := testRNG(t)
	const n = 6
	_, s, d := scamlOn(t, r, n)
	x, z, noise, err := s.first(ctx, n)
	require.NoError(t, err)
	o := newScamlObjective(s.fits.Forms[0].Kernel, s.tasks, x, z, noise)
	size := len(s.past.sources) + len(o.prior)
	require.Equal(t, 3+4, size) // a variance, two lengths, the noise
	for range 5 {
		theta := make([]float64, size)
		for i := range theta {
			theta[i] = r.Float64()
			if i >= 3 {
				theta[i] = o.prior[i-3].Mean + r.NormFloat64()
			}
		}
		p, err := o.params(theta)
		require.NoError(t, err)
		a, resid := make([][]float64, n), make([]float64, n)
		var want float64
		for i := range n {
			a[i] = make([]float64, n)
			resid[i] = d.Y[i]
			for k, src := range s.past.sources {
				resid[i] -= theta[k] * meanOracle(src)(x.Row(i))
			}
			for j := range n {
				a[i][j] = p.h.Kernel.Eval(x.Row(i), x.Row(j))
				for k, src := range s.past.sources {
					a[i][j] += theta[k] * theta[k] * posteriorOracle(src)(x.Row(i), x.Row(j))
				}
			}
			if i == 1 {
				a[i][i] += 0.2
			} else {
				a[i][i] += math.Exp(theta[size-1])
			}
		}
		alpha, logDet := solve(a, resid)
		want = 0.5 * (linalg.Dot(alpha, resid) + logDet + n*math.Log(2*math.Pi))
		for k := range 3 {
			want += theta[k] // Gamma(1, 1)
		}
		for i, q := range o.prior {
			u := (theta[3+i] - q.Mean) / q.SD
			want += u * u / 2
		}
		grad, other := make([]float64, size), make([]float64, size)
		require.InDelta(t, want, o.eval(theta, grad), 1e-8*math.Abs(want))
		for i := range theta {
			const h = 1e-5
			v := theta[i]
			theta[i] = v + h
			up := o.eval(theta, other)
			theta[i] = v - h
			down := o.eval(theta, other)
			theta[i] = v
			require.InDelta(t, (up-down)/(2*h), grad[i], 1e-5*(1+math.Abs(grad[i])), "parameter %d", i)
		}
	}
}

// A fit ends where no parameter can be moved to any gain, bounds apart.
func TestScaMLFit(t *testing.T) {
	r := testRNG(t)
	for _, n := range []int{2, 9} {
		_, s, _ := scamlOn(t, r, n)
		x, z, noise, err := s.first(ctx, n)
		require.NoError(t, err)
		o := newScamlObjective(s.fits.Forms[0].Kernel, s.tasks, x, z, noise)
		theta := append(append([]float64(nil), s.p.w...), s.p.h.Kernel.AppendParams(nil)...)
		theta = append(theta, math.Log(s.p.h.NoiseVariance))
		grad, other := make([]float64, len(theta)), make([]float64, len(theta))
		best := o.eval(theta, grad)
		for i := range theta {
			for _, step := range []float64{-0.05, 0.05} {
				v := theta[i]
				theta[i] += step
				lo, hi := 0.0, float64(maxWeight)
				if i >= 3 {
					lo, hi = math.Log(o.prior[i-3].Min), math.Log(o.prior[i-3].Max)
				}
				if theta[i] >= lo && theta[i] <= hi {
					require.GreaterOrEqual(t, o.eval(theta, other), best-1e-4, "parameter %d, by %g", i, step)
				}
				theta[i] = v
			}
		}
	}
}

// Where a task explains the values next to nothing is left to the residual process.
func TestScaMLResidual(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 1, 30)
	m, err := learnScaMLGP(ctx, square(t), tasks)
	require.NoError(t, err)
	s := m.Surrogate(1).(*scamlRun)
	x := linalg.NewDense(12, 2, nil)
	d := cmbo.Data{X: x, Raw: tasks[0].Y[:12], NoiseVariance: make([]float64, 12), RawNoiseVariance: make([]float64, 12), Step: 13}
	for i := range 12 {
		copy(x.Row(i), tasks[0].X[i])
	}
	d.Y = cmbo.ZScore.Apply(d.Raw)
	require.NoError(t, s.Fit(ctx, d))
	require.Less(t, s.p.h.Kernel.AppendParams(nil)[0], math.Log(0.05))
}

// Predictions are those of the stated prior, by elimination, given the data.
func TestScaMLPrediction(t *testing.T) {
	r := testRNG(t)
	m, s, d := scamlOn(t, r, 7)
	active := 0
	for _, w := range s.p.w {
		require.GreaterOrEqual(t, w, 0.0)
		if w > 0 {
			active++
		}
	}
	require.Positive(t, active, "a test of the tasks' part: %v", s.p.w)
	z := randomPoints(r, 6, 2)
	mean, sd := predict(t, s, z)

	bound := m.Surrogate(1).(*scamlRun)
	require.NoError(t, bound.Bind(ctx, z))
	require.NoError(t, bound.Fit(ctx, d))
	m2, s2 := predict(t, bound, z)
	near(t, mean, m2, 1e-12, "mean, bound")
	near(t, sd, s2, 1e-12, "deviation, bound")

	priorMean := func(x []float64) (v float64) {
		for i, src := range s.past.sources {
			v += s.p.w[i] * meanOracle(src)(x)
		}
		return v
	}
	cov := func(x, y []float64) float64 {
		v := s.h.Kernel.Eval(x, y)
		for i, src := range s.past.sources {
			v += s.p.w[i] * s.p.w[i] * posteriorOracle(src)(x, y)
		}
		return v
	}
	want, variance := gpOracle(cov, priorMean, d.X, d.Y, s.h.Noise(d.NoiseVariance), z)
	near(t, want, mean, 1e-8, "mean")
	for i, v := range variance {
		require.InDelta(t, math.Sqrt(v), sd[i], 1e-7)
	}
}

// A task that is the target up to a factor gets that as its weight, its opposite and
// tasks of no use next to nothing.
func TestScaMLWeights(t *testing.T) {
	r := testRNG(t)
	f := func(x []float64) float64 { return math.Sin(5*x[0]) + math.Cos(4*x[1]) }
	x := randomPoints(r, 60, 2)
	tasks := []cmbo.Task{
		taskOf(t, "opposite", func(x []float64) float64 { return -f(x) }, x),
		taskOf(t, "same", f, x),
		taskOf(t, "other", func([]float64) float64 { return r.NormFloat64() }, x),
	}
	m, err := learnScaMLGP(ctx, square(t), tasks)
	require.NoError(t, err)
	s := m.Surrogate(1).(*scamlRun)
	require.NoError(t, s.Fit(ctx, dataAt(f, randomPoints(r, 1, 2), 1)))
	near(t, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}, s.p.w, 0, "one observation")
	require.NoError(t, s.Fit(ctx, dataAt(f, randomPoints(r, 40, 2), 1)))
	require.Zero(t, s.p.w[0])
	require.InDelta(t, 1, s.p.w[1], 0.2)
	require.Less(t, s.p.w[2], 0.1)
}
