package cmbo_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/baseline"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	ownProblems = flag.Int("own", 3, "problems of each family of TestOwnLengthsOfRuns")
	ownBudget   = flag.Int("own-budget", 50, "evaluations of each of its runs")
	ownFirst    = flag.Uint64("own-first", 0, "number of the first problem of each of its families")
	ownListed   = flag.Int("own-listed", 4, "problems of TestOwnLengthsOnAList, and of each family of TestPastAlikePointByPoint and, half as many up to 8, of TestPastOfNoiseOnAList")
	ownOnAList  = flag.String("own-listed-other", "Outgrow=0", "what TestPastOfNoiseOnAList compares the default with: a change of it, a rival, or none for no past")
	ownNoisy    = flag.Int("own-listed-tasks", 8, "past tasks of each of its problems")
	ownListedIn = flag.Int("own-listed-dim", 2, "least number of their dimensions, of which there are up to three more")
	ownAlike    = flag.String("own-alike-other", "none", "what TestPastAlikePointByPoint compares the default with, likewise")
	ownOnBudget = flag.Int("own-listed-budget", 20, "evaluations of each run of these two")
	ownOther    = flag.String("own-other", likelyOfAny, "the change that it compares the default with, as WithAblation takes it")
)

// likelyOfAny is the change of the default whose runs keep lengths likely of any function.
const likelyOfAny = "OwnFrom=1000:1000,Outgrow=1000"

// hills returns functions of one family on the unit cube, each with its largest value, 0, at a point of its own near a common
// one: ellipsoids that lie askew, ridges, ripples on a bowl, and a cone that is steep in one coordinate.
func hills(family string, r *rand.Rand, dim, n int) []func(x []float64) float64 {
	centre, weight, turn := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for j := range centre {
		centre[j], weight[j], turn[j] = 0.25+0.5*r.Float64(), math.Exp(r.NormFloat64()), r.NormFloat64()
	}
	out := make([]func(x []float64) float64, n)
	for i := range out {
		c, w := make([]float64, dim), make([]float64, dim)
		for j := range c {
			c[j], w[j] = centre[j]+0.07*r.NormFloat64(), weight[j]*math.Exp(0.2*r.NormFloat64())
		}
		out[i] = func(x []float64) float64 {
			var sum, along, waves float64
			for j := range x {
				d := x[j] - c[j]
				sum += w[j] * d * d
				along += turn[j] * d
				waves += 1 - math.Cos(9*d)
			}
			switch family {
			case "askew":
				return -sum - 6*along*along
			case "ridge":
				return -math.Abs(along) - sum/2
			case "ripples":
				return -sum - 0.15*waves
			default:
				return -math.Sqrt(sum + 20*(x[0]-c[0])*(x[0]-c[0]))
			}
		}
	}
	return out
}

// A pastProblem is a past of 40 values a task, none without tasks, and a target whose values have noise of that deviation. A
// load is an output of the target with noise of its own; nil for none.
type pastProblem struct {
	space  *cmbo.Space
	tasks  []cmbo.Task
	past   []func(x []float64) float64 // of the tasks
	target func(x []float64) float64
	noise  float64
	rows   uint64 // the seed of rows to predict
	learn  []cmbo.LearnOption

	load      func(x []float64) float64
	loadNoise float64

	fails func(x []float64) bool // where evaluations do, nil for nowhere

	hindsight bool // a run is judged by the best of its points, though noise may hide which that is
}

// run makes the past tasks those of runs without a past, of so many evaluations.
func (h *pastProblem) run(tb testing.TB, evaluations int) {
	for i, f := range h.past {
		r, t := rng.Stream(h.rows, "past run", uint64(i)), cmbo.Task{ID: h.tasks[i].ID}
		o := newOptimizer(tb, h.space, cmbo.WithSeed(uint64(i)))
		for range evaluations {
			trial := ask(tb, o)
			t.X, t.Y = append(t.X, trial.X), append(t.Y, f(trial.X)+h.noise*r.NormFloat64())
			require.NoError(tb, o.Tell(trial.ID, t.Y[len(t.Y)-1]))
		}
		h.tasks[i] = t
	}
}

// ofRuns are changes of settings that only runs have a use for, by how they begin: what is learned is the same.
var ofRuns = []string{"OwnFrom=", "Outgrow=", "AloneMass=", "no-rescaling", "absolute-improvement", "farthest"}

