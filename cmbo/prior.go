package cmbo

import (
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// A Prior is what [Learn] makes of past tasks: their Gaussian processes,
// grouped into clusters with a prototype each. It is immutable and safe to
// share between any number of optimisers and goroutines.
type Prior struct {
	config *learnConfig // what it was learned with
	space  *Space       // the parameters; candidates are not kept
	finite bool         // the space learned on had candidates

	sources    []*source
	labels     []int
	prototypes []prototype
	clusterSet *linalg.Dense // where posteriors were compared, in the unit cube
	index      *linalg.Dense // the index set, in the unit cube
	noise      float64
	partitions []Partition
	report     LearnReport
	lazy       *lazyDigest
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

// LearnReport says what learning took and where it had to help itself.
type LearnReport struct {
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

// Variant returns the variant the prior was learned for.
func (p *Prior) Variant() Variant { return p.config.variant }

// Minimizes reports whether smaller values are better.
func (p *Prior) Minimizes() bool { return p.config.minimize }

// NumTasks returns the number of tasks learned from.
func (p *Prior) NumTasks() int { return len(p.sources) }

// Clusters returns the clusters with their members.
func (p *Prior) Clusters() []Cluster {
	cs := make([]Cluster, len(p.prototypes))
	for i := range cs {
		cs[i].ID = i
	}
	for j, l := range p.labels {
		cs[l].Members = append(cs[l].Members, p.sources[j].id)
	}
	return cs
}

// Labels returns the cluster of each task in the order given to Learn.
func (p *Prior) Labels() []int { return slices.Clone(p.labels) }

// NoiseVariance returns the median of the tasks' noise variances in scaled
// units, the default for a new task.
func (p *Prior) NoiseVariance() float64 { return p.noise }

// Partitions returns every number of clusters that was tried, with its scores,
// in ascending order: nil unless [WithClusterRange] or [WithPartitionScores]
// asked for them.
func (p *Prior) Partitions() []Partition {
	ps := slices.Clone(p.partitions)
	for i := range ps {
		ps[i].Labels = slices.Clone(ps[i].Labels)
	}
	return ps
}

// Report says what learning took.
func (p *Prior) Report() LearnReport {
	r := p.report
	r.Barycenters = slices.Clone(r.Barycenters)
	return r
}

// IndexSet returns a copy of the points, in the unit cube, on which prototypes
// are compared with a posterior.
func (p *Prior) IndexSet() *linalg.Dense {
	var x linalg.Dense
	x.Copy(p.index)
	return &x
}

// Prototype returns the prototype of cluster i on the index set, in scaled
// units, nil if there is no such cluster. It is shared.
func (p *Prior) Prototype(i int) *gaussian.Normal {
	if i < 0 || i >= len(p.prototypes) {
		return nil
	}
	return p.prototypes[i].normal
}
