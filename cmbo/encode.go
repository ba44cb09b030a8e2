package cmbo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/cluster"
	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// A prior is stored as
//
//	"cmboprior", one byte of version, the payload, 32 bytes of SHA-256
//
// of all before. The payload holds what cannot be computed again from the rest:
// the tasks' data and hyperparameters, and the prototypes on the index set. A
// reader takes every version up to its own.
const (
	priorMagic   = "cmboprior"
	priorVersion = 1
)

// Encode writes the prior in a compact binary form: deterministic bytes,
// versioned and checksummed, fit for go:embed. A task with n observations in d
// coordinates takes 8n(d+1) bytes and some hundred more, a prototype on I index
// points 4I² bytes. It fails if w does, or with [ErrOption] if a kernel is not
// one of package kernel, which alone have a description.
func (p *Prior) Encode(w io.Writer) error {
	b, err := p.encode()
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Digest returns the SHA-256 of the encoded prior in hexadecimal, by which a
// snapshot knows the prior it belongs to. It is computed once. It fails as
// Encode does.
func (p *Prior) Digest() (string, error) {
	d := p.lazy
	d.once.Do(func() {
		var b []byte
		if b, d.err = p.encode(); d.err == nil {
			d.hex = hex.EncodeToString(b[len(b)-sha256.Size:])
		}
	})
	return d.hex, d.err
}

func (p *Prior) encode() ([]byte, error) {
	e := &encoder{b: append([]byte(priorMagic), priorVersion)}
	e.params(p.space.params)
	if err := e.config(p.config); err != nil {
		return nil, err
	}
	e.bool(p.finite)
	e.uint(uint64(len(p.learned.Sources)))
	for _, s := range p.learned.Sources {
		if err := e.source(s); err != nil {
			return nil, inTask(err, s.ID)
		}
	}
	e.ints(p.learned.Labels)
	e.matrix(p.clusterSet)
	e.matrix(p.learned.Index)
	e.uint(uint64(len(p.learned.Prototypes)))
	for _, q := range p.learned.Prototypes {
		e.normal(q.Normal)
		c, extended := q.Process.(*model.Extension)
		e.bool(extended)
		if extended {
			// The barycentre may have been computed on another index set.
			if err := e.kernel(c.Kernel); err != nil {
				return nil, err
			}
			e.matrix(c.Index)
			e.normal(c.Normal)
		}
	}
	e.uint(uint64(len(p.learned.Partitions)))
	for _, q := range p.learned.Partitions {
		e.ints(q.Labels)
		e.float(q.IntraCE)
		e.float(q.InterCS)
	}
	e.report(p.learned.Report)
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...), nil
}

// stepSuffix marks the kind of a parameter whose step follows.
const stepSuffix = "+step"

func (e *encoder) params(ps []Param) {
	e.uint(uint64(len(ps)))
	for _, p := range ps {
		e.string(p.name)
		kind := p.kind.String()
		if p.step != 0 {
			kind += stepSuffix
		}
		e.string(kind)
		e.float(p.lo)
		e.float(p.hi)
		e.strings(p.choices)
		if p.step != 0 {
			e.float(p.step)
		}
		if p.kind == KindOrdinal {
			e.floats(p.values)
		}
	}
}

// kernel writes a kernel's description, nil as an empty one.
func (e *encoder) kernel(k kernel.Kernel) error {
	if k == nil {
		e.string("")
		return nil
	}
	spec, err := kernel.Describe(k)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	b, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	e.string(string(b))
	return nil
}

func (e *encoder) config(c *learnConfig) error {
	e.fixed(c.seed)
	e.string(c.variant.String())
	e.bool(c.minimize)
	e.string(c.y.String())
	e.bool(c.ard)
	for _, k := range []kernel.Kernel{c.clusterKernel, c.priorKernel, c.fixed} {
		if err := e.kernel(k); err != nil {
			return err
		}
	}
	e.float(c.fixedNoise)
	for _, v := range []int{c.clusters, c.maxClusters, c.restarts, c.rounds, c.clusterPoints, c.indexPoints} {
		e.int(v)
	}
	e.bool(c.labels != nil)
	e.bool(c.fixedIndex)
	e.bool(c.partitionScore)
	return nil
}

func (e *encoder) source(s *model.Source) error {
	e.string(s.ID)
	e.matrix(s.X)
	e.floats(s.Y)
	e.floats(s.Given)
	e.float(s.NoiseVariance)
	e.float(s.ClusterNoiseVariance)
	if err := e.kernel(s.Kernel); err != nil {
		return err
	}
	return e.kernel(s.ClusterKernel)
}

