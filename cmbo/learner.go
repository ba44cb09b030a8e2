package cmbo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
)

// sampleTasks is the number of tasks that a Learner holds, as many as EM learns the moments of a group from.
var sampleTasks = hierarchy.DefaultSettings(1).GroupTasks

// A Learner makes a prior of any number of tasks, given one by one and in passes: Add all tasks, in any order, call
// EndPass, and repeat as long as EndPass reports more ([LearnFrom] does this). Prior may be called after any pass. To
// extend a prior run by run, stay in the first pass: Add each run's task, call Prior without EndPass, and store tasks
// and options by [Learner.Encode].
//
// The first pass keeps a sample, drawn by the seed and the IDs, of at most 1,000 tasks with values and 1,000 of
// failures alone. If these are all tasks, the prior is that of [Learn] given them in the order of their IDs, t10
// before t2. Otherwise each further pass is one step of EM for the moments of the population. A pass may be divided
// among learners ([Learner.Shard]): neither order nor division changes a bit of the prior. Tasks of one ID beside the
// sample count as two. On I index points a learner holds the sample and, in a later pass, 32 I² bytes, and up to 20 I² +
// 16 n² more while a task of n observations is added. It serves one goroutine at a time.
type Learner struct {
	config *learnConfig
	space  *Space
	pass   int    // the number of passes that have ended
	first  census // of the first pass, when it has ended
	seen   census // of this pass
	kept   *keptTasks
	sums   *sums // nil in the first pass, and later if all tasks were kept
}

// sums are what a later pass works with.
type sums struct {
	mean, sd float64 // the common scale of the values
	logUnit  float64 // with which models see their logarithms: see learnConfig
	of       *hierarchy.Pass
	tally    *hierarchy.Tally
}

// NewLearner returns a learner of the first pass. The options are those of [Learn]. It fails with [ErrOption] or [ErrSpace].
func NewLearner(space *Space, opts ...LearnOption) (*Learner, error) {
	c, err := newLearnConfig(opts)
	if err != nil {
		return nil, err
	}
	if err := space.Defined(); err != nil {
		return nil, err
	}
	return &Learner{config: c, space: space, kept: &keptTasks{known: make(vocabulary)}}, nil
}

// made reports a Learner that nothing made.
func (l *Learner) made() error {
	return refuseUnless(l != nil && l.space != nil, "a nil or zero Learner; use NewLearner")
}

// Add adds a task, which is copied. It fails as Learn does of the task alone, and of those kept if it becomes one, as
// with [ErrTask] for an ID of theirs: of more tasks than are kept that depends on the order, while LearnFrom holds those
// kept in the end against each other. In a later pass it fails with [ErrNumerical] if what the task adds
// is beyond the range of the sums or its covariance is singular; the learner can go on without the task, which every learner
// that it is given to leaves out alike. It takes O(n) time in the first pass, O(n³ + 32 n I + I²) in the others.
func (l *Learner) Add(task Task) error {
	return guard(func() error {
		if err := l.made(); err != nil {
			return err
		}
		if l.pass > 0 && l.sums == nil {
			return space.InTask(space.Errorf(ErrTask, "all %d tasks were kept, and there is no other pass", l.first.tasks), task.ID)
		}
		checked, err := l.config.checkTasks(l.space, []Task{task})
		if err != nil {
			return err
		}
		k := &checked[0]
		if l.sums == nil {
			if l.seen.tasks >= hierarchy.MaxTasks {
				return space.InTask(space.Errorf(ErrTask, "%d tasks were added, and a learner takes no more", l.seen.tasks), k.ID)
			}
			if err := l.kept.add(l.config.seed, *k); err != nil {
				return err
			}
			l.seen.add(k)
			return nil
		}
		if len(k.X) > 0 {
			c := *l.config
			c.logUnit = l.sums.logUnit
			t := []hierarchy.Task{c.scaled(l.space, k)}
			err = l.sums.tally.Add(&hierarchy.Standardize(t, l.sums.mean, l.sums.sd)[0])
		}
		// What cannot be added was seen all the same, and is left out wherever it is seen.
		l.seen.add(k)
		if err != nil {
			return space.InTask(space.Errorf(ErrNumerical, "pass %d: %v", l.pass+1, err), k.ID)
		}
		return nil
	})
}

