package cmbo_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/stretchr/testify/require"
)

// watched is a surrogate that keeps what it was told, has a state a proposal, and may fail.
type watched struct {
	flat
	noise float64
	told  *cmbo.Data
	fails *error
}

func (w watched) NoiseVariance() float64 { return w.noise }
func (w watched) Fit(_ context.Context, d cmbo.Data) error {
	*w.told = d
	return *w.fails
}
func (w watched) State(context.Context) ([]float64, error) {
	return []float64{float64(w.told.Step)}, nil
}
func (w watched) CheckState([]float64) error { return nil }

// TestSurrogateIsTold: trials and states stand beside their values, on a list and in a box, and
// what is asked of the run, unlike a proposal, leaves out the open trials.
func TestSurrogateIsTold(t *testing.T) {
	list, _ := grid(t, 4)
	box := unitCube(t, 2)
	for _, s := range []*cmbo.Space{list, box} {
		w := watched{told: new(cmbo.Data), fails: new(error)}
		o := newOptimizer(t, s, cmbo.WithSurrogate(w), cmbo.WithInitial(0))
		require.NoError(t, o.Observe([]float64{0, 0}, 5))
		trials := askN(t, o, 3)
		pending, _ := w.told.Pending.Dims()
		require.Equal(t, 2, pending)
		require.NoError(t, o.Tell(trials[2].ID, 7))
		require.NoError(t, o.Tell(trials[0].ID, 6))
		for _, ask := range []func() error{
			func() error { _, _, err := o.Predict(ctx, []float64{0, 0}); return err },
			func() error { _, err := o.Transfer(ctx); return err },
		} {
			*w.told = cmbo.Data{}
			require.NoError(t, ask())
			pending, _ = w.told.Pending.Dims()
			require.Zero(t, pending)
		}
		require.Equal(t, []float64{5, 7, 6}, w.told.Raw)
		require.Equal(t, []int{0, 3, 1}, w.told.Trials)
		require.Equal(t, [][]float64{nil, {3}, {1}}, w.told.States)
	}
}

// TestForecastsOfSurrogate: forecasts are of the value, the objective and the noise that the
// surrogate says, 0 if it says none, and a model that fails is an error.
func TestForecastsOfSurrogate(t *testing.T) {
	list, rows := grid(t, 4)
	for _, noise := range []float64{0, 0.25} {
		w := watched{noise: noise, told: new(cmbo.Data), fails: new(error)}
		o := newOptimizer(t, list, cmbo.WithSurrogate(w), cmbo.WithYPolicy(cmbo.RawValues))
		for k, y := range []float64{3, 5, 4} {
			require.NoError(t, o.Observe(rows[k], y))
		}
		c := calibrate(t, o)
		require.Len(t, c.Forecasts, 3)
		for _, f := range c.Forecasts {
			require.Zero(t, f.Trial)
			require.Zero(t, f.Mean)
			require.Equal(t, 1.0, f.SD)
			require.Equal(t, math.Sqrt(noise), f.NoiseSD)
			half := 1.6448536269514722 * math.Sqrt(1+noise)
			require.InDelta(t, -half, f.Quantiles.Low, 1e-12)
			require.InDelta(t, 0, f.Quantiles.Median, 1e-12)
			require.InDelta(t, half, f.Quantiles.High, 1e-12)
			require.InDelta(t, f.Y/math.Sqrt(1+noise), f.Z(), 1e-12)
		}
		require.NoError(t, o.Observe(rows[3], 1))
		*w.fails = errors.New("no model")
		_, err := o.Calibration(ctx)
		require.ErrorIs(t, err, *w.fails)
		require.ErrorContains(t, err, "forecast of value 4: ")
	}
}

// TestStepOfPlain: a step without a past tells the parameters, and what a point that was measured
// twice without noise needed.
func TestStepOfPlain(t *testing.T) {
	list, rows := grid(t, 4)
	for repeats := range 2 {
		o := newOptimizer(t, list, cmbo.WithNoiseVariance(1e-30), cmbo.WithInitial(0))
		for k := range 5 - repeats {
			require.NoError(t, o.Observe(rows[k], float64(k%3)))
		}
		for range repeats {
			require.NoError(t, o.Observe(rows[0], 0))
		}
		ask(t, o)
		step, ok := o.LastStep()
		require.True(t, ok)
		require.Equal(t, repeats > 0, step.Jitter > 0)
		require.NotEmpty(t, step.Parameters)
	}
}
