package cmbo_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The judges, as an Explanation names the last two.
const (
	byModel     = "the model"
	byDistance  = "distance from all points asked for ("
	withoutPast = "the largest EI without the past ("
)

// judgeOf says which judge chose a trial.
func judgeOf(t testing.TB, o *cmbo.Optimizer, trial int) string {
	t.Helper()
	e := explain(t, o, trial)
	for _, j := range []string{byDistance, withoutPast} {
		if strings.Contains(e.String(), j) {
			return j
		}
	}
	return byModel
}

// hedgePrior is learned from maxima around two places, at which targets have theirs.
func hedgePrior(t testing.TB) (*cmbo.Space, *cmbo.Prior) {
	s, _ := grid(t, 9)
	return s, learn(t, s, family(8, 14), cmbo.WithIndexPoints(60))
}

// Who chooses follows from the number of evaluations without an improvement and from the mass
// of what transfers: while a trusted past was confirmed by one of the last four, the model
// always does; afterwards every tenth point is another judge's, and the two others take turns.
// If the past is doubted, or five proposals only equalled the best, every second one is chosen by its distance: with
// the ablation "no-ties" ties do not count. While an output has been the same everywhere, and beyond its limits, all are
// chosen by their distance.
func TestHedgeShares(t *testing.T) {
	s, p := hedgePrior(t)
	untied := learn(t, s, family(8, 14), cmbo.WithIndexPoints(60), cmbo.WithAblation("no-ties"))
	like := bump([]float64{0.25, 0.3})
	n := 0
	for name, f := range map[string]func(x []float64) float64{
		"honest":   func(x []float64) float64 { return 100 + 7*like(x) },
		"negated":  func(x []float64) float64 { return -100 - 7*like(x) },
		"mirrored": func(x []float64) float64 { return 100 - 7*like(x) },
		"capped":   func(x []float64) float64 { return 100 + 7*min(like(x), 0.8) },
		"downhill": func([]float64) float64 { n--; return float64(n) },
		"untied":   func(x []float64) float64 { return 100 + 7*min(like(x), 0.8) },
		"beyond":   func(x []float64) float64 { return 100 + 7*min(like(x), 0.8) },
	} {
		o := newOptimizer(t, s, cmbo.WithPrior(p))
		var outputs []cmbo.ObservationOption
		countTies := true
		switch name {
		case "untied":
			o, countTies = newOptimizer(t, s, cmbo.WithPrior(untied)), false
		case "beyond":
			o, countTies = newOptimizer(t, s, cmbo.WithPrior(p), cmbo.WithOutput("size", cmbo.AtMost(1))), false
			outputs = append(outputs, cmbo.Outputs{"size": 2})
		}
		stalled, doubted, ties := 0, 0, 0
		best := 0.0
		count := make(map[string]int)
		for i := range 30 {
			past := transferOf(t, o)
			var upright, reversed float64
			for _, sh := range past.Hypotheses {
				if sh.Level != cmbo.LevelNone {
					upright, reversed = upright+sh.Mass-sh.Reversed, reversed+sh.Reversed
				}
			}
			after, every, turns := 4, 10, []string{byDistance, withoutPast}
			if max(upright, reversed) < 0.8 || countTies && ties >= 5 {
				turns = turns[:1]
				after, every = 1, 2
				if i > 0 {
					doubted++
				}
			}
			want := byModel
			if n := stalled - after; n >= 0 && n%every == 0 {
				want = turns[n/every%len(turns)]
			}
			if name == "beyond" && i > 0 { // an output that is the same everywhere, and beyond its limit
				want = byDistance
			}
			trial := ask(t, o)
			require.Equal(t, want, judgeOf(t, o, trial.ID), "%s, question %d, %d without an improvement", name, i, stalled)
			count[want]++
			y := f(trial.X)
			require.NoError(t, o.Tell(trial.ID, y, outputs...))
			if stalled++; i == 0 || y > best {
				best, stalled, ties = y, 0, 0
			} else if y == best {
				ties++
			}
			if name == "capped" && i < 4 { // which no proposal brought
				x := []float64{0.25, float64(i+1) / 8}
				require.NoError(t, o.Observe(x, f(x)))
			}
		}
		require.Positive(t, count[byDistance], name)
		if name == "downhill" || name == "capped" {
			require.Greater(t, doubted, 15)
		} else if name != "beyond" { // a past that is upside down is trusted once the run knows it
			require.Positive(t, count[withoutPast], name)
			require.LessOrEqual(t, doubted, map[string]int{"honest": 0, "negated": 2, "mirrored": 8}[name], name)
		}
	}
}

