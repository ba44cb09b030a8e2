package baseline

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// brief trains networks for a moment: as good a model as any.
var brief = set(func(c *config) { c.updates = 20 })

// learnAll makes a model of each method.
func learnAll(t testing.TB, tasks []cmbo.Task, opts ...Option) map[string]Model {
	out := make(map[string]Model)
	for _, m := range Methods() {
		model, err := m.Learn(ctx, square(t), tasks, append(opts, brief)...)
		require.NoError(t, err, m.Name)
		out[m.Name] = model
	}
	return out
}

// Tasks that hold failures alone give the methods nothing: those that need tasks say
// so, and beside another task they change no prediction. What a task with values changes, the predictions or the
// weights of the tasks, shows which methods transfer.
func TestTasksOfFailuresAlone(t *testing.T) {
	failed := []cmbo.Task{{ID: "f", Failed: [][]float64{{0.1, 0.2}}}, {ID: "g", Failed: [][]float64{{0.3, 0.4}}}}
	one := family(testRNG(t), 1, 6)
	x := linalg.NewDense(2, 2, append([]float64{0.4, 0.9}, one[0].X[0]...))
	for _, m := range Methods() {
		said := func(model Model) []float64 {
			s := model.Surrogate(1)
			require.NoError(t, s.Fit(ctx, cmbo.Data{}))
			mean, sd := make([]float64, 2), make([]float64, 2)
			require.NoError(t, s.Predict(ctx, mean, sd, x))
			if w, ok := s.(cmbo.Weigher); ok {
				sd = append(sd, w.Weights()...)
			}
			return append(mean, sd...)
		}
		bare, without := m.Learn(ctx, square(t), nil)
		for n := 1; n <= len(failed); n++ {
			_, err := m.Learn(ctx, square(t), failed[:n])
			if without == nil {
				require.NoError(t, err, m.Name)
				continue
			}
			require.ErrorIs(t, err, cmbo.ErrNoTasks, m.Name)
		}
		var got [2][]float64
		for i, tasks := range [][]cmbo.Task{one, append(failed[:1:1], one...)} {
			model, err := m.Learn(ctx, square(t), tasks, brief)
			require.NoError(t, err, m.Name)
			got[i] = said(model)
		}
		require.Equal(t, got[0], got[1], m.Name)
		require.Equal(t, m.Transfers, without != nil || !slices.Equal(said(bare), got[0]), m.Name)
	}
}

// Nothing of other data is left: points, values or noise variances that a surrogate was fitted
// to before, all of them or the last ones.
func TestOtherDataAreForgotten(t *testing.T) {
	r := testRNG(t)
	d := dataAt(bump([]float64{0.6, 0.2}), randomPoints(r, 6, 2), 7)
	moved, values, noise, noisy := firstOf(d, 6, 7), firstOf(d, 6, 7), firstOf(d, 6, 7), firstOf(d, 6, 7)
	moved.X = randomPoints(r, 6, 2)
	values.Raw = append(slices.Clone(d.Raw[:4]), d.Raw[5], d.Raw[4])
	values.Y = cmbo.ZScore.Apply(values.Raw)
	noise.NoiseVariance, noise.RawNoiseVariance = make([]float64, 6), make([]float64, 6)
	setNoise(&noise, 2, 3)
	noisy.NoiseVariance, noisy.RawNoiseVariance = make([]float64, 6), make([]float64, 6)
	for i := range 6 {
		setNoise(&noisy, i, 3)
	}
	z := randomPoints(r, 4, 2)
	for name, m := range learnAll(t, family(r, 3, 8)) {
		fresh := m.Surrogate(1)
		require.NoError(t, fresh.Fit(ctx, d))
		mean, sd := predict(t, fresh, z)
		for _, other := range []cmbo.Data{moved, values, noise, noisy} {
			s := m.Surrogate(1)
			require.NoError(t, s.Fit(ctx, other))
			require.NoError(t, s.Fit(ctx, d))
			m2, s2 := predict(t, s, z)
			require.Equal(t, mean, m2, name)
			require.Equal(t, sd, s2, name)
			if w, ok := s.(cmbo.Weigher); ok {
				require.Equal(t, fresh.(cmbo.Weigher).Weights(), w.Weights(), name)
			}
		}
		s, none := m.Surrogate(1), m.Surrogate(1)
		require.NoError(t, s.Fit(ctx, d))
		require.NoError(t, s.Fit(ctx, cmbo.Data{}))
		require.NoError(t, none.Fit(ctx, cmbo.Data{}))
		mean, sd = predict(t, none, z)
		m2, s2 := predict(t, s, z)
		require.Equal(t, mean, m2, name)
		require.Equal(t, sd, s2, name)
	}
}

