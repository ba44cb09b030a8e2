package cmbo

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// The gain of one value more is the mean over what that value may be: a point behind the best may pass it, and the
// best may fall behind the next.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		mean, sd []float64
		noise    float64
		at       int
	}{
		{[]float64{1, 0.8, -3, 0.9}, []float64{0.2, 0.5, 4, 0}, 0.3, 2},
		{[]float64{5, 4, 1}, []float64{1, 0.5, 0}, 2, 0},
		{[]float64{5, 4, 1}, []float64{0.1, 2, 0}, 2, 1},
		{[]float64{5, 4, 3}, []float64{0, 0, 3}, 2, 2},
		{[]float64{5, 4, 3}, []float64{0, 0, 0}, 2, 0},
		{[]float64{4, 5}, []float64{2, 2}, 0, 0}, // of two as good the first one
	} {
		top := slices.Index(c.mean, slices.Max(c.mean))
		best, want := -1, math.Inf(-1)
		for i := range c.mean {
			others := slices.Max(slices.Delete(slices.Clone(c.mean), i, i+1))
			// A value y ~ N(mean, v+n) moves the mean by v/(v+n)·(y−mean).
			v := c.sd[i] * c.sd[i]
			var sum float64
			const steps = 20000
			for k := range steps {
				z := -8 + 16*(float64(k)+0.5)/steps
				moved := c.mean[i]
				if v > 0 {
					moved += v / (v + c.noise) * math.Sqrt(v+c.noise) * z
				}
				sum += max(moved, others) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 16 / steps
			}
			if gain := sum - c.mean[top]; gain > want+1e-9 {
				best, want = i, gain
			}
		}
		at, gain := again(c.mean, c.sd, top, c.noise)
		assert.Equal(t, c.at, at, "%v ± %v", c.mean, c.sd)
		assert.Equal(t, best, at, "%v ± %v", c.mean, c.sd)
		assert.InDelta(t, want, gain, 1e-6)
	}
	at, gain := again([]float64{1, 2}, []float64{0, 0}, 1, 0)
	assert.Equal(t, 0, at)
	assert.Zero(t, gain)
	at, gain = again([]float64{1}, []float64{1}, 0, 1)
	assert.Equal(t, -1, at)
	assert.Zero(t, gain)
}

// What is recommended is evaluated, holds the limits on the mean of its values, has the
// largest mean of these, and is the same after a restore.
func TestRecommend(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 1, 30)
	o, err := New(s, WithMinimize(), WithOutput("seconds", AtMost(5), Optional()))
	require.NoError(t, err)
	r, err := o.Recommend(ctx)
	require.NoError(t, err)
	assert.Nil(t, r.X)
	assert.Equal(t, "there is no point to recommend yet", r.String())
	rows := tasks[0].X
	require.NoError(t, o.Observe(rows[0], 1, Outputs{"seconds": 6}))
	require.NoError(t, o.Observe(rows[1], 1))
	r, err = o.Recommend(ctx)
	require.NoError(t, err)
	assert.Nil(t, r.X, "nothing is known to hold the limit")
	require.NoError(t, o.Observe(rows[2], 1, Outputs{"seconds": 4}, WithNoise(1)))
	r, err = o.Recommend(ctx)
	require.NoError(t, err)
	assert.Equal(t, rows[2], r.X)
	assert.True(t, math.IsNaN(r.Mean), "equal values have no scale")
	assert.Regexp(t, `^use a=.*: its values have no scale yet; values told there: 1$`, r.String())
	for i, y := range []float64{3, 2, 4, 0.1, 3.1, 3.2} {
		x := rows[3+i]
		if i > 3 {
			x = rows[6] // which was lucky once
		}
		require.NoError(t, o.Observe(x, y, Outputs{"seconds": 4.5}, WithNoise(1)))
	}
	require.NoError(t, o.Observe(rows[0], -5, Outputs{"seconds": 5}), "5.5 on the mean")
	r, err = o.Recommend(ctx)
	require.NoError(t, err)
	best := math.Inf(1)
	for _, i := range []int{2, 3, 4, 5, 6} {
		mean, _, err := o.Predict(rows[i])
		require.NoError(t, err)
		if mean < best {
			best = mean
			assert.LessOrEqual(t, r.Mean, mean+1e-12)
		}
	}
	assert.InDelta(t, best, r.Mean, 1e-12)
	assert.InDelta(t, best, r.Quantiles.Median, 1e-12)
	assert.NotEqual(t, rows[0], r.X)
	assert.NotEqual(t, rows[6], r.X)
	assert.NotNil(t, r.Again)
	assert.Positive(t, r.Gain)
	assert.Regexp(t, `^use a=.*: .*; values told there: 1; one value more at a=.* is expected to gain `, r.String())
	none := r
	none.Gain = 5e-180
	assert.NotContains(t, none.String(), "one value more")
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	back, err := Restore(&b)
	require.NoError(t, err)
	again, err := back.Recommend(ctx)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%v %v %v", r.X, r.Mean, r.Gain), fmt.Sprintf("%v %v %v", again.X, again.Mean, again.Gain))
}

