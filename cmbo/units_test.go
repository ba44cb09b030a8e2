package cmbo_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inUnit returns tasks whose values are in another unit.
func inUnit(tasks []cmbo.Task, offset, unit float64) []cmbo.Task {
	out := make([]cmbo.Task, len(tasks))
	for i, t := range tasks {
		out[i] = cmbo.Task{ID: t.ID, X: t.X}
		for _, y := range t.Y {
			out[i].Y = append(out[i].Y, offset+unit*y)
		}
	}
	return out
}

// TestUnitOfValues: the unit of the values does not matter, however small they are, nor
// where past tasks have one value each and so show no scale.
func TestUnitOfValues(t *testing.T) {
	s, _ := grid(t, 7)
	many := family(6, 12)
	var single, equal, alike []cmbo.Task
	for i, task := range many {
		single = append(single, cmbo.Task{ID: task.ID, X: task.X[:1], Y: task.Y[:1]})
		equal = append(equal, cmbo.Task{ID: task.ID, X: task.X[:2], Y: []float64{float64(i), float64(i)}})
		alike = append(alike, cmbo.Task{ID: task.ID, X: task.X[:2], Y: []float64{90, 90}})
	}
	f := bump([]float64{0.3, 0.3})
	for name, tasks := range map[string][]cmbo.Task{"many": many, "of one value": single, "of equal values": equal, "all alike": alike, "one of one value": append(many[1:], single[0])} {
		var want [][]float64
		units := []float64{1, 0x1p-600, 0x1p-20, 0x1p20}
		if testing.Short() {
			units = units[:2]
		}
		for _, unit := range units {
			o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, inUnit(tasks, 0, unit))))
			got := drive(t, o, func(x []float64) float64 { return unit * (100 + 7*f(x)) }, 8)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "%s in units of %g", name, unit)
		}
	}
}

// TestUnitOfNoise: nor does it where noise variances are given, those of tasks and of first values that show no scale
// among them, or where a policy gives such tasks a value in the middle.
func TestUnitOfNoise(t *testing.T) {
	testutil.SkipRace(t, "TestUnitOfValues has its goroutines")
	s, _ := grid(t, 7)
	f := bump([]float64{0.3, 0.3})
	for _, policy := range []cmbo.YPolicy{cmbo.ZScore, cmbo.MinMax, cmbo.Copula} {
		for _, given := range []float64{0, 0.25} {
			var want [][]float64
			for _, unit := range []float64{1, 0x1p-20, 0x1p20} {
				tasks := inUnit(family(6, 12), 0, unit)
				for i := range tasks {
					if i%2 == 1 {
						tasks[i].X, tasks[i].Y = tasks[i].X[:i], slices.Repeat(tasks[i].Y[:1], i)
					}
					if given > 0 {
						tasks[i].NoiseVariance = slices.Repeat([]float64{given * unit * unit}, len(tasks[i].Y))
					}
				}
				o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, tasks, cmbo.WithYPolicy(policy))))
				var got [][]float64
				for range 8 {
					trial := ask(t, o)
					got = append(got, trial.X)
					var opts []cmbo.ObservationOption
					if given > 0 {
						opts = append(opts, cmbo.WithNoise(given*unit*unit))
					}
					require.NoError(t, o.Tell(trial.ID, unit*(100+7*f(trial.X)), opts...))
				}
				if want == nil {
					want = got
				}
				assert.Equal(t, want, got, "%v, noise variance %g, in units of %g", policy, given, unit)
			}
		}
	}
}

// TestPredictIsFinite: tasks whose scales differ by 450 decades leave finite predictions, and proposals.
func TestPredictIsFinite(t *testing.T) {
	s, _ := grid(t, 5)
	tasks := append(inUnit(family(2, 9), 0, 1e-300), inUnit(family(4, 9)[2:], 0, 1e147)...)
	for _, tasks := range [][]cmbo.Task{tasks, append(family(3, 9), cmbo.Task{ID: "crashed", X: [][]float64{{0, 0}, {1, 1}}, Y: []float64{1e149, 1e149}})} {
		o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, tasks)))
		for range 4 {
			mean, sd := predict(t, o, []float64{0.5, 0.5})
			require.False(t, math.IsInf(mean+sd, 0) || math.IsNaN(mean+sd), "%g ± %g", mean, sd)
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, 100+trial.X[0]))
		}
	}
}

