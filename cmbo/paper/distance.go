package paper

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/each"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/internal/stat"
)

// weigh returns the weights for d, which are not negative and add up to 1: by the
// distances to the posterior that chose the newest proposal told, in the order of asking,
// which came back as its state. Points of the initial design and enqueued ones have none.
func (r *Surrogate) weigh(d *cmbo.Data) []float64 {
	newest, distances := 0, []float64(nil)
	for i, t := range d.Trials {
		if t > newest && i < len(d.States) && d.States[i] != nil {
			newest, distances = t, d.States[i]
		}
	}
	if distances == nil {
		n := len(r.prior.prototypes)
		return slices.Repeat([]float64{1 / float64(n)}, n)
	}
	return distanceWeights(distances)
}

// compare finds the distance of each prototype to the posterior on the index set, conditioned on
// the data alone. With a single prototype there is nothing to weigh, and no distance is computed.
func (r *Surrogate) compare(ctx context.Context) error {
	r.distances, r.distanceJitter = nil, 0
	normals := each.Of(r.prior.prototypes, func(p prototype) *multivariate.Normal { return p.normal })
	if len(normals) == 1 {
		return nil
	}
	s := scratches.Get().(*stepScratch)
	defer scratches.Put(s)
	if err := r.posteriorOnIndex(s); err != nil {
		return err
	}
	// The posterior borrows from the scratch memory, which it does not outlive.
	r.distances = make([]float64, len(normals))
	var err error
	if r.prior.config.variant.WeightDistance == Jeffreys {
		r.distanceJitter, err = s.toJeffreys(ctx, r.distances, normals, r.jitter)
	} else {
		r.distanceJitter, err = s.toWasserstein(ctx, r.prior.config.workers, r.distances, normals)
	}
	return wrap(err, "distance of the posterior on the index set to a prototype")
}

// toWasserstein sets dst to the distances of the posterior in s to the normals and returns the jitter that its factor needed.
func (s *stepScratch) toWasserstein(ctx context.Context, workers int, dst []float64,
	normals []*multivariate.Normal) (float64, error) {
	post, jitter, err := jitteredNormal(&s.chol, s.mean, &s.cov)
	if err != nil {
		return jitter, err
	}
	work := s.workspaces(parallel.Workers(workers, len(normals)))
	return jitter, parallel.For(ctx, workers, len(normals), func(w, i int) (err error) {
		dst[i], err = work[w].W2(normals[i], post)
		return err
	})
}

// toJeffreys is toWasserstein for the divergence, with an absolute jitter on both covariances. Where that leaves one of
// them singular, the posterior gets the jitter of its factor besides; what is not defined even so is infinite.
func (s *stepScratch) toJeffreys(ctx context.Context, dst []float64, normals []*multivariate.Normal,
	own float64) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	work := &s.workspaces(1)[0]
	post, err := multivariate.AdoptNormal(s.mean, &s.cov, nil)
	if err == nil {
		err = work.JeffreysTo(dst, post, normals, own)
	}
	if !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		return 0, err
	}
	post, jitter, err := jitteredNormal(&s.chol, s.mean, &s.cov)
	if err != nil {
		return jitter, err
	}
	for i, n := range normals {
		dst[i], err = work.Jeffreys(post, n, own)
		if err != nil && !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
			return jitter, err
		}
	}
	return jitter, nil
}

// distanceWeights turns distances into weights,
//
//	w_i = e^(1−d_i/d_max) / Σ_j e^(1−d_j/d_max),
//
// (paper, algorithm 1, lines 18-19). d_max is the largest finite distance; an infinite distance
// counts as ratio 1, as the farthest does. If d_max is 0 all finite distances are, and they count
// as ratio 0. Ratios lie in [0, 1], so no weight is more than e times another.
func distanceWeights(d []float64) []float64 {
	top := max(maxFinite(d), math.SmallestNonzeroFloat64)
	w := each.Of(d, func(v float64) float64 { return math.Exp(1 - min(v/top, 1)) })
	stat.Normalise(w)
	return w
}

// maxFinite returns the largest finite distance, 0 if there is none.
func maxFinite(d []float64) float64 {
	var top float64
	for _, v := range d {
		if !math.IsInf(v, 1) {
			top = max(top, v)
		}
	}
	return top
}
