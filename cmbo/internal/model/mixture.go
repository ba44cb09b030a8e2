package model

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/gaussian"
	"github.com/gocmbo/cmbo/linalg"
)

// Mixture is the model of a mixture of the prototypes: a priori the new task is a draw
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
type Mixture struct {
	View
	noise  float64 // noise variance where none is given, scaled units
	shares []float64

	w       []float64
	obs     []int // entries of the data
	pending []int
	noises  []float64
	conds   []gaussian.Conditioner // on the data, by prototype
	fulls   []gaussian.Conditioner // on the data and the pending points

	prior Moments
}

// NewMixture returns the model of a run whose noise variance is noise where none is
// given.
func NewMixture(p *Prior, noise float64, workers int) *Mixture {
	m := &Mixture{View: NewView(p, workers), noise: noise, shares: make([]float64, len(p.Prototypes))}
	for _, l := range p.Labels {
		m.shares[l] += 1 / float64(len(p.Labels))
	}
	m.conds = make([]gaussian.Conditioner, len(m.shares))
	m.fulls = make([]gaussian.Conditioner, len(m.shares))
	return m
}

// Fit conditions every component on the data.
func (m *Mixture) Fit(ctx context.Context, d *Data) error {
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
		cov := func(e, f int) float64 { return m.visited[max(e, f)].covariance(i, min(e, f), e == f) }
		for k, e := range obs {
			resid[k] = d.Y[k] - m.visited[e].mean[i]
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
func (m *Mixture) Predict(ctx context.Context, mean, sd []float64, x *linalg.Dense) error {
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
			return wrap(err, "posterior at %d points", n)
		}
		post.add(w, mi, vi)
	}
	prior.write(&m.prior)
	copy(mean, post.mean)
	post.sdTo(sd)
	return nil
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

func (m *moments) write(p *Moments) {
	p.Mean = append(p.Mean[:0], m.mean...)
	p.SD = append(p.SD[:0], m.mean...)
	m.sdTo(p.SD)
}

// NoiseVariance returns the noise variance of values that come without one.
func (m *Mixture) NoiseVariance() float64 { return m.noise }

// Weights returns the probabilities of the components given the data.
func (m *Mixture) Weights() []float64 { return m.w }

// PriorMoments returns the prior at the points of the latest Predict.
func (m *Mixture) PriorMoments() Moments { return m.prior }

// MaxValue estimates the largest value of the objective before the data.
func (m *Mixture) MaxValue() float64 { return m.largestMeans(m.w) }

// Jitter returns the largest jitter of the components.
func (m *Mixture) Jitter() (top float64) {
	for i := range m.conds {
		top = max(top, m.conds[i].Jitter())
	}
	return top
}