// Noise variances that are given in scaled units alone are those of the values before scaling too.
func TestRawNoiseVarianceIsDerived(t *testing.T) {
	r := testRNG(t)
	d := dataAt(bump([]float64{0.6, 0.2}), randomPoints(r, 6, 2), 7)
	setNoise(&d, 2, 3)
	alone := d
	alone.RawNoiseVariance = nil
	z := randomPoints(r, 4, 2)
	for name, m := range learnAll(t, family(r, 3, 8)) {
		var got [2][]float64
		for i, d := range []cmbo.Data{d, alone} {
			s := m.Surrogate(1)
			require.NoError(t, s.Fit(ctx, d), name)
			mean, sd := predict(t, s, z)
			got[i] = append(mean, sd...)
		}
		require.Equal(t, got[0], got[1], name)
	}
}

// Every method has a section in METHODS.md, and every section is of methods.
func TestMethodsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("METHODS.md")
	require.NoError(t, err)
	var described, names []string
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(text), -1) {
		described = append(described, strings.Split(m[1], ", ")...)
	}
	for _, m := range Methods() {
		names = append(names, m.Name)
	}
	require.ElementsMatch(t, names, described)
}

// sentinel reports whether an error wraps one of cmbo's.
func sentinel(err error) bool {
	for _, s := range []error{cmbo.ErrDimension, cmbo.ErrValue, cmbo.ErrOutOfSpace, cmbo.ErrSpace, cmbo.ErrNoTasks, cmbo.ErrTask, cmbo.ErrOption, cmbo.ErrNumerical} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// awkward are histories that occur.
func awkward(t testing.TB) map[string][]cmbo.Task {
	r := testRNG(t)
	one := family(r, 1, 12)
	sizes := family(r, 4, 30)
	sizes[0].X, sizes[0].Y = sizes[0].X[:1], sizes[0].Y[:1]
	sizes[1].X, sizes[1].Y = sizes[1].X[:2], sizes[1].Y[:2]
	constant := family(r, 3, 6)
	for i := range constant[1].Y {
		constant[1].Y[i] = 42
	}
	flat := family(r, 2, 5)
	for _, task := range flat {
		for i := range task.Y {
			task.Y[i] = -1
		}
	}
	twins := family(r, 3, 8)
	for i := range twins {
		twins[i].X = append(twins[i].X, twins[i].X...)
		twins[i].Y = append(twins[i].Y, twins[i].Y...)
		twins[i].Y[9]++
	}
	same := family(r, 1, 8)
	same = append(same, cmbo.Task{ID: "same", X: same[0].X, Y: same[0].Y})
	noisy := family(r, 3, 7)
	noisy[0].NoiseVariance = []float64{1, 1, 1, 1, 1, 1, 1}
	noisy[1].NoiseVariance = []float64{0, 0.5, 0, 0.1, 0, 0, 1e-8}
	huge := family(r, 2, 6)
	for i := range huge[0].Y {
		huge[0].Y[i] *= 1e140
	}
	return map[string][]cmbo.Task{"one": one, "sizes": sizes, "constant": constant, "flat": flat, "twins": twins, "same": same, "noisy": noisy, "huge": huge}
}

// Every method runs on every history, from no observation on, on a list and in
// a parameter space, with trials in parallel, repeated observations and known
// noise.
func TestMethodsRunOnAwkwardHistories(t *testing.T) {
	testutil.SkipRace(t, "TestMethodsAreDeterministic has its goroutines")
	list, _ := grid(t, 5)
	mixed, err := cmbo.NewSpace(cmbo.Float("x", 0, 1), cmbo.Int("n", 0, 1))
	require.NoError(t, err)
	for name, tasks := range awkward(t) {
		t.Run(name, func(t *testing.T) {
			for method, model := range learnAll(t, tasks) {
				for kind, space := range map[string]*cmbo.Space{"list": list, "cube": square(t)} {
					if testing.Short() && kind == "cube" && name != "sizes" {
						continue
					}
					o := newOptimizer(t, space, cmbo.WithSurrogate(model.Surrogate(1)), cmbo.WithAcquisition(cmbo.EI()), cmbo.WithMinimize(), cmbo.WithCandidateCounts(40, 10))
					for i := range 4 {
						trials, err := o.AskN(ctx, 2)
						require.NoError(t, err, "%s, %s, step %d", method, kind, i)
						require.NoError(t, o.Tell(trials[1].ID, 5))
						if i == 1 {
							require.NoError(t, o.TellFailed(trials[0].ID))
							continue
						}
						require.NoError(t, o.Tell(trials[0].ID, trials[0].X[0], cmbo.WithNoise(0.01)))
						require.NoError(t, o.Observe(trials[0].X, 7))
					}
					m, sd, err := o.Predict(ctx, []float64{0.3, 0.8})
					require.NoError(t, err, method)
					require.False(t, math.IsNaN(m) || math.IsInf(m, 0) || math.IsNaN(sd) || math.IsInf(sd, 0) || sd < 0, "%s: %g ± %g", method, m, sd)
				}
			}
		})
	}
	// Coordinates of discrete parameters are learned from as any other.
	tasks := []cmbo.Task{{ID: "a", X: [][]float64{{0.2, 0}, {0.7, 1}, {0.4, 1}}, Y: []float64{1, 2, 3}}}
	for _, m := range Methods() {
		model, err := m.Learn(ctx, mixed, tasks, WithSeed(3), brief)
		require.NoError(t, err, m.Name)
		o := newOptimizer(t, mixed, cmbo.WithSurrogate(model.Surrogate(1)), cmbo.WithCandidateCounts(10, 2))
		_, err = o.Ask(ctx)
		require.NoError(t, err, m.Name)
	}
}

// What a surrogate does follows from seed and data: not from the number of cores,
// from calls in between, from runs beside it, or from a restart.
func TestMethodsAreDeterministic(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 4, 9)
	f := bump([]float64{0.72, 0.33})
	list, _ := grid(t, 6)
	steps := 9
	if testing.Short() {
		steps = 6
	}
	drive := func(o *cmbo.Optimizer, n int, busy bool) (asked [][]float64) {
		for range n {
			if busy {
				_, _, err := o.Predict(ctx, []float64{0.1, 0.2})
				require.NoError(t, err)
			}
			trials, err := o.AskN(ctx, 2)
			require.NoError(t, err)
			for _, tr := range trials {
				asked = append(asked, tr.X)
				require.NoError(t, o.Tell(tr.ID, f(tr.X)))
			}
		}
		return asked
	}
	serial := learnAll(t, tasks, WithParallelism(1))
	old := runtime.GOMAXPROCS(4)
	parallel := learnAll(t, tasks)
	defer runtime.GOMAXPROCS(old)
	for name, model := range serial {
		t.Run(name, func(t *testing.T) {
			for _, a := range []acq.Func{cmbo.EI(), cmbo.UCB(3)} {
				start := func(m Model) *cmbo.Optimizer {
					o := newOptimizer(t, list, cmbo.WithSurrogate(m.Surrogate(9)), cmbo.WithAcquisition(a), cmbo.WithSeed(9))
					return o
				}
				want := drive(start(model), steps, false)
				require.Equal(t, want, drive(start(parallel[name]), steps, true), "%v", a)

				first := start(model)
				got := drive(first, steps/2, false)
				var snapshot bytes.Buffer
				require.NoError(t, first.Snapshot(&snapshot))
				second, err := cmbo.Restore(&snapshot, cmbo.WithSurrogate(model.Surrogate(9)))
				require.NoError(t, err)
				got = append(got, drive(second, steps-steps/2, false)...)
				require.Equal(t, want, got, "%v, restored", a)
			}
		})
	}
}

