package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// plainOf returns the model of a run without a past, as it fits values.
func plainOf(t *testing.T, x *linalg.Dense, y []float64, s *Settings) *gp.Plain {
	t.Helper()
	plain := gp.NewPlain(s.Coordinates, nil, math.NaN(), scaling.ZScore.Scale, nil, !s.List, s.Seed)
	z, _ := scaling.ZScore.Scale(y, nil)
	require.NoError(t, plain.Fit(ctx, &space.Data{X: x, Y: z, Raw: y, RawNoiseVariance: make([]float64, len(y))}))
	return plain
}

// predicted returns means and deviations at the rows of x.
func predicted(t *testing.T, run *Run, x *linalg.Dense) [2][]float64 {
	t.Helper()
	out := [2][]float64{make([]float64, rows(x)), make([]float64, rows(x))}
	require.NoError(t, run.Predict(ctx, out[0], out[1], x))
	return out
}

// The process specific to a target has the lengths, and values the noise, of a run without a past on values raised, in any
// unit, from the first value on that the past and the least number let it have, and a run that was told all values at once
// is one that was told them one by one.
func TestOwnLengths(t *testing.T) {
	tasks := makeTasks(3, 2, 4, 2, 0, 1)
	s := testSettings(2)
	s.List = true
	m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 40, 2), s)
	r := rng.Stream(4, t.Name())
	x, y := uniform(r, 20, 2), make([]float64, 20)
	for i := range y {
		y[i] = 1000 * math.Sin(9*x.Row(i)[0])
	}
	at := uniform(r, 5, 2)
	predict := func(run *Run) [2][]float64 { return predicted(t, run, at) }
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
			plain := plainOf(t, &head, scaling.RaiseBelow(y[:n], math.Inf(1), m.affine.wide()), &m.settings)
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
		got := steps.specific[0].kernel.AppendParams(nil)
		require.InDeltaSlice(t, of[1:], got[len(got)-len(of)+1:], 1e-12, "%d values", n)
		require.InEpsilon(t, m.specificVariance(), steps.specific[0].kernel.Eval(at.Row(0), at.Row(0)), 1e-12)
		require.Equal(t, n <= 8, without.specific[0].kernel.Eval(at.Row(0), at.Row(1)) == steps.specific[0].kernel.Eval(at.Row(0), at.Row(1)))
	}
	head := x.View(0, 0, 6, 2)
	require.NoError(t, steps.Fit(ctx, &head, y[:6], nil, nil))
	once := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
	require.NoError(t, once.Fit(ctx, &head, y[:6], nil, nil))
	require.Equal(t, predict(once), predict(steps), "fewer values again")
}

// A past of next to nothing, and one of noise, leaves lengths to the run from the size of a design on, and noise, be points
// measured again or not. Another past, and one of noise where it is not asked for, does not.
func TestOwnLengthsOfFewValues(t *testing.T) {
	noise := makeTasks(3, 4, 40, 2, 0, 1)
	for i := range noise {
		rng.Stream(2, t.Name()).Shuffle(40, func(j, k int) { z := noise[i].Z; z[j], z[k] = z[k], z[j] })
	}
	never := testSettings(2)
	never.Outgrow = 0
	for name, c := range map[string]struct {
		tasks []Task
		s     Settings
		own   bool
		all   int // hypotheses, whatever is measured again: of noise that nothing transfers is two
	}{
		"next to nothing": {makeTasks(3, 1, 1, 2, 0, 1), testSettings(2), true, 3},
		"noise":           {noise, testSettings(2), true, 4},
		"noise, never":    {noise, never, false, 0},
		"values":          {makeTasks(3, 4, 40, 2, 0, 1), testSettings(2), false, 0},
	} {
		c.s.List = true
		m := learn(t, c.tasks, uniform(rng.Stream(1, t.Name()), 40, 2), c.s)
		x, y := uniform(rng.Stream(4, t.Name()), 6, 2), []float64{1, 2, 4, 3, 5, 2}
		run := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		copy(x.Row(5), x.Row(0))
		for n := range len(y) {
			head := x.View(0, 0, n+1, 2)
			require.NoError(t, run.Fit(ctx, &head, y[:n+1], nil, nil))
			require.Equal(t, c.own && n+1 >= leastOwn, run.alone != nil, name)
			require.Equal(t, c.own && n+1 >= leastOwn, run.Outgrown(), name)
		}
		if c.own {
			require.Len(t, run.all, c.all, name)
		}
	}
}

