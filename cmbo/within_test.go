package cmbo_test

import (
	"flag"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	withinProblems = flag.Int("within", 4, "problems of each family of TestFirstWithinALimit")
	withinFirst    = flag.Uint64("within-first", 1000, "number of the first problem of each of its families")
	withinRadius   = flag.Float64("within-radius", 1, "radius of its balls, in units of those that are an eighth of the space")
	withinOther    = flag.String("within-other", "", "a change of the default that runs of TestFirstSuccess beside a past have")
	withinBudget   = flag.Int("within-budget", 25, "evaluations of each of its runs at most")
)

// withinOf returns the space, objective and output of a problem of two to four numbers. The output is at most 0 in a ball of
// an eighth of the space or a little less. It grows with the distance from it, or is a count of whole tenths, skewed, skewed
// from a steep border on, or a code of four, by region or without order.
func withinOf(tb testing.TB, family string, seed uint64) (s *cmbo.Space, objective, output func(x []float64) float64) {
	r := rng.Stream(seed, "TestFirstWithinALimit"+family)
	dim := 2 + int(seed%3)
	s = unitCube(tb, dim)
	radius, centre, top, phase := *withinRadius*[]float64{0.2, 0.31, 0.4}[dim-2], between(r, dim, 0.1, 0.9), between(r, dim, 0.1, 0.9), between(r, dim, 9, 27)
	distance := func(x, c []float64) (d float64) {
		for j := range x {
			d = math.Hypot(d, x[j]-c[j])
		}
		return d
	}
	output = func(x []float64) float64 {
		d, waves := distance(x, centre)-radius, 0.0
		for j, v := range x {
			waves += math.Sin(phase[j] * v)
		}
		switch {
		case family == "distance":
			return d
		case d <= 0:
			return 0
		case family == "count":
			return math.Ceil(10 * d)
		case family == "skewed":
			return math.Exp(4*d + waves/2)
		case family == "steep":
			return 100 * d * d * math.Exp(6*d+waves/2)
		case family == "code without order":
			waves *= 100
		}
		return []float64{1, 2, 7, 3}[int(math.Abs(math.Floor(1.3*waves)))%4]
	}
	return s, func(x []float64) float64 { return -distance(x, top) }, output
}

// TestFirstWithinALimit: points that hold a limit of 0 are found soon where the output has been positive, though its
// logarithms are nearer to a normal distribution and 0 lies far below them; and where it says nothing of where that is,
// nearly as soon as at random. An output of which no past task tells is counted alike with a past and without.
func TestFirstWithinALimit(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts questions of whole runs")
	bounds := map[string]float64{"distance": 9, "count": 9, "skewed": 11, "steep": 9, "code by region": 15, "code without order": 15}
	for _, family := range slices.Sorted(maps.Keys(bounds)) {
		evaluations, never := 0, 0
		for seed := *withinFirst; seed < *withinFirst+uint64(*withinProblems); seed++ {
			space, objective, output := withinOf(t, family, seed)
			for _, opts := range [][]cmbo.Option{nil, {cmbo.WithPrior(priorLike(t, space, objective, seed, ""))}} {
				o := newOptimizer(t, space, append(opts, cmbo.WithSeed(seed), cmbo.WithOutput("beyond", cmbo.AtMost(0)))...)
				n, found := firstWithin(t, o, output, func(trial cmbo.Trial, v float64) error {
					return o.Tell(trial.ID, objective(trial.X), cmbo.Outputs{"beyond": v})
				})
				evaluations += n
				if !found {
					never++
				}
			}
		}
		mean := float64(evaluations) / float64(2**withinProblems)
		t.Logf("%s: the first point within after %.1f evaluations, none in %d of %d", family, mean, never, 2**withinProblems)
		if *withinRadius == 1 && *withinBudget == 25 {
			require.Less(t, mean, bounds[family], family)
		}
	}
}

// priorLike is learned, with a change of the default, from three past tasks that are like the objective, of twenty random
// rows each, on these and, of a list, forty points more: nearly all of the time would go into Learn.
func priorLike(t *testing.T, space *cmbo.Space, objective func(x []float64) float64, seed uint64, other string) *cmbo.Prior {
	next := 0.0
	tasks := tasksOfFunctions(t, space, rng.Stream(seed, "past"), 3, 20, func() func(x []float64) float64 {
		phase := next
		next++
		return func(x []float64) float64 { return objective(x) + 0.1*math.Sin(5*x[0]+phase) }
	})
	return learn(t, space, tasks, cmbo.WithAblation(strings.Fields(other)...), cmbo.WithIndexPoints(100))
}