// A past of fewer values than the run has, from five on, that is doubted is hedged as none would be, every fifth time after
// four in vain, and one that is trusted as any other.
func TestHedgeOutgrown(t *testing.T) {
	s, _ := grid(t, 9)
	task := family(1, 4)
	p := learn(t, s, task)
	best, n := bump([]float64{0.25, 0.3}), 0.0
	for name, f := range map[string]func(x []float64) float64{
		"honest": func(x []float64) float64 { return 100 + 7*best(x) }, "downhill": func([]float64) float64 { n--; return n },
	} {
		o := newOptimizer(t, s, cmbo.WithPrior(p))
		stalled, top, trusted := 0, math.Inf(-1), 0
		for i := range 24 {
			when, upright, reversed := [2]int{1, 2}, 0.0, 0.0
			for _, h := range transferOf(t, o).Hypotheses {
				if h.Level != cmbo.LevelNone {
					upright, reversed = upright+h.Mass-h.Reversed, reversed+h.Reversed
				}
			}
			if max(upright, reversed) >= 0.8 {
				trusted++
				when = [2]int{4, 10}
			} else if i > 4 {
				when = [2]int{4, 5}
			}
			trial := ask(t, o)
			chosen := judgeOf(t, o, trial.ID) != byModel
			require.Equal(t, stalled >= when[0] && (stalled-when[0])%when[1] == 0, chosen, "%s, question %d, %d in vain, %v", name, i, stalled, when)
			y := f(trial.X)
			require.NoError(t, o.Tell(trial.ID, y))
			if stalled++; y > top {
				top, stalled = y, 0
			}
		}
		require.Equal(t, name == "honest", trusted > 12, "%s: %d of 24 trusted", name, trusted)
	}
}

// The first questions to an honest past are the model's, whichever of its places the target
// has its maximum at.
func TestHedgeTrustsAnHonestPast(t *testing.T) {
	s, p := hedgePrior(t)
	for _, c := range [][]float64{{0.25, 0.3}, {0.8, 0.7}, {0.2, 0.35}, {0.78, 0.75}} {
		o := newOptimizer(t, s, cmbo.WithPrior(p))
		drive(t, o, func(x []float64) float64 { return 100 + 7*bump(c)(x) }, 3)
		for i := range 3 {
			require.Equal(t, byModel, judgeOf(t, o, 1+i), "%v", c)
		}
	}
}