// Shard returns a learner without tasks for the same pass, which [Learner.Merge] brings back. It may be encoded. A
// shard of a later pass has the moments, but not the sample: it only serves to add, to merge, and to be merged.
// That of a nil or zero Learner is a zero one.
func (l *Learner) Shard() *Learner {
	if l.made() != nil {
		return new(Learner)
	}
	s := &Learner{config: l.config, space: l.space, pass: l.pass, first: l.first}
	if l.pass == 0 {
		s.kept = &keptTasks{known: maps.Clone(l.kept.known)} // nil if that is
		clear(s.kept.known)
	}
	if l.sums != nil {
		s.sums = l.sums.again(l.sums.of)
	}
	return s
}

func (s *sums) again(of *hierarchy.Pass) *sums {
	return &sums{mean: s.mean, sd: s.sd, logUnit: s.logUnit, of: of, tally: of.NewTally()}
}

// Merge adds the tasks of o, which stays as it is. It fails with [ErrLearners] if o is of
// another space, other options, another pass or another past, and with [ErrTask] if two
// tasks kept of both have one ID or exclude each other; l is then what it was.
func (l *Learner) Merge(o *Learner) error {
	return guard(func() error {
		if err := l.fits(o); err != nil {
			return err
		}
		if n := l.seen.tasks + o.seen.tasks; n > hierarchy.MaxTasks {
			return fmt.Errorf("%w: %d tasks; one takes at most %d", ErrLearners, n, hierarchy.MaxTasks)
		}
		if l.pass == 0 {
			kept, err := l.kept.merged(o.kept)
			if err != nil {
				return err
			}
			l.kept = kept
		} else if l.sums != nil {
			if err := l.sums.tally.Merge(o.sums.tally); err != nil {
				return fmt.Errorf("%w: %w", ErrLearners, err)
			}
		}
		l.seen.merge(&o.seen)
		return nil
	})
}

// fits reports why o cannot be merged.
func (l *Learner) fits(o *Learner) error {
	if o == nil || l == o {
		return fmt.Errorf("%w: a learner and itself, or none", ErrLearners)
	}
	if err := cmp.Or(l.made(), o.made()); err != nil {
		return err
	}
	if err := otherParams(ErrLearners, l.space, o.space, ""); err != nil {
		return err
	}
	if l.space.Finite() != o.space.Finite() || l.space.Finite() && !points.Equal(l.space.Encoded(), o.space.Encoded()) {
		return fmt.Errorf("%w: one is of %d candidates, the other of %d, or of others",
			ErrLearners, l.space.NumCandidates(), o.space.NumCandidates())
	}
	if why := l.config.difference(o.config); why != "" {
		return fmt.Errorf("%w: %s", ErrLearners, why)
	}
	if l.pass != o.pass {
		return fmt.Errorf("%w: one is in pass %d, the other in pass %d", ErrLearners, l.pass+1, o.pass+1)
	}
	if l.first != o.first || (l.sums == nil) != (o.sums == nil) || l.sums != nil && !l.sums.same(o.sums) {
		return fmt.Errorf("%w: they have seen other tasks in the passes before", ErrLearners)
	}
	return nil
}

func (s *sums) same(o *sums) bool {
	return s.mean == o.mean && s.sd == o.sd && s.logUnit == o.logUnit && s.of.Equal(o.of)
}

// difference says which option that results depend on differs, "" for none.
func (c *learnConfig) difference(o *learnConfig) string {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"seeds", c.seed, o.seed}, {"directions (to be minimised)", c.minimize, o.minimize},
		{"promises of positive values", c.positive, o.positive}, {"y policies", c.y, o.y},
		{"sizes of the index set", c.indexPoints, o.indexPoints}, {"ablations", fmt.Sprint(c.ablations), fmt.Sprint(o.ablations)},
	} {
		if f.a != f.b {
			return fmt.Sprintf("%s %v and %v", f.name, f.a, f.b)
		}
	}
	if !sameKernel(c.kernel, o.kernel) {
		return fmt.Sprintf("kernels %v and %v", c.kernel, o.kernel)
	}
	return ""
}

