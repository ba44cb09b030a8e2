package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/stretchr/testify/require"
)

// In a run with limits proposals improve on the best of the values that hold them, and on what is
// pending, of which that is not known.
func TestProposalsImproveOnWhatHoldsLimits(t *testing.T) {
	r := testRNG(t)
	d := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, 8, 2), 9)
	d.Pending = randomPoints(r, 2, 2)
	best := slices.Index(d.Y, slices.Max(d.Y))
	d.Feasible = slices.Repeat([]bool{true}, 8)
	d.Feasible[best] = false
	z := randomPoints(r, 4, 2)
	got := make([]float64, 4)
	held := func(v []float64) float64 { return slices.Max(slices.Delete(slices.Clone(v), best, best+1)) }
	started := func(name string) cmbo.Surrogate {
		m, err := Find(name)
		require.NoError(t, err)
		// Tasks of one form with the target, so that all models are largest at its best point.
		var tasks []cmbo.Task
		for _, id := range []string{"a", "b", "c"} {
			tasks = append(tasks, taskOf(t, id, bump([]float64{0.6, 0.4}), randomPoints(r, 20, 2)))
		}
		model, err := m.Learn(ctx, square(t), tasks, brief)
		require.NoError(t, err)
		s := model.Surrogate(1)
		require.NoError(t, s.Fit(ctx, d))
		require.NoError(t, s.(cmbo.Scorer).Score(ctx, got, z, acq.EI{Best: 7}, 7))
		return s
	}
	score := func(best float64, mean, sd []float64) (out []float64) {
		for j := range mean {
			out = append(out, acq.EI{Best: best}.Score(mean[j], sd[j]))
		}
		return out
	}

	rgpe := started("RGPE")
	at, _ := predict(t, rgpe, d.X)
	require.Less(t, held(at), slices.Max(at))
	mean, sd := predict(t, rgpe, z)
	require.Equal(t, score(held(at), mean, sd), got)

	gc3p := started("GC3P").(*gc3pRun)
	mean, sd = make([]float64, 4), make([]float64, 4)
	require.NoError(t, gc3p.moments(ctx, mean, sd, z))
	require.Equal(t, score(held(cmbo.Copula.Apply(d.Y)), mean, sd), got)

	for _, name := range []string{"TAF-RGPE", "TAF-R"} {
		taf := started(name).(*tafRun)
		means, err := taf.meansAt(ctx, d.X)
		require.NoError(t, err)
		waits, err := taf.meansAt(ctx, d.Pending)
		require.NoError(t, err)
		for i, mu := range means {
			require.Less(t, held(mu), slices.Max(mu))
			require.Equal(t, max(held(mu), slices.Max(waits[i])), taf.best[i], name)
		}
		at, _ := predict(t, taf, d.X)
		there, _ := predict(t, taf, d.Pending)
		require.InDelta(t, max(held(at), slices.Max(there)), taf.own, 1e-12, name)
	}
}

// Noise far beyond the spread of values says that they say nothing; it fails no method, neither of
// tasks nor of the run.
func TestNoiseBeyondMeasure(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 8)
	for i := range tasks {
		for k, y := range tasks[i].Y {
			tasks[i].Y[k] = (y - 100) * 1e-150
		}
		tasks[i].NoiseVariance = make([]float64, 8)
		tasks[i].NoiseVariance[0] = 1e10
	}
	_, obs, err := settle(config{method: "test"}, square(t), tasks, nil)
	require.NoError(t, err)
	require.Equal(t, 1e150, obs[0].Noise[0])
	for name, m := range learnAll(t, tasks) {
		o := newOptimizer(t, square(t), cmbo.WithSurrogate(m.Surrogate(1)), cmbo.WithCandidateCounts(20, 0))
		for i := range 4 {
			require.NoError(t, o.Observe(tasks[0].X[i], tasks[0].Y[i], cmbo.WithNoise(1e10)))
		}
		_, err = o.Ask(ctx)
		require.NoError(t, err, name)
		m, _, err := o.Predict(ctx, tasks[0].X[1])
		require.NoError(t, err, name)
		require.False(t, math.IsNaN(m), name)
	}
}
