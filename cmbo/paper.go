package cmbo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/model"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/internal/regret"
	"github.com/gocmbo/cmbo/cmbo/theorem"
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
		ARD: c.ard, PriorKernel: c.priorKernel, Fixed: c.fixed, FixedNoise: c.fixedNoise,
		Grouping: groupings[v.Grouping], Labels: c.labels, Jeffreys: v.ClusterDistance == Jeffreys,
		Clusters: c.clusters, MaxClusters: c.maxClusters, Rounds: c.rounds, ScorePartitions: c.partitionScore,
		Prototype: prototypes[v.Prototype], Tasks: t.tasks,
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
		m.Index = known.Index
	}
	for _, k := range []kernel.Kernel{c.priorKernel, c.fixed} {
		if k == nil {
			continue
		}
		if err := checkKernel(k, t.space.Dim()); err != nil {
			return nil, err
		}
	}
	if m.ClusterSet == nil {
		m.ClusterSet = points.Sample(points.Distinct(t.pool(inputs...)), c.clusterPoints, c.seed, "cluster points")
	}
	if m.Index == nil {
		m.Index = t.indexSet()
	}
	p, err := m.Learn(ctx, unfitted)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return &paperPrior{p, m.ClusterSet}, nil
}

func (p *paperPrior) kind() priorKind { return kindPaper }

func (p *paperPrior) facts() facts {
	f := facts{total: int64(len(p.Sources)), labels: p.Labels, noise: p.NoiseVariance(), index: p.Index}
	for _, s := range p.Sources {
		f.tasks = append(f.tasks, taskPoints{ID: s.ID, X: s.X})
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
	if c.context != nil {
		return optionErrorf("%s concerns the default, and the prior is of %s", optContext, prior.config.variant)
	}
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
	if !c.given.has(optYPolicy) {
		c.y = prior.config.y
	}
	return nil
}

func (p *paperPrior) reindex(ctx context.Context, prior *Prior, space *Space, workers int) (learned, error) {
	c := prior.config
	pool := points.Distinct(space.Encoded())
	if n := points.Len(pool); n <= c.indexPoints {
		if points.Len(p.Index) == n && points.Locate(pool, p.Index) != nil {
			return p, nil
		}
	} else if points.Locate(p.Index, pool) != nil {
		return p, nil
	}
	q, err := p.Reindex(ctx, points.Sample(pool, c.indexPoints, c.seed, "index set"), workers)
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
	clusters      []Cluster
	variant       Variant
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

func (s paperSettings) weighedBy(w model.Weighting) Surrogate {
	return paperRun{model.NewWeighted(s.Prior, w, s.noise, s.workers), s.clusters, s.variant}
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
	s := paperSettings{Prior: p.Prior, noise: c.noise, jitter: c.jitter, workers: c.parallelism, clusters: c.prior.Clusters(), variant: c.prior.config.variant}
	if math.IsNaN(s.noise) {
		s.noise = p.NoiseVariance()
	}
	if math.IsNaN(s.jitter) {
		s.jitter = p.JeffreysJitter()
	}
	return weighings[c.weights](s), nil
}

// paperRun makes a [Surrogate] of the paper's adaptive prior.
type paperRun struct {
	*model.Weighted
	clusters []Cluster
	variant  Variant
}

func (r paperRun) Fit(ctx context.Context, d Data) error {
	return modelError(ctx, r.Weighted.Fit(ctx, &d))
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

// Shares returns the weights of the prototypes.
func (r paperRun) Shares() []Share {
	var out []Share
	for i, w := range r.Weights() {
		s := Share{Level: LevelCluster, Cluster: i, Tasks: slices.Clone(r.clusters[i].Members), Mass: w}
		if r.variant.Grouping == Apart {
			s.Level, s.Cluster = LevelTask, -1
		}
		out = append(out, s)
	}
	return out
}

// PriorMeans returns nil: no prototype is weighed against no transfer.
func (r paperRun) PriorMeans() [][]float64 { return nil }

// TaskMeans returns nil: tasks are known by their prototypes.
func (r paperRun) TaskMeans(context.Context, *linalg.Dense) (ids []string, means [][]float64, err error) {
	return nil, nil, nil
}

func (r paperRun) bound(s *Space, chosen []float64, beta float64, in theorem.Inputs) (*theorem.Bound, error) {
	if r.variant.Prototype != GeometricCenter {
		return nil, optionErrorf("Theorem 1 is about weighted sums of geometric centres")
	}
	return regret.Bound(r.Weighted, s, chosen, beta, in)
}

func (r paperRun) Describe(s *Step) {
	describePrior(s, r.Weights(), r.PriorMoments(), r.Jitter())
	if b, ok := r.Weighting().(*model.ByDistance); ok {
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

func (p *paperPrior) encode(e *codec.Encoder) error { return p.Encode(e, p.clusterSet) }

func decodePaper(d *codec.Decoder, p *Prior) (learned, error) {
	q, clusterSet, err := model.DecodePrior(d, p.space.Dim())
	return &paperPrior{q, clusterSet}, err
}