// sameKernel compares kernels by what they compute, as far as that shows.
func sameKernel(a, b kernel.Kernel) bool {
	return fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b) &&
		(a == nil || slices.Equal(a.AppendParams(nil), b.AppendParams(nil)))
}

// Remove takes out the task of an ID, for good or to Add it corrected: the learner is then one that never had it. It fails
// with [ErrTask], changing nothing, if there is no such task, and after the first pass, or if it kept a sample of the tasks.
// It takes the time of adding all others.
func (l *Learner) Remove(id string) error {
	if err := l.made(); err != nil {
		return err
	}
	if l.pass > 0 || l.seen.tasks > int64(len(l.kept.valued)+len(l.kept.failing)) {
		return space.InTask(space.Errorf(ErrTask, "pass %d, with a sample of %d tasks, gives none back", l.pass+1, l.seen.tasks), id)
	}
	rest := l.Shard()
	for _, t := range l.kept.tasks() {
		if t.ID != id {
			if err := rest.Add(t); err != nil {
				return err
			}
		}
	}
	if rest.seen.tasks == l.seen.tasks {
		return space.InTask(space.Errorf(ErrTask, "none of %d tasks has this ID", l.seen.tasks), id)
	}
	*l = *rest
	return nil
}

// EndPass ends a pass and reports whether another one is worth its while. It fails with [ErrNoTasks] if no task has a value,
// with [ErrTask] if a later pass has not seen the tasks of the first one, with [ErrOption], with [ErrNumerical], or with
// ctx.Err(), which a later pass looks at once; the learner is then what it was. It takes the time of Learn for the
// sample, and O(I³) in later passes.
func (l *Learner) EndPass(ctx context.Context) (more bool, err error) {
	return called(ctx, l.made(), func() (bool, error) {
		if l.kept == nil {
			return false, fmt.Errorf("%w: a shard of pass %d ends no pass: merge it into the learner it is of", ErrLearners, l.pass+1)
		}
		o := hierarchySettings(l.config, l.space, l.space.Finite())
		if l.pass == 0 {
			s, err := l.begin(ctx)
			if err != nil {
				return false, err
			}
			l.pass, l.first, l.seen, l.sums = 1, l.seen, census{}, s
			return s != nil, nil
		}
		if l.sums == nil || ctx.Err() != nil {
			return false, ctx.Err()
		}
		if l.seen != l.first {
			return false, fmt.Errorf("%w: pass %d saw %d tasks and the first one %d, or other ones",
				ErrTask, l.pass+1, l.seen.tasks, l.first.tasks)
		}
		if l.sums.tally.Tasks() == 0 {
			return false, fmt.Errorf("%w: pass %d left all tasks out", ErrNoTasks, l.pass+1)
		}
		next, _ := l.sums.of.Next(l.sums.tally, o.Shrink)
		l.pass, l.seen, l.sums = l.pass+1, census{}, l.sums.again(next)
		return l.pass <= o.Passes, nil
	})
}

// begin makes of the sample what a second pass works with, nil if it is all tasks.
func (l *Learner) begin(ctx context.Context) (*sums, error) {
	t, err := l.sample()
	if err != nil || l.seen.valued <= int64(len(t.tasks)) {
		return nil, cmp.Or(err, ctx.Err())
	}
	z, o := t.grid(), hierarchySettings(t.config, t.space, t.list)
	mean, sd := hierarchy.CommonScale(t.tasks)
	first, err := hierarchy.FirstPass(ctx, hierarchy.Standardize(t.tasks, mean, sd), z, o)
	if err != nil {
		return nil, gp.Marked(ctx, err)
	}
	return &sums{mean, sd, t.config.logUnit, first, first.NewTally()}, nil
}

// sample returns the tasks that were kept, in the order of their IDs.
func (l *Learner) sample() (*trainingSet, error) {
	if _, err := l.kept.words(); err != nil {
		return nil, err
	}
	return l.config.trainingSet(l.space, l.kept.tasks())
}

