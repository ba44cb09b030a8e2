package baseline

import (
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/require"
)

// Predictions do not depend on the unit of values and of their noise, where all values of a past task are equal, or the
// first ones of a run, either.
func TestUnitOfNoise(t *testing.T) {
	testutil.SkipRace(t, "one goroutine learns and predicts")
	for _, policy := range []cmbo.YPolicy{cmbo.ZScore, cmbo.MinMax, cmbo.Copula} {
		var want map[string][]float64
		for _, unit := range []float64{1, 0x1p20} {
			tasks := append(family(testRNG(t), 3, 8), family(testRNG(t), 1, 22)[0])
			for j := range tasks {
				for i := range tasks[j].Y {
					tasks[j].Y[i] *= unit
				}
				tasks[j].NoiseVariance = slices.Repeat([]float64{0.25 * unit * unit}, len(tasks[j].Y))
			}
			tasks[1].Y = slices.Repeat(tasks[1].Y[:1], 8)
			run, got := tasks[3], make(map[string][]float64)
			for name, m := range learnAll(t, tasks[:3], WithYPolicy(policy)) {
				o := newOptimizer(t, square(t), cmbo.WithSurrogate(m.Surrogate(1)), cmbo.WithYPolicy(policy))
				for i, x := range run.X {
					require.NoError(t, o.Observe(x, run.Y[max(i-19, 0)], cmbo.WithNoise(run.NoiseVariance[i])))
					if i > 19 { // before that nothing tells the unit; what is fitted is still fitted to these twenty
						mean, sd, err := o.Predict(ctx, []float64{0.3, 0.6})
						require.NoError(t, err)
						got[name] = append(got[name], mean/unit, sd/unit)
					}
				}
			}
			for name := range want {
				near(t, want[name], got[name], 1e-9, policy.String()+" "+name)
			}
			want = got
		}
	}
}
