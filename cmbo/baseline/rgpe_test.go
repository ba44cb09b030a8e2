package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
	"github.com/stretchr/testify/require"
)

// taskOf turns a function into a task at random points.
func taskOf(t testing.TB, id string, f func([]float64) float64, x *linalg.Dense) cmbo.Task {
	task := cmbo.Task{ID: id}
	for i := range points.Len(x) {
		task.X = append(task.X, append([]float64(nil), x.Row(i)...))
		task.Y = append(task.Y, f(x.Row(i)))
	}
	return task
}

// Without sources the averages and the stack are the plain Gaussian process, RGPE
// with its own priors, and RM-GP-UCB is GP-UCB.
func TestWithoutTasks(t *testing.T) {
	r := testRNG(t)
	for _, shape := range []func(...float64) kernel.Stationary{kernel.Matern52, kernel.SquaredExp} {
		d := dataAt(bump([]float64{0.1, 0.5}), randomPoints(r, 9, 2), 5)
		d.Pending = randomPoints(r, 2, 2)
		z := randomPoints(r, 5, 2)
		for _, m := range Methods() {
			opts := []Option{withKernel(shape, true)}
			switch m.Name {
			case "RGPE":
				opts = append(opts, set(func(c *config) { c.priors = botorchPriors }))
			case "TST-R", "TAF-RGPE", "TAF-R", "RM-GP-UCB", "RM-GP-TS", "ScaML-GP", "StackedGP":
			default:
				continue
			}
			gp, err := learnPlainGP(ctx, square(t), nil, opts...)
			require.NoError(t, err)
			want := gp.Surrogate(4)
			require.NoError(t, want.Fit(ctx, d))
			mean, sd := predict(t, want, z)
			model, err := m.Learn(ctx, square(t), nil, withKernel(shape, true))
			require.NoError(t, err, m.Name)
			got := model.Surrogate(4)
			require.NoError(t, got.Fit(ctx, d), m.Name)
			m2, s2 := predict(t, got, z)
			near(t, mean, m2, 1e-14, m.Name)
			near(t, sd, s2, 1e-14, m.Name)
			if m.Name == "RM-GP-UCB" {
				score := make([]float64, 5)
				require.NoError(t, got.(cmbo.Scorer).Score(ctx, score, z, acq.EI{}, 0))
				beta := math.Sqrt(0.2 * 2 * math.Log(2*3)) // two trials of five wait
				for i := range score {
					require.InDelta(t, mean[i]+beta*sd[i], score[i], 1e-12)
				}
			}
		}
	}
}

// A source that is the target gets nearly all of the weight, one that is its
// opposite none.
func TestRGPEWeights(t *testing.T) {
	r := testRNG(t)
	// Too rough for the few observations of the target to say much of.
	f := func(x []float64) float64 { return math.Sin(9*x[0]) + math.Cos(8*x[1]) }
	x := randomPoints(r, 60, 2)
	tasks := []cmbo.Task{
		taskOf(t, "opposite", func(x []float64) float64 { return -f(x) }, x),
		taskOf(t, "same", func(x []float64) float64 { return 5 + 3*f(x) }, x),
	}
	m, err := learnRGPE(ctx, square(t), tasks)
	require.NoError(t, err)
	for _, n := range []int{3, 8, 15} {
		s := m.Surrogate(1)
		require.NoError(t, s.Fit(ctx, dataAt(f, randomPoints(r, n, 2), 1)))
		w := s.(cmbo.Weigher).Weights()
		require.InDelta(t, 1, w[0]+w[1]+w[2], 1e-12)
		require.Zero(t, w[0], "the opposite task after %d", n)
		if n >= 8 {
			require.Greater(t, w[1], 0.9, "the same task after %d: %v", n, w)
		}
	}
	s := m.Surrogate(1)
	require.NoError(t, s.Fit(ctx, dataAt(f, randomPoints(r, 2, 2), 1)))
	near(t, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}, s.(cmbo.Weigher).Weights(), 1e-15, "two observations")
}

