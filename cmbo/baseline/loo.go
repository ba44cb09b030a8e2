package baseline

import (
	"context"
	"math"

	"github.com/gocmbo/cmbo/cmbo/internal/gp"
	"github.com/gocmbo/cmbo/linalg"
	"github.com/gocmbo/cmbo/linalg/spectral"
)

// leaveOneOut holds the posteriors at the n observed points that a process has without one observation each. With A = K + D,
// D the diagonal of the noise variances d, α = A⁻¹·y and q the diagonal of A⁻¹, the full posterior is
//
//	m = y − D·α,   S = D − D·A⁻¹·D,
//
// and without observation j it is
//
//	m_(j) = m − u_j·α_j/q_j,   S_(j) = S + u_j·u_jᵀ/q_j,   u_j = e_j − D·A⁻¹·e_j,
//
// so that one factor of S and one more normal number give a joint draw of any of them.
type leaveOneOut struct {
	mean   []float64    // m
	factor linalg.Dense // S = factor·factorᵀ, lower triangular
	shift  []float64    // α_j/q_j
	spread []float64    // q_j^-½
	u      linalg.Dense // row j is u_j
}

// newLeaveOneOut computes them for a process of zero prior mean that was given the values y. Its jitter counts as noise.
func newLeaveOneOut(ctx context.Context, p *gp.Process, y []float64) (*leaveOneOut, error) {
	n := len(y)
	l := &leaveOneOut{mean: make([]float64, n), shift: make([]float64, n), spread: make([]float64, n)}
	d := p.Data().Noise()
	alpha := make([]float64, n)
	var a linalg.Sym
	if err := p.Data().Precision(alpha, &a); err != nil {
		return nil, gp.Numerical(ctx, err, "leaving out each of %d observations", n)
	}
	s := linalg.NewSym(n, nil)
	l.u.Resize(n, n)
	for j := range n {
		l.mean[j] = y[j] - d[j]*alpha[j]
		q := a.At(j, j)
		l.shift[j], l.spread[j] = alpha[j]/q, 1/math.Sqrt(q)
		u, r := l.u.Row(j), s.Row(j)
		for i, v := range a.Row(j) {
			u[i] = -d[i] * v
			r[i] = -d[i] * v * d[j]
		}
		u[j]++
		r[j] += d[j]
	}
	s.Mirror()
	if _, err := spectral.FactorPSD(&l.factor, s); err != nil {
		return nil, gp.Numerical(ctx, err, "posterior at %d observations", n)
	}
	return l, nil
}

// losses adds to loss, one entry a draw, the number of ordered pairs (j, k) that the draw without j ranks otherwise than
// raw. z holds the draws' normal numbers by point, eps those for the observation left out.
func (l *leaveOneOut) losses(loss, raw []float64, z, eps [][]float64) {
	n, s := len(l.mean), len(loss)
	g := linalg.NewDense(n, s, nil) // draws of the full posterior about its mean
	for i := range n {
		for p, v := range l.factor.Row(i)[:i+1] {
			linalg.Axpy(g.Row(i), v, z[p][:s])
		}
	}
	for j := range n {
		gj, ej, u := g.Row(j), eps[j][:s], l.u.Row(j)
		for k := range n {
			if k == j {
				continue
			}
			du := u[j] - u[k]
			dm := l.mean[j] - l.mean[k] - du*l.shift[j]
			de := du * l.spread[j]
			gk := g.Row(k)
			below := raw[j] < raw[k]
			for i := range loss {
				if (dm+gj[i]-gk[i]+de*ej[i] < 0) != below {
					loss[i]++
				}
			}
		}
	}
}
