package cmbo

import (
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/hierarchy"
	"github.com/gocmbo/cmbo/kernel"
)

// WithClusters fixes the number of clusters of the paper's method, which [WithVariant]
// chooses; it is 4 otherwise. With fewer tasks than that, each task is a cluster. Variants
// that do not cluster have no use for it; it contradicts [WithLabels].
func WithClusters(c int) LearnOption { return WithClusterRange(c, c) }

// WithClusterRange has the paper's method try every number of clusters from lo to hi and keep the
// one with the largest interCS/intraCE, the smaller of equals (paper, section
// 4.1). [Prior.Partitions] tells the scores. A partition into singletons alone
// is not eligible. Scoring takes a W2 distance per pair of tasks: all pairs up
// to 500 tasks, 50,000 seeded ones beyond.
func WithClusterRange(lo, hi int) LearnOption {
	return option{id: optClusters, paper: true, learn: func(c *learnConfig) error {
		if lo < 1 || hi < lo {
			return optionErrorf("number of clusters from %d to %d", lo, hi)
		}
		c.clusters, c.maxClusters = lo, hi
		return nil
	}}
}

// WithPartitionScores makes [Prior.Partitions] known also where the number of
// clusters is fixed.
func WithPartitionScores() LearnOption {
	return option{id: optPartitionScores, paper: true, learn: func(c *learnConfig) error { c.partitionScore = true; return nil }}
}

// WithLabels gives the paper's method the clusters instead of finding them: labels[i] in 0..C-1
// is the cluster of task i, and none of the C clusters is empty. It contradicts a
// number of clusters and the variants [GlobalCen] and
// [IndiWeightJef].
func WithLabels(labels []int) LearnOption {
	labels = slices.Clone(labels)
	return option{id: optLabels, paper: true, learn: func(c *learnConfig) error {
		if len(labels) == 0 {
			return optionErrorf("no labels")
		}
		n := 0
		for i, l := range labels {
			if l < 0 || l >= len(labels) {
				return optionErrorf("label %d of task %d is outside 0..%d", l, i, len(labels)-1)
			}
			n = max(n, l+1)
		}
		seen := make([]bool, n)
		for _, l := range labels {
			seen[l] = true
		}
		if empty := slices.Index(seen, false); empty >= 0 {
			return optionErrorf("labels go up to %d but cluster %d is empty", n-1, empty)
		}
		c.labels = labels
		return nil
	}}
}

// WithHyperparameters gives the kernel, with its parameters, and the noise
// variance of every task's Gaussian process in scaled units instead of fitting
// them. Both the clustering and the prototypes use them. noiseVariance must be
// positive.
func WithHyperparameters(k kernel.Kernel, noiseVariance float64) LearnOption {
	return option{id: optHyperparameters, paper: true, learn: func(c *learnConfig) error {
		if k == nil {
			return optionErrorf("a nil kernel")
		}
		if !(noiseVariance > 0) || math.IsInf(noiseVariance, 0) {
			return optionErrorf("noise variance %g is not positive and finite", noiseVariance)
		}
		c.fixed, c.fixedNoise = k, noiseVariance
		return nil
	}}
}

// WithClusterPoints sets on how many points the paper's method compares posteriors to
// cluster them; the default is 100.
func WithClusterPoints(n int) LearnOption {
	return option{id: optClusterPoints, paper: true, learn: func(c *learnConfig) error {
		if n < 1 {
			return optionErrorf("%d cluster points", n)
		}
		c.clusterPoints = n
		return nil
	}}
}

// WithIndexPoints sets the largest size of the index set. The hierarchical prior
// learns its moments on it, and keeps 4 I² bytes;
// the default is 500. With a variant of the paper it holds the points on which
// prototypes are compared with the target's posterior, and on which
// barycentres live; the default is 300. See [Learn] for what a prior costs; a
// distance to the target's posterior costs O(n³).
func WithIndexPoints(n int) LearnOption {
	return option{id: optIndexPoints, learn: func(c *learnConfig) error {
		if n < 1 {
			return optionErrorf("an index set of %d points", n)
		}
		c.indexPoints = n
		return nil
	}}
}

// WithProgress calls f as Learn proceeds, from the goroutine that called
// Learn.
func WithProgress(f func(Progress)) LearnOption {
	return option{id: optProgress, idle: true, learn: func(c *learnConfig) error { c.progress = f; return nil }}
}

// WithAblation has the default learn, and its runs go on, with settings changed by name, to
// measure what each of them is worth: [Ablations] lists the names. A prior of changed settings
// cannot be encoded.
func WithAblation(names ...string) LearnOption {
	return option{id: optAblation, learn: func(c *learnConfig) error {
		trial := hierarchy.DefaultSettings(1)
		if err := trial.Ablate(names...); err != nil {
			return optionErrorf("%v", err)
		}
		c.ablations = slices.Clone(names)
		return nil
	}}
}

// Ablations returns the names of the changes that [WithAblation] makes, with what each does.
func Ablations() (names, what []string) {
	for _, a := range hierarchy.Ablations {
		names, what = append(names, a.Name), append(what, a.What)
	}
	return names, what
}