// firstWithin asks and tells, and returns how many evaluations there were up to the first one within, or all of the budget.
func firstWithin(
	t *testing.T, o *cmbo.Optimizer, output func(x []float64) float64, tell func(trial cmbo.Trial, v float64) error,
) (evaluations int, found bool) {
	for n := range *withinBudget {
		trial := ask(t, o)
		v := output(trial.X)
		require.NoError(t, tell(trial, v))
		if v <= 0 {
			return n + 1, true
		}
	}
	return *withinBudget, false
}

// TestFirstSuccess: where evaluations fail beyond the limit, of which no past tells, a run without values finds a point that
// does not fail about as soon as random search, without a past and a little later with one, without a list and on one of 500.
func TestFirstSuccess(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts questions of whole runs")
	for _, kind := range []struct{ past, listed bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		evaluations, never, runs := 0, 0, 0
		problems, most := 3*uint64(*withinProblems), 12.0
		if kind.past { // which takes more time, and whose first five lead to where the past is best
			problems, most = uint64(*withinProblems), 14
		}
		for _, family := range []string{"distance", "steep", "count"} {
			for seed := *withinFirst; seed < *withinFirst+problems; seed++ {
				space, objective, output := withinOf(t, family, seed)
				if kind.listed {
					rows := sample(t, space, 500, seed)
					space = listOf(t, space, rows)
				}
				opts := []cmbo.Option{cmbo.WithSeed(seed)}
				if kind.past {
					opts = append(opts, cmbo.WithPrior(priorLike(t, space, objective, seed, *withinOther)))
				}
				o := newOptimizer(t, space, opts...)
				n, found := firstWithin(t, o, output, func(trial cmbo.Trial, v float64) error {
					if v > 0 {
						return o.TellFailed(trial.ID)
					}
					return o.Tell(trial.ID, objective(trial.X))
				})
				evaluations += n
				if runs++; !found {
					never++
				}
			}
		}
		mean := float64(evaluations) / float64(runs)
		t.Logf("past %v, list %v: the first success after %.1f evaluations, none in %d of %d", kind.past, kind.listed, mean, never, runs)
		if *withinRadius == 1 && *withinBudget == 25 {
			require.Less(t, mean, most)
		}
	}
}

// TestHedgeOfFailuresAlone: without a past each point is chosen by distance as long as all evaluations have failed.
func TestHedgeOfFailuresAlone(t *testing.T) {
	space := unitCube(t, 2)
	o := newOptimizer(t, space, cmbo.WithInitial(0))
	for n := range 6 {
		trial := ask(t, o)
		if n > 0 {
			require.Equal(t, n < 5, judgeOf(t, o, trial.ID) == byDistance, n)
		}
		if n < 4 {
			require.NoError(t, o.TellFailed(trial.ID))
			continue
		}
		require.NoError(t, o.Tell(trial.ID, float64(n)))
	}
}

// TestHedgeBeyondALimit: from ten values of an output on of which none holds its limit every second point is chosen by
// distance, and by nothing else, until one does.
func TestHedgeBeyondALimit(t *testing.T) {
	space := unitCube(t, 2)
	o := newOptimizer(t, space, cmbo.WithInitial(0), cmbo.WithOutput("code", cmbo.AtMost(0)))
	for n := range 17 {
		trial := ask(t, o)
		want, code := byModel, float64(1+n%3)
		if n == 1 || n >= 10 && n < 14 && n%2 == 0 { // one value is the same everywhere
			want = byDistance
		}
		if n == 13 {
			code = 0
		}
		require.Equal(t, want, judgeOf(t, o, trial.ID), n)
		require.NoError(t, o.Tell(trial.ID, float64(n), cmbo.Outputs{"code": code}))
	}
}

// TestHedgeBeyondTwoLimits: the output with most values counts of those that hold no limit, and one that is the same
// everywhere has all points chosen by distance whatever others are.
func TestHedgeBeyondTwoLimits(t *testing.T) {
	space := unitCube(t, 2)
	for flag, last := range map[bool]string{false: byModel, true: byDistance} {
		o := newOptimizer(t, space, cmbo.WithInitial(0), cmbo.WithOutput("a", cmbo.AtMost(0)), cmbo.WithOutput("b", cmbo.AtMost(0), cmbo.Optional()))
		for n := range 12 {
			trial := ask(t, o)
			if n >= 10 {
				require.Equal(t, []string{byDistance, last}[n-10], judgeOf(t, o, trial.ID), n)
			}
			a := float64(1 + n%3)
			if flag {
				a = 1
			}
			outputs := cmbo.Outputs{"a": a}
			if n >= 7 {
				outputs["b"] = float64(n)
			}
			require.NoError(t, o.Tell(trial.ID, float64(n), outputs))
		}
	}
}