// Where differences between low values are smaller, the noise of values near the best is what it is of values as they
// are, by the first ones, to which it was fitted, and lengths are those of values as they are.
func TestOwnNoiseOfLowValues(t *testing.T) {
	s, tasks := DefaultSettings(2), makeTasks(3, 1, 9, 2, 0, 1)
	s.List = true
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
		once := NewRun(m, m.Settings(), math.NaN(), 1, nil, nil)
		require.NoError(t, steps.Fit(ctx, &head, y[:n], nil, nil))
		require.NoError(t, once.Fit(ctx, &head, y[:n], nil, nil))
		require.Equal(t, once.NoiseVariance(), steps.NoiseVariance(), "%d values", n)
		if require.Equal(t, n > 9, steps.Outgrown()); n <= 9 {
			continue
		}
		raised := scaling.RaiseBelow(y[:n], math.Inf(1), m.affine.wide())
		plain := plainOf(t, &head, raised, &s)
		seen, _ := steps.low.Compress(raised, nil)
		count := gp.RefitCount(n)
		closer := deviation(seen[:count]) / deviation(raised[:count])
		require.Less(t, closer, 0.8)
		k := plain.Kernel().AppendParams(nil)
		require.InEpsilon(t, plain.NoiseVariance()/math.Exp(k[0])*m.specificVariance(), steps.all[0].noise*closer*closer, 1e-9, "%d values", n)
		got := steps.specific[0].kernel.AppendParams(nil)
		require.InDeltaSlice(t, k[1:], got[len(got)-len(k)+1:], 1e-12)
	}
}

// byOf returns what lengths and then noise of a run are multiplied by, as logarithms to base 2, and last 1 if its process is
// smooth.
func byOf(run *Run) (by []float64) {
	of := run.s.SpecificKernel.AppendParams(nil)
	params := run.specific[0].kernel.AppendParams(nil)
	for i := range run.Model.grid.dim() {
		by = append(by, math.Round((params[len(params)-1-i]-of[len(of)-1-i])/math.Ln2))
	}
	slices.Reverse(by)
	noise, smooth := 0.0, 0.0
	if i := slices.IndexFunc(run.all, func(k *member) bool { return k.ownNoise == 0 && k.transfers() }); i >= 0 {
		noise = math.Round(math.Log2(run.all[i].noise / run.noise))
	}
	if d, err := kernel.Describe(run.specific[0].kernel); err != nil {
		panic(err)
	} else if d.Kernels[0].Kernels[0].Name == "Matern52" {
		smooth = 1
	}
	return append(by, noise, smooth)
}

// likelihoodOf is what fitBeside makes largest, by a run of its own: of the first n values, with the process beside and the
// noise as byOf has them.
func likelihoodOf(t *testing.T, m *Model, x *linalg.Dense, y []float64, by []float64) float64 {
	t.Helper()
	s, d := m.Settings(), m.grid.dim()
	s.OwnFrom, s.Outgrow = [2]int{}, 0
	if by[d+1] > 0 {
		s.reshape(kernel.Matern52)
	}
	params := s.SpecificKernel.AppendParams(nil)
	for i := range d {
		params[len(params)-d+i] += by[i] * math.Ln2
	}
	var err error
	s.SpecificKernel, err = s.SpecificKernel.WithParams(params)
	require.NoError(t, err)
	run := NewRun(m, s, m.grid.base.NoiseVariance*math.Exp2(by[d]), 1, nil, nil)
	require.NoError(t, run.Fit(ctx, x, y, nil, nil))
	var sum, prior float64
	top := run.all[0].fit.evidence
	for _, k := range run.all {
		sum += math.Exp(k.fit.evidence + k.log - top)
	}
	for i, v := range by[:d+1] {
		deviations := v * math.Ln2
		if i == d { // the noise
			deviations /= 3
		}
		prior -= deviations * deviations / 2
	}
	return top + math.Log(sum) + prior
}

