package baseline

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/optim"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestMinimizeStarts: the lowest end counts, of equal ones the first, and of starts that fail none.
func TestMinimizeStarts(t *testing.T) {
	f := func(x, grad []float64) float64 {
		switch grad[0] = 0; {
		case x[0] < 0:
			return math.NaN()
		case x[0] < 3:
			return math.MaxFloat64
		}
		return -x[0]
	}
	for _, tt := range []struct{ starts, want []float64 }{
		{[]float64{-1, 2, 1}, []float64{2}},
		{[]float64{-1, 2, 4, 5, 3}, []float64{5}},
		{[]float64{-1, -2}, []float64{-1}},
	} {
		var starts [][]float64
		for _, x := range tt.starts {
			starts = append(starts, []float64{x})
		}
		got, err := minimize(t.Context(), f, starts, []float64{-9}, []float64{9}, optim.Options{})
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := minimize(ctx, f, [][]float64{{2}, {4}}, []float64{-9}, []float64{9}, optim.Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []float64{2}, got)
}

// gpTasks draws tasks from one Gaussian process; shared gives them the same
// points.
func gpTasks(t testing.TB, k kernel.Kernel, mean, noise float64, tasks, n int, shared bool) []observations {
	r := testRNG(t)
	x := randomPoints(r, n, 2)
	out := make([]observations, tasks)
	for i := range out {
		if !shared {
			x = randomPoints(r, n, 2)
		}
		var cov linalg.Sym
		kernel.Gram(&cov, k, x)
		cov.AddDiag(noise)
		z := make([]float64, n)
		for j := range z {
			z[j] = mean
		}
		require.NoError(t, gp.AddNoise(z, &cov, r))
		out[i] = observations{ID: fmt.Sprint(i), X: x, Z: z, Noise: make([]float64, n)}
	}
	return out
}

// newMultiNLL returns what pretrain minimises.
func newMultiNLL(template kernel.Kernel, tasks []observations, workers int) *gp.MultiTask {
	o := gp.NewMultiTask(template, 1/float64(len(tasks)), workers)
	for _, t := range tasks {
		o.Add(t.X, t.Z, t.Noise)
	}
	return o
}

// searched returns the parameters by which pretrain minimises it.
func searched(p hierarchy.Base) []float64 {
	return append(p.Kernel.AppendParams([]float64{p.Mean}), math.Log(p.NoiseVariance))
}

// Gradients agree with central differences, and the value with Gaussian
// elimination.
func TestMultiNLL(t *testing.T) {
	k := kernel.Scale(1.3, kernel.Matern32(0.4, 0.7))
	tasks := gpTasks(t, k, 0.5, 0.05, 3, 6, false)
	tasks[1].Z, tasks[1].X, tasks[1].Noise = tasks[1].Z[:2], points.First(tasks[1].X, 2), tasks[1].Noise[:2]
	tasks[2].Noise[3] = 0.3 // known
	theta := []float64{0.2, math.Log(0.9), math.Log(0.3), math.Log(1.1), math.Log(0.02)}
	for _, workers := range []int{1, 3} {
		o := newMultiNLL(k, tasks, workers)
		grad := make([]float64, 5)
		v := o.Eval(ctx, theta, grad)
		testutil.CheckGrad(t, func(x []float64) float64 { return o.Eval(ctx, x, make([]float64, 5)) }, theta, grad, 1e-8)

		kt, err := k.WithParams(theta[1:4])
		require.NoError(t, err)
		var want float64
		for _, task := range tasks {
			n := len(task.Z)
			a := make([][]float64, n)
			resid := make([]float64, n)
			for i := range a {
				a[i] = make([]float64, n)
				for j := range n {
					a[i][j] = kt.Eval(task.X.Row(i), task.X.Row(j))
				}
				if a[i][i] += 0.02; task.Noise[i] > 0 {
					a[i][i] += task.Noise[i] - 0.02
				}
				resid[i] = task.Z[i] - 0.2
			}
			alpha, logDet := solve(a, resid)
			want += (linalg.Dot(alpha, resid) + logDet + float64(n)*math.Log(2*math.Pi)) / 6
		}
		require.InEpsilon(t, want, v, 1e-12)
	}
}

// publicTasks turns observations into tasks.
func publicTasks(obs []observations) []cmbo.Task {
	var tasks []cmbo.Task
	for _, o := range obs {
		task := cmbo.Task{ID: "t" + o.ID, Y: o.Z}
		for i := range o.Z {
			task.X = append(task.X, o.X.Row(i))
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// pretrained returns the process of tasks whose values are taken as they are, and the loss.
func pretrained(t *testing.T, obs []observations) (hierarchy.Base, float64) {
	c, obs, err := settle(config{method: "HyperBO", ard: true}, square(t), publicTasks(obs), []Option{WithYPolicy(cmbo.RawValues)})
	require.NoError(t, err)
	p, err := pretrain(ctx, c.template(2), obs, c)
	require.NoError(t, err)
	theta := searched(p)
	return p, newMultiNLL(p.Kernel, obs, 1).Eval(ctx, theta, make([]float64, len(theta)))
}

// With one task, pre-training is type-II maximum likelihood: no start of package
// gaussian's search, with flat priors in the same bounds and the mean profiled
// out, finds a higher likelihood, and that search from HyperBO's parameters stays
// there.
func TestHyperBOWithOneTaskIsMaximumLikelihood(t *testing.T) {
	k := kernel.Scale(1, kernel.Matern32(0.3, 0.6))
	obs := gpTasks(t, k, 0, 0.05, 1, 30, false)
	p, loss := pretrained(t, obs)
	mean, kh, sigma := p.Mean, p.Kernel, p.NoiseVariance
	resid := make([]float64, 30)
	for i, z := range obs[0].Z {
		resid[i] = z - mean
	}
	_, variance := stat.MeanVariance(obs[0].Z)
	flat := func(lo, hi float64) gaussian.LogNormal {
		return gaussian.LogNormal{Mean: 0, SD: math.Inf(1), Min: lo, Max: hi}
	}
	length := flat(minLength, maxLength)
	var f gaussian.Fitter
	res, err := f.Fit(ctx, kh, sigma, obs[0].X, resid, nil, &gaussian.FitOptions{
		Params: []gaussian.LogNormal{flat(minVariance*variance, maxVariance*variance), length, length},
		Priors: gaussian.Priors{LengthScale: length, Variance: length, Noise: flat(minNoise*variance, maxNoise*variance)},
		Starts: 6,
	})
	require.NoError(t, err)
	require.InDelta(t, res.LogMarginal, -loss, 1e-5)
	want := searched(hierarchy.Base{Mean: mean, Kernel: res.Kernel, NoiseVariance: res.Noise})
	near(t, want, searched(p), 0.02, "parameters")

	// The mean is the generalised least-squares one.
	post, err := gp.Condition(ctx, gp.FromKernel{Kernel: p.Kernel}, obs[0].X, obs[0].Z, gp.Noise(obs[0].Noise, len(obs[0].Z), p.NoiseVariance))
	require.NoError(t, err)
	gls, err := leastSquaresMean(&source{observations: obs[0], h: gp.Hyper{Kernel: p.Kernel, NoiseVariance: p.NoiseVariance}, post: post})
	require.NoError(t, err)
	require.InDelta(t, gls, mean, 1e-3)
}

// Many tasks give back the process they were drawn from.
func TestHyperBORecoversTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("statistical")
	}
	k := kernel.Scale(2, kernel.Matern32(0.3, 0.8))
	const tasks, n = 60, 25
	obs := gpTasks(t, k, 1.5, 0.04, tasks, n, false)
	p, _ := pretrained(t, obs)
	mean, kh, sigma := p.Mean, p.Kernel, p.NoiseVariance
	got := kh.AppendParams(nil)
	want := k.AppendParams(nil)
	// Standard errors from the curvature at the optimum would be about 0.1 here:
	// 1500 observations, some ten of each task independent.
	near(t, want, got, 0.35, "log-parameters")
	require.InDelta(t, math.Log(0.04), math.Log(sigma), 0.3)
	require.InDelta(t, 1.5, mean, 5*math.Sqrt(2.0/tasks))
}

// Online the process is conditioned, nothing more.
func TestHyperBOPrediction(t *testing.T) {
	r := testRNG(t)
	m, err := learnHyperBO(ctx, square(t), family(r, 4, 10))
	require.NoError(t, err)
	d := dataAt(bump([]float64{0.6, 0.2}), randomPoints(r, 5, 2), 1)
	setNoise(&d, 2, 0.4)
	z := randomPoints(r, 4, 2)
	s := m.Surrogate(1)
	prior, sigma := s.(*priorRun).prior.(gp.FromKernel), s.(*priorRun).noiseVariance
	mean, k := prior.Mean, prior.Kernel
	require.NoError(t, s.Fit(ctx, cmbo.Data{}))
	m0, s0 := predict(t, s, z)
	near(t, []float64{mean, mean, mean, mean}, m0, 0, "without data")
	near(t, []float64{k.Eval(z.Row(0), z.Row(0))}, []float64{s0[0] * s0[0]}, 1e-12, "without data")
	require.NoError(t, s.Fit(ctx, d))
	noise := []float64{sigma, sigma, 0.4, sigma, sigma}
	wantMean, wantVar := gpOracle(k.Eval, func([]float64) float64 { return mean }, d.X, d.Y, noise, z)
	gotMean, gotSD := predict(t, s, z)
	near(t, wantMean, gotMean, 1e-8, "mean")
	for i := range wantVar {
		require.InDelta(t, math.Sqrt(wantVar[i]), gotSD[i], 1e-7)
	}
	require.Equal(t, sigma, s.(cmbo.NoiseEstimator).NoiseVariance())
}

// Where no start gives a finite value, the template stands.
func TestPretrainWithoutAStart(t *testing.T) {
	k := kernel.Scale(1, kernel.Matern32(0.5))
	obs := gpTasks(t, k, 0, 0.1, 1, 3, false)
	obs[0].X.Set(0, 0, math.NaN())
	p, err := pretrain(ctx, k, obs, &config{seed: 1, workers: 1})
	require.NoError(t, err)
	_, v := stat.MeanVariance(obs[0].Z)
	require.InEpsilon(t, 0.01*v, p.NoiseVariance, 1e-12)
	require.InEpsilon(t, v, p.Kernel.Eval([]float64{0, 0}, []float64{0, 0}), 1e-12)
}
