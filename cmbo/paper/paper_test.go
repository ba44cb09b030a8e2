package paper

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/paper/theorem"
	"github.com/gocmbo/cmbo/cmbo/surrogatetest"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/stretchr/testify/require"
)

// TestLearnFindsGroups: the two kinds of tasks are told apart, by either
// distance, and the number of clusters is found.
func TestLearnFindsGroups(t *testing.T) {
	space, tasks := square(t), twoKinds(10, 30)
	small := []Option{WithIndexPoints(40)}
	for _, v := range []Variant{WssClusWssCMP, JefClusJefCMP} {
		p := learn(t, space, tasks, append(small, WithVariant(v), WithClusterRange(2, 2))...)
		require.Equal(t, []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, p.labels, "%s", v)
		cs := p.Clusters()
		require.Len(t, cs, 2)
		require.Equal(t, []string{"task-01", "task-03", "task-05", "task-07", "task-09"}, cs[1].Members)
		require.Zero(t, p.Report().Unfitted)
	}
	p := learn(t, space, tasks, append(small, WithClusterRange(1, 4))...)
	for i, l := range p.labels {
		require.Equal(t, i%2, min(l, 2)%2, "the kinds are apart, in more clusters or not: %d", p.labels)
	}
}

// TestVariants: each has its name, its clusters and its weights.
func TestVariants(t *testing.T) {
	space, tasks := lattice(t, 6), twoKinds(6, 15)
	want := map[string]int{"JefClus_JefCMP": 4, "WssClus_WssCMP": 4, "JefClus_WssCMP": 4, "WssClus_JefCMP": 4, "WssClus_WssCMP_Bary": 4, "GlobalCen": 1, "IndiWeight-Jef": 6}
	require.Len(t, Variants(), len(want))
	require.NotContains(t, want, Variant{Grouping: Apart + 1, WeightDistance: Jeffreys}.String())
	require.NotContains(t, want, Variant{Grouping: Apart + 1}.String())
	for _, v := range Variants() {
		p := learn(t, space, tasks, WithVariant(v))
		require.Len(t, p.Clusters(), want[v.String()], "%s", v)
		o, _ := begin(t, space, p, nil)
		drive(t, o, hill(0.3, 0.3), 4)
		w := weightsOf(t, o)
		require.Len(t, w, want[v.String()])
		var sum float64
		for _, x := range w {
			require.Greater(t, x, 0.0)
			sum += x
		}
		require.InDelta(t, 1, sum, 1e-14)
		step, ok := o.LastStep()
		require.True(t, ok)
		if len(w) == 1 {
			require.Nil(t, step.Distances)
			require.Equal(t, 1.0, w[0])
		} else {
			require.Len(t, step.Distances, len(w))
			require.Equal(t, slices.Max(step.Distances), step.MaxDistance)
			require.NotEqual(t, w[0], w[1])
		}
		require.Len(t, step.PriorSD, len(step.Mean))
		if v == WssClusWssCMPBary {
			require.Len(t, p.Report().Barycenters, 4)
		}
		for _, b := range p.Report().Barycenters {
			require.True(t, b.Converged)
		}

		// What the run says of the worth of the past has the weights, and no verdict.
		transfer, err := o.Transfer(ctx)
		require.NoError(t, err)
		require.Equal(t, cmbo.TransferUnknown, transfer.Verdict)
		require.Len(t, transfer.Hypotheses, len(w))
		for _, s := range transfer.Hypotheses {
			require.Equal(t, cmbo.LevelCluster, s.Level)
			require.Equal(t, w[s.Cluster], s.Mass)
			require.Equal(t, p.Clusters()[s.Cluster].Members, s.Tasks)
		}
	}
}

