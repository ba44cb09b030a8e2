package hierarchy

import (
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/require"
)

// The process specific to a target has the lengths, and values the noise, of a run without a past on values raised, in any
// unit, from the first value on that the past and the least number let it have, and a run that was told all values at once
// is one that was told them one by one.
func TestOwnLengths(t *testing.T) {
	tasks := makeTasks(3, 2, 4, 2, 0, 1)
	tasks[0] = tasks[0].WithFailed(uniform(rng.Stream(2, t.Name()), 3, 2)) // failures are no values
	m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	r := rng.Stream(4, t.Name())
	x, y := uniform(r, 20, 2), make([]float64, 20)
	for i := range y {
		y[i] = 1000 * math.Sin(9*x.Row(i)[0])
	}
	at := uniform(r, 5, 2)
	predict := func(run *Run) [2][]float64 {
		out := [2][]float64{make([]float64, 5), make([]float64, 5)}
		require.NoError(t, run.Predict(ctx, out[0], out[1], at))
		return out
	}
	steps, never := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil), m.Settings()
	never.Outgrow = 0
	for n := 1; n <= len(y); n++ {
		head := x.View(0, 0, n, 2)
		once, without := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil), NewRun(m, never, math.NaN(), 1, nil, nil)
		for _, run := range []*Run{steps, once, without} {
			require.NoError(t, run.Fit(ctx, &head, y[:n], nil, nil))
		}
		require.Equal(t, predict(once), predict(steps), "%d values", n)
		of, noise := m.specificKernel(&m.settings).AppendParams(nil), m.grid.base.NoiseVariance
		if n > 8 {
			plain := gp.NewPlain(2, nil, math.NaN(), scaling.ZScore.Scale, nil, m.settings.Seed)
			raised := scaling.RaiseBelow(y[:n], math.Inf(1), m.affine.wide())
			z, _ := scaling.ZScore.Scale(raised, nil)
			require.NoError(t, plain.Fit(ctx, &space.Data{X: &head, Y: z, Raw: raised, RawNoiseVariance: make([]float64, n)}))
			of = plain.Kernel().AppendParams(nil)
			noise = plain.NoiseVariance() / math.Exp(of[0]) * m.specificVariance()
		}
		for _, k := range append(steps.all, once.all...) {
			require.InEpsilon(t, noise, k.noise, 1e-9, "%d values", n)
		}
		require.Equal(t, n > 8, steps.Outgrown())
		known := NewRun(m, m.Settings(), 0.3, 1, nil, nil)
		require.NoError(t, known.Fit(ctx, &head, y[:n], nil, nil))
		require.Equal(t, 0.3, known.all[0].noise)
		got := steps.specific.AppendParams(nil)
		require.InDeltaSlice(t, of[1:], got[len(got)-len(of)+1:], 1e-12, "%d values", n)
		require.InEpsilon(t, m.specificVariance(), steps.specific.Eval(at.Row(0), at.Row(0)), 1e-12)
		require.Equal(t, n <= 8, without.specific.Eval(at.Row(0), at.Row(1)) == steps.specific.Eval(at.Row(0), at.Row(1)))
	}
	head := x.View(0, 0, 6, 2)
	require.NoError(t, steps.Fit(ctx, &head, y[:6], nil, nil))
	once := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, once.Fit(ctx, &head, y[:6], nil, nil))
	require.Equal(t, predict(once), predict(steps), "fewer values again")
}