// TestRatioBeyondNumbers: where past and run differ by more than the squares of numbers do, a run
// goes on, and its masses are masses; so it is of an output with a limit and of a cost.
func TestRatioBeyondNumbers(t *testing.T) {
	s, rows := grid(t, 5)
	for _, of := range []cmbo.OutputOption{cmbo.AtMost(1e149), cmbo.AsCost()} {
		tasks := family(3, 10)
		for i := range tasks {
			tasks[i].Outputs = map[string][]float64{"seconds": inUnit(tasks[i:i+1], 2e-150, 1e-150)[0].Y}
		}
		o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, tasks)), cmbo.WithOutput("seconds", of))
		for k := range 4 {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, float64(k), cmbo.Outputs{"seconds": 1e149 * float64(k+1)}))
		}
	}
	for _, policy := range []cmbo.YPolicy{cmbo.ZScore, cmbo.MinMax, cmbo.RawValues, cmbo.Copula} {
		for _, unit := range [][2]float64{{1e-150, 1e147}, {1e147, 1e-150}, {1e-300, 1}, {5e-324, 1e147}} {
			o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, inUnit(family(4, 10), 0, unit[0]), cmbo.WithYPolicy(policy))))
			for k := range 4 {
				var opts []cmbo.ObservationOption
				if k == 2 {
					opts = append(opts, cmbo.WithNoise(unit[1]))
				}
				require.NoError(t, o.Observe(rows[5*k], unit[1]*(1+bump([]float64{0.3, 0.3})(rows[5*k])), opts...))
				tr, err := o.Transfer(ctx)
				require.NoError(t, err, "%v %g", policy, unit)
				none, _ := tr.Mass(cmbo.LevelNone)
				population, _ := tr.Mass(cmbo.LevelPopulation)
				require.InDelta(t, 1, none+population, 1e-9, "%v %g", policy, unit)
				_, err = o.Ask(ctx)
				require.NoError(t, err, "%v %g", policy, unit)
			}
		}
	}
}

// TestSureOfNoUnit: a run in a unit so large that no number holds the probability of its scale is
// predicted with a deviation that is of its values' size.
func TestSureOfNoUnit(t *testing.T) {
	s, rows := grid(t, 5)
	p := learn(t, s, family(4, 10))
	f := bump([]float64{0.3, 0.3})
	for _, unit := range []float64{1e40, 1e60, 1e100, 1e140} {
		o := newOptimizer(t, s, cmbo.WithPrior(p))
		for k := range 6 {
			require.NoError(t, o.Observe(rows[4*k], unit*f(rows[4*k])))
		}
		var square float64
		for i, row := range rows {
			if i%4 == 0 && i < 24 {
				continue // told
			}
			mean, sd := predict(t, o, row)
			require.Greater(t, sd/unit, 0.01, "%g", unit)
			square += math.Pow((mean/unit-f(row))/(sd/unit), 2) / float64(len(rows)-6)
		}
		require.Less(t, math.Sqrt(square), 4.0, "%g", unit)
	}
}

// TestRawValuesInOneUnit: values that stay as they are have the scale of all tasks together.
func TestRawValuesInOneUnit(t *testing.T) {
	s, _ := grid(t, 7)
	f := bump([]float64{0.3, 0.3})
	var want [][]float64
	for _, unit := range []float64{1, 0x1p-20, 0x1p20} {
		p := learn(t, s, inUnit(family(6, 12), 0, unit), cmbo.WithYPolicy(cmbo.RawValues))
		got := drive(t, newOptimizer(t, s, cmbo.WithPrior(p)), func(x []float64) float64 { return unit * (100 + 7*f(x)) }, 8)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "in units of %g", unit)
	}
}

// TestFirstPrediction: before the first value a prediction has the tasks' spread, within a
// small factor.
func TestFirstPrediction(t *testing.T) {
	s, _ := grid(t, 5)
	o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, family(12, 15))))
	mean, sd := predict(t, o, []float64{0.5, 0.5})
	require.InDelta(t, 103, mean, 4)
	require.Greater(t, sd, 2.0)
	require.Less(t, sd, 40.0)
}

// TestAdoptKeepsUnits: a prior brought to its own space, and one brought to a space with a
// parameter more, predict in the values' units as one learned from the tasks does.
func TestAdoptKeepsUnits(t *testing.T) {
	s := newSpace(t, cmbo.Float("a", 0, 1), cmbo.Float("b", 0, 1))
	wide := newSpace(t, cmbo.Float("a", 0, 1), cmbo.Float("b", 0, 1), cmbo.Bool("c"))
	for _, minimize := range []bool{false, true} {
		var opts []cmbo.LearnOption
		if minimize {
			opts = append(opts, cmbo.WithMinimize())
		}
		tasks := inUnit(family(6, 14), 1e6, 1e3)
		for i := range tasks {
			tasks[i].Params = s.Params()
			tasks[i].NoiseVariance = make([]float64, len(tasks[i].Y))
			tasks[i].NoiseVariance[2] = 4e4
		}
		p := learn(t, s, tasks, opts...)
		for i, task := range p.Tasks() {
			require.InDelta(t, 4e4, task.NoiseVariance[2], 4e-6)
			for j, y := range task.Y {
				// Values far below the others are known as such only.
				if tasks[i].Y[j] > slices.Sorted(slices.Values(tasks[i].Y))[7] != minimize {
					require.InDelta(t, tasks[i].Y[j], y, 1e-5)
				}
			}
		}
		same, _, err := p.Adopt(ctx, s, cmbo.Changes{})
		require.NoError(t, err)
		more, _, err := p.Adopt(ctx, wide, cmbo.Changes{Defaults: map[string]any{"c": false}})
		require.NoError(t, err)
		told := [][]float64{{0.2, 0.3}, {0.7, 0.5}, {0.4, 0.4}}
		predict := func(p *cmbo.Prior, s *cmbo.Space, rest ...float64) (mean, sd float64) {
			o := newOptimizer(t, s, cmbo.WithPrior(p))
			for _, x := range told {
				require.NoError(t, o.Observe(append(x[:2:2], rest...), 1.1e6+7e3*bump([]float64{0.3, 0.3})(x)))
			}
			mean, sd = predict(t, o, append([]float64{0.3, 0.3}, rest...))
			return mean, sd
		}
		mean, sd := predict(p, s)
		m, d := predict(same, s)
		require.InDelta(t, mean, m, 1e-6*sd)
		require.InEpsilon(t, sd, d, 1e-6)
		m, d = predict(more, wide, 0)
		require.InDelta(t, mean, m, sd)
		require.InEpsilon(t, sd, d, 0.5)
	}
}

