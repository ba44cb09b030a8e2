package cmbo_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	penaltyProblems = flag.Int("penalties", 2, "problems of each family of TestPenaltiesWithoutAPast")
	penaltySize     = flag.Float64("penalty", 1e6, "penalty of its runs, 0 for none")
	penaltyOther    = flag.String("penalty-other", "random", "what it compares them with: random search, values as they are, failed, told as failures, or none, without a penalty")
	penaltyBudget   = flag.Int("penalty-budget", 50, "evaluations of each of its runs")
)

// How large a penalty is changes nothing: neither what is learned of tasks that hold
// it, nor what is proposed once the run has told it.
func TestPenalties(t *testing.T) {
	space, rows := grid(t, 6)
	// Two of twelve values are penalties, or one of six, or most of them.
	priorOf := func(penalty float64) *cmbo.Prior {
		tasks := family(5, 12)
		for i := range tasks {
			tasks[i].Y[i], tasks[i].Y[i+3] = penalty, 2*penalty
			if i == 1 {
				tasks[i].X, tasks[i].Y = tasks[i].X[:4], tasks[i].Y[:4]
			}
			for j := range 6 {
				if i == 2 {
					tasks[i].Y[5+j] = penalty
				}
			}
		}
		return learn(t, space, tasks)
	}
	run := func(p *cmbo.Prior, penalty float64) (asked []int) {
		o := newOptimizer(t, space, cmbo.WithPrior(p))
		f := bump([]float64{0.3, 0.35})
		for i, x := range [][]float64{rows[2], rows[20], rows[33], rows[9]} {
			y := 100 + 7*f(x)
			if i%2 == 1 {
				y = penalty
			}
			require.NoError(t, o.Observe(x, y))
		}
		for range 8 {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, 100+7*f(trial.X)))
			asked = append(asked, trial.Index)
		}
		return asked
	}
	mild := priorOf(-1e4)
	for _, penalty := range []float64{-1e6, -1e12, -1e100} {
		other := priorOf(penalty) // which holds other values, and learned the same from them
		assert.Equal(t, mild.NoiseVariance(), other.NoiseVariance())
		assert.Equal(t, run(mild, penalty), run(other, penalty), "learned with penalties of %g", penalty)
		assert.Equal(t, run(mild, -1e4), run(mild, penalty), "told %g", penalty)
	}
	// Nor where the past has fewer values than the run, which fits lengths of its own.
	few := cmbo.WithPrior(learn(t, space, family(1, 5)))
	told := func(penalty float64) (mean, sd float64) {
		o := newOptimizer(t, space, few)
		f := bump([]float64{0.3, 0.35})
		for i, at := range []int{2, 20, 33, 9, 14, 27, 5} {
			y := 100 + 7*f(rows[at])
			if i%3 == 1 {
				y = penalty
			}
			require.NoError(t, o.Observe(rows[at], y))
		}
		mean, sd = predict(t, o, rows[11])
		return mean, sd
	}
	wantMean, wantSD := told(-1e4)
	for _, penalty := range []float64{-1e6, -1e12, -1e100} {
		mean, sd := told(penalty)
		assert.Equal(t, wantMean, mean, "told %g", penalty)
		assert.Equal(t, wantSD, sd, "told %g", penalty)
	}
	// Beside values that are all equal, it is the past's that tell it apart.
	for _, penalty := range []float64{-1e6, -1e12} {
		o := newOptimizer(t, space, cmbo.WithPrior(mild))
		for i, x := range [][]float64{rows[2], rows[20], rows[33], rows[9]} {
			require.NoError(t, o.Observe(x, []float64{100, 100, 100, penalty}[i]))
		}
		mean, sd := predict(t, o, rows[5])
		assert.InDelta(t, 100, mean, 10, "told %g", penalty)
		assert.Less(t, sd, 10.0, "told %g", penalty)
	}
}

// Nor does it change what a run without a past proposes and predicts, on a list or without one, once three values are none
// and two are penalties. A restored run goes on alike. With limits penalties stay: low values may be all that hold them.
func TestPenaltiesAlikeWithoutAPast(t *testing.T) {
	list, rows := grid(t, 6)
	box := unitCube(t, 2)
	f := func(x []float64, penalty float64) float64 {
		if x[0] > 0.6 {
			return penalty
		}
		return 100 + 7*bump([]float64{0.3, 0.35})(x)
	}
	for _, s := range []*cmbo.Space{list, box} {
		run := func(penalty float64, opts ...cmbo.Option) (asked [][]float64, sum float64) {
			o := newOptimizer(t, s, opts...)
			for _, i := range []int{0, 35, 14, 30, 8} {
				y, load := f(rows[i], penalty), cmbo.Outputs(nil)
				if len(opts) > 0 {
					load = cmbo.Outputs{"load": 0}
				}
				require.NoError(t, o.Observe(rows[i], y, load))
			}
			if len(opts) == 0 {
				asked = drive(t, o, func(x []float64) float64 { return f(x, penalty) }, 8)
				back := restored(t, o)
				askSame(t, o, back)
			}
			mean, sd := predict(t, o, []float64{0.2, 0.2})
			return asked, mean + sd
		}
		asked, sum := run(-1e4)
		require.Less(t, math.Abs(sum-100), 20.0)
		for _, penalty := range []float64{-1e6, -1e12, -1e100} {
			others, other := run(penalty)
			assert.Equal(t, asked, others, "told %g", penalty)
			assert.Equal(t, sum, other, "told %g", penalty)
		}
		limited := cmbo.WithOutput("load", cmbo.AtMost(1))
		_, sum = run(-1e4, limited)
		_, other := run(-1e6, limited)
		assert.NotEqual(t, sum, other)
	}
}

