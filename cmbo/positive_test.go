package cmbo_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var skewedRuns = flag.Int("skewed", 1, "runs on each problem of TestForecastsOfSkewedCosts")

// A cost is a positive function on the unit square, to be minimised, its least value, and
// the deviation of the logarithm of what is measured of it.
type cost struct {
	f     func(x, y float64) float64
	least float64
	noise float64
}

// skewed are problems whose costs are positive and skewed. Of one problem each task, past
// or new, is a draw.
var skewed = []struct {
	name string
	draw func(r *rand.Rand) cost
}{
	{"server: waiting times that explode as load nears capacity", func(r *rand.Rand) cost {
		a, b, s := 0.3+0.4*r.Float64(), 0.3+0.4*r.Float64(), 5*math.Exp(0.7*r.NormFloat64())
		load := func(x, y float64) float64 { return min(0.3+1.5*((x-a)*(x-a)+0.6*(y-b)*(y-b)), 0.98) }
		return cost{func(x, y float64) float64 { return s * (1 + load(x, y)/(1-load(x, y))) }, s * (1 + 0.3/0.7), 0}
	}},
	{"noisy server: the same, measured with an error of a twentieth", func(r *rand.Rand) cost {
		a, b, s := 0.3+0.4*r.Float64(), 0.3+0.4*r.Float64(), 5*math.Exp(0.7*r.NormFloat64())
		load := func(x, y float64) float64 { return min(0.3+1.5*((x-a)*(x-a)+0.6*(y-b)*(y-b)), 0.98) }
		return cost{func(x, y float64) float64 { return s * (1 + load(x, y)/(1-load(x, y))) }, s * (1 + 0.3/0.7), 0.05}
	}},
	{"lognormal: the logarithm is a bowl with a ripple", func(r *rand.Rand) cost {
		a, b, w := 0.2+0.6*r.Float64(), 0.2+0.6*r.Float64(), 4+4*r.Float64()
		return cost{func(x, y float64) float64 {
			u, v := x-a, y-b
			return math.Exp(w*(u*u+v*v) + 0.3*(1-math.Cos(9*u)*math.Cos(7*v)))
		}, 1, 0.02}
	}},
	{"power law: errors that fall with powers of what is spent", func(r *rand.Rand) cost {
		p, q, c := 0.3+0.5*r.Float64(), 0.3+0.5*r.Float64(), 0.02+0.05*r.Float64()
		f := func(x, y float64) float64 {
			return math.Pow(10, -3*p*x) + math.Pow(10, -3*q*y) + c*math.Pow(10, 2*x) + c*math.Pow(10, 2*y)
		}
		place := func(p float64) float64 { return min(max(math.Log10(3*p/(2*c))/(2+3*p), 0), 1) } // where the slope is 0
		return cost{f, f(place(p), place(q)), 0}
	}},
	{"cliff: a hundred times the cost beyond a border next to the best", func(r *rand.Rand) cost {
		a, s := 0.4+0.4*r.Float64(), math.Exp(2*r.NormFloat64())
		return cost{func(x, y float64) float64 {
			v := s * (2 - x - y + (x-y)*(x-y)) // falls to the border x + y = 2a
			if x+y > 2*a {
				v = 100 * s * (1 + x + y - 2*a)
			}
			return v
		}, s * (2 - 2*a), 0}
	}},
}

// pastOf makes past tasks of a problem.
func pastOf(r *rand.Rand, draw func(r *rand.Rand) cost, n int) []cmbo.Task {
	var tasks []cmbo.Task
	for k := range n {
		c := draw(r)
		task := cmbo.Task{ID: fmt.Sprint(k)}
		for range 20 {
			x, y := r.Float64(), r.Float64()
			task.X = append(task.X, []float64{x, y})
			task.Y = append(task.Y, c.measure(r, x, y))
		}
		tasks = append(tasks, task)
	}
	return tasks
}

func (c *cost) measure(r *rand.Rand, x, y float64) float64 {
	return c.f(x, y) * math.Exp(c.noise*r.NormFloat64())
}

