package paper

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// trace is an independent run of stages 2 and 3 with everything random or
// fitted taken out; its "about" field says exactly how it was made.
type trace struct {
	Grid    [][]float64 `json:"grid"`
	Sources []struct {
		Task string      `json:"task"`
		X    [][]float64 `json:"x"`
		Y    []float64   `json:"y"`
	} `json:"sources"`
	Labels  []int     `json:"labels"`
	Target  []float64 `json:"target"`
	Initial []int     `json:"initial"`
	Traces  []struct {
		Prototype   string `json:"prototype"`
		Distance    string `json:"distance"`
		Acquisition string `json:"acquisition"`
		Steps       []struct {
			Asked         int       `json:"asked"`
			Value         float64   `json:"value"`
			WeightsBefore []float64 `json:"weights_before"`
			WeightsAfter  []float64 `json:"weights_after"`
			Distances     []float64 `json:"distances"`
			PosteriorMean []float64 `json:"posterior_mean"`
			PosteriorSD   []float64 `json:"posterior_sd"`
		} `json:"steps"`
	} `json:"traces"`
}

const (
	traceLengthScale    = 0.6
	traceNoiseVariance  = 1e-3
	traceJeffreysJitter = 1e-6
)

func TestGoldenTrace(t *testing.T) {
	var g trace
	testutil.Golden(t, "cmbo_trace.json", &g)
	require.NotEmpty(t, g.Traces)
	space, err := cmbo.Candidates(g.Grid)
	require.NoError(t, err)
	var tasks []cmbo.Task
	for _, s := range g.Sources {
		tasks = append(tasks, cmbo.Task{ID: s.Task, X: s.X, Y: s.Y})
	}
	for _, tr := range g.Traces {
		t.Run(fmt.Sprint(tr.Prototype, "/", tr.Distance, "/", tr.Acquisition), func(t *testing.T) {
			prototype, distance, acquisition := GeometricCenter, Wasserstein, cmbo.UCB(3)
			if tr.Prototype == "barycenter" {
				prototype = Barycenter
			}
			if tr.Distance == "jeffreys" {
				distance = Jeffreys
			}
			if tr.Acquisition == "ei" {
				acquisition = cmbo.EI()
			}
			prior := learn(t, space, tasks, WithVariant(Variant{Prototype: prototype, WeightDistance: distance}), WithLabels(g.Labels),
				WithHyperparameters(kernel.Scale(1, kernel.Matern32(traceLengthScale)), traceNoiseVariance), WithYPolicy(cmbo.RawValues))
			opt, _ := begin(t, space, prior, []RunOption{WithNoiseVariance(traceNoiseVariance), WithJeffreysJitter(traceJeffreysJitter)},
				cmbo.WithAcquisition(acquisition))
			for _, i := range g.Initial {
				require.NoError(t, opt.Observe(g.Grid[i], g.Target[i]))
			}
			// go test -v tells how far this build is from the others: they all
			// ask for the same points and differ in last digits.
			bits := fnv.New64a()
			var off struct{ distances, weights, means, sds float64 }
			defer func() {
				t.Logf("%s/%s: off by %.1e in distances, %.1e in weights, %.1e in means, %.1e in deviations; bits %016x",
					runtime.GOOS, runtime.GOARCH, off.distances, off.weights, off.means, off.sds, bits.Sum64())
			}()
			for k, want := range tr.Steps {
				within(t, want.WeightsBefore, weightsOf(t, opt), 1e-6, "step %d: weights before", k)
				trial := ask(t, opt)
				require.Equal(t, want.Asked, trial.Index, "step %d", k)
				step, ok := opt.LastStep()
				require.True(t, ok)
				require.Zero(t, step.Jitter)
				if len(want.Distances) == 1 {
					want.Distances = nil // nothing to weigh, and not computed
				}
				within(t, want.Distances, step.Distances, 1e-6, "step %d: distances", k)
				if want.PosteriorMean != nil {
					within(t, want.PosteriorMean, step.Mean, 1e-8, "step %d: posterior mean", k)
					within(t, want.PosteriorSD, step.SD, 1e-8, "step %d: posterior sd", k)
				}
				require.NoError(t, opt.Tell(trial.ID, g.Target[trial.Index]))
				raise(&off.distances, want.Distances, step.Distances)
				raise(&off.weights, want.WeightsAfter, weightsOf(t, opt))
				raise(&off.means, want.PosteriorMean, step.Mean)
				raise(&off.sds, want.PosteriorSD, step.SD)
				require.NoError(t, binary.Write(bits, binary.LittleEndian, append(step.Mean, step.SD...)))
				within(t, want.WeightsAfter, weightsOf(t, opt), 1e-6, "step %d: weights after", k)
			}
		})
	}
}

// raise makes worst the largest |want-got|/max(1, |want|) so far.
func raise(worst *float64, want, got []float64) {
	for i, w := range want {
		*worst = max(*worst, math.Abs(w-got[i])/max(1, math.Abs(w)))
	}
}

// within asks for |want-got| <= tol·max(1, |want|) entry by entry.
func within(t *testing.T, want, got []float64, tol float64, format string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if d := math.Abs(want[i] - got[i]); !(d <= tol*math.Max(1, math.Abs(want[i]))) {
			t.Fatalf("%s: entry %d is %.17g, want %.17g: off by %.2g", fmt.Sprintf(format, args...), i, got[i], want[i], d)
		}
	}
}
