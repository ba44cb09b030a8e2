package cmbo_test

import (
	"flag"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	recommendedProblems = flag.Int("recommended", 2, "problems of each family of TestRecommendedWithoutAList")
	recommendedBudget   = flag.Int("recommended-budget", 40, "evaluations of each of its runs")
	recommendedNoise    = flag.Float64("recommended-noise", 0.05, "deviation of the noise of its values, where their range is about 1")
	recommendedPast     = flag.Bool("recommended-past", true, "whether its runs have a past")
)

// TestRecommendedWithoutAList: in spaces without a list, under noise that is not given, the point recommended is better than
// the one of the best value, and than that of the largest mean with half of its deviation, which is what a list's would be.
// Where a model takes short waves for noise, that of the largest mean alone is behind; elsewhere under noise it is ahead.
func TestRecommendedWithoutAList(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares what runs recommend")
	rules := []string{"the best value", "half of the deviation", "the mean alone"}
	all := make([][]float64, len(rules))
	for _, family := range append([]string{"waves"}, slopeFamilies...) {
		ends := make([][]float64, len(rules))
		for seed := range uint64(*recommendedProblems) {
			r := rng.Stream(seed, t.Name()+family)
			h := slopesOf(t, r, family, seed, 2, *recommendedNoise)
			var opts []cmbo.Option
			if *recommendedPast {
				opts = append(opts, cmbo.WithPrior(learn(t, h.space, h.tasks)))
			}
			var o *cmbo.Optimizer
			h.regret(t, seed, *recommendedBudget, func(_ int, run *cmbo.Optimizer) { o = run }, opts...)
			rec := recommend(t, o)
			regret := math.Log10(max(-h.target(rec.X), 1e-4))
			var at [3][]float64
			most := [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
			for _, ob := range o.Observations() {
				mean, _ := predict(t, o, ob.X)
				for i, v := range [3]float64{ob.Y, (ob.Y + mean) / 2, mean} {
					if v > most[i] {
						at[i], most[i] = ob.X, v
					}
				}
			}
			for i, x := range at {
				ends[i] = append(ends[i], regret-math.Log10(max(-h.target(x), 1e-4)))
			}
		}
		for i, rule := range rules {
			t.Logf("%s: what is recommended has %s of the regret of the point by %s", family, ratioOf(ends[i]), rule)
			if family != "waves" {
				all[i] = append(all[i], ends[i]...)
			}
		}
	}
	for i, rule := range rules {
		t.Logf("all but waves: %s of that by %s", ratioOf(all[i]), rule)
	}
	if mean, _ := stat.MeanVariance(all[0]); *recommendedNoise > 0 {
		assert.Less(t, mean, -0.05)
	}
}