// TestChoicesReachTheModels: no choice is without a counterpart in the models, which would
// fall back to their first one.
func TestChoicesReachTheModels(t *testing.T) {
	two := []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}, {1, 1}}, Y: []float64{1, 2}}, {ID: "b", X: [][]float64{{0, 0}, {1, 1}}, Y: []float64{1, 2}}}
	for g, labels := range map[Grouping][]int{Together: {0, 0}, Apart: {0, 1}} {
		for kind, n := range map[PrototypeKind]int{GeometricCenter: 0, Barycenter: labels[1] + 1} {
			p := learn(t, square(t), two, WithVariant(Variant{Grouping: g, Prototype: kind}), WithIndexPoints(3))
			require.Equal(t, labels, p.labels)
			require.Len(t, p.Report().Barycenters, n)
		}
	}
	for y := range cmbo.Copula + 1 {
		require.Equal(t, y.Apply([]float64{1, 2, 5}), learn(t, square(t), []cmbo.Task{{ID: "a", X: [][]float64{{0, 0}, {0, 1}, {1, 1}}, Y: []float64{1, 2, 5}}}, WithYPolicy(y), WithIndexPoints(3)).sources[0].y)
	}
	_, err := cmbo.ParseYPolicy((cmbo.Copula + 1).String())
	require.Error(t, err, "a policy that the models do not know")
}

// TestLearnAnything: histories as they come: one task, one observation,
// constant values, repeated points, sizes far apart.
func TestLearnAnything(t *testing.T) {
	space := lattice(t, 6)
	one := cmbo.Task{ID: "one", X: [][]float64{{0.5, 0.5}}, Y: []float64{3}}
	constant := cmbo.Task{ID: "constant", X: [][]float64{{0, 0}, {1, 1}, {0, 1}}, Y: []float64{2, 2, 2}}
	// Values that are equal have no unit, and so none of noise.
	without := learn(t, space, []cmbo.Task{constant}, WithIndexPoints(20))
	constant.NoiseVariance = []float64{9, 9, 9}
	require.Equal(t, without.sources[0].noises(), learn(t, space, []cmbo.Task{constant}, WithIndexPoints(20)).sources[0].noises())
	repeated := cmbo.Task{ID: "repeated", X: [][]float64{{0.2, 0.2}, {0.2, 0.2}, {0.2, 0.2}, {0.9, 0.1}}, Y: []float64{1, 1.5, 0.5, 4}}
	large := twoKinds(1, 50)[0]
	huge := cmbo.Task{ID: "huge", X: [][]float64{{0, 0}, {0.4, 1}, {1, 1}}, Y: []float64{-1e150, 0, 1e150}}
	noisy := cmbo.Task{ID: "noisy", X: [][]float64{{0, 0}, {0.4, 1}, {1, 1}}, Y: []float64{1, 2, 3}, NoiseVariance: []float64{0.1, 0, 0.2}}
	failed := cmbo.Task{ID: "failed", Failed: [][]float64{{0, 0}}}
	for _, tasks := range [][]cmbo.Task{
		{one}, {constant}, {repeated}, {large}, {huge}, {noisy}, {one, constant}, {failed, one},
		{one, constant, repeated, large, huge, noisy},
	} {
		for _, v := range Variants() {
			for _, y := range []cmbo.YPolicy{cmbo.ZScore, cmbo.MinMax, cmbo.Copula} {
				p, err := Learn(ctx, space, tasks, WithVariant(v), WithYPolicy(y), WithIndexPoints(20))
				require.NoError(t, err, "%s %s", v, y)
				o, _ := begin(t, space, p, nil)
				drive(t, o, hill(0.3, 0.3), 3)
			}
		}
	}
}

// TestLearnDoesNotDependOn the number of goroutines, nor on the order of the tasks.
func TestLearnDoesNotDependOn(t *testing.T) {
	space, tasks := square(t), twoKinds(7, 12)
	turned := slices.Clone(tasks)
	slices.Reverse(turned)
	for i, v := range Variants() {
		if testing.Short() && i%3 != 0 {
			continue
		}
		asked := func(tasks []cmbo.Task, workers int) [][]float64 {
			p := learn(t, space, tasks, WithVariant(v), WithClusterRange(2, 3), WithIndexPoints(20), WithParallelism(workers))
			o, _ := begin(t, space, p, nil, cmbo.WithCandidateCounts(60, 20))
			return drive(t, o, hill(0.7, 0.6), 4)
		}
		want := asked(tasks, 1)
		require.Equal(t, want, asked(tasks, 3), "%s", v)
		if v.Grouping != Clustered || testing.Short() { // the sum over members rounds in their order
			continue
		}
		p, q := learn(t, space, tasks, WithVariant(v), WithClusterRange(2, 3), WithIndexPoints(20)), learn(t, space, turned, WithVariant(v), WithClusterRange(2, 3), WithIndexPoints(20))
		for i := range tasks {
			for j := range tasks {
				n := len(tasks) - 1
				require.Equal(t, p.labels[i] == p.labels[j], q.labels[n-i] == q.labels[n-j], "%s", v)
			}
		}
	}
}

