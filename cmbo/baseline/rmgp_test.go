package baseline

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// gapsOracle follows the description of RM-GP-UCB, query by query, with plain
// elimination: the weights, the share and the number of the next query for n
// observations of which the run began with first.
func gapsOracle(r *gapRun, d cmbo.Data, first int) (w []float64, nu float64) {
	k := len(r.sources)
	sum := make([]float64, k)
	w = make([]float64, k)
	for i := range w {
		w[i] = 1 / float64(k)
	}
	nu = 1
	query := 0
	for n := first; n <= len(d.Y); n++ {
		if n == 0 {
			query++
			continue
		}
		p := firstOf(d, n, 0)
		fits := gp.Fits{Forms: r.fits.Forms, Noise: math.NaN(), Seed: r.target.seed}
		h, err := fits.At(ctx, n, func(count int) (*linalg.Dense, []float64, []float64, error) {
			return points.First(p.X, count), cmbo.ZScore.Apply(p.Raw[:count]), p.NoiseVariance[:count], nil
		})
		if err != nil {
			panic(err)
		}
		beta := math.Sqrt(0.2 * 2 * math.Log(2*float64(max(n-first, 1))))
		var norm, mean float64
		gap := make([]float64, k)
		for i, s := range r.sources {
			mu, v := gpOracle(h.Kernel.Eval, zeroMean, p.X, p.Y, h.Noise(p.NoiseVariance), s.X)
			for j, y := range s.Z {
				sd := math.Sqrt(max(v[j], 1e-6))
				up, down := math.Abs(mu[j]+beta*sd-y), math.Abs(mu[j]-beta*sd-y)
				gap[i] += max(up, down) / float64(len(s.Z))
			}
			sum[i] += gap[i]
			w[i] = math.Exp(-sum[i])
			norm += w[i]
		}
		for i := range w {
			w[i] /= norm
			mean += w[i] * gap[i]
		}
		nu *= min(0.7, math.Pow(mean, -0.7))
	}
	return w, nu
}

// Weights and share are those of the description, at every query of a run with
// and without initial observations, and the score is the stated sum.
func TestRMGPUCB(t *testing.T) {
	r := testRNG(t)
	tasks := append(family(r, 2, 8), taskOf(t, "other", bump([]float64{0, 1}), randomPoints(r, 5, 2)))
	m, err := learnRMGPUCB(ctx, square(t), tasks)
	require.NoError(t, err)
	x, z := randomPoints(r, 9, 2), randomPoints(r, 4, 2)
	d := dataAt(bump([]float64{0.7, 0.3}), x, 0)
	for _, first := range []int{0, 1, 4} {
		s := m.Surrogate(5).(*rmUCBRun)
		require.NoError(t, s.Bind(ctx, z))
		for n := first; n <= 9; n++ {
			p := firstOf(d, n, n-first+1)
			require.NoError(t, s.Fit(ctx, p))
			w, nu := gapsOracle(s.gapRun, p, first)
			near(t, w, s.among, 1e-7, "weights")
			require.InEpsilon(t, nu, s.nu, 1e-7)
			query := n - first + 1
			require.Equal(t, query, s.query)
			if first > 0 {
				require.LessOrEqual(t, s.nu, math.Pow(0.7, float64(query))*(1+1e-12))
			}
			score, want := make([]float64, 4), make([]float64, 4)
			require.NoError(t, s.Score(ctx, score, z, nil, 0))
			for i, src := range s.sources {
				mu, v := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), z)
				for j := range want {
					want[j] += nu * w[i] * (mu[j] + math.Sqrt(v[j]))
				}
			}
			if query > 1 {
				mean, sd := predict(t, s, z)
				for j := range want {
					want[j] += (1 - nu) * (mean[j] + math.Sqrt(0.2*2*math.Log(2*float64(query)))*sd[j])
				}
			}
			near(t, want, score, 1e-6, "score")
		}
		// A run that skipped all but the last has the same history.
		fresh := m.Surrogate(5).(*rmUCBRun)
		require.NoError(t, fresh.Fit(ctx, firstOf(d, 9, 9-first+1)))
		require.Equal(t, s.among, fresh.among)
		require.Equal(t, s.nu, fresh.nu)
		require.InDelta(t, 1, sumOf(s.Weights()), 1e-12)
	}
}

