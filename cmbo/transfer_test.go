package cmbo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kinds makes k past tasks of two kinds on the unit square: bumps at two places, and
// the function of the first kind.
func kinds(k, n int) (tasks []cmbo.Task, first func(x []float64) float64) {
	f := [2]func(x []float64) float64{bump([]float64{0.3, 0.7}), bump([]float64{0.8, 0.2})}
	for j := range k {
		r := rng.Stream(5, "kinds", uint64(j))
		t := cmbo.Task{ID: fmt.Sprintf("task-%d", j)}
		for range n {
			x := []float64{r.Float64(), r.Float64()}
			t.X, t.Y = append(t.X, x), append(t.Y, 50+10*f[j%2](x)+0.05*r.NormFloat64())
		}
		tasks = append(tasks, t)
	}
	return tasks, func(x []float64) float64 { return 50 + 10*f[0](x) }
}

// TestTransferCountsEqualOutputs: values of an output count although they have no scale as long as all are equal, those of
// failures too.
func TestTransferCountsEqualOutputs(t *testing.T) {
	square := unitCube(t, 2)
	o := newOptimizer(t, square, cmbo.WithOutput("seconds", cmbo.AtMost(5)))
	for i, seconds := range []float64{3, 3, 3, 4} {
		trial := ask(t, o)
		if i == 1 {
			require.NoError(t, o.TellFailed(trial.ID, cmbo.Outputs{"seconds": seconds}))
		} else {
			require.NoError(t, o.Tell(trial.ID, float64(i), cmbo.Outputs{"seconds": seconds}))
		}
		require.Equal(t, i+1, transferOf(t, o).Outputs["seconds"].Values)
	}
}

// The shares are the weights.
func TestTransferShares(t *testing.T) {
	space, _ := grid(t, 9)
	past, f := kinds(8, 20)
	prior := learn(t, space, past, cmbo.WithIndexPoints(80))
	o := newOptimizer(t, space, cmbo.WithPrior(prior))
	require.Equal(t, cmbo.TransferTooEarly, transferOf(t, o).Verdict)
	drive(t, o, f, 8)
	tr := transferOf(t, o)
	require.Equal(t, 8, tr.Values)
	w := make([]float64, 2)
	var total float64
	for i, s := range tr.Hypotheses {
		total += s.Mass
		require.GreaterOrEqual(t, s.Mass, s.Reversed)
		if i > 0 {
			require.GreaterOrEqual(t, tr.Hypotheses[i-1].Mass, s.Mass)
		}
		require.Nil(t, s.Tasks)
		require.Equal(t, -1, s.Cluster)
		w[s.Level] += s.Mass
	}
	require.InDelta(t, 1, total, 1e-12)
	require.InDeltaSlice(t, weightsOf(t, o), w, 1e-15)
	for l := cmbo.LevelNone; l <= cmbo.LevelCluster; l++ {
		mass, _ := tr.Mass(l)
		total -= mass
	}
	require.InDelta(t, 0, total, 1e-12)
}

// The mass goes to what is like the target: tasks of its kind, or none, or the past
// upside down; and the verdict says so.
func TestTransferVerdict(t *testing.T) {
	testutil.SkipShort(t, "it is about verdicts on whole runs")
	space, _ := grid(t, 12)
	past, first := kinds(8, 20)
	reversed, _ := kinds(8, 20)
	for _, task := range reversed {
		for i := range task.Y {
			task.Y[i] = -task.Y[i]
		}
	}
	var single []cmbo.Task // of which each has one row, and no two values
	for _, task := range past {
		single = append(single, cmbo.Task{ID: task.ID, X: task.X[:1], Y: task.Y[:1]})
	}
	ripple := rippled(41, 41)
	for _, c := range []struct {
		name    string
		past    []cmbo.Task
		f       func([]float64) float64
		verdict cmbo.Verdict
		words   string
	}{
		{"like the past", past, first, cmbo.TransferHelps, `^transfer helps: \d+ % of the mass lies on the past, \d+ % on what all tasks have in common`},
		{"like nothing", past, ripple, cmbo.TransferMisleads, `^the past misleads: \d+ % of the mass says that no past task is like this one`},
		{"of nothing", single, ripple, cmbo.TransferUnclear, `^unclear: past tasks show nothing of where values are good, \d+ % of the mass lies on the past, \d+ % says that no past task is like this one`},
		{"upside down", reversed, func(x []float64) float64 { return first(x) - 100 }, cmbo.TransferReversed, `^the past is upside down: \d+ % of the mass says that what was good there is bad here`},
	} {
		t.Run(c.name, func(t *testing.T) {
			prior := learn(t, space, c.past, cmbo.WithIndexPoints(80))
			o := newOptimizer(t, space, cmbo.WithPrior(prior))
			drive(t, o, c.f, 4)
			require.Equal(t, "too early to tell whether the past helps: 4 of 5 values", transferOf(t, o).String())
			drive(t, o, c.f, 40)
			tr := transferOf(t, o)
			require.Equal(t, c.verdict, tr.Verdict, "%v", tr.Hypotheses)
			require.Regexp(t, c.words, tr.String())
		})
	}
}

