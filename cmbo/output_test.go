package cmbo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/replay"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
)

// encoder is a family of functions in two coordinates: a size that falls with effort x and
// depends on y, and seconds that rise with effort. The task's own numbers shift and scale
// both.
func encoder(i int) func(x []float64) (size, seconds float64) {
	r := rng.Stream(uint64(i), "encoder")
	level, speed, best := math.Exp(r.NormFloat64()), math.Exp(r.NormFloat64()), 0.4+0.2*r.Float64()
	return func(x []float64) (size, seconds float64) {
		return level * (3 - 2*x[0] + 2*(x[1]-best)*(x[1]-best)), speed * math.Exp(2.5*x[0]+x[1])
	}
}

// encoded returns k tasks of n points of the unit square, as a list of candidates, with
// the seconds as an output.
func encoded(t testing.TB, k, n int) (*Space, []Task) {
	t.Helper()
	box := spaceOf(t, Float("a", 0, 1), Float("b", 0, 1))
	rows := sample(t, box, n, 3)
	s := listOf(t, box, rows)
	var tasks []Task
	for i := range k {
		task := Task{ID: fmt.Sprint("task ", i), X: rows, Outputs: map[string][]float64{"seconds": nil}}
		f := encoder(i)
		for _, x := range rows {
			size, seconds := f(x)
			task.Y = append(task.Y, size)
			task.Outputs["seconds"] = append(task.Outputs["seconds"], seconds)
		}
		tasks = append(tasks, task)
	}
	return s, tasks
}

// A run with a limit finds about the best of the points that hold it, with the past's help
// in few evaluations, and tells how the others fail.
func TestConstraint(t *testing.T) {
	s, tasks := encoded(t, 7, 60)
	target := tasks[6]
	prior := priorOf(t, s, tasks[:6], WithMinimize())
	assert.Equal(t, []string{"seconds"}, prior.Outputs())
	limit := quantile(target.Outputs["seconds"], 0.3)
	best := math.Inf(1)
	for i, y := range target.Y {
		if target.Outputs["seconds"][i] <= limit {
			best = min(best, y)
		}
	}
	for _, with := range []bool{true, false} {
		opts := []Option{WithMinimize(), WithOutput("seconds", AtMost(limit))}
		evaluations := 25
		if with {
			opts, evaluations = append(opts, WithPrior(prior)), 10
		}
		o := optimizerOf(t, s, opts...)
		infeasible := 0
		for range evaluations {
			trial := ask(t, o)
			v := target.Outputs["seconds"][trial.Index]
			if v > limit {
				infeasible++
			}
			require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], Outputs{"seconds": v}))
		}
		found, ok := o.Best()
		require.True(t, ok)
		assert.Nil(t, found.Violations())
		assert.Less(t, found.Y/best, 1.02)
		t.Logf("with %v: %d of %d infeasible, best %.4g of %.4g", with, infeasible, evaluations, found.Y, best)
	}
}

func quantile(y []float64, p float64) float64 {
	return slices.Sorted(slices.Values(y))[int(p*float64(len(y)-1))]
}

// tunes drives a run over candidates and returns the rows proposed, in the order of asking;
// every seventh evaluation fails where failing is set, and two trials are open at a time.
func tunes(t *testing.T, o *Optimizer, task *Task, failing bool, outputs func(row int) Outputs) []int {
	t.Helper()
	var rows []int
	for n := range 8 {
		ts := askN(t, o, 2)
		for i, trial := range ts {
			rows = append(rows, trial.Index)
			switch {
			case failing && (2*n+i)%7 == 3:
				require.NoError(t, o.TellFailed(trial.ID))
			case outputs == nil:
				require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index]))
			default:
				require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index], outputs(trial.Index)))
			}
		}
	}
	return rows
}

// outputKinds are kinds of runs, with a prior that knows the output "seconds" or none.
func outputKinds(t *testing.T) (s *Space, target Task, kinds map[string][]Option) {
	t.Helper()
	s, tasks := encoded(t, 6, 40)
	prior := priorOf(t, s, tasks[:5], WithMinimize())
	failing := slices.Clone(tasks[:5])
	for i := range failing {
		failing[i].Failed = [][]float64{{0.9, 0.05 * float64(i)}}
	}
	fails := priorOf(t, s, failing, WithMinimize())
	return s, tasks[5], map[string][]Option{
		"default":           {WithPrior(prior)},
		"default, UCB":      {WithPrior(prior), WithAcquisition(UCB(2))},
		"default, PI":       {WithPrior(prior), WithAcquisition(PI())},
		"default, failures": {WithPrior(fails)},
		"plain":             {WithMinimize()},
		"plain, Thompson":   {WithMinimize(), WithAcquisition(Thompson())},
		"plain, MaxValuePI": {WithMinimize(), WithAcquisition(MaxValuePI())},
	}
}

// A constraint that always holds changes no proposal, and neither does an output without a
// limit: bit for bit, whatever the run.
func TestConstraintThatHolds(t *testing.T) {
	testutil.SkipRace(t, "one goroutine asks")
	s, target, kinds := outputKinds(t)
	for name, opts := range kinds {
		for _, failing := range []bool{false, true} {
			if testing.Short() && failing == (name != "default, failures") {
				continue
			}
			t.Run(fmt.Sprint(name, " ", failing), func(t *testing.T) {
				run := func(more ...Option) ([]int, Step) {
					o := optimizerOf(t, s, append(slices.Clip(opts), more...)...)
					var outputs func(int) Outputs
					if len(more) > 0 {
						outputs = func(row int) Outputs {
							return Outputs{"seconds": target.Outputs["seconds"][row], "other": float64(row%7) - 3}
						}
					}
					rows := tunes(t, o, &target, failing, outputs)
					step, ok := o.LastStep()
					require.True(t, ok)
					return rows, step
				}
				want, plain := run()
				got, step := run(WithOutput("seconds", AtMost(1e140)), WithOutput("other", AtLeast(-1e150), AtMost(1e150)))
				assert.Equal(t, want, got)
				assert.Equal(t, plain.Mean, step.Mean)
				// Nor does a limit on what is never told, though no value is known to hold it.
				got, step = run(WithOutput("seconds"), WithOutput("other"), WithOutput("never", AtMost(1), Optional()))
				assert.Equal(t, want, got)
				assert.Equal(t, plain.Scores, step.Scores)
				got, step = run(WithOutput("seconds"), WithOutput("other"))
				assert.Equal(t, want, got)
				assert.Equal(t, plain, step)
			})
		}
	}
}

// The order in which outputs are declared and told changes nothing.
func TestOutputsPermuted(t *testing.T) {
	testutil.SkipRace(t, "one goroutine asks")
	s, target, kinds := outputKinds(t)
	for name, opts := range kinds {
		a := WithOutput("seconds", AtMost(quantile(target.Outputs["seconds"], 0.4)))
		b := WithOutput("other", AtLeast(-2), AtMost(2.5))
		c := WithOutput("third", AtLeast(0))
		var snapshots []string
		var rows [][]int
		for _, order := range [][]Option{{a, b, c}, {c, b, a}, {b, a, c}} {
			o := optimizerOf(t, s, append(slices.Clip(opts), order...)...)
			rows = append(rows, tunes(t, o, &target, false, func(row int) Outputs {
				return Outputs{"seconds": target.Outputs["seconds"][row], "other": float64(row%7) - 3, "third": float64(row%5) - 1}
			}))
			var b bytes.Buffer
			require.NoError(t, o.Snapshot(&b))
			snapshots = append(snapshots, b.String())
		}
		assert.Equal(t, rows[0], rows[1], name)
		assert.Equal(t, rows[0], rows[2], name)
		assert.Equal(t, snapshots[0], snapshots[1], name)
		assert.Equal(t, snapshots[0], snapshots[2], name)
	}
}

