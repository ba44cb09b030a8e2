package cmbo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
)

// A cost that is the same everywhere changes no proposal, bit for bit, whatever the run, known
// beforehand or told; nor does a budget in evaluations, up to its end.
func TestCostThatIsEqual(t *testing.T) {
	s, target, kinds := outputKinds(t)
	for name, opts := range kinds {
		for _, failing := range []bool{false, true} {
			if failing == (name != "default, failures") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				run := func(cost float64, more ...Option) ([]int, Step) {
					o := optimizerOf(t, s, append(slices.Clip(opts), more...)...)
					var rows []int
					for n := range 5 {
						ts := askN(t, o, 2)
						for i, trial := range ts {
							rows = append(rows, trial.Index)
							var out Outputs
							if cost > 0 {
								out = Outputs{"price": cost}
							}
							if failing && (2*n+i)%7 == 3 {
								require.NoError(t, o.TellFailed(trial.ID, out))
							} else {
								require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], out))
							}
						}
					}
					step, ok := o.LastStep()
					require.True(t, ok)
					return rows, step
				}
				want, plain := run(0)
				for _, of := range []struct {
					cost float64
					opts []Option
				}{
					{0, []Option{WithCost(func([]float64) float64 { return 2.5 })}},
					{0, []Option{WithCost(func([]float64) float64 { return 2.5 }), WithBudget(25)}},
					{0.1, []Option{WithOutput("price", AsCost()), WithBudget(1)}},
					{0, []Option{WithBudget(10)}},
				} {
					got, step := run(of.cost, of.opts...)
					assert.Equal(t, want, got)
					assert.Equal(t, plain.Mean, step.Mean)
				}
			})
		}
	}
}

// The score is the logarithm of the expected improvement, over the expected cost to the power
// of what is left, times the probability that the rest of the budget pays for it: by the
// process that was told the logarithms of the costs, of failures too.
func TestCostAgainstBruteForce(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 1, 30)
	task := tasks[0]
	seconds := task.Outputs["seconds"]
	var sum float64
	for _, v := range seconds {
		sum += v
	}
	budget := sum / 3
	o := optimizerOf(t, s, WithMinimize(), WithOutput("seconds", AsCost()), WithBudget(budget), WithCandidateCounts(1, 0))
	o.settings.Hedge = hierarchy.Hedge{} // no other judges
	spent, checked := 0.0, 0
	for spent < 0.9*budget {
		trial := ask(t, o)
		if step, ok := o.LastStep(); ok && step.Trial == trial.ID {
			checked++
			assert.InDelta(t, 1-spent/budget, step.CostPower, 1e-12)
			d := o.draft()
			d.h = d.h.Before(len(d.h.Events) - 1)
			m := o.outputs[0]
			f, ok, err := m.fit(ctx, d, true)
			require.NoError(t, err)
			require.True(t, ok)
			n := len(seconds)
			mean, sd := make([]float64, n), make([]float64, n)
			require.NoError(t, m.model.Predict(ctx, mean, sd, o.points))
			var logs []float64
			for _, tr := range d.h.Trials {
				if v, ok := tr.Outputs["seconds"]; ok {
					logs = append(logs, math.Log(v))
				}
			}
			var shift, scale float64
			for _, l := range logs {
				shift += l / float64(len(logs))
			}
			for _, l := range logs {
				scale += (l - shift) * (l - shift) / float64(len(logs))
			}
			scale = math.Sqrt(scale)
			assert.InEpsilon(t, scale, f.scale.Scale, 1e-6)
			var z []float64
			for _, ob := range d.h.Observations {
				z = append(z, -ob.Y)
			}
			best := slices.Max(ZScore.Apply(z))
			want := make([]float64, n)
			for i := range n {
				mu, s := shift+scale*mean[i], scale*math.Sqrt(sd[i]*sd[i]+m.model.noiseVariance())
				// The expectation of a log-normal cost, by the trapezoidal rule.
				var cost float64
				for u := -12.0; u < 12; u += 1.0 / 64 {
					cost += math.Exp(mu+s*u-u*u/2) / math.Sqrt(2*math.Pi) / 64
				}
				assert.InEpsilon(t, cost, step.Cost[i], 1e-5)
				u := (step.Mean[i] - best) / step.SD[i]
				pays := 0.5 * math.Erfc(-(math.Log(budget-spent)-mu)/s/math.Sqrt2)
				want[i] = math.Log(step.SD[i]*(u*math.Erfc(-u/math.Sqrt2)/2+math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))) - step.CostPower*math.Log(cost) +
					math.Log(pays)
				if i == step.Chosen {
					assert.GreaterOrEqual(t, pays, 0.5, "trial %d", trial.ID)
				}
				if p := step.Success; p != nil {
					want[i] += math.Floor(2+2*math.Sqrt(max(0, float64(d.h.Failures)-float64(d.h.Ended())/5))) * math.Log(p[i])
				}
			}
			// What all scores have in common makes no difference.
			at := slices.Index(want, slices.Max(want))
			for i := range n {
				if w := want[i] - want[at]; w > -25 {
					assert.InDelta(t, w, step.Scores[i]-step.Scores[at], 1e-4, "trial %d, row %d", trial.ID, i)
				}
			}
		}
		spent += seconds[trial.Index]
		if trial.ID == 3 {
			require.NoError(t, o.TellFailed(trial.ID, Outputs{"seconds": seconds[trial.Index]}))
			continue
		}
		require.NoError(t, o.Tell(trial.ID, task.Y[trial.Index], Outputs{"seconds": seconds[trial.Index]}))
	}
	assert.Greater(t, checked, 3)
	u := outlookOf(t, o)
	assert.InEpsilon(t, spent, u.Spent, 1e-12)
	assert.InEpsilon(t, budget-spent, u.Left, 1e-9)
	assert.Contains(t, u.String(), "the budget is spent")
}