// Prediction is the stated mixture of what the members predict, bound or not.
func TestRGPEPrediction(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 12)
	m, err := learnRGPE(ctx, square(t), tasks)
	require.NoError(t, err)
	d := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, 5, 2), 1)
	z := randomPoints(r, 6, 2)
	s := m.Surrogate(2).(*rgpeRun)
	require.NoError(t, s.Bind(ctx, z))
	require.NoError(t, s.Fit(ctx, d))
	mean, sd := predict(t, s, z)
	free := m.Surrogate(2)
	require.NoError(t, free.Fit(ctx, d))
	m2, s2 := predict(t, free, z)
	require.Equal(t, mean, m2, "bound and free")
	require.Equal(t, sd, s2, "bound and free")

	wantMean, wantVar := make([]float64, 6), make([]float64, 6)
	add := func(w float64, mu, v []float64) {
		for i := range mu {
			wantMean[i] += w * mu[i]
			wantVar[i] += w * w * v[i]
		}
	}
	active := 0
	for i, src := range s.past.sources {
		mu, v := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), z)
		add(s.w[i], mu, v)
		if s.w[i] > 0 {
			active++
		}
	}
	require.Greater(t, active, 1, "a test of a mixture: %v", s.w)
	mu, v := gpOracle(s.h.Kernel.Eval, zeroMean, d.X, d.Y, s.h.Noise(d.NoiseVariance), z)
	add(s.w[3], mu, v)
	for i := range wantVar {
		wantVar[i] = math.Sqrt(wantVar[i])
	}
	near(t, wantMean, mean, 1e-9, "mean")
	near(t, wantVar, sd, 1e-8, "deviation")

	// Expected improvement is over the best mean at the observations.
	score := make([]float64, 6)
	require.NoError(t, s.Score(ctx, score, z, acq.EI{Best: 123}, 123))
	at, _ := predict(t, s, d.X)
	for i := range score {
		require.Equal(t, acq.EI{Best: slices.Max(at)}.Score(mean[i], sd[i]), score[i])
	}
	require.NoError(t, s.Score(ctx, score, z, acq.UCB{Beta: 2}, 123))
	require.Equal(t, mean[1]+2*sd[1], score[1])
}

// The ranker's draws have the moments of the sources' joint posteriors, and its
// losses count their pairs, whether points came one by one or at once.
func TestRanker(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 2, 10)
	c, obs, err := settle(config{method: "test", shape: kernel.Matern52, ard: true}, square(t), tasks, []Option{set(func(c *config) { c.samples = 64 })})
	require.NoError(t, err)
	past, err := learnPast(ctx, 2, obs, c)
	require.NoError(t, err)
	x := randomPoints(r, 7, 2)
	copy(x.Row(5), x.Row(1)) // a repetition
	d := dataAt(bump([]float64{0.2, 0.2}), x, 1)
	d.Raw[6] = d.Raw[0] // a tie
	one, all := newRanker(past, c, 3), newRanker(past, c, 3)
	require.NoError(t, all.update(ctx, d))
	for n := 1; n <= 7; n++ {
		require.NoError(t, one.update(ctx, firstOf(d, n, n)))
	}
	for i, src := range past.sources {
		a := all.ranked[i]
		require.Equal(t, a.draws, one.ranked[i].draws)
		require.Equal(t, a.loss, one.ranked[i].loss)
		mean := make([]float64, 7)
		var cov linalg.Sym
		require.NoError(t, src.post.Moments(ctx, mean, nil, x))
		require.NoError(t, src.post.Gram(ctx, &cov, x))
		z := all.z.get(7)
		for p := range 7 {
			for q := range p + 1 {
				got := linalg.Dot(a.l[p][:q+1], a.l[q])
				// The floor adds 1e-10 times the prior variance to a diagonal.
				require.InDelta(t, cov.At(p, q), got, 1e-9)
			}
			for s := range 64 {
				f := mean[p]
				for q, l := range a.l[p] {
					f += l * z[q][s]
				}
				require.InDelta(t, f, a.draws[p][s], 1e-12)
			}
		}
		for s := range 64 {
			var want float64
			for p := range 7 {
				for q := range 7 {
					if p != q && (a.draws[p][s] < a.draws[q][s]) != (d.Raw[p] < d.Raw[q]) {
						want++
					}
				}
			}
			require.Equal(t, want, a.loss[s])
		}
	}
}

