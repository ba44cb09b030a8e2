package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// Weighted is the model of the paper's stage 3: the prior
//
//	μ0 = Σ w_i·μ_i,   k0 = Σ w_i²·k_i
//
// over the prototypes, conditioned on the data of the run. The weights follow
// from the distances that came with the newest trial told.
type Weighted struct {
	View
	jeffreys bool    // the distance that weighs, else Wasserstein
	jitter   float64 // absolute, for Jeffreys
	noise    float64 // noise variance where none is given, scaled units

	w       []float64
	obs     []int // entries of the data
	pending []int
	cond    gaussian.Conditioner // on the data
	full    gaussian.Conditioner // on the data and the pending points
	noises  []float64            // variances in cond

	prior          Moments
	distances      []float64 // of the latest State
	distanceJitter float64
}

// stepScratch holds the buffers of one step. Steps of all runs take it from a
// pool, because it is several times larger than a run's own state.
type stepScratch struct {
	mean         []float64
	cov          linalg.Sym
	cross, white linalg.Dense
	chol         linalg.Cholesky
	work         []gaussian.Workspace
}

var scratches = sync.Pool{New: func() any { return new(stepScratch) }}

// workspaces returns n workspaces.
func (r *stepScratch) workspaces(n int) []gaussian.Workspace {
	if len(r.work) < n {
		r.work = make([]gaussian.Workspace, n)
	}
	return r.work
}

// resizeAhead resizes m with capacity for some more rows: the observations grow by
// one a step, and each would allocate anew.
func resizeAhead(m *linalg.Dense, rows, cols int) {
	m.Resize((rows+31)/32*32, cols)
	m.Resize(rows, cols)
}

// NewWeighted returns the model of a run that weighs by the Wasserstein distance or
// the Jeffreys divergence. jitter is the absolute amount added to both
// covariances of a divergence, noise the noise variance where none is given.
func NewWeighted(p *Prior, jeffreys bool, jitter, noise float64, workers int) *Weighted {
	return &Weighted{
		View: NewView(p, workers), jeffreys: jeffreys, jitter: jitter, noise: noise, w: equalWeights(len(p.Prototypes)),
	}
}

// Fit conditions the prior on the data.
func (a *Weighted) Fit(ctx context.Context, d *Data) error {
	obs, pending, err := a.visitData(ctx, d)
	if err != nil {
		return err
	}
	w := equalWeights(len(a.Prior.Prototypes))
	if distances := d.newestState(); distances != nil {
		w = distanceWeights(distances)
	}
	noises := withDefault(d.NoiseVariance, len(obs), a.noise)
	// Where neither the prior nor what is known already has changed, the factor
	// grows by rows.
	known := len(a.obs)
	if !slices.Equal(w, a.w) || known > len(obs) || !slices.Equal(a.obs, obs[:known]) || !slices.Equal(a.noises, noises[:known]) {
		known = 0
	}
	a.w, a.obs, a.pending, a.noises = w, obs, pending, noises
	resid := make([]float64, len(obs))
	for i, e := range obs {
		resid[i] = d.Y[i] - combine(a.w, 1, a.visited[e].mean)
	}
	if err := growFactor(&a.cond, a.cov, obs, noises, resid, known); err != nil {
		a.obs = nil
		return err
	}
	a.full.Reset()
	if len(pending) == 0 {
		return nil
	}
	return fantasise(&a.full, a.cov, obs, pending, noises, a.noise, resid)
}

// combine returns Σ w_i^power·v_i for power 1 or 2.
func combine(w []float64, power int, v []float64) float64 {
	var s float64
	for i, x := range v {
		f := w[i]
		if power == 2 {
			f *= w[i]
		}
		s += f * x
	}
	return s
}

