package cmbo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
)

// A learner is stored as a prior is. The payload holds the parameters, a digest of the
// candidates, the options, the pass, what was seen in it and in the first one, the sample
// unless it is a shard of a later pass, and the moments and sums of a later pass.
const (
	learnerMagic   = "cmbolearner"
	learnerVersion = 7
)

// Encode writes the learner in a binary form, versioned and checksummed, whose bytes are the same for the same tasks
// in any order. The tasks of the sample take what they take in an encoded prior, and a later pass on I points of the
// index set 12 I² bytes besides. It fails if w does, or with [ErrOption] if a kernel is not one of package kernel.
func (l *Learner) Encode(w io.Writer) error {
	return sealed(w, l.made(), learnerMagic, learnerVersion, l.encode)
}

func (l *Learner) encode(e *codec.Encoder) {
	encodeParams(e, l.space.Params())
	candidates := digestOf(l.space)
	e.Raw(candidates[:])
	encodeConfig(e, l.config)
	e.Int(l.pass)
	l.first.encode(e)
	l.seen.encode(e)
	e.Bool(l.kept != nil)
	if l.kept != nil {
		tasks := l.kept.tasks()
		e.Uint(uint64(len(tasks)))
		for i := range tasks {
			e.Raw(taskBytes(&tasks[i]))
		}
	}
	e.Bool(l.sums != nil)
	if s := l.sums; s != nil {
		e.Float(s.mean)
		e.Float(s.sd)
		e.Float(s.logUnit)
		s.of.Encode(e)
		s.tally.Encode(e)
	}
}

// taskBytes encodes a task of the space: what a learner keeps of it, and tells it from others by.
func taskBytes(t *Task) []byte {
	e := new(codec.Encoder)
	e.Text(t.ID)
	encodeRows(e, t.X)
	e.Floats(append([]float64(nil), t.Y...)) // nil for none, whatever the caller has
	e.Floats(append([]float64(nil), t.NoiseVariance...))
	encodeRows(e, t.Failed)
	for _, c := range []space.Columns{t.Outputs, t.FailedOutputs} {
		e.Texts(c.Names())
		for _, name := range c.Names() {
			codec.Each(c[name], e.Float)
		}
	}
	encodeCurves(e, t.Curves)
	e.Context(t.Context)
	return e.Buf
}

// digestOf names the candidates of a space.
func digestOf(s *Space) [sha256.Size]byte {
	if !s.Finite() {
		return [sha256.Size]byte{}
	}
	var e codec.Encoder
	for i := range s.NumCandidates() {
		codec.Each(s.Encoded().Row(i), e.Float)
	}
	return sha256.Sum256(e.Buf)
}

func (c *census) encode(e *codec.Encoder) {
	e.Int(int(c.tasks))
	e.Int(int(c.valued))
	codec.Each(c.sum[:], e.Fixed)
}

func decodeCensus(d *codec.Decoder) census {
	c := census{tasks: int64(d.Int()), valued: int64(d.Int())}
	if c.valued < 0 || c.tasks < c.valued || c.tasks > hierarchy.MaxTasks {
		d.Fail("%d tasks, %d with values", c.tasks, c.valued)
	}
	for i := range c.sum {
		c.sum[i] = d.Fixed()
	}
	return c
}

func encodeRows(e *codec.Encoder, rows [][]float64) {
	e.Uint(uint64(len(rows)))
	for _, r := range rows {
		codec.Each(r, e.Float)
	}
}

// decodeRows reads rows of n numbers, nil for none.
func decodeRows(d *codec.Decoder, n int) [][]float64 {
	var rows [][]float64
	for range d.Count(8 * n) {
		rows = append(rows, each.Below(n, func(int) float64 { return d.Finite() }))
	}
	return rows
}

// DecodeLearner is [PriorLimits.DecodeLearner] with the default limits.
func DecodeLearner(space *Space, r io.Reader) (*Learner, error) {
	return PriorLimits{}.DecodeLearner(context.Background(), space, r)
}

// DecodeLearner reads what [Learner.Encode] wrote, for the space that the learner was made with, in the same build to
// the last bit, up to the end of r. l bounds tasks and rows of the sample and points of the index set. Options that
// change no result, such as [WithParallelism], are those of a new learner. It fails with [ErrLearners] if the learner
// is of another space, and else as [PriorLimits.Decode] does.
func (l PriorLimits) DecodeLearner(ctx context.Context, space *Space, r io.Reader) (*Learner, error) {
	return called(ctx, nil, func() (*Learner, error) {
		if err := space.Defined(); err != nil {
			return nil, err
		}
		d, err := l.open(r, "learner", learnerMagic, learnerVersion, "begin again")
		if err != nil {
			return nil, err
		}
		if err := learnerOf(d, space); err != nil {
			return nil, err
		}
		learner, err := readLearner(d, space)
		return learner, decoded(ctx, d, err)
	})
}

