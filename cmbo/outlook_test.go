package cmbo

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// The least number expected is the mean of which so many improvements or more come once in
// a hundred times.
func TestFewestExpected(t *testing.T) {
	for k, mean := range fewestExpected {
		if k == 0 {
			require.Zero(t, mean)
			continue
		}
		fewer, term := 0.0, math.Exp(-mean)
		for i := range k {
			fewer += term
			term *= mean / float64(i+1)
		}
		require.InDelta(t, 0.01, 1-fewer, 1e-4, "%d", k)
	}
	require.Len(t, fewestExpected, recordWindows[1]+1)
}

// The share that is relied on is judged by the last four and the last ten promises.
func TestKept(t *testing.T) {
	require.True(t, math.IsNaN(kept(nil)))
	none, kept1 := promise{expected: 2}, promise{2, 1}
	require.Zero(t, kept([]promise{none, none}))
	require.Zero(t, kept([]promise{kept1, none, none, none, none, none}))
	require.InDelta(t, 0.25*0.0101, kept([]promise{none, kept1}), 1e-15)
	require.InDelta(t, 0.05*0.0101, kept([]promise{kept1, none, none, none, none, none, none, kept1, none, none, none}), 1e-15, "the last ten")
	early := promise{1, 5}
	require.InDelta(t, 0.125*0.0101, kept([]promise{early, early, early, early, early, none, none, none, kept1}), 1e-15, "the last four")
	require.Zero(t, kept([]promise{kept1, none, none, none, none}), "the last four")
	long := []promise{{100, 0}, {100, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}
	require.InDelta(t, 5.0/205*1.2791/5, kept(long), 1e-15, "the last ten")
	require.Equal(t, 1.0, kept([]promise{{1e-9, 1}}))
	require.Equal(t, 1.0, kept([]promise{{0, 1}}))
}

// The mean worth of a lognormal improvement is its integral, in either direction.
func TestMeanWorth(t *testing.T) {
	for _, minimize := range []bool{true, false} {
		c := &runConfig{sharedConfig: sharedConfig{minimize: minimize, positive: true}}
		for _, mean := range []float64{-2, -0.1, 0, 0.3, 3} {
			for _, sd := range []float64{0.01, 0.5, 2} {
				const steps = 200000
				var sum float64
				for i := range steps {
					z := -12 + 24*(float64(i)+0.5)/steps
					if gain := mean + sd*z; gain > 0 {
						sum += c.worth(1, gain) * math.Exp(-0.5*z*z) / math.Sqrt(2*math.Pi) * 24 / steps
					}
				}
				require.InDelta(t, sum, c.meanWorth(1, mean, sd), 1e-6*sum+1e-12, "%g %g", mean, sd)
			}
		}
		require.Zero(t, c.meanWorth(1, -50, 0.1))
		require.False(t, math.IsNaN(c.meanWorth(1, 1, 0)))
		require.LessOrEqual(t, c.meanWorth(1, 1, 1e4), math.MaxFloat64)
	}
}

// A log with a value that its run excludes is damaged, and so is one with a noise variance of 0.
func TestRestoreChecksPositive(t *testing.T) {
	box := unitCube(t, 1)
	for _, y := range []float64{1, 0} {
		o := optimizerOf(t, box)
		require.NoError(t, o.Observe([]float64{0.5}, y))
		s, err := o.snapshot()
		require.NoError(t, err)
		s.Options.Positive = true
		state, err := json.Marshal(s)
		require.NoError(t, err)
		_, err = Restore(bytes.NewReader(runlog.SealState(state)))
		if y > 0 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "value 0 is not positive")
		s.Options.Positive, s.Options.Noise = false, new(float64)
		state, err = json.Marshal(s)
		require.NoError(t, err)
		_, err = Restore(bytes.NewReader(runlog.SealState(state)))
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "noise variance 0")
	}
}