// TestRunTakesScaleOfPrior: direction and y policy are those of the past, the policy unless
// told otherwise.
func TestRunTakesScaleOfPrior(t *testing.T) {
	space, tasks := lattice(t, 5), twoKinds(4, 9)
	for i := range tasks {
		for j := range tasks[i].Y {
			tasks[i].Y[j] *= -1
		}
	}
	p := learn(t, space, tasks, WithMinimize(), WithYPolicy(cmbo.Copula))
	given, _ := begin(t, space, p, nil, cmbo.WithMinimize(), cmbo.WithYPolicy(cmbo.Copula))
	o, _ := begin(t, space, p, nil)
	down := func(x []float64) float64 { return -hill(0.8, 0.7)(x) }
	require.Equal(t, drive(t, given, down, 4), drive(t, o, down, 4))
	other, _ := begin(t, space, p, nil, cmbo.WithYPolicy(cmbo.MinMax))
	drive(t, other, down, 4)
	a, _ := o.LastStep()
	b, _ := other.LastStep()
	require.NotEqual(t, a.Scale, b.Scale)
	same, _ := given.LastStep()
	require.Equal(t, same, a)

	up, err := learn(t, space, tasks).Surrogate(ctx, space)
	require.NoError(t, err)
	for _, opt := range []cmbo.Option{cmbo.WithMinimize(), cmbo.WithPositiveValues()} {
		_, err = cmbo.New(space, cmbo.WithSurrogate(up), opt)
		require.ErrorIs(t, err, cmbo.ErrPriorMismatch)
	}
}

// TestRestored: a run goes on after a snapshot as if it had not stopped.
func TestRestored(t *testing.T) {
	space, p := square(t), learn(t, square(t), twoKinds(5, 10), WithClusterRange(2, 2), WithIndexPoints(15))
	o, _ := begin(t, space, p, nil, cmbo.WithCandidateCounts(50, 10))
	drive(t, o, hill(0.3, 0.3), 3)
	ask(t, o)
	var b bytes.Buffer
	require.NoError(t, o.Snapshot(&b))
	m, err := p.Surrogate(ctx, space)
	require.NoError(t, err)
	back, err := cmbo.Restore(&b, cmbo.WithSurrogate(m))
	require.NoError(t, err)
	require.Equal(t, weightsOf(t, o), weightsOf(t, back))
	require.Equal(t, drive(t, o, hill(0.3, 0.3), 3), drive(t, back, hill(0.3, 0.3), 3))
}

// TestConforms: surrogates do what is asked of surrogates.
func TestConforms(t *testing.T) {
	space, tasks := square(t), twoKinds(5, 12)
	for _, v := range []Variant{WssClusWssCMP, IndiWeightJef, WssClusWssCMPBary} {
		t.Run(v.String(), func(t *testing.T) {
			p := learn(t, space, tasks, WithVariant(v), WithIndexPoints(40))
			surrogatetest.TestSurrogate(t, 2, func() cmbo.Surrogate {
				s, err := p.Surrogate(ctx, space)
				require.NoError(t, err)
				return s
			})
		})
	}
}

