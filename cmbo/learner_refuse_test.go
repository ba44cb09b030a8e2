package cmbo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"iter"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/kernel"
)

// wholeTask is a task of two parameters that holds all that a task can.
func wholeTask() Task {
	return Task{
		ID: "whole", X: [][]float64{{0.1, 0.5}, {0.7, 0.2}}, Y: []float64{1, 2}, NoiseVariance: []float64{0.25, 0}, Failed: [][]float64{{0.3, 0.9}},
		Outputs: space.Columns{"cost": {3, math.NaN()}},
		Curves:  []space.Curve{{Steps: []int{1, 2}, Values: []float64{0.5, 0.8}, Stopped: true}, {Steps: []int{4}, Values: []float64{1.5}}},
		Context: Context{"size": 7.0, "kind": "7"},
	}
}

// fourTasks are three tasks with values, one of which is alone, and one of a failure.
func fourTasks() []Task {
	return []Task{
		{ID: "0", X: [][]float64{{0.1, 0.4}, {0.5, 0.2}}, Y: []float64{1, 0}},
		{ID: "1", X: [][]float64{{0.2, 0.9}, {0.6, 0.3}}, Y: []float64{1, 3}, Context: Context{"size": 2.0}},
		{ID: "2", X: [][]float64{{0.3, 0.6}}, Y: []float64{4}},
		{ID: "3", Failed: [][]float64{{0.3, 0.1}}},
	}
}

func cubeLearner(t *testing.T, dim int, opts ...LearnOption) *Learner {
	t.Helper()
	s := unitCube(t, dim)
	l, err := NewLearner(s, opts...)
	require.NoError(t, err)
	return l
}

// laterLearner is in the second pass over four tasks, of which it has kept two with values.
func laterLearner(t *testing.T, opts ...LearnOption) *Learner {
	t.Helper()
	old := SetSampleTasks(2)
	t.Cleanup(func() { SetSampleTasks(old) })
	l := cubeLearner(t, 2, opts...)
	addAll(t, l, fourTasks())
	more, err := l.EndPass(t.Context())
	require.NoError(t, err)
	require.True(t, more)
	return l
}

// TestPassesSeeLogarithms: what passes add of skewed costs, none of which need be in the sample, is what they add of the values
// that models see in their place.
func TestPassesSeeLogarithms(t *testing.T) {
	old := SetSampleTasks(3)
	t.Cleanup(func() { SetSampleTasks(old) })
	tasks := randomTasks("logarithms", 6, 12, 2)
	for _, k := range tasks {
		for i, y := range k.Y {
			k.Y[i] = math.Exp(4 * y)
		}
	}
	twoPasses := func(opts ...LearnOption) *Learner {
		l := cubeLearner(t, 2, append(opts, WithIndexPoints(20))...)
		for range 2 {
			addAll(t, l, tasks)
			more, err := l.EndPass(t.Context())
			require.NoError(t, err)
			require.True(t, more)
		}
		return l
	}
	costs := twoPasses(WithMinimize())
	require.Positive(t, costs.sums.logUnit)
	sense := scaling.Sense{Minimize: true, Log: true, Unit: costs.sums.logUnit}
	for i, k := range tasks {
		tasks[i].Y, _ = sense.Apply(k.Y, nil)
	}
	seen := twoPasses()
	require.Zero(t, seen.sums.logUnit)
	require.True(t, costs.sums.of.Equal(seen.sums.of))
}

func addAll(t *testing.T, l *Learner, tasks []Task) {
	t.Helper()
	for _, k := range tasks {
		require.NoError(t, l.Add(k))
	}
}

func censusOf(tasks ...Task) census {
	var c census
	for i := range tasks {
		c.add(&tasks[i])
	}
	return c
}

// decodedLearner encodes a learner and reads it.
func decodedLearner(t *testing.T, l *Learner, limits PriorLimits) (*Learner, error) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, l.Encode(&b))
	return limits.DecodeLearner(t.Context(), l.space, &b)
}

