package cmbo

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// mixture is the surrogate of [WithMixture]: a priori the new task is a draw
// from one of the clusters, of cluster i with probability π_i, its share of the
// tasks,
//
//	f ~ Σ π_i·GP(μ_i, k_i),
//
// and the posterior is again a mixture: each component conditioned on the data,
// with probability proportional to π_i·N(y; μ_i(X), k_i(X, X) + σ²I). Mean and
// variance are those of the mixture,
//
//	m = Σ w_i·m_i,   v = Σ w_i·(v_i + (m_i − m)²).
type mixture struct {
	view
	noise  float64 // noise variance where none is given, scaled units
	shares []float64

	w       []float64
	obs     []int // entries of the data
	pending []int
	noises  []float64
	conds   []gaussian.Conditioner // on the data, by prototype
	fulls   []gaussian.Conditioner // on the data and the pending points

	pred priorMoments
}

func newMixture(p *Prior, noise float64, workers int) *mixture {
	m := &mixture{view: newView(p, workers), noise: noise, shares: make([]float64, len(p.prototypes))}
	for _, l := range p.labels {
		m.shares[l] += 1 / float64(len(p.labels))
	}
	m.conds = make([]gaussian.Conditioner, len(m.shares))
	m.fulls = make([]gaussian.Conditioner, len(m.shares))
	return m
}

// Fit conditions every component on the data.
func (m *mixture) Fit(ctx context.Context, d Data) error {
	obs, pending, err := m.visitData(ctx, d)
	if err != nil {
		return err
	}
	noises := withDefault(d.NoiseVariance, len(obs), m.noise)
	known := len(m.obs)
	if known > len(obs) || !slices.Equal(m.obs, obs[:known]) || !slices.Equal(m.noises, noises[:known]) {
		known = 0
	}
	m.obs, m.pending, m.noises = obs, pending, noises
	evidence := make([]float64, len(m.shares))
	resid := make([]float64, len(obs))
	for i := range m.conds {
		cov := func(e, f int) float64 { return m.points[max(e, f)].covariance(i, min(e, f), e == f) }
		for k, e := range obs {
			resid[k] = d.Y[k] - m.points[e].mean[i]
		}
		if err := growFactor(&m.conds[i], cov, obs, noises, resid, known); err != nil {
			m.obs = nil
			return err
		}
		evidence[i] = math.Log(m.shares[i]) + m.conds[i].LogMarginal()
		m.fulls[i].Reset()
		if len(pending) > 0 {
			if err := fantasise(&m.fulls[i], cov, obs, pending, noises, m.noise, resid); err != nil {
				return err
			}
		}
	}
	m.w = softmax(evidence)
	return nil
}

// softmax returns e^v_i/Σ e^v_j.
func softmax(v []float64) []float64 {
	top := slices.Max(v)
	w := make([]float64, len(v))
	var sum float64
	for i, x := range v {
		w[i] = math.Exp(x - top)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// Predict writes the moments of the mixture at the rows of x.
func (m *mixture) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
	n := len(mean)
	all := slices.Concat(m.obs, m.pending)
	prior := newMoments(n)
	post := newMoments(n)
	for i, w := range m.w {
		mi, vi, cross, err := m.component(ctx, i, all, x, n)
		if err != nil {
			return err
		}
		prior.add(m.shares[i], mi, vi)
		seen := cross.View(0, 0, len(m.obs), n)
		var white linalg.Dense
		err = m.conds[i].Whiten(&white, &seen)
		if err == nil {
			err = m.conds[i].UpdateMean(mi, &white)
		}
		c := &m.conds[i]
		if err == nil && len(m.pending) > 0 {
			c = &m.fulls[i]
			err = c.Whiten(&white, cross)
		}
		if err == nil {
			err = c.UpdateVariance(vi, &white)
		}
		if err != nil {
			return numerical(err, "posterior at %d points", n)
		}
		post.add(w, mi, vi)
	}
	prior.write(&m.pred)
	copy(mean, post.mean)
	post.sdTo(sd)
	return nil
}

// component returns the prior mean and variance of prototype i at the rows of x
// and its covariances with the visited points listed; the caller may change
// them.
func (v *view) component(ctx context.Context, i int, all []int, x *linalg.Dense, n int) (mean, variance []float64, cross *linalg.Dense, err error) {
	cross = linalg.NewDense(len(all), n, nil)
	if x == v.cand && x != nil {
		for r, e := range all {
			copy(cross.Row(r), v.points[e].overCand[i])
		}
		return slices.Clone(v.candMean[i]), slices.Clone(v.candVar[i]), cross, nil
	}
	mean, variance = make([]float64, n), make([]float64, n)
	if len(all) == 0 {
		return mean, variance, cross, v.prior.prototypes[i].carrier.at(ctx, v.workers, mean, variance, nil, nil, x)
	}
	points := linalg.NewDense(len(all), v.prior.space.dim, nil)
	for r, e := range all {
		copy(points.Row(r), v.points[e].x)
	}
	err = v.prior.prototypes[i].carrier.at(ctx, v.workers, mean, variance, cross, points, x)
	return mean, variance, cross, err
}

// moments adds up the first two moments of a mixture.
type moments struct{ mean, second []float64 }

func newMoments(n int) *moments {
	return &moments{mean: make([]float64, n), second: make([]float64, n)}
}

// add adds a component. The second moment is taken about zero: values are
// scaled to the size of their spread, so nothing is lost.
func (m *moments) add(w float64, mean, variance []float64) {
	for j, v := range mean {
		m.mean[j] += w * v
		m.second[j] += w * (variance[j] + v*v)
	}
}

func (m *moments) sdTo(sd []float64) {
	for j, v := range m.mean {
		sd[j] = math.Sqrt(max(m.second[j]-v*v, 0))
	}
}

func (m *moments) write(p *priorMoments) {
	p.mean = append(p.mean[:0], m.mean...)
	p.sd = append(p.sd[:0], m.mean...)
	m.sdTo(p.sd)
}

// NoiseVariance returns the noise variance of values that come without one.
func (m *mixture) NoiseVariance() float64 { return m.noise }

func (m *mixture) weights() []float64    { return m.w }
func (m *mixture) priorAt() priorMoments { return m.pred }
func (m *mixture) maxValue() float64     { return m.largestMeans(m.w) }
func (m *mixture) jitterUsed() (top float64) {
	for i := range m.conds {
		top = max(top, m.conds[i].Jitter())
	}
	return top
}

// measure has nothing to measure: the data weigh the components.
func (m *mixture) measure(context.Context) (measured, error) { return measured{}, nil }
