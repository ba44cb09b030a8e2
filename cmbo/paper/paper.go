package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/scaling"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/linalg"
)

// A Prior is what the paper's stages 1 and 2 make of past tasks: their Gaussian processes, grouped into clusters with a
// prototype each. It is immutable and safe to share between any number of runs and goroutines.
type Prior struct {
	config *config
	space  *cmbo.Space // the parameters; candidates are not kept

	sources    []*source
	labels     []int         // cluster of each source
	prototypes []prototype   // of each cluster
	index      *linalg.Dense // where prototypes are compared
	report     Report
}

// Learn makes a prior of past tasks by stages 1 and 2 of the paper's algorithm 1. The tasks
// are copied; their failures, outputs, curves and descriptors are not used. A list of
// candidates only serves to choose the clustering points and the index set.
//
// It fails as [cmbo.Learn] does, by the same errors. See the package for what it takes.
func Learn(ctx context.Context, s *cmbo.Space, tasks []cmbo.Task, opts ...Option) (*Prior, error) {
	c, err := newConfig(opts)
	if err := cmp.Or(err, gp.CheckContext(ctx), s.Defined()); err != nil {
		return nil, err
	}
	checked, err := space.CheckTasks(s, tasks)
	if err != nil {
		return nil, err
	}
	checked = slices.DeleteFunc(checked, func(t cmbo.Task) bool { return len(t.X) == 0 })
	if len(checked) == 0 {
		return nil, fmt.Errorf("%w: none of %d tasks has a value", cmbo.ErrNoTasks, len(tasks))
	}
	labels := c.labels
	if labels != nil && len(labels) != len(checked) {
		return nil, gp.OptionErrorf("%d labels for %d tasks", len(labels), len(checked))
	}
	if c.variant.Grouping != Clustered {
		labels = make([]int, len(checked)) // together
		for i := range labels {
			if c.variant.Grouping == Apart {
				labels[i] = i
			}
		}
	}
	p := &Prior{config: c, space: s.WithoutCandidates(), labels: labels}
	l := &learner{config: c, prior: p}
	var inputs []*linalg.Dense
	for i := range checked {
		t := &checked[i]
		y, noise := scaling.Sense{Minimize: c.minimize}.Apply(t.Y, t.NoiseVariance)
		y, noise = scaling.Policy(c.y).Scale(y, noise)
		l.tasks = append(l.tasks, task{id: t.ID, x: s.EncodeAll(t.X), y: y, noise: noise})
		inputs = append(inputs, l.tasks[i].x)
	}
	// What stands for the space does not depend on the order of the tasks.
	var pool *linalg.Dense
	if s.Finite() {
		pool = points.Distinct(s.Encoded())
		p.index = points.Sample(pool, c.indexPoints, c.seed, "index set")
	} else {
		pool = points.Distinct(points.Sorted(points.Join(inputs...)))
		p.index = s.EncodeAll(s.Spread(c.indexPoints, rng.Stream(c.seed, "index set")))
	}
	l.clusterSet = points.Sample(pool, clusterPoints, c.seed, "cluster points")
	// A panic of the caller's kernel becomes an error, whatever goroutine it is on.
	err = parallel.For(ctx, 1, 1, func(_, _ int) error {
		if c.fixed != nil {
			if err := gp.CheckKernel(c.fixed, s.Dim(), cmbo.ErrOption); err != nil {
				return err
			}
		}
		err := l.fit(ctx)
		if err == nil {
			err = wrap(l.group(ctx), "clustering")
		}
		l.posteriors = nil // nothing after the clustering needs them
		if err == nil {
			p.prototypes, err = l.prototypes(ctx)
		}
		return gp.Marked(ctx, err)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// A Cluster is a group of tasks that one prototype stands for.
type Cluster struct {
	// ID numbers the cluster from 0, as weights and distances do.
	ID int
	// Members holds the IDs of its tasks, in the order given to Learn.
	Members []string
}

// Clusters returns the clusters with their members.
func (p *Prior) Clusters() []Cluster {
	cs := each.Below(len(p.prototypes), func(i int) Cluster { return Cluster{ID: i} })
	for j, l := range p.labels {
		cs[l].Members = append(cs[l].Members, p.sources[j].id)
	}
	return cs
}

// A Report says what learning took, and which numerical repairs it made.
type Report struct {
	// Distances counts the distances evaluated by the clustering, and Rounds its rounds that led to the partition kept.
	Distances int64
	Rounds    int
	// ClusterJitter is the largest amount added to the diagonal of a task's covariance on the
	// clustering points to factorise it, PrototypeJitter that of a prototype's on the index set.
	ClusterJitter, PrototypeJitter float64
	// Barycenters reports on each barycentre; nil for geometric centres.
	Barycenters []BarycenterReport
	// Unfitted counts the fits that failed and left a task with the default hyperparameters.
	Unfitted int
}

// A BarycenterReport says how the fixed-point iteration of a barycentre ended.
type BarycenterReport struct {
	Iterations int
	Residual   float64 // relative
	Converged  bool
}

// Report says what learning took.
func (p *Prior) Report() Report {
	r := p.report
	r.Barycenters = slices.Clone(r.Barycenters)
	return r
}

// Reindex returns the prior for runs over a finite space, with its prototypes on the candidates or a seeded sample of them:
// geometric centres exactly, barycentres by their extension. [Prior.Surrogate] does this by itself; who begins many runs
// over one space does it once. The result shares what it can with p, and is p itself for a parameter space.
//
// Reindex fails with [cmbo.ErrPriorMismatch] if the parameters differ, with
// [cmbo.ErrNumerical], or with ctx.Err(). It takes O(K n I²) time.
func (p *Prior) Reindex(ctx context.Context, s *cmbo.Space) (*Prior, error) {
	if p == nil || p.space == nil {
		return nil, gp.OptionErrorf("a nil or zero Prior; use Learn")
	}
	if err := cmp.Or(gp.CheckContext(ctx), s.Defined()); err != nil {
		return nil, err
	}
	if !p.space.SameParams(s) {
		_, why := p.space.Difference(s)
		return nil, fmt.Errorf("%w: %s", cmbo.ErrPriorMismatch, why)
	}
	if !s.Finite() {
		return p, nil
	}
	pool := points.Distinct(s.Encoded())
	if n := points.Len(pool); n <= p.config.indexPoints {
		if points.Len(p.index) == n && points.Locate(pool, p.index) != nil {
			return p, nil
		}
	} else if points.Locate(p.index, pool) != nil {
		return p, nil
	}
	q := *p
	q.index, q.prototypes = points.Sample(pool, p.config.indexPoints, p.config.seed, "index set"), nil
	for i, proto := range p.prototypes {
		normal, jitter, err := proto.on(ctx, q.index, p.config.workers)
		if err != nil {
			return nil, gp.Marked(ctx, wrap(err, "prototype %d on %d candidates", i, points.Len(q.index)))
		}
		q.report.PrototypeJitter = max(q.report.PrototypeJitter, jitter)
		q.prototypes = append(q.prototypes, prototype{normal, proto.evaluator})
	}
	return &q, nil
}