// Of evaluations that all gain the same, as many fit into a budget as it holds their mean
// cost: the expectation of the cost ranks them rightly, that of its inverse would not.
func TestCostMoment(t *testing.T) {
	r := rng.Stream(1, t.Name())
	count := func(mu, sd float64) (n int) {
		for spent := 0.0; spent < 1e5; n++ {
			spent += math.Exp(mu + sd*r.NormFloat64())
		}
		return n
	}
	m := &outputModel{output: runlog.Output{Cost: true}}
	expected := func(mu, sd float64) float64 {
		f := outputFit{warp: scaling.Warp{Unit: 1}, scale: scaling.Values{Scale: 1}}
		m.model = consulted{normal{mu + math.Ln2, sd}}
		got := []float64{0}
		require.NoError(t, m.logCost(context.Background(), got, linalg.NewDense(1, 1, nil), &f))
		return math.Exp(got[0])
	}
	sure, unsure := count(0, 0), count(-0.2, 1)
	assert.Greater(t, sure, unsure)
	assert.InEpsilon(t, 1e5/float64(sure), expected(0, 0), 0.01)
	assert.InEpsilon(t, 1e5/float64(unsure), expected(-0.2, 1), 0.02)
	assert.Less(t, 1.0, math.Exp(0.2+0.5), "the inverse is expected to be larger")
	// A past that is learned without logarithms: a normal distribution's part above 0.
	for _, c := range [][2]float64{{3, 0.5}, {0.3, 1}, {-2, 1}, {-40, 1}} {
		m.model = consulted{normal{c[0], c[1]}}
		got := []float64{0}
		require.NoError(t, m.logCost(context.Background(), got, linalg.NewDense(1, 1, nil), &outputFit{scale: scaling.Values{Scale: 1}}))
		var sum, mass float64
		for v := 1e-4; v < 10; v += 2e-4 {
			w := math.Exp(-(v-c[0])*(v-c[0])/2/c[1]/c[1] + min(c[0], 0)*c[0]/2/c[1]/c[1])
			sum, mass = sum+v*w, mass+w
		}
		assert.InEpsilon(t, sum/mass, math.Exp(got[0]), 1e-5, c)
	}
}

// normal is a model of one mean and one deviation.
type normal struct{ mean, sd float64 }

func (n normal) NoiseVariance() float64          { return 0 }
func (n normal) Fit(context.Context, Data) error { return nil }
func (n normal) Predict(_ context.Context, mean, sd []float64, _ *linalg.Dense) error {
	mean[0], sd[0] = n.mean, n.sd
	return nil
}

// fallible is a model that lists what it is asked, and of which one call fails.
type fallible struct {
	normal
	calls []string
	fails int // the number of the call
}

var errFallible = errors.New("no longer")

func (m *fallible) call(name string) error {
	m.calls = append(m.calls, name)
	if len(m.calls)-1 == m.fails {
		return errFallible
	}
	return nil
}
func (m *fallible) Fit(_ context.Context, d Data) error {
	n, _ := d.Pending.Dims()
	return m.call(fmt.Sprintf("fit %d", n))
}
func (m *fallible) Bind(context.Context, *linalg.Dense) error { return m.call("bind") }
func (m *fallible) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	n, _ := x.Dims()
	for i := range n {
		mean[i], sd[i] = m.mean, m.sd
	}
	return m.call(fmt.Sprintf("predict %d", n))
}

// A requirement has its model learn a log once, asks it for as much as it needs of each list of points, has it prepare for
// the candidates of a list and for no other points, and passes the first error on, without asking further.
func TestRequirementsAsk(t *testing.T) {
	ctx := context.Background()
	s, _ := encoded(t, 1, 30)
	o := optimizerOf(t, s, WithOutput("seconds", AsCost(), AtMost(5)), WithBudget(100))
	ts := askN(t, o, 3)
	for i, trial := range ts[:2] {
		require.NoError(t, o.Tell(trial.ID, 1, Outputs{"seconds": float64(3 + i)}))
	}
	d := o.draft()
	require.Len(t, o.outputs, 1, "one, that has a limit and is the cost")
	known := optimizerOf(t, s, WithCost(func([]float64) float64 { return 1 }))
	require.Empty(t, known.outputs)
	m := o.outputs[0]
	for _, c := range []struct {
		r       requirement
		x       *linalg.Dense
		pending bool
		learns  []string
		asks    []string
	}{
		{m, o.points, true, []string{"fit 1"}, []string{"bind", "predict 30"}},
		{m, d.h.EncodedPending(), false, []string{"fit 0"}, []string{"predict 1"}},
		{&costRequirement{m}, o.points, true, []string{"fit 1", "predict 1"}, []string{"bind", "predict 30", "predict 30"}},
		{&costRequirement{m}, o.points, false, []string{"fit 0"}, []string{"bind", "predict 30", "predict 30"}},
		{&costRequirement{m}, d.h.EncodedPending(), true, []string{"fit 1", "predict 1"}, []string{"predict 1", "predict 1"}},
	} {
		want := slices.Concat(c.learns, c.asks, c.asks)
		for fails := range len(want) + 1 {
			model := &fallible{normal: normal{0, 1}, fails: fails}
			m.model = consulted{model}
			at := c.r.factor(ctx, d, c.pending)
			f, err := at(c.x)
			if err == nil {
				var again factor
				if again, err = at(c.x); err == nil {
					require.Equal(t, f, again)
				}
			}
			if fails == len(want) {
				require.NoError(t, err)
				assert.Zero(t, slices.Max(f.log), "what all have in common makes no difference")
				if f.output != "" { // the values 3 and 4 have the mean and the deviation of the model
					warp := scaling.ChooseWarp(0, []float64{3, 4}).Apply
					assert.InDelta(t, special.NormCDF((2*warp(5)-warp(3)-warp(4))/(warp(4)-warp(3))), f.p[0], 1e-12)
				}
				assert.Equal(t, want, model.calls)
				continue
			}
			assert.ErrorIs(t, err, errFallible, "call %d", fails)
			assert.Equal(t, want[:fails+1], model.calls)
		}
	}
}

