package cmbo

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/cluster"
	"github.com/gocmbo/cmbo/cmbo/internal/codec"
	"github.com/gocmbo/cmbo/cmbo/internal/curve"
	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// A Prior is what [Learn] makes of past tasks: hypotheses on a new one, or, with
// [WithVariant], their Gaussian processes, grouped into clusters with a prototype each.
// It is immutable and safe to share between any number of optimisers and goroutines.
type Prior struct {
	config *learnConfig // what it was learned with
	space  *Space       // the parameters; candidates are not kept
	finite bool         // the space learned on had candidates

	learned learned
	told    []told           // of each task with values
	success *hierarchy.Model // where evaluations succeed, nil if none failed
	outputs []*outputPrior   // in the order of their names
	curves  *curve.Past      // nil if no task has curves
	facts   facts
	lazy    *lazyDigest
}

// told are the values of a task, their noise variances and their curves as they were given;
// nil where none was.
type told struct {
	y, noise []float64
	curves   []space.Curve
}

// taskPoints are the points of a task in the unit cube.
type taskPoints struct {
	ID      string
	X       *linalg.Dense
	Context Context
}

// learned is what a model makes of past tasks. It is immutable.
type learned interface {
	kind() priorKind
	// facts returns what a Prior tells of itself.
	facts() facts
	// fill checks the configuration of a run against what was learned and fills in
	// what no option gave.
	fill(p *Prior, c *runConfig) error
	// reindex returns the form that suits runs over a finite space: itself, if it does.
	reindex(ctx context.Context, p *Prior, space *Space, workers int) (learned, error)
	// surrogate makes the model of a run of a complete configuration, over a space
	// that reindex was called for.
	surrogate(c *runConfig) (Surrogate, error)
	// encode writes what the prior's decode reads.
	encode(e *codec.Encoder) error
}

// facts are what every prior tells of itself.
type facts struct {
	tasks      []taskPoints
	total      int64 // of the tasks learned from, of which tasks may be a sample
	labels     []int // cluster of each task
	noise      float64
	index      *linalg.Dense
	prototypes []*gaussian.Normal // of each cluster, on the index set
	partitions []Partition
	report     LearnReport
}

// priorKind names a model of past tasks in the encoding of a prior.
type priorKind byte

const (
	kindPaper     priorKind = 1 // the paper's model
	kindHierarchy priorKind = 2 // the hierarchical prior, the default
)

// priorKinds are the models there are.
var priorKinds = map[priorKind]struct {
	learn  func(context.Context, *trainingSet) (learned, error)
	decode func(*codec.Decoder, *Prior) (learned, error)
}{
	kindPaper:     {learnPaper, decodePaper},
	kindHierarchy: {learnHierarchy, decodeHierarchy},
}

// newPrior makes a prior of what was learned.
func newPrior(c *learnConfig, space *Space, finite bool, l learned) *Prior {
	params := space.WithoutCandidates()
	return &Prior{config: c, space: params, finite: finite, learned: l, facts: l.facts(), lazy: new(lazyDigest)}
}

// lazyDigest is the digest of a prior, computed when it is first asked for.
type lazyDigest struct {
	once sync.Once
	hex  string
	err  error
}

// A Cluster is a group of tasks that one prototype stands for.
type Cluster struct {
	// ID numbers the cluster from 0, as weights and distances do.
	ID int
	// Members holds the IDs of its tasks, in the order given to Learn.
	Members []string
}

// LearnReport says what learning found in the tasks: of the hierarchical prior Common and
// Drawn, of the paper's method the others, what it took and where it had to help itself.
type LearnReport struct {
	// Common is the share of the variance of the tasks' values that all of them have in
	// common, by their likelihood; .54, no opinion, where there is one task. It is 0 of tasks
	// that a [Learner] does not hold.
	Common float64
	// Drawn is by how much the population's moments are drawn from what EM found to those of
	// a process of which that share is common to all: 12/(12 + n) of n tasks, so that few say
	// no more of how tasks differ than they show.
	Drawn float64
	// Distances counts the distances evaluated by the clustering.
	Distances int64
	// Rounds is the number of rounds of the clustering that won.
	Rounds int
	// ClusterJitter is the largest amount added to the diagonal of a task's
	// covariance on the clustering points to factorise it.
	ClusterJitter float64
	// PrototypeJitter is the largest amount added to the diagonal of a
	// prototype's covariance on the index set to factorise it.
	PrototypeJitter float64
	// Barycenters reports on each barycentre; nil for geometric centres.
	Barycenters []BarycenterReport
	// Unfitted counts the fits that failed and left a task with the default
	// hyperparameters.
	Unfitted int
}

