package cmbo_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// Where limits leave the best points out, the value to improve on is a low one, of those whose differences the
// model sees as smaller. Values explode to the left, and only the left may be chosen.

func exploding(x float64) float64 { return -math.Exp(8*(1-x))/100 + 0.3*math.Sin(20*x) }

func ladder(n int) (rows [][]float64) {
	for i := range n {
		rows = append(rows, []float64{float64(i) / float64(n-1)})
	}
	return rows
}

// TestImprovementBelowTheKnee: what a proposal improves on is in the unit of the predictions, with a past and
// without one, given noise and not: a point told that is worse promises nothing, the border of what may be chosen does, and
// no more is said to be likely to be gained than the border gains.
func TestImprovementBelowTheKnee(t *testing.T) {
	list, err := cmbo.Candidates(ladder(101))
	require.NoError(t, err)
	var past []cmbo.Task
	for k := range 6 {
		one := cmbo.Task{ID: fmt.Sprint(k), Outputs: map[string][]float64{}}
		for _, x := range ladder(21) {
			one.X = append(one.X, x)
			one.Y = append(one.Y, exploding(x[0])*(1+0.1*float64(k))+0.1*math.Sin(float64(k)+7*x[0]))
			one.Outputs["g"] = append(one.Outputs["g"], x[0])
		}
		past = append(past, one)
	}
	prior := learn(t, list, past)
	for _, tt := range []struct {
		opts  []cmbo.Option
		every int
		noise float64
	}{
		{nil, 8, 0},
		{[]cmbo.Option{cmbo.WithPrior(prior)}, 8, 0},
		{[]cmbo.Option{cmbo.WithPrior(prior)}, 4, 0.01},
	} {
		o := newOptimizer(t, list, append(tt.opts, cmbo.WithOutput("g", cmbo.AtMost(0.25)), cmbo.WithInitial(0))...)
		r := rand.New(rand.NewPCG(1, 2))
		best := math.Inf(-1)
		for i := 0; i <= 100; i += tt.every {
			x := float64(i) / 100
			opts := []cmbo.ObservationOption{cmbo.Outputs{"g": x}}
			y := exploding(x)
			if tt.noise > 0 {
				opts = append(opts, cmbo.WithNoise(tt.noise))
				y += math.Sqrt(tt.noise) * r.NormFloat64()
			}
			require.NoError(t, o.Observe([]float64{x}, y, opts...))
			if x <= 0.25 {
				best = max(best, y)
			}
		}
		u := outlookOf(t, o)
		gain := exploding(0.25) - best
		t.Logf("expected %.3g, at most %.3g; the border gains %.3g", u.Expected, u.Most, gain)
		require.Greater(t, u.Expected, 1e-4)
		require.Less(t, u.Expected, 1.0)
		require.Less(t, u.Most, 2.0)
		two, err := o.AskN(ctx, 2) // one of which may be another judge's
		require.NoError(t, err)
		require.Less(t, min(math.Abs(two[0].X[0]-0.25), math.Abs(two[1].X[0]-0.25)), 0.015, "%v", two)
	}
}

// TestRecommendBelowTheKnee: what a point has of its own counts in the unit in which means are compared, so that
// no low one, whose deviations are large, is recommended.
func TestRecommendBelowTheKnee(t *testing.T) {
	list, err := cmbo.Candidates(ladder(101))
	require.NoError(t, err)
	for seed := range uint64(10) {
		o := newOptimizer(t, list, cmbo.WithInitial(0), cmbo.WithSeed(seed+1))
		r := rand.New(rand.NewPCG(seed, 2))
		values, best := make(map[float64]float64), math.Inf(-1)
		for _, x := range ladder(21) {
			y := -math.Exp(10*math.Abs(x[0]-0.7)) * math.Exp(0.3*r.NormFloat64())
			values[x[0]], best = y, max(best, y)
			require.NoError(t, o.Observe(x, y))
		}
		got := recommend(t, o)
		require.Greater(t, values[got.X[0]], 2*best, "seed %d", seed)
	}
}
