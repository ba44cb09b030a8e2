package paper

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper/theorem"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// tilted is a kernel whose variance differs from point to point.
type tilted struct{ kernel.Kernel }

func (k tilted) Eval(x, y []float64) float64 { return (1 + x[0]) * (1 + y[0]) * k.Kernel.Eval(x, y) }

func (k tilted) WithParams(theta []float64) (kernel.Kernel, error) {
	inner, err := k.Kernel.WithParams(theta)
	return tilted{inner}, err
}

// reference computes Theorem 2 from its definitions, on nothing but kernel
// values: the tasks' posteriors, the adaptive prior they make with given weights,
// and its posterior given the target's observations.
type reference struct {
	k      kernel.Kernel
	tasks  []cmbo.Task
	noise  [][]float64 // of each task's values
	labels []int
	w      []float64

	x     [][]float64 // target observations
	y     []float64
	sigma []float64 // their noise variances
}

// solve returns A⁻¹·b and ln det A for a symmetric positive definite matrix, by
// elimination.
func solve(a [][]float64, b []float64) (x []float64, logDet float64) {
	n := len(a)
	m := make([][]float64, n)
	for i := range m {
		m[i] = append(append([]float64(nil), a[i]...), b[i])
	}
	for i := range m {
		logDet += math.Log(m[i][i])
		for r := i + 1; r < n; r++ {
			f := m[r][i] / m[i][i]
			for c := i; c <= n; c++ {
				m[r][c] -= f * m[i][c]
			}
		}
	}
	x = make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = m[i][n]
		for c := i + 1; c < n; c++ {
			x[i] -= m[i][c] * x[c]
		}
		x[i] /= m[i][i]
	}
	return x, logDet
}

func dot(x, y []float64) (s float64) {
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// gram returns cov(x_i, x_j) with noise on its diagonal.
func gram(cov func(x, y []float64) float64, x [][]float64, noise []float64) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = section(cov, x, x[i])
		out[i][i] += noise[i]
	}
	return out
}

// section returns cov(x_i, z).
func section(cov func(x, y []float64) float64, x [][]float64, z []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = cov(x[i], z)
	}
	return out
}

// task returns the posterior mean at z and covariance of z and u of task i, had
// it the values y.
func (r *reference) task(i int, y []float64, z, u []float64) (mean, cov float64) {
	x := r.tasks[i].X
	alpha, _ := solve(gram(r.k.Eval, x, r.noise[i]), y)
	kz := section(r.k.Eval, x, z)
	v, _ := solve(gram(r.k.Eval, x, r.noise[i]), section(r.k.Eval, x, u))
	return dot(kz, alpha), r.k.Eval(z, u) - dot(kz, v)
}

func (r *reference) members(c int) (n float64) {
	for _, l := range r.labels {
		if l == c {
			n++
		}
	}
	return n
}

// mu0 and k0 are the adaptive prior.
func (r *reference) mu0(z []float64) (s float64) {
	for i, c := range r.labels {
		m, _ := r.task(i, r.tasks[i].Y, z, z)
		s += r.w[c] * m / r.members(c)
	}
	return s
}

func (r *reference) k0(z, u []float64) (s float64) {
	for i, c := range r.labels {
		_, k := r.task(i, r.tasks[i].Y, z, u)
		s += r.w[c] * r.w[c] * k / r.members(c)
	}
	return s
}

// posterior returns mean and deviation at z given the observations.
func (r *reference) posterior(z []float64) (mean, sd float64) {
	a := gram(r.k0, r.x, r.sigma)
	resid := make([]float64, len(r.x))
	for i, x := range r.x {
		resid[i] = r.y[i] - r.mu0(x)
	}
	kz := section(r.k0, r.x, z)
	alpha, _ := solve(a, resid)
	v, _ := solve(a, kz)
	return r.mu0(z) + dot(kz, alpha), math.Sqrt(r.k0(z, z) - dot(kz, v))
}

// gain returns ½·ln det(I + K0/σ²) for points with noise variances sigma.
func (r *reference) gain(x [][]float64, sigma []float64) float64 {
	_, logDet := solve(gram(r.k0, x, sigma), make([]float64, len(x)))
	for _, v := range sigma {
		logDet -= math.Log(v)
	}
	return logDet / 2
}

// greedy returns the gain of n points, each the one of rows that adds most, over
// 1 − 1/e.
func (r *reference) greedy(rows [][]float64, n int, sigma float64) float64 {
	var x [][]float64
	var noise []float64
	best := 0.0
	for range n {
		noise = append(noise, sigma)
		x = append(x, nil)
		best = math.Inf(-1)
		var chosen []float64
		for _, z := range rows {
			x[len(x)-1] = z
			if g := r.gain(x, noise); g > best+1e-12 {
				best, chosen = g, z
			}
		}
		x[len(x)-1] = chosen
	}
	return best / (1 - math.Exp(-1))
}