// TestLearnerCensus: tasks that differ in anything have different sums, and so have those between
// whose columns one number has moved; tasks and those with values are counted.
func TestLearnerCensus(t *testing.T) {
	seen := make(map[[4]uint64]int)
	for i, change := range []func(k *Task){
		func(k *Task) {},
		func(k *Task) { k.ID = "other" },
		func(k *Task) { k.X[1][0] = 0.8 },
		func(k *Task) { k.Y[1] = 3 },
		func(k *Task) { k.NoiseVariance[1] = 1 },
		func(k *Task) { k.NoiseVariance = nil },
		func(k *Task) { k.Failed[0][1] = 0.8 },
		func(k *Task) { k.Failed = nil },
		func(k *Task) { k.Outputs = space.Columns{"time": k.Outputs["cost"]} },
		func(k *Task) { k.Outputs["cost"][0] = 4 },
		func(k *Task) { k.Outputs = nil },
		func(k *Task) { k.Curves[0].Stopped = false },
		func(k *Task) { k.Curves[0].Steps[1] = 3 },
		func(k *Task) { k.Curves[0].Values[1] = 0.7 },
		func(k *Task) { k.Context["size"] = 8.0 },
		func(k *Task) { k.Context["kind"] = "8" },
		func(k *Task) { k.Context["kind"] = 7.0 },
		func(k *Task) { k.Context = Context{"large": 7.0, "kind": "7"} },
		func(k *Task) { k.Y, k.NoiseVariance = []float64{1, 2, 0.25, 0}, nil },
		func(k *Task) { k.Y, k.NoiseVariance = []float64{1, 2, 0.25}, []float64{0} },
	} {
		k := wholeTask()
		change(&k)
		sum := censusOf(k).sum
		require.NotContains(t, seen, sum, "change %d", i)
		seen[sum] = i
	}
	tasks := fourTasks()
	c := censusOf(tasks...)
	require.EqualValues(t, 4, c.tasks)
	require.EqualValues(t, 3, c.valued)
	require.Equal(t, c, censusOf(tasks[2], tasks[0], tasks[3], tasks[1]))
}

// TestLearnerCopies: a learner holds copies, which an encoded one has too.
func TestLearnerCopies(t *testing.T) {
	l, k := cubeLearner(t, 2), wholeTask()
	require.NoError(t, l.Add(k))
	k.X[0][0], k.Y[0], k.NoiseVariance[0], k.Failed[0][0] = 0.9, 9, 9, 0.9
	k.Outputs["cost"][0], k.Outputs["other"] = 9, nil
	k.Curves[0].Steps[0], k.Curves[0].Values[0], k.Context["kind"] = 0, 9, "other"
	want := censusOf(wholeTask())
	require.Equal(t, want, censusOf(l.kept.tasks()...))
	o, err := decodedLearner(t, l, PriorLimits{})
	require.NoError(t, err)
	require.Equal(t, want, censusOf(o.kept.tasks()...))
	require.Equal(t, want, o.seen)

	// Rows of many numbers with few bytes behind them.
	wide := cubeLearner(t, 60)
	require.NoError(t, wide.Add(Task{ID: "wide", Failed: [][]float64{make([]float64, 60)}}))
	_, err = decodedLearner(t, wide, PriorLimits{})
	require.NoError(t, err)
}

// TestLearnerAdds: which tasks are added in which pass, and when there is an end.
func TestLearnerAdds(t *testing.T) {
	l := cubeLearner(t, 2)
	l.seen.tasks = hierarchy.MaxTasks - 1
	require.NoError(t, l.Add(wholeTask()))
	require.ErrorContains(t, l.Add(fourTasks()[0]), "and a learner takes no more")
	positive := cubeLearner(t, 2, WithPositiveValues())
	require.ErrorIs(t, positive.Add(fourTasks()[0]), ErrValue)

	few := cubeLearner(t, 2)
	addAll(t, few, fourTasks())
	for range 2 {
		more, err := few.EndPass(t.Context())
		require.NoError(t, err)
		require.False(t, more)
		require.ErrorContains(t, few.Add(wholeTask()), "all 4 tasks were kept, and there is no other pass")
	}

	later := laterLearner(t)
	for i, want := range []int64{1, 2, 3, 3} {
		require.NoError(t, later.Add(fourTasks()[i]))
		require.Equal(t, want, later.sums.tally.Tasks(), "failures alone add nothing")
	}
	later.sums = later.sums.again(later.sums.of)
	_, err := later.EndPass(t.Context())
	require.ErrorIs(t, err, ErrNoTasks)
	require.ErrorContains(t, err, "pass 2 left all tasks out")
}