// BarycenterReport says how the fixed-point iteration of a barycentre ended.
type BarycenterReport struct {
	Iterations int
	Residual   float64 // relative
	Converged  bool
}

// Variant returns the variant of the paper's method that the prior was learned for;
// ok is false for the hierarchical prior, which has none.
func (p *Prior) Variant() (v Variant, ok bool) { return p.config.variant, p.config.kind == kindPaper }

// Minimizes reports whether smaller values are better.
func (p *Prior) Minimizes() bool { return p.config.minimize }

// PositiveValues reports whether it was learned with [WithPositiveValues].
func (p *Prior) PositiveValues() bool { return p.config.positive }

// NumTasks returns the number of tasks learned from, of which the prior keeps a sample
// where they were more than [Learn] holds: [Prior.Tasks] returns the sample.
func (p *Prior) NumTasks() int { return int(p.facts.total) }

// Clusters returns the clusters with their members; nil for the hierarchical prior, which
// has none.
func (p *Prior) Clusters() []Cluster {
	var cs []Cluster
	for i := range p.facts.prototypes {
		cs = append(cs, Cluster{ID: i})
	}
	for j, l := range p.facts.labels {
		cs[l].Members = append(cs[l].Members, p.facts.tasks[j].ID)
	}
	return cs
}

// Labels returns the cluster of each task of [Prior.Tasks], in the order given to Learn; nil
// for the hierarchical prior.
func (p *Prior) Labels() []int { return slices.Clone(p.facts.labels) }

// NoiseVariance returns the noise variance in scaled units that all tasks share, or,
// with [WithVariant], the median of the tasks' own: see [WithNoiseVariance].
func (p *Prior) NoiseVariance() float64 { return p.facts.noise }

// Partitions returns every number of clusters that was tried, with its scores,
// in ascending order; nil unless [WithClusterRange] or [WithPartitionScores]
// asked for them.
func (p *Prior) Partitions() []Partition {
	ps := slices.Clone(p.facts.partitions)
	for i := range ps {
		ps[i].Labels = slices.Clone(ps[i].Labels)
	}
	return ps
}

// Report says what learning found and took.
func (p *Prior) Report() LearnReport {
	r := p.facts.report
	r.Barycenters = slices.Clone(r.Barycenters)
	return r
}

// IndexSet returns a copy of the points, in the unit cube, on which the hierarchical
// prior has its moments, or on which prototypes are compared with a posterior.
func (p *Prior) IndexSet() *linalg.Dense {
	var x linalg.Dense
	x.Copy(p.facts.index)
	return &x
}

// Prototype returns the prototype of cluster i on the index set, in scaled units; nil if
// there is no such cluster. It is shared.
func (p *Prior) Prototype(i int) *gaussian.Normal {
	if i < 0 || i >= len(p.facts.prototypes) {
		return nil
	}
	return p.facts.prototypes[i]
}

// Reindex returns the prior for optimisers over a finite space: the hierarchical prior with
// the candidates carried to its index set; the paper's with its prototypes on the candidates
// or a seeded sample of them, geometric centres exactly, barycentres by their extension. New
// does this by itself; who starts many optimisers over one space does it once. The result
// shares what it can with p, and is p itself for a parameter space.
//
// Reindex fails with [ErrPriorMismatch] if the parameters differ, with [ErrNumerical], or
// with ctx.Err(). It takes O(N (I + C)) time for N candidates and I index points, the
// paper's O(K n I²).
func (p *Prior) Reindex(ctx context.Context, space *Space) (*Prior, error) {
	return guarded(func() (*Prior, error) {
		return p.reindex(ctx, space, 0)
	})
}

