package cmbo_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// A trial has the largest score of the candidates that were left, not of all.
func TestExplainCandidatesLeft(t *testing.T) {
	list, err := cmbo.Candidates([][]float64{{0}, {0.1}, {0.5}, {0.9}, {0.9}, {1}})
	require.NoError(t, err)
	o := newOptimizer(t, list, cmbo.WithAcquisition(cmbo.UCB(0)), cmbo.WithInitial(0))
	require.NoError(t, o.Observe([]float64{0}, 1))
	require.NoError(t, o.Observe([]float64{0.5}, 0))
	trial := ask(t, o)
	x := explain(t, o, trial.ID)
	require.Less(t, x.Step.Scores[x.Step.Chosen], x.Step.Scores[0])
	require.Contains(t, x.String(), " of 3 candidates; ")

	// The first of the list can be the one.
	o = newOptimizer(t, list, cmbo.WithAcquisition(cmbo.UCB(0)), cmbo.WithInitial(0))
	require.NoError(t, o.Observe([]float64{0.1}, 1))
	require.NoError(t, o.Observe([]float64{1}, 0))
	trial = ask(t, o)
	require.Zero(t, trial.Index)
	x = explain(t, o, trial.ID)
	require.Zero(t, x.Step.Chosen)

	// A point that is drawn again is one candidate.
	box := newSpace(t, cmbo.Int("n", 1, 60), cmbo.Int("m", 1, 60))
	o = newOptimizer(t, box, cmbo.WithInitial(0), cmbo.WithCandidateCounts(1000, 0))
	require.NoError(t, o.Observe([]float64{7, 7}, 1))
	trial = ask(t, o)
	x = explain(t, o, trial.ID)
	left := map[[2]float64]bool{}
	for _, row := range x.Step.Candidates {
		left[[2]float64(row)] = true
	}
	delete(left, [2]float64{7, 7})
	require.Less(t, len(left), 950)
	require.Contains(t, x.String(), fmt.Sprintf(" of %d candidates", len(left)))
}

// TestCandidatesOfSmallSpace: a step of a space of few points, all of which are scored, names them too.
func TestCandidatesOfSmallSpace(t *testing.T) {
	few := newSpace(t, cmbo.Int("n", 1, 12))
	o := newOptimizer(t, few, cmbo.WithInitial(0))
	trial := ask(t, o)
	step, ok := o.LastStep()
	require.True(t, ok)
	require.Len(t, step.Candidates, len(step.Scores))
	require.Equal(t, trial.X, step.Candidates[step.Chosen])
	x := explain(t, o, trial.ID)
	require.Equal(t, step, x.Step)
}

