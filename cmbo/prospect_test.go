package cmbo

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/curve"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/testutil"
)

// showing gives tasks curves of four steps, of which the later ones say more of the end.
func showing(t testing.TB, tasks []Task) []Task {
	r := rng.Stream(1, t.Name())
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].Curves = nil
		unit := deviation(tasks[i].Y)
		for _, y := range tasks[i].Y {
			var c Curve
			for k := 1; k <= 4; k++ {
				c.Steps = append(c.Steps, 2*k)
				c.Values = append(c.Values, y-0.2*unit*float64(4-k)*(1+0.03*r.NormFloat64()))
			}
			tasks[i].Curves = append(tasks[i].Curves, c)
		}
	}
	return tasks
}

func deviation(y []float64) float64 { return scaling.Fit(scaling.ZScore, y).Scale }

// What a curve says of its end is, in the user's units and direction, the evidence of the law; of
// positive values the variance of the logarithm counts by the square of the value.
func TestEstimate(t *testing.T) {
	var own []curve.Curve
	for i := range 8 {
		v := float64(i*i%7) / 4
		own = append(own, curve.Curve{Steps: []int{1}, Values: []float64{v}, End: 0.1*float64(i%2) + 2*v})
	}
	var none *curve.Past
	l := none.Law(1, curve.Scale{Shift: 1, Unit: 1, Floor: math.Inf(-1)}, own)
	end, variance, ok := l.Evidence(0.5)
	require.True(t, ok)
	for _, c := range []struct {
		minimize, positive bool
		y, variance        float64
	}{
		{false, false, end, variance}, {true, false, -end, variance},
		{false, true, math.Exp(end), variance * math.Exp(2*end)}, {true, true, math.Exp(-end), variance * math.Exp(-2*end)},
	} {
		y, v := (&runConfig{sharedConfig: sharedConfig{minimize: c.minimize, positive: c.positive}}).estimate(l, 0.5)
		assert.InEpsilon(t, c.y, y, 1e-12, "%+v", c)
		assert.InEpsilon(t, c.variance, v, 1e-12, "%+v", c)
	}
	for i := range own { // which say nothing
		own[i].Values[0] = 0
	}
	y, v := (&runConfig{sharedConfig: sharedConfig{positive: true}}).estimate(none.Law(1, curve.Scale{Unit: 1, Floor: math.Inf(-1)}, own), 0.5)
	assert.Zero(t, y)
	assert.Zero(t, v)
	// Ends whose exponentials are too large or too small to be told.
	for _, far := range []float64{-1e3, 1e3} {
		for i := range own {
			own[i].Values[0], own[i].End = float64(i), far+float64(i)
		}
		y, v = (&runConfig{sharedConfig: sharedConfig{positive: true}}).estimate(none.Law(1, curve.Scale{Shift: far, Unit: 1, Floor: math.Inf(-1)}, own), far+3)
		assert.Zero(t, y)
		assert.Zero(t, v)
	}
}

// Past curves come back from an encoded prior, with all that was learned from them, and curves that
// cannot be are refused by their task, as are values and variances of another number than its points.
func TestCurvesDecoded(t *testing.T) {
	s, tasks := encoded(t, 3, 10)
	tasks = showing(t, tasks)
	for i := range tasks {
		tasks[i].Outputs = nil
	}
	tasks[1].Curves = nil
	p := priorOf(t, s, tasks)
	decode := func(p *Prior) (*Prior, error) {
		var b bytes.Buffer
		require.NoError(t, p.Encode(&b))
		return DecodePrior(&b)
	}
	back, err := decode(p)
	require.NoError(t, err)
	require.NotNil(t, back.curves)
	to := p.curves.Scale(1, 2, scaling.Low{})
	assert.Equal(t, p.curves.Law(4, to, nil), back.curves.Law(4, back.curves.Scale(1, 2, scaling.Low{}), nil))
	assert.Equal(t, 8, back.curves.Last())
	for text, spoil := range map[string]func(q *Prior){
		"step 3 of a curve follows step 9":                       func(q *Prior) { q.told[2].curves[4].Steps = []int{1, 9, 3, 10} },
		`task "task 0": 9 curves for 10`:                         func(q *Prior) { q.told[0].curves = q.told[0].curves[1:] },
		`task "task 1": 10 points, 9 values, 0 noise variances`:  func(q *Prior) { q.told[1].y = q.told[1].y[1:] },
		`task "task 1": 10 points, 10 values, 1 noise variances`: func(q *Prior) { q.told[1].noise = []float64{1} },
	} {
		q, err := decode(p)
		require.NoError(t, err)
		spoil(q)
		_, err = decode(q)
		assert.ErrorIs(t, err, ErrCorrupt)
		assert.ErrorContains(t, err, text)
	}
	for i := range p.told {
		p.told[i].curves = nil
	}
	p.told[0].curves = []Curve{}
	_, err = decode(p)
	assert.ErrorIs(t, err, ErrCorrupt)
	assert.ErrorContains(t, err, "curves without any")
}

