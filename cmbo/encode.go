package cmbo

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
)

// A prior is stored as
//
//	"cmboprior", one byte of version, the payload, 32 bytes of SHA-256
//
// of all before. The payload holds what cannot be computed again from the rest.
const (
	priorMagic   = "cmboprior"
	priorVersion = 19
	storedKind   = 2 // which another model, or another way to store this one, would change
)

// Encode writes the prior in a compact binary form, versioned and checksummed, whose bytes are the same for the same prior,
// fit for go:embed; the last 32 are [Prior.Digest]. A task with n observations in d coordinates takes 8n(d+2) bytes and some
// hundred more, moments on I index points 4I², each output as much again, failures up to .3 MB and 8n(d+1) bytes a task,
// whether it has some or not. It fails if w does, or with [ErrOption] if a kernel is not one of package kernel.
func (p *Prior) Encode(w io.Writer) error {
	return sealed(w, p.made(), priorMagic, priorVersion, p.encode)
}

// sealed writes what body encodes to the caller's writer. It returns refused, unless that is nil.
func sealed(w io.Writer, refused error, magic string, version byte, body func(*codec.Encoder)) error {
	return guard(func() error {
		if err := cmp.Or(refused, checkWriter(w)); err != nil {
			return err
		}
		_, err := codec.Seal(w, ErrOption, magic, version, body)
		return err
	})
}

// Digest returns the SHA-256 of the encoded prior in hexadecimal, which Encode writes as the last 32 bytes, and by
// which a snapshot knows its prior. It is computed once. It fails as Encode does.
func (p *Prior) Digest() (string, error) {
	if err := p.made(); err != nil {
		return "", err
	}
	d := p.lazy
	d.once.Do(func() {
		d.hex, d.err = guarded(func() (string, error) {
			sum, err := codec.Seal(io.Discard, ErrOption, priorMagic, priorVersion, p.encode)
			return hex.EncodeToString(sum[:]), err
		})
	})
	return d.hex, d.err
}

func (p *Prior) encode(e *codec.Encoder) {
	e.Byte(storedKind)
	encodeParams(e, p.space.Params())
	encodeConfig(e, p.config)
	e.Bool(p.finite)
	p.learned.Encode(e)
	for _, t := range p.told {
		e.Floats(t.y)
		e.Floats(t.noise)
	}
	e.Bool(p.success != nil)
	if p.success != nil {
		p.success.Encode(e)
	}
	curved := p.curved()
	p.encodeOutputs(e, curved)
	if curved {
		for _, t := range p.told {
			encodeCurves(e, t.curves)
		}
	}
}

// stepSuffix marks the kind of a parameter whose step follows.
const stepSuffix = "+step"

func encodeParams(e *codec.Encoder, ps []Param) {
	e.Uint(uint64(len(ps)))
	for _, p := range ps {
		d := p.Describe()
		e.Text(d.Name)
		kind := d.Kind.String()
		if d.Step != 0 {
			kind += stepSuffix
		}
		e.Text(kind)
		e.Float(d.Lo)
		e.Float(d.Hi)
		e.Texts(d.Choices)
		if d.Step != 0 {
			e.Float(d.Step)
		}
		if d.Kind == KindOrdinal {
			e.Floats(d.Values)
		}
	}
}

func encodeConfig(e *codec.Encoder, c *learnConfig) {
	if len(c.ablations) > 0 {
		e.Err = cmp.Or(e.Err, errors.New("a prior of an ablation is not stored"))
	}
	e.Fixed(c.seed)
	e.Bool(c.minimize)
	e.Bool(c.positive)
	e.Float(c.logUnit)
	e.Text(c.y.String())
	e.Bool(false) // of lengthscales per coordinate, for which the format has a place
	e.Int(c.indexPoints)
	e.Kernel(c.kernel)
}

// DecodePrior reads what [Prior.Encode] wrote, in the same build to the last
// bit: see [PriorLimits.Decode], which it is with the default limits.
func DecodePrior(r io.Reader) (*Prior, error) {
	return PriorLimits{}.Decode(context.Background(), r)
}

// PriorLimits bound what a stored prior may take, for whoever does not trust its source. Observations take up to 20 times
// the bytes that they have in the encoded form, and I index points 40 I² bytes, while decoding, which makes no covariance
// of a task. [Prior.Reindex] and [Prior.Adopt] learn again: [Learn] has what that takes. Totals count a task again for each
// output that it has and, where some failed, for what became of its evaluations. A field of 0 stands for its default, the
// number after the colon.
type PriorLimits struct {
	// Bytes is the encoded length: 256 MiB.
	Bytes int64
	// Tasks is the number of tasks: 10,000.
	Tasks int
	// TaskRows is the number of observations of one task: 65,536, as many as [Learn] takes.
	TaskRows int
	// TotalRows is the number of observations of all tasks: 1,000,000.
	TotalRows int
	// Points is the size of the index set: 4,000.
	Points int
}

// filled returns the limits with their defaults.
func (l PriorLimits) filled() (PriorLimits, error) {
	if l.Bytes < 0 || min(l.Tasks, l.TaskRows, l.TotalRows, l.Points) < 0 {
		return l, optionErrorf("negative PriorLimits %+v", l)
	}
	l.Bytes = min(cmp.Or(l.Bytes, 256<<20), math.MaxInt64-1) // one byte more tells what is longer
	l.Tasks, l.TaskRows = cmp.Or(l.Tasks, 10_000), cmp.Or(l.TaskRows, maxRows)
	l.TotalRows, l.Points = cmp.Or(l.TotalRows, 1_000_000), cmp.Or(l.Points, 4000)
	return l, nil
}