// What is said of a trial later, and after a restore, is what LastStep said at once,
// bit for bit, and to ask for it changes no proposal.
func TestExplain(t *testing.T) {
	list, rows := grid(t, 9)
	cube := unitCube(t, 2)
	past, f := kinds(6, 15)
	past[0].Failed = [][]float64{{0.1, 0.1}}
	hierarchical := learn(t, list, past, cmbo.WithIndexPoints(80))
	for _, c := range []struct {
		name  string
		space *cmbo.Space
		opts  []cmbo.Option
	}{
		{"hierarchical", list, []cmbo.Option{cmbo.WithPrior(hierarchical)}},
		{"cube", cube, []cmbo.Option{cmbo.WithPrior(hierarchical)}},
		{"no prior", cube, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOptimizer(t, c.space, append(c.opts, cmbo.WithCandidateCounts(100, 20), cmbo.WithInitial(2))...)
			silent := newOptimizer(t, c.space, append(c.opts, cmbo.WithCandidateCounts(100, 20), cmbo.WithInitial(2))...)
			require.NoError(t, o.Enqueue(rows[3]))
			require.NoError(t, silent.Enqueue(rows[3]))
			steps := make(map[int]cmbo.Step)
			transfers := make(map[int]cmbo.Transfer)
			// 1 is enqueued and 2 of the design; 5 and 6 are asked while 4 is open.
			play := func(o *cmbo.Optimizer, explains bool) (asked [][]float64) {
				var open []cmbo.Trial
				for i := 1; i <= 8; i++ {
					if i != 5 && i != 6 {
						transfers[i] = transferOf(t, o)
					}
					trial := ask(t, o)
					asked = append(asked, trial.X)
					if s, ok := o.LastStep(); ok {
						steps[i] = s
					}
					if open = append(open, trial); i == 4 || i == 5 {
						continue
					}
					if explains {
						explain(t, o, max(1, i-2))
						outlookOf(t, o)
					}
					for _, trial := range open {
						require.NoError(t, o.Tell(trial.ID, f(trial.X)))
					}
					open = nil
				}
				return asked
			}
			require.Equal(t, play(silent, false), play(o, true))
			restored := restored(t, o, c.opts...)
			for id := 1; id <= 8; id++ {
				x := explain(t, restored, id)
				again := explain(t, o, id)
				require.Equal(t, x.Step, again.Step)
				require.Equal(t, o.Observations()[id-1].X, x.Trial.X)
				if want, ok := transfers[id]; ok {
					require.Equal(t, want, x.Transfer)
				}
				want, modelled := steps[id]
				if !modelled {
					require.Equal(t, map[int]cmbo.Reason{1: cmbo.ReasonEnqueued, 2: cmbo.ReasonDesign}[id], x.Reason)
					require.Equal(t, c.name == "paper" || c.name == "no prior", math.IsNaN(x.Mean))
					require.Contains(t, x.String(), ": "+x.Reason.String())
					continue
				}
				require.Equal(t, cmbo.ReasonScore, x.Reason)
				require.Equal(t, want, x.Step, "trial %d", id)
				mean := want.Shift + want.Scale*want.Mean[want.Chosen]
				sd := want.Scale * want.SD[want.Chosen]
				if c.name == "no prior" { // what is told is wider than what scores
					predicted := (x.Quantiles.High - mean) / 1.6448536269514722
					require.Greater(t, predicted, 1.15*sd)
					require.Less(t, predicted, 2.2*sd)
					sd = predicted
				}
				require.InDelta(t, mean+1.6448536269514722*sd, x.Quantiles.High, 1e-9, "the best values are as far apart as they are")
				require.InDelta(t, x.Mean+1.6448536269514722*x.SD, x.Quantiles.High, 1e-9)
				require.LessOrEqual(t, x.Mean, mean+1e-9, "low ones are farther apart than the model sees them")
				require.Regexp(t, `: the largest (EI|EI without the past|distance from all points asked for) \(score `, x.String())
			}
			was := outlookOf(t, o)
			is := outlookOf(t, restored)
			require.Equal(t, was, is)
			_, err := o.Explain(ctx, 9)
			require.ErrorIs(t, err, cmbo.ErrUnknownTrial)
			_, err = o.Explain(ctx, 0)
			require.ErrorIs(t, err, cmbo.ErrUnknownTrial)
		})
	}
}

// What is expected of a point of the design counts open trials as evaluated.
func TestExplainDesign(t *testing.T) {
	list, rows := grid(t, 7)
	past, f := kinds(4, 10)
	o := newOptimizer(t, list, cmbo.WithPrior(learn(t, list, past, cmbo.WithIndexPoints(40))), cmbo.WithInitial(2))
	require.NoError(t, o.Observe(rows[10], f(rows[10])))
	require.NoError(t, o.Enqueue(rows[24]))
	require.NoError(t, o.Enqueue(rows[25]))
	askN(t, o, 2)
	for i, open := range []bool{false, true} {
		x := explain(t, o, 1+i)
		_, sd := predict(t, o, rows[24+i])
		require.InDelta(t, x.Mean, (x.Quantiles.Low+x.Quantiles.High)/2, 1e-9)
		if open {
			require.Less(t, x.SD, 0.9*sd)
		} else {
			require.InDelta(t, sd, x.SD, 1e-9)
		}
	}
}