// Where no noise is given half of its variance may be a deviation of the point's own, of which each
// value tells as a Kalman filter has it; the variance that it leaves makes the interval wider.
func TestRecommendOwn(t *testing.T) {
	ctx := context.Background()
	s, err := NewSpace(Float("x", 0, 1))
	require.NoError(t, err)
	o, err := New(s)
	require.NoError(t, err)
	r := rng.Stream(14, t.Name())
	values := make(map[float64][]float64)
	for i := range 24 {
		x := float64(i%20) / 20
		y := 1 - 4*(x-0.6)*(x-0.6) + 0.15*r.NormFloat64()
		values[x] = append(values[x], y)
		require.NoError(t, o.Observe([]float64{x}, y))
	}
	rec, err := o.Recommend(ctx)
	require.NoError(t, err)
	present := o.draft()
	d, scale := present.data(false)
	half := o.model.noise() * scale.Scale * scale.Scale / 2
	require.Positive(t, half)
	left := make(map[float64]float64)
	best, bestMean, bestValue := [2]float64{0, math.Inf(-1)}, [2]float64{0, math.Inf(-1)}, [2]float64{0, math.Inf(-1)}
	for x, ys := range values {
		mean, _, err := o.Predict([]float64{x})
		require.NoError(t, err)
		worth := mean
		left[x] = half
		for _, y := range ys {
			gain := left[x] / (left[x] + half)
			worth += gain * (y - worth)
			left[x] -= gain * left[x]
			if y > bestValue[1] {
				bestValue = [2]float64{x, y}
			}
		}
		if worth > best[1] {
			best = [2]float64{x, worth}
		}
		if mean > bestMean[1] {
			bestMean = [2]float64{x, mean}
		}
	}
	assert.Equal(t, []float64{best[0]}, rec.X)
	assert.NotEqual(t, best[0], bestMean[0])
	assert.NotEqual(t, best[0], bestValue[0])
	mean, sd, err := o.Predict(rec.X)
	require.NoError(t, err)
	holding := present.pointsHolding() // of one value and of two
	_, own := present.withOwn(d, holding, make([]float64, len(holding)))
	for i, at := range holding {
		assert.InEpsilon(t, left[present.h.Observations[at[0]].X[0]], own[i]*scale.Scale*scale.Scale, 1e-12)
	}
	wide := math.Sqrt(sd*sd + left[rec.X[0]])
	assert.InDelta(t, mean, rec.Mean, 1e-12)
	assert.InEpsilon(t, wide, rec.SD, 1e-9)
	assert.InEpsilon(t, mean-1.6448536*wide, rec.Quantiles.Low, 1e-6)
}

// TestRecommendAgain: what one value more is worth is by the noise given, on the mean, else by
// the model's, and trials under way change nothing; the first point may be the one.
func TestRecommendAgain(t *testing.T) {
	ctx := context.Background()
	s, err := NewSpace(Float("x", 0, 1))
	require.NoError(t, err)
	y := func(x float64) float64 { return 100 + 30*math.Sin(5*x) + 3*math.Sin(70*x) }
	for _, c := range []struct {
		name      string
		variances []float64 // of the points, again and again; 0 for none
		noise     float64   // their mean
	}{{"given", []float64{4, 16}, 10}, {"of some", []float64{4, 0, 16, 7}, 9}, {"of one", []float64{4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 4}, {"of none", []float64{0}, math.NaN()}} {
		o, err := New(s)
		require.NoError(t, err)
		var xs [][]float64
		for i := range 12 {
			x := []float64{float64(i*7%12) / 12}
			var opts []ObservationOption
			if v := c.variances[i%len(c.variances)]; v > 0 {
				opts = append(opts, WithNoise(v))
			}
			require.NoError(t, o.Observe(x, y(x[0]), opts...))
			xs = append(xs, x)
		}
		worth, sd := make([]float64, len(xs)), make([]float64, len(xs))
		for i, x := range xs {
			worth[i], sd[i], err = o.Predict(x)
			require.NoError(t, err)
			if c.variances[i%len(c.variances)] == 0 {
				worth[i] += (y(x[0]) - worth[i]) / 2
			}
		}
		noise := c.noise
		if math.IsNaN(noise) {
			_, scale := o.draft().data(false)
			noise = o.model.noise() * scale.Scale * scale.Scale
			require.Positive(t, noise)
		}
		i, gain := again(worth, sd, slices.Index(worth, slices.Max(worth)), noise)
		for range 2 {
			rec, err := o.Recommend(ctx)
			require.NoError(t, err)
			assert.Equal(t, xs[i], rec.Again, c.name)
			assert.InEpsilon(t, gain, rec.Gain, 1e-9, c.name)
			require.NoError(t, o.Enqueue(rec.X)) // under way in the second round
			_, err = o.Ask(ctx)
			require.NoError(t, err)
		}
	}
	o, err := New(s)
	require.NoError(t, err)
	require.NoError(t, o.Observe([]float64{0.2}, 1, WithNoise(4)))
	require.NoError(t, o.Observe([]float64{0.9}, 0, WithNoise(1e-4)))
	rec, err := o.Recommend(ctx)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.2}, rec.Again)
}

