package cmbo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
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
	o := optimizerOf(t, s, WithMinimize(), WithOutput("seconds", AtMost(5), Optional()))
	r := recommend(t, o)
	assert.Nil(t, r.X)
	assert.Equal(t, "there is no point to recommend yet", r.String())
	rows := tasks[0].X
	require.NoError(t, o.Observe(rows[0], 1, Outputs{"seconds": 6}))
	require.NoError(t, o.Observe(rows[1], 1))
	r = recommend(t, o)
	assert.Nil(t, r.X, "nothing is known to hold the limit")
	require.NoError(t, o.Observe(rows[2], 1, Outputs{"seconds": 4}, WithNoise(1)))
	r = recommend(t, o)
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
	r = recommend(t, o)
	best := math.Inf(1)
	for _, i := range []int{2, 3, 4, 5, 6} {
		mean, _, err := o.Predict(ctx, rows[i])
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
	assert.Regexp(t, `^use a=.*: .*; values told there: 1; one value more there is expected to gain `, r.String())
	elsewhere := r
	elsewhere.Again = rows[0]
	assert.Regexp(t, `; one value more at a=.* is expected to gain `, elsewhere.String())
	none := r
	none.Gain = 5e-180
	assert.NotContains(t, none.String(), "one value more")
	back := restored(t, o)
	again := recommend(t, back)
	assert.Equal(t, fmt.Sprintf("%v %v %v", r.X, r.Mean, r.Gain), fmt.Sprintf("%v %v %v", again.X, again.Mean, again.Gain))
}

// The share of the noise that is the points' own is the evidence's, integrated over variances: errors that are white and
// deviations that are alike next to each other are told from each other, points apart tell nothing.
func TestOwnShare(t *testing.T) {
	r := rng.Stream(3, t.Name())
	near, apart := linalg.NewDense(24, 2, nil), linalg.NewDense(24, 2, nil)
	for i := range 24 {
		for j := range 2 {
			near.Set(i, j, 0.5+0.02*r.NormFloat64())
			apart.Set(i, j, float64(3*i))
		}
	}
	copy(near.Row(5), near.Row(4)) // measured again
	errors, smooth := make([]float64, 24), make([]float64, 24)
	for i := range errors {
		errors[i], smooth[i] = r.NormFloat64(), 1e-3*math.Sin(80*near.Row(i)[0])
	}
	for _, c := range []struct {
		name     string
		x        *linalg.Dense
		e        []float64
		from, to float64
	}{{"white", near, errors, 0, 0.05}, {"alike", near, smooth, 0.95, 1}, {"apart", apart, errors, 0.25 - 1e-12, 0.25 + 1e-12},
		{"none", near, make([]float64, 24), 0.25, 0.25}, {"of one", points.First(near, 1), errors[:1], 0.25 - 1e-12, 0.25 + 1e-12},
		{"of few", points.First(near, 4), errors[:4], 0.1, 0.5}} {
		got := ownShare(c.x, c.e)
		assert.GreaterOrEqual(t, got, c.from, c.name)
		assert.LessOrEqual(t, got, c.to, c.name)
		if c.name == "white" || c.name == "alike" || c.name == "of few" {
			assert.InEpsilon(t, shareOf(t, c.x, c.e), got, 1e-5, c.name)
		}
	}
}

// shareOf is ownShare by integrals over the logarithm of the variance.
func shareOf(t *testing.T, x *linalg.Dense, e []float64) float64 {
	n := len(e)
	evidence := func(share, length float64) (sum float64) {
		for log := -30.0; log < 15; log += 0.05 {
			v := math.Exp(log)
			cov := linalg.NewSym(n, nil)
			for i := range n {
				for j := range i + 1 {
					var square float64
					for k, a := range x.Row(i) {
						square += (a - x.Row(j)[k]) * (a - x.Row(j)[k])
					}
					cov.Set(i, j, v*share*math.Exp(-math.Sqrt(square)/length))
				}
			}
			var c gaussian.Conditioner
			require.NoError(t, c.Factorize(cov, []float64{v * (1 - share)}, e))
			sum += math.Exp(c.LogMarginal())
		}
		return sum
	}
	own := (evidence(0.9, 1./30) + evidence(0.9, 1./100)) / 2 * 0.25
	return own / (own + 0.75*evidence(0, 1))
}

