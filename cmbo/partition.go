package cmbo

import "github.com/gocmbo/cmbo/cmbo/internal/cluster"

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