// The score is the logarithm of the expected improvement over the best value that holds the
// limits, and of the probabilities of holding them, each in units of the largest.
func TestConstraintAgainstBruteForce(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 1, 30)
	task := tasks[0]
	limits := map[string]float64{"seconds": quantile(task.Outputs["seconds"], 0.5), "other": 0}
	o := optimizerOf(t, s, WithMinimize(), WithOutput("seconds", AtMost(limits["seconds"])), WithOutput("other", AtLeast(limits["other"])))
	other := func(x []float64) float64 { return x[0] + x[1] - 0.7 } // not log-normal: negative ones
	before, after := 0, 0
	for range 14 {
		trial := ask(t, o)
		if step, ok := o.LastStep(); ok && step.Trial == trial.ID {
			best, feasible := math.Inf(-1), false
			var z []float64
			for _, ob := range o.Observations() {
				z = append(z, -ob.Y)
			}
			scaled := ZScore.Apply(z)
			for i, ob := range o.Observations() {
				if ob.Violations() == nil {
					best, feasible = max(best, scaled[i]), true
				}
			}
			require.Len(t, step.Holds, 2)
			top := map[string]float64{"seconds": slices.Max(step.Holds["seconds"]), "other": slices.Max(step.Holds["other"])}
			joint := make([]float64, len(step.Mean))
			for i := range joint {
				for name, p := range step.Holds {
					joint[i] += math.Log(p[i] / top[name])
				}
			}
			likeliest, offset := slices.Max(joint), math.NaN()
			for i, mean := range step.Mean {
				if l := joint[i] - likeliest; !feasible && l < math.Log(0.95) {
					if math.IsNaN(offset) {
						offset = step.Scores[i] - l
					}
					assert.InDelta(t, l+offset, step.Scores[i], 2e-6, "trial %d, row %d", trial.ID, i)
					assert.Greater(t, step.Scores[slices.Index(joint, likeliest)], step.Scores[i])
				}
				u := (mean - best) / step.SD[i]
				want := math.Log(step.SD[i] * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi)))
				want += joint[i]
				if feasible && !math.IsInf(want, 0) && want > -25 {
					assert.InDelta(t, want, step.Scores[i], 2e-6, "trial %d, row %d", trial.ID, i)
				}
			}
			if feasible {
				after++
			} else {
				before++
			}
		}
		x := task.X[trial.Index]
		v := other(x)
		if trial.ID < 8 {
			v = min(v, -0.01*float64(trial.ID)) // nothing is feasible at first
		}
		require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index], Outputs{"seconds": task.Outputs["seconds"][trial.Index], "other": v}))
	}
	assert.Positive(t, before)
	assert.Positive(t, after)
	// The probabilities are those of the processes that were told the values.
	d := o.draft()
	for _, m := range o.config.newOutputModels() {
		g, err := m.factor(ctx, d, true)(o.points)
		require.NoError(t, err)
		n := len(g.p)
		mean, sd := make([]float64, n), make([]float64, n)
		require.NoError(t, m.model.Predict(ctx, mean, sd, o.points))
		_, y := d.h.EncodedOutput(m.output.Name)
		warp := scaling.ChooseWarp(0, y).Apply
		for i := range y {
			y[i] = warp(y[i])
		}
		var shift, scale float64
		for _, v := range y {
			shift += v / float64(len(y))
		}
		for _, v := range y {
			scale += (v - shift) * (v - shift) / float64(len(y))
		}
		scale = math.Sqrt(scale)
		for i := range n {
			z := ((warp(limits[m.output.Name])-shift)/scale - mean[i]) / math.Sqrt(sd[i]*sd[i]+m.model.noiseVariance())
			if m.output.Name == "other" {
				z = -z
			}
			assert.InDelta(t, 0.5*math.Erfc(-z/math.Sqrt2), g.p[i], 1e-9)
		}
	}
}

// An output's own values are told by logarithms in a unit far below their least, or where a limit lies below that in their
// least.
func TestOwnWarp(t *testing.T) {
	skewed := []float64{1000, 1, 10, 100}
	for _, c := range []struct {
		most float64
		y    []float64
		unit float64
	}{
		{5, skewed, 1.0 / 1024}, {1.0 / 1024, skewed, 1.0 / 1024}, {1.0 / 1025, skewed, 1}, {0, skewed, 1}, {-7, skewed, 1}, {0, []float64{1, 2, 3}, 0}, {-1.8, []float64{-2, -1.5, -1}, 0},
	} {
		m := &outputModel{output: runlog.Output{AtMost: &c.most}}
		require.Equal(t, c.unit, m.ownWarp(c.y).Unit, "%+v", c)
	}
	m, least := &outputModel{output: runlog.Output{}}, 0.0
	require.Equal(t, 1.0/1024, m.ownWarp(skewed).Unit)
	m.output.AtLeast = &least
	require.Equal(t, 1.0/1024, m.ownWarp(skewed).Unit)
}

// Before a value holds the limits, points of nearly the largest probability are ranked by the
// scores, others come after by their probabilities.
func TestLead(t *testing.T) {
	inf := math.Inf(1)
	holds := func(logs ...float64) factor { return factor{output: "a", p: make([]float64, len(logs)), log: logs} }
	success := factor{p: []float64{1, 0.5, 1, 0.5}, power: 2}
	cost := factor{p: []float64{1, math.Exp(-7), 1, 0}, log: []float64{0, -7, 0, -700}}
	for _, c := range []struct {
		scores  []float64
		factors []factor
		want    []float64
	}{
		{[]float64{1, 2, 3, -inf}, []factor{{}, {output: "a"}}, nil},
		{[]float64{1, 2, 3, -inf}, []factor{success, holds(0, 0, 0, 0), {output: "b"}}, nil},
		{[]float64{1, 2, 3, 4}, []factor{{}, holds(-1, -2, 0, -3), holds(-1, 0, -2, 0)}, []float64{1, 2, 3, -1}},
		{[]float64{1, 2, 3, 4}, []factor{{}, holds(math.Log(0.951), math.Log(0.949), 0, math.Log(0.97)), holds(0, 0, 0, math.Log(0.97))}, []float64{1, math.Log(0.949), 3, 2 * math.Log(0.97)}},
		{[]float64{1, 2, 3, 4}, []factor{{}, holds(0, -2, 0, -inf)}, []float64{1, -2, 3, -inf}},
		{[]float64{-inf, 2, 3, 4}, []factor{{}, holds(0, -2, 0, 0)}, []float64{3, 0, 3, 4}},
		{[]float64{-inf, 2, -inf, 4}, []factor{{}, holds(0, -2, 0, -1)}, []float64{0, -3, 0, -2}},
		{[]float64{1, 2, 3, 4}, []factor{{}, holds(0, -asLikely, math.Nextafter(-asLikely, -1), -asLikely)}, []float64{1, 2, math.Nextafter(-asLikely, -1), 4}},
		{[]float64{1, 2, 3, 4}, []factor{cost, holds(0, -2, -3, -4)}, []float64{1, -9, -3, -704}},
		{[]float64{1, 2, 3, 4}, []factor{success, holds(0, -2, -3, -4)}, []float64{1, -2 + 2*math.Log(0.5), -3, -4 + 2*math.Log(0.5)}},
	} {
		got := slices.Clone(c.scores)
		assert.Equal(t, c.want != nil, feasibleFirst(got, c.factors))
		if c.want == nil {
			c.want = c.scores
		}
		assert.Equal(t, c.want, got)
	}
	logs := []float64{-700, -701, -700 - alike/2, -inf}
	relate(logs)
	assert.Equal(t, []float64{0, -1, 0, -inf}, logs)
	logs = []float64{-inf, -inf}
	relate(logs)
	assert.Equal(t, []float64{0, 0}, logs)
	logs = []float64{-alike, 0, -2 * alike}
	relate(logs)
	assert.Equal(t, []float64{0, 0, -2 * alike}, logs)
}