// Values of a dozen levels, the past's best region on a lesser one and a peak elsewhere: a run does
// not have the level confirmed again and again. From five values on that equal the best every
// second point is the one by distance, though the past is trusted, and the peak is found; without
// that it is in none of the runs.
func TestHedgeOfTies(t *testing.T) {
	testutil.SkipShort(t, "it asks where whole runs end")
	s, rows := grid(t, 21)
	found := 0
	for seed := range uint64(2) {
		r := rng.Stream(seed, t.Name())
		cx, cy := 0.2+0.2*r.Float64(), 0.2+0.2*r.Float64()
		levels := func(f surface, x []float64) float64 { return math.Floor(12 * f(x[0], x[1])) }
		hill := func() surface { return peak(cx+0.05*r.NormFloat64(), cy+0.05*r.NormFloat64(), 0.25) }
		var past []cmbo.Task
		for k := range 8 {
			f, task := hill(), cmbo.Task{ID: fmt.Sprint(k)}
			for _, j := range r.Perm(len(rows))[:40] {
				task.X, task.Y = append(task.X, rows[j]), append(task.Y, levels(f, rows[j]))
			}
			past = append(past, task)
		}
		f, other := hill(), peak(1-cx, 1-cy, 0.15)
		target := func(x, y float64) float64 { return max(min(f(x, y), 0.6), other(x, y)) }
		o := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, past, cmbo.WithIndexPoints(100))))
		best, since, ties := -1.0, 0, 0
		for range 30 {
			upright := 0.0
			for _, h := range transferOf(t, o).Hypotheses {
				if h.Level != cmbo.LevelNone {
					upright += h.Mass - h.Reversed
				}
			}
			trial := ask(t, o)
			if upright >= 0.8 && ties >= 5 {
				want := []string{byModel, byDistance}[since%2]
				require.Equal(t, want, judgeOf(t, o, trial.ID), "seed %d, %d without an improvement", seed, since)
			}
			y := levels(target, trial.X)
			require.NoError(t, o.Tell(trial.ID, y))
			if since++; y > best {
				best, since, ties = y, 0, 0
			} else if y == best {
				ties++
			}
		}
		if best > levels(func(_, _ float64) float64 { return 0.6 }, rows[0]) {
			found++
		}
	}
	require.Positive(t, found)
}

// A point by distance is the candidate that is farthest from all points asked for, and one
// without the past is not what the past would have.
func TestHedgeByDistance(t *testing.T) {
	s, p := hedgePrior(t)
	o := newOptimizer(t, s, cmbo.WithPrior(p))
	var asked [][]float64
	n := 0.0
	for len(asked) < 12 {
		trial := ask(t, o)
		step, ok := o.LastStep()
		require.True(t, ok)
		if judgeOf(t, o, trial.ID) == byDistance {
			for i, d := range step.Scores {
				x, err := s.Candidate(i)
				require.NoError(t, err)
				least := 2.0
				for _, a := range asked {
					least = min(least, (x[0]-a[0])*(x[0]-a[0])+(x[1]-a[1])*(x[1]-a[1]))
				}
				require.InDelta(t, least, d*d, 1e-12)
				require.LessOrEqual(t, d, step.Scores[step.Chosen])
			}
		}
		asked = append(asked, trial.X)
		n--
		require.NoError(t, o.Tell(trial.ID, n))
	}
}

// Without a list a point by distance is drawn, as a restored run draws it, and with the ablation "farthest" it is not.
func TestHedgeDraws(t *testing.T) {
	s := newSpace(t, cmbo.Int("x", 1, 9), cmbo.Int("y", 1, 9))
	for _, farthest := range []bool{false, true} {
		tasks, opts := make([]cmbo.Task, 3), []cmbo.LearnOption(nil)
		for i := range tasks {
			tasks[i].ID = fmt.Sprint(i)
			for x := 1.0; x < 10; x += 2 {
				tasks[i].X, tasks[i].Y = append(tasks[i].X, []float64{x, 10 - x}), append(tasks[i].Y, 5-math.Abs(x-5))
			}
		}
		if farthest {
			opts = append(opts, cmbo.WithAblation("farthest"))
		}
		p := learn(t, s, tasks, opts...)
		o := newOptimizer(t, s, cmbo.WithPrior(p))
		var asked [][]float64
		apart := func(x, y float64) float64 {
			least := math.Inf(1)
			for _, a := range asked {
				least = min(least, math.Hypot(x-a[0], y-a[1]))
			}
			return least
		}
		far, near := 0, 0
		for i := range 16 {
			back := o
			if !farthest { // a run of an ablation is not stored
				back = restored(t, o, cmbo.WithPrior(p))
			}
			trial := ask(t, o)
			if back != o {
				again := ask(t, back)
				require.Equal(t, trial.X, again.X)
			}
			if judgeOf(t, o, trial.ID) == byDistance {
				e := explain(t, o, trial.ID)
				require.Equal(t, !farthest, strings.Contains(e.String(), "the largest draw by the distance"))
				most := 0.0
				for x := 1.0; x < 10; x++ {
					for y := 1.0; y < 10; y++ {
						most = max(most, apart(x, y))
					}
				}
				if apart(trial.X[0], trial.X[1]) > most-1e-9 {
					far++
				} else {
					near++
				}
			}
			asked = append(asked, trial.X)
			require.NoError(t, o.Tell(trial.ID, float64(-i)))
		}
		require.Greater(t, far+near, 5)
		require.Equal(t, farthest, near == 0, "%d of %d are the farthest", far, far+near)
	}
}