// The outlook is the largest expected improvement in the user's units, by numerical
// integration, over the candidates that are left and the trials that are open.
func TestOutlook(t *testing.T) {
	list, rows := grid(t, 5)
	f := bump([]float64{0.6, 0.3})
	o := newOptimizer(t, list, cmbo.WithMinimize())
	u := outlookOf(t, o)
	require.True(t, math.IsNaN(u.Expected) && math.IsNaN(u.Most))
	drive(t, o, func(x []float64) float64 { return 30 - 20*f(x) }, 7)
	open := ask(t, o)
	u = outlookOf(t, o)

	best, _ := o.Best()
	done := make(map[[2]float64]bool)
	for _, ob := range o.Observations() {
		done[[2]float64(ob.X)] = true
	}
	require.False(t, done[[2]float64(open.X)])
	var next, most float64
	for _, x := range rows {
		if done[[2]float64(x)] {
			continue
		}
		mean, sd := predict(t, o, x)
		const steps = 4000
		var ei float64
		for i := range steps {
			z := -8 + 16*(float64(i)+0.5)/steps
			ei += math.Max(best.Y-mean-sd*z, 0) * math.Exp(-0.5*z*z) / math.Sqrt(2*math.Pi) * 16 / steps
		}
		next, most = max(next, ei), max(most, best.Y-mean+1.6448536269514722*sd)
	}
	require.InEpsilon(t, next, u.Expected, 1e-5)
	require.InEpsilon(t, most, u.Most, 1e-9)
	require.InDelta(t, o.Observations()[0].Y-best.Y, u.Gained, 1e-12)
	require.Contains(t, u.String(), "the next evaluation is expected to gain ")

	// Once nothing is left, nothing is to be gained.
	require.NoError(t, o.Tell(open.ID, f(open.X)))
	drive(t, o, f, 17)
	u = outlookOf(t, o)
	require.Zero(t, u.Next)
	require.Zero(t, u.Expected)
	require.Zero(t, u.Most)
}

// With limits, what is left at most is improved on with a chance of 5 % by a value that holds them.
func TestOutlookMostHolds(t *testing.T) {
	list, rows := grid(t, 6)
	f := bump([]float64{0.9, 0.3}) // beyond the limit
	o := newOptimizer(t, list, cmbo.WithOutput("size", cmbo.AtMost(0.5)))
	for k := range 9 {
		x := rows[(5*k)%36]
		require.NoError(t, o.Observe(x, f(x), cmbo.Outputs{"size": x[0]}))
	}
	best, ok := o.Best()
	require.True(t, ok)
	u := outlookOf(t, o)
	var mean, sd []float64
	for _, x := range rows {
		m, s := predict(t, o, x)
		mean, sd = append(mean, m), append(sd, s)
	}
	ask(t, o)
	step, ok := o.LastStep()
	require.True(t, ok)
	var most, unlimited float64
	for i, x := range rows {
		if slices.ContainsFunc(o.Observations(), func(ob cmbo.Observation) bool { return slices.Equal(ob.X, x) }) {
			continue
		}
		unlimited = max(unlimited, mean[i]+1.6448536269514722*sd[i]-best.Y)
		low, high := 0.0, 10.0
		for range 60 {
			m := (low + high) / 2
			if step.Holds["size"][i]*math.Erfc((best.Y+m-mean[i])/sd[i]/math.Sqrt2)/2 > 0.05 {
				low = m
			} else {
				high = m
			}
		}
		most = max(most, low)
	}
	require.InEpsilon(t, most, u.Most, 1e-6)
	require.Less(t, 1.4*most, unlimited)
}

// The hierarchical prior's outlook is the mean over its hypotheses, in the user's
// units, and failures count.
func TestOutlookOfPrior(t *testing.T) {
	list, _ := grid(t, 7)
	past, f := kinds(6, 15)
	prior := learn(t, list, past, cmbo.WithIndexPoints(60))
	o := newOptimizer(t, list, cmbo.WithPrior(prior))
	drive(t, o, f, 6)
	x := explain(t, o, 1)
	require.Regexp(t, `^trial 1: .*: the largest mean \(score 5\d.*\) of 49 candidates; expected 5[0-9.]+; too early`, x.String())
	u := outlookOf(t, o)
	next := ask(t, o)
	s, _ := o.LastStep()
	require.InEpsilon(t, math.Exp(s.Scores[s.Chosen]), u.Expected, 1e-9)
	require.NoError(t, o.TellFailed(next.ID))
	v := outlookOf(t, o)
	require.Less(t, v.Expected, u.Expected)
	ask(t, o)
	s, _ = o.LastStep()
	// The score has the success squared, one of seven having failed, the outlook the success itself.
	done := make(map[int]bool)
	for _, ob := range o.Observations() {
		done[list.Index(ob.X)] = true
	}
	done[next.Index] = true
	var most float64
	for i, l := range s.Scores {
		if p := s.Success[i]; !done[i] {
			require.Less(t, p, 0.9999)
			most = max(most, math.Exp(l)/p)
		}
	}
	require.InEpsilon(t, most, v.Expected, 1e-9)
	// What is open may still be gained.
	w := outlookOf(t, o)
	require.InEpsilon(t, v.Expected, w.Expected, 1e-12)
}