// Limits are held by the mean of what was told of a point, not by its sum.
func TestRecommendHolds(t *testing.T) {
	ctx := context.Background()
	s, err := NewSpace(Float("x", 0, 1))
	require.NoError(t, err)
	o, err := New(s, WithOutput("seconds", AtMost(5)))
	require.NoError(t, err)
	require.NoError(t, o.Observe([]float64{0.1}, 1, Outputs{"seconds": 3}))
	require.NoError(t, o.Observe([]float64{0.7}, 9, Outputs{"seconds": 4}))
	require.NoError(t, o.Observe([]float64{0.7}, 8, Outputs{"seconds": 5.5}))
	rec, err := o.Recommend(ctx)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.7}, rec.X)
	assert.Equal(t, 2, rec.Values)
}

// Under noise what is recommended is better than what had the best value: regrets in units
// of the deviation of the function, for noise of so many of these.
func TestRecommendRegret(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 8, 60)
	prior, err := Learn(ctx, s, tasks[:6], WithMinimize())
	require.NoError(t, err)
	repeats := 8
	if testing.Short() {
		repeats = 2
	}
	for _, with := range []string{"with transfer", "without"} {
		var ofBest, ofMean float64
		for _, noise := range []float64{0.1, 0.3, 1} {
			var lucky, meant float64
			for k := range repeats {
				task := tasks[6+k%2]
				unit := ZScore.fit(task.Y).Scale
				opts := []Option{WithPrior(prior)}
				if with == "without" {
					opts = []Option{WithMinimize(), WithSeed(uint64(k))}
				}
				o, err := New(s, opts...)
				require.NoError(t, err)
				r := rng.Stream(5, t.Name(), uint64(k))
				for range 20 {
					trial, err := o.Ask(ctx)
					require.NoError(t, err)
					require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index]+noise*unit*r.NormFloat64(), WithNoise(noise*noise*unit*unit)))
				}
				regret := func(x []float64) float64 {
					best := math.Inf(1)
					for _, y := range task.Y {
						best = min(best, y)
					}
					return (task.Y[s.Index(x)] - best) / unit / float64(repeats)
				}
				b, ok := o.Best()
				require.True(t, ok)
				rec, err := o.Recommend(ctx)
				require.NoError(t, err)
				lucky, meant = lucky+regret(b.X), meant+regret(rec.X)
			}
			t.Logf("%s, noise %.1f: regret %.3f of the best value, %.3f of what is recommended", with, noise, lucky, meant)
			ofBest, ofMean = ofBest+lucky, ofMean+meant
		}
		if !testing.Short() {
			assert.Less(t, ofMean, 0.8*ofBest)
		}
	}
}

// Where points are measured again the intervals of what is recommended hold the truth, ten times as noisy as the past.
func TestRecommendRepeats(t *testing.T) {
	testutil.SkipRace(t, "one goroutine asks")
	ctx := context.Background()
	s, err := NewSpace(Float("x", 0, 1))
	require.NoError(t, err)
	held, problems := 0, 12
	for k := range problems {
		r := rng.Stream(uint64(k), t.Name())
		task := func() func(x float64) float64 {
			at := 0.5 + 0.05*r.NormFloat64()
			return func(x float64) float64 { return 1 - 8*(x-at)*(x-at) }
		}
		var past []Task
		for i := range 6 {
			f, one := task(), Task{ID: fmt.Sprint(i)}
			for range 10 {
				x := r.Float64()
				one.X, one.Y = append(one.X, []float64{x}), append(one.Y, f(x)+0.03*r.NormFloat64())
			}
			past = append(past, one)
		}
		prior, err := Learn(ctx, s, past)
		require.NoError(t, err)
		o, err := New(s, WithPrior(prior))
		require.NoError(t, err)
		f := task()
		for i := range 12 {
			trial, err := o.Ask(ctx)
			require.NoError(t, err)
			require.NoError(t, o.Tell(trial.ID, f(trial.X[0])+0.3*r.NormFloat64()))
			if i >= 6 {
				rec, err := o.Recommend(ctx)
				require.NoError(t, err)
				require.NoError(t, o.Enqueue(rec.Again))
			}
		}
		rec, err := o.Recommend(ctx)
		require.NoError(t, err)
		if y := f(rec.X[0]); rec.Quantiles.Low <= y && y <= rec.Quantiles.High {
			held++
		}
	}
	t.Logf("%d of %d intervals", held, problems)
	assert.GreaterOrEqual(t, held, 8)
}
