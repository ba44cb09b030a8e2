package model

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/cluster"
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Encode writes the prior, and the points on which its posteriors were compared, as
// DecodePrior reads them. It fails if a kernel has no description.
func (p *Prior) Encode(e *codec.Encoder, clusterSet *linalg.Dense) error {
	e.Uint(uint64(len(p.Sources)))
	for _, s := range p.Sources {
		if err := encodeSource(e, s); err != nil {
			return wrap(err, "task %q", s.ID)
		}
	}
	e.Ints(p.Labels)
	e.Matrix(clusterSet)
	e.Matrix(p.Index)
	e.Uint(uint64(len(p.Prototypes)))
	for _, q := range p.Prototypes {
		encodeNormal(e, q.Normal)
		c, extended := q.Evaluator.(*Extension)
		e.Bool(extended)
		if extended {
			// The barycentre may have been computed on another index set.
			if err := e.Kernel(c.Kernel); err != nil {
				return err
			}
			e.Matrix(c.Index)
			encodeNormal(e, c.Normal)
		}
	}
	cluster.EncodePartitions(e, p.Partitions)
	encodeReport(e, p.Report)
	return nil
}

// DecodePrior reads a prior over points of dim coordinates, and the points on which its
// posteriors were compared. What is wrong with the bytes is in d.Err.
func DecodePrior(d *codec.Decoder, dim int) (q *Prior, clusterSet *linalg.Dense, err error) {
	q = new(Prior)
	n := d.Count(1)
	d.Within("Tasks", int64(n), int64(d.Limits.Tasks), "a prior of %d tasks", n)
	var tasks []storedTask
	for range n {
		t := decodeTask(d, dim)
		if d.Err != nil {
			return nil, nil, d.Err
		}
		d.AddRows(t.ID, len(t.Y))
		tasks = append(tasks, t)
	}
	if n == 0 {
		d.Fail("a prior of no tasks")
	}
	for _, t := range tasks {
		if d.Err != nil {
			return nil, nil, d.Err
		}
		s, err := t.source(d.Ctx, dim)
		if err != nil {
			return nil, nil, err
		}
		q.Sources = append(q.Sources, s)
	}
	q.Labels = d.Ints()
	clusterSet = d.Points(dim)
	q.Index = d.Points(dim)
	clusters := d.Count(1)
	d.Within("Clusters", int64(clusters), int64(d.Limits.Clusters), "a prior of %d clusters", clusters)
	if d.Err != nil {
		return nil, nil, d.Err
	}
	members := make([][]*Source, clusters)
	if len(q.Labels) != n {
		d.Fail("%d labels for %d tasks", len(q.Labels), n)
	}
	for j, l := range q.Labels {
		if d.Err == nil && (l < 0 || l >= clusters) {
			d.Fail("label %d of %d clusters", l, clusters)
		}
		if d.Err != nil {
			return nil, nil, d.Err
		}
		members[l] = append(members[l], q.Sources[j])
	}
	for i := range clusters {
		proto, err := decodePrototype(d, q.Index, members[i])
		if err != nil {
			return nil, nil, err
		}
		q.Prototypes = append(q.Prototypes, proto)
	}
	q.Partitions = cluster.DecodePartitions(d)
	q.Report = decodeReport(d)
	return q, clusterSet, d.Err
}

func encodeSource(e *codec.Encoder, s *Source) error {
	e.Text(s.ID)
	e.Matrix(s.X)
	e.Floats(s.Y)
	e.Floats(s.Task.Noise)
	e.Float(s.NoiseVariance)
	e.Float(s.Cluster.NoiseVariance)
	if err := e.Kernel(s.Kernel); err != nil {
		return err
	}
	return e.Kernel(s.Cluster.Kernel)
}

// encodeNormal writes a mean and the lower triangle of a covariance.
func encodeNormal(e *codec.Encoder, n *gaussian.Normal) {
	e.Floats(n.Mean())
	e.Lower(n.Cov())
}

