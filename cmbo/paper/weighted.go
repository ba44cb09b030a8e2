package paper

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo"
	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/linalg"
)

// stepScratch holds the buffers of one step. Steps of all runs take it from a
// pool, because it is several times larger than a run's own state.
type stepScratch struct {
	mean         []float64
	cov          linalg.Sym
	cross, white linalg.Dense
	chol         linalg.Cholesky
	work         []multivariate.Workspace
}

var scratches = sync.Pool{New: func() any { return new(stepScratch) }}

func (s *stepScratch) workspaces(n int) []multivariate.Workspace {
	if len(s.work) < n {
		s.work = make([]multivariate.Workspace, n)
	}
	return s.work
}

// resizeAhead resizes m with capacity for some more rows: the observations grow by one a step, and each would allocate anew.
func resizeAhead(m *linalg.Dense, rows, cols int) {
	m.Resize((rows+31)/32*32, cols)
	m.Resize(rows, cols)
}

func (r *Surrogate) condition(ctx context.Context, d *cmbo.Data) error {
	obs, pending, err := r.visitData(ctx, d)
	if err != nil {
		return err
	}
	noises := gp.Noise(d.NoiseVariance, len(obs), r.noise)
	w := r.weigh(d)
	// Where neither the prior nor what is known already has changed, the factor grows by rows.
	same := 0
	if slices.Equal(w, r.w) {
		for same < min(len(obs), len(r.obs)) && obs[same] == r.obs[same] {
			same++
		}
	}
	r.w, r.obs, r.pending, r.noises = w, obs, pending, noises
	resid := make([]float64, len(obs))
	for i, e := range obs {
		var mean float64
		for k, w := range r.w {
			mean += w * r.visited[e].mean[k]
		}
		resid[i] = d.Y[i] - mean
	}
	all := r.known()
	row := func(dst []float64, i int) error {
		for j := range dst {
			dst[j] = r.cov(all[i], all[j])
		}
		return nil
	}
	if err := r.data.Grow(same, row, noises, resid); err != nil {
		r.obs = nil
		return err
	}
	r.full, err = r.data.WithPending(len(pending), row, r.noise)
	return err
}

// known returns the entries of the data and of the pending points.
func (r *Surrogate) known() []int { return slices.Concat(r.obs, r.pending) }

// cov returns the prior covariance of two visited points.
func (r *Surrogate) cov(e, f int) float64 {
	var s float64
	for i, w := range r.w {
		s += w * w * r.visited[max(e, f)].upTo[i][min(e, f)]
	}
	return s
}

func (r *Surrogate) predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	all := r.known()
	s := scratches.Get().(*stepScratch)
	defer scratches.Put(s)
	if err := r.priorAt(ctx, mean, sd, &s.cross, all, x); err != nil {
		return err
	}
	r.priorMean, r.priorSD = append(r.priorMean[:0], mean...), append(r.priorSD[:0], sd...)
	gp.Deviations(r.priorSD)

	resizeAhead(&s.white, len(all), len(mean))
	err := r.full.Whiten(&s.white, &s.cross)
	if err == nil {
		err = r.full.Update(mean, sd, &s.white)
	}
	gp.Deviations(sd)
	return wrap(err, "posterior at %d points", len(mean))
}

// sample writes the values at the rows of x of one function drawn from the posterior, pending
// points counted as in predict. It takes the covariances of n points under every prototype.
func (r *Surrogate) sample(ctx context.Context, dst []float64, x *linalg.Dense, rnd *rand.Rand) error {
	n, _ := x.Dims()
	cov := linalg.NewSym(n, nil)
	var cross, among linalg.Dense
	if err := r.priorAt(ctx, dst, make([]float64, n), &cross, r.known(), x); err != nil {
		return err
	}
	for i, w := range r.w {
		if err := r.prior.prototypes[i].evaluator.at(ctx, r.prior.config.workers, nil, nil, &among, x, x); err != nil {
			return err
		}
		for k := range n {
			linalg.Axpy(cov.Row(k)[:k+1], w*w, among.Row(k)[:k+1])
		}
	}
	cov.Mirror()
	if err := update(r.full, dst, cov, &cross); err != nil {
		return wrap(err, "joint posterior at %d points", n)
	}
	return gp.AddNoise(dst, cov, rnd)
}

// priorAt sets mean and variance to the prior's at the rows of x, and cross to its covariances with these visited points.
func (r *Surrogate) priorAt(ctx context.Context, mean, variance []float64, cross *linalg.Dense, visited []int,
	x *linalg.Dense) error {
	resizeAhead(cross, len(visited), len(mean))
	cross.Zero()
	clear(mean)
	clear(variance)
	if x == r.candidates {
		for i, w := range r.w {
			linalg.Axpy(mean, w, r.candMean[i])
			linalg.Axpy(variance, w*w, r.candVar[i])
			for k, e := range visited {
				linalg.Axpy(cross.Row(k), w*w, r.visited[e].overCand[i])
			}
		}
		return nil
	}
	m, v := make([]float64, len(mean)), make([]float64, len(mean))
	var c, points *linalg.Dense
	if len(visited) > 0 {
		c, points = new(linalg.Dense), r.pointsOf(visited)
	}
	for i, w := range r.w {
		if err := r.prior.prototypes[i].evaluator.at(ctx, r.prior.config.workers, m, v, c, points, x); err != nil {
			return err
		}
		linalg.Axpy(mean, w, m)
		linalg.Axpy(variance, w*w, v)
		if c != nil {
			cross.AddScaled(w*w, c)
		}
	}
	return nil
}

// posteriorOnIndex sets the mean and covariance of s to the posterior on the index set, conditioned on the data alone.
func (r *Surrogate) posteriorOnIndex(s *stepScratch) error {
	n, _ := r.prior.index.Dims()
	s.mean = slices.Grow(s.mean[:0], n)[:n]
	clear(s.mean)
	s.cov.Resize(n)
	s.cov.Zero()
	resizeAhead(&s.cross, len(r.obs), n)
	s.cross.Zero()
	for i, w := range r.w {
		proto := r.prior.prototypes[i].normal
		linalg.Axpy(s.mean, w, proto.Mean())
		s.cov.AddScaled(w*w, proto.Cov())
		for k, e := range r.obs {
			linalg.Axpy(s.cross.Row(k), w*w, r.visited[e].overIndex[i])
		}
	}
	return wrap(update(&r.data, s.mean, &s.cov, &s.cross), "posterior on the index set")
}

// update turns prior moments into posterior ones; cross is overwritten.
func update(c *gp.Conditioned, mean []float64, cov *linalg.Sym, cross *linalg.Dense) error {
	err := c.Whiten(cross, cross)
	if err == nil {
		err = c.Update(mean, nil, cross)
	}
	if err == nil {
		err = c.UpdateCov(cov, cross)
	}
	return err
}