// TestPenaltiesWithoutAPast: a run without a past that is told a penalty in a quarter of the space ends nearer to the best
// value than random search.
func TestPenaltiesWithoutAPast(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	families := []string{"Rosenbrock", "largest", "bumps"}
	if *penaltyProblems > 2 {
		families = slopeFamilies
	}
	all := compared(t, "", families, *penaltyProblems, 1e-4, func(family string, seed uint64) (regrets [2]float64) {
		r := rng.Stream(seed, t.Name()+family)
		dim := 2 + int(seed%4)
		f := slopesTo(family, r, dim, 1)[0]
		s := unitCube(t, dim)
		points := sample(t, s, 4000, r.Uint64())
		along := make([]float64, dim)
		for j := range along {
			along[j] = r.NormFloat64()
		}
		side := func(x []float64) (v float64) {
			for j := range x {
				v += along[j] * x[j]
			}
			return v
		}
		var sides []float64
		best := points[0]
		for _, x := range points {
			if sides = append(sides, side(x)); f(x) > f(best) {
				best = x
			}
		}
		slices.Sort(sides)
		crashes := func(x []float64) bool { return side(x) > sides[3000] }
		if crashes(best) {
			crashes = func(x []float64) bool { return side(x) < sides[1000] }
		}
		for arm, how := range []string{"", *penaltyOther} {
			if how == "values as they are" {
				defer func(raise func([]float64) []float64) { *cmbo.RaisePenalties = raise }(*cmbo.RaisePenalties)
				*cmbo.RaisePenalties = func(y []float64) []float64 { return y }
			}
			o, end := newOptimizer(t, s, cmbo.WithSeed(seed)), math.Inf(-1)
			for i := range *penaltyBudget {
				x := points[i]
				var trial cmbo.Trial
				if how != "random" {
					trial = ask(t, o)
					x = trial.X
				}
				y, crashed := f(x), crashes(x)
				if !crashed {
					end = max(end, y)
				} else if how != "none" && *penaltySize > 0 {
					y = -*penaltySize
				}
				switch {
				case how == "random":
				case how == "failed" && crashed:
					require.NoError(t, o.TellFailed(trial.ID))
				default:
					require.NoError(t, o.Tell(trial.ID, y))
				}
			}
			regrets[arm] = -end
		}
		return regrets
	})
	if mean, _ := stat.MeanVariance(all); *penaltyOther == "random" {
		assert.Less(t, mean, -1.4)
	}
}

// TestIntervalsHoldLowValuesTold: where past tasks have rows next to their best ones alone, intervals are as low as values of
// the run's own that were raised: at their points and, in spaces without a list, at random ones.
func TestIntervalsHoldLowValuesTold(t *testing.T) {
	testutil.SkipShort(t, "it counts intervals")
	space := unitCube(t, 3)
	var told, low, random, held int
	for seed := range uint64(3) {
		r := rng.Stream(seed, t.Name())
		centre := between(r, 3, 0, 1)
		bowl := func() func(x []float64) float64 {
			c := make([]float64, 3)
			for j := range c {
				c[j] = centre[j] + 0.05*r.NormFloat64()
			}
			return func(x []float64) float64 { return -linalg.SqDist(x, c) }
		}
		var tasks []cmbo.Task
		for k := range 5 {
			task, f := cmbo.Task{ID: fmt.Sprint(k)}, bowl()
			for range []int{6, 20, 20}[seed] {
				x := make([]float64, 3)
				for j := range x {
					x[j] = min(max(centre[j]+0.1*r.NormFloat64(), 0), 1)
				}
				task.X, task.Y = append(task.X, x), append(task.Y, f(x))
			}
			tasks = append(tasks, task)
		}
		f, o := bowl(), newOptimizer(t, space, cmbo.WithPrior(learn(t, space, tasks)))
		holds := func(x []float64) int {
			q := quantiles(t, o, x)
			if y := f(x); q.Low <= y && y <= q.High {
				return 1
			}
			return 0
		}
		for range 20 {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, f(trial.X)))
		}
		for _, ob := range o.Observations() {
			if ob.Y < -0.3 {
				low++
				told += holds(ob.X)
			}
		}
		at := sample(t, space, 100, seed)
		for _, x := range at {
			random++
			held += holds(x)
		}
	}
	t.Logf("90 %% intervals hold %d of %d low values told and %d of %d others", told, low, held, random)
	require.Greater(t, float64(told), 0.75*float64(low))
	require.Greater(t, float64(held), 0.8*float64(random))
}
