package cmbo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// TestRecommendWithinNoisyLimit: of many points measured next to a limit those of the best values hold it by the luckiest
// errors. The point recommended holds it in truth, as a rule.
func TestRecommendWithinNoisyLimit(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it asks where whole runs end")
	space := unitCube(t, 2)
	size := func(x []float64) float64 { return 2*x[0] + x[1] }
	beyond := 0
	for seed := range uint64(10) {
		r := rng.Stream(seed, t.Name())
		o := newOptimizer(t, space, cmbo.WithSeed(seed), cmbo.WithOutput("size", cmbo.AtMost(1.5)))
		for range 25 {
			trial := ask(t, o)
			y := trial.X[0] - (trial.X[1]-0.4)*(trial.X[1]-0.4)
			require.NoError(t, o.Tell(trial.ID, y, cmbo.Outputs{"size": size(trial.X) + 0.1*r.NormFloat64()}))
		}
		rec := recommend(t, o)
		require.NotNil(t, rec.X)
		if size(rec.X) > 1.5 {
			beyond++
		}
	}
	require.LessOrEqual(t, beyond, 3)
}

// TestRecommendOfNoisyOutputsChangesNothing: a run proposes the same whether it is asked for a recommendation or not.
func TestRecommendOfNoisyOutputsChangesNothing(t *testing.T) {
	space := unitCube(t, 2)
	r := rng.Stream(1, t.Name())
	asked, other := newOptimizer(t, space, cmbo.WithOutput("size", cmbo.AtMost(1.5))), newOptimizer(t, space, cmbo.WithOutput("size", cmbo.AtMost(1.5)))
	for range 14 {
		a, b := askSame(t, asked, other)
		_, err := asked.Recommend(ctx) // with a trial open
		require.NoError(t, err)
		size := cmbo.Outputs{"size": 2*a.X[0] + a.X[1] + 0.1*r.NormFloat64()}
		require.NoError(t, asked.Tell(a.ID, a.X[0], size))
		require.NoError(t, other.Tell(b.ID, b.X[0], size))
		recommend(t, asked)
	}
}