// TestBadArguments: what a surrogate that is called directly cannot use is an error that says so; parts of
// the data that are nil are empty, and the next Fit is as good as ever.
func TestBadArguments(t *testing.T) {
	space := square(t)
	p := learn(t, space, twoKinds(5, 8), WithClusterRange(2, 2), WithIndexPoints(12))
	s, err := p.Surrogate(ctx, space)
	require.NoError(t, err)
	x, one, v := linalg.NewDense(1, 2, []float64{0.3, 0.4}), []float64{1}, []float64{0}
	r := rng.Stream(1, "draws")
	require.ErrorIs(t, s.Predict(ctx, v, v, x), cmbo.ErrOption)
	require.ErrorIs(t, s.Sample(ctx, v, x, r), cmbo.ErrOption)
	require.NoError(t, s.Fit(ctx, cmbo.Data{}))
	require.NoError(t, s.Predict(ctx, v, v, x))
	nan := linalg.NewDense(1, 2, []float64{0.3, math.NaN()})
	for what, bad := range map[string]struct {
		d    cmbo.Data
		want error
	}{
		"no value":     {cmbo.Data{X: x}, cmbo.ErrDimension},
		"no point":     {cmbo.Data{Y: one, Raw: one}, cmbo.ErrDimension},
		"states":       {cmbo.Data{X: x, Y: one, Raw: one, Trials: []int{1}, States: make([][]float64, 2)}, cmbo.ErrDimension},
		"trials":       {cmbo.Data{X: x, Y: one, Raw: one, Trials: []int{1, 2}}, cmbo.ErrDimension},
		"feasible":     {cmbo.Data{X: x, Y: one, Raw: one, Feasible: make([]bool, 2)}, cmbo.ErrDimension},
		"coordinates":  {cmbo.Data{Pending: linalg.NewDense(1, 3, nil)}, cmbo.ErrDimension},
		"seen":         {cmbo.Data{Seen: nan}, cmbo.ErrValue},
		"NaN value":    {cmbo.Data{X: x, Y: []float64{math.NaN()}, Raw: one}, cmbo.ErrValue},
		"noise":        {cmbo.Data{X: x, Y: one, Raw: one, NoiseVariance: []float64{-1}}, cmbo.ErrValue},
		"not a number": {cmbo.Data{X: nan, Y: one, Raw: one}, cmbo.ErrValue},
	} {
		require.ErrorIs(t, s.Fit(ctx, bad.d), bad.want, what)
		require.ErrorIs(t, s.Predict(ctx, v, v, x), cmbo.ErrOption, what)
	}
	require.NoError(t, s.Fit(ctx, cmbo.Data{X: x, Y: one, Raw: one, Trials: []int{1}}), "no state is known")
	require.NoError(t, s.Predict(ctx, v, v, x))
	require.ErrorIs(t, s.Predict(ctx, v, v, linalg.NewDense(1, 3, nil)), cmbo.ErrDimension)
	require.ErrorIs(t, s.Predict(ctx, v, v, nil), cmbo.ErrDimension)
	require.ErrorIs(t, s.Predict(ctx, v, nil, x), cmbo.ErrDimension)
	require.ErrorIs(t, s.Sample(ctx, nil, x, r), cmbo.ErrDimension)
}