// TestTransferOfTheSameTask: a target that is the past, value for value, is never said to
// be misled by it.
func TestTransferOfTheSameTask(t *testing.T) {
	testutil.SkipShort(t, "it is about verdicts on whole runs")
	s := unitCube(t, 1)
	f := func(x float64) float64 { return -(x - 0.3) * (x - 0.3) }
	var tasks []cmbo.Task
	for i := range 5 {
		task := cmbo.Task{ID: fmt.Sprint(i)}
		for j := range 20 {
			x := float64(j) / 19
			task.X, task.Y = append(task.X, []float64{x}), append(task.Y, f(x))
		}
		tasks = append(tasks, task)
	}
	for _, y := range []cmbo.YPolicy{cmbo.ZScore, cmbo.Copula} {
		o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, tasks, cmbo.WithYPolicy(y))))
		for i := range 20 {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, f(trial.X[0])))
			if i < 4 {
				continue // too early to tell
			}
			transfer := transferOf(t, o)
			require.NotEqual(t, cmbo.TransferMisleads, transfer.Verdict, "%v after %d: %v", y, i+1, transfer)
		}
	}
	// What is unlike the past is still found out.
	r := rng.Stream(1, t.Name())
	o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, tasks)))
	for range 20 {
		x := r.Float64()
		require.NoError(t, o.Observe([]float64{x}, math.Sin(40*x)))
	}
	transfer := transferOf(t, o)
	require.Equal(t, cmbo.TransferMisleads, transfer.Verdict, "%v", transfer)
}

// TestLearnOfAnOutlierWithNoise: a value out of all proportion makes the noise given next to
// nothing in units of the values, and the moments are learned all the same.
func TestLearnOfAnOutlierWithNoise(t *testing.T) {
	s := unitCube(t, 1)
	for _, n := range []int{3, 10, 40} {
		for _, y := range []cmbo.YPolicy{cmbo.Copula, cmbo.ZScore} {
			r := rng.Stream(uint64(n), t.Name())
			task := cmbo.Task{ID: "a", NoiseVariance: slices.Repeat([]float64{1e-6}, n)}
			for range n {
				x := r.Float64()
				task.X, task.Y = append(task.X, []float64{x}), append(task.Y, math.Sin(5*x)+0.1*r.NormFloat64())
			}
			task.Y[2] = -1e9
			o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, []cmbo.Task{task}, cmbo.WithYPolicy(y))), cmbo.WithCandidateCounts(20, 5))
			ask(t, o)
		}
	}
}

// TestEqualButForRounding: values that differ by rounding alone, as means of the same numbers in another order do, are
// equal ones, of a past task and of a run.
func TestEqualButForRounding(t *testing.T) {
	box, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	var mean, sd [2]float64
	for i, last := range []float64{0.7, math.Nextafter(0.7, 1)} {
		tasks := family(5, 10)
		for k := range tasks[4].Y {
			tasks[4].Y[k] = 0.7
		}
		tasks[4].Y[9] = last
		o := newOptimizer(t, box, cmbo.WithPrior(learn(t, box, tasks, smallSets...)))
		mean[i], sd[i], err = o.Predict(ctx, []float64{0.5, 0.5})
		require.NoError(t, err)
	}
	require.InDelta(t, mean[0], mean[1], 1e-6*sd[0])
	require.InEpsilon(t, sd[0], sd[1], 1e-6)

	o := newOptimizer(t, box)
	require.NoError(t, o.Observe([]float64{0.2, 0.3}, 0.7))
	require.NoError(t, o.Observe([]float64{0.8, 0.4}, math.Nextafter(0.7, 1)))
	u := outlookOf(t, o)
	require.True(t, math.IsNaN(u.Expected), "%v", u)
}