// Runs on one model may go on at the same time, also where they share a list of
// candidates; more lists than are kept do no harm.
func TestModelsAreShared(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 3, 6)
	var spaces []*cmbo.Space
	for m := range memoLists + 2 {
		s, _ := grid(t, m+3)
		spaces = append(spaces, s)
	}
	for name, model := range learnAll(t, tasks) {
		run := func(s *cmbo.Space) []float64 {
			o, err := cmbo.New(s, cmbo.WithSurrogate(model.Surrogate(2)))
			if err == nil {
				if err = o.Observe([]float64{0.5, 0.5}, 1); err == nil {
					var tr cmbo.Trial
					if tr, err = o.Ask(ctx); err == nil {
						return tr.X
					}
				}
			}
			t.Error(err)
			return nil
		}
		var want [][]float64
		for _, s := range spaces {
			want = append(want, run(s))
		}
		got := make([][]float64, 2*len(spaces))
		var wg sync.WaitGroup
		for i := range got {
			wg.Add(1)
			go func() {
				defer wg.Done()
				got[i] = run(spaces[i%len(spaces)])
			}()
		}
		wg.Wait()
		for i := range got {
			require.Equal(t, want[i%len(spaces)], got[i], name)
		}
	}
}

// Pending points shrink deviations, most where they are, and leave means alone.
func TestPendingPointsShrinkTheDeviation(t *testing.T) {
	r := testRNG(t)
	tasks := family(r, 6, 9)
	list, rows := grid(t, 5)
	_ = list
	x := linalg.NewDense(len(rows), 2, nil)
	for i, row := range rows {
		copy(x.Row(i), row)
	}
	for name, model := range learnAll(t, tasks) {
		if name == "Random" || name == "Portfolio" {
			continue // their predictions know no points
		}
		for _, n := range []int{0, 4} {
			d := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, n, 2), n+1)
			s := model.Surrogate(1)
			if b, ok := s.(cmbo.Binder); ok {
				require.NoError(t, b.Bind(ctx, x))
			}
			require.NoError(t, s.Fit(ctx, d))
			m0, s0 := predict(t, s, x)
			d.Pending = points.Pick(x, []int{7, 13})
			d.Step += 2
			require.NoError(t, s.Fit(ctx, d))
			m1, s1 := predict(t, s, x)
			near(t, m0, m1, 1e-9, name+": means")
			for i := range s0 {
				require.LessOrEqual(t, s1[i], s0[i]*(1+1e-9), "%s after %d: point %d", name, n, i)
			}
			if n == 0 && name == "StackedGP" {
				continue // the target's level, where the points enter, has no part yet
			}
			for _, p := range []int{7, 13} {
				require.Less(t, s1[p], 0.95*s0[p], "%s after %d: pending point %d", name, n, p)
			}
			if sc, ok := s.(cmbo.Scorer); ok && name != "RM-GP-TS" {
				v := make([]float64, len(rows))
				require.NoError(t, sc.Score(ctx, v, x, acq.EI{}, 0), name)
				for _, u := range v {
					require.False(t, math.IsNaN(u), name)
				}
			}
		}
	}
}