// TestOutlookCounts: an evaluation costs 1 where nobody says more, and what is said of a
// budget, of costs and of limits is said where there are any.
func TestOutlookCounts(t *testing.T) {
	list, rows := grid(t, 3)
	cost := cmbo.WithCost(func([]float64) float64 { return 0.5 })
	outlook := func(o *cmbo.Optimizer) cmbo.Outlook {
		t.Helper()
		u := outlookOf(t, o)
		return u
	}
	for _, tt := range []struct {
		opts        []cmbo.Option
		left, spent float64
		says        string
	}{
		{nil, math.Inf(1), 0, ""},
		{[]cmbo.Option{cmbo.WithBudget(1)}, 1, 0, "; 0 of the budget of 1 is spent"},
		{[]cmbo.Option{cost}, math.Inf(1), 0, "; 0 is spent"},
		{[]cmbo.Option{cmbo.WithOutput("seconds", cmbo.AsCost())}, math.Inf(1), 0, "; 0 is spent"},
	} {
		u := outlook(newOptimizer(t, list, tt.opts...))
		require.Equal(t, tt.left, u.Left)
		require.Equal(t, 1.0, u.Feasible)
		require.Equal(t, "what more evaluations would bring is not known yet"+tt.says, u.String())
	}
	o := newOptimizer(t, list, cost, cmbo.WithBudget(8))
	drive(t, o, bump([]float64{0.6, 0.3}), 4)
	u := outlook(o)
	require.Equal(t, []float64{6, 2, 0.5}, []float64{u.Left, u.Spent, u.Cost})
	require.InEpsilon(t, u.Expected/0.5, u.PerCost, 1e-12)
	o = newOptimizer(t, list)
	drive(t, o, bump([]float64{0.6, 0.3}), 4)
	u = outlook(o)
	require.Equal(t, 1.0, u.Cost)
	require.Equal(t, u.Expected, u.PerCost)

	// Of the last two points, of which one or both are open, something may still come, and then
	// nothing, which holds no limit.
	for _, limited := range []bool{false, true} {
		var opts []cmbo.Option
		if limited {
			opts = append(opts, cmbo.WithOutput("size", cmbo.AtMost(1.2)))
		}
		o := newOptimizer(t, list, opts...)
		for i := range rows {
			trial := ask(t, o)
			if i >= len(rows)-2 {
				u := outlook(o)
				require.True(t, u.Expected > 0 && u.Feasible > 0, "%v", u)
			}
			var size []cmbo.ObservationOption
			if limited {
				size = append(size, cmbo.Outputs{"size": trial.X[0] + trial.X[1]})
			}
			require.NoError(t, o.Tell(trial.ID, bump([]float64{0.6, 0.3})(trial.X), size...))
		}
		u := outlook(o)
		require.Zero(t, u.Expected)
		require.Equal(t, limited, u.Feasible == 0)
	}
}

// scoring ranks by something else than improvement.
type scoring struct{ flat }

func (scoring) Score(_ context.Context, dst []float64, _ *linalg.Dense, _ acq.Func, _ float64) error {
	for i := range dst {
		dst[i] = 1e6
	}
	return nil
}

// TestOutlookOfScorer: what such a surrogate scores is no improvement, which its moments tell.
func TestOutlookOfScorer(t *testing.T) {
	list, rows := grid(t, 3)
	o := newOptimizer(t, list, cmbo.WithSurrogate(scoring{}), cmbo.WithYPolicy(cmbo.RawValues))
	require.NoError(t, o.Observe(rows[0], 0))
	u := outlookOf(t, o)
	require.InEpsilon(t, 1/math.Sqrt(2*math.Pi), u.Expected, 1e-12)
}

// rising expects more of rows further to the right, up to where it stays.
type rising struct {
	flat
	until float64
}

func (r rising) Predict(_ context.Context, mean, sd []float64, x *linalg.Dense) error {
	for i := range mean {
		mean[i], sd[i] = min(x.At(i, 0), r.until), 1
	}
	return nil
}