// What Outlook says of positive, skewed costs is true: in at most a tenth of the runs is Next
// more than was left, without and with a prior, after 10, 20 and 30 evaluations, and no
// forecast promises a value below 0. Without the option some do with a prior.
func TestForecastsOfSkewedCosts(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts forecasts")
	square := unitCube(t, 2)
	for _, positive := range []bool{true, false} {
		if !positive && *skewedRuns < 20 {
			continue // it is what the option is compared with
		}
		for _, transfer := range []bool{false, true} {
			var runs, runsTooMuch int // runs of which a forecast was too much
			var forecasts, tooMuch, expectedTooMuch, belowZero, moreLeft int
			for i, p := range skewed {
				var of, regret float64
				for run := range *skewedRuns {
					r := rand.New(rand.NewPCG(uint64(run), uint64(i)))
					opts := []cmbo.Option{cmbo.WithSeed(uint64(run + 1)), cmbo.WithCandidateCounts(300, 100)}
					shared := []cmbo.SharedOption{cmbo.WithMinimize()}
					if positive {
						shared = append(shared, cmbo.WithPositiveValues())
					}
					learning := []cmbo.LearnOption{cmbo.WithIndexPoints(120)}
					for _, o := range shared {
						opts, learning = append(opts, o), append(learning, o)
					}
					past := pastOf(r, p.draw, 6)
					if transfer {
						opts = append(opts, cmbo.WithPrior(learn(t, square, past, learning...)))
					}
					c := p.draw(r)
					o := newOptimizer(t, square, opts...)
					least, before := math.Inf(1), tooMuch
					for n := 1; n <= 30; n++ {
						trial := ask(t, o)
						require.NoError(t, o.Tell(trial.ID, c.measure(r, trial.X[0], trial.X[1])))
						least = min(least, c.f(trial.X[0], trial.X[1]))
						regret += math.Log(least/c.least) / 30
						if n%10 != 0 {
							continue
						}
						u := outlookOf(t, o)
						best, _ := o.Best()
						left := c.f(best.X[0], best.X[1]) - c.least
						forecasts++
						count := func(n *int, yes bool) {
							if yes {
								*n++
							}
						}
						count(&tooMuch, u.Next > left)
						count(&expectedTooMuch, u.Expected > left)
						count(&moreLeft, left > u.Most)
						q := quantiles(t, o, trial.X)
						count(&belowZero, u.Most >= best.Y || q.Low <= 0)
					}
					of++
					runs++
					if tooMuch > before {
						runsTooMuch++
					}
				}
				t.Logf("positive values %t, prior %t, %s: mean log of the best over the least %.3f", positive, transfer, p.name, regret/of)
			}
			t.Logf("positive values %t, prior %t: of %d forecasts Next was more than was left in %d, in %d of %d runs, Expected in %d, Most less than that in %d, and a cost of 0 or less foretold in %d",
				positive, transfer, forecasts, tooMuch, runsTooMuch, runs, expectedTooMuch, moreLeft, belowZero)
			if positive {
				assert.LessOrEqual(t, runsTooMuch, max(runs/10, 1)) // of few runs one
				assert.Zero(t, belowZero)
			} else if transfer { // a run without a past sees such costs as logarithms by itself
				assert.Positive(t, belowZero)
			}
			assert.Greater(t, 20*expectedTooMuch, forecasts, "what the model expects by itself needs no estimate by its record")
		}
	}
}