func sumOf(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// Pending trials are queries that wait, so that the observations a run began with
// stay the same number.
func TestGapQueries(t *testing.T) {
	r := testRNG(t)
	m, err := learnRMGPUCB(ctx, square(t), family(r, 1, 5))
	require.NoError(t, err)
	s := m.Surrogate(1).(*rmUCBRun)
	d := dataAt(bump([]float64{0.7, 0.3}), randomPoints(r, 8, 2), 7) // six asked
	d.Pending = randomPoints(r, 3, 2)                                // three wait: three told, five from before
	require.NoError(t, s.Fit(ctx, d))
	require.Equal(t, 4, s.query)
	require.Len(t, s.gaps, 4, "after 5, 6, 7 and 8 observations")
}

// The draws of RM-GP-TS have the moments of the sum of independent posteriors.
func TestThompsonDraws(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 6)
	m, err := learnRMGPTS(ctx, square(t), tasks)
	require.NoError(t, err)
	z := randomPoints(r, 4, 2)
	s := m.Surrogate(5).(*rmTSRun)
	d := dataAt(bump([]float64{0.7, 0.3}), randomPoints(r, 4, 2), 1)
	d.Pending = randomPoints(r, 1, 2)
	require.NoError(t, s.Fit(ctx, d))

	mean := make([]float64, 4)
	var cov linalg.Sym
	require.NoError(t, s.mixture(ctx, mean, &cov, z))
	wantMean, wantVar := make([]float64, 4), make([]float64, 4)
	for i, src := range s.sources {
		// The pending point shrinks variances; its value is the mean, so means stay.
		mu, _ := gpOracle(src.h.Kernel.Eval, zeroMean, src.X, src.Z, src.h.Noise(src.Noise), z)
		all := linalg.NewDense(7, 2, nil)
		noise := gp.Noise(nil, 7, src.h.NoiseVariance)
		for j := range 6 {
			copy(all.Row(j), src.X.Row(j))
		}
		copy(all.Row(6), d.Pending.Row(0))
		_, v := gpOracle(src.h.Kernel.Eval, zeroMean, all, make([]float64, 7), noise, z)
		for j := range mu {
			wantMean[j] += s.among[i] * mu[j]
			wantVar[j] += s.among[i] * s.among[i] * v[j]
		}
	}
	near(t, wantMean, mean, 1e-9, "mean")
	for j := range wantVar {
		require.InDelta(t, wantVar[j], cov.At(j, j), 1e-9)
	}

	const draws = 3000
	sum := make([]float64, 4)
	second := linalg.NewSym(4, nil)
	for i := range draws {
		s.target.seed = uint64(i) // another stream, the same data
		score := make([]float64, 4)
		require.NoError(t, s.Score(ctx, score, z, nil, 0)) // the first query is the tasks'
		linalg.Axpy(sum, 1.0/draws, score)
		for p := range 4 {
			for q := range p + 1 {
				second.Set(p, q, second.At(p, q)+(score[p]-mean[p])*(score[q]-mean[q])/draws)
			}
		}
	}
	for p := range 4 {
		require.InDelta(t, mean[p], sum[p], 5*math.Sqrt(cov.At(p, p)/draws))
		for q := range p + 1 {
			se := math.Sqrt((cov.At(p, p)*cov.At(q, q) + cov.At(p, q)*cov.At(p, q)) / draws)
			require.InDelta(t, cov.At(p, q), second.At(p, q), 5*se)
		}
	}
}

// Later queries are the tasks' with probability ν, the target's else.
func TestThompsonTurns(t *testing.T) {
	r := testRNG(t)
	m, err := learnRMGPTS(ctx, square(t), family(r, 2, 6))
	require.NoError(t, err)
	s := m.Surrogate(1).(*rmTSRun)
	d := dataAt(func([]float64) float64 { return 0 }, randomPoints(r, 5, 2), 2)
	for i := range d.Raw {
		d.Raw[i] = float64(i)
	}
	d.Y = cmbo.ZScore.Apply(d.Raw)
	require.NoError(t, s.Fit(ctx, d))
	s.nu = 0.36
	// At an observed point the target's draws are close to its value, 1.41 in
	// scaled units; tell the turns apart by what the tasks expect there.
	x := points.First(d.X, 1)
	mean := make([]float64, 1)
	var cov linalg.Sym
	require.NoError(t, s.mixture(ctx, mean, &cov, x))
	own, sd := predict(t, s, x)
	tasksTurn := 0
	const draws = 2000
	for i := range draws {
		s.target.seed = uint64(i)
		score := []float64{0}
		require.NoError(t, s.Score(ctx, score, x, nil, 0))
		a := math.Abs(score[0]-mean[0]) / math.Sqrt(cov.At(0, 0))
		b := math.Abs(score[0]-own[0]) / sd[0]
		if a < b {
			tasksTurn++
		}
	}
	require.Greater(t, math.Abs(mean[0]-own[0]), 6*max(sd[0], math.Sqrt(cov.At(0, 0))), "turns can be told apart")
	require.InDelta(t, 0.36, float64(tasksTurn)/draws, 5*math.Sqrt(0.36*0.64/draws))
}