// learnerOf reads the space of a learner and holds it against the one given.
func learnerOf(d *codec.Decoder, s *Space) error {
	params, candidates := decodeParams(d), d.Raw(sha256.Size)
	if d.Err != nil {
		return d.Err
	}
	stored, err := NewSpace(params...)
	if err != nil {
		return codec.Corrupt(err)
	}
	const advice = "; decoded with its own space it has Tasks, which Space.Adopt brings to another"
	if err := otherParams(ErrLearners, stored, s, advice); err != nil {
		return err
	}
	if want := digestOf(s); string(want[:]) != string(candidates) {
		return fmt.Errorf("%w: it is of other candidates than the %d of the space", ErrLearners, s.NumCandidates())
	}
	return nil
}

func readLearner(d *codec.Decoder, s *Space) (*Learner, error) {
	c := decodeConfig(d)
	l := &Learner{config: c, space: s, pass: d.Int(), first: decodeCensus(d), seen: decodeCensus(d)}
	if l.pass < 0 || l.pass >= 1<<30 || l.pass == 0 && l.first != (census{}) || l.pass > 0 && l.first.valued == 0 {
		d.Fail("pass %d of %d tasks", l.pass+1, l.first.tasks)
	}
	if d.Bool() {
		l.kept = &keptTasks{known: make(vocabulary)}
		if err := l.readKept(d); err != nil {
			return nil, err
		}
	} else if l.pass == 0 {
		d.Fail("a first pass without a sample")
	}
	summed := d.Bool()
	if summed != (l.first.valued > int64(sampleTasks)) || l.pass > 1 && !summed { // which is the last pass
		d.Fail("sums in pass %d of %d tasks: %t", l.pass+1, l.first.valued, summed)
	}
	if !summed || d.Err != nil {
		return l, d.Err
	}
	sums := &sums{mean: d.Value(), sd: d.Value(), logUnit: d.Value()}
	if !(sums.sd > 0) {
		d.Fail("a scale of %g", sums.sd)
	}
	if d.Err != nil {
		return nil, d.Err
	}
	var err error
	if sums.of, err = hierarchy.DecodePass(d, s.Dim()); err != nil {
		return nil, err
	}
	if sums.tally = sums.of.DecodeTally(d); sums.tally == nil {
		return nil, d.Err
	}
	if sums.tally.Tasks() > l.seen.valued {
		d.Fail("sums of %d tasks, of which %d were seen", sums.tally.Tasks(), l.seen.valued)
	}
	l.sums = sums
	return l, nil
}

// decodeColumns reads columns of n values, nil for none.
func decodeColumns(d *codec.Decoder, n int) (c space.Columns) {
	for _, name := range d.Names() {
		if d.Err != nil {
			return nil // names take less than their columns
		}
		column := make([]float64, n)
		for i := range column {
			column[i] = d.Float() // NaN where the row has none
		}
		if c == nil {
			c = make(space.Columns)
		}
		c[name] = column
	}
	return c
}

// readKept reads the sample, which is validated as the tasks given to Add are.
func (l *Learner) readKept(d *codec.Decoder) error {
	of := &l.seen
	if l.pass > 0 {
		of = &l.first
	}
	n, width := d.Count(1), len(l.space.Params())
	d.Within("Tasks", int64(n), int64(d.Limits.Tasks), "a sample of %d tasks", n)
	for range n {
		t := Task{ID: d.Text(), X: decodeRows(d, width), Y: d.Floats(), NoiseVariance: d.Variances(), Failed: decodeRows(d, width)}
		t.Outputs = decodeColumns(d, len(t.Y))
		t.FailedOutputs = decodeColumns(d, len(t.Failed))
		t.Curves = decodeCurves(d, t.ID, len(t.Y))
		t.Context = d.Context()
		d.AddRows(t.ID, len(t.X)+len(t.Failed))
		if d.Err != nil {
			return d.Err
		}
		checked, err := l.config.checkTasks(l.space, []Task{t})
		if err != nil {
			return err
		}
		if err := l.kept.add(l.config.seed, checked[0]); err != nil {
			return err
		}
	}
	valued, failing := int64(len(l.kept.valued)), int64(len(l.kept.failing))
	if valued != min(of.valued, int64(sampleTasks)) || failing != min(of.tasks-of.valued, int64(sampleTasks)) {
		d.Fail("a sample of %d tasks with values and %d without, of %d and %d", valued, failing, of.valued, of.tasks-of.valued)
	}
	return nil
}