// Scores become the logarithm of the product where they are one or a probability, and a
// product from the least finite score otherwise.
func TestMultiply(t *testing.T) {
	inf := math.Inf(1)
	success := factor{p: []float64{1, 0.5, 0.25, 0.5}, power: 2}
	holds := factor{output: "a", p: []float64{0, 0, 0, 0}, log: []float64{0, -1, -800, -2}}
	for _, c := range []struct {
		f       acq.Func
		scores  []float64
		factors []factor
		want    []float64
	}{
		{nil, []float64{1, 2, 3, -inf}, []factor{{}, {output: "a"}}, []float64{1, 2, 3, -inf}},
		{nil, []float64{3, 3, 3, 3}, []factor{success}, []float64{1, 0.25, 1. / 16, 0.25}},
		{nil, []float64{-1, 3, 1, -inf}, []factor{success}, []float64{0, 1, 2. / 16, -inf}},
		{nil, []float64{-1, 3, 1, inf}, []factor{success, holds}, []float64{0, math.Exp(-1), 0, inf}},
		{nil, []float64{-1, 3, -inf, 1}, []factor{success, holds}, []float64{0, math.Exp(-1), -inf, math.Exp(-2) / 2}},
		{UCB(2), []float64{-1, 3, 1, 0}, []factor{holds}, []float64{0, 4 * math.Exp(-1), 0, math.Exp(-2)}},
		{acq.EI{}, []float64{-3, 1, 2, -inf}, []factor{success, holds}, []float64{-3, 2*math.Log(0.5) + 1 - 1, 4*math.Log(0.5) + 2 - 800, -inf}},
		{acq.PI{}, []float64{0, 0, 0, -inf}, []factor{holds}, []float64{-math.Ln2, -math.Ln2 - 1, -math.Ln2 - 800, -inf}},
	} {
		got := slices.Clone(c.scores)
		multiply(got, c.factors, c.f)
		assert.InDeltaSlice(t, finite(c.want), finite(got), 1e-12, "%v", c.f)
	}
}

// finite puts large numbers in the place of infinite ones, which have no difference.
func finite(y []float64) []float64 {
	y = slices.Clone(y)
	for i := range y {
		y[i] = max(-1e9, min(1e9, y[i]))
	}
	return y
}

// Proposals improve on the values that hold the limits, whichever they are.
func TestFeasibleObservations(t *testing.T) {
	s, task := encoded(t, 1, 10)
	o := optimizerOf(t, s, WithOutput("seconds", AtMost(1)))
	assert.Nil(t, o.draft().feasible())
	for i, c := range []struct {
		y, seconds float64
		want       []bool
	}{{9, 2, nil}, {3, 1, []bool{false, true}}, {2, 0.5, []bool{false, true, true}}, {4, 3, []bool{false, true, true, false}}} {
		require.NoError(t, o.Observe(task[0].X[i], c.y, Outputs{"seconds": c.seconds}))
		assert.Equal(t, c.want, o.draft().feasible())
	}
	o = optimizerOf(t, s, WithOutput("seconds", AtMost(1)))
	require.NoError(t, o.Observe(task[0].X[0], 1, Outputs{"seconds": 1}))
	require.NoError(t, o.Observe(task[0].X[1], 5, Outputs{"seconds": 2}))
	assert.Equal(t, []bool{true, false}, o.draft().feasible(), "the first is the best")
	for _, opts := range [][]Option{{WithOutput("seconds", AtMost(1))}, nil} {
		o = optimizerOf(t, s, opts...)
		for i, seconds := range []float64{1, 2} {
			var out Outputs
			if opts != nil {
				out = Outputs{"seconds": seconds}
			}
			require.NoError(t, o.Observe(task[0].X[i], 1, out))
		}
		d := o.draft()
		d.h.Estimates = []runlog.Estimate{{Observation: d.h.Observations[1], After: 1}}
		assert.Equal(t, []bool{true, false, opts == nil}, d.feasible(), "an estimate is not achieved")
	}
}

// Limits far out in the tails, and values of any size, leave a choice and finite numbers.
func TestConstraintInTheTails(t *testing.T) {
	ctx := context.Background()
	s, target, kinds := outputKinds(t)
	if testing.Short() {
		kinds = map[string][]Option{"default": kinds["default"], "plain": kinds["plain"]}
	}
	for name, opts := range kinds {
		for _, limit := range []float64{-1e150, -1e9, 1e-12, 1e9, 1e150} {
			for _, bound := range []func(float64) OutputOption{AtMost, AtLeast} {
				o := optimizerOf(t, s, append(slices.Clip(opts), WithOutput("seconds", bound(limit)))...)
				for n := range 9 {
					trial, err := o.Ask(ctx)
					require.NoError(t, err, "%s, limit %g", name, limit)
					if step, ok := o.LastStep(); ok && step.Trial == trial.ID {
						for i, v := range step.Scores {
							require.False(t, math.IsNaN(v), "%s, limit %g: row %d", name, limit, i)
						}
					}
					v := target.Outputs["seconds"][trial.Index]
					switch n {
					case 6:
						v = 1e150
					case 7:
						v = -1e150
					}
					require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], Outputs{"seconds": v}))
				}
			}
		}
	}
}

// Outputs that are unknown, missing, told twice or no numbers are errors that say so, and
// the trial stays open. Options that make no sense are refused.
func TestOutputErrors(t *testing.T) {
	s, _ := encoded(t, 1, 10)
	o := optimizerOf(t, s, WithOutput("seconds", AtMost(5)), WithOutput("parts", Optional()))
	trial := ask(t, o)
	for _, c := range []struct {
		opts     []ObservationOption
		sentinel error
		text     string
	}{
		{[]ObservationOption{Outputs{"parts": 1}}, ErrOutput, `output "seconds" is missing`},
		{[]ObservationOption{Outputs{"seconds": 1, "second": 2}}, ErrOutput, `output "second" is none of the run's, ["parts" "seconds"]`},
		{[]ObservationOption{Outputs{"second": 2}}, ErrOutput, `output "second" is none of the run's, ["parts" "seconds"]`},
		{[]ObservationOption{Outputs{"seconds": 1, "parts": 1e151}}, ErrValue, `output "parts": value 1e+151`},
	} {
		for _, err := range []error{o.Tell(trial.ID, 1, c.opts...), o.Observe([]float64{0.5, 0.5}, 1, c.opts...)} {
			assert.ErrorIs(t, err, c.sentinel)
			assert.ErrorContains(t, err, c.text)
		}
	}
	assert.Len(t, o.Open(), 1)
	assert.Empty(t, o.Observations())
	told := Outputs{"seconds": 6}
	require.NoError(t, o.Tell(trial.ID, 1, told))
	told["seconds"] = 0
	assert.Equal(t, Outputs{"seconds": 6}, o.Observations()[0].Outputs, "a copy")
	o = optimizerOf(t, s, WithOutput("parts", Optional()))
	require.NoError(t, o.Observe([]float64{0.5, 0.5}, 1, Outputs{}))
	assert.Nil(t, o.h.Events[0].Outputs, "none")
	o = optimizerOf(t, s, WithOutput("seconds", AtMost(5)), WithOutput("parts", Optional()))

	for text, opts := range map[string][]Option{
		`at least 1 and at least 2`: {WithOutput("a", AtLeast(1), AtLeast(2))},
		`a nil OutputOption`:        {WithOutput("a", nil)},
	} {
		_, err := New(s, opts...)
		assert.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, text)
	}
	// A run is what it was begun as.
	var b, journal bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	write := WithJournal(func(lines []byte) error { journal.Write(lines); return nil })
	optimizerOf(t, s, write, WithOutput("seconds", AtMost(5)))
	_, _, err := ResumeJournal(bytes.NewReader(journal.Bytes()), s, WithOutput("seconds", AtMost(6)))
	assert.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, `outputs "seconds".at_most 5, not 6`)
	_, _, err = ResumeJournal(bytes.NewReader(journal.Bytes()), s, WithOutput("seconds", AtMost(5)))
	assert.NoError(t, err)
	for _, damage := range []string{`"at_most":5`, `"name":"seconds"`} {
		state, err := openSnapshot(b.Bytes())
		require.NoError(t, err)
		if damage == `"at_most":5` {
			v := math.Inf(1)
			state.Options.Outputs[1].AtMost = &v
		} else {
			state.Options.Outputs[1].Name = "parts"
		}
		_, err = state.Options.restore(new(runConfig))
		assert.ErrorIs(t, err, ErrCorrupt)
	}
}

