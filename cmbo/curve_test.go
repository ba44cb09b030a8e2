package cmbo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const curveSteps = 9

// curveOf makes up the values of an evaluation before its end: they begin far from it, each
// in its own way, and come nearer.
func curveOf(r *rand.Rand, end, unit float64) (c cmbo.Curve) {
	slow := 0.3 * r.NormFloat64()
	for k := 1; k <= curveSteps; k++ {
		left := 1 - float64(k)/float64(curveSteps+1)
		c.Steps = append(c.Steps, k)
		c.Values = append(c.Values, end+unit*left*(-2+slow+0.1*r.NormFloat64()))
	}
	return c
}

// curvedFamily is family with a curve for each value.
func curvedFamily(k, n int) []cmbo.Task {
	tasks := family(k, n)
	for j := range tasks {
		r := rng.Stream(3, "curves", uint64(j))
		for _, y := range tasks[j].Y {
			tasks[j].Curves = append(tasks[j].Curves, curveOf(r, y, 2))
		}
	}
	return tasks
}

// curved are ways to make optimisers whose trials report: with past curves, with a past that
// has none, and without a past.
func curved(t testing.TB) []kit {
	list, _ := grid(t, 6)
	box := unitCube(t, 2)
	past := learn(t, box, curvedFamily(5, 12), smallSets...)
	bare := learn(t, box, family(5, 12), smallSets...)
	few := cmbo.WithCandidateCounts(20, 6)
	return []kit{
		{"past", list, []cmbo.Option{cmbo.WithPrior(past)}, []cmbo.Option{cmbo.WithPrior(past)}},
		{"past box", box, []cmbo.Option{cmbo.WithPrior(past), few}, []cmbo.Option{cmbo.WithPrior(past)}},
		{"past without curves", list, []cmbo.Option{cmbo.WithPrior(bare)}, []cmbo.Option{cmbo.WithPrior(bare)}},
		{"no past", box, []cmbo.Option{few, cmbo.WithInitial(3), cmbo.WithMinimize()}, nil},
	}
}

// A run whose trials report and are told proposes what one without reports does, bit for bit.
func TestReportsChangeNoProposal(t *testing.T) {
	for _, k := range curved(t) {
		t.Run(k.name, func(t *testing.T) {
			f := bump([]float64{0.3, 0.3})
			plain, o := newOptimizer(t, k.space, k.opts...), newOptimizer(t, k.space, k.opts...)
			want := drive(t, plain, f, 14)
			r := rng.Stream(1, "curves")
			var got [][]float64
			for range want {
				trial := ask(t, o)
				got = append(got, trial.X)
				y := f(trial.X)
				c := curveOf(r, y, 0.3)
				for i, step := range c.Steps {
					p := report(t, o, trial.ID, step, c.Values[i])
					require.NotEmpty(t, p.String())
				}
				require.NoError(t, o.Tell(trial.ID, y))
			}
			require.Equal(t, want, got)
			require.Equal(t, plain.Observations(), o.Observations())
			a := transferOf(t, plain)
			b := transferOf(t, o)
			require.Equal(t, a, b)
		})
	}
}

// TestCurvesRestored stops random histories of trials that report, are stopped, diverge and
// are told after every event: what is restored from the snapshot and from the journal
// proposes and advises the same, bit for bit.
func TestCurvesRestored(t *testing.T) {
	t.Parallel()
	testutil.SkipRace(t, "one goroutine reports")
	const steps = 60
	var journals []byte
	kits := curved(t)
	for _, k := range kits[:2] {
		k.name += " with checkpoints"
		k.opts = append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithCheckpoints())
		kits = append(kits, k)
	}
	for _, k := range kits {
		t.Run(k.name, func(t *testing.T) {
			var journal []byte
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithJournal(func(lines []byte) error {
				journal = append(journal, lines...)
				return nil
			}))...)
			at := make(map[int]int)
			do := func(o *cmbo.Optimizer, r *rand.Rand, at map[int]int) string {
				open := o.Open()
				if len(open) == 0 || r.IntN(6) == 0 {
					trial, err := o.Ask(ctx)
					for id := trial.Resumes; id > 0 && at[trial.ID] == 0; id = 0 {
						at[trial.ID] = at[id]
					}
					return fmt.Sprint(trial, err)
				}
				tr := open[r.IntN(len(open))]
				y := 5 - 10*(tr.X[0]-0.3)*(tr.X[0]-0.3)
				what := r.IntN(12)
				switch {
				case what < 6 && at[tr.ID] > 5:
					return fmt.Sprint("stopped ", o.TellStopped(ctx, tr.ID))
				case what == 6:
					p, err := o.Report(ctx, tr.ID, at[tr.ID], math.Inf(1))
					return fmt.Sprint("diverged ", p, err)
				case what == 7 || at[tr.ID] >= curveSteps:
					return fmt.Sprint("told ", o.Tell(tr.ID, y))
				}
				p, err := o.Report(ctx, tr.ID, at[tr.ID], y+float64(at[tr.ID]-curveSteps)*(0.2+0.05*r.NormFloat64()))
				at[tr.ID] += 1 + r.IntN(2)
				return fmt.Sprintf("%+v %v", p, err)
			}
			r := rng.Stream(2, "history "+k.name)
			for i := range steps {
				snap := snapshot(t, o)
				back := restore(t, bytes.NewReader(snap), k.restore...)
				require.Equal(t, snap, snapshot(t, back))
				if !testing.Short() || i%7 == 0 || i == steps-1 {
					fromJournal, valid, err := cmbo.RestoreJournal(bytes.NewReader(journal), k.restore...)
					require.NoError(t, err)
					require.EqualValues(t, len(journal), valid)
					require.Equal(t, snap, snapshot(t, fromJournal))
				}
				seed := r.Uint64()
				copied := make(map[int]int)
				for id, s := range at {
					copied[id] = s
				}
				got := do(back, rand.New(rand.NewPCG(seed, 1)), copied)
				want := do(o, rand.New(rand.NewPCG(seed, 1)), at)
				require.Equal(t, want, got)
				require.Equal(t, snapshot(t, o), snapshot(t, back))
			}
			journals = append(journals, journal...)
			task := taskOf(t, o, "next")
			learn(t, k.space, []cmbo.Task{task}, smallSets...)
		})
	}
	for want, least := range map[string]int{`"reported"`: 50, `"stopped"`: 5, `"paused"`: 5, `"noise_variance"`: 2, `"failed"`: 5, `"told"`: 10} {
		require.GreaterOrEqual(t, strings.Count(string(journals), want), least, want)
	}
}