// From OwnFrom on a run has lengths and a noise than which none a factor of two away is likelier: short ones where the
// function is rough, long ones where it is flat. They are of the first values, again whenever these are half as many more,
// and a run that was told all values at once is one that was told them one by one.
func TestLengthsBesideThePast(t *testing.T) {
	r := rng.Stream(4, t.Name())
	x, y := uniform(r, 25, 2), make([]float64, 25)
	for i := range y {
		y[i] = 1000*math.Sin(12*x.Row(i)[0]) + 50*r.NormFloat64()
	}
	at := uniform(r, 5, 2)
	predict := func(run *Run) [2][]float64 { return predicted(t, run, at) }
	for name, c := range map[string]struct {
		tasks []Task
		list  bool
		fits  []int
	}{
		"many": {makeTasks(3, 6, 30, 2, 0, 1), false, []int{15, 23}},
		"few":  {makeTasks(3, 3, 5, 2, 0, 1), false, []int{15, 23}},
		"list": {makeTasks(3, 6, 30, 2, 0, 1), true, []int{20}},
	} {
		s := testSettings(2)
		s.OwnFrom, s.List = [2]int{15, 20}, c.list
		m := learn(t, c.tasks, uniform(rng.Stream(1, t.Name()), 40, 2), s)
		start := func(noise float64) *Run {
			run := NewRun(m, s, noise, 1, nil, nil)
			if c.list {
				require.NoError(t, run.Bind(ctx, at))
			}
			return run
		}
		steps := start(math.NaN())
		for n := 1; n <= len(y); n++ {
			head, once := x.View(0, 0, n, 2), start(math.NaN())
			for _, run := range []*Run{steps, once} {
				require.NoError(t, run.Fit(ctx, &head, y[:n], nil, nil))
			}
			require.Equal(t, predict(once), predict(steps), "%s, %d values", name, n)
			require.Equal(t, n >= 15 && !c.list || c.list && n > 180, steps.Outgrown())
			by := byOf(steps)
			i, due := slices.BinarySearch(c.fits, n)
			if !due {
				if i == 0 {
					require.Equal(t, []float64{0, 0, 0, 0}, by, "%s, %d values", name, n)
				}
				require.Equal(t, byOf(once), by)
				continue
			}
			s := s
			s.OwnFrom, s.Outgrow = [2]int{}, 0
			looked := NewRun(m, s, math.NaN(), 1, nil, nil)
			require.NoError(t, looked.Fit(ctx, &head, y[:n], nil, nil))
			for _, by := range [][]float64{{0, 0, 0, 0}, {1, -2, 0, 0}, {-3, 1, 1, 1}, {0, 0, 3, 0}, {0, 0, 0, 1}} {
				got, err := looked.posterior(ctx, by)
				require.NoError(t, err)
				require.InDelta(t, likelihoodOf(t, m, &head, y[:n], by), got, 1e-8, "%s, %d values, %v", name, n, by)
			}
			for _, noise := range []float64{gp.LeastNoise, s.NoiseRange[1]} {
				beyond := math.Log2(noise/m.grid.base.NoiseVariance) + map[bool]float64{false: 0.01, true: -0.01}[noise == gp.LeastNoise]
				got, err := looked.posterior(ctx, []float64{0, 0, beyond, 0})
				require.NoError(t, err)
				require.Equal(t, math.Inf(-1), got)
			}
			best := likelihoodOf(t, m, &head, y[:n], by)
			for j := range map[bool]int{false: 9, true: 8}[c.list] {
				next := slices.Clone(by)
				if j == 8 {
					next[3] = 1 - next[3]
				}
				for k := range next[:3] {
					if j/2 == k || j/2 == 3 && k < 2 {
						next[k] += float64(2*(j%2) - 1)
					}
				}
				require.Less(t, likelihoodOf(t, m, &head, y[:n], next), best, "%s, %d values, %v and not %v", name, n, next, by)
			}
			known := start(0.3)
			require.NoError(t, known.Fit(ctx, &head, y[:n], nil, nil))
			require.Equal(t, 0.3, known.all[0].noise)
		}
		by := byOf(steps)
		require.Negative(t, by[0], name)
		require.Positive(t, by[1], name)
		require.InEpsilon(t, m.specificVariance(), steps.specific[0].kernel.Eval(at.Row(0), at.Row(0)), 1e-12)
		head := x.View(0, 0, 6, 2)
		once := start(math.NaN())
		for _, run := range []*Run{steps, once} {
			require.NoError(t, run.Fit(ctx, &head, y[:6], nil, nil))
		}
		require.Equal(t, predict(once), predict(steps), "fewer values again")
	}
}