// reindex is Reindex on a bounded number of goroutines.
func (p *Prior) reindex(ctx context.Context, space *Space, workers int) (*Prior, error) {
	if err := space.Defined(); err != nil {
		return nil, err
	}
	if !p.space.SameParams(space) {
		return nil, otherParams(p.space, space)
	}
	if !space.Finite() {
		return p, nil
	}
	l, err := p.learned.reindex(ctx, p, space, workers)
	if err != nil || l == p.learned {
		return p, err
	}
	q := newPrior(p.config, p.space, p.finite, l)
	q.told, q.success, q.outputs, q.curves = p.told, p.success, p.outputs, p.curves
	return q, nil
}

// otherParams is the error of a prior that was learned for other parameters.
func otherParams(prior, run *Space) error {
	name, why := prior.Difference(run)
	e := space.Errorf(ErrPriorMismatch, "%s; Prior.Adopt brings a prior to another space", why)
	e.Name = name
	return e
}

// Tasks returns the tasks of the prior: their points, with the parameters, to rounding, and
// their values as they were told. Tasks of failures alone come last.
func (p *Prior) Tasks() []Task {
	tasks := make([]Task, len(p.facts.tasks))
	byID := make(map[string]int, len(tasks))
	for i, s := range p.facts.tasks {
		t := Task{ID: s.ID, Params: p.space.Params(), Y: slices.Clone(p.told[i].y), NoiseVariance: slices.Clone(p.told[i].noise), Curves: space.CloneCurves(p.told[i].curves), Context: maps.Clone(s.Context)}
		for k := range points.Len(s.X) {
			row, err := p.space.Decode(s.X.Row(k))
			if err != nil {
				continue // points of the unit cube decode
			}
			t.X = append(t.X, row)
		}
		tasks[i] = t
		byID[s.ID] = i
	}
	p.columns(tasks, byID)
	if p.success == nil {
		return tasks
	}
	for _, s := range p.success.Tasks() {
		i, ok := byID[s.ID]
		if !ok {
			i = len(tasks)
			tasks = append(tasks, Task{ID: s.ID, Params: p.space.Params()})
		}
		for k, z := range s.Z {
			if z == hierarchy.Failed {
				if row, err := p.space.Decode(s.X.Row(k)); err == nil {
					tasks[i].Failed = append(tasks[i].Failed, row)
				}
			}
		}
	}
	return tasks
}

// Space returns the parameters the prior was learned for, without candidates.
func (p *Prior) Space() *Space { return p.space }

// Adopt returns a prior for a space whose parameters have changed: it brings [Prior.Tasks] to
// the space as [space.Space.Adopt] does and learns anew. The options are those p was learned
// with, labels of clusters excepted; those given here win. For some points of the same
// parameters start an optimiser over [space.Space.WithCandidates]. Adopt fails as Space.Adopt
// and Learn do.
func (p *Prior) Adopt(ctx context.Context, space *Space, changes Changes, opts ...LearnOption) (*Prior, *Adoption, error) {
	if err := space.Defined(); err != nil {
		return nil, nil, err
	}
	tasks, a, err := space.Adopt(p.Tasks(), changes)
	if err != nil {
		return nil, nil, err
	}
	c := p.config.settled()
	c.labels = nil
	if err := c.apply(opts); err != nil {
		return nil, nil, err
	}
	t := &trainingSet{config: c, space: space, finite: space.Finite()}
	if err := t.take(tasks); err != nil {
		return nil, nil, err
	}
	q, err := t.learn(ctx)
	return q, a, err
}

// A Partition is one way to group the tasks, with the paper's two scores of
// its quality (section 4.1), both from Wasserstein distances between the
// tasks' posteriors whatever distance did the clustering.
type Partition struct {
	// Clusters is the number of clusters.
	Clusters int
	// Labels holds the cluster of each task.
	Labels []int
	// IntraCE, the intra-cluster entropy, is the mean over clusters of the
	// mean distance between two members; a cluster of one adds 0. Small is
	// good.
	IntraCE float64
	// InterCS, the inter-cluster separation, is the mean distance between two
	// tasks of different clusters, 0 for a single cluster. Large is good.
	InterCS float64
}

// Score returns InterCS/IntraCE, by which a number of clusters is chosen:
// -Inf for a partition into singletons alone, which is not eligible.
func (p Partition) Score() float64 { return cluster.Partition(p).Score() }
