package cmbo_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var switchRuns = flag.Int("switches", 1, "runs of each kind of TestManySwitches")

// TestManySwitches: with thirty switches, whose effects add up but for twenty pairs, and with a past or without one, runs
// end above climbing that turns one to three at once of the best setting. They have to refine good settings for that:
// with candidates near the best one of which half of the switches are turned, points at random, they do not.
func TestManySwitches(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	const switches, pairs, budget = 30, 20, 60
	params := make([]cmbo.Param, switches)
	for i := range params {
		params[i] = cmbo.Bool(fmt.Sprintf("f%d", i))
	}
	s, err := cmbo.NewSpace(params...)
	require.NoError(t, err)
	for _, past := range []int{0, 8} {
		var ends, climbed float64
		for seed := range *switchRuns {
			r := rng.Stream(uint64(seed), t.Name())
			var at [pairs][2]int
			common := make([]float64, switches+pairs)
			for i := range common {
				common[i] = r.NormFloat64()
			}
			for i := range at {
				at[i] = [2]int{r.IntN(switches), r.IntN(switches)}
			}
			task := func() func(x []float64) float64 {
				w := make([]float64, len(common))
				for i := range w {
					w[i] = common[i] + 0.3*r.NormFloat64()
				}
				return func(x []float64) (y float64) {
					for i, v := range x {
						y += w[i] * v
					}
					for i, p := range at {
						y += w[switches+i] * x[p[0]] * x[p[1]]
					}
					return y
				}
			}
			var tasks []cmbo.Task
			for k := range past {
				f, one := task(), cmbo.Task{ID: fmt.Sprint(k)}
				one.X = sample(t, s, 40, uint64(100*seed+k))
				for _, x := range one.X {
					one.Y = append(one.Y, f(x))
				}
				tasks = append(tasks, one)
			}
			options := []cmbo.Option{cmbo.WithSeed(uint64(seed))}
			if past > 0 {
				options = append(options, cmbo.WithPrior(learn(t, s, tasks)))
			}
			f := task()
			o := newOptimizer(t, s, options...)
			for range budget {
				trial := ask(t, o)
				require.NoError(t, o.Tell(trial.ID, f(trial.X)))
			}
			best, ok := o.Best()
			require.True(t, ok)
			end := ascend(f, switches, 3000, r)
			ends, climbed = ends+(end-best.Y)/float64(*switchRuns), climbed+(end-climb(f, switches, budget, r))/float64(*switchRuns)
		}
		t.Logf("with %d past tasks runs end %.2f below the best setting, climbing %.2f", past, ends, climbed)
		assert.Less(t, ends, 0.8*climbed, "%d past tasks", past)
	}
}

// climb returns what n evaluations find that turn one to three switches of the best setting.
func climb(f func([]float64) float64, switches, n int, r *rand.Rand) float64 {
	x, best := make([]float64, switches), 0.0
	for i := range x {
		x[i] = float64(r.IntN(2))
	}
	for best = f(x); n > 1; n-- {
		y := slices.Clone(x)
		for range 1 + r.IntN(3) {
			k := r.IntN(switches)
			y[k] = 1 - y[k]
		}
		if v := f(y); v > best {
			x, best = y, v
		}
	}
	return best
}

// ascend returns the best of what climbing from ten places finds.
func ascend(f func([]float64) float64, switches, n int, r *rand.Rand) float64 {
	best := climb(f, switches, n, r)
	for range 9 {
		best = max(best, climb(f, switches, n, r))
	}
	return best
}
