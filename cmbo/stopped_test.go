package cmbo_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	stoppedProblems    = flag.Int("stopped", 3, "problems of each family of TestRunsOfStoppedTrials")
	stoppedFirst       = flag.Uint64("stopped-first", 0, "number of the first problem of each of its families")
	stoppedBudget      = flag.Int("stopped-budget", 25, "whole evaluations that the budget of each of its runs is worth")
	stoppedPast        = flag.Bool("stopped-past", false, "its runs have a past with curves")
	stoppedCheckpoints = flag.Bool("stopped-checkpoints", false, "its trials can go on later")
	stoppedSharp       = flag.Float64("stopped-sharp", 1, "how few ends count as good in its curves")
)

// stoppedSteps is the number of steps of a whole evaluation, the last of which shows the end.
const stoppedSteps = 10

// learningCurve makes up a curve that comes from two spreads below its end: curves of good ends late, so that they cross
// others ("slow"), or early ("fast"), or all alike.
func learningCurve(r *rand.Rand, kind string, end, spread float64) (c cmbo.Curve) {
	slow := map[string]float64{"slow": math.Exp(*stoppedSharp * end / spread), "alike": 0.5, "fast": 1 - math.Exp(*stoppedSharp*end/spread)}[kind]
	power := 3 * math.Exp(slow*math.Log(0.1)+0.2*r.NormFloat64())
	for k := 1; k < stoppedSteps; k++ {
		left := math.Pow(1-float64(k)/stoppedSteps, power)
		c.Steps = append(c.Steps, k)
		c.Values = append(c.Values, end-2*spread*left+0.02*spread*r.NormFloat64())
	}
	return c
}

// withCurves gives the rows of the past tasks curves of a kind, and returns the deviation of their values, in which curves
// are measured.
func (h *pastProblem) withCurves(kind string) (spread float64) {
	var all []float64
	for _, t := range h.tasks {
		all = append(all, t.Y...)
	}
	_, variance := stat.MeanVariance(all)
	spread = math.Sqrt(variance)
	for i := range h.tasks {
		r := rng.Stream(h.rows, "past curves", uint64(i))
		for _, y := range h.tasks[i].Y {
			h.tasks[i].Curves = append(h.tasks[i].Curves, learningCurve(r, kind, y, spread))
		}
	}
	return spread
}

// spend returns the regret of the best end that a run has come to after so many steps of evaluations, which it stops if
// advised.
func (h *pastProblem) spend(tb testing.TB, kind string, spread float64, seed uint64, steps int, reports bool, opts ...cmbo.Option) float64 {
	o, best, shown := newOptimizer(tb, h.space, append(opts, cmbo.WithSeed(seed))...), math.Inf(-1), make(map[int]int)
	for steps > 0 {
		trial := ask(tb, o)
		y := h.target(trial.X)
		c := learningCurve(rng.Stream(seed, fmt.Sprint(trial.X)), kind, y, spread)
		stopped := false
		for i := shown[trial.Resumes]; i < len(c.Steps) && !stopped && steps > 0; i++ {
			steps--
			shown[trial.ID] = i + 1
			if reports {
				p := report(tb, o, trial.ID, c.Steps[i], c.Values[i])
				stopped = p.Stop
			}
		}
		if stopped {
			require.NoError(tb, o.TellStopped(ctx, trial.ID))
		} else if steps > 0 {
			steps--
			best = max(best, y)
			require.NoError(tb, o.Tell(trial.ID, y))
		}
	}
	return -best
}

// TestRunsOfStoppedTrials: on functions that a model foresees well, where there is little to gain, runs that stop trials as
// they are advised end within a factor of those that bring every evaluation to its end, at the same number of steps.
func TestRunsOfStoppedTrials(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	for _, kind := range []string{"slow", "alike", "fast"} {
		all := compared(t, kind+", ", []string{"askew", "ridge", "ripples", "cone"}, *stoppedProblems, 1e-4, func(family string, seed uint64) (regrets [2]float64) {
			seed += *stoppedFirst
			h := hillsOf(t, family, seed)
			spread := h.withCurves(kind)
			var opts, stopping []cmbo.Option
			if *stoppedPast {
				opts = append(opts, cmbo.WithPrior(learn(t, h.space, h.tasks)))
			}
			if *stoppedCheckpoints {
				stopping = append(stopping, cmbo.WithCheckpoints())
			}
			steps := stoppedSteps * *stoppedBudget
			regrets[0] = h.spend(t, kind, spread, seed, steps, true, append(stopping, opts...)...) / spread
			regrets[1] = h.spend(t, kind, spread, seed, steps, false, opts...) / spread
			return regrets
		})
		mean, _ := stat.MeanVariance(all)
		assert.Less(t, mean, math.Log10(3), kind)
	}
}
