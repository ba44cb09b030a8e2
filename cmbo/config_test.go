package cmbo

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo/acq"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// flat is a surrogate that knows nothing.
type flat struct{}

func (flat) Fit(context.Context, Data) error { return nil }
func (flat) Predict(_ context.Context, mean, sd []float64, _ *linalg.Dense) error {
	clear(mean)
	for i := range sd {
		sd[i] = 1
	}
	return nil
}

// norm1 is a cost known beforehand.
func norm1(x []float64) float64 { return 1 + x[0] + x[1] }

func randomTasks(label string, k, n, d int) []Task {
	tasks := make([]Task, k)
	for j := range tasks {
		r := rng.Stream(5, label, uint64(j))
		tasks[j].ID = fmt.Sprint("t", j)
		for range n + j {
			x := make([]float64, d)
			s := float64(j % 3)
			for i := range x {
				x[i] = r.Float64()
				s += math.Sin(3*x[i] + float64(j%3))
			}
			tasks[j].X = append(tasks[j].X, x)
			tasks[j].Y = append(tasks[j].Y, s+0.05*r.NormFloat64())
		}
	}
	return tasks
}

func configPrior(t *testing.T, opts ...LearnOption) (*Space, *Prior) {
	box := unitCube(t, 2)
	p := priorOf(t, box, randomTasks("config", 5, 8, 2), append(opts, WithIndexPoints(12))...)
	return box, p
}

// TestSnapshotHoldsConfig walks all fields of a run's configuration: a value that
// is not the default goes into a snapshot, the same comes out. Whoever adds a field
// has to say here how it is set, and by which options it is given again.
func TestSnapshotHoldsConfig(t *testing.T) {
	box, p := configPrior(t)
	tasks := randomTasks("described", 3, 5, 2)
	for i := range tasks {
		tasks[i].Context = Context{"size": i}
	}
	described := priorOf(t, box, tasks, WithIndexPoints(5))
	journal := WithJournal(func([]byte) error { return nil })
	fields := map[string]struct{ opts, again []Option }{
		"seed":        {opts: []Option{WithSeed(7)}},
		"prior":       {[]Option{WithPrior(p)}, []Option{WithPrior(p)}},
		"minimize":    {opts: []Option{WithMinimize()}},
		"positive":    {opts: []Option{WithPositiveValues()}},
		"y":           {opts: []Option{WithYPolicy(Copula)}},
		"parallelism": {[]Option{WithParallelism(2)}, []Option{WithParallelism(2)}},
		"journal":     {[]Option{journal}, []Option{journal}},
		"acquisition": {opts: []Option{WithAcquisition(UCB(0.3))}},
		"surrogate":   {[]Option{WithSurrogate(flat{})}, []Option{WithSurrogate(flat{})}},
		"kernel":      {opts: []Option{WithKernel(kernel.Scale(0.7, kernel.Matern52(0.2, 0.3)))}},
		"noise":       {opts: []Option{WithNoiseVariance(0.03)}},
		"initial":     {opts: []Option{WithInitial(3)}},
		"checkpoints": {opts: []Option{WithCheckpoints()}},
		"outputs":     {opts: []Option{WithOutput("b"), WithOutput("a", Optional())}},
		"cost":        {[]Option{WithCost(norm1)}, []Option{WithCost(norm1)}},
		"budget":      {opts: []Option{WithBudget(9)}},
		"context":     {[]Option{WithPrior(described), WithContext(Context{"size": 3})}, []Option{WithPrior(described)}},
		"sobol":       {opts: []Option{WithCandidateCounts(17, 200)}},
		"local":       {opts: []Option{WithCandidateCounts(1000, 9)}},
	}
	elsewhere := map[string]string{
		"given": "nil once the options are checked",
		"mark":  "for RestoreJournal alone",
		"costs": "follows from prior and outputs",

		"newPrior": "for Restore and RestoreJournal alone",
	}
	kinds := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[runConfig]()), func(f reflect.StructField) bool { return f.Anonymous })
	field := func(c *runConfig, i int) reflect.Value { return reflect.ValueOf(*c).FieldByIndex(kinds[i].Index) }
	value := func(c *runConfig, i int) string { return fmt.Sprintf("%v", field(c, i)) }
	plain := optimizerOf(t, box)
	for i := range kinds {
		name := kinds[i].Name
		f, ok := fields[name]
		if !ok {
			require.NotEmpty(t, elsewhere[name], "nothing says how field %s of a run's configuration is stored", name)
			require.True(t, field(&plain.config, i).IsZero(), name)
			continue
		}
		o, err := New(box, f.opts...)
		require.NoError(t, err, name)
		require.NotEqual(t, value(&plain.config, i), value(&o.config, i), "%s is at its default", name)
		var b bytes.Buffer
		require.NoError(t, o.Snapshot(&b), name)
		back, err := Restore(&b, f.again...)
		require.NoError(t, err, name)
		for j := range kinds {
			require.Equal(t, value(&o.config, j), value(&back.config, j), "field %s, with another %s", kinds[j].Name, name)
		}
	}
}