// With past curves a hopeless trial is stopped from the first completed one on, without them
// from the sixth on; a good one never is. A trial that was stopped is no observation, is not
// the best and is not proposed again; its estimate is near its end.
func TestReportStops(t *testing.T) {
	list, _ := grid(t, 6)
	logs := learn(t, list, curvedFamily(5, 12), append(slices.Clip(smallSets), cmbo.WithPositiveValues())...)
	for _, k := range append(curved(t)[:3], kit{"positive", list, []cmbo.Option{cmbo.WithPrior(logs)}, nil}) {
		t.Run(k.name, func(t *testing.T) {
			f := bump([]float64{0.3, 0.3})
			r := rng.Stream(4, "stops")
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithSeed(2))...)
			stops, missed, told := 0, 0, 0
			known := k.name == "past" || k.name == "past box" || k.name == "positive"
			first := -1
			seen := make(map[string]bool)
			for range 20 {
				trial := ask(t, o)
				require.False(t, seen[fmt.Sprint(trial.X)])
				seen[fmt.Sprint(trial.X)] = true
				y := 100 + 7*f(trial.X)
				best, any := o.Best()
				c := curveOf(r, y, 2)
				stopped := false
				for i, step := range c.Steps {
					p := report(t, o, trial.ID, step, c.Values[i])
					assert.Equal(t, p.Stop, strings.HasPrefix(p.String(), "stop: "))
					if !any {
						assert.False(t, p.Stop)
						assert.True(t, math.IsNaN(p.Best))
					}
					if p.Stop {
						assert.Less(t, p.Chance, p.Before/10*float64(curveSteps+1-step)/(curveSteps+1))
						if known {
							assert.InDelta(t, y, p.Mean, 5*p.SD)
						}
						stopped = true
						break
					}
				}
				if !stopped {
					require.NoError(t, o.Tell(trial.ID, y))
					told++
					continue
				}
				if stops++; first < 0 {
					first = told
				}
				if y > best.Y {
					missed++
				}
				require.NoError(t, o.TellStopped(ctx, trial.ID))
				require.ErrorIs(t, o.TellStopped(ctx, trial.ID), cmbo.ErrTrialClosed)
				_, err := o.Report(ctx, trial.ID, 100, y)
				require.ErrorIs(t, err, cmbo.ErrTrialClosed)
				after, _ := o.Best()
				require.Equal(t, best.Y, after.Y)
			}
			require.GreaterOrEqual(t, stops, 5)
			require.Zero(t, missed)
			require.Len(t, o.Observations(), told)
			if known {
				require.Less(t, first, 5)
			} else {
				require.GreaterOrEqual(t, first, 5)
			}
			task := taskOf(t, o, "t")
			require.Len(t, task.Curves, len(task.Y))
			estimates := 0
			for i, c := range task.Curves {
				if c.Stopped {
					estimates++
					require.Greater(t, task.NoiseVariance[i], 0.0)
					if known {
						require.InDelta(t, 100+7*f(task.X[i]), task.Y[i], 5*math.Sqrt(task.NoiseVariance[i]))
					}
				} else {
					require.Zero(t, task.NoiseVariance[i])
					require.Equal(t, 100+7*f(task.X[i]), task.Y[i])
				}
			}
			require.Greater(t, estimates, stops/2)
			recommend(t, o)
			outlookOf(t, o)
			calibrate(t, o)
			explain(t, o, 20)
		})
	}
}

