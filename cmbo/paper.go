package cmbo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/cluster"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// paperPrior is what the paper's stages 1 and 2 make of past tasks.
type paperPrior struct {
	*model.Prior
	clusterSet *linalg.Dense // where posteriors were compared, in the unit cube
}

// learnPaper is stages 1 and 2 of the paper's algorithm 1.
func learnPaper(ctx context.Context, t *trainingSet) (learned, error) {
	c, v := t.config, t.config.variant
	m := &model.Learner{
		Seed: c.seed, Parallelism: c.parallelism,
		ARD: c.ard, PriorKernel: c.priorKernel, ClusterKernel: c.clusterKernel, Fixed: c.fixed, FixedNoise: c.fixedNoise,
		Grouping: model.Grouping(v.Grouping), Labels: c.labels, Jeffreys: v.ClusterDistance == Jeffreys,
		Clusters: c.clusters, MaxClusters: c.maxClusters, Rounds: c.rounds, ScorePartitions: c.partitionScore,
		Prototype: model.PrototypeKind(v.Prototype), Tasks: t.tasks,
	}
	if c.progress != nil {
		m.Progress = func(stage string, done, total int) { c.progress(Progress{stage, done, total}) }
	}
	unfitted := 0
	var inputs []*linalg.Dense // of the known tasks
	if t.known != nil {
		known := t.known.learned.(*paperPrior)
		m.Known, unfitted = known.Sources, known.Report.Unfitted
		for _, s := range known.Sources {
			inputs = append(inputs, s.X)
		}
		if t.known.finite {
			m.ClusterSet = known.clusterSet
		}
		if !c.fixedIndex || c.indexSet == nil {
			m.Index = known.Index
		}
	}
	for _, k := range []kernel.Kernel{c.priorKernel, c.clusterKernel, c.fixed} {
		if k == nil {
			continue
		}
		if err := checkKernel(k, t.space.dim); err != nil {
			return nil, err
		}
	}
	if m.ClusterSet == nil {
		m.ClusterSet = sampleRows(points.Distinct(t.pool(inputs...)), c.clusterPoints, c.seed, "cluster points")
	}
	if m.Index == nil {
		var err error
		if m.Index, err = t.indexSet(); err != nil {
			return nil, err
		}
	}
	p, err := m.Learn(ctx, unfitted)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return &paperPrior{p, m.ClusterSet}, nil
}

func (p *paperPrior) kind() priorKind { return kindPaper }

func (p *paperPrior) facts() facts {
	f := facts{labels: p.Labels, noise: p.NoiseVariance(), index: p.Index}
	for _, s := range p.Sources {
		f.tasks = append(f.tasks, s.Task)
	}
	for _, q := range p.Prototypes {
		f.prototypes = append(f.prototypes, q.Normal)
	}
	for _, q := range p.Partitions {
		f.partitions = append(f.partitions, Partition(q))
	}
	r := p.Report
	f.report = LearnReport{Distances: r.Distances, Rounds: r.Rounds, ClusterJitter: r.ClusterJitter, PrototypeJitter: r.PrototypeJitter, Unfitted: r.Unfitted}
	for _, b := range r.Barycenters {
		f.report.Barycenters = append(f.report.Barycenters, BarycenterReport(b))
	}
	return f
}

// fill takes the y policy and the variant that the prior was learned with.
func (p *paperPrior) fill(prior *Prior, c *runConfig) error {
	v := prior.config.variant
	if c.variant != nil {
		asked := *c.variant
		asked.WeightDistance = v.WeightDistance
		if asked != v {
			return fmt.Errorf("%w: it was learned for variant %s, not %s", ErrPriorMismatch, v, *c.variant)
		}
	}
	if c.weights == "" {
		c.weights = v.WeightDistance.String()
	}
	if !c.given.has("WithYPolicy") {
		c.y = prior.config.y
	}
	return nil
}

func (p *paperPrior) reindex(ctx context.Context, prior *Prior, space *Space, workers int) (learned, error) {
	c := prior.config
	if c.fixedIndex {
		return p, nil
	}
	pool := points.Distinct(space.encoded)
	if n := points.Len(pool); n <= c.indexPoints {
		if points.Len(p.Index) == n && points.Locate(pool, p.Index) != nil {
			return p, nil
		}
	} else if points.Locate(p.Index, pool) != nil {
		return p, nil
	}
	q, err := p.Reindex(ctx, sampleRows(pool, c.indexPoints, c.seed, "index set"), workers)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return &paperPrior{q, p.clusterSet}, nil
}