// What cannot be used is an error that wraps a sentinel; nothing panics, and the
// next Fit is as good as ever.
func TestSurrogatesRejectBadArguments(t *testing.T) {
	r := testRNG(t)
	good := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, 5, 2), 1)
	z := randomPoints(r, 3, 2)
	nan := randomPoints(r, 5, 2)
	nan.Set(2, 1, math.NaN())
	bad := map[string]cmbo.Data{
		"rows":        {X: randomPoints(r, 4, 2), Y: good.Y, Raw: good.Raw, NoiseVariance: good.NoiseVariance},
		"no raw":      {X: good.X, Y: good.Y},
		"noises":      {X: good.X, Y: good.Y, Raw: good.Raw, NoiseVariance: []float64{1}},
		"dimension":   {X: randomPoints(r, 5, 3), Y: good.Y, Raw: good.Raw},
		"pending":     {X: good.X, Y: good.Y, Raw: good.Raw, Pending: randomPoints(r, 1, 1)},
		"nan point":   {X: nan, Y: good.Y, Raw: good.Raw},
		"nan value":   {X: good.X, Y: []float64{1, 2, math.NaN(), 0, 0}, Raw: good.Raw},
		"inf raw":     {X: good.X, Y: good.Y, Raw: []float64{1, 2, math.Inf(1), 0, 0}},
		"noise sign":  {X: good.X, Y: good.Y, Raw: good.Raw, NoiseVariance: []float64{1, 1, -1, 1, 1}, RawNoiseVariance: []float64{1, 1, -1, 1, 1}},
		"no points":   {Y: good.Y, Raw: good.Raw},
		"nan pending": {Pending: nan},
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, model := range learnAll(t, family(r, 3, 6)) {
		s := model.Surrogate(1)
		v := make([]float64, 3)
		check := func(err error, what string) {
			t.Helper()
			require.Error(t, err, "%s: %s", name, what)
			require.True(t, sentinel(err), "%s: %s: %v", name, what, err)
		}
		check(s.Predict(ctx, v, v, z), "before the first Fit")
		scorer, scores := s.(cmbo.Scorer)
		if scores {
			check(scorer.Score(ctx, v, z, acq.EI{}, 0), "before the first Fit")
		}
		for what, d := range bad {
			check(s.Fit(ctx, d), what)
			check(s.Predict(ctx, v, v, z), "after a failed Fit: "+what)
		}
		require.NoError(t, s.Fit(ctx, good), name)
		predict(t, s, z)
		check(s.Predict(ctx, v[:2], v, z), "short mean")
		check(s.Predict(ctx, v, v[:2], z), "short deviation")
		check(s.Predict(ctx, v, v, randomPoints(r, 3, 1)), "dimension")
		check(s.Predict(ctx, v, v, nil), "nil points")
		if scores {
			check(scorer.Score(ctx, v[:1], z, acq.EI{}, 0), "short scores")
			check(scorer.Score(ctx, v, nil, acq.EI{}, 0), "nil points")
		}
		require.ErrorIs(t, s.Predict(cancelled, v, v, z), context.Canceled, name)
	}
	for _, m := range Methods() {
		if m.Transfers {
			_, err := m.Learn(cancelled, square(t), family(r, 3, 6))
			require.ErrorIs(t, err, context.Canceled, m.Name)
		}
	}
}