// With checkpoints a trial is stopped when its expected improvement a step to go is less than
// when it began, by the numbers of the prospect, and goes on once that is the best thing to
// do. It then has one curve, and the best point is not lost.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it counts stops of whole runs")
	for _, k := range curved(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			f := bump([]float64{0.3, 0.3})
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithSeed(4), cmbo.WithCheckpoints())...)
			curves, shown := make(map[int]cmbo.Curve), make(map[int]int) // by trial
			stops, resumed, ended, compared := 0, 0, 0, 0
			for range 40 {
				trial := ask(t, o)
				y := 100 + 7*f(trial.X)
				c, from := curves[trial.Resumes], shown[trial.Resumes]
				if trial.Resumes == 0 {
					c = curveOf(rng.Stream(4, fmt.Sprint(trial.X)), y, 2)
				} else {
					resumed++
				}
				best, any := o.Best()
				var start float64 // expected improvement a step, when it began
				stopped := false
				for i := from; i < curveSteps && !stopped; i++ {
					if trial.Resumes == 0 && any && i == 0 {
						mean, sd := predict(t, o, trial.X)
						start = acq.ExpectedImprovement(mean, sd, best.Y) / (curveSteps + 1)
					}
					p := report(t, o, trial.ID, i+1, c.Values[i])
					// In the tails a little of a deviation is much of the improvement, and low means
					// are lower than the run sees them.
					if stopped = p.Stop; !any {
						require.False(t, p.Stop)
					} else if now := acq.ExpectedImprovement(p.Mean, p.SD, best.Y) / float64(curveSteps-i); start > 0 && p.Before > 0.1 && (now < 0.8*start || now > 1.25*start) {
						compared++
						require.Equal(t, now < start, p.Stop, "%v of %v: %s", now, start, p)
					}
					curves[trial.ID], shown[trial.ID] = c, i+1
				}
				if stopped {
					stops++
					require.NoError(t, o.TellStopped(ctx, trial.ID))
					continue
				}
				ended++
				require.NoError(t, o.Tell(trial.ID, y))
				x := explain(t, o, trial.ID)
				require.Equal(t, trial.Resumes, x.Trial.Resumes)
			}
			t.Logf("%d stops, %d went on, %d ended, %d compared", stops, resumed, ended, compared)
			require.Greater(t, stops, ended)
			require.Positive(t, resumed)
			best, _ := o.Best()
			require.Greater(t, best.Y, 106.4)
			require.Greater(t, compared, 20)
			task := taskOf(t, o, "t")
			points := make(map[string]bool)
			for i, c := range task.Curves {
				require.False(t, points[fmt.Sprint(task.X[i])], "a point is one evaluation")
				points[fmt.Sprint(task.X[i])] = true
				if !c.Stopped {
					require.Len(t, c.Steps, curveSteps)
				}
			}
		})
	}
}

// TestReportOfLongCurves: a report copies none of the curves that were told, of which each may have thousands of steps.
func TestReportOfLongCurves(t *testing.T) {
	const trials, steps = 8, 1000
	box, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	for _, opts := range [][]cmbo.Option{nil, {cmbo.WithCheckpoints()}} {
		o := newOptimizer(t, box, append(opts, cmbo.WithInitial(trials+1))...)
		report := func(id, steps int) (p cmbo.Prospect) {
			for s := range steps {
				p = report(t, o, id, s+1, float64(id))
			}
			return p
		}
		for range trials {
			trial := ask(t, o)
			report(trial.ID, steps)
			require.NoError(t, o.Tell(trial.ID, float64(trial.ID)))
		}
		last := ask(t, o)
		const few = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.Equal(t, trials, report(last.ID, few).Curves)
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/few, uint64(8*trials*steps/3))
	}
}

// A trial that resumes another one is judged from the step at which that one stopped, and
// what it showed; one that begins anew has shown more before, and goes on. The point that
// waits is one of the candidates, of a box too, until it is asked for.
func TestResumed(t *testing.T) {
	for i, k := range curved(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			f := func(x []float64) float64 { return 100 + 7*bump([]float64{0.3, 0.3})(x) }
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithCheckpoints())...)
			if i == 0 {
				drive(t, o, f, 4)
			} else { // the first trial of all is the one that stops
				rows, err := k.space.Sample(4, 1)
				require.NoError(t, err)
				for _, x := range rows {
					require.NoError(t, o.Observe(x, f(x)))
				}
			}
			x := []float64{0.6, 0.2}
			var c cmbo.Curve
			const from = 5
			begin := func() cmbo.Trial {
				require.NoError(t, o.Enqueue(x))
				trial := ask(t, o)
				return trial
			}
			candidates := func() [][]float64 {
				trial := ask(t, o)
				step, _ := o.LastStep()
				require.NoError(t, o.Cancel(trial.ID))
				return slices.DeleteFunc(append(step.Candidates, k.space.Rows()...), func(r []float64) bool { return !slices.Equal(r, x) })
			}
			first := begin()
			c = curveOf(rng.Stream(4, "resumed"), f(x), 2)
			for i := range from {
				report(t, o, first.ID, i+1, c.Values[i])
			}
			end := func(id, step int, y float64) (mean, sd float64) {
				mean, sd, err := o.EndOf(ctx, id, step, y)
				require.NoError(t, err)
				return mean, sd
			}
			mean, sd := end(first.ID, from, c.Values[from-1])
			require.NoError(t, o.TellStopped(ctx, first.ID))
			require.Len(t, candidates(), 1)
			trial := begin()
			require.Equal(t, first.ID, trial.Resumes)
			if k.space.Rows() == nil {
				require.Empty(t, candidates())
			}
			best, ok := o.Best()
			require.True(t, ok)
			cut, _, err := o.Cutoff(ctx, trial.ID, from)
			require.NoError(t, err)
			require.True(t, math.IsNaN(cut), "begun anew")
			cut, _, err = o.Cutoff(ctx, trial.ID, from+1)
			require.NoError(t, err)
			start := acq.ExpectedImprovement(mean, sd, best.Y) / (curveSteps + 1 - from)
			mean, sd = end(trial.ID, from+1, cut)
			require.InEpsilon(t, start, acq.ExpectedImprovement(mean, sd, best.Y)/(curveSteps-from), 1e-6)
		})
	}
}

