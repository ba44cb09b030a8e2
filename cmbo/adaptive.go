package cmbo

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/internal/parallel"
	"github.com/gocmbo/cmbo/linalg"
)

// adaptive is the surrogate of the paper's stage 3: the prior
//
//	μ0 = Σ w_i·μ_i,   k0 = Σ w_i²·k_i
//
// over the prototypes, conditioned on the data of the run. The weights follow
// from the distances that came with the newest trial told.
type adaptive struct {
	view
	distance Distance
	jitter   float64 // absolute, for Jeffreys
	noise    float64 // noise variance where none is given, scaled units

	w       []float64
	obs     []int // entries of the data
	pending []int
	cond    gaussian.Conditioner // on the data
	full    gaussian.Conditioner // on the data and the pending points
	noises  []float64            // variances in cond

	pred priorMoments
}

// room is the memory that a step uses and leaves to the next one, of any run:
// it is several times what a run itself holds, which it must not keep while it
// waits for measurements.
type room struct {
	mean         []float64
	cov          linalg.Sym
	cross, white linalg.Dense
	chol         linalg.Cholesky
	work         []gaussian.Workspace
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// workspaces returns n workspaces.
func (r *room) workspaces(n int) []gaussian.Workspace {
	if len(r.work) < n {
		r.work = make([]gaussian.Workspace, n)
	}
	return r.work
}

// resizeAhead resizes m with room for some more rows: the observations grow by one
// a step, and memory would be made anew for each.
func resizeAhead(m *linalg.Dense, rows, cols int) {
	m.Resize((rows+31)/32*32, cols)
	m.Resize(rows, cols)
}

func newAdaptive(p *Prior, distance Distance, jitter, noise float64, workers int) *adaptive {
	return &adaptive{
		view: newView(p, workers), distance: distance, jitter: jitter, noise: noise, w: equalWeights(len(p.prototypes)),
	}
}

// Fit conditions the prior on the data.
func (a *adaptive) Fit(ctx context.Context, d Data) error {
	obs, pending, err := a.visitData(ctx, d)
	if err != nil {
		return err
	}
	w := equalWeights(len(a.prior.prototypes))
	if d.distances != nil {
		w = distanceWeights(d.distances)
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
		resid[i] = d.Y[i] - combine(a.w, 1, a.points[e].mean)
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
func (a *adaptive) cov(e, f int) float64 {
	if e < f {
		e, f = f, e
	}
	p := &a.points[e]
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
func (a *adaptive) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	all := slices.Concat(a.obs, a.pending)
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	cross := &r.cross
	resizeAhead(cross, len(all), len(mean))
	cross.Zero()
	clear(mean)
	clear(sd)
	for i, w := range a.w {
		if x == a.cand && x != nil {
			linalg.Axpy(mean, w, a.candMean[i])
			linalg.Axpy(sd, w*w, a.candVar[i])
			for r, e := range all {
				linalg.Axpy(cross.Row(r), w*w, a.points[e].overCand[i])
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
	a.pred.mean = append(a.pred.mean[:0], mean...)
	a.pred.sd = append(a.pred.sd[:0], sd...)
	sqrtAll(a.pred.sd)

	v := &r.white
	resizeAhead(v, len(all), len(mean))
	rows := len(a.obs)
	seen := cross.View(0, 0, rows, len(mean))
	if err := a.cond.Whiten(v, &seen); err != nil {
		return numerical(err, "posterior at %d points", len(mean))
	}
	if err := a.cond.UpdateMean(mean, v); err != nil {
		return numerical(err, "posterior at %d points", len(mean))
	}
	c := &a.cond
	if len(a.pending) > 0 {
		c = &a.full
		if err := c.Whiten(v, cross); err != nil {
			return numerical(err, "posterior at %d points", len(mean))
		}
	}
	if err := c.UpdateVariance(sd, v); err != nil {
		return numerical(err, "posterior at %d points", len(mean))
	}
	sqrtAll(sd)
	return nil
}

// NoiseVariance returns the noise variance of values that come without one.
func (a *adaptive) NoiseVariance() float64 { return a.noise }

func sqrtAll(v []float64) {
	for i, x := range v {
		v[i] = math.Sqrt(max(x, 0))
	}
}

func (a *adaptive) weights() []float64    { return a.w }
func (a *adaptive) priorAt() priorMoments { return a.pred }
func (a *adaptive) maxValue() float64     { return a.largestMeans(a.w) }
func (a *adaptive) jitterUsed() float64   { return a.cond.Jitter() }

// measured is what the distances to the posterior were, and what they needed.
type measured struct {
	distances []float64
	jitter    float64 // added to the posterior's covariance to factorise it
}

// measure returns the distance of each prototype to the posterior on the index
// set, conditioned on the data alone. With a single prototype there is nothing
// to weigh, and no distance is computed.
func (a *adaptive) measure(ctx context.Context) (measured, error) {
	var out measured
	protos := a.prior.prototypes
	if len(protos) == 1 {
		return out, nil
	}
	n, _ := a.prior.index.Dims()
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	r.mean = slices.Grow(r.mean[:0], n)[:n]
	clear(r.mean)
	mean, cov, cross := r.mean, &r.cov, &r.cross
	cov.Resize(n)
	cov.Zero()
	resizeAhead(cross, len(a.obs), n)
	cross.Zero()
	for i, w := range a.w {
		linalg.Axpy(mean, w, protos[i].normal.Mean())
		cov.AddScaled(w*w, protos[i].normal.Cov())
		for r, e := range a.obs {
			linalg.Axpy(cross.Row(r), w*w, a.points[e].overIndex[i])
		}
	}
	if err := a.cond.Whiten(cross, cross); err != nil {
		return out, numerical(err, "posterior on the index set")
	}
	if err := a.cond.UpdateMean(mean, cross); err != nil {
		return out, numerical(err, "posterior on the index set")
	}
	if err := a.cond.UpdateCov(cov, cross); err != nil {
		return out, numerical(err, "posterior on the index set")
	}
	out.distances = make([]float64, len(protos))
	normals := make([]*gaussian.Normal, len(protos))
	for i := range protos {
		normals[i] = protos[i].normal
	}
	// The Normal of the posterior borrows from the room and is gone when it is left.
	var err error
	if a.distance == Wasserstein {
		out.jitter, err = a.wasserstein(ctx, r, out.distances, normals)
	} else {
		out.jitter, err = a.jeffreys(ctx, r, out.distances, normals)
	}
	if err != nil && ctx.Err() == nil {
		err = numerical(err, "distance of the posterior on the index set to a prototype")
	}
	return out, err
}

// wasserstein sets dst to the distances of the room's posterior to the normals and
// returns the jitter that its factor needed.
func (a *adaptive) wasserstein(ctx context.Context, r *room, dst []float64, normals []*gaussian.Normal) (float64, error) {
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

// jeffreys is wasserstein for the divergence, whose own jitter mostly does. A
// divergence that is not defined for want of definiteness is infinite.
func (a *adaptive) jeffreys(ctx context.Context, r *room, dst []float64, normals []*gaussian.Normal) (float64, error) {
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

// jitteredNormal makes a Normal of a covariance that rounding may have left
// without a Cholesky factor, adding the smallest jitter that gives it one. It
// keeps its arguments.
func jitteredNormal(mean []float64, cov *linalg.Sym) (*gaussian.Normal, float64, error) {
	return adoptJittered(new(linalg.Cholesky), mean, cov)
}

// adoptJittered is jitteredNormal on the memory of c.
func adoptJittered(c *linalg.Cholesky, mean []float64, cov *linalg.Sym) (*gaussian.Normal, float64, error) {
	jitter, err := c.FactorizeJitter(cov, carrierJitter)
	if err != nil {
		return nil, jitter, err
	}
	if jitter > 0 {
		cov.AddDiag(jitter)
	}
	n, err := gaussian.AdoptNormal(mean, cov, c.Lower())
	return n, jitter, err
}
