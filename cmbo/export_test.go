package cmbo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/runlog"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// Reseal replaces the checksum of an encoded prior by the right one, so that
// tests reach what the checksum keeps out.
func Reseal(b []byte) []byte {
	if len(b) < sha256.Size {
		return b
	}
	body := b[:len(b)-sha256.Size]
	sum := sha256.Sum256(body)
	return append(append([]byte(nil), body...), sum[:]...)
}

// SealSnapshot puts a right envelope around a snapshot's state.
func SealSnapshot(state []byte) []byte { return runlog.SealState(state) }

// SealJournal makes a journal of a first line and entries, whatever these are.
func SealJournal(first []byte, entries [][]byte) []byte {
	sum := runlog.Link("", first)
	b := bytes.Clone(first)
	for _, e := range entries {
		sum = runlog.Link(sum, e)
		b = append(b, runlog.SealEntry(sum, e)...)
	}
	return b
}

// SnapshotState returns the state in a snapshot.
func SnapshotState(b []byte) []byte {
	i, j := bytes.Index(b, []byte(`"state":`)), bytes.LastIndexByte(b, '}')
	return b[i+len(`"state":`) : j]
}

// Climbs is the number of rounds of candidates near the best one, LimitedClimbs and LimitedNear are those with a limit and
// no past and how many times as many each has.
var Climbs, LimitedClimbs, LimitedNear = &climbs, &limitedClimbs, &limitedNear

// MayBeExact says whether a run without a past looks for noise that is next to none.
var MayBeExact = &mayBeExact

// Coordinates says which lengths of models are one.
var Coordinates = &coordinates

// ViewShares are the views that a run without a past chooses from.
var ViewShares = &viewShares

// RaisePenalties is what a run without a past makes of values that hold penalties.
var RaisePenalties = &raisePenalties

// NewSurrogate returns the model of a run over a space, for a suite outside.
func NewSurrogate(space *Space, opts ...Option) (Surrogate, error) {
	c, err := newRunConfig(opts)
	if err == nil {
		err = c.fill()
	}
	if err != nil {
		return nil, err
	}
	return c.model(space, space.Finite(), true)
}

// IndexError has the package make a mistake on some goroutines, after it has called
// callback, or while callback calls it.
func IndexError(workers int, callback func(mistake func() int)) error {
	mistake := func() int { return make([]int, workers)[workers] }
	return guard(func() error {
		return gp.Marked(context.Background(), parallel.For(context.Background(), workers, 2*workers, func(_, i int) error {
			callback(mistake)
			_ = mistake()
			return nil
		}))
	})
}

// SetSampleTasks sets the number of tasks that a learner holds, and returns the former one.
func SetSampleTasks(n int) int {
	old := sampleTasks
	sampleTasks = n
	return old
}

// EndOf returns what a value at a step makes of the end of a trial, as advice has it.
func (o *Optimizer) EndOf(ctx context.Context, id, step int, y float64) (mean, sd float64, err error) {
	a, _, err := o.draft().look(ctx, id, step)
	mean, sd = a.end(o.config.oriented(y))
	return mean, sd, err
}

// WithOutputsOf returns p with what another prior knows of outputs.
func WithOutputsOf(p, outputs *Prior) *Prior {
	out := *p
	out.outputs = outputs.outputs
	return &out
}

// Changed returns p with changes of settings that only runs have a use for, as if it had been learned with them: see
// WithAblation. What p knows of failures stays, which these do not concern.
func Changed(p *Prior, names ...string) (*Prior, error) {
	out, c := *p, *p.config
	c.ablations, out.config, out.list = names, &c, nil
	limits, err := PriorLimits{}.filled()
	change := func(m *hierarchy.Model, s hierarchy.Settings) *hierarchy.Model {
		e := new(codec.Encoder)
		m.Encode(e)
		changed, failed := hierarchy.Decode(&codec.Decoder{Buf: e.Buf, Limits: codec.Limits(limits)}, p.space.Dim(), s)
		err = cmp.Or(err, e.Err, failed)
		return changed
	}
	out.learned, out.outputs = change(p.learned, hierarchySettings(&c, p.space, p.finite)), nil
	for _, o := range p.outputs {
		of := *o
		of.model = change(o.model, outputSettings(&c, p.space, p.finite))
		out.outputs = append(out.outputs, &of)
	}
	if err == nil {
		out.derive()
	}
	return &out, err
}