// paperSettings are what the models of prototypes are made from.
type paperSettings struct {
	*model.Prior
	noise, jitter float64
	workers       int
}

// weighings are the models by the way they weigh prototypes.
var weighings = map[string]func(s paperSettings) Surrogate{
	"Wasserstein": func(s paperSettings) Surrogate {
		return s.weighedBy(model.NewByDistance(len(s.Prototypes), false, 0))
	},
	"Jeffreys": func(s paperSettings) Surrogate {
		return s.weighedBy(model.NewByDistance(len(s.Prototypes), true, s.jitter))
	},
	"evidence": func(s paperSettings) Surrogate { return s.weighedBy(model.NewByEvidence(s.Prior)) },
}

func (s paperSettings) weighedBy(w model.Weigher) Surrogate {
	return paperRun{model.NewWeighted(s.Prior, w, s.noise, s.workers)}
}

// checkWeights reports a name that is not a way to weigh prototypes.
func checkWeights(name string) error {
	if weighings[name] == nil {
		return optionErrorf("there are no weights %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(weighings)), ", "))
	}
	return nil
}

func (p *paperPrior) surrogate(c *runConfig) (Surrogate, error) {
	if err := checkWeights(c.weights); err != nil {
		return nil, err
	}
	s := paperSettings{Prior: p.Prior, noise: c.noise, jitter: c.jitter, workers: c.parallelism}
	if math.IsNaN(s.noise) {
		s.noise = p.NoiseVariance()
	}
	if math.IsNaN(s.jitter) {
		s.jitter = p.JeffreysJitter()
	}
	return weighings[c.weights](s), nil
}

// paperRun makes a [Surrogate] of the paper's adaptive prior.
type paperRun struct{ *model.Weighted }

func (r paperRun) Fit(ctx context.Context, d Data) error {
	return modelError(ctx, r.Weighted.Fit(ctx, (*model.Data)(&d)))
}

func (r paperRun) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	return modelError(ctx, r.Weighted.Predict(ctx, mean, sd, x))
}

func (r paperRun) Bind(ctx context.Context, x *linalg.Dense) error {
	return modelError(ctx, r.Weighted.Bind(ctx, x))
}

func (r paperRun) State(ctx context.Context) ([]float64, error) {
	d, err := r.Weighted.State(ctx)
	return d, modelError(ctx, err)
}

func (r paperRun) Sample(ctx context.Context, dst []float64, x *linalg.Dense, rnd *rand.Rand) error {
	return modelError(ctx, r.Weighted.Sample(ctx, dst, x, rnd))
}

func (r paperRun) Describe(s *Step) {
	describePrior(s, r.Weights(), r.PriorMoments(), r.Jitter())
	if b, ok := r.Weigher().(*model.ByDistance); ok {
		s.Distances = slices.Clone(b.Distances())
		s.MaxDistance = model.MaxFinite(s.Distances)
		s.DistanceJitter = b.Jitter()
	}
}

// describePrior fills in what models of prototypes share.
func describePrior(s *Step, weights []float64, prior model.Moments, jitter float64) {
	s.Weights = slices.Clone(weights)
	s.PriorMean, s.PriorSD = slices.Clone(prior.Mean), slices.Clone(prior.SD)
	s.Jitter = jitter
}

func (p *paperPrior) encode(e *encoder) error {
	e.uint(uint64(len(p.Sources)))
	for _, s := range p.Sources {
		if err := e.source(s); err != nil {
			return inTask(err, s.ID)
		}
	}
	e.ints(p.Labels)
	e.matrix(p.clusterSet)
	e.matrix(p.Index)
	e.uint(uint64(len(p.Prototypes)))
	for _, q := range p.Prototypes {
		e.normal(q.Normal)
		c, extended := q.Process.(*model.Extension)
		e.bool(extended)
		if extended {
			// The barycentre may have been computed on another index set.
			if err := e.kernel(c.Kernel); err != nil {
				return err
			}
			e.matrix(c.Index)
			e.normal(c.Normal)
		}
	}
	var ps []Partition
	for _, q := range p.Partitions {
		ps = append(ps, Partition(q))
	}
	e.partitions(ps)
	e.report(p.Report)
	return nil
}

