package hierarchy

import (
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Noise that came with values is, in the tasks' units, what it is by the scale that
// the posterior finds, to five per cent, however far the values spread.
func TestNoiseInTheScaleFound(t *testing.T) {
	r := rng.Stream(21, t.Name())
	m := learn(t, makeTasks(21, 4, 8, 2, 0, 1), uniform(r, 8, 2), testOptions(2))
	x := uniform(r, 4, 2)
	y := []float64{-0.4, 1.1, 0.3, -0.9}
	for times := 1. / 64; times < 256; times *= 1.08 {
		wide := slices.Clone(y)
		for i := range wide {
			wide[i] *= times
		}
		given := 0.04 * times * times
		run := NewRun(m, DefaultMasses(), math.NaN(), 1)
		require.NoError(t, run.Fit(ctx, x, wide, slices.Repeat([]float64{given}, 4), nil))
		var s2 float64
		for _, c := range run.active {
			s2 += c.mass * c.fit.all.s2
		}
		for _, p := range run.pts {
			used := given / (run.u * run.u * p.noise)
			assert.InDelta(t, math.Log(s2)/2, math.Log(used)/2, 0.05, "%g times", times)
		}
	}
}