// What is spent is what trials told and failed have cost, and what open ones do where that
// is known beforehand; then Ask says that nothing is left, whatever the store.
func TestBudget(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 1, 30)
	spent := func(o *Optimizer) float64 {
		v, err := o.draft().spent()
		require.NoError(t, err)
		return v
	}
	var journal bytes.Buffer
	write := WithJournal(func(lines []byte) error { journal.Write(lines); return nil })
	o := optimizerOf(t, s, write, WithOutput("seconds", AsCost(), Optional()), WithBudget(10))
	ts := askN(t, o, 6)
	require.NoError(t, o.Observe([]float64{0.5, 0.5}, 1, Outputs{"seconds": 100}))
	require.NoError(t, o.Tell(ts[0].ID, 1, Outputs{"seconds": 3}))
	require.NoError(t, o.TellFailed(ts[2].ID))
	assert.Equal(t, 6.0, spent(o), "as much as the only other one")
	require.NoError(t, o.TellFailed(ts[1].ID, Outputs{"seconds": 2}))
	assert.Equal(t, 7.5, spent(o), "the mean of the others")
	require.NoError(t, o.Cancel(ts[3].ID))
	assert.Equal(t, 7.5, spent(o))
	_, err := o.Ask(ctx)
	require.ErrorIs(t, err, ErrBudget)
	require.ErrorContains(t, err, "the budget pays for no more: 2.5 of 10 are left, less what 2 open trials will cost, and every candidate is likely to cost more", "which are expected to cost as much")
	require.NoError(t, o.Tell(ts[4].ID, 2, Outputs{"seconds": 2.5}))
	assert.Equal(t, 10.0, spent(o))
	again, _, err := RestoreJournal(bytes.NewReader(journal.Bytes()))
	require.NoError(t, err)
	for _, o := range []*Optimizer{o, again} {
		_, err = o.Ask(ctx)
		assert.ErrorIs(t, err, ErrBudget)
		assert.ErrorContains(t, err, "the budget pays for no more: 10 of 10 are spent")
		assert.Len(t, o.Open(), 1)
		u := outlookOf(t, o)
		assert.Zero(t, u.Left)
		assert.Contains(t, u.String(), "the budget is spent: 10 of 10")
	}
	require.NoError(t, o.Tell(ts[5].ID, 2, Outputs{"seconds": 8}), "what is under way may end")
	_, err = o.Ask(ctx)
	assert.ErrorContains(t, err, "19.375 of 10", "with the mean for the third")

	// Of less than any evaluation costs nothing is spent, and no candidate was asked whether it holds a limit.
	o = optimizerOf(t, s, WithOutput("seconds", AtMost(5)), WithCost(func([]float64) float64 { return 2 }), WithBudget(1))
	_, err = o.Ask(ctx)
	require.EqualError(t, err, "cmbo: the budget pays for no more: 1 of 1 are left, and every candidate is likely to cost more")
	u := outlookOf(t, o)
	require.Equal(t, "no value holds the limits yet, and no candidate may be proposed; 0 of the budget of 1 is spent", u.String())

	// In evaluations.
	o = optimizerOf(t, s, WithBudget(4))
	ts = askN(t, o, 9)
	assert.Len(t, ts, 4)
	_, err = o.Ask(ctx)
	assert.ErrorIs(t, err, ErrBudget)
	require.NoError(t, o.Cancel(2))
	_, err = o.Ask(ctx)
	assert.NoError(t, err)

	// Known beforehand: no proposal of a model passes the budget, and what costs less comes
	// first.
	cost := func(x []float64) float64 { return math.Exp(3 * x[0]) }
	for _, with := range []Option{WithInitial(0), WithMinimize()} {
		o = optimizerOf(t, s, WithCost(cost), WithBudget(60), WithMinimize(), with)
		var total float64
		for {
			trial, err := o.Ask(ctx)
			if err != nil {
				assert.ErrorIs(t, err, ErrBudget)
				assert.ErrorContains(t, err, "every candidate is likely to cost more")
				break
			}
			total += cost(trial.X)
			require.NoError(t, o.Tell(trial.ID, tasks[0].Y[trial.Index]))
		}
		assert.LessOrEqual(t, total, 60.0)
		assert.InEpsilon(t, total, spent(o), 1e-12)
		left := math.Inf(1)
		for _, r := range o.draft().free() {
			left = min(left, cost(o.rows[r]))
		}
		assert.Greater(t, left, 60-total)
	}
	// In a space without a list.
	box := spaceOf(t, LogFloat("a", 1, 1000), Float("b", 0, 1))
	o = optimizerOf(t, box, WithCost(func(x []float64) float64 { return x[0] }), WithBudget(1e4))
	for range 7 {
		trial := ask(t, o)
		require.NoError(t, o.Tell(trial.ID, trial.X[1]))
	}
	step, ok := o.LastStep()
	require.True(t, ok)
	for i, x := range step.Candidates {
		assert.InEpsilon(t, x[0], step.Cost[i], 1e-9)
	}
}

// An evaluation that was stopped and goes on costs what it costs once, where that is known beforehand: one of those that a
// budget pays for, or the cost of its point. While no trial goes on with it, or that one was cancelled, it counts as well,
// and so it does where the checkpoint was lost and the other began anew.
func TestBudgetOfEvaluationsThatGoOn(t *testing.T) {
	ctx := context.Background()
	s, _ := encoded(t, 1, 30)
	for _, opts := range [][]Option{nil, {WithCost(func([]float64) float64 { return 1 })}} {
		o := optimizerOf(t, s, append(opts, WithCheckpoints(), WithBudget(3))...)
		spent := func() float64 {
			v, err := o.draft().spent()
			require.NoError(t, err)
			return v
		}
		first := ask(t, o)
		_, err := o.Report(ctx, first.ID, 1, 0.5)
		require.NoError(t, err)
		require.NoError(t, o.TellStopped(ctx, first.ID))
		for i := range 2 {
			require.Equal(t, 1.0, spent())
			require.NoError(t, o.Enqueue(first.X))
			again := ask(t, o)
			require.Equal(t, first.ID, again.Resumes)
			require.Equal(t, 1.0, spent())
			if i == 0 {
				require.NoError(t, o.Cancel(again.ID))
			} else {
				require.NoError(t, o.Tell(again.ID, 0.7))
			}
		}
		require.Equal(t, 1.0, spent())
		ts := askN(t, o, 2)
		require.Equal(t, 3.0, spent())
		require.NoError(t, o.Cancel(ts[1].ID))
		_, err = o.Report(ctx, ts[0].ID, 1, 0.5)
		require.NoError(t, err)
		require.NoError(t, o.TellStopped(ctx, ts[0].ID))
		require.NoError(t, o.Enqueue(ts[0].X))
		anew := ask(t, o)
		require.Equal(t, 2.0, spent())
		_, err = o.Report(ctx, anew.ID, 1, 0.5)
		require.NoError(t, err)
		require.Equal(t, ts[0].ID, anew.Resumes)
		require.Equal(t, 3.0, spent())
	}
}