// changed returns what the default learns with a change, prior being what it learns without.
func (h *pastProblem) changed(tb testing.TB, prior *cmbo.Prior, change string) *cmbo.Prior {
	names := strings.Split(change, ",")
	for _, name := range names {
		if !slices.ContainsFunc(ofRuns, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return learn(tb, h.space, h.tasks, append(slices.Clip(h.learn), cmbo.WithAblation(names...))...)
		}
	}
	p, err := cmbo.Changed(prior, names...)
	require.NoError(tb, err)
	return p
}

// priors returns what the default learns, and what it does with a change.
func (h *pastProblem) priors(tb testing.TB, change string) [2]*cmbo.Prior {
	p := learn(tb, h.space, h.tasks, h.learn...)
	return [2]*cmbo.Prior{p, h.changed(tb, p, change)}
}

// against returns the options of the runs that those of the default, with prior, are compared with: of no past, of a rival,
// or of the default without an initial design or with a change.
func (h *pastProblem) against(tb testing.TB, prior *cmbo.Prior, other string, seed uint64) []cmbo.Option {
	if other == "none" {
		return nil
	}
	if other == "no design" {
		return []cmbo.Option{cmbo.WithPrior(prior), cmbo.WithInitial(0)}
	}
	if rival, err := baseline.Find(other); err == nil {
		model, err := rival.Learn(ctx, h.space, h.tasks)
		require.NoError(tb, err)
		return []cmbo.Option{cmbo.WithSurrogate(model.Surrogate(seed))}
	}
	return []cmbo.Option{cmbo.WithPrior(h.changed(tb, prior, other))}
}

// beside returns the regrets of a run of the default and of one that it is compared with: see against.
func (h *pastProblem) beside(tb testing.TB, other string, seed uint64, budget int) (regrets [2]float64) {
	p := learn(tb, h.space, h.tasks, h.learn...)
	for arm, opts := range [2][]cmbo.Option{{cmbo.WithPrior(p)}, h.against(tb, p, other, seed)} {
		regrets[arm] = h.regret(tb, seed, budget, func(int, *cmbo.Optimizer) {}, opts...)
	}
	return regrets
}

// hillsOf returns the problem of that number: in two to five dimensions, with three or eight past tasks, every third with
// noise.
func hillsOf(tb testing.TB, family string, seed uint64) pastProblem {
	r := rng.Stream(seed, "TestOwnLengthsOfRuns"+family)
	dim, past := 2+int(seed%4), []int{3, 8}[seed/4%2]
	return problemOf(tb, r, dim, hills(family, r, dim, past+1), []float64{0, 0, 0.02}[seed%3])
}

// problemOf returns the problem of functions in dim coordinates, the last of which is the target.
func problemOf(tb testing.TB, r *rand.Rand, dim int, fs []func(x []float64) float64, noise float64) pastProblem {
	s := unitCube(tb, dim)
	return problemIn(tb, r, s, fs, noise)
}

// problemIn is problemOf in a space.
func problemIn(tb testing.TB, r *rand.Rand, s *cmbo.Space, fs []func(x []float64) float64, noise float64) pastProblem {
	past := len(fs) - 1
	h := pastProblem{space: s, tasks: make([]cmbo.Task, past), past: fs[:past], target: fs[past], noise: noise}
	for i := range h.tasks {
		t := &h.tasks[i]
		t.ID = string(rune('a' + i))
		t.X = sample(tb, s, 40, r.Uint64())
		for _, x := range t.X {
			t.Y = append(t.Y, fs[i](x)+noise*r.NormFloat64())
		}
	}
	h.rows = r.Uint64()
	return h
}

// regret returns how far the best point of a run, of those whose load is at most 0, is from the largest value, 0; where
// values have noise, how far the point is that the run recommends, unless in hindsight. After each evaluation it calls after.
func (h *pastProblem) regret(tb testing.TB, seed uint64, budget int, after func(n int, o *cmbo.Optimizer), opts ...cmbo.Option) float64 {
	o, best, e := newOptimizer(tb, h.space, append(opts, cmbo.WithSeed(seed))...), math.Inf(-1), rng.Stream(seed, "noise")
	ofLoad := rng.Stream(seed, "noise of load")
	for n := range budget {
		trial := ask(tb, o)
		if h.fails != nil && h.fails(trial.X) {
			require.NoError(tb, o.TellFailed(trial.ID))
			after(n+1, o)
			continue
		}
		y, load, outputs := h.target(trial.X), 0.0, cmbo.Outputs(nil)
		if h.load != nil {
			load = h.load(trial.X)
			outputs = cmbo.Outputs{"load": load + h.loadNoise*ofLoad.NormFloat64()}
		}
		if load <= 0 {
			best = max(best, y)
		}
		require.NoError(tb, o.Tell(trial.ID, y+h.noise*e.NormFloat64(), outputs))
		after(n+1, o)
	}
	if h.noise > 0 && !h.hindsight {
		rec := recommend(tb, o)
		best = h.target(rec.X)
	}
	return -best
}