// A cutoff is where Report's advice changes, whatever the direction and the unit of the
// values, and is fallen behind as often as the model says.
func TestCutoff(t *testing.T) {
	t.Parallel()
	list, _ := grid(t, 6)
	logs := learn(t, list, curvedFamily(5, 12), append(slices.Clip(smallSets), cmbo.WithPositiveValues())...)
	kits := append(curved(t), kit{"positive", list, []cmbo.Option{cmbo.WithPrior(logs)}, []cmbo.Option{cmbo.WithPrior(logs)}})
	if testing.Short() {
		kits = kits[:1]
	}
	for _, k := range kits {
		t.Run(k.name, func(t *testing.T) {
			r := rng.Stream(6, "cutoff")
			sign := 1.0
			if k.name == "no past" {
				sign = -1 // it minimises
			}
			worth := func(x []float64) float64 { return sign * (100 + 7*bump([]float64{0.3, 0.3})(x)) }
			o := newOptimizer(t, k.space, append(k.opts[:len(k.opts):len(k.opts)], cmbo.WithSeed(2))...)
			trials := 12
			switch {
			case testing.Short():
				trials = 8
			case k.name == "past without curves":
				trials = 24 // of which so many fall behind that a chance of the others would show
			}
			found := 0
			var expected, behind, variance float64
			for range trials {
				trial := ask(t, o)
				y := worth(trial.X)
				c := curveOf(r, y, 2)
				for i, step := range c.Steps {
					snap := snapshot(t, o)
					cut, chance, err := o.Cutoff(ctx, trial.ID, step)
					require.NoError(t, err)
					require.Equal(t, snap, snapshot(t, o))
					report(t, o, trial.ID, step, c.Values[i])
					if math.IsNaN(cut) {
						assert.True(t, math.IsNaN(chance))
						continue
					}
					found++
					if step == curveSteps/2 {
						expected += chance
						variance += chance * (1 - chance)
						if sign*c.Values[i] < sign*cut {
							behind++
						}
					}
					for shift, stop := range map[float64]bool{-0.001: true, 0.001: false} {
						twin := restore(t, bytes.NewReader(snap), k.restore...)
						p := report(t, twin, trial.ID, step, cut+sign*shift)
						require.Equal(t, stop, p.Stop, "%v at step %d: %s", cut, step, p)
						kept := p.Before / 10 * float64(curveSteps+1-step) / (curveSteps + 1)
						require.InDelta(t, kept, p.Chance, kept/2)
					}
				}
				require.NoError(t, o.Tell(trial.ID, y))
			}
			require.Greater(t, found, 5*trials/4)
			require.InDelta(t, expected, behind, 1+4*math.Sqrt(variance))
			t.Logf("%d cutoffs; fallen behind %g times, %.1f ± %.1f expected", found, behind, expected, math.Sqrt(variance))
		})
	}
	o := newOptimizer(t, list)
	_, _, err := o.Cutoff(ctx, 1, 1)
	require.ErrorIs(t, err, cmbo.ErrUnknownTrial)
	trial := ask(t, o)
	_, _, err = o.Cutoff(ctx, trial.ID, -1)
	require.ErrorIs(t, err, cmbo.ErrStep)
	cut, chance, err := o.Cutoff(ctx, trial.ID, 1)
	require.NoError(t, err)
	require.True(t, math.IsNaN(cut) && math.IsNaN(chance))
	require.NoError(t, o.Tell(trial.ID, 1))
	_, _, err = o.Cutoff(ctx, trial.ID, 1)
	require.ErrorIs(t, err, cmbo.ErrTrialClosed)
}

// What a stopped trial showed teaches: the model's belief at its point moves to its end.
func TestStoppedTeaches(t *testing.T) {
	k := curved(t)[0]
	o := newOptimizer(t, k.space, k.opts...)
	f := func(x []float64) float64 { return 100 + 7*bump([]float64{0.35, 0.26})(x) }
	drive(t, o, f, 3)
	trial := ask(t, o)
	before, sdBefore := predict(t, o, trial.X)
	end := before - 2*sdBefore
	c := curveOf(rng.Stream(5, "teaches"), end, 2)
	for i, step := range c.Steps {
		report(t, o, trial.ID, step, c.Values[i])
	}
	require.NoError(t, o.TellStopped(ctx, trial.ID))
	after, sdAfter := predict(t, o, trial.X)
	require.Less(t, math.Abs(after-end), math.Abs(before-end)/2)
	require.Less(t, sdAfter, sdBefore)
}

// TestStoppedHasNoOwn: what is recommended of a list counts half of the deviations of values that were told, and nothing of
// what a stopped trial lets expect.
func TestStoppedHasNoOwn(t *testing.T) {
	list, _ := grid(t, 6)
	o := newOptimizer(t, list, cmbo.WithInitial(3), cmbo.WithMinimize())
	r := rng.Stream(8, "own")
	told := make(map[string]float64)
	for n := range 14 {
		trial := ask(t, o)
		y := -bump([]float64{0.3, 0.3})(trial.X) + 0.2*r.NormFloat64()
		c := curveOf(r, y, 0.3)
		for i, step := range c.Steps {
			report(t, o, trial.ID, step, c.Values[i])
		}
		if n == 9 {
			require.NoError(t, o.TellStopped(ctx, trial.ID))
			continue
		}
		require.NoError(t, o.Tell(trial.ID, y))
		told[fmt.Sprint(trial.X)] = y
	}
	rec := recommend(t, o)
	var best, bestMean []float64
	worth, mean := math.Inf(1), math.Inf(1)
	for _, ob := range o.Observations() {
		m, _ := predict(t, o, ob.X)
		if w := (m + told[fmt.Sprint(ob.X)]) / 2; w < worth {
			best, worth = ob.X, w
		}
		if m < mean {
			bestMean, mean = ob.X, m
		}
	}
	require.Equal(t, best, rec.X)
	require.NotEqual(t, best, bestMean)
}