// Next is what is expected, times the share of promises kept, which are what was expected at each point before
// its value was told, in the unit in which the model sees values; a restored run says the same.
func TestOutlookByRecord(t *testing.T) {
	ctx := context.Background()
	box := unitCube(t, 2)
	limits := map[string]float64{"size": -1.8, "weight": -1.05}
	for _, kind := range []string{"plain", "positive", "limited"} {
		positive := kind == "positive"
		opts := []Option{WithMinimize(), WithCandidateCounts(60, 20)}
		switch kind {
		case "positive":
			opts = append(opts, WithPositiveValues())
		case "limited":
			opts = append(opts, WithOutput("size", AtMost(limits["size"])), WithOutput("weight", AtMost(limits["weight"])))
		}
		o := optimizerOf(t, box, opts...)
		expected := make(map[int]float64) // by trial
		for n := range 16 {
			trial := ask(t, o)
			if d, scale := o.draft().data(false); o.draft().hasScale(d) && o.h.Best(true) >= 0 {
				require.NoError(t, o.fit(ctx, d))
				mean, sd, err := o.model.believed(ctx, box.EncodeAll([][]float64{trial.X}))
				require.NoError(t, err)
				told, err := o.model.told(ctx, d)
				require.NoError(t, err)
				top := slices.Max(among(told, o.draft().feasible()))
				expected[trial.ID] = scale.Scale * acq.ExpectedImprovement(mean[0], sd[0], top)
				if positive {
					expected[trial.ID] = o.config.meanWorth(o.config.userValue(&scale, top), scale.Scale*(mean[0]-top), scale.Scale*sd[0])
				}
			}
			x := trial.X[0] - 0.3
			var outputs Outputs
			if kind == "limited" {
				outputs = Outputs{"size": trial.X[0] - 2, "weight": trial.X[1] - 2}
			}
			require.NoError(t, o.Tell(trial.ID, math.Exp(4*x*x+trial.X[1]), outputs))
			if n < 5 || n%5 != 0 || kind == "limited" && n < 10 {
				continue
			}
			u := outlookOf(t, o)
			calibration := calibrate(t, o)
			var promises []promise
			holds := make(map[int]float64) // with what probability, by trial
			for i, f := range calibration.Outputs["size"].Forecasts {
				g := calibration.Outputs["weight"].Forecasts[i]
				holds[f.Trial] = special.NormCDF((limits["size"]-f.Mean)/math.Hypot(f.SD, f.NoiseSD)) *
					special.NormCDF((limits["weight"]-g.Mean)/math.Hypot(g.SD, g.NoiseSD))
			}
			obs := o.Observations()
			best := math.Inf(1)
			for i, ob := range obs {
				if at := i - (len(obs) - len(calibration.Forecasts)); at >= 0 {
					f := calibration.Forecasts[at]
					p := promise{expected[f.Trial], max(best-ob.Y, 0)}
					if kind == "limited" {
						p.expected *= holds[ob.Trial]
					}
					if ob.Violations() != nil {
						p.gained = 0
					}
					if !math.IsInf(best, 1) {
						promises = append(promises, p)
					}
				}
				if ob.Violations() == nil {
					best = min(best, ob.Y)
				}
			}
			require.InDelta(t, u.Expected*kept(promises), u.Next, 1e-6*u.Expected)
			again := optimizerOf(t, box, opts...)
			for _, e := range o.h.Events {
				require.NoError(t, again.h.Restore(e.Export(), again.checks()))
			}
			same := outlookOf(t, again)
			require.Equal(t, u, same)
			require.LessOrEqual(t, len(again.judged.promises), 10)
			require.True(t, n < 11 || len(again.judged.promises) == 10)
		}
	}
}

// countedKernel counts how often it is given parameters: a search does that dozens of times.
type countedKernel struct {
	kernel.Kernel
	given *atomic.Int64
}

func (c countedKernel) WithParams(theta []float64) (kernel.Kernel, error) {
	c.given.Add(1)
	k, err := c.Kernel.WithParams(theta)
	return countedKernel{k, c.given}, err
}

// TestHindsightSearchesNoFitAgain: what an Ask fitted to the values of outputs serves when the run goes through its log once
// more. It is what a restored run, whose log does not hold it, finds by a search.
func TestHindsightSearchesNoFitAgain(t *testing.T) {
	ctx := context.Background()
	box := unitCube(t, 2)
	var given atomic.Int64
	k := WithKernel(countedKernel{kernel.Matern32(0.5), &given})
	o := optimizerOf(t, box, WithInitial(2), WithCandidateCounts(60, 20), k, WithOutput("size", AtMost(1.2)), WithOutput("seconds", AsCost()))
	const values, models, uses = 9, 3, 3
	for range values {
		trial := ask(t, o)
		x := trial.X
		require.NoError(t, o.Tell(trial.ID, -x[0]*x[0]-x[1], Outputs{"size": x[0] + math.Sin(5*x[1]), "seconds": 1 + 2*x[1] + x[0]*x[0]}))
	}
	_, err := o.Ask(ctx) // whose fits to all values an Outlook needs
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	given.Store(0)
	calibration := calibrate(t, o)
	require.LessOrEqual(t, given.Swap(0), int64(values*models*uses), "Calibration")
	outlook := outlookOf(t, o)
	require.LessOrEqual(t, given.Swap(0), int64(values*models*uses), "Outlook")

	restored, err := Restore(&b, k)
	require.NoError(t, err)
	again := calibrate(t, restored)
	require.Greater(t, given.Load(), int64(values*models*uses), "a search gives more parameters")
	require.Equal(t, again, calibration)
	same := outlookOf(t, restored)
	require.Equal(t, same, outlook)
}

// TestNoStepYet: points of the initial design have no step.
func TestNoStepYet(t *testing.T) {
	s := unitCube(t, 1)
	o := optimizerOf(t, s)
	for range 2 {
		_, ok := o.LastStep()
		require.False(t, ok)
		ask(t, o)
	}
}