// Best says that nothing holds the limits, and what came nearest; the run as a task keeps
// its outputs, gaps and all.
// TestNoiseIsPositive: a variance of 0, or of no number, is none; the smallest one is.
func TestNoiseIsPositive(t *testing.T) {
	s, _ := encoded(t, 1, 10)
	o := optimizerOf(t, s)
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.ErrorIs(t, o.Observe([]float64{0, 0}, 1, WithNoise(v)), ErrValue, v)
	}
	require.Empty(t, o.Observations())
	require.NoError(t, o.Observe([]float64{0, 0}, 1, WithNoise(1e-9)))
	require.Equal(t, 1e-9, o.Observations()[0].NoiseVariance)
}

// TestFirstIsFeasible: limits do not decide alone once the first observation, the best one, holds
// them, and the step says of each output how likely it holds its limits, beside success.
func TestFirstIsFeasible(t *testing.T) {
	s, tasks := encoded(t, 1, 30)
	rows, seconds := tasks[0].X, tasks[0].Outputs["seconds"]
	order := make([]int, len(seconds))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(seconds[a], seconds[b]) })
	for _, first := range []bool{true, false} { // whether the first is feasible
		o := optimizerOf(t, s, WithInitial(0), WithOutput("seconds", AtMost(seconds[order[2]])))
		trial := ask(t, o)
		require.NoError(t, o.TellFailed(trial.ID))
		for n, i := range []int{order[0], order[10], order[20], order[29]} {
			if !first {
				i = order[29-5*n]
			}
			require.NoError(t, o.Observe(rows[i], float64(-n), Outputs{"seconds": seconds[i]}))
		}
		trial = ask(t, o)
		step, ok := o.LastStep()
		require.True(t, ok)
		require.NotNil(t, step.Success)
		require.Equal(t, []string{"seconds"}, slices.Collect(maps.Keys(step.Holds)))
		x := explain(t, o, trial.ID)
		require.Equal(t, !first, strings.Contains(x.String(), "probability of holding the limits"), x.String())
	}
}

func TestNothingFeasible(t *testing.T) {
	s, _ := encoded(t, 1, 10)
	alone := optimizerOf(t, s, WithOutput("seconds", AtMost(5)))
	require.NoError(t, alone.Observe([]float64{1, 0}, 9, Outputs{"seconds": 6}))
	nearest, holds := alone.Best()
	assert.False(t, holds)
	assert.Equal(t, []float64{1, 0}, nearest.X)
	o := optimizerOf(t, s, WithOutput("seconds", AtMost(5)), WithOutput("parts", AtLeast(1), Optional()), WithOutput("kept", Optional()))
	best, ok := o.Best()
	assert.False(t, ok)
	assert.Nil(t, best.X)
	require.NoError(t, o.Observe([]float64{0, 0}, 9, Outputs{"seconds": 4}))
	best, ok = o.Best()
	assert.False(t, ok, "parts are not known")
	assert.Nil(t, best.X)
	assert.Equal(t, "[parts not told]", fmt.Sprint(o.Observations()[0].Violations()))
	require.NoError(t, o.Observe([]float64{0, 1}, 1, Outputs{"seconds": 6, "parts": 0.5, "kept": 1}))
	require.NoError(t, o.Observe([]float64{1, 1}, 2, Outputs{"seconds": 6, "parts": 2}))
	best, ok = o.Best()
	assert.False(t, ok)
	assert.Equal(t, []float64{1, 1}, best.X)
	assert.Equal(t, "[seconds 6 > 5]", fmt.Sprint(best.Violations()))
	assert.Equal(t, "[parts 0.5 < 1 seconds 6 > 5]", fmt.Sprint(o.Observations()[1].Violations()))
	require.NoError(t, o.Observe([]float64{1, 0}, -3, Outputs{"seconds": 5, "parts": 1}))
	best, ok = o.Best()
	assert.True(t, ok)
	assert.Equal(t, -3.0, best.Y)
	task := taskOf(t, o, "this")
	nan := math.NaN()
	assert.Equal(t, []string{"kept", "parts", "seconds"}, task.Outputs.Names())
	assert.InDeltaSlice(t, []float64{4, 6, 6, 5}, task.Outputs["seconds"], 0)
	assert.InDeltaSlice(t, []float64{nan, 0.5, 2, 1}, task.Outputs["parts"], 0)
	assert.InDeltaSlice(t, []float64{nan, 1, nan, nan}, task.Outputs["kept"], 0)
}

// What failures have brought goes from a run by its task, and by files of JSON, to the next
// prior, which learns of outputs what it would if those evaluations had had values.
func TestOutputsOfFailures(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 4, 12)
	s = s.WithoutCandidates()
	nan := math.NaN()
	o := optimizerOf(t, s, WithOutput("seconds", AsCost()), WithOutput("parts", Optional()))
	ts := askN(t, o, 4)
	require.NoError(t, o.TellFailed(ts[0].ID, Outputs{"seconds": 3}))
	require.NoError(t, o.Tell(ts[1].ID, 1, Outputs{"seconds": 4}))
	require.NoError(t, o.TellFailed(ts[2].ID, Outputs{"seconds": 5, "parts": -1}))
	require.NoError(t, o.Cancel(ts[3].ID))
	task := taskOf(t, o, "a run")
	assert.Equal(t, space.Columns{"seconds": {4}}, task.Outputs)
	assert.Equal(t, []string{"parts", "seconds"}, task.FailedOutputs.Names())
	assert.InDeltaSlice(t, []float64{3, 5}, task.FailedOutputs["seconds"], 0)
	assert.InDeltaSlice(t, []float64{nan, -1}, task.FailedOutputs["parts"], 0)

	valued := slices.Clone(tasks)
	tasks[1].X, tasks[1].Failed = tasks[1].X[:9], tasks[1].X[9:]
	tasks[1].Y = tasks[1].Y[:9]
	seconds := tasks[1].Outputs["seconds"]
	tasks[1].Outputs, tasks[1].FailedOutputs = space.Columns{"seconds": seconds[:9]}, space.Columns{"seconds": seconds[9:]}
	tasks[2].X, tasks[2].Failed = tasks[2].X[:10], tasks[2].X[10:] // which have no outputs
	tasks[2].Y, tasks[2].Outputs = tasks[2].Y[:10], space.Columns{"seconds": slices.Concat(tasks[2].Outputs["seconds"][:9], []float64{nan})}
	valued[2].Outputs = space.Columns{"seconds": slices.Concat(valued[2].Outputs["seconds"][:9], []float64{nan, nan, nan})}
	encode := func(q *Prior) []byte {
		var b bytes.Buffer
		require.NoError(t, q.Encode(&b))
		return b.Bytes()
	}
	learned := func(tasks []Task) []byte {
		p := priorOf(t, s, tasks)
		e := new(codec.Encoder)
		p.outputs[0].model.Encode(e)
		return e.Buf
	}
	assert.Equal(t, learned(valued), learned(tasks))

	// Who logs a crash without its seconds says 0, which no cost is.
	crashed := slices.Clone(tasks)
	crashed[1].FailedOutputs = space.Columns{"seconds": {seconds[9], 0, seconds[11]}}
	unlogged := slices.Clone(tasks)
	unlogged[1].FailedOutputs = space.Columns{"seconds": {seconds[9], nan, seconds[11]}}
	assert.Equal(t, learned(unlogged), learned(crashed))

	failed := Task{ID: "failures", Failed: [][]float64{{0.25, 0.5}, {1, 1}}, FailedOutputs: space.Columns{"parts": {nan, 7}, "seconds": {2, 3}}, Context: Context{"height": 2.0}}
	b, err := json.Marshal(append(tasks, failed, task))
	require.NoError(t, err)
	var read []Task
	require.NoError(t, json.Unmarshal(b, &read))
	p := priorOf(t, s, read)
	back := decodePrior(t, bytes.NewReader(encode(p)))
	assert.Equal(t, encode(p), encode(back))
	adopted, _, err := back.Adopt(ctx, s, Changes{})
	require.NoError(t, err)
	for _, q := range []*Prior{p, back, adopted} {
		byID := make(map[string]Task)
		for _, task := range q.Tasks() {
			byID[task.ID] = task
		}
		for _, want := range append(tasks, failed, task) {
			got := byID[want.ID]
			assert.Len(t, got.Failed, len(want.Failed), want.ID)
			for i, columns := range []space.Columns{want.Outputs, want.FailedOutputs} {
				is := []space.Columns{got.Outputs, got.FailedOutputs}[i]
				assert.Equal(t, columns.Names(), is.Names(), want.ID)
				for name, column := range columns {
					assert.InDeltaSlice(t, column, is[name], 1e-12)
				}
			}
		}
	}
	spoiled := decodePrior(t, bytes.NewReader(encode(p)))
	out := spoiled.output("parts")
	out.rows[len(out.rows)-1][0] = 3
	_, err = DecodePrior(bytes.NewReader(encode(spoiled)))
	assert.ErrorContains(t, err, `output "parts" of task "a run": row 3 of 3`)
	run := optimizerOf(t, s, WithPrior(back), WithOutput("seconds", AsCost()), WithOutput("parts", AtMost(8), Optional()))
	ask(t, run)
}

