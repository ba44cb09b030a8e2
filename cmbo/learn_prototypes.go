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
	out := make([]prototype, len(members))
	for c, m := range members {
		var err error
		if l.variant.Prototype() == Barycenter {
			out[c], err = l.barycenter(ctx, m)
		} else {
			out[c], err = l.center(ctx, m)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, numerical(err, "prototype of cluster %d", c)
		}
		l.tell("prototypes", c+1, len(members))
	}
	return out, nil
}

// center builds a geometric centre. Members are computed in parallel but
// summed in their order.
func (l *learner) center(ctx context.Context, members []*source) (prototype, error) {
	n, _ := l.index.Dims()
	mean := make([]float64, n)
	cov := linalg.NewSym(n, nil)
	workers := parallel.Workers(l.parallelism, len(members))
	type slot struct {
		mean []float64
		cov  linalg.Sym
		sc   sourceScratch
	}
	slots := make([]slot, workers)
	for i := range slots {
		slots[i].mean = make([]float64, n)
	}
	share := 1 / float64(len(members))
	spread := l.variant.Prototype() == TotalCenter
	var means linalg.Dense
	if spread {
		means.Resize(len(members), n)
	}
	for lo := 0; lo < len(members); lo += workers {
		hi := min(lo+workers, len(members))
		err := parallel.For(ctx, workers, hi-lo, func(_, i int) error {
			s := &slots[i]
			return members[lo+i].jointTo(s.mean, &s.cov, l.index, &s.sc)
		})
		if err != nil {
			return prototype{}, err
		}
		for i := range hi - lo {
			linalg.Axpy(mean, share, slots[i].mean)
			cov.AddScaled(share, &slots[i].cov)
			if spread {
				copy(means.Row(lo+i), slots[i].mean)
			}
		}
	}
	if spread {
		centre(&means)
		cov.AddTransGram(share, &means)
	}
	normal, jitter, err := jitteredNormal(mean, cov)
	l.report.PrototypeJitter = max(l.report.PrototypeJitter, jitter)
	return prototype{normal: normal, carrier: &geometric{members: members, spread: spread}}, err
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
