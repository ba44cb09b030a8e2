package cmbo_test

import (
	"flag"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	scalesProblems = flag.Int("scales", 2, "problems of each family of TestTasksOfOtherScales")
	scalesApart    = flag.Float64("scales-apart", 2, "deviation of the natural logarithm of its tasks' scales")
	scalesBudget   = flag.Int("scales-budget", 15, "evaluations of each of its runs")
	scalesOther    = flag.String("scales-other", "no-rescaling,absolute-improvement", "the change that it compares the default with, or a rival")
)

// TestTasksOfOtherScales: in spaces without a list, where values of tasks are apart by factors, a run ends nearer to the best
// value if its low values are seen in the scale that it seems to have, and if an improvement counts in the scale under which
// it is expected.
func TestTasksOfOtherScales(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	all := compared(t, "", slopeFamilies, *scalesProblems, 1e-4, func(family string, seed uint64) [2]float64 {
		r := rng.Stream(seed, t.Name()+family)
		h := slopesOf(t, r, family, seed, 2, 0)
		target := r.NormFloat64()
		for i := range h.tasks {
			by := math.Exp(*scalesApart * (r.NormFloat64() - target))
			for j := range h.tasks[i].Y {
				h.tasks[i].Y[j] *= by
			}
		}
		return h.beside(t, *scalesOther, seed, *scalesBudget)
	})
	_, noRival := baseline.Find(*scalesOther)
	if mean, _ := stat.MeanVariance(all); noRival != nil && *scalesApart >= 1 {
		assert.Less(t, mean, -0.02)
	}
}