// Whoever chooses, no proposal costs more than what is left where costs are known beforehand, and
// none is refused as long as a candidate is affordable.
func TestBudgetIsKept(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 6, 40)
	target := tasks[5]
	prior := priorOf(t, s, tasks[:5], WithMinimize())
	cost := func(x []float64) float64 { return math.Exp(3 * x[0]) }
	for name, kind := range map[string][]Option{
		"prior":        {WithPrior(prior)},
		"model alone":  {WithInitial(0)},
		"design":       {},
		"UCB":          {WithPrior(prior), WithAcquisition(UCB(3))},
		"hopeless":     {WithPrior(prior), WithOutput("seconds", AtMost(1e-3))},
		"half hold it": {WithInitial(0), WithOutput("seconds", AtMost(quantile(target.Outputs["seconds"], 0.5)))},
	} {
		for _, budget := range []float64{1.1, 1.5, 2, 3, 5, 10, 30} {
			for _, fails := range []bool{false, true} {
				o := optimizerOf(t, s, append([]Option{WithCost(cost), WithBudget(budget)}, kind...)...)
				for left := budget; ; {
					least := math.Inf(1)
					d := o.draft()
					for _, r := range d.free() {
						least = min(least, cost(d.rows[r]))
					}
					trial, err := o.Ask(ctx)
					if least > left {
						require.ErrorIs(t, err, ErrBudget, "%s, %g of %g left", name, left, budget)
						break
					}
					require.NoError(t, err, "%s, %g of %g left", name, left, budget)
					c := cost(trial.X)
					require.LessOrEqual(t, c, left, "%s, trial %d of a budget of %g", name, trial.ID, budget)
					left -= c
					if fails {
						require.NoError(t, o.TellFailed(trial.ID))
						continue
					}
					var out Outputs
					if len(o.config.outputs) > 0 {
						out = Outputs{"seconds": target.Outputs["seconds"][trial.Index]}
					}
					require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], out))
				}
			}
		}
	}
	// The design of a space without a list, which passes over what is too dear.
	box := spaceOf(t, LogFloat("a", 1, 1000), Float("b", 0, 1))
	run := func(opts ...Option) (rows [][]float64) {
		o := optimizerOf(t, box, append(opts, WithInitial(12))...)
		for range 12 {
			trial, err := o.Ask(ctx)
			if err != nil {
				require.ErrorIs(t, err, ErrBudget)
				break
			}
			rows = append(rows, trial.X)
		}
		return rows
	}
	first := WithCost(func(x []float64) float64 { return x[0] })
	all := run(first)
	require.Equal(t, all, run(first, WithBudget(12e3)), "what is affordable is as it is without a budget")
	require.Greater(t, all[0][0]+all[1][0], 8.0, "a point has to be passed over")
	left := 8.0
	for _, x := range run(first, WithBudget(left)) {
		require.LessOrEqual(t, x[0], left)
		left -= x[0]
	}
	require.Less(t, left, 1.1, "the design spends what it can")
}

// A design of a run that knows something of costs has only candidates that are as likely as not
// to be paid for, by what the past and the values told let expect.
func TestDesignOfForetoldCosts(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 6, 40)
	prior := priorOf(t, s, tasks[:5], WithMinimize())
	target := tasks[5]
	seconds := target.Outputs["seconds"]
	budget := quantile(seconds, 0.25)
	begin := func(more ...Option) *Optimizer {
		o := optimizerOf(t, s, append(more, WithPrior(prior), WithInitial(9), WithOutput("seconds", AsCost()))...)
		for r := range 4 { // which costs nothing
			require.NoError(t, o.Observe(target.X[r], target.Y[r], Outputs{"seconds": seconds[r]}))
		}
		return o
	}
	want := ask(t, begin())
	o := begin(WithBudget(budget))
	d, m := o.draft(), o.outputs[0]
	f, ok, err := m.fit(ctx, d, false)
	require.NoError(t, err)
	require.True(t, ok)
	p := make([]float64, 40)
	require.NoError(t, m.model.logWithin(ctx, p, o.points, math.Inf(-1), f.to(budget)))
	require.Less(t, math.Exp(p[want.Index]), 0.5, "the plain design goes on with what is too dear")
	got := ask(t, o)
	at := o.space.EncodeAll([][]float64{o.designRow(d.h.Started())}).Row(0)
	for _, r := range d.free() {
		if math.Exp(p[r]) >= 0.5 {
			assert.GreaterOrEqual(t, linalg.SqDist(o.points.Row(r), at), linalg.SqDist(o.points.Row(got.Index), at))
		}
	}
	assert.GreaterOrEqual(t, math.Exp(p[got.Index]), 0.5)
	assert.Less(t, seconds[got.Index], 1.5*budget)
}