// A curve of one step is an evaluation: one that ends where it began teaches as much stopped
// as told, and those of past tasks change no proposal.
func TestCurveOfOneStep(t *testing.T) {
	list, _ := grid(t, 6)
	box := unitCube(t, 2)
	bare, tasks := family(5, 12), family(5, 12)
	for i := range tasks {
		for _, y := range tasks[i].Y {
			tasks[i].Curves = append(tasks[i].Curves, cmbo.Curve{Steps: []int{1}, Values: []float64{y}})
		}
	}
	f := bump([]float64{0.3, 0.3})
	plain := newOptimizer(t, list, cmbo.WithPrior(learn(t, box, bare, smallSets...)))
	told := newOptimizer(t, list, cmbo.WithPrior(learn(t, box, tasks, smallSets...)))
	stopped := newOptimizer(t, list, cmbo.WithPrior(learn(t, box, tasks, smallSets...)))
	require.Equal(t, drive(t, plain, f, 4), drive(t, told, f, 4))
	drive(t, stopped, f, 4)
	for _, o := range []*cmbo.Optimizer{told, stopped} {
		trial := ask(t, o)
		y := f(trial.X)
		report(t, o, trial.ID, 1, y)
		if o == told {
			require.NoError(t, o.Tell(trial.ID, y))
		} else {
			require.NoError(t, o.TellStopped(ctx, trial.ID))
		}
	}
	for _, x := range [][]float64{{0.2, 0.2}, {0.4, 0.6}, {1, 1}} {
		a, sa := predict(t, told, x)
		b, sb := predict(t, stopped, x)
		require.InDelta(t, a, b, 0.01*sa)
		require.InEpsilon(t, sa, sb, 0.05)
	}
}

// Steps that go back or stand still, and trials that are closed or unknown, are errors that
// change nothing, as a finite value out of range is, which Tell refuses in the same words; a value
// that is no number fails its trial.
func TestReportErrors(t *testing.T) {
	list, _ := grid(t, 3)
	o := newOptimizer(t, list, cmbo.WithInitial(2))
	trial := ask(t, o)
	require.ErrorIs(t, o.TellStopped(ctx, trial.ID), cmbo.ErrStep)
	report(t, o, trial.ID, 3, 0.5)
	before := snapshot(t, o)
	for _, step := range []int{3, 2, -1} {
		p, err := o.Report(ctx, trial.ID, step, math.NaN())
		require.ErrorIs(t, err, cmbo.ErrStep)
		require.False(t, p.Stop)
	}
	_, err := o.Report(ctx, 7, 1, 0.5)
	require.ErrorIs(t, err, cmbo.ErrUnknownTrial)
	require.ErrorIs(t, o.TellStopped(ctx, 0), cmbo.ErrUnknownTrial)
	require.Equal(t, before, snapshot(t, o))

	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, o.TellStopped(gone, trial.ID), context.Canceled)
	require.Equal(t, before, snapshot(t, o))

	for _, y := range []float64{math.Nextafter(1e150, 2e150), 1e300, -math.MaxFloat64} {
		p, err := o.Report(ctx, trial.ID, 4, y)
		require.ErrorIs(t, err, cmbo.ErrValue)
		require.False(t, p.Stop || p.Diverged)
		refused := new(cmbo.DataError)
		require.ErrorAs(t, err, &refused)
		require.Equal(t, y, refused.Value)
		require.ErrorContains(t, err, fmt.Sprintf("trial %d: cmbo: unusable value: value %g is not within ±1e+150", trial.ID, y))
		require.EqualError(t, o.Tell(trial.ID, y), err.Error())
	}
	require.Equal(t, before, snapshot(t, o))

	p := report(t, o, trial.ID, 4, math.Inf(-1))
	require.True(t, p.Stop && p.Diverged)
	require.Equal(t, "stop: the value of step 4 is no number, and trial 1 has failed", p.String())
	require.ErrorIs(t, o.Tell(trial.ID, 1), cmbo.ErrTrialClosed)
	task := taskOf(t, o, "t")
	require.Len(t, task.Failed, 1)

	box := unitCube(t, 2)
	positive := newOptimizer(t, box, cmbo.WithPositiveValues())
	first := ask(t, positive)
	_, err = positive.Report(ctx, first.ID, 1, 0)
	require.ErrorIs(t, err, cmbo.ErrValue)
	require.Len(t, positive.Open(), 1)

	// Without its advice the value counts all the same, and what is not known stays NaN.
	ending, cancel := context.WithCancel(ctx)
	written := newOptimizer(t, box, cmbo.WithJournal(func(lines []byte) error {
		if bytes.Contains(lines, []byte("reported")) {
			cancel()
		}
		return nil
	}))
	first = ask(t, written)
	p, err = written.Report(ending, first.ID, 1, 0.5)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, p.Trial == first.ID && p.Step == 1 && math.IsNaN(p.Best) && math.IsNaN(p.Mean) && math.IsNaN(p.Chance))
	_, err = written.Report(ctx, first.ID, 1, 0.5)
	require.ErrorIs(t, err, cmbo.ErrStep)
	bad := curvedFamily(2, 10)
	bad[1].Curves[2].Values[0] = -1
	_, err = cmbo.Learn(ctx, box, bad, cmbo.WithPositiveValues())
	require.ErrorIs(t, err, cmbo.ErrValue)

	// A damaged log is refused.
	for from, to := range map[string]string{
		`"event":"reported","trial":1,"step":3`: `"event":"reported","trial":1`,
		`"event":"asked"`:                       `"step":1,"event":"asked"`,
		`"event":"reported"`:                    `"event":"stopped"`,
	} {
		require.Contains(t, string(before), from)
		_, err := cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(bytes.Replace(cmbo.SnapshotState(before), []byte(from), []byte(to), 1))))
		require.ErrorIs(t, err, cmbo.ErrCorrupt, to)
	}
}

