package cmbo_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	choicesProblems = flag.Int("choices", 3, "problems of each family of TestNumbersAndChoices")
	choicesBudget   = flag.Int("choices-budget", 30, "evaluations of each of its runs")
	choicesRival    = flag.String("choices-rival", "none", "what TestNumbersAndChoicesWithAPast compares the default with: a rival, a change of it, or none for no past")
	choicesNoise    = flag.Float64("choices-noise", 0, "deviation of the noise of its values, where their range is about 1")
)

// learnerFamilies are those of learners.
var learnerFamilies = []string{"boosting", "network", "machine"}

// learners returns a space of numbers and choices, and functions on it with the largest value 0, or next to it: what a
// learner of that family makes of such parameters on so many past data sets, and last on another one that is like them.
func learners(tb testing.TB, family string, r *rand.Rand, past int) (*cmbo.Space, []func(x []float64) float64) {
	s, err := cmbo.NewSpace(map[string][]cmbo.Param{
		"boosting": {cmbo.LogFloat("rate", 1e-4, 1), cmbo.Int("depth", 1, 10), cmbo.Float("share", 0.1, 1),
			cmbo.Categorical("loss", "a", "b", "c", "d"), cmbo.Bool("early")},
		"network": {cmbo.Categorical("optimiser", "a", "b", "c"), cmbo.LogFloat("rate", 1e-5, 1), cmbo.Int("units", 8, 264).WithStep(8),
			cmbo.Float("dropout", 0, 0.8), cmbo.Categorical("activation", "a", "b", "c")},
		"machine": {cmbo.LogFloat("C", 1e-3, 1e3), cmbo.LogFloat("gamma", 1e-5, 10), cmbo.Categorical("kernel", "a", "b", "c"),
			cmbo.Bool("shrinking"), cmbo.Bool("scaled")},
	}[family]...)
	require.NoError(tb, err)
	best := make([]float64, 3) // numbers
	for j := range best {
		best[j] = 0.2 + 0.6*r.Float64()
	}
	worse := func(choices int) []float64 { // than the best choice
		v := make([]float64, choices)
		for j := range v {
			v[j] = 0.2 * r.ExpFloat64()
		}
		return v
	}
	var kinds [][]float64
	for _, choices := range map[string][]int{"boosting": {4, 2}, "network": {3, 3}, "machine": {3, 2, 2}}[family] {
		kinds = append(kinds, worse(choices))
	}
	fs := []func(x []float64) float64{learnerOf(family, best, kinds)}
	for range past {
		c, others := slices.Clone(best), make([][]float64, len(kinds))
		for j := range c {
			c[j] += 0.06 * r.NormFloat64()
		}
		for i, v := range kinds {
			for j := range v {
				others[i] = append(others[i], v[j]+0.05*r.ExpFloat64())
			}
		}
		fs = append(fs, learnerOf(family, c, others))
	}
	slices.Reverse(fs)
	return s, fs
}

// learnerOf returns the function of a family with those best numbers, whose choices are so much worse than the best one.
func learnerOf(family string, c []float64, choices [][]float64) func(x []float64) float64 {
	c, kinds := slices.Clone(c), make([]func(x float64) float64, len(choices))
	for i, v := range choices {
		least := slices.Min(v)
		kinds[i] = func(x float64) float64 { return v[int(x)] - least }
	}
	square := func(v float64) float64 { return v * v }
	switch family {
	case "boosting":
		c[1] = math.Round(9*c[1]) / 9
		return func(x []float64) float64 {
			rate, depth, share := (math.Log10(x[0])+4)/4-c[0], (x[1]-1)/9-c[1], (x[2]-0.1)/0.9-c[2]
			return -3*square(rate+0.4*depth) - 1.5*square(depth) - square(share)*(1-0.7*x[4]) - kinds[0](x[3]) - kinds[1](x[4])
		}
	case "network":
		c[1] = math.Round(32*c[1]) / 32
		return func(x []float64) float64 {
			rate, units, dropout := (math.Log10(x[1])+5)/5-c[0]-0.15*(x[0]-1), (x[2]-8)/256-c[1], x[3]/0.8-c[2]
			return -2.5*square(rate) - square(units) - square(dropout)*(1+x[4]) - kinds[0](x[0]) - kinds[1](x[4])
		}
	default:
		return func(x []float64) float64 {
			penalty, width := (math.Log10(x[0])+3)/6-c[0], (math.Log10(x[1])+5)/6-c[1]
			if x[2] > 0 {
				width = 0 // which one kernel alone has
			}
			return -2*square(penalty+width/2) - 2*square(width) - kinds[0](x[2]) - kinds[1](x[3]) - kinds[2](x[4])
		}
	}
}

// TestNumbersAndChoices: where parameters are numbers and choices, runs of models with a length for each parameter, or one
// for numbers and one for choices, end nearer to the best value than those with a length for each coordinate or one for all.
func TestNumbersAndChoices(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	of := *cmbo.Coordinates
	defer func() { *cmbo.Coordinates = of }()
	all := compared(t, "", learnerFamilies, *choicesProblems, 1e-6, func(family string, seed uint64) (regrets [2]float64) {
		s, fs := learners(t, family, rng.Stream(seed, t.Name()+family), 0)
		h := pastProblem{space: s, target: fs[0], noise: *choicesNoise}
		for arm := range regrets {
			*cmbo.Coordinates = of
			if arm == 1 {
				*cmbo.Coordinates = func(s *cmbo.Space) []gp.Coordinate { return gp.Numbers(s.Dim()) }
			}
			regrets[arm] = h.regret(t, seed, *choicesBudget, func(int, *cmbo.Optimizer) {})
		}
		return regrets
	})
	if mean, _ := stat.MeanVariance(all); *choicesNoise == 0 {
		assert.Less(t, mean, -0.15)
	}
}

// TestNumbersAndChoicesWithAPast: where parameters are numbers and choices, runs with a past of four tasks that are like the
// target end nearer to the best value than without.
func TestNumbersAndChoicesWithAPast(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	families := []string{"network"}
	if *choicesProblems > 3 { // on the others runs without a past are often level at the floor
		families = learnerFamilies
	}
	all := compared(t, "", families, *choicesProblems, 1e-4, func(family string, seed uint64) [2]float64 {
		r := rng.Stream(seed, t.Name()+family)
		s, fs := learners(t, family, r, 4)
		h := problemIn(t, r, s, fs, *choicesNoise)
		return h.beside(t, *choicesRival, seed, *choicesBudget)
	})
	if mean, _ := stat.MeanVariance(all); *choicesRival == "none" {
		assert.Less(t, mean, -0.1)
	}
}
