package model

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
)

// components are the prototypes of a view, each conditioned on the data by itself.
type components struct {
	shares []float64 // of the tasks, by prototype
	obs    []int
	data   []gp.Data
}

func newComponents(p *Prior) components {
	c := components{shares: make([]float64, len(p.Prototypes)), data: make([]gp.Data, len(p.Prototypes))}
	for _, l := range p.Labels {
		c.shares[l] += 1 / float64(len(p.Labels))
	}
	return c
}

// row gives the covariances of entries under prototype i.
func (v *View) row(i int, entries []int) gp.Row {
	return covariances(entries, func(e, f int) float64 {
		return v.visited[max(e, f)].covariance(i, min(e, f), e == f)
	})
}

// fit conditions every component and returns the posterior probabilities, by prior
// probabilities proportional to the numbers of tasks.
func (c *components) fit(v *View, d *Data, obs []int, noises []float64) ([]float64, error) {
	same := commonPrefix(c.obs, obs)
	c.obs = obs
	evidence := make([]float64, len(c.data))
	resid := make([]float64, len(obs))
	for i := range c.data {
		for k, e := range obs {
			resid[k] = d.Y[k] - v.visited[e].mean[i]
		}
		if err := c.data[i].Grow(same, v.row(i, obs), noises, resid); err != nil {
			c.obs = nil
			return nil, err
		}
		evidence[i] = math.Log(c.shares[i]) + c.data[i].LogMarginal()
	}
	return softmax(evidence), nil
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

// ByEvidence weighs a prototype in proportion to the number of its tasks and to the
// marginal likelihood of the data under it.
type ByEvidence struct{ components }

// NewByEvidence returns the weigher of p's prototypes.
func NewByEvidence(p *Prior) *ByEvidence { return &ByEvidence{newComponents(p)} }

// Weigh implements [Weighting].
func (b *ByEvidence) Weigh(v *View, d *Data, obs []int, noises []float64) ([]float64, error) {
	return b.fit(v, d, slices.Clone(obs), noises)
}

// State implements [Weighting]: the data say all.
func (b *ByEvidence) State(context.Context, *Weighted) ([]float64, error) { return nil, nil }

// CheckState implements [Weighting].
func (b *ByEvidence) CheckState([]float64) error {
	return errors.New("weights by evidence have no state")
}