// With the option a run is that of the logarithms, bit for bit, and what it reports is what
// these say in the user's units: quantiles and medians exactly, mean and deviation those of
// the lognormal distribution.
func TestPositiveValuesAreLogarithms(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares two ways of telling")
	list, _ := grid(t, 7)
	square := unitCube(t, 2)
	r := rand.New(rand.NewPCG(1, 2))
	past := pastOf(r, skewed[2].draw, 6)
	past[0].NoiseVariance = make([]float64, len(past[0].Y))
	past[0].NoiseVariance[3] = 0.04
	logs := slices.Clone(past)
	for i := range logs {
		logs[i].Y, logs[i].NoiseVariance = slices.Clone(past[i].Y), slices.Clone(past[i].NoiseVariance)
		for j, y := range past[i].Y {
			logs[i].Y[j] = math.Log(y)
			if i == 0 {
				logs[i].NoiseVariance[j] /= y * y
			}
		}
	}
	c := skewed[2].draw(r)
	for _, minimize := range []bool{true, false} {
		for _, kind := range []string{"plain", "list", "prior", "copula"} {
			t.Run(fmt.Sprint(kind, " ", minimize), func(t *testing.T) {
				where := square
				if kind == "list" {
					where = list
				}
				begin := func(tasks []cmbo.Task, options ...cmbo.SharedOption) *cmbo.Optimizer {
					if minimize {
						options = append(options, cmbo.WithMinimize())
					}
					opts := []cmbo.Option{cmbo.WithCandidateCounts(100, 20)}
					learning := []cmbo.LearnOption{cmbo.WithIndexPoints(60)}
					if kind == "copula" {
						options = append(options, cmbo.WithYPolicy(cmbo.Copula))
					}
					for _, o := range options {
						opts, learning = append(opts, o), append(learning, o)
					}
					if kind == "prior" {
						opts = append(opts[:1:1], cmbo.WithPrior(learn(t, square, tasks, learning...)))
					}
					return newOptimizer(t, where, opts...)
				}
				p, l := begin(past, cmbo.WithPositiveValues()), begin(logs)
				at := []float64{0.25, 0.75}
				for i := range 12 {
					a := ask(t, p)
					b := ask(t, l)
					require.Equal(t, b, a, "trial %d", i+1)
					y := c.f(a.X[0], a.X[1])
					var noise, logNoise []cmbo.ObservationOption
					if i%4 == 1 {
						noise, logNoise = append(noise, cmbo.WithNoise(0.01*y*y)), append(logNoise, cmbo.WithNoise(0.01*y*y/y/y))
					}
					require.NoError(t, p.Tell(a.ID, y, noise...))
					require.NoError(t, l.Tell(b.ID, math.Log(y), logNoise...))
					if i < 2 {
						continue
					}
					mean, sd := predict(t, p, at)
					m, s := predict(t, l, at)
					require.InEpsilon(t, math.Exp(m+s*s/2), mean, 1e-12)
					if s > 1e-3 { // below, the difference cancels
						require.InEpsilon(t, math.Sqrt(math.Exp(2*m+s*s)*(math.Exp(s*s)-1)), sd, 1e-9)
					}
					q := quantiles(t, p, at)
					n := quantiles(t, l, at)
					require.Equal(t, cmbo.Quantiles{Low: math.Exp(n.Low), Median: math.Exp(n.Median), High: math.Exp(n.High)}, q)
					require.InDelta(t, m, (n.Low+n.High)/2, 1e-12)
					require.InDelta(t, s, (n.High-n.Low)/2/1.6448536269514722, 1e-12)
				}
				a := calibrate(t, p)
				b := calibrate(t, l)
				require.Equal(t, b.Coverage, a.Coverage)
				require.Equal(t, len(b.Forecasts), len(a.Forecasts))
				for i, f := range a.Forecasts {
					g := b.Forecasts[i]
					require.InDelta(t, g.Z(), f.Z(), 1e-9)
					require.Equal(t, g.Inside(), f.Inside())
					require.InDelta(t, g.LogScore()-math.Log(f.Y), f.LogScore(), 1e-9, "the density of y is that of log y, over y")
					require.InEpsilon(t, math.Exp(g.Quantiles.High), f.Quantiles.High, 1e-12)
					require.InDelta(t, g.Mean+1.6448536269514722*math.Hypot(g.SD, g.NoiseSD), g.Quantiles.High, 1e-9)
					require.InEpsilon(t, f.Mean*math.Exp(g.NoiseSD*g.NoiseSD/2)*math.Sqrt(math.Expm1(g.NoiseSD*g.NoiseSD)), f.NoiseSD, 1e-9)
				}
				x := explain(t, p, 9)
				z := explain(t, l, 9)
				require.Equal(t, z.Step, x.Step)
				require.InEpsilon(t, math.Exp(z.Quantiles.Median), x.Quantiles.Median, 1e-12)
				require.InEpsilon(t, math.Exp(z.Mean+z.SD*z.SD/2), x.Mean, 1e-12)
				require.Contains(t, x.String(), fmt.Sprintf("; expected %v", x.Quantiles))
				use := recommend(t, p)
				same := recommend(t, l)
				require.Equal(t, same.X, use.X)
				require.Equal(t, same.Again, use.Again)
				require.InEpsilon(t, math.Exp(same.Mean), use.Quantiles.Median, 1e-12)
				sign := 1.0
				if minimize {
					sign = -1
				}
				require.InDelta(t, use.Quantiles.Median*sign*math.Expm1(sign*same.Gain), use.Gain, 1e-12*use.Quantiles.Median)
				require.Contains(t, use.String(), use.Quantiles.String())
				tr := transferOf(t, p)
				ul := transferOf(t, l)
				require.Equal(t, ul, tr)
			})
		}
	}
}

