package cmbo_test

import (
	"flag"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	elsewhereProblems = flag.Int("elsewhere", 6, "problems of each family of TestBestElsewhere")
	elsewhereBudget   = flag.Int("elsewhere-budget", 10, "evaluations of each of its runs")
	elsewhereOther    = flag.String("elsewhere-other", "farthest", "what it compares the default with: a change of it, a rival, or none for no past")
	elsewhereListed   = flag.Int("elsewhere-listed", 0, "candidates, a list of so many, 0 for none")
)

// elsewhere returns a problem of two or three numbers and a choice, with five past tasks of 25 values: cones around a common
// point, of which the target has half and a higher one elsewhere; pyramids around one, next to which the target fails; and
// sums of waves of their own. The best of many random points has the value 0.
func elsewhere(tb testing.TB, family string, seed uint64) *pastProblem {
	r := rng.Stream(seed, "TestBestElsewhere"+family)
	dim := 2 + r.IntN(2)
	space := numbersAndChoice(tb, dim, "a", "b", "c", "d")
	random := func(lo, hi float64) []float64 { return between(r, dim, lo, hi) }
	common, other, best := random(0.2, 0.8), random(0.1, 0.9), r.IntN(4)
	distance := func(x, c []float64) (one, two float64) {
		for j, v := range c {
			one, two = one+math.Abs(x[1+j]-v), two+(x[1+j]-v)*(x[1+j]-v)
		}
		return one, math.Sqrt(two)
	}
	function := func(target bool) func(x []float64) float64 {
		c, freq, phase, height := make([]float64, dim), random(6.3, 12), random(0, 6), [4]float64{}
		for j := range c {
			c[j] = common[j] + 0.05*r.NormFloat64()
		}
		for k := range height {
			height[k] = 0.2 * r.Float64()
		}
		height[best] = 0
		return func(x []float64) float64 {
			one, two := distance(x, c)
			switch family {
			case "higher cone":
				y := -two - height[int(x[0])]
				if target {
					_, d := distance(x, other)
					y = max(0.5*y-0.3, -d)
				}
				return y
			case "fails there":
				return -one - height[int(x[0])]
			}
			y := 0.0
			for j := range c {
				y += math.Sin(freq[j]*x[1+j]+phase[j]+height[int(x[0])]*10) - 1
			}
			return y
		}
	}
	target, h := function(true), &pastProblem{space: space, rows: seed}
	h.tasks = pastOfFunctions(tb, space, r, func() func(x []float64) float64 { return function(false) })
	if family == "fails there" {
		h.fails = func(x []float64) bool { one, _ := distance(x, common); return one <= 0.15*float64(dim) }
	}
	at := sample(tb, space, 20000, seed)
	if *elsewhereListed > 0 {
		at = at[:*elsewhereListed]
		h.space = listOf(tb, space, at)
	}
	most := math.Inf(-1)
	for _, x := range at {
		if h.fails == nil || !h.fails(x) {
			most = max(most, target(x))
		}
	}
	h.target = func(x []float64) float64 { return target(x) - most }
	return h
}

// TestBestElsewhere: in a space without a list, where the past leads to points that are merely good, fail or are no better
// than others, a run whose points by distance are drawn ends nearer to the best value than one whose are the farthest.
func TestBestElsewhere(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	families := []string{"higher cone", "waves"}
	if *elsewhereProblems > 6 {
		families = append(families, "fails there")
	}
	all := compared(t, "", families, *elsewhereProblems, 1e-3, func(family string, seed uint64) (regrets [2]float64) {
		regrets = elsewhere(t, family, seed).beside(t, *elsewhereOther, seed, *elsewhereBudget)
		return [2]float64{min(3, regrets[0]), min(3, regrets[1])} // all may have failed
	})
	if *elsewhereOther == "farthest" && *elsewhereBudget == 10 {
		require.Less(t, stat.Sum(all)/float64(len(all)), 0.0)
	}
}
