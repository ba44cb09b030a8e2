package model

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
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
	components
	noise float64 // noise variance where none is given, scaled units

	w       []float64
	pending []int
	fulls   []*gp.Data // on the data and the pending points

	prior Moments
}

// NewMixture returns the model of a run whose noise variance is noise where none is
// given.
func NewMixture(p *Prior, noise float64, workers int) *Mixture {
	return &Mixture{View: NewView(p, workers), components: newComponents(p), noise: noise, fulls: make([]*gp.Data, len(p.Prototypes))}
}

// Fit conditions every component on the data.
func (m *Mixture) Fit(ctx context.Context, d *Data) error {
	obs, pending, err := m.visitData(ctx, d)
	if err != nil {
		return err
	}
	if m.w, err = m.fit(&m.View, d, obs, gp.Noise(d.NoiseVariance, len(obs), m.noise)); err != nil {
		return err
	}
	m.pending = pending
	for i := range m.data {
		if m.fulls[i], err = m.data[i].WithPending(len(pending), m.row(i, slices.Concat(obs, pending)), m.noise); err != nil {
			return err
		}
	}
	return nil
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
		err = m.data[i].Whiten(&white, &seen)
		if err == nil {
			err = m.data[i].Update(mi, nil, &white)
		}
		if err == nil && len(m.pending) > 0 {
			err = m.fulls[i].Whiten(&white, cross)
		}
		if err == nil {
			err = m.fulls[i].Update(nil, vi, &white)
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
	for i := range m.data {
		top = max(top, m.data[i].Jitter())
	}
	return top
}