func decodePaper(d *decoder, p *Prior) (learned, error) {
	dim, q := p.space.dim, new(model.Prior)
	n := d.count(1)
	d.within("Tasks", int64(n), int64(d.limits.Tasks), "a prior of %d tasks", n)
	var tasks []storedTask
	for range n {
		t := d.task(dim)
		if d.err != nil {
			return nil, d.err
		}
		d.addRows(t.ID, len(t.Y))
		tasks = append(tasks, t)
	}
	if n == 0 {
		d.fail("a prior of no tasks")
	}
	for _, t := range tasks {
		if d.err != nil {
			return nil, d.err
		}
		s, err := t.source(d.ctx, dim)
		if err != nil {
			return nil, err
		}
		q.Sources = append(q.Sources, s)
	}
	q.Labels = d.ints()
	clusterSet := d.points(dim)
	q.Index = d.points(dim)
	clusters := d.count(1)
	d.within("Clusters", int64(clusters), int64(d.limits.Clusters), "a prior of %d clusters", clusters)
	if d.err != nil {
		return nil, d.err
	}
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
		proto, err := d.prototype(q.Index, members[i])
		if err != nil {
			return nil, err
		}
		q.Prototypes = append(q.Prototypes, proto)
	}
	for _, part := range d.partitions() {
		q.Partitions = append(q.Partitions, cluster.Partition(part))
	}
	q.Report = d.report()
	if d.err != nil {
		return nil, d.err
	}
	return &paperPrior{q, clusterSet}, nil
}

func (e *encoder) source(s *model.Source) error {
	e.string(s.ID)
	e.matrix(s.X)
	e.floats(s.Y)
	e.floats(s.Task.Noise)
	e.float(s.NoiseVariance)
	e.float(s.Cluster.NoiseVariance)
	if err := e.kernel(s.Kernel); err != nil {
		return err
	}
	return e.kernel(s.Cluster.Kernel)
}

// normal writes a mean and the lower triangle of a covariance.
func (e *encoder) normal(n *gaussian.Normal) {
	e.floats(n.Mean())
	e.lower(n.Cov())
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

// storedTask is what the encoding of a prior says of a task.
type storedTask struct {
	model.Task
	prior, cluster gp.Hyper
}

func (d *decoder) task(dim int) (t storedTask) {
	t.ID, t.X = d.string(), d.matrix()
	t.Y, t.Noise = d.floats(), d.floats()
	t.prior.NoiseVariance, t.cluster.NoiseVariance = d.finite(), d.finite()
	t.prior.Kernel, t.cluster.Kernel = d.kernel(), d.kernel()
	switch rows, cols := t.X.Dims(); {
	case rows < 1 || cols != dim:
		d.fail("task %q: %d points of %d coordinates in a space of %d", t.ID, rows, cols, dim)
	case len(t.Y) != rows || t.Noise != nil && len(t.Noise) != rows:
		d.fail("task %q: %d points, %d values", t.ID, rows, len(t.Y))
	case t.prior.Kernel == nil || !(t.prior.NoiseVariance >= 0):
		d.fail("task %q has no process", t.ID)
	}
	return t
}

// source makes the process of the task.
func (t *storedTask) source(ctx context.Context, dim int) (*model.Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, k := range []kernel.Kernel{t.prior.Kernel, t.cluster.Kernel} {
		if k == nil {
			continue
		}
		if err := checkKernel(k, dim); err != nil {
			return nil, err
		}
	}
	s, err := model.NewSource(ctx, t.Task, t.prior)
	if err != nil {
		return nil, err
	}
	s.Cluster = t.cluster
	return s, nil
}

// normal reads a mean and the lower triangle of a covariance on the given points.
func (d *decoder) normal(index *linalg.Dense) (*gaussian.Normal, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	mean := d.floats()
	n, _ := index.Dims()
	cov := d.lower(n)
	if len(mean) != n {
		d.fail("a prototype of dimension %d on %d points", len(mean), n)
	}
	if d.err != nil {
		return nil, d.err
	}
	normal, _, err := model.JitteredNormal(mean, cov)
	return normal, err
}

func (d *decoder) prototype(index *linalg.Dense, members []*model.Source) (q model.Prototype, err error) {
	_, dim := index.Dims()
	if q.Normal, err = d.normal(index); err != nil {
		return q, err
	}
	if !d.bool() {
		if len(members) == 0 {
			d.fail("an empty cluster")
		}
		q.Process = model.NewGeometric(members)
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