// A step that was stored where an int has more bits is none of damage: the error says what this build does not hold.
func TestStepsBeyondAnInt(t *testing.T) {
	box := unitCube(t, 1)
	var journal []byte
	o := newOptimizer(t, box, cmbo.WithJournal(func(lines []byte) error { journal = append(journal, lines...); return nil }))
	trial := ask(t, o)
	report(t, o, trial.ID, 2, 1)
	wide := func(b []byte) []byte { return bytes.Replace(b, []byte(`"step":2`), []byte(`"step":3000000000`), 1) }
	lines := bytes.SplitAfter(journal, []byte("\n"))
	var entries [][]byte
	for _, line := range lines[1 : len(lines)-1] {
		var sealed struct{ Entry json.RawMessage }
		require.NoError(t, json.Unmarshal(line, &sealed))
		entries = append(entries, wide(sealed.Entry))
	}
	_, snapped := cmbo.Restore(bytes.NewReader(cmbo.SealSnapshot(wide(cmbo.SnapshotState(snapshot(t, o))))))
	_, _, journaled := cmbo.RestoreJournal(bytes.NewReader(cmbo.SealJournal(lines[0], entries)))
	for _, err := range []error{snapped, journaled} {
		if strconv.IntSize == 64 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, cmbo.ErrVersion)
		require.NotErrorIs(t, err, cmbo.ErrCorrupt)
		require.ErrorContains(t, err, "3000000000 is beyond the integers of this build, which have 32 bits")
	}
}

