package cmbo_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/internal/testutil"
)

var (
	skewedProblems = flag.Int("skewed-costs", 4, "problems of each family of TestSkewedCosts")
	skewedBudget   = flag.Int("skewed-costs-budget", 15, "evaluations of each of its runs")
	skewedOther    = flag.String("skewed-costs-other", "no-logarithms", "what it compares the default with: a change of it, or none for no past")
)

// skewedCosts returns a problem of two to four numbers and a choice, with five past tasks of 25 values, of costs times −1,
// and the least cost of the target at many random points: waits near capacity, products of powers of distances, exponentials
// of waves, and tries until one succeeds.
func skewedCosts(tb testing.TB, family string, seed uint64) (*pastProblem, float64) {
	r := rng.Stream(seed, "TestSkewedCosts"+family)
	dim := 2 + r.IntN(3)
	h := &pastProblem{space: numbersAndChoice(tb, dim, "a", "b", "c"), rows: seed}
	random := func(lo, hi float64) []float64 { return between(r, dim, lo, hi) }
	common, power, phase, best := random(0.2, 0.8), random(0.5, 2), random(0, 6), r.IntN(3)
	function := func() func(x []float64) float64 {
		c, unit := make([]float64, dim), math.Exp(0.7*r.NormFloat64())
		for j := range c {
			c[j] = common[j] + 0.07*r.NormFloat64()
		}
		other := 1.2 + r.Float64()
		return func(x []float64) float64 {
			y, sum := unit, 0.0
			for j, v := range x[1:] {
				switch d := math.Abs(v - c[j]); family {
				case "waits":
					y += unit * (v + 0.1/math.Max(0.01, 0.2+v-0.6*c[j]))
				case "powers":
					y *= math.Pow(0.05+d, power[j])
				case "waves":
					y *= math.Exp(1.5 * math.Sin(6*v+phase[j]+c[j]))
				case "tries":
					sum += 4 * d
				}
			}
			y *= 1 + math.Exp(3*sum-4)
			if int(x[0]) != best {
				y *= other
			}
			return -y
		}
	}
	h.target = function()
	h.tasks = pastOfFunctions(tb, h.space, r, function)
	at := sample(tb, h.space, 20000, seed)
	least := math.Inf(1)
	for _, x := range at {
		least = min(least, -h.target(x))
	}
	return h, least
}

// TestSkewedCosts: where values of the past have one sign and are skewed, nobody having said so, a run ends nearer to the
// least cost for seeing their logarithms.
func TestSkewedCosts(t *testing.T) {
	t.Parallel()
	testutil.SkipShort(t, "it compares where runs end")
	logs, families := 0, []string{"waves", "tries"}
	if *skewedProblems > 4 { // to which logarithms bring less
		families = append(families, "waits", "powers")
	}
	all := compared(t, "", families, *skewedProblems, 1e-3, func(family string, seed uint64) (regrets [2]float64) {
		h, least := skewedCosts(t, family, seed)
		if learn(t, h.space, h.tasks).Report().Logarithms {
			logs++
		}
		regrets = h.beside(t, *skewedOther, seed, *skewedBudget)
		return [2]float64{max(regrets[0]/least-1, 0), max(regrets[1]/least-1, 0)}
	})
	t.Logf("%d of %d pasts are seen by their logarithms", logs, len(all))
	if *skewedOther == "no-logarithms" && *skewedBudget == 15 {
		require.Less(t, stat.Sum(all)/float64(len(all)), 0.0)
	}
}