// As long as all has failed, a point by distance is not drawn to where success is likely; from
// the first value on it is.
func TestHedgeByDistanceAmongFailures(t *testing.T) {
	s, p := hedgePrior(t)
	o := newOptimizer(t, s, cmbo.WithPrior(p))
	byDistanceNext := func() *cmbo.Step {
		t.Helper()
		for range 12 {
			trial := ask(t, o)
			step, ok := o.LastStep()
			require.True(t, ok)
			if judgeOf(t, o, trial.ID) == byDistance {
				require.NoError(t, o.TellFailed(trial.ID))
				return &step
			}
			require.NoError(t, o.TellFailed(trial.ID))
		}
		t.Fatal("no point by its distance")
		return nil
	}
	require.Nil(t, byDistanceNext().Success)
	require.NoError(t, o.Observe([]float64{0.5, 0.5}, 100))
	require.NotNil(t, byDistanceNext().Success)
}

// A restored run asks the same judges for the same points, and explains the former ones alike.
func TestHedgeRestored(t *testing.T) {
	s, p := hedgePrior(t)
	o := newOptimizer(t, s, cmbo.WithPrior(p))
	honest := bump([]float64{0.25, 0.3})
	drive(t, o, honest, 7)
	_, err := o.Ask(ctx) // stays open
	require.NoError(t, err)
	back := restored(t, o, cmbo.WithPrior(p))
	seen := make(map[string]bool)
	for id := 1; id <= 8; id++ {
		require.Equal(t, judgeOf(t, o, id), judgeOf(t, back, id))
	}
	for range 16 {
		a, b := askSame(t, o, back)
		sa, _ := o.LastStep()
		sb, _ := back.LastStep()
		require.Equal(t, sa, sb)
		seen[judgeOf(t, o, a.ID)] = true
		y := honest(a.X)
		require.NoError(t, o.Tell(a.ID, y))
		require.NoError(t, back.Tell(b.ID, y))
	}
	require.True(t, seen[withoutPast])
}

// Open trials count as proposals, so that all judges have their share of a batch.
func TestHedgeInBatches(t *testing.T) {
	s, p := hedgePrior(t)
	o := newOptimizer(t, s, cmbo.WithPrior(p))
	n := 0.0
	drive(t, o, func([]float64) float64 { n--; return n }, 6)
	trials := askN(t, o, 10)
	count := make(map[string]int)
	for _, tr := range trials {
		count[judgeOf(t, o, tr.ID)]++
	}
	assert.Equal(t, map[string]int{byModel: 5, byDistance: 5}, count)
}

// A run without a past has the distance alone to turn to.
func TestHedgeWithoutPrior(t *testing.T) {
	s, _ := grid(t, 9)
	o := newOptimizer(t, s)
	n := 0.0
	drive(t, o, func([]float64) float64 { n--; return n }, 20)
	for id := 1; id <= 20; id++ {
		want := byModel
		if stalled := id - 2; stalled >= 4 && (stalled-4)%5 == 0 {
			want = byDistance
		}
		require.Equal(t, want, judgeOf(t, o, id), "%d", id)
	}
}

