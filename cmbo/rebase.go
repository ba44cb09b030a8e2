package cmbo

import (
	"context"

	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// For returns the prior in the form that suits optimisers over a finite space:
// its prototypes known on the space's candidates, or on a seeded sample of them
// where there are more than the index set may hold. New does this by itself; a
// caller who starts many optimisers over one space does it once and passes the
// result to each New. The result shares what it can with p; for a parameter
// space, or if p's index set consists of the candidates already, it is p itself.
//
// A geometric centre is evaluated exactly, a barycentre by its extension off
// the index set it was computed on. For fails with [ErrPriorMismatch] if the
// parameters differ, with [ErrNumerical], or with ctx.Err(). It takes O(K n I²)
// time for I points, on up to GOMAXPROCS goroutines; where New does it,
// [WithParallelism] bounds them.
func (p *Prior) For(ctx context.Context, space *Space) (*Prior, error) {
	return p.on(ctx, space, 0)
}

// on is For on a bounded number of goroutines.
func (p *Prior) on(ctx context.Context, space *Space, workers int) (*Prior, error) {
	if space == nil || !p.space.sameParams(space) {
		return nil, errParams
	}
	if !space.finite() || p.config.fixedIndex {
		return p, nil
	}
	pool := distinct(space.encoded)
	if rows, _ := pool.Dims(); rows <= p.config.indexPoints {
		if n, _ := p.index.Dims(); n == rows && locate(pool, p.index) != nil {
			return p, nil
		}
	} else if locate(p.index, pool) != nil {
		return p, nil
	}
	q := *p
	q.lazy = new(lazyDigest)
	q.index = sampleRows(pool, p.config.indexPoints, p.config.seed, "index set")
	q.prototypes = make([]prototype, len(p.prototypes))
	for i, proto := range p.prototypes {
		n, _ := q.index.Dims()
		mean := make([]float64, n)
		var cross linalg.Dense
		if err := proto.carrier.at(ctx, parallel.Workers(workers, n), mean, nil, &cross, q.index, q.index); err != nil {
			return nil, err
		}
		cov := linalg.NewSym(n, nil)
		for r := range n {
			copy(cov.Row(r)[:r+1], cross.Row(r)[:r+1])
		}
		cov.Mirror()
		normal, jitter, err := jitteredNormal(mean, cov)
		if err != nil {
			return nil, numerical(err, "prototype %d on %d candidates", i, n)
		}
		q.report.PrototypeJitter = max(q.report.PrototypeJitter, jitter)
		q.prototypes[i] = prototype{normal: normal, carrier: proto.carrier}
	}
	return &q, nil
}

// jeffreysJitter returns the default jitter of Jeffreys divergences online.
func (p *Prior) jeffreysJitter() float64 {
	var top float64
	for _, q := range p.prototypes {
		top = max(top, q.normal.Trace())
	}
	n, _ := p.index.Dims()
	return jeffreysJitter * top / float64(n)
}