// Where no noise is given a share of its variance is a deviation of the point's own, of which each value tells as a Kalman
// filter has it; the variance that it leaves makes the interval wider. On a list the share is one half.
func TestRecommendOwn(t *testing.T) {
	ctx := context.Background()
	box := spaceOf(t, Float("x", 0, 1))
	var rows [][]float64
	for i := range 20 {
		rows = append(rows, []float64{float64(i) / 20})
	}
	list := listOf(t, box, rows)
	for _, s := range []*Space{list, box} {
		o := optimizerOf(t, s)
		r := rng.Stream(14, t.Name())
		values := make(map[float64][]float64)
		for i := range 24 {
			x := rows[i%20][0]
			y := 1 - 4*(x-0.6)*(x-0.6) + 0.15*r.NormFloat64()
			values[x] = append(values[x], y)
			require.NoError(t, o.Observe([]float64{x}, y))
		}
		rec := recommend(t, o)
		share := 0.5
		if s == box {
			share = oursOf(t, o)
		}
		present := o.draft()
		d, scale := present.data(false)
		noise := o.model.noise() * scale.Scale * scale.Scale
		require.Positive(t, noise)
		left := make(map[float64]float64)
		best, bestMean, bestValue := [2]float64{0, math.Inf(-1)}, [2]float64{0, math.Inf(-1)}, [2]float64{0, math.Inf(-1)}
		for x, ys := range values {
			mean, _, err := o.Predict(ctx, []float64{x})
			require.NoError(t, err)
			worth := mean
			left[x] = share * noise
			for _, y := range ys {
				gain := left[x] / (left[x] + (1-share)*noise)
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
		assert.NotEqual(t, best[0], bestValue[0])
		if s == list {
			assert.NotEqual(t, best[0], bestMean[0])
		}
		mean, sd, err := o.Predict(ctx, rec.X)
		require.NoError(t, err)
		holding := present.pointsHolding() // of one value and of two
		from, own := present.withOwn(d, holding, make([]float64, len(holding)))
		for i, at := range holding {
			if s == list { // elsewhere the share is that of deviations from 0
				assert.InEpsilon(t, left[present.h.Observations[at[0]].X[0]], own[i]*scale.Scale*scale.Scale, 1e-12)
				var sum float64
				for _, n := range at {
					sum += d.Y[n]
				}
				assert.InEpsilon(t, sum/float64(len(at)+1), from[i], 1e-12)
			}
		}
		wide := math.Sqrt(sd*sd + left[rec.X[0]])
		assert.InDelta(t, mean, rec.Mean, 1e-12)
		assert.InEpsilon(t, wide, rec.SD, 1e-9)
		assert.InEpsilon(t, mean-1.6448536*wide, rec.Quantiles.Low, 1e-6)
	}
}

// Where deviations are the function's beyond doubt, points whose noise is given keep their mean.
func TestRecommendOwnBesideGiven(t *testing.T) {
	s := spaceOf(t, Float("x", 0, 1))
	o := optimizerOf(t, s)
	for i := range 80 {
		require.NoError(t, o.Observe([]float64{0.5 + 1e-4*float64(i)}, math.Sin(float64(i)/9)))
	}
	require.NoError(t, o.Observe([]float64{0.2}, 1, WithNoise(0.1)))
	present := o.draft()
	d, _ := present.data(false)
	require.NoError(t, o.fit(t.Context(), d))
	holding := present.pointsHolding()
	worth, left := present.withOwn(d, holding, make([]float64, len(holding)))
	for i, y := range d.Y[:80] {
		require.Equal(t, o.model.seen(y), worth[i])
	}
	assert.Equal(t, make([]float64, 81), left)
	assert.Zero(t, worth[80])
}

// oursOf returns the share that is the points' own of a run's deviations, all of which count.
func oursOf(t *testing.T, o *Optimizer) float64 {
	var rows [][]float64
	var e []float64
	for _, ob := range o.Observations() {
		mean, _, err := o.Predict(t.Context(), ob.X)
		require.NoError(t, err)
		rows, e = append(rows, ob.X), append(e, ob.Y-mean)
	}
	return ownShare(linalg.NewDense(len(e), 1, slices.Concat(rows...)), e)
}

// TestRecommendAgain: what one value more is worth is by the noise given, on the mean, else by
// the model's, and trials under way change nothing; the first point may be the one.
func TestRecommendAgain(t *testing.T) {
	ctx := context.Background()
	s := spaceOf(t, Float("x", 0, 1))
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
		var unknown [][]float64
		var e []float64
		for i, x := range xs {
			worth[i], sd[i], err = o.Predict(ctx, x)
			require.NoError(t, err)
			if c.variances[i%len(c.variances)] == 0 {
				unknown, e = append(unknown, x), append(e, y(x[0])-worth[i])
			}
		}
		if len(e) > 0 {
			p := ownShare(linalg.NewDense(len(e), 1, slices.Concat(unknown...)), e)
			for i, x := range xs {
				if c.variances[i%len(c.variances)] == 0 {
					worth[i] += p * (y(x[0]) - worth[i])
				}
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
			rec := recommend(t, o)
			assert.Equal(t, xs[i], rec.Again, c.name)
			assert.InEpsilon(t, gain, rec.Gain, 1e-9, c.name)
			require.NoError(t, o.Enqueue(rec.X)) // under way in the second round
			ask(t, o)
		}
	}
	o := optimizerOf(t, s)
	require.NoError(t, o.Observe([]float64{0.2}, 1, WithNoise(4)))
	require.NoError(t, o.Observe([]float64{0.9}, 0, WithNoise(1e-4)))
	rec := recommend(t, o)
	assert.Equal(t, []float64{0.2}, rec.Again)
}

// Limits are held by the mean of what was told of a point, not by its sum.
func TestRecommendHolds(t *testing.T) {
	s := spaceOf(t, Float("x", 0, 1))
	o := optimizerOf(t, s, WithOutput("seconds", AtMost(5)))
	require.NoError(t, o.Observe([]float64{0.1}, 1, Outputs{"seconds": 3}))
	require.NoError(t, o.Observe([]float64{0.7}, 9, Outputs{"seconds": 4}))
	require.NoError(t, o.Observe([]float64{0.7}, 8, Outputs{"seconds": 5.5}))
	rec := recommend(t, o)
	assert.Equal(t, []float64{0.7}, rec.X)
	assert.Equal(t, 2, rec.Values)
}

// Under noise what is recommended is better than what had the best value: regrets in units
// of the deviation of the function, for noise of so many of these.
func TestRecommendRegret(t *testing.T) {
	s, tasks := encoded(t, 8, 60)
	prior := priorOf(t, s, tasks[:6], WithMinimize())
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
				o := optimizerOf(t, s, opts...)
				r := rng.Stream(5, t.Name(), uint64(k))
				for range 20 {
					trial := ask(t, o)
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
				rec := recommend(t, o)
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
	t.Parallel()
	testutil.SkipShort(t, "it counts intervals")
	s := spaceOf(t, Float("x", 0, 1))
	held, problems := 0, 32
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
		prior := priorOf(t, s, past)
		o := optimizerOf(t, s, WithPrior(prior))
		f := task()
		for i := range 12 {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, f(trial.X[0])+0.3*r.NormFloat64()))
			if i >= 6 {
				rec := recommend(t, o)
				require.NoError(t, o.Enqueue(rec.Again))
			}
		}
		rec := recommend(t, o)
		if y := f(rec.X[0]); rec.Quantiles.Low <= y && y <= rec.Quantiles.High {
			held++
		}
	}
	t.Logf("%d of %d intervals", held, problems)
	assert.GreaterOrEqual(t, held, 21)
}