// Outlook's expectation is that of the values, by numerical integration; its bound is that
// of the logarithms.
func TestOutlookOfPositiveValues(t *testing.T) {
	list, rows := grid(t, 6)
	for _, minimize := range []bool{true, false} {
		r := rand.New(rand.NewPCG(3, 4))
		c := skewed[2].draw(r)
		opts := []cmbo.Option{cmbo.WithPositiveValues()}
		if minimize {
			opts = append(opts, cmbo.WithMinimize())
		}
		o := newOptimizer(t, list, opts...)
		drive(t, o, func(x []float64) float64 { return c.f(x[0], x[1]) }, 8)
		best, _ := o.Best()
		var expected, most float64
		for _, x := range rows {
			if slices.ContainsFunc(o.Observations(), func(ob cmbo.Observation) bool { return slices.Equal(ob.X, x) }) {
				continue
			}
			q := quantiles(t, o, x)
			m, s := math.Log(q.Median), math.Log(q.High/q.Median)/1.6448536269514722
			const steps = 20000
			var ei float64
			for i := range steps {
				z := -10 + 20*(float64(i)+0.5)/steps
				gain := math.Exp(m+s*z) - best.Y
				if minimize {
					gain = -gain
				}
				ei += math.Max(gain, 0) * math.Exp(-0.5*z*z) / math.Sqrt(2*math.Pi) * 20 / steps
			}
			bound := q.High - best.Y
			if minimize {
				bound = best.Y - q.Low
			}
			expected, most = max(expected, ei), max(most, bound)
		}
		u := outlookOf(t, o)
		require.InEpsilon(t, expected, u.Expected, 1e-5)
		require.InEpsilon(t, most, u.Most, 1e-9)
		require.True(t, !minimize || u.Most < best.Y)
	}
}