// TestSampleFollowsPosterior: draws have the means, deviations and a covariance of the
// posterior.
func TestSampleFollowsPosterior(t *testing.T) {
	testutil.SkipShort(t, "it counts draws")
	space := square(t)
	o, m := begin(t, space, learn(t, space, twoKinds(5, 8), WithClusterRange(2, 2), WithIndexPoints(12)), nil, cmbo.WithAcquisition(cmbo.Thompson()), cmbo.WithCandidateCounts(30, 5))
	drive(t, o, hill(0.3, 0.6), 4)
	_, _, err := o.Predict(ctx, []float64{0.5, 0.5}) // conditions the model on the values
	require.NoError(t, err)
	x := linalg.NewDense(3, 2, []float64{0.3, 0.4, 0.32, 0.41, 0.9, 0.1})
	mean, sd := make([]float64, 3), make([]float64, 3)
	require.NoError(t, m.Predict(ctx, mean, sd, x))
	const n = 4000
	var near float64
	sums, squares := make([]float64, 3), make([]float64, 3)
	for k := range n {
		f := make([]float64, 3)
		require.NoError(t, m.Sample(ctx, f, x, rng.Stream(1, "draws", uint64(k))))
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

// TestEnqueueKeepsWeights: telling an enqueued trial, which no posterior chose, leaves the
// weights of the prototypes as the newest proposal set them.
func TestEnqueueKeepsWeights(t *testing.T) {
	space := lattice(t, 9)
	o, _ := begin(t, space, learn(t, space, twoKinds(6, 20), WithClusterRange(3, 3)), nil)
	drive(t, o, hill(0.3, 0.6), 3)
	want := weightsOf(t, o)
	require.NotEqual(t, want[0], want[1])
	require.NoError(t, o.Enqueue(space.Rows()[0]))
	trial := ask(t, o)
	require.NoError(t, o.Tell(trial.ID, 0))
	require.Equal(t, want, weightsOf(t, o))
}

// TestPendingLeavesMean: open trials shrink the deviation and leave the mean.
func TestPendingLeavesMean(t *testing.T) {
	space := lattice(t, 9)
	o, _ := begin(t, space, learn(t, space, twoKinds(4, 20)), nil)
	drive(t, o, hill(0.3, 0.3), 4)
	for range 2 {
		ask(t, o)
	}
	second, _ := o.LastStep()
	before, err := o.Explain(ctx, 5)
	require.NoError(t, err)
	at := before.Step.Chosen
	require.InDelta(t, before.Step.Mean[at], second.Mean[at], 1e-9)
	require.Less(t, second.SD[at], before.Step.SD[at])
}

// TestReindex: a prior over other candidates is that learned on a box, brought there; it is
// itself where it is there already.
func TestReindex(t *testing.T) {
	box, list := square(t), lattice(t, 5)
	p := learn(t, box, twoKinds(4, 9), WithClusterRange(2, 2), WithIndexPoints(30))
	same, err := p.Reindex(ctx, box)
	require.NoError(t, err)
	require.Same(t, p, same)
	q, err := p.Reindex(ctx, list)
	require.NoError(t, err)
	again, err := q.Reindex(ctx, list)
	require.NoError(t, err)
	require.Same(t, q, again)
	for i, proto := range q.prototypes {
		n := proto.normal.Dim()
		require.Equal(t, 25, n)
		mean := make([]float64, n)
		require.NoError(t, p.prototypes[i].evaluator.at(ctx, 1, mean, nil, nil, nil, q.index))
		require.Equal(t, mean, proto.normal.Mean())
	}
	a, _ := begin(t, list, p, nil)
	b, _ := begin(t, list, q, nil)
	require.Equal(t, drive(t, a, hill(0.3, 0.3), 3), drive(t, b, hill(0.3, 0.3), 3))
	other, err := cmbo.UnitCube(3)
	require.NoError(t, err)
	_, err = p.Surrogate(ctx, other)
	require.ErrorIs(t, err, cmbo.ErrPriorMismatch)
}

func TestRefusals(t *testing.T) {
	space, tasks := lattice(t, 4), twoKinds(3, 8)
	for name, tt := range map[string]struct {
		tasks []cmbo.Task
		opts  []Option
		want  error
		text  string
	}{
		"nil option":      {tasks, []Option{nil}, cmbo.ErrOption, ""},
		"variant":         {tasks, []Option{WithVariant(Variant{Grouping: 7})}, cmbo.ErrOption, ""},
		"prototype":       {tasks, []Option{WithVariant(Variant{Prototype: 7})}, cmbo.ErrOption, ""},
		"distance":        {tasks, []Option{WithVariant(Variant{Grouping: Apart, ClusterDistance: Jeffreys})}, cmbo.ErrOption, "clusters nothing"},
		"policy":          {tasks, []Option{WithYPolicy(9)}, cmbo.ErrOption, ""},
		"parallelism":     {tasks, []Option{WithParallelism(0)}, cmbo.ErrOption, ""},
		"clusters":        {tasks, []Option{WithClusterRange(0, 2)}, cmbo.ErrOption, ""},
		"range":           {tasks, []Option{WithClusterRange(3, 2)}, cmbo.ErrOption, ""},
		"labels":          {tasks, []Option{WithLabels([]int{0, 1})}, cmbo.ErrOption, "2 labels for 3 tasks"},
		"label gap":       {tasks, []Option{WithLabels([]int{0, 2, 2})}, cmbo.ErrOption, "cluster 1 is empty"},
		"label range":     {tasks, []Option{WithLabels([]int{0, -1, 2})}, cmbo.ErrOption, ""},
		"label too large": {tasks, []Option{WithLabels([]int{0, 1, 3})}, cmbo.ErrOption, "label 3 of task 2 is outside 0..2"},
		"no labels":       {tasks, []Option{WithLabels(nil)}, cmbo.ErrOption, ""},
		"own clusters":    {tasks, []Option{WithLabels([]int{0, 1, 1}), WithVariant(GlobalCen)}, cmbo.ErrOption, "contradicts"},
		"no kernel":       {tasks, []Option{WithHyperparameters(nil, 1)}, cmbo.ErrOption, ""},
		"noise variance":  {tasks, []Option{WithHyperparameters(kernel.Matern32(1), 0)}, cmbo.ErrOption, ""},
		"lengths":         {tasks, []Option{WithHyperparameters(kernel.Matern32(1, 1, 1), 0.1)}, cmbo.ErrOption, ""},
		"index points":    {tasks, []Option{WithIndexPoints(0)}, cmbo.ErrOption, ""},
		"no tasks":        {nil, nil, cmbo.ErrNoTasks, ""},
		"no values":       {[]cmbo.Task{{ID: "f", Failed: [][]float64{{0, 0}}}}, nil, cmbo.ErrNoTasks, ""},
		"twice":           {[]cmbo.Task{tasks[0], tasks[0]}, nil, cmbo.ErrTask, ""},
	} {
		_, err := Learn(ctx, space, tt.tasks, tt.opts...)
		require.ErrorIs(t, err, tt.want, name)
		require.ErrorContains(t, err, tt.text, name)
	}
	p := learn(t, space, tasks)
	for _, o := range []RunOption{nil, WithNoiseVariance(0), WithNoiseVariance(math.Inf(1)), WithJeffreysJitter(-1), WithJeffreysJitter(math.NaN())} {
		_, err := p.Surrogate(ctx, space, o)
		require.ErrorIs(t, err, cmbo.ErrOption)
	}
	_, err := p.Surrogate(ctx, nil)
	require.ErrorIs(t, err, cmbo.ErrSpace)
	var none context.Context
	for _, of := range []func() (*Prior, error){
		func() (*Prior, error) { return Learn(none, space, tasks) },
		func() (*Prior, error) { return p.Reindex(none, space) },
		func() (*Prior, error) { return new(Prior).Reindex(ctx, space) },
		func() (*Prior, error) { _, err := p.Surrogate(none, space); return nil, err },
		func() (*Prior, error) { _, err := new(Prior).Surrogate(ctx, space); return nil, err },
	} {
		_, err := of()
		require.ErrorIs(t, err, cmbo.ErrOption)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Learn(done, space, tasks)
	require.ErrorIs(t, err, context.Canceled)
	progress := map[string]int{}
	learn(t, space, tasks, WithClusterRange(1, 2), WithProgress(func(stage string, done, total int) {
		require.LessOrEqual(t, done, total)
		require.LessOrEqual(t, progress[stage], total, stage)
		progress[stage] = done
		if stage == "cluster" {
			require.Equal(t, 2, total)
		}
	}))
	require.Len(t, progress, 4)
}

// fused is a kernel that panics at one of its calls.
type fused struct {
	kernel.Kernel
	calls, at *atomic.Int64
}

var errFuse = errors.New("fuse")

func (k fused) Eval(x, y []float64) float64 {
	if k.calls.Add(1) == k.at.Load() {
		panic(errFuse)
	}
	return k.Kernel.Eval(x, y)
}

// TestPanics: a panic of the caller's kernel is an error of the call that ran it, and what
// comes after is as if it had not been.
func TestPanics(t *testing.T) {
	space, tasks := lattice(t, 5), twoKinds(4, 6)
	k := fused{kernel.Matern52(0.5), new(atomic.Int64), new(atomic.Int64)}
	opts := []Option{WithHyperparameters(k, 0.05), WithClusterRange(2, 2), WithIndexPoints(12)}
	p := learn(t, space, tasks, opts...)
	k.at.Store(k.calls.Load() * 3 / 2)
	_, err := Learn(ctx, space, tasks, opts...)
	require.ErrorIs(t, err, errFuse)
	o, m := begin(t, space, p, nil, cmbo.WithAcquisition(cmbo.UCB(2)))
	drive(t, o, hill(0.3, 0.3), 2)
	trial := ask(t, o)
	in := theorem.Inputs{Norm: 1, Delta: 0.1}
	want, err := m.RegretBound(ctx, o, trial.ID, 2, in)
	require.NoError(t, err)
	require.Equal(t, 2, want.Observations)
	require.NoError(t, o.Observe([]float64{0.75, 0.25}, 1))
	k.at.Store(k.calls.Load() + 1)
	_, _, err = o.Predict(ctx, []float64{0.5, 0.25})
	require.ErrorIs(t, err, errFuse)
	got, err := m.RegretBound(ctx, o, trial.ID, 2, in)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
