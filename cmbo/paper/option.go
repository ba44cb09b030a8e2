package paper

import (
	"math"
	"runtime"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/kernel"
)

// An Option sets something of [Learn]. Options are applied in their order, later ones winning.
type Option func(*config) error

// config is what Learn works with; newConfig holds the defaults.
type config struct {
	variant     Variant
	seed        uint64
	minimize    bool
	y           cmbo.YPolicy
	workers     int
	progress    func(stage string, done, total int)
	fixed       kernel.Kernel // hyperparameters given, not fitted
	fixedNoise  float64
	clusters    int // smallest and largest number of clusters tried
	maxClusters int
	labels      []int
	indexPoints int
}

const (
	rounds        = 50  // of k-means, at most
	clusterPoints = 100 // on which posteriors are compared to cluster them
)

func newConfig(opts []Option) (*config, error) {
	c := &config{seed: 1, y: cmbo.ZScore, workers: runtime.GOMAXPROCS(0), clusters: 4, maxClusters: 4, indexPoints: 300}
	if err := gp.Apply(c, "Option", opts); err != nil {
		return nil, err
	}
	if c.labels != nil && c.variant.Grouping != Clustered {
		return nil, gp.OptionErrorf("WithLabels contradicts %s, which has clusters of its own", c.variant)
	}
	return c, nil
}

// WithVariant chooses a variant of the method; the default is [WssClusWssCMP].
func WithVariant(v Variant) Option {
	return func(c *config) error { c.variant = v; return v.check() }
}

// WithSeed sets the seed of everything random; the default is 1. The same seed, data and
// options give the same prior, whatever the number of cores.
func WithSeed(seed uint64) Option {
	return func(c *config) error { c.seed = seed; return nil }
}

// WithMinimize says that smaller values are better. Runs take the direction of the prior.
func WithMinimize() Option {
	return func(c *config) error { c.minimize = true; return nil }
}

// WithYPolicy sets how values are scaled, task by task; the default is [cmbo.ZScore]. Runs
// take the policy of the prior if they are given none.
func WithYPolicy(p cmbo.YPolicy) Option {
	return gp.Setting(func(c *config) { c.y = p }, p <= cmbo.Copula, "%s is not a y policy", p)
}

// WithParallelism bounds the number of goroutines of Learn and of runs at n; the default is
// GOMAXPROCS. It changes the speed, never the result.
func WithParallelism(n int) Option {
	return gp.Setting(func(c *config) { c.workers = n }, n >= 1, "parallelism %d is below 1", n)
}

// WithProgress calls f as Learn proceeds, from the goroutine that called it: stage is "fit",
// "cluster", "score" or "prototypes", of which done of total pieces are finished.
func WithProgress(f func(stage string, done, total int)) Option {
	return func(c *config) error { c.progress = f; return nil }
}

// WithClusterRange has every number of clusters from lo to hi tried and the one with the largest interCS/intraCE kept, the
// smaller of equals (paper, section 4.1); the default is 4 alone. With fewer tasks than that, each task is a cluster. A
// partition into singletons alone is not eligible. Scoring takes a W2 distance per pair of tasks: all pairs up to 500 tasks,
// 50,000 seeded ones beyond. Variants that do not cluster, and [WithLabels], have no use for it.
func WithClusterRange(lo, hi int) Option {
	return gp.Setting(func(c *config) { c.clusters, c.maxClusters = lo, hi },
		lo >= 1 && hi >= lo, "number of clusters from %d to %d", lo, hi)
}

// WithLabels gives the clusters instead of finding them: labels[i] in 0..C-1 is the cluster of the i-th task with a
// value, and none of the C clusters is empty. It contradicts variants that do not cluster.
func WithLabels(labels []int) Option {
	labels = slices.Clone(labels)
	return func(c *config) error {
		if len(labels) == 0 {
			return gp.OptionErrorf("no labels")
		}
		n := 0
		for i, l := range labels {
			if l < 0 || l >= len(labels) {
				return gp.OptionErrorf("label %d of task %d is outside 0..%d", l, i, len(labels)-1)
			}
			n = max(n, l+1)
		}
		for l := range n {
			if !slices.Contains(labels, l) {
				return gp.OptionErrorf("labels go up to %d but cluster %d is empty", n-1, l)
			}
		}
		c.labels = labels
		return nil
	}
}

// WithHyperparameters gives the kernel, with its parameters, and the noise variance in scaled units, positive, of
// every task's Gaussian process, for clustering and for the prototypes, instead of fitting them.
func WithHyperparameters(k kernel.Kernel, noiseVariance float64) Option {
	return func(c *config) error {
		if k == nil {
			return gp.OptionErrorf("a nil kernel")
		}
		c.fixed, c.fixedNoise = k, noiseVariance
		return checkNoise(noiseVariance)
	}
}

// WithIndexPoints sets the largest size of the index set, on which prototypes are compared with the target's posterior and
// on which barycentres live; the default is 300. A distance to the target's posterior costs O(n³).
func WithIndexPoints(n int) Option {
	return gp.Setting(func(c *config) { c.indexPoints = n }, n >= 1, "an index set of %d points", n)
}

func checkNoise(variance float64) error {
	return gp.RefuseUnless(variance > 0 && !math.IsInf(variance, 0), "noise variance %g is not positive and finite", variance)
}