// TestLearnerFits: learners of a later pass are held against each other whole.
func TestLearnerFits(t *testing.T) {
	l, other := laterLearner(t), laterLearner(t, WithSeed(3))
	require.NoError(t, l.fits(l.Shard()))
	for i, change := range []func(o *Learner){
		func(o *Learner) { o.first.sum[0]++ },
		func(o *Learner) { o.sums = nil },
		func(o *Learner) { o.sums.mean++ },
		func(o *Learner) { o.sums.sd++ },
		func(o *Learner) { o.sums.of = other.sums.of },
	} {
		o := l.Shard()
		change(o)
		for _, err := range []error{l.fits(o), o.fits(l)} {
			require.ErrorIs(t, err, ErrLearners, "change %d", i)
			require.ErrorContains(t, err, "other tasks in the passes before")
		}
	}
	ablations, _ := Ablations()
	require.ErrorContains(t, cubeLearner(t, 2).fits(cubeLearner(t, 2, WithAblation(ablations[0]))), "ablations [] and ["+ablations[0]+"]")

	s := spaceOf(t, Float("x0", 0, 1), Float("y", 0, 1))
	o, err := NewLearner(s)
	require.NoError(t, err)
	var where *DataError
	require.ErrorAs(t, cubeLearner(t, 2).Merge(o), &where)
	require.Equal(t, "x1", where.Name)
	o.space = l.space // which is what it is encoded with
	var b bytes.Buffer
	require.NoError(t, o.Encode(&b))
	_, err = DecodeLearner(s, &b)
	require.ErrorAs(t, err, &where)
	require.ErrorIs(t, err, ErrLearners)
	require.Equal(t, "x1", where.Name)
}