// A value that is not positive is refused with its place, and what was told stays; the
// prior carries the option, snapshots and journals do, and a contradiction is an error.
func TestPositiveValuesRefuse(t *testing.T) {
	square := unitCube(t, 2)
	var journal bytes.Buffer
	write := cmbo.WithJournal(func(lines []byte) error { journal.Write(lines); return nil })
	o := newOptimizer(t, square, cmbo.WithPositiveValues(), write)
	trial := ask(t, o)
	require.NoError(t, o.Observe([]float64{0.5, 0.5}, 2))
	for _, y := range []float64{0, math.Copysign(0, -1), -3} {
		for _, err := range []error{o.Tell(trial.ID, y), o.Observe([]float64{0, 0}, y)} {
			require.ErrorIs(t, err, cmbo.ErrValue)
			require.ErrorContains(t, err, fmt.Sprintf("value %g is not positive, as WithPositiveValues says", y))
			var e *cmbo.DataError
			require.ErrorAs(t, err, &e)
			require.Equal(t, y, e.Value)
		}
	}
	require.Len(t, o.Observations(), 1)
	require.NoError(t, o.Tell(trial.ID, math.SmallestNonzeroFloat64))

	var snapshot bytes.Buffer
	require.NoError(t, o.Snapshot(&snapshot))
	for _, restore := range []func() (*cmbo.Optimizer, error){
		func() (*cmbo.Optimizer, error) { return cmbo.Restore(bytes.NewReader(snapshot.Bytes())) },
		func() (*cmbo.Optimizer, error) {
			o, _, err := cmbo.RestoreJournal(bytes.NewReader(journal.Bytes()))
			return o, err
		},
	} {
		back, err := restore()
		require.NoError(t, err)
		require.ErrorIs(t, back.Observe([]float64{0, 0}, 0), cmbo.ErrValue)
		a := quantiles(t, o, []float64{0.1, 0.2})
		b := quantiles(t, back, []float64{0.1, 0.2})
		require.Equal(t, a, b)
	}
	_, _, err := cmbo.ResumeJournal(bytes.NewReader(journal.Bytes()), square)
	require.ErrorIs(t, err, cmbo.ErrOption)
	require.ErrorContains(t, err, "positive_values")

	past := pastOf(rand.New(rand.NewPCG(5, 6)), skewed[0].draw, 6)
	small := cmbo.WithIndexPoints(40)
	plain, prior := learn(t, square, past, small), learn(t, square, past, small, cmbo.WithPositiveValues())
	_, err = cmbo.New(square, cmbo.WithPrior(plain), cmbo.WithPositiveValues())
	require.ErrorIs(t, err, cmbo.ErrPriorMismatch)
	require.ErrorContains(t, err, "learned without WithPositiveValues")
	var b bytes.Buffer
	require.NoError(t, prior.Encode(&b))
	decoded := decodePrior(t, &b)
	for _, p := range []*cmbo.Prior{prior, decoded} {
		for i, task := range p.Tasks() {
			require.Equal(t, past[i].Y, task.Y)
		}
		o := newOptimizer(t, square, cmbo.WithPrior(p))
		require.ErrorIs(t, o.Observe([]float64{0, 0}, 0), cmbo.ErrValue)
		q := quantiles(t, o, []float64{0.5, 0.5})
		require.Positive(t, q.Low)
		mean, sd := predict(t, o, []float64{0.5, 0.5})
		require.False(t, math.IsInf(mean, 0) || math.IsInf(sd, 0))
		// A deviation of the logarithm beyond that of any number.
		require.NoError(t, o.Observe([]float64{0.5, 0.5}, 1e-9, cmbo.WithNoise(0.02)))
		unsure := newOptimizer(t, square, cmbo.WithPositiveValues(), cmbo.WithNoiseVariance(1e-6))
		require.NoError(t, unsure.Observe([]float64{0, 0}, 1e-300))
		require.NoError(t, unsure.Observe([]float64{0, 0.1}, 1e149))
		for _, o := range []*cmbo.Optimizer{o, unsure} {
			q = quantiles(t, o, []float64{1, 1})
			require.Positive(t, q.Low)
			mean, sd = predict(t, o, []float64{1, 1})
			require.False(t, math.IsInf(mean, 0) || math.IsInf(sd, 0) || math.IsNaN(sd))
		}
	}

	past[2].Y[7] = -1
	wrong := func(err error) {
		t.Helper()
		var e *cmbo.DataError
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, cmbo.ErrValue)
		require.Equal(t, "2", e.Task)
		require.Equal(t, 7, e.Row)
	}
	_, err = cmbo.Learn(ctx, square, past, cmbo.WithPositiveValues())
	wrong(err)
	_, err = cmbo.Check(ctx, square, past, cmbo.WithPositiveValues())
	wrong(err)
	l, err := cmbo.NewLearner(square, cmbo.WithPositiveValues())
	require.NoError(t, err)
	wrong(l.Add(past[2]))
	other, err := cmbo.NewLearner(square)
	require.NoError(t, err)
	require.ErrorIs(t, l.Merge(other), cmbo.ErrLearners)
	past[2].Y[7] = 1
	report, err := cmbo.Check(ctx, square, past, cmbo.WithPositiveValues(), cmbo.WithMinimize(), cmbo.WithCheckTasks(1), cmbo.WithCheckEvaluations(4), small)
	require.NoError(t, err)
	require.Len(t, report.Tasks, 1)
}

