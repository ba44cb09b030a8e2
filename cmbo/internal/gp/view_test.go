package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestLook: what a view shows comes back as it was, the best values already by Line, and
// logSlopes is the logarithm of what the view does to small differences.
func TestLook(t *testing.T) {
	y := []float64{-40, -3, 0.2, 1, 0.9, -0.1, -7, 0.4, 0.95, -1}
	for _, share := range []float64{1, 0.25} {
		z, v := Look(y, nil, share)
		var sum, square, slopes float64
		for i, want := range y {
			near, _ := v.Line(z[i], 1)
			if want > 0.9 {
				require.InDelta(t, want, near, 1e-12)
			}
			back := func(z float64) float64 { line, _ := v.Line(z, 1); return v.low.BackFrom(line, v.steepest) }
			require.InDelta(t, want, back(z[i]), 1e-12)
			const h = 1e-6 // upwards: below the least value shown the slope is another
			slopes -= math.Log((4*back(z[i]+h) - back(z[i]+2*h) - 3*back(z[i])) / (2 * h))
			sum += z[i]
			square += z[i] * z[i]
		}
		require.InDelta(t, 0, sum, 1e-12)
		require.InDelta(t, float64(len(y)), square, 1e-12)
		require.InDelta(t, slopes, v.logSlopes(y), 1e-7)
	}
	for _, c := range []struct {
		y     []float64
		share float64
	}{{y, 0}, {y[:7], 1}, {[]float64{2, 2, 2, 2, 2, 2, 2, 2, 2}, 1}} {
		z, v := Look(c.y, nil, c.share)
		require.Equal(t, c.y, z)
		require.Zero(t, v)
		require.Zero(t, v.logSlopes(c.y))
		mean, sd := v.Line(-3, 2)
		require.Equal(t, []float64{-3, 2}, []float64{v.low.BackFrom(mean, v.steepest), sd})
	}
}

// TestViewByEvidence: costs whose logarithm is smooth are seen in a view, smooth values as they
// are; where noise is known none is tried.
func TestViewByEvidence(t *testing.T) {
	rng := testutil.RNG(t)
	const n = 40
	x, smooth, costs, own := linalg.NewDense(n, 2, nil), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		a, b := rng.Float64(), rng.Float64()
		x.Set(i, 0, a)
		x.Set(i, 1, b)
		smooth[i] = math.Sin(5*a) + math.Cos(4*b)
		costs[i] = -math.Exp(-2 * smooth[i])
		own[i] = 0.01
	}
	for _, c := range []struct {
		y, own []float64
		noise  float64
		seen   bool
	}{{smooth, nil, math.NaN(), false}, {costs, nil, math.NaN(), true}, {costs, own, math.NaN(), false}, {costs, nil, 0.01, false}} {
		f := Fits{Forms: []Form{{Kernel: kernel.Scale(1, kernel.Matern32(0.8))}}, Noise: c.noise, Seed: 1, Shares: []float64{1, 0.25}}
		h, err := f.At(ctx, n, func(int) (*linalg.Dense, []float64, []float64, error) { return x, standard(c.y), c.own, nil })
		require.NoError(t, err)
		require.Equal(t, c.seen, h.Share > 0)
	}
}

// standard returns values of mean 0 and deviation 1.
func standard(y []float64) []float64 {
	var mean, variance float64
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		variance += (v - mean) * (v - mean) / float64(len(y))
	}
	out := make([]float64, len(y))
	for i, v := range y {
		out[i] = (v - mean) / math.Sqrt(variance)
	}
	return out
}

// TestViewCountsItsSlopes: what a view makes of normal values is no more likely as values, though
// it is as likely by itself, so that most are seen as they are.
func TestViewCountsItsSlopes(t *testing.T) {
	testutil.SkipShort(t, "it counts problems")
	const n, problems = 60, 40
	seen := 0
	for seed := range problems {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		x, y := linalg.NewDense(n, 2, nil), make([]float64, n)
		for i := range n {
			x.Set(i, 0, rng.Float64())
			x.Set(i, 1, rng.Float64())
			y[i] = rng.NormFloat64()
		}
		f := Fits{Forms: []Form{{Kernel: kernel.Scale(1, kernel.Matern32(0.8))}}, Noise: math.NaN(), Seed: 1, Shares: []float64{1, 0.25}}
		h, err := f.At(ctx, n, func(int) (*linalg.Dense, []float64, []float64, error) { return x, standard(y), nil, nil })
		require.NoError(t, err)
		if h.Share > 0 {
			seen++
		}
	}
	require.LessOrEqual(t, seen, problems/3)
}
