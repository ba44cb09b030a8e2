package paper

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// prototypes builds the prototype of each cluster.
func (l *learner) prototypes(ctx context.Context) ([]prototype, error) {
	members := make([][]*source, slices.Max(l.labels)+1)
	for j, c := range l.labels {
		members[c] = append(members[c], l.sources[j])
	}
	build := l.center
	if l.variant.Prototype == Barycenter {
		build = l.barycenter
	}
	out := make([]prototype, len(members))
	for c, m := range members {
		var err error
		if out[c], err = build(ctx, m); err != nil {
			return nil, wrap(err, "prototype of cluster %d", c)
		}
		l.tell("prototypes", c+1, len(members))
	}
	return out, ctx.Err()
}

// center builds a geometric centre. Members are computed in parallel, but summed in their order.
func (l *learner) center(ctx context.Context, members []*source) (prototype, error) {
	n, _ := l.index.Dims()
	workers := parallel.Workers(l.workers, len(members))
	white := make([]linalg.Dense, workers)
	// A batch has several members for each goroutine, so that few wait at its end, and no
	// more, because each holds a matrix.
	batch := make([]struct {
		mean []float64
		cov  linalg.Sym
	}, min(4*workers, len(members)))
	mean, cov := make([]float64, n), linalg.NewSym(n, nil)
	share := 1 / float64(len(members))
	for part := range slices.Chunk(members, len(batch)) {
		err := parallel.For(ctx, l.workers, len(part), func(w, i int) error {
			b := &batch[i]
			if b.mean == nil {
				b.mean = make([]float64, n)
			}
			return part[i].joint(ctx, b.mean, &b.cov, l.index, &white[w])
		})
		if err != nil {
			return prototype{}, err
		}
		for i := range part {
			linalg.Axpy(mean, share, batch[i].mean)
			cov.AddScaled(share, &batch[i].cov)
		}
	}
	normal, jitter, err := jitteredNormal(new(linalg.Cholesky), mean, cov)
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, jitter)
	return prototype{normal, geometric(members)}, err
}

// barycenter builds a 2-Wasserstein barycentre with equal weights.
func (l *learner) barycenter(ctx context.Context, members []*source) (prototype, error) {
	n, _ := l.index.Dims()
	normals := make([]*multivariate.Normal, len(members))
	white := make([]linalg.Dense, parallel.Workers(l.workers, len(members)))
	jitters := make([]float64, len(members))
	err := parallel.For(ctx, l.workers, len(members), func(w, i int) error {
		mean, cov := make([]float64, n), new(linalg.Sym)
		err := members[i].joint(ctx, mean, cov, l.index, &white[w])
		if err == nil {
			normals[i], jitters[i], err = jitteredNormal(new(linalg.Cholesky), mean, cov)
		}
		return err
	})
	if err != nil {
		return prototype{}, err
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, slices.Max(jitters))
	b, err := multivariate.Barycenter(ctx, normals, nil)
	if err != nil {
		return prototype{}, err
	}
	l.report.Barycenters = append(l.report.Barycenters, BarycenterReport{
		Iterations: b.Iterations, Residual: b.Residual, Converged: b.Converged,
	})
	k, err := medianKernel(members)
	if err != nil {
		return prototype{}, err
	}
	var cov linalg.Sym
	cov.Copy(b.Center.Cov())
	normal, jitter, err := jitteredNormal(new(linalg.Cholesky), b.Center.Mean(), &cov)
	if err != nil {
		return prototype{}, err
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, jitter)
	process, err := newExtension(l.index, normal, k)
	return prototype{normal, process}, err
}

// medianKernel returns the kernel whose log-parameters are the medians of the
// members'.
func medianKernel(members []*source) (kernel.Kernel, error) {
	k := members[0].Kernel
	theta := k.AppendParams(nil)
	values := make([]float64, len(members))
	for p := range theta {
		for j, m := range members {
			values[j] = m.Kernel.AppendParams(nil)[p]
		}
		theta[p] = stat.Median(values)
	}
	return k.WithParams(theta)
}