// Without a list one hypothesis is, from OwnFrom values on, the process that a run without a past fits to them, with its
// noise: after each of the first ones, told at once or one by one, then to those that lengths beside the past are fitted to.
// The others are what they are without it.
func TestAlone(t *testing.T) {
	testutil.SkipRace(t, "one goroutine fits")
	s := testSettings(2)
	s.OwnFrom = [2]int{leastOwn, 55}
	m := learn(t, makeTasks(3, 6, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), s)
	r := rng.Stream(4, t.Name())
	x, y, at := uniform(r, 64, 2), make([]float64, 64), uniform(r, 5, 2)
	for i := range y {
		y[i] = 3 + math.Sin(9*x.Row(i)[0])*math.Cos(2*x.Row(i)[1]) + 0.05*r.NormFloat64()
	}
	predict := func(run *Run) [2][]float64 { return predicted(t, run, at) }
	none := s
	none.AloneMass = 0
	steps, without := NewRun(m, s, math.NaN(), 1, nil, nil), NewRun(m, none, math.NaN(), 1, nil, nil)
	for n := 1; n <= len(y); n++ {
		head, once := x.View(0, 0, n, 2), NewRun(m, s, math.NaN(), 1, nil, nil)
		for _, run := range []*Run{steps, once, without} {
			require.NoError(t, run.Fit(ctx, &head, y[:n], nil, nil))
		}
		require.Equal(t, predict(once), predict(steps), "%d values", n)
		require.Equal(t, n >= leastOwn, steps.Outgrown())
		if n < leastOwn {
			require.Len(t, steps.all, len(without.all))
			continue
		}
		require.Equal(t, steps.multiplied(steps.own.best), steps.specific[0], "%d values", n)
		require.Len(t, steps.all, len(without.all)+1)
		for i, k := range without.all {
			require.Equal(t, k.fit.evidence, steps.all[i+1].fit.evidence, "%d values", n)
			require.Equal(t, k.log, steps.all[i+1].log)
		}
		count := max(ownCount(leastOwn, n), min(n, gp.RefitExact))
		plain := plainOf(t, points.First(x, count), y[:count], &s)
		k := plain.Kernel()
		of := k.Eval(at.Row(0), at.Row(0))
		alone := steps.all[0]
		require.False(t, alone.transfers())
		require.Equal(t, []float64{math.Log(s.AloneMass), s.NoTransferTail}, []float64{alone.log, alone.tail})
		for _, f := range steps.bound {
			require.LessOrEqual(t, len(f.posteriors), len(steps.all), "those of former members are forgotten")
		}
		require.InEpsilon(t, plain.NoiseVariance()/of*m.specificVariance(), alone.noise, 1e-9, "%d values", n)
		require.InEpsilon(t, k.Eval(at.Row(0), at.Row(1))/of*m.specificVariance(), steps.specific[1].kernel.Eval(at.Row(0), at.Row(1)), 1e-12)
		if n > 12 {
			continue // of more values the dense matrix is not positive definite by rounding
		}
		like := *m
		like.settings.SpecificKernel = kernel.Scale(1/of, k)
		same := &member{hypothesis: &hypothesis{m: &like, factor: 1, tail: s.NoTransferTail}}
		want, mean, variance := bruteForce(t, &like, steps.affine, same, join(&head, at), steps.z, alone.noise, nodesOf(&steps.affine, steps.z, s.Reversed))
		require.InDelta(t, want, alone.fit.evidence, 1e-6*(1+math.Abs(want)), "%d values", n)
		got, got2 := make([]float64, 5), make([]float64, 5)
		posteriors(t, steps, at, steps.all[:1])[0].momentsTo(got, got2, &alone.fit.all)
		for j := range got {
			require.InDelta(t, mean[j], got[j]+steps.centre(), 1e-6, "%d values", n)
			require.InDelta(t, variance[j], got2[j], 1e-6, "%d values", n)
		}
	}
	head := x.View(0, 0, 7, 2)
	once := NewRun(m, s, math.NaN(), 1, nil, nil)
	for _, run := range []*Run{steps, once} {
		require.NoError(t, run.Fit(ctx, &head, y[:7], nil, nil))
	}
	require.Equal(t, predict(once), predict(steps), "fewer values again")
	s.List = true
	listed := NewRun(m, s, math.NaN(), 1, nil, nil)
	require.NoError(t, listed.Fit(ctx, x, y, nil, nil))
	require.Len(t, listed.all, len(without.all))
}