// A value at the floor, which says that the end is that bad or worse, leaves a model that expects worse as it is, and
// lowers what one expects that does not.
func TestFlooredCurveAhead(t *testing.T) {
	var own []curve.Curve
	for k := range 8 {
		y := float64(k) + 0.1*float64(k%3)
		own = append(own, curve.Curve{Steps: []int{1}, Values: []float64{float64(k)}, End: y})
	}
	law := (*curve.Past)(nil).Law(1, curve.Scale{Unit: 1, Floor: -1}, own)
	for mean, drawn := range map[float64]bool{-9: false, 5: true} {
		a := ahead{law: curveLaw{Law: law, unit: new(curveUnit)}, mean: mean, variance: 4}
		for _, y := range []float64{-1, -1e9} {
			m, sd := a.end(y)
			assert.Equal(t, drawn, m != mean, "%g where %g is expected: %g", y, mean, m)
			assert.Equal(t, drawn, sd < 2)
		}
		m, _ := a.end(-0.9)
		assert.NotEqual(t, mean, m, "above the floor")
	}
}

// What is known ahead of a step follows from the model's measurement at the trial's point, from the
// curves that passed the step and from the best value, and is kept until something more is told.
func TestProspectAhead(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 4, 12)
	tasks = showing(t, tasks)
	for _, checkpoints := range []bool{false, true} {
		prior := priorOf(t, s, tasks[:3])
		opts := []Option{WithPrior(prior)}
		if checkpoints {
			opts = append(opts, WithCheckpoints())
		}
		o := optimizerOf(t, s, opts...)
		unit := deviation(tasks[3].Y)
		steps := []int{2, 4, 10} // beyond the past's last step
		for range 3 {
			trial := ask(t, o)
			y := tasks[3].Y[trial.Index]
			for k, step := range steps {
				_, err := o.Report(ctx, trial.ID, step, y-0.2*unit*float64(3-k))
				require.NoError(t, err)
			}
			require.NoError(t, o.Tell(trial.ID, y))
		}
		trial := ask(t, o)
		d := o.draft()
		a, known, err := d.look(ctx, trial.ID, 4)
		require.NoError(t, err)
		require.True(t, known)
		best, _ := o.Best()
		assert.Equal(t, best.Y, a.best)
		assert.Equal(t, 3, a.law.passed)
		u := a.law.unit
		assert.True(t, u.known)
		assert.Equal(t, 10, u.last)
		assert.Equal(t, [2]float64{a.mean, a.variance}, u.ends[trial.ID], "kept")
		// By the model at the point.
		data, scale := d.data(false)
		require.NoError(t, o.fit(ctx, data))
		predicted := func(x [][]float64) (mean, variance []float64) {
			m, sd := make([]float64, len(x)), make([]float64, len(x))
			require.NoError(t, o.model.Predict(ctx, m, sd, s.EncodeAll(x)))
			for i := range m {
				m[i] = scale.Shift + scale.Scale*m[i]
				sd[i] = scale.Scale * scale.Scale * (sd[i]*sd[i] + d.noiseOf(data))
			}
			return m, sd
		}
		mean, variance := predicted([][]float64{trial.X})
		assert.InDelta(t, mean[0], a.mean, 1e-9)
		assert.InEpsilon(t, variance[0], a.variance, 1e-9)
		// The scale is the mean and the deviation of the value of a point drawn at random.
		means, variances := predicted(d.rows)
		var sum, squares float64
		for i, m := range means {
			sum += m / float64(len(means))
			squares += (m*m + variances[i]) / float64(len(means))
		}
		assert.InDelta(t, sum, u.scale.Shift, 1e-9)
		assert.InEpsilon(t, math.Sqrt(squares-sum*sum), u.scale.Unit, 1e-6)

		assert.InDelta(t, special.NormCDF((a.mean-a.best)/math.Sqrt(a.variance)), a.before(), 1e-12)
		end, noise, ok := a.law.Evidence(best.Y - 0.4*unit)
		require.True(t, ok)
		seen, seenNoise, _ := a.evidence(best.Y - 0.4*unit)
		assert.Equal(t, o.model.seen(end), seen, "as the model sees it")
		assert.InEpsilon(t, noise*math.Exp(2*u.low.LogSlope(end)), seenNoise, 1e-12)
		end, noise = seen, seenNoise
		m, sd := a.end(best.Y - 0.4*unit)
		chance, stop := a.after(best.Y - 0.4*unit)
		v := 1 / (1/a.variance + 1/noise)
		assert.InDelta(t, v*(a.mean/a.variance+end/noise), m, 1e-9)
		assert.InEpsilon(t, math.Sqrt(v), sd, 1e-9)
		assert.InEpsilon(t, special.NormCDF((m-a.best)/sd), chance, 1e-9)
		// What is told of the end is wider by the model's part, and by more where the curve is farther
		// from that than its deviation: it comes nearer to the curve then.
		contradicted := make(map[bool]int)
		for k := -8.0; k <= 8; k += 0.25 {
			y := a.mean + k*math.Sqrt(a.variance)
			end, noise, ok := a.evidence(y)
			if !ok {
				continue
			}
			own := 2.5 * a.variance
			far := (end - a.mean) * (end - a.mean) / (own + noise)
			contradicted[far > 1]++
			if far > 1 {
				own *= (4 + far) / 5
			}
			v := 1 / (1/own + 1/noise)
			m, sd := a.foretold(y)
			want := v * (a.mean/own + end/noise)
			assert.InDelta(t, want, m, 1e-9*(1+math.Abs(want)))
			assert.InEpsilon(t, math.Sqrt(v), sd, 1e-9)
			// Both are told as Predict tells them.
			b := u.belief(&o.config, m, sd)
			expected := o.model.belief(&o.config, &scale, (want-scale.Shift)/scale.Scale, math.Sqrt(v)/scale.Scale)
			assert.InDelta(t, expected.mean, b.mean, 1e-9*(1+math.Abs(b.mean)))
			assert.InEpsilon(t, expected.sd, b.sd, 1e-9)
		}
		assert.Len(t, contradicted, 2)
		m2, sd2 := ahead{law: curveLaw{unit: &curveUnit{}}, mean: a.mean, variance: a.variance}.foretold(best.Y)
		assert.Equal(t, a.mean, m2)
		assert.InEpsilon(t, math.Sqrt(2.5*a.variance), sd2, 1e-12)
		for _, y := range []float64{1e149, -1e149} {
			small := a
			small.variance = 1e-30
			m, sd := small.foretold(y)
			assert.False(t, math.IsNaN(m) || !(sd > 0) || math.IsInf(sd, 0))
		}
		assert.Equal(t, 7, a.remaining)
		// At the last step and beyond one is left.
		for step, left := range map[int]int{9: 2, 10: 1, 15: 1} {
			assert.Equal(t, left, u.remaining(step), "step %d", step)
		}
		if checkpoints {
			start := acq.LogExpectedImprovement(a.mean, math.Sqrt(a.variance), a.best) - math.Log(11)
			assert.InDelta(t, start, a.start, 1e-9)
			assert.Equal(t, acq.LogExpectedImprovement(m, sd, a.best)-math.Log(7) < start, stop)
			// One that goes on begins where it stopped: with what its last value said.
			_, err = o.Report(ctx, trial.ID, 2, best.Y-0.6*unit)
			require.NoError(t, err)
			require.NoError(t, o.TellStopped(ctx, trial.ID))
			require.NoError(t, o.Enqueue(trial.X))
			again := ask(t, o)
			require.Equal(t, trial.ID, again.Resumes)
			d = o.draft()
			b, known, err := d.look(ctx, again.ID, 4)
			require.NoError(t, err)
			require.True(t, known)
			l, err := d.law(ctx, 2)
			require.NoError(t, err)
			m, sd := ahead{law: l, mean: b.mean, variance: b.variance}.end(best.Y - 0.6*unit)
			assert.InDelta(t, acq.LogExpectedImprovement(m, sd, b.best)-math.Log(11-2), b.start, 1e-9)
			b, _, err = d.look(ctx, again.ID, 2)
			require.NoError(t, err)
			assert.True(t, math.IsInf(b.start, -1), "begun anew")
			trial = again
		} else {
			assert.Equal(t, chance < hopeless*a.before()*7/11, stop)
			// Between a value that goes on and one that stops the chance is what a trial has to keep.
			on, off := best.Y+unit, best.Y-unit
			_, stop = a.after(on)
			require.False(t, stop)
			_, stop = a.after(off)
			require.True(t, stop)
			for range 60 {
				m := (on + off) / 2
				if _, stop := a.after(m); stop {
					off = m
				} else {
					on = m
				}
			}
			chance, _ = a.after(on)
			assert.InEpsilon(t, a.before()*7/110, chance, 1e-6)
		}
		// Interrupted anywhere it says so.
		want, wantChance, err := o.Cutoff(ctx, trial.ID, 6)
		require.NoError(t, err)
		require.False(t, math.IsNaN(want))
		// Of the ends that the model expects, a curve that shows each of them but for its noise falls behind so often.
		at, known, err := o.draft().look(ctx, trial.ID, 6)
		require.NoError(t, err)
		require.True(t, known)
		end, noise, ok = at.evidence(want)
		require.True(t, ok)
		behind := 0.0
		const nodes = 4000
		for k := range nodes {
			z := -8 + 16*(float64(k)+0.5)/nodes
			shown := special.NormCDF((end - at.mean - z*math.Sqrt(at.variance)) / math.Sqrt(noise))
			behind += shown * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 16 / nodes
		}
		assert.InDelta(t, behind, wantChance, 1e-6)
		for n := 0; ; n++ {
			require.Less(t, n, 1000)
			o.curves = curveUnit{}
			got, chance, err := o.Cutoff(testutil.Countdown(n), trial.ID, 6)
			if err == nil {
				assert.Greater(t, n, 2)
				assert.Equal(t, []float64{want, wantChance}, []float64{got, chance})
				break
			}
			require.ErrorIs(t, err, context.Canceled)
			assert.True(t, math.IsNaN(got) && math.IsNaN(chance))
		}
	}
}