// TestRecommendOfDistantValues: a value as far below the others as numbers go, in units of how far the past's low values
// differ, is seen at a finite distance.
func TestRecommendOfDistantValues(t *testing.T) {
	cube := unitCube(t, 1)
	tasks := make([]Task, 2)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint("t", i)
		for j := range 12 {
			x := float64(j) / 11
			tasks[i].X, tasks[i].Y = append(tasks[i].X, []float64{x}), append(tasks[i].Y, 1e-200*math.Sin(3*x+float64(i)))
		}
	}
	prior := priorOf(t, cube, tasks)
	o := optimizerOf(t, cube, WithPrior(prior))
	for i, y := range []float64{1e-200, 2e-200, -1e150, 3e-200} {
		require.NoError(t, o.Observe([]float64{float64(i) / 3}, y))
	}
	r := recommend(t, o)
	require.Equal(t, []float64{1}, r.X)
}

// Points count that hold the limits of noisy outputs without the noise, with a probability of .9 together, else the
// likeliest: by the product of the tails of what the models believe, in the outputs' units. Of exact outputs, and of few
// values of the run's own, all points count that hold the limits as they were measured.
func TestSurelyHolding(t *testing.T) {
	space := unitCube(t, 1)
	const atMost, atLeast = 1.5, 0.6
	for _, c := range []struct {
		name           string
		n              int
		noise, limit   float64
		all, uncertain bool
	}{
		{"noisy", 16, 0.15, atMost, false, false}, {"uncertain", 16, 0.15, 0.95, false, true}, {"exact", 16, 0, atMost, true, false},
		{"few", 4, 0.15, atMost, true, false}, {"five", 5, 0.15, atMost, false, false},
	} {
		o := optimizerOf(t, space, WithOutput("size", AtMost(c.limit)), WithOutput("weight", AtLeast(atLeast)))
		sign := 1.0
		for i := range c.n {
			x := float64(i) / float64(c.n-1)
			noise := c.noise * sign * (0.5 + float64(i*i%7)/7)
			sign = -sign
			require.NoError(t, o.Observe([]float64{x}, x, Outputs{"size": 2*x + noise, "weight": math.Sqrt(x) + noise/3}))
		}
		present := o.draft()
		values := present.pointsHolding()
		got, err := present.surelyHolding(t.Context(), values)
		require.NoError(t, err)
		if c.all {
			require.Equal(t, values, got, c.name)
			continue
		}
		p, most := make([]float64, len(values)), 0.0
		for i := range p {
			p[i] = 1
			for _, r := range present.requirements {
				m, ok := r.(*outputModel)
				if !ok {
					continue
				}
				f, ok, err := m.fit(t.Context(), present, false)
				require.NoError(t, err)
				require.True(t, ok)
				require.Greater(t, m.model.noise(), 1e-5)
				mean, sd, err := m.model.believed(t.Context(), present.encodedOf(values[i:i+1]))
				require.NoError(t, err)
				to := func(v float64) float64 { return (f.to(v) - mean[0]) / sd[0] }
				if m.output.Name == "size" {
					p[i] *= special.NormCDF(to(c.limit))
				} else {
					p[i] *= special.NormCDF(-to(atLeast))
				}
			}
			most = max(most, p[i])
		}
		var want [][]int
		for i, v := range values {
			if p[i] >= min(0.9, most) {
				want = append(want, v)
			}
		}
		require.Equal(t, want, got, "%s: %v", c.name, p)
		require.Less(t, len(want), len(values), c.name)
		require.Equal(t, c.uncertain, most < 0.9, c.name)
	}
}