// certain expects the logarithm to be one value everywhere, without a deviation.
type certain struct {
	flat
	of float64
}

func (c certain) Predict(_ context.Context, mean, sd []float64, _ *linalg.Dense) error {
	for i := range mean {
		mean[i], sd[i] = c.of, 0
	}
	return nil
}

// TestOutlookOfCertainValues: what is expected without a deviation gains what it is better by.
func TestOutlookOfCertainValues(t *testing.T) {
	list, rows := grid(t, 3)
	for _, minimize := range []bool{false, true} {
		for _, gain := range []float64{0, 0.5, -0.5} {
			c := certain{of: math.Log(2) + gain}
			opts := []cmbo.Option{cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithPositiveValues()}
			want := 2 * math.Expm1(math.Max(gain, 0))
			if minimize {
				c.of, opts = -math.Log(2)+gain, append(opts, cmbo.WithMinimize())
				want = -2 * math.Expm1(-math.Max(gain, 0))
			}
			o := newOptimizer(t, list, append(opts, cmbo.WithSurrogate(c))...)
			require.NoError(t, o.Observe(rows[0], 2))
			u := outlookOf(t, o)
			require.InDelta(t, want, u.Expected, 1e-12, "%v %g", minimize, gain)
		}
	}
	// What is more than a number holds is the largest one, as Most is.
	o := newOptimizer(t, list, cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithPositiveValues(), cmbo.WithSurrogate(certain{of: 800}),
		cmbo.WithCost(func([]float64) float64 { return 0.5 }))
	require.NoError(t, o.Observe(rows[0], 2))
	u := outlookOf(t, o)
	require.Equal(t, []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, []float64{u.Expected, u.PerCost, u.Most})
	// So is what a prior expects of it, of which forecasts that came to nothing bear out nothing.
	var tasks []cmbo.Task
	for i, y := range []float64{1e140, 1e-140} {
		tasks = append(tasks, cmbo.Task{ID: fmt.Sprint(i), X: rows, Y: []float64{1, y, 1, y, 1, y, 1, y, y}})
	}
	o = newOptimizer(t, list, cmbo.WithPrior(learn(t, list, tasks, cmbo.WithPositiveValues())))
	require.NoError(t, o.Observe(rows[0], 1e140))
	require.NoError(t, o.Observe(rows[1], 1e-140))
	u = outlookOf(t, o)
	require.Equal(t, []float64{math.MaxFloat64, 0}, []float64{u.Expected, u.Next})
}

// TestFarFromTheBest: a run whose values lie mostly near the best one still knows a smooth function elsewhere, which differs
// there by far more than those values do.
func TestFarFromTheBest(t *testing.T) {
	s := unitCube(t, 1)
	cost := func(x []float64) float64 { return 2 * math.Exp(20*(x[0]-0.4)*(x[0]-0.4)) }
	for seed := range uint64(4) {
		o := newOptimizer(t, s, cmbo.WithMinimize(), cmbo.WithPositiveValues(), cmbo.WithSeed(seed+1))
		require.NoError(t, o.Observe([]float64{1}, cost([]float64{1})))
		drive(t, o, cost, 12)
		for _, x := range []float64{0.2, 0.6, 0.7, 0.8, 0.9} {
			q := quantiles(t, o, []float64{x})
			assert.InEpsilon(t, cost([]float64{x}), q.Median, 0.3, "seed %d, %g: %g to %g", seed, x, q.Low, q.High)
			assert.Less(t, q.High, 3*q.Low)
		}
	}
}