// A prior keeps its outputs, tasks that lack some among them, when it is encoded, or brought
// to candidates or another space; without outputs it has the bytes of one that never heard of
// them.
func TestPriorOutputs(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 5, 25)
	nan := math.NaN()
	plain := slices.Clone(tasks)
	for i := range plain {
		plain[i].Outputs = nil
	}
	without := priorOf(t, s, plain, WithMinimize())
	assert.Nil(t, without.Outputs())
	empty := slices.Clone(plain)
	empty[2].Outputs = map[string][]float64{"seconds": slices.Repeat([]float64{nan}, 25)}
	same := priorOf(t, s, empty, WithMinimize())
	encode := func(p *Prior) []byte {
		var b bytes.Buffer
		require.NoError(t, p.Encode(&b))
		return b.Bytes()
	}
	assert.Equal(t, encode(without), encode(same))

	tasks[1].Outputs = nil
	tasks[2].Outputs = map[string][]float64{"seconds": slices.Clone(tasks[2].Outputs["seconds"]), "parts": slices.Repeat([]float64{nan}, 25)}
	tasks[2].Outputs["seconds"][3], tasks[2].Outputs["parts"][7] = nan, -4
	p := priorOf(t, s, tasks, WithMinimize())
	assert.Equal(t, []string{"parts", "seconds"}, p.Outputs())
	b := encode(p)
	back := decodePrior(t, bytes.NewReader(b))
	assert.Equal(t, b, encode(back))
	box := s.WithoutCandidates()
	list := listOf(t, box, tasks[0].X[:9])
	reindexed, err := back.Reindex(ctx, list)
	require.NoError(t, err)
	wider := spaceOf(t, Float("b", 0, 1), Float("a", -1, 1))
	adopted, _, err := back.Adopt(ctx, wider, Changes{})
	require.NoError(t, err)
	for _, q := range []*Prior{p, back, reindexed, adopted} {
		got := q.Tasks()
		require.Len(t, got, 5)
		for i, task := range got {
			assert.Equal(t, tasks[i].Outputs.Names(), task.Outputs.Names(), task.ID)
			for name, column := range tasks[i].Outputs {
				for k, v := range column {
					if math.IsNaN(v) {
						assert.True(t, math.IsNaN(task.Outputs[name][k]))
					} else {
						assert.InEpsilon(t, v, task.Outputs[name][k], 1e-12)
					}
				}
			}
		}
	}
	for _, q := range []*Prior{back, reindexed, adopted} {
		o := optimizerOf(t, q.Space(), WithPrior(q), WithOutput("seconds", AtMost(2)), WithCandidateCounts(30, 5))
		ask(t, o)
	}
	for text, spoil := range map[string]func(q *Prior){
		`output "", warped by`:                               func(q *Prior) { q.outputs[0].name = "" },
		`output "parts", warped by`:                          func(q *Prior) { q.outputs[0], q.outputs[1] = q.outputs[1], q.outputs[0] },
		`output "seconds", warped by -1`:                     func(q *Prior) { q.outputs[1].warp.Unit = -1 },
		`output "parts", warped by 0`:                        func(q *Prior) { q.outputs[1].name, q.outputs[1].warp.Unit = "parts", 0 },
		`output "seconds" of task "task 0": row 0 has a val`: func(q *Prior) { q.outputs[1].warp.Unit = 1e150 },
		`output "seconds" of task "task 0": row 25 of 25`:    func(q *Prior) { q.outputs[1].rows[0][24] = 25 },
		`output "seconds" of task "task 0": row -1 of 25`:    func(q *Prior) { q.outputs[1].rows[0][0] = -1 },
		`output "seconds" of task "task 0": row 7 of 25`:     func(q *Prior) { q.outputs[1].rows[0][8] = 7 },
		`output "seconds" of task "task 0": row 9 of 25`:     func(q *Prior) { r := q.outputs[1].rows[0]; r[9], r[10] = 10, 9 },
		`output "seconds" of task "task 0": row 0 of 25`:     func(q *Prior) { q.outputs[1].rows[0][1] = 0 },
		`output "parts" of task "task 2": row 7 has a value`: func(q *Prior) { q.outputs[0].warp.Unit = 2.5e150 / math.Sinh(4) },
		`output "parts" of task "task 2": 0 rows for 1 val`:  func(q *Prior) { q.outputs[0].rows[0] = nil },
		`output "parts" of task "task 2": other descriptors`: func(q *Prior) { q.outputs[0].model.Tasks()[0].Context = Context{"height": 1.0} },
	} {
		q := decodePrior(t, bytes.NewReader(b))
		spoil(q)
		_, err = DecodePrior(bytes.NewReader(encode(q)))
		assert.ErrorIs(t, err, ErrCorrupt)
		assert.ErrorContains(t, err, text)
	}
	q := decodePrior(t, bytes.NewReader(b))
	q.outputs[0].warp.Unit = 1.5e150 / math.Sinh(4) // rounding may pass the largest value, but not by so much
	_ = decodePrior(t, bytes.NewReader(encode(q)))
	bare := decodePrior(t, bytes.NewReader(encode(without)))
	assert.Nil(t, bare.Outputs())
	k := kernel.Scale(0.7, kernel.Matern52(0.2, 0.3))
	given := priorOf(t, s, tasks[:2], WithKernel(k))
	assert.Equal(t, []kernel.Kernel{k}, given.output("seconds").model.Settings().Kernels)
	none := encode(without)
	none = append(none[:len(none)-sha256.Size], 0) // a number of outputs where there are none
	_, err = DecodePrior(bytes.NewReader(Reseal(append(none, make([]byte, sha256.Size)...))))
	assert.ErrorIs(t, err, ErrCorrupt)
	assert.ErrorContains(t, err, "outputs without any")
	for i := range 400 { // damage anywhere is found, whatever the checksum says
		d := slices.Clone(b[:len(b)-sha256.Size])
		at := len(d) - 1 - i*len(d)/1000
		d[at] ^= 0x5a
		sum := sha256.Sum256(d)
		q, err := DecodePrior(bytes.NewReader(append(d, sum[:]...)))
		if err == nil {
			q.Tasks()
		} else {
			assert.ErrorIs(t, err, ErrCorrupt)
		}
	}
}