// Decode reads what [Prior.Encode] wrote, in the same build to the last bit, up to the end of r. It fails with
// [ErrLimit] beyond a limit, before it makes a covariance; with [ErrVersion] for another format; with [ErrCorrupt] if
// anything else is not right; if r does; and with ctx.Err().
func (l PriorLimits) Decode(ctx context.Context, r io.Reader) (*Prior, error) {
	return called(ctx, nil, func() (*Prior, error) {
		d, err := l.open(r, "prior", priorMagic, priorVersion, "learn it again")
		if err != nil {
			return nil, err
		}
		switch kind := d.Byte(); kind {
		case storedKind:
		case 1:
			return nil, fmt.Errorf("%w: a prior of the paper's method; learn it again by package cmbo/paper", ErrVersion)
		default:
			d.Fail("a prior of kind %d", kind)
		}
		p, err := readPrior(d)
		return p, decoded(ctx, d, err)
	})
}

// readAll reads to the end of r, or so many bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	if r == nil {
		return nil, optionErrorf("a nil io.Reader")
	}
	return io.ReadAll(io.LimitReader(r, limit))
}

// open reads to the end of r, and returns what decodes the payload of what [codec.Seal] wrote.
func (l PriorLimits) open(r io.Reader, what, magic string, version byte, again string) (*codec.Decoder, error) {
	l, err := l.filled()
	if err != nil {
		return nil, err
	}
	b, err := readAll(r, l.Bytes+1)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > l.Bytes {
		return nil, codec.Beyond("Bytes", l.Bytes, "the encoded %s is longer", what)
	}
	payload, err := codec.Open(b, what, magic, version, again)
	return &codec.Decoder{Buf: payload, Limits: codec.Limits(l)}, err
}

// decoded returns the error of a decoding that is over, err being what the decoder does not know of.
func decoded(ctx context.Context, d *codec.Decoder, err error) error {
	switch {
	case d.Err != nil:
		return d.Err
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return codec.Corrupt(err)
	case len(d.Buf) > 0:
		return fmt.Errorf("%w: %d bytes too many", ErrCorrupt, len(d.Buf))
	}
	return nil
}

func readPrior(d *codec.Decoder) (*Prior, error) {
	params := decodeParams(d)
	if d.Err != nil { // the kind's too
		return nil, d.Err
	}
	space, err := NewSpace(params...)
	if err != nil {
		return nil, err
	}
	c, finite := decodeConfig(d), d.Bool()
	if d.Err != nil {
		return nil, d.Err
	}
	settings := hierarchySettings(c, space, finite)
	m, err := hierarchy.Decode(d, space.Dim(), settings)
	if err != nil {
		return nil, err
	}
	p := newPrior(c, space, finite, m)
	for i := range p.told {
		t := &p.told[i]
		t.y, t.noise = d.Floats(), d.Variances()
		if n := points.Len(t.x); len(t.y) != n || t.noise != nil && len(t.noise) != n {
			d.Fail("task %q: %d points, %d values, %d noise variances", t.id, n, len(t.y), len(t.noise))
		}
	}
	if d.Bool() {
		if p.success, err = hierarchy.Decode(d, space.Dim(), settings); err != nil {
			return nil, err
		}
	}
	if err := p.decodeOutputs(d); err != nil {
		return nil, err
	}
	if err := p.decodeCurves(d); err != nil {
		return nil, err
	}
	tasks := p.Tasks()
	for i := range tasks { // with whatever names of outputs
		tasks[i].Outputs, tasks[i].FailedOutputs = nil, nil
	}
	if _, err := c.checkTasks(space, tasks); err != nil {
		return nil, err
	}
	p.derive()
	return p, nil
}

func decodeParams(d *codec.Decoder) []Param {
	var ps []Param // grown one by one, as their number may be false
	for range d.Count(1) {
		p := space.Description{Name: d.Text()}
		name, stepped := strings.CutSuffix(d.Text(), stepSuffix)
		kind, err := space.ParseKind(name)
		if err != nil {
			d.Fail("a parameter of kind %q", name)
			return nil
		}
		p.Kind, p.Lo, p.Hi, p.Choices = kind, d.Float(), d.Float(), d.Texts()
		if stepped {
			p.Step = d.Float()
		}
		if kind == KindOrdinal {
			p.Values = d.Numbers()
		}
		param, err := p.Param()
		if err != nil {
			d.Fail("%v", err)
			return nil
		}
		ps = append(ps, param)
	}
	return ps
}

func decodeConfig(d *codec.Decoder) *learnConfig {
	c := defaultLearnConfig()
	c.seed, c.minimize, c.positive, c.logUnit = d.Fixed(), d.Bool(), d.Bool(), d.Value()
	y := d.Text()
	if c.y = YPolicy(slices.Index(yPolicyNames[:], y)); !c.y.valid() {
		d.Fail("an unknown y policy %.20q", y)
	}
	if d.Bool() && d.Err == nil {
		d.Err = fmt.Errorf("%w: a prior of lengthscales per coordinate, which no option asks for; learn it again", ErrVersion)
	}
	if c.indexPoints = d.Int(); c.indexPoints < 1 {
		d.Fail("a count of %d", c.indexPoints)
	}
	c.kernel = d.Kernel()
	return c
}
