package model

import (
	"context"
	"slices"
	"sync"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/cmbo/space"
	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/gaussian/multivariate"
	"github.com/gocmbo/cmbo/linalg"
)

// Weighted is the model of the paper's stage 3: the prior
//
//	μ0 = Σ w_i·μ_i,   k0 = Σ w_i²·k_i
//
// over the prototypes, conditioned on the data of the run, with weights by distance.
type Weighted struct {
	View
	jeffreys bool    // the distance that weighs prototypes, else Wasserstein
	jitter   float64 // absolute, of a Jeffreys divergence
	noise    float64 // noise variance where none is given, scaled units

	w       []float64
	obs     []int // entries of the data
	pending []int
	noises  []float64 // variances of the data
	data    gp.Conditioned
	full    *gp.Conditioned // data and the pending points

	priorMean, priorSD []float64 // at the points of the latest Predict

	distances      []float64 // of the latest State
	distanceJitter float64   // of the posterior on the index set
}

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

// workspaces returns n workspaces.
func (r *stepScratch) workspaces(n int) []multivariate.Workspace {
	if len(r.work) < n {
		r.work = make([]multivariate.Workspace, n)
	}
	return r.work
}

// resizeAhead resizes m with capacity for some more rows: the observations grow by
// one a step, and each would allocate anew.
func resizeAhead(m *linalg.Dense, rows, cols int) {
	m.Resize((rows+31)/32*32, cols)
	m.Resize(rows, cols)
}

// NewWeighted returns the model of a run, whose prototypes are weighed by the Wasserstein
// distance, or by the Jeffreys divergence with an absolute jitter on both covariances. noise
// is the noise variance where none is given.
func NewWeighted(p *Learned, jeffreys bool, jitter, noise float64, workers int) *Weighted {
	return &Weighted{View: NewView(p, workers), jeffreys: jeffreys, jitter: jitter, noise: noise}
}

// Fit conditions the prior on the data.
func (a *Weighted) Fit(ctx context.Context, d *space.Data) error {
	obs, pending, err := a.visitData(ctx, d)
	if err != nil {
		return err
	}
	noises := gp.Noise(d.NoiseVariance, len(obs), a.noise)
	w := a.weigh(d)
	// Where neither the prior nor what is known already has changed, the factor
	// grows by rows.
	same := 0
	if slices.Equal(w, a.w) {
		same = commonPrefix(a.obs, obs)
	}
	a.w, a.obs, a.pending, a.noises = w, obs, pending, noises
	resid := make([]float64, len(obs))
	for i, e := range obs {
		resid[i] = d.Y[i] - weightedSum(a.w, 1, a.visited[e].mean)
	}
	row := covariances(slices.Concat(obs, pending), a.cov)
	if err := a.data.Grow(same, row, noises, resid); err != nil {
		a.obs = nil
		return err
	}
	a.full, err = a.data.WithPending(len(pending), row, a.noise)
	return err
}