// TestLearnerPasses: four passes follow the first one.
func TestLearnerPasses(t *testing.T) {
	l, passes := laterLearner(t), 0
	_, err := LearnFrom(t.Context(), l.space, func() iter.Seq2[Task, error] {
		passes++
		return func(yield func(Task, error) bool) {
			for _, k := range fourTasks() {
				if !yield(k, nil) {
					return
				}
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, 5, passes)
}

// TestEndPassLooksAtTheContext: a pass does not end when the context is done, and does when the next one is not.
func TestEndPassLooksAtTheContext(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	whole, first := cubeLearner(t, 2), cubeLearner(t, 2) // all tasks are kept, or two are with values
	addAll(t, whole, fourTasks())
	later := laterLearner(t)
	addAll(t, first, fourTasks())
	addAll(t, later, fourTasks())
	for _, l := range []*Learner{whole, first, later} {
		pass, _ := l.Pass()
		_, err := l.EndPass(done)
		require.ErrorIs(t, err, context.Canceled)
		now, n := l.Pass()
		require.Equal(t, pass, now)
		require.EqualValues(t, 4, n)
		_, err = l.EndPass(t.Context())
		require.NoError(t, err)
	}
}

// TestLearnerReadsBatches: what is read in batches is added whole and once, however it fits them.
func TestLearnerReadsBatches(t *testing.T) {
	for _, n := range []int{0, 1, batchTasks, 2*batchTasks + 1} {
		l, want := cubeLearner(t, 1), cubeLearner(t, 1)
		require.NoError(t, l.readPass(t.Context(), func(yield func(Task, error) bool) {
			for i := range n {
				k := Task{ID: strconv.Itoa(i), Failed: [][]float64{{float64(i) / float64(n)}}}
				require.NoError(t, want.Add(k))
				if !yield(k, nil) {
					return
				}
			}
		}))
		require.Equal(t, want.seen, l.seen)
		require.Equal(t, want.kept.tasks(), l.kept.tasks())
	}
}

// TestPriorKernels: kernels are the same if their names, parts and all digits of their
// parameters are.
func TestPriorKernels(t *testing.T) {
	k := kernel.Scale(2, kernel.Matern32(0.3))
	require.True(t, sameKernel(nil, nil))
	require.True(t, sameKernel(k, kernel.Scale(2, kernel.Matern32(0.3))))
	for _, o := range []kernel.Kernel{nil, kernel.Scale(2, kernel.Matern52(0.3)), kernel.Scale(2, kernel.Matern32(0.3*(1+1e-9)))} {
		require.False(t, sameKernel(k, o), "%v", o)
		require.False(t, sameKernel(o, k), "%v", o)
	}
}

// TestPriorKeepsCurves: what a prior has learned of curves is what one that is read from its
// bytes has.
func TestPriorKeepsCurves(t *testing.T) {
	s := unitCube(t, 2)
	p := priorOf(t, s, []Task{wholeTask()})
	require.NotNil(t, p.curves)
	var b bytes.Buffer
	require.NoError(t, p.Encode(&b))
	q := decodePrior(t, &b)
	require.Equal(t, q.curves, p.curves)
}

// TestDecodeLearnerHoldsPasses: a pass, what was seen, the sample and the sums agree.
func TestDecodeLearnerHoldsPasses(t *testing.T) {
	first := func() *Learner {
		l := cubeLearner(t, 2)
		addAll(t, l, fourTasks())
		return l
	}
	second := func() *Learner {
		l := laterLearner(t)
		addAll(t, l, fourTasks())
		return l
	}
	for why, l := range map[string]*Learner{
		"empty": cubeLearner(t, 2), "a first pass": first(), "a second pass": second(), "a shard": second().Shard(),
	} {
		_, err := decodedLearner(t, l, PriorLimits{})
		require.NoError(t, err, why)
	}
	for _, c := range []census{{}, {tasks: 1}, {tasks: 3, valued: 3}, {tasks: hierarchy.MaxTasks, valued: 1, sum: [4]uint64{1, 2, 3, 4}}} {
		var e codec.Encoder
		c.encode(&e)
		d := codec.Decoder{Buf: e.Buf}
		require.Equal(t, c, decodeCensus(&d))
		require.NoError(t, d.Err)
	}
	for why, change := range map[string]func(l *Learner){
		"pass 0 of 0 tasks":             func(l *Learner) { l.pass = -1 },
		"pass 1 of 4 tasks":             func(l *Learner) { l.first = l.seen },
		"pass 2 of 0 tasks":             func(l *Learner) { l.pass, l.kept = 1, nil },
		"a first pass without a sample": func(l *Learner) { l.kept = nil },
	} {
		l := first()
		change(l)
		_, err := decodedLearner(t, l, PriorLimits{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, why)
	}
	for why, change := range map[string]func(l *Learner){
		"sums in pass 2 of 2 tasks: true":       func(l *Learner) { l.first.tasks, l.first.valued = 3, 2 },
		"sums in pass 2 of 3 tasks: false":      func(l *Learner) { l.sums = nil },
		"a scale of 0":                          func(l *Learner) { l.sums.sd = 0 },
		"sums of 3 tasks, of which 2 were seen": func(l *Learner) { l.seen.valued = 2 },
		"pass 1073741825 of 4 tasks":            func(l *Learner) { l.pass = 1 << 30 },
		"":                                      func(l *Learner) { l.sums.sd = 0.5 },
	} {
		l := second()
		change(l)
		_, err := decodedLearner(t, l, PriorLimits{})
		if why == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, why)
	}

	alone := cubeLearner(t, 2)
	addAll(t, alone, fourTasks()[:1])
	more, err := alone.EndPass(t.Context())
	require.NoError(t, err)
	require.False(t, more)
	_, err = decodedLearner(t, alone, PriorLimits{})
	require.NoError(t, err, "one task")
	alone.pass = 2
	_, err = decodedLearner(t, alone, PriorLimits{})
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "sums in pass 3 of 1 tasks: false")

	l := cubeLearner(t, 2) // all that were seen are in the sample
	addAll(t, l, append(fourTasks()[:2], fourTasks()[3]))
	_, err = decodedLearner(t, l, PriorLimits{Tasks: 2})
	require.ErrorIs(t, err, ErrLimit)
	_, err = decodedLearner(t, l, PriorLimits{Tasks: 3, Bytes: math.MaxInt64})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, l.Encode(&b))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = PriorLimits{}.DecodeLearner(ended, l.space, &b)
	require.ErrorIs(t, err, context.Canceled)
	_, err = l.EndPass(t.Context())
	require.NoError(t, err)
	_, err = decodedLearner(t, l, PriorLimits{})
	require.NoError(t, err, "as many as a sample takes")
	b.Reset()
	require.NoError(t, l.Encode(&b))
	longer := append(b.Bytes()[:b.Len()-sha256.Size], make([]byte, 1+sha256.Size)...)
	_, err = PriorLimits{}.DecodeLearner(t.Context(), l.space, bytes.NewReader(Reseal(longer)))
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "1 bytes too many")
}