// Trials that end by what they report have a cost too: one that was stopped that which is told,
// which the model of whole evaluations does not learn from, and else the mean of the others, as
// one that failed by a value that is no number. A run of such trials can be restored.
func TestBudgetOfReportedEnds(t *testing.T) {
	ctx := context.Background()
	s, _ := encoded(t, 1, 30)
	for _, checkpoints := range []bool{false, true} {
		var journal bytes.Buffer
		opts := []Option{WithOutput("seconds", AsCost()), WithOutput("parts", AtMost(3)), WithBudget(100)}
		if checkpoints {
			opts = append(opts, WithCheckpoints())
		}
		o := optimizerOf(t, s, append(opts, WithJournal(func(lines []byte) error { journal.Write(lines); return nil }))...)
		ts := askN(t, o, 5)
		require.NoError(t, o.Tell(ts[0].ID, 1, Outputs{"seconds": 6, "parts": 2}))
		for _, trial := range ts[1:4] {
			_, err := o.Report(ctx, trial.ID, 1, 0.5)
			require.NoError(t, err)
		}
		assert.ErrorIs(t, o.TellStopped(ctx, ts[1].ID, Outputs{"parts": 1}), ErrOutput, "the cost is missing")
		assert.ErrorIs(t, o.TellStopped(ctx, ts[1].ID, Outputs{"seconds": -1}), ErrOutput)
		assert.ErrorIs(t, o.TellStopped(ctx, ts[1].ID, Outputs{"second": 1}), ErrOutput)
		assert.ErrorIs(t, o.TellStopped(ctx, ts[1].ID, Outputs{"seconds": 1}, Outputs{"parts": 1}), ErrOption)
		require.NoError(t, o.TellStopped(ctx, ts[1].ID, Outputs{"seconds": 2}))
		require.NoError(t, o.TellStopped(ctx, ts[2].ID))
		p, err := o.Report(ctx, ts[3].ID, 2, math.NaN())
		require.NoError(t, err)
		assert.True(t, p.Diverged)

		restored := restored(t, o)
		again, _, err := RestoreJournal(bytes.NewReader(journal.Bytes()))
		require.NoError(t, err)
		for _, o := range []*Optimizer{o, restored, again} {
			u := outlookOf(t, o)
			assert.Equal(t, 16.0, u.Spent, "6 and 2, and twice their mean")
			_, costs := o.draft().h.EncodedOutput("seconds")
			assert.Equal(t, []float64{6}, costs)
		}
	}
}

// What a resumed evaluation has cost is the sum over its trials, for models, limits, Calibration, Task and a restored run;
// a part that is not known leaves the whole unknown, and one that was lost is none. The budget counts each part once.
func TestCostOfResumed(t *testing.T) {
	ctx := context.Background()
	s, err := NewSpace(Float("x", 0, 1))
	require.NoError(t, err)
	s = listOf(t, s, [][]float64{{0}, {0.25}, {0.5}, {0.75}, {1}})
	for name, c := range map[string]struct {
		first  Outputs
		begins int // step of the first report after each stop, 0 for none
		whole  float64
		fails  bool
	}{
		"told": {Outputs{"seconds": 50}, 4, 65, false}, "unreported": {Outputs{"seconds": 50}, 0, 65, false}, "failed": {Outputs{"seconds": 50}, 4, 65, true},
		"unknown": {nil, 4, math.NaN(), false}, "lost": {Outputs{"seconds": 50}, 1, 10, false}, "lost, not told": {nil, 1, 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			var journal bytes.Buffer
			o, err := New(s, WithOutput("seconds", AsCost(), AtMost(64)), WithBudget(1000), WithCheckpoints(),
				WithJournal(func(lines []byte) error { journal.Write(lines); return nil }))
			require.NoError(t, err)
			for i, x := range []float64{0, 1} {
				require.NoError(t, o.Observe([]float64{x}, float64(i), Outputs{"seconds": 60 + 2*float64(i)}))
			}
			var id int
			for i, part := range []Outputs{c.first, {"seconds": 5}, {"seconds": 10}} {
				require.NoError(t, o.Enqueue([]float64{0.5}))
				trial := ask(t, o)
				require.Equal(t, id, trial.Resumes)
				id = trial.ID
				if step := 1 + i*(c.begins-1); step > 0 {
					_, err := o.Report(ctx, id, step, 1)
					require.NoError(t, err)
				}
				switch {
				case i < 2 && part == nil:
					require.NoError(t, o.TellStopped(ctx, id))
				case i < 2:
					if c.begins == 0 && i > 0 {
						_, err := o.Report(ctx, id, 2, 1)
						require.NoError(t, err)
					}
					require.NoError(t, o.TellStopped(ctx, id, part))
				case c.fails:
					require.NoError(t, o.TellFailed(id, part))
				default:
					require.NoError(t, o.Tell(id, 3, part))
				}
			}
			back, _, err := RestoreJournal(bytes.NewReader(journal.Bytes()))
			require.NoError(t, err)
			for _, o := range []*Optimizer{o, back} {
				_, costs := o.draft().h.EncodedOutput("seconds")
				want := []float64{60, 62}
				if !math.IsNaN(c.whole) {
					want = append(want, c.whole)
				}
				assert.Equal(t, want, costs)
				task := taskOf(t, o, "it")
				column := append(slices.Clone(task.Outputs["seconds"]), task.FailedOutputs["seconds"]...)
				assert.True(t, slices.EqualFunc(column, []float64{60, 62, c.whole}, func(a, b float64) bool { return a == b || a != a && b != b }), "%v", column)
				u := outlookOf(t, o)
				if spent := 15 + c.first["seconds"]; c.first != nil {
					assert.Equal(t, spent, u.Spent)
				}
				if c.fails {
					continue
				}
				best, ok := o.Best()
				require.True(t, ok)
				assert.Equal(t, c.whole <= 64, best.Y == 3, "the limit holds of the whole")
				k := calibrate(t, o)
				if f := k.Outputs["seconds"].Forecasts; c.whole == 65 {
					assert.Equal(t, scaling.LogWarp([]float64{60, 62}).Apply(65), f[len(f)-1].Y, "of the whole")
				}
			}
		})
	}
}

// One stop is enough for a whole that has parts, which has the steps of both.
func TestResumedOnce(t *testing.T) {
	ctx := context.Background()
	s := spaceOf(t, Float("x", 0, 1))
	o := optimizerOf(t, s, WithOutput("seconds", AsCost()), WithCheckpoints())
	for i, part := range []float64{50, 10} {
		require.NoError(t, o.Enqueue([]float64{0.5}))
		trial := ask(t, o)
		_, err := o.Report(ctx, trial.ID, i, 1)
		require.NoError(t, err)
		if i == 0 {
			require.NoError(t, o.TellStopped(ctx, trial.ID, Outputs{"seconds": part}))
		} else {
			require.NoError(t, o.Tell(trial.ID, 3, Outputs{"seconds": part}))
		}
	}
	require.Equal(t, Outputs{"seconds": 60}, o.Observations()[0].Outputs)
	task := taskOf(t, o, "it")
	require.Equal(t, []Curve{{Steps: []int{0, 1}, Values: []float64{1, 1}}}, task.Curves, "what both have shown")
}