// commonPrefix returns how many of the first entries of a and b are equal.
func commonPrefix(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// covariances gives the covariances of entries by those of two of them.
func covariances(entries []int, cov func(e, f int) float64) gp.Row {
	return func(dst []float64, i int) error {
		for j := range dst {
			dst[j] = cov(entries[i], entries[j])
		}
		return nil
	}
}

// weightedSum returns Σ w_i^power·v_i for power 1 or 2.
func weightedSum(w []float64, power int, v []float64) float64 {
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
		return weightedSum(a.w, 2, p.variance)
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
	if err := a.priorAt(ctx, mean, sd, cross, all, x); err != nil {
		return err
	}
	a.priorMean, a.priorSD = append(a.priorMean[:0], mean...), append(a.priorSD[:0], sd...)
	gp.Deviations(a.priorSD)

	v := &r.white
	resizeAhead(v, len(all), len(mean))
	seen := cross.View(0, 0, len(a.obs), len(mean))
	err := a.data.Whiten(v, &seen)
	if err == nil {
		err = a.data.Update(mean, nil, v)
	}
	if err == nil && len(a.pending) > 0 {
		err = a.full.Whiten(v, cross)
	}
	if err == nil {
		err = a.full.Update(nil, sd, v)
	}
	gp.Deviations(sd)
	return wrap(err, "posterior at %d points", len(mean))
}

// priorAt sets mean and variance to the prior's at the rows of x, and cross to its
// covariances with these visited points.
func (a *Weighted) priorAt(ctx context.Context, mean, variance []float64, cross *linalg.Dense, visited []int, x *linalg.Dense) error {
	resizeAhead(cross, len(visited), len(mean))
	cross.Zero()
	clear(mean)
	clear(variance)
	if x == a.candidates {
		for i, w := range a.w {
			linalg.Axpy(mean, w, a.candMean[i])
			linalg.Axpy(variance, w*w, a.candVar[i])
			for r, e := range visited {
				linalg.Axpy(cross.Row(r), w*w, a.visited[e].overCand[i])
			}
		}
		return nil
	}
	m, v := make([]float64, len(mean)), make([]float64, len(mean))
	var c, points *linalg.Dense
	if len(visited) > 0 {
		c, points = new(linalg.Dense), a.pointsOf(visited)
	}
	for i, w := range a.w {
		if err := a.Learned.Prototypes[i].Evaluator.At(ctx, a.workers, m, v, c, points, x); err != nil {
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

// NoiseVariance returns the noise variance of values that come without one.
func (a *Weighted) NoiseVariance() float64 { return a.noise }

// Weights returns the weights of the latest Fit.
func (a *Weighted) Weights() []float64 { return a.w }

// Prior returns the means and deviations before the data at the points of the latest Predict.
func (a *Weighted) Prior() (mean, sd []float64) { return a.priorMean, a.priorSD }

// MaxValue estimates the largest value of the objective before the data.
func (a *Weighted) MaxValue() float64 { return a.largestMeans(a.w) }

// Jitter returns the amount that the latest Fit added to the covariance of the
// observations.
func (a *Weighted) Jitter() float64 { return a.data.Jitter() }

// posteriorOnIndex sets the mean and covariance of r to the posterior on the index
// set, conditioned on the data alone.
func (a *Weighted) posteriorOnIndex(r *stepScratch) error {
	n, _ := a.Learned.Index.Dims()
	r.mean = slices.Grow(r.mean[:0], n)[:n]
	clear(r.mean)
	mean, cov, cross := r.mean, &r.cov, &r.cross
	cov.Resize(n)
	cov.Zero()
	resizeAhead(cross, len(a.obs), n)
	cross.Zero()
	for i, w := range a.w {
		proto := a.Learned.Prototypes[i].Normal
		linalg.Axpy(mean, w, proto.Mean())
		cov.AddScaled(w*w, proto.Cov())
		for r, e := range a.obs {
			linalg.Axpy(cross.Row(r), w*w, a.visited[e].overIndex[i])
		}
	}
	err := a.data.Whiten(cross, cross)
	if err == nil {
		err = a.data.Update(mean, nil, cross)
	}
	if err == nil {
		err = a.data.UpdateCov(cov, cross)
	}
	return wrap(err, "posterior on the index set")
}

// jitteredNormal makes a Normal of a covariance that rounding may have left
// without a Cholesky factor, adding the smallest jitter that gives it one. It
// keeps its arguments, of which c is memory for the factor.
func jitteredNormal(c *linalg.Cholesky, mean []float64, cov *linalg.Sym) (*multivariate.Normal, float64, error) {
	jitter, err := c.FactorizeJitter(cov, gaussian.MaxJitter)
	if err != nil {
		return nil, jitter, err
	}
	if jitter > 0 {
		cov.AddDiag(jitter)
	}
	n, err := multivariate.AdoptNormal(mean, cov, c.Lower())
	return n, jitter, err
}