// TestOptionNames: each option has the identity that the function making it is named for.
func TestOptionNames(t *testing.T) {
	made := regexp.MustCompile(`(?m)^func (With\w+)\(.*\{(?:\n.+|\n\n)*?(?:option\{\s*id: +|shared\()(?:opt|"With)(\w+)`)
	seen := make(map[string]bool)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range made.FindAllStringSubmatch(string(text), -1) {
			require.Equal(t, m[1], "With"+m[2])
			seen["With"+m[2]] = true
		}
	}
	text, err := os.ReadFile("option.go")
	require.NoError(t, err)
	identities := regexp.MustCompile(`(?m)^\topt(\w+) +optionID = "(\w+)"$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, seen, 24)
	for _, m := range identities {
		require.Equal(t, "With"+m[1], m[2])
		require.True(t, seen[m[2]], m[2])
	}
	require.Equal(t, optInitial, WithInitial(1).(option).id)
}

// TestChoicesReachTheModels: no choice is without a counterpart in the models, which
// would fall back to their first one.
func TestChoicesReachTheModels(t *testing.T) {
	for y, p := range []scaling.Policy{ZScore: scaling.ZScore, MinMax: scaling.MinMax, RawValues: scaling.Raw, Copula: scaling.Copula} {
		require.Equal(t, p, scaling.Policy(y), "%s", YPolicy(y))
		require.True(t, YPolicy(y).valid())
	}
	require.Len(t, yPolicyNames, int(Copula)+1)
}

// TestUpright: a verdict goes by what takes something over right way up, and by what does upside down, at all levels.
func TestUpright(t *testing.T) {
	all := Transfer{Hypotheses: []Hypothesis{
		{Level: LevelNone, Mass: 0.25}, {Level: LevelPopulation, Mass: 0.5, Reversed: 0.125}, {Level: LevelCluster, Mass: 0.25, Reversed: 0.125},
	}}
	up, down := all.upright()
	require.Equal(t, []float64{0.5, 0.25}, []float64{up, down})
}

// TestOptionsContradict: two options that cannot both be meant are refused, in
// either order; of two that say the same thing the later one counts.
func TestOptionsContradict(t *testing.T) {
	box, p := configPrior(t)
	k := kernel.Scale(1, kernel.Matern52(0.3))
	for _, pair := range [][2]Option{
		{WithSurrogate(flat{}), WithPrior(p)}, {WithSurrogate(flat{}), WithKernel(k)},
		{WithSurrogate(flat{}), WithNoiseVariance(1)}, {WithPrior(p), WithKernel(k)},
	} {
		for _, opts := range [][]Option{{pair[0], pair[1]}, {pair[1], pair[0]}} {
			_, err := New(box, opts...)
			require.ErrorIs(t, err, ErrOption)
			require.ErrorContains(t, err, "contradicts")
		}
	}
}

// TestRunTakesPolicyOfPrior: the scale of the target is inferred, and the prior's own policy
// says so too.
func TestRunTakesPolicyOfPrior(t *testing.T) {
	s, tasks := encoded(t, 2, 9)
	for learned, allowed := range map[YPolicy]map[YPolicy]YPolicy{
		ZScore: {ZScore: RawValues, RawValues: RawValues}, Copula: {Copula: Copula}, MinMax: {MinMax: RawValues, RawValues: RawValues},
	} {
		p := priorOf(t, s, tasks, WithYPolicy(learned))
		for _, y := range []YPolicy{ZScore, MinMax, RawValues, Copula} {
			o, err := New(s, WithPrior(p), WithYPolicy(y))
			if want, ok := allowed[y]; ok {
				require.NoError(t, err, "%s of %s", y, learned)
				require.Equal(t, want, o.config.y)
			} else {
				require.ErrorIs(t, err, ErrPriorMismatch, "%s of %s", y, learned)
			}
		}
	}
}

// greedy is an acquisition from outside, with a value that does not compare.
type greedy struct{ shares []float64 }

func (g greedy) Score(mean, sd float64) float64 {
	if len(g.shares) == 0 {
		return 1
	}
	return mean + g.shares[0]*sd
}
func (g greedy) String() string { return fmt.Sprintf("greedy(%g)", g.shares[0]) }

// TestForeignAcquisition: any acq.Func proposes; a snapshot holds one whose name
// reads as it, and refuses others.
func TestForeignAcquisition(t *testing.T) {
	box := unitCube(t, 2)
	run := func(f acq.Func) *Optimizer {
		o := optimizerOf(t, box, WithAcquisition(f), WithInitial(2), WithCandidateCounts(20, 5))
		for range 3 {
			trial := ask(t, o)
			require.NoError(t, o.Tell(trial.ID, trial.X[0]))
		}
		return o
	}
	o := run(greedy{[]float64{0.5}})
	require.Equal(t, run(UCB(0.5)).Observations(), o.Observations())
	require.ErrorIs(t, o.Snapshot(new(bytes.Buffer)), ErrOption)
	_, err := New(box, WithAcquisition(greedy{[]float64{0.5}}), WithJournal(func([]byte) error { return nil }))
	require.ErrorIs(t, err, ErrOption)

	acq.Register("greedy", func(arg string) (acq.Func, error) {
		g := greedy{[]float64{0}}
		_, err := fmt.Sscanf(arg, "%g", &g.shares[0])
		return g, err
	})
	back := restored(t, o)
	x := ask(t, o)
	y := ask(t, back)
	require.Equal(t, x.X, y.X)

	_, err = New(box, WithAcquisition(nil))
	require.ErrorIs(t, err, ErrOption)
	require.NoError(t, run(acq.EI{Best: 0.2}).Snapshot(new(bytes.Buffer)), "a fixed value to improve on has a name")
}

// TestEqualScores: of candidates with one score the first is proposed.
func TestEqualScores(t *testing.T) {
	s, err := Candidates([][]float64{{0.7}, {0.2}, {0.9}, {0.4}})
	require.NoError(t, err)
	o := optimizerOf(t, s, WithAcquisition(greedy{}), WithInitial(0))
	for i := range 4 {
		trial := ask(t, o)
		require.Equal(t, i, trial.Index)
		require.NoError(t, o.Tell(trial.ID, float64(i%2)))
	}
}

// TestThompson: draws follow the posterior, its covariances included, and the seed.
func TestThompson(t *testing.T) {
	box := unitCube(t, 2)
	_, err := New(box, WithSurrogate(flat{}), WithAcquisition(Thompson()))
	require.ErrorIs(t, err, ErrOption)
	opts := []Option{WithAcquisition(Thompson()), WithCandidateCounts(30, 5), WithInitial(2)}
	a := optimizerOf(t, box, opts...)
	for range 5 {
		trial := ask(t, a)
		require.NoError(t, a.Tell(trial.ID, math.Sin(4*trial.X[0])+trial.X[1]))
	}
	open, err := a.Ask(context.Background()) // pending
	require.NoError(t, err)
	why := explain(t, a, open.ID)
	require.Contains(t, why.String(), Thompson().String())
	back := restored(t, a)
	x := ask(t, a)
	y := ask(t, back)
	require.Equal(t, x.X, y.X)

	// Means, variances and a covariance of many draws at two near points.
	d, _ := a.draft().data(true)
	require.NoError(t, a.fit(context.Background(), d))
	points := linalg.NewDense(3, 2, []float64{0.3, 0.4, 0.32, 0.41, 0.9, 0.1})
	mean, sd := make([]float64, 3), make([]float64, 3)
	require.NoError(t, a.model.Predict(context.Background(), mean, sd, points))
	const n = 4000
	var near float64
	sums, squares := make([]float64, 3), make([]float64, 3)
	for k := range n {
		f := make([]float64, 3)
		require.NoError(t, a.model.Surrogate.(Sampler).Sample(context.Background(), f, points, rng.Stream(1, "draws", uint64(k))))
		for i := range f {
			z := (f[i] - mean[i]) / sd[i]
			sums[i] += z / n
			squares[i] += z * z / n
		}
		near += (f[0] - mean[0]) / sd[0] * (f[1] - mean[1]) / sd[1] / n
	}
	for i := range sums {
		require.InDelta(t, 0, sums[i], 5/math.Sqrt(n))
		require.InDelta(t, 1, squares[i], 5*math.Sqrt2/math.Sqrt(n))
	}
	require.Greater(t, near, 0.8, "near points have near values")
}

// Acquisitions other than the expected improvement see the moments of the default's mixture.
func TestDefaultScoresMoments(t *testing.T) {
	s, tasks := encoded(t, 3, 9)
	p := priorOf(t, s, tasks[:2])
	o := optimizerOf(t, s, WithPrior(p), WithAcquisition(UCB(2)))
	require.NoError(t, o.Observe(tasks[2].X[0], tasks[2].Y[0]))
	ask(t, o)
	step, ok := o.LastStep()
	require.True(t, ok)
	for i, mean := range step.Mean {
		require.InDelta(t, mean+2*step.SD[i], step.Scores[i], 1e-12)
	}
}

// boxAndList returns the unit square without a list, and with one of forty rows.
func boxAndList(t *testing.T) (*Space, *Space, [][]float64) {
	box := spaceOf(t, Float("x", 0, 1), Float("y", 0, 1))
	rows := sample(t, box, 40, 1)
	list := listOf(t, box, rows)
	return box, list, rows
}

// Where a past shows nothing but noise a run begins with the initial design of one without a past.
func TestDesignBesideAPastOfNoise(t *testing.T) {
	box, list, rows := boxAndList(t)
	r := rng.Stream(1, t.Name())
	priors := make(map[string]*Prior)
	for _, past := range []string{"bowls", "noise", "noise of few rows"} {
		var tasks []Task
		for i := range 4 {
			task := Task{ID: fmt.Sprint(i), X: rows}
			if past == "noise of few rows" {
				task.X = rows[:39]
			}
			for _, x := range task.X {
				y := r.NormFloat64()
				if past == "bowls" {
					y = -(x[0]-0.4)*(x[0]-0.4) - (x[1]-0.5)*(x[1]-0.5)
				}
				task.Y = append(task.Y, y)
			}
			tasks = append(tasks, task)
		}
		prior := priorOf(t, box, tasks)
		priors[past] = prior
		require.Equal(t, past != "bowls", prior.Report().Noise >= 0.9)
	}
	for _, c := range []struct {
		past  string
		space *Space
		opts  []Option
		want  int
	}{{"bowls", box, nil, 0}, {"noise", box, nil, defaultInitial}, {"noise of few rows", box, nil, 0}, {"bowls", list, nil, 0}, {"noise", list, nil, defaultInitial}, {"noise", box, []Option{WithInitial(2)}, 2}} {
		o := optimizerOf(t, c.space, append(c.opts, WithPrior(priors[c.past]))...)
		require.Equal(t, c.want, o.config.initial, c)
	}
}

// TestDesignBesideEqualValues: where no task has two different values learning reports nothing in common, and a run begins
// with the initial design of one without a past, on a list too, also from a stored prior. Values in one unit differ between
// tasks.
func TestDesignBesideEqualValues(t *testing.T) {
	box, list, rows := boxAndList(t)
	for _, past := range []struct {
		rows   int
		differ float64 // of the last value of the last task from that task's others
		opts   []LearnOption
		want   int
	}{
		{1, 0, nil, defaultInitial}, {6, 0, nil, defaultInitial}, {6, 1, nil, 0},
		{1, 0, []LearnOption{WithYPolicy(MinMax)}, defaultInitial}, {1, 0, []LearnOption{WithYPolicy(RawValues)}, 0},
	} {
		var tasks []Task
		for i := range 5 {
			task := Task{ID: fmt.Sprint(i), X: rows[i*past.rows : (i+1)*past.rows]}
			task.Y = slices.Repeat([]float64{float64(i)}, past.rows)
			tasks = append(tasks, task)
		}
		tasks[4].Y[past.rows-1] += past.differ
		prior := priorOf(t, box, tasks, past.opts...)
		var stored bytes.Buffer
		require.NoError(t, prior.Encode(&stored))
		again := decodePrior(t, &stored)
		for _, p := range []*Prior{prior, again} {
			r := p.Report()
			require.Equal(t, past.want > 0, r.Common == 0 && r.Shrinkage == 0, r)
			for _, s := range []*Space{box, list} {
				o := optimizerOf(t, s, WithPrior(p))
				require.Equal(t, past.want, o.config.initial, past)
			}
		}
	}
}
