package model

import (
	"context"
	"errors"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/internal/points"
	"github.com/gocmbo/cmbo/cmbo/paper/internal/cluster"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/rng"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// Task is a past task: points of the unit cube, scaled values, and their noise
// variances where they are known, 0 elsewhere, nil for none.
type Task struct {
	ID    string
	X     *linalg.Dense
	Y     []float64
	Noise []float64
}

// Learner is one run of the paper's stages 1 and 2. All fields but Labels,
// Fixed and Progress are needed.
type Learner struct {
	Seed        uint64
	Parallelism int
	Progress    func(stage string, done, total int)

	Fixed      kernel.Kernel // hyperparameters given, not fitted
	FixedNoise float64

	Labels                []int // given instead of found
	Jeffreys              bool  // the distance that clusters, else Wasserstein
	Clusters, MaxClusters int   // smallest and largest number of clusters tried
	Rounds                int
	Barycenters           bool // stand for clusters, else geometric centres

	ClusterSet *linalg.Dense // where posteriors are compared for clustering
	Index      *linalg.Dense // the index set of the prototypes
	Tasks      []Task

	template   kernel.Kernel // of the processes that are clustered
	sources    []*Source
	rank       []int               // of each task by ID, the order in which tasks are grouped
	posteriors *cluster.Posteriors // by rank
	report     Report
}

// Report says what learning took: see the type LearnReport of package cmbo.
type Report struct {
	Distances       int64
	Rounds          int
	ClusterJitter   float64
	PrototypeJitter float64
	Barycenters     []BarycenterReport
	Unfitted        int
}

// BarycenterReport says how the iteration of a barycentre ended.
type BarycenterReport struct {
	Iterations int
	Residual   float64
	Converged  bool
}

// Learn fits a process to each task, groups them and builds a prototype of each
// group.
func (l *Learner) Learn(ctx context.Context) (*Learned, error) {
	_, dim := l.Index.Dims()
	variance, lengths := gp.Centre(dim, 1)
	l.template = kernel.Scale(variance, kernel.Matern32x12(lengths...))
	if err := l.fit(ctx); err != nil {
		return nil, err
	}
	found, err := l.group(ctx)
	if err != nil {
		return nil, err
	}
	l.posteriors = nil // nothing after the clustering needs them
	l.report.Distances, l.report.Rounds = found.Distances, found.Rounds
	p := &Learned{Sources: l.sources, Labels: found.Labels, Index: l.Index, Partitions: found.Partitions}
	if p.Prototypes, err = l.prototypes(ctx, found.Labels); err != nil {
		return nil, err
	}
	p.Report = l.report
	return p, nil
}

func (l *Learner) tell(stage string, done, total int) {
	if l.Progress != nil {
		l.Progress(stage, done, total)
	}
}

// fit makes the Gaussian processes of all tasks: the ones that prototypes are
// made of, and, where there is something to cluster, posteriors under the
// clustering kernel.
func (l *Learner) fit(ctx context.Context) error {
	n := len(l.Tasks)
	l.sources = make([]*Source, n)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = l.Tasks[i].ID
	}
	l.rank = cluster.Rank(ids)
	if l.needsPosteriors() {
		l.posteriors = cluster.NewPosteriors(n, points.Len(l.ClusterSet))
	}
	workers := make([]*worker, parallel.Workers(l.Parallelism, n))
	unfitted := make([]int, n)
	jitters := make([]float64, n)
	// Batches keep the progress callback on the calling goroutine.
	const batch = 64
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		err := parallel.For(ctx, l.Parallelism, hi-lo, func(w, i int) error {
			i += lo
			if workers[w] == nil {
				workers[w] = new(worker)
			}
			var err error
			unfitted[i], jitters[i], err = l.fitTask(ctx, workers[w], i)
			return err
		})
		var p *parallel.Panic // of a kernel
		if errors.As(err, &p) {
			return wrap(err, "task %q", l.Tasks[lo+p.Index].ID)
		}
		if err != nil {
			return err
		}
		l.tell("fit", hi, n)
	}
	for i := range n {
		l.report.Unfitted += unfitted[i]
		l.report.ClusterJitter = max(l.report.ClusterJitter, jitters[i])
	}
	return nil
}

// needsPosteriors reports whether tasks have to be compared with each other.
func (l *Learner) needsPosteriors() bool {
	return l.Labels == nil && len(l.Tasks) > 1
}

// fitTask makes the processes of task i; f is the worker's memory.
func (l *Learner) fitTask(ctx context.Context, f *worker, i int) (int, float64, error) {
	s, unfitted, err := l.fitSource(ctx, f, l.Tasks[i])
	if err != nil {
		return 0, 0, err
	}
	l.sources[i] = s
	if l.posteriors == nil {
		return unfitted, 0, nil
	}
	clustered := s
	if l.Fixed == nil {
		h, err := f.fitter.Fit(ctx, l.template, s.X, s.Y, s.Task.Noise, math.NaN(), l.fitSeed("fit cluster", s.ID))
		if err != nil {
			return unfitted, 0, wrap(err, "task %q", s.ID)
		}
		if !h.Fitted {
			unfitted++
		}
		clustered = &f.clustered
		if err = clustered.condition(ctx, s.Task, h); err != nil {
			return unfitted, 0, err
		}
	}
	mean := make([]float64, points.Len(l.ClusterSet))
	if err := clustered.joint(ctx, mean, &f.cov, l.ClusterSet, &f.white); err != nil {
		return unfitted, 0, wrap(err, "task %q", s.ID)
	}
	jitter, err := l.posteriors.Put(l.rank[i], mean, &f.cov, &f.chol)
	return unfitted, jitter, wrap(err, "task %q: posterior on %d clustering points", s.ID, len(mean))
}

// fitSource fits the process of a task that prototypes are made of.
func (l *Learner) fitSource(ctx context.Context, f *worker, t Task) (*Source, int, error) {
	_, dim := t.X.Dims()
	h, unfitted := gp.Hyper{Kernel: l.Fixed, NoiseVariance: l.FixedNoise}, 0
	if l.Fixed == nil {
		var err error
		if h, err = f.fitter.Fit(ctx, gp.DefaultKernel(dim, false), t.X, t.Y, t.Noise, math.NaN(), l.fitSeed("fit prior", t.ID)); err != nil {
			return nil, 0, wrap(err, "task %q", t.ID)
		}
		if !h.Fitted {
			unfitted = 1
		}
	}
	s, err := NewSource(ctx, t, h)
	return s, unfitted, err
}

// fitSeed names the starts of a fit by the task, so that its place among the others
// does not matter.
func (l *Learner) fitSeed(label, id string) uint64 {
	return rng.Stream(l.Seed, label+": "+id).Uint64()
}

// group puts the tasks into clusters and scores partitions if that was asked for.
func (l *Learner) group(ctx context.Context) (cluster.Found, error) {
	s := cluster.Search{
		Labels: l.Labels, Rank: l.rank, Min: l.Clusters, Max: l.MaxClusters, Jeffreys: l.Jeffreys,
		Rounds: l.Rounds, Seed: l.Seed, Workers: l.Parallelism, Progress: l.Progress,
	}
	found, err := s.Find(ctx, l.posteriors)
	return found, wrap(err, "clustering")
}

// worker is the memory with which one goroutine fits tasks.
type worker struct {
	fitter    gp.Fitter
	white     linalg.Dense
	cov       linalg.Sym
	chol      linalg.Cholesky
	clustered Source // the process whose posterior is clustered
}