// Lengths of scores by rank are those of the first values alone, too, whose scores each further value changes.
func TestLengthsOfRanks(t *testing.T) {
	s := testSettings(2)
	s.Ranks, s.OwnFrom = true, [2]int{15, 15}
	m := learn(t, makeTasks(3, 6, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), s)
	r := rng.Stream(4, t.Name())
	x, y := uniform(r, 22, 2), make([]float64, 22)
	for i := range y {
		y[i] = 1000*math.Sin(12*x.Row(i)[0]) + 50*r.NormFloat64()
	}
	fit := func(run *Run, n int) *own {
		head := x.View(0, 0, n, 2)
		require.NoError(t, run.Fit(ctx, &head, scaling.Fit(scaling.Copula, y[:n]).Z, nil, nil))
		return run.own
	}
	run := NewRun(m, s, math.NaN(), 1, nil, nil)
	first := fit(run, 15)
	for n := 16; n <= 22; n++ {
		require.Same(t, first, fit(run, n), "%d values", n)
		require.Equal(t, first, fit(NewRun(m, s, math.NaN(), 1, nil, nil), n))
	}
	require.NotEqual(t, make([]float64, 4), first.best)
}

// Lengths are fitted at numbers of values that follow from the first of them, to a bounded number.
func TestOwnCount(t *testing.T) {
	var counts []int
	for n := range 1000 {
		if at := ownCount(15, n); len(counts) == 0 || at != counts[len(counts)-1] {
			counts = append(counts, at)
			require.True(t, at == 0 || at == n)
		}
	}
	require.Equal(t, []int{0, 15, 23, 35, 53, 80, 120}, counts)
	require.Zero(t, ownCount(math.Inf(1), 1000))
}

// Among values of which not all count the knee lies below the best that does, when lengths are fitted as well: a run that is
// told so later is the one that knew it. Noises that came with values stay as they are.
func TestLengthsOfValuesThatCount(t *testing.T) {
	s, tasks := DefaultSettings(2), makeTasks(3, 3, 9, 2, 0, 1)
	s.OwnFrom[0], s.Rescale = 15, false // by scales alone the values that do not count change which ones are low
	for i := range tasks {
		z, _ := scaling.CompressLow(tasks[i].Z, nil)
		tasks[i] = scaled(tasks[i].ID, tasks[i].X, z)
	}
	m := learn(t, tasks, uniform(rng.Stream(1, t.Name()), 40, 2), s)
	r := rng.Stream(5, t.Name())
	x, y, given, counts := uniform(r, 15, 2), make([]float64, 15), make([]float64, 15), make([]bool, 15)
	for i := range y {
		y[i], counts[i] = math.Sin(9*x.Row(i)[0])-9*max(x.Row(i)[1]-0.5, 0)+0.1*r.NormFloat64(), true
	}
	for i := range 3 {
		y[i], counts[i] = y[i]+20, false
	}
	fit := func(run *Run, counts []bool) []float64 {
		run.Count(counts)
		require.NoError(t, run.Fit(ctx, x, y, given, nil))
		mean, sd := make([]float64, 15), make([]float64, 15)
		require.NoError(t, run.Predict(ctx, mean, sd, x))
		return append(append(mean, sd...), byOf(run)...)
	}
	start := func() *Run { return NewRun(m, s, math.NaN(), 1, nil, nil) }
	later, all := start(), fit(start(), nil)
	require.Equal(t, all, fit(later, nil))
	require.Equal(t, fit(start(), counts), fit(later, counts))
	require.NotEqual(t, all[30:], byOf(later))
	given[4], given[9] = 1e-6, 1e-6
	noisy := start()
	fit(noisy, counts)
	require.InDeltaSlice(t, byOf(later), byOf(noisy), 1)
	require.NotEqual(t, make([]float64, 4), byOf(noisy))
}

// Values of points that were measured again, their noise not given, tell how loud it is: each hypothesis comes with the
// past's noise and louder ones, which are as likely. All values told at once, or one by one, are the same; where no point
// is measured again, or the noise is known, nothing is weighed.
func TestLouder(t *testing.T) {
	m := learn(t, makeTasks(3, 6, 30, 2, 0, 1), uniform(rng.Stream(1, t.Name()), 40, 2), testSettings(2))
	s, base, r := m.Settings(), m.Base().NoiseVariance, rng.Stream(4, t.Name())
	s.AloneMass = 0
	x, y := uniform(r, 20, 2), make([]float64, 20)
	for i := range y {
		if i >= 12 {
			copy(x.Row(i), x.Row(i-8))
		}
		y[i] = family(r, x.Row(i), 1) + 0.5*r.NormFloat64()
	}
	steps := NewRun(m, s, math.NaN(), 1, nil, nil)
	predict := func(run *Run) [2][]float64 { return predicted(t, run, x) }
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
		want, own := 1, base*math.Exp2(byOf(steps)[2])
		for _, by := range s.Louder {
			if n > 12 && by*own <= s.NoiseRange[1] {
				want++
			}
		}
		require.Len(t, noise, want)
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