// Prior returns the prior of the passes that have ended: see [Learner]. Before the end of the first pass it is that
// of the sample of the tasks added so far. It fails as EndPass does and changes nothing. It takes the time of Learn
// for the sample; where a second pass has begun, that of replays, outputs and failures alone.
func (l *Learner) Prior(ctx context.Context) (*Prior, error) {
	return called(ctx, l.made(), func() (*Prior, error) {
		if l.kept == nil {
			return nil, fmt.Errorf("%w: a shard of pass %d has no sample of the tasks: merge it into the learner it is of",
				ErrLearners, l.pass+1)
		}
		t, err := l.sample()
		if err != nil {
			return nil, err
		}
		s, all := l.sums, l.first.valued
		if l.pass == 0 {
			if s, err = l.begin(ctx); err != nil {
				return nil, err
			}
			all = l.seen.valued
		}
		if s == nil {
			return t.learn(ctx)
		}
		m := s.of.Model(hierarchy.Standardize(t.tasks, s.mean, s.sd), all, hierarchySettings(t.config, t.space, t.list))
		return t.finish(ctx, m)
	})
}

// Tasks returns the tasks that the learner keeps, in the order of their IDs and as they were added, with the parameters: all
// of them, or the sample. It returns nil of a nil or zero Learner and of a shard of a later pass. A changed space takes them
// over by [Space.Adopt], for a new learner.
func (l *Learner) Tasks() []Task {
	if l.made() != nil || l.kept == nil {
		return nil
	}
	return each.Of(l.kept.tasks(), func(t Task) Task {
		t = cloneTask(t)
		t.Params = l.space.Params()
		return t
	})
}

// Pass returns the number of the pass that the learner is in, from 1, and the number of tasks that it was given in
// it, those included that Add left out with [ErrNumerical]; zeros of a nil or zero Learner.
func (l *Learner) Pass() (pass int, tasks int64) {
	if l.made() != nil {
		return 0, 0
	}
	return l.pass + 1, l.seen.tasks
}

// A census tells one list of tasks from another, whatever their order.
type census struct {
	tasks, valued int64
	sum           [4]uint64 // of the SHA-256 of each, modulo 2^256
}

func (c *census) add(k *Task) {
	one := census{tasks: 1, valued: int64(min(len(k.X), 1))}
	h := sha256.Sum256(taskBytes(k))
	for i := range one.sum {
		one.sum[i] = binary.LittleEndian.Uint64(h[8*i:])
	}
	c.merge(&one)
}

func (c *census) merge(o *census) {
	c.tasks += o.tasks
	c.valued += o.valued
	var carry uint64
	for i := range c.sum {
		c.sum[i], carry = bits.Add64(c.sum[i], o.sum[i], carry)
	}
}

// keptTasks are the tasks whose IDs draw the smallest numbers.
type keptTasks struct {
	valued, failing []keptTask
	known           vocabulary // theirs, nil where they are held against each other in the end alone: see readPass
}

type keptTask struct {
	draw uint64
	task Task
}

// keptLabel names the draws by which tasks are kept, which are those by which EM chooses tasks of a group.
const keptLabel = "group"

// compare orders tasks by their draws, and two of one ID, both of which learners may be given, by what they hold.
func (a *keptTask) compare(b *keptTask) int {
	if c := cmp.Or(cmp.Compare(a.draw, b.draw), cmp.Compare(a.task.ID, b.task.ID)); c != 0 {
		return c
	}
	return bytes.Compare(taskBytes(&a.task), taskBytes(&b.task))
}

// add keeps a task that space.CheckTasks returned if its draw is small enough.
func (k *keptTasks) add(seed uint64, t Task) error {
	one := keptTask{rng.Stream(seed, keptLabel+":"+t.ID).Uint64(), t}
	list := &k.valued
	if len(t.X) == 0 {
		list = &k.failing
	}
	at, _ := slices.BinarySearchFunc(*list, &one, func(b keptTask, a *keptTask) int { return b.compare(a) })
	if at >= sampleTasks {
		return nil
	}
	known := maps.Clone(k.known)
	if err := known.take(&t); err != nil {
		return err
	}
	k.known, one.task = known, cloneTask(t)
	n := len(*list)
	if *list = slices.Insert((*list)[:min(n, sampleTasks-1)], at, one); n == sampleTasks && known != nil {
		k.known, _ = k.words() // none excludes another
	}
	return nil
}