// What a run says of itself speaks of each output: whether its past helps, how well its
// values were foretold, with which probability a point holds its limits. It says the same
// after a restore, and changes no proposal.
func TestOutputsExplained(t *testing.T) {
	s, target, kinds := outputKinds(t)
	limit := quantile(target.Outputs["seconds"], 0.3)
	for _, name := range []string{"default", "plain"} {
		o := optimizerOf(t, s, append(slices.Clip(kinds[name]), WithOutput("seconds", AtMost(limit)), WithOutput("kept", Optional()))...)
		u := outlookOf(t, o)
		assert.True(t, math.IsNaN(u.Next) && math.IsNaN(u.Expected))
		assert.Equal(t, name == "plain", math.IsNaN(u.Feasible), "the past knows the output")
		assert.Equal(t, name == "plain", math.IsNaN(u.Holds["seconds"]))
		told := 0
		for told < 12 {
			trial := ask(t, o)
			v := target.Outputs["seconds"][trial.Index]
			if told < 6 { // nothing is feasible at first
				v = max(v, 1.01*limit)
			}
			require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], Outputs{"seconds": v}))
			if told++; told == 6 {
				u := outlookOf(t, o)
				assert.True(t, math.IsNaN(u.Next) && math.IsNaN(u.Expected))
				assert.Less(t, u.Feasible, 1.0)
				assert.Equal(t, map[string]float64{"seconds": u.Feasible}, u.Holds, "one limit")
				assert.Regexp(t, `no value holds the limits yet; the likeliest to hold them does so with a probability of (0.\d\d); seconds holds its limits with a probability of at most 0.\d\d`, u.String())
			}
		}
		var b bytes.Buffer
		require.NoError(t, o.Snapshot(&b))
		back, err := Restore(&b, kinds[name][:1:1]...)
		if name == "plain" {
			back, err = o, nil
		}
		require.NoError(t, err)
		for _, o := range []*Optimizer{o, back} {
			u := outlookOf(t, o)
			first := math.NaN()
			for _, ob := range o.Observations() {
				if ob.Violations() == nil && math.IsNaN(first) {
					first = ob.Y
				}
			}
			best, ok := o.Best()
			require.True(t, ok)
			assert.Equal(t, math.Abs(best.Y-first), u.Gained)
			assert.GreaterOrEqual(t, u.Next, 0.0)
			assert.GreaterOrEqual(t, u.Expected, u.Next)
			assert.Greater(t, u.Feasible, 0.0)

			tr := transferOf(t, o)
			require.Len(t, tr.Outputs, 1)
			of := tr.Outputs["seconds"]
			assert.Equal(t, 12, of.Values)
			assert.Nil(t, of.Relation, "the run has no descriptors")
			c := calibrate(t, o)
			require.Len(t, c.Outputs, 1)
			assert.Contains(t, c.String(), "; of seconds ")
			for _, f := range c.Outputs["seconds"].Forecasts {
				width := 1.6448536269514722 * math.Hypot(f.SD, f.NoiseSD)
				assert.InDelta(t, f.Mean, f.Quantiles.Median, 1e-12)
				assert.InDelta(t, width, f.Quantiles.High-f.Mean, 1e-9*width)
				assert.InDelta(t, width, f.Mean-f.Quantiles.Low, 1e-9*width)
			}
			x := explain(t, o, 12)
			assert.Regexp(t, `the largest \D+ \(score .*\) of \d+ candidates, seconds within its limits with a probability of 0\.\d\d|of 1\.00`, x.String())
			early := explain(t, o, 6)
			assert.Contains(t, early.String(), "the largest probability of holding the limits and, where that is alike, EI (score ")
			if name == "plain" {
				assert.Nil(t, of.Hypotheses)
				assert.Len(t, c.Outputs["seconds"].Forecasts, 10, "all but the first two")
				continue
			}
			assert.Contains(t, []Verdict{TransferHelps, TransferUnclear}, of.Verdict)
			assert.Regexp(t, "; of seconds (transfer helps|unclear): ", tr.String())
			var mass float64
			for _, share := range of.Hypotheses {
				mass += share.Mass
			}
			assert.InDelta(t, 1, mass, 1e-9)
			fs := c.Outputs["seconds"].Forecasts
			require.Len(t, fs, 12)
			unit := o.config.prior.output("seconds").warp.Unit
			least := math.Inf(1)
			for _, task := range o.config.prior.Tasks() {
				for _, v := range task.Outputs["seconds"] {
					if v < least { // which no NaN is
						least = v
					}
				}
			}
			assert.InEpsilon(t, least/1024, unit, 1e-9, "the unit that Calibration.Outputs names")
			for i, ob := range o.Observations() {
				assert.Equal(t, math.Asinh(ob.Outputs["seconds"]/unit), fs[i].Y)
			}
			assert.Greater(t, c.Outputs["seconds"].Coverage, 0.5)
		}
		if name == "default" {
			a := ask(t, o)
			b := ask(t, back)
			assert.Equal(t, a.X, b.X)
		}
	}
}

// Outputs fifty times the size of the others', or a fiftieth, are told as perhaps of another unit, whether or not the check is
// about them; the sign does not matter. So are values that deviate so much more, wherever they lie. Of as many on both sides
// the smaller ones are told.
func TestCheckUnits(t *testing.T) {
	s, tasks := encoded(t, 7, 12)
	for i := range tasks {
		seconds := tasks[i].Outputs["seconds"]
		tasks[i].Outputs = map[string][]float64{"seconds": seconds}
		for k := range seconds {
			seconds[k] = 1 + float64(k%5)
			if i == 4 {
				seconds[k] *= -1000
			}
		}
		seconds[0] = math.NaN()
		if i == 5 {
			seconds[len(seconds)/2] *= 1e6 // one value is not the median
		}
		if i < 3 {
			tasks[i].Outputs["even"] = slices.Repeat([]float64{math.Pow(1e4, float64(i%2))}, 12)
		}
		if i < 2 {
			tasks[i].Outputs["two"] = slices.Repeat([]float64{math.Pow(1e4, float64(i%2))}, 12)
		}
		tasks[i].Outputs["zero"] = make([]float64, 12)
	}
	seconds, near := slices.Clone(tasks[6].Y), slices.Clone(tasks[3].Y)
	for k := range seconds {
		tasks[6].Y[k] *= 1000
		tasks[3].Y[k] += 1e6
	}
	report, err := Check(context.Background(), s, tasks, WithMinimize(), WithCheckTasks(1), WithCheckEvaluations(2))
	require.NoError(t, err)
	assert.Contains(t, report.String(), "another unit, perhaps: the spread of the values of task 6 is ")
	require.Len(t, report.Apart, 4)
	assert.Equal(t, ApartOutput{"task 6", "", report.Apart[0].Ratio}, report.Apart[0])
	report.Apart = report.Apart[1:]
	tasks[6].Y, tasks[3].Y = seconds, near
	assert.Equal(t, ApartOutput{"task 1", "even", report.Apart[0].Ratio}, report.Apart[0])
	assert.InEpsilon(t, 1e4, report.Apart[0].Ratio, 1e-9)
	assert.Equal(t, "task 4", report.Apart[1].Task)
	assert.InEpsilon(t, 1000, report.Apart[1].Ratio, 1e-9)
	assert.Contains(t, report.String(), "another unit, perhaps: seconds of task 4 is 1000 times that of the others\n")
	assert.Equal(t, []ApartOutput{{"task 0", "two", 1e-4}}, roundedRatios(report.Apart[2:]))
	assert.Nil(t, report.Tasks[0].Transfer.Outputs, "no output was declared")
	for i := range tasks { // 49 times is none
		if i == 4 {
			for k := range tasks[i].Outputs["seconds"] {
				tasks[i].Outputs["seconds"][k] *= -0.049
			}
		}
		delete(tasks[i].Outputs, "even")
		delete(tasks[i].Outputs, "two")
	}
	assert.Nil(t, apartOutputs(tasks))
	// Of two gaps as wide the lower one counts.
	var three []Task
	for i := range 3 {
		three = append(three, Task{ID: fmt.Sprint(i), Outputs: map[string][]float64{"a": {math.Pow(1000, float64(i))}}})
	}
	assert.Equal(t, []ApartOutput{{"0", "a", 1e-6}}, roundedRatios(apartOutputs(three)))
	// So do values that deviate two hundred times as much from their median.
	valued := slices.Clone(three)
	for i, y := range [][]float64{{1, 2, 4}, {-1001, -1002, -1004}, {600, 200, 0}, {7, 7}, {9}} {
		valued = append(valued, Task{ID: fmt.Sprint("values ", i), Y: y})
	}
	assert.Equal(t, []ApartOutput{{"values 2", "", 200}, {"0", "a", 1e-6}}, roundedRatios(apartOutputs(valued)))
	assert.Equal(t, []float64{600, 200, 0}, valued[5].Y)
	// A ratio of fifty is the least.
	for ratio, n := range map[float64]int{50.5: 1, 49.5: 0} {
		for i := range 3 {
			three[i].Outputs = map[string][]float64{"a": {[]float64{1, ratio, 1}[i]}}
		}
		assert.Len(t, apartOutputs(three), n, "%g", ratio)
	}
}

