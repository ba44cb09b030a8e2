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
	ownProblems = flag.Int("own", 4, "problems of each family of TestOwnLengthsOfRuns")
	ownBudget   = flag.Int("own-budget", 50, "evaluations of each of its runs")
)

// hills returns functions of one family on the unit cube, each with its largest value, 0, at a point of its own near a common
// one: ellipsoids that lie askew, ridges, ripples on a bowl, and a cone that is steep in one coordinate.
func hills(family string, r *rand.Rand, dim, n int) []func(x []float64) float64 {
	centre, weight, turn := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for j := range centre {
		centre[j], weight[j], turn[j] = 0.25+0.5*r.Float64(), math.Exp(r.NormFloat64()), r.NormFloat64()
	}
	out := make([]func(x []float64) float64, n)
	for i := range out {
		c, w := make([]float64, dim), make([]float64, dim)
		for j := range c {
			c[j], w[j] = centre[j]+0.07*r.NormFloat64(), weight[j]*math.Exp(0.2*r.NormFloat64())
		}
		out[i] = func(x []float64) float64 {
			var sum, along, waves float64
			for j := range x {
				d := x[j] - c[j]
				sum += w[j] * d * d
				along += turn[j] * d
				waves += 1 - math.Cos(9*d)
			}
			switch family {
			case "askew":
				return -sum - 6*along*along
			case "ridge":
				return -math.Abs(along) - sum/2
			case "ripples":
				return -sum - 0.15*waves
			default:
				return -math.Sqrt(sum + 20*(x[0]-c[0])*(x[0]-c[0]))
			}
		}
	}
	return out
}

// TestOwnLengthsOfRuns: in spaces without a list, runs whose process beside the past has lengths of their own, from the
// fifteenth value on, end nearer to the best value than those of lengths likely of any function, with noise and without, and
// their intervals hold as much.
func TestOwnLengthsOfRuns(t *testing.T) {
	testutil.SkipShort(t, "it compares where runs end")
	var all []float64
	var held, of [2]int
	families := []string{"ripples", "cone"}
	if *ownProblems > 8 { // fewer do not tell what is level on smooth functions
		families = append(families, "askew", "ridge")
	}
	for _, family := range families {
		var own []float64
		for seed := range uint64(*ownProblems) {
			r := rng.Stream(seed, t.Name()+family)
			dim, past, noise := 2+int(seed%4), []int{3, 8}[seed/4%2], []float64{0, 0, 0.02}[seed%3]
			s, err := cmbo.UnitCube(dim)
			require.NoError(t, err)
			fs := hills(family, r, dim, past+1)
			tasks := make([]cmbo.Task, past)
			for i := range tasks {
				tasks[i].ID = string(rune('a' + i))
				tasks[i].X, err = s.Sample(40, r.Uint64())
				require.NoError(t, err)
				for _, x := range tasks[i].X {
					tasks[i].Y = append(tasks[i].Y, fs[i](x)+noise*r.NormFloat64())
				}
			}
			f, rows := fs[past], r.Uint64()
			for arm, names := range [][]string{nil, {"OwnFrom=1000:1000", "Outgrow=1000"}} {
				p, err := cmbo.Learn(ctx, s, tasks, cmbo.WithAblation(names...))
				require.NoError(t, err)
				o, best, e := newOptimizer(t, s, cmbo.WithPrior(p), cmbo.WithSeed(seed)), math.Inf(-1), rng.Stream(seed, "noise")
				for n := range *ownBudget {
					trial, err := o.Ask(ctx)
					require.NoError(t, err)
					best = max(best, f(trial.X))
					require.NoError(t, o.Tell(trial.ID, f(trial.X)+noise*e.NormFloat64()))
					if n == 29 {
						at, err := s.Sample(50, rows)
						require.NoError(t, err)
						for _, x := range at {
							mean, sd, err := o.Predict(x)
							require.NoError(t, err)
							if of[arm]++; math.Abs(f(x)-mean) <= 1.645*sd {
								held[arm]++
							}
						}
					}
				}
				if log := math.Log10(max(-best, 1e-6)); arm == 0 {
					own = append(own, log)
				} else {
					own[seed] -= log
				}
			}
		}
		all = append(all, own...)
		t.Logf("%s: with lengths of their own runs end at %s of the regret of the others", family, ratioOf(own))
	}
	share := [2]float64{float64(held[0]) / float64(of[0]), float64(held[1]) / float64(of[1])}
	t.Logf("all: %s; after 30 values 90 %% intervals hold %.3f of random rows, and %.3f of the others", ratioOf(all), share[0], share[1])
	mean, _ := stat.MeanVariance(all)
	assert.Less(t, mean, -0.05)
	assert.Greater(t, share[0], min(share[1]-0.05, 0.9))
}

// ratioOf says which ratio the mean of its decimal logarithms is, and the interval of twice its standard error.
func ratioOf(logs []float64) string {
	mean, variance := stat.MeanVariance(logs)
	by := 2 * math.Sqrt(variance/float64(len(logs)))
	return fmt.Sprintf("%.2f [%.2f, %.2f]", math.Pow(10, mean), math.Pow(10, mean-by), math.Pow(10, mean+by))
}