// cloneTask returns t with all but its parameters copied.
func cloneTask(t Task) Task {
	t.X, t.Failed = cloneRows(t.X), cloneRows(t.Failed)
	t.Y, t.NoiseVariance = slices.Clone(t.Y), slices.Clone(t.NoiseVariance)
	t.Curves, t.Context = space.CloneCurves(t.Curves), maps.Clone(t.Context)
	for _, c := range []*space.Columns{&t.Outputs, &t.FailedOutputs} {
		*c = maps.Clone(*c)
		for name, column := range *c {
			(*c)[name] = slices.Clone(column)
		}
	}
	return t
}

// merged returns the tasks that are kept of those of k and o.
func (k *keptTasks) merged(o *keptTasks) (*keptTasks, error) {
	join := func(a, b []keptTask) []keptTask {
		all := slices.Concat(a, b)
		slices.SortFunc(all, func(a, b keptTask) int { return a.compare(&b) })
		return slices.Clone(all[:min(len(all), sampleTasks)])
	}
	both := &keptTasks{valued: join(k.valued, o.valued), failing: join(k.failing, o.failing)}
	var err error
	if k.known != nil {
		both.known, err = both.words()
	}
	return both, err
}

// words returns the vocabulary of the tasks. It fails if two of them have one ID or exclude each other.
func (k *keptTasks) words() (vocabulary, error) {
	known := make(vocabulary)
	for _, t := range k.tasks() {
		if err := known.take(&t); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// tasks returns them in the order of their IDs.
func (k *keptTasks) tasks() []Task {
	out := each.Of(slices.Concat(k.valued, k.failing), func(a keptTask) Task { return a.task })
	slices.SortFunc(out, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// LearnFrom is [Learn] for tasks that need not fit in memory. It calls read once for each pass of a [Learner]; each call
// gives all tasks, in any order: the order does not change the prior by a bit. An error that read yields ends it, as does the
// first task that [Learner.Add] refuses by itself. Tasks of one ID, and others that exclude each other, are found at the end
// of the first pass among those of the sample, which fail with [ErrTask] whatever the order, and not beside them. Tasks are
// added on as many goroutines as [WithParallelism] allows, in one pass for up to 1,000 tasks with values, in five for more.
func LearnFrom(ctx context.Context, space *Space, read func() iter.Seq2[Task, error], opts ...LearnOption) (*Prior, error) {
	return called(ctx, refuseUnless(read != nil, "a nil function to read tasks"), func() (*Prior, error) {
		l, err := NewLearner(space, opts...)
		if err != nil {
			return nil, err
		}
		return l.learn(ctx, read)
	})
}

func (l *Learner) learn(ctx context.Context, read func() iter.Seq2[Task, error]) (p *Prior, err error) {
	for more := true; more; {
		if err = l.readPass(ctx, read()); err != nil {
			return nil, err
		}
		if more, err = l.EndPass(ctx); err != nil {
			return nil, err
		}
	}
	return l.Prior(ctx)
}

// batchTasks is the number of tasks that are read before goroutines add them.
const batchTasks = 256

// readPass adds tasks to shards, one a goroutine, and these to l.
func (l *Learner) readPass(ctx context.Context, tasks iter.Seq2[Task, error]) error {
	if tasks == nil {
		return optionErrorf("a function to read tasks that returned nil")
	}
	if l.kept != nil {
		l.kept.known = nil // what is refused, if anything, is to follow from the tasks, not from who adds them first
	}
	workers := parallel.Workers(l.config.parallelism, batchTasks)
	shards := each.Below(workers, func(int) *Learner { return l.Shard() })
	batch := make([]Task, 0, batchTasks)
	add := func() error {
		err := parallel.For(ctx, workers, len(batch), func(w, i int) error { return shards[w].Add(batch[i]) })
		clear(batch)
		batch = batch[:0]
		return err
	}
	for t, err := range tasks {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if batch = append(batch, cloneTask(t)); len(batch) == batchTasks {
			if err := add(); err != nil {
				return err
			}
		}
	}
	if err := add(); err != nil {
		return err
	}
	for _, s := range shards {
		if err := l.Merge(s); err != nil {
			return err
		}
	}
	return nil
}
