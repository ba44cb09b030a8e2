package paper

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/paper/internal/cluster"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// learner is one run of the paper's stages 1 and 2.
type learner struct {
	*config
	prior      *Prior // in the making: labels are nil until they are found, if they are to be looked for
	tasks      []task
	clusterSet *linalg.Dense // where posteriors are compared for clustering

	rank       []int               // of each task by ID, the order in which tasks are grouped
	posteriors *cluster.Posteriors // by rank, nil where there is nothing to cluster
	partitions []scoredPartition
}

func (l *learner) tell(stage string, done, total int) {
	if l.progress != nil {
		l.progress(stage, done, total)
	}
}

// fit makes the Gaussian processes of all tasks: the ones that prototypes are made of, and, where
// there is something to cluster, posteriors under the clustering kernel.
func (l *learner) fit(ctx context.Context) error {
	n := len(l.tasks)
	l.prior.sources, l.rank = make([]*source, n), make([]int, n)
	byID := func(a, b int) int { return cmp.Compare(l.tasks[a].id, l.tasks[b].id) }
	for r, i := range stat.Order(n, byID) {
		l.rank[i] = r // so that the order they come in does not matter
	}
	if l.prior.labels == nil && n > 1 {
		l.posteriors = cluster.NewPosteriors(n, points.Len(l.clusterSet))
	}
	workers := make([]worker, parallel.Workers(l.workers, n))
	// Batches keep the progress callback on the calling goroutine.
	const batch = 64
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		err := parallel.For(ctx, l.workers, hi-lo, func(w, i int) error { return l.fitTask(ctx, &workers[w], lo+i) })
		var p *parallel.Panic // of a kernel
		if errors.As(err, &p) {
			return wrap(err, "task %q", l.tasks[lo+p.Index].id)
		}
		if err != nil {
			return err
		}
		l.tell("fit", hi, n)
	}
	for w := range workers {
		l.prior.report.Unfitted += workers[w].unfitted
		l.prior.report.ClusterJitter = max(l.prior.report.ClusterJitter, workers[w].jitter)
	}
	return nil
}

// worker is the memory with which one goroutine fits tasks, and what it has to report.
type worker struct {
	fitter    gp.Fitter
	white     linalg.Dense
	cov       linalg.Sym
	chol      linalg.Cholesky
	clustered source // the process whose posterior is clustered
	unfitted  int    // fits that failed
	jitter    float64
}

// fitTask makes the processes of task i, on the memory of f.
func (l *learner) fitTask(ctx context.Context, f *worker, i int) error {
	_, dim := l.prior.index.Dims()
	t, s := l.tasks[i], new(source)
	l.prior.sources[i] = s
	process := func(s *source, label string, form kernel.Kernel) error {
		h := gp.Hyper{Kernel: l.fixed, NoiseVariance: l.fixedNoise}
		if l.fixed == nil {
			// The starts of a fit are named by the task, so that its place among the others does not matter.
			seed := rng.Stream(l.seed, label+": "+t.id).Uint64()
			var err error
			if h, err = f.fitter.Fit(ctx, form, t.x, t.y, t.noise, math.NaN(), seed); err != nil {
				return wrap(err, "task %q", t.id)
			}
			if !h.Fitted {
				f.unfitted++
			}
		}
		return s.condition(ctx, t, h)
	}
	if err := process(s, "fit prior", gp.AtCentre(gaussian.DefaultPriors(dim), kernel.Matern32, 1)); err != nil || l.posteriors == nil {
		return err
	}
	if l.fixed == nil {
		s = &f.clustered
		if err := process(s, "fit cluster", gp.AtCentre(gaussian.DefaultPriors(dim), kernel.Matern32x12, 1)); err != nil {
			return err
		}
	}
	mean := make([]float64, points.Len(l.clusterSet))
	if err := s.process.Joint(ctx, mean, &f.cov, l.clusterSet, &f.white); err != nil {
		return wrap(err, "task %q", t.id)
	}
	jitter, err := l.posteriors.Put(l.rank[i], mean, &f.cov, &f.chol)
	f.jitter = max(f.jitter, jitter)
	return wrap(err, "task %q: posterior on %d clustering points", t.id, len(mean))
}

// group looks for the clusters of the tasks by their posteriors; of several numbers of
// clusters it takes the one of the best score. It does nothing where labels are given.
func (l *learner) group(ctx context.Context) error {
	if l.prior.labels != nil {
		return nil
	}
	n := len(l.tasks)
	lo, hi := min(l.clusters, n), min(l.maxClusters, n)
	var g *cluster.GaussianGeometry
	if hi > 1 {
		g = l.posteriors.Wasserstein(l.workers)
		if l.variant.ClusterDistance == Jeffreys {
			var err error
			if g, err = l.posteriors.Jeffreys(ctx, l.workers); err != nil {
				return err
			}
		}
	}
	o := cluster.Options{Seed: l.seed, Restarts: cluster.Restarts(n), Rounds: rounds, Workers: l.workers}
	var found []cluster.Result
	for c := lo; c <= hi; c++ {
		r := cluster.Result{Labels: make([]int, n)}
		if c > 1 {
			var err error
			if r, err = cluster.KMeans(ctx, g, c, o); err != nil {
				return err
			}
		}
		found = append(found, r)
		l.prior.report.Distances += r.Distances
		l.tell("cluster", c-lo+1, hi-lo+1)
	}
	best := 0
	if len(found) > 1 {
		l.tell("score", 0, 1)
		ps, err := measurePairs(ctx, n, l.seed, l.workers, l.posteriors.Wasserstein(l.workers).Pair)
		if err != nil {
			return err
		}
		for _, r := range found {
			p := ps.measure(r.Labels)
			p.labels = l.byTask(r.Labels)
			l.partitions = append(l.partitions, p)
		}
		best = choose(l.partitions)
		l.tell("score", 1, 1)
	}
	l.prior.labels, l.prior.report.Rounds = l.byTask(found[best].Labels), found[best].Rounds
	return nil
}

// byTask brings labels by rank to the order of the tasks.
func (l *learner) byTask(labels []int) []int {
	return cluster.Renumber(points.Entries(labels, l.rank))
}