// TestLogarithmsByLikelihood: where the logarithms of the tasks' values are likelier, values of 0 and less are told and
// predicted all the same, and mirrored values are followed alike; values that are not skewed, of both signs, 0, with curves,
// or scaled by the caller's choice are seen as they are.
func TestLogarithmsByLikelihood(t *testing.T) {
	testutil.SkipShort(t, "it is about what is learned")
	h, _ := skewedCosts(t, "tries", 3)
	space, minimize, target := h.space, cmbo.WithMinimize(), func(x []float64) float64 { return -h.target(x) }
	tasks := mapped(h.tasks, func(y float64) float64 { return -y })
	p, promised := learn(t, space, tasks, minimize), learn(t, space, tasks, minimize, cmbo.WithPositiveValues())
	require.True(t, p.Report().Logarithms)
	require.Contains(t, p.Report().String(), "logarithms")
	require.False(t, p.PositiveValues())
	require.False(t, promised.Report().Logarithms)
	for name, other := range map[string]*cmbo.Prior{
		"ablation": learn(t, space, tasks, minimize, cmbo.WithAblation("no-logarithms")),
		"policy":   learn(t, space, tasks, minimize, cmbo.WithYPolicy(cmbo.MinMax)),
		"linear":   learn(t, space, mapped(tasks, math.Log), minimize),
		"signs":    learn(t, space, append([]cmbo.Task{{ID: "other", X: tasks[0].X[:1], Y: []float64{-1}}}, tasks...), minimize),
		"curves":   learn(t, space, append(withCurve(tasks[0]), tasks[1:]...), minimize),
		"zero":     learn(t, space, mapped(tasks, func(y float64) float64 { return y - tasks[0].Y[0] }), minimize),
	} {
		require.False(t, other.Report().Logarithms, name)
	}

	mirrored := newOptimizer(t, space, cmbo.WithPrior(learn(t, space, h.tasks))) // to be maximised
	o := newOptimizer(t, space, cmbo.WithPrior(p))
	for range 6 {
		a, b := askSame(t, o, mirrored)
		require.NoError(t, o.Tell(a.ID, target(a.X)))
		require.NoError(t, mirrored.Tell(b.ID, -target(b.X)))
	}
	at := sample(t, space, 20, 5)
	for _, x := range at {
		mean, sd := predict(t, o, x)
		mirroredMean, mirroredSD := predict(t, mirrored, x)
		require.Equal(t, []float64{-mean, sd}, []float64{mirroredMean, mirroredSD})
	}
	u := outlookOf(t, o)
	v := outlookOf(t, mirrored)
	require.InEpsilon(t, u.Expected, v.Expected, 1e-9)

	for _, y := range []float64{0, -2} {
		trial := ask(t, o)
		require.NoError(t, o.Tell(trial.ID, y))
		q := quantiles(t, o, trial.X)
		require.InDelta(t, y, q.Median, 0.5)
		mean, sd := predict(t, o, trial.X)
		require.False(t, math.IsNaN(mean) || math.IsNaN(sd))
		u := outlookOf(t, o)
		require.GreaterOrEqual(t, u.Expected, 0.0)
		c := calibrate(t, o)
		f := c.Forecasts[len(c.Forecasts)-1]
		var density float64
		const steps, far = 200000, 12
		for i := range steps { // a grid of values, fine next to the median
			z := (float64(i)/steps - 0.5) * 2 * far
			f.Y = f.Quantiles.Median + math.Sinh(z)
			density += math.Exp(f.LogScore()) * math.Cosh(z) * 2 * far / steps
		}
		require.InDelta(t, 1, density, 1e-3)
	}
	best, ok := o.Best()
	require.True(t, ok)
	require.Equal(t, -2.0, best.Y)

	var b bytes.Buffer
	require.NoError(t, p.Encode(&b))
	q := decodePrior(t, &b)
	require.True(t, q.Report().Logarithms)
	b.Reset()
	require.NoError(t, o.Snapshot(&b))
	back := restore(t, &b, cmbo.WithPrior(q))
	askSame(t, o, back)
	adopted, _, err := p.Adopt(ctx, space, cmbo.Changes{}, cmbo.WithYPolicy(cmbo.MinMax))
	require.NoError(t, err)
	require.False(t, adopted.Report().Logarithms)
}

// mapped returns the tasks with the values that f makes of theirs.
func mapped(tasks []cmbo.Task, f func(float64) float64) (out []cmbo.Task) {
	for _, k := range tasks {
		t := cmbo.Task{ID: k.ID, X: k.X}
		for _, y := range k.Y {
			t.Y = append(t.Y, f(y))
		}
		out = append(out, t)
	}
	return out
}

// withCurve returns the task, whose first value has a curve.
func withCurve(t cmbo.Task) []cmbo.Task {
	t.Curves = make([]cmbo.Curve, len(t.Y))
	t.Curves[0] = cmbo.Curve{Steps: []int{1, 2}, Values: []float64{2 * t.Y[0], t.Y[0]}}
	return []cmbo.Task{t}
}

// TestLogarithmsOfManyTasks: those of a sample decide, and a learner and its shards keep what they decided.
func TestLogarithmsOfManyTasks(t *testing.T) {
	h, _ := skewedCosts(t, "tries", 3)
	space, tasks := h.space, h.tasks
	all, err := cmbo.NewLearner(space)
	require.NoError(t, err)
	pass := func(l *cmbo.Learner) {
		for i := range 5 {
			task := tasks[i%len(tasks)]
			task.ID = fmt.Sprint("copy", i)
			require.NoError(t, l.Add(task))
		}
	}
	fewKept(t, 3)
	pass(all)
	for more := true; more; {
		more, err = all.EndPass(ctx)
		require.NoError(t, err)
		if !more {
			break
		}
		var b bytes.Buffer
		require.NoError(t, all.Encode(&b))
		all, err = cmbo.DecodeLearner(space, &b)
		require.NoError(t, err)
		pass(all)
	}
	p, err := all.Prior(ctx)
	require.NoError(t, err)
	require.True(t, p.Report().Logarithms)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint("copy", i)
	}
	q := learn(t, space, tasks)
	at := sample(t, space, 20, 5)
	o, want := newOptimizer(t, space, cmbo.WithPrior(p)), newOptimizer(t, space, cmbo.WithPrior(q))
	for _, x := range at {
		mean, sd := predict(t, o, x)
		wantMean, wantSD := predict(t, want, x)
		require.InEpsilon(t, wantMean, mean, 0.2)
		require.InEpsilon(t, wantSD, sd, 0.3)
	}
}