// A run that goes on after a restart proposes what it would have, with a cost told or known;
// so does one whose costs are in another unit.
func TestCostRestored(t *testing.T) {
	s, tasks := encoded(t, 6, 40)
	prior := priorOf(t, s, tasks[:5], WithMinimize())
	target := tasks[5]
	cost := WithCost(func(x []float64) float64 { return math.Exp(2 * x[0]) })
	for name, c := range map[string]struct {
		opts, again []Option
		unit        float64
	}{
		"told":         {[]Option{WithMinimize(), WithOutput("seconds", AsCost())}, nil, 1},
		"told, past":   {[]Option{WithPrior(prior), WithOutput("seconds", AsCost())}, []Option{WithPrior(prior)}, 1},
		"told, limit":  {[]Option{WithPrior(prior), WithOutput("seconds", AsCost(), AtMost(quantile(target.Outputs["seconds"], 0.5)))}, []Option{WithPrior(prior)}, 1},
		"known":        {[]Option{WithPrior(prior), cost}, []Option{WithPrior(prior), cost}, 0},
		"milliseconds": {[]Option{WithMinimize(), WithOutput("seconds", AsCost())}, nil, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(unit float64, restart bool) (rows []int) {
				o := optimizerOf(t, s, append(slices.Clip(c.opts), WithBudget(100*max(unit, 1)))...)
				for range 6 {
					ts := askN(t, o, 2)
					for _, trial := range ts {
						rows = append(rows, trial.Index)
						var out Outputs
						if unit > 0 {
							out = Outputs{"seconds": unit * target.Outputs["seconds"][trial.Index]}
						}
						if trial.Index%5 == 0 {
							require.NoError(t, o.TellFailed(trial.ID, out))
						} else {
							require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], out))
						}
					}
					if restart {
						o = restored(t, o, c.again...)
					}
				}
				x := explain(t, o, 12)
				assert.Contains(t, x.String(), "over an expected cost of")
				return rows
			}
			want := run(min(c.unit, 1), false)
			assert.Equal(t, want, run(c.unit, true))
		})
	}
}

// What is refused, with names and numbers, changes nothing.
func TestCostErrors(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 3, 10)
	o := optimizerOf(t, s, WithOutput("seconds", AsCost()), WithOutput("parts", AtLeast(0)))
	trial := ask(t, o)
	for text, out := range map[string]Outputs{
		`output "seconds" is missing`:                         {"parts": 1},
		`output "seconds" is a cost, and 0 is not positive`:   {"parts": 1, "seconds": 0},
		`output "seconds" is a cost, and -2 is not positive`:  {"parts": 1, "seconds": -2},
		`output "seconds": value NaN`:                         {"parts": 1, "seconds": math.NaN()},
		`output "second" is none of the run's, ["parts" "sec`: {"parts": 1, "seconds": 2, "second": 3},
	} {
		for _, err := range []error{o.Tell(trial.ID, 1, out), o.TellFailed(trial.ID, out)} {
			assert.ErrorContains(t, err, text)
		}
	}
	assert.ErrorIs(t, o.TellFailed(trial.ID), ErrOutput)
	assert.ErrorIs(t, o.TellFailed(trial.ID, Outputs{"seconds": 1}, Outputs{"parts": 1}), ErrOption)
	assert.Len(t, o.Open(), 1)
	require.NoError(t, o.TellFailed(trial.ID, Outputs{"seconds": 2}), "a failure may lack other outputs")

	one := func([]float64) float64 { return 1 }
	zero := tasks[0]
	zero.Outputs = map[string][]float64{"seconds": make([]float64, len(zero.Y))}
	zero.Outputs["seconds"][3] = -1
	none := priorOf(t, s, []Task{zero})
	for text, opts := range map[string][]Option{
		`outputs "a" and "b" are both the cost`:              {WithOutput("b", AsCost()), WithOutput("a", AsCost())},
		`at most 0 leaves no room`:                           {WithOutput("a", AsCost(), AtMost(0))},
		`WithCost contradicts output "a", which is the cost`: {WithOutput("a", AsCost()), WithCost(one)},
		`a nil cost`: {WithCost(nil)},
		`a budget of 0, which is not positive and finite`:    {WithBudget(0)},
		`a budget of +Inf, which is not positive and finite`: {WithBudget(math.Inf(1))},
		`no value of output "seconds" of past tasks is pos`:  {WithPrior(none), WithOutput("seconds", AsCost())},
	} {
		_, err := New(s, opts...)
		assert.ErrorContains(t, err, text)
	}
	_, err := New(s, WithPrior(none), WithOutput("seconds", AtMost(3)))
	assert.NoError(t, err, "only a cost has to be positive")
	// Of values that are learned as they are those can be told from 0 that are not below 1e-12 of
	// the largest, whatever their unit.
	for _, c := range []struct {
		least, unit float64
		missing     int
	}{{1e-5, 1e8, 1}, {1e-2, 1e8, 0}, {1e-13, 1e-8, 0}} {
		far := tasks[1]
		far.Outputs = map[string][]float64{"seconds": slices.Clone(tasks[1].Outputs["seconds"])}
		for i := range far.Outputs["seconds"] {
			far.Outputs["seconds"][i] = c.unit * float64(10+i)
		}
		far.Outputs["seconds"][3] = c.least
		q := priorOf(t, s, []Task{far})
		require.Zero(t, q.output("seconds").warp.Unit)
		o := optimizerOf(t, s, WithPrior(q), WithOutput("seconds", AsCost()))
		assert.Equal(t, 10-c.missing, len(o.outputs[0].past.model.Tasks()[0].Z), "%g", c.least)
	}
	_, err = New(s, WithCost(one), WithBudget(0.25))
	assert.NoError(t, err)
	o = optimizerOf(t, s, WithInitial(0), WithCost(func([]float64) float64 { return 0.25 }))
	_, err = o.Ask(ctx)
	assert.NoError(t, err)

	// What a list costs is asked at once, what other points cost when they may be proposed.
	for _, tt := range []struct {
		cost func(x []float64) float64
		says string
	}{
		{func([]float64) float64 { return 0 }, "is 0, which is not positive and finite"},
		{func(x []float64) float64 { return x[0] - 10 }, "the cost of a="},
		{func([]float64) float64 { panic("no price") }, "no price"},
	} {
		_, err = New(s, WithCost(tt.cost))
		assert.ErrorContains(t, err, tt.says)
		assert.Equal(t, tt.says == "no price", errors.As(err, new(*PanicError)))
		o = optimizerOf(t, s.WithoutCandidates(), WithInitial(0), WithCost(tt.cost))
		_, err = o.Ask(ctx)
		assert.ErrorContains(t, err, tt.says)
	}

	var b bytes.Buffer
	o = optimizerOf(t, s, WithCost(one))
	require.NoError(t, o.Snapshot(&b))
	_, err = Restore(bytes.NewReader(b.Bytes()))
	assert.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, "WithCost")
	state, err := openSnapshot(b.Bytes())
	require.NoError(t, err)
	budget := -1.0
	state.Options.Budget = &budget
	_, err = state.Options.restore(&runConfig{cost: one})
	assert.ErrorIs(t, err, ErrCorrupt)
	for text, opt := range map[string]CheckOption{"WithBudget, and Check counts": WithBudget(3), "WithCost, and Check counts": WithCost(one), `output "seconds" as the cost`: WithOutput("seconds", AsCost())} {
		_, err = Check(ctx, s, tasks, opt)
		assert.ErrorContains(t, err, text)
	}
}