// Curves stay with their tasks: in a prior, encoded or added to, in another space, in a
// Learner; tasks whose curves cannot be are refused by name.
func TestCurvesOfTasks(t *testing.T) {
	box := unitCube(t, 2)
	tasks := curvedFamily(4, 10)
	tasks[1].Curves[3] = cmbo.Curve{}
	tasks[2].Curves = nil
	tasks[3].NoiseVariance = make([]float64, 10)
	tasks[3].NoiseVariance[2], tasks[3].Curves[2].Stopped = 0.5, true
	curves := func(p *cmbo.Prior) (out []string) {
		for _, task := range p.Tasks() {
			out = append(out, fmt.Sprintf("%+v", task.Curves))
		}
		return out
	}
	var want []string
	for _, task := range tasks {
		want = append(want, fmt.Sprintf("%+v", task.Curves))
	}
	t.Run("prior", func(t *testing.T) {
		p := learn(t, box, tasks, smallSets...)
		require.Equal(t, want, curves(p))
		var b bytes.Buffer
		require.NoError(t, p.Encode(&b))
		back := decodePrior(t, bytes.NewReader(b.Bytes()))
		require.Equal(t, want, curves(back))
		adopted, _, err := p.Adopt(ctx, box, cmbo.Changes{}, smallSets...)
		require.NoError(t, err)
		require.Equal(t, want, curves(adopted))
		for i := range tasks[0].Curves {
			tasks[0].Curves[i].Values[0]++ // the prior has copies
		}
		require.Equal(t, want, curves(p))
		for i := range tasks[0].Curves {
			tasks[0].Curves[i].Values[0]--
		}
	})
	l, err := cmbo.NewLearner(box, smallSets...)
	require.NoError(t, err)
	for _, task := range tasks {
		require.NoError(t, l.Add(task))
	}
	var b bytes.Buffer
	require.NoError(t, l.Encode(&b))
	back, err := cmbo.DecodeLearner(box, bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	p, err := back.Prior(ctx)
	require.NoError(t, err)
	require.Equal(t, want, curves(p))

	for want, damage := range map[string]func(*cmbo.Task){
		`task "task-00": 9 curves for 10 values`: func(t *cmbo.Task) { t.Curves = t.Curves[1:] },
		"a curve of 8 values at 9 steps":         func(t *cmbo.Task) { t.Curves[4].Values = t.Curves[4].Values[1:] },
		"step 2 of a curve follows step 2":       func(t *cmbo.Task) { t.Curves[4].Steps[2] = 2 },
		"value NaN":                              func(t *cmbo.Task) { t.Curves[4].Values[2] = math.NaN() },
		"was stopped has no variance":            func(t *cmbo.Task) { t.Curves[4].Stopped = true },
	} {
		bad := curvedFamily(2, 10)
		damage(&bad[0])
		_, err := cmbo.Learn(ctx, box, bad)
		require.ErrorContains(t, err, want)
		var at *cmbo.DataError
		require.True(t, errors.As(err, &at), want)
	}
}

// TestFitsOfOthersForgotten: without a prior a fit to what a stopped trial let expect does not serve as many other
// values, so that a read in between changes nothing, and a restored run goes on as one that never stopped.
func TestFitsOfOthersForgotten(t *testing.T) {
	square := unitCube(t, 2)
	f := func(x []float64) float64 { return -(x[0] - 0.3) * (x[0] - 0.3) }
	at := func(x []float64, step int) float64 { return f(x) + 0.02*x[1]/float64(step) }
	run := func(seed uint64, restart bool) (asked [][]float64, resumed bool) {
		o := newOptimizer(t, square, cmbo.WithCheckpoints(), cmbo.WithInitial(6), cmbo.WithSeed(seed))
		for range 6 {
			trial := ask(t, o)
			for step := 1; step <= 4; step++ {
				report(t, o, trial.ID, step, at(trial.X, step))
			}
			require.NoError(t, o.Tell(trial.ID, f(trial.X)))
		}
		two := askN(t, o, 2)
		for step := 1; step <= 2; step++ {
			report(t, o, two[0].ID, step, 0.05+0.001*float64(step))
		}
		require.NoError(t, o.TellStopped(ctx, two[0].ID))
		report(t, o, two[1].ID, 1, at(two[1].X, 1)) // whose advice has the model fitted
		require.NoError(t, o.Tell(two[1].ID, f(two[1].X)))
		if restart {
			o = restored(t, o)
		}
		for range 3 {
			trial := ask(t, o)
			asked, resumed = append(asked, trial.X), resumed || trial.Resumes > 0
		}
		return asked, resumed
	}
	some := false
	for seed := range uint64(3) {
		want, resumed := run(seed+1, false)
		got, _ := run(seed+1, true)
		require.Equal(t, want, got)
		some = some || resumed
	}
	require.True(t, some, "one that was stopped goes on")
}

// TestRefitAsRowsChange: without a prior hyperparameters are those of the rows that count, also where as many others were
// fitted to before: the estimate of an evaluation that goes on gives way to the next one. A restored run takes the same.
func TestRefitAsRowsChange(t *testing.T) {
	line := unitCube(t, 1)
	o := newOptimizer(t, line, cmbo.WithCheckpoints(), cmbo.WithInitial(6))
	report := func(trial cmbo.Trial, step int) (y float64) {
		y = math.Sin(12*trial.X[0]) + 0.03*float64(10-step)*math.Cos(50*trial.X[0])
		report(t, o, trial.ID, step, y)
		return y
	}
	parameters := func(o *cmbo.Optimizer) []float64 {
		trial := ask(t, o)
		require.NoError(t, o.Cancel(trial.ID))
		step, ok := o.LastStep()
		require.True(t, ok)
		return step.Parameters
	}
	var seen [][]float64
	check := func() {
		t.Helper()
		back := restored(t, o)
		got := parameters(o)
		require.Equal(t, got, parameters(back), "restored before the fit")
		back = restored(t, o)
		require.Equal(t, got, parameters(back), "restored after it")
		rows := taskOf(t, o, "rows")
		plain := newOptimizer(t, line, cmbo.WithInitial(0))
		for i, x := range rows.X {
			if v := rows.NoiseVariance[i]; v > 0 {
				require.NoError(t, plain.Observe(x, rows.Y[i], cmbo.WithNoise(v)))
			} else {
				require.NoError(t, plain.Observe(x, rows.Y[i]))
			}
		}
		require.Equal(t, parameters(plain), got, "%d rows", len(rows.Y))
		seen = append(seen, got)
	}
	first := askN(t, o, 9)
	for i, trial := range first {
		y := report(trial, 1)
		if i < 6 {
			for step := 2; step <= 10; step++ {
				y = report(trial, step)
			}
			require.NoError(t, o.Tell(trial.ID, y))
		} else {
			require.NoError(t, o.TellStopped(ctx, trial.ID))
		}
	}
	check()
	for step := 4; step <= 9; step += 5 {
		for _, paused := range first[6:] {
			require.NoError(t, o.Enqueue(paused.X))
			trial := ask(t, o)
			require.NotZero(t, trial.Resumes)
			report(trial, step)
			require.NoError(t, o.TellStopped(ctx, trial.ID))
		}
		check()
	}
	require.NoError(t, o.Enqueue(first[7].X))
	trial := ask(t, o)
	check()
	require.NoError(t, o.Cancel(trial.ID))
	check()
	require.Len(t, seen, 5)
	require.NotEqual(t, seen[0], seen[1], "of as many rows")
	require.Equal(t, seen[2], seen[4], "of the same rows")
}

// TestTransferCountsTold: what a stopped trial lets expect is no value told.
func TestTransferCountsTold(t *testing.T) {
	line := unitCube(t, 1)
	f := func(x float64) float64 { return -(x - 0.3) * (x - 0.3) }
	var past []cmbo.Task
	for k := range 4 {
		one := cmbo.Task{ID: fmt.Sprint(k)}
		rows := sample(t, line, 15, uint64(k))
		for _, x := range rows {
			y := f(x[0])
			one.X, one.Y = append(one.X, x), append(one.Y, y)
			one.Curves = append(one.Curves, cmbo.Curve{Steps: []int{1, 2}, Values: []float64{y - 0.001*x[0], y - 0.0005*x[0]}})
		}
		past = append(past, one)
	}
	o := newOptimizer(t, line, cmbo.WithPrior(learn(t, line, past)))
	for i := range 8 {
		trial := ask(t, o)
		y := f(trial.X[0]) + 0.001*float64(i)
		report(t, o, trial.ID, 1, y)
		if i%3 == 1 {
			require.NoError(t, o.TellStopped(ctx, trial.ID))
		} else {
			require.NoError(t, o.Tell(trial.ID, y))
		}
		got := transferOf(t, o)
		require.Equal(t, len(o.Observations()), got.Values)
		require.Equal(t, got.Values < 5, got.Verdict == cmbo.TransferTooEarly, "%v", got)
	}
}

// TestCutoffOfOpposedCurves: where trials that show poor values early end with the good ones, no value
// is one from which on they are hopeless.
func TestCutoffOfOpposedCurves(t *testing.T) {
	square := unitCube(t, 2)
	known := 0
	for _, wave := range []float64{6, 9, 12} {
		o := newOptimizer(t, square, cmbo.WithCandidateCounts(200, 50))
		for i := range 16 {
			trial := ask(t, o)
			cut, chance, err := o.Cutoff(ctx, trial.ID, 1)
			require.NoError(t, err)
			assert.True(t, math.IsNaN(cut) && math.IsNaN(chance), "trial %d: %g with a chance of %g", trial.ID, cut, chance)
			y := math.Sin(wave*trial.X[0]) + math.Sin(wave*trial.X[1]+1) + trial.X[0]
			p := report(t, o, trial.ID, 1, -0.8*y+0.3*math.Sin(float64(i*i)))
			if p.Known {
				known++
			}
			require.NoError(t, o.Tell(trial.ID, y))
		}
	}
	require.Greater(t, known, 30)
}

// eightCurves is a run of a surrogate that was told eight rising values, whose curves lie next to them.
func eightCurves(t testing.TB, surrogate cmbo.Option) *cmbo.Optimizer {
	list, _ := grid(t, 4)
	o := newOptimizer(t, list, surrogate, cmbo.WithYPolicy(cmbo.RawValues))
	for i := range 8 {
		trial := ask(t, o)
		y := 0.3 + 0.2*float64(i)
		report(t, o, trial.ID, 1, y+0.05*float64(i%2))
		require.NoError(t, o.Tell(trial.ID, y))
	}
	return o
}

// TestCutoffAboveFloor: where the model expects worse than any curve has ended with, values that say no more than that
// are no reason to stop, but there are values above them that are, and the cutoff is the largest.
func TestCutoffAboveFloor(t *testing.T) {
	surrogate := cmbo.WithSurrogate(flat{})
	o := eightCurves(t, surrogate)
	trial := ask(t, o)
	cut, _, err := o.Cutoff(ctx, trial.ID, 1)
	require.NoError(t, err)
	snap := snapshot(t, o)
	for y, stop := range map[float64]bool{cut + 1e-6: false, cut - 1e-6: true, 0.2: false, -1e9: false} {
		twin := restore(t, bytes.NewReader(snap), surrogate)
		p := report(t, twin, trial.ID, 1, y)
		require.Equal(t, stop, p.Stop, "%g beside %g: %v", y, cut, p)
	}
}

// TestCutoffOfHopelessTrial: beside a best value that no curve foretells, the best that a trial can show is a reason to stop,
// and there is no cutoff.
func TestCutoffOfHopelessTrial(t *testing.T) {
	o := eightCurves(t, cmbo.WithSurrogate(flat{}))
	trial := ask(t, o)
	require.NoError(t, o.Observe(trial.X, 8))
	cut, chance, err := o.Cutoff(ctx, trial.ID, 1)
	require.NoError(t, err)
	require.True(t, math.IsNaN(cut) && math.IsNaN(chance), "%g, %g", cut, chance)
}

// TestEndOfAPoorTrial: what Report and TellStopped make of a trial that is far from the best is in the unit of values, though
// the model and the law of curves see low ones as closer together; a curve at the floor says nothing of one that
// is expected to be worse.
func TestEndOfAPoorTrial(t *testing.T) {
	line := unitCube(t, 1)
	for name, f := range map[string]func(x float64) float64{
		"bowl":     func(x float64) float64 { return (x - 0.3) * (x - 0.3) },
		"explodes": func(x float64) float64 { return math.Exp(8 * math.Abs(x-0.3)) },
	} {
		o := newOptimizer(t, line, cmbo.WithMinimize())
		early := func(x float64, i int) float64 { return 1.1 * f(x) * (1 + 0.1*math.Sin(float64(i*i))) }
		for i := range 20 {
			require.NoError(t, o.Enqueue([]float64{float64(i) / 19}))
			trial := ask(t, o)
			report(t, o, trial.ID, 1, early(trial.X[0], i))
			require.NoError(t, o.Tell(trial.ID, f(trial.X[0])))
		}
		for _, x := range []float64{0.5, 0.6, 0.75, 0.97} {
			want := f(x)
			require.NoError(t, o.Enqueue([]float64{x}))
			trial := ask(t, o)
			p := report(t, o, trial.ID, 1, 1.1*want)
			require.InEpsilon(t, want, p.Mean, 0.1, "%s at %g", name, x)
			require.NoError(t, o.TellStopped(ctx, trial.ID))
			after, _ := predict(t, o, []float64{x})
			require.InEpsilon(t, want, after, 0.1, "%s at %g", name, x)
		}
	}
}

// TestChanceOfCertainEnds: an end that is certain to equal the best value has no chance to beat it.
func TestChanceOfCertainEnds(t *testing.T) {
	list, _ := grid(t, 4)
	o := newOptimizer(t, list, cmbo.WithYPolicy(cmbo.RawValues), cmbo.WithSurrogate(certain{of: 5}))
	for i := range 6 {
		tr := ask(t, o)
		report(t, o, tr.ID, 1, float64(i))
		require.NoError(t, o.Tell(tr.ID, float64(i)))
	}
	tr := ask(t, o)
	p := report(t, o, tr.ID, 1, 3)
	require.True(t, p.Known)
	require.Equal(t, []float64{0, 0}, []float64{p.Chance, p.Before}, "%v", p)
}
