package cmbo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// Proposals improve on what the model makes of the values where one that is no estimate has a noise
// variance above 0, and on the values else, of which the model is not asked.
func TestToldOfNoise(t *testing.T) {
	r := rng.Stream(1, t.Name())
	d := Data{X: linalg.NewDense(3, 1, nil), Y: []float64{1, 2, 3}}
	noisy := 0
	for range 200 {
		d.NoiseVariance, d.Estimated = make([]float64, 3), nil
		if r.IntN(2) == 0 {
			d.Estimated = make([]bool, 3)
		}
		model := &fallible{normal: normal{7, 1}, fails: -1}
		want, calls := d.Y, 0
		for i := range d.Y {
			if d.Estimated != nil {
				d.Estimated[i] = r.IntN(2) == 0
			}
			if r.IntN(3) == 0 {
				d.NoiseVariance[i] = 0.5
				if d.Estimated == nil || !d.Estimated[i] {
					want, calls = []float64{7, 7, 7}, 1
				}
			}
		}
		got, err := consulted{model}.told(context.Background(), d)
		require.NoError(t, err)
		require.Equal(t, want, got, "%v, estimated %v", d.NoiseVariance, d.Estimated)
		require.Len(t, model.calls, calls)
		noisy += calls
	}
	require.Greater(t, noisy, 50)
	require.Less(t, noisy, 150)
	d.NoiseVariance, d.Estimated = []float64{0, 0, 1}, nil
	_, err := consulted{&fallible{}}.told(context.Background(), d)
	assert.ErrorIs(t, err, errFallible)
}

// TestSurrogatesAreConsulted: consult.go alone asserts types of a surrogate.
func TestSurrogatesAreConsulted(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	assertion := regexp.MustCompile(`[sS]urrogate\.\(`)
	var with []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		if !strings.HasSuffix(f, "_test.go") && assertion.Match(b) {
			with = append(with, f)
		}
	}
	require.Equal(t, []string{"consult.go"}, with)
}

// What scores are multiplied by is the product of all factors that are known: added to the logarithms
// that EI gives and PI's quantiles stand for, and times what others are above the least finite one, or
// 1 where all are the same.
func TestMultiplyByKnown(t *testing.T) {
	r := rng.Stream(2, t.Name())
	pick := func() float64 {
		return []float64{-2, -0.5, 0, 1, 1, 3, math.Inf(-1), math.Inf(1)}[r.IntN(8)]
	}
	for _, f := range []acq.Func{acq.EI{}, acq.PI{}, UCB(1), nil} {
		for range 300 {
			n := 1 + r.IntN(4)
			scores := make([]float64, n)
			for i := range scores {
				if scores[i] = pick(); r.IntN(2) == 0 {
					scores[i] = scores[0]
				}
			}
			var factors []factor
			product := make([]float64, n)
			for i := range product {
				product[i] = 1
			}
			for k := range r.IntN(4) {
				g := factor{power: k}
				if r.IntN(3) > 0 {
					g.p = make([]float64, n)
					if r.IntN(2) == 0 {
						g.log = make([]float64, n)
					}
					for i := range g.p {
						g.p[i] = 1 - r.Float64()
						if g.log != nil {
							g.log[i] = math.Log(g.p[i]) + 0.25 // from the largest of all
							product[i] *= g.p[i] * math.Exp(0.25)
						} else {
							product[i] *= math.Pow(g.p[i], float64(k))
						}
					}
				}
				factors = append(factors, g)
			}
			known := false
			for _, g := range factors {
				known = known || g.p != nil
			}
			least, same := math.Inf(1), true
			for _, v := range scores {
				same = same && v == scores[0]
				if !math.IsInf(v, 0) {
					least = math.Min(least, v)
				}
			}
			got := append([]float64(nil), scores...)
			multiply(got, factors, f)
			for i, v := range scores {
				want := v
				switch {
				case !known:
				case f == acq.Func(acq.EI{}):
					want = v + math.Log(product[i])
				case f == acq.Func(acq.PI{}):
					want = special.NormLogCDF(v) + math.Log(product[i])
				case math.IsInf(v, 0):
				case same:
					want = product[i]
				default:
					want = (v - least) * product[i]
				}
				if math.IsInf(want, 0) {
					require.Equal(t, want, got[i], "%v of %v by %v", f, scores, factors)
				} else {
					require.InDelta(t, want, got[i], 1e-12*(1+math.Abs(want)), "%v of %v by %v", f, scores, factors)
				}
			}
		}
	}
}