// What open trials are expected to cost counts as spent.
func TestBudgetOfOpenTrials(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 6, 40)
	prior := priorOf(t, s, tasks[:5], WithMinimize())
	o := optimizerOf(t, s, WithPrior(prior), WithOutput("seconds", AsCost()), WithBudget(300))
	var powers []float64
	for range 3 {
		ask(t, o)
		step, ok := o.LastStep()
		require.True(t, ok)
		powers = append(powers, step.CostPower)
	}
	// By the model of what is open, in any unit: until nothing is left.
	for _, unit := range []float64{1e-3, 1} {
		o := optimizerOf(t, s, WithOutput("seconds", AsCost()), WithBudget(unit*100))
		for _, v := range []float64{11, 13} {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, v, Outputs{"seconds": unit * v}))
		}
		askN(t, o, 2)
		r, d := o.outputs[0], o.draft()
		f, ok, err := r.fit(ctx, d, true)
		require.NoError(t, err)
		require.True(t, ok)
		expected := make([]float64, 2)
		require.NoError(t, r.logCost(ctx, expected, d.h.EncodedPending(), &f))
		open := math.Exp(expected[0]) + math.Exp(expected[1])
		require.InDelta(t, 24*unit, open, 6*unit)
		g, err := (&costRequirement{r}).factor(ctx, d, true)(o.points)
		require.NoError(t, err)
		assert.InDelta(t, 0.76-open/unit/100, g.costPower, 1e-12)
		assert.Zero(t, slices.Max(g.log), "what all have in common makes no difference")
		for i, l := range g.log {
			assert.InDelta(t, math.Exp(l), g.p[i], 1e-15)
		}
		d.config.budget = 30 * unit
		g, err = (&costRequirement{r}).factor(ctx, d, true)(o.points)
		require.NoError(t, err)
		assert.Zero(t, g.costPower)
	}
	// No more are open at a time than the budget is expected to pay for.
	o = optimizerOf(t, s, WithPrior(prior), WithOutput("seconds", AsCost()), WithBudget(60))
	ts := askN(t, o, 30)
	r, d := o.outputs[0], o.draft()
	f, _, err := r.fit(ctx, d, true)
	require.NoError(t, err)
	open := make([]float64, len(ts))
	require.NoError(t, r.logCost(ctx, open, d.h.EncodedPending(), &f))
	assert.InDelta(t, 60, stat.Sum(each.Of(open, math.Exp)), 20)
	assert.Less(t, len(ts), 30)
	_, err = o.Ask(ctx)
	assert.ErrorIs(t, err, ErrBudget)
	for _, trial := range ts[1:] {
		require.NoError(t, o.Cancel(trial.ID))
	}
	_, err = o.Ask(ctx)
	assert.NoError(t, err)

	assert.Equal(t, 1.0, powers[0])
	assert.Less(t, powers[1], 0.97, "one costs some 15")
	assert.Less(t, powers[2], powers[1]-0.02)
	assert.Greater(t, powers[2], 0.7)
}

// What an open trial costs is asked for its row as it was proposed, not for what its place in the
// cube decodes to.
func TestCostOfProposedRow(t *testing.T) {
	s := spaceOf(t, LogFloat("rate", 1e-5, 1), Float("share", 0.1, 0.7))
	o := optimizerOf(t, s, WithInitial(12), WithCost(func(x []float64) float64 { return x[0] }))
	for i := range 12 {
		require.NoError(t, o.Enqueue([]float64{0.3 / float64(7+i), 0.2}))
	}
	ts := askN(t, o, 12)
	d := o.draft()
	got, err := d.knownCosts(d.h.EncodedPending())
	require.NoError(t, err)
	other := 0
	for i, trial := range ts {
		assert.Equal(t, trial.X[0], got[i])
		back, err := s.Decode(d.h.EncodedPending().Row(i))
		require.NoError(t, err)
		if back[0] != trial.X[0] {
			other++
		}
	}
	require.Positive(t, other, "decoded rows differ by rounding")
}

