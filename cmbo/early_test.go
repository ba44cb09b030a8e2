package cmbo_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	leavesRuns  = flag.Int("leaves", 8, "runs of TestLeavesAFailingRegion")
	leavesOther = flag.String("leaves-other", "", "a change of the default that its runs have")
	smallRuns   = flag.Int("small-past", 6, "runs of each kind of TestSmallPast")
	smallOther  = flag.String("small-past-other", "", "likewise")
)

// paraboloids are past tasks on the unit square whose best points lie around the middle.
func paraboloids(seed uint64, n int) (tasks []cmbo.Task) {
	r := rng.Stream(seed, "paraboloids")
	for i := range 8 {
		task := cmbo.Task{ID: fmt.Sprint(i)}
		f := paraboloid(0.4 + 0.2*r.Float64())
		for range n {
			x := []float64{r.Float64(), r.Float64()}
			task.X, task.Y = append(task.X, x), append(task.Y, f(x))
		}
		tasks = append(tasks, task)
	}
	return tasks
}

func paraboloid(s float64) func(x []float64) float64 {
	return func(x []float64) float64 { return 5 - 3*((x[0]-s)*(x[0]-s)+(x[1]-s)*(x[1]-s)) }
}

// TestLeavesAFailingRegion: failures around the past's best points, of which the past knows nothing, do not fail everywhere:
// a run finds the disc of a tenth of the square that does not fail, though slopes lead away from it.
func TestLeavesAFailingRegion(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts questions of whole runs")
	s := unitCube(t, 2)
	asks, never := 0, 0
	for seed := range uint64(*leavesRuns) {
		few := cmbo.WithIndexPoints(150) // nearly all of the time goes into Learn
		p := learn(t, s, paraboloids(seed, 40), few, cmbo.WithAblation(strings.Fields(*leavesOther)...))
		o := newOptimizer(t, s, cmbo.WithPrior(p), cmbo.WithSeed(seed))
		n, found := firstWithin(t, o, func(x []float64) float64 { return math.Hypot(x[0]-0.2, x[1]-0.8) - 0.17 },
			func(trial cmbo.Trial, _ float64) error { return o.TellFailed(trial.ID) })
		asks += n
		if !found {
			never++
		}
	}
	t.Logf("the first success after %.1f evaluations, none in %d of %d", float64(asks)/float64(*leavesRuns), never, *leavesRuns)
	if *leavesOther == "" {
		require.LessOrEqual(t, asks, 15**leavesRuns)
	}
}

// TestFailingPeak: where the past's best region fails, of which the past knows nothing, a run
// loses at most half of its evaluations to it, and at most a fifth more than one without a
// past. What is left to find lies on the border of the region, so some losses buy something.
func TestFailingPeak(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares losses of whole runs")
	s := unitCube(t, 2)
	const budget, seeds = 30, 5
	var withPast, without int
	for seed := range uint64(seeds) {
		at := 0.55 + 0.02*float64(seed)
		f := paraboloid(at)
		for lost, opts := range map[*int][]cmbo.Option{&without: nil, &withPast: {cmbo.WithPrior(learn(t, s, paraboloids(seed, 30)))}} {
			o := newOptimizer(t, s, append(opts, cmbo.WithSeed(seed))...)
			for range budget {
				trial := ask(t, o)
				if math.Hypot(trial.X[0]-at, trial.X[1]-at) < 0.25 {
					*lost++
					require.NoError(t, o.TellFailed(trial.ID))
				} else {
					require.NoError(t, o.Tell(trial.ID, f(trial.X)))
				}
			}
		}
	}
	require.LessOrEqual(t, withPast, budget*seeds/2)
	require.LessOrEqual(t, float64(withPast), 1.2*float64(without))
	t.Logf("of %d evaluations %d were lost, %d without a past", budget*seeds, withPast, without)
}

// TestFirstBatch: points asked for before the first value are not all the past's best one.
func TestFirstBatch(t *testing.T) {
	s := unitCube(t, 2)
	o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, paraboloids(1, 30))))
	trials := askN(t, o, 8)
	lo, hi := slices.Clone(trials[0].X), slices.Clone(trials[0].X)
	for i, a := range trials {
		for j, x := range a.X {
			lo[j], hi[j] = min(lo[j], x), max(hi[j], x)
		}
		for _, b := range trials[:i] {
			require.Greater(t, math.Hypot(a.X[0]-b.X[0], a.X[1]-b.X[1]), 0.02)
		}
		x := explain(t, o, a.ID)
		require.Equal(t, a.X, x.Trial.X)
	}
	require.Greater(t, hi[0]-lo[0]+hi[1]-lo[1], 0.6)
}