// TestMisfit: limits that no past value holds, or of another size than all, are told before the first
// value and by a check; those at the values' ends, and fewer than fifty times beyond, are not.
func TestMisfit(t *testing.T) {
	values := []float64{math.NaN(), -2, 0, 4}
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{math.Inf(-1), -2, ""}, {math.Inf(-1), -2.1, `"v" (at most -2.1) is held by no past value: these lie from -2 to 4`},
		{4, math.Inf(1), ""}, {4.1, math.Inf(1), `"v" (at least 4.1) is held by no past value`}, {1, 3, "is held by no past value"}, {-1, 1, ""},
		{math.Inf(-1), 4 * (1 - 1e-10), ""}, {4 * (1 + 1e-10), math.Inf(1), ""}, {math.Inf(-1), 199, ""},
		{math.Inf(-1), 201, `"v" (at most 201) may be in another unit than past values: these lie from -2 to 4`}, {-201, math.Inf(1), "in another unit"},
		{0.041, math.Inf(1), ""}, {0.039, math.Inf(1), "in another unit"}, {0, math.Inf(1), ""}, {math.Inf(-1), 0, ""}, {0, 201, "in another unit"},
	} {
		o := runlog.Output{Name: "v"}
		if !math.IsInf(c.lo, 0) {
			o.AtLeast = &c.lo
		}
		if !math.IsInf(c.hi, 0) {
			o.AtMost = &c.hi
		}
		if got := misfit(o, values); c.want == "" {
			assert.Empty(t, got, o)
		} else {
			assert.Contains(t, got, c.want)
		}
		assert.Empty(t, misfit(o, values[:1]), "of no value")
		if got := misfit(o, []float64{0, 0}); c.lo > 0 || c.hi < 0 { // none has a size, so that a unit cannot be another
			assert.Contains(t, got, " is held by no past value: these lie from 0 to 0")
		} else {
			assert.Empty(t, got)
		}
	}
	assert.Empty(t, misfit(runlog.Output{Name: "v"}, values))

	ctx := context.Background()
	s, tasks := encoded(t, 5, 12)
	prior := priorOf(t, s, tasks, WithMinimize())
	for limit, want := range map[float64]string{1e6: "may be in another unit", 1e-6: "is held by no past value", 2: ""} {
		o := optimizerOf(t, s, WithPrior(prior), WithOutput("seconds", AtMost(limit)))
		tr := transferOf(t, o)
		report, err := Check(ctx, s, tasks, WithMinimize(), WithOutput("seconds", AtMost(limit)), WithCheckTasks(1), WithCheckEvaluations(2))
		said := ""
		if limit < 1 {
			require.ErrorIs(t, err, ErrTask)
			said = err.Error()
		} else {
			require.NoError(t, err)
			said = report.String()
		}
		for _, text := range []string{tr.String(), said} {
			assert.Contains(t, text, want)
			assert.Equal(t, want != "", strings.Contains(text, "past value"), text)
		}
	}
}

// The verdict of a check is by Student's quantile of the mean difference, with either sign, and none before five
// tasks; the fewer others there are in the pasts of all, the larger is the standard error.
func TestCheckVerdict(t *testing.T) {
	for _, c := range []struct {
		differences []float64
		pool        int
		want        Verdict
	}{
		{[]float64{1, 1, 1, 1}, 4, TransferTooEarly},
		{[]float64{1, 1, 1, 1, 1}, 5, TransferHelps},
		{[]float64{-1, -1, -1, -1, -1}, 5, TransferMisleads},
		{[]float64{2, 1, 2, 1, 0.05}, 5, TransferHelps}, // 1.21 ± .55, of which the quantile is 2.13
		{[]float64{-2, -1, -2, -1, -0.05}, 5, TransferMisleads},
		{[]float64{2, 1, 2, 1, -0.1}, 5, TransferUnclear}, // 1.18 ± .59
		{[]float64{-2, -1, -2, -1, 0.1}, 5, TransferUnclear},
		{[]float64{2, 1, 2, 1, -0.5}, 1000, TransferHelps},    // 1.1 ± .46
		{[]float64{2, 1, 2, 1, -0.75}, 1000, TransferUnclear}, // 1.05 ± .50
		{[]float64{0, 0, 0, 0, 0}, 5, TransferUnclear},
	} {
		var r CheckReport
		for _, d := range c.differences {
			r.Tasks = append(r.Tasks, CheckedTask{Without: Replay{Regret: 3 + d}, With: Replay{Regret: 3}})
		}
		r.judge(c.pool)
		assert.Equal(t, c.want, r.Verdict, "%v: %g ± %g", c.differences, r.Difference, r.StandardError)
	}
}

func roundedRatios(apart []ApartOutput) []ApartOutput {
	for i, a := range apart {
		apart[i].Ratio = math.Round(a.Ratio*1e12) / 1e12
	}
	return apart
}

// Check tunes tasks left out under the limits, on what is known of them.
func TestCheckOutputs(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 6, 30)
	tasks[4].Outputs = nil
	tasks[5].Outputs["seconds"][3] = math.NaN()
	limit := quantile(tasks[0].Outputs["seconds"], 0.5)
	report, err := Check(ctx, s, tasks, WithMinimize(), WithOutput("seconds", AtMost(limit)), WithCheckTasks(2), WithCheckEvaluations(6))
	require.NoError(t, err)
	for _, c := range report.Tasks {
		assert.NotEqual(t, tasks[4].ID, c.ID)
		assert.Contains(t, c.Transfer.Outputs, "seconds")
	}
	// The best is that of the values that hold the limit, and none other counts.
	limit = tasks[5].Outputs["seconds"][0]
	r, err := replay.New(s, &tasks[5], true, runlog.Output{Name: "seconds", AtMost: &limit})
	require.NoError(t, err)
	assert.Len(t, r.Y, 29, "a row lacks the output")
	beyond := 0
	for i, regret := range r.Regret {
		if r.Outputs[i]["seconds"] > limit {
			beyond++
			assert.Equal(t, 1.0, regret, "row %d", i)
		}
	}
	assert.NotZero(t, beyond)
}