// cov returns the prior covariance of two visited points.
func (a *Weighted) cov(e, f int) float64 {
	if e < f {
		e, f = f, e
	}
	p := &a.visited[e]
	if e == f {
		return combine(a.w, 2, p.variance)
	}
	var s float64
	for i, w := range a.w {
		s += w * w * p.earlier[i][f]
	}
	return s
}

// Predict writes the posterior at the rows of x.
func (a *Weighted) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	all := slices.Concat(a.obs, a.pending)
	r := scratches.Get().(*stepScratch)
	defer scratches.Put(r)
	cross := &r.cross
	resizeAhead(cross, len(all), len(mean))
	cross.Zero()
	clear(mean)
	clear(sd)
	for i, w := range a.w {
		if x == a.candidates && x != nil {
			linalg.Axpy(mean, w, a.candMean[i])
			linalg.Axpy(sd, w*w, a.candVar[i])
			for r, e := range all {
				linalg.Axpy(cross.Row(r), w*w, a.visited[e].overCand[i])
			}
			continue
		}
		m, v, c, err := a.component(ctx, i, all, x, len(mean))
		if err != nil {
			return err
		}
		linalg.Axpy(mean, w, m)
		linalg.Axpy(sd, w*w, v)
		cross.AddScaled(w*w, c)
	}
	a.prior.set(mean, sd)

	v := &r.white
	resizeAhead(v, len(all), len(mean))
	rows := len(a.obs)
	seen := cross.View(0, 0, rows, len(mean))
	if err := a.cond.Whiten(v, &seen); err != nil {
		return wrap(err, "posterior at %d points", len(mean))
	}
	if err := a.cond.UpdateMean(mean, v); err != nil {
		return wrap(err, "posterior at %d points", len(mean))
	}
	c := &a.cond
	if len(a.pending) > 0 {
		c = &a.full
		if err := c.Whiten(v, cross); err != nil {
			return wrap(err, "posterior at %d points", len(mean))
		}
	}
	if err := c.UpdateVariance(sd, v); err != nil {
		return wrap(err, "posterior at %d points", len(mean))
	}
	sqrtAll(sd)
	return nil
}

// NoiseVariance returns the noise variance of values that come without one.
func (a *Weighted) NoiseVariance() float64 { return a.noise }

// Weights returns the weights of the latest Fit.
func (a *Weighted) Weights() []float64 { return a.w }

// PriorMoments returns the prior at the points of the latest Predict.
func (a *Weighted) PriorMoments() Moments { return a.prior }

// MaxValue estimates the largest value of the objective before the data.
func (a *Weighted) MaxValue() float64 { return a.largestMeans(a.w) }

// Jitter returns the amount that the latest Fit added to the covariance of the
// observations.
func (a *Weighted) Jitter() float64 { return a.cond.Jitter() }

// Distances returns what the latest State did.
func (a *Weighted) Distances() []float64 { return a.distances }

// CheckState reports numbers that State cannot have returned.
func (a *Weighted) CheckState(state []float64) error {
	if len(state) != len(a.Prior.Prototypes) {
		return fmt.Errorf("%d distances to %d prototypes", len(state), len(a.Prior.Prototypes))
	}
	for _, d := range state {
		if !(d >= 0) {
			return fmt.Errorf("distance %g", d)
		}
	}
	return nil
}

// DistanceJitter returns the amount that the latest State added to the posterior's
// covariance on the index set.
func (a *Weighted) DistanceJitter() float64 { return a.distanceJitter }