// normal writes a mean and the lower triangle of a covariance.
func (e *encoder) normal(n *gaussian.Normal) {
	e.floats(n.Mean())
	size := n.Dim()
	e.uint(uint64(size*(size+1)/2) + 1)
	for i := range size {
		each(n.Cov().Row(i)[:i+1], e.float)
	}
}

func (e *encoder) report(r model.Report) {
	e.int(int(r.Distances))
	e.int(r.Rounds)
	e.float(r.ClusterJitter)
	e.float(r.PrototypeJitter)
	e.int(r.Unfitted)
	e.uint(uint64(len(r.Barycenters)))
	for _, b := range r.Barycenters {
		e.int(b.Iterations)
		e.float(b.Residual)
		e.bool(b.Converged)
	}
}

// DecodePrior reads what [Prior.Encode] wrote, in the same build to the last
// bit. It fails with [ErrVersion] if a newer release wrote it, with [ErrCorrupt]
// if the checksum or anything else is not right, or if r does. It reads to the
// end of r.
func DecodePrior(r io.Reader) (*Prior, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return decodePrior(b)
}

func decodePrior(b []byte) (*Prior, error) {
	head := len(priorMagic) + 1
	if len(b) < head+sha256.Size || string(b[:len(priorMagic)]) != priorMagic {
		return nil, fmt.Errorf("%w: not a prior", ErrCorrupt)
	}
	if v := b[head-1]; v > priorVersion {
		return nil, fmt.Errorf("%w: prior of version %d, this release reads up to %d", ErrVersion, v, priorVersion)
	}
	body := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(body); string(sum[:]) != string(b[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum of the prior does not match", ErrCorrupt)
	}
	d := &decoder{b: body[head:]}
	p, err := d.prior()
	if d.err != nil {
		return nil, d.err
	}
	if err != nil {
		return nil, corrupt(err)
	}
	if len(d.b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrCorrupt, len(d.b))
	}
	return p, nil
}

func (d *decoder) prior() (*Prior, error) {
	params := d.params()
	if d.err != nil {
		return nil, d.err
	}
	space, err := NewSpace(params...)
	if err != nil {
		return nil, err
	}
	p := &Prior{space: space, config: d.config(), finite: d.bool(), lazy: new(lazyDigest)}
	q := &model.Prior{}
	p.learned = q
	n := d.count(1)
	for range n {
		s, err := d.source(space.dim)
		if err != nil {
			return nil, err
		}
		q.Sources = append(q.Sources, s)
	}
	if n == 0 {
		d.fail("a prior of no tasks")
	}
	q.Labels = d.ints()
	p.clusterSet, q.Index = d.points(space.dim), d.points(space.dim)
	clusters := d.count(1)
	members := make([][]*model.Source, clusters)
	if len(q.Labels) != n {
		d.fail("%d labels for %d tasks", len(q.Labels), n)
	}
	for j, l := range q.Labels {
		if d.err == nil && (l < 0 || l >= clusters) {
			d.fail("label %d of %d clusters", l, clusters)
		}
		if d.err != nil {
			return nil, d.err
		}
		members[l] = append(members[l], q.Sources[j])
	}
	for i := range clusters {
		proto, err := d.prototype(p, members[i])
		if err != nil {
			return nil, err
		}
		q.Prototypes = append(q.Prototypes, proto)
	}
	for range d.count(1) {
		part := cluster.Partition{Labels: d.ints(), IntraCE: d.finite(), InterCS: d.finite()}
		for _, l := range part.Labels {
			part.Clusters = max(part.Clusters, l+1)
		}
		q.Partitions = append(q.Partitions, part)
	}
	q.Report = d.report()
	if d.err != nil {
		return nil, d.err
	}
	if p.config.labels != nil {
		p.config.labels = slices.Clone(q.Labels)
	}
	p.noise = q.NoiseVariance()
	return p, nil
}

func (d *decoder) params() []Param {
	ps := make([]Param, d.count(1))
	for i := range ps {
		name := d.string()
		kind, stepped := strings.CutSuffix(d.string(), stepSuffix)
		k := slices.Index(kindNames[:], kind)
		if k < 0 {
			d.fail("a parameter of kind %q", kind)
			return nil
		}
		ps[i] = Param{name: name, kind: Kind(k), lo: d.float(), hi: d.float(), choices: d.strings()}
		if stepped {
			ps[i] = ps[i].WithStep(d.float())
		}
		if ps[i].kind == KindOrdinal {
			ps[i].values = d.floats()
		}
		if err := ps[i].checkStored(); err != nil {
			d.fail("%v", err)
			return nil
		}
	}
	return ps
}