func encodeReport(e *codec.Encoder, r Report) {
	e.Int(int(r.Distances))
	e.Int(r.Rounds)
	e.Float(r.ClusterJitter)
	e.Float(r.PrototypeJitter)
	e.Int(r.Unfitted)
	e.Uint(uint64(len(r.Barycenters)))
	for _, b := range r.Barycenters {
		e.Int(b.Iterations)
		e.Float(b.Residual)
		e.Bool(b.Converged)
	}
}

// storedTask is what the encoding of a prior says of a task.
type storedTask struct {
	Task
	prior, cluster gp.Hyper
}

func decodeTask(d *codec.Decoder, dim int) (t storedTask) {
	t.ID, t.X = d.Text(), d.Matrix()
	t.Y, t.Noise = d.Floats(), d.Floats()
	t.prior.NoiseVariance, t.cluster.NoiseVariance = d.Finite(), d.Finite()
	t.prior.Kernel, t.cluster.Kernel = d.Kernel(), d.Kernel()
	switch rows, cols := t.X.Dims(); {
	case rows < 1 || cols != dim:
		d.Fail("task %q: %d points of %d coordinates in a space of %d", t.ID, rows, cols, dim)
	case len(t.Y) != rows || t.Noise != nil && len(t.Noise) != rows:
		d.Fail("task %q: %d points, %d values", t.ID, rows, len(t.Y))
	case t.prior.Kernel == nil || !(t.prior.NoiseVariance >= 0):
		d.Fail("task %q has no process", t.ID)
	}
	return t
}

// source makes the process of the task.
func (t *storedTask) source(ctx context.Context, dim int) (*Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, k := range []kernel.Kernel{t.prior.Kernel, t.cluster.Kernel} {
		if k == nil {
			continue
		}
		if err := gp.CheckKernel(k, dim); err != nil {
			return nil, err
		}
	}
	s, err := NewSource(ctx, t.Task, t.prior)
	if err != nil {
		return nil, err
	}
	s.Cluster = t.cluster
	return s, nil
}

// decodeNormal reads a mean and the lower triangle of a covariance on the given points.
func decodeNormal(d *codec.Decoder, index *linalg.Dense) (*gaussian.Normal, error) {
	if err := d.Ctx.Err(); err != nil {
		return nil, err
	}
	mean := d.Floats()
	n, _ := index.Dims()
	cov := d.Lower(n)
	if len(mean) != n {
		d.Fail("a prototype of dimension %d on %d points", len(mean), n)
	}
	if d.Err != nil {
		return nil, d.Err
	}
	normal, _, err := jitteredNormal(mean, cov)
	return normal, err
}

func decodePrototype(d *codec.Decoder, index *linalg.Dense, members []*Source) (q Prototype, err error) {
	_, dim := index.Dims()
	if q.Normal, err = decodeNormal(d, index); err != nil {
		return q, err
	}
	if !d.Bool() {
		if len(members) == 0 {
			d.Fail("an empty cluster")
		}
		q.Evaluator = NewGeometric(members)
		return q, d.Err
	}
	k, own := d.Kernel(), d.Points(dim)
	on, err := decodeNormal(d, own)
	if err != nil {
		return q, err
	}
	if k == nil {
		d.Fail("a barycentre without a kernel")
		return q, d.Err
	}
	if err := gp.CheckKernel(k, dim); err != nil {
		return q, err
	}
	q.Evaluator, err = NewExtension(own, on, k)
	return q, err
}

func decodeReport(d *codec.Decoder) Report {
	r := Report{Distances: int64(d.Int()), Rounds: d.Int(), ClusterJitter: d.Finite(), PrototypeJitter: d.Finite(), Unfitted: d.Int()}
	for range d.Count(1) {
		b := BarycenterReport{Iterations: d.Int(), Residual: d.Finite(), Converged: d.Bool()}
		if math.Signbit(b.Residual) {
			d.Fail("a residual of %g", b.Residual)
		}
		r.Barycenters = append(r.Barycenters, b)
	}
	return r
}