// keeper is a model with a state that it does not take back.
type keeper struct{ normal }

var errKeeper = errors.New("unknown")

func (keeper) State(context.Context) ([]float64, error) { return []float64{1}, nil }
func (keeper) CheckState([]float64) error               { return errKeeper }

// A state that the model itself would refuse is not logged.
func TestStateIsChecked(t *testing.T) {
	s, _ := encoded(t, 1, 10)
	o := optimizerOf(t, s, WithInitial(0), WithSurrogate(keeper{}))
	_, err := o.Ask(context.Background())
	assert.ErrorIs(t, err, ErrNumerical)
	assert.ErrorIs(t, err, errKeeper)
	assert.Empty(t, o.Open())
}

// Requirements that are interrupted say so wherever that is, and do not make do with less.
func TestRequirementsInterrupted(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 3, 10)
	prior := priorOf(t, s, tasks[:2])
	for _, opts := range [][]Option{{WithInitial(0)}, {WithPrior(prior)}} {
		o := optimizerOf(t, s, append(opts, WithOutput("seconds", AsCost(), AtMost(5)), WithBudget(1e6))...)
		for i := range 4 {
			trial := ask(t, o)
			out := Outputs{"seconds": tasks[2].Outputs["seconds"][trial.Index]}
			if i == 0 {
				require.NoError(t, o.TellFailed(trial.ID, out))
			} else {
				require.NoError(t, o.Tell(trial.ID, tasks[2].Y[trial.Index], out))
			}
		}
		d := o.draft()
		want, err := factorsAt(d.factors(ctx, true), o.points)
		require.NoError(t, err)
		require.NotNil(t, want[success].p)
		for k := range want {
			for n := 0; ; n++ {
				require.Less(t, n, 1000)
				o.forget()
				got, err := o.requirements[k].factor(testutil.Countdown(n), d, true)(o.points)
				if err == nil {
					assert.Greater(t, n, 2)
					assert.Equal(t, want[k], got)
					break
				}
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		_, err = factorsAt(d.factors(testutil.Countdown(0), true), o.points)
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// Where evaluations fail is learned of one task as of many, before the run has failed itself.
func TestFailuresOfOneTask(t *testing.T) {
	s := unitCube(t, 1)
	one := Task{ID: "one", X: [][]float64{{0.1}, {0.2}, {0.3}}, Y: []float64{1, 2, 3}, Failed: [][]float64{{0.8}, {0.9}}}
	prior := priorOf(t, s, []Task{one})
	o := optimizerOf(t, s, WithPrior(prior))
	ask(t, o)
	step, ok := o.LastStep()
	require.True(t, ok)
	require.NotNil(t, step.Success)
	for i, x := range step.Candidates {
		if x[0] < 0.3 {
			assert.Greater(t, step.Success[i], 0.5, x)
		} else if x[0] > 0.8 {
			assert.Less(t, step.Success[i], 0.5, x)
		}
	}
}

// noisy is normal with a noise variance.
type noisy struct{ normal }

func (noisy) NoiseVariance() float64 { return 0.25 }

// What an output is foretold to be is on the scale on which it has a normal distribution, with the
// noise on that scale; an output that is not told, or has no scale yet, is not foretold.
func TestForetell(t *testing.T) {
	ctx := context.Background()
	s, _ := encoded(t, 1, 10)
	o := optimizerOf(t, s, WithOutput("a", AtMost(50)), WithOutput("b", AtLeast(0), Optional()))
	for _, v := range []float64{2, 7} {
		require.NoError(t, o.Observe([]float64{0.5, 0.5}, 1, Outputs{"a": v, "b": 1}))
	}
	models := o.outputs
	for _, m := range models {
		m.model = consulted{noisy{normal{0.5, 0.25}}}
	}
	e := runlog.Event{Trial: 3, X: []float64{0, 0}, Outputs: map[string]float64{"a": 11, "b": 4}}
	got, err := o.draft().foretell(ctx, models, e)
	require.NoError(t, err)
	require.Len(t, got, 1, "b has no scale")
	warp := scaling.ChooseWarp(0, []float64{2, 7}).Apply
	shift, scale := (warp(2)+warp(7))/2, (warp(7)-warp(2))/2
	f := got["a"]
	assert.Equal(t, 3, f.Trial)
	assert.Equal(t, warp(11), f.Y)
	assert.InDelta(t, shift+scale*0.5, f.Mean, 1e-12)
	assert.InDelta(t, scale*0.25, f.SD, 1e-12)
	assert.InDelta(t, scale*0.5, f.NoiseSD, 1e-12)
	got, err = o.draft().foretell(ctx, models, runlog.Event{X: []float64{0, 0}, Outputs: map[string]float64{"b": 4}})
	require.NoError(t, err)
	assert.Empty(t, got)
	models[0].model = consulted{&fallible{normal: normal{0, 1}, fails: 1}}
	_, err = o.draft().foretell(ctx, models, e)
	assert.ErrorIs(t, err, errFallible)
}

// Of an output other units than the past's have a quarter of the objective's share, and take it from
// the tail: usual offsets keep theirs.
func TestOutputUnits(t *testing.T) {
	s := hierarchy.DefaultSettings(2)
	got := outputRunSettings(s)
	assert.True(t, got.Whole)
	assert.InDelta(t, s.OtherUnits/4, got.OtherUnits, 1e-15)
	assert.InDelta(t, s.TransferTail, got.TransferTail+got.OtherUnits, 1e-15)
	assert.Less(t, got.Reversed, s.Reversed)
	never := s
	never.Reversed, never.TransferTail = 0, 0
	assert.Zero(t, outputRunSettings(never).Reversed, "as an ablation has it")
	assert.Zero(t, outputRunSettings(never).TransferTail, "of which no logarithm is a number below 0")
	assert.Less(t, got.Reversed*(1-got.ReversedTail), s.Reversed*(1-s.ReversedTail)/2, "offsets times −1")
	got.Whole, got.OtherUnits, got.TransferTail = s.Whole, s.OtherUnits, s.TransferTail
	got.Reversed, got.ReversedTail = s.Reversed, s.ReversedTail
	assert.Equal(t, s, got, "nothing else")
}

// Limits are told with six digits, or as many more as show what lies beyond them, by their sign and without a value where it
// is missing.
func TestViolationInWords(t *testing.T) {
	for want, v := range map[string]Violation{
		"a 1.23457 > 1":    {Output: "a", Value: 1.23456789, Limit: 1},
		"a -1000000 < 0.5": {Output: "a", Value: -1000000.4, Limit: 0.5},
		"a 5.00000004 > 5": {Output: "a", Value: 5.00000004, Limit: 5},
		"a 1e-09 > 0":      {Output: "a", Value: 1e-9},
		"a not told":       {Output: "a", Missing: true},
		"a 6 > 5":          {Output: "a", Value: 6, Limit: 5},
	} {
		assert.Equal(t, want, v.String())
	}
}

// Of values with noise variances the model says once a proposal what they are, however many lists of candidates it scores.
func TestProposalIsToldOnce(t *testing.T) {
	ctx := context.Background()
	model := &fallible{normal: normal{0, 1}, fails: math.MaxInt}
	x := linalg.NewDense(2, 1, []float64{0.2, 0.7})
	q := &question{data: Data{X: x, Y: []float64{1, 2}, NoiseVariance: []float64{0.1, 0.1}}, acquisition: EI()}
	for _, n := range []int{5, 3} {
		s := &Step{Mean: make([]float64, n), SD: make([]float64, n), Scores: make([]float64, n)}
		_, err := consulted{model}.propose(ctx, s, q, linalg.NewDense(n, 1, nil))
		require.NoError(t, err)
		assert.InDelta(t, special.NormLogEI(0), s.Scores[0], 1e-12, "over what the model makes of 2")
	}
	assert.Equal(t, []string{"predict 5", "predict 2", "predict 3"}, model.calls)
}

// Failures that have no cause in the space are noise, however few evaluations a task has, and however many parameters the
// space: unlike values, labels have no offset and scale of their own.
func TestFailuresWithoutCause(t *testing.T) {
	for _, c := range []struct{ tasks, points, times, dim int }{{12, 6, 1, 2}, {4, 1, 4, 20}} {
		s := unitCube(t, c.dim)
		r := rng.Stream(1, t.Name())
		var tasks []Task
		for i := range c.tasks {
			k := Task{ID: fmt.Sprint(i)}
			for j := range c.points {
				x := make([]float64, c.dim)
				for d := range x {
					x[d] = r.Float64()
				}
				for n := range c.times { // at one point evaluations succeed and fail
					if (i+j+n)%2 == 0 {
						k.X, k.Y = append(k.X, x), append(k.Y, r.NormFloat64())
					} else {
						k.Failed = append(k.Failed, x)
					}
				}
			}
			tasks = append(tasks, k)
		}
		p := priorOf(t, s, tasks)
		assert.Greater(t, p.success.Base().NoiseVariance, 0.5, "%v", c)
	}
}