// A surrogate that is cancelled in the middle of a Fit carries on afterwards as
// if nothing had been.
func TestFitSurvivesCancellation(t *testing.T) {
	r := testRNG(t)
	d := dataAt(bump([]float64{0.6, 0.4}), randomPoints(r, 8, 2), 4)
	z := randomPoints(r, 3, 2)
	for name, model := range learnAll(t, family(r, 3, 6)) {
		want := model.Surrogate(1)
		require.NoError(t, want.Fit(ctx, d))
		mean, sd := predict(t, want, z)
		got := model.Surrogate(1)
		for calls := range 12 {
			if err := got.Fit(testutil.Countdown(calls), d); err != nil {
				require.ErrorIs(t, err, context.Canceled, name)
			}
		}
		require.NoError(t, got.Fit(ctx, d))
		m2, s2 := predict(t, got, z)
		require.Equal(t, mean, m2, name)
		require.Equal(t, sd, s2, name)
	}
}

func TestMethodNames(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Methods() {
		require.False(t, seen[m.Name], m.Name)
		seen[m.Name] = true
		found, err := Find(m.Name)
		require.NoError(t, err)
		require.Equal(t, m.Name, found.Name)
		require.Equal(t, m.Use != OwnUCB && m.Use != OwnEI, m.Use.Suits(cmbo.PI()))
		require.Equal(t, m.Use != OwnEI, m.Use.Suits(cmbo.UCB(2)))
		require.Equal(t, m.Use != OwnUCB, m.Use.Suits(cmbo.EI()))
	}
	_, err := Find("nobody")
	require.ErrorIs(t, err, cmbo.ErrOption)
}

// TestScorers: the methods that bring an acquisition of their own, as their
// documentation says.
func TestScorers(t *testing.T) {
	tasks := family(testRNG(t), 2, 6)
	scores := make(map[string]bool)
	for name, m := range learnAll(t, tasks) {
		_, scores[name] = m.Surrogate(1).(cmbo.Scorer)
	}
	for name, want := range map[string]bool{"RGPE": true, "TAF-RGPE": true, "TAF-R": true, "TST-R": false, "GP": false} {
		got, known := scores[name]
		require.True(t, known, name)
		require.Equal(t, want, got, name)
	}
	// What dst held does not count.
	r := testRNG(t)
	d, z := dataAt(bump([]float64{0.6, 0.2}), randomPoints(r, 6, 2), 7), randomPoints(r, 4, 2)
	for name, m := range learnAll(t, tasks) {
		var got [2][]float64
		for i := range got {
			s := m.Surrogate(1)
			scorer, ok := s.(cmbo.Scorer)
			if !ok {
				continue
			}
			require.NoError(t, s.Fit(ctx, d))
			got[i] = slices.Repeat([]float64{float64(7 * i)}, 4)
			require.NoError(t, scorer.Score(ctx, got[i], z, acq.EI{Best: 1}, 1), name)
		}
		require.Equal(t, got[0], got[1], name)
	}
	require.Equal(t, []int{}, weighted([]float64{0, 0}), "not nil, which is all")
	require.Equal(t, []int{1, 3}, weighted([]float64{0, 0.5, 0, 0.25}))
}
