package cmbo

import (
	"context"
	"errors"
	"math"
	"slices"

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
//
// What depends on prototypes and points alone is computed once a point and
// kept by prototype: weights enter afterwards.
type adaptive struct {
	prior    *Prior
	distance Distance
	jitter   float64 // absolute, for Jeffreys
	noise    float64 // noise variance where none is given, scaled units
	workers  int

	cand *linalg.Dense // bound candidates, nil in a parameter space
	// inIndex[r] is the index point that candidate r is, nil unless all are.
	inIndex []int
	// ofCand[p] is the candidate that index point p is, nil unless all are.
	ofCand   []int
	candMean [][]float64 // by prototype
	candVar  [][]float64
	candRow  map[string]int

	entries map[string]int // visited points
	points  []visited

	w       []float64
	data    Data
	obs     []int // entries of the data
	pending []int
	cond    gaussian.Conditioner // on the data
	full    gaussian.Conditioner // on the data and the pending points
	noises  []float64            // variances in cond

	pred adaptivePrediction
}

// visited is a point that was observed or asked, as the prototypes see it.
type visited struct {
	x         []float64
	cand      int         // row among the bound candidates, or -1
	mean      []float64   // by prototype
	variance  []float64   // by prototype
	overCand  [][]float64 // by prototype: covariances with the candidates
	overIndex [][]float64 // by prototype: covariances with the index set
	earlier   [][]float64 // by prototype: covariances with earlier points
}

// adaptivePrediction keeps what the latest Predict computed, for diagnostics.
type adaptivePrediction struct {
	priorMean, priorSD []float64
}

func newAdaptive(p *Prior, distance Distance, jitter, noise float64, workers int) *adaptive {
	return &adaptive{
		prior: p, distance: distance, jitter: jitter, noise: noise, workers: workers,
		entries: make(map[string]int), w: equalWeights(len(p.prototypes)),
	}
}

// Bind prepares for a fixed list of candidates.
func (a *adaptive) Bind(ctx context.Context, candidates *linalg.Dense) error {
	n, _ := candidates.Dims()
	a.cand = candidates
	a.candRow = make(map[string]int, n)
	for r := range n {
		key := rowKey(candidates.Row(r))
		if _, dup := a.candRow[key]; !dup {
			a.candRow[key] = r
		}
	}
	a.inIndex = locate(candidates, a.prior.index)
	a.ofCand = locate(a.prior.index, candidates)
	for _, p := range a.prior.prototypes {
		mean, variance := make([]float64, n), make([]float64, n)
		if a.inIndex != nil {
			m, s := p.normal.Mean(), p.normal.Cov()
			for r, i := range a.inIndex {
				mean[r], variance[r] = m[i], s.At(i, i)
			}
		} else if err := p.carrier.at(ctx, a.workers, mean, variance, nil, nil, candidates); err != nil {
			return err
		}
		a.candMean = append(a.candMean, mean)
		a.candVar = append(a.candVar, variance)
	}
	return nil
}

// locate finds each row of x among the rows of set, the first of equals; nil
// if one is not there.
func locate(x, set *linalg.Dense) []int {
	n, _ := set.Dims()
	at := make(map[string]int, n)
	for i := n - 1; i >= 0; i-- {
		at[rowKey(set.Row(i))] = i
	}
	rows, _ := x.Dims()
	idx := make([]int, rows)
	for r := range rows {
		i, ok := at[rowKey(x.Row(r))]
		if !ok {
			return nil
		}
		idx[r] = i
	}
	return idx
}

// Fit conditions the prior on the data.
func (a *adaptive) Fit(ctx context.Context, d Data) error {
	// Points are visited in the order of the log, so that what is kept of them
	// does not depend on when Fit was called.
	if _, err := a.visit(ctx, d.seen); err != nil {
		return err
	}
	obs, err := a.visit(ctx, d.X)
	if err != nil {
		return err
	}
	pending, err := a.visit(ctx, d.Pending)
	if err != nil {
		return err
	}
	w := equalWeights(len(a.prior.prototypes))
	if d.distances != nil {
		w = distanceWeights(d.distances)
	}
	noises := withDefault(d.NoiseVariance, len(obs), a.noise)
	// Where neither the prior nor what is known already has changed, the factor
	// grows by rows; the rows are the same as those of a factor made at once.
	known := len(a.obs)
	keep := slices.Equal(w, a.w) && known <= len(obs) && a.cond.Len() == known && a.cond.Jitter() == 0 &&
		slices.Equal(a.obs, obs[:known]) && slices.Equal(a.noises, noises[:known])
	if !keep {
		a.cond.Reset()
		known = 0
	}
	a.w, a.data, a.obs, a.pending, a.noises = w, d, obs, pending, noises
	resid := make([]float64, len(obs))
	for i, e := range obs {
		resid[i] = d.Y[i] - combine(a.w, 1, a.points[e].mean)
	}
	if err := a.grow(&a.cond, obs, noises, resid, known); err != nil {
		a.obs = nil
		return err
	}
	return a.fantasise(resid)
}

// grow extends a conditioner from known to all the entries; if that fails, the
// whole matrix is factorised with what jitter it needs.
func (a *adaptive) grow(c *gaussian.Conditioner, entries []int, noises, resid []float64, known int) error {
	var cross []float64
	for i := known; i < len(entries); i++ {
		cross = cross[:0]
		for _, e := range entries[:i] {
			cross = append(cross, a.cov(entries[i], e))
		}
		if err := c.Append(cross, a.cov(entries[i], entries[i]), noises[i], resid[i]); err != nil {
			if !errors.Is(err, gaussian.ErrNotPositiveDefinite) {
				return numerical(err, "conditioning on %d observations", len(entries))
			}
			k := linalg.NewSym(len(entries), nil)
			for r, e := range entries {
				for s, f := range entries[:r+1] {
					k.Set(r, s, a.cov(e, f))
				}
			}
			if err := c.Factorize(k, noises, resid); err != nil {
				return numerical(err, "conditioning on %d observations", len(entries))
			}
			return nil
		}
	}
	return c.SetResid(resid)
}

// fantasise conditions on the pending points as well. Their fantasised values
// are the posterior mean, which leaves the mean as it is, so that only the
// variance has to know of them and residuals do not matter.
func (a *adaptive) fantasise(resid []float64) error {
	a.full.Reset()
	if len(a.pending) == 0 {
		return nil
	}
	all := slices.Concat(a.obs, a.pending)
	noises := slices.Clone(a.noises)
	resid = slices.Clone(resid)
	for range a.pending {
		noises = append(noises, a.noise)
		resid = append(resid, 0)
	}
	return a.grow(&a.full, all, noises, resid, 0)
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

// visit makes entries for the rows of x and returns their numbers.
func (a *adaptive) visit(ctx context.Context, x *linalg.Dense) ([]int, error) {
	n := 0
	if x != nil {
		n, _ = x.Dims()
	}
	out := make([]int, n)
	for r := range n {
		key := rowKey(x.Row(r))
		e, ok := a.entries[key]
		if !ok {
			v, err := a.newVisited(ctx, x.Row(r), key)
			if err != nil {
				return nil, err
			}
			e = len(a.points)
			a.points = append(a.points, v)
			a.entries[key] = e
		}
		out[r] = e
	}
	return out, nil
}

// newVisited looks at a point through each prototype.
func (a *adaptive) newVisited(ctx context.Context, x []float64, key string) (visited, error) {
	v := visited{x: slices.Clone(x), cand: -1}
	if r, ok := a.candRow[key]; ok {
		v.cand = r
	}
	point := linalg.NewDense(1, len(x), v.x)
	// Earlier points that are candidates are read off the column over the
	// candidates; the others are evaluated.
	var others []int
	for f := range a.points {
		if a.points[f].cand < 0 || a.cand == nil {
			others = append(others, f)
		}
	}
	otherX := linalg.NewDense(len(others), len(x), nil)
	for i, f := range others {
		copy(otherX.Row(i), a.points[f].x)
	}
	var cross linalg.Dense
	column := func(c carrier, set *linalg.Dense) ([]float64, error) {
		if err := c.at(ctx, a.workers, nil, nil, &cross, point, set); err != nil {
			return nil, err
		}
		return slices.Clone(cross.Row(0)), nil
	}
	for i, p := range a.prior.prototypes {
		var overCand, overIndex []float64
		var err error
		switch {
		case a.cand == nil:
			overIndex, err = column(p.carrier, a.prior.index)
		case v.cand >= 0 && a.inIndex != nil:
			overIndex = p.normal.Cov().Row(a.inIndex[v.cand])
			overCand = gather(overIndex, a.inIndex)
		default:
			if overCand, err = column(p.carrier, a.cand); err != nil {
				return v, err
			}
			if a.ofCand != nil {
				overIndex = gather(overCand, a.ofCand)
			} else {
				overIndex, err = column(p.carrier, a.prior.index)
			}
		}
		if err != nil {
			return v, err
		}
		v.overCand = append(v.overCand, overCand)
		v.overIndex = append(v.overIndex, overIndex)

		mean, variance := []float64{0}, []float64{0}
		if v.cand >= 0 {
			mean[0], variance[0] = a.candMean[i][v.cand], a.candVar[i][v.cand]
		} else if err := p.carrier.at(ctx, 1, mean, variance, nil, nil, point); err != nil {
			return v, err
		}
		v.mean = append(v.mean, mean[0])
		v.variance = append(v.variance, variance[0])

		earlier := make([]float64, len(a.points))
		for f := range a.points {
			if r := a.points[f].cand; r >= 0 && overCand != nil {
				earlier[f] = overCand[r]
			}
		}
		if len(others) > 0 {
			e, err := column(p.carrier, otherX)
			if err != nil {
				return v, err
			}
			for k, f := range others {
				earlier[f] = e[k]
			}
		}
		v.earlier = append(v.earlier, earlier)
	}
	return v, nil
}

// gather returns v[idx[0]], v[idx[1]], ...
func gather(v []float64, idx []int) []float64 {
	out := make([]float64, len(idx))
	for i, k := range idx {
		out[i] = v[k]
	}
	return out
}

// Predict writes the posterior at the rows of x.
func (a *adaptive) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	all := slices.Concat(a.obs, a.pending)
	cross := linalg.NewDense(len(all), len(mean), nil)
	clear(mean)
	clear(sd)
	if x == a.cand && x != nil {
		for i, w := range a.w {
			linalg.Axpy(mean, w, a.candMean[i])
			linalg.Axpy(sd, w*w, a.candVar[i])
			for r, e := range all {
				linalg.Axpy(cross.Row(r), w*w, a.points[e].overCand[i])
			}
		}
	} else {
		visited := linalg.NewDense(len(all), a.prior.space.dim, nil)
		for r, e := range all {
			copy(visited.Row(r), a.points[e].x)
		}
		m, v := make([]float64, len(mean)), make([]float64, len(mean))
		var c *linalg.Dense
		if len(all) > 0 {
			c = new(linalg.Dense)
		}
		for i, w := range a.w {
			if err := a.prior.prototypes[i].carrier.at(ctx, a.workers, m, v, c, visited, x); err != nil {
				return err
			}
			linalg.Axpy(mean, w, m)
			linalg.Axpy(sd, w*w, v)
			if c != nil {
				cross.AddScaled(w*w, c)
			}
		}
	}
	a.pred.priorMean = append(a.pred.priorMean[:0], mean...)
	a.pred.priorSD = append(a.pred.priorSD[:0], sd...)
	sqrtAll(a.pred.priorSD)

	var v linalg.Dense
	rows := len(a.obs)
	seen := cross.View(0, 0, rows, len(mean))
	if err := a.cond.Whiten(&v, &seen); err != nil {
		return numerical(err, "posterior at %d points", len(mean))
	}
	if err := a.cond.UpdateMean(mean, &v); err != nil {
		return numerical(err, "posterior at %d points", len(mean))
	}
	c := &a.cond
	if len(a.pending) > 0 {
		c = &a.full
		if err := c.Whiten(&v, cross); err != nil {
			return numerical(err, "posterior at %d points", len(mean))
		}
	}
	if err := c.UpdateVariance(sd, &v); err != nil {
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

// maxValue returns Σ w_i·max_x μ_i(x) over the bound candidates, or over the
// index set in a parameter space.
func (a *adaptive) maxValue() float64 {
	var s float64
	for i, w := range a.w {
		m := a.prior.prototypes[i].normal.Mean()
		if a.cand != nil {
			m = a.candMean[i]
		}
		s += w * slices.Max(m)
	}
	return s
}

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
	mean := make([]float64, n)
	cov := linalg.NewSym(n, nil)
	cross := linalg.NewDense(len(a.obs), n, nil)
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
	post, jitter, err := jitteredNormal(mean, cov)
	if err != nil {
		return out, numerical(err, "posterior on the index set")
	}
	out.jitter = jitter
	out.distances = make([]float64, len(protos))
	work := make([]gaussian.Workspace, parallel.Workers(a.workers, len(protos)))
	err = parallel.For(ctx, a.workers, len(protos), func(w, i int) (err error) {
		if a.distance == Wasserstein {
			out.distances[i], err = work[w].W2(protos[i].normal, post)
			return err
		}
		out.distances[i], _, err = work[w].Jeffreys(protos[i].normal, post, a.jitter)
		if errors.Is(err, gaussian.ErrNotPositiveDefinite) {
			err = nil // infinitely far apart
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = numerical(err, "distance to a prototype")
	}
	return out, err
}

// jitteredNormal makes a Normal of a covariance that rounding may have left
// without a Cholesky factor, adding the smallest jitter that gives it one. It
// keeps its arguments.
func jitteredNormal(mean []float64, cov *linalg.Sym) (*gaussian.Normal, float64, error) {
	var c linalg.Cholesky
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
