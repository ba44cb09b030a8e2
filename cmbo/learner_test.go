package cmbo_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/testutil"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/stretchr/testify/require"
)

// fewKept makes learners hold n tasks, so that small pasts take several passes.
func fewKept(t testing.TB, n int) {
	old := cmbo.SetSampleTasks(n)
	t.Cleanup(func() { cmbo.SetSampleTasks(old) })
}

// pastTask is task j of a past: one in seven with failures, one in thirteen of them alone.
func pastTask(j int) cmbo.Task {
	r := rng.Stream(5, "past of a learner", uint64(j))
	t := cmbo.Task{ID: fmt.Sprintf("run-%06d", j)}
	f := bump([]float64{0.3 + 0.1*r.NormFloat64(), 0.6 + 0.1*r.NormFloat64()})
	a, b := 10+3*r.NormFloat64(), math.Exp(r.NormFloat64())
	for range 6 + r.IntN(6) {
		x := []float64{float64(r.IntN(9)) / 8, r.Float64()}
		if x[1] > 0.7 && j%7 == 0 || j%13 == 0 {
			t.Failed = append(t.Failed, x)
			continue
		}
		t.X, t.Y = append(t.X, x), append(t.Y, a+b*f(x))
	}
	if j%3 == 0 && len(t.Y) > 0 {
		seconds := make([]float64, len(t.Y))
		for i := range seconds {
			seconds[i] = math.Exp(t.X[i][0] + 0.1*a)
		}
		seconds[0] = math.NaN()
		t.Outputs = space.Columns{"seconds": seconds}
	}
	if len(t.Failed) > 0 && j%2 == 0 {
		t.FailedOutputs = space.Columns{"seconds": slices.Repeat([]float64{math.Exp(0.1 * a)}, len(t.Failed))}
	}
	if j%5 == 0 {
		t.NoiseVariance = make([]float64, len(t.Y))
		for i := range t.Y {
			t.NoiseVariance[i] = 0.01 * b * b
		}
	}
	return t
}

func past(n int) []cmbo.Task {
	var out []cmbo.Task
	for j := range n {
		out = append(out, pastTask(j))
	}
	return out
}