// TestOutlookCost: the cost is that of the first of the candidates that are expected to gain
// most, and not known as long as costs that were told are all the same.
func TestOutlookCost(t *testing.T) {
	list, err := cmbo.Candidates([][]float64{{0}, {0.1}, {0.2}, {0.6}, {0.7}, {0.3}})
	require.NoError(t, err)
	opts := []cmbo.Option{cmbo.WithSurrogate(rising{until: 0.5}), cmbo.WithYPolicy(cmbo.RawValues)}
	o := newOptimizer(t, list, append(opts, cmbo.WithCost(func(x []float64) float64 { return 2 + x[0] }))...)
	require.NoError(t, o.Observe([]float64{0}, 0))
	require.NoError(t, o.Observe([]float64{0.1}, 1))
	u := outlookOf(t, o)
	require.Equal(t, 2.6, u.Cost)
	o = newOptimizer(t, list, append(opts, cmbo.WithOutput("seconds", cmbo.AsCost(), cmbo.Optional()))...)
	require.NoError(t, o.Observe([]float64{0}, 0))
	require.NoError(t, o.Observe([]float64{0.1}, 1))
	same := outlookOf(t, o)
	require.Equal(t, u.Expected, same.Expected)
	require.True(t, math.IsNaN(same.Cost) && math.IsNaN(same.PerCost), "%v", same)
	require.NoError(t, o.Observe([]float64{0.1}, 1, cmbo.Outputs{"seconds": 3}))
	require.NoError(t, o.Observe([]float64{0}, 0, cmbo.Outputs{"seconds": 3}))
	same = outlookOf(t, o)
	require.Equal(t, 3.0, same.Cost, "all that are told are equal")
	require.Equal(t, same.Expected/3, same.PerCost)
}

// TestOutlookIsOfNextAsk: the candidates are those of the next proposal in a box too, and an open
// trial, which stays one of them, changes nothing of what they promise or hold.
func TestOutlookIsOfNextAsk(t *testing.T) {
	box := unitCube(t, 2)
	o := newOptimizer(t, box, cmbo.WithSurrogate(rising{until: 1}), cmbo.WithCandidateCounts(16, 1), cmbo.WithYPolicy(cmbo.RawValues))
	f := bump([]float64{0.6, 0.3})
	drive(t, o, f, 6)
	for range 16 {
		u := outlookOf(t, o)
		drive(t, o, f, 1)
		s, _ := o.LastStep()
		require.InEpsilon(t, math.Exp(s.Scores[s.Chosen]), u.Expected, 1e-9)
	}
	list, _ := grid(t, 5)
	o = newOptimizer(t, list, cmbo.WithOutput("size", cmbo.AtMost(0.7)))
	for range 6 {
		trial := ask(t, o)
		require.NoError(t, o.Tell(trial.ID, f(trial.X), cmbo.Outputs{"size": trial.X[0]}))
	}
	u := outlookOf(t, o)
	askN(t, o, 3)
	open := outlookOf(t, o)
	require.InEpsilonSlice(t, []float64{u.Expected, u.Most, u.Feasible, u.Holds["size"]}, []float64{open.Expected, open.Most, open.Feasible, open.Holds["size"]}, 1e-9)
}

// TestOutlookOfBudget: what the budget does not pay for is not expected of the next evaluation, as Ask does not propose it.
func TestOutlookOfBudget(t *testing.T) {
	list, err := cmbo.Candidates([][]float64{{0}, {0.1}, {0.2}, {0.3}, {0.7}})
	require.NoError(t, err)
	dear := cmbo.WithCost(func(x []float64) float64 { return 1 + 99*math.Round(x[0]) })
	for name, opts := range map[string][]cmbo.Option{"costs": {dear, cmbo.WithBudget(3.5)}, "evaluations": {cmbo.WithBudget(3)}} {
		o := newOptimizer(t, list, append(opts, cmbo.WithSurrogate(rising{until: 1}), cmbo.WithYPolicy(cmbo.RawValues))...)
		require.NoError(t, o.Observe([]float64{0}, 0))
		for range 3 {
			u := outlookOf(t, o)
			trial := ask(t, o)
			s, _ := o.LastStep()
			if name == "costs" {
				require.Less(t, trial.X[0], 0.5)
				require.Equal(t, 1.0, u.Cost)
			}
			require.InEpsilon(t, acq.ExpectedImprovement(s.Mean[s.Chosen], s.SD[s.Chosen], 0), u.Expected, 1e-9, name)
			require.NoError(t, o.Tell(trial.ID, -1))
		}
		u := outlookOf(t, o)
		require.Zero(t, u.Expected, "%s: %v", name, u)
		_, err = o.Ask(ctx)
		require.ErrorIs(t, err, cmbo.ErrBudget)
	}
}
