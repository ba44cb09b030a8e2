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
	borderProblems = flag.Int("border", 3, "problems of each family of TestBestOnTheBorder")
	borderBudget   = flag.Int("border-budget", 30, "evaluations of each of its runs")
	borderPast     = flag.Int("border-past", 0, "past tasks of each of its problems, 0 for none")
	borderOther    = flag.String("border-other", "noise for granted", "what it compares with: models of outputs that take noise for granted, or candidates as without a limit")
	borderNoise    = flag.Float64("border-noise", 0, "deviation of the noise of the limited output, where its range is about 1")
)

// borders returns functions of one family and loads, the best of the points whose load is at most 0 having the value 0 on the
// border of these, at a point of its own near a common one: values beyond are better. Borders are curved.
func borders(family string, r *rand.Rand, dim, n int) (fs, loads []func(x []float64) float64) {
	centre, towards := make([]float64, dim), make([]float64, dim)
	for j := range centre {
		centre[j], towards[j] = 0.2+0.6*r.Float64(), r.NormFloat64()
	}
	for range n {
		c, to, norm := make([]float64, dim), make([]float64, dim), 0.0
		for j := range c {
			c[j], to[j] = centre[j]+0.05*r.NormFloat64(), towards[j]+0.2*r.NormFloat64()
			norm = math.Hypot(norm, to[j])
		}
		along := func(x []float64) (sum float64) {
			for j := range x {
				sum += to[j] / norm * (x[j] - c[j])
			}
			return sum
		}
		f, unit := basinAt(family, c), math.Exp(0.3*r.NormFloat64())
		fs = append(fs, func(x []float64) float64 { return f(x) + along(x) })
		loads = append(loads, func(x []float64) float64 {
			load := along(x)
			for j := range x {
				load += math.Pow(math.Sin(4*(x[j]-c[j])), 2) / 8
			}
			return unit * load
		})
	}
	return fs, loads
}

// TestBestOnTheBorder: where the best of the points that hold a limit lies on its border, runs in spaces without a list end
// nearer to that best value if the values of the output may be next to exact and those of a smooth function; where past
// tasks have that output, if the process beside its past has lengths and a noise of its own; and without a past, if more
// candidates come nearer to the best one than without a limit.
func TestBestOnTheBorder(t *testing.T) {
	testutil.SkipShort(t, "it compares where runs end")
	families := []string{"Zakharov"}
	if *borderProblems > 8 {
		families = append(families, "Styblinski-Tang", "Levy", "Ackley", "peak")
	}
	pasts := []int{*borderPast}
	if *borderProblems <= 8 {
		pasts = []int{0, 4}
	}
	climbs, near, granted := *cmbo.LimitedClimbs, *cmbo.LimitedNear, *borderOther == "noise for granted"
	if !granted {
		require.Equal(t, "candidates", *borderOther)
	}
	defer func() { *cmbo.MayBeExact, *cmbo.LimitedClimbs, *cmbo.LimitedNear = true, climbs, near }()
	for _, past := range pasts {
		label := fmt.Sprintf("%d past tasks, ", past)
		all := compared(t, label, families, *borderProblems, 1e-4, func(family string, seed uint64) (regrets [2]float64) {
			r := rng.Stream(seed, t.Name()+family)
			dim := []int{2, 3, 4, 6}[seed%4]
			fs, loads := borders(family, r, dim, past+1)
			h := problemOf(t, r, dim, fs, 0)
			h.load, h.loadNoise = loads[past], *borderNoise
			for i := range h.tasks {
				task := &h.tasks[i]
				task.Outputs = map[string][]float64{"load": nil}
				for _, x := range task.X {
					task.Outputs["load"] = append(task.Outputs["load"], loads[i](x)+*borderNoise*r.NormFloat64())
				}
			}
			var priors [2]*cmbo.Prior
			if past > 0 {
				priors = h.priors(t, likelyOfAny)
				if priors[1] = cmbo.WithOutputsOf(priors[0], priors[1]); !granted {
					priors[1] = priors[0]
				}
			}
			for arm := range regrets {
				*cmbo.MayBeExact, *cmbo.LimitedClimbs, *cmbo.LimitedNear = true, climbs, near
				if arm == 1 && !granted {
					*cmbo.LimitedClimbs, *cmbo.LimitedNear = *cmbo.Climbs, 1
				}
				opts := []cmbo.Option{cmbo.WithOutput("load", cmbo.AtMost(0))}
				if past > 0 {
					opts = append(opts, cmbo.WithPrior(priors[arm]))
				}
				regrets[arm] = min(10, h.regret(t, seed, *borderBudget, func(int, *cmbo.Optimizer) {
					*cmbo.MayBeExact = arm == 0 || !granted // for models of outputs, which are made after the design
				}, opts...))
			}
			return regrets
		})
		if mean, _ := stat.MeanVariance(all); *borderNoise == 0 && granted {
			assert.Less(t, mean, -0.15)
		}
	}
}