// numbersAndChoice returns a space of a choice and dim numbers between 0 and 1.
func numbersAndChoice(tb testing.TB, dim int, choices ...string) *cmbo.Space {
	params := []cmbo.Param{cmbo.Categorical("choice", choices...)}
	for j := range dim {
		params = append(params, cmbo.Float(fmt.Sprint("x", j), 0, 1))
	}
	space := newSpace(tb, params...)
	return space
}

// between returns n random numbers.
func between(r *rand.Rand, n int, lo, hi float64) []float64 {
	c := make([]float64, n)
	for j := range c {
		c[j] = lo + (hi-lo)*r.Float64()
	}
	return c
}

// pastOfFunctions returns five tasks of 25 random rows, each of a function of its own.
func pastOfFunctions(tb testing.TB, space *cmbo.Space, r *rand.Rand, function func() func(x []float64) float64) []cmbo.Task {
	return tasksOfFunctions(tb, space, r, 5, 25, function)
}

// tasksOfFunctions returns so many tasks of so many random rows, each of a function of its own.
func tasksOfFunctions(
	tb testing.TB, space *cmbo.Space, r *rand.Rand, n, rows int, function func() func(x []float64) float64,
) (tasks []cmbo.Task) {
	for i := range n {
		f, t := function(), cmbo.Task{ID: fmt.Sprint(i)}
		t.X = sample(tb, space, rows, r.Uint64())
		for _, x := range t.X {
			t.Y = append(t.Y, f(x))
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// compared returns the decimal logarithms of where the first of two runs on each problem of families ends, over where the
// second does, both at floor or more, and logs the ratios by family, with a label before.
func compared(
	t *testing.T, label string, families []string, problems int, floor float64, regrets func(family string, seed uint64) [2]float64,
) (all []float64) {
	for _, family := range families {
		var ends []float64
		for seed := range uint64(problems) {
			r := regrets(family, seed)
			ends = append(ends, math.Log10(max(r[0], floor))-math.Log10(max(r[1], floor)))
		}
		t.Logf("%s%s: runs end at %s of the regret", label, family, ratioOf(ends))
		all = append(all, ends...)
	}
	t.Logf("%sall: runs end at %s of the regret", label, ratioOf(all))
	return all
}

// held returns how many of so many random rows have values that 90 % intervals hold.
func (h *pastProblem) held(tb testing.TB, o *cmbo.Optimizer, rows int) (held int) {
	at := sample(tb, h.space, rows, h.rows)
	for _, x := range at {
		mean, sd := predict(tb, o, x)
		if math.Abs(h.target(x)-mean) <= 1.645*sd {
			held++
		}
	}
	return held
}

// A prior that is changed is what is learned with the change, of the settings that runs alone have a use for.
func TestChangedPriors(t *testing.T) {
	t.Parallel()
	h := hillsOf(t, "cone", 0)
	for i := range h.tasks {
		h.tasks[i].X, h.tasks[i].Y = h.tasks[i].X[:12], h.tasks[i].Y[:12]
	}
	for _, change := range []string{likelyOfAny, "AloneMass=0", "no-rescaling,absolute-improvement", "farthest"} {
		asked := func(p *cmbo.Prior) (at [][]float64) {
			o := newOptimizer(t, h.space, cmbo.WithPrior(p))
			for range 8 {
				trial := ask(t, o)
				if at = append(at, trial.X); change == "farthest" { // which points are that failures alone lead to
					require.NoError(t, o.TellFailed(trial.ID))
				} else {
					require.NoError(t, o.Tell(trial.ID, h.target(trial.X)))
				}
			}
			return at
		}
		of := h.priors(t, change)
		want := asked(learn(t, h.space, h.tasks, cmbo.WithAblation(strings.Split(change, ",")...)))
		assert.Equal(t, want, asked(of[1]), change)
		assert.NotEqual(t, want, asked(of[0]), change)
	}
}

// TestOwnLengthsOfRuns: in spaces without a list, runs whose process beside the past has lengths of their own, from the
// fifth value on, end nearer to the best value than those of lengths likely of any function, with noise and without, and
// their intervals hold as much.
func TestOwnLengthsOfRuns(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	var held, of [2]int
	families := []string{"ripples"}
	if *ownProblems > 8 { // fewer do not tell what is level on smooth functions
		families = append(families, "cone", "askew", "ridge")
	}
	all := compared(t, "", families, *ownProblems, 1e-6, func(family string, seed uint64) (regrets [2]float64) {
		seed += *ownFirst
		h := hillsOf(t, family, seed)
		for arm, p := range h.priors(t, *ownOther) {
			regrets[arm] = h.regret(t, seed, *ownBudget, func(n int, o *cmbo.Optimizer) {
				if n != 30 {
					return
				}
				held[arm] += h.held(t, o, 50)
				of[arm] += 50
			}, cmbo.WithPrior(p))
		}
		return regrets
	})
	share := [2]float64{float64(held[0]) / float64(of[0]), float64(held[1]) / float64(of[1])}
	t.Logf("after 30 values 90 %% intervals hold %.3f of random rows, and %.3f of the others", share[0], share[1])
	if *ownOther != likelyOfAny {
		return
	}
	mean, _ := stat.MeanVariance(all)
	assert.Less(t, mean, -0.05)
	assert.Greater(t, share[0], min(share[1]-0.05, 0.9))
}

// BenchmarkOwnLengthsOfRuns is a run of a hundred evaluations on a problem of TestOwnLengthsOfRuns, in two to five
// dimensions, the past being learned already: ms/run with lengths of its own, times-any the ratio of its time to that of a
// run with lengths likely of any function. The two take turns, so that what else the machine does slows both down.
func BenchmarkOwnLengthsOfRuns(b *testing.B) {
	for i, family := range []string{"askew", "ridge", "ripples", "cone"} {
		b.Run(family, func(b *testing.B) {
			h := hillsOf(b, family, uint64(i))
			var took [2]time.Duration
			for b.Loop() {
				var runs [2]*cmbo.Optimizer
				for arm, p := range h.priors(b, likelyOfAny) {
					runs[arm] = newOptimizer(b, h.space, cmbo.WithPrior(p))
				}
				noise := [2]*rand.Rand{rng.Stream(0, "noise"), rng.Stream(0, "noise")}
				for range 100 {
					for arm, o := range runs {
						start := time.Now()
						trial := ask(b, o)
						require.NoError(b, o.Tell(trial.ID, h.target(trial.X)+h.noise*noise[arm].NormFloat64()))
						took[arm] += time.Since(start)
					}
				}
			}
			b.ReportMetric(1e3*took[0].Seconds()/float64(b.N), "ms/run")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "times-any")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ratioOf says which ratio the mean of its decimal logarithms is, and the interval of twice its standard error.
func ratioOf(logs []float64) string {
	mean, variance := stat.MeanVariance(logs)
	by := 2 * math.Sqrt(variance/float64(len(logs)))
	return fmt.Sprintf("%.2f [%.2f, %.2f]", math.Pow(10, mean), math.Pow(10, mean-by), math.Pow(10, mean+by))
}

// onAList returns the problem of functions on a list of so many points, of which each task but the last, the target, has
// count with noise of .01, and the target's largest value there. Few problems are learned on fewer index points than Learn
// takes by itself: nearly all of the time goes into it.
func onAList(tb testing.TB, r *rand.Rand, dim int, fs []func(x []float64) float64, points, count int) (h pastProblem, top float64) {
	numbers := unitCube(tb, dim)
	rows := sample(tb, numbers, points, r.Uint64())
	h.space = listOf(tb, numbers, rows)
	past := len(fs) - 1
	for i, f := range fs[:past] {
		k := cmbo.Task{ID: fmt.Sprint(i)}
		for _, row := range r.Perm(len(rows))[:count] {
			k.X, k.Y = append(k.X, rows[row]), append(k.Y, f(rows[row])+0.01*r.NormFloat64())
		}
		h.tasks = append(h.tasks, k)
	}
	if *ownListed <= 8 {
		h.learn = append(h.learn, cmbo.WithIndexPoints(150))
	}
	h.target, top = fs[past], math.Inf(-1)
	for _, x := range rows {
		top = max(top, h.target(x))
	}
	return h, top
}

// TestOwnLengthsOnAList: where two of four parameters matter to the past and the other two to the target, a run on a list of
// candidates ends nearer to the best one if lengths beside the past are its own before it has dozens of values.
func TestOwnLengthsOnAList(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	all := compared(t, "", []string{"other parameters"}, *ownListed, 0.005, func(_ string, seed uint64) [2]float64 {
		r := rng.Stream(seed, t.Name())
		var centre [4]float64
		for j := range centre {
			centre[j] = 0.15 + 0.7*r.Float64()
		}
		one := func(first, second float64) func(x []float64) float64 {
			p := peak(near(r, centre[0], 0.1), near(r, centre[1], 0.1), 0.25)
			q := peak(near(r, centre[2], 0.1), near(r, centre[3], 0.1), 0.25)
			return func(x []float64) float64 { return first*p(x[0], x[1]) + second*q(x[2], x[3]) }
		}
		var fs []func(x []float64) float64
		for range 10 {
			fs = append(fs, one(1, 0.05))
		}
		h, top := onAList(t, r, 4, append(fs, one(0.1, 1)), 400, 25)
		ends := h.beside(t, "OwnFrom=5:55", seed, 25)
		return [2]float64{top + ends[0], top + ends[1]}
	})
	mean, _ := stat.MeanVariance(all)
	assert.Less(t, mean, math.Log10(0.75))
}

// TestPastOfNoiseOnAList: where a past of forty or of ten rows a task says nothing, its values being beside the wrong points,
// a run on a list of candidates goes by what a run without a past takes the target for from its first values on.
func TestPastOfNoiseOnAList(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	families, problems := []string{"Ackley"}, (*ownListed+1)/2
	if *ownListed > 8 {
		families, problems = append(families, "Styblinski-Tang", "Levy", "Zakharov", "peak"), *ownListed
	}
	all := compared(t, "", families, problems, 0.005, func(family string, seed uint64) [2]float64 {
		r := rng.Stream(seed, t.Name()+family)
		dim := *ownListedIn + int(seed%4)
		h, top := onAList(t, r, dim, basins(family, r, dim, *ownNoisy+1), 400, []int{40, 10}[(seed+seed/4)%2])
		for _, k := range h.tasks {
			r.Shuffle(len(k.Y), func(i, j int) { k.Y[i], k.Y[j] = k.Y[j], k.Y[i] })
		}
		ends := h.beside(t, *ownOnAList, seed, *ownOnBudget)
		return [2]float64{top + ends[0], top + ends[1]}
	})
	if mean, _ := stat.MeanVariance(all); *ownOnAList == "Outgrow=0" {
		assert.Less(t, mean, math.Log10(0.75))
	}
}

// TestPastAlikePointByPoint: where values on a list have nothing to do with the parameters, as those of items of a catalogue,
// tasks that are alike point by point tell a run which ones are good.
func TestPastAlikePointByPoint(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	families, sizes := []string{"two factors"}, []int{5, 12}
	if *ownListed > 8 {
		families, sizes = append(families, "skewed", "levels"), append(sizes, 40)
	}
	all := compared(t, "", families, *ownListed, 0.005, func(family string, seed uint64) [2]float64 {
		r := rng.Stream(seed, t.Name()+family)
		effects := func() func(x []float64) float64 { // of rows, by their coordinates
			of := make(map[[3]float64]float64)
			return func(x []float64) float64 {
				at := [3]float64(x)
				if _, ok := of[at]; !ok {
					of[at] = r.NormFloat64()
				}
				return of[at]
			}
		}
		first, second := effects(), effects()
		var fs []func(x []float64) float64
		for range sizes[seed%uint64(len(sizes))] {
			own, a, b := effects(), 1.0, 0.0
			if family == "two factors" {
				a, b = 1+0.5*r.NormFloat64(), 0.5*r.NormFloat64()
			}
			fs = append(fs, func(x []float64) float64 {
				switch v := a*first(x) + b*second(x) + 0.5*own(x); family {
				case "skewed":
					return math.Exp(v)
				case "levels":
					return math.Round(2 * v)
				default:
					return v
				}
			})
		}
		h, top := onAList(t, r, 3, fs, 200, 50)
		ends := h.beside(t, *ownAlike, seed, *ownOnBudget)
		return [2]float64{top + ends[0], top + ends[1]}
	})
	if mean, _ := stat.MeanVariance(all); *ownAlike == "none" {
		assert.Less(t, mean, math.Log10(0.5))
	}
}