// A cost that past tasks have is expected from the first question on, and is told of a slower
// machine by its first values: the expectation is that of what the warp makes of a normal distribution.
func TestCostOfPrior(t *testing.T) {
	ctx := context.Background()
	s, tasks := encoded(t, 6, 40)
	prior := priorOf(t, s, tasks[:5], WithMinimize())
	require.Positive(t, prior.output("seconds").warp.Unit, "learned in logarithms")
	o := optimizerOf(t, s, WithPrior(prior), WithOutput("seconds", AsCost()))
	target := tasks[5]
	for n := range 6 {
		trial := ask(t, o)
		step, ok := o.LastStep()
		require.True(t, ok)
		require.Len(t, step.Cost, 40)
		assert.Equal(t, 1.0, step.CostPower)
		if n == 5 {
			var sum float64
			for i, c := range step.Cost {
				l := math.Log(c / (50 * target.Outputs["seconds"][i]))
				assert.InDelta(t, 0, l, 0.75)
				sum += l / 40
			}
			assert.InDelta(t, 0, sum, 0.2)
		}
		require.NoError(t, o.Tell(trial.ID, target.Y[trial.Index], Outputs{"seconds": 50 * target.Outputs["seconds"][trial.Index]}))
	}
	m := o.outputs[0]
	f, ok, err := m.fit(ctx, o.draft(), false)
	require.NoError(t, err)
	require.True(t, ok)
	got, mean, sd := make([]float64, 40), make([]float64, 40), make([]float64, 40)
	require.NoError(t, m.logCost(ctx, got, o.points, &f))
	require.NoError(t, m.model.Predict(ctx, mean, sd, o.points))
	for i := range got {
		var want float64
		s := math.Sqrt(sd[i]*sd[i] + m.model.noiseVariance())
		for u := -12.0; u < 12; u += 1.0 / 64 {
			want += f.warp.Invert(mean[i]+s*u) * math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) / 64
		}
		assert.InEpsilon(t, want, math.Exp(got[i]), 1e-5, i)
	}
	for trial, want := range map[int]string{1: "over the expected cost to the power 1.00, whose unit is not known", 2: "over an expected cost of "} {
		x := explain(t, o, trial)
		assert.Contains(t, x.String(), want)
	}
	tr := transferOf(t, o)
	assert.Equal(t, 6, tr.Outputs["seconds"].Values)
	c := calibrate(t, o)
	assert.Len(t, c.Outputs["seconds"].Forecasts, 6)
	best, ok := o.Best()
	assert.True(t, ok, "a cost limits nothing")
	assert.Nil(t, best.Violations())
	r := recommend(t, o)
	assert.NotNil(t, r.X)
	u := outlookOf(t, o)
	// The largest improvement per cost is not that of the largest improvement.
	assert.GreaterOrEqual(t, u.PerCost, u.Next/u.Cost)
	assert.Contains(t, u.String(), fmt.Sprintf("%.4g is spent", u.Spent))
}

// TestPastValuesThatAreNoCosts: a cost is expected as if values that cannot be one, of seconds rounded down, had not been
// recorded, also after a prior was stored, and tasks of which nothing is left did not exist.
func TestPastValuesThatAreNoCosts(t *testing.T) {
	list, tasks := encoded(t, 4, 15)
	box := spaceOf(t, Float("a", 0, 1), Float("b", 0, 1))
	for _, s := range []*Space{box, list} {
		expected := func(p *Prior) (*Optimizer, []float64) {
			o := optimizerOf(t, s, WithPrior(p), WithOutput("seconds", AsCost()))
			ask(t, o)
			step, _ := o.LastStep()
			return o, step.Cost
		}
		learned := func(v float64) *Prior { // in place of a value, and of all of a task
			given := slices.Clone(tasks)
			for i, n := range map[int]int{1: 1, 3: 15} {
				seconds := slices.Clone(tasks[i].Outputs["seconds"])
				for k := range n {
					seconds[14-k] = v
				}
				given[i].Outputs = map[string][]float64{"seconds": seconds}
			}
			p := priorOf(t, s, given, WithIndexPoints(40))
			return p
		}
		_, want := expected(learned(math.NaN()))
		require.NotEmpty(t, want)
		for _, v := range []float64{0, -1} {
			past := learned(v)
			o, got := expected(past)
			require.Len(t, got, len(want))
			for i := range got {
				require.InEpsilon(t, want[i], got[i], 1e-6)
			}
			var b bytes.Buffer
			require.NoError(t, past.Encode(&b))
			p := decodePrior(t, &b)
			_, again := expected(p)
			require.Equal(t, got, again)
			b.Reset()
			require.NoError(t, o.Snapshot(&b))
			restored, err := Restore(&b, WithPrior(past))
			require.NoError(t, err)
			a := ask(t, o)
			r := ask(t, restored)
			require.Equal(t, a.X, r.X)
			assert.ErrorContains(t, o.Tell(1, 1, Outputs{"seconds": v}), "is a cost, and ")
		}
	}
}

// TestBudgetPaysExactly: a budget of so many equal costs pays for as many evaluations, however sums and logarithms round;
// one of evaluations pays for whole ones, and for what is enqueued as long as anything is left.
func TestBudgetPaysExactly(t *testing.T) {
	t.Parallel()
	testutil.SkipRace(t, "one goroutine asks for points of a design")
	ctx := context.Background()
	line := unitCube(t, 1)
	evaluations := func(opts ...Option) (n int, o *Optimizer) {
		o = optimizerOf(t, line, append(opts, WithInitial(40))...)
		for ; ; n++ {
			trial, err := o.Ask(ctx)
			if err != nil {
				require.ErrorIs(t, err, ErrBudget)
				return n, o
			}
			require.NoError(t, o.Tell(trial.ID, trial.X[0]))
		}
	}
	for _, c := range []float64{10, 0.1, 3, 7, 0.7, 1e-300, 1e300} {
		for n := 1; n <= 20; n++ {
			got, o := evaluations(WithCost(func([]float64) float64 { return c }), WithBudget(c*float64(n)))
			require.Equal(t, n, got, "%g", c)
			require.NoError(t, o.Enqueue([]float64{0.5}))
			_, err := o.Ask(ctx)
			require.ErrorIs(t, err, ErrBudget, "%g: nothing is left for what is enqueued", c)
		}
	}
	for budget, want := range map[float64]int{0.5: 0, 1: 1, 2.5: 2, 2.999: 2, 3: 3} {
		got, o := evaluations(WithBudget(budget))
		require.Equal(t, want, got)
		if budget == 2.5 {
			require.NoError(t, o.Enqueue([]float64{0.5}))
			ask(t, o)
		}
	}
}

// TestCostsToldEqual: as long as all costs told are equal, one of them or more, others are taken to be so, so that no
// batch is larger than the budget pays for.
func TestCostsToldEqual(t *testing.T) {
	line := unitCube(t, 1)
	for _, told := range []int{1, 7} {
		o := optimizerOf(t, line, WithOutput("seconds", AsCost()), WithBudget(100), WithInitial(3))
		for range told {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, trial.X[0], Outputs{"seconds": 10}))
		}
		u := outlookOf(t, o)
		require.True(t, u.Cost == 10 || told == 1 && math.IsNaN(u.Cost), "one value has no scale: %v", u)
		trials := askN(t, o, 40)
		require.Len(t, trials, 10-told)
	}
}