// What is stored of a learner is held against itself, and counts of tasks have an end.
func TestDecodeLearnerHoldsCounts(t *testing.T) {
	s := spaceOf(t, Float("x", 0, 1))
	learner := func() *Learner {
		l, err := NewLearner(s)
		require.NoError(t, err)
		for i := range 4 {
			k := Task{ID: strconv.Itoa(i), X: [][]float64{{0.1}, {0.5 + float64(i)/10}}, Y: []float64{1, float64(i)}}
			if i == 3 {
				k = Task{ID: "3", Failed: [][]float64{{0.3}}}
			}
			require.NoError(t, l.Add(k))
		}
		return l
	}
	decode := func(l *Learner, limits PriorLimits) error {
		var b bytes.Buffer
		require.NoError(t, l.Encode(&b))
		_, err := limits.DecodeLearner(context.Background(), s, &b)
		return err
	}
	require.NoError(t, decode(learner(), PriorLimits{}))
	for why, change := range map[string]func(*census){
		"3 tasks, 4 with values":                                    func(c *census) { c.tasks, c.valued = 3, 4 },
		"tasks, -1 with values":                                     func(c *census) { c.valued = -1 },
		strconv.Itoa(hierarchy.MaxTasks+1) + " tasks":               func(c *census) { c.tasks = hierarchy.MaxTasks + 1 },
		"3 tasks with values and 1 without, of 4 and 0":             func(c *census) { c.valued = 4 },
		"a sample of 3 tasks with values and 1 without, of 3 and 2": func(c *census) { c.tasks = 5 },
	} {
		l := learner()
		change(&l.seen)
		err := decode(l, PriorLimits{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, why)
	}
	require.ErrorIs(t, decode(learner(), PriorLimits{TotalRows: 6}), ErrLimit)
	require.NoError(t, decode(learner(), PriorLimits{TotalRows: 7}))

	l, o := learner(), learner()
	o.kept = new(keptTasks)
	l.seen.tasks = hierarchy.MaxTasks - 4
	require.NoError(t, l.Merge(o))
	l.seen.tasks = hierarchy.MaxTasks - 3
	require.ErrorContains(t, l.Merge(o), strconv.Itoa(hierarchy.MaxTasks+1)+" tasks")
}

// Tasks with values are counted, by a Learner beyond what it holds.
func TestTooManyTasks(t *testing.T) {
	tasks := make([]Task, sampleTasks+3)
	for i := range tasks[:sampleTasks] {
		tasks[i].X = [][]float64{{1}, {2}}
	}
	require.Equal(t, sampleTasks, withValues(tasks))
	tasks[sampleTasks+1].X = [][]float64{{1}}
	require.Equal(t, sampleTasks+1, withValues(tasks))
}