// each reads tasks, once for each call.
func each(tasks []cmbo.Task) func() iter.Seq2[cmbo.Task, error] {
	return func() iter.Seq2[cmbo.Task, error] {
		return func(yield func(cmbo.Task, error) bool) {
			for _, t := range tasks {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

func digest(t testing.TB, p *cmbo.Prior) string {
	t.Helper()
	d, err := p.Digest()
	require.NoError(t, err)
	return d
}

func newLearner(t testing.TB, s *cmbo.Space, opts ...cmbo.LearnOption) *cmbo.Learner {
	t.Helper()
	l, err := cmbo.NewLearner(s, opts...)
	require.NoError(t, err)
	return l
}

func encoded(t testing.TB, l *cmbo.Learner) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, l.Encode(&b))
	return b.Bytes()
}

func small() []cmbo.LearnOption {
	return []cmbo.LearnOption{cmbo.WithIndexPoints(25)}
}

// TestLearnerOfFewTasks: tasks that a learner can hold give the prior of Learn, which takes
// them in the order of their IDs, whatever order they come in.
func TestLearnerOfFewTasks(t *testing.T) {
	cube := unitCube(t, 2)
	list, _ := grid(t, 9)
	tasks := past(15)
	spaces := []*cmbo.Space{cube, list}
	if testing.Short() {
		spaces = spaces[1:]
	}
	for name, opts := range map[string][]cmbo.LearnOption{
		"default": nil, "raw": {cmbo.WithYPolicy(cmbo.RawValues)}, "by rank, down": {cmbo.WithYPolicy(cmbo.Copula), cmbo.WithMinimize()},
	} {
		opts = append(opts, small()...)
		for _, s := range spaces {
			want := learn(t, s, tasks, opts...)
			moved := slices.Clone(tasks)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
			got, err := cmbo.LearnFrom(ctx, s, each(moved), opts...)
			require.NoError(t, err)
			require.Equal(t, digest(t, want), digest(t, got), name)
			require.Equal(t, want.NumTasks(), got.NumTasks())
		}
	}
}

// TestLearnerIsTheSameEverywhere: any order, any division and any tree of merges, with
// shards that were encoded on the way, and any number of cores, give the same bits.
func TestLearnerIsTheSameEverywhere(t *testing.T) {
	fewKept(t, 12)
	cube := unitCube(t, 2)
	tasks := past(60)
	sorted, err := cmbo.LearnFrom(ctx, cube, each(tasks), small()...)
	require.NoError(t, err)
	want := digest(t, sorted)
	require.Equal(t, 55, sorted.NumTasks(), "with values")
	require.Len(t, sorted.Tasks(), 17, "12 of them, and 5 of failures alone")
	require.Equal(t, want, digest(t, learn(t, cube, tasks, small()...)), "Learn of too many tasks to be held")

	var b bytes.Buffer
	require.NoError(t, sorted.Encode(&b))
	read := decodePrior(t, bytes.NewReader(b.Bytes()))
	require.Equal(t, 55, read.NumTasks())
	require.Equal(t, want, digest(t, read))
	require.Equal(t, want, fmt.Sprintf("%x", b.Bytes()[b.Len()-32:]), "the digest ends the encoded prior")

	r := rng.Stream(1, "shards")
	shardings, cores := 3, []int{8, 1, 2}
	if testing.Short() {
		shardings, cores = 1, cores[:1]
	}
	for _, procs := range cores {
		old := runtime.GOMAXPROCS(procs)
		r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		p, err := cmbo.LearnFrom(ctx, cube, each(tasks), small()...)
		runtime.GOMAXPROCS(old)
		require.NoError(t, err)
		require.Equal(t, want, digest(t, p), "GOMAXPROCS %d", procs)
	}
	for range shardings {
		l := newLearner(t, cube, small()...)
		for more := true; more; {
			r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
			var parts []*cmbo.Learner
			for chunk := range slices.Chunk(tasks, 1+r.IntN(25)) {
				s := l.Shard()
				for _, task := range chunk {
					require.NoError(t, s.Add(task))
				}
				if r.IntN(2) == 0 {
					bits := encoded(t, s)
					s, err = cmbo.DecodeLearner(cube, bytes.NewReader(bits))
					require.NoError(t, err)
					require.Equal(t, bits, encoded(t, s))
				}
				parts = append(parts, s)
			}
			for len(parts) > 1 {
				i := r.IntN(len(parts) - 1)
				require.NoError(t, parts[i].Merge(parts[i+1]))
				parts = slices.Delete(parts, i+1, i+2)
			}
			require.NoError(t, l.Merge(parts[0]))
			pass, n := l.Pass()
			require.EqualValues(t, len(tasks), n, "pass %d", pass)
			more, err = l.EndPass(ctx)
			require.NoError(t, err)
			l, err = cmbo.DecodeLearner(cube, bytes.NewReader(encoded(t, l))) // a process ends between two passes
			require.NoError(t, err)
		}
		p, err := l.Prior(ctx)
		require.NoError(t, err)
		require.Equal(t, want, digest(t, p))
	}
}

// TestLearnerPassesMatter: the population is learned from all tasks, and not only from
// those that are kept.
// A learner without a task is, to the byte, one that never had it, stored in between or not.
func TestLearnerRemoves(t *testing.T) {
	box, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	learner := func(tasks []cmbo.Task) *cmbo.Learner {
		l, err := cmbo.NewLearner(box, append(slices.Clip(smallSets), cmbo.WithMinimize())...)
		require.NoError(t, err)
		for _, task := range tasks {
			require.NoError(t, l.Add(task))
		}
		return l
	}
	encoded := func(l *cmbo.Learner) []byte {
		var b bytes.Buffer
		require.NoError(t, l.Encode(&b))
		return b.Bytes()
	}
	tasks := past(14) // the last is of failures alone
	for j, task := range tasks {
		l := learner(tasks)
		if j%2 == 0 {
			l, err = cmbo.DecodeLearner(box, bytes.NewReader(encoded(l)))
			require.NoError(t, err)
		}
		require.NoError(t, l.Remove(task.ID))
		rest := slices.Delete(slices.Clone(tasks), j, j+1)
		require.Equal(t, encoded(learner(rest)), encoded(l))
		require.ErrorIs(t, l.Remove(task.ID), cmbo.ErrTask)
		require.NoError(t, l.Add(task))
		require.Equal(t, encoded(learner(tasks)), encoded(l))
	}

	// An output's unit, and its name, are free again.
	l := learner(tasks[:1])
	other := tasks[1]
	other.Outputs = space.Columns{"Seconds": make([]float64, len(other.Y))}
	require.ErrorIs(t, l.Add(other), cmbo.ErrTask)
	require.NoError(t, l.Remove(tasks[0].ID))
	require.NoError(t, l.Add(other))

	require.ErrorIs(t, new(cmbo.Learner).Remove("a"), cmbo.ErrOption)
	fewKept(t, 5)
	l = learner(tasks)
	before := encoded(l)
	require.EqualError(t, l.Remove(tasks[0].ID), `cmbo: invalid task: task "run-000000": pass 1, with a sample of 14 tasks, gives none back`)
	require.Equal(t, before, encoded(l))
	_, err = l.EndPass(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, l.Remove(tasks[0].ID), cmbo.ErrTask)
	require.ErrorIs(t, l.Shard().Remove(tasks[0].ID), cmbo.ErrTask)
}

func TestLearnerPassesMatter(t *testing.T) {
	testutil.SkipShort(t, "one goroutine adds hundreds of tasks")
	fewKept(t, 12)
	cube, err := cmbo.UnitCube(2)
	require.NoError(t, err)
	l := newLearner(t, cube, small()...)
	digests := make(map[string]bool)
	passes := 0
	for more := true; more; passes++ {
		for j := range 40 {
			require.NoError(t, l.Add(pastTask(j)))
		}
		if passes == 0 {
			p, err := l.Prior(ctx)
			require.NoError(t, err)
			require.Equal(t, 36, p.NumTasks(), "that were added, not that are kept")
			digests[digest(t, p)] = true
		}
		more, err = l.EndPass(ctx)
		require.NoError(t, err)
		p, err := l.Prior(ctx)
		require.NoError(t, err)
		require.Equal(t, passes > 0, !digests[digest(t, p)], "after pass %d", passes+1)
		require.Equal(t, 36, p.NumTasks())
		digests[digest(t, p)] = true
	}
	require.Equal(t, 5, passes)

	p, err := l.Prior(ctx)
	require.NoError(t, err)
	require.Len(t, slices.DeleteFunc(p.Tasks(), func(k cmbo.Task) bool { return len(k.Y) == 0 }), 12)
	o := newOptimizer(t, cube, cmbo.WithPrior(p))
	require.Len(t, drive(t, o, bump([]float64{0.3, 0.6}), 4), 4)
}

// TestLearnerTasks: a learner, a stored one too, has the tasks that it was given, of which another becomes the same, and of
// more than it keeps the sample.
func TestLearnerTasks(t *testing.T) {
	fewKept(t, 8)
	cube := unitCube(t, 2)
	added := past(8)
	slices.Reverse(added)
	l, err := cmbo.DecodeLearner(cube, bytes.NewReader(encoded(t, merged(t, newLearner(t, cube, small()...), added...))))
	require.NoError(t, err)
	want := past(8)
	for i := range want {
		want[i].Params = cube.Params()
	}
	for range 2 { // they are copies
		got := l.Tasks()
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
		require.Equal(t, encoded(t, l), encoded(t, merged(t, newLearner(t, cube, small()...), got...)))
		got[1].X[0][0], got[1].Y[0] = 0.5, 99
	}
	_, err = l.EndPass(ctx)
	require.NoError(t, err)
	require.Len(t, l.Tasks(), 8)

	more := merged(t, newLearner(t, cube, small()...), past(20)...)
	require.Len(t, more.Tasks(), 8+2, "with values, and of failures alone")
	_, err = more.EndPass(ctx)
	require.NoError(t, err)
	require.Len(t, more.Tasks(), 8+2)
	for _, none := range []*cmbo.Learner{more.Shard(), new(cmbo.Learner), nil} {
		require.Nil(t, none.Tasks())
	}
}

// TestLearnerRefuses: what cannot be added or merged is an error that says why, and changes
// nothing.
func TestLearnerRefuses(t *testing.T) {
	fewKept(t, 8)
	cube := unitCube(t, 2)
	l := newLearner(t, cube, small()...)
	_, err := l.EndPass(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	_, err = l.Prior(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)
	for j := range 20 {
		require.NoError(t, l.Add(pastTask(j)))
	}
	before := encoded(t, l)
	p, err := l.Prior(ctx)
	require.NoError(t, err)
	require.Equal(t, 18, p.NumTasks(), "that were added, not that are kept")
	kept := p.Tasks()[0].ID

	bad := pastTask(50)
	bad.X[1] = []float64{0.1}
	require.ErrorIs(t, l.Add(bad), cmbo.ErrDimension)
	bad = pastTask(50)
	bad.Y[1] = math.NaN()
	require.ErrorIs(t, l.Add(bad), cmbo.ErrValue)
	again := pastTask(50)
	again.ID = kept
	require.ErrorIs(t, l.Add(again), cmbo.ErrTask)
	alone := cmbo.Task{ID: kept, Failed: [][]float64{{0.1, 0.1}}}
	require.ErrorIs(t, l.Add(alone), cmbo.ErrTask)
	require.Equal(t, before, encoded(t, l))

	cube3 := unitCube(t, 3)
	list, _ := grid(t, 4)
	list5, _ := grid(t, 5)
	other := newLearner(t, list5, small()...)
	for why, o := range map[string]*cmbo.Learner{
		"the space has it besides":         newLearner(t, cube3, small()...),
		"of 0 candidates":                  newLearner(t, list, small()...),
		"seeds 1 and 2":                    newLearner(t, cube, append(small(), cmbo.WithSeed(2))...),
		"sizes of the index set 25 and 30": newLearner(t, cube, append(small(), cmbo.WithIndexPoints(30))...),
		"y policies":                       newLearner(t, cube, append(small(), cmbo.WithYPolicy(cmbo.Copula))...),
		"directions":                       newLearner(t, cube, append(small(), cmbo.WithMinimize())...),
		"kernels":                          newLearner(t, cube, append(small(), cmbo.WithKernel(kernel.Matern32(0.3)))...),
		"a learner and itself":             l,
		"two tasks have this ID":           merged(t, l.Shard(), mustTask(kept)),
		", or none":                        nil,
	} {
		err := l.Merge(o)
		if why == "two tasks have this ID" {
			require.ErrorIs(t, err, cmbo.ErrTask)
		} else {
			require.ErrorIs(t, err, cmbo.ErrLearners)
		}
		require.ErrorContains(t, err, why)
		require.Equal(t, before, encoded(t, l), why)
	}
	require.ErrorContains(t, newLearner(t, list, small()...).Merge(other), "one is of 16 candidates, the other of 25")
	_, err = cmbo.DecodeLearner(list5, bytes.NewReader(encoded(t, newLearner(t, list))))
	require.ErrorIs(t, err, cmbo.ErrLearners)
	_, err = cmbo.DecodeLearner(cube3, bytes.NewReader(before))
	require.ErrorIs(t, err, cmbo.ErrLearners)
	require.ErrorContains(t, err, "the space has it besides; decoded with its own space it has Tasks, which Space.Adopt brings to another")
	old, err := cmbo.DecodeLearner(cube, bytes.NewReader(before))
	require.NoError(t, err)
	tasks, _, err := cube3.Adopt(old.Tasks(), cmbo.Changes{Defaults: map[string]any{"x2": 0.5}})
	require.NoError(t, err)
	_, err = merged(t, newLearner(t, cube3, small()...), tasks...).Prior(ctx)
	require.NoError(t, err)

	early := l.Shard()
	more, err := l.EndPass(ctx)
	require.NoError(t, err)
	require.True(t, more)
	require.ErrorContains(t, l.Merge(early), "pass 2, the other in pass 1")

	// A later pass needs the tasks of the first one, all of them and once.
	_, err = l.EndPass(ctx)
	require.ErrorIs(t, err, cmbo.ErrTask)
	require.ErrorContains(t, err, "pass 2 saw 0 tasks and the first one 20")
	s := l.Shard()
	_, err = s.EndPass(ctx)
	require.ErrorIs(t, err, cmbo.ErrLearners)
	_, err = s.Prior(ctx)
	require.ErrorIs(t, err, cmbo.ErrLearners)
	for j := range 19 {
		require.NoError(t, s.Add(pastTask(j)))
	}
	changed := pastTask(19)
	changed.Y[0] += 1e-9
	twice := l.Shard()
	require.NoError(t, twice.Merge(s))
	require.NoError(t, twice.Add(changed))
	whole := encoded(t, l)
	l2, err := cmbo.DecodeLearner(cube, bytes.NewReader(whole))
	require.NoError(t, err)
	require.NoError(t, l2.Merge(twice))
	_, err = l2.EndPass(ctx)
	require.ErrorIs(t, err, cmbo.ErrTask, "one value of one task is another one")
	require.NoError(t, s.Add(pastTask(19)))
	require.NoError(t, l.Merge(s))
	_, err = l.EndPass(ctx)
	require.NoError(t, err)

	_, err = cmbo.LearnFrom(ctx, cube, func() iter.Seq2[cmbo.Task, error] {
		return func(yield func(cmbo.Task, error) bool) { yield(cmbo.Task{}, errors.ErrUnsupported) }
	})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestLearnFromReaders: what a reader yields is copied, it is not asked on when the context is done, and one that
// returns nothing to read is the caller's mistake.
func TestLearnFromReaders(t *testing.T) {
	cube := unitCube(t, 2)
	want, err := cmbo.LearnFrom(ctx, cube, each(past(9)), small()...)
	require.NoError(t, err)
	done, cancel := context.WithCancel(ctx)
	asked := 0
	read := func() iter.Seq2[cmbo.Task, error] {
		return func(yield func(cmbo.Task, error) bool) {
			var x [][]float64
			var y []float64
			for _, k := range past(9) {
				x, y = append(x[:0], k.X...), append(y[:0], k.Y...)
				k.X, k.Y = x, y
				if asked++; asked > 12 {
					cancel()
				}
				if !yield(k, nil) {
					return
				}
			}
		}
	}
	got, err := cmbo.LearnFrom(done, cube, read, small()...)
	require.NoError(t, err)
	require.Equal(t, digest(t, want), digest(t, got))
	_, err = cmbo.LearnFrom(done, cube, read, small()...)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 13, asked)
	_, err = cmbo.LearnFrom(ctx, cube, func() iter.Seq2[cmbo.Task, error] { return nil })
	require.ErrorIs(t, err, cmbo.ErrOption)
}

// TestLearnKeepsOrder: as many tasks as a learner holds are learned from in the order in which they are given.
func TestLearnKeepsOrder(t *testing.T) {
	fewKept(t, 3)
	cube := unitCube(t, 2)
	tasks := past(4)[1:]
	slices.Reverse(tasks)
	for i, task := range learn(t, cube, tasks, small()...).Tasks() {
		require.Equal(t, tasks[i].ID, task.ID)
	}
}

// TestManyTasksAreHeldAgainstEachOther: what two tasks exclude is found in those that are not kept, too, whatever the
// seed, and in a single task before a learner has it.
func TestManyTasksAreHeldAgainstEachOther(t *testing.T) {
	fewKept(t, 3)
	cube := unitCube(t, 2)
	tasks := past(9)
	for i := range tasks {
		tasks[i].Context = cmbo.Context{"height": i}
	}
	tasks[7].Context = cmbo.Context{"height": "seven"}
	for seed := range uint64(5) {
		_, err := cmbo.Learn(ctx, cube, tasks, append(small(), cmbo.WithSeed(seed))...)
		require.ErrorIs(t, err, cmbo.ErrTask)
		require.ErrorContains(t, err, `task "run-000007": descriptor "height" is "seven"`)
	}
	l := newLearner(t, cube)
	tasks[1].Outputs = space.Columns{"Seconds": tasks[1].Y, "seconds": tasks[1].Y}
	require.ErrorIs(t, l.Add(tasks[1]), cmbo.ErrTask)
	_, err := l.Prior(ctx)
	require.ErrorIs(t, err, cmbo.ErrNoTasks)

	// Nor has a learner two tasks that exclude each other, of which it would never make a prior.
	tasks[1].Outputs = space.Columns{"Seconds": tasks[1].Y}
	tasks[2].Outputs, tasks[3].Outputs = space.Columns{"seconds": tasks[2].Y}, nil
	for _, k := range [][2]cmbo.Task{{tasks[0], tasks[7]}, {tasks[1], tasks[2]}} {
		l, o := newLearner(t, cube), newLearner(t, cube)
		require.NoError(t, l.Add(k[0]))
		require.NoError(t, o.Add(k[1]))
		for _, err := range []error{l.Add(k[1]), l.Merge(o)} {
			require.ErrorIs(t, err, cmbo.ErrTask)
			require.ErrorContains(t, err, k[1].ID)
			require.ErrorContains(t, err, k[0].ID)
		}
		_, n := l.Pass()
		require.EqualValues(t, 1, n)
		require.NoError(t, l.Add(tasks[3]))
		_, err := l.Prior(ctx)
		require.NoError(t, err)
	}

	// One that it had, and keeps no more, excludes none, as for the learner that is read from what it wrote.
	refused := 0
	for i := range 24 {
		l := newLearner(t, cube)
		for j, k := range past(8)[1:] {
			k.Context = cmbo.Context{fmt.Sprint("height ", j): 1}
			require.NoError(t, l.Add(k))
		}
		read, err := cmbo.DecodeLearner(cube, bytes.NewReader(encoded(t, l)))
		require.NoError(t, err)
		k := mustTask(fmt.Sprint("other ", i))
		k.Context = cmbo.Context{fmt.Sprint("height ", i%7): "one"}
		err = l.Add(k)
		require.Equal(t, err, read.Add(k))
		if err != nil {
			refused++
		}
	}
	require.Greater(t, refused, 1)
}

// TestLearnFromHoldsTheSampleAgainstItself: of two tasks of one ID, alike or not, those that are in the sample are
// refused, and others count as two, whatever the order and whoever adds them.
func TestLearnFromHoldsTheSampleAgainstItself(t *testing.T) {
	testutil.SkipShort(t, "it is about which tasks are refused")
	fewKept(t, 6)
	cube := unitCube(t, 2)
	tasks := slices.DeleteFunc(past(27), func(k cmbo.Task) bool { return len(k.X) == 0 })[:24]
	tasks = append(tasks, cmbo.Task{ID: "failure alone", Failed: [][]float64{{0.1, 0.1}}})
	from := func(tasks []cmbo.Task, workers int) (*cmbo.Prior, error) {
		return cmbo.LearnFrom(ctx, cube, each(tasks), append(small(), cmbo.WithParallelism(workers), cmbo.WithIndexPoints(6))...)
	}
	sample := func(tasks []cmbo.Task) (ids []string) {
		p, err := from(tasks, 1)
		require.NoError(t, err)
		for _, k := range p.Tasks() {
			ids = append(ids, k.ID)
		}
		return ids
	}
	kept := sample(tasks)
	require.Len(t, kept, 7)
	refused, halves := 0, 0
	for i, k := range tasks {
		if !slices.Contains(kept, k.ID) && i%9 > 0 {
			continue
		}
		// The last of the sample is the one that goes when it has a place less.
		old := cmbo.SetSampleTasks(5)
		last := slices.Contains(kept, k.ID) && !slices.Contains(sample(tasks), k.ID)
		cmbo.SetSampleTasks(old)
		others := slices.Delete(slices.Clone(tasks), i, i+1)
		for _, change := range []func(*cmbo.Task){
			func(*cmbo.Task) {},
			func(k *cmbo.Task) {
				k.Failed, k.FailedOutputs = append(slices.Clone(k.Failed), []float64{0.5, 0.5}), nil
			},
			func(k *cmbo.Task) { *k = cmbo.Task{ID: k.ID, Failed: [][]float64{{0.5, 0.5}}} },
		} {
			other := k
			change(&other)
			want := ""
			alone := (len(other.X) == 0) != (len(k.X) == 0) // in the sample beside the values
			for _, order := range [][]cmbo.Task{
				slices.Concat([]cmbo.Task{k, other}, others), slices.Concat([]cmbo.Task{other}, others, []cmbo.Task{k}),
				slices.Concat(others[:12], []cmbo.Task{k}, others[12:], []cmbo.Task{other}), slices.Concat(others, []cmbo.Task{other, k}),
			} {
				for _, workers := range []int{1, 4} {
					p, err := from(order, workers)
					if slices.Contains(kept, k.ID) && (!last || alone) {
						require.ErrorIs(t, err, cmbo.ErrTask)
						require.ErrorContains(t, err, "two tasks have this ID")
						require.ErrorContains(t, err, k.ID)
						refused++
						continue
					}
					require.NoError(t, err)
					want = cmp.Or(want, digest(t, p))
					require.Equal(t, want, digest(t, p))
					if last {
						halves++
					}
				}
			}
		}
	}
	require.Equal(t, 8*(3*6+1), refused) // the last of the values once
	require.Equal(t, 8*2, halves)
}

// TestMergeHoldsTheSampleAgainstItself: two learners, read from what they wrote, that have kept tasks of one ID are
// merged if they do not keep both.
func TestMergeHoldsTheSampleAgainstItself(t *testing.T) {
	fewKept(t, 3)
	cube := unitCube(t, 2)
	tasks := past(7)[1:]
	learner := func(tasks ...cmbo.Task) *cmbo.Learner {
		l, err := cmbo.DecodeLearner(cube, bytes.NewReader(encoded(t, merged(t, newLearner(t, cube, small()...), tasks...))))
		require.NoError(t, err)
		return l
	}
	p, err := learner(tasks[:5]...).Prior(ctx)
	require.NoError(t, err)
	refused := 0
	for i := range 5 {
		others := slices.Delete(slices.Clone(tasks[:5]), i, i+1)
		l, o := learner(tasks[i], others[0], others[1]), learner(tasks[i], others[2], others[3])
		before := encoded(t, l)
		if err := l.Merge(o); err != nil {
			require.True(t, slices.ContainsFunc(p.Tasks(), func(k cmbo.Task) bool { return k.ID == tasks[i].ID }))
			require.ErrorIs(t, err, cmbo.ErrTask)
			require.ErrorContains(t, err, tasks[i].ID)
			require.Equal(t, before, encoded(t, l))
			refused++
			continue
		}
		_, n := l.Pass()
		require.EqualValues(t, 6, n)
		_, err := l.Prior(ctx)
		require.NoError(t, err)
	}
	require.Equal(t, 2, refused, "of three, the last of which has a place for one")
}

func mustTask(id string) cmbo.Task {
	t := pastTask(60)
	t.ID = id
	return t
}

func merged(t testing.TB, l *cmbo.Learner, tasks ...cmbo.Task) *cmbo.Learner {
	for _, k := range tasks {
		require.NoError(t, l.Add(k))
	}
	return l
}

// TestLearnerRange: a task whose sums are out of range is named and left out, by every
// learner that it is given to, so that passes end.
func TestLearnerRange(t *testing.T) {
	fewKept(t, 10)
	cube := unitCube(t, 2)
	tasks := past(30)
	far := slices.IndexFunc(tasks, func(k cmbo.Task) bool { return k.ID == "run-000021" })
	for i := range tasks[far].Y {
		tasks[far].Y[i] = 1e12 * float64(i) // beside values of about 10, and raw
	}
	opts := append(small(), cmbo.WithYPolicy(cmbo.RawValues))
	_, err := cmbo.LearnFrom(ctx, cube, each(tasks), opts...)
	require.ErrorIs(t, err, cmbo.ErrNumerical)
	var where *cmbo.DataError
	require.ErrorAs(t, err, &where)
	require.Equal(t, "run-000021", where.Task)
	require.Contains(t, err.Error(), "pass 2: beyond the range of exact sums")

	var want string
	for range 2 {
		slices.Reverse(tasks)
		l := newLearner(t, cube, opts...)
		for more := true; more; {
			for _, k := range tasks {
				err := l.Add(k)
				if pass, _ := l.Pass(); pass > 1 && k.ID == "run-000021" {
					require.ErrorIs(t, err, cmbo.ErrNumerical)
				} else {
					require.NoError(t, err)
				}
			}
			more, err = l.EndPass(ctx)
			require.NoError(t, err)
		}
		p, err := l.Prior(ctx)
		require.NoError(t, err)
		if want == "" {
			want = digest(t, p)
		}
		require.Equal(t, want, digest(t, p))
	}
}

// TestLearnerMemory: what a learner holds does not grow with the tasks. The budget is that
// of the sample and the sums; the tasks alone take more.
func TestLearnerMemory(t *testing.T) {
	testutil.SkipRace(t, "it measures memory")
	testutil.SkipShort(t, "it reads hundreds of tasks")
	fewKept(t, 40)
	const budget = 1 << 20
	var most, base uint64
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	cube := unitCube(t, 2)
	const n = 400
	runtime.GC() // the second one, in heap, empties pools
	base = heap()
	calls := 0
	read := func() iter.Seq2[cmbo.Task, error] {
		calls++
		return func(yield func(cmbo.Task, error) bool) {
			for j := range n {
				if j%(n/4) == n/4-1 {
					most = max(most, max(heap(), base)-base) // what earlier tests left may go meanwhile
				}
				k := pastTask(j)
				k.FailedOutputs = nil
				for i := range 5 {
					k.Failed = append(k.Failed, pastTask(13*(5*j+i)).Failed...)
				}
				if !yield(k, nil) {
					return
				}
			}
		}
	}
	p, err := cmbo.LearnFrom(ctx, cube, read, cmbo.WithIndexPoints(30), cmbo.WithParallelism(2))
	require.NoError(t, err)
	require.Equal(t, n-(n+12)/13, p.NumTasks())
	require.Equal(t, 5, calls)
	t.Logf("%d tasks: %.1f MB at most", n, float64(most)/(1<<20))
	require.Less(t, most, uint64(budget))
}

func FuzzDecodeLearner(f *testing.F) {
	fewKept(f, 4)
	cube, err := cmbo.UnitCube(2)
	require.NoError(f, err)
	l := newLearner(f, cube, cmbo.WithIndexPoints(6))
	f.Add(encoded(f, l))
	for more := true; more; {
		for j := 1; j < 8; j++ {
			require.NoError(f, l.Add(pastTask(j)))
		}
		f.Add(encoded(f, l))
		s := l.Shard()
		require.NoError(f, s.Add(pastTask(9)))
		f.Add(encoded(f, s))
		more, err = l.EndPass(ctx)
		require.NoError(f, err)
	}
	f.Add([]byte("cmbolearner"))
	limits := cmbo.PriorLimits{Bytes: 1 << 20, Tasks: 10, TaskRows: 50, TotalRows: 200, Points: 30}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := limits.DecodeLearner(ctx, cube, bytes.NewReader(b)); err != nil {
			require.True(t, errors.Is(err, cmbo.ErrCorrupt) || errors.Is(err, cmbo.ErrVersion) || errors.Is(err, cmbo.ErrLearners), "%v", err)
		}
		l, err := limits.DecodeLearner(ctx, cube, bytes.NewReader(cmbo.Reseal(b)))
		if err != nil {
			require.True(t, errors.Is(err, cmbo.ErrCorrupt) || errors.Is(err, cmbo.ErrVersion) || errors.Is(err, cmbo.ErrLearners), "%v", err)
			return
		}
		again, err := limits.DecodeLearner(ctx, cube, bytes.NewReader(encoded(t, l)))
		require.NoError(t, err)
		require.Equal(t, encoded(t, l), encoded(t, again))
		_ = l.Add(pastTask(3))
		_ = l.Merge(again)
	})
}
