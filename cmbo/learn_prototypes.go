package cmbo

import (
	"context"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/kernel"
	"github.com/gocmbo/cmbo/linalg"
)

// prototypes builds the prototype of each cluster.
func (l *learner) prototypes(ctx context.Context, labels []int) ([]prototype, error) {
	members := make([][]*source, slices.Max(labels)+1)
	for j, c := range labels {
		members[c] = append(members[c], l.sources[j])
	}
	if l.variant.Prototype() != Barycenter {
		return l.centers(ctx, members)
	}
	out := make([]prototype, len(members))
	for c, m := range members {
		var err error
		if out[c], err = l.barycenter(ctx, m); err != nil {
			return nil, wrapPrototype(ctx, err, c)
		}
		l.tell("prototypes", c+1, len(members))
	}
	return out, nil
}

func wrapPrototype(ctx context.Context, err error, c int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return numerical(err, "prototype of cluster %d", c)
}

// centers builds geometric centres. Members are computed in parallel, those of
// different clusters too, but summed in their order.
func (l *learner) centers(ctx context.Context, members [][]*source) ([]prototype, error) {
	type item struct {
		c, at int // cluster and place in it
	}
	var items []item
	for c, m := range members {
		for at := range m {
			items = append(items, item{c, at})
		}
	}
	n, _ := l.index.Dims()
	type slot struct {
		mean []float64
		cov  linalg.Sym
	}
	slots := make([]slot, parallel.Slots(l.parallelism, len(items)))
	for i := range slots {
		slots[i].mean = make([]float64, n)
	}
	scratch := make([]sourceScratch, parallel.Workers(l.parallelism, len(items)))
	spread := l.variant.Prototype() == TotalCenter
	var mean []float64 // of the cluster that is being summed
	var cov *linalg.Sym
	var means linalg.Dense
	out := make([]prototype, len(members))
	do := func(w, s, i int) error {
		it := items[i]
		err := members[it.c][it.at].jointTo(slots[s].mean, &slots[s].cov, l.index, &scratch[w])
		if err != nil {
			return wrapPrototype(ctx, err, it.c)
		}
		return nil
	}
	take := func(s, i int) error {
		c, at := items[i].c, items[i].at
		of := members[c]
		share := 1 / float64(len(of))
		if at == 0 {
			mean, cov = make([]float64, n), linalg.NewSym(n, nil)
			if spread {
				means.Resize(len(of), n)
			}
		}
		linalg.Axpy(mean, share, slots[s].mean)
		cov.AddScaled(share, &slots[s].cov)
		if spread {
			copy(means.Row(at), slots[s].mean)
		}
		if at < len(of)-1 {
			return nil
		}
		if spread {
			centre(&means)
			cov.AddTransGram(share, &means)
		}
		normal, jitter, err := jitteredNormal(mean, cov)
		if err != nil {
			return wrapPrototype(ctx, err, c)
		}
		l.report.PrototypeJitter = max(l.report.PrototypeJitter, jitter)
		out[c] = prototype{normal: normal, carrier: &geometric{members: of, spread: spread}}
		return nil
	}
	// Batches keep the progress callback on the calling goroutine.
	const batch = 64
	for lo := 0; lo < len(items); lo += batch {
		hi := min(lo+batch, len(items))
		err := parallel.Ordered(ctx, l.parallelism, hi-lo,
			func(w, s, i int) error { return do(w, s, lo+i) }, func(s, i int) error { return take(s, lo+i) })
		if err != nil {
			return nil, err
		}
		for _, it := range items[lo:hi] {
			if it.at == len(members[it.c])-1 {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				l.tell("prototypes", it.c+1, len(members))
			}
		}
	}
	return out, nil
}

// barycenter builds a 2-Wasserstein barycentre with equal weights.
func (l *learner) barycenter(ctx context.Context, members []*source) (prototype, error) {
	n, _ := l.index.Dims()
	normals := make([]*gaussian.Normal, len(members))
	sc := make([]sourceScratch, parallel.Workers(l.parallelism, len(members)))
	jitters := make([]float64, len(members))
	err := parallel.For(ctx, l.parallelism, len(members), func(w, i int) error {
		mean, cov := make([]float64, n), new(linalg.Sym)
		err := members[i].jointTo(mean, cov, l.index, &sc[w])
		if err == nil {
			normals[i], jitters[i], err = jitteredNormal(mean, cov)
		}
		return err
	})
	if err != nil {
		return prototype{}, err
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, slices.Max(jitters))
	b, err := gaussian.Barycenter(ctx, normals, nil, nil)
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
	normal, jitter, err := jitteredNormal(b.Center.Mean(), &cov)
	if err != nil {
		return prototype{}, err
	}
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, jitter)
	carrier, err := newCarried(l.index, normal, k)
	return prototype{normal: normal, carrier: carrier}, err
}

// medianKernel returns the kernel whose log-parameters are the medians of the
// members'.
func medianKernel(members []*source) (kernel.Kernel, error) {
	k := members[0].k
	theta := k.AppendParams(nil)
	values := make([]float64, len(members))
	for p := range theta {
		for j, m := range members {
			values[j] = m.k.AppendParams(nil)[p]
		}
		theta[p] = median(values)
	}
	return k.WithParams(theta)
}

// median sorts v and returns its median, the mean of the middle two.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

func medianNoise(sources []*source) float64 {
	v := make([]float64, len(sources))
	for j, s := range sources {
		v[j] = s.sigma
	}
	return median(v)
}