// A past of next to nothing leaves lengths to the run from the size of a design on.
func TestOwnLengthsOfFewValues(t *testing.T) {
	m := learn(t, makeTasks(3, 1, 1, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	x, y := uniform(rng.Stream(4, t.Name()), 6, 2), []float64{1, 2, 4, 3, 5, 2}
	run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	for n := range len(y) {
		head := x.View(0, 0, n+1, 2)
		require.NoError(t, run.Fit(ctx, &head, y[:n+1], nil, nil))
		require.Equal(t, n+1 >= leastOwn, run.ownParams != nil)
	}
}

// Where differences between low values are smaller, the noise of values near the best is what it is of values as they
// are, by the first ones, to which it was fitted, and lengths are those of values as they are.
func TestOwnNoiseOfLowValues(t *testing.T) {
	s, tasks := DefaultSettings(2), makeTasks(3, 1, 9, 2, 0, 1)
	z, _ := scaling.CompressLow(tasks[0].Z, nil)
	tasks[0] = scaled("low", tasks[0].X, z)
	m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 40, 2), s)
	r := rng.Stream(4, t.Name())
	x, y := uniform(r, 34, 2), make([]float64, 34)
	for i := range y {
		y[i] = math.Sin(9*x.Row(i)[0]) - 9*max(x.Row(i)[1]-0.5, 0) + 0.1*r.NormFloat64()
	}
	steps := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	for n := 8; n <= len(y); n += 2 {
		head := x.View(0, 0, n, 2)
		once, plain := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil), gp.NewPlain(2, nil, math.NaN(), scaling.ZScore.Scale, nil, s.Seed)
		require.NoError(t, steps.Fit(ctx, &head, y[:n], nil, nil))
		require.NoError(t, once.Fit(ctx, &head, y[:n], nil, nil))
		require.Equal(t, once.NoiseVariance(), steps.NoiseVariance(), "%d values", n)
		if require.Equal(t, n > 9, steps.Outgrown()); n <= 9 {
			continue
		}
		raised := scaling.RaiseBelow(y[:n], math.Inf(1), m.affine.wide())
		z, _ = scaling.ZScore.Scale(raised, nil)
		require.NoError(t, plain.Fit(ctx, &space.Data{X: &head, Y: z, Raw: raised, RawNoiseVariance: make([]float64, n)}))
		seen, _ := steps.low.Compress(raised, nil)
		count := gp.RefitCount(n)
		closer := deviation(seen[:count]) / deviation(raised[:count])
		require.Less(t, closer, 0.8)
		k := plain.Kernel().AppendParams(nil)
		require.InEpsilon(t, plain.NoiseVariance()/math.Exp(k[0])*m.specificVariance(), steps.all[0].noise*closer*closer, 1e-9, "%d values", n)
		got := steps.specific.AppendParams(nil)
		require.InDeltaSlice(t, k[1:], got[len(got)-len(k)+1:], 1e-12)
	}
}

// Values of points that were measured again, their noise not given, tell how loud it is: each hypothesis comes with the
// past's noise and louder ones, which are as likely. All values told at once, or one by one, are the same; where no point
// is measured again, or the noise is known, nothing is weighed.
func TestLouder(t *testing.T) {
	m := learn(t, makeTasks(3, 6, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	s, base, r := m.Settings(), m.Base().NoiseVariance, rng.Stream(4, t.Name())
	x, y := uniform(r, 20, 2), make([]float64, 20)
	for i := range y {
		if i >= 12 {
			copy(x.Row(i), x.Row(i-8))
		}
		y[i] = family(r, x.Row(i), 1) + 0.5*r.NormFloat64()
	}
	steps := NewRun(m, s, math.NaN(), 1, nil, nil)
	predict := func(run *Run) [2][]float64 {
		out := [2][]float64{make([]float64, 20), make([]float64, 20)}
		require.NoError(t, run.Predict(ctx, out[0], out[1], x))
		return out
	}
	for n := 1; n <= len(y); n++ {
		head, once := x.View(0, 0, n, 2), NewRun(m, s, math.NaN(), 1, nil, nil)
		for _, run := range []*Run{steps, once} {
			require.NoError(t, run.Fit(ctx, &head, y[:n], nil, nil))
		}
		require.Equal(t, predict(once), predict(steps), "%d values", n)
		noise, mass := map[float64]int{}, 0.0
		for _, k := range steps.all {
			noise[k.noise/base]++
			mass += math.Exp(k.log)
		}
		require.InDelta(t, 1, mass, 1e-12)
		require.Len(t, noise, map[bool]int{false: 1, true: 1 + len(s.Louder)}[n > 12])
	}
	require.Less(t, 100*base, 0.1)
	require.InDelta(t, 0.5, math.Sqrt(steps.NoiseVariance()), 0.2)
	head := x.View(0, 0, 12, 2)
	require.NoError(t, steps.Fit(ctx, &head, y[:12], nil, nil))
	require.Len(t, steps.all, 3, "fewer values again")
	given := make([]float64, 20)
	for i := 8; i < 20; i++ { // all but one of each that comes again
		given[i] = 0.25
	}
	for _, c := range []struct{ noise, given float64 }{{base, 0}, {math.NaN(), 0.25}} {
		run, all := NewRun(m, s, c.noise, 1, nil, nil), make([]float64, 20)
		if c.given > 0 {
			all = given
		}
		require.NoError(t, run.Fit(ctx, x, y, all, nil))
		require.LessOrEqual(t, len(run.all), 3)
	}
}