// The weights are those of independent draws, from the sources' posteriors and from
// posteriors of the target without one observation each, made one after another. The
// past is the same uncertain task five times: drawn in step, all five would be one.
func TestRGPEWeightsOfIndependentDraws(t *testing.T) {
	testutil.SkipShort(t, "it counts draws")
	r := testRNG(t)
	f := bump([]float64{0.3, 0.6})
	x := randomPoints(r, 4, 2)
	var tasks []cmbo.Task
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		tasks = append(tasks, taskOf(t, id, f, x))
	}
	const n, samples = 5, 4000
	m, err := learnRGPE(ctx, square(t), tasks, set(func(c *config) { c.samples = samples }))
	require.NoError(t, err)
	d := dataAt(f, randomPoints(r, n, 2), 1)
	s := m.Surrogate(1).(*rgpeRun)
	require.NoError(t, s.Fit(ctx, d))

	draw := func(p *gp.Process) []float64 {
		mean := make([]float64, n)
		var cov linalg.Sym
		require.NoError(t, p.Moments(ctx, mean, nil, d.X))
		require.NoError(t, p.Gram(ctx, &cov, d.X))
		var factor linalg.Dense
		_, err := spectral.FactorPSD(&factor, &cov)
		require.NoError(t, err)
		for j := range factor.Row(0) {
			z := r.NormFloat64()
			for i := range mean {
				mean[i] += factor.At(i, j) * z
			}
		}
		return mean
	}
	wrong := func(f []float64, j int) (count int) {
		for k := range f {
			if k != j && (f[j] < f[k]) != (d.Raw[j] < d.Raw[k]) {
				count++
			}
		}
		return count
	}
	var without []*gp.Process
	for j := range n {
		keep := []int{0, 1, 2, 3, 4}
		keep = append(keep[:j], keep[j+1:]...)
		var y, noise []float64
		for _, i := range keep {
			y, noise = append(y, d.Y[i]), append(noise, s.h.NoiseVariance)
		}
		p, err := gp.Condition(ctx, gp.FromKernel{Kernel: s.h.Kernel}, points.Pick(d.X, keep), y, noise)
		require.NoError(t, err)
		without = append(without, p)
	}
	want := make([]float64, 6)
	for range samples {
		loss := make([]int, 6)
		for i, src := range s.past.sources {
			f := draw(src.post)
			for j := range n {
				loss[i] += wrong(f, j)
			}
		}
		for j, p := range without {
			loss[5] += wrong(draw(p), j)
		}
		least, tied := slices.Min(loss), 0.0
		for _, l := range loss {
			if l == least {
				tied++
			}
		}
		for i, l := range loss {
			if l == least {
				want[i] += 1 / tied / samples
			}
		}
	}
	// Two estimates of probabilities from 4000 draws each.
	near(t, want, s.w, 5*math.Sqrt(2*0.25/samples), "weights")
	require.Greater(t, want[5], 0.02, "the target's weight, a test of which this is: %v", want)
}

// award on losses made up by hand, the sources' draws in orders of their own.
func TestAward(t *testing.T) {
	r := &ranker{
		ranked: []ranked{{loss: []float64{1, 2, 5, 3}}, {loss: []float64{4, 1, 9, 5}}},
		order:  [][]int{{0, 1, 2, 3}, {1, 0, 3, 2}},
	}
	// Draws: a tie of all three; source 0; a tie of all three; source 0.
	near(t, []float64{0.5 + 1.0/6, 1.0 / 6, 1.0 / 6}, r.award([]float64{1, 3, 5, 4}), 1e-15, "ties with the target")
	near(t, []float64{0.25 + 0.125, 0.125, 0.5}, r.award([]float64{2, 1.5, 4.9, 3.5}), 1e-15, "ties without")
}

// The priors give the density of the log-normal parameters themselves, up to a
// factor.
func TestBoTorchPriors(t *testing.T) {
	density := func(v, mean, variance float64) float64 {
		d := math.Log(v) - mean
		return math.Exp(-d*d/(2*variance)) / v
	}
	for _, dim := range []int{1, 7} {
		p := botorchPriors(dim)
		for _, v := range []float64{0.1, 0.5, 3} {
			ratio := func(l gaussian.LogNormal) float64 {
				a, b := (math.Log(v)-l.Mean)/l.SD, (math.Log(1)-l.Mean)/l.SD
				return math.Exp((b*b - a*a) / 2)
			}
			mean := math.Sqrt2 + math.Log(float64(dim))/2
			require.InEpsilon(t, density(v, mean, 3)/density(1, mean, 3), ratio(p.LengthScale), 1e-12)
			require.InEpsilon(t, density(v, -4, 1)/density(1, -4, 1), ratio(p.Noise), 1e-12)
		}
		require.Equal(t, 1.0, p.Variance.Min)
		require.Equal(t, 1.0, p.Variance.Max)
	}
}
