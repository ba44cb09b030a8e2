package model

import (
	"context"
	"math"
	"slices"

	"github.com/gocmbo/cmbo/linalg"
)

// Observed returns the points of the latest Fit's observations.
func (a *Weighted) Observed() *linalg.Dense { return a.pointsOf(a.obs) }

// NoiseRange returns the smallest and the largest noise variance that the target
// is conditioned with, the one for values that come without included.
func (a *Weighted) NoiseRange() (lo, hi float64) {
	all := append(slices.Clone(a.noises), a.noise)
	return slices.Min(all), slices.Max(all)
}

// InformationGain returns ½·ln det(I + D⁻½·K0·D⁻½), D the noise variances.
func (a *Weighted) InformationGain() (float64, error) {
	n := len(a.obs)
	if n == 0 {
		return 0, nil
	}
	k := linalg.NewSym(n, nil)
	for i, e := range a.obs {
		for j, f := range a.obs[:i+1] {
			v := a.cov(e, f) / math.Sqrt(a.noises[i]) / math.Sqrt(a.noises[j])
			if i == j {
				v++
			}
			k.Set(i, j, v)
		}
	}
	var c linalg.Cholesky
	if err := c.Factorize(k); err != nil {
		return 0, wrap(err, "information gain of %d observations", n)
	}
	return c.LogDet() / 2, nil
}

// GreedyGain bounds the largest information gain of n points by the greedy one
// over 1−1/e (A. Krause, A. Singh and C. Guestrin, Near-optimal sensor
// placements in Gaussian processes, JMLR 9 (2008) 235-284), over the candidates
// or, in a parameter space, the index set.
func (a *Weighted) GreedyGain(ctx context.Context, n int) (float64, error) {
	x := a.candidates
	if x == nil {
		x = a.Learned.Index
	}
	rows, dim := x.Dims()
	variance := make([]float64, rows)
	whitened := make([][]float64, 0, n) // rows of L⁻¹·k0(chosen, x)
	for i, w := range a.w {
		v := make([]float64, rows)
		if err := a.Learned.Prototypes[i].Evaluator.At(ctx, a.workers, nil, v, nil, nil, x); err != nil {
			return 0, err
		}
		linalg.Axpy(variance, w*w, v)
	}
	var gain float64
	for range n {
		best := 0
		for r, v := range variance {
			if v > variance[best] {
				best = r
			}
		}
		gain += math.Log1p(variance[best]/a.noise) / 2
		point := x.View(best, 0, 1, dim)
		col := make([]float64, rows)
		var cross linalg.Dense
		for i, w := range a.w {
			if err := a.Learned.Prototypes[i].Evaluator.At(ctx, a.workers, nil, nil, &cross, &point, x); err != nil {
				return 0, err
			}
			linalg.Axpy(col, w*w, cross.Row(0))
		}
		for _, u := range whitened {
			linalg.Axpy(col, -u[best], u)
		}
		pivot := math.Sqrt(variance[best] + a.noise)
		for r := range col {
			col[r] /= pivot
			variance[r] = max(variance[r]-col[r]*col[r], 0)
		}
		whitened = append(whitened, col)
	}
	return gain / (1 - 1/math.E), nil
}