// Check tells its runs what failures have brought, but for a 0 that stands for what was not
// measured.
func TestCheckOutputsOfFailures(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 4, 16)
	s = s.WithoutCandidates()
	const good, evaluations = 9, 12
	left := &tasks[3]
	seconds := left.Outputs["seconds"]
	limit := quantile(seconds, 0.5)
	left.X, left.Y, left.Failed = left.X[:good], left.Y[:good], left.X[good:]
	left.Outputs, left.FailedOutputs = space.Columns{"seconds": seconds[:good]}, space.Columns{"seconds": slices.Clone(seconds[good:])}
	left.FailedOutputs["seconds"][2] = 0
	// Recorded once more: the first point fails, and a failure brings another number.
	left.Failed = append(slices.Clone(left.Failed), left.X[0], left.Failed[0])
	left.FailedOutputs["seconds"] = append(left.FailedOutputs["seconds"], 1e3, 3*seconds[good])
	limited := WithOutput("seconds", AtMost(limit), Optional())
	report, err := Check(ctx, s, tasks, WithMinimize(), limited, WithCheckEvaluations(evaluations))
	require.NoError(t, err)
	assert.Zero(t, left.FailedOutputs["seconds"][2], "the caller's")

	list := listOf(t, s, slices.Concat(left.X, left.Failed[:7]))
	prior := priorOf(t, s, tasks[:3], WithMinimize())
	run := func(of func(row int) Outputs) Transfer {
		o := optimizerOf(t, list, WithPrior(prior), limited)
		for range evaluations {
			trial := ask(t, o)
			if i := trial.Index; i < good {
				require.NoError(t, o.Tell(trial.ID, left.Y[i], Outputs{"seconds": seconds[i]}))
			} else {
				require.NoError(t, o.TellFailed(trial.ID, of(i)))
			}
		}
		transfer := transferOf(t, o)
		return transfer
	}
	want := run(func(i int) Outputs {
		switch i {
		case good:
			return Outputs{"seconds": 2 * seconds[i]}
		case good + 2:
			return nil
		}
		return Outputs{"seconds": seconds[i]}
	})
	got := report.Tasks[3]
	require.Equal(t, left.ID, got.ID)
	assert.Equal(t, want, got.Transfer)
	assert.NotEqual(t, want, run(func(int) Outputs { return nil }))
	assert.NotEqual(t, want, run(func(i int) Outputs { return Outputs{"seconds": seconds[i]} }))
}

// TestOutputNames: names that nobody tells apart or sees are refused by a run, by what learns and by
// descriptors, with those names, and a prior or a run that was stored with them is read.
func TestOutputNames(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 3, 12)
	p := priorOf(t, s, tasks[:2], WithIndexPoints(12))
	past := WithPrior(p)
	named := func(at int, names ...string) []Task {
		changed := slices.Clone(tasks)
		changed[at].Outputs = make(space.Columns)
		for _, n := range names {
			changed[at].Outputs[n] = tasks[at].Outputs["seconds"]
		}
		return changed
	}
	refused := func(err, is error, text string) {
		t.Helper()
		require.ErrorIs(t, err, is)
		require.ErrorContains(t, err, text)
		require.Less(t, len(err.Error()), 1000)
	}

	long := strings.Repeat("é", 100)
	for name, why := range map[string]string{
		"": "is empty", " ": "begins or ends with a space", "a ": "begins or ends with a space", "\u00a0a": "begins or ends with a space",
		"a\nb": "has a control character", "\x00": "has a control character", "\x7f": "has a control character", "a\xff": "is not UTF-8",
		long + "x": "goes on to 201 bytes, more than 200", strings.Repeat("x", 1<<20): "goes on to 1048576 bytes, more than 200",
	} {
		why = "its name " + why
		for _, opts := range [][]Option{{}, {past}} {
			_, err := New(s, append(opts, WithOutput(name))...)
			refused(err, ErrOption, why)
		}
		_, err := Learn(ctx, s, named(1, name))
		refused(err, ErrTask, `task "task 1": output "`)
		refused(err, ErrTask, why)
		failed := slices.Clone(tasks)
		failed[2].Failed, failed[2].FailedOutputs = tasks[2].X[:1], space.Columns{name: {1}}
		_, err = Learn(ctx, s, failed)
		refused(err, ErrTask, why)
		if name == "" {
			continue // see TestContextRefused
		}
		_, err = New(s, past, WithContext(Context{name: 1}))
		refused(err, ErrOption, `WithContext: descriptor "`)
		refused(err, ErrOption, why)
		described := slices.Clone(tasks)
		described[1].Context = Context{name: "x"}
		_, err = Learn(ctx, s, described)
		refused(err, ErrTask, `task "task 1": descriptor "`)
		refused(err, ErrTask, why)
	}
	optimizerOf(t, s, WithOutput(long), WithOutput("a b"), WithOutput("a c"))

	for _, like := range []string{"SECONDS", "sec-onds", "s.e_c o n-ds", "\u017feconds"} { // a long s
		_, err := New(s, WithOutput("seconds"), WithOutput(like))
		refused(err, ErrOption, fmt.Sprintf("outputs %q and %q: give both the same name", min(like, "seconds"), max(like, "seconds")))
		_, err = New(s, past, WithOutput(like))
		refused(err, ErrOption, fmt.Sprintf(`output %q: past tasks have "seconds"; give both the same name`, like))
		for _, learn := range []func([]Task) error{
			func(tasks []Task) error { _, err := Learn(ctx, s, tasks); return err },
			func(tasks []Task) error {
				l, err := NewLearner(s)
				require.NoError(t, err)
				_, err = l.learnMany(ctx, tasks)
				return err
			},
			func(tasks []Task) error {
				_, err := LearnFrom(ctx, s, func() iter.Seq2[Task, error] {
					return func(yield func(Task, error) bool) {
						_ = yield(tasks[0], nil) && yield(tasks[1], nil) && yield(tasks[2], nil)
					}
				})
				return err
			},
			func(tasks []Task) error { _, err := Check(ctx, s, tasks); return err },
		} {
			refused(learn(named(1, like)), ErrTask, fmt.Sprintf(`task "task 1": output %q: task "task 0" has "seconds"; give`, like))
			both := named(0, like, "seconds")
			refused(learn(both), ErrTask, fmt.Sprintf(`task "task 0": output %q: task "task 0" has %q; give`, max(like, "seconds"), min(like, "seconds")))
			delete(both[0].Outputs, like)
			both[0].Failed, both[0].FailedOutputs = tasks[0].X[:1], space.Columns{like: {1}}
			refused(learn(both), ErrTask, fmt.Sprintf(`task "task 0": output %q: task "task 0" has "seconds"; give`, like))
		}
	}
	_, err := New(s, past, WithOutput("second"))
	require.NoError(t, err, "not like it")

	// What was stored with other names.
	old := *p
	one, two := *p.outputs[0], *p.outputs[0]
	one.name, two.name = "Sec\n", "sec"
	old.outputs = []*outputPrior{&one, &two}
	var b bytes.Buffer
	require.NoError(t, old.Encode(&b))
	back := decodePrior(t, &b)
	require.Equal(t, []string{"Sec\n", "sec"}, back.Outputs())
	_, err = New(s, WithPrior(back), WithOutput("sec", AtMost(5)))
	require.NoError(t, err, "the past's own name")
	o := optimizerOf(t, s, WithOutput("a"), WithOutput("b"))
	o.config.outputs[0].Name, o.config.outputs[1].Name = "B ", "b"
	b.Reset()
	require.NoError(t, o.Snapshot(&b))
	_, err = Restore(&b)
	require.NoError(t, err)
}