// While all fails beside a past, each point from the sixth on is the one by distance.
func TestHedgeOfFailures(t *testing.T) {
	s, p := hedgePrior(t)
	o := newOptimizer(t, s, cmbo.WithPrior(p))
	for stalled := range 10 {
		trial := ask(t, o)
		want := byModel
		if stalled >= 5 {
			want = byDistance
		}
		require.Equal(t, want, judgeOf(t, o, trial.ID), "%d failures", stalled)
		require.NoError(t, o.TellFailed(trial.ID))
	}
}

// Where improvement is not what is asked for, or the model is from outside, the
// model is always followed.
func TestNoHedge(t *testing.T) {
	s, p := hedgePrior(t)
	unhedged := learn(t, s, family(8, 14), cmbo.WithIndexPoints(60), cmbo.WithAblation("no-hedge"))
	for name, opts := range map[string][]cmbo.Option{
		"UCB":          {cmbo.WithPrior(p), cmbo.WithAcquisition(cmbo.UCB(3))},
		"PI":           {cmbo.WithPrior(p), cmbo.WithAcquisition(cmbo.PI())},
		"outside":      {cmbo.WithSurrogate(&nearest{})},
		"no-hedge":     {cmbo.WithPrior(unhedged)},
		"UCB, no past": {cmbo.WithAcquisition(cmbo.UCB(3))},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOptimizer(t, s, opts...)
			n := 0.0
			drive(t, o, func([]float64) float64 { n--; return n }, 14)
			for id := 1; id <= 14; id++ {
				require.NotContains(t, []string{byDistance, withoutPast}, judgeOf(t, o, id))
			}
		})
	}
}

// A prior of changed settings names what it refuses, and is not stored.
func TestWithAblation(t *testing.T) {
	s, _ := grid(t, 5)
	tasks := family(4, 8)
	_, err := cmbo.Learn(ctx, s, tasks, cmbo.WithAblation("no-luck"))
	require.ErrorIs(t, err, cmbo.ErrOption)
	require.ErrorContains(t, err, "no-hedge")
	_, err = cmbo.Learn(ctx, s, tasks, cmbo.WithAblation("Shrunk=1"))
	require.ErrorIs(t, err, cmbo.ErrOption)
	p := learn(t, s, tasks, cmbo.WithAblation("no-hedge", "no-reversal"))
	require.ErrorIs(t, p.Encode(new(bytes.Buffer)), cmbo.ErrOption)
	names, what := cmbo.Ablations()
	require.Len(t, what, len(names))
	for _, name := range names {
		_, err := newOptimizer(t, s, cmbo.WithPrior(learn(t, s, tasks, cmbo.WithAblation(name)))).Ask(ctx)
		require.NoError(t, err, name)
	}
	first := func(p *cmbo.Prior) []cmbo.Hypothesis {
		x, err := newOptimizer(t, s, cmbo.WithPrior(p)).Transfer(ctx)
		require.NoError(t, err)
		return x.Hypotheses
	}
	require.Equal(t, first(learn(t, s, tasks)), first(learn(t, s, tasks, cmbo.WithAblation("no-hedge"))))
	for _, sh := range first(p) {
		require.Zero(t, sh.Reversed)
	}
	require.InDelta(t, 0.5, first(learn(t, s, tasks, cmbo.WithAblation("NoTransferMass=0.5")))[0].Mass, 1e-15)
}

// On a plateau that most points reach, a run without a past finds what lies above it, as random
// search does: improvement alone asks for more of the plateau.
func TestPlateau(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it asks where whole runs end")
	s := newSpace(t, cmbo.Float("x", 0, 1))
	for seed := range uint64(*noPastRuns) {
		o := newOptimizer(t, s, cmbo.WithSeed(seed))
		drive(t, o, func(x []float64) float64 {
			if x[0] <= 0.6 {
				return x[0]
			}
			return 0.5
		}, 40)
		best, ok := o.Best()
		require.True(t, ok)
		require.Greater(t, best.Y, 0.55, "seed %d", seed)
	}
}