// rippled is a target with as many ripples as unlike any bump.
func rippled(a, b float64) func([]float64) float64 {
	return func(x []float64) float64 { return 50 + 10*math.Cos(a*x[0])*math.Cos(b*x[1]) }
}

// Of targets like nothing in the past, most are said to be so, and of none that transfer helps.
func TestTransferOfRipples(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts verdicts on whole runs")
	space, _ := grid(t, 12)
	past, _ := kinds(8, 20)
	prior := learn(t, space, past, cmbo.WithIndexPoints(80))
	verdicts := make(map[cmbo.Verdict]int)
	for a := 20.0; a < 60; a += 8 {
		for b := 20.0; b < 60; b += 8 {
			o := newOptimizer(t, space, cmbo.WithPrior(prior))
			drive(t, o, rippled(a, b), 40)
			verdicts[transferOf(t, o).Verdict]++
		}
	}
	require.Zero(t, verdicts[cmbo.TransferHelps], "%v", verdicts)
	require.Greater(t, verdicts[cmbo.TransferMisleads], verdicts[cmbo.TransferUnclear], "%v", verdicts)
}

// Where there is nothing to weigh against no transfer, there is no verdict.
func TestTransferUnknown(t *testing.T) {
	space, _ := grid(t, 9)
	_, f := kinds(4, 15)
	plain := newOptimizer(t, space)
	drive(t, plain, f, 6)
	require.Equal(t, cmbo.Transfer{Values: 6}, transferOf(t, plain))
	require.Contains(t, cmbo.Transfer{}.String(), "unknown")
}

// fixedProcess is a Gaussian process whose hyperparameters are given.
type fixedProcess struct {
	k     kernel.Kernel
	noise float64
	data  cmbo.Data
	fits  int
}

func (p *fixedProcess) Fit(_ context.Context, d cmbo.Data) error {
	p.data = d
	p.fits++
	return nil
}

func (p *fixedProcess) NoiseVariance() float64 { return p.noise }

func (p *fixedProcess) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	var cross linalg.Dense
	kernel.Cross(&cross, p.k, x, p.data.X)
	kernel.Diag(sd, p.k, x)
	c := gramFactor(p.k, p.data.X, p.noise, p.data.NoiseVariance)
	for i := range mean {
		a := slices.Clone(cross.Row(i))
		if len(a) > 0 {
			c.SolveVecTo(a, a)
		}
		mean[i] = linalg.Dot(a, p.data.Y)
		sd[i] = math.Sqrt(sd[i] - linalg.Dot(a, cross.Row(i)))
	}
	return nil
}

// gramFactor factorises the covariance of values at x.
func gramFactor(k kernel.Kernel, x *linalg.Dense, noise float64, given []float64) *linalg.Cholesky {
	n, _ := x.Dims()
	a := linalg.NewSym(n, nil)
	kernel.Gram(a, k, x)
	for i := range n {
		v := noise
		if given != nil && given[i] > 0 {
			v = given[i]
		}
		a.Set(i, i, a.At(i, i)+v)
	}
	c := new(linalg.Cholesky)
	if n > 0 {
		if err := c.Factorize(a); err != nil {
			panic(err)
		}
	}
	return c
}