// splitting is a model of noisy values that lie far below 0 at the first point of the cube, and far above elsewhere.
type splitting struct {
	normal
	noise float64
}

func (s splitting) NoiseVariance() float64 { return s.noise }
func (s splitting) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	for i := range mean {
		if mean[i], sd[i] = 100, 1; x.At(i, 0) == 0 {
			mean[i] = -100
		}
	}
	return nil
}

// TestWhichOutputsAreNoisy: an output is held without its noise that has more than next to none, which takes five values of
// the run's own to show, and none where past tasks do.
func TestWhichOutputsAreNoisy(t *testing.T) {
	space := unitCube(t, 1)
	for _, c := range []struct {
		values int
		noise  float64
		past   *outputPrior
		noisy  bool
	}{
		{5, 1.1e-5, nil, true}, {5, 1e-5, nil, false}, {4, 0.5, nil, false},
		{4, 0.5, new(outputPrior), true}, {4, 1.1e-5, new(outputPrior), true}, {4, 1e-5, new(outputPrior), false},
	} {
		o := optimizerOf(t, space, WithOutput("size", AtMost(1)))
		for i := range c.values {
			require.NoError(t, o.Observe([]float64{float64(i) / 8}, 1, Outputs{"size": float64(i) / 8}))
		}
		m := o.requirements[1].(*outputModel)
		m.past, m.model = c.past, consulted{splitting{noise: c.noise}}
		present := o.draft()
		values := present.pointsHolding()
		require.Len(t, values, c.values)
		got, err := present.surelyHolding(t.Context(), values)
		require.NoError(t, err)
		require.Equal(t, c.noisy, len(got) < c.values, "%v", c)
	}
}