func (d *decoder) kernel() kernel.Kernel {
	s := d.string()
	if s == "" {
		return nil
	}
	var spec kernel.Spec
	if err := json.Unmarshal([]byte(s), &spec); err != nil {
		d.fail("a kernel: %v", err)
		return nil
	}
	k, err := spec.Kernel()
	if err != nil {
		d.fail("a kernel: %v", err)
		return nil
	}
	return k
}

func (d *decoder) config() *learnConfig {
	c := &learnConfig{seed: d.fixed()}
	v, err := ParseVariant(d.string())
	if err != nil {
		d.fail("%v", err)
	}
	c.variant, c.minimize = v, d.bool()
	y := slices.Index(yPolicyNames[:], d.string())
	if y < 0 {
		d.fail("an unknown y policy")
		y = 0
	}
	c.y, c.ard = YPolicy(y), d.bool()
	c.clusterKernel, c.priorKernel, c.fixed = d.kernel(), d.kernel(), d.kernel()
	c.fixedNoise = d.finite()
	for _, v := range []*int{&c.clusters, &c.maxClusters, &c.restarts, &c.rounds, &c.clusterPoints, &c.indexPoints} {
		if *v = d.int(); *v < 1 {
			d.fail("a count of %d", *v)
		}
	}
	if d.bool() {
		c.labels = []int{}
	}
	c.fixedIndex, c.partitionScore = d.bool(), d.bool()
	return c
}

// points reads points of the unit cube, at least one.
func (d *decoder) points(dim int) *linalg.Dense {
	m := d.matrix()
	rows, cols := m.Dims()
	if rows < 1 || cols != dim {
		d.fail("%d points of %d coordinates in a space of %d", rows, cols, dim)
	}
	return m
}

func (d *decoder) source(dim int) (*model.Source, error) {
	id, x := d.string(), d.points(dim)
	y, given := d.floats(), d.floats()
	noise, clusterNoise := d.finite(), d.finite()
	k, clusterKernel := d.kernel(), d.kernel()
	rows, _ := x.Dims()
	switch {
	case len(y) != rows || given != nil && len(given) != rows:
		d.fail("task %q: %d points, %d values", id, rows, len(y))
	case k == nil || !(noise >= 0):
		d.fail("task %q has no process", id)
	}
	if d.err != nil {
		return nil, d.err
	}
	for _, c := range []kernel.Kernel{k, clusterKernel} {
		if c == nil {
			continue
		}
		if err := checkKernel(c, dim); err != nil {
			return nil, err
		}
	}
	s, err := model.NewSource(id, x, y, given, k, noise)
	if err != nil {
		return nil, err
	}
	s.ClusterKernel, s.ClusterNoiseVariance = clusterKernel, clusterNoise
	return s, nil
}

// normal reads a mean and the lower triangle of a covariance on the given points.
func (d *decoder) normal(index *linalg.Dense) (*gaussian.Normal, error) {
	mean, packed := d.floats(), d.floats()
	n, _ := index.Dims()
	if len(mean) != n || len(packed) != n*(n+1)/2 {
		d.fail("a prototype of dimension %d on %d points", len(mean), n)
	}
	if d.err != nil {
		return nil, d.err
	}
	cov := linalg.NewSym(n, nil)
	for i := range n {
		packed = packed[copy(cov.Row(i)[:i+1], packed):]
	}
	cov.Mirror()
	normal, _, err := model.JitteredNormal(mean, cov)
	return normal, err
}

func (d *decoder) prototype(p *Prior, members []*model.Source) (q model.Prototype, err error) {
	dim := p.space.dim
	if q.Normal, err = d.normal(p.learned.Index); err != nil {
		return q, err
	}
	if !d.bool() {
		if len(members) == 0 {
			d.fail("an empty cluster")
		}
		q.Process = model.NewGeometric(members, p.config.variant.Prototype() == TotalCenter)
		return q, d.err
	}
	k, own := d.kernel(), d.points(dim)
	on, err := d.normal(own)
	if err != nil {
		return q, err
	}
	if k == nil {
		d.fail("a barycentre without a kernel")
		return q, d.err
	}
	if err := checkKernel(k, dim); err != nil {
		return q, err
	}
	q.Process, err = model.NewExtension(own, on, k)
	return q, err
}

func (d *decoder) report() model.Report {
	r := model.Report{Distances: int64(d.int()), Rounds: d.int(), ClusterJitter: d.finite(), PrototypeJitter: d.finite(), Unfitted: d.int()}
	for range d.count(1) {
		r.Barycenters = append(r.Barycenters, model.BarycenterReport{Iterations: d.int(), Residual: math.Abs(d.finite()), Converged: d.bool()})
	}
	return r
}
