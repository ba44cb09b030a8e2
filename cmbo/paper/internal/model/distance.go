package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/internal/parallel"
)

// ByDistance weighs prototypes as the paper does, by their distances to the
// posterior that chose the newest proposal told.
type ByDistance struct {
	jeffreys bool    // else Wasserstein
	jitter   float64 // absolute, for Jeffreys
	n        int     // prototypes

	distances []float64 // of the latest State
	used      float64   // the jitter of the posterior on the index set
}

// NewByDistance returns the weigher of n prototypes by the Wasserstein distance, or
// by the Jeffreys divergence with an absolute jitter on both covariances.
func NewByDistance(n int, jeffreys bool, jitter float64) *ByDistance {
	return &ByDistance{jeffreys: jeffreys, jitter: jitter, n: n}
}

// weigh returns the weights for d, which are not negative and add up to 1.
func (b *ByDistance) weigh(d *space.Data) []float64 {
	if distances := newestState(d); distances != nil {
		return distanceWeights(distances)
	}
	return equalWeights(b.n)
}

// State returns the distance of each prototype to the posterior on the index set,
// conditioned on the data alone. With a single prototype there is nothing to
// weigh, and no distance is computed.
func (b *ByDistance) State(ctx context.Context, m *Weighted) ([]float64, error) {
	b.distances, b.used = nil, 0
	if b.n == 1 {
		return nil, nil
	}
	r := scratches.Get().(*stepScratch)
	defer scratches.Put(r)
	if err := m.posteriorOnIndex(r); err != nil {
		return nil, err
	}
	distances := make([]float64, b.n)
	normals := make([]*multivariate.Normal, b.n)
	for i := range normals {
		normals[i] = m.Learned.Prototypes[i].Normal
	}
	// The posterior borrows from the scratch memory, which it does not outlive.
	var err error
	if b.jeffreys {
		b.used, err = b.toJeffreys(ctx, r, distances, normals)
	} else {
		b.used, err = b.toWasserstein(ctx, m.workers, r, distances, normals)
	}
	b.distances = distances
	return distances, wrap(err, "distance of the posterior on the index set to a prototype")
}

// Distances returns what the latest State did.
func (b *ByDistance) Distances() []float64 { return b.distances }

// Jitter returns the amount that the latest State added to the posterior's
// covariance on the index set.
func (b *ByDistance) Jitter() float64 { return b.used }

// CheckState reports numbers that State cannot have returned.
func (b *ByDistance) CheckState(state []float64) error {
	if len(state) != b.n {
		return fmt.Errorf("%d distances to %d prototypes", len(state), b.n)
	}
	for _, d := range state {
		if !(d >= 0) {
			return fmt.Errorf("distance %g", d)
		}
	}
	return nil
}

// toWasserstein sets dst to the distances of the posterior in r to the normals and
// returns the jitter that its factor needed.
func (b *ByDistance) toWasserstein(ctx context.Context, workers int, r *stepScratch, dst []float64, normals []*multivariate.Normal) (float64, error) {
	post, jitter, err := adoptJittered(&r.chol, r.mean, &r.cov)
	if err != nil {
		return jitter, err
	}
	work := r.workspaces(parallel.Workers(workers, len(normals)))
	return jitter, parallel.For(ctx, workers, len(normals), func(w, i int) (err error) {
		dst[i], err = work[w].W2(normals[i], post)
		return err
	})
}

// toJeffreys is toWasserstein for the divergence, whose own jitter mostly does. A
// divergence that is not defined for want of definiteness is infinite.
func (b *ByDistance) toJeffreys(ctx context.Context, r *stepScratch, dst []float64, normals []*multivariate.Normal) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	work := &r.workspaces(1)[0]
	post, err := multivariate.AdoptNormal(r.mean, &r.cov, nil)
	if err == nil {
		_, err = work.JeffreysTo(dst, post, normals, b.jitter)
	}
	if !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		return 0, err
	}
	post, jitter, err := adoptJittered(&r.chol, r.mean, &r.cov)
	if err != nil {
		return jitter, err
	}
	for i, n := range normals {
		dst[i], _, err = work.Jeffreys(post, n, b.jitter)
		if err != nil && !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
			return jitter, err
		}
	}
	return jitter, nil
}

// equalWeights returns n weights 1/n.
func equalWeights(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// distanceWeights turns distances into weights,
//
//	w_i = e^(1−d_i/d_max) / Σ_j e^(1−d_j/d_max),
//
// (paper, algorithm 1, lines 16-17). d_max is the largest finite distance; an
// infinite distance counts as ratio 1, as the farthest does. If d_max is 0 all
// finite distances are, and they count as ratio 0. Ratios lie in [0, 1], so no
// weight is more than e times another.
func distanceWeights(d []float64) []float64 {
	if len(d) == 0 {
		return nil
	}
	top := MaxFinite(d)
	w := make([]float64, len(d))
	var sum float64
	for i, v := range d {
		ratio := 1.0
		switch {
		case math.IsInf(v, 1):
		case top > 0:
			ratio = v / top
		default:
			ratio = 0
		}
		w[i] = math.Exp(1 - ratio)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// MaxFinite returns the largest finite distance, 0 if there is none.
func MaxFinite(d []float64) float64 {
	var top float64
	for _, v := range d {
		if !math.IsInf(v, 1) {
			top = max(top, v)
		}
	}
	return top
}
