// Package cluster groups Gaussian posteriors: k-means in the 2-Wasserstein
// distance or the Jeffreys divergence, with bounds that leave few distances to
// evaluate, and the scores by which a number of clusters is chosen.
package cluster
