package multivariate

import (
	"math"

	"github.com/gocmbo/cmbo/gaussian/internal/fault"
	"github.com/gocmbo/cmbo/internal/f64"
	"github.com/gocmbo/cmbo/internal/special"
	"github.com/gocmbo/cmbo/linalg"
)

// KL returns the Kullback–Leibler divergence of q from p,
//
//	KL(p‖q) = ½·(tr(S_q⁻¹·S_p) − n + ln det S_q − ln det S_p + (m_q − m_p)ᵀ·S_q⁻¹·(m_q − m_p)).
//
// It is never negative, and 0 if p and q have the same numbers; its relative error is a multiple of
// n·ε·cond(S_q) at any distance. If a covariance is singular it is +Inf with an error wrapping
// [gaussian.ErrNotPositiveDefinite]. It takes O(n³) time and only reads p and q.
//
// S. Kullback and R. A. Leibler, On information and sufficiency, Ann. Math. Statist. 22 (1951) 79–86; the paper, section 2.1.
func (w *Workspace) KL(p, q *Normal) (float64, error) {
	const op = "KL"
	if err := checkPair(op, p, q); err != nil {
		return 0, err
	}
	cp, err := p.definite(op, "covariance of the first Normal")
	if err != nil {
		return math.Inf(1), err
	}
	cq, err := q.definite(op, "covariance of the second Normal")
	if err != nil {
		return math.Inf(1), err
	}
	// The first four terms cancel for near-equal covariances. With E = L_q⁻¹·L_p − I, lower
	// triangular, they are a sum of terms that are not negative,
	//
	//	½·(Σ_{i>j} e_ij² + Σ_i (2·(e_ii − ln(1 + e_ii)) + e_ii²)).
	n := len(p.mean)
	lp, lq := cp.Lower(), cq.Lower()
	w.cross.Copy(lp)
	w.cross.AddScaled(-1, lq)
	cq.SolveLowerTo(&w.cross, &w.cross)
	var s float64
	for i := range n {
		r := w.cross.Row(i)
		// 1 + e_ii is the quotient of the diagonals, better known than e_ii where that is near −1.
		s += linalg.Dot(r[:i+1], r[:i+1]) + 2*xMinusLog1p(r[i], lp.Row(i)[i]/lq.Row(i)[i])
	}
	if s < nearEqualKL*float64(n) {
		s = w.klResidual(p, q, cq)
	}
	w.vec = f64.Grow(w.vec, n)
	subtract(w.vec, q.mean, p.mean)
	cq.SolveLowerVecTo(w.vec, w.vec)
	return fault.Result(op, 0.5*(s+linalg.Dot(w.vec, w.vec)))
}

// nearEqualKL is twice the covariance part per dimension below which it is computed from the
// difference of the covariances. That of the factors carries their rounding errors, relative to the
// factors; it is the better one at a distance, where 1 + M below would cancel.
const nearEqualKL = 1e-3

// klResidual returns twice the covariance part from M = L_q⁻¹·(S_p − S_q)·L_q⁻ᵀ: E is the Cholesky
// factor of I + M less I, by the usual recurrences with the ones taken out.
func (w *Workspace) klResidual(p, q *Normal, cq *linalg.Cholesky) float64 {
	n := len(p.mean)
	w.difference(p, q)
	cq.SolveLowerTo(&w.resid, &w.resid)
	w.cross.CopyTrans(&w.resid)
	cq.SolveLowerTo(&w.cross, &w.cross)
	var s float64
	for i := range n {
		ei := w.cross.Row(i)
		for j := range i {
			ej := w.cross.Row(j)
			ei[j] = (ei[j] - linalg.Dot(ei[:j], ej[:j])) / (1 + ej[j])
		}
		off := linalg.Dot(ei[:i], ei[:i])
		t := ei[i] - off
		ei[i] = t / (1 + math.Sqrt(1+t))
		s += off + ei[i]*ei[i] + 2*xMinusLog1p(ei[i], 1+ei[i])
	}
	return s
}

// difference sets w.resid to S_p − S_q.
func (w *Workspace) difference(p, q *Normal) {
	n := len(p.mean)
	w.resid.Resize(n, n)
	for i := range n {
		subtract(w.resid.Row(i), p.cov.Row(i), q.cov.Row(i))
	}
}

// xMinusLog1p returns x − ln(1 + x) ≥ 0 for x > −1, given y = 1 + x as well. The difference cancels to x²/2 near 0, where
//
//	ln(1 + x) = 2·atanh z,  z = x/(2 + x),  x = 2z + x·z,
//	x − ln(1 + x) = z·(x − 2·(z²/3 + z⁴/5 + z⁶/7 + …))
//
// does not: the bracket is at least x/2 in magnitude there. For |x| < 1/8, |z| <
// 1/15, and the terms beyond z¹² are below 1e-15 of the first.
func xMinusLog1p(x, y float64) float64 {
	if !(math.Abs(x) < 0.125) {
		return x - special.Log(y)
	}
	z := x / (2 + x)
	z2 := z * z
	t := z2 * (1.0/3 + z2*(1.0/5+z2*(1.0/7+z2*(1.0/9+z2*(1.0/11+z2*(1.0/13))))))
	return z * (x - 2*t)
}