// The log scores of a Gaussian process add up to its log marginal likelihood, in
// whatever order trials are asked and told.
func TestCalibrationIsMarginalLikelihood(t *testing.T) {
	space, rows := grid(t, 9)
	f := bump([]float64{0.6, 0.3})
	p := &fixedProcess{k: kernel.Scale(2, kernel.Matern32(0.4)), noise: 0.1}
	o := newOptimizer(t, space, cmbo.WithSurrogate(p), cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithMinimize())
	require.NoError(t, o.Observe(rows[7], f(rows[7]), cmbo.WithNoise(0.3)))
	ts := askN(t, o, 4)
	require.NoError(t, o.Tell(ts[2].ID, f(ts[2].X)))
	require.NoError(t, o.TellFailed(ts[0].ID))
	require.NoError(t, o.Cancel(ts[3].ID))
	c := calibrate(t, o)
	require.Len(t, c.Forecasts, 2)
	drive(t, o, f, 3)
	require.NoError(t, o.Tell(ts[1].ID, f(ts[1].X)))
	before := p.fits
	c = calibrate(t, o)
	require.Equal(t, before+4, p.fits, "one for each value since the last call")

	obs := o.Observations()
	require.Len(t, c.Forecasts, len(obs))
	x := linalg.NewDense(len(obs), 2, nil)
	y, noises := make([]float64, len(obs)), make([]float64, len(obs))
	for i, ob := range obs {
		u, err := space.Encode(ob.X)
		require.NoError(t, err)
		copy(x.Row(i), u)
		y[i], noises[i] = ob.Y, ob.NoiseVariance
		require.Equal(t, ob.Y, c.Forecasts[i].Y)
		require.Equal(t, ob.Trial, c.Forecasts[i].Trial)
	}
	require.InDelta(t, math.Sqrt(0.3), c.Forecasts[0].NoiseSD, 1e-15)
	require.InDelta(t, math.Sqrt(0.1), c.Forecasts[1].NoiseSD, 1e-15)
	factor := gramFactor(p.k, x, p.noise, noises)
	a := slices.Clone(y)
	factor.SolveVecTo(a, a)
	n := float64(len(y))
	want := -0.5*linalg.Dot(a, y) - 0.5*factor.LogDet() - 0.5*n*math.Log(2*math.Pi)
	require.InDelta(t, want, n*c.LogScore, 1e-9)
}

// What is said of a run, with or without a prior, is the same after it was restored,
// and to ask for it changes no proposal.
func TestCalibrationRestored(t *testing.T) {
	testutil.SkipRace(t, "one goroutine asks")
	space, _ := grid(t, 9)
	cube := unitCube(t, 2)
	past, f := kinds(6, 15)
	hierarchical := learn(t, space, past, cmbo.WithIndexPoints(80))
	for _, c := range []struct {
		name  string
		space *cmbo.Space
		prior *cmbo.Prior
		first int // values without a forecast
	}{{"hierarchical", space, hierarchical, 0}, {"cube", cube, hierarchical, 0}, {"no prior", cube, nil, 2}} {
		t.Run(c.name, func(t *testing.T) {
			opts := []cmbo.Option{cmbo.WithCandidateCounts(100, 20)}
			if c.prior != nil {
				opts = append(opts, cmbo.WithPrior(c.prior))
			}
			var journal bytes.Buffer
			silent := newOptimizer(t, c.space, opts...)
			o := newOptimizer(t, c.space, append(opts, cmbo.WithJournal(func(b []byte) error { journal.Write(b); return nil }))...)
			want := drive(t, silent, f, 8)
			var got [][]float64
			for range 4 {
				got = append(got, drive(t, o, f, 2)...)
				calibrate(t, o)
				transferOf(t, o)
			}
			require.Equal(t, want, got)
			said := calibrate(t, o)
			require.Len(t, said.Forecasts, 8-c.first)
			whole := calibrate(t, silent)
			require.Equal(t, said, whole)
			restored := restored(t, o, opts[1:]...)
			resumed, _, err := cmbo.RestoreJournal(&journal, opts[1:]...)
			require.NoError(t, err)
			for _, r := range []*cmbo.Optimizer{restored, resumed} {
				again := calibrate(t, r)
				require.Equal(t, said, again)
				require.Equal(t, transferOf(t, o), transferOf(t, r))
			}
			require.Equal(t, drive(t, silent, f, 2), drive(t, restored, f, 2))
			// A forecast is the prediction that could be had before the value.
			if len(said.Forecasts) > 0 {
				fresh := newOptimizer(t, c.space, opts...)
				drive(t, fresh, f, 7)
				next := ask(t, fresh)
				mean, sd := predict(t, fresh, next.X)
				last := said.Forecasts[len(said.Forecasts)-1]
				assert.InDelta(t, mean, last.Mean, 1e-6)
				assert.InDelta(t, sd, last.SD, 1e-6)
				require.Equal(t, 8, last.Trial)
			}
		})
	}
}

