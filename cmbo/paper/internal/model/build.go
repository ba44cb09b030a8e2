package model

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
func (l *Learner) prototypes(ctx context.Context, labels []int) ([]Prototype, error) {
	members := make([][]*Source, slices.Max(labels)+1)
	for j, c := range labels {
		members[c] = append(members[c], l.sources[j])
	}
	if !l.Barycenters {
		return l.centers(ctx, members)
	}
	out := make([]Prototype, len(members))
	for c, m := range members {
		var err error
		if out[c], err = l.barycenter(ctx, m); err != nil {
			return nil, wrap(err, "prototype of cluster %d", c)
		}
		l.tell("prototypes", c+1, len(members))
	}
	return out, nil
}

// centers builds geometric centres. Members are computed in parallel, those of
// different clusters too, but summed in their order.
func (l *Learner) centers(ctx context.Context, members [][]*Source) ([]Prototype, error) {
	type item struct{ c, at int } // cluster and place in it
	var items []item
	for c, m := range members {
		for at := range m {
			items = append(items, item{c, at})
		}
	}
	n, _ := l.Index.Dims()
	type moments struct {
		mean []float64
		cov  *linalg.Sym
	}
	// A batch has several items for each goroutine, so that few wait at its end,
	// and no more, because each holds a matrix.
	workers := parallel.Workers(l.Parallelism, len(items))
	batch := make([]moments, min(4*workers, len(items)))
	for i := range batch {
		batch[i] = moments{make([]float64, n), new(linalg.Sym)}
	}
	sums, white := make([]moments, len(members)), make([]linalg.Dense, workers)
	out, jitters := make([]Prototype, len(members)), make([]float64, len(members))
	finished := 0
	for lo := 0; lo < len(items); lo += len(batch) {
		hi := min(lo+len(batch), len(items))
		err := parallel.For(ctx, l.Parallelism, hi-lo, func(w, i int) error {
			it := items[lo+i]
			err := members[it.c][it.at].joint(ctx, batch[i].mean, batch[i].cov, l.Index, &white[w])
			return wrap(err, "prototype of cluster %d", it.c)
		})
		if err != nil {
			return nil, err
		}
		for i, it := range items[lo:hi] {
			sum, share := &sums[it.c], 1/float64(len(members[it.c]))
			if it.at == 0 {
				// The first member's buffers become the sum; the batch gets fresh ones.
				*sum, batch[i] = batch[i], moments{make([]float64, n), new(linalg.Sym)}
				for p := range sum.mean {
					sum.mean[p] *= share
				}
				sum.cov.Scale(share)
			} else {
				linalg.Axpy(sum.mean, share, batch[i].mean)
				sum.cov.AddScaled(share, batch[i].cov)
			}
		}
		first := finished
		for finished < len(members) && (hi == len(items) || finished < items[hi].c) {
			finished++
		}
		err = parallel.For(ctx, l.Parallelism, finished-first, func(_, i int) (err error) {
			c := first + i
			out[c].Evaluator = NewGeometric(members[c])
			out[c].Normal, jitters[c], err = jitteredNormal(sums[c].mean, sums[c].cov)
			return wrap(err, "prototype of cluster %d", c)
		})
		for c := first; c < finished && err == nil; c++ {
			l.tell("prototypes", c+1, len(members)) // on the calling goroutine
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, slices.Max(jitters))
	return out, nil
}

// barycenter builds a 2-Wasserstein barycentre with equal weights.
func (l *Learner) barycenter(ctx context.Context, members []*Source) (Prototype, error) {
	n, _ := l.Index.Dims()
	normals := make([]*multivariate.Normal, len(members))
	white := make([]linalg.Dense, parallel.Workers(l.Parallelism, len(members)))
	jitters := make([]float64, len(members))
	err := parallel.For(ctx, l.Parallelism, len(members), func(w, i int) error {
		mean, cov := make([]float64, n), new(linalg.Sym)
		err := members[i].joint(ctx, mean, cov, l.Index, &white[w])
		if err == nil {
			normals[i], jitters[i], err = jitteredNormal(mean, cov)
		}
		return err
	})
	if err != nil {
		return Prototype{}, err
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, slices.Max(jitters))
	b, err := multivariate.Barycenter(ctx, normals, nil, nil)
	if err != nil {
		return Prototype{}, err
	}
	l.report.Barycenters = append(l.report.Barycenters, BarycenterReport{
		Iterations: b.Iterations, Residual: b.Residual, Converged: b.Converged,
	})
	k, err := medianKernel(members)
	if err != nil {
		return Prototype{}, err
	}
	var cov linalg.Sym
	cov.Copy(b.Center.Cov())
	normal, jitter, err := jitteredNormal(b.Center.Mean(), &cov)
	if err != nil {
		return Prototype{}, err
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, jitter)
	process, err := NewExtension(l.Index, normal, k)
	return Prototype{Normal: normal, Evaluator: process}, err
}

// medianKernel returns the kernel whose log-parameters are the medians of the
// members'.
func medianKernel(members []*Source) (kernel.Kernel, error) {
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