// TestRegretBoundTerms compares every term of Theorem 2, in both forms, with the
// formulas of its documentation, evaluated from kernel values alone: for multipliers
// above and below beta, one observation and several, with f known and unknown, with noise and without, gaps
// given and estimated, the realised gain and the greedy one.
func TestRegretBoundTerms(t *testing.T) {
	const (
		sourced = 0.03 // noise variance of the tasks
		common  = 0.05 // of the target
		norm    = 1.7
		delta   = 0.1
		tol     = 1e-8
	)
	k := tilted{kernel.Scale(1.1, kernel.Matern52(0.5))}
	r := rng.Stream(4, "theorem terms")
	point := func() []float64 { return []float64{r.Float64(), r.Float64()} }
	f := func(x []float64) float64 { return math.Sin(4*x[0]) + x[1] }
	labels := []int{0, 1, 0, 2, 0}
	ref := &reference{k: k, labels: labels}
	for i, n := range []int{3, 7, 5, 4, 1} {
		task := cmbo.Task{ID: string(rune('a' + i)), NoiseVariance: make([]float64, n)}
		noise := make([]float64, n)
		for j := range n {
			x := point()
			task.X, task.Y = append(task.X, x), append(task.Y, f(x)*(0.4+0.3*float64(i))+0.2*r.NormFloat64())
			noise[j] = sourced
			if (i+j)%3 == 0 {
				noise[j] = 0.01 + 0.2*r.Float64()
				task.NoiseVariance[j] = noise[j]
			}
		}
		ref.tasks, ref.noise = append(ref.tasks, task), append(ref.noise, noise)
	}
	var rows [][]float64
	variance := 0.0 // the largest of the prior
	for range 12 {
		x := point()
		rows, variance = append(rows, x), max(variance, k.Eval(x, x))
	}
	space, err := cmbo.Candidates(rows)
	require.NoError(t, err)
	prior := learn(t, space, ref.tasks, WithLabels(labels), WithHyperparameters(k, sourced), WithYPolicy(cmbo.RawValues))

	best := 0
	for i, x := range rows {
		if f(x) > f(rows[best]) {
			best = i
		}
	}
	forms := map[bool]int{} // whether xi is below the corrected beta
	for _, run := range []struct {
		xi     float64
		sigmas []float64 // noise variances of what is observed before
	}{{0.8, []float64{common, 0.4, 0.02}}, {3, []float64{common, 0.4, 0.02}}, {30, []float64{common, 0.4, 0.02}}, {3, nil}} {
		xi := run.xi
		opt, m := begin(t, space, prior, []RunOption{WithNoiseVariance(common)}, cmbo.WithAcquisition(cmbo.UCB(xi)))
		ref.x, ref.y, ref.sigma = nil, nil, nil
		told := func(x []float64, y, sigma float64) {
			ref.x, ref.y = append(ref.x, x), append(ref.y, y)
			ref.sigma = append(ref.sigma, sigma)
		}
		least, most := common, common
		for i, sigma := range run.sigmas {
			least, most = min(least, sigma), max(most, sigma)
			x := rows[(best+1+i)%len(rows)]
			y := f(x) + math.Sqrt(sigma)*r.NormFloat64()
			var opts []cmbo.ObservationOption
			if sigma != common {
				opts = append(opts, cmbo.WithNoise(sigma))
			}
			require.NoError(t, opt.Observe(x, y, opts...))
			told(x, y, sigma)
		}
		// The first answer moves the weights apart; the second proposal is looked at.
		trial := ask(t, opt)
		require.NoError(t, opt.Tell(trial.ID, f(trial.X)))
		told(trial.X, f(trial.X), common)
		trial = ask(t, opt)
		step, _ := opt.LastStep()
		ref.w = step.Weights
		require.NotEqual(t, ref.w[0], ref.w[1])

		obs := float64(len(ref.x))
		mean, sd := ref.posterior(trial.X)
		require.InEpsilon(t, step.Mean[trial.Index], mean, tol)
		for _, in := range []theorem.Inputs{
			{},
			{GreedyGain: true, NoiseFree: true},
			{Gaps: []float64{0.3, 1.1, 0.7, 2, 0.1}, Truth: f, Optimum: rows[best]},
			{Truth: f, Optimum: rows[best], NoiseFree: true},
		} {
			in.Norm, in.Delta = norm, delta
			b, err := m.RegretBound(ctx, opt, trial.ID, xi, in)
			require.NoError(t, err)
			require.Equal(t, len(ref.x), b.Observations)
			require.Equal(t, xi, b.Xi)
			require.InEpsilon(t, sd, b.SD, tol)

			gamma := ref.gain(ref.x, ref.sigma)
			if in.GreedyGain {
				gamma = ref.greedy(rows, len(ref.x), common)
			}
			require.InEpsilon(t, gamma, b.InformationGain, tol)
			printedBeta := norm + math.Sqrt(common)*math.Sqrt(2*(gamma+1+math.Log(4/delta)))
			beta := norm + math.Sqrt(2*(gamma+math.Log(4/delta)))
			require.InEpsilon(t, printedBeta, b.Printed.Beta, tol)
			require.InEpsilon(t, beta, b.Corrected.Beta, tol)

			gaps := in.Gaps
			if gaps == nil {
				gaps = make([]float64, len(ref.tasks))
				for i, task := range ref.tasks {
					for j, x := range task.X {
						m, s := ref.posterior(x)
						gaps[i] = max(gaps[i], math.Abs(m-task.Y[j])+beta*s)
					}
				}
			}
			require.InEpsilonSlice(t, gaps, b.Gaps, tol)

			var printed, corrected struct{ alpha, omega float64 }
			eta := make([]float64, 2+len(ref.x)) // optimum, proposal, observations
			at := append([][]float64{rows[best], trial.X}, ref.x...)
			for i, task := range ref.tasks {
				n, c := float64(len(task.X)), labels[i]
				zeta, prime := ref.w[c]/ref.members(c), ref.w[c]*ref.w[c]/ref.members(c)
				low, high := math.Inf(1), 0.0
				for _, v := range ref.noise[i] {
					low, high = min(low, v), max(high, v)
				}
				printed.alpha += zeta * n / common * (gaps[i] + 2*math.Sqrt(2*common*math.Log(8*n/delta)))
				corrected.alpha += zeta * n * variance / low * (gaps[i] + 2*math.Sqrt(2*high*math.Log(8*n/delta)))
				printed.omega += 2 * prime * math.Sqrt(n) / common
				corrected.omega += 2 * math.Sqrt(obs) * prime * variance / least

				exact := make([]float64, len(task.X))
				for j, x := range task.X {
					exact[j] = f(x)
				}
				for e, z := range at {
					m, v := ref.task(i, exact, z, z)
					switch {
					case in.Truth != nil:
						eta[e] += zeta * m
					case e == 0: // the optimum is unknown
						eta[e] += zeta * norm * math.Sqrt(variance)
					default:
						eta[e] += zeta * norm * math.Sqrt(v)
					}
				}
			}
			etaDiff, etaNorm := eta[0]+eta[1], 0.0
			if in.Truth != nil {
				for e, z := range at {
					eta[e] -= f(z)
				}
				etaDiff = eta[0] - eta[1]
			}
			for _, e := range eta[2:] {
				etaNorm = math.Hypot(etaNorm, e)
			}
			require.Equal(t, in.Truth != nil, b.EtaExact)
			require.InDelta(t, eta[0], b.EtaOptimum, tol)
			require.InDelta(t, eta[1], b.EtaChosen, tol)
			require.InEpsilon(t, etaNorm, b.EtaNorm, tol)

			p := b.Printed
			require.InEpsilon(t, printed.alpha, p.Alpha, tol)
			require.InEpsilon(t, printed.omega, p.Omega, tol)
			require.InEpsilon(t, 2+printed.omega*math.Sqrt(obs), p.Iota, tol)
			bracket := (2+printed.omega*math.Sqrt(obs))*printed.alpha + etaDiff + printed.omega*etaNorm
			require.InEpsilon(t, bracket, p.Bracket, 1e-11)
			require.InEpsilon(t, xi/printedBeta*(1-printedBeta/xi), p.DeltaTau, tol)
			require.InEpsilon(t, xi/printedBeta*(1-printedBeta/xi)*bracket+xi/printedBeta*(xi+printedBeta)*sd, p.Bound, tol)
			require.InDelta(t, 1-delta/2, p.Probability, 1e-15)
			require.Equal(t, xi >= printedBeta, p.Applies)
			require.Zero(t, p.Noise)

			c := b.Corrected
			noise, probability := corrected.omega*math.Sqrt(obs)*math.Sqrt(2*most*math.Log(8*obs/delta)), 1-3*delta/4
			if in.NoiseFree {
				noise, probability = 0, 1-delta/2
			}
			signed := etaDiff
			if in.Truth != nil && xi < beta {
				signed = -etaDiff
			}
			require.InEpsilon(t, corrected.alpha, c.Alpha, tol)
			require.InEpsilon(t, corrected.omega, c.Omega, tol)
			require.InEpsilon(t, 2+corrected.omega*math.Sqrt(obs), c.Iota, tol)
			require.InDelta(t, noise, c.Noise, tol*max(1, noise))
			bracket = (2+corrected.omega*math.Sqrt(obs))*corrected.alpha + signed + corrected.omega*etaNorm + noise
			require.InEpsilon(t, bracket, c.Bracket, 1e-11)
			require.InEpsilon(t, math.Abs(xi/beta-1), c.DeltaTau, tol)
			require.InEpsilon(t, math.Abs(xi/beta-1)*bracket+2*xi*sd, c.Bound, tol)
			require.InDelta(t, probability, c.Probability, 1e-15)
			require.True(t, c.Applies)
			forms[xi < beta]++
		}
	}
	require.Len(t, forms, 2, "multipliers on one side of beta only")
}