// TestNoisyBest: a large value that is known to say next to nothing is not what proposals
// have to improve on.
func TestNoisyBest(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it asks where whole runs end")
	s := unitCube(t, 2)
	prior := cmbo.WithPrior(learn(t, s, paraboloids(1, 30)))
	f := paraboloid(0.62)
	for _, opts := range [][]cmbo.Option{nil, {prior}} {
		o := newOptimizer(t, s, opts...)
		require.NoError(t, o.Observe([]float64{0.05, 0.9}, 8, cmbo.WithNoise(64)))
		best := math.Inf(-1)
		for range 20 {
			trial := ask(t, o)
			best = max(best, f(trial.X))
			require.NoError(t, o.Tell(trial.ID, f(trial.X), cmbo.WithNoise(1e-6)))
		}
		require.Greater(t, best, 4.99)
		u := outlookOf(t, o)
		require.Greater(t, u.Expected, 1e-12)
	}
}

// TestNoUnitIsInvented: values that are all equal have no scale, so nothing is said of
// what more would bring.
func TestNoUnitIsInvented(t *testing.T) {
	s := unitCube(t, 1)
	o := newOptimizer(t, s, cmbo.WithInitial(1))
	for i := range 2 {
		require.NoError(t, o.Observe([]float64{float64(i)}, 1e6))
		u := outlookOf(t, o)
		require.True(t, math.IsNaN(u.Expected) && math.IsNaN(u.Most))
		require.Equal(t, "what more evaluations would bring is not known yet", u.String())
		trial := ask(t, o)
		x := explain(t, o, trial.ID)
		require.True(t, math.IsNaN(x.Mean) && math.IsNaN(x.SD))
		require.NoError(t, o.Cancel(trial.ID))
	}
	require.NoError(t, o.Observe([]float64{0.5}, 1e6+1))
	u := outlookOf(t, o)
	require.False(t, math.IsNaN(u.Expected))
}

// TestSmallPast: a past of two or five rows does not hold a run to lengths likely of any function, to the noise that so few
// seem to have, nor to what is for a past that misleads: a reaction's yield over choices and numbers, with noise and without,
// ends above what random search finds.
func TestSmallPast(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	s, err := cmbo.NewSpace(cmbo.Categorical("solvent", "DMF", "toluene", "THF", "MeCN", "water"), cmbo.Categorical("base", "K2CO3", "Cs2CO3", "Et3N"),
		cmbo.Float("temp", 20, 140).WithStep(5), cmbo.Float("equiv", 1, 3), cmbo.LogFloat("mol%", 0.1, 10), cmbo.Ordinal("hours", 1, 2, 4, 8, 16))
	require.NoError(t, err)
	const budget = 24
	seeds := float64(*smallRuns)
	change := cmbo.WithAblation(strings.Fields(*smallOther)...)
	for past, noise := range map[int]float64{2: 0, 5: 3} {
		var ends, random float64
		for seed := range uint64(*smallRuns) {
			r := rng.Stream(seed, t.Name())
			reaction := func() func(x []float64) float64 {
				temp, equiv, solvent := 85+6*r.NormFloat64(), 1.8+0.15*r.NormFloat64(), []float64{0, -12, -6, -3, -35}
				return func(x []float64) float64 {
					v := 92 + solvent[int(x[0])] + []float64{-8, 0, -15}[int(x[1])] - 0.02*math.Pow(x[2]-temp, 2) - 18*math.Pow(x[3]-equiv, 2)
					return 100 / (1 + math.Exp((50-v+9*math.Pow(math.Log10(x[4])-0.5, 2)+25*math.Exp(-x[5]/3))/18))
				}
			}
			rows := sample(t, s, past+budget, seed)
			f, task := reaction(), cmbo.Task{ID: "before"}
			for _, x := range rows[:past] {
				task.X, task.Y = append(task.X, x), append(task.Y, f(x)+noise*r.NormFloat64())
			}
			o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, []cmbo.Task{task}, change)), cmbo.WithSeed(seed))
			f = reaction()
			var own, other float64
			for _, x := range rows[past:] {
				trial := ask(t, o)
				require.NoError(t, o.Tell(trial.ID, f(trial.X)+noise*r.NormFloat64()))
				own, other = max(own, f(trial.X)), max(other, f(x))
			}
			ends, random = ends+own/seeds, random+other/seeds
		}
		t.Logf("with %d past rows runs end at %.1f, random search at %.1f", past, ends, random)
		if *smallOther == "" {
			assert.Greater(t, ends, max(random+3, 83), "with %d past rows", past)
		}
	}
}