// State returns the distance of each prototype to the posterior on the index set,
// conditioned on the data alone: they weigh the prototypes once the proposal is
// told. With a single prototype there is nothing to weigh, and no distance is
// computed.
func (a *Weighted) State(ctx context.Context) ([]float64, error) {
	a.distances, a.distanceJitter = nil, 0
	protos := a.Prior.Prototypes
	if len(protos) == 1 {
		return nil, nil
	}
	n, _ := a.Prior.Index.Dims()
	r := scratches.Get().(*stepScratch)
	defer scratches.Put(r)
	r.mean = slices.Grow(r.mean[:0], n)[:n]
	clear(r.mean)
	mean, cov, cross := r.mean, &r.cov, &r.cross
	cov.Resize(n)
	cov.Zero()
	resizeAhead(cross, len(a.obs), n)
	cross.Zero()
	for i, w := range a.w {
		linalg.Axpy(mean, w, protos[i].Normal.Mean())
		cov.AddScaled(w*w, protos[i].Normal.Cov())
		for r, e := range a.obs {
			linalg.Axpy(cross.Row(r), w*w, a.visited[e].overIndex[i])
		}
	}
	if err := a.cond.Whiten(cross, cross); err != nil {
		return nil, wrap(err, "posterior on the index set")
	}
	if err := a.cond.UpdateMean(mean, cross); err != nil {
		return nil, wrap(err, "posterior on the index set")
	}
	if err := a.cond.UpdateCov(cov, cross); err != nil {
		return nil, wrap(err, "posterior on the index set")
	}
	distances := make([]float64, len(protos))
	normals := make([]*gaussian.Normal, len(protos))
	for i := range protos {
		normals[i] = protos[i].Normal
	}
	// The posterior borrows from the scratch memory, which it does not outlive.
	var err error
	if !a.jeffreys {
		a.distanceJitter, err = a.toWasserstein(ctx, r, distances, normals)
	} else {
		a.distanceJitter, err = a.toJeffreys(ctx, r, distances, normals)
	}
	a.distances = distances
	return distances, wrap(err, "distance of the posterior on the index set to a prototype")
}

// toWasserstein sets dst to the distances of the posterior in r to the normals and
// returns the jitter that its factor needed.
func (a *Weighted) toWasserstein(ctx context.Context, r *stepScratch, dst []float64, normals []*gaussian.Normal) (float64, error) {
	post, jitter, err := adoptJittered(&r.chol, r.mean, &r.cov)
	if err != nil {
		return jitter, err
	}
	work := r.workspaces(parallel.Workers(a.workers, len(normals)))
	return jitter, parallel.For(ctx, a.workers, len(normals), func(w, i int) (err error) {
		dst[i], err = work[w].W2(normals[i], post)
		return err
	})
}

// toJeffreys is toWasserstein for the divergence, whose own jitter mostly does. A
// divergence that is not defined for want of definiteness is infinite.
func (a *Weighted) toJeffreys(ctx context.Context, r *stepScratch, dst []float64, normals []*gaussian.Normal) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	work := &r.workspaces(1)[0]
	post, err := gaussian.AdoptNormal(r.mean, &r.cov, nil)
	if err == nil {
		_, err = work.JeffreysTo(dst, post, normals, a.jitter)
	}
	if !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
		return 0, err
	}
	post, jitter, err := adoptJittered(&r.chol, r.mean, &r.cov)
	if err != nil {
		return jitter, err
	}
	for i, n := range normals {
		dst[i], _, err = work.Jeffreys(post, n, a.jitter)
		if err != nil && !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
			return jitter, err
		}
	}
	return jitter, nil
}

// JitteredNormal makes a Normal of a covariance that rounding may have left
// without a Cholesky factor, adding the smallest jitter that gives it one. It
// keeps its arguments.
func JitteredNormal(mean []float64, cov *linalg.Sym) (*gaussian.Normal, float64, error) {
	return adoptJittered(new(linalg.Cholesky), mean, cov)
}

// adoptJittered is JitteredNormal on the memory of c.
func adoptJittered(c *linalg.Cholesky, mean []float64, cov *linalg.Sym) (*gaussian.Normal, float64, error) {
	jitter, err := c.FactorizeJitter(cov, maxJitter)
	if err != nil {
		return nil, jitter, err
	}
	if jitter > 0 {
		cov.AddDiag(jitter)
	}
	n, err := gaussian.AdoptNormal(mean, cov, c.Lower())
	return n, jitter, err
}