func TestCalibrationInWords(t *testing.T) {
	forecast := func(z float64) cmbo.Forecast {
		return cmbo.Forecast{Y: 3 + 5*z, Mean: 3, SD: 3, NoiseSD: 4}
	}
	require.True(t, forecast(1.644).Inside())
	require.False(t, forecast(-1.646).Inside())
	require.InDelta(t, -0.5*4-math.Log(5*math.Sqrt(2*math.Pi)), forecast(2).LogScore(), 1e-12)
	require.Equal(t, math.Inf(-1), cmbo.Forecast{Y: 1, Mean: 2}.LogScore())
	require.Greater(t, cmbo.Forecast{Y: 2, Mean: 2}.LogScore(), 700.0)
	of := func(n, inside int) (c cmbo.Calibration) {
		for i := range n {
			z := 0.5
			if i >= inside {
				z = -2
			}
			c.Forecasts = append(c.Forecasts, forecast(z))
		}
		return c
	}
	// P(X <= 7 | 10, .9) = .0702, P(X <= 6) = .0128; .9^28 = .0523, .9^29 = .0471.
	require.Equal(t, "7 of 10 values lay inside their 90 % interval", of(10, 7).String())
	require.Equal(t, "the model is too sure of itself: 6 of 10 values lay inside their 90 % interval", of(10, 6).String())
	require.Equal(t, "28 of 28 values lay inside their 90 % interval", of(28, 28).String())
	require.Equal(t, "the model is less sure than it could be: 29 of 29 values lay inside their 90 % interval", of(29, 29).String())
	require.Equal(t, "no forecasts yet", of(0, 0).String())
}

// A run whose values are in other units than the past's, of which another offset, by three of its
// ranges and more, or another scale tells, is told so, and the past does not mislead it; one in the past's units, whose
// values may differ by less, is not.
func TestTransferInOtherUnits(t *testing.T) {
	testutil.SkipRace(t, "one goroutine asks")
	space, _ := grid(t, 9)
	past, f := kinds(8, 20) // values between 50 and 60
	prior := learn(t, space, past)
	for _, tt := range []struct {
		offset, unit float64
		least        float64 // mass of other units, 0 for hardly any
		says         cmbo.Verdict
	}{
		{0, 1, 0, cmbo.TransferHelps}, {40, 0.2, 0, cmbo.TransferHelps}, {10, 1, 0, cmbo.TransferHelps},
		{30, 1, 0.999, cmbo.TransferHelps}, {-30, 1, 0.999, cmbo.TransferHelps}, {1e4, 1, 0.999, cmbo.TransferHelps},
		{0, 1e-3, 0.999, cmbo.TransferHelps}, {48, 1.0 / 30, 0.998, cmbo.TransferHelps}, {-1500, 30, 0.999, cmbo.TransferUnclear},
	} {
		o := newOptimizer(t, space, cmbo.WithPrior(prior))
		require.Zero(t, transferOf(t, o).OtherUnits)
		drive(t, o, func(x []float64) float64 { return tt.offset + tt.unit*f(x) }, 8)
		tr := transferOf(t, o)
		assert.Equal(t, tt.says, tr.Verdict, "%v: %v", tt, tr)
		if tt.least > 0 {
			assert.Greater(t, tr.OtherUnits, tt.least, "%v", tt)
			assert.Contains(t, tr.String(), "the values lie out of all proportion to the past's: they may be in other units")
		} else {
			assert.Less(t, tr.OtherUnits, 1e-3, "%v", tt)
			assert.NotContains(t, tr.String(), "units")
		}
	}
}

// TestVerdictsAsJSON: verdicts, levels and reasons go into JSON by their names, as keys too.
func TestVerdictsAsJSON(t *testing.T) {
	b, err := json.Marshal(map[cmbo.Level]any{
		cmbo.LevelNone: []any{cmbo.TransferHelps, cmbo.ReasonDesign, cmbo.TransferReversed, cmbo.Verdict(99)},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"no transfer": ["transfer helps", "initial design", "the past is upside down", "Verdict(99)"]}`, string(b))
}
